/*
 * xform_warp_per_row.c: a warp for each row instead of a thread.
 *
 * Where a thread walks along a row, the 32 threads of a warp read 32 rows at a
 * time, each element from a sector of its own. Here the 32 threads share the
 * row: they take every 32nd column each, and what the loop carries is put
 * together by shuffles, so that all of them know it. Everything else all 32
 * compute alike, and the first one writes.
 *
 * That is the same kernel because all 32 threads of a warp have the same row:
 * conditions, returns and bounds outside of the columns' loops are the same in
 * all of them, so that warps stay whole wherever they shuffle. Memory that
 * different threads of the warp write and read gets a __syncwarp() between.
 */
#include <stdlib.h>

#include "core/trial.h"
#include "xform/clang_api.h"
#include "xform/loop.h"

#include "base/banned.h"

#define WARP 32
#define MAX_REGIONS 96
#define MAX_LOOPS 12
#define MAX_REACHES 128

static const char *const findings[] = {"uncoalesced_loads",
                                       "uncoalesced_stores", "small_grid",
                                       "waste", NULL};
static const struct ws__xform_delta deltas[] = {{"load_sectors", 0.1, 0.6},
                                                {"store_sectors", 0.1, 1},
                                                {NULL, 0, 0}};

/* What a part of the kernel touches, one bit a parameter. */
struct region {
    int32_t stmt;
    bool repeats;         /* inside of a loop that all threads take alike */
    bool first;           /* the first thread's alone: a write */
    int loop;             /* number of the columns' loop, or -1 */
    uint64_t read, write; /* by all */
    uint64_t first_read, first_write; /* by the first thread */
};
struct plan {
    const struct ws__xform_in *in;
    int32_t row; /* VAR */
    struct region region[MAX_REGIONS];
    size_t n;
    struct ws__loop loop[MAX_LOOPS];
    size_t nloop;
    const char *why;
    int32_t why_at;
};

static void refuse(struct plan *p, int32_t at, const char *why)
{
    if (p->why)
        return;
    p->why = why;
    p->why_at = at;
}

/* --- the row -------------------------------------------------------------- */

static bool is_global_x(const struct ws__affine *a)
{
    struct ws__affine thread, block;

    return ws__affine_part(a, WS__SYM(WS__AL_THREAD, 0), &thread) &&
           ws__affine_is(&thread, 1) &&
           ws__affine_part(a, WS__SYM(WS__AL_BLOCK, 0), &block) && a->n == 2 &&
           block.n == 1 &&
           ((block.term[0].n == 1 && block.term[0].times == 1 &&
             block.term[0].sym[0] == WS__SYM(WS__AL_BLOCK_DIM, 0)) ||
            (block.term[0].n == 0 && block.term[0].times > 1));
}

/* The variable that is block times size plus thread; -1: none. */
static int32_t row_of(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        struct ws__affine a;
        int32_t v = ws__ast_child(t, i, 0);

        if (t->node[i].kind == WS__AST_VAR && v >= 0 &&
            t->node[i].type.class == WS__AT_INT && !t->node[i].type.ndim &&
            !t->node[i].type.pointers && ws__affine_of(t, v, &a) &&
            t->node[t->node[i].parent].parent == in->body && is_global_x(&a) &&
            !ws__ast_changes(t, in->body, i))
            return i;
    }
    return -1;
}

/* Is it a variable that only hands on a launch value: int t = threadIdx.x? */
static bool hands_on(const struct ws__xform_in *in, int32_t var)
{
    int dim;
    int32_t v = ws__ast_child(in->ast, var, 0);

    return in->ast->node[var].kind == WS__AST_VAR && v >= 0 &&
           ws__ast_launch_value(in->ast, v, &dim) != WS__AL_NONE && !dim &&
           !ws__ast_changes(in->ast, in->body, var);
}

/* x of threads and blocks, and variables that hand it on, may make the row and
 * nothing else; y and z of threads must not occur. */
static int32_t other_use(const struct plan *p)
{
    const struct ws__ast *t = p->in->ast;
    int32_t end = ws__ast_after(t, p->in->body);

    for (int32_t i = p->in->body; i < end; i++) {
        int dim = 0;
        enum ws__ast_launch v = t->node[i].kind == WS__AST_MEMBER
                                    ? ws__ast_launch_value(t, i, &dim)
                                    : WS__AL_NONE;
        int32_t var = ws__ast_up(t, i, WS__AST_VAR);
        bool makes_row = ws__ast_below(t, i, p->row);

        if (t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0 &&
            hands_on(p->in, t->node[i].decl) && !makes_row)
            return i;
        if (v == WS__AL_NONE || makes_row)
            continue;
        if (v == WS__AL_THREAD && dim)
            return i;
        if (!dim && !(var >= 0 && hands_on(p->in, var)))
            return i;
    }
    return -1;
}

