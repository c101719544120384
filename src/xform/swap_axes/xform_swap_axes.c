/*
 * xform_swap_axes.c: exchanges x with y or z of threads and blocks, so that
 * neighbouring threads touch neighbouring elements.
 *
 * Threads of a warp differ in x first. A kernel whose innermost index comes
 * from y or z reads and writes with a stride. To call x what was y, in the
 * source and in the launch, is the same kernel with its threads numbered
 * otherwise; only what depends on which threads form a warp can tell the
 * difference.
 *
 * CUDA's grids have fewer blocks in y and z than in x, and its blocks fewer
 * threads in z: what could be more is kept away by a constraint.
 */
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_ACCESSES 64
#define MAX_BLOCKS 65535 /* in y and z, CUDA */
#define MAX_THREADS_Z 64 /* of a block, CUDA */

static const char *const findings[] = {"uncoalesced_loads",
                                       "uncoalesced_stores", NULL};
static const struct ws__xform_delta deltas[] = {{"load_sectors", 0.1, 0.6},
                                                {"store_sectors", 0.1, 0.6},
                                                {NULL, 0, 0}};

/* Does the value step by one element with `dim` where it does by more with x?
 * Adds to *better, or to *worse where it is the other way round. */
static void judge(const struct ws__access *a, int dim, int *better, int *worse)
{
    struct ws__affine x, y;

    if (!a->affine || !ws__affine_part(&a->at, WS__SYM(WS__AL_THREAD, 0), &x) ||
        !ws__affine_part(&a->at, WS__SYM(WS__AL_THREAD, dim), &y))
        return;
    if (ws__affine_is(&y, 1) && !ws__affine_is(&x, 0) && !ws__affine_is(&x, 1))
        ++*better;
    if (ws__affine_is(&x, 1) && !ws__affine_is(&y, 0) && !ws__affine_is(&y, 1))
        ++*worse;
}

/* The dimension to exchange x with, where most is won; 0: none. */
static int best_dim(const struct ws__xform_in *in, int *better, int *worse)
{
    struct ws__access a[MAX_ACCESSES];
    size_t n = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, a, MAX_ACCESSES);
    int best = 0;

    for (int dim = 1; dim < 3; dim++) {
        int more = 0, less = 0;

        for (size_t i = 0; i < n && i < MAX_ACCESSES; i++)
            judge(&a[i], dim, &more, &less);
        if (!more || (best && more - less <= *better - *worse))
            continue;
        best = dim;
        *better = more;
        *worse = less;
    }
    return best;
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

/* --- limits --------------------------------------------------------------- */

/* The value of an expression of the launch with all axes as large as they can
 * be, and parameters at their least or largest. False: it is not known. */
static bool largest(const struct ws__xform_in *in, const struct ws__expr *e,
                    int64_t *out)
{
    const struct ws__kernel *k = in->kernel;
    union wsrt_value vars[WS__MAX_SLOTS];

    memset(vars, 0, sizeof(vars));
    *out = 1;
    for (int last = 0; e && last < 2; last++) {
        int64_t value;

        for (size_t i = 0; i < k->op->naxis; i++) {
            int slot = ws__scope_find(&k->scope, k->op->axis[i].name);

            if (slot >= 0 && k->op->axis[i].kind == WS__AXIS_VAR)
                vars[slot].i = k->op->axis[i].hi;
        }
        for (size_t i = 0; i < k->nparam; i++)
            if (k->param[i].type == WS__INT)
                vars[ws__kernel_param_slot(k, i)] =
                    k->param[i].slot[last ? k->param[i].nvalue - 1 : 0];
        if (ws__expr_eval_int(in->ctx, e, vars, &value) < 0) {
            ws__error_clear(in->ctx);
            return false;
        }
        *out = value > *out ? value : *out;
    }
    return true;
}

static bool may_exceed(const struct ws__xform_in *in, const struct ws__expr *e,
                       int64_t limit)
{
    int64_t most;

    return in->kernel->dialect == WS__DIALECT_CUDA &&
           (!largest(in, e, &most) || most > limit);
}

static bool is_number(const struct ws__expr *e, int64_t *out)
{
    *out = 0;
    for (const char *p = e ? e->text : "1"; *p; p++) {
        if (*p < '0' || *p > '9' || *out > MAX_BLOCKS)
            return false;
        *out = *out * 10 + (*p - '0');
    }
    return true;
}

