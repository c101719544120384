/*
 * t_space_rows.c: spaces with many values, against the whole product: rows of
 * several words, found by halving or one by one, kept or made anew, values
 * that rise, fall or do neither.
 */
#include "space/t_space.h"

#define SETS 150

static const char *const shapes[] = {
    "p%zu * p%zu <= %d",
    "%3$d <= p%1$zu * p%2$zu <= 9 * %3$d",
    "p%zu + p%zu > %d",
    "p%zu %% (p%zu + 100) != %d",
    "p%zu == p%zu or p%1$zu < %3$d",
    "not (p%zu > p%zu and p%1$zu > %3$d)",
    "%3$d // (p%1$zu + 99) <= p%2$zu",
    "p%zu * 0.5 < p%zu + %d",
    "p%1$zu == %3$d or p%1$zu %% 3 != p%2$zu %% 3",
    "6 // (p%1$zu - %3$d) != p%2$zu",
};

static void random_kernel(struct ws_ctx *ctx, struct ws__rng *r,
                          struct t_kernel *t)
{
    size_t n = 2 + (size_t)ws__rng_below(r, 3), m = 1 + ws__rng_below(r, 4);
    char text[80];

    t_kernel_init(t, ctx);
    for (size_t i = 0; i < n; i++) {
        size_t values = 1 + (size_t)ws__rng_below(r, n < 4 ? 80 : 20);

        snprintf(text, sizeof(text), "p%zu", i);
        assert_int_equal(t_param(t, text, values,
                                 (int64_t)ws__rng_below(r, 20) - 5,
                                 (int64_t)ws__rng_below(r, 5) - 2),
                         0);
        /* Out of order, or twice the same. */
        if (values > 3 && !ws__rng_below(r, 4))
            t->k.param[i].slot[2] = t->k.param[i].slot[0];
    }
    for (size_t i = 0; i < m; i++) {
        const char *shape = shapes[ws__rng_below(r, WS_COUNT(shapes))];

        snprintf(text, sizeof(text), shape, (size_t)ws__rng_below(r, n),
                 (size_t)ws__rng_below(r, n), (int)ws__rng_below(r, 60));
        assert_int_equal(t_constraint(t, text), 0);
    }
}

/* Valid configs of the product; WS_EEXPR if one cannot be judged. */
static int brute(struct ws__space *s, const struct ws__kernel *k, uint64_t *n)
{
    struct ws__config c;

    memset(&c, 0, sizeof(c));
    c.n = (uint16_t)k->nparam;
    *n = 0;
    do {
        int ok = ws__space_valid(s, &c, NULL);

        if (ok < 0)
            return ok;
        *n += (uint64_t)ok;
    } while (t_odometer(k, &c));
    return 0;
}

/* Every config that is walked is valid, and has its rank. */
static void check_walk(struct ws__space *s, uint64_t valid)
{
    struct ws__space_iter it;
    struct ws__config c, d;
    uint64_t n = 0;
    int rc;

    ws__space_begin(s, &it);
    while ((rc = ws__space_next(&it, &c)) > 0) {
        if (n % 29 == 0) {
            assert_int_equal(ws__space_valid(s, &c, NULL), 1);
            assert_int_equal(ws__space_unrank(s, n, &d), 0);
            assert_true(ws__config_eq(&c, &d));
        }
        n++;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(n, valid);
}

static int check_space(struct ws_ctx *ctx, struct t_kernel *t)
{
    uint64_t valid = 0, again, removed[T_MAX_CONSTRAINTS], sum;
    struct ws__space *s;
    int rc;

    assert_int_equal(ws__space_new(ctx, &t->k, NULL, true, true, &s), 0);
    rc = brute(s, &t->k, &valid);
    assert_int_equal(ws__space_count(s, &again), rc);
    if (!rc) {
        assert_int_equal(again, valid);
        check_walk(s, valid);
        assert_int_equal(ws__space_removed(s, removed), 0);
        sum = valid;
        for (size_t i = 0; i < t->k.nconstraint; i++)
            sum += removed[i];
        assert_int_equal(sum, ws__space_size(s));
    }
    ws__space_free(s);
    return rc;
}

static void test_many_values(void **state)
{
    int failing = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SETS; seed++) {
        struct ws_ctx *ctx = t_ctx(NULL);
        struct t_kernel t;
        struct ws__rng r;

        ws__rng_seed(&r, seed);
        random_kernel(ctx, &r, &t);
        failing += check_space(ctx, &t) == WS_EEXPR;
        t_kernel_free(&t);
        ws_ctx_free(ctx);
    }
    assert_in_range(failing, 3, SETS / 2);
}

/* More rows than are kept, and two walks that take turns. */
static void test_rows_not_kept(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__space_iter a, b;
    struct ws__config c, d;
    struct ws__space *s;
    struct t_kernel t;
    uint64_t n = 0, valid;

    (void)state;
    t_kernel_init(&t, ctx);
    t_param(&t, "a", 40, 1, 1);
    t_param(&t, "b", 40, 1, 1);
    t_param(&t, "c", 40, 1, 1);
    t_param(&t, "d", 40, 1, 1);
    assert_int_equal(t_constraint(&t, "a * b * c * d % 11 == 3"), 0);
    assert_int_equal(t_constraint(&t, "a * b + c * d < 70"), 0);
    assert_int_equal(check_space(ctx, &t), 0);
    ws__space_new(ctx, &t.k, NULL, true, true, &s);
    assert_int_equal(ws__space_count(s, &valid), 0);
    ws__space_begin(s, &a);
    ws__space_begin(s, &b);
    assert_int_equal(ws__space_next(&b, &d), 1);
    while (ws__space_next(&a, &c) > 0) {
        n++;
        if (n % 3)
            continue;
        assert_int_equal(ws__space_unrank(s, n / 3 - 1, &c), 0);
        assert_true(ws__config_eq(&c, &d));
        assert_int_equal(ws__space_next(&b, &d), 1);
    }
    assert_int_equal(n, valid);
    ws__space_free(s);
    t_kernel_free(&t);
    ws_ctx_free(ctx);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_rows_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
