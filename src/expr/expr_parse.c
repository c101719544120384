/*
 * expr_parse.c: tokens to nodes, by recursive descent.
 *
 * From loose to tight, as in Python:  a if c else b;  or ||;  and &&;  not;
 * comparisons and in;  |;  ^;  &;  << >>;  + -;  * / // %;  unary - + ~ !;
 * **. Note that & and | bind tighter than comparisons here, unlike in C.
 * A chain of `and` or `or` is one node however long it is; every other chain
 * adds height, which is bounded because the later stages recurse.
 */
#include "expr/expr_ast.h"

#include "base/banned.h"

struct kids {
    struct ws__node **v;
    size_t n, cap;
};

static int parse_cond(struct ws__ec *c, struct ws__node **out);
static int parse_or(struct ws__ec *c, struct ws__node **out);
static int parse_unary(struct ws__ec *c, struct ws__node **out);

static int too_deep(struct ws__ec *c, uint32_t at)
{
    ws__expr_fail(c, at, "expression is nested too deeply");
    return ws__hint(c->ctx, "split it into several conditions");
}

int ws__node_new(struct ws__ec *c, enum ws__node_kind kind, uint32_t at,
                 struct ws__node *const *kid, size_t nkid,
                 struct ws__node **out)
{
    struct ws__node *n = ws__arena_alloc(c->scratch, 1, sizeof(*n));

    if (!n)
        return WS_ENOMEM;
    n->kind = kind;
    n->at = n->begin = at;
    n->end = c->prev_end;
    n->nkid = nkid;
    if (nkid) {
        n->kid = ws__arena_alloc(c->scratch, nkid, sizeof(struct ws__node *));
        if (!n->kid)
            return WS_ENOMEM;
    }
    for (size_t i = 0; i < nkid; i++) {
        n->kid[i] = kid[i];
        if (kid[i]->height >= n->height)
            n->height = kid[i]->height + 1;
        if (kid[i]->begin < n->begin)
            n->begin = kid[i]->begin;
    }
    if (n->height > WS__HEIGHT_MAX)
        return too_deep(c, at);
    *out = n;
    return 0;
}

static int add_kid(struct ws__ec *c, struct kids *k, struct ws__node *n)
{
    if (k->n == k->cap) {
        size_t cap = k->cap ? k->cap * 2 : 4;
        struct ws__node **v = ws__arena_alloc(c->scratch, cap, sizeof(*v));

        if (!v)
            return WS_ENOMEM;
        if (k->n)
            memcpy(v, k->v, k->n * sizeof(*v));
        k->v = v;
        k->cap = cap;
    }
    k->v[k->n++] = n;
    return 0;
}

static int unexpected(struct ws__ec *c, const char *wanted)
{
    struct ws__quote q = ws__expr_quote(c->text, c->tok.at, c->tok.end);

    if (c->tok.kind == WS__T_END)
        return ws__expr_fail(c, c->tok.at,
                             "expression ends where %s is "
                             "expected",
                             wanted);
    return ws__expr_fail(c, c->tok.at, "unexpected '%s' where %s is expected",
                         q.s, wanted);
}

static int expect(struct ws__ec *c, enum ws__tok_kind kind, const char *wanted)
{
    if (c->tok.kind != kind)
        return unexpected(c, wanted);
    return ws__lex(c);
}

/* --- lists, comprehensions, calls --- */

static int parse_for(struct ws__ec *c, struct ws__clause *clause)
{
    WS_TRY(ws__lex(c));
    if (c->tok.kind != WS__T_NAME)
        return unexpected(c, "a loop variable");
    clause->var = c->tok.s;
    clause->at = c->tok.at;
    WS_TRY(ws__lex(c));
    if (c->tok.kind == WS__T_COMMA) {
        unexpected(c, "'in'");
        return ws__hint(c->ctx, "one variable a loop; write a second 'for' "
                                "for pairs");
    }
    return expect(c, WS__T_IN, "'in'");
}

/* After the element: for x in list {for y in list | if condition}. */
static int parse_comp(struct ws__ec *c, struct ws__node *element,
                      struct ws__node **out)
{
    struct ws__clause clause[2 * WS__LOOPS_MAX];
    struct kids k = {0};
    uint32_t at = c->tok.at;
    size_t n = 0;

