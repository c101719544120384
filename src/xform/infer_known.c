/*
 * infer_known.c: what guards and loops tell of variables at a place, and the
 * largest values that follow.
 */
#include "xform/clang_api.h"
#include "xform/infer_int.h"

#include "base/banned.h"

#define MAX_DEPTH 40

/* --- what is known ----------------------------------------------------------
 */

struct ws__knowledge ws__infer_nothing(struct ws__infer *x)
{
    struct ws__knowledge k = {NULL, 0};

    k.at = ws__arena_alloc(x->arena, WS__INFER_KNOWN, sizeof(*k.at));
    if (!k.at)
        x->rc = WS_ENOMEM;
    return k;
}

static void know(struct ws__knowledge *k, const struct ws__ip *sum,
                 const struct ws__ip *most, bool differs)
{
    if (!k->at || sum->n <= 0 || most->n < 0 || k->n == WS__INFER_KNOWN)
        return;
    for (size_t i = 0; i < k->n; i++)
        if (k->at[i].differs == differs && ws__ip_equal(&k->at[i].sum, sum) &&
            ws__ip_equal(&k->at[i].most, most))
            return;
    k->at[k->n++] = (struct ws__known){*sum, *most, differs};
}

static void split(const struct ws__infer *x, const struct ws__ip *a,
                  struct ws__ip *varies, struct ws__ip *rest)
{
    *varies = *rest = ws__ip_number(0);
    for (int i = 0; i < a->n; i++) {
        struct ws__ip *to =
            ws__ip_variable(x, &a->term[i]) == -1 ? rest : varies;

        to->term[to->n++] = a->term[i];
    }
}

static void know_deeply(struct ws__infer *x, struct ws__knowledge *k,
                        const struct ws__ip *sum, const struct ws__ip *most,
                        bool differs, int depth);

/* n / d <= m: n <= (m + 1) d - 1 */
static void know_quotient(struct ws__infer *x, struct ws__knowledge *k,
                          const struct ws__atom *a, const struct ws__ip *most,
                          int depth)
{
    struct ws__ip one = ws__ip_number(1), v, rest, m;

    m = ws__ip_add(most, &one, 1);
    m = ws__ip_multiply(&m, a->den);
    m = ws__ip_add(&m, &one, -1);
    split(x, a->num, &v, &rest);
    m = ws__ip_add(&m, &rest, -1);
    know_deeply(x, k, &v, &m, false, depth);
}

static void know_deeply(struct ws__infer *x, struct ws__knowledge *k,
                        const struct ws__ip *sum, const struct ws__ip *most,
                        bool differs, int depth)
{
    struct ws__ip all, v, rest, m;
    const struct ws__atom *a;
    int at;

    know(k, sum, most, differs);
    if (depth > 6 || differs || sum->n <= 0)
        return;
    at = sum->n == 1 && sum->term[0].times == 1 && sum->term[0].n == 1
             ? sum->term[0].atom[0]
             : -1;
    a = at < 0 ? NULL : &x->atom[at];
    if (a && a->kind == WS__ATOM_DIV)
        know_quotient(x, k, a, most, depth + 1);
    all = ws__infer_resolve(x, sum, NULL, true);
    if (all.n < 0 || ws__ip_equal(&all, sum))
        return;
    split(x, &all, &v, &rest);
    m = ws__ip_add(most, &rest, -1);
    know_deeply(x, k, &v, &m, false, depth + 1);
}

/* a - b + by <= 0 */
static void know_order(struct ws__infer *x, struct ws__knowledge *k,
                       const struct ws__ip *a, const struct ws__ip *b,
                       int64_t by)
{
    struct ws__ip d = ws__ip_add(a, b, -1), v, rest, n = ws__ip_number(by);
    struct ws__ip minus = ws__ip_number(0), zero = minus, plus = minus;

    if (d.n < 0)
        return;
    d = ws__ip_add(&d, &n, 1);
    split(x, &d, &v, &rest);
    ws__infer_see_loads(x, a);
    ws__infer_see_loads(x, b);
    for (int i = 0; i < v.n; i++) {
        struct ws__ip *to = v.term[i].times < 0 ? &minus : &plus;

        to->term[to->n] = v.term[i];
        if (v.term[i].times < 0)
            to->term[to->n].times = -v.term[i].times;
        to->n++;
    }
    if (!plus.n)
        return;
    if (minus.n) {
        minus = ws__infer_resolve(x, &minus, k, false);
        minus = ws__infer_most(x, &minus, k);
    }
    rest = ws__ip_add(&minus, &rest, -1);
    rest = ws__ip_add(&rest, &zero, 1);
    know_deeply(x, k, &plus, &rest, false, 0);
}

