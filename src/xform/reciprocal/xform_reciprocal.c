/*
 * xform_reciprocal.c: divisions in a loop by what stays the same become
 * multiplications by its reciprocal, computed before the loop.
 *
 * A division is some ten instructions, a multiplication one. Results differ in
 * rounding, and where the reciprocal is not a normal number: the verdict says
 * whether that matters.
 */
#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

static const char *const findings[] = {"mostly_fma", "special", "wait_fixed",
                                       "wait_units", NULL};
static const struct ws__xform_delta deltas[] = {{"time", 0.6, 1}, {NULL, 0, 0}};

static bool is_float32(const struct ws__ast_type *y)
{
    return y->class == WS__AT_FLOAT && y->bits == 32 && y->width == 1 &&
           !y->pointers && !y->ndim;
}

static bool is_loop(const struct ws__ast *t, int32_t i)
{
    return t->node[i].kind == WS__AST_FOR || t->node[i].kind == WS__AST_WHILE ||
           t->node[i].kind == WS__AST_DO;
}

/* The outermost loop around i all through which `expr` stays; -1: none. */
static int32_t loop_of(const struct ws__ast *t, int32_t i, int32_t expr)
{
    int32_t found = -1;

    for (i = t->node[i].parent; i >= 0; i = t->node[i].parent) {
        if (!is_loop(t, i))
            continue;
        if (!ws__xform_stays(t, expr, i))
            break;
        if (ws__ast_is(t, t->node[i].parent, WS__AST_BLOCK))
            found = i;
    }
    return found;
}

/* The slash between two operands, all else being blanks; 0: none. */
static uint32_t slash_of(const struct ws__ast *t, uint32_t from, uint32_t to)
{
    uint32_t at = 0;

    for (; from < to; from++) {
        if (t->text[from] == '/' && !at)
            at = from;
        else if (!strchr(" \t\n", t->text[from]))
            return 0;
    }
    return at;
}

/* Is node i x / d, or x /= d, in float32? */
static bool divides(const struct ws__ast *t, int32_t i)
{
    const struct ws__ast_node *n = &t->node[i];
    int32_t l = ws__ast_child(t, i, 0), r = ws__ast_child(t, i, 1);

    return ((n->kind == WS__AST_BINARY && n->op == CL_BinaryOperator_Div) ||
            (n->kind == WS__AST_ASSIGN &&
             n->op == CL_BinaryOperator_DivAssign)) &&
           r >= 0 && is_float32(&n->type) && is_float32(&t->node[l].type) &&
           ws__ast_bare(t, r) >= 0 &&
           t->node[ws__ast_bare(t, r)].kind != WS__AST_FLOAT &&
           t->node[ws__ast_bare(t, r)].kind != WS__AST_INT;
}

static bool is_divisor(const struct ws__ast *t, int32_t r)
{
    const struct ws__ast_type *y = &t->node[r].type;

    return is_float32(y) || (y->class == WS__AT_INT && !y->pointers);
}

/* Why it is left alone; NULL: it is not; *loop: before which. "": no site. */
static const char *look(const struct ws__xform_in *in, int32_t i, int32_t *loop)
{
    const struct ws__ast *t = in->ast;
    int32_t l, r, up;

    if (!divides(t, i))
        return "";
    l = ws__ast_child(t, i, 0);
    r = ws__ast_child(t, i, 1);
    for (up = t->node[i].parent; up >= 0 && !is_loop(t, up);)
        up = t->node[up].parent;
    if (up < 0 || !ws__ast_below(t, i, in->body))
        return "";
    *loop = loop_of(t, i, r);
    if (*loop < 0)
        return "the divisor changes in the loop";
    if (t->node[i].macro || !ws__xform_is_whole(t, r) ||
        (t->node[i].kind == WS__AST_BINARY &&
         !slash_of(t, t->node[l].end, t->node[r].begin)))
        return "a macro has it";
    return is_divisor(t, r) ? NULL : "the divisor is of another type";
}

static bool is_seen(const struct ws__xform_in *in, int32_t i, int32_t loop)
{
    int32_t other;

    for (int32_t k = in->body; k < i; k++) {
        const char *why = look(in, k, &other);

        if (!why && other == loop &&
            ws__ast_same(in->ast, ws__ast_child(in->ast, k, 1),
                         ws__ast_child(in->ast, i, 1)))
            return true;
    }
    return false;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        int32_t loop;
        const char *why = look(in, i, &loop);
        struct ws__site *s;
        int rc = 0;

        if (why && *why)
            WS_TRY(
                ws__site_refuse(in, out, i, "multiply instead of divide", why));
        if (why || is_seen(in, i, loop))
            continue;
        s = ws__site_add(in, out, i, &rc,
                         "multiply by a reciprocal that is computed before the "
                         "loop");
        WS_TRY(rc);
        if (s) {
            s->node[1] = loop;
            s->trust = "the divisor's reciprocal is a normal number";
        }
    }
    return 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    int32_t d = ws__ast_child(t, s->node[0], 1), bare = ws__ast_bare(t, d);
    const char *text = ws__xform_text(in, d), *name, *line;
    bool plain =
        t->node[bare].kind == WS__AST_REF || t->node[d].kind == WS__AST_PAREN;
    int32_t end = ws__ast_after(t, s->node[1]);

    name = t->node[bare].kind == WS__AST_REF && t->node[bare].name
               ? ws__arena_printf(in->arena, "%s_inverse", t->node[bare].name)
               : "inverse";
    name = name ? ws__xform_name(in, name) : NULL;
    line = !name || !text
               ? NULL
               : ws__arena_printf(in->arena,
                                  plain ? "const float %s = 1.0f / %s;"
                                        : "const float %s = 1.0f / (%s);",
                                  name, text);
    if (!line)
        return WS_ENOMEM;
    ws__rewrite_above(out, s->node[1], line);
    for (int32_t i = s->node[1]; i < end; i++) {
        int32_t loop, r = ws__ast_child(t, i, 1);
        const struct ws__ast_node *l;

        if (look(in, i, &loop) || loop != s->node[1] || !ws__ast_same(t, r, d))
            continue;
        l = &t->node[ws__ast_child(t, i, 0)];
        ws__rewrite_at(out, l->end, t->node[r].end - l->end,
                       t->node[i].kind == WS__AST_ASSIGN ? " *= %s" : " * %s",
                       name);
    }
    return 0;
}

const struct ws__xform_ops ws__xform_reciprocal = {
    .abi = WS__XFORM_ABI,
    .name = "reciprocal",
    .about = "multiplication by a reciprocal instead of divisions in a loop",
    .needs = "a division in float32, in a loop, by what stays the same in it",
    .finding = findings,
    .delta = deltas,
    .rounding = true,
    .cuda = true,
    .opencl = true,
    .gain = 1.1,
    .find = find,
    .apply = apply,
};
