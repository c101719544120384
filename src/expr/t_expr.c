/*
 * t_expr.c: scalar expressions: values and types, precedence, Python's
 * arithmetic, short circuits, overflow at every operator, and what an error
 * says and where it points to.
 */
#include "base/t_base.h"

#include <float.h>

#include <jansson.h>

#include "expr/expr.h"

struct env {
    struct ws_ctx *ctx;
    struct ws__arena arena;
    struct ws__strtab strings;
    struct ws__scope scope;
    union wsrt_value v[WS__MAX_SLOTS];
};

static void var(struct env *e, const char *name, struct ws__value v)
{
    size_t slot;

    assert_int_equal(ws__scope_add(e->ctx, &e->scope, name, v.type, &slot), 0);
    assert_int_equal(ws__value_slot(&e->strings, &v, &e->v[slot]), 0);
}

static int setup(void **state)
{
    struct env *e = calloc(1, sizeof(*e));

    e->ctx = t_ctx(NULL);
    ws__arena_init(&e->arena, e->ctx);
    e->strings.arena = &e->arena;
    e->scope.strings = &e->strings;
    var(e, "x", (struct ws__value){WS__INT, {.i = 7}});
    var(e, "y", (struct ws__value){WS__INT, {.i = -2}});
    var(e, "zero", (struct ws__value){WS__INT, {.i = 0}});
    var(e, "max_int", (struct ws__value){WS__INT, {.i = INT64_MAX}});
    var(e, "min_int", (struct ws__value){WS__INT, {.i = INT64_MIN}});
    var(e, "f", (struct ws__value){WS__FLOAT, {.f = 2.5}});
    var(e, "huge", (struct ws__value){WS__FLOAT, {.f = 1e308}});
    var(e, "yes", (struct ws__value){WS__BOOL, {.i = 1}});
    var(e, "no", (struct ws__value){WS__BOOL, {.i = 0}});
    var(e, "layout", (struct ws__value){WS__STR, {.s = "row"}});
    var(e, "empty", (struct ws__value){WS__STR, {.s = ""}});
    var(e, "block_size_x", (struct ws__value){WS__INT, {.i = 32}});
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

static struct ws__expr *compile(struct env *e, const char *text, int want)
{
    struct ws__expr *x = NULL;

    if (ws__expr_compile(e->ctx, &e->arena, text, NULL, &e->scope, want, &x))
        fail_msg("'%s': %s", text, ws_ctx_error(e->ctx)->message);
    return x;
}

struct row {
    const char *text;
    enum ws__type type;
    double value; /* small enough to be exact */
};

static void check_rows(struct env *e, const struct row *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct ws__expr *x = compile(e, t[i].text, -1);
        union wsrt_value v;
        double d;

        if (ws__expr_eval(e->ctx, x, e->v, &v) != 0)
            fail_msg("'%s': %s", t[i].text, ws_ctx_error(e->ctx)->message);
        d = x->type == WS__FLOAT ? v.f : (double)v.i;
        if (x->type != t[i].type || d != t[i].value)
            fail_msg("'%s': got %s %.17g", t[i].text, ws__type_name(x->type),
                     d);
    }
}

