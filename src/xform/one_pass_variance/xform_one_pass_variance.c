/*
 * xform_one_pass_variance.c: a sum and the sum of squared distances to the mean
 * in one pass.
 *
 * The first loop keeps the mean of what this thread has seen and the sum of
 * squared distances to it, by Welford's recurrence: Note on a method for
 * calculating corrected sums of squares and products, 1962. The distances to
 * any other M are those, and n (mean - M)^2 more; so it does not matter whether
 * the mean that the kernel takes off is this thread's or a whole block's. All
 * terms are positive: nothing cancels, as it does in mean(x^2) - mean(x)^2.
 */
#include "xform/clang_api.h"
#include "xform/passes.h"

#include "base/banned.h"

static const char *const findings[] = {"waste", "dram", "wait_memory", NULL};
static const struct ws__xform_delta deltas[] = {{"waste", 0.5, 1},
                                                {NULL, 0, 0}};

/* e - m or m - e, where e has the counter. */
static bool is_distance(const struct ws__ast *t, int32_t loop, int32_t d,
                        struct ws__passes *out)
{
    struct ws__ast_for f;
    int32_t a, b;

    if (!ws__ast_is(t, d, WS__AST_BINARY) ||
        t->node[d].op != CL_BinaryOperator_Sub)
        return false;
    ws__ast_for(t, loop, &f);
    a = ws__passes_value(t, loop, ws__ast_child(t, d, 0));
    b = ws__passes_value(t, loop, ws__ast_child(t, d, 1));
    out->e = ws__ast_uses(t, a, f.var) ? a : b;
    out->m = out->e == a ? ws__ast_bare(t, ws__ast_child(t, d, 1))
                         : ws__ast_bare(t, ws__ast_child(t, d, 0));
    return ws__ast_uses(t, out->e, f.var);
}

/* (e - m) * (e - m), or by powf. */
static bool is_term(const struct ws__ast *t, int32_t loop, int32_t term,
                    struct ws__passes *out)
{
    int32_t v = ws__passes_value(t, loop, term), d;

    if (ws__ast_is(t, v, WS__AST_CALL) && ws__ast_nchild(t, v) == 3 &&
        t->node[v].name && t->node[v].decl < 0 &&
        (!strcmp(t->node[v].name, "powf") || !strcmp(t->node[v].name, "pow"))) {
        int32_t two = ws__ast_bare(t, ws__ast_child(t, v, 2));
        const char *c = two < 0 ? "" : t->text + t->node[two].begin;

        if ((!ws__ast_is(t, two, WS__AST_INT) &&
             !ws__ast_is(t, two, WS__AST_FLOAT)) ||
            t->node[two].macro || *c != '2' ||
            t->node[two].end - t->node[two].begin !=
                strspn(c, "2") + strspn(c + 1, ".0f"))
            return false;
        d = ws__passes_value(t, loop, ws__ast_child(t, v, 1));
        return strspn(c, "2") == 1 && is_distance(t, loop, d, out);
    }
    if (!ws__ast_is(t, v, WS__AST_BINARY) ||
        t->node[v].op != CL_BinaryOperator_Mul)
        return false;
    d = ws__passes_value(t, loop, ws__ast_child(t, v, 0));
    return ws__ast_same(t, d,
                        ws__passes_value(t, loop, ws__ast_child(t, v, 1))) &&
           is_distance(t, loop, d, out);
}