/* What comes to y or z keeps to its limit. */
static void put_limit(struct ws__rewrite *out, const struct ws__xform_in *in,
                      const struct ws__expr *e, int64_t limit)
{
    const char *text;

    if (!may_exceed(in, e, limit))
        return;
    text = ws__arena_printf(in->arena, "\"%s <= %lld\"", e->text,
                            (long long)limit);
    if (!text)
        out->failed = WS_ENOMEM;
    else
        ws__rewrite_change(out, text, "constraints[+]");
}

static const char *limit_refusal(const struct ws__xform_in *in, int dim)
{
    int64_t n;

    for (size_t i = ws__xform_next_launch(in, 0); i < in->kernel->nlaunch;
         i = ws__xform_next_launch(in, i + 1)) {
        const struct ws__launch *l = &in->kernel->launch[i];

        if (!l->grid[dim] && !l->block[dim])
            return "the launch has too few dimensions";
        if (in->kernel->dialect != WS__DIALECT_CUDA)
            continue;
        if (is_number(l->grid[0], &n) && n > MAX_BLOCKS)
            return "a grid has at most 65535 blocks in y and z";
        if (dim == 2 && is_number(l->block[0], &n) && n > MAX_THREADS_Z)
            return "a block has at most 64 threads in z";
    }
    return NULL;
}

/* --- the transformation --------------------------------------------------- */

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    int better = 0, worse = 0, rc = 0, dim = best_dim(in, &better, &worse);
    const char *why, *words;
    struct ws__site *s;

    if (!dim)
        return 0;
    words = dim == 1 ? "exchange x and y" : "exchange x and z";
    why = refusal(in);
    if (!why && worse >= better)
        why = "as many accesses would lose as would gain";
    if (!why)
        why = limit_refusal(in, dim);
    if (why)
        return ws__site_refuse(in, out, in->func, words, why);
    s = ws__site_add(in, out, in->func, &rc,
                     "%s of '%s': %d accesses come to step by one element",
                     words, in->kernel->launch[in->launch].entry, better);
    if (s)
        s->arg[0] = dim;
    if (s && in->kernel->dialect != WS__DIALECT_CUDA)
        s->trust = "the device takes as many groups in y and z as in x";
    return rc;
}

/* The letter or digit that names the dimension. */
static void rename_one(const struct ws__xform_in *in, int32_t i, int with,
                       struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    int dim;

    if ((t->node[i].kind != WS__AST_MEMBER &&
         t->node[i].kind != WS__AST_CALL) ||
        ws__ast_launch_value(t, i, &dim) == WS__AL_NONE || (dim && dim != with))
        return;
    dim = dim ? 0 : with;
    if (t->node[i].kind == WS__AST_MEMBER)
        ws__rewrite_at(out, t->node[i].end - 1, 1, "%c", "xyz"[dim]);
    else
        ws__rewrite_node(out, ws__ast_child(t, i, 1), "%d", dim);
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    int32_t end = ws__ast_after(in->ast, in->body);
    int with = (int)s->arg[0];
    struct ws__xform_in l = *in;

    for (int32_t i = in->body; i < end; i++)
        rename_one(in, i, with, out);
    for (l.launch = ws__xform_next_launch(in, 0);
         l.launch < in->kernel->nlaunch;
         l.launch = ws__xform_next_launch(in, l.launch + 1)) {
        const struct ws__launch *launch = &in->kernel->launch[l.launch];

        for (int from = 0; from <= with; from += with) {
            int to = with - from;

            ws__rewrite_change(out, ws__xform_grid(&l, from),
                               "launches[%zu].grid[%d]", l.launch, to);
            ws__rewrite_change(out, ws__xform_block(&l, from),
                               "launches[%zu].block[%d]", l.launch, to);
        }
        put_limit(out, in, launch->grid[0], MAX_BLOCKS);
        if (with == 2)
            put_limit(out, in, launch->block[0], MAX_THREADS_Z);
    }
    return 0;
}

const struct ws__xform_ops ws__xform_swap_axes = {
    .abi = WS__XFORM_ABI,
    .name = "swap_axes",
    .about = "exchange x with y or z of threads and blocks",
    .needs = "a launch in which accesses step by one element with y or z and "
             "not with x; no warp-wide operation",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .gain = 2,
    .find = find,
    .apply = apply,
};
