/*
 * infer_whole.c: is every element of an array read, or written, in every run?
 *
 * A proof of what is plain: an index whose parts each walk from 0 to the length
 * of their dimension, by a loop, by blocks, by threads or by both, at a place
 * that is come to wherever the parts lie within the lengths. What is not of
 * that form is not taken to be whole.
 */
#include "xform/clang_api.h"
#include "xform/infer_int.h"

#include "base/banned.h"

#define MAX_DEPTH 8 /* of loops that begin where another one is */

struct proof {
    struct ws__infer *x;
    const struct ws__infer_access *a;
    const struct ws__ip *part, *length;
    int n;
};

/* The one atom of a sum that is that atom alone; or NULL. */
static const struct ws__atom *alone(const struct ws__infer *x,
                                    const struct ws__ip *a)
{
    return a->n == 1 && a->term[0].n == 1 && a->term[0].times == 1
               ? &x->atom[a->term[0].atom[0]]
               : NULL;
}

/* By threads, blocks and counters of loops alone, where it can be. */
static struct ws__ip plain(struct ws__infer *x, size_t launch,
                           const struct ws__ip *a)
{
    struct ws__ip v = ws__infer_resolve(x, a, NULL, true);

    return ws__infer_settled(x, launch, v.n < 0 ? a : &v);
}

static struct ws__ip value_of(const struct proof *p, int32_t expr)
{
    struct ws__ip v = ws__infer_value(p->x, expr, p->a->env);

    return ws__infer_settled(p->x, p->a->launch, &v);
}

/* --- all values from 0 to a length ---------------------------------------- */

static bool loop_walks(const struct proof *p, const struct ws__atom *v,
                       const struct ws__ip *length)
{
    const struct ws__atom *from;
    struct ws__ip to, num, step;
    struct ws__ast_for f;
    int64_t first, by;

    if (!v->loop || v->def < 0)
        return false;
    ws__ast_for(p->x->t, v->def, &f);
    to = value_of(p, f.to);
    if (!f.counts || f.inclusive || !ws__ip_equal(&to, length))
        return false;
    num = ws__infer_settled(p->x, p->a->launch, v->num);
    step = ws__infer_settled(p->x, p->a->launch, v->step);
    if (ws__ip_is_number(&num, &first))
        return !first && ws__ip_is_number(&step, &by) && by == 1;
    from = alone(p->x, &num);
    return from &&
           ((from->kind == WS__ATOM_THREAD &&
             ws__ip_equal(&step, &p->x->block[p->a->launch][from->key])) ||
            (from->kind == WS__ATOM_GROUP &&
             ws__ip_equal(&step, &p->x->grid[p->a->launch][from->key])));
}

/* block * threads + thread, and as many blocks as it takes. */
static bool place_walks(const struct proof *p, const struct ws__ip *part,
                        const struct ws__ip *length)
{
    for (int i = 0; i < 2; i++) {
        struct ws__ip t = {.n = 1, .term = {part->term[i]}}, rest = {.n = 1};
        const struct ws__atom *thread = alone(p->x, &t);
        int group = ws__ip_variable(p->x, &part->term[!i]);
        struct ws__ip_term one = {.times = 1, .n = 1};
        struct ws__ip blocks;
        const struct ws__ip *threads;

        if (!thread || thread->kind != WS__ATOM_THREAD || group < 0 ||
            p->x->atom[group].kind != WS__ATOM_GROUP ||
            p->x->atom[group].key != thread->key)
            continue;
        threads = &p->x->block[p->a->launch][thread->key];
        one.atom[0] = (uint16_t)group;
        blocks = ws__ip_ceil(p->x, length, threads);
        return ws__ip_term_divides(&one, &part->term[!i], &rest.term[0]) &&
               ws__ip_equal(&rest, threads) &&
               ws__ip_equal(&blocks, &p->x->grid[p->a->launch][thread->key]);
    }
    return false;
}

