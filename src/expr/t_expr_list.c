/*
 * t_expr_list.c: value lists: every way to write one, the types they get,
 * their limits, and that what a list computes is what an expression does.
 */
#include "base/t_base.h"

#include "expr/expr.h"

struct env {
    struct ws_ctx *ctx;
    struct ws__arena arena;
    struct ws__strtab strings;
    struct ws__scope scope;
    union wsrt_value v[WS__MAX_SLOTS];
};

static int setup(void **state)
{
    struct env *e = calloc(1, sizeof(*e));
    struct ws__value s = {WS__STR, {.s = "row"}};

    e->ctx = t_ctx(NULL);
    ws__arena_init(&e->arena, e->ctx);
    e->strings.arena = &e->arena;
    e->scope.strings = &e->strings;
    ws__scope_add(e->ctx, &e->scope, "n", WS__INT, NULL);
    ws__scope_add(e->ctx, &e->scope, "f", WS__FLOAT, NULL);
    ws__scope_add(e->ctx, &e->scope, "layout", WS__STR, NULL);
    e->v[0].i = 5;
    e->v[1].f = 0.5;
    ws__value_slot(&e->strings, &s, &e->v[2]);
    *state = e;
    return 0;
}

static int teardown(void **state)
{
    struct env *e = *state;

    ws__arena_free(&e->arena);
    ws_ctx_free(e->ctx);
    free(e);
    return 0;
}

static void check(struct env *e, const char *text, const char *expected)
{
    struct ws__value *v;
    struct ws__buf b;
    size_t n;

    if (ws__expr_list(e->ctx, &e->arena, text, NULL, &e->scope, e->v, 5000, &v,
                      &n) != 0)
        fail_msg("'%s': %s", text, ws_ctx_error(e->ctx)->message);
    ws__buf_init(&b, e->ctx, 100000);
    ws__buf_puts(&b, "");
    for (size_t i = 0; i < n; i++) {
        if (i)
            ws__buf_puts(&b, " ");
        ws__value_print(&b, &v[i]);
    }
    if (strcmp(b.data, expected) != 0)
        fail_msg("'%s': got %s", text, b.data);
    ws__buf_free(&b);
}