    WS_TRY(add_kid(c, &k, element));
    while (c->tok.kind == WS__T_FOR || c->tok.kind == WS__T_IF) {
        struct ws__node *e;

        if (n == WS_COUNT(clause))
            return ws__expr_fail(c, c->tok.at,
                                 "more than %zu for and if in "
                                 "one list",
                                 n);
        memset(&clause[n], 0, sizeof(clause[n]));
        clause[n].at = c->tok.at;
        if (c->tok.kind == WS__T_FOR)
            WS_TRY(parse_for(c, &clause[n]));
        else
            WS_TRY(ws__lex(c));
        WS_TRY(parse_or(c, &e));
        WS_TRY(add_kid(c, &k, e));
        n++;
    }
    WS_TRY(ws__node_new(c, WS__N_COMP, at, k.v, k.n, out));
    (*out)->clause = ws__arena_alloc(c->scratch, n, sizeof(*clause));
    if (!(*out)->clause)
        return WS_ENOMEM;
    memcpy((*out)->clause, clause, n * sizeof(*clause));
    (*out)->nclause = n;
    return 0;
}

/* Values up to a closing token, which stays; a comprehension is one value
 * and sets *comp. */
static int parse_items(struct ws__ec *c, enum ws__tok_kind close,
                       const char *wanted, struct kids *k, bool *comp,
                       bool *comma)
{
    while (c->tok.kind != close) {
        struct ws__node *e;

        WS_TRY(parse_cond(c, &e));
        if (c->tok.kind == WS__T_FOR && !k->n) {
            WS_TRY(parse_comp(c, e, &e));
            *comp = true;
        }
        WS_TRY(add_kid(c, k, e));
        if (*comp || c->tok.kind != WS__T_COMMA)
            break;
        *comma = true;
        WS_TRY(ws__lex(c));
    }
    return c->tok.kind == close ? 0 : unexpected(c, wanted);
}

static int parse_bracket(struct ws__ec *c, struct ws__node **out)
{
    struct kids k = {0};
    bool comp = false, comma = false;
    uint32_t at = c->tok.at;

    WS_TRY(ws__lex(c));
    WS_TRY(parse_items(c, WS__T_RBRACKET, "',' or ']'", &k, &comp, &comma));
    WS_TRY(ws__lex(c));
    if (comp)
        *out = k.v[0];
    else
        WS_TRY(ws__node_new(c, WS__N_LIST, at, k.v, k.n, out));
    (*out)->begin = at;
    (*out)->end = c->prev_end;
    return 0;
}

/* ( value ), a tuple, or a comprehension without brackets. */
static int parse_paren(struct ws__ec *c, struct ws__node **out)
{
    struct kids k = {0};
    bool comp = false, comma = false;
    uint32_t at = c->tok.at;

    WS_TRY(ws__lex(c));
    WS_TRY(parse_items(c, WS__T_RPAR, "')'", &k, &comp, &comma));
    WS_TRY(ws__lex(c));
    if (k.n == 1 && !comma)
        *out = k.v[0];
    else
        WS_TRY(ws__node_new(c, WS__N_LIST, at, k.v, k.n, out));
    (*out)->begin = at;
    (*out)->end = c->prev_end;
    return 0;
}

static int parse_call(struct ws__ec *c, const struct ws__tok *name,
                      struct ws__node **out)
{
    struct kids k = {0};
    bool comp = false, comma = false;
    int fn = ws__fn_find(c->text + name->at, name->end - name->at);

    if (fn < 0)
        return ws__expr_unknown_fn(c, name);
    WS_TRY(ws__lex(c));
    WS_TRY(parse_items(c, WS__T_RPAR, "',' or ')'", &k, &comp, &comma));
    WS_TRY(ws__lex(c));
    WS_TRY(ws__node_new(c, WS__N_CALL, name->at, k.v, k.n, out));
    (*out)->op = (uint8_t)fn;
    return 0;
}

static int parse_name(struct ws__ec *c, struct ws__node **out)
{
    struct ws__tok name = c->tok;

    WS_TRY(ws__lex(c));
    if (c->tok.kind == WS__T_LPAR)
        return parse_call(c, &name, out);
    WS_TRY(ws__node_new(c, WS__N_NAME, name.at, NULL, 0, out));
    (*out)->s = name.s;
    return 0;
}

/* --- scalars --- */