/* The factor of the block in the row's value, where it is a constant. */
static int32_t size_node(const struct plan *p)
{
    const struct ws__ast *t = p->in->ast;
    int32_t end = ws__ast_after(t, p->row);
    int64_t c;

    for (int32_t i = p->row + 1; i < end; i++)
        if (t->node[i].kind == WS__AST_BINARY &&
            t->node[i].op == CL_BinaryOperator_Mul)
            for (int k = 0; k < 2; k++)
                if (ws__ast_const(t, ws__ast_child(t, i, k), &c))
                    return ws__ast_bare(t, ws__ast_child(t, i, k));
    return -1;
}

static bool plain_number(const char *text, int64_t *out)
{
    *out = 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || *out > 100000)
            return false;
        *out = *out * 10 + (*c - '0');
    }
    return *text != '\0';
}

static bool same_size(const struct plan *p, int32_t size)
{
    const char *block = ws__xform_block(p->in, 0);
    int64_t number, c;

    if (plain_number(block, &number))
        return ws__ast_const(p->in->ast, size, &c) && c == number;
    return !strcmp(block, ws__xform_text(p->in, size));
}

static int check_launch(struct plan *p)
{
    const struct ws__launch *l = &p->in->kernel->launch[p->in->launch];
    int64_t block;
    int32_t size = size_node(p), use = other_use(p);

    for (size_t i = 0; i < p->in->kernel->nlaunch; i++)
        if (i != p->in->launch &&
            !strcmp(p->in->kernel->launch[i].entry, l->entry))
            refuse(p, p->in->func, "several launches have this function");
    if (l->block[1] || l->block[2])
        refuse(p, p->in->func, "the block has more than one dimension");
    if (plain_number(ws__xform_block(p->in, 0), &block) && block % WARP)
        refuse(p, p->in->func,
               "the block is no multiple of 32 threads: warps "
               "would not be whole");
    for (int32_t i = p->in->body; i < ws__ast_after(p->in->ast, p->in->body);
         i++) {
        int dim;

        if (p->in->ast->node[i].kind == WS__AST_MEMBER &&
            p->in->ast->node[i].macro &&
            ws__ast_launch_value(p->in->ast, i, &dim) != WS__AL_NONE)
            refuse(p, i, "a macro has the thread's number");
    }
    if (size >= 0 && !ws__xform_text(p->in, size))
        return WS_ENOMEM;
    if (size >= 0 && !same_size(p, size))
        refuse(p, size,
               "the row's number has a size of blocks that is not "
               "the launch's");
    if (use >= 0)
        refuse(p, use,
               "threads and blocks are used for more than the row's "
               "number");
    return 0;
}

/* --- the columns' loops --------------------------------------------------- */

/* Do accesses of the loop step by one element with its variable, in rows of
 * their own? More than step by more? */
static bool walks_a_row(const struct ws__xform_in *in, int32_t loop)
{
    struct ws__ast_for f;
    struct ws__reach r[MAX_REACHES];
    size_t n;
    int one = 0, more = 0;

    ws__ast_for(in->ast, loop, &f);
    if (!f.counts)
        return false;
    n = ws__loop_reaches(in, f.body, r, MAX_REACHES);
    for (size_t i = 0; i < n && i < MAX_REACHES; i++) {
        struct ws__affine part;

        if (!r[i].affine || !ws__affine_part(&r[i].at, f.var, &part) || !part.n)
            continue;
        if (!ws__affine_is(&part, 1))
            more++;
        else if (ws__loop_by_thread(in, r[i].node) ||
                 ws__loop_by_thread(in, f.from))
            one++;
    }
    return one > more;
}

/* The innermost loop that does. */
static bool along_a_row(const struct ws__xform_in *in, int32_t loop)
{
    int32_t end = ws__ast_after(in->ast, loop);

    if (!walks_a_row(in, loop))
        return false;
    for (int32_t i = loop + 1; i < end; i++)
        if (in->ast->node[i].kind == WS__AST_FOR && walks_a_row(in, i))
            return false;
    return true;
}

static bool steps_by_one(const struct ws__ast *t, const struct ws__ast_for *f)
{
    int64_t c;

    return f->by < 0 || (ws__ast_const(t, f->by, &c) && c == 1);
}

/* Is a counter that is declared outside of the loop read where another loop has
 * not set it? The threads leave it at different values. */
static bool counter_is_read(const struct ws__xform_in *in,
                            const struct ws__ast_for *f)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    if (ws__ast_below(t, f->var, f->loop))
        return false;
    for (int32_t i = in->body; i < end; i++) {
        int32_t l = i;
        struct ws__ast_for o;

        if (t->node[i].kind != WS__AST_REF || t->node[i].decl != f->var)
            continue;
        for (; l >= 0; l = t->node[l].parent) {
            ws__ast_for(t, l, &o);
            if (o.loop >= 0 && o.counts && o.var == f->var)
                break;
        }
        if (l < 0 && !(ws__ast_is(t, ws__ast_statement(t, i), WS__AST_ASSIGN) &&
                       ws__ast_child(t, ws__ast_statement(t, i), 0) == i))
            return true;
    }
    return false;
}

