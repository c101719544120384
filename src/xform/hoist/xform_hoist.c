/*
 * xform_hoist.c: an element that every turn of a loop loads again is loaded
 * once, before it.
 *
 * Compilers do so only where they can rule out that a store of the loop goes to
 * the same array. Here the plan rules it out: no launch gives another parameter
 * that array, and nothing is stored to it. A loop may have no turns, and then
 * the index may be wrong: unless the loop is known to run, the load asks for
 * it. Bounds of loops: see hoist_bound.c.
 */
#include "xform/clang_api.h"
#include "xform/hoist/hoist.h"

#include "base/banned.h"

#define MAX_ACCESSES 128

static const char *const findings[] = {"wait_memory", "wait_lg", "wait_fixed",
                                       NULL};
static const struct ws__xform_delta deltas[] = {{"long_scoreboard", 0.6, 1},
                                                {"lg_throttle", 0.5, 1},
                                                {NULL, 0, 0}};

static const char *type_name(const struct ws__ast_type *y)
{
    if (y->width != 1 || y->pointers != 1)
        return NULL;
    if (y->class == WS__AT_FLOAT)
        return y->bits == 32 ? "float" : y->bits == 64 ? "double" : NULL;
    if (y->class == WS__AT_INT && y->bits == 32)
        return y->is_unsigned ? "unsigned int" : "int";
    return NULL;
}

/* The loop in whose body an access reads the same element in all turns; -1. */
static int32_t loop_of(const struct ws__ast *t, const struct ws__access *a)
{
    int32_t i = t->node[a->node].parent;
    struct ws__ast_for f;

    while (i >= 0 && t->node[i].kind != WS__AST_FOR &&
           t->node[i].kind != WS__AST_WHILE && t->node[i].kind != WS__AST_DO &&
           t->node[i].kind != WS__AST_FUNCTION)
        i = t->node[i].parent;
    if (i < 0 || t->node[i].kind != WS__AST_FOR)
        return -1;
    ws__ast_for(t, i, &f);
    return ws__ast_below(t, a->node, f.body) && ws__xform_stays(t, a->index, i)
               ? i
               : -1;
}

static bool any_store(const struct ws__ast *t, const struct ws__access *a,
                      size_t n, int32_t loop)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].write && ws__ast_below(t, a[i].node, loop))
            return true;
    return ws__xform_hides_stores(t, loop) ||
           !ws__xform_calls_known(t, loop, 0);
}

/* May an array that a const pointer leads to be written through another, made
 * of it? */
static bool loses_const(const struct ws__xform_in *in, int32_t param)
{
    const struct ws__ast *t = in->ast;

    for (int32_t i = 0; i < t->n; i++) {
        const struct ws__ast_node *n = &t->node[i];
        int32_t of = ws__ast_child(t, i, 0);

        if (!n->type.pointers || n->type.is_const)
            continue;
        while (of >= 0 && t->node[of].next >= 0)
            of = t->node[of].next; /* parts of a type go before */
        if ((n->kind == WS__AST_CAST || n->kind == WS__AST_OTHER) && of >= 0 &&
            t->node[of].type.pointers && t->node[of].type.is_const)
            return true;
        if (n->kind == WS__AST_VAR && ws__ast_below(t, i, in->body) &&
            ws__loop_root(in, i) == ws__loop_root(in, param))
            return true;
    }
    return false;
}

/* Why the element may change or must not be read before; NULL: it is fine. */
static const char *refusal(const struct ws__xform_in *in,
                           const struct ws__access *a, size_t n, size_t k,
                           int32_t loop)
{
    const struct ws__ast *t = in->ast;
    struct ws__ast_for f;

    ws__ast_for(t, loop, &f);
    for (size_t i = 0; i < n; i++)
        if (a[i].decl == a[k].decl && a[i].write)
            return "the array is stored to";
    if (!ws__xform_only_indexed(in, a[k].decl) &&
        (!t->node[a[k].decl].type.is_const || loses_const(in, a[k].decl)))
        return "the pointer is used for more than its elements";
    if (t->node[a[k].decl].spelled &&
        strstr(t->node[a[k].decl].spelled, "volatile"))
        return "the array is volatile";
    if (ws__ast_changes(t, in->body, a[k].decl))
        return "the pointer is changed";
    if (!ws__xform_is_alone(in, a[k].decl) && any_store(t, a, n, loop))
        return "another parameter may lead to the array";
    if (t->node[a[k].node].macro || !ws__xform_is_whole(t, loop))
        return "a macro has it";
    if (!f.counts || !ws__xform_is_whole(t, f.from) ||
        !ws__xform_is_whole(t, f.to) || !ws__ast_is_pure(t, f.from) ||
        !ws__ast_is_pure(t, f.to) || ws__ast_uses(t, f.to, f.var) ||
        ws__ast_uses(t, f.from, f.var) || t->node[f.to].macro)
        return "the loop does not count";
    if (!ws__xform_is_certain(t, a[k].node, f.body) ||
        ws__xform_leaves(t, f.body))
        return "not every turn loads it";
    if (!ws__ast_is(t, t->node[loop].parent, WS__AST_BLOCK))
        return "the loop is no statement of a block";
    return NULL;
}