static void test_values(void **state)
{
    static const struct row t[] = {
        {"1", WS__INT, 1},
        {"0x10", WS__INT, 16},
        {"0b101 + 0o17", WS__INT, 20},
        {"1.5", WS__FLOAT, 1.5},
        {"1e3", WS__FLOAT, 1000},
        {".5", WS__FLOAT, 0.5},
        {"2.", WS__FLOAT, 2},
        {"True", WS__BOOL, 1},
        {"false", WS__BOOL, 0},
        {"x", WS__INT, 7},
        {"f", WS__FLOAT, 2.5},
        {" \t\n x\r\n", WS__INT, 7},
        {"x / 2", WS__FLOAT, 3.5},
        {"x + 1.0", WS__FLOAT, 8},
        {"yes + yes", WS__INT, 2},
        {"-yes", WS__INT, -1},
        {"+yes", WS__INT, 1},
        {"~no", WS__INT, -1},
        {"yes & no", WS__BOOL, 0},
        {"yes ^ no", WS__BOOL, 1},
        {"yes | x", WS__INT, 7},
        {"yes << 3", WS__INT, 8},
        {"x > 3 and x < 9", WS__BOOL, 1},
        {"x == 7.0", WS__BOOL, 1},
        {"layout == 'row'", WS__BOOL, 1},
        {"layout != \"row\"", WS__BOOL, 0},
        {"layout == 'r\\x6fw'", WS__BOOL, 1},
        {"min(x, y)", WS__INT, -2},
        {"min(x, f, 9)", WS__FLOAT, 2.5},
        {"max(x, y, 3, 11)", WS__INT, 11},
        {"max(yes, no)", WS__BOOL, 1},
        {"abs(y)", WS__INT, 2},
        {"abs(-2.5)", WS__FLOAT, 2.5},
        {"abs(yes)", WS__INT, 1},
        {"ceil_div(x, 2)", WS__INT, 4},
        {"round_up(x, 4)", WS__INT, 8},
        {"is_pow2(block_size_x)", WS__BOOL, 1},
        {"is_pow2(x)", WS__BOOL, 0},
        {"log2_floor(x)", WS__INT, 2},
        {"clamp(x, 0, 5)", WS__INT, 5},
        {"clamp(y, 0, 5)", WS__INT, 0},
        {"clamp(f, 0, 5)", WS__FLOAT, 2.5},
        {"int(f)", WS__INT, 2},
        {"int(-f)", WS__INT, -2},
        {"int(yes)", WS__INT, 1},
        {"float(x)", WS__FLOAT, 7},
        {"bool(f)", WS__BOOL, 1},
        {"bool(layout)", WS__BOOL, 1},
        {"bool(empty)", WS__BOOL, 0},
        {"len([x, y, 3])", WS__INT, 3},
        {"sum([x, y, 3])", WS__INT, 8},
        {"sum([])", WS__INT, 0},
        {"sum([yes, x > 3])", WS__INT, 2},
        {"sum([1, f])", WS__FLOAT, 3.5},
        {"max([x, 2 * x])", WS__INT, 14},
        {"any([x > 9, yes])", WS__BOOL, 1},
        {"all([x > 9, yes])", WS__BOOL, 0},
        {"all([])", WS__BOOL, 1},
        {"sum(i * i for i in range(4))", WS__INT, 14},
        {"len(range(0, 1000000))", WS__INT, 1000000},
        {"x in [1, 7]", WS__BOOL, 1},
        {"x not in (1, 7,)", WS__BOOL, 0},
        {"x in []", WS__BOOL, 0},
        {"x in [y, x]", WS__BOOL, 1},
        {"x in [1, 2.5]", WS__BOOL, 0},
        {"f in [1, 2.5]", WS__BOOL, 1},
        {"x in [2**i - 1 for i in range(5)]", WS__BOOL, 1},
        {"x in [1] + list([x])", WS__BOOL, 1},
        {"layout in ['col', 'row']", WS__BOOL, 1},
        {"x in range(7)", WS__BOOL, 0},
        {"x in range(8)", WS__BOOL, 1},
        {"x in range(1, 9, 2)", WS__BOOL, 1},
        {"x in range(2, 9, 2)", WS__BOOL, 0},
        {"x in range(9, 0, -2)", WS__BOOL, 1},
        {"x in range(7, 7)", WS__BOOL, 0},
        {"x in range(y, block_size_x, 3)", WS__BOOL, 1},
        {"y in range(-2, 5)", WS__BOOL, 1},
        {"f in range(5)", WS__BOOL, 0},
        {"2 * f in range(6)", WS__BOOL, 1},
        {"-9223372036854775808 == min_int", WS__BOOL, 1},
    };

    check_rows(*state, t, WS_COUNT(t));
}

static void test_precedence(void **state)
{
    static const struct row t[] = {
        {"1 + 2 * 3", WS__INT, 7},
        {"(1 + 2) * 3", WS__INT, 9},
        {"10 - 4 - 3", WS__INT, 3},
        {"2 ** 3 ** 2", WS__INT, 512},
        {"-2 ** 2", WS__INT, -4},
        {"2 ** -1", WS__FLOAT, 0.5},
        {"-7 // 2", WS__INT, -4},
        {"1 | 2 ^ 3 & 2", WS__INT, 1},
        {"1 << 2 + 1", WS__INT, 8},
        {"6 & 3 == 2", WS__BOOL, 1}, /* unlike C */
        {"1 | 6 & 3 << 1", WS__INT, 7},
        {"not x == 3", WS__BOOL, 1},
        {"!x == 0", WS__BOOL, 1}, /* (!x) == 0 */
        {"not not x", WS__BOOL, 1},
        {"no and no or yes", WS__BOOL, 1},
        {"yes or no and no", WS__BOOL, 1},
        {"yes || no && no", WS__BOOL, 1},
        {"not no and no", WS__BOOL, 0},
        {"1 if yes else 2 if yes else 3", WS__INT, 1},
        {"1 if no else 2 if no else 3", WS__INT, 3},
        {"1 + 2 if no else 4", WS__INT, 4},
        {"1 < 2 == 2", WS__BOOL, 1},
        {"~x + 1", WS__INT, -7},
        {"- - x", WS__INT, 7},
        {"x % 4 * 2", WS__INT, 6},
        {"8 // 3 / 2", WS__FLOAT, 1},
    };

    check_rows(*state, t, WS_COUNT(t));
}

