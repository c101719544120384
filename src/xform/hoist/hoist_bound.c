/*
 * hoist_bound.c: a loop's bound that a function of the file computes, or that
 * is loaded, in every turn, had once before it.
 *
 *     for (int j = begin_of(starts, bag); j < begin_of(starts, bag + 1); j++)
 * Compilers must do it again where a store of the loop could go to what the
 * function reads. Here the plan rules that out, and the loop counts up to a
 * variable, as other transformations want it.
 */
#include "xform/clang_api.h"
#include "xform/hoist/hoist.h"

#include "base/banned.h"

#define MAX_DEPTH 6
#define MAX_REACHES 64

static const char what[] = "compute the loop's bounds once";

/* --- functions that only read --------------------------------------------- */

static bool only_reads(const struct ws__ast *t, int32_t f, int depth);

static bool calls_only_read(const struct ws__ast *t, int32_t root, int depth)
{
    int32_t end = ws__ast_after(t, root);
    int dim;

    for (int32_t i = root; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (n->kind == WS__AST_CALL && !ws__ast_is_pure_call(t, i) &&
            ws__ast_launch_value(t, i, &dim) == WS__AL_NONE &&
            (n->decl < 0 || t->node[n->decl].kind != WS__AST_FUNCTION ||
             depth == MAX_DEPTH || !only_reads(t, n->decl, depth + 1)))
            return false;
    }
    return true;
}

/* Does the function change nothing but numbers of its own, and know no memory
 * but what it is given? */
static bool only_reads(const struct ws__ast *t, int32_t f, int depth)
{
    int32_t end = ws__ast_after(t, f);
    bool body = false;

    for (int32_t i = f + 1; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];
        int32_t to = ws__ast_bare(t, ws__ast_child(t, i, 0));

        body = body || n->kind == WS__AST_BLOCK;
        if (n->kind == WS__AST_JUMP || n->kind == WS__AST_OTHER ||
            (n->kind == WS__AST_VAR && n->is_static) ||
            (n->kind == WS__AST_PARAM && ws__ast_is_reference(t, i)) ||
            ((n->kind == WS__AST_PARAM || n->kind == WS__AST_VAR) &&
             strstr(n->spelled ? n->spelled : "volatile", "volatile")) ||
            (n->kind == WS__AST_REF && n->decl >= 0 &&
             t->node[n->decl].kind == WS__AST_VAR &&
             !ws__ast_below(t, n->decl, f) && !t->node[n->decl].known))
            return false;
        if ((n->kind == WS__AST_ASSIGN ||
             (n->kind == WS__AST_UNARY && n->op >= CL_UnaryOperator_PostInc &&
              n->op <= CL_UnaryOperator_AddrOf)) &&
            (!ws__ast_is(t, to, WS__AST_REF) ||
             n->op == CL_UnaryOperator_AddrOf || t->node[to].decl < f ||
             t->node[to].decl >= end ||
             t->node[t->node[to].decl].type.pointers))
            return false;
    }
    return body && calls_only_read(t, f, depth);
}

/* --- bounds --------------------------------------------------------------- */

/* Does an expression load, or call a function of the file? */
static bool is_costly(const struct ws__ast *t, int32_t expr)
{
    int32_t end = ws__ast_after(t, expr);

    for (int32_t i = expr; i < end; i++)
        if (t->node[i].kind == WS__AST_INDEX ||
            (t->node[i].kind == WS__AST_CALL && t->node[i].decl >= 0))
            return true;
    return false;
}

/* Is nothing written in the loop that the bound may read? */
static bool is_safe(const struct ws__xform_in *in, int32_t loop, int32_t expr)
{
    const struct ws__ast *t = in->ast;
    struct ws__reach w[MAX_REACHES];
    size_t n = ws__loop_reaches(in, loop, w, MAX_REACHES);
    int32_t end = ws__ast_after(t, expr);

    if (n > MAX_REACHES || ws__loop_stray(in, loop) >= 0)
        return false;
    for (int32_t i = expr; i < end; i++) {
        int32_t d = t->node[i].kind == WS__AST_REF ? t->node[i].decl : -1, root;

        if (d < 0 || !ws__loop_is_pointer(&t->node[d]))
            continue;
        root = ws__loop_root(in, d);
        if (root < 0 || t->node[d].type.space == WS__AS_SHARED ||
            strstr(t->node[d].spelled ? t->node[d].spelled : "volatile",
                   "volatile"))
            return false;
        for (size_t k = 0; k < n; k++)
            if (w[k].write && (w[k].root < 0 || w[k].root == root))
                return false;
    }
    return true;
}

