/*
 * xform_unroll.c: a loop's body several times a turn, as a parameter.
 *
 * The pragma leaves it to the compiler, which keeps the order of additions and
 * adds what is left over; loads of several turns are then under way at once.
 * All loops of a function are one site and have one parameter.
 */
#include "xform/loop.h"

#include "base/banned.h"

static const char *const findings[] = {"wait_memory", "wait_fixed", "wait_lg",
                                       NULL};
static const struct ws__xform_delta deltas[] = {{"long_scoreboard", 0.5, 1},
                                                {NULL, 0, 0}};

static bool has_loop(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root + 1; i < end; i++)
        if (t->node[i].kind == WS__AST_FOR ||
            t->node[i].kind == WS__AST_WHILE || t->node[i].kind == WS__AST_DO)
            return true;
    return false;
}

static int look(const struct ws__xform_in *in, int32_t i, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__ast_for f;
    int64_t from, to;
    int rc = 0;

    ws__ast_for(t, i, &f);
    if (has_loop(t, i) || ws__loop_has_pragma(t, i))
        return 0;
    if (!ws__xform_is_whole(t, i) ||
        strncmp(t->text + t->node[i].begin, "for", 3) != 0)
        return 0; /* a macro made it */
    if (!f.counts)
        return ws__site_refuse(in, out, i, "unroll",
                               "the loop does not count: its variable is "
                               "changed elsewhere, or the bound is no bound");
    if (ws__ast_const(t, f.from, &from) && ws__ast_const(t, f.to, &to) &&
        to - from <= 8)
        return 0; /* compilers do */
    ws__site_add(in, out, i, &rc, "unroll the loop over %s",
                 t->node[f.var].name ? t->node[f.var].name : "its variable");
    return rc;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    int32_t end = ws__ast_after(in->ast, in->body);

    for (int32_t i = in->body; i < end; i++)
        if (in->ast->node[i].kind == WS__AST_FOR)
            WS_TRY(look(in, i, out));
    return 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const char *name = ws__xform_name(in, "UNROLL");

    if (!name)
        return WS_ENOMEM;
    ws__rewrite_line(out, s->node[0], "#pragma unroll %s", name);
    ws__rewrite_param(out, name, "[1, 2, 4, 8, 16]", "4",
                      "turns of a loop at once");
    return 0;
}

const struct ws__xform_ops ws__xform_unroll = {
    .abi = WS__XFORM_ABI,
    .name = "unroll",
    .about = "several turns of an inner loop at once",
    .needs = "an innermost loop that counts",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .join = WS__JOIN_FUNCTION,
    .gain = 1.15,
    .find = find,
    .apply = apply,
    .keeps_names = true,
};
