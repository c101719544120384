/*
 * t_belief.c: an attempt tells most of the same idea in the same regime, less
 * of it elsewhere, little of its siblings and nothing of others; what is sure
 * was tried; promises that were not kept are believed less; and the posterior
 * is the one that the whole matrix gives.
 */
#include "base/t_base.h"

#include <math.h>

#include "search/belief.h"

static struct ws_ctx *ctx;
static struct ws__belief b;

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    assert_non_null(ctx);
    assert_int_equal(ws__belief_open(&b, ctx), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ws__belief_close(&b);
    ws_ctx_free(ctx);
    return 0;
}

static struct ws__subject about(uint32_t axis, uint32_t idea, uint32_t regime)
{
    return (struct ws__subject){axis, idea, regime, 0, 0.5};
}

static double mean_of(struct ws__subject s)
{
    double mean, sd;

    ws__belief_view(&b, &s, &mean, &sd);
    return mean;
}

static double sd_of(struct ws__subject s)
{
    double mean, sd;

    ws__belief_view(&b, &s, &mean, &sd);
    return sd;
}

static void test_prior(void **state)
{
    struct ws__subject s = {0, 0, 0, 0.7, 0.2};

    (void)state;
    assert_true(fabs(mean_of(s) - 0.7) < 1e-12);
    /* The catalogue's own unsureness adds to the idea's. */
    assert_true(sd_of(s) > 0.2 && sd_of(s) < 0.7);
}

static void test_spreads(void **state)
{
    struct ws__subject same = about(0, 0, 0), elsewhere = about(0, 0, 1),
                       sibling = about(0, 1, 0), other = about(1, 2, 0);
    double before = sd_of(same);

    (void)state;
    ws__belief_learn(&b, &same, 1, 0.1);
    assert_true(mean_of(same) > mean_of(elsewhere));
    assert_true(mean_of(elsewhere) > mean_of(sibling));
    assert_true(mean_of(sibling) > 0);
    assert_true(fabs(mean_of(other)) < 1e-12);
    assert_true(sd_of(same) < sd_of(elsewhere));
    assert_true(sd_of(elsewhere) < sd_of(sibling));
    assert_true(sd_of(sibling) < before);
    assert_true(fabs(sd_of(other) - before) < 1e-12);
}

static void test_sums(void **state)
{
    struct ws__subject s = about(0, 0, 0);

    (void)state;
    for (int i = 0; i < 20; i++)
        ws__belief_learn(&b, &s, i % 2 ? 0.5 : 0.3, 0.1);
    assert_true(fabs(mean_of(s) - 0.4) < 0.01);
    assert_true(sd_of(s) < 0.03);
}

/* Ideas that promised a factor and brought nothing: others that promise are
 * believed less, those that do not are not touched. */
static void test_promises(void **state)
{
    struct ws__subject next = {9, 9, 0, 0.7, 0.1}, plain = {8, 8, 0, 0, 0.1};

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        struct ws__subject s = {i, i, 0, 0.7, 0.1};

        ws__belief_learn(&b, &s, 0, 0.05);
    }
    assert_true(mean_of(next) < 0.2);
    assert_true(fabs(mean_of(plain)) < 1e-12);
}

/* Two attempts by hand: mean = k' K^-1 y. */
static void test_by_hand(void **state)
{
    struct ws__subject one = about(0, 0, 0), two = about(0, 1, 0),
                       ask = about(0, 0, 1);
    const double v = 0.25, own = v + 0.04, share = 0.25 * v;
    const double a = 0.75 * v, c = 0.25 * v; /* with ask: idea and axis; axis */
    const double det = own * own - share * share;
    const double y1 = 0.8, y2 = -0.4;
    double want = (a * (own * y1 - share * y2) + c * (own * y2 - share * y1));

    (void)state;
    ws__belief_learn(&b, &one, y1, 0.2);
    ws__belief_learn(&b, &two, y2, 0.2);
    assert_true(fabs(mean_of(ask) - want / det) < 1e-9);
}

/* The older half goes; the latest stay. */
static void test_forgets(void **state)
{
    struct ws__subject old = about(0, 0, 0);

    (void)state;
    ws__belief_learn(&b, &old, 1, 0.1);
    for (uint32_t i = 1; i < WS__BELIEF_MAX + 10; i++) {
        struct ws__subject s = about(i, i, 0);

        ws__belief_learn(&b, &s, 0.5, 0.1);
    }
    assert_true(b.n <= WS__BELIEF_MAX);
    assert_true(fabs(mean_of(old)) < 1e-9);
    assert_true(mean_of(about(WS__BELIEF_MAX, WS__BELIEF_MAX, 0)) > 0.4);
}

static int body(struct ws_ctx *c, void *user)
{
    struct ws__belief x;
    int rc = ws__belief_open(&x, c);

    (void)user;

    ws__belief_close(&x);
    return rc;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(t_torture(body, NULL) >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_prior, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spreads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sums, setup, teardown),
        cmocka_unit_test_setup_teardown(test_promises, setup, teardown),
        cmocka_unit_test_setup_teardown(test_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forgets, setup, teardown),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