static void test_python(void **state)
{
    static const struct row t[] = {
        {"x // y", WS__INT, -4},
        {"x % y", WS__INT, -1},
        {"-x // 2", WS__INT, -4},
        {"-x % 2", WS__INT, 1},
        {"-x // y", WS__INT, 3},
        {"-x % y", WS__INT, -1},
        {"min_int % -1", WS__INT, 0},
        {"-7.5 // 2", WS__FLOAT, -4},
        {"-7.5 % 2", WS__FLOAT, 0.5},
        {"7.5 % -2", WS__FLOAT, -0.5},
        {"1 // 0.1", WS__FLOAT, 9},
        {"y >> 1", WS__INT, -1},
        {"x >> 100", WS__INT, 0},
        {"zero ** 0", WS__INT, 1},
        {"9007199254740993 / 9007199254740993", WS__FLOAT, 1},
        /* the value of and / or */
        {"x and y", WS__INT, -2},
        {"zero and y", WS__INT, 0},
        {"zero or y", WS__INT, -2},
        {"x or y", WS__INT, 7},
        {"zero or f", WS__FLOAT, 2.5},
        {"f and 0.0", WS__FLOAT, 0},
        {"f or 1.0", WS__FLOAT, 2.5},
        {"x && y", WS__BOOL, 1},
        {"zero || f", WS__BOOL, 1},
        {"(empty or layout) == 'row'", WS__BOOL, 1},
        {"(layout and empty) == ''", WS__BOOL, 1},
        {"x > 3 or 5", WS__INT, 1},
        /* chains */
        {"1 < x < 8", WS__BOOL, 1},
        {"1 < x < 7", WS__BOOL, 0},
        {"9 < x < 8", WS__BOOL, 0},
        {"32 <= x * 5 <= 1024", WS__BOOL, 1},
        {"32 <= x * 4 <= 1024", WS__BOOL, 0},
        {"1 < x + 0 < 8 < 9.5", WS__BOOL, 1},
        {"y < zero < x < 8 != 9", WS__BOOL, 1},
        {"1 < x in [7, 8]", WS__BOOL, 1},
        {"9 < x in [7, 8]", WS__BOOL, 0},
        /* not computed where it does not count */
        {"zero != 0 and x // zero > 1", WS__BOOL, 0},
        {"zero == 0 or x % zero == 0", WS__BOOL, 1},
        {"zero && x // zero", WS__BOOL, 0},
        {"1 if zero == 0 else x // zero", WS__INT, 1},
        {"x // zero if zero else 3", WS__INT, 3},
        {"9 < x < 1 // zero", WS__BOOL, 0},
        {"False and 1 // 0", WS__INT, 0},
        {"True or 1 // 0", WS__INT, 1},
    };

    check_rows(*state, t, WS_COUNT(t));
}

static void test_run_errors(void **state)
{
    static const struct {
        const char *text;
        unsigned column;
        const char *word;
    } t[] = {
        {"max_int + 1", 9, "overflow"},
        {"x + max_int", 3, "overflow"},
        {"min_int - 1", 9, "overflow"},
        {"max_int * x", 9, "overflow"},
        {"max_int * 2", 9, "7, 2"},
        {"min_int // -1", 9, "overflow"},
        {"-min_int", 1, "overflow"},
        {"abs(min_int)", 1, "overflow"},
        {"x ** 99", 3, "overflow"},
        {"x << 61", 3, "overflow"},
        {"round_up(max_int, block_size_x)", 1, "round_up"},
        {"ceil_div(min_int, -1)", 1, "overflow"},
        {"sum([max_int, x])", 1, "overflow"},
        {"int(huge)", 1, "overflow"},
        {"1 + x // zero", 7, "division by zero at '//' (operands 7, 0)"},
        {"x % zero", 3, "division by zero at '%'"},
        {"x / zero", 3, "division by zero"},
        {"f / 0", 3, "division by zero"},
        {"f // zero", 3, "division by zero"},
        {"f % zero", 3, "division by zero"},
        {"ceil_div(x, zero)", 1, "ceil_div"},
        {"0.0 ** y", 5, "division by zero"},
        {"x ** y", 3, "out of range"},
        {"x << y", 3, "out of range"},
        {"x >> y", 3, "out of range"},
        {"log2_floor(zero)", 1, "out of range"},
        {"huge * 10", 6, "out of range"},
        {"huge + huge", 6, "out of range"},
        {"huge ** 2", 6, "out of range"},
        {"(-f) ** 0.5", 6, "out of range"},
        {"x > 3 and 2 ** 64 > x", 13, "overflow"},
        {"1 < x // zero < 3", 7, "division by zero"},
    };
    struct env *e = *state;
    union wsrt_value v;

    for (size_t i = 0; i < WS_COUNT(t); i++) {
        struct ws__expr *x = compile(e, t[i].text, -1);
        const struct ws_error *err = ws_ctx_error(e->ctx);

        if (ws__expr_eval(e->ctx, x, e->v, &v) != WS_EEXPR)
            fail_msg("'%s' has a value", t[i].text);
        if (err->column != t[i].column || err->line != 1 ||
            !strstr(err->message, t[i].word) || !err->hint[0])
            fail_msg("'%s': column %u: %s (%s)", t[i].text, err->column,
                     err->message, err->hint);
        assert_int_equal(ws__expr_test(x, e->v), WS_EEXPR);
    }
}