static void know_condition(struct ws__infer *x, struct ws__knowledge *k,
                           int32_t cond, int env, bool holds);

static void know_comparison(struct ws__infer *x, struct ws__knowledge *k,
                            int32_t c, int env, bool holds)
{
    struct ws__ip a = ws__infer_value(x, ws__ast_child(x->t, c, 0), env);
    struct ws__ip b = ws__infer_value(x, ws__ast_child(x->t, c, 1), env);
    struct ws__ip v, rest;

    switch (x->t->node[c].op) {
    case CL_BinaryOperator_LT:
        know_order(x, k, holds ? &a : &b, holds ? &b : &a, holds);
        break;
    case CL_BinaryOperator_LE:
        know_order(x, k, holds ? &a : &b, holds ? &b : &a, !holds);
        break;
    case CL_BinaryOperator_GT:
        know_order(x, k, holds ? &b : &a, holds ? &a : &b, holds);
        break;
    case CL_BinaryOperator_GE:
        know_order(x, k, holds ? &b : &a, holds ? &a : &b, !holds);
        break;
    case CL_BinaryOperator_EQ:
    case CL_BinaryOperator_NE:
        if (holds == (x->t->node[c].op == CL_BinaryOperator_EQ))
            break;
        a = ws__ip_add(&a, &b, -1);
        split(x, &a, &v, &rest);
        b = ws__ip_number(0);
        b = ws__ip_add(&b, &rest, -1);
        know(k, &v, &b, true);
        break;
    default:
        break;
    }
}

static void know_condition(struct ws__infer *x, struct ws__knowledge *k,
                           int32_t cond, int env, bool holds)
{
    int32_t c = ws__ast_bare(x->t, cond);
    const struct ws__ast_node *n;

    if (c < 0 || x->rc < 0)
        return;
    n = &x->t->node[c];
    if (n->kind == WS__AST_UNARY && n->op == CL_UnaryOperator_LNot) {
        know_condition(x, k, ws__ast_child(x->t, c, 0), env, !holds);
        return;
    }
    if (n->kind != WS__AST_BINARY)
        return;
    if (n->op == (holds ? CL_BinaryOperator_LAnd : CL_BinaryOperator_LOr)) {
        know_condition(x, k, ws__ast_child(x->t, c, 0), env, holds);
        know_condition(x, k, ws__ast_child(x->t, c, 1), env, holds);
        return;
    }
    know_comparison(x, k, c, env, holds);
}

/* Does a statement always leave the block it is in? */
static bool leaves(const struct ws__ast *t, int32_t s)
{
    if (ws__ast_is(t, s, WS__AST_BLOCK)) {
        int n = ws__ast_nchild(t, s);

        s = n ? ws__ast_child(t, s, n - 1) : -1;
    }
    return ws__ast_is(t, s, WS__AST_RETURN) ||
           ws__ast_is(t, s, WS__AST_BREAK) ||
           ws__ast_is(t, s, WS__AST_CONTINUE);
}

static void know_before(struct ws__infer *x, struct ws__knowledge *k,
                        int32_t at, int env)
{
    const struct ws__ast *t = x->t;
    int32_t block = t->node[at].parent;

    if (!ws__ast_is(t, block, WS__AST_BLOCK))
        return;
    for (int32_t s = t->node[block].first; s >= 0 && s < at;
         s = t->node[s].next)
        if (t->node[s].kind == WS__AST_IF && ws__ast_nchild(t, s) == 2 &&
            leaves(t, ws__ast_child(t, s, 1)))
            know_condition(x, k, ws__ast_child(t, s, 0), env, false);
}

