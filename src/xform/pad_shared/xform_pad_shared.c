/*
 * xform_pad_shared.c: one column more for tiles in shared memory, so that a
 * column lies in as many banks as it has rows.
 */
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

/* Only whole indices [a][b]: an address of a row would show the gap. */
static bool only_indexed(const struct ws__xform_in *in, int32_t var)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        int32_t p;

        if (t->node[i].kind != WS__AST_REF || t->node[i].decl != var)
            continue;
        p = t->node[i].parent;
        if (!ws__ast_is(t, p, WS__AST_INDEX) ||
            !ws__ast_is(t, t->node[p].parent, WS__AST_INDEX) ||
            ws__ast_child(t, t->node[p].parent, 0) != p)
            return false;
    }
    return true;
}

/* Just behind the size of the last dimension; 0: not found. */
static uint32_t last_size(const struct ws__ast *t, int32_t var)
{
    const struct ws__ast_node *n = &t->node[var];
    uint32_t at = n->end;

    while (at > n->begin && t->text[at - 1] != ']')
        at--;
    return at > n->begin ? at - 1 : 0;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];
        struct ws__access a[MAX_ACCESSES];
        size_t na;
        bool hit = false;
        int rc = 0;

        if (n->kind != WS__AST_VAR || n->type.space != WS__AS_SHARED ||
            n->type.ndim != 2 || n->type.dim[1] < 8 || n->type.dim[1] % 8)
            continue;
        na = ws__xform_accesses(in, in->body, WS__AS_SHARED, a, MAX_ACCESSES);
        for (size_t k = 0; k < na && k < MAX_ACCESSES; k++)
            hit = hit || (a[k].decl == i && down_a_column(in, &a[k]));
        if (!hit)
            continue;
        if (!only_indexed(in, i) || !last_size(t, i)) {
            WS_TRY(ws__site_refuse(in, out, i, "pad the tile",
                                   "an address of a row is taken: a gap "
                                   "between rows would be seen"));
            continue;
        }
        ws__site_add(in, out, i, &rc, "pad the rows of '%s'", n->name);
        WS_TRY(rc);
    }
    return 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    ws__rewrite_at(out, last_size(in->ast, s->node[0]), 0, " + 1");
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
};
