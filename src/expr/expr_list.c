/*
 * expr_list.c: lists, built at load time.
 *
 * Walks the nodes of list expressions; their scalar parts are compiled once
 * and run as bytecode with the loop variables in slots past those of any
 * scope, so that 2**i in a list overflows exactly where it does elsewhere.
 * A scalar that uses a list of its own ([len(range(i)) for i in ...]) is
 * taken apart at that node: its parts are computed one by one into slots and
 * the node is run over them.
 *
 * Work is bounded by counting elements made and loop turns, memory with it.
 */
#include "expr/expr_ast.h"

#include "base/banned.h"

static int step(struct ws__ec *c, uint32_t at)
{
    struct ws__loc l;

    if (++c->steps <= WS__LIST_STEPS)
        return 0;
    l = ws__expr_loc(&c->loc, c->text, at);
    ws__fail_at(c->ctx, WS_ELIMIT, &l,
                "list takes more than %zu steps to "
                "build",
                WS__LIST_STEPS);
    return ws__hint(c->ctx, "shorten its ranges");
}

static int add(struct ws__ec *c, uint32_t at, struct ws__list *l,
               union wsrt_value v)
{
    WS_TRY(step(c, at));
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        union wsrt_value *p = ws__arena_alloc(c->scratch, cap, sizeof(*p));

        if (!p)
            return WS_ENOMEM;
        if (l->n)
            memcpy(p, l->v, l->n * sizeof(*p));
        l->v = p;
        l->cap = cap;
    }
    l->v[l->n++] = v;
    return 0;
}

static int need_slots(struct ws__ec *c, size_t n)
{
    size_t cap = c->slot_cap ? c->slot_cap * 2 : WS__PART_SLOT + 16;
    union wsrt_value *p;

    if (n <= c->slot_cap)
        return 0;
    if (n > WS__SLOTS_LIMIT)
        return ws__expr_fail(c, 0, "expression has too many parts");
    while (cap < n)
        cap *= 2;
    p = ws__arena_alloc(c->scratch, cap, sizeof(*p));
    if (!p)
        return WS_ENOMEM;
    if (c->slot_cap)
        memcpy(p, c->slot, c->slot_cap * sizeof(*p));
    c->slot = p;
    c->slot_cap = cap;
    return 0;
}

/* --- scalars --- */

static int run(struct ws__ec *c, struct ws__node *n, union wsrt_value *out)
{
    struct wsrt_operands o;
    uint32_t where;
    int rc;

    WS_TRY(need_slots(c, WS__PART_SLOT));
    if (!n->compiled) {
        struct ws__code *k = ws__arena_alloc(c->scratch, 1, sizeof(*k));

        if (!k)
            return WS_ENOMEM;
        WS_TRY(ws__expr_program(c, c->scratch, n, c->slot_cap, k));
        n->compiled = k;
    }
    rc = wsrt_eval_explain(n->compiled->code, c->slot, out, &where, &o);
    if (rc == WSRT_EVAL_OK)
        return 0;
    return ws__expr_run_fail(c->ctx, &c->loc, c->text,
                             n->compiled->place[where], rc, &o);
}

static bool truth(const struct ws__ec *c, enum ws__type t, union wsrt_value v)
{
    if (t == WS__FLOAT)
        return v.f != 0;
    return v.i != (t == WS__STR ? c->empty_id : 0);
}

static union wsrt_value as(enum ws__type to, enum ws__type from,
                           union wsrt_value v)
{
    if (to == WS__FLOAT && from != WS__FLOAT)
        v.f = (double)v.i;
    return v;
}

/* The node over slots instead of its kids. */
static int make_shadow(struct ws__ec *c, struct ws__node *n)
{
    struct ws__node *s = ws__arena_alloc(c->scratch, 1, sizeof(*s));

    if (!s)
        return WS_ENOMEM;
    *s = *n;
    s->walks = false;
    s->kid = ws__arena_alloc(c->scratch, n->nkid, sizeof(*s->kid));
    if (!s->kid)
        return WS_ENOMEM;
    for (size_t i = 0; i < n->nkid; i++) {
        struct ws__node *k = n->kid[i];

        if (!k->is_list) {
            WS_TRY(ws__node_new(c, WS__N_SLOT, k->at, NULL, 0, &s->kid[i]));
            s->kid[i]->type = k->type;
            if (!c->nslot)
                c->nslot = WS__PART_SLOT;
            WS_TRY(need_slots(c, c->nslot + 1));
            s->kid[i]->slot = (unsigned)c->nslot++;
        } else {
            s->kid[i] = k;
        }
    }
    n->shadow = s;
    return 0;
}