static void know_above(struct ws__infer *x, struct ws__knowledge *k, int32_t at,
                       int env)
{
    const struct ws__ast *t = x->t;
    int32_t p = t->node[at].parent, first = ws__ast_child(t, p, 0);
    const struct ws__ast_node *n = &t->node[p];
    struct ws__ast_for f;

    switch (n->kind) {
    case WS__AST_IF:
    case WS__AST_CHOICE:
        if (at != first)
            know_condition(x, k, first, env, at == ws__ast_child(t, p, 1));
        break;
    case WS__AST_WHILE:
        if (at != first)
            know_condition(x, k, first, env, true);
        break;
    case WS__AST_FOR:
        ws__ast_for(t, p, &f);
        if (at == f.body && f.cond >= 0)
            know_condition(x, k, f.cond, env, true);
        break;
    case WS__AST_BINARY:
        if (at != first && n->op == CL_BinaryOperator_LAnd)
            know_condition(x, k, first, env, true);
        if (at != first && n->op == CL_BinaryOperator_LOr)
            know_condition(x, k, first, env, false);
        break;
    default:
        break;
    }
}

void ws__infer_known(struct ws__infer *x, int32_t node, int env,
                     struct ws__knowledge *k)
{
    if (x->depth > MAX_DEPTH || !k->at)
        return;
    x->depth += 4;
    for (int32_t i = node; i >= 0 && x->t->node[i].parent >= 0 && x->rc >= 0;
         i = x->t->node[i].parent) {
        know_above(x, k, i, env);
        know_before(x, k, i, env);
    }
    if (x->env[env].up >= 0)
        ws__infer_known(x, x->env[env].call, x->env[env].up, k);
    x->depth -= 4;
}

/* --- replacing --------------------------------------------------------------
 */

static bool is_known_of(const struct ws__knowledge *k, int atom)
{
    for (size_t i = 0; k && i < k->n; i++)
        for (int t = 0; t < k->at[i].sum.n; t++)
            for (int s = 0; s < k->at[i].sum.term[t].n; s++)
                if (k->at[i].sum.term[t].atom[s] == atom)
                    return true;
    return false;
}

/* What a variable was given; unknown: it is not to be replaced. */
static struct ws__ip replacement(struct ws__infer *x, size_t at,
                                 const struct ws__knowledge *k, bool all)
{
    struct ws__atom *a = &x->atom[at];
    int32_t from;

    if (a->kind != WS__ATOM_VAR ||
        (!all && (a->loop || is_known_of(k, (int)at))))
        return ws__ip_unknown();
    if (a->loop)
        return ws__ip_varies(x, a->num) && a->num->n > 0 ? *a->num
                                                         : ws__ip_unknown();
    if (a->def < 0 && !all)
        return ws__ip_unknown();
    from = a->def >= 0 ? ws__infer_given(x->t, a->def)
                       : ws__infer_init(x->t, a->key);
    return from < 0 ? ws__ip_unknown() : ws__infer_value(x, from, a->env);
}

struct ws__ip ws__infer_resolve(struct ws__infer *x, const struct ws__ip *a,
                                const struct ws__knowledge *k, bool all)
{
    struct ws__ip out = *a;

    for (int round = 0; round < 12 && out.n > 0; round++) {
        struct ws__ip next = ws__ip_number(0);
        bool changed = false;

        for (int i = 0; i < out.n; i++) {
            struct ws__ip_term t = out.term[i], rest,
                               one = {.times = 1, .n = 1};
            struct ws__ip v = ws__ip_unknown(), factor = ws__ip_number(0);
            int at = -1;

            for (int s = 0; s < t.n && v.n < 0; s++) {
                at = t.atom[s];
                v = replacement(x, (size_t)at, k, all);
            }
            factor.n = 1;
            factor.term[0] = t;
            if (v.n >= 0 && at >= 0) {
                one.atom[0] = (uint16_t)at;
                ws__ip_term_divides(&one, &t, &rest);
                factor.term[0] = rest;
                factor = ws__ip_multiply(&factor, &v);
                changed = true;
            }
            next = ws__ip_add(&next, &factor, 1);
        }
        if (!changed || next.n < 0)
            return next.n < 0 ? *a : next;
        out = next;
    }
    return out;
}

/* --- bounds -----------------------------------------------------------------
 */

/* Takes a known sum out of a, times what it stands there with. */
static bool apply(const struct ws__infer *x, const struct ws__known *f,
                  struct ws__ip *a)
{
    struct ws__ip q = ws__ip_number(0), part, most, d;

