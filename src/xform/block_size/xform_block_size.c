/*
 * xform_block_size.c: the number of threads a block as a parameter.
 *
 * Where a kernel works for any block, its launch plan alone says how large
 * blocks are: a constant there becomes a parameter, and the grid, which had the
 * same constant, follows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

static const char *const findings[] = {
    "few_warps_blocks", "small_grid",    "tail",
    "imbalance",        "wait_dispatch", NULL};
static const struct ws__xform_delta deltas[] = {{"occupied", 1, 2},
                                                {NULL, 0, 0}};

static bool is_number(const char *text, long *out)
{
    char *end;

    *out = strtol(text, &end, 10);
    return *text && !*end && *out > 0;
}

static bool is_word(char c)
{
    return ws__is_word(c) || c == '.';
}

/* The number as a word of its own, at or behind p. */
static const char *find_number(const char *p, const char *number)
{
    size_t n = strlen(number);

    for (const char *q = strstr(p, number); q; q = strstr(q + 1, number))
        if ((q == p || !is_word(q[-1])) && !is_word(q[n]))
            return q;
    return NULL;
}

static bool is_like(int64_t value, long number)
{
    return value == number || value == number - 1 || value == number / 2 ||
           (value > 2 && value < 12 && 1l << value == number);
}

/* Is the number written in the source: an array's size, a bound, a shift? */
static bool in_source(const struct ws__ast *t, long number)
{
    for (int32_t i = 0; i < t->n; i++) {
        const struct ws__ast_node *n = &t->node[i];
        int64_t value;

        if ((n->kind == WS__AST_INT || n->kind == WS__AST_REF) &&
            ws__ast_const(t, i, &value) && is_like(value, number))
            return true;
    }
    return false;
}

/* Is there an array in shared memory that may hold something for each thread or
 * warp? */
static bool shares(const struct ws__ast *t)
{
    for (int32_t i = 0; i < t->n; i++) {
        const struct ws__ast_type *y = &t->node[i].type;

        if (t->node[i].kind == WS__AST_VAR && y->space == WS__AS_SHARED &&
            y->ndim && !(y->ndim == 1 && (y->dim[0] == 32 || y->dim[0] == 1)))
            return true;
    }
    return false;
}

/* Is the number said elsewhere in the plan? */
static bool in_plan(const struct ws__kernel *k, const struct ws__launch *l,
                    const char *number)
{
    for (size_t i = 0; i < k->nconstraint; i++)
        if (find_number(k->constraint[i].expr->text, number))
            return true;
    for (size_t i = 0; i < k->nscratch; i++)
        if (find_number(k->scratch[i].bytes->text, number))
            return true;
    for (size_t i = 0; i < l->narg; i++)
        if (l->arg[i].kind == WS__ARG_SHARED ||
            (l->arg[i].kind == WS__ARG_VALUE &&
             find_number(l->arg[i].expr->text, number)))
            return true;
    for (int d = 1; d < 3; d++)
        if (l->grid[d] && find_number(l->grid[d]->text, number))
            return true;
    return l->when && find_number(l->when->text, number);
}

/* Is a thread's place in the whole grid compared with a bound? */
static bool is_guarded(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        struct ws__affine a;

        if (t->node[i].kind != WS__AST_BINARY ||
            t->node[i].op < CL_BinaryOperator_LT ||
            t->node[i].op > CL_BinaryOperator_GE)
            continue;
        for (int c = 0; c < 2; c++)
            if (ws__affine_of(t, ws__ast_child(t, i, c), &a) &&
                ws__affine_uses(&a, WS__SYM(WS__AL_THREAD, 0)) &&
                ws__affine_uses(&a, WS__SYM(WS__AL_BLOCK, 0)))
                return true;
    }
    return false;
}

#define MAX_ACCESSES 64

static bool is_thread(const struct ws__ast *t, int32_t expr)
{
    struct ws__affine a, part;

    return ws__affine_of(t, expr, &a) && a.n == 1 &&
           ws__affine_part(&a, WS__SYM(WS__AL_THREAD, 0), &part) &&
           ws__affine_is(&part, 1);
}

