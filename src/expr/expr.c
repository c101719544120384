/*
 * expr.c: scopes, compilation, evaluation. See expr.h.
 *
 * Nodes live in a scratch arena that is gone when compilation ends; what
 * stays is bytecode, its table of places and a copy of the text. Code is
 * checked like foreign code before it is ever run, which costs next to
 * nothing and makes a mistake of the compiler an error instead of a crash.
 */
#include "expr/expr_ast.h"

#include "base/banned.h"

int ws__scope_find(const struct ws__scope *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->names[i].name, name))
            return (int)i;
    return -1;
}

static bool is_name(const char *s)
{
    static const char allowed[] = "_abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

    return *s && !strchr("0123456789", *s) && !s[strspn(s, allowed)];
}

int ws__scope_add(struct ws_ctx *ctx, struct ws__scope *s, const char *name,
                  enum ws__type type, size_t *slot)
{
    if (!is_name(name) || ws__lex_is_keyword(name, strlen(name))) {
        ws__fail(ctx, WS_ESPEC, "'%s' cannot be a name in expressions",
                 ws__expr_quote(name, 0, strlen(name)).s);
        return ws__hint(ctx, "names are letters, digits and _, and no word "
                             "of the language such as 'in'");
    }
    if (ws__scope_find(s, name) >= 0)
        return ws__fail(ctx, WS_ESPEC, "name '%s' is used twice", name);
    if (s->n == WS__MAX_SLOTS)
        return ws__fail(ctx, WS_ESPEC,
                        "no room for name '%s': at most %d "
                        "axes, parameters and variables",
                        name, WS__MAX_SLOTS);
    s->names[s->n].name = name;
    s->names[s->n].type = type;
    if (slot)
        *slot = s->n;
    s->n++;
    return 0;
}

int ws__ec_open(struct ws__ec *c, struct ws_ctx *ctx, struct ws__arena *scratch,
                const char *text, const struct ws__loc *loc,
                const struct ws__scope *scope)
{
    static const struct ws__scope none;

    memset(c, 0, sizeof(*c));
    c->ctx = ctx;
    c->scratch = scratch;
    c->text = text;
    c->len = strlen(text);
    c->scope = scope ? scope : &none;
    c->strings = c->scope->strings;
    if (loc)
        c->loc = *loc;
    if (c->len > WS__TEXT_MAX)
        return ws__fail_at(ctx, WS_ELIMIT, &c->loc,
                           "expression has %zu "
                           "bytes, at most %zu are allowed",
                           c->len, WS__TEXT_MAX);
    return 0;
}

void ws__ec_close(struct ws__ec *c)
{
    ws__free(c->ctx, c->code);
    ws__free(c->ctx, c->place);
}

static int convert_result(struct ws__ec *c, struct ws__node **n, int want)
{
    enum ws__type have = (*n)->type;
    struct ws__quote q = ws__expr_quote(c->text, (*n)->begin, (*n)->end);

    if (want < 0 || have == (enum ws__type)want)
        return 0;
    if (have == WS__STR || want == WS__STR || have == WS__FLOAT) {
        ws__expr_fail(c, (*n)->begin, "'%s' is %s, %s is needed", q.s,
                      ws__type_name(have), ws__type_name((enum ws__type)want));
        if (have == WS__FLOAT && want == WS__INT)
            return ws__hint(c->ctx, "divide with // instead of /, or round "
                                    "with int(...)");
        if (want == WS__BOOL)
            return ws__hint(c->ctx, "compare it with something: ... != %s",
                            have == WS__STR ? "''" : "0");
        return WS_EEXPR;
    }
    return ws__expr_coerce(c, n, (enum ws__type)want);
}

/* Slots read, from the code: what folding removed does not count. */
static void find_uses(struct ws__expr *e)
{
    for (size_t at = 0; at < e->code_bytes;) {
        unsigned imm = wsrt_op_info[e->code[at]].imm;

        if (imm == WSRT_IMM_SLOT) {
            uint32_t slot = wsrt_get16(e->code + at + 1);

            e->uses[slot / 64] |= (uint64_t)1 << slot % 64;
        }
        at += 1U + wsrt_imm_bytes[imm];
    }
}

