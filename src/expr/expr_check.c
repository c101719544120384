/*
 * expr_check.c: names, types and constants of scalar nodes.
 *
 * After the check every scalar node has one static type and its kids have
 * the types that its instruction takes (CONVERT nodes are put in between),
 * knows whether it depends on slots or loop variables, and is a literal if
 * it does not. Constants are computed by running their bytecode, so folding
 * cannot differ from evaluation; one that fails (1 // 0) is left in place
 * and fails where and when it is evaluated.
 *
 * Numeric types join upwards, bool to int to float; text joins with nothing.
 */
#include "expr/expr_ast.h"

#include "base/banned.h"

void ws__node_lit(struct ws__node *n, enum ws__type type, union wsrt_value v)
{
    n->kind = WS__N_LIT;
    n->type = type;
    n->v = v;
    n->nkid = 0;
    n->checked = true;
    n->reads = n->walks = n->is_list = n->untyped = false;
    n->loops = 0;
}

void ws__expr_inherit(struct ws__node *n)
{
    for (size_t i = 0; i < n->nkid; i++) {
        n->reads |= n->kid[i]->reads;
        n->walks |= n->kid[i]->walks;
        n->loops |= n->kid[i]->loops;
    }
}

enum ws__type ws__expr_join(enum ws__type a, enum ws__type b)
{
    if (a == WS__FLOAT || b == WS__FLOAT)
        return WS__FLOAT;
    return a == WS__INT || b == WS__INT ? WS__INT : a;
}

static struct ws__quote text_of(const struct ws__ec *c,
                                const struct ws__node *n)
{
    return ws__expr_quote(c->text, n->begin, n->end);
}

int ws__expr_need_number(struct ws__ec *c, const struct ws__node *n)
{
    if (n->type != WS__STR)
        return 0;
    ws__expr_fail(c, n->begin, "'%s' is text where a number is needed",
                  text_of(c, n).s);
    return ws__hint(c->ctx, "text can only be compared with == and != and "
                            "looked up with in");
}

/* bool counts as int */
static int need_int(struct ws__ec *c, struct ws__node **n, const char *user)
{
    WS_TRY(ws__expr_need_number(c, *n));
    if ((*n)->type == WS__FLOAT) {
        ws__expr_fail(c, (*n)->begin, "%s takes ints, '%s' is float", user,
                      text_of(c, *n).s);
        return ws__hint(c->ctx, "divide with // instead of /, or round with "
                                "int(...)");
    }
    return ws__expr_coerce(c, n, WS__INT);
}

static int empty_text(struct ws__ec *c, const struct ws__node *n)
{
    if (!c->strings)
        return ws__expr_fail(c, n->begin, "text cannot be used here");
    return ws__strtab_id(c->strings, "", &c->empty_id);
}

static bool lit_truth(const struct ws__ec *c, const struct ws__node *n)
{
    if (n->type == WS__FLOAT)
        return n->v.f != 0;
    return n->v.i != (n->type == WS__STR ? c->empty_id : 0);
}

static int fold(struct ws__ec *c, struct ws__node *n)
{
    static const uint8_t end = WSRT_OP_END;
    union wsrt_value v;

    if (n->kind == WS__N_LIT || n->reads || n->loops || n->walks)
        return 0;
    for (size_t i = 0; i < n->nkid; i++)
        if (n->kid[i]->kind != WS__N_LIT && !n->kid[i]->is_list)
            return 0;
    c->n = 0;
    WS_TRY(ws__expr_emit(c, n));
    /* The emitter always leaves room for the end. */
    c->code[c->n++] = end;
    if (wsrt_code_check(c->code, c->n, 0, 0) == 0 &&
        wsrt_eval(c->code, c->n, NULL, &v, NULL) == WSRT_EVAL_OK)
        ws__node_lit(n, n->type, v);
    return 0;
}