static bool walks(const struct proof *p, int d)
{
    const struct ws__ip *part = &p->part[d], *length = &p->length[d];
    const struct ws__atom *v = alone(p->x, part);
    size_t launch = p->a->launch;

    if (length->n <= 0)
        return false;
    if (part->n == 2)
        return place_walks(p, part, length);
    if (!v)
        return false;
    if (v->kind == WS__ATOM_THREAD)
        return ws__ip_equal(&p->x->block[launch][v->key], length);
    if (v->kind == WS__ATOM_GROUP)
        return ws__ip_equal(&p->x->grid[launch][v->key], length);
    return loop_walks(p, v, length);
}

/* --- what is come to ------------------------------------------------------ */

static bool has_atom(const struct ws__infer *x, const struct ws__ip *a,
                     int32_t atom, int depth)
{
    if (depth > MAX_DEPTH)
        return true;
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < a->term[i].n; k++) {
            const struct ws__atom *v = &x->atom[a->term[i].atom[k]];

            if (a->term[i].atom[k] == atom ||
                (v->loop && has_atom(x, v->num, atom, depth + 1)))
                return true;
        }
    return false;
}

/* Can it be 0, whatever the parts are? */
static bool can_be_zero(const struct proof *p, const struct ws__ip *a,
                        int depth)
{
    for (int i = 0; i < a->n; i++) {
        int v = ws__ip_variable(p->x, &a->term[i]);
        const struct ws__atom *t = v < 0 ? NULL : &p->x->atom[v];

        if (!t || a->term[i].times < 0 ||
            !(t->kind == WS__ATOM_THREAD || t->kind == WS__ATOM_GROUP ||
              (t->loop && depth < MAX_DEPTH &&
               can_be_zero(p, t->num, depth + 1))))
            return false;
        for (int d = 0; d < p->n; d++)
            if (has_atom(p->x, &p->part[d], v, 0))
                return false;
    }
    return a->n >= 0;
}

/* Is it less than the other, for all places or for one that differs in nothing
 * that the parts are made of? */
static bool is_less(const struct proof *p, int32_t small, int32_t large)
{
    struct ws__ip a = value_of(p, small), b = value_of(p, large);
    struct ws__ip one = ws__ip_number(1), rest;

    for (int d = 0; d < p->n; d++)
        if (ws__ip_equal(&a, &p->part[d]) && ws__ip_equal(&b, &p->length[d]))
            return true;
    a = plain(p->x, p->a->launch, &a);
    for (int d = 0; d < p->n; d++)
        if (ws__ip_equal(&a, &p->part[d]) && ws__ip_equal(&b, &p->length[d]))
            return true;
    rest = ws__ip_add(&b, &one, -1);
    return can_be_zero(p, &a, 0) && rest.n >= 0 && !ws__ip_varies(p->x, &b) &&
           ws__ip_is_natural(&rest);
}

static bool holds(const struct proof *p, int32_t cond, bool negated)
{
    const struct ws__ast *t = p->x->t;
    int32_t c = ws__ast_bare(t, cond);
    int op = ws__ast_is(t, c, WS__AST_BINARY) ? t->node[c].op : 0;
    int32_t a = ws__ast_child(t, c, 0), b = ws__ast_child(t, c, 1);

    if (op == (negated ? CL_BinaryOperator_LOr : CL_BinaryOperator_LAnd))
        return holds(p, a, negated) && holds(p, b, negated);
    if (op == CL_BinaryOperator_EQ && !negated && ws__ast_is_zero(t, b)) {
        struct ws__ip v = value_of(p, a);

        v = plain(p->x, p->a->launch, &v);
        return can_be_zero(p, &v, 0);
    }
    if (op == (negated ? CL_BinaryOperator_GE : CL_BinaryOperator_LT))
        return is_less(p, a, b);
    if (op == (negated ? CL_BinaryOperator_LE : CL_BinaryOperator_GT))
        return is_less(p, b, a);
    return false;
}

