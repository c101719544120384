/*
 * infer_eval.c: values of integer expressions, and what bounds them.
 *
 * A variable stays an atom: guards speak of it. Only where nothing is known of
 * it is it replaced by what it was given.
 */
#include "xform/clang_api.h"
#include "xform/infer_int.h"

#include "base/banned.h"

#define MAX_DEPTH 40

/* --- the tree ---------------------------------------------------------------
 */

int32_t ws__infer_init(const struct ws__ast *t, int32_t var)
{
    int32_t c = ws__ast_child(t, var, 0);

    while (c >= 0 && t->node[c].next >= 0) /* a type's parts go before */
        c = t->node[c].next;
    return c;
}

static bool is_assignment_to(const struct ws__ast *t, int32_t i, int32_t decl)
{
    return t->node[i].kind == WS__AST_ASSIGN &&
           ws__ast_refers(t, ws__ast_child(t, i, 0), decl);
}

/* The VAR or the assignment in the statements before `at`, of its block; -2:
 * something there changes it. -1: nothing. */
static int32_t before(const struct ws__ast *t, int32_t at, int32_t decl)
{
    int32_t block = t->node[at].parent, found = -1;

    if (!ws__ast_is(t, block, WS__AST_BLOCK))
        return -1;
    for (int32_t s = t->node[block].first; s >= 0 && s < at;
         s = t->node[s].next) {
        if (is_assignment_to(t, s, decl) &&
            t->node[s].op == CL_BinaryOperator_Assign)
            found = s;
        else if (decl > s && decl < ws__ast_after(t, s))
            found = decl;
        else if (ws__ast_changes(t, s, decl))
            found = -2;
    }
    return found;
}

int32_t ws__infer_definition(const struct ws__infer *x, int32_t decl,
                             int32_t use)
{
    const struct ws__ast *t = x->t;
    int32_t f = ws__ast_up(t, use, WS__AST_FUNCTION);

    if (f < 0 || !ws__ast_changes(t, f, decl))
        return ws__infer_init(t, decl) >= 0 ? decl : -1;
    for (int32_t i = use; i >= 0 && i != f; i = t->node[i].parent) {
        int32_t found = before(t, i, decl);
        enum ws__ast_kind k = t->node[i].kind;

        if (found != -1)
            return found;
        if ((k == WS__AST_FOR || k == WS__AST_WHILE || k == WS__AST_DO) &&
            ws__ast_changes(t, i, decl))
            return -1;
    }
    return -1;
}

int32_t ws__infer_given(const struct ws__ast *t, int32_t def)
{
    return t->node[def].kind == WS__AST_ASSIGN ? ws__ast_child(t, def, 1)
                                               : ws__infer_init(t, def);
}

int32_t ws__infer_argument(const struct ws__infer *x, int32_t param, int env)
{
    int32_t f = x->env[env].func, p;
    int n = 1;

    for (p = x->t->node[f].first; p >= 0; p = x->t->node[p].next) {
        if (p == param)
            return ws__ast_child(x->t, x->env[env].call, n);
        n += x->t->node[p].kind == WS__AST_PARAM;
    }
    return -1;
}

int ws__infer_enter(struct ws__infer *x, int32_t call, int32_t func, int up)
{
    int depth = 0;

    for (int e = up; e >= 0; e = x->env[e].up)
        if (++depth > 4 || x->env[e].func == func)
            return -1;
    for (int e = 0; e < x->nenv; e++)
        if (x->env[e].up == up && x->env[e].call == call)
            return e;
    if ((size_t)x->nenv == WS_COUNT(x->env))
        return -1;
    x->env[x->nenv] = (struct ws__infer_env){up, call, func};
    return x->nenv++;
}

/* --- values -----------------------------------------------------------------
 */