/* Variables that the loop does not change; arrays only by pointers. */
static bool stays(const struct ws__ast *t, const struct ws__ast_for *f,
                  int32_t expr)
{
    int32_t end = ws__ast_after(t, expr);

    for (int32_t i = expr; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (n->kind == WS__AST_ASSIGN || n->kind == WS__AST_OTHER ||
            (n->kind == WS__AST_UNARY && n->op >= CL_UnaryOperator_PostInc &&
             n->op <= CL_UnaryOperator_Deref))
            return false;
        if (n->kind == WS__AST_REF && n->decl >= 0 &&
            t->node[n->decl].kind != WS__AST_FUNCTION &&
            (n->decl == f->var || ws__ast_below(t, n->decl, f->loop) ||
             ws__ast_changes(t, f->loop, n->decl) ||
             (t->node[n->decl].type.ndim &&
              t->node[n->decl].kind != WS__AST_PARAM)))
            return false;
    }
    return calls_only_read(t, expr, 0);
}

/* May other threads have written between turns? */
static bool waits(const struct ws__ast *t, int32_t loop)
{
    return !calls_only_read(t, loop, 0);
}

static const char *refusal(const struct ws__xform_in *in,
                           const struct ws__ast_for *f)
{
    const struct ws__ast *t = in->ast;

    if (!f->counts)
        return "the loop does not count";
    if (waits(t, f->loop))
        return "the loop calls what may have effects";
    if (!stays(t, f, f->to) || !stays(t, f, f->from))
        return "a bound is made of what the loop changes";
    if (!is_safe(in, f->loop, f->to) || !is_safe(in, f->loop, f->from))
        return "what a bound reads may be written in the loop";
    if (!ws__ast_is(t, t->node[f->loop].parent, WS__AST_BLOCK))
        return "the loop is no statement of a block";
    if (t->node[f->to].macro || t->node[f->from].macro ||
        !ws__xform_is_whole(t, f->loop))
        return "a macro has it";
    if (t->node[f->to].type.class != WS__AT_INT ||
        t->node[f->to].type.bits < 32 || t->node[f->from].type.bits < 32 ||
        t->node[f->from].type.class != WS__AT_INT)
        return "a bound is no integer of 32 or 64 bits";
    return NULL;
}

int ws__hoist_find_bounds(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        struct ws__ast_for f;
        struct ws__site *s;
        const char *why;
        int rc = 0;

        if (t->node[i].kind != WS__AST_FOR)
            continue;
        ws__ast_for(t, i, &f);
        if (f.var < 0 || f.to < 0 || f.from < 0 || !is_costly(t, f.to))
            continue;
        why = refusal(in, &f);
        if (why) {
            WS_TRY(ws__site_refuse(in, out, i, what, why));
            continue;
        }
        s = ws__site_add(in, out, i, &rc, "%s: of the loop over %s", what,
                         t->node[f.var].name);
        WS_TRY(rc);
        if (s)
            s->arg[0] = WS__HOIST_BOUND;
    }
    return 0;
}

/* A head that was broken into lines has become short. */
static void join_lines(const struct ws__xform_in *in, int32_t node,
                       struct ws__rewrite *out)
{
    const char *text = in->ast->text;
    uint32_t end = in->ast->node[node].begin, at = end;

    while (at && strchr(" \t\n", text[at - 1]))
        at--;
    if (at && text[at - 1] == ';' && memchr(text + at, '\n', end - at))
        ws__rewrite_at(out, at, end - at, " ");
}

static void put_before(const struct ws__xform_in *in, int32_t loop,
                       int32_t expr, const char *base, struct ws__rewrite *out)
{
    const char *name = ws__xform_name(in, base);
    const char *type = ws__loop_type(in->ast, &in->ast->node[expr].type);
    const char *text, *line;
    int32_t inner = expr;

    while (ws__ast_is(in->ast, inner, WS__AST_PAREN))
        inner = ws__ast_child(in->ast, inner, 0);
    text = ws__xform_text(in, inner);
    line = name && text ? ws__arena_printf(in->arena, "const %s %s = %s;", type,
                                           name, text)
                        : NULL;
    if (!line) {
        out->failed = WS_ENOMEM;
        return;
    }
    ws__rewrite_above(out, loop, line);
    ws__rewrite_node(out, expr, "%s", name);
}

int ws__hoist_bound(const struct ws__xform_in *in, const struct ws__site *s,
                    struct ws__rewrite *out)
{
    struct ws__ast_for f;

    ws__ast_for(in->ast, s->node[0], &f);
    if (is_costly(in->ast, f.from))
        put_before(in, f.loop, f.from, "begin", out);
    put_before(in, f.loop, f.to, "stop", out);
    join_lines(in, f.cond, out);
    join_lines(in, f.step, out);
    return 0;
}
