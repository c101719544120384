/* reach.c: where pointers lead, what calls may do, what follows from the
 * thread. See loop.h. */
#include "xform/loop.h"

#include "xform/clang_api.h"

#include "base/banned.h"

#define MAX_DEPTH 8

bool ws__affine_same(const struct ws__affine *a, const struct ws__affine *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        bool hit = false;

        for (size_t k = 0; k < b->n; k++)
            hit = hit || (a->term[i].times == b->term[k].times &&
                          a->term[i].n == b->term[k].n &&
                          !memcmp(a->term[i].sym, b->term[k].sym,
                                  sizeof(a->term[i].sym)));
        if (!hit)
            return false;
    }
    return true;
}

/* --- pointers ------------------------------------------------------------- */

bool ws__loop_is_pointer(const struct ws__ast_node *n)
{
    return n->type.pointers > 0 ||
           (n->kind == WS__AST_PARAM && n->type.ndim > 0);
}

/* The parameter that stands for all that get the same tensor. */
static int32_t first_of(const struct ws__xform_in *in, int32_t param)
{
    const struct ws__arg *a = ws__xform_arg(in, param);

    if (!a || (a->kind != WS__ARG_TENSOR && a->kind != WS__ARG_SCRATCH))
        return param;
    for (int32_t c = in->ast->node[in->func].first; c >= 0 && c != param;
         c = in->ast->node[c].next) {
        const struct ws__arg *o = in->ast->node[c].kind == WS__AST_PARAM
                                      ? ws__xform_arg(in, c)
                                      : NULL;

        if (o && o->kind == a->kind && o->index == a->index)
            return c;
    }
    return param;
}

/* Is the pointer set to something else than it begins with? */
static bool is_set(const struct ws__xform_in *in, int32_t pointer)
{
    const struct ws__ast *t = in->ast;
    const int32_t *use;
    size_t n = t->node[pointer].is_changed
                   ? ws__ast_uses_of(t, in->body, pointer, &use)
                   : 0;

    for (size_t k = 0; k < n; k++) {
        int32_t p = t->node[use[k]].parent;

        while (ws__ast_is(t, p, WS__AST_PAREN) ||
               ws__ast_is(t, p, WS__AST_CAST))
            p = t->node[p].parent;
        if (p >= 0 &&
            ((t->node[p].kind == WS__AST_ASSIGN &&
              t->node[p].op == CL_BinaryOperator_Assign) ||
             (t->node[p].kind == WS__AST_UNARY &&
              t->node[p].op == CL_UnaryOperator_AddrOf)) &&
            ws__ast_refers(t, ws__ast_child(t, p, 0), pointer))
            return true;
    }
    return false;
}

int32_t ws__loop_root(const struct ws__xform_in *in, int32_t pointer)
{
    const struct ws__ast *t = in->ast;

    for (int depth = 0; depth < MAX_DEPTH && pointer >= 0; depth++) {
        int32_t end, from = -1;

        if (!ws__loop_is_pointer(&t->node[pointer]) || is_set(in, pointer))
            return -1;
        if (t->node[pointer].kind == WS__AST_PARAM)
            return t->node[pointer].parent == in->func ? first_of(in, pointer)
                                                       : -1;
        end = ws__ast_after(t, pointer);
        for (int32_t i = pointer + 1; i < end; i++)
            if (t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0 &&
                ws__loop_is_pointer(&t->node[t->node[i].decl])) {
                if (from >= 0)
                    return -1;
                from = t->node[i].decl;
            }
        pointer = from;
    }
    return -1;
}

static int32_t skip_parens(const struct ws__ast *t, int32_t i)
{
    int32_t p = t->node[i].parent;

    while (p >= 0 && t->node[p].kind == WS__AST_PAREN)
        p = t->node[p].parent;
    return p;
}

/* What an access is part of: x[i].v[k] of x[i]. *deep: it is indexed again. */
static int32_t whole_of(const struct ws__ast *t, int32_t i, bool *deep)
{
    int32_t p = t->node[i].parent;

    *deep = false;
    while (p >= 0 && (t->node[p].kind == WS__AST_PAREN ||
                      t->node[p].kind == WS__AST_MEMBER ||
                      (t->node[p].kind == WS__AST_INDEX &&
                       ws__ast_child(t, p, 0) == i))) {
        *deep = *deep || t->node[p].kind == WS__AST_INDEX;
        i = p;
        p = t->node[p].parent;
    }
    return i;
}