static int missing(const struct ws__infer *x, int32_t i)
{
    const struct ws__ast_node *n = &x->t->node[i];

    if (!n->macro || (n->kind != WS__AST_INT && n->kind != WS__AST_FLOAT))
        return -1;
    for (size_t k = 0; k < x->in->nmissing; k++) {
        const char *name = x->in->missing[k];

        if (strlen(name) == n->end - n->begin &&
            !memcmp(name, x->t->text + n->begin, strlen(name)))
            return (int)k;
    }
    return -1;
}

static struct ws__ip of_launch(struct ws__infer *x, enum ws__ast_launch v,
                               int dim)
{
    struct ws__ip a, b;

    if (v == WS__AL_GLOBAL || v == WS__AL_GLOBAL_DIM) {
        a = of_launch(x, v == WS__AL_GLOBAL ? WS__AL_BLOCK : WS__AL_GRID_DIM,
                      dim);
        b = of_launch(x, WS__AL_BLOCK_DIM, dim);
        a = ws__ip_multiply(&a, &b);
        if (v == WS__AL_GLOBAL_DIM)
            return a;
        b = of_launch(x, WS__AL_THREAD, dim);
        return ws__ip_add(&a, &b, 1);
    }
    if (v == WS__AL_BLOCK)
        x->uses[x->launch][dim] = true;
    if (v == WS__AL_THREAD)
        x->uses_thread[x->launch][dim] = true;
    return ws__ip_atom(
        ws__atom_get(x,
                     v == WS__AL_THREAD      ? WS__ATOM_THREAD
                     : v == WS__AL_BLOCK     ? WS__ATOM_GROUP
                     : v == WS__AL_BLOCK_DIM ? WS__ATOM_BLOCK
                                             : WS__ATOM_VALUE,
                     v == WS__AL_GRID_DIM ? -2 - dim : dim, -1,
                     v == WS__AL_BLOCK_DIM ? 0 : (int)x->launch));
}

/* Something of which only the node is known. */
static size_t value_atom(struct ws__infer *x, int32_t i, int env)
{
    return ws__atom_get(x, WS__ATOM_VALUE, i, -1, env);
}

static void set_most(struct ws__infer *x, size_t atom, const struct ws__ip *m)
{
    struct ws__ip *p;

    if (m->n < 0 || x->rc < 0)
        return;
    p = ws__arena_alloc(x->arena, 1, sizeof(*p));
    if (!p)
        x->rc = WS_ENOMEM;
    else
        *p = *m;
    x->atom[atom].most = p;
}

/* Elements of whole numbers that stand beside others in a bound. */
void ws__infer_see_loads(struct ws__infer *x, const struct ws__ip *a)
{
    for (int i = 0; i < a->n; i++) {
        int v = ws__ip_variable(x, &a->term[i]);
        int64_t most = 1023;

        if (v < 0 || x->atom[v].kind != WS__ATOM_LOAD)
            continue;
        for (int k = 0; k < a->n; k++)
            if (k != i && ws__ip_variable(x, &a->term[k]) != -1)
                most = 7;
        v = x->atom[v].key;
        if (x->out->fact[v].dtype == WS__DT_I32 ||
            x->out->fact[v].dtype == WS__DT_I64)
            if (x->most_of[v] < 0 || most < x->most_of[v])
                x->most_of[v] = most;
        x->is_place[v] = true;
    }
}

/* What bounds the value of a node where it stands. */
struct ws__ip ws__infer_most_here(struct ws__infer *x, int32_t i, int env)
{
    struct ws__knowledge k = ws__infer_nothing(x);
    struct ws__ip v = ws__infer_value(x, i, env);

    ws__infer_known(x, i, env, &k);
    v = ws__infer_resolve(x, &v, &k, false);
    ws__infer_see_loads(x, &v);
    return ws__infer_most(x, &v, &k);
}

struct ws__ip ws__infer_join(const struct ws__infer *x, const struct ws__ip *a,
                             const struct ws__ip *b, bool first)
{
    if (first || a->n < 0)
        return first ? *b : *a;
    return b->n < 0 ? *b : ws__ip_larger(x, a, b);
}

