/*
 * t_expr_trend.c: a trend that is claimed holds for every value, and the
 * constraints that spaces are made of have one.
 */
#include "base/t_base.h"

#include "base/hash.h"
#include "expr/expr.h"

#define SLOTS 3
#define ROUNDS 4000

static const char *const names[SLOTS] = {"x", "y", "z"};

struct env {
    struct ws_ctx *ctx;
    struct ws__arena arena;
    struct ws__strtab strings;
    struct ws__scope scope;
};

static void open_env(struct env *e)
{
    memset(e, 0, sizeof(*e));
    e->ctx = t_ctx(NULL);
    ws__arena_init(&e->arena, e->ctx);
    e->strings.arena = &e->arena;
    e->scope.strings = &e->strings;
    for (size_t i = 0; i < SLOTS; i++)
        assert_int_equal(ws__scope_add(e->ctx, &e->scope, names[i], WS__INT,
                                       NULL),
                         0);
    assert_int_equal(ws__scope_add(e->ctx, &e->scope, "f", WS__FLOAT, NULL), 0);
}

static void close_env(struct env *e)
{
    ws__arena_free(&e->arena);
    ws_ctx_free(e->ctx);
}

static struct ws__expr *compile(struct env *e, const char *text)
{
    struct ws__expr *x;

    if (ws__expr_compile(e->ctx, &e->arena, text, NULL, &e->scope, WS__BOOL,
                         &x) < 0)
        return NULL;
    return x;
}

/* ---- random expressions ------------------------------------------------ */

struct text {
    struct ws__rng rng;
    char s[2048];
    size_t n;
};

static unsigned pick(struct text *t, unsigned n)
{
    return (unsigned)ws__rng_below(&t->rng, n);
}

static void add(struct text *t, const char *s)
{
    t->n += (size_t)snprintf(t->s + t->n, sizeof(t->s) - t->n, "%s", s);
}

static void number(struct text *t, int depth);

static void condition(struct text *t, int depth)
{
    static const char *const compare[] = {" < ",  " <= ", " > ",
                                          " >= ", " == ", " != "};

    add(t, "(");
    switch (depth ? pick(t, 8) : 7) {
    case 0:
        condition(t, depth - 1);
        add(t, " and ");
        condition(t, depth - 1);
        break;
    case 1:
        condition(t, depth - 1);
        add(t, " or ");
        condition(t, depth - 1);
        break;
    case 2:
        add(t, "not ");
        condition(t, depth - 1);
        break;
    case 3:
        number(t, depth - 1);
        add(t, compare[pick(t, 4)]);
        number(t, depth - 1);
        add(t, compare[pick(t, 4)]);
        number(t, depth - 1);
        break;
    case 4:
        number(t, depth - 1);
        add(t, " in (1, 4, y)");
        break;
    default:
        number(t, depth);
        add(t, compare[pick(t, 6)]);
        number(t, depth);
    }
    add(t, ")");
}

static void number(struct text *t, int depth)
{
    static const char *const op[] = {" + ", " - ", " * ", " * ", " // ", " % "};
    static const char *const leaf[] = {"x", "y", "z",  "x",
                                       "2", "7", "-3", "100"};

    if (!depth || !pick(t, 4)) {
        add(t, leaf[pick(t, 8)]);
        return;
    }
    add(t, "(");
    switch (pick(t, 8)) {
    case 0:
        add(t, pick(t, 2) ? "min(" : "max(");
        number(t, depth - 1);
        add(t, ", ");
        number(t, depth - 1);
        add(t, ")");
        break;
    case 1:
        number(t, depth - 1);
        add(t, " if ");
        condition(t, depth - 1);
        add(t, " else ");
        number(t, depth - 1);
        break;
    case 2:
        add(t, "-");
        number(t, depth - 1);
        break;
    default:
        number(t, depth - 1);
        add(t, op[pick(t, 6)]);
        number(t, depth - 1);
    }
    add(t, ")");
}

