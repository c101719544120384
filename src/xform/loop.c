/* loop.c: what one turn of a loop leaves to the next. See loop.h. */
#include "xform/loop.h"

#include "xform/clang_api.h"

#include "base/banned.h"

#define MAX_SPANS 8
#define MAX_REACHES 128
/* --- reductions ----------------------------------------------------------- */

static bool same_place(const struct ws__ast *t, int32_t i, int32_t at)
{
    return t->node[i].kind == t->node[at].kind &&
           (t->node[i].kind == WS__AST_REF
                ? t->node[i].decl >= 0 && t->node[i].decl == t->node[at].decl
                : ws__ast_same(t, i, at));
}

int ws__loop_count(const struct ws__ast *t, int32_t root, int32_t at)
{
    int32_t end = ws__ast_after(t, root);
    int n = 0;

    for (int32_t i = root; i < end; i++)
        n += same_place(t, i, at);
    return n;
}

static bool is_it(const struct ws__ast *t, int32_t i, int32_t at)
{
    i = ws__ast_bare(t, i);
    return i >= 0 && same_place(t, i, at);
}

/* How often `at` is a term of a sum, added; what else it is counts 100. */
static int added(const struct ws__ast *t, int32_t i, int32_t at)
{
    i = ws__ast_bare(t, i);
    if (is_it(t, i, at))
        return 1;
    if (ws__ast_is(t, i, WS__AST_BINARY) &&
        t->node[i].op == CL_BinaryOperator_Add)
        return added(t, ws__ast_child(t, i, 0), at) +
               added(t, ws__ast_child(t, i, 1), at);
    if (ws__ast_is(t, i, WS__AST_BINARY) &&
        t->node[i].op == CL_BinaryOperator_Sub)
        return added(t, ws__ast_child(t, i, 0), at) +
               100 * ws__loop_count(t, ws__ast_child(t, i, 1), at);
    return 100 * ws__loop_count(t, i, at);
}

/* a > b or b < a: 1, which is the larger; else 0. */
static bool compares(const struct ws__ast *t, int32_t cond, int32_t *larger,
                     int32_t *smaller, bool *strict)
{
    int32_t c = ws__ast_bare(t, cond);
    int op;

    if (!ws__ast_is(t, c, WS__AST_BINARY))
        return false;
    op = t->node[c].op;
    *strict = op == CL_BinaryOperator_GT || op == CL_BinaryOperator_LT;
    if (op == CL_BinaryOperator_GT || op == CL_BinaryOperator_GE) {
        *larger = ws__ast_child(t, c, 0);
        *smaller = ws__ast_child(t, c, 1);
        return true;
    }
    *larger = ws__ast_child(t, c, 1);
    *smaller = ws__ast_child(t, c, 0);
    return op == CL_BinaryOperator_LT || op == CL_BinaryOperator_LE;
}

static bool match_call(const struct ws__ast *t, int32_t call,
                       struct ws__loop_match *m)
{
    static const struct {
        const char *name;
        enum ws__reduce kind;
        int arg; /* where it must be; 0: any of two */
    } names[] = {{"fmaxf", WS__RED_MAX, 0}, {"fmax", WS__RED_MAX, 0},
                 {"max", WS__RED_MAX, 0},   {"fminf", WS__RED_MIN, 0},
                 {"fmin", WS__RED_MIN, 0},  {"min", WS__RED_MIN, 0},
                 {"fmaf", WS__RED_SUM, 3},  {"fma", WS__RED_SUM, 3},
                 {"mad", WS__RED_SUM, 3},   {"__fmaf_rn", WS__RED_SUM, 3}};
    const struct ws__ast_node *n = &t->node[call];

    m->by = call;
    m->slots = 2;
    for (size_t i = 0; n->name && n->decl < 0 && i < WS_COUNT(names); i++) {
        if (strcmp(names[i].name, n->name))
            continue;
        m->kind = names[i].kind;
        if (names[i].arg)
            return is_it(t, ws__ast_child(t, call, names[i].arg), m->at);
        return ws__ast_nchild(t, call) == 3 &&
               (is_it(t, ws__ast_child(t, call, 1), m->at) ||
                is_it(t, ws__ast_child(t, call, 2), m->at));
    }
    return false;
}

/* at = l > s ? a : b */
static bool match_choice(const struct ws__ast *t, int32_t i,
                         struct ws__loop_match *m)
{
    int32_t a = ws__ast_child(t, i, 1), b = ws__ast_child(t, i, 2), l, s;
    bool strict;