    if (f->differs || f->sum.n < 2)
        return false;
    for (int i = 0; i < a->n; i++) {
        q.n = 1;
        if (!ws__ip_term_divides(&f->sum.term[0], &a->term[i], &q.term[0]) ||
            ws__ip_variable(x, &q.term[0]) != -1 || q.term[0].times <= 0)
            continue;
        part = ws__ip_multiply(&q, &f->sum);
        d = ws__ip_add(a, &part, -1);
        if (part.n < 0 || d.n < 0 || d.n != a->n - part.n)
            continue;
        most = ws__ip_multiply(&q, &f->most);
        *a = ws__ip_add(&d, &most, 1);
        return true;
    }
    return false;
}

static struct ws__ip most_of_atom(struct ws__infer *x, size_t at,
                                  const struct ws__knowledge *k);

/* (a + b) / 2 lies between a and b. */
static bool is_middle(const struct ws__infer *x, const struct ws__atom *a)
{
    int64_t two;
    int vars = 0;

    if (!ws__ip_is_number(a->den, &two) || two != 2)
        return false;
    for (int i = 0; i < a->num->n; i++) {
        int v = ws__ip_variable(x, &a->num->term[i]);

        if (v == -1)
            continue;
        if (v < 0 || a->num->term[i].times != 1 || a->num->term[i].n != 1)
            return false;
        vars++;
    }
    return vars == 2;
}

static struct ws__ip most_of_middle(struct ws__infer *x,
                                    const struct ws__atom *a,
                                    const struct ws__knowledge *k)
{
    struct ws__ip out = ws__ip_unknown();

    for (int i = 0; i < a->num->n; i++) {
        int v = ws__ip_variable(x, &a->num->term[i]);
        struct ws__ip m;

        if (v < 0)
            continue;
        m = most_of_atom(x, (size_t)v, k);
        if (m.n == -2) /* it depends on this one */
            continue;
        out = out.n < 0 ? m : ws__infer_join(x, &out, &m, false);
    }
    return out;
}

static struct ws__ip most_of_quotient(struct ws__infer *x,
                                      const struct ws__atom *a,
                                      const struct ws__knowledge *k)
{
    struct ws__ip n;

    if (is_middle(x, a))
        return most_of_middle(x, a, k);
    n = ws__infer_resolve(x, a->num, k, false);
    n = ws__infer_most(x, &n, k);
    return n.n < 0 ? n : ws__ip_quotient(x, &n, a->den);
}

/* Does a change make a variable no larger? */
static bool lowers(const struct ws__ast_node *n)
{
    return n->kind == WS__AST_ASSIGN
               ? n->op == CL_BinaryOperator_SubAssign ||
                     n->op == CL_BinaryOperator_DivAssign ||
                     n->op == CL_BinaryOperator_ShrAssign
               : n->op == CL_UnaryOperator_PreDec ||
                     n->op == CL_UnaryOperator_PostDec;
}

/* Of all that a variable is given. */
static struct ws__ip most_given(struct ws__infer *x, const struct ws__atom *a)
{
    const struct ws__ast *t = x->t;
    int32_t f = ws__ast_up(t, a->key, WS__AST_FUNCTION);
    int32_t init = ws__infer_init(t, a->key);
    struct ws__ip out = ws__ip_unknown(), m;
    bool first = true;

    for (int32_t i = f; f >= 0 && i < ws__ast_after(t, f); i++) {
        const struct ws__ast_node *n = &t->node[i];
        int32_t from = i == a->key ? init : -1;

        if (i != a->key &&
            (n->kind == WS__AST_ASSIGN ||
             (n->kind == WS__AST_UNARY && n->op <= CL_UnaryOperator_AddrOf))) {
            if (!ws__ast_refers(t, ws__ast_child(t, i, 0), a->key) || lowers(n))
                continue;
            if (n->kind != WS__AST_ASSIGN || n->op != CL_BinaryOperator_Assign)
                return ws__ip_unknown();
            from = ws__ast_child(t, i, 1);
        }
        if (from < 0)
            continue;
        m = ws__infer_most_here(x, from, a->env);
        if (m.n == -2)
            continue;
        out = ws__infer_join(x, &out, &m, first);
        first = false;
    }
    return out;
}