int ws__expr_coerce(struct ws__ec *c, struct ws__node **n, enum ws__type t)
{
    struct ws__node *from = *n;

    if (from->type == t)
        return 0;
    if (from->type == WS__STR && t == WS__BOOL)
        WS_TRY(empty_text(c, from));
    else if (from->type == WS__STR)
        return ws__expr_need_number(c, from);
    else if (t == WS__STR)
        return ws__expr_fail(c, from->begin, "'%s' is %s where text is needed",
                             text_of(c, from).s, ws__type_name(from->type));
    WS_TRY(ws__node_new(c, WS__N_CONVERT, from->at, &from, 1, n));
    (*n)->type = t;
    (*n)->begin = from->begin;
    (*n)->end = from->end;
    (*n)->checked = true;
    ws__expr_inherit(*n);
    return fold(c, *n);
}

static int coerce_all(struct ws__ec *c, struct ws__node *n, enum ws__type t)
{
    for (size_t i = 0; i < n->nkid; i++)
        WS_TRY(ws__expr_coerce(c, &n->kid[i], t));
    return 0;
}

/* A constant or a word becomes its number at once. */
static bool resolve_word(struct ws__ec *c, struct ws__node *n)
{
    for (size_t i = 0; i < c->scope->nconstant; i++) {
        const struct ws__value *k = &c->scope->constant[i].value;
        union wsrt_value v = {.i = k->u.i};

        if (strcmp(c->scope->constant[i].name, n->s))
            continue;
        if (k->type == WS__FLOAT)
            v.f = k->u.f;
        ws__node_lit(n, k->type, v);
        return true;
    }
    for (size_t i = 0; i < c->scope->nword; i++) {
        union wsrt_value v = {.i = c->scope->word[i].value};

        if (strcmp(c->scope->word[i].name, n->s))
            continue;
        ws__node_lit(n, WS__INT, v);
        return true;
    }
    return false;
}

static int resolve(struct ws__ec *c, struct ws__node *n)
{
    int slot;

    for (size_t i = c->nloop; i-- > 0;) {
        if (!strcmp(c->loop[i].name, n->s)) {
            n->kind = WS__N_SLOT;
            n->slot = WS__LOOP_SLOT + (unsigned)i;
            n->loops = (uint32_t)1 << i;
            n->type = c->loop[i].type;
            return 0;
        }
    }
    slot = ws__scope_find(c->scope, n->s);
    if (slot < 0)
        return resolve_word(c, n) ? 0 : ws__expr_unknown(c, n);
    n->type = c->scope->names[slot].type;
    if (c->const_vars) {
        ws__node_lit(n, n->type, c->const_vars[slot]);
        return 0;
    }
    n->kind = WS__N_SLOT;
    n->slot = (unsigned)slot;
    n->reads = true;
    return 0;
}

static int check_text(struct ws__ec *c, struct ws__node *n)
{
    union wsrt_value v;

    if (!c->strings)
        return ws__expr_fail(c, n->at, "text cannot be used here");
    WS_TRY(ws__strtab_id(c->strings, n->s, &v.i));
    ws__node_lit(n, WS__STR, v);
    return 0;
}

static int check_unary(struct ws__ec *c, struct ws__node **pn)
{
    struct ws__node *n = *pn;

    WS_TRY(ws__expr_check_scalar(c, &n->kid[0]));
    if (n->op == WS__T_BANG) {
        n->type = WS__BOOL;
        return ws__expr_coerce(c, &n->kid[0], WS__BOOL);
    }
    WS_TRY(ws__expr_need_number(c, n->kid[0]));
    if (n->op == WS__T_TILDE)
        WS_TRY(need_int(c, &n->kid[0], "'~'"));
    n->type = ws__expr_join(n->kid[0]->type, WS__INT);
    WS_TRY(ws__expr_coerce(c, &n->kid[0], n->type));
    if (n->op == WS__T_PLUS)
        *pn = n->kid[0];
    return 0;
}