static int parse_literal(struct ws__ec *c, struct ws__node **out)
{
    struct ws__tok t = c->tok;
    union wsrt_value v = t.v;

    if (t.min_int) {
        ws__expr_fail(c, t.at, "number does not fit 64 bits: '%s'",
                      ws__expr_quote(c->text, t.at, t.end).s);
        return ws__hint(c->ctx, "the largest integer is 9223372036854775807");
    }
    WS_TRY(ws__lex(c));
    WS_TRY(ws__node_new(c, t.kind == WS__T_STR ? WS__N_STR : WS__N_LIT, t.at,
                        NULL, 0, out));
    (*out)->s = t.s;
    if (t.kind == WS__T_TRUE || t.kind == WS__T_FALSE) {
        v.i = t.kind == WS__T_TRUE;
        ws__node_lit(*out, WS__BOOL, v);
    } else if (t.kind != WS__T_STR) {
        ws__node_lit(*out, t.kind == WS__T_INT ? WS__INT : WS__FLOAT, v);
    }
    return 0;
}

static int check_postfix(struct ws__ec *c)
{
    if (c->tok.kind != WS__T_LBRACKET && c->tok.kind != WS__T_LPAR)
        return 0;
    unexpected(c, "an operator");
    return ws__hint(c->ctx, "there is no indexing, and only functions can be "
                            "called");
}

static int parse_atom(struct ws__ec *c, struct ws__node **out)
{
    switch (c->tok.kind) {
    case WS__T_INT:
    case WS__T_FLOAT:
    case WS__T_STR:
    case WS__T_TRUE:
    case WS__T_FALSE:
        WS_TRY(parse_literal(c, out));
        break;
    case WS__T_NAME:
        WS_TRY(parse_name(c, out));
        break;
    case WS__T_LPAR:
        WS_TRY(parse_paren(c, out));
        break;
    case WS__T_LBRACKET:
        WS_TRY(parse_bracket(c, out));
        break;
    case WS__T_NOT:
        unexpected(c, "a value");
        return ws__hint(c->ctx, "put 'not' in parentheses here: (not ...)");
    default:
        return unexpected(c, "a value");
    }
    return check_postfix(c);
}

static int unary_node(struct ws__ec *c, enum ws__tok_kind op, uint32_t at,
                      struct ws__node *kid, struct ws__node **out)
{
    WS_TRY(ws__node_new(c, WS__N_UNARY, at, &kid, 1, out));
    (*out)->op = (uint8_t)op;
    return 0;
}

static int binary_node(struct ws__ec *c, enum ws__tok_kind op, uint32_t at,
                       struct ws__node *a, struct ws__node *b,
                       struct ws__node **out)
{
    struct ws__node *kid[2] = {a, b};

    WS_TRY(ws__node_new(c, WS__N_BINARY, at, kid, 2, out));
    (*out)->op = (uint8_t)op;
    return 0;
}

static int enter(struct ws__ec *c)
{
    if (++c->nesting > WS__NESTING_MAX)
        return too_deep(c, c->tok.at);
    return 0;
}

/* The exponent may have a sign: 2 ** -1. */
static int parse_power(struct ws__ec *c, struct ws__node **out)
{
    struct ws__node *right;
    uint32_t at;

    WS_TRY(parse_atom(c, out));
    if (c->tok.kind != WS__T_POWER)
        return 0;
    at = c->tok.at;
    WS_TRY(enter(c));
    WS_TRY(ws__lex(c));
    WS_TRY(parse_unary(c, &right));
    c->nesting--;
    return binary_node(c, WS__T_POWER, at, *out, right, out);
}

static int parse_unary(struct ws__ec *c, struct ws__node **out)
{
    struct ws__tok t = c->tok;

    if (t.kind != WS__T_MINUS && t.kind != WS__T_PLUS &&
        t.kind != WS__T_TILDE && t.kind != WS__T_BANG)
        return parse_power(c, out);
    WS_TRY(enter(c));
    WS_TRY(ws__lex(c));
    if (t.kind == WS__T_MINUS && c->tok.min_int) {
        c->tok.min_int = false;
        WS_TRY(parse_literal(c, out));
        (*out)->begin = t.at;
    } else {
        WS_TRY(parse_unary(c, out));
        WS_TRY(unary_node(c, t.kind, t.at, *out, out));
    }
    c->nesting--;
    return 0;
}