static int run_in_parts(struct ws__ec *c, struct ws__node *n,
                        union wsrt_value *out)
{
    if (!n->shadow)
        WS_TRY(make_shadow(c, n));
    for (size_t i = 0; i < n->nkid; i++) {
        union wsrt_value v;

        if (n->kid[i]->is_list)
            continue;
        WS_TRY(ws__list_scalar(c, n->kid[i], &v));
        c->slot[n->shadow->kid[i]->slot] = v;
    }
    return run(c, n->shadow, out);
}

static int in_list(struct ws__ec *c, struct ws__node *n, union wsrt_value *out)
{
    enum ws__type t = n->kid[0]->type;
    union wsrt_value x;
    struct ws__list l;
    bool found = false;

    WS_TRY(ws__list_scalar(c, n->kid[0], &x));
    WS_TRY(ws__list_eval(c, n->kid[1], &l));
    for (size_t i = 0; i < l.n && !found; i++) {
        union wsrt_value v = as(t, l.type, l.v[i]);

        found = t == WS__FLOAT ? v.f == x.f : v.i == x.i;
    }
    out->i = found != n->negated;
    return 0;
}

static int sum(struct ws__ec *c, const struct ws__node *n,
               const struct ws__list *l, union wsrt_value *out)
{
    static const uint8_t code[2][8] = {
        {WSRT_OP_VAR, 0, 0, WSRT_OP_VAR, 1, 0, WSRT_OP_ADD, WSRT_OP_END},
        {WSRT_OP_VAR, 0, 0, WSRT_OP_VAR, 1, 0, WSRT_OP_FADD, WSRT_OP_END},
    };
    bool is_float = n->type == WS__FLOAT;
    union wsrt_value v[2] = {{.i = 0}};
    struct wsrt_operands o;

    if (is_float)
        v[0].f = 0;
    for (size_t i = 0; i < l->n; i++) {
        int rc;

        v[1] = l->v[i];
        rc = wsrt_eval_explain(code[is_float], v, &v[0], NULL, &o);
        if (rc != WSRT_EVAL_OK)
            return ws__expr_run_fail(c->ctx, &c->loc, c->text, n->at, rc, &o);
    }
    *out = v[0];
    return 0;
}

static int aggregate(struct ws__ec *c, struct ws__node *n,
                     union wsrt_value *out)
{
    enum ws__fn fn = (enum ws__fn)n->op;
    struct ws__list l;

    WS_TRY(ws__list_eval(c, n->kid[0], &l));
    if (fn == WS__FN_SUM)
        return sum(c, n, &l, out);
    out->i = fn == WS__FN_LEN ? (int64_t)l.n : fn == WS__FN_ALL;
    if (fn == WS__FN_LEN)
        return 0;
    if (fn <= WS__FN_MAX && !l.n)
        return ws__expr_fail(c, n->at, "%s of an empty list", ws__fn_name(fn));
    for (size_t i = 0; i < l.n; i++) {
        union wsrt_value v = l.v[i];

        if (fn == WS__FN_ANY || fn == WS__FN_ALL) {
            if (truth(c, l.type, v) == (fn == WS__FN_ANY))
                out->i = fn == WS__FN_ANY;
        } else if (!i ||
                   (l.type == WS__FLOAT
                        ? (fn == WS__FN_MIN ? v.f < out->f : v.f > out->f)
                        : (fn == WS__FN_MIN ? v.i < out->i : v.i > out->i))) {
            *out = v;
        }
    }
    return 0;
}