static struct ws__ip of_choice(struct ws__infer *x, int32_t i, int env)
{
    size_t at = value_atom(x, i, env);

    if (!x->atom[at].busy && !x->atom[at].most) {
        struct ws__ip a, b;

        x->atom[at].busy = true;
        a = ws__infer_most_here(x, ws__ast_child(x->t, i, 1), env);
        b = ws__infer_most_here(x, ws__ast_child(x->t, i, 2), env);
        a = ws__infer_join(x, &a, &b, false);
        set_most(x, at, &a);
        x->atom[at].busy = false;
    }
    return ws__ip_atom(at);
}

/* A function of the file: the largest that it returns. */
static void join_returns(struct ws__infer *x, size_t at, int32_t call,
                         int32_t func, int env)
{
    int e = ws__infer_enter(x, call, func, env);
    struct ws__ip most = ws__ip_unknown();
    bool first = true;

    for (int32_t i = func; e >= 0 && i < ws__ast_after(x->t, func); i++) {
        struct ws__ip m;

        if (x->t->node[i].kind != WS__AST_RETURN ||
            ws__ast_child(x->t, i, 0) < 0)
            continue;
        m = ws__infer_most_here(x, ws__ast_child(x->t, i, 0), e);
        most = ws__infer_join(x, &most, &m, first);
        first = false;
    }
    set_most(x, at, &most);
}

static struct ws__ip of_call(struct ws__infer *x, int32_t i, int env)
{
    const struct ws__ast_node *n = &x->t->node[i];
    size_t at = value_atom(x, i, env);
    struct ws__ip a, b;

    if (x->atom[at].busy || x->atom[at].most)
        return ws__ip_atom(at);
    x->atom[at].busy = true;
    if (n->decl >= 0 && n->type.class == WS__AT_INT) {
        join_returns(x, at, i, n->decl, env);
    } else if (n->name &&
               (!strcmp(n->name, "min") || !strcmp(n->name, "max"))) {
        a = ws__infer_most_here(x, ws__ast_child(x->t, i, 1), env);
        b = ws__infer_most_here(x, ws__ast_child(x->t, i, 2), env);
        if (n->name[1] == 'a')
            a = ws__infer_join(x, &a, &b, false);
        else if (a.n < 0 ||
                 (b.n >= 0 && ws__ip_typical(x, &b) < ws__ip_typical(x, &a)))
            a = b;
        set_most(x, at, &a);
    }
    x->atom[at].busy = false;
    return ws__ip_atom(at);
}

/* The same quotient of the same is the same atom. */
static struct ws__ip of_parts(struct ws__infer *x, enum ws__atom_kind kind,
                              const struct ws__ip *num,
                              const struct ws__ip *den)
{
    size_t at;

    for (size_t i = 0; i < x->natom; i++)
        if (x->atom[i].kind == kind && ws__ip_equal(x->atom[i].num, num) &&
            ws__ip_equal(x->atom[i].den, den))
            return ws__ip_atom(i);
    if (x->rc < 0)
        return ws__ip_unknown();
    at = ws__atom_get(x, kind, (int32_t)x->natom, -1, 0);
    if (x->rc < 0)
        return ws__ip_unknown();
    x->atom[at].num = ws__arena_alloc(x->arena, 1, sizeof(*num));
    x->atom[at].den = ws__arena_alloc(x->arena, 1, sizeof(*den));
    if (!x->atom[at].num || !x->atom[at].den) {
        x->rc = WS_ENOMEM;
        x->natom--;
        return ws__ip_unknown();
    }
    *x->atom[at].num = *num;
    *x->atom[at].den = *den;
    return ws__ip_atom(at);
}

static struct ws__ip divide(struct ws__infer *x, const struct ws__ip *num,
                            const struct ws__ip *den, bool rest)
{
    struct ws__ip out;

    if (num->n < 0 || den->n <= 0 || ws__ip_varies(x, den))
        return ws__ip_unknown();
    if (!rest && !ws__ip_varies(x, num))
        return ws__ip_quotient(x, num, den);
    if (!rest && den->n == 1 && ws__ip_divide(num, &den->term[0], &out))
        return out;
    return of_parts(x, rest ? WS__ATOM_MOD : WS__ATOM_DIV, num, den);
}

