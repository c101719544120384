/*
 * xform_one_pass_softmax.c: the largest element and the sum of exponentials in
 * one pass.
 *
 * Where the largest element so far grows from m to x, the sum so far is
 * multiplied by exp(m - x): Milakov and Gimelshein, Online normalizer
 * calculation for softmax, 2018. What comes out belongs to the largest element
 * that this thread has seen; if the kernel joins those of several threads to
 * M before it adds, one factor exp(m - M) more makes it that for M.
 *
 * An element of -infinity adds nothing, as it did: exp(x - m) would be no
 * number where nothing else has been seen.
 */
#include "xform/clang_api.h"
#include "xform/passes.h"

#include "base/banned.h"

static const char *const findings[] = {"waste", "dram", "wait_memory", NULL};
static const struct ws__xform_delta deltas[] = {{"waste", 0.5, 1},
                                                {NULL, 0, 0}};

/* exp(e - m) */
static bool is_term(const struct ws__ast *t, int32_t loop, int32_t term,
                    struct ws__passes *out)
{
    static const char *const names[] = {"expf",       "exp",  "__expf",
                                        "native_exp", "exp2", "exp2f"};
    int32_t call = ws__passes_value(t, loop, term), d;
    bool hit = false;

    if (!ws__ast_is(t, call, WS__AST_CALL) || ws__ast_nchild(t, call) != 2)
        return false;
    for (size_t i = 0; i < WS_COUNT(names); i++)
        hit = hit ||
              (t->node[call].name && !strcmp(names[i], t->node[call].name));
    d = ws__passes_value(t, loop, ws__ast_child(t, call, 1));
    if (!hit || t->node[call].decl >= 0 || !ws__ast_is(t, d, WS__AST_BINARY) ||
        t->node[d].op != CL_BinaryOperator_Sub)
        return false;
    out->call = call;
    out->e = ws__passes_value(t, loop, ws__ast_child(t, d, 0));
    out->m = ws__ast_bare(t, ws__ast_child(t, d, 1));
    return true;
}

static int look(const struct ws__xform_in *in, int32_t i, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__passes p;
    struct ws__site *s;
    int rc = 0;

    if (!ws__passes_read(in, i, WS__RED_MAX, is_term, &p, &rc))
        return rc;
    if (!p.why && p.first.red[0].decl < 0)
        p.why = "the largest element lies in memory";
    if (p.why)
        return ws__site_refuse(in, out, i, "one pass for softmax", p.why);
    s = ws__site_add(in, out, i, &rc,
                     "the sum of %s together with the largest "
                     "element",
                     t->node[p.call].name);
    if (s)
        s->trust = "no row has nothing but -infinity, and a NaN makes the "
                   "largest element no difference";
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
    const char *part, *value, *own, *big, *call, *e, *m, *sum, *type;
    const char *least, *head, *i0, *i1, *i2;
};

static int name_all(const struct ws__xform_in *in, const struct ws__passes *p,
                    struct words *w)
{
    const struct ws__ast *t = in->ast;
    const char *tab;

    w->part = ws__xform_name(in, "part");
    w->value = ws__xform_name(in, "value");
    w->own = ws__xform_name(in, "own");
    w->big = t->node[p->first.red[0].decl].name;
    w->call = t->node[p->call].name;
    w->e = ws__xform_text(in, p->e);
    w->m = ws__arena_printf(in->arena,
                            ws__ast_is(t, p->m, WS__AST_REF) ? "%s" : "(%s)",
                            ws__xform_text(in, p->m));
    w->sum = ws__xform_text(in, p->sum);
    w->type = ws__loop_type(t, &t->node[p->joint].type);
    w->least = t->node[p->joint].type.bits == 64 ? "-1.797693134862315e+308"
                                                 : "-3.402823466e+38f";
    w->head = ws__passes_head(in, p);
    w->i0 = ws__xform_indent(in, p->first.f.loop);
    if (!w->i0)
        return WS_ENOMEM;
    tab = strchr(w->i0, '\t') ? "\t" : "    ";
    w->i1 = ws__arena_printf(in->arena, "%s%s", w->i0, tab);
    w->i2 = ws__arena_printf(in->arena, "%s%s%s", w->i0, tab, tab);
    return w->part && w->value && w->own && w->e && w->m && w->sum && w->head &&
                   w->i1 && w->i2
               ? 0
               : WS_ENOMEM;
}

static int print_first(const struct words *w, bool moved, struct ws__buf *b)
{
    ws__buf_printf(b, "%s %s = 0;\n%s%s {\n", w->type, w->part, w->i0, w->head);
    ws__buf_printf(b, "%sconst %s %s = %s;\n\n", w->i1, w->type, w->value,
                   w->e);
    ws__buf_printf(b, "%sif (%s > %s) {\n", w->i1, w->value, w->big);
    ws__buf_printf(b, "%s%s *= %s(%s - %s);\n", w->i2, w->part, w->call, w->big,
                   w->value);
    ws__buf_printf(b, "%s%s = %s;\n%s}\n", w->i2, w->big, w->value, w->i1);
    ws__buf_printf(b, "%s%s += %s < %s ? 0 : %s(%s - %s);\n%s}", w->i1, w->part,
                   w->value, w->least, w->call, w->value, w->big, w->i0);
    if (moved)
        ws__buf_printf(b, "\n%sconst %s %s = %s;", w->i0, w->type, w->own,
                       w->big);
    return b->failed ? WS_ENOMEM : 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__passes p;
    struct words w;
    struct ws__buf b;
    bool moved;
    int rc = 0;

    if (!ws__passes_read(in, s->node[0], WS__RED_MAX, is_term, &p, &rc))
        return rc < 0 ? rc : WS_EBUG;
    WS_TRY(name_all(in, &p, &w));
    moved = !ws__ast_refers(t, p.m, p.first.red[0].decl) ||
            ws__passes_changes(t, &p, p.first.red[0].decl);
    ws__buf_init(&b, in->ctx, 1 << 16);
    rc = print_first(&w, moved, &b);
    if (!rc)
        ws__rewrite_at(out, t->node[p.first.f.loop].begin,
                       ws__passes_length(t, p.first.f.loop), "%s", b.data);
    ws__buf_free(&b);
    WS_TRY(rc);
    if (moved)
        ws__rewrite_at(out, t->node[p.second.f.loop].begin,
                       ws__passes_length(t, p.second.f.loop),
                       "%s += %s * %s(%s - %s);", w.sum, w.part, w.call, w.own,
                       w.m);
    else
        ws__rewrite_at(out, t->node[p.second.f.loop].begin,
                       ws__passes_length(t, p.second.f.loop), "%s += %s;",
                       w.sum, w.part);
    return 0;
}

const struct ws__xform_ops ws__xform_one_pass_softmax = {
    .abi = WS__XFORM_ABI,
    .name = "one_pass_softmax",
    .about = "the largest element and the sum of exponentials in one pass",
    .needs = "a loop for the largest element and one over the same elements "
             "that sums exp of their distance to it; nothing that they read is "
             "written between",
    .finding = findings,
    .delta = deltas,
    .rounding = true,
    .cuda = true,
    .opencl = true,
    .gain = 1.2,
    .find = find,
    .apply = apply,
};