static int add_loop(struct plan *p, int32_t loop)
{
    struct ws__loop *l = &p->loop[p->nloop];

    if (p->nloop == MAX_LOOPS) {
        refuse(p, loop, "too many loops");
        return 0;
    }
    WS_TRY(ws__loop_read(p->in, loop, l));
    if (!l->why && !steps_by_one(p->in->ast, &l->f))
        l->why = "does not count by one";
    if (!l->why && counter_is_read(p->in, &l->f))
        l->why = "has a counter that is read behind it";
    if (l->why) {
        const char *why = ws__arena_printf(p->in->arena, "the loop %s", l->why);

        if (!why)
            return WS_ENOMEM;
        refuse(p, loop, why);
    }
    p->nloop++;
    return 0;
}

/* --- regions -------------------------------------------------------------- */

static uint64_t bit_of(const struct plan *p, int32_t param)
{
    int k = 0;

    for (int32_t c = p->in->ast->node[p->in->func].first; c >= 0 && c != param;
         c = p->in->ast->node[c].next)
        k++;
    return UINT64_C(1) << (k < 63 ? k : 63);
}

static bool is_carried(const struct ws__ast *t, const struct ws__loop *l,
                       const struct ws__reach *r)
{
    for (size_t i = 0; i < l->nred; i++)
        if (l->red[i].decl < 0 && l->red[i].kind == WS__RED_SUM &&
            ws__ast_same(t, l->red[i].at, r->node))
            return true;
    return false;
}

/* What is below root belongs to the region. */
static void add_touches(struct plan *p, struct region *g, int32_t root)
{
    const struct ws__ast *t = p->in->ast;
    struct ws__reach r[MAX_REACHES];
    size_t n = ws__loop_reaches(p->in, root, r, MAX_REACHES);

    if (n > MAX_REACHES) {
        refuse(p, root, "too many accesses");
        n = MAX_REACHES;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = r[i].root < 0 ? UINT64_MAX : bit_of(p, r[i].root);
        bool first = g->first ||
                     (g->loop >= 0 && is_carried(t, &p->loop[g->loop], &r[i]));

        *(first ? &g->first_read : &g->read) |= bit;
        if (r[i].write)
            *(first ? &g->first_write : &g->write) |= bit;
    }
}

static struct region *add_region(struct plan *p, int32_t stmt, bool repeats,
                                 bool first, int loop)
{
    struct region *g = &p->region[p->n];

    if (p->n == MAX_REGIONS) {
        refuse(p, stmt, "too many statements");
        return g - 1;
    }
    p->n++;
    *g = (struct region){.stmt = stmt,
                         .repeats = repeats,
                         .first = first,
                         .loop = loop};
    return g;
}

static bool meet(const struct region *a, const struct region *b)
{
    return (a->write & (b->read | b->write | b->first_read | b->first_write)) ||
           (a->first_write & (b->read | b->write)) ||
           (a->read & (b->write | b->first_write)) ||
           (a->first_read & b->write);
}

/* Must other threads' accesses of before be done? */
static bool waits(const struct plan *p, size_t i)
{
    for (size_t k = 0; k < p->n; k++)
        if ((k < i || (p->region[i].repeats && p->region[k].repeats)) &&
            meet(&p->region[i], &p->region[k]))
            return true;
    return false;
}

/* --- the walk ------------------------------------------------------------- */

static bool writes_memory(const struct plan *p, int32_t root)
{
    struct ws__reach r[MAX_REACHES];
    size_t n = ws__loop_reaches(p->in, root, r, MAX_REACHES);

    for (size_t k = 0; k < n && k < MAX_REACHES; k++)
        if (r[k].write)
            return true;
    return n > MAX_REACHES;
}

/* A statement that is an expression. Writes to memory are the first thread's:
 * such a statement may write nothing else. */
static void read_expression(struct plan *p, int32_t i, bool repeats)
{
    const struct ws__ast *t = p->in->ast;
    int32_t end = ws__ast_after(t, i);
    bool writes = writes_memory(p, i);
    int changes = 0;

    for (int32_t k = i; k < end; k++)
        changes += t->node[k].kind == WS__AST_ASSIGN ||
                   (t->node[k].kind == WS__AST_UNARY && t->node[k].op >= 1 &&
                    t->node[k].op <= CL_UnaryOperator_PreDec);
    if (writes && (changes != 1 || t->node[i].kind == WS__AST_DECL))
        refuse(p, i, "a statement writes to memory and to variables");
    add_touches(p, add_region(p, i, repeats, writes, -1), i);
}

static int walk(struct plan *p, int32_t i, bool repeats);