static void test_values(void **state)
{
    static const struct {
        const char *text, *list;
    } t[] = {
        {"[1, 2, 4]", "1 2 4"},
        {"[1,]", "1"},
        {"[]", ""},
        {"()", ""},
        {"(1, 2)", "1 2"},
        {"1, 2", "1 2"},
        {"1,", "1"},
        {"[1, 2.5]", "1.0 2.5"},
        {"['a', \"b c\"]", "a 'b c'"},
        {"[true, 1 > 2]", "true false"},
        {"[1, -1, 2**10, 7//2]", "1 -1 1024 3"},
        {"range(4)", "0 1 2 3"},
        {"range(2, 5)", "2 3 4"},
        {"range(9, 0, -3)", "9 6 3"},
        {"range(3, 3)", ""},
        {"range(9223372036854775800, 9223372036854775807, 5)",
         "9223372036854775800 9223372036854775805"},
        {"list(range(3))", "0 1 2"},
        {"list((1, 2))", "1 2"},
        {"list()", ""},
        {"[1, 2] + list(range(32, 129, 32))", "1 2 32 64 96 128"},
        {"[1] + [0.5]", "1.0 0.5"},
        {"[] + ['a']", "a"},
        {"[0] * 3", "0 0 0"},
        {"2 * [1, 2]", "1 2 1 2"},
        {"[1] * -1", ""},
        {"[1] if n > 3 else [2, 3]", "1"},
        {"[2**i for i in range(0, 6)]", "1 2 4 8 16 32"},
        {"[i for i in range(1, 11) if i % 3 == 0]", "3 6 9"},
        {"[32 * i for i in range(1, 4)]", "32 64 96"},
        {"[i * 10 + j for i in range(2) for j in range(i + 1)]", "0 10 11"},
        {"[i for i in range(9) if i > 2 if i < 5]", "3 4"},
        {"(i for i in range(2))", "0 1"},
        {"[i / 2 for i in [1, 2]]", "0.5 1.0"},
        {"[x for x in ['a', 'b'] if x != 'a']", "b"},
        {"[n, n * 2]", "5 10"},
        {"[f, n]", "0.5 5.0"},
        {"[layout, 'col']", "row col"},
        {"[n for n in range(2)]", "0 1"}, /* hides the constant */
        {"[i for i in range(n)]", "0 1 2 3 4"},
        {"[max(i, 2) for i in range(4)]", "2 2 2 3"},
        {"[len(range(i)) for i in range(4)]", "0 1 2 3"},
        {"[sum([j for j in range(i)]) for i in range(5)]", "0 0 1 3 6"},
        {"[sum(j * 0.5 for j in range(i)) for i in range(4)]",
         "0.0 0.0 0.5 1.5"},
        {"[max([i, 2, -i]) + len([i]) for i in range(4)]", "3 3 3 4"},
        {"[min([j for j in range(i)]) if i > 0 else -1 for i in range(3)]",
         "-1 0 0"},
        {"[i for i in range(4) if i > 0 and min([j for j in range(i)]) == 0]",
         "1 2 3"},
        {"[i for i in range(6) if i in [j * 2 for j in range(i)]]", "2 4"},
        {"[i for i in range(6) if i not in [j * 2 for j in range(i)]]",
         "0 1 3 5"},
        {"[i for i in range(9) if all([i % j for j in range(2, i)]) "
         "and i > 1]",
         "2 3 5 7"},
        {"[i for i in range(9) if any(i == j * j for j in range(9))]", "0 1 4"},
        {"[i for i in range(9) if i in range(0, 9, 9 - i)]", "0 6 8"},
        {"[i for i in range(5) if len(range(i)) in range(1, 4, 2)]", "1 3"},
        {"[i for i in [1, 2] if 0 < len(range(i)) <= 1]", "1"},
        {"[-len(range(i)) + 2.5 for i in [1, 2]]", "1.5 0.5"},
        {"[not len(range(i)) for i in range(2)]", "true false"},
        {"[i for i in [3, 4] if i in [1] + [i]]", "3 4"},
        {"[sum([0.5] + [i]) for i in range(2)]", "0.5 1.5"},
        {"[log2_floor(i) for i in [1, 8, 9]]", "0 3 3"},
    };

    for (size_t i = 0; i < WS_COUNT(t); i++)
        check(*state, t[i].text, t[i].list);
}

static void test_errors(void **state)
{
    static const struct {
        const char *text;
        int rc;
        unsigned line, column;
        const char *message, *hint;
    } t[] = {
        {"", WS_EEXPR, 4, 9, "a list", ""},
        {"5", WS_EEXPR, 4, 9, "'5' is one value", "[5]"},
        {"[1, 'a']", WS_EEXPR, 4, 13, "'a'", "one type"},
        {"[1, true]", WS_EEXPR, 4, 13, "'true' is bool", "one type"},
        {"[1, [2]]", WS_EEXPR, 4, 13, "list in a list", "+"},
        {"['a'] + [1]", WS_EEXPR, 4, 17, "is int in a list of str", ""},
        {"[1, 2", WS_EEXPR, 4, 14, "']'", ""},
        {"[i for i in 3]", WS_EEXPR, 4, 21, "needs a list", ""},
        {"[i for in [3]]", WS_EEXPR, 4, 16, "loop variable", ""},
        {"[i for i, j in [3]]", WS_EEXPR, 4, 17, "','", "second 'for'"},
        {"[j for i in [3]]", WS_EEXPR, 4, 10, "unknown name 'j'",
         "known names: i"},
        {"[i for i in [3]] + [i]", WS_EEXPR, 4, 29, "unknown name 'i'", ""},
        {"[2**i\n for i in range(70)]", WS_EEXPR, 4, 11,
         "overflow at '**' (operands 2, 63)", ""},
        {"[1,\n 1 // 0]", WS_EEXPR, 5, 4, "division by zero", ""},
        {"range(1, 2, 0)", WS_EEXPR, 4, 9, "step of range is 0", ""},
        {"range(0.5)", WS_EEXPR, 4, 15, "range takes ints", ""},
        {"range()", WS_EEXPR, 4, 9, "0 arguments", "range(end)"},
        {"[1] * 'a'", WS_EEXPR, 4, 15, "'a'", ""},
        {"[min([x for x in range(0)])]", WS_EEXPR, 4, 10, "empty", ""},
        {"[sum(['a'])]", WS_EEXPR, 4, 14, "is text", ""},
        {"range(101)", WS_ELIMIT, 4, 9, "101 values, at most 100", ""},
        {"range(1000000000)", WS_ELIMIT, 4, 9, "steps", ""},
        {"[1] * 9223372036854775807", WS_ELIMIT, 4, 13, "steps", ""},
        {"[1 for i in range(9999) for j in range(9999) if 0]", WS_ELIMIT, 4, 42,
         "steps", ""},
    };
    const struct ws__loc loc = {"v.json", 4, 9};
    struct env *e = *state;
    const struct ws_error *err = ws_ctx_error(e->ctx);

    for (size_t i = 0; i < WS_COUNT(t); i++) {
        struct ws__value *v;
        size_t n;
        int rc = ws__expr_list(e->ctx, &e->arena, t[i].text, &loc, NULL, NULL,
                               100, &v, &n);

        if (rc != t[i].rc || err->line != t[i].line ||
            err->column != t[i].column || strcmp(err->file, "v.json") != 0 ||
            !strstr(err->message, t[i].message) ||
            !strstr(err->hint, t[i].hint))
            fail_msg("'%s': %d %u:%u: %s (%s)", t[i].text, rc, err->line,
                     err->column, err->message, err->hint);
    }
}