static int logic(struct ws__ec *c, struct ws__node *n, union wsrt_value *out)
{
    for (size_t i = 0; i < n->nkid; i++) {
        WS_TRY(ws__list_scalar(c, n->kid[i], out));
        if (truth(c, n->type, *out) == (n->kind == WS__N_OR))
            break;
    }
    return 0;
}

int ws__list_scalar(struct ws__ec *c, struct ws__node *n, union wsrt_value *out)
{
    union wsrt_value test;

    if (n->kind == WS__N_LIT) {
        *out = n->v;
        return 0;
    }
    /* A constant aggregate comes here before it is marked. */
    if (n->kind == WS__N_CALL && n->nkid && n->kid[0]->is_list)
        return aggregate(c, n, out);
    if (!n->walks)
        return run(c, n, out);
    switch (n->kind) {
    case WS__N_COND:
        WS_TRY(ws__list_scalar(c, n->kid[1], &test));
        return ws__list_scalar(c, n->kid[test.i ? 0 : 2], out);
    case WS__N_AND:
    case WS__N_OR:
        return logic(c, n, out);
    case WS__N_IN:
        if (!n->ranged)
            return in_list(c, n, out);
        break;
    default:
        break;
    }
    return run_in_parts(c, n, out);
}

/* --- lists --- */

static int append(struct ws__ec *c, struct ws__node *n, struct ws__list *out)
{
    struct ws__list l;

    WS_TRY(ws__list_eval(c, n, &l));
    for (size_t i = 0; i < l.n; i++)
        WS_TRY(add(c, n->at, out, as(out->type, l.type, l.v[i])));
    return 0;
}

static int eval_written(struct ws__ec *c, struct ws__node *n,
                        struct ws__list *out)
{
    for (size_t i = 0; i < n->nkid; i++) {
        union wsrt_value v;

        WS_TRY(ws__list_scalar(c, n->kid[i], &v));
        WS_TRY(add(c, n->at, out, as(out->type, n->kid[i]->type, v)));
    }
    return 0;
}

static int eval_range(struct ws__ec *c, struct ws__node *n,
                      struct ws__list *out)
{
    union wsrt_value a[3] = {{.i = 0}, {.i = 0}, {.i = 1}};
    union wsrt_value v;

    for (size_t i = 0; i < n->nkid; i++)
        WS_TRY(ws__list_scalar(c, n->kid[i], &a[n->nkid == 1 ? 1 : i]));
    if (!a[2].i)
        return ws__expr_fail(c, n->at, "step of range is 0");
    for (v = a[0]; a[2].i > 0 ? v.i < a[1].i : v.i > a[1].i;) {
        WS_TRY(add(c, n->at, out, v));
        if (__builtin_add_overflow(v.i, a[2].i, &v.i))
            break;
    }
    return 0;
}

static int eval_repeat(struct ws__ec *c, struct ws__node *n,
                       struct ws__list *out)
{
    size_t list = n->kid[0]->is_list ? 0 : 1;
    union wsrt_value count;
    struct ws__list l;

    WS_TRY(ws__list_scalar(c, n->kid[1 - list], &count));
    WS_TRY(ws__list_eval(c, n->kid[list], &l));
    if (!l.n)
        return 0;
    for (; count.i > 0; count.i--)
        for (size_t i = 0; i < l.n; i++)
            WS_TRY(add(c, n->at, out, as(out->type, l.type, l.v[i])));
    return 0;
}

/* The clauses from the k-th on, then the element. */
static int eval_comp(struct ws__ec *c, struct ws__node *n, size_t k,
                     struct ws__list *out)
{
    union wsrt_value v;
    struct ws__list l;

    if (k == n->nclause) {
        WS_TRY(ws__list_scalar(c, n->kid[0], &v));
        return add(c, n->at, out, v);
    }
    if (!n->clause[k].var) {
        WS_TRY(step(c, n->at));
        WS_TRY(ws__list_scalar(c, n->kid[k + 1], &v));
        return v.i ? eval_comp(c, n, k + 1, out) : 0;
    }
    WS_TRY(ws__list_eval(c, n->kid[k + 1], &l));
    WS_TRY(need_slots(c, WS__PART_SLOT));
    for (size_t i = 0; i < l.n; i++) {
        WS_TRY(step(c, n->at));
        c->slot[n->clause[k].slot] = l.v[i];
        WS_TRY(eval_comp(c, n, k + 1, out));
    }
    return 0;
}