static struct ws__ip intrinsic(struct ws__infer *x, size_t at,
                               const struct ws__knowledge *k)
{
    struct ws__atom *a = &x->atom[at];
    struct ws__ip one = ws__ip_number(1), m;

    switch (a->kind) {
    case WS__ATOM_THREAD:
        m = x->block[x->launch][a->key];
        if (m.n < 0)
            m = ws__ip_atom(ws__atom_get(x, WS__ATOM_BLOCK, a->key, -1, 0));
        return ws__ip_add(&m, &one, -1);
    case WS__ATOM_GROUP:
        return ws__ip_add(&x->grid[x->launch][a->key], &one, -1);
    case WS__ATOM_LOAD:
        return x->most_of[a->key] < 0 ? ws__ip_unknown()
                                      : ws__ip_number(x->most_of[a->key]);
    case WS__ATOM_MOD:
        return ws__ip_add(a->den, &one, -1);
    case WS__ATOM_DIV:
        return most_of_quotient(x, a, k);
    case WS__ATOM_VAR:
        if (a->loop)
            return ws__ip_unknown();
        return a->def >= 0
                   ? ws__infer_most_here(x, ws__infer_given(x->t, a->def),
                                         a->env)
                   : most_given(x, a);
    default:
        return a->most ? *a->most : ws__ip_unknown();
    }
}

/* A known bound of the variable alone. */
static bool bound(struct ws__infer *x, const struct ws__known *f, size_t at,
                  struct ws__ip *out)
{
    const struct ws__ip_term *t = &f->sum.term[0];
    struct ws__ip by;

    if (f->differs || f->sum.n != 1 || t->n != 1 || t->atom[0] != at)
        return false;
    by = ws__ip_number(t->times);
    *out = t->times == 1 ? f->most : ws__ip_quotient(x, &f->most, &by);
    return out->n >= 0;
}

static struct ws__ip most_of_atom(struct ws__infer *x, size_t at,
                                  const struct ws__knowledge *k)
{
    struct ws__ip out = ws__ip_unknown(), m, one = ws__ip_number(1);

    if (x->atom[at].busy) {
        out.n = -2;
        return out;
    }
    for (size_t i = 0; k && i < k->n; i++)
        if (bound(x, &k->at[i], at, &m) &&
            (out.n < 0 || ws__ip_typical(x, &m) < ws__ip_typical(x, &out)))
            out = m;
    if (out.n < 0) {
        x->atom[at].busy = true;
        out = intrinsic(x, at, k);
        x->atom[at].busy = false;
    }
    for (size_t i = 0; k && out.n >= 0 && i < k->n; i++)
        if (k->at[i].differs && k->at[i].sum.n == 1 &&
            k->at[i].sum.term[0].n == 1 && k->at[i].sum.term[0].times == 1 &&
            k->at[i].sum.term[0].atom[0] == at &&
            ws__ip_equal(&k->at[i].most, &out))
            out = ws__ip_add(&out, &one, -1);
    return out;
}

struct ws__ip ws__infer_most(struct ws__infer *x, const struct ws__ip *a,
                             const struct ws__knowledge *k)
{
    struct ws__ip p = *a, out = ws__ip_number(0);

    if (p.n < 0 || x->depth > MAX_DEPTH)
        return ws__ip_unknown();
    x->depth++;
    for (size_t i = 0; k && i < k->n; i++)
        if (p.n >= 0)
            apply(x, &k->at[i], &p);
    for (int i = 0; i < p.n && out.n >= 0; i++) {
        int v = ws__ip_variable(x, &p.term[i]);
        struct ws__ip f = ws__ip_number(0), m;
        struct ws__ip_term one = {.times = 1, .n = 1};

        f.n = 1;
        f.term[0] = p.term[i];
        if (v == -2) {
            out = ws__ip_unknown();
            break;
        }
        if (v >= 0) {
            one.atom[0] = (uint16_t)v;
            ws__ip_term_divides(&one, &p.term[i], &f.term[0]);
            m = f.term[0].times < 0 ? ws__ip_number(0)
                                    : most_of_atom(x, (size_t)v, k);
            if (m.n < 0) {
                out = m;
                break;
            }
            f = ws__ip_multiply(&f, &m);
        }
        out = ws__ip_add(&out, &f, 1);
    }
    x->depth--;
    return p.n < 0 ? p : out;
}