/* Along `slot`, the others as in v. */
static void check_line(const struct ws__expr *e, enum ws__trend trend,
                       const union wsrt_value *lo, const union wsrt_value *hi,
                       size_t slot, union wsrt_value *v)
{
    int before = -1;

    for (v[slot] = lo[slot]; v[slot].i <= hi[slot].i; v[slot].i++) {
        int now = ws__expr_test(e, v);

        if (now < 0)
            fail_msg("'%s' has a trend and fails at %d %d %d", e->text,
                     (int)v[0].i, (int)v[1].i, (int)v[2].i);
        if (before >= 0 && now != before &&
            trend != (now ? WS__TREND_UP : WS__TREND_DOWN))
            fail_msg("'%s' turns at %d %d %d against its trend %d along %s",
                     e->text, (int)v[0].i, (int)v[1].i, (int)v[2].i, (int)trend,
                     names[slot]);
        before = now;
    }
}

static bool check_one(const struct ws__expr *e, const union wsrt_value *lo,
                      const union wsrt_value *hi, size_t slot)
{
    enum ws__trend trend = ws__expr_trend(e, lo, hi, slot);
    size_t a = (slot + 1) % SLOTS, b = (slot + 2) % SLOTS;
    union wsrt_value v[SLOTS + 1] = {{0}};

    if (trend == WS__TREND_UNKNOWN)
        return false;
    for (v[a] = lo[a]; v[a].i <= hi[a].i; v[a].i++)
        for (v[b] = lo[b]; v[b].i <= hi[b].i; v[b].i++)
            check_line(e, trend, lo, hi, slot, v);
    return true;
}

static void test_sound(void **state)
{
    union wsrt_value lo[SLOTS + 1] = {{0}}, hi[SLOTS + 1] = {{0}};
    struct text t;
    int known = 0, total = 0;

    (void)state;
    ws__rng_seed(&t.rng, 5);
    for (int round = 0; round < ROUNDS; round++) {
        struct ws__expr *e;
        struct env env;

        open_env(&env);
        t.n = 0;
        condition(&t, 1 + (int)pick(&t, 3));
        e = compile(&env, t.s);
        for (size_t s = 0; s < SLOTS && e; s++) {
            lo[s].i = (int)pick(&t, 5) - 1;
            hi[s].i = lo[s].i + (int)pick(&t, 7);
        }
        for (size_t s = 0; s < SLOTS && e; s++, total++)
            known += check_one(e, lo, hi, s);
        close_env(&env);
    }
    /* About a third of such expressions are tame. */
    assert_true(total > ROUNDS);
    assert_in_range(known, total / 10, total);
}

/* ---- what must be found ------------------------------------------------ */

static void test_found(void **state)
{
    static const struct {
        const char *text;
        enum ws__trend along_x;
    } t[] = {
        {"x * y <= 1024", WS__TREND_DOWN},
        {"x * y >= 32", WS__TREND_UP},
        {"1024 > x * y * 4", WS__TREND_DOWN},
        {"(x * y + z * 2) * (y * z + z * 2) * (2 + z) * 4 <= 49152",
         WS__TREND_DOWN},
        {"y == 1 or x * y < 100", WS__TREND_DOWN},
        {"x < 10 and x * z <= 50", WS__TREND_DOWN},
        {"not x * y < 10", WS__TREND_UP},
        {"(x if y > 2 else 2 * x) <= 10", WS__TREND_DOWN},
        {"100 // x >= y", WS__TREND_DOWN},
        {"max(x, y) <= 16", WS__TREND_DOWN},
        {"y % z == 0", WS__TREND_NONE},
        {"x * y >= 0", WS__TREND_NONE},
        {"32 <= x * y <= 1024", WS__TREND_UNKNOWN},
        {"x % y == 0", WS__TREND_UNKNOWN},
        {"y // (x - 5) < 3", WS__TREND_UNKNOWN},
        {"x * 4611686018427387904 > y", WS__TREND_UNKNOWN},
        {"x * 0.5 < 3.0", WS__TREND_UNKNOWN},
        {"f < 3.0 or x > 2", WS__TREND_UNKNOWN},
    };
    union wsrt_value lo[SLOTS + 1], hi[SLOTS + 1];
    struct env env;

    (void)state;
    open_env(&env);
    for (size_t i = 0; i <= SLOTS; i++) {
        lo[i].i = 1;
        hi[i].i = 64;
    }
    for (size_t i = 0; i < WS_COUNT(t); i++) {
        struct ws__expr *e = compile(&env, t[i].text);

        assert_non_null(e);
        if (ws__expr_trend(e, lo, hi, 0) != t[i].along_x)
            fail_msg("'%s': trend %d, not %d", t[i].text,
                     (int)ws__expr_trend(e, lo, hi, 0), (int)t[i].along_x);
    }
    close_env(&env);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