    m->slots = 3;
    if (!compares(t, ws__ast_child(t, i, 0), &l, &s, &strict))
        return false;
    if (!is_it(t, a, m->at) && !is_it(t, b, m->at))
        return false;
    m->keeps_nan = is_it(t, a, m->at);
    m->kind = ws__ast_same(t, l, a) ? WS__RED_MAX : WS__RED_MIN;
    return (ws__ast_same(t, l, a) && ws__ast_same(t, s, b)) ||
           (ws__ast_same(t, l, b) && ws__ast_same(t, s, a));
}

/* An integer may not take parts of a turn's value: each is cut. */
static bool keeps_class(const struct ws__ast *t, int32_t stmt, int32_t at)
{
    return t->node[at].type.class != WS__AT_INT ||
           t->node[ws__ast_bare(t, ws__ast_child(t, stmt, 1))].type.class ==
               WS__AT_INT;
}

static bool match_assign(const struct ws__ast *t, int32_t i,
                         struct ws__loop_match *m)
{
    int32_t v = ws__ast_bare(t, ws__ast_child(t, i, 1));

    m->kind = WS__RED_SUM;
    m->slots = 1;
    if (v < 0 || !keeps_class(t, i, m->at))
        return false;
    if (t->node[i].op == CL_BinaryOperator_AddAssign ||
        t->node[i].op == CL_BinaryOperator_SubAssign)
        return true;
    if (t->node[i].op != CL_BinaryOperator_Assign)
        return false;
    if (t->node[v].kind == WS__AST_CALL)
        return match_call(t, v, m);
    if (t->node[v].kind == WS__AST_CHOICE)
        return match_choice(t, v, m);
    m->slots = 2;
    return t->node[v].kind == WS__AST_BINARY && added(t, v, m->at) == 1;
}

static bool is_plain_assign(const struct ws__ast *t, int32_t i)
{
    return ws__ast_is(t, i, WS__AST_ASSIGN) &&
           t->node[i].op == CL_BinaryOperator_Assign;
}

/* if (e > at) at = e;  if (e > at) { at = e; where = turn; } */
static bool match_if(const struct ws__ast *t, int32_t i, int32_t turn,
                     struct ws__loop_match *m)
{
    int32_t l, s, e, then = ws__ast_child(t, i, 1), a = then, b = -1;
    bool strict;

    if (ws__ast_nchild(t, i) != 2 ||
        !compares(t, ws__ast_child(t, i, 0), &l, &s, &strict))
        return false;
    if (ws__ast_is(t, then, WS__AST_BLOCK)) {
        a = ws__ast_child(t, then, 0);
        b = ws__ast_child(t, then, 1);
        if (ws__ast_nchild(t, then) > 2 || (b >= 0 && !is_plain_assign(t, b)))
            return false;
    }
    if (!is_plain_assign(t, a))
        return false;
    if (b >= 0 && ws__ast_refers(t, ws__ast_child(t, a, 1), turn)) {
        int32_t c = a; /* the place is written first */

        a = b;
        b = c;
    }
    m->at = ws__ast_bare(t, ws__ast_child(t, a, 0));
    e = ws__ast_child(t, a, 1);
    m->slots = 2;
    m->kind = ws__ast_same(t, l, e) ? WS__RED_MAX : WS__RED_MIN;
    if (!(ws__ast_same(t, l, e) && is_it(t, s, m->at)) &&
        !(ws__ast_same(t, s, e) && is_it(t, l, m->at)))
        return false;
    if (b >= 0) {
        int32_t w = ws__ast_bare(t, ws__ast_child(t, b, 0));

        if (!strict || !ws__ast_refers(t, ws__ast_child(t, b, 1), turn) ||
            !ws__ast_is(t, w, WS__AST_REF) || t->node[w].type.bits < 32 ||
            t->node[w].type.class != WS__AT_INT)
            return false;
        m->where = t->node[w].decl;
    }
    return true;
}

int32_t ws__loop_match(const struct ws__ast *t, int32_t change, int32_t turn,
                       struct ws__loop_match *m)
{
    int32_t s = ws__ast_statement(t, change), up = t->node[s].parent;

