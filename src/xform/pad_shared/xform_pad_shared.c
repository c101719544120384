/*
 * xform_pad_shared.c: one column more for tiles in shared memory, so that a
 * column lies in as many banks as it has rows.
 */
#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_ACCESSES 64

static const char *const findings[] = {"bank_conflicts", NULL};
static const struct ws__xform_delta deltas[] = {{"conflicts", 0, 0.3},
                                                {NULL, 0, 0}};

/* The index of the first dimension of an access to an array of two. */
static int32_t row_of(const struct ws__ast *t, int32_t index)
{
    return ws__ast_child(t, ws__ast_bare(t, ws__ast_child(t, index, 0)), 1);
}

/* Do threads that follow each other in x go down a column? */
static bool down_a_column(const struct ws__xform_in *in,
                          const struct ws__access *a)
{
    struct ws__affine row, part;
    int32_t r = row_of(in->ast, a->node);

    return r >= 0 && ws__affine_of(in->ast, r, &row) &&
           ws__affine_part(&row, WS__SYM(WS__AL_THREAD, 0), &part) && part.n;
}

static int32_t above(const struct ws__ast *t, int32_t i)
{
    do
        i = t->node[i].parent;
    while (ws__ast_is(t, i, WS__AST_PAREN));
    return i;
}

/* Is i what the INDEX p indexes? */
static bool is_indexed(const struct ws__ast *t, int32_t p, int32_t i)
{
    return ws__ast_is(t, p, WS__AST_INDEX) &&
           ws__ast_bare(t, ws__ast_child(t, p, 0)) == i;
}

/* Only whole indices [a][b] as values: an address would show the gap, and more
 * than one element behind it would lie otherwise, or not be aligned. */
static bool only_indexed(const struct ws__xform_in *in, int32_t var)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        int32_t row, whole, p;

        if (t->node[i].kind != WS__AST_REF || t->node[i].decl != var)
            continue;
        row = above(t, i);
        if (!is_indexed(t, row, i))
            return false;
        whole = above(t, row);
        if (!is_indexed(t, whole, row))
            return false;
        p = above(t, whole);
        if (ws__ast_is(t, p, WS__AST_UNARY) &&
            t->node[p].op == CL_UnaryOperator_AddrOf)
            return false;
    }
    return true;
}

/* Is a dimension of all blocks no larger, by its number or its name? */
static bool blocks_fit(const struct ws__xform_in *in, int dim, int64_t size,
                       const char *name)
{
    struct ws__xform_in l = *in;

    for (l.launch = ws__xform_next_launch(in, 0);
         l.launch < in->kernel->nlaunch;
         l.launch = ws__xform_next_launch(in, l.launch + 1)) {
        const char *block = ws__xform_block(&l, dim);
        size_t digits = strspn(block, "0123456789");
        int64_t n = 0;

        for (size_t i = 0; i < digits && n <= size; i++)
            n = n * 10 + (block[i] - '0');
        if (strcmp(block, name) != 0 && (block[digits] || n > size))
            return false;
    }
    return true;
}

/* May a column be one of a later row: tile[0][k] over all of the tile? Where
 * the row is not always the same, it is taken to be the row. */
static bool may_run_on(const struct ws__xform_in *in,
                       const struct ws__access *a, int64_t size,
                       const char *name)
{
    const struct ws__ast *t = in->ast;
    int32_t column = ws__ast_bare(t, a->index);
    struct ws__affine part;
    int64_t row, to;

    if (!ws__ast_const(t, row_of(t, a->node), &row) ||
        (ws__ast_const(t, column, &to) && to < size))
        return false;
    for (int dim = 0; dim < 3 && a->affine && a->at.n == 1; dim++)
        if (ws__affine_part(&a->at, WS__SYM(WS__AL_THREAD, dim), &part) &&
            ws__affine_is(&part, 1))
            return !blocks_fit(in, dim, size, name);
    for (int32_t up = a->node; up > in->body; up = t->node[up].parent) {
        struct ws__ast_for f;

        ws__ast_for(t, up, &f);
        if (f.counts && ws__ast_refers(t, column, f.var) &&
            ws__ast_const(t, f.to, &to) && to + f.inclusive <= size)
            return false;
    }
    return true;
}

/* The text of the last dimension's size; false: both sizes are not written
 * here, or not plainly. */
