/*
 * elements.c: kernels of which a thread does one element: `i` is its place in
 * the grid and `if (i < n)`, or `if (i >= n) return;`, guards all it does. See
 * xform.h.
 */
#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

bool ws__xform_is_place(const struct ws__affine *a)
{
    struct ws__affine x, y;

    return a->n == 2 && ws__affine_part(a, WS__SYM(WS__AL_THREAD, 0), &x) &&
           ws__affine_is(&x, 1) &&
           ws__affine_part(a, WS__SYM(WS__AL_BLOCK, 0), &x) &&
           ws__affine_part(&x, WS__SYM(WS__AL_BLOCK_DIM, 0), &y) &&
           ws__affine_is(&y, 1);
}

/* int i = <place in the grid>; a statement of the function. */
static bool find_place(const struct ws__xform_in *in, struct ws__elements *e)
{
    const struct ws__ast *t = in->ast;

    for (int32_t c = t->node[in->body].first; c >= 0; c = t->node[c].next) {
        int32_t v = ws__ast_child(t, c, 0), init = ws__ast_child(t, v, 0);
        struct ws__affine a;

        if (t->node[c].kind != WS__AST_DECL || ws__ast_nchild(t, c) != 1 ||
            init < 0 || t->node[v].kind != WS__AST_VAR)
            continue;
        if (t->node[v].type.class != WS__AT_INT || t->node[v].type.bits < 32 ||
            t->node[v].type.pointers || ws__ast_nchild(t, v) != 1 ||
            !ws__affine_of(t, init, &a) || !ws__xform_is_place(&a))
            continue;
        e->var = v;
        e->decl = c;
        return !ws__ast_changes(t, in->func, v) && ws__xform_is_whole(t, c) &&
               ws__xform_is_whole(t, init);
    }
    return false;
}

/* i < n, n > i; or i >= n, n <= i. */
static bool find_bound(const struct ws__ast *t, struct ws__elements *e)
{
    int32_t c = ws__ast_bare(t, ws__ast_child(t, e->guard, 0));
    int32_t l, r;
    int less = e->early ? CL_BinaryOperator_GE : CL_BinaryOperator_LT;
    int more = e->early ? CL_BinaryOperator_LE : CL_BinaryOperator_GT;

    if (!ws__ast_is(t, c, WS__AST_BINARY))
        return false;
    l = ws__ast_child(t, c, 0);
    r = ws__ast_child(t, c, 1);
    if (ws__ast_refers(t, l, e->var) && t->node[c].op == less)
        e->bound = r;
    else if (ws__ast_refers(t, r, e->var) && t->node[c].op == more)
        e->bound = l;
    else
        return false;
    return t->node[e->bound].type.class == WS__AT_INT &&
           !ws__ast_uses(t, e->bound, e->var) &&
           ws__xform_is_whole(t, e->bound);
}

/* Nothing but variables that keep their value through the function. */
static bool is_fixed(const struct ws__xform_in *in, int32_t expr)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, expr);

    for (int32_t i = expr; i < end; i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0 &&
            ws__ast_changes(t, in->func, t->node[i].decl))
            return false;
    return ws__xform_stays(t, expr, expr);
}

static bool only_returns(const struct ws__ast *t, int32_t i)
{
    while (ws__ast_is(t, i, WS__AST_BLOCK) && ws__ast_nchild(t, i) == 1)
        i = ws__ast_child(t, i, 0);
    return ws__ast_is(t, i, WS__AST_RETURN);
}

/* The guard, and the statements that it guards. */
static bool find_body(const struct ws__xform_in *in, struct ws__elements *e)
{
    const struct ws__ast *t = in->ast;
    int32_t c = t->node[in->body].first, then;

    for (; c >= 0 && t->node[c].kind != WS__AST_IF; c = t->node[c].next)
        if (t->node[c].kind != WS__AST_DECL ||
            (c != e->decl && ws__ast_uses(t, c, e->var)))
            return false;
    if (c < e->decl || ws__ast_nchild(t, c) != 2)
        return false;
    e->guard = c;
    then = ws__ast_child(t, c, 1);
    e->early = only_returns(t, then);
    if (e->early) {
        e->first = t->node[c].next;
        for (e->last = e->first; e->last >= 0 && t->node[e->last].next >= 0;)
            e->last = t->node[e->last].next;
    } else {
        e->first = e->last = then;
        if (t->node[c].next >= 0)
            return false;
    }
    return e->first >= 0 && find_bound(t, e) && is_fixed(in, e->bound);
}

bool ws__elements_find(const struct ws__xform_in *in, struct ws__elements *out)
{
    memset(out, 0, sizeof(*out));
    return find_place(in, out) && find_body(in, out);
}

/* Is no call, but those of other kernels, one that threads must make together?
 */
static bool calls_are_alone(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    int dim;

    for (int32_t i = 0; i < t->n; i++) {
        const struct ws__ast_node *n = &t->node[i];
        int32_t f;

        if (n->kind != WS__AST_CALL)
            continue;
        f = ws__ast_up(t, i, WS__AST_FUNCTION);
        if (f >= 0 && f != in->func && t->node[f].is_kernel)
            continue;
        if (n->decl < 0 && !ws__ast_is_pure_call(t, i) &&
            ws__ast_launch_value(t, i, &dim) == WS__AL_NONE &&
            (!n->name || strncmp(n->name, "atom", 4) != 0))
            return false;
    }
    return true;
}