static int check_bits(struct ws__ec *c, struct ws__node *n)
{
    char user[8];

    if (n->kid[0]->type == WS__BOOL && n->kid[1]->type == WS__BOOL &&
        n->op != WS__T_SHL && n->op != WS__T_SHR) {
        n->type = WS__BOOL;
        return 0;
    }
    n->type = WS__INT;
    snprintf(user, sizeof(user), "'%.*s'",
             n->op == WS__T_SHL || n->op == WS__T_SHR ? 2 : 1, c->text + n->at);
    for (size_t i = 0; i < 2; i++)
        WS_TRY(need_int(c, &n->kid[i], user));
    return 0;
}

static int check_binary(struct ws__ec *c, struct ws__node *n)
{
    enum ws__type t;

    for (size_t i = 0; i < 2; i++)
        WS_TRY(ws__expr_check(c, &n->kid[i]));
    if ((n->op == WS__T_PLUS && n->kid[0]->is_list && n->kid[1]->is_list) ||
        (n->op == WS__T_STAR && (n->kid[0]->is_list || n->kid[1]->is_list)))
        return ws__expr_check_list(c, &n);
    for (size_t i = 0; i < 2; i++) {
        WS_TRY(ws__expr_check_scalar(c, &n->kid[i]));
        WS_TRY(ws__expr_need_number(c, n->kid[i]));
    }
    if (n->op == WS__T_PIPE || n->op == WS__T_CARET || n->op == WS__T_AMP ||
        n->op == WS__T_SHL || n->op == WS__T_SHR)
        return check_bits(c, n);
    t = ws__expr_join(n->kid[0]->type, n->kid[1]->type);
    t = ws__expr_join(t, WS__INT);
    n->type = n->op == WS__T_SLASH ? WS__FLOAT : t;
    /* 2 ** -1 is a float; a negative exponent that comes as a value cannot
     * change the type and is an error of its evaluation. */
    if (n->op == WS__T_POWER && t == WS__INT && n->kid[1]->kind == WS__N_LIT &&
        n->kid[1]->v.i < 0)
        n->type = t = WS__FLOAT;
    return coerce_all(c, n, t);
}

static int mixed(struct ws__ec *c, uint32_t at, const struct ws__node *a,
                 const struct ws__node *b, const char *verb)
{
    const struct ws__node *bare = a->kind == WS__N_SLOT ? b : a;

    ws__expr_fail(c, at, "cannot %s '%s' (%s) with '%s' (%s)", verb,
                  text_of(c, a).s, ws__type_name(a->type), text_of(c, b).s,
                  ws__type_name(b->type));
    if (bare->kind == WS__N_LIT)
        return ws__hint(c->ctx, "text is written in quotes, numbers without");
    return ws__hint(c->ctx, "both sides need to be text, or both numbers");
}

/* The common type of all kids; text only among itself. */
static int join_kids(struct ws__ec *c, struct ws__node *n, const char *verb,
                     enum ws__type *t)
{
    *t = n->kid[0]->type;
    for (size_t i = 1; i < n->nkid; i++) {
        const struct ws__node *b = n->kid[i];

        if ((*t == WS__STR) != (b->type == WS__STR))
            return mixed(c, n->ops_at ? n->ops_at[i - 1] : n->at, n->kid[i - 1],
                         b, verb);
        *t = ws__expr_join(*t, b->type);
    }
    return 0;
}

static int check_compare(struct ws__ec *c, struct ws__node *n)
{
    enum ws__type t;

    for (size_t i = 0; i < n->nkid; i++)
        WS_TRY(ws__expr_check_scalar(c, &n->kid[i]));
    WS_TRY(join_kids(c, n, "compare", &t));
    n->type = WS__BOOL;
    for (size_t i = 0; t == WS__STR && i + 1 < n->nkid; i++) {
        if (n->ops[i] == WS__T_EQ || n->ops[i] == WS__T_NE)
            continue;
        ws__expr_fail(c, n->ops_at[i], "text has no order: '%s'",
                      text_of(c, n).s);
        return ws__hint(c->ctx, "text can be compared with == and !=");
    }
    return coerce_all(c, n, t);
}