/* Does a thread's number alone choose an element, or whether there is work? */
static bool picks(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    struct ws__access a[MAX_ACCESSES];
    size_t n = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, a, MAX_ACCESSES);
    int32_t end = ws__ast_after(t, in->body);
    struct ws__affine f;
    int64_t c;

    if (n > MAX_ACCESSES)
        return true;
    for (size_t i = 0; i < n; i++)
        if (!a[i].affine ||
            ws__affine_uses(&a[i].at, WS__SYM(WS__AL_THREAD, 0)))
            return true;
    for (int32_t i = in->body; i < end; i++)
        if (t->node[i].kind == WS__AST_BINARY &&
            t->node[i].op >= CL_BinaryOperator_LT &&
            t->node[i].op <= CL_BinaryOperator_GE &&
            ws__affine_of(t, ws__ast_child(t, i, 0), &f) &&
            ws__affine_uses(&f, WS__SYM(WS__AL_THREAD, 0)) &&
            !ws__ast_const(t, ws__ast_child(t, i, 1), &c))
            return true;
    return false;
}

/* A block walks over something with steps of its size, and says its size for
 * nothing else: how many threads it has decides nothing. */
static bool only_strides(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);
    int hits = 0;

    for (int32_t i = in->body; i < end; i++) {
        struct ws__ast_for f;
        enum ws__ast_launch v;
        int dim;

        if (t->node[i].kind != WS__AST_MEMBER &&
            t->node[i].kind != WS__AST_CALL)
            continue;
        v = ws__ast_launch_value(t, i, &dim);
        if (v == WS__AL_GLOBAL || v == WS__AL_GLOBAL_DIM)
            return false;
        if (v != WS__AL_BLOCK_DIM)
            continue;
        ws__ast_for(t, ws__ast_up(t, i, WS__AST_FOR), &f);
        if (!f.counts || dim || ws__ast_bare(t, f.by) != i ||
            !is_thread(t, f.from))
            return false;
        hits++;
    }
    return hits > 0 && !picks(in);
}

static bool asks_for_size(const struct ws__xform_in *in)
{
    const struct ws__ast_node *f = &in->ast->node[in->func];
    const char *p = in->ast->text + f->begin;
    const char *body = in->ast->text + in->ast->node[in->body].begin;
    const char *word = strstr(p, "reqd_work_group_size");
    const char *bounds = strstr(p, "__launch_bounds__");

    return (word && word < body) || (bounds && bounds < body);
}

/* Does the grid round up, and say so with the number? */
static bool rounds_up(const char *grid, long n)
{
    char less[24];

    snprintf(less, sizeof(less), "%ld", n - 1);
    return find_number(grid, less) || strstr(grid, "ceil_div(");
}

static const char *refusal(const struct ws__xform_in *in,
                           const struct ws__launch *l, const char *block,
                           long n)
{
    const char *grid = ws__xform_grid(in, 0);

    if (in_source(in->ast, n))
        return "the source has the number, too: a size may depend on it";
    if (asks_for_size(in))
        return "the source asks for this size";
    if (shares(in->ast))
        return "shared memory has a fixed size that may depend on it";
    if (in_plan(in->kernel, l, block))
        return "the plan says the number elsewhere, too";
    if (ws__xform_next_launch(in, in->launch + 1) < in->kernel->nlaunch)
        return "the function is launched more than once";
    if (!find_number(grid, block))
        return only_strides(in) ? NULL
                                : "the grid does not say how it follows from "
                                  "the size";
    if (!rounds_up(grid, n))
        return "the grid does not round up";
    if (!is_guarded(in))
        return "threads do not ask whether there is work for them";
    return NULL;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__launch *l = &in->kernel->launch[in->launch];
    const char *block = ws__xform_block(in, 0);
    struct ws__site *s;
    const char *why;
    long n;
    int rc = 0;

    if (!is_number(block, &n) || n < 2 || l->block[1] || l->block[2])
        return 0;
    why = refusal(in, l, block, n);
    if (why)
        return ws__site_refuse(in, out, in->func, "threads a block", why);
    s = ws__site_add(in, out, in->func, &rc,
                     "the %ld threads a block of '%s' become a parameter", n,
                     l->entry);
    if (s)
        s->trust = "threads for which there is no work do nothing";
    return rc;
}

