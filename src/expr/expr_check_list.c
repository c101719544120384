/*
 * expr_check_list.c: types of lists, and how scalars use them.
 *
 * Bytecode has no lists. Where a scalar uses one (x in L, sum(L), ...) the
 * list is one of: a list whose elements are written out, possibly through
 * + and list(): the scalar is compiled over its elements; range: two
 * comparisons and a remainder; constant: computed now; inside of a
 * comprehension anything else, and the scalar is then marked as one that the
 * list evaluator has to walk. A list that would have to be built from slots
 * at evaluation is an error.
 *
 * The elements of a list have one type; only ints join floats.
 */
#include "expr/expr_ast.h"

#include "base/banned.h"

static struct ws__quote text_of(const struct ws__ec *c,
                                const struct ws__node *n)
{
    return ws__expr_quote(c->text, n->begin, n->end);
}

static int need_list(struct ws__ec *c, struct ws__node **n, const char *user)
{
    WS_TRY(ws__expr_check(c, n));
    if ((*n)->is_list)
        return 0;
    ws__expr_fail(c, (*n)->begin, "%s needs a list, '%s' is %s", user,
                  text_of(c, *n).s, ws__type_name((*n)->type));
    return ws__hint(c->ctx, "write a list: [1, 2, 4] or range(1, 5)");
}

/* Takes `b` into the element type of a list. */
static int join_element(struct ws__ec *c, struct ws__node *list,
                        const struct ws__node *b)
{
    if (b->is_list && b->untyped)
        return 0;
    if (list->untyped) {
        list->type = b->type;
        list->untyped = false;
        return 0;
    }
    if (list->type == b->type)
        return 0;
    if ((list->type != WS__INT && list->type != WS__FLOAT) ||
        (b->type != WS__INT && b->type != WS__FLOAT)) {
        ws__expr_fail(c, b->begin, "'%s' is %s in a list of %s",
                      text_of(c, b).s, ws__type_name(b->type),
                      ws__type_name(list->type));
        return ws__hint(c->ctx, "all values of a list have one type; only "
                                "ints and floats mix");
    }
    list->type = WS__FLOAT;
    return 0;
}

static int check_written(struct ws__ec *c, struct ws__node *n)
{
    n->is_list = n->untyped = true;
    n->type = WS__INT;
    for (size_t i = 0; i < n->nkid; i++) {
        WS_TRY(ws__expr_check(c, &n->kid[i]));
        if (n->kid[i]->is_list) {
            ws__expr_fail(c, n->kid[i]->begin, "'%s' is a list in a list",
                          text_of(c, n->kid[i]).s);
            return ws__hint(c->ctx, "join lists with +");
        }
        WS_TRY(join_element(c, n, n->kid[i]));
    }
    return 0;
}

/* list + list, list * int, list if c else list */
static int check_combined(struct ws__ec *c, struct ws__node *n)
{
    size_t second = n->kind == WS__N_COND ? 2 : 1;

    n->is_list = n->untyped = true;
    n->type = WS__INT;
    if (n->kind == WS__N_BINARY && n->op == WS__T_STAR) {
        size_t list = n->kid[0]->is_list ? 0 : 1;
        struct ws__node **count = &n->kid[1 - list];

        WS_TRY(ws__expr_check_scalar(c, count));
        if ((*count)->type != WS__INT && (*count)->type != WS__BOOL)
            return ws__expr_fail(c, (*count)->begin,
                                 "a list is repeated an "
                                 "int number of times, '%s' is %s",
                                 text_of(c, *count).s,
                                 ws__type_name((*count)->type));
        WS_TRY(ws__expr_coerce(c, count, WS__INT));
        return join_element(c, n, n->kid[list]);
    }
    WS_TRY(need_list(c, &n->kid[second], "the other side"));
    WS_TRY(join_element(c, n, n->kid[0]));
    return join_element(c, n, n->kid[second]);
}

static int depends(struct ws__ec *c, const struct ws__node *list)
{
    ws__expr_fail(c, list->begin, "list '%s' is not constant",
                  text_of(c, list).s);
    return ws__hint(c->ctx, "here a list is written out ([a, 2 * b]), a "
                            "range, or built from constants");
}