/* Drops constants at the front: what they decide is decided. */
static void prune(const struct ws__ec *c, struct ws__node **pn)
{
    struct ws__node *n = *pn;

    while (n->nkid > 1 && n->kid[0]->kind == WS__N_LIT) {
        if (lit_truth(c, n->kid[0]) == (n->kind == WS__N_OR)) {
            n->nkid = 1;
        } else {
            n->kid++;
            n->nkid--;
        }
    }
    if (n->nkid == 1)
        *pn = n->kid[0];
}

static int check_logic(struct ws__ec *c, struct ws__node **pn)
{
    struct ws__node *n = *pn;

    for (size_t i = 0; i < n->nkid; i++)
        WS_TRY(ws__expr_check_scalar(c, &n->kid[i]));
    if (n->c_style)
        n->type = WS__BOOL;
    else
        WS_TRY(join_kids(c, n, "join", &n->type));
    if (n->type == WS__STR)
        WS_TRY(empty_text(c, n));
    WS_TRY(coerce_all(c, n, n->type));
    prune(c, pn);
    return 0;
}

static int check_cond(struct ws__ec *c, struct ws__node **pn)
{
    struct ws__node *n = *pn, *a, *b;

    WS_TRY(ws__expr_check_scalar(c, &n->kid[1]));
    WS_TRY(ws__expr_coerce(c, &n->kid[1], WS__BOOL));
    WS_TRY(ws__expr_check(c, &n->kid[0]));
    if (n->kid[0]->is_list)
        return ws__expr_check_list(c, pn);
    WS_TRY(ws__expr_check_scalar(c, &n->kid[2]));
    a = n->kid[0];
    b = n->kid[2];
    if ((a->type == WS__STR) != (b->type == WS__STR))
        return mixed(c, n->at, a, b, "choose between");
    n->type = ws__expr_join(a->type, b->type);
    WS_TRY(ws__expr_coerce(c, &n->kid[0], n->type));
    WS_TRY(ws__expr_coerce(c, &n->kid[2], n->type));
    if (n->kid[1]->kind == WS__N_LIT)
        *pn = n->kid[n->kid[1]->v.i ? 0 : 2];
    return 0;
}

static int check_call(struct ws__ec *c, struct ws__node **pn);

int ws__expr_check(struct ws__ec *c, struct ws__node **pn)
{
    struct ws__node *n = *pn;
    int rc = 0;

    if (n->checked)
        return 0;
    switch (n->kind) {
    case WS__N_STR:
        return check_text(c, n);
    case WS__N_NAME:
        rc = resolve(c, n);
        break;
    case WS__N_UNARY:
        rc = check_unary(c, pn);
        break;
    case WS__N_BINARY:
        rc = check_binary(c, n);
        break;
    case WS__N_COMPARE:
        rc = check_compare(c, n);
        break;
    case WS__N_IN:
        rc = ws__expr_check_in(c, pn);
        break;
    case WS__N_AND:
    case WS__N_OR:
        rc = check_logic(c, pn);
        break;
    case WS__N_COND:
        rc = check_cond(c, pn);
        break;
    case WS__N_CALL:
        rc = check_call(c, pn);
        break;
    case WS__N_LIST:
        rc = ws__expr_check_list(c, pn);
        break;
    case WS__N_COMP:
        rc = ws__expr_check_comp(c, n);
        break;
    case WS__N_LIT:
    case WS__N_SLOT:
    case WS__N_CONVERT:
        break;
    }
    if (rc < 0)
        return rc;
    n = *pn;
    if (n->checked)
        return 0;
    n->checked = true;
    if (n->kind != WS__N_COMP)
        ws__expr_inherit(n);
    return n->is_list ? 0 : fold(c, n);
}

int ws__expr_check_scalar(struct ws__ec *c, struct ws__node **n)
{
    WS_TRY(ws__expr_check(c, n));
    if (!(*n)->is_list)
        return 0;
    ws__expr_fail(c, (*n)->begin, "'%s' is a list where one value is needed",
                  text_of(c, *n).s);
    return ws__hint(c->ctx, "lists are used by in, len, sum, min, max, any, "
                            "all");
}

/* --- calls of scalars --- */