/* Why the body is not the same for each element alone. */
/* Does a variable come from which thread or block this is, by way of others,
 * too? */
static bool of_thread(const struct ws__ast *t, int32_t var)
{
    int32_t end = ws__ast_after(t, var);
    int dim;

    for (int32_t i = var; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];
        enum ws__ast_launch v =
            n->kind == WS__AST_MEMBER || n->kind == WS__AST_CALL
                ? ws__ast_launch_value(t, i, &dim)
                : WS__AL_NONE;

        if (v == WS__AL_THREAD || v == WS__AL_BLOCK || v == WS__AL_GLOBAL)
            return true;
        if (n->kind == WS__AST_REF && n->decl >= 0 && n->decl < var &&
            t->node[n->decl].kind == WS__AST_VAR && of_thread(t, n->decl))
            return true;
    }
    return false;
}

const char *ws__elements_refusal(const struct ws__xform_in *in,
                                 const struct ws__elements *e, bool effects)
{
    const struct ws__launch *l = &in->kernel->launch[in->launch];
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, e->last);
    int dim;

    if (l->grid[1] || l->grid[2] || l->block[1] || l->block[2] || !l->grid[0])
        return "the launch has more than one dimension";
    if (ws__xform_next_launch(in, in->launch + 1) < in->kernel->nlaunch)
        return "the function is launched more than once";
    if (effects && !calls_are_alone(in))
        return "it calls what threads may do together";
    if (ws__xform_has_directive(t, in->body))
        return "the function has directives";
    for (int32_t i = e->first; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (n->kind == WS__AST_RETURN || n->kind == WS__AST_JUMP)
            return "it may leave before its end";
        if (ws__ast_is_barrier(t, i))
            return "there is a barrier";
        if ((n->kind == WS__AST_MEMBER || n->kind == WS__AST_CALL) &&
            ws__ast_launch_value(t, i, &dim) != WS__AL_NONE)
            return "it asks which thread it is";
        if (n->kind == WS__AST_OTHER && n->type.class == WS__AT_OTHER)
            return "not everything in it is understood";
        if (n->kind == WS__AST_REF && n->decl == e->var && n->macro)
            return "a macro has the place in it";
        if (n->kind == WS__AST_REF && n->decl >= 0 &&
            t->node[n->decl].kind == WS__AST_VAR && n->decl < e->first &&
            n->decl > in->func &&
            (ws__ast_changes(t, in->func, n->decl) ||
             (t->node[n->decl].type.ndim && !t->node[n->decl].type.is_const)))
            return "elements share a variable that changes";
        if (n->kind == WS__AST_REF && n->decl >= 0 && n->decl != e->var &&
            t->node[n->decl].kind == WS__AST_VAR && n->decl < e->first &&
            n->decl > in->func && of_thread(t, n->decl))
            return "it uses what was made of the thread's number before";
        if (n->kind == WS__AST_REF && n->decl >= 0 &&
            t->node[n->decl].kind == WS__AST_VAR && n->decl < e->first &&
            n->decl > in->func && t->node[n->decl].type.pointers &&
            !t->node[n->decl].type.is_const)
            return "elements share what a pointer leads to";
        if (n->kind == WS__AST_REF && n->decl >= 0 &&
            t->node[n->decl].kind == WS__AST_PARAM && n->decl < in->body &&
            ws__ast_changes(t, in->func, n->decl))
            return "a parameter is changed";
    }
    for (int32_t c = e->first; c >= 0; c = t->node[c].next) {
        if (!effects && !ws__xform_calls_known(t, c, 0))
            return "it calls what may have effects";
        if (c == e->last)
            break;
    }
    return ws__xform_others_ask(in) ? "a function asks which thread it is"
                                    : NULL;
}

/* What stands before the name in `const int i = ...`, without const. */
const char *ws__elements_type(const struct ws__xform_in *in,
                              const struct ws__elements *e)
{
    const struct ws__ast *t = in->ast;
    const struct ws__ast_node *d = &t->node[e->decl], *v = &t->node[e->var];
    const char *p = t->text + d->begin, *eq = strchr(p, '=');
    size_t n = eq ? (size_t)(eq - p) : 0;

    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
        n--;
    n = n > strlen(v->name) ? n - strlen(v->name) : 0;
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
        n--;
    if (n > 6 && !strncmp(p, "const ", 6)) {
        p += 6;
        n -= 6;
    }
    if (n > 6 && !strncmp(p + n - 6, " const", 6))
        n -= 6;
    return ws__arena_strndup(in->arena, p, n);
}

const char *ws__elements_body(const struct ws__xform_in *in,
                              const struct ws__elements *e,
                              const struct ws__edit *edit, size_t n)
{
    const struct ws__ast *t = in->ast;
    const struct ws__ast_node *f = &t->node[e->first];
    uint32_t begin = f->begin, end = ws__xform_end(t, e->last);

    if (!e->early && f->kind == WS__AST_BLOCK) {
        begin++;
        end--;
    }
    if (e->early) { /* comments, too */
        begin = ws__xform_end(t, e->guard);
        end = t->node[in->body].end - 1;
    }
    return ws__xform_edited(in, begin, end, edit, n);
}