/* Does a loop around it, which no part is the counter of, turn at least once?
 */
static bool turns_once(const struct proof *p, int32_t loop)
{
    struct ws__ast_for f;

    for (int d = 0; d < p->n; d++) {
        const struct ws__atom *v = alone(p->x, &p->part[d]);

        if (v && v->loop && v->def == loop)
            return true;
    }
    ws__ast_for(p->x->t, loop, &f);
    return f.counts && is_less(p, f.from, f.to);
}

/* Does it happen if what is above it does? */
static bool passes(const struct proof *p, int32_t i, int32_t up)
{
    const struct ws__ast *t = p->x->t;
    const struct ws__ast_node *n = &t->node[up];
    bool first = n->first == i;

    switch (n->kind) {
    case WS__AST_BINARY:
        return first || (n->op != CL_BinaryOperator_LAnd &&
                         n->op != CL_BinaryOperator_LOr);
    case WS__AST_IF:
    case WS__AST_CHOICE:
        return first ||
               (ws__ast_child(t, up, 1) == i && holds(p, n->first, false));
    case WS__AST_FOR:
        return turns_once(p, up);
    case WS__AST_WHILE:
    case WS__AST_DO:
    case WS__AST_JUMP:
    case WS__AST_OTHER:
    case WS__AST_LIST:
        return false;
    default:
        return true;
    }
}

/* A return that threads outside of the lengths leave by: if (i >= n) return; */
static bool leaves_rightly(const struct proof *p, int32_t i, int32_t body)
{
    const struct ws__ast *t = p->x->t;
    int32_t up = t->node[i].parent;

    if (up == body) /* the last statement */
        return i > p->a->node;
    if (ws__ast_is(t, up, WS__AST_BLOCK))
        up = t->node[up].parent;
    return ws__ast_is(t, up, WS__AST_IF) && t->node[up].parent == body &&
           ws__ast_nchild(t, up) == 2 &&
           (i > p->a->node || holds(p, t->node[up].first, true));
}

static bool is_come_to(const struct proof *p)
{
    const struct ws__ast *t = p->x->t;
    int32_t func = p->x->env[p->a->env].func, body = -1;

    for (int32_t i = p->a->node; i != func; i = t->node[i].parent) {
        int32_t up = t->node[i].parent;

        if (up < 0 || !passes(p, i, up))
            return false;
        body = i;
    }
    for (int32_t i = func; i < ws__ast_after(t, func); i++) {
        enum ws__ast_kind k = t->node[i].kind;

        if (k == WS__AST_BREAK || k == WS__AST_CONTINUE || k == WS__AST_JUMP ||
            (k == WS__AST_RETURN && !leaves_rightly(p, i, body)))
            return false;
    }
    return true;
}

bool ws__infer_whole(struct ws__infer *x, const struct ws__infer_access *a,
                     const struct ws__ip *part, const struct ws__ip *length,
                     int n)
{
    struct ws__ip in_plain[WS__INFER_STRIDES];
    const struct proof p = {x, a, in_plain, length, n};

    if (a->width != 1 || x->env[a->env].up >= 0)
        return false;
    x->launch = a->launch;
    for (int d = 0; d < n; d++) {
        in_plain[d] = ws__infer_settled(x, a->launch, &part[d]);
        if (walks(&p, d))
            continue;
        in_plain[d] = plain(x, a->launch, &part[d]);
        if (!walks(&p, d))
            return false;
    }
    /* One variable in two parts walks along a diagonal. */
    for (int d = 0; d < n; d++)
        for (int i = 0; i < in_plain[d].n; i++)
            for (int k = 0; k < d; k++)
                if (has_atom(x, &in_plain[k],
                             ws__ip_variable(x, &in_plain[d].term[i]), 0))
                    return false;
    return is_come_to(&p);
}