static int look(const struct ws__xform_in *in, int32_t i, struct ws__sites *out)
{
    struct ws__passes p;
    int rc = 0;

    if (!ws__passes_read(in, i, WS__RED_SUM, is_term, &p, &rc))
        return rc;
    if (p.why)
        return ws__site_refuse(in, out, i, "one pass for the variance", p.why);
    ws__site_add(in, out, i, &rc,
                 "the sum of squared distances together with the sum");
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

struct words {
    const char *value, *away, *mean, *squares, *turns, *type;
    const char *e, *m, *joint, *sum, *head, *i0, *i1;
};

static int name_all(const struct ws__xform_in *in, const struct ws__passes *p,
                    struct words *w)
{
    const struct ws__ast *t = in->ast;

    w->value = ws__xform_name(in, "value");
    w->away = ws__xform_name(in, "away");
    w->mean = ws__xform_name(in, "own_mean");
    w->squares = ws__xform_name(in, "own_squares");
    w->turns = ws__xform_name(in, "turns");
    w->type = ws__loop_type(t, &t->node[p->sum].type);
    w->e = ws__xform_text(in, p->e);
    w->m = ws__arena_printf(in->arena,
                            ws__ast_is(t, p->m, WS__AST_REF) ? "%s" : "(%s)",
                            ws__xform_text(in, p->m));
    w->joint = ws__xform_text(in, p->joint);
    w->sum = ws__xform_text(in, p->sum);
    w->head = ws__passes_head(in, p);
    w->i0 = ws__xform_indent(in, p->first.f.loop);
    if (!w->i0)
        return WS_ENOMEM;
    w->i1 = ws__arena_printf(in->arena, "%s%s", w->i0,
                             strchr(w->i0, '\t') ? "\t" : "    ");
    return w->value && w->away && w->mean && w->squares && w->turns && w->e &&
                   w->m && w->joint && w->sum && w->head && w->i1
               ? 0
               : WS_ENOMEM;
}

static int print_first(const struct words *w, struct ws__buf *b)
{
    ws__buf_printf(b, "%s %s = 0, %s = 0;\n%sint %s = 0;\n%s%s {\n", w->type,
                   w->mean, w->squares, w->i0, w->turns, w->i0, w->head);
    ws__buf_printf(b, "%sconst %s %s = %s;\n", w->i1, w->type, w->value, w->e);
    ws__buf_printf(b, "%sconst %s %s = %s - %s;\n\n", w->i1, w->type, w->away,
                   w->value, w->mean);
    ws__buf_printf(b, "%s%s += %s;\n%s%s++;\n", w->i1, w->joint, w->value,
                   w->i1, w->turns);
    ws__buf_printf(b, "%s%s += %s / %s;\n", w->i1, w->mean, w->away, w->turns);
    ws__buf_printf(b, "%s%s += %s * (%s - %s);\n%s}", w->i1, w->squares,
                   w->away, w->value, w->mean, w->i0);
    return b->failed ? WS_ENOMEM : 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__passes p;
    struct words w;
    struct ws__buf b;
    int rc = 0;

    if (!ws__passes_read(in, s->node[0], WS__RED_SUM, is_term, &p, &rc))
        return rc < 0 ? rc : WS_EBUG;
    WS_TRY(name_all(in, &p, &w));
    ws__buf_init(&b, in->ctx, 1 << 16);
    rc = print_first(&w, &b);
    if (!rc)
        ws__rewrite_at(out, t->node[p.first.f.loop].begin,
                       ws__passes_length(t, p.first.f.loop), "%s", b.data);
    ws__buf_free(&b);
    WS_TRY(rc);
    ws__rewrite_at(out, t->node[p.second.f.loop].begin,
                   ws__passes_length(t, p.second.f.loop),
                   "%s += %s + %s * (%s - %s) * (%s - %s);", w.sum, w.squares,
                   w.turns, w.mean, w.m, w.mean, w.m);
    return 0;
}

const struct ws__xform_ops ws__xform_one_pass_variance = {
    .abi = WS__XFORM_ABI,
    .name = "one_pass_variance",
    .about = "a sum and the sum of squared distances in one pass",
    .needs = "a loop for a sum and one over the same elements that sums the "
             "squares of their distance to something; nothing that they read "
             "is written between",
    .finding = findings,
    .delta = deltas,
    .rounding = true,
    .cuda = true,
    .opencl = true,
    .gain = 1.2,
    .find = find,
    .apply = apply,
};