/* A part that decides where to go on: read by all, and nothing written. */
static void read_condition(struct plan *p, int32_t stmt, int32_t cond,
                           bool repeats)
{
    if (cond < 0)
        return;
    if (writes_memory(p, cond))
        refuse(p, cond, "a condition writes to memory");
    add_touches(p, add_region(p, stmt, repeats, false, -1), cond);
}

static int walk_loop(struct plan *p, int32_t i, bool repeats)
{
    const struct ws__ast *t = p->in->ast;
    int32_t body = -1;
    size_t before = p->n;

    if (t->node[i].kind == WS__AST_FOR && along_a_row(p->in, i)) {
        WS_TRY(add_loop(p, i));
        if (p->nloop && !p->why)
            add_touches(p, add_region(p, i, repeats, false, (int)p->nloop - 1),
                        i);
        return 0;
    }
    for (int32_t c = t->node[i].first; c >= 0; c = t->node[c].next)
        if (c != i)
            body = t->node[i].kind == WS__AST_DO && body >= 0 ? body : c;
    for (int32_t c = t->node[i].first; c >= 0; c = t->node[c].next) {
        if (c == body)
            continue;
        read_condition(p, i, c, true);
    }
    for (size_t k = before; k < p->n; k++)
        p->region[k].loop = -2; /* a loop's head: nothing can wait before it */
    return body < 0 ? 0 : walk(p, body, true);
}

static int walk(struct plan *p, int32_t i, bool repeats)
{
    const struct ws__ast *t = p->in->ast;

    switch (t->node[i].kind) {
    case WS__AST_BLOCK:
        for (int32_t c = t->node[i].first; c >= 0 && !p->why;
             c = t->node[c].next)
            WS_TRY(walk(p, c, repeats));
        return 0;
    case WS__AST_IF:
        read_condition(p, i, ws__ast_child(t, i, 0), repeats);
        for (int k = 1; k < ws__ast_nchild(t, i) && !p->why; k++)
            WS_TRY(walk(p, ws__ast_child(t, i, k), repeats));
        return 0;
    case WS__AST_FOR:
    case WS__AST_WHILE:
    case WS__AST_DO:
        return walk_loop(p, i, repeats);
    case WS__AST_RETURN:
    case WS__AST_BREAK:
    case WS__AST_CONTINUE:
    case WS__AST_EMPTY:
        return 0;
    case WS__AST_JUMP:
    case WS__AST_OTHER:
        refuse(p, i, "a statement is not understood");
        return 0;
    default:
        read_expression(p, i, repeats);
        return 0;
    }
}

/* What must not be anywhere in the function. */
static void check_body(struct plan *p)
{
    const struct ws__ast *t = p->in->ast;
    int32_t end = ws__ast_after(t, p->in->body), x;

    for (int32_t i = p->in->body; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (ws__ast_is_barrier(t, i))
            refuse(p, i, "threads of the block wait for each other");
        if (n->kind == WS__AST_VAR && n->is_static)
            refuse(p, i, "threads of the block share memory");
        if (n->kind == WS__AST_VAR && n->spelled &&
            (strchr(n->spelled, '&') || strstr(n->spelled, "volatile")))
            refuse(p, i, "a reference or a volatile is not followed");
        if (n->kind == WS__AST_REF && n->decl >= 0 &&
            t->node[n->decl].kind == WS__AST_VAR &&
            !ws__ast_below(t, n->decl, p->in->func) &&
            ws__ast_changes(t, p->in->body, n->decl))
            refuse(p, i, "a variable of the file is written");
    }
    x = ws__loop_call(t, p->in->body);
    if (x >= 0)
        refuse(p, x, "a function is called that may have effects");
    x = ws__loop_stray(p->in, p->in->body);
    if (x >= 0)
        refuse(p, x, "a pointer is used in a way that is not followed");
}

static void check_waits(struct plan *p)
{
    const struct ws__ast *t = p->in->ast;

    for (size_t i = 0; i < p->n; i++) {
        const struct region *g = &p->region[i];
        bool in_block = ws__ast_is(t, t->node[g->stmt].parent, WS__AST_BLOCK);

        if (g->stmt < p->row && (g->first || g->loop >= 0))
            refuse(p, g->stmt, "memory is written before the row is known");
        if (waits(p, i) && (g->loop == -2 || (!in_block && g->loop < 0)))
            refuse(p, g->stmt,
                   "a condition reads what other threads of the "
                   "warp would write");
    }
}

static bool has_loop_along(const struct ws__xform_in *in)
{
    int32_t end = ws__ast_after(in->ast, in->body);

    for (int32_t i = in->body; i < end; i++)
        if (in->ast->node[i].kind == WS__AST_FOR && along_a_row(in, i))
            return true;
    return false;
}

static int make_plan(const struct ws__xform_in *in, struct plan *p)
{
    memset(p, 0, sizeof(*p));
    p->in = in;
    p->why_at = in->func;
    p->row = row_of(in);
    if (p->row < 0 || !has_loop_along(in))
        return 0;
    WS_TRY(check_launch(p));
    check_body(p);
    if (!p->why)
        WS_TRY(walk(p, in->body, false));
    if (!p->why)
        check_waits(p);
    return 0;
}

