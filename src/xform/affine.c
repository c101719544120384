/* affine.c: integer expressions as sums of products; accesses to arrays. */
#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_DEPTH 24

static bool add_term(struct ws__affine *a, const struct ws__affine_term *t)
{
    if (!t->times)
        return true;
    for (size_t i = 0; i < a->n; i++) {
        struct ws__affine_term *o = &a->term[i];

        if (o->n != t->n || memcmp(o->sym, t->sym, sizeof(o->sym)))
            continue;
        if (__builtin_add_overflow(o->times, t->times, &o->times))
            return false;
        if (!o->times)
            a->term[i] = a->term[--a->n];
        return true;
    }
    if (a->n == WS__AFFINE_TERMS)
        return false;
    a->term[a->n++] = *t;
    return true;
}

static bool multiply(const struct ws__affine_term *x,
                     const struct ws__affine_term *y,
                     struct ws__affine_term *out)
{
    memset(out, 0, sizeof(*out));
    if (x->n + y->n > WS__AFFINE_SYMBOLS ||
        __builtin_mul_overflow(x->times, y->times, &out->times))
        return false;
    for (int i = 0; i < x->n + y->n; i++) { /* sorted, for comparing */
        int32_t s = i < x->n ? x->sym[i] : y->sym[i - x->n];
        int k = out->n++;

        for (; k && out->sym[k - 1] > s; k--)
            out->sym[k] = out->sym[k - 1];
        out->sym[k] = s;
    }
    return true;
}

static bool symbol(struct ws__affine *out, int32_t sym)
{
    struct ws__affine_term t = {.times = 1, .n = 1};

    t.sym[0] = sym;
    out->n = 0;
    return add_term(out, &t);
}

/* Does a variable have the same value from decl on wherever decl is seen? So
 * does one that nobody changes, and the counter of a loop around decl. */
static bool is_settled(const struct ws__ast *t, int32_t f, int32_t decl,
                       int32_t var)
{
    if (!ws__ast_changes(t, f, var))
        return true;
    for (int32_t i = decl; i > f; i = t->node[i].parent) {
        struct ws__ast_for l;

        if (t->node[i].kind != WS__AST_FOR)
            continue;
        ws__ast_for(t, i, &l);
        if (l.counts && l.var == var)
            return true;
    }
    return false;
}

static bool settled_below(const struct ws__ast *t, int32_t f, int32_t decl,
                          int32_t value)
{
    int32_t end = ws__ast_after(t, value);

    for (int32_t i = value; i < end; i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0 &&
            !is_settled(t, f, decl, t->node[i].decl))
            return false;
    return true;
}

/* The value that a variable gets where it is declared and keeps; or -1. */
static int32_t kept_value(const struct ws__ast *t, int32_t decl)
{
    int32_t f = ws__ast_up(t, decl, WS__AST_FUNCTION);
    int32_t v = ws__ast_child(t, decl, 0);

    if (t->node[decl].kind != WS__AST_VAR || f < 0 || v < 0 ||
        t->node[decl].type.ndim || t->node[decl].type.pointers ||
        t->node[decl].type.class != WS__AT_INT ||
        t->node[decl].type.bits < 32 || ws__ast_is_reference(t, decl) ||
        t->node[decl].is_static || ws__ast_changes(t, f, decl) ||
        !settled_below(t, f, decl, v))
        return -1;
    return v;
}

/* A cast to an integer that holds any index. */
static bool keeps_value(const struct ws__ast *t, int32_t i)
{
    return ws__ast_is(t, i, WS__AST_CAST) && ws__ast_nchild(t, i) == 1 &&
           t->node[i].type.class == WS__AT_INT && t->node[i].type.bits >= 32 &&
           !t->node[i].type.pointers;
}

static bool affine(const struct ws__ast *t, int32_t i, struct ws__affine *out,
                   int depth);

static bool of_launch(enum ws__ast_launch v, int dim, struct ws__affine *out)
{
    struct ws__affine_term t = {.times = 1, .n = 2};

    if (v != WS__AL_GLOBAL)
        return symbol(out, WS__SYM(v, dim));
    /* block times size plus thread */
    t.sym[0] = WS__SYM(WS__AL_BLOCK_DIM, dim);
    t.sym[1] = WS__SYM(WS__AL_BLOCK, dim);
    if (t.sym[0] > t.sym[1]) {
        int32_t s = t.sym[0];

        t.sym[0] = t.sym[1];
        t.sym[1] = s;
    }
    return symbol(out, WS__SYM(WS__AL_THREAD, dim)) && add_term(out, &t);
}

bool ws__affine_plus(const struct ws__affine *a, int64_t times,
                     const struct ws__affine *b, struct ws__affine *out)
{
    *out = *a;
    for (size_t k = 0; k < b->n; k++) {
        struct ws__affine_term m = b->term[k];

        if (__builtin_mul_overflow(m.times, times, &m.times) ||
            !add_term(out, &m))
            return false;
    }
    return true;
}

bool ws__affine_product(const struct ws__affine *a, const struct ws__affine *b,
                        struct ws__affine *out)
{
    out->n = 0;
    for (size_t x = 0; x < a->n; x++)
        for (size_t y = 0; y < b->n; y++) {
            struct ws__affine_term m;

            if (!multiply(&a->term[x], &b->term[y], &m) || !add_term(out, &m))
                return false;
        }
    return true;
}

static bool of_binary(const struct ws__ast *t, int32_t i,
                      struct ws__affine *out, int depth)
{
    struct ws__affine a, b;
    int op = t->node[i].op;