    *m = (struct ws__loop_match){.at = ws__ast_bare(t, ws__ast_child(t, change,
                                                                     0)),
                                 .where = -1,
                                 .by = -1};
    if (ws__ast_is(t, up, WS__AST_BLOCK))
        up = t->node[up].parent;
    if (ws__ast_is(t, up, WS__AST_IF)) {
        struct ws__loop_match by_if = *m;

        if (match_if(t, up, turn, &by_if)) {
            *m = by_if;
            return up;
        }
    }
    if (s != change)
        return -1;
    if (t->node[s].kind == WS__AST_UNARY) {
        m->kind = WS__RED_SUM;
        m->slots = 1;
        return s;
    }
    return match_assign(t, s, m) ? s : -1;
}

static struct ws__reduction *reduction_of(struct ws__loop *out,
                                          const struct ws__ast *t, int32_t at)
{
    for (size_t i = 0; i < out->nred; i++)
        if (same_place(t, out->red[i].at, at))
            return &out->red[i];
    return NULL;
}

static bool is_number(const struct ws__ast_type *y)
{
    return !y->pointers && y->width == 1 &&
           (y->class == WS__AT_INT || y->class == WS__AT_FLOAT) &&
           y->bits >= 32;
}

/* Takes the change as part of a reduction; false: it is none. */
static bool take(const struct ws__ast *t, struct ws__loop *out, int32_t change)
{
    struct ws__loop_match m;
    int32_t s = ws__loop_match(t, change, out->f.var, &m);
    struct ws__reduction *r;

    if (s < 0 || m.at < 0 || ws__loop_count(t, s, m.at) != m.slots ||
        !is_number(&t->node[m.at].type) || !ws__ast_below(t, s, out->f.body) ||
        (m.where >= 0 && ws__ast_below(t, m.where, out->f.body)) ||
        (t->node[m.at].kind == WS__AST_REF &&
         ws__ast_below(t, t->node[m.at].decl, out->f.body)))
        return false;
    r = reduction_of(out, t, m.at);
    if (!r) {
        if (out->nred == WS__LOOP_REDUCTIONS)
            return false;
        r = &out->red[out->nred++];
        *r = (struct ws__reduction){
            .kind = m.kind, .at = m.at, .decl = -1, .where = m.where, .by = -1};
        if (t->node[m.at].kind == WS__AST_REF)
            r->decl = t->node[m.at].decl;
    }
    for (size_t i = 0; i < r->n; i++)
        if (r->stmt[i] == s)
            return true;
    if (r->n == WS__LOOP_STATEMENTS || r->kind != m.kind ||
        r->where != m.where || (r->n && r->where >= 0))
        return false;
    if (m.kind != WS__RED_SUM)
        r->by = m.by;
    r->keeps_nan = r->keeps_nan || m.keeps_nan;
    r->stmt[r->n++] = s;
    return true;
}

/* --- the loop ------------------------------------------------------------- */

static int refuse(const struct ws__xform_in *in, struct ws__loop *out,
                  const char *why, int32_t node)
{
    const struct ws__ast_node *n = node < 0 ? NULL : &in->ast->node[node];

    if (out->why)
        return 0;
    out->why = n && n->name
                   ? ws__arena_printf(in->arena, "%s: '%s'", why, n->name)
                   : ws__arena_strdup(in->arena, why);
    return out->why ? 0 : WS_ENOMEM;
}

/* The variable or pointer at the bottom of what is written; -1: none. */
static int32_t bottom_of(const struct ws__ast *t, int32_t i, bool *memory)
{
    *memory = false;
    i = ws__ast_bare(t, i);
    while (ws__ast_is(t, i, WS__AST_MEMBER) ||
           ws__ast_is(t, i, WS__AST_INDEX)) {
        int32_t of = ws__ast_bare(t, ws__ast_child(t, i, 0));

        *memory = *memory ||
                  (ws__ast_is(t, i, WS__AST_INDEX) &&
                   ws__ast_is(t, of, WS__AST_REF) && t->node[of].decl >= 0 &&
                   ws__loop_is_pointer(&t->node[t->node[of].decl]));
        i = of;
    }
    return ws__ast_is(t, i, WS__AST_REF) ? t->node[i].decl : -1;
}