int ws__list_eval(struct ws__ec *c, struct ws__node *n, struct ws__list *out)
{
    union wsrt_value test;

    memset(out, 0, sizeof(*out));
    out->type = n->type;
    switch (n->kind) {
    case WS__N_LIST:
        return eval_written(c, n, out);
    case WS__N_COMP:
        return eval_comp(c, n, 0, out);
    case WS__N_CALL:
        return eval_range(c, n, out);
    case WS__N_BINARY:
        if (n->op == WS__T_STAR)
            return eval_repeat(c, n, out);
        WS_TRY(append(c, n->kid[0], out));
        return append(c, n->kid[1], out);
    case WS__N_COND:
        WS_TRY(ws__list_scalar(c, n->kid[1], &test));
        return append(c, n->kid[test.i ? 0 : 2], out);
    default:
        return ws__expr_fail(c, n->at, "not a list");
    }
}

/* --- value lists --- */

static int to_values(struct ws__ec *c, struct ws__arena *arena,
                     const struct ws__list *l, struct ws__value **values)
{
    struct ws__value *v = ws__arena_alloc(arena, l->n, sizeof(*v));

    if (!v)
        return WS_ENOMEM;
    for (size_t i = 0; i < l->n; i++) {
        v[i].type = l->type;
        if (l->type == WS__FLOAT) {
            v[i].u.f = l->v[i].f;
        } else if (l->type != WS__STR) {
            v[i].u.i = l->v[i].i;
        } else if ((uint64_t)l->v[i].i >= c->strings->n) {
            /* A constant that the caller did not intern. */
            return ws__fail_at(c->ctx, WS_EINVAL, &c->loc,
                               "text number %lld does not exist",
                               (long long)l->v[i].i);
        } else {
            v[i].u.s = ws__arena_strdup(arena, c->strings->text[l->v[i].i]);
            if (!v[i].u.s)
                return WS_ENOMEM;
        }
    }
    *values = v;
    return 0;
}

static int build(struct ws__ec *c, size_t max, struct ws__list *l)
{
    struct ws__node *n;
    struct ws__loc at;

    WS_TRY(ws__expr_parse(c, true, &n));
    WS_TRY(ws__expr_check(c, &n));
    if (!n->is_list) {
        ws__expr_fail(c, n->begin, "'%s' is one value, not a list",
                      ws__expr_quote(c->text, n->begin, n->end).s);
        return ws__hint(c->ctx, "put it in brackets: [%s]",
                        ws__expr_quote(c->text, n->begin, n->end).s);
    }
    WS_TRY(ws__list_eval(c, n, l));
    if (l->n <= max)
        return 0;
    at = ws__expr_loc(&c->loc, c->text, n->begin);
    return ws__fail_at(c->ctx, WS_ELIMIT, &at,
                       "list has %zu values, at most "
                       "%zu are allowed",
                       l->n, max);
}

int ws__expr_list(struct ws_ctx *ctx, struct ws__arena *arena, const char *text,
                  const struct ws__loc *loc, const struct ws__scope *consts,
                  const union wsrt_value *const_vars, size_t max,
                  struct ws__value **values, size_t *n)
{
    static const struct ws__scope none;
    static const union wsrt_value no_vars[1];
    bool named = consts && const_vars;
    struct ws__arena scratch;
    struct ws__strtab own = {.arena = &scratch};
    struct ws__list l;
    struct ws__ec c;
    int rc;

    ws__arena_init(&scratch, ctx);
    WS_TRY_DONE(
        ws__ec_open(&c, ctx, &scratch, text, loc, named ? consts : &none));
    c.const_vars = named ? const_vars : no_vars;
    if (!c.strings)
        c.strings = &own;
    WS_TRY_DONE(build(&c, max, &l));
    WS_TRY_DONE(to_values(&c, arena, &l, values));
    *n = l.n;
done:
    ws__ec_close(&c);
    ws__arena_free(&scratch);
    return rc;
}