static void test_errors(void **state)
{
    static const struct {
        const char *text;
        unsigned line, column;
        const char *message, *hint;
    } t[] = {
        {"", 10, 5, "ends where a value", ""},
        {"x +", 10, 8, "ends where a value", ""},
        {"blok_size_x > 3", 10, 5, "unknown name 'blok_size_x'",
         "'block_size_x'"},
        {"1 + Layout", 10, 9, "'Layout'", "'layout'"},
        {"x > qqqqq", 10, 9, "'qqqqq'", "known names: x, y"},
        {"x >\n  3 and\n  qqqqq", 12, 3, "'qqqqq'", "known names"},
        {"x > max", 10, 9, "'max'", ""},
        {"x = 3", 10, 7, "'='", "did you mean '=='"},
        {"x is 3", 10, 7, "'is'", "did you mean '=='"},
        {"x ? 1 : 2", 10, 7, "'?'", "if condition else"},
        {"x # all", 10, 7, "'#'", "comments"},
        {"x; y", 10, 6, "';'", "'and'"},
        {"mx(x, 3)", 10, 5, "unknown function 'mx'", "'max'"},
        {"sqrt(x)", 10, 5, "unknown function 'sqrt'", "functions: min"},
        {"clamp(x)", 10, 5, "clamp is called with 1", "clamp(x, lo, hi)"},
        {"(x", 10, 7, "')'", ""},
        {"x)", 10, 6, "')'", "closes nothing"},
        {"x 3", 10, 7, "'3'", "operator is missing"},
        {"x, 3", 10, 6, "','", "lists are written"},
        {"x[0]", 10, 6, "'['", "no indexing"},
        {"1 + not x", 10, 9, "'not'", "parentheses"},
        {"1 if x", 10, 11, "'else'", ""},
        {"x not 3", 10, 11, "'in'", ""},
        {"10L", 10, 5, "'10L'", "suffix"},
        {"010", 10, 5, "'010'", "0o"},
        {"0x", 10, 5, "'0x'", "0-9"},
        {"1e999", 10, 5, "'1e999'", "largest float"},
        {"9223372036854775808", 10, 5, "64 bits", "9223372036854775807"},
        {"99999999999999999999", 10, 5, "64 bits", "9223372036854775807"},
        {"'abc", 10, 5, "without an end", "close it"},
        {"'a\\qb'", 10, 7, "escape", "known"},
        {"layout < 'a'", 10, 12, "no order", "=="},
        {"layout == 3", 10, 12, "'layout' (str)", "quotes"},
        {"layout + 'a'", 10, 5, "'layout' is text", ""},
        {"layout or 3", 10, 12, "cannot join", ""},
        {"3 if x else layout", 10, 7, "cannot choose", ""},
        {"f & 1", 10, 5, "'&' takes ints, 'f'", "//"},
        {"x / 2 << 1", 10, 5, "'<<' takes ints, 'x / 2'", "//"},
        {"is_pow2(x / 2)", 10, 13, "is_pow2 takes ints, 'x / 2'", "//"},
        {"range(x)", 10, 5, "a list where one value", "in"},
        {"[1, 2] and x", 10, 5, "'[1, 2]' is a list", ""},
        {"x in 7", 10, 10, "needs a list, '7' is int", "[1, 2, 4]"},
        {"layout in [1]", 10, 12, "cannot look up", ""},
        {"x in [1, 'a']", 10, 14, "in a list of int", "one type"},
        {"x in [i * x for i in range(3)]", 10, 10, "not constant", "range"},
        {"x in range(0, 9, y)", 10, 22, "step 'y'", "remainder"},
        {"x in range(0, 9, 0)", 10, 22, "step '0'", "remainder"},
        {"min([])", 10, 5, "empty list", ""},
        {"1 < x in [1] in [2]", 10, 18, "'in'", ""},
        {"\303\251 + 1", 10, 5, "'\303\251'", ""},
        {"'\303\251\303\251' == 3", 10, 10, "(str)", ""},
    };
    const struct ws__loc loc = {"k.yaml", 10, 5};
    struct env *e = *state;
    const struct ws_error *err = ws_ctx_error(e->ctx);
    struct ws__expr *x;

    for (size_t i = 0; i < WS_COUNT(t); i++) {
        if (ws__expr_compile(e->ctx, &e->arena, t[i].text, &loc, &e->scope, -1,
                             &x) != WS_EEXPR)
            fail_msg("'%s' compiles", t[i].text);
        if (err->line != t[i].line || err->column != t[i].column ||
            strcmp(err->file, "k.yaml") != 0 ||
            !strstr(err->message, t[i].message) ||
            !strstr(err->hint, t[i].hint))
            fail_msg("'%s': %u:%u: %s (%s)", t[i].text, err->line, err->column,
                     err->message, err->hint);
    }
}