/* Does the loop set the variable in each turn before it reads it? */
static bool sets_first(const struct ws__ast *t, int32_t loop, int32_t var)
{
    struct ws__ast_for f;
    int32_t end = ws__ast_after(t, loop);

    ws__ast_for(t, loop, &f);
    for (int32_t i = loop; i < end; i++) {
        int32_t s;

        if (t->node[i].kind != WS__AST_REF || t->node[i].decl != var)
            continue;
        s = ws__ast_statement(t, i);
        return is_plain_assign(t, s) && t->node[s].parent == f.body &&
               ws__ast_bare(t, ws__ast_child(t, s, 0)) == i &&
               !ws__ast_uses(t, ws__ast_child(t, s, 1), var);
    }
    return false;
}

/* Is the variable one for a turn, though declared outside: set first in every
 * loop that has it, and nowhere else? A loop around this one is none of them:
 * it could read what this one leaves. */
static bool is_for_a_turn(const struct ws__xform_in *in, int32_t loop,
                          int32_t var)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    if (ws__loop_is_pointer(&t->node[var]) || t->node[var].type.ndim ||
        t->node[var].is_static)
        return false;
    for (int32_t i = in->body; i < end; i++) {
        int32_t l;

        if (t->node[i].kind != WS__AST_REF || t->node[i].decl != var)
            continue;
        for (l = t->node[i].parent; l >= 0; l = t->node[l].parent)
            if (t->node[l].kind == WS__AST_FOR &&
                ((l != loop && ws__ast_below(t, loop, l)) ||
                 sets_first(t, l, var)))
                break;
        if (l < 0 || (l != loop && ws__ast_below(t, loop, l)))
            return false;
    }
    return true;
}

/* One node of the loop's body that changes something. */
static int change(const struct ws__xform_in *in, struct ws__loop *out,
                  int32_t i)
{
    const struct ws__ast *t = in->ast;
    const struct ws__ast_node *n = &t->node[i];
    bool memory;
    int32_t d = bottom_of(t, ws__ast_child(t, i, 0), &memory);

    if (n->kind == WS__AST_UNARY && n->op == CL_UnaryOperator_AddrOf)
        return memory && d >= 0 && t->node[d].type.is_const
                   ? 0
                   : refuse(in, out, "takes an address", d);
    if (d < 0)
        return refuse(in, out, "writes where it is not seen", -1);
    if (memory)
        return 0; /* see writes() */
    if (t->node[d].kind == WS__AST_VAR && t->node[d].is_static)
        return refuse(in, out, "writes to memory of the block", d);
    if (ws__ast_below(t, d, out->f.body) || is_for_a_turn(in, out->f.loop, d))
        return 0;
    if (!take(t, out, i))
        return refuse(in, out,
                      "carries from turn to turn what is no sum, largest or "
                      "smallest value",
                      d);
    return 0;
}

/* Are all variables of an index, but the loop's own, the same in all turns? */
static bool is_settled(const struct ws__ast *t, const struct ws__loop *l,
                       const struct ws__affine *a)
{
    for (size_t i = 0; i < a->n; i++)
        for (int s = 0; s < a->term[i].n; s++) {
            int32_t sym = a->term[i].sym[s];

            if (sym >= 0 && sym != l->f.var &&
                (ws__ast_below(t, sym, l->f.loop) ||
                 ws__ast_changes(t, l->f.loop, sym)))
                return false;
        }
    return true;
}

/* Is it one number, which is not 0: a constant, lengths, a product of them? */
static bool is_step(const struct ws__xform_in *in, const struct ws__affine *a)
{
    for (int s = 0; a->n == 1 && s < a->term[0].n; s++)
        if (a->term[0].sym[s] < 0 ||
            !ws__xform_is_positive(in, a->term[0].sym[s]))
            return false;
    return a->n == 1;
}

/* The distance of the loop's last element from its first one, in steps of
 * part and one more: none of its turns is so far from another. */
static bool span_of(const struct ws__ast *t, const struct ws__loop *l,
                    const struct ws__affine *part, struct ws__affine *out)
{
    struct ws__affine from, to, count;

    return l->f.counts && !l->f.inclusive &&
           ws__affine_of(t, l->f.from, &from) &&
           ws__affine_of(t, l->f.to, &to) &&
           ws__affine_plus(&to, -1, &from, &count) &&
           is_settled(t, l, &count) && !ws__affine_uses(&count, l->f.var) &&
           ws__affine_product(part, &count, out);
}

/* Are two elements that move by part a turn never the same one in two turns:
 * the same in each turn, a constant apart that no steps come to, or as far as
 * all turns reach, some times? */