/* Sizes to choose from, the present one among them. */
static const char *values(const struct ws__xform_in *in, long n)
{
    bool cuda = in->kernel->dialect == WS__DIALECT_CUDA;
    const char *usual = cuda ? "32, 64, 128, 256, 512, 1024"
                             : "1, 4, 8, 16, 32, 64, 128, 256, 512, 1024";
    char number[24];

    snprintf(number, sizeof(number), "%ld", n);
    if (find_number(usual, number))
        return ws__arena_printf(in->arena, "[%s]", usual);
    return ws__arena_printf(in->arena, "[%s, %ld]", usual, n);
}

/* The text with `number` and the number below it said by the name. */
static void put_grid(struct ws__buf *b, const char *grid, const char *number,
                     long n, const char *name)
{
    char less[24];

    snprintf(less, sizeof(less), "%ld", n - 1);
    while (*grid) {
        const char *at = find_number(grid, number);
        const char *at_less = find_number(grid, less);
        bool first = at_less && (!at || at_less < at);

        if (!at && !at_less)
            break;
        at = first ? at_less : at;
        ws__buf_add(b, grid, (size_t)(at - grid));
        ws__buf_printf(b, first ? "(%s - 1)" : "%s", name);
        grid = at + strlen(first ? less : number);
    }
    ws__buf_puts(b, grid);
}

/* BLOCK; launches with another number of threads have BLOCK2, ... */
static const char *param_name(const struct ws__xform_in *in)
{
    const struct ws__kernel *k = in->kernel;
    const char *block = ws__xform_block(in, 0), *name;
    size_t others = 0;
    long n;

    for (size_t i = 0; i < in->launch; i++) {
        struct ws__xform_in l = *in;
        bool old = false;

        l.launch = i;
        if (!is_number(ws__xform_block(&l, 0), &n))
            continue;
        if (!strcmp(ws__xform_block(&l, 0), block))
            break;
        for (size_t o = 0; o < i; o++)
            old = old ||
                  (k->launch[o].block[0] && !strcmp(k->launch[o].block[0]->text,
                                                    ws__xform_block(&l, 0)));
        others += !old;
    }
    name =
        others ? ws__arena_printf(in->arena, "BLOCK%zu", others + 1) : "BLOCK";
    return name ? ws__xform_name(in, name) : NULL;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const char *name = param_name(in);
    const char *block = ws__xform_block(in, 0), *v;
    struct ws__buf b;
    long n;

    (void)s;
    if (!is_number(block, &n))
        return ws__fail(in->ctx, WS_EBUG, "'%s' is no number", block);
    v = values(in, n);
    if (!name || !v)
        return WS_ENOMEM;
    ws__buf_init(&b, in->ctx, 4096);
    if (in->kernel->launch[in->launch].grid[0])
        put_grid(&b, ws__xform_grid(in, 0), block, n, name);
    if (b.failed) {
        ws__buf_free(&b);
        return WS_ENOMEM;
    }
    if (b.data && strcmp(b.data, ws__xform_grid(in, 0)) != 0)
        ws__rewrite_change(out, b.data, "launches[%zu].grid[0]", in->launch);
    ws__rewrite_change(out, name, "launches[%zu].block[0]", in->launch);
    ws__buf_free(&b);
    ws__rewrite_param(out, name, v, block, "threads a block");
    return 0;
}

const struct ws__xform_ops ws__xform_block_size = {
    .abi = WS__XFORM_ABI,
    .name = "block_size",
    .about = "the number of threads a block as a parameter",
    .needs = "a launch of one dimension whose block is a number that the grid "
             "repeats and the source does not",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .join = WS__JOIN_ALL,
    .gain = 1.1,
    .find = find,
    .apply = apply,
    .keeps_names = true,
};