static void test_want(void **state)
{
    static const struct {
        const char *text;
        int want;
        bool ok;
        enum ws__type type;
    } t[] = {
        {"x", WS__FLOAT, true, WS__FLOAT},  {"x", WS__BOOL, true, WS__BOOL},
        {"yes", WS__INT, true, WS__INT},    {"yes", WS__FLOAT, true, WS__FLOAT},
        {"f", WS__INT, false, 0},           {"x / 2", WS__INT, false, 0},
        {"f", WS__BOOL, false, 0},          {"layout", WS__BOOL, false, 0},
        {"layout", WS__STR, true, WS__STR}, {"x", WS__STR, false, 0},
        {"layout", WS__INT, false, 0},
    };
    struct env *e = *state;

    for (size_t i = 0; i < WS_COUNT(t); i++) {
        struct ws__expr *x = NULL;
        int rc = ws__expr_compile(e->ctx, &e->arena, t[i].text, NULL, &e->scope,
                                  t[i].want, &x);

        if (rc != (t[i].ok ? 0 : WS_EEXPR) || (rc == 0 && x->type != t[i].type))
            fail_msg("'%s' as %d", t[i].text, t[i].want);
    }
    assert_int_equal(ws__expr_test(compile(e, "x", WS__BOOL), e->v), 1);
    assert_int_equal(ws__expr_test(compile(e, "zero", WS__BOOL), e->v), 0);
}

/* Words are numbers that are known; names of the scope go first. */
static void test_words(void **state)
{
    static const struct ws__word words[] = {{"float32", 2},
                                            {"bool", 12},
                                            {"x", 99}};
    static const struct row rows[] = {
        {"float32", WS__INT, 2},
        {"x", WS__INT, 7},
        {"bool", WS__INT, 12},
        {"bool(3)", WS__BOOL, 1},
        {"4 if y == -float32 else 2", WS__INT, 4},
        {"x in (float32, bool)", WS__BOOL, 0},
        {"sum([float32 for float32 in [5, 6]])", WS__INT, 11},
    };
    struct env *e = *state;
    struct ws__expr *n;

    e->scope.word = words;
    e->scope.nword = WS_COUNT(words);
    check_rows(e, rows, WS_COUNT(rows));
    assert_int_equal(ws__expr_compile(e->ctx, &e->arena, "x == flaot32", NULL,
                                      &e->scope, -1, &n),
                     WS_EEXPR);
    assert_non_null(strstr(ws_ctx_error(e->ctx)->hint, "'float32'"));
}

static void test_constants(void **state)
{
    static const struct ws__constant constant[] = {
        {.name = "EPS", .value = {.type = WS__FLOAT, .u.f = 0.25}},
        {.name = "LANES", .value = {.type = WS__INT, .u.i = 32}},
        {.name = "x", .value = {.type = WS__INT, .u.i = 99}},
    };
    static const struct row rows[] = {
        {"LANES", WS__INT, 32},
        {"LANES // 3", WS__INT, 10},
        {"x", WS__INT, 7},
        {"LANES if EPS < 0.5 else 0", WS__INT, 32},
        {"sum([LANES for LANES in [5, 6]])", WS__INT, 11},
    };
    struct env *e = *state;
    union wsrt_value v;
    struct ws__expr *n;

    e->scope.constant = constant;
    e->scope.nconstant = WS_COUNT(constant);
    check_rows(e, rows, WS_COUNT(rows));
    assert_int_equal(ws__expr_compile(e->ctx, &e->arena, "EPS * 2", NULL,
                                      &e->scope, -1, &n),
                     0);
    assert_int_equal(n->type, WS__FLOAT);
    assert_int_equal(ws__expr_eval(e->ctx, n, NULL, &v), 0);
    assert_true(v.f == 0.5);
    assert_int_equal(ws__expr_compile(e->ctx, &e->arena, "LANE + 1", NULL,
                                      &e->scope, -1, &n),
                     WS_EEXPR);
    assert_non_null(strstr(ws_ctx_error(e->ctx)->hint, "'LANES'"));
}