static bool apart(const struct ws__xform_in *in, const struct ws__loop *l,
                  const struct ws__affine *part,
                  const struct ws__affine *distance)
{
    struct ws__affine span, rest;
    const struct ws__affine_term *d = distance->term, *p = part->term;

    if (!distance->n)
        return true;
    if (distance->n == 1 && !d->n && !p->n && d->times % p->times)
        return true;
    if (!span_of(in->ast, l, part, &span))
        return false;
    for (int64_t k = 1; k <= MAX_SPANS; k++)
        if ((ws__affine_plus(distance, k, &span, &rest) && !rest.n) ||
            (ws__affine_plus(distance, -k, &span, &rest) && !rest.n))
            return true;
    return false;
}

/* Has each turn elements of its own? */
static bool own_elements(const struct ws__xform_in *in,
                         const struct ws__loop *l, const struct ws__reach *a,
                         const struct ws__reach *b)
{
    const struct ws__ast *t = in->ast;
    struct ws__affine part, other, distance;

    return a->affine && b->affine && a->pointer == b->pointer &&
           !ws__ast_below(t, a->pointer, l->f.loop) &&
           is_settled(t, l, &a->at) && is_settled(t, l, &b->at) &&
           ws__affine_part(&a->at, l->f.var, &part) && is_step(in, &part) &&
           ws__affine_part(&b->at, l->f.var, &other) &&
           ws__affine_same(&part, &other) &&
           ws__affine_plus(&a->at, -1, &b->at, &distance) &&
           apart(in, l, &part, &distance);
}

/* What is written in memory: elements of the turn, or a reduction in one that
 * all turns share. */
static int writes(const struct ws__xform_in *in, struct ws__loop *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__reach r[MAX_REACHES];
    size_t n = ws__loop_reaches(in, out->f.loop, r, MAX_REACHES);

    if (n > MAX_REACHES)
        return refuse(in, out, "has too many accesses", -1);
    for (size_t i = 0; i < n; i++) {
        bool own = true;

        if (!r[i].write)
            continue;
        if (r[i].root < 0)
            return refuse(in, out,
                          "writes through a pointer that is set "
                          "elsewhere",
                          r[i].pointer);
        for (size_t k = 0; k < n; k++)
            if (r[k].root == r[i].root || r[k].root < 0)
                own = own && own_elements(in, out, &r[i], &r[k]);
        if (own)
            continue;
        if (!r[i].affine || ws__affine_uses(&r[i].at, out->f.var) ||
            !is_settled(t, out, &r[i].at) ||
            ws__ast_below(t, r[i].pointer, out->f.loop) ||
            !take(t, out, t->node[r[i].node].parent))
            return refuse(in, out,
                          "turns may write or read the same element of",
                          r[i].pointer);
        for (size_t k = 0; k < n; k++)
            if ((r[k].root == r[i].root || r[k].root < 0) &&
                !same_place(t, r[k].node, r[i].node))
                return refuse(in, out, "reads elements of what it sums in",
                              r[i].pointer);
    }
    return 0;
}

/* Nothing but its own statements may know a part of a reduction. */
static int check_parts(const struct ws__xform_in *in, struct ws__loop *out)
{
    const struct ws__ast *t = in->ast;

    for (size_t i = 0; i < out->nred; i++) {
        const struct ws__reduction *r = &out->red[i];
        int known = 0;

        for (size_t k = 0; k < r->n; k++)
            known += ws__loop_count(t, r->stmt[k], r->at);
        if (ws__loop_count(t, out->f.loop, r->at) != known)
            return refuse(in, out, "uses a part of what it carries", r->decl);
        if (r->where >= 0) {
            int uses = 0;
            int32_t end = ws__ast_after(t, out->f.loop);

            for (int32_t j = out->f.loop; j < end; j++)
                uses += t->node[j].kind == WS__AST_REF &&
                        t->node[j].decl == r->where;
            if (uses != 1)
                return refuse(in, out, "uses a part of what it carries",
                              r->where);
        }
    }
    return 0;
}

