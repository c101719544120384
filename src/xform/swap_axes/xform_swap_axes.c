/*
 * xform_swap_axes.c: exchanges x and y of threads and blocks, so that
 * neighbouring threads touch neighbouring elements.
 *
 * Threads of a warp differ in x first. A kernel whose innermost index comes
 * from y reads and writes with a stride. To call x what was y, in the source
 * and in the launch, is the same kernel with its threads numbered otherwise;
 * only what depends on which threads form a warp can tell the difference.
 */
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_ACCESSES 64

static const char *const findings[] = {"uncoalesced_loads",
                                       "uncoalesced_stores", NULL};
static const struct ws__xform_delta deltas[] = {{"load_sectors", 0.1, 0.6},
                                                {"store_sectors", 0.1, 0.6},
                                                {NULL, 0, 0}};

/* Does the value of y step by one element where x steps by more? Adds to
 * *better, or to *worse where it is the other way round. */
static void judge(const struct ws__access *a, int *better, int *worse)
{
    struct ws__affine x, y;

    if (!a->affine || !ws__affine_part(&a->at, WS__SYM(WS__AL_THREAD, 0), &x) ||
        !ws__affine_part(&a->at, WS__SYM(WS__AL_THREAD, 1), &y))
        return;
    if (ws__affine_is(&y, 1) && !ws__affine_is(&x, 0) && !ws__affine_is(&x, 1))
        ++*better;
    if (ws__affine_is(&x, 1) && !ws__affine_is(&y, 0) && !ws__affine_is(&y, 1))
        ++*worse;
}

static bool knows_warps(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        const char *n = t->node[i].name;

        if (t->node[i].kind == WS__AST_CALL && n &&
            (strstr(n, "_sync") || strstr(n, "sub_group") ||
             !strcmp(n, "__syncwarp") || !strcmp(n, "__activemask")))
            return true;
    }
    return false;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__launch *l = &in->kernel->launch[in->launch];
    struct ws__access a[MAX_ACCESSES];
    size_t n = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, a, MAX_ACCESSES);
    int better = 0, worse = 0, rc = 0;

    for (size_t i = 0; i < n && i < MAX_ACCESSES; i++)
        judge(&a[i], &better, &worse);
    if (!better)
        return 0;
    if (knows_warps(in))
        return ws__site_refuse(in, out, in->func, "exchange x and y",
                               "threads of a warp exchange values: what a "
                               "warp is may not change");
    if (worse >= better)
        return ws__site_refuse(in, out, in->func, "exchange x and y",
                               "as many accesses would lose as would gain");
    if (!l->grid[1] && !l->block[1])
        return ws__site_refuse(in, out, in->func, "exchange x and y",
                               "the launch has one dimension");
    ws__site_add(in, out, in->func, &rc,
                 "exchange x and y of '%s': %d accesses come to step by one "
                 "element",
                 l->entry, better);
    return rc;
}

/* The letter or digit that names the dimension. */
static void rename_one(const struct ws__xform_in *in, int32_t i,
                       struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    int dim;

    if ((t->node[i].kind != WS__AST_MEMBER &&
         t->node[i].kind != WS__AST_CALL) ||
        ws__ast_launch_value(t, i, &dim) == WS__AL_NONE || dim > 1)
        return;
    if (t->node[i].kind == WS__AST_MEMBER)
        ws__rewrite_at(out, t->node[i].end - 1, 1, "%c", dim ? 'x' : 'y');
    else
        ws__rewrite_node(out, ws__ast_child(t, i, 1), "%d", !dim);
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    int32_t end = ws__ast_after(in->ast, in->body);

    (void)s;
    for (int32_t i = in->body; i < end; i++)
        rename_one(in, i, out);
    for (size_t i = 0; i < in->kernel->nlaunch; i++) {
        struct ws__xform_in l = *in;

        if (strcmp(in->kernel->launch[i].entry,
                   in->kernel->launch[in->launch].entry))
            continue;
        l.launch = i;
        for (int d = 0; d < 2; d++) {
            ws__rewrite_change(out, ws__xform_grid(&l, !d),
                               "launches[%zu].grid[%d]", i, d);
            ws__rewrite_change(out, ws__xform_block(&l, !d),
                               "launches[%zu].block[%d]", i, d);
        }
    }
    return 0;
}

const struct ws__xform_ops ws__xform_swap_axes = {
    .abi = WS__XFORM_ABI,
    .name = "swap_axes",
    .about = "exchange x and y of threads and blocks",
    .needs = "a launch of two dimensions in which accesses step by one element "
             "with y and not with x; no warp-wide operation",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .gain = 2,
    .find = find,
    .apply = apply,
};