static void test_conditions(void **state)
{
    static const char *const good[] = {
        "x == 7",
        "yes",
        "not x",
        "yes or x",
        "x and f > 2",
        "no or x == 7 if yes else 5",
        "5 if x else no",
        "x && y",
        "bool(x)",
        "is_pow2(x)",
        "true",
        "1 < x < 9",
        "layout == 'row'",
        "x in [1, 7]",
        "yes | no",
        "0 or (zero and no) or (x and yes)",
    };
    static const char *const bad[] = {
        "x",      "5",       "x % 2",     "f",
        "2.5",    "layout",  "'a'",       "x and y",
        "x or 1", "yes + 1", "min(x, y)", "5 if yes else 3",
        "x & y",  "-yes",    "len([1])",
    };
    struct env *e = *state;
    struct ws__expr *n;

    for (size_t i = 0; i < WS_COUNT(good); i++)
        assert_int_equal(compile(e, good[i], WS__CONDITION)->type, WS__BOOL);
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        if (ws__expr_compile(e->ctx, &e->arena, bad[i], NULL, &e->scope,
                             WS__CONDITION, &n) != WS_EEXPR)
            fail_msg("'%s' is taken as a condition", bad[i]);
        assert_non_null(strstr(ws_ctx_error(e->ctx)->message, "no condition"));
        assert_non_null(strstr(ws_ctx_error(e->ctx)->hint, "=="));
    }
}

static void test_uses(void **state)
{
    struct env *e = *state;
    struct ws__expr *x = compile(e, "x + zero * 2 > f and y in [x]", -1);

    for (size_t i = 0; i < e->scope.n; i++) {
        const char *n = e->scope.names[i].name;

        assert_int_equal(ws__expr_uses(x, i),
                         !strcmp(n, "x") || !strcmp(n, "y") ||
                             !strcmp(n, "zero") || !strcmp(n, "f"));
    }
    assert_false(ws__expr_uses(x, 100000));
    assert_false(x->integer_only);
    assert_true(compile(e, "x // 2 > y", -1)->integer_only);
    assert_true(compile(e, "1 / 2 > 3", -1)->integer_only); /* folded */
    assert_false(compile(e, "x / 2 > y", -1)->integer_only);
    assert_false(compile(e, "f", -1)->integer_only);
    assert_false(ws__expr_uses(compile(e, "3 if True else x", -1), 0));
}

/* Constants end as constants. */
static void test_folding(void **state)
{
    struct env *e = *state;

    assert_int_equal(compile(e, "2 * 3 + 4 ** 2 - len([1, 2])", -1)->code_bytes,
                     3);
    assert_int_equal(compile(e, "x * (2 + 3)", -1)->code_bytes, 3 + 5 + 1);
    assert_int_equal(compile(e, "False and x", -1)->code_bytes, 3);
}

static char *repeat(const char *a, size_t n, const char *mid, const char *b)
{
    size_t la = strlen(a), lb = strlen(b), lm = strlen(mid);
    char *s = calloc((la + lb) * n + lm + 1, 1), *p = s;

    for (size_t i = 0; i < n; i++, p += la)
        memcpy(p, a, la);
    memcpy(p, mid, lm);
    p += lm;
    for (size_t i = 0; i < n; i++, p += lb)
        memcpy(p, b, lb);
    return s;
}

static void test_limits(void **state)
{
    static const struct {
        const char *a;
        size_t n;
        const char *mid, *b;
        int rc;
    } t[] = {
        {"(", 150, "x", ")", 0},
        {"(", 300, "x", ")", WS_EEXPR},
        {"(", 30000, "x", ")", WS_EEXPR},
        {"[", 30000, "x", "]", WS_EEXPR},
        {"-", 60000, "x", "", WS_EEXPR},
        {"not ", 10000, "x", "", WS_EEXPR},
        {"x**", 10000, "x", "", WS_EEXPR},
        {"x+", 500, "x", "", 0},
        {"x+", 30000, "x", "", WS_EEXPR},
        {"x and ", 9000, "x", "", 0},
        {"x < ", 9000, "x", "", WS_EEXPR},
        {"x+(", 50, "x", ")", 0},
        {"x+(", 100, "x", ")", WS_EEXPR}, /* the machine's stack */
        {"1 if x else ", 5000, "x", "", WS_EEXPR},
        {"min(x,", 5000, "x", ")", WS_EEXPR},
        {" ", 65535, "x", "", 0},
        {" ", 65536, "x", "", WS_ELIMIT},
    };
    struct env *e = *state;

    for (size_t i = 0; i < WS_COUNT(t); i++) {
        char *s = repeat(t[i].a, t[i].n, t[i].mid, t[i].b);
        struct ws__expr *x;
        int rc =
            ws__expr_compile(e->ctx, &e->arena, s, NULL, &e->scope, -1, &x);

        if (rc != t[i].rc)
            fail_msg("row %zu: %d, %s", i, rc,
                     rc ? ws_ctx_error(e->ctx)->message : "");
        free(s);
    }
    assert_int_equal(ws__expr_compile(e->ctx, &e->arena,
                                      "x in list(range(0, 9000)) + [3]", NULL,
                                      &e->scope, -1,
                                      &(struct ws__expr *){NULL}),
                     WS_EEXPR);
}

