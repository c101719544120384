/*
 * expr_c.c: expressions in C++. See ws__expr_print_c.
 *
 * The text is parsed and checked again, so that types, conversions and order
 * are those of the bytecode; each node is then printed in parentheses.
 */
#include <math.h>

#include "expr/expr_ast.h"

#include "base/banned.h"

struct print {
    struct ws__ec *c;
    struct ws__buf *b;
    int (*name)(void *user, size_t slot, struct ws__buf *out);
    void *user;
};

static int print(struct print *p, const struct ws__node *n);

static int refuse(struct print *p, const struct ws__node *n)
{
    struct ws__loc loc = ws__expr_loc(&p->c->loc, p->c->text, n->at);
    struct ws__quote q = ws__expr_quote(p->c->text, n->begin, n->end);

    return ws__fail_at(p->c->ctx, WS_ENOTSUP, &loc,
                       "'%s' cannot be written in C++", q.s);
}

static int literal(struct print *p, const struct ws__node *n)
{
    if (n->type == WS__FLOAT)
        return isfinite(n->v.f) ? ws__buf_printf(p->b, "%a", n->v.f)
                                : refuse(p, n);
    if (n->v.i == INT64_MIN)
        return ws__buf_puts(p->b, "INT64_MIN");
    return ws__buf_printf(p->b, "INT64_C(%lld)", (long long)n->v.i);
}

/* "(a op b)", or "f(a, b)". */
static int pair(struct print *p, const char *before, const struct ws__node *a,
                const char *between, const struct ws__node *b)
{
    ws__buf_puts(p->b, before);
    WS_TRY(print(p, a));
    ws__buf_puts(p->b, between);
    WS_TRY(print(p, b));
    return ws__buf_puts(p->b, ")");
}

static int binary(struct print *p, const struct ws__node *n)
{
    static const struct {
        const char *before, *between;
    } of[] = {
        [WS__T_PLUS] = {"(", " + "},
        [WS__T_MINUS] = {"(", " - "},
        [WS__T_STAR] = {"(", " * "},
        [WS__T_SLASH] = {"wsl_div(", ", "},
        [WS__T_FLOOR] = {"wsl_floor_div(", ", "},
        [WS__T_PERCENT] = {"wsl_mod(", ", "},
        [WS__T_POWER] = {"wsl_pow(", ", "},
        [WS__T_PIPE] = {"(", " | "},
        [WS__T_CARET] = {"(", " ^ "},
        [WS__T_AMP] = {"(", " & "},
        [WS__T_SHL] = {"(", " << "},
        [WS__T_SHR] = {"(", " >> "},
    };

    if (n->op >= WS_COUNT(of) || !of[n->op].before)
        return refuse(p, n);
    return pair(p, of[n->op].before, n->kid[0], of[n->op].between, n->kid[1]);
}

static int compare(struct print *p, const struct ws__node *n)
{
    static const char *const of[] = {
        [WS__T_EQ] = " == ", [WS__T_NE] = " != ", [WS__T_LT] = " < ",
        [WS__T_LE] = " <= ", [WS__T_GT] = " > ",  [WS__T_GE] = " >= ",
    };

    ws__buf_puts(p->b, "(");
    for (size_t i = 0; i + 1 < n->nkid; i++) {
        if (n->ops[i] >= WS_COUNT(of) || !of[n->ops[i]])
            return refuse(p, n);
        ws__buf_puts(p->b, i ? " && " : "");
        WS_TRY(pair(p, "(", n->kid[i], of[n->ops[i]], n->kid[i + 1]));
    }
    return ws__buf_puts(p->b, ")");
}

static int in_list(struct print *p, const struct ws__node *n)
{
    const struct ws__node *list = n->kid[1];

    if (n->ranged || list->kind != WS__N_LIST)
        return refuse(p, n);
    ws__buf_puts(p->b, n->negated ? "!(false" : "(false");
    for (size_t i = 0; i < list->nkid; i++) {
        ws__buf_puts(p->b, " || ");
        WS_TRY(pair(p, "(", n->kid[0], " == ", list->kid[i]));
    }
    return ws__buf_puts(p->b, ")");
}

/* A side is the value, not its truth, where it is no bool. */
static int logic(struct print *p, const struct ws__node *n)
{
    bool truth = n->type == WS__BOOL || n->c_style;
    const char *f = n->kind == WS__N_AND ? "wsl_and(" : "wsl_or(";
    const char *op = n->kind == WS__N_AND ? " && " : " || ";

    if (n->type == WS__STR)
        return refuse(p, n);
    for (size_t i = 0; i + 1 < n->nkid; i++) {
        ws__buf_puts(p->b, truth ? "(" : f);
        WS_TRY(print(p, n->kid[i]));
        ws__buf_puts(p->b, truth ? op : ", ");
    }
    WS_TRY(print(p, n->kid[n->nkid - 1]));
    for (size_t i = 0; i + 1 < n->nkid; i++)
        ws__buf_puts(p->b, ")");
    return p->b->failed;
}