/* Leaves the loop, or what is not understood. */
static int jumps(const struct ws__xform_in *in, struct ws__loop *out)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, out->f.loop);

    for (int32_t i = out->f.loop; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];
        int32_t up = i;

        if (n->kind == WS__AST_RETURN || n->kind == WS__AST_JUMP)
            return refuse(in, out, "is left from within", -1);
        if (n->kind == WS__AST_OTHER)
            return refuse(in, out, "has something that is not understood", -1);
        if (n->kind == WS__AST_VAR && n->spelled && strchr(n->spelled, '&'))
            return refuse(in, out, "has a reference", i);
        if (n->kind != WS__AST_BREAK)
            continue;
        while (up >= 0 && t->node[up].kind != WS__AST_FOR &&
               t->node[up].kind != WS__AST_WHILE &&
               t->node[up].kind != WS__AST_DO)
            up = t->node[up].parent;
        if (up == out->f.loop)
            return refuse(in, out, "is left from within", -1);
    }
    return 0;
}

static int read_body(const struct ws__xform_in *in, struct ws__loop *out)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, out->f.body), x;

    WS_TRY(jumps(in, out));
    x = ws__loop_call(t, out->f.loop);
    if (x >= 0)
        WS_TRY(refuse(in, out, "calls what may have effects", x));
    x = ws__loop_stray(in, out->f.loop);
    if (x >= 0)
        WS_TRY(
            refuse(in, out, "uses a pointer in a way that is not followed", x));
    for (int32_t i = out->f.body; i < end && !out->why; i++)
        if (t->node[i].kind == WS__AST_ASSIGN ||
            (t->node[i].kind == WS__AST_UNARY && t->node[i].op >= 1 &&
             t->node[i].op <= CL_UnaryOperator_AddrOf))
            WS_TRY(change(in, out, i));
    if (!out->why)
        WS_TRY(writes(in, out));
    return out->why ? 0 : check_parts(in, out);
}

bool ws__loop_has_pragma(const struct ws__ast *t, int32_t loop)
{
    uint32_t at = t->node[loop].begin;
    const char *line;

    for (;;) {
        while (at && t->text[at - 1] != '\n')
            at--;
        line = t->text + at + strspn(t->text + at, " \t\r");
        if (*line != '\n' && strncmp(line, "//", 2) != 0 &&
            strncmp(line, "/*", 2) != 0 &&
            line != t->text + t->node[loop].begin)
            break;
        if (!at--)
            return false;
    }
    return line < t->text + t->node[loop].begin &&
           (*line == '#' || !strncmp(line, "_Pragma", 7) ||
            !strncmp(line, "WS_UNROLL", 9) ||
            !strncmp(line, "__attribute__", 13));
}

int ws__loop_read(const struct ws__xform_in *in, int32_t loop,
                  struct ws__loop *out)
{
    const struct ws__ast *t = in->ast;

    memset(out, 0, sizeof(*out));
    ws__ast_for(t, loop, &out->f);
    if (!out->f.counts)
        return refuse(in, out, "does not count", -1);
    if (t->node[loop].macro &&
        strncmp(t->text + t->node[loop].begin, "for", 3) != 0)
        return refuse(in, out, "is written by a macro", -1);
    if (ws__loop_has_pragma(t, loop))
        return refuse(in, out, "has a pragma", -1);
    if (!ws__ast_is_pure(t, out->f.to) || !ws__ast_is_pure(t, out->f.from))
        return refuse(in, out, "has bounds with effects", -1);
    return read_body(in, out);
}

/* --- loops of one statement ------------------------------------------------
 */

/* The one statement of a body that is no declaration; -1: there are more. */
static int32_t statement_of(const struct ws__ast *t, int32_t body)
{
    int32_t hit = -1;

    if (!ws__ast_is(t, body, WS__AST_BLOCK))
        return body;
    for (int32_t c = t->node[body].first; c >= 0; c = t->node[c].next) {
        if (t->node[c].kind == WS__AST_DECL)
            continue;
        if (hit >= 0)
            return -1;
        hit = c;
    }
    return hit;
}

/* What a statement adds or compares: the operand that is not `at`. */
static int32_t operand(const struct ws__ast *t, int32_t stmt, int32_t at)
{
    int32_t v, a, b;

    if (ws__ast_is(t, stmt, WS__AST_IF)) {
        stmt = ws__ast_child(t, stmt, 1);
        if (ws__ast_is(t, stmt, WS__AST_BLOCK))
            stmt = ws__ast_child(t, stmt, 0);
        return ws__ast_child(t, stmt, 1);
    }
    v = ws__ast_bare(t, ws__ast_child(t, stmt, 1));
    if (t->node[stmt].op == CL_BinaryOperator_AddAssign)
        return v;
    if (v < 0 || t->node[stmt].op != CL_BinaryOperator_Assign)
        return -1;
    a = ws__ast_child(t, v, t->node[v].kind == WS__AST_BINARY ? 0 : 1);
    b = ws__ast_child(t, v, t->node[v].kind == WS__AST_BINARY ? 1 : 2);
    if (t->node[v].kind != WS__AST_BINARY && t->node[v].kind != WS__AST_CALL &&
        t->node[v].kind != WS__AST_CHOICE)
        return -1;
    if (t->node[v].kind == WS__AST_BINARY &&
        t->node[v].op != CL_BinaryOperator_Add)
        return -1;
    if (t->node[v].kind == WS__AST_CALL && ws__ast_nchild(t, v) != 3)
        return -1;
    if (ws__ast_same(t, a, at))
        return b;
    return ws__ast_same(t, b, at) ? a : -1;
}