static void test_scope(void **state)
{
    struct env *e = *state;
    struct ws__scope s = {.n = 0};
    struct ws__expr *x;
    static char name[WS__MAX_SLOTS][8];
    size_t slot;

    assert_int_equal(ws__scope_add(e->ctx, &s, "in", WS__INT, NULL), WS_ESPEC);
    assert_int_equal(ws__scope_add(e->ctx, &s, "1a", WS__INT, NULL), WS_ESPEC);
    assert_int_equal(ws__scope_add(e->ctx, &s, "", WS__INT, NULL), WS_ESPEC);
    assert_int_equal(ws__scope_add(e->ctx, &s, "a-b", WS__INT, NULL), WS_ESPEC);
    for (size_t i = 0; i < WS__MAX_SLOTS; i++) {
        snprintf(name[i], sizeof(name[i]), "n%zu", i);
        assert_int_equal(ws__scope_add(e->ctx, &s, name[i], WS__INT, &slot), 0);
        assert_int_equal(slot, i);
    }
    assert_int_equal(ws__scope_add(e->ctx, &s, "n5", WS__INT, NULL), WS_ESPEC);
    assert_int_equal(ws__scope_add(e->ctx, &s, "more", WS__INT, NULL),
                     WS_ESPEC);
    assert_int_equal(ws__scope_find(&s, "n127"), 127);
    assert_int_equal(ws__scope_find(&s, "n128"), -1);
    /* no table of strings, no scope at all */
    assert_int_equal(ws__expr_compile(e->ctx, &e->arena, "'a' == 'a'", NULL, &s,
                                      -1, &x),
                     WS_EEXPR);
    assert_int_equal(ws__expr_compile(e->ctx, &e->arena, "1 + 1", NULL, NULL,
                                      -1, &x),
                     0);
}

static void test_eval_int(void **state)
{
    struct env *e = *state;
    struct ws__expr *x;
    int64_t v;

    x = compile(e, "7 // 2", WS__INT);
    assert_int_equal(ws__expr_eval_int(e->ctx, x, NULL, &v), 0);
    assert_int_equal(v, 3);
    assert_int_equal(ws__expr_eval_int(e->ctx, compile(e, "f", -1), e->v, &v),
                     WS_EINVAL);
}

static int torture_body(struct ws_ctx *ctx, void *user)
{
    struct ws__arena a;
    struct ws__strtab strings = {.arena = &a};
    struct ws__scope s = {.strings = &strings};
    struct ws__expr *x;
    int rc;

    ws__arena_init(&a, ctx);
    rc = ws__scope_add(ctx, &s, "x", WS__INT, NULL);
    if (rc == 0)
        rc = ws__expr_compile(ctx, &a, user, NULL, &s, -1, &x);
    ws__arena_free(&a);
    return rc;
}

static void test_torture(void **state)
{
    static char small[] = "x in [2**i for i in range(9)] and 'a' == 'b'";
    char *big = repeat("(x in [1,2,3] or x > 1 + 2) and ", 60, "x", "");

    (void)state;
    assert_true(t_torture(torture_body, small) > 3);
    assert_true(t_torture(torture_body, big) > 5);
    free(big);
}

/* --- values --- */