static int conditional(struct print *p, const struct ws__node *n)
{
    ws__buf_puts(p->b, "(");
    WS_TRY(print(p, n->kid[1]));
    return pair(p, " ? ", n->kid[0], " : ", n->kid[2]);
}

static int call(struct print *p, const struct ws__node *n)
{
    static const char *const of[WS__NFN] = {
        [WS__FN_MIN] = "wsl_min(",
        [WS__FN_MAX] = "wsl_max(",
        [WS__FN_ABS] = "wsl_abs(",
        [WS__FN_CEIL_DIV] = "wsl_ceil_div(",
        [WS__FN_ROUND_UP] = "wsl_round_up(",
        [WS__FN_IS_POW2] = "wsl_is_pow2(",
        [WS__FN_LOG2_FLOOR] = "wsl_log2_floor(",
        [WS__FN_CLAMP] = "wsl_clamp(",
    };
    bool nested = n->op == WS__FN_MIN || n->op == WS__FN_MAX;

    if (n->op >= WS__NFN || !of[n->op] || !n->nkid)
        return refuse(p, n);
    for (size_t i = 0; i < n->nkid; i++) {
        const struct ws__node *kid = n->kid[i];

        if (kid->is_list)
            return refuse(p, n);
        if (nested ? i + 1 < n->nkid : !i)
            ws__buf_puts(p->b, of[n->op]);
        WS_TRY(print(p, kid));
        ws__buf_puts(p->b, i + 1 < n->nkid ? ", " : "");
    }
    for (size_t i = 0; i + 1 < n->nkid && nested; i++)
        ws__buf_puts(p->b, ")");
    return nested ? p->b->failed : ws__buf_puts(p->b, ")");
}

static int convert(struct print *p, const struct ws__node *n)
{
    static const char *const to[] = {[WS__INT] = "(int64_t)(",
                                     [WS__FLOAT] = "(double)(",
                                     [WS__BOOL] = "(0 != "};

    if (n->type == WS__STR || n->kid[0]->type == WS__STR)
        return refuse(p, n);
    ws__buf_puts(p->b, to[n->type]);
    WS_TRY(print(p, n->kid[0]));
    return ws__buf_puts(p->b, ")");
}

static int print(struct print *p, const struct ws__node *n)
{
    switch (n->kind) {
    case WS__N_LIT:
        return literal(p, n);
    case WS__N_SLOT:
        return p->name(p->user, n->slot, p->b);
    case WS__N_UNARY:
        ws__buf_puts(p->b, n->op == WS__T_MINUS   ? "(-"
                           : n->op == WS__T_TILDE ? "(~"
                                                  : "(!");
        WS_TRY(print(p, n->kid[0]));
        return ws__buf_puts(p->b, ")");
    case WS__N_BINARY:
        return binary(p, n);
    case WS__N_COMPARE:
        return compare(p, n);
    case WS__N_IN:
        return in_list(p, n);
    case WS__N_AND:
    case WS__N_OR:
        return logic(p, n);
    case WS__N_COND:
        return conditional(p, n);
    case WS__N_CALL:
        return call(p, n);
    case WS__N_CONVERT:
        return convert(p, n);
    default:
        return refuse(p, n);
    }
}

int ws__expr_print_c(struct ws_ctx *ctx, const struct ws__expr *e,
                     const struct ws__scope *scope,
                     int (*name)(void *user, size_t slot, struct ws__buf *out),
                     void *user, struct ws__buf *out)
{
    struct ws__arena scratch;
    struct ws__ec c;
    struct print p = {.c = &c, .b = out, .name = name, .user = user};
    struct ws__node *n;
    int rc;

    ws__arena_init(&scratch, ctx);
    WS_TRY_DONE(ws__ec_open(&c, ctx, &scratch, e->text, &e->loc, scope));
    WS_TRY_DONE(ws__expr_parse(&c, false, &n));
    WS_TRY_DONE(ws__expr_check_scalar(&c, &n));
    if (e->type != n->type)
        WS_TRY_DONE(ws__expr_coerce(&c, &n, e->type));
    WS_TRY_DONE(print(&p, n));
    rc = out->failed;
done:
    ws__ec_close(&c);
    ws__arena_free(&scratch);
    return rc;
}
