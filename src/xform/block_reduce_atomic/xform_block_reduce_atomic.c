/*
 * xform_block_reduce_atomic.c: threads of a block add up first, one of them
 * adds to global memory.
 *
 * Where all threads of a block add to one place, they wait for each other. So
 * each keeps what it has to add, warps add up by shuffles, the first warp adds
 * up the warps, and one thread does the one atomic. All threads must come to
 * the end for this: a guard by which some leave becomes a condition around the
 * rest. Sums of floats are added in another order, as atomics did before.
 */
#include "core/trial.h"
#include "xform/adding.h"
#include "xform/clang_api.h"

#include "base/banned.h"

static const char *const findings[] = {"atomics", "wait_lg", "wait_memory",
                                       NULL};
static const struct ws__xform_delta deltas[] = {{"atomic_share", 0.01, 0.3},
                                                {NULL, 0, 0}};
static const char what[] = "add up in the block first";

/* --- where is added ------------------------------------------------------- */

/* Does a block as a whole see one value, from the beginning to the end? */
static bool is_uniform(const struct ws__xform_in *in, int32_t root)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];
        int dim;
        enum ws__ast_launch v = ws__ast_launch_value(t, i, &dim);
        int32_t init;

        if (v == WS__AL_THREAD || v == WS__AL_GLOBAL)
            return false;
        if (n->kind == WS__AST_CALL || n->kind == WS__AST_ASSIGN ||
            (n->kind == WS__AST_UNARY && n->op < CL_UnaryOperator_AddrOf))
            return false;
        if (n->kind != WS__AST_REF || n->decl < 0)
            continue;
        if (ws__ast_changes(t, in->body, n->decl))
            return false;
        init = ws__ast_child(t, n->decl, 0);
        if (t->node[n->decl].kind == WS__AST_VAR &&
            (init < 0 || t->node[t->node[n->decl].parent].parent != in->body ||
             !is_uniform(in, init)))
            return false;
    }
    return true;
}

/* Memory that is read for the place must not change: none is read but through
 * the pointer that is added to. */
static bool reads_memory(const struct ws__ast *t, int32_t target)
{
    int32_t end = ws__ast_after(t, target);
    int n = 0;

    for (int32_t i = target; i < end; i++)
        n += t->node[i].kind == WS__AST_INDEX ||
             (t->node[i].kind == WS__AST_UNARY &&
              t->node[i].op == CL_UnaryOperator_Deref);
    return n > (t->node[ws__ast_bare(t, target)].kind == WS__AST_UNARY);
}

static bool find_call(const struct ws__xform_in *in, struct ws__adding *a)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);
    int n = 0;

    a->call = -1;
    for (int32_t i = in->body; i < end; i++) {
        int32_t target = ws__ast_child(t, i, 1);

        if (!ws__adding_is_call(t, i) || target < 0 || !is_uniform(in, target))
            continue;
        n++;
        a->call = i;
    }
    return n == 1 ? true
           : n    ? ws__adding_no(a, "threads add in more than one place")
                  : false;
}

/* Variables that say where: not declared behind the guard, where the end cannot
 * see them. */
static bool names_later(const struct ws__ast *t, int32_t target, int32_t guard)
{
    int32_t end = ws__ast_after(t, target);

    for (int32_t i = target; i < end; i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl > guard)
            return true;
    return false;
}

/* May the place be none where no thread adds? */
static bool may_be_none(const struct ws__ast *t, int32_t target)
{
    int32_t end = ws__ast_after(t, target);
    int dim;

    for (int32_t i = target; i < end; i++)
        if (ws__ast_launch_value(t, i, &dim) != WS__AL_NONE ||
            (t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0 &&
             t->node[t->node[i].decl].kind == WS__AST_VAR))
            return true;
    return false;
}

static bool check_place(const struct ws__xform_in *in, struct ws__adding *a)
{
    if (reads_memory(in->ast, a->target))
        return ws__adding_no(a, "memory says where is added");
    if (a->guard >= 0 && names_later(in->ast, a->target, a->guard))
        return ws__adding_no(a, "where is added is declared behind a guard");
    return true;
}

static bool look(const struct ws__xform_in *in, struct ws__adding *a)
{
    memset(a, 0, sizeof(*a));
    return find_call(in, a) && ws__adding_check(in, a) && check_place(in, a);
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    struct ws__adding a;
    int rc = 0;

    if (!look(in, &a))
        return a.why ? ws__site_refuse(in, out, a.call, what, a.why) : 0;
    ws__site_add(in, out, a.call, &rc, "%s: one atomic a block of '%s'", what,
                 in->kernel->launch[in->launch].entry);
    return rc;
}