static int inline_constant(struct ws__ec *c, struct ws__node **pn)
{
    struct ws__node *n = *pn, *list;
    struct ws__list l;

    WS_TRY(ws__list_eval(c, n, &l));
    if (l.n > WS__INLINE_MAX) {
        ws__expr_fail(c, n->begin,
                      "list '%s' has %zu values, at most %zu "
                      "can be used here",
                      text_of(c, n).s, l.n, WS__INLINE_MAX);
        return ws__hint(c->ctx, "use range(...) or comparisons");
    }
    WS_TRY(ws__node_new(c, WS__N_LIST, n->at, NULL, 0, &list));
    list->kid = ws__arena_alloc(c->scratch, l.n, sizeof(*list->kid));
    if (!list->kid)
        return WS_ENOMEM;
    for (size_t i = 0; i < l.n; i++) {
        WS_TRY(ws__node_new(c, WS__N_LIT, n->at, NULL, 0, &list->kid[i]));
        ws__node_lit(list->kid[i], l.type, l.v[i]);
        list->kid[i]->begin = n->begin;
        list->kid[i]->end = n->end;
    }
    list->nkid = l.n;
    list->height = n->height;
    list->begin = n->begin;
    list->end = n->end;
    list->is_list = list->checked = true;
    list->type = l.type;
    list->untyped = l.n == 0;
    *pn = list;
    return 0;
}

static int concat(struct ws__ec *c, struct ws__node *n)
{
    struct ws__node *a = n->kid[0], *b = n->kid[1], **kid;

    kid = ws__arena_alloc(c->scratch, a->nkid + b->nkid, sizeof(*kid));
    if (!kid)
        return WS_ENOMEM;
    if (a->nkid)
        memcpy(kid, a->kid, a->nkid * sizeof(*kid));
    if (b->nkid)
        memcpy(kid + a->nkid, b->kid, b->nkid * sizeof(*kid));
    n->kind = WS__N_LIST;
    n->nkid = a->nkid + b->nkid;
    n->kid = kid;
    return 0;
}

/* Makes an inline list (LIST) of *n where that is possible. */
static int flatten(struct ws__ec *c, struct ws__node **pn)
{
    struct ws__node *n = *pn;

    if (n->kind == WS__N_LIST)
        return 0;
    if (!n->reads && !n->loops)
        return inline_constant(c, pn);
    if (n->kind != WS__N_BINARY || n->op != WS__T_PLUS)
        return 0;
    WS_TRY(flatten(c, &n->kid[0]));
    WS_TRY(flatten(c, &n->kid[1]));
    if (n->kid[0]->kind == WS__N_LIST && n->kid[1]->kind == WS__N_LIST)
        return concat(c, n);
    return 0;
}

/* Left to the list evaluator, if that will ever see it. */
static int walk(struct ws__ec *c, struct ws__node *n, struct ws__node *list)
{
    if (list->reads)
        return depends(c, list);
    n->walks = true;
    return 0;
}

static int empty_aggregate(struct ws__ec *c, struct ws__node *n)
{
    union wsrt_value v = {.i = n->op == WS__FN_ALL};

    if (n->op <= WS__FN_MAX)
        return ws__expr_fail(c, n->at, "%s of an empty list",
                             ws__fn_name((enum ws__fn)n->op));
    ws__node_lit(n, n->type, v);
    return 0;
}

static int check_aggregate(struct ws__ec *c, struct ws__node *n)
{
    enum ws__fn fn = (enum ws__fn)n->op;
    struct ws__node *list;
    union wsrt_value v;

    WS_TRY(need_list(c, &n->kid[0], ws__fn_name(fn)));
    list = n->kid[0];
    if (fn <= WS__FN_SUM && fn != WS__FN_LEN)
        WS_TRY(ws__expr_need_number(c, list));
    n->type = fn == WS__FN_LEN   ? WS__INT
              : fn == WS__FN_SUM ? ws__expr_join(list->type, WS__INT)
              : fn <= WS__FN_MAX ? list->type
                                 : WS__BOOL;
    if (list->type == WS__STR && n->type == WS__BOOL)
        return ws__expr_fail(c, list->begin, "%s needs a list of conditions",
                             ws__fn_name(fn));
    if (!list->reads && !list->loops) {
        WS_TRY(ws__list_scalar(c, n, &v));
        ws__node_lit(n, n->type, v);
        return 0;
    }
    WS_TRY(flatten(c, &n->kid[0]));
    list = n->kid[0];
    if (list->kind != WS__N_LIST)
        return walk(c, n, list);
    if (!list->nkid)
        return empty_aggregate(c, n);
    if (fn == WS__FN_LEN) {
        v.i = (int64_t)list->nkid;
        ws__node_lit(n, WS__INT, v);
        return 0;
    }
    /* From here on a call with the elements as arguments. */
    n->kid = list->kid;
    n->nkid = list->nkid;
    for (size_t i = 0; i < n->nkid; i++)
        WS_TRY(ws__expr_coerce(c, &n->kid[i], n->type));
    return 0;
}