static bool is_target(const struct ws__ast *t, int32_t i)
{
    int32_t p = t->node[i].parent;

    if (p < 0)
        return false;
    if (t->node[p].kind == WS__AST_ASSIGN)
        return ws__ast_child(t, p, 0) == i;
    return t->node[p].kind == WS__AST_UNARY && t->node[p].op >= 1 &&
           t->node[p].op <= CL_UnaryOperator_PreDec;
}

size_t ws__loop_reaches(const struct ws__xform_in *in, int32_t root,
                        struct ws__reach *out, size_t max)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, root);
    size_t n = 0;

    for (int32_t i = root; i < end; i++) {
        int32_t of = ws__ast_bare(t, ws__ast_child(t, i, 0));
        struct ws__reach r = {.node = i};
        bool deep;

        if (t->node[i].kind != WS__AST_INDEX || !ws__ast_is(t, of, WS__AST_REF))
            continue;
        r.pointer = t->node[of].decl;
        if (r.pointer < 0 || !ws__loop_is_pointer(&t->node[r.pointer]))
            continue;
        if (n++ >= max)
            continue; /* a source of thousands: nobody looks at it */
        r.root = ws__loop_root(in, r.pointer);
        r.write = is_target(t, whole_of(t, i, &deep));
        r.affine = !deep && ws__affine_of(t, ws__ast_child(t, i, 1), &r.at);
        out[n - 1] = r;
    }
    return n;
}

/* Is a pointer used as something that is followed: indexed, the beginning of
 * another pointer, or moved? */
static bool is_followed(const struct ws__ast *t, int32_t ref)
{
    int32_t i = ref, p = skip_parens(t, ref);

    if (ws__ast_is(t, p, WS__AST_INDEX) &&
        ws__ast_bare(t, ws__ast_child(t, p, 0)) == ref &&
        !(ws__ast_is(t, t->node[p].parent, WS__AST_UNARY) &&
          t->node[t->node[p].parent].op == CL_UnaryOperator_AddrOf))
        return true;
    if (ws__ast_is(t, p, WS__AST_ASSIGN) &&
        (t->node[p].op == CL_BinaryOperator_AddAssign ||
         t->node[p].op == CL_BinaryOperator_SubAssign) &&
        ws__ast_refers(t, ws__ast_child(t, p, 0), t->node[ref].decl))
        return ws__ast_statement(t, ref) == p;
    for (; i >= 0; i = t->node[i].parent) {
        enum ws__ast_kind k = t->node[i].kind;

        if (k == WS__AST_VAR)
            return ws__loop_is_pointer(&t->node[i]) &&
                   !strchr(t->node[i].spelled, '&');
        if (k != WS__AST_REF && k != WS__AST_BINARY && k != WS__AST_PAREN &&
            k != WS__AST_INDEX &&
            !(k == WS__AST_UNARY && t->node[i].op == CL_UnaryOperator_AddrOf))
            return false;
    }
    return false;
}

/* Can what a pointer leads to be written through some pointer? */
static bool is_writable(const struct ws__xform_in *in, int32_t pointer)
{
    const struct ws__ast *t = in->ast;
    int32_t root = ws__loop_root(in, pointer);

    if (!t->node[pointer].type.is_const || root < 0)
        return true;
    for (int32_t c = t->node[in->func].first; c >= 0; c = t->node[c].next)
        if (t->node[c].kind == WS__AST_PARAM &&
            ws__loop_is_pointer(&t->node[c]) && !t->node[c].type.is_const &&
            first_of(in, c) == root)
            return true;
    return false;
}

int32_t ws__loop_stray(const struct ws__xform_in *in, int32_t root)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (n->kind == WS__AST_REF && n->decl >= 0 &&
            ws__loop_is_pointer(&t->node[n->decl]) && !is_followed(t, i) &&
            is_writable(in, n->decl))
            return i;
    }
    return -1;
}

/* --- calls and values ----------------------------------------------------- */

static bool is_plain_function(const struct ws__ast *t, int32_t f, int depth);

static bool is_plain_call(const struct ws__ast *t, int32_t call, int depth)
{
    const struct ws__ast_node *n = &t->node[call];

    if (n->decl >= 0 && t->node[n->decl].kind == WS__AST_FUNCTION)
        return is_plain_function(t, n->decl, depth + 1);
    return n->decl < 0 && ws__ast_is_pure_name(n->name);
}