/* Was the same element of the same loop before k? */
static bool is_seen(const struct ws__ast *t, const struct ws__access *a,
                    size_t k, int32_t loop)
{
    for (size_t i = 0; i < k; i++)
        if (a[i].decl == a[k].decl && loop_of(t, &a[i]) == loop &&
            ws__ast_same(t, a[i].index, a[k].index))
            return true;
    return false;
}

static int find_elements(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__access a[MAX_ACCESSES];
    size_t n = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, a, MAX_ACCESSES);

    for (size_t k = 0; k < n && n <= MAX_ACCESSES; k++) {
        int32_t loop = loop_of(t, &a[k]);
        struct ws__site *s;
        const char *why;
        int rc = 0;

        if (loop < 0 || is_seen(t, a, k, loop) ||
            !type_name(&t->node[a[k].decl].type) ||
            ws__ast_child(t, a[k].node, 1) != a[k].index)
            continue;
        why = refusal(in, a, n, k, loop);
        if (why) {
            WS_TRY(ws__site_refuse(in, out, a[k].node, "load it once", why));
            continue;
        }
        s = ws__site_add(in, out, a[k].node, &rc,
                         "an element of '%s' is loaded once, before the loop",
                         t->node[a[k].decl].name);
        WS_TRY(rc);
        if (s)
            s->node[1] = loop;
    }
    return 0;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    WS_TRY(ws__hoist_find_bounds(in, out));
    return find_elements(in, out);
}

/* --- writing it ----------------------------------------------------------- */

/* Is a length 1 at least? */
static bool is_positive(const struct ws__xform_in *in, int32_t expr)
{
    const struct ws__ast *t = in->ast;
    int32_t i = ws__ast_bare(t, expr);
    int64_t v;

    if (ws__ast_const(t, expr, &v))
        return v > 0;
    return ws__ast_is(t, i, WS__AST_REF) && t->node[i].decl >= 0 &&
           ws__xform_is_positive(in, t->node[i].decl);
}

/* A side of the comparison, as the loop would compare it: `from` in the type of
 * the variable that it is given to. */
static const char *operand(const struct ws__xform_in *in, int32_t expr,
                           int32_t var)
{
    const struct ws__ast *t = in->ast;
    const char *text = ws__xform_text(in, expr);
    enum ws__ast_kind k = t->node[expr].kind;
    bool plain = k == WS__AST_REF || k == WS__AST_INT || k == WS__AST_MEMBER ||
                 k == WS__AST_PAREN || k == WS__AST_CALL;
    bool narrow =
        var >= 0 && t->node[var].type.bits == 32 &&
        !t->node[var].type.is_unsigned &&
        (t->node[expr].type.is_unsigned || t->node[expr].type.bits > 32);

    if (!text)
        return NULL;
    return ws__arena_printf(in->arena, plain ? "%s%s" : "%s(%s)",
                            narrow ? "(int)" : "", text);
}

static int apply_element(const struct ws__xform_in *in,
                         const struct ws__site *s, struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    int32_t at = s->node[0], loop = s->node[1];
    int32_t decl = t->node[ws__ast_bare(t, ws__ast_child(t, at, 0))].decl;
    const char *name, *text = ws__xform_text(in, at), *line, *from, *to;
    const char *type = type_name(&t->node[decl].type);
    struct ws__ast_for f;
    int64_t zero;

    ws__ast_for(t, loop, &f);
    name = ws__arena_printf(in->arena, "%s_kept", t->node[decl].name);
    name = name ? ws__xform_name(in, name) : NULL;
    from = operand(in, f.from, f.var);
    to = operand(in, f.to, -1);
    if (!name || !text || !from || !to)
        return WS_ENOMEM;
    if (ws__ast_const(t, f.from, &zero) && zero == 0 && is_positive(in, f.to))
        line =
            ws__arena_printf(in->arena, "const %s %s = %s;", type, name, text);
    else
        line = ws__arena_printf(in->arena, "const %s %s = %s %s %s ? %s : 0;",
                                type, name, from, f.inclusive ? "<=" : "<", to,
                                text);
    if (!line)
        return WS_ENOMEM;
    ws__rewrite_above(out, loop, line);
    for (int32_t i = f.body; i < ws__ast_after(t, f.body); i++)
        if (t->node[i].kind == WS__AST_INDEX && ws__ast_same(t, i, at) &&
            !t->node[i].macro)
            ws__rewrite_node(out, i, "%s", name);
    return 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    return s->arg[0] == WS__HOIST_BOUND ? ws__hoist_bound(in, s, out)
                                        : apply_element(in, s, out);
}

const struct ws__xform_ops ws__xform_hoist = {
    .abi = WS__XFORM_ABI,
    .name = "hoist",
    .about =
        "an element that every turn of a loop loads, or the loop's bounds, "
        "once",
    .needs = "a loop that counts, in every turn of which the same element is "
             "loaded of an array that nothing is stored to; or whose bound is "
             "loaded, or computed by a function that only reads",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .gain = 1.1,
    .find = find,
    .apply = apply,
};