int32_t ws__loop_only(const struct ws__ast *t, const struct ws__loop *l,
                      enum ws__reduce kind)
{
    int32_t s = statement_of(t, l->f.body);

    if (l->why || l->nred != 1 || s < 0 || l->red[0].kind != kind ||
        l->red[0].where >= 0 || l->red[0].n != 1 || l->red[0].stmt[0] != s)
        return -1;
    return operand(t, s, l->red[0].at);
}

/* --- the first element ---------------------------------------------------- */

/* The sum without the term of the counter alone. */
static void drop_counter(struct ws__affine *a, int32_t counter)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->term[i].n == 1 && a->term[i].sym[0] == counter) {
            a->term[i] = a->term[--a->n];
            return;
        }
}

/* Are there nothing but declarations between two statements of a block? */
static bool only_declares(const struct ws__ast *t, int32_t from, int32_t to)
{
    int32_t i = t->node[from].next;

    if (t->node[from].parent != t->node[to].parent)
        return false;
    for (; i >= 0 && i != to; i = t->node[i].next)
        if (t->node[i].kind != WS__AST_EMPTY &&
            (t->node[i].kind != WS__AST_DECL || !ws__ast_is_pure(t, i)))
            return false;
    return i == to;
}

bool ws__loop_misses_first(const struct ws__xform_in *in,
                           const struct ws__loop *l, int32_t e)
{
    const struct ws__ast *t = in->ast;
    int32_t d = l->red[0].decl, v;
    struct ws__affine at, own, part;
    int64_t from;

    v = d < 0 ? -1 : ws__ast_bare(t, ws__ast_child(t, d, 0));
    e = ws__ast_bare(t, e);
    if (l->red[0].kind == WS__RED_SUM || l->f.by >= 0 ||
        !ws__ast_const(t, l->f.from, &from) || from != 1 ||
        !ws__ast_is(t, v, WS__AST_INDEX) || !ws__ast_is(t, e, WS__AST_INDEX) ||
        !ws__ast_same(t, ws__ast_child(t, v, 0), ws__ast_child(t, e, 0)) ||
        !ws__affine_of(t, ws__ast_child(t, v, 1), &at) ||
        !ws__affine_of(t, ws__ast_child(t, e, 1), &own) ||
        !ws__affine_part(&own, l->f.var, &part) || !ws__affine_is(&part, 1))
        return false;
    drop_counter(&own, l->f.var);
    if (!only_declares(t, t->node[d].parent, l->f.loop))
        return false;
    return ws__affine_same(&at, &own);
}

/* --- words ---------------------------------------------------------------- */

const char *ws__loop_type(const struct ws__ast *t, const struct ws__ast_type *y)
{
    bool cuda = t->dialect == WS__DIALECT_CUDA;

    if (y->class == WS__AT_FLOAT)
        return y->bits == 64 ? "double" : "float";
    if (y->bits != 64)
        return y->is_unsigned ? "unsigned" : "int";
    if (y->is_unsigned)
        return cuda ? "unsigned long long" : "unsigned long";
    return cuda ? "long long" : "long";
}

const char *ws__loop_extreme(const struct ws__ast *t, int32_t at,
                             enum ws__reduce kind, int32_t by)
{
    const struct ws__ast_type *y = &t->node[at].type;
    bool max = kind == WS__RED_MAX;

    if (by >= 0)
        return t->node[by].name;
    if (y->class == WS__AT_INT)
        return max ? "max" : "min";
    if (y->bits == 64 || t->dialect != WS__DIALECT_CUDA)
        return max ? "fmax" : "fmin";
    return max ? "fmaxf" : "fminf";
}