/* A function of its arguments' values alone. */
static bool is_plain_function(const struct ws__ast *t, int32_t f, int depth)
{
    int32_t end = ws__ast_after(t, f);
    bool body = false;

    if (depth > MAX_DEPTH)
        return false;
    for (int32_t i = f + 1; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        body = body || n->kind == WS__AST_BLOCK;
        if (n->kind == WS__AST_PARAM &&
            (ws__loop_is_pointer(n) || !n->spelled || strchr(n->spelled, '&')))
            return false;
        if (n->kind == WS__AST_JUMP || n->kind == WS__AST_OTHER ||
            (n->kind == WS__AST_VAR && n->is_static) ||
            (n->kind == WS__AST_CALL && !is_plain_call(t, i, depth)) ||
            (n->kind == WS__AST_REF && n->decl >= 0 &&
             t->node[n->decl].kind == WS__AST_VAR &&
             !ws__ast_below(t, n->decl, f) && !t->node[n->decl].known) ||
            ws__xform_asks(t, i))
            return false;
    }
    return body;
}

int32_t ws__loop_call(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);
    int dim;

    for (int32_t i = root; i < end; i++)
        if (t->node[i].kind == WS__AST_CALL && !is_plain_call(t, i, 0) &&
            ws__ast_launch_value(t, i, &dim) == WS__AL_NONE)
            return i;
    return -1;
}

#define MAX_SEEN 64

/* Variables whose values were looked at: each is followed once. */
struct seen {
    int32_t decl[MAX_SEEN];
    size_t n;
};

/* False: it was seen. */
static bool see(struct seen *s, int32_t decl)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->decl[i] == decl)
            return false;
    s->decl[s->n++] = decl;
    return true;
}

static bool by_thread(const struct ws__xform_in *in, int32_t expr,
                      struct seen *s);

/* Is the variable changed here by more than an assignment to it as a whole or a
 * step: through its address, a reference, in a part? */
static bool changes_unseen(const struct ws__xform_in *in, int32_t use)
{
    const struct ws__ast *t = in->ast;
    int32_t p = t->node[use].parent;

    if (!ws__ast_is_changed_at(t, use, in->body))
        return false;
    while (t->node[p].kind == WS__AST_PAREN)
        p = t->node[p].parent;
    return ws__ast_is_bound(t, use) ||
           (t->node[p].kind != WS__AST_ASSIGN &&
            (t->node[p].kind != WS__AST_UNARY ||
             t->node[p].op == CL_UnaryOperator_AddrOf));
}

/* Is any value that the variable gets? */
static bool var_by_thread(const struct ws__xform_in *in, int32_t d,
                          struct seen *s)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);
    const int32_t *use;
    size_t n = ws__ast_uses_of(t, in->body, d, &use);

    if (t->node[d].kind == WS__AST_VAR && ws__ast_child(t, d, 0) >= 0 &&
        by_thread(in, d, s))
        return true;
    for (size_t k = 0; !t->node[d].is_static && k < n; k++)
        if (changes_unseen(in, use[k]))
            return true;
    for (int32_t k = in->body; k < end; k++)
        if (t->node[k].kind == WS__AST_ASSIGN &&
            ws__ast_refers(t, ws__ast_child(t, k, 0), d) &&
            by_thread(in, ws__ast_child(t, k, 1), s))
            return true;
    return false;
}

/* Does a call or a name bring what may be the thread's own: its number, or what
 * a function makes of more than its arguments? */
static bool brings_own(const struct ws__ast *t, int32_t i)
{
    const struct ws__ast_node *n = &t->node[i];
    int dim;

    if (n->kind == WS__AST_REF)
        return n->decl < 0 && n->name && !strcmp(n->name, "threadIdx");
    if (n->kind != WS__AST_CALL || ws__ast_is_barrier(t, i) ||
        ws__ast_launch_value(t, i, &dim) != WS__AL_NONE)
        return false;
    return ws__xform_asks(t, i) || !is_plain_call(t, i, 0);
}

static bool by_thread(const struct ws__xform_in *in, int32_t expr,
                      struct seen *s)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, expr);
    int dim;

    for (int32_t i = expr; i < end; i++) {
        enum ws__ast_launch v = ws__ast_launch_value(t, i, &dim);
        int32_t d = t->node[i].kind == WS__AST_REF ? t->node[i].decl : -1;

        if (v == WS__AL_THREAD || v == WS__AL_GLOBAL || s->n == MAX_SEEN ||
            brings_own(t, i))
            return true;
        if (d >= 0 && ws__ast_below(t, d, in->func) && see(s, d) &&
            var_by_thread(in, d, s))
            return true;
    }
    return false;
}

bool ws__loop_by_thread(const struct ws__xform_in *in, int32_t expr)
{
    struct seen s = {.n = 0};

    return by_thread(in, expr, &s);
}