static struct ws__ip of_binary(struct ws__infer *x, int32_t i, int env)
{
    struct ws__ip a = ws__infer_value(x, ws__ast_child(x->t, i, 0), env);
    struct ws__ip b = ws__infer_value(x, ws__ast_child(x->t, i, 1), env);
    struct ws__ip out = ws__ip_unknown();
    int64_t by;

    switch (x->t->node[i].op) {
    case CL_BinaryOperator_Add:
        out = ws__ip_add(&a, &b, 1);
        break;
    case CL_BinaryOperator_Sub:
        out = ws__ip_add(&a, &b, -1);
        break;
    case CL_BinaryOperator_Mul:
        out = ws__ip_multiply(&a, &b);
        break;
    case CL_BinaryOperator_Div:
        out = divide(x, &a, &b, false);
        break;
    case CL_BinaryOperator_Rem:
        out = divide(x, &a, &b, true);
        break;
    case CL_BinaryOperator_Shl:
    case CL_BinaryOperator_Shr:
        if (!ws__ip_is_number(&b, &by) || by < 0 || by > 40)
            break;
        b = ws__ip_number((int64_t)1 << by);
        out = x->t->node[i].op == CL_BinaryOperator_Shl
                  ? ws__ip_multiply(&a, &b)
                  : divide(x, &a, &b, false);
        break;
    default:
        break;
    }
    return out.n < 0 ? ws__ip_atom(value_atom(x, i, env)) : out;
}

/* The counter of a loop that i stands in. */
static int32_t loop_of(const struct ws__ast *t, int32_t i, int32_t decl,
                       struct ws__ast_for *out)
{
    for (; i >= 0; i = t->node[i].parent)
        if (t->node[i].kind == WS__AST_FOR) {
            ws__ast_for(t, i, out);
            if (out->counts && out->var == decl)
                return i;
        }
    return -1;
}

static struct ws__ip of_loop(struct ws__infer *x, const struct ws__ast_for *f,
                             int32_t decl, int env)
{
    size_t at = ws__atom_get(x, WS__ATOM_VAR, decl, f->loop, env);
    struct ws__ip one = ws__ip_number(1);
    struct ws__ip *p;

    if (x->atom[at].loop || x->rc < 0)
        return ws__ip_atom(at);
    p = ws__arena_alloc(x->arena, 2, sizeof(*p));
    if (!p) {
        x->rc = WS_ENOMEM;
        return ws__ip_unknown();
    }
    p[0] = p[1] = one;
    x->atom[at].step = &p[0];
    x->atom[at].num = &p[1];
    x->atom[at].loop = true;
    p[0] = f->by < 0 ? one : ws__infer_value(x, f->by, env);
    p[1] = ws__infer_value(x, f->from, env);
    for (int k = 0; k < p[0].n; k++)
        for (int s = 0; s < p[0].term[k].n; s++) {
            const struct ws__atom *a = &x->atom[p[0].term[k].atom[s]];

            if (a->kind == WS__ATOM_VALUE && a->key <= -2 && a->key >= -4)
                x->strides[x->launch][-2 - a->key] = true;
        }
    return ws__ip_atom(at);
}

static struct ws__ip of_reference(struct ws__infer *x, int32_t i, int env)
{
    const struct ws__ast *t = x->t;
    int32_t decl = t->node[i].decl, def;
    const struct ws__ast_node *d;
    struct ws__ast_for f;