static int level(enum ws__tok_kind k)
{
    switch (k) {
    case WS__T_PIPE:
        return 1;
    case WS__T_CARET:
        return 2;
    case WS__T_AMP:
        return 3;
    case WS__T_SHL:
    case WS__T_SHR:
        return 4;
    case WS__T_PLUS:
    case WS__T_MINUS:
        return 5;
    case WS__T_STAR:
    case WS__T_SLASH:
    case WS__T_FLOOR:
    case WS__T_PERCENT:
        return 6;
    default:
        return 0;
    }
}

static int parse_binary(struct ws__ec *c, int min, struct ws__node **out)
{
    int l;

    WS_TRY(parse_unary(c, out));
    while ((l = level(c->tok.kind)) >= min && l) {
        struct ws__tok op = c->tok;
        struct ws__node *right;

        WS_TRY(ws__lex(c));
        WS_TRY(parse_binary(c, l + 1, &right));
        WS_TRY(binary_node(c, op.kind, op.at, *out, right, out));
    }
    return 0;
}

/* --- comparisons --- */

struct chain {
    struct kids operand;
    uint8_t op[64];
    uint32_t at[64];
    size_t n;
};

/* The comparisons so far: one node, *out; keeps the last operand. */
static int close_chain(struct ws__ec *c, struct chain *h, struct ws__node **out)
{
    WS_TRY(ws__node_new(c, WS__N_COMPARE, h->at[0], h->operand.v, h->operand.n,
                        out));
    (*out)->ops = ws__arena_alloc(c->scratch, h->n, sizeof(*h->op));
    (*out)->ops_at = ws__arena_alloc(c->scratch, h->n, sizeof(*h->at));
    if (!(*out)->ops || !(*out)->ops_at)
        return WS_ENOMEM;
    memcpy((*out)->ops, h->op, h->n * sizeof(*h->op));
    memcpy((*out)->ops_at, h->at, h->n * sizeof(*h->at));
    return 0;
}

/* `a < b in L` is `a < b and b in L`; b has no effects, so that it does not
 * matter that it is there twice. */
static int parse_in(struct ws__ec *c, struct chain *h, struct ws__node **out)
{
    struct ws__node *kid[2], *both[2];
    uint32_t at = c->tok.at;
    bool negated = c->tok.kind == WS__T_NOT;

    WS_TRY(ws__lex(c));
    if (negated)
        WS_TRY(expect(c, WS__T_IN, "'in' (of 'not in')"));
    kid[0] = h->operand.v[h->operand.n - 1];
    WS_TRY(parse_binary(c, 1, &kid[1]));
    WS_TRY(ws__node_new(c, WS__N_IN, at, kid, 2, out));
    (*out)->negated = negated;
    if (!h->n)
        return 0;
    both[1] = *out;
    WS_TRY(close_chain(c, h, &both[0]));
    WS_TRY(ws__node_new(c, WS__N_AND, at, both, 2, out));
    (*out)->c_style = true;
    return 0;
}

static bool is_comparison(enum ws__tok_kind k)
{
    return k >= WS__T_EQ && k <= WS__T_GE;
}

static int parse_compare(struct ws__ec *c, struct ws__node **out)
{
    struct chain h;

    WS_TRY(parse_binary(c, 1, out));
    h.n = 0;
    h.operand = (struct kids){0};
    while (is_comparison(c->tok.kind)) {
        if (!h.n)
            WS_TRY(add_kid(c, &h.operand, *out));
        if (h.n == WS_COUNT(h.op))
            return too_deep(c, c->tok.at);
        h.op[h.n] = (uint8_t)c->tok.kind;
        h.at[h.n++] = c->tok.at;
        WS_TRY(ws__lex(c));
        WS_TRY(parse_binary(c, 1, out));
        WS_TRY(add_kid(c, &h.operand, *out));
    }
    if (c->tok.kind == WS__T_IN || c->tok.kind == WS__T_NOT) {
        if (!h.n)
            WS_TRY(add_kid(c, &h.operand, *out));
        WS_TRY(parse_in(c, &h, out));
        if (is_comparison(c->tok.kind) || c->tok.kind == WS__T_IN)
            return unexpected(c, "'and', 'or' or the end");
        return 0;
    }
    return h.n ? close_chain(c, &h, out) : 0;
}