static const struct {
    uint8_t min, max;
    const char *usage;
} arity[WS__NFN] = {
    [WS__FN_MIN] = {1, 255, "min(a, b, ...) or min(list)"},
    [WS__FN_MAX] = {1, 255, "max(a, b, ...) or max(list)"},
    [WS__FN_ABS] = {1, 1, "abs(x)"},
    [WS__FN_CEIL_DIV] = {2, 2, "ceil_div(a, b)"},
    [WS__FN_ROUND_UP] = {2, 2, "round_up(a, multiple)"},
    [WS__FN_IS_POW2] = {1, 1, "is_pow2(x)"},
    [WS__FN_LOG2_FLOOR] = {1, 1, "log2_floor(x)"},
    [WS__FN_CLAMP] = {3, 3, "clamp(x, lo, hi)"},
    [WS__FN_INT] = {1, 1, "int(x)"},
    [WS__FN_FLOAT] = {1, 1, "float(x)"},
    [WS__FN_BOOL] = {1, 1, "bool(x)"},
    [WS__FN_LEN] = {1, 1, "len(list)"},
    [WS__FN_SUM] = {1, 1, "sum(list)"},
    [WS__FN_ANY] = {1, 1, "any(list)"},
    [WS__FN_ALL] = {1, 1, "all(list)"},
    [WS__FN_RANGE] = {1, 3, "range(end), range(begin, end[, step])"},
    [WS__FN_LIST] = {0, 1, "list(range(...))"},
};

static int check_ints(struct ws__ec *c, struct ws__node *n)
{
    for (size_t i = 0; i < n->nkid; i++)
        WS_TRY(need_int(c, &n->kid[i], ws__fn_name((enum ws__fn)n->op)));
    n->type = n->op == WS__FN_IS_POW2 ? WS__BOOL : WS__INT;
    return 0;
}

static int check_numbers(struct ws__ec *c, struct ws__node *n)
{
    enum ws__type t = n->kid[0]->type;

    for (size_t i = 0; i < n->nkid; i++) {
        WS_TRY(ws__expr_need_number(c, n->kid[i]));
        t = ws__expr_join(t, n->kid[i]->type);
    }
    n->type = n->op == WS__FN_ABS ? ws__expr_join(t, WS__INT) : t;
    return coerce_all(c, n, n->type);
}

static int check_conversion(struct ws__ec *c, struct ws__node **pn)
{
    static const enum ws__type to[] = {WS__INT, WS__FLOAT, WS__BOOL};
    struct ws__node *kid = (*pn)->kid[0];

    WS_TRY(ws__expr_coerce(c, &kid, to[(*pn)->op - WS__FN_INT]));
    if (kid->kind == WS__N_CONVERT)
        kid->at = (*pn)->at;
    *pn = kid;
    return 0;
}

static int check_call(struct ws__ec *c, struct ws__node **pn)
{
    struct ws__node *n = *pn;
    enum ws__fn fn = (enum ws__fn)n->op;

    if (n->nkid < arity[fn].min || n->nkid > arity[fn].max) {
        ws__expr_fail(c, n->at, "%s is called with %zu argument%s",
                      ws__fn_name(fn), n->nkid, n->nkid == 1 ? "" : "s");
        return ws__hint(c->ctx, "write %s", arity[fn].usage);
    }
    if ((fn >= WS__FN_LEN && fn != WS__FN_RANGE) ||
        (fn <= WS__FN_MAX && n->nkid == 1))
        return ws__expr_check_list(c, pn);
    for (size_t i = 0; i < n->nkid; i++)
        WS_TRY(ws__expr_check_scalar(c, &n->kid[i]));
    switch (fn) {
    case WS__FN_RANGE:
        n->is_list = true;
        return check_ints(c, n);
    case WS__FN_CEIL_DIV:
    case WS__FN_ROUND_UP:
    case WS__FN_IS_POW2:
    case WS__FN_LOG2_FLOOR:
        return check_ints(c, n);
    case WS__FN_INT:
    case WS__FN_FLOAT:
    case WS__FN_BOOL:
        return check_conversion(c, pn);
    default:
        return check_numbers(c, n);
    }
}
