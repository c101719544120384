/*
 * t_stats.c: medians against sorting, intervals against the coverage that
 * they promise on synthetic samples of known median.
 */
#include "base/t_base.h"

#include <math.h>

#include "base/hash.h"
#include "core/stats.h"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void median_equals_sorted(void **state)
{
    struct ws__rng rng;
    double v[60], w[60];

    (void)state;
    ws__rng_seed(&rng, 1);
    for (int round = 0; round < 2000; round++) {
        size_t n = 1 + ws__rng_below(&rng, 60);

        /* Few distinct values: ties are the hard case of selection. */
        for (size_t i = 0; i < n; i++)
            v[i] = w[i] = (double)ws__rng_below(&rng, 1 + round % 50);
        qsort(w, n, sizeof(*w), compare);
        assert_true(ws__median(v, n) == (w[(n - 1) / 2] + w[n / 2]) / 2);
    }
    assert_true(isnan(ws__median(v, 0)));
}

static void summary(void **state)
{
    const double v[] = {5, 1, 9, 3, 7, 2, 8, 4, 6, 100};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__summary s;

    (void)state;
    assert_int_equal(ws__summarize(ctx, v, 10, &s), 0);
    assert_int_equal(s.n, 10);
    assert_true(s.median == 5.5 && s.min == 1);
    assert_true(fabs(s.mean - 14.5) < 1e-12);
    assert_true(s.mad == 2.5);
    /* n = 10: ranks 2 and 9 cover 97.9%, ranks 3 and 8 only 89.1%. */
    assert_true(s.lo == 2 && s.hi == 9);
    assert_int_equal(ws__summarize(ctx, v, 6, &s), 0);
    assert_true(s.lo == 1 && s.hi == 9); /* the whole range */
    assert_int_equal(ws__summarize(ctx, v, 0, &s), WS_EINVAL);
    ws_ctx_free(ctx);
}

static void ranks_of_long_samples(void **state)
{
    static double v[100001];
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__summary s;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(v); i++)
        v[i] = (double)i;
    /* Tables: n = 100 has ranks 40 and 61; large n: n/2 -+ 0.98 sqrt(n). */
    assert_int_equal(ws__summarize(ctx, v, 100, &s), 0);
    assert_true(s.lo == 39 && s.hi == 60);
    assert_int_equal(ws__summarize(ctx, v, WS_COUNT(v), &s), 0);
    assert_true(fabs(s.lo - (50000 - 309.9)) < 3);
    assert_true(s.lo + s.hi == 100000);
    ws_ctx_free(ctx);
}

/* Skewed times: 100 ns plus an exponential tail of 10 ns. */
static double skewed(struct ws__rng *rng, double scale)
{
    return scale * (100 - 10 * log(1 - ws__rng_unit(rng)));
}

#define SKEWED_MEDIAN (100 + 10 * 0.69314718055994531)

static void interval_covers_the_median(void **state)
{
    static const size_t sizes[] = {8, 25, 60};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__rng rng;

    (void)state;
    ws__rng_seed(&rng, 42);
    for (size_t k = 0; k < WS_COUNT(sizes); k++) {
        int covered = 0;

        for (int round = 0; round < 1000; round++) {
            double v[60];
            struct ws__summary s;

            for (size_t i = 0; i < sizes[k]; i++)
                v[i] = skewed(&rng, 1);
            assert_int_equal(ws__summarize(ctx, v, sizes[k], &s), 0);
            covered += s.lo <= SKEWED_MEDIAN && SKEWED_MEDIAN <= s.hi;
        }
        assert_in_range(covered, 935, 999);
    }
    ws_ctx_free(ctx);
}

static void bootstrap_covers_the_ratio(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__rng rng;

    (void)state;
    ws__rng_seed(&rng, 7);
    for (int paired = 0; paired < 2; paired++) {
        int covered = 0;

        for (int round = 0; round < 300; round++) {
            double a[40], b[40];
            struct ws__ratio r;

            for (size_t i = 0; i < 40; i++) {
                /* Pairs share a drift of the clock. */
                double drift = paired ? 1 + 0.2 * ws__rng_unit(&rng) : 1;

                a[i] = skewed(&rng, 1.25 * drift);
                b[i] = skewed(&rng, drift);
            }
            assert_int_equal(ws__ratio_bootstrap(ctx, a, 40, b, 40, paired,
                                                 (uint64_t)round, &r),
                             0);
            assert_true(r.lo <= r.value && r.value <= r.hi);
            covered += r.lo <= 1.25 && 1.25 <= r.hi;
        }
        assert_in_range(covered, 270, 297); /* 0.90 to 0.99 */
    }
    ws_ctx_free(ctx);
}

static void bootstrap_is_deterministic(void **state)
{
    const double a[] = {3, 4, 5, 6}, b[] = {1, 2, 3};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__ratio x, y, z;

    (void)state;
    assert_int_equal(ws__ratio_bootstrap(ctx, a, 4, b, 3, false, 9, &x), 0);
    assert_int_equal(ws__ratio_bootstrap(ctx, a, 4, b, 3, false, 9, &y), 0);
    assert_memory_equal(&x, &y, sizeof(x));
    assert_true(x.value == 2.25);
    assert_int_equal(ws__ratio_bootstrap(ctx, a, 4, b, 3, true, 9, &z),
                     WS_EINVAL);
    assert_int_equal(ws__ratio_bootstrap(ctx, a, 0, b, 3, false, 9, &z),
                     WS_EINVAL);
    ws_ctx_free(ctx);
}

static void geomean(void **state)
{
    const double v[] = {1, 2, 4};

    (void)state;
    assert_true(fabs(ws__geomean(v, 3) - 2) < 1e-12);
    assert_true(ws__geomean(v, 0) == 1);
}

static int all_of_it(struct ws_ctx *ctx, void *user)
{
    const double a[] = {3, 4, 5, 6};
    struct ws__summary s;
    struct ws__ratio r;

    (void)user;
    WS_TRY(ws__summarize(ctx, a, 4, &s));
    return ws__ratio_bootstrap(ctx, a, 4, a, 4, true, 1, &r);
}

static void torture(void **state)
{
    (void)state;
    assert_true(t_torture(all_of_it, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_equals_sorted),
        cmocka_unit_test(summary),
        cmocka_unit_test(ranks_of_long_samples),
        cmocka_unit_test(interval_covers_the_median),
        cmocka_unit_test(bootstrap_covers_the_ratio),
        cmocka_unit_test(bootstrap_is_deterministic),
        cmocka_unit_test(geomean),
        cmocka_unit_test(torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