static bool last_size(const struct ws__ast *t, int32_t var, uint32_t *begin,
                      uint32_t *end)
{
    const struct ws__ast_node *n = &t->node[var];
    int open = 0, close = 0;

    if (!ws__xform_is_whole(t, var))
        return false;
    for (uint32_t i = n->begin; i < n->end; i++) {
        if (t->text[i] == '[') {
            open++;
            *begin = i + 1;
        } else if (t->text[i] == ']') {
            close++;
            *end = i;
        }
    }
    return open == 2 && close == 2;
}

static bool is_plain(const char *s)
{
    for (; *s; s++)
        if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') &&
            !(*s >= '0' && *s <= '9') && *s != '_')
            return false;
    return true;
}

/* Why the rows of a tile cannot be longer. NULL: they can. */
static const char *refusal(const struct ws__xform_in *in, int32_t var,
                           const struct ws__access *a, size_t n)
{
    const struct ws__ast *t = in->ast;
    const struct ws__ast_type *y = &t->node[var].type;
    uint32_t begin, end;
    const char *size;

    if (!only_indexed(in, var) || !last_size(t, var, &begin, &end))
        return "an address in it is taken: a gap between rows would be seen";
    size = ws__arena_strndup(in->arena, t->text + begin, end - begin);
    for (size_t i = 0; i < n && i < MAX_ACCESSES && size; i++)
        if (a[i].decl == var && may_run_on(in, &a[i], y->dim[1], size))
            return "a column may be one of a later row: a gap between rows "
                   "would be seen";
    return n > MAX_ACCESSES ? "it has too many accesses" : NULL;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];
        struct ws__access a[MAX_ACCESSES];
        const char *why;
        bool hit = false;
        size_t na;
        int rc = 0;

        if (n->kind != WS__AST_VAR || n->type.space != WS__AS_SHARED ||
            n->type.ndim != 2 || n->type.dim[1] < 8 || n->type.dim[1] % 8)
            continue;
        na = ws__xform_accesses(in, in->body, WS__AS_SHARED, a, MAX_ACCESSES);
        for (size_t k = 0; k < na && k < MAX_ACCESSES; k++)
            hit = hit || (a[k].decl == i && down_a_column(in, &a[k]));
        if (!hit)
            continue;
        why = refusal(in, i, a, na);
        if (why)
            WS_TRY(ws__site_refuse(in, out, i, "pad the tile", why));
        else
            ws__site_add(in, out, i, &rc, "pad the rows of '%s'", n->name);
        WS_TRY(rc);
    }
    return 0;
}

/* What the launch says of shared memory grows by a column. */
static void grow(const struct ws__xform_in *in, size_t launch,
                 const struct ws__ast_node *n, struct ws__rewrite *out)
{
    const struct ws__expr *e = in->kernel->launch[launch].shared;
    const char *more;

    if (!e)
        return;
    more = ws__arena_printf(in->arena, "(%s) + %lld", e->text,
                            (long long)n->type.dim[0] * n->type.bits / 8 *
                                n->type.width);
    if (!more)
        out->failed = WS_ENOMEM;
    else
        ws__rewrite_change(out, more, "launches[%zu].shared", launch);
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast_node *n = &in->ast->node[s->node[0]];
    uint32_t b = 0, e = 0;
    const char *size;

    if (!last_size(in->ast, s->node[0], &b, &e))
        return ws__fail(in->ctx, WS_EBUG, "no size of '%s'", n->name);
    size = ws__arena_strndup(in->arena, in->ast->text + b, e - b);
    if (!size)
        return WS_ENOMEM;
    if (is_plain(size)) {
        ws__rewrite_at(out, e, 0, " + 1");
    } else {
        ws__rewrite_at(out, b, 0, "(");
        ws__rewrite_at(out, e, 0, ") + 1");
    }
    for (size_t i = ws__xform_next_launch(in, 0); i < in->kernel->nlaunch;
         i = ws__xform_next_launch(in, i + 1))
        grow(in, i, n, out);
    return 0;
}

const struct ws__xform_ops ws__xform_pad_shared = {
    .abi = WS__XFORM_ABI,
    .name = "pad_shared",
    .about = "one column more for a tile in shared memory",
    .needs = "a tile of two dimensions, read or written down its columns and "
             "used by whole indices only",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .gain = 1.3,
    .find = find,
    .apply = apply,
    .keeps_names = true,
};