static int find_with(struct plan *p, struct ws__sites *out)
{
    const struct ws__xform_in *in = p->in;
    const char *row, *nan = NULL;
    struct ws__site *s;
    int rc = 0;

    if (p->row < 0 || !p->nloop) {
        if (p->why)
            return ws__site_refuse(in, out, p->why_at, "a warp for each row",
                                   p->why);
        return 0;
    }
    if (p->why)
        return ws__site_refuse(in, out, p->why_at, "a warp for each row",
                               p->why);
    row = in->ast->node[p->row].name;
    for (size_t i = 0; i < p->nloop; i++)
        for (size_t k = 0; k < p->loop[i].nred; k++)
            if (p->loop[i].red[k].keeps_nan)
                nan = "a comparison lets the last NaN of a row decide: where "
                      "there is one, the result may be another";
    s = ws__site_add(in, out, p->row, &rc,
                     "a warp instead of a thread for each %s of '%s'",
                     row ? row : "row", in->kernel->launch[in->launch].entry);
    if (s)
        s->trust = nan;
    return rc;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    struct plan *p = ws__arena_alloc(in->arena, 1, sizeof(*p));

    if (!p)
        return WS_ENOMEM;
    WS_TRY(make_plan(in, p));
    return find_with(p, out);
}

/* --- edits ---------------------------------------------------------------- */

struct words {
    const char *lane, *step, *other, *at; /* names for new variables */
};

static const char *tab_of(const struct plan *p, int32_t node)
{
    const char *indent = ws__xform_indent(p->in, node);

    return indent && strchr(indent, '\t') ? "\t" : "    ";
}

/* x of threads is counted in warps. */
static void edit_row(const struct plan *p, struct ws__rewrite *out)
{
    const struct ws__ast *t = p->in->ast;
    int32_t end = ws__ast_after(t, p->in->body), size = size_node(p);

    for (int32_t i = p->in->body; i < end; i++) {
        int dim;
        enum ws__ast_launch v = t->node[i].kind == WS__AST_MEMBER
                                    ? ws__ast_launch_value(t, i, &dim)
                                    : WS__AL_NONE;
        int32_t up = t->node[i].parent;
        bool factor = ws__ast_is(t, up, WS__AST_BINARY) &&
                      t->node[up].op != CL_BinaryOperator_Add;

        if (dim || (v != WS__AL_THREAD && v != WS__AL_BLOCK_DIM))
            continue;
        factor = factor || ws__ast_is(t, up, WS__AST_CAST);
        ws__rewrite_node(out, i, factor ? "(%s / %d)" : "%s / %d",
                         ws__xform_text(p->in, i), WARP);
    }
    if (size >= 0)
        ws__rewrite_node(out, size,
                         t->node[size].kind == WS__AST_BINARY ? "((%s) / %d)"
                                                              : "(%s / %d)",
                         ws__xform_text(p->in, size), WARP);
}

/* The name by which parts of a reduction go: its variable's, or a new one for
 * each that is in memory. NULL: no memory. */
static const char *part_name(const struct plan *p,
                             const struct ws__reduction *r)
{
    const char *base = "part";
    int before = 0;

    if (r->decl >= 0)
        return p->in->ast->node[r->decl].name;
    for (size_t l = 0; l < p->nloop; l++)
        for (size_t k = 0; k < p->loop[l].nred; k++)
            before +=
                p->loop[l].red[k].decl < 0 && p->loop[l].red[k].at < r->at;
    if (before)
        base = ws__arena_printf(p->in->arena, "part_%d", before + 1);
    return base ? ws__xform_name(p->in, base) : NULL;
}

static const char *type_name(const struct ws__ast_type *y)
{
    if (y->class == WS__AT_FLOAT)
        return y->bits == 64 ? "double" : "float";
    if (y->bits == 64)
        return y->is_unsigned ? "unsigned long long" : "long long";
    return y->is_unsigned ? "unsigned" : "int";
}

static const char *extreme(const struct plan *p, const struct ws__reduction *r)
{
    const struct ws__ast_type *y = &p->in->ast->node[r->at].type;
    bool max = r->kind == WS__RED_MAX;

    if (r->by >= 0)
        return p->in->ast->node[r->by].name;
    if (y->class == WS__AT_INT)
        return max ? "max" : "min";
    if (y->bits == 64)
        return max ? "fmax" : "fmin";
    return max ? "fmaxf" : "fminf";
}

static bool is_zero(const struct plan *p, int32_t expr)
{
    int32_t v = ws__ast_bare(p->in->ast, expr);
    const char *text = v < 0 ? NULL : ws__xform_text(p->in, v);
    char *end;

    return text && strtod(text, &end) == 0 && end != text &&
           (!*end || *end == 'f' || *end == 'F');
}

