/*
 * fuzz_expr.c: any text as an expression and as a value list. The first byte
 * chooses the wanted type. What compiles is evaluated; every failure must
 * come with a message and a place inside the text, and a trend that is claimed
 * must hold.
 */
#include <stdint.h>

#include "expr/expr.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const union wsrt_value vars[] = {{.i = 7},
                                        {.i = -2},
                                        {.f = 2.5},
                                        {.i = 1},
                                        {.i = 0}};

static void expect_error(struct ws_ctx *ctx, int rc)
{
    const struct ws_error *e = ws_ctx_error(ctx);

    if (e->code != rc || !e->message[0] || !e->line || !e->column)
        abort();
}

/* Along x, for the few values of y. */
static void check_trend(const struct ws__expr *e)
{
    union wsrt_value lo[WS_COUNT(vars)], hi[WS_COUNT(vars)];
    enum ws__trend trend;

    memcpy(lo, vars, sizeof(vars));
    memcpy(hi, vars, sizeof(vars));
    lo[0].i = -3;
    hi[0].i = 12;
    lo[1].i = -2;
    hi[1].i = 2;
    trend = ws__expr_trend(e, lo, hi, 0);
    for (int y = -2; y <= 2 && trend != WS__TREND_UNKNOWN; y++) {
        int before = -1;

        lo[1].i = y;
        for (lo[0].i = -3; lo[0].i <= 12; lo[0].i++) {
            int now = ws__expr_test(e, lo);

            if (now < 0 || (before >= 0 && now != before &&
                            trend != (now ? WS__TREND_UP : WS__TREND_DOWN)))
                abort();
            before = now;
        }
    }
}

static void one(struct ws_ctx *ctx, struct ws__arena *a, const char *text,
                int want)
{
    struct ws__strtab strings = {.arena = a};
    struct ws__scope s = {.strings = &strings};
    const struct ws__loc loc = {"fuzz", 1, 1};
    struct ws__value *values;
    union wsrt_value out;
    struct ws__expr *e;
    int64_t id;
    size_t n;
    int rc = ws__strtab_id(&strings, "row", &id);

    rc |= ws__scope_add(ctx, &s, "x", WS__INT, NULL);
    rc |= ws__scope_add(ctx, &s, "y", WS__INT, NULL);
    rc |= ws__scope_add(ctx, &s, "f", WS__FLOAT, NULL);
    rc |= ws__scope_add(ctx, &s, "b", WS__BOOL, NULL);
    rc |= ws__scope_add(ctx, &s, "name", WS__STR, NULL);
    if (rc)
        abort();
    rc = ws__expr_compile(ctx, a, text, &loc, &s, want, &e);
    if (rc == 0)
        check_trend(e);
    if (rc == 0)
        rc = ws__expr_eval(ctx, e, vars, &out);
    if (rc < 0)
        expect_error(ctx, rc);
    rc = ws__expr_list(ctx, a, text, &loc, &s, vars, 1000, &values, &n);
    if (rc < 0)
        expect_error(ctx, rc);
    else if (n > 1000)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx;
    struct ws__arena a;
    char *text;

    if (!size)
        return 0;
    ctx = ws_ctx_new(NULL);
    if (!ctx)
        return 0;
    ws__arena_init(&a, ctx);
    text = ws__arena_strndup(&a, (const char *)data + 1, size - 1);
    if (text)
        one(ctx, &a, text, data[0] % 5 - 1);
    ws__arena_free(&a);
    ws_ctx_free(ctx);
    return 0;
}