static int finish(struct ws__ec *c, struct ws__arena *arena,
                  const struct ws__node *n, struct ws__expr **out)
{
    struct ws__expr *e = ws__arena_alloc(arena, 1, sizeof(*e));
    struct ws__code code;

    if (!e)
        return WS_ENOMEM;
    e->text = ws__arena_strdup(arena, c->text);
    if (!e->text)
        return WS_ENOMEM;
    WS_TRY(ws__expr_program(c, arena, n, c->scope->n, &code));
    e->loc = c->loc;
    e->type = n->type;
    e->code = code.code;
    e->code_bytes = code.n;
    e->place = code.place;
    e->integer_only =
        e->type != WS__FLOAT &&
        wsrt_code_check(e->code, e->code_bytes, c->scope->n, 1) == 0;
    find_uses(e);
    *out = e;
    return 0;
}

/* Is some part of it true or false by itself? */
static bool is_condition(const struct ws__node *n)
{
    while (n->kind == WS__N_CONVERT && n->type != WS__BOOL)
        n = n->kid[0];
    if (n->type == WS__BOOL)
        return true;
    if (n->kind == WS__N_COND)
        return is_condition(n->kid[0]) || is_condition(n->kid[2]);
    for (size_t i = 0;
         (n->kind == WS__N_AND || n->kind == WS__N_OR) && i < n->nkid; i++)
        if (is_condition(n->kid[i]))
            return true;
    return false;
}

static int want_condition(struct ws__ec *c, struct ws__node **n)
{
    struct ws__quote q = ws__expr_quote(c->text, 0, c->len);

    if (is_condition(*n))
        return convert_result(c, n, WS__BOOL);
    ws__expr_fail(c, (*n)->begin, "'%s' is no condition, it is %s", q.s,
                  ws__type_name((*n)->type));
    return ws__hint(c->ctx, "compare it with something: ... %s",
                    (*n)->type == WS__STR ? "== 'x'" : "== 0");
}

static int compile(struct ws__ec *c, struct ws__arena *arena, int want,
                   struct ws__expr **out)
{
    struct ws__node *n;

    WS_TRY(ws__expr_parse(c, false, &n));
    WS_TRY(ws__expr_check_scalar(c, &n));
    WS_TRY(want == WS__CONDITION ? want_condition(c, &n)
                                 : convert_result(c, &n, want));
    return finish(c, arena, n, out);
}

int ws__expr_compile(struct ws_ctx *ctx, struct ws__arena *arena,
                     const char *text, const struct ws__loc *loc,
                     const struct ws__scope *scope, int want,
                     struct ws__expr **out)
{
    struct ws__arena scratch;
    struct ws__ec c;
    int rc;

    ws__arena_init(&scratch, ctx);
    WS_TRY_DONE(ws__ec_open(&c, ctx, &scratch, text, loc, scope));
    WS_TRY_DONE(compile(&c, arena, want, out));
done:
    ws__ec_close(&c);
    ws__arena_free(&scratch);
    return rc;
}

int ws__expr_eval(struct ws_ctx *ctx, const struct ws__expr *e,
                  const union wsrt_value *vars, union wsrt_value *out)
{
    struct wsrt_operands o;
    uint32_t where;
    int rc;

    if (wsrt_eval(e->code, e->code_bytes, vars, out, NULL) == WSRT_EVAL_OK)
        return 0;
    rc = wsrt_eval_explain(e->code, vars, out, &where, &o);
    return ws__expr_run_fail(ctx, &e->loc, e->text, e->place[where], rc, &o);
}

int ws__expr_eval_int(struct ws_ctx *ctx, const struct ws__expr *e,
                      const union wsrt_value *vars, int64_t *out)
{
    union wsrt_value v;

    if (e->type != WS__INT && e->type != WS__BOOL)
        return ws__fail_at(ctx, WS_EINVAL, &e->loc,
                           "'%s' is %s, int is "
                           "needed",
                           ws__expr_quote(e->text, 0, strlen(e->text)).s,
                           ws__type_name(e->type));
    WS_TRY(ws__expr_eval(ctx, e, vars, &v));
    *out = v.i;
    return 0;
}

int ws__expr_test(const struct ws__expr *e, const union wsrt_value *vars)
{
    union wsrt_value v;

    if (wsrt_eval(e->code, e->code_bytes, vars, &v, NULL) != WSRT_EVAL_OK)
        return WS_EEXPR;
    return e->type == WS__FLOAT ? v.f != 0 : v.i != 0;
}

bool ws__expr_uses(const struct ws__expr *e, size_t slot)
{
    return slot < WS__MAX_SLOTS && (e->uses[slot / 64] >> slot % 64 & 1);
}
