/* t_score.c: scores of ratios, by hand. */
#include "base/t_base.h"

#include "core/score.h"

static void t_all_right(void **state)
{
    const double r[] = {0.5, 2, 4};
    struct ws__score s;

    (void)state;
    ws__score_make(r, 3, &s);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.right, 3);
    assert_float_equal(s.mean, 6.5 / 3, 1e-12);
    assert_float_equal(s.geomean, 1.587401051968199, 1e-12);
    assert_float_equal(s.geomean_right, s.geomean, 1e-12);
}

static void t_failures(void **state)
{
    const double r[] = {4, 0, 4, 0};
    struct ws__score s;

    (void)state;
    ws__score_make(r, 4, &s);
    assert_int_equal(s.right, 2);
    assert_float_equal(s.mean, 2, 1e-12);    /* 0 each */
    assert_float_equal(s.geomean, 2, 1e-12); /* 1 each */
    assert_float_equal(s.geomean_right, 4, 1e-12);
    assert_float_equal(ws__score_fast(r, 4, 0), 0.5, 0);
    assert_float_equal(ws__score_fast(r, 4, 3.9), 0.5, 0);
    assert_float_equal(ws__score_fast(r, 4, 4), 0, 0); /* above, not at */
}

static void t_nothing(void **state)
{
    const double r[] = {0};
    struct ws__score s;

    (void)state;
    ws__score_make(r, 0, &s);
    assert_float_equal(s.mean, 0, 0);
    assert_float_equal(s.geomean, 0, 0);
    assert_float_equal(ws__score_fast(r, 0, 0), 0, 0);
    ws__score_make(r, 1, &s);
    assert_float_equal(s.mean, 0, 0);
    assert_float_equal(s.geomean, 1, 0);
    assert_float_equal(s.geomean_right, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_all_right),
        cmocka_unit_test(t_failures),
        cmocka_unit_test(t_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