static void test_value_print(void **state)
{
    static const struct {
        struct ws__value v;
        const char *text;
    } t[] = {
        {{WS__INT, {.i = INT64_MIN}}, "-9223372036854775808"},
        {{WS__BOOL, {.i = 1}}, "true"},
        {{WS__FLOAT, {.f = 3}}, "3.0"},
        {{WS__FLOAT, {.f = 0.1}}, "0.1"},
        {{WS__FLOAT, {.f = 1e300}}, "1e+300"},
        {{WS__FLOAT, {.f = 1.0 / 3}}, "0.3333333333333333"},
        {{WS__FLOAT, {.f = DBL_MAX}}, "1.7976931348623157e+308"},
        {{WS__FLOAT, {.f = -0.5}}, "-0.5"},
        {{WS__STR, {.s = "row_1"}}, "row_1"},
        {{WS__STR, {.s = "a b"}}, "'a b'"},
        {{WS__STR, {.s = "true"}}, "'true'"},
        {{WS__STR, {.s = ""}}, "''"},
        {{WS__STR, {.s = "it's\\\n"}}, "'it\\'s\\\\\\x0a'"},
        {{WS__STR, {.s = "1a"}}, "'1a'"},
    };
    struct env *e = *state;

    for (size_t i = 0; i < WS_COUNT(t); i++) {
        struct ws__buf b;
        struct ws__value *back;
        char text[80];
        size_t n;

        ws__buf_init(&b, e->ctx, 1000);
        assert_int_equal(ws__value_print(&b, &t[i].v), 0);
        assert_string_equal(b.data, t[i].text);
        snprintf(text, sizeof(text), "[%s]", b.data);
        if (t[i].v.type != WS__STR || b.data[0] == '\'') {
            assert_int_equal(ws__expr_list(e->ctx, &e->arena, text, NULL, NULL,
                                           NULL, 9, &back, &n),
                             0);
            assert_int_equal(n, 1);
            assert_int_equal(back->type, t[i].v.type);
            assert_true(ws__value_eq(back, &t[i].v));
        }
        ws__buf_free(&b);
    }
}

static void test_value_eq(void **state)
{
    struct ws__value i1 = {WS__INT, {.i = 1}}, f1 = {WS__FLOAT, {.f = 1}};
    struct ws__value big = {WS__INT, {.i = 9007199254740993}};
    struct ws__value fbig = {WS__FLOAT, {.f = 9007199254740992}};
    struct ws__value b1 = {WS__BOOL, {.i = 1}}, s = {WS__STR, {.s = "1"}};

    (void)state;
    assert_true(ws__value_eq(&i1, &f1));
    assert_true(ws__value_eq(&f1, &b1));
    assert_false(ws__value_eq(&i1, &s));
    assert_false(ws__value_eq(&s, &f1));
    assert_false(ws__value_eq(&big, &fbig));
    fbig.u.f = 1e300;
    assert_false(ws__value_eq(&fbig, &big));
}

/* --- the files of a published benchmark set, as they are --- */

static void read_t1(struct env *e, const char *path)
{
    json_t *root = json_load_file(path, 0, NULL), *space, *item;
    struct ws__scope s = {.strings = &e->strings};
    struct ws__expr *x;
    size_t i, n;

    assert_non_null(root);
    space = json_object_get(root, "ConfigurationSpace");
    json_array_foreach(json_object_get(space, "TuningParameters"), i, item)
    {
        const char *text = json_string_value(json_object_get(item, "Values"));
        const char *name = json_string_value(json_object_get(item, "Name"));
        struct ws__value *v;

        if (ws__expr_list(e->ctx, &e->arena, text, NULL, NULL, NULL, 4096, &v,
                          &n) != 0)
            fail_msg("%s: %s: %s", path, text, ws_ctx_error(e->ctx)->message);
        assert_true(n > 0);
        assert_int_equal(v->type, WS__INT);
        assert_int_equal(ws__scope_add(e->ctx, &s,
                                       ws__arena_strdup(&e->arena, name),
                                       WS__INT, NULL),
                         0);
    }
    json_array_foreach(json_object_get(space, "Conditions"), i, item)
    {
        const char *text =
            json_string_value(json_object_get(item, "Expression"));

        if (ws__expr_compile(e->ctx, &e->arena, text, NULL, &s, WS__BOOL, &x))
            fail_msg("%s: %s: %s", path, text, ws_ctx_error(e->ctx)->message);
        assert_true(x->uses[0] != 0);
    }
    json_decref(root);
}

static void test_t1_files(void **state)
{
    static const char *const name[] = {"convolution",       "convolution_milo",
                                       "dedispersion_milo", "gemm_milo",
                                       "hotspot_milo",      "pnpoly"};
    const char *dir = getenv("WS_DATA");
    char path[1024];

    for (size_t i = 0; i < WS_COUNT(name); i++) {
        snprintf(path, sizeof(path), "%s/benchmark_hub/T1_%s.json",
                 dir ? dir : "../shared/data", name[i]);
        FILE *f = fopen(path, "r");

        if (!f)
            SKIP("no '%s'", path);
        fclose(f);
        read_t1(*state, path);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_values),      T(test_precedence), T(test_python),
        T(test_run_errors),  T(test_errors),     T(test_want),
        T(test_uses),        T(test_words),      T(test_constants),
        T(test_conditions),  T(test_folding),    T(test_limits),
        T(test_scope),       T(test_eval_int),   T(test_torture),
        T(test_value_print), T(test_value_eq),   T(test_t1_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