/* Is the variable 0 wherever the loop begins: set so in the statement before,
 * or declared so and not used since? */
static bool starts_at_zero(const struct plan *p, const struct ws__loop *l,
                           int32_t var)
{
    const struct ws__ast *t = p->in->ast;
    int32_t block = t->node[l->f.loop].parent, before = -1;

    if (t->node[block].kind != WS__AST_BLOCK)
        return false;
    for (int32_t c = t->node[block].first; c != l->f.loop; c = t->node[c].next)
        before = c;
    if (ws__ast_is(t, before, WS__AST_ASSIGN) &&
        t->node[before].op == CL_BinaryOperator_Assign &&
        ws__ast_refers(t, ws__ast_child(t, before, 0), var))
        return is_zero(p, ws__ast_child(t, before, 1));
    if (t->node[t->node[var].parent].parent != block ||
        !is_zero(p, ws__ast_child(t, var, 0)))
        return false;
    for (int32_t i = ws__ast_after(t, var); i < l->f.loop; i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl == var)
            return false;
    return true;
}

struct edit {
    const struct plan *p;
    const struct words *w;
    struct ws__rewrite *out;
    struct ws__buf before, behind;
    const char *indent, *tab;
};

/* Threads but the first begin with nothing. */
static void edit_start(struct edit *e, const struct ws__loop *l,
                       const struct ws__reduction *r, const char *name)
{
    const struct ws__ast *t = e->p->in->ast;
    const char *place = ws__xform_text(e->p->in, r->at);

    if (r->decl < 0)
        ws__buf_printf(&e->before, "%s %s = %s;\n%s",
                       type_name(&t->node[r->at].type), name,
                       r->kind == WS__RED_SUM ? "0" : place, e->indent);
    else if (r->kind == WS__RED_SUM && !starts_at_zero(e->p, l, r->decl))
        ws__buf_printf(&e->before, "if (%s != 0)\n%s%s%s = 0;\n%s", e->w->lane,
                       e->indent, e->tab, name, e->indent);
}

static void edit_pair(struct edit *e, const struct ws__reduction *r,
                      const char *name)
{
    const struct ws__ast *t = e->p->in->ast;
    const char *at = t->node[r->where].name, *i = e->indent, *b = e->tab;
    const char *other = e->w->other, *place = e->w->at;

    ws__buf_printf(&e->behind,
                   "%s%s%s %s = __shfl_xor_sync(0xffffffffu, %s, %s);\n", i, b,
                   type_name(&t->node[r->at].type), other, name, e->w->step);
    ws__buf_printf(&e->behind,
                   "%s%s%s %s = __shfl_xor_sync(0xffffffffu, %s, %s);\n\n", i,
                   b, type_name(&t->node[r->where].type), place, at,
                   e->w->step);
    ws__buf_printf(&e->behind, "%s%sif (%s %c %s || (%s == %s && %s < %s)) {\n",
                   i, b, other, r->kind == WS__RED_MAX ? '>' : '<', name, other,
                   name, place, at);
    ws__buf_printf(&e->behind, "%s%s%s%s = %s;\n", i, b, b, name, other);
    ws__buf_printf(&e->behind, "%s%s%s%s = %s;\n", i, b, b, at, place);
    ws__buf_printf(&e->behind, "%s%s}\n", i, b);
}

static void edit_shuffle(struct edit *e, const struct ws__reduction *r,
                         const char *name)
{
    if (r->where >= 0)
        edit_pair(e, r, name);
    else if (r->kind == WS__RED_SUM)
        ws__buf_printf(&e->behind,
                       "%s%s%s += __shfl_xor_sync(0xffffffffu, %s, %s);\n",
                       e->indent, e->tab, name, name, e->w->step);
    else
        ws__buf_printf(&e->behind,
                       "%s%s%s = %s(%s, __shfl_xor_sync(0xffffffffu, %s, "
                       "%s));\n",
                       e->indent, e->tab, name, extreme(e->p, r), name, name,
                       e->w->step);
}

/* The element of memory becomes a variable in the loop. */
static void rename_part(struct edit *e, const struct ws__loop *l,
                        const struct ws__reduction *r, const char *name)
{
    const struct ws__ast *t = e->p->in->ast;
    int32_t end = ws__ast_after(t, l->f.loop);

    if (r->decl >= 0)
        return;
    for (int32_t i = l->f.loop; i < end; i++)
        if (t->node[i].kind == WS__AST_INDEX && ws__ast_same(t, i, r->at))
            ws__rewrite_node(e->out, i, "%s", name);
}

static void edit_store(struct edit *e, const struct ws__reduction *r,
                       const char *name)
{
    if (r->decl < 0)
        ws__buf_printf(&e->behind, "%sif (%s == 0)\n%s%s%s %s %s;\n", e->indent,
                       e->w->lane, e->indent, e->tab,
                       ws__xform_text(e->p->in, r->at),
                       r->kind == WS__RED_SUM ? "+=" : "=", name);
}