/* Loops as deep as allowed, and one more. */
static void test_deep_loops(void **state)
{
    struct env *e = *state;

    for (int loops = 1; loops <= 20; loops++) {
        struct ws__value *v;
        struct ws__buf b;
        size_t n;
        int rc;

        ws__buf_init(&b, e->ctx, 10000);
        ws__buf_puts(&b, "[1");
        for (int i = 0; i < loops; i++)
            ws__buf_printf(&b, " for v%d in [1]", i);
        ws__buf_puts(&b, "]");
        rc = ws__expr_list(e->ctx, &e->arena, b.data, NULL, NULL, NULL, 100, &v,
                           &n);
        assert_int_equal(rc, loops <= 16 ? 0 : WS_EEXPR);
        ws__buf_free(&b);
    }
}

/* A list and an expression compute the same. */
static void test_same(void **state)
{
    static const char *const t[] = {
        "n // -2",        "n % -3",    "n ** 3",      "n / 3",
        "f * 3 - 1",      "-7 // n",   "n << 3",      "~n",
        "n and f",        "1 < n < 3", "n in [4, 5]", "clamp(n, 0, 3)",
        "ceil_div(n, 2)", "f // 0.3",
    };
    struct env *e = *state;

    for (size_t i = 0; i < WS_COUNT(t); i++) {
        struct ws__expr *x;
        struct ws__value *v;
        union wsrt_value a, b;
        char text[64];
        size_t n;

        assert_int_equal(ws__expr_compile(e->ctx, &e->arena, t[i], NULL,
                                          &e->scope, -1, &x),
                         0);
        assert_int_equal(ws__expr_eval(e->ctx, x, e->v, &a), 0);
        snprintf(text, sizeof(text), "[%s for n in [%d]]", t[i], 5);
        assert_int_equal(ws__expr_list(e->ctx, &e->arena, text, NULL, &e->scope,
                                       e->v, 9, &v, &n),
                         0);
        assert_int_equal(ws__value_slot(NULL, v, &b), 0);
        if (v->type != x->type || a.i != b.i)
            fail_msg("'%s' differs", t[i]);
    }
}

static int torture_body(struct ws_ctx *ctx, void *user)
{
    struct ws__arena a;
    struct ws__value *v;
    size_t n;
    int rc;

    ws__arena_init(&a, ctx);
    rc = ws__expr_list(ctx, &a, user, NULL, NULL, NULL, 5000, &v, &n);
    ws__arena_free(&a);
    return rc;
}

static void test_torture(void **state)
{
    static char numbers[] = "[sum([j for j in range(i)]) + len(range(i)) "
                            "for i in range(90)] + list(range(4000))";
    static char texts[] = "['a', \"b\"] * 900";

    (void)state;
    assert_true(t_torture(torture_body, numbers) > 3);
    assert_true(t_torture(torture_body, texts) > 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_values), T(test_errors),  T(test_deep_loops),
        T(test_same),   T(test_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