int ws__expr_check_list(struct ws__ec *c, struct ws__node **pn)
{
    struct ws__node *n = *pn;

    if (n->kind == WS__N_LIST)
        return check_written(c, n);
    if (n->kind != WS__N_CALL)
        return check_combined(c, n);
    if (n->op != WS__FN_LIST)
        return check_aggregate(c, n);
    if (!n->nkid) {
        n->kind = WS__N_LIST;
        return check_written(c, n);
    }
    WS_TRY(need_list(c, &n->kid[0], "list"));
    *pn = n->kid[0];
    return 0;
}

int ws__expr_check_comp(struct ws__ec *c, struct ws__node *n)
{
    size_t base = c->nloop;

    for (size_t i = 0; i < n->nclause; i++) {
        struct ws__clause *k = &n->clause[i];
        struct ws__node **e = &n->kid[i + 1];

        if (!k->var) {
            WS_TRY(ws__expr_check_scalar(c, e));
            WS_TRY(ws__expr_coerce(c, e, WS__BOOL));
            continue;
        }
        WS_TRY(need_list(c, e, "for"));
        if (c->nloop == WS__LOOPS_MAX)
            return ws__expr_fail(c, k->at,
                                 "more than %d loops inside each "
                                 "other",
                                 WS__LOOPS_MAX);
        k->slot = WS__LOOP_SLOT + (unsigned)c->nloop;
        c->loop[c->nloop].name = k->var;
        c->loop[c->nloop++].type = (*e)->type;
    }
    WS_TRY(ws__expr_check_scalar(c, &n->kid[0]));
    c->nloop = base;
    n->is_list = true;
    n->type = n->kid[0]->type;
    ws__expr_inherit(n);
    /* Its own variables are none of the outside's business. */
    n->loops &= ((uint32_t)1 << base) - 1;
    return 0;
}

static int check_in_range(struct ws__ec *c, struct ws__node *n)
{
    struct ws__node *range = n->kid[1];
    const struct ws__node *step = range->nkid == 3 ? range->kid[2] : NULL;
    enum ws__type t;

    if (step &&
        (step->kind != WS__N_LIT || step->v.i == 0 || step->v.i == INT64_MIN)) {
        if (!range->reads && range->loops)
            return walk(c, n, range);
        ws__expr_fail(c, step->begin,
                      "step '%s' is not a constant other "
                      "than 0",
                      text_of(c, step).s);
        return ws__hint(c->ctx, "write comparisons and a remainder: "
                                "lo <= x < hi and (x - lo) %% step == 0");
    }
    t = ws__expr_join(n->kid[0]->type, WS__INT);
    WS_TRY(ws__expr_coerce(c, &n->kid[0], t));
    range->type = t;
    n->ranged = true;
    for (size_t i = 0; i < range->nkid; i++)
        WS_TRY(ws__expr_coerce(c, &range->kid[i], t));
    return 0;
}

int ws__expr_check_in(struct ws__ec *c, struct ws__node **pn)
{
    struct ws__node *n = *pn, *list;
    enum ws__type t;

    n->type = WS__BOOL;
    WS_TRY(ws__expr_check_scalar(c, &n->kid[0]));
    WS_TRY(need_list(c, &n->kid[1], n->negated ? "'not in'" : "'in'"));
    list = n->kid[1];
    if (!list->untyped &&
        (list->type == WS__STR) != (n->kid[0]->type == WS__STR)) {
        ws__expr_fail(c, n->at, "cannot look up '%s' (%s) in a list of %s",
                      text_of(c, n->kid[0]).s, ws__type_name(n->kid[0]->type),
                      ws__type_name(list->type));
        return ws__hint(c->ctx, "text is written in quotes, numbers without");
    }
    if (list->kind == WS__N_CALL && list->op == WS__FN_RANGE && !list->walks)
        return check_in_range(c, n);
    WS_TRY(flatten(c, &n->kid[1]));
    list = n->kid[1];
    t = list->untyped ? n->kid[0]->type
                      : ws__expr_join(n->kid[0]->type, list->type);
    WS_TRY(ws__expr_coerce(c, &n->kid[0], t));
    if (list->kind != WS__N_LIST)
        return walk(c, n, list);
    for (size_t i = 0; i < list->nkid; i++)
        WS_TRY(ws__expr_coerce(c, &list->kid[i], t));
    if (!list->untyped)
        list->type = t;
    return 0;
}