/* --- the new text --------------------------------------------------------- */

struct names {
    const char *mine, *warps, *offset, *type, *zero;
    const char *added; /* NULL: the place is there whoever adds */
};

static int name_all(const struct ws__xform_in *in, const struct ws__adding *a,
                    struct names *n)
{
    n->mine = ws__xform_name(in, "mine");
    n->warps = ws__xform_name(in, "warp_sums");
    n->offset = ws__xform_name(in, "offset");
    n->added =
        may_be_none(in->ast, a->target) ? ws__xform_name(in, "added") : NULL;
    n->zero = ws__adding_zero(in, a);
    n->type = ws__adding_type(in, a);
    return n->mine && n->warps && n->offset ? 0 : WS_ENOMEM;
}

static void put_shuffles(struct ws__buf *b, int depth, const struct names *n)
{
    ws__buf_printf(b, "%*sfor (int %s = 16; %s; %s /= 2)\n", depth * 4, "",
                   n->offset, n->offset, n->offset);
    ws__buf_printf(b, "%*s    %s += __shfl_down_sync(0xffffffffu, %s, %s);\n",
                   depth * 4, "", n->mine, n->mine, n->offset);
}

static void put_end(struct ws__buf *b, const struct names *n,
                    const char *target)
{
    ws__buf_puts(b, "\n    /* the warp's sum, the block's, one atomic */\n");
    put_shuffles(b, 1, n);
    ws__buf_printf(b,
                   "    if (threadIdx.x %% 32 == 0)\n"
                   "        %s[threadIdx.x / 32] = %s;\n",
                   n->warps, n->mine);
    if (n->added)
        ws__buf_printf(b, "    %s = __syncthreads_or(%s);\n", n->added,
                       n->added);
    else
        ws__buf_puts(b, "    __syncthreads();\n");
    ws__buf_printf(b,
                   "    if (threadIdx.x < 32) {\n"
                   "        %s = threadIdx.x < blockDim.x / 32 ? "
                   "%s[threadIdx.x] : %s;\n",
                   n->mine, n->warps, n->zero);
    put_shuffles(b, 2, n);
    ws__buf_printf(b,
                   "        if (threadIdx.x == 0%s%s)\n"
                   "            atomicAdd(%s, %s);\n"
                   "    }\n",
                   n->added ? " && " : "", n->added ? n->added : "", target,
                   n->mine);
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    uint32_t begin = t->node[in->body].begin + 1;
    uint32_t end = t->node[in->body].end - 1;
    const char *target, *value, *instead;
    struct ws__adding a;
    struct names n;
    struct ws__buf b;
    int rc;

    (void)s;
    if (!look(in, &a))
        return ws__fail(in->ctx, WS_EBUG, "nothing is added");
    WS_TRY(name_all(in, &a, &n));
    target = ws__xform_text(in, a.target);
    value = ws__xform_text(in, a.value);
    if (!target || !value)
        return WS_ENOMEM;
    instead = n.added ? ws__arena_printf(in->arena, "%s = 1, %s += %s", n.added,
                                         n.mine, value)
                      : ws__arena_printf(in->arena, "%s += %s", n.mine, value);
    if (!instead)
        return WS_ENOMEM;
    ws__buf_init(&b, in->ctx, 1 << 18);
    ws__buf_printf(&b, "\n    __shared__ %s %s[32];\n    %s %s = %s;\n", n.type,
                   n.warps, n.type, n.mine, n.zero);
    if (n.added)
        ws__buf_printf(&b, "    int %s = 0;\n", n.added);
    ws__buf_puts(&b, "\n");
    rc = ws__adding_body(in, &a, instead, &b);
    if (rc >= 0)
        put_end(&b, &n, target);
    if (b.failed)
        rc = WS_ENOMEM;
    if (rc >= 0)
        ws__rewrite_at(out, begin, end - begin, "%s", b.data);
    ws__buf_free(&b);
    return rc;
}

const struct ws__xform_ops ws__xform_block_reduce_atomic = {
    .abi = WS__XFORM_ABI,
    .name = "block_reduce_atomic",
    .about = "sums of a block by shuffles, one atomic a block",
    .needs = "one atomicAdd to a place that a block's threads share, blocks of "
             "whole warps, at most one guard by which threads leave",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .rounding = true,
    .cuda = true,
    .gain = 5,
    .find = find,
    .apply = apply,
};