    if (!affine(t, ws__ast_child(t, i, 0), &a, depth) ||
        !affine(t, ws__ast_child(t, i, 1), &b, depth))
        return false;
    return op == CL_BinaryOperator_Mul
               ? ws__affine_product(&a, &b, out)
               : ws__affine_plus(&a, op == CL_BinaryOperator_Add ? 1 : -1, &b,
                                 out);
}

static bool affine(const struct ws__ast *t, int32_t i, struct ws__affine *out,
                   int depth)
{
    enum ws__ast_launch v;
    const struct ws__ast_node *n;
    int64_t c;
    int dim;

    out->n = 0;
    while (ws__ast_is(t, i, WS__AST_PAREN) || keeps_value(t, i))
        i = ws__ast_child(t, i, 0);
    if (i < 0 || depth > MAX_DEPTH || t->node[i].type.class != WS__AT_INT)
        return false;
    n = &t->node[i];
    if (ws__ast_const(t, i, &c)) {
        struct ws__affine_term one = {.times = c};

        return add_term(out, &one);
    }
    v = ws__ast_launch_value(t, i, &dim);
    if (v != WS__AL_NONE)
        return of_launch(v, dim, out);
    if (n->kind == WS__AST_REF && n->decl >= 0) {
        int32_t value = kept_value(t, n->decl);

        if (value >= 0 && affine(t, value, out, depth + 1))
            return true;
        return symbol(out, n->decl);
    }
    return n->kind == WS__AST_BINARY &&
           (n->op == CL_BinaryOperator_Add || n->op == CL_BinaryOperator_Sub ||
            n->op == CL_BinaryOperator_Mul) &&
           of_binary(t, i, out, depth + 1);
}

bool ws__affine_of(const struct ws__ast *t, int32_t expr,
                   struct ws__affine *out)
{
    return affine(t, expr, out, 0);
}

bool ws__affine_part(const struct ws__affine *a, int32_t sym,
                     struct ws__affine *out)
{
    out->n = 0;
    for (size_t i = 0; i < a->n; i++) {
        struct ws__affine_term t = a->term[i];
        int times = 0, k = 0;

        for (int s = 0; s < t.n; s++) {
            if (t.sym[s] == sym)
                times++;
            else
                t.sym[k++] = t.sym[s];
        }
        if (!times)
            continue;
        if (times > 1)
            return false;
        t.n = (uint8_t)k;
        memset(&t.sym[k], 0, (size_t)(WS__AFFINE_SYMBOLS - k) * sizeof(*t.sym));
        if (!add_term(out, &t))
            return false;
    }
    return true;
}

bool ws__affine_is(const struct ws__affine *a, int64_t constant)
{
    if (!constant)
        return !a->n;
    return a->n == 1 && !a->term[0].n && a->term[0].times == constant;
}

bool ws__affine_uses(const struct ws__affine *a, int32_t sym)
{
    for (size_t i = 0; i < a->n; i++)
        for (int s = 0; s < a->term[i].n; s++)
            if (a->term[i].sym[s] == sym)
                return true;
    return false;
}

/* --- accesses ------------------------------------------------------------- */

static bool is_array_of(const struct ws__xform_in *in, int32_t decl,
                        enum ws__ast_space space)
{
    const struct ws__ast_node *n = &in->ast->node[decl];

    if (space == WS__AS_GLOBAL)
        return n->kind == WS__AST_PARAM && n->parent == in->func &&
               n->type.pointers == 1 && n->type.space != WS__AS_SHARED &&
               n->type.space != WS__AS_CONSTANT;
    return n->type.space == space && (n->type.ndim || n->type.pointers);
}

/* Is the access written, and is it read? */
static void how_used(const struct ws__ast *t, int32_t i, struct ws__access *a)
{
    int32_t p = t->node[i].parent;

    while (p >= 0 && (t->node[p].kind == WS__AST_PAREN ||
                      t->node[p].kind == WS__AST_MEMBER ||
                      t->node[p].kind == WS__AST_CHOICE)) {
        i = p;
        p = t->node[p].parent;
    }
    a->read = true;
    if (p < 0)
        return;
    a->write = ws__ast_is_bound(t, i);
    if (t->node[p].kind == WS__AST_ASSIGN && ws__ast_child(t, p, 0) == i) {
        a->write = true;
        a->read = t->node[p].op != CL_BinaryOperator_Assign;
    }
    if (t->node[p].kind == WS__AST_UNARY &&
        t->node[p].op >= CL_UnaryOperator_PostInc &&
        t->node[p].op <= CL_UnaryOperator_AddrOf)
        a->write = true;
}

size_t ws__xform_accesses(const struct ws__xform_in *in, int32_t root,
                          enum ws__ast_space space, struct ws__access *out,
                          size_t max)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, root);
    size_t n = 0;

    for (int32_t i = root; i < end; i++) {
        int32_t of = i;
        struct ws__access a = {.node = i};

        if (t->node[i].kind != WS__AST_INDEX ||
            (ws__ast_is(t, t->node[i].parent, WS__AST_INDEX) &&
             ws__ast_child(t, t->node[i].parent, 0) == i))
            continue; /* a[b[i]] are two accesses, a[i][j] is one */
        a.index = ws__ast_child(t, i, 1);
        while (ws__ast_is(t, of, WS__AST_INDEX) ||
               ws__ast_is(t, of, WS__AST_PAREN))
            of = ws__ast_child(t, of, 0);
        if (!ws__ast_is(t, of, WS__AST_REF) || t->node[of].decl < 0 ||
            !is_array_of(in, t->node[of].decl, space))
            continue;
        a.decl = t->node[of].decl;
        how_used(t, i, &a);
        a.affine = ws__affine_of(t, a.index, &a.at);
        if (n < max)
            out[n] = a;
        n++;
    }
    return n;
}