    if (decl < 0)
        return ws__ip_atom(value_atom(x, i, env));
    d = &t->node[decl];
    if (d->known)
        return ws__ip_number(d->value);
    if (d->type.class != WS__AT_INT || d->type.ndim || d->type.pointers)
        return ws__ip_atom(value_atom(x, i, env));
    if (d->kind == WS__AST_PARAM && x->env[env].up >= 0 &&
        !ws__ast_changes(t, x->env[env].func, decl))
        return ws__infer_value(x, ws__infer_argument(x, decl, env),
                               x->env[env].up);
    if (d->kind == WS__AST_PARAM && x->env[env].up < 0)
        for (size_t k = 0; d->name && k < x->out->nfact; k++)
            if (x->out->fact[k].own && !strcmp(x->out->fact[k].own, d->name))
                return x->out->fact[k].role == WS__FACT_AXIS
                           ? ws__ip_atom(ws__atom_get(x, WS__ATOM_SIZE,
                                                      (int32_t)k, -1, 0))
                           : ws__ip_atom(value_atom(x, i, env));
    if (loop_of(t, i, decl, &f) >= 0)
        return of_loop(x, &f, decl, env);
    def = d->kind == WS__AST_VAR ? ws__infer_definition(x, decl, i) : -1;
    return ws__ip_atom(
        ws__atom_get(x, WS__ATOM_VAR, decl, def < 0 ? -1 : def, env));
}

static struct ws__ip of_element(struct ws__infer *x, int32_t i, int env)
{
    const struct ws__ast_node *n = &x->t->node[i];
    int fact, width;
    struct ws__ip offset;

    if (n->type.class == WS__AT_INT && !n->type.pointers && !n->type.ndim) {
        fact = ws__infer_array(x, i, env, &offset, &width);
        if (fact >= 0)
            return ws__ip_atom(ws__atom_get(x, WS__ATOM_LOAD, fact, i, env));
    }
    return ws__ip_atom(value_atom(x, i, env));
}

struct ws__ip ws__infer_value(struct ws__infer *x, int32_t expr, int env)
{
    int32_t i = ws__ast_bare(x->t, expr);
    const struct ws__ast_node *n;
    struct ws__ip v;
    int dim = 0, m;
    enum ws__ast_launch l;

    if (i < 0 || x->rc < 0 || x->depth > MAX_DEPTH)
        return ws__ip_unknown();
    n = &x->t->node[i];
    m = missing(x, i);
    if (m >= 0)
        return ws__ip_atom(ws__atom_get(x, WS__ATOM_NAME, m, -1, 0));
    l = ws__ast_launch_value(x->t, i, &dim);
    if (l != WS__AL_NONE)
        return of_launch(x, l, dim);
    x->depth++;
    switch (n->kind) {
    case WS__AST_INT:
        v = n->known ? ws__ip_number(n->value) : ws__ip_unknown();
        break;
    case WS__AST_REF:
        v = of_reference(x, i, env);
        break;
    case WS__AST_BINARY:
        v = of_binary(x, i, env);
        break;
    case WS__AST_UNARY:
        v = ws__ip_atom(value_atom(x, i, env));
        if (n->op == CL_UnaryOperator_Minus) {
            struct ws__ip zero = ws__ip_number(0);

            v = ws__infer_value(x, ws__ast_child(x->t, i, 0), env);
            v = ws__ip_add(&zero, &v, -1);
        } else if (n->op == CL_UnaryOperator_Deref) {
            v = of_element(x, i, env);
        }
        break;
    case WS__AST_CHOICE:
        v = of_choice(x, i, env);
        break;
    case WS__AST_CALL:
        v = of_call(x, i, env);
        break;
    case WS__AST_CAST:
        v = n->type.class == WS__AT_INT && ws__infer_init(x->t, i) >= 0
                ? ws__infer_value(x, ws__infer_init(x->t, i), env)
                : ws__ip_atom(value_atom(x, i, env));
        break;
    case WS__AST_INDEX:
        v = of_element(x, i, env);
        break;
    default:
        v = ws__ip_atom(value_atom(x, i, env));
        break;
    }
    x->depth--;
    return x->rc < 0 ? ws__ip_unknown() : v;
}
