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

static bool is_launch(const struct ws__ast *t, int32_t i)
{
    int dim;

    return ws__ast_launch_value(t, i, &dim) != WS__AL_NONE ||
           ws__ast_is_barrier(t, i);
}

static bool is_cuda_name(const char *n)
{
    return n && (!strcmp(n, "threadIdx") || !strcmp(n, "blockIdx") ||
                 !strcmp(n, "blockDim") || !strcmp(n, "gridDim"));
}

static bool asks_for_size(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    const char *body = t->text + t->node[in->body].begin;
    const char *p = strstr(t->text, "reqd_work_group_size");

    return p && p < body;
}

/* Why threads may not be numbered otherwise, or NULL. */
static const char *refusal(const struct ws__xform_in *in)
{
    static const char *const warps[] = {"shfl",  "_sync",      "warp", "mma",
                                        "group", "activemask", NULL};
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);
    int dim;

    for (int32_t i = 0; i < t->n; i++) {
        const struct ws__ast_node *n = &t->node[i];
        bool call = n->kind == WS__AST_CALL && n->name;

        for (size_t k = 0; call && warps[k]; k++)
            if (strstr(n->name, warps[k]) && !is_launch(t, i))
                return "threads of a warp exchange values: what a warp is may "
                       "not change";
    }
    if (ws__xform_others_ask(in))
        return "a function that it calls asks which thread it is";
    for (int32_t i = in->body; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];
        bool named = ws__ast_launch_value(t, i, &dim) != WS__AL_NONE &&
                     (n->kind == WS__AST_MEMBER || n->kind == WS__AST_CALL);

        if (n->kind == WS__AST_JUMP)
            return "jumps or assembly: not everything is seen";
        if (named && n->macro)
            return "a macro asks which thread it is";
        if (n->kind == WS__AST_CALL && n->name && !named &&
            !strncmp(n->name, "get_", 4))
            return "which dimension is asked for is not constant";
        if (n->kind == WS__AST_REF && is_cuda_name(n->name) &&
            ws__ast_launch_value(t, n->parent, &dim) == WS__AL_NONE)
            return "all dimensions of a launch value are taken at once";
    }
    if (asks_for_size(in))
        return "the source asks for a size of block";
    return NULL;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__launch *l = &in->kernel->launch[in->launch];
    struct ws__access a[MAX_ACCESSES];
    size_t n = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, a, MAX_ACCESSES);
    int better = 0, worse = 0, rc = 0;
    const char *why;
    struct ws__site *s;

    for (size_t i = 0; i < n && i < MAX_ACCESSES; i++)
        judge(&a[i], &better, &worse);
    if (!better)
        return 0;
    why = refusal(in);
    if (why)
        return ws__site_refuse(in, out, in->func, "exchange x and y", why);
    if (worse >= better)
        return ws__site_refuse(in, out, in->func, "exchange x and y",
                               "as many accesses would lose as would gain");
    if (!l->grid[1] && !l->block[1])
        return ws__site_refuse(in, out, in->func, "exchange x and y",
                               "the launch has one dimension");
    s = ws__site_add(in, out, in->func, &rc,
                     "exchange x and y of '%s': %d accesses come to step by "
                     "one element",
                     l->entry, better);
    if (s)
        s->trust = "a grid has fewer blocks in y than in x (65535 in CUDA): "
                   "large shapes may not be launched";
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