/* --- logic --- */

static int parse_not(struct ws__ec *c, struct ws__node **out)
{
    uint32_t at = c->tok.at;

    if (c->tok.kind != WS__T_NOT)
        return parse_compare(c, out);
    WS_TRY(enter(c));
    WS_TRY(ws__lex(c));
    WS_TRY(parse_not(c, out));
    c->nesting--;
    return unary_node(c, WS__T_BANG, at, *out, out);
}

static int parse_logic(struct ws__ec *c, enum ws__node_kind kind,
                       enum ws__tok_kind word, enum ws__tok_kind sign,
                       int (*side)(struct ws__ec *, struct ws__node **),
                       struct ws__node **out)
{
    WS_TRY(side(c, out));
    while (c->tok.kind == word || c->tok.kind == sign) {
        enum ws__tok_kind spelt = c->tok.kind;
        struct kids k = {0};
        uint32_t at = c->tok.at;

        WS_TRY(add_kid(c, &k, *out));
        while (c->tok.kind == spelt) {
            struct ws__node *e;

            WS_TRY(ws__lex(c));
            WS_TRY(side(c, &e));
            WS_TRY(add_kid(c, &k, e));
        }
        WS_TRY(ws__node_new(c, kind, at, k.v, k.n, out));
        (*out)->c_style = spelt == sign;
    }
    return 0;
}

static int parse_and(struct ws__ec *c, struct ws__node **out)
{
    return parse_logic(c, WS__N_AND, WS__T_AND, WS__T_ANDAND, parse_not, out);
}

static int parse_or(struct ws__ec *c, struct ws__node **out)
{
    return parse_logic(c, WS__N_OR, WS__T_OR, WS__T_OROR, parse_and, out);
}

static int parse_cond(struct ws__ec *c, struct ws__node **out)
{
    struct ws__node *kid[3];
    uint32_t at;

    WS_TRY(enter(c));
    WS_TRY(parse_or(c, out));
    if (c->tok.kind == WS__T_IF) {
        at = c->tok.at;
        kid[0] = *out;
        WS_TRY(ws__lex(c));
        WS_TRY(parse_or(c, &kid[1]));
        WS_TRY(expect(c, WS__T_ELSE, "'else'"));
        WS_TRY(parse_cond(c, &kid[2]));
        WS_TRY(ws__node_new(c, WS__N_COND, at, kid, 3, out));
    }
    c->nesting--;
    return 0;
}

static int trailing(struct ws__ec *c)
{
    struct ws__quote q = ws__expr_quote(c->text, c->tok.at, c->tok.end);

    ws__expr_fail(c, c->tok.at, "unexpected '%s' after the expression", q.s);
    if (c->tok.kind == WS__T_RPAR || c->tok.kind == WS__T_RBRACKET)
        return ws__hint(c->ctx, "it closes nothing: remove it, or add the "
                                "opening one");
    if (c->tok.kind == WS__T_NAME &&
        !strncmp(c->text + c->tok.at, "is", c->tok.end - c->tok.at) &&
        c->tok.end - c->tok.at == 2)
        return ws__hint(c->ctx, "did you mean '=='?");
    if (c->tok.kind == WS__T_COMMA)
        return ws__hint(c->ctx, "one expression only; lists are written with "
                                "[ ]");
    return ws__hint(c->ctx, "an operator is missing before it");
}

/* A list may stand without its brackets: "1, 2, 4". */
static int parse_bare_list(struct ws__ec *c, struct ws__node **out)
{
    struct kids k = {0};
    bool comp = false, comma = false;
    uint32_t at = c->tok.at;

    WS_TRY(parse_items(c, WS__T_END, "the end", &k, &comp, &comma));
    if (!k.n)
        return unexpected(c, "a list");
    if (k.n == 1 && !comma) {
        *out = k.v[0];
        return 0;
    }
    return ws__node_new(c, WS__N_LIST, at, k.v, k.n, out);
}

int ws__expr_parse(struct ws__ec *c, bool list, struct ws__node **out)
{
    WS_TRY(ws__lex(c));
    if (list)
        return parse_bare_list(c, out);
    WS_TRY(parse_cond(c, out));
    return c->tok.kind == WS__T_END ? 0 : trailing(c);
}