static void edit_reductions(struct edit *e, const struct ws__loop *l)
{
    bool many = l->nred > 1 || (l->nred && l->red[0].where >= 0);

    if (!l->nred)
        return;
    ws__buf_printf(&e->behind, "%sfor (int %s = %d; %s > 0; %s /= 2)%s\n",
                   e->indent, e->w->step, WARP / 2, e->w->step, e->w->step,
                   many ? " {" : "");
    for (size_t i = 0; i < l->nred; i++) {
        const char *name = part_name(e->p, &l->red[i]);

        if (!name) {
            e->out->failed = WS_ENOMEM;
            return;
        }
        edit_start(e, l, &l->red[i], name);
        edit_shuffle(e, &l->red[i], name);
        rename_part(e, l, &l->red[i], name);
    }
    if (many)
        ws__buf_printf(&e->behind, "%s}\n", e->indent);
    for (size_t i = 0; i < l->nred; i++)
        edit_store(e, &l->red[i], part_name(e->p, &l->red[i]));
}

/* Every 32nd turn, from the thread's own on. */
static void edit_head(struct edit *e, const struct ws__loop *l)
{
    const struct ws__ast *t = e->p->in->ast;
    int64_t from;
    bool zero = ws__ast_const(t, l->f.from, &from) && !from;
    bool simple = ws__ast_bare(t, l->f.from) == l->f.from &&
                  (t->node[l->f.from].kind == WS__AST_INT ||
                   t->node[l->f.from].kind == WS__AST_REF);

    if (zero)
        ws__rewrite_node(e->out, l->f.from, "%s", e->w->lane);
    else
        ws__rewrite_node(e->out, l->f.from, simple ? "%s + %s" : "(%s) + %s",
                         ws__xform_text(e->p->in, l->f.from), e->w->lane);
    ws__rewrite_node(e->out, l->f.step, "%s += %d", t->node[l->f.var].name,
                     WARP);
}

/* The end of a statement with its semicolon. */
static uint32_t end_of(const struct ws__ast *t, int32_t stmt)
{
    uint32_t at = t->node[stmt].end;

    if (t->text[at - 1] == '}' || t->text[at - 1] == ';')
        return at;
    for (;;) {
        const char *c = t->text + at;

        if (*c == ' ' || *c == '\t' || *c == '\n' || *c == '\r')
            at++;
        else if (c[0] == '/' && c[1] == '*' && strstr(c + 2, "*/"))
            at = (uint32_t)(strstr(c + 2, "*/") + 2 - t->text);
        else if (c[0] == '/' && c[1] == '/')
            at += (uint32_t)strcspn(c, "\n");
        else
            return *c == ';' ? at + 1 : t->node[stmt].end;
    }
}

/* Does the statement begin its line? */
static bool begins_line(const struct ws__ast *t, int32_t stmt)
{
    uint32_t at = t->node[stmt].begin;

    while (at && (t->text[at - 1] == ' ' || t->text[at - 1] == '\t'))
        at--;
    return !at || t->text[at - 1] == '\n';
}

/* Behind the word that the statement follows: `if (...)`, `else`. Its own
 * beginning, where there may be a comment between. */
static uint32_t behind_word(const struct ws__ast *t, int32_t stmt)
{
    uint32_t at = t->node[stmt].begin, line;

    while (at && strchr(" \t\r\n", t->text[at - 1]))
        at--;
    for (line = at; line && t->text[line - 1] != '\n'; line--)
        if (t->text[line - 1] == '/')
            return t->node[stmt].begin;
    return at;
}

static void open_brace(struct edit *e, int32_t stmt)
{
    const struct ws__ast *t = e->p->in->ast;
    uint32_t at = behind_word(t, stmt);

    if (begins_line(t, stmt) && at < t->node[stmt].begin)
        ws__rewrite_at(e->out, at, 0, " {");
    else
        ws__rewrite_at(e->out, t->node[stmt].begin, 0, "{\n%s", e->indent);
}

/* What stands before and behind a statement; in braces where it is the one
 * statement of an if or a loop. */
static void place(struct edit *e, int32_t stmt)
{
    const struct ws__ast *t = e->p->in->ast;
    int32_t up = t->node[stmt].parent;
    bool brace =
        (e->before.len || e->behind.len) && !ws__ast_is(t, up, WS__AST_BLOCK);
    const char *tail = e->behind.len ? e->behind.data : "";
    size_t n = strlen(tail);

    while (n && tail[n - 1] == '\n')
        n--;
    if (brace)
        open_brace(e, stmt);
    if (e->before.len)
        ws__rewrite_at(e->out, t->node[stmt].begin, 0, "%s", e->before.data);
    if (n)
        ws__rewrite_at(e->out, end_of(t, stmt), 0, "\n%.*s", (int)n, tail);
    if (brace)
        ws__rewrite_at(e->out, end_of(t, stmt), 0, "\n%s}",
                       ws__xform_indent(e->p->in, up));
}

static int edit_region(const struct plan *p, size_t i, const struct words *w,
                       struct ws__rewrite *out)
{
    const struct region *g = &p->region[i];
    struct edit e = {.p = p, .w = w, .out = out};
    bool failed;

    e.tab = tab_of(p, g->stmt);
    e.indent = ws__xform_indent(p->in, g->stmt);
    if (e.indent && !begins_line(p->in->ast, g->stmt) &&
        !ws__ast_is(p->in->ast, p->in->ast->node[g->stmt].parent,
                    WS__AST_BLOCK))
        e.indent = ws__arena_printf(p->in->arena, "%s%s", e.indent, e.tab);
    if (!e.indent)
        return WS_ENOMEM;
    ws__buf_init(&e.before, p->in->ctx, 1 << 16);
    ws__buf_init(&e.behind, p->in->ctx, 1 << 16);
    if (waits(p, i))
        ws__buf_printf(&e.before, "__syncwarp();\n%s", e.indent);
    if (g->loop >= 0) {
        edit_reductions(&e, &p->loop[g->loop]);
        edit_head(&e, &p->loop[g->loop]);
    } else if (g->first) {
        ws__buf_printf(&e.before, "if (%s == 0)\n%s%s", w->lane, e.indent,
                       e.tab);
    }
    failed = e.before.failed || e.behind.failed;
    if (!failed)
        place(&e, g->stmt);
    ws__buf_free(&e.before);
    ws__buf_free(&e.behind);
    return failed ? WS_ENOMEM : 0;
}

/* ceil_div(M, 256) of blocks of 256 becomes ceil_div(32 * (M), 256); anything
 * else is taken 32 times. */
static const char *wide_grid(const struct plan *p)
{
    const char *grid = ws__xform_grid(p->in, 0);
    const char *block = ws__xform_block(p->in, 0);
    size_t n = strlen(grid), b = strlen(block);
    int depth = 0, commas = 0;
    size_t comma = 0;

    if (strncmp(grid, "ceil_div(", 9) == 0 && n > 10 + b &&
        grid[n - 1] == ')') {
        for (size_t i = 9; i + 1 < n; i++) {
            depth += (grid[i] == '(') - (grid[i] == ')');
            if (depth < 0)
                break;
            if (grid[i] == ',' && !depth) {
                comma = i;
                commas++;
            }
        }
        if (commas == 1 && depth == 0) {
            const char *second = grid + comma + 1;

            second += strspn(second, " ");
            if (strlen(second) == b + 1 && !strncmp(second, block, b))
                return ws__arena_printf(p->in->arena,
                                        "ceil_div(%d * (%.*s), %s)", WARP,
                                        (int)(comma - 9), grid + 9, block);
        }
    }
    return ws__arena_printf(p->in->arena, "%d * (%s)", WARP, grid);
}

static int edit_launch(const struct plan *p, struct ws__rewrite *out)
{
    const char *grid = wide_grid(p);
    const char *whole;
    int64_t number;

    if (!grid)
        return WS_ENOMEM;
    ws__rewrite_change(out, grid, "launches[%zu].grid[0]", p->in->launch);
    if (plain_number(ws__xform_block(p->in, 0), &number))
        return 0;
    whole = ws__arena_printf(p->in->arena, "(%s) %% %d == 0",
                             ws__xform_block(p->in, 0), WARP);
    if (!whole)
        return WS_ENOMEM;
    ws__rewrite_change(out, whole, "constraints[+]");
    return 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    struct plan *p = ws__arena_alloc(in->arena, 1, sizeof(*p));
    struct words w = {.lane = ws__xform_name(in, "lane"),
                      .step = ws__xform_name(in, "step"),
                      .other = ws__xform_name(in, "other"),
                      .at = ws__xform_name(in, "other_at")};

    (void)s;
    if (!p || !w.lane || !w.step || !w.other || !w.at)
        return WS_ENOMEM;
    WS_TRY(make_plan(in, p));
    edit_row(p, out);
    ws__rewrite_behind(out, in->ast->node[p->row].parent,
                       "int %s = threadIdx.x %% %d;", w.lane, WARP);
    for (size_t i = 0; i < p->n; i++)
        WS_TRY(edit_region(p, i, &w, out));
    return edit_launch(p, out);
}

const struct ws__xform_ops ws__xform_warp_per_row = {
    .abi = WS__XFORM_ABI,
    .name = "warp_per_row",
    .about = "a warp instead of a thread for each row",
    .needs = "a thread's number is the row's, loops along the row carry "
             "nothing but sums, largest and smallest values, and threads "
             "share nothing",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .rounding = true,
    .cuda = true,
    .opencl = false,
    .gain = 4,
    .find = find,
    .apply = apply,
};
