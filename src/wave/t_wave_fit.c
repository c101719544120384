/*
 * t_wave_fit.c: constants come back from times that the formula made; poor
 * data gives sane predictions that say how unsure they are; the same bits
 * twice; no failing allocation leaks.
 */
#include "wave/t_wave.h"

static struct ws__wave_model *fit(const struct ws__wave_sample *s, size_t n)
{
    struct ws__wave_model *m = NULL;

    assert_int_equal(ws__wave_fit(&t.table, s, n, NULL, NULL, &m), 0);
    return m;
}

/* Root mean square of the error of predictions over the table. */
static double error_of(const struct ws__wave_model *m)
{
    double log_ns[T_CONFIGS], sum = 0;

    for (size_t i = 0; i < T_SHAPES; i++) {
        assert_int_equal(ws__wave_predict(m, i, log_ns), 0);
        for (size_t j = 0; j < T_CONFIGS; j++) {
            double d = log_ns[j] - t.log_ns[i * T_CONFIGS + j];

            sum += d * d;
        }
    }
    return sqrt(sum / (T_SHAPES * T_CONFIGS));
}

static double deviation_of(const struct ws__wave_model *m)
{
    double sum = 0, sd;

    for (uint32_t i = 0; i < T_SHAPES; i++)
        for (uint32_t j = 0; j < T_CONFIGS; j++) {
            assert_int_equal(
                ws__wave_deviation(m, (struct ws__wave_point){i, j}, &sd), 0);
            assert_true(isfinite(sd) && sd >= 0);
            sum += sd;
        }
    return sum / (T_SHAPES * T_CONFIGS);
}

/* Predictions are finite and within `factor` of the truth. */
static void is_sane(const struct ws__wave_model *m, double factor)
{
    double log_ns[T_CONFIGS];

    for (size_t i = 0; i < T_SHAPES; i++) {
        assert_int_equal(ws__wave_predict(m, i, log_ns), 0);
        for (size_t j = 0; j < T_CONFIGS; j++) {
            assert_true(isfinite(log_ns[j]));
            assert_true(fabs(log_ns[j] - t.log_ns[i * T_CONFIGS + j]) <
                        log(factor));
        }
    }
}

static void constants_come_back(void **state)
{
    struct ws__wave_sample s[200];
    struct ws__wave_belief prior;
    double left[WS__NTHETA];
    struct ws__wave_model *m;

    (void)state;
    t_wave_times(&t, .8);
    t_wave_sample(&t, 200, .01, s);
    m = fit(s, 200);
    ws__wave_prior(&t.table.sheet, &prior);
    ws__wave_theta_sd(m, left);
    for (int k = 0; k < WS__NTHETA; k++) {
        double off = fabs(ws__wave_theta(m)[k] - t.theta[k]);

        assert_true(left[k] <= prior.sd[k] * 1.001);
        if (off > 3.5 * left[k] + .02)
            fail_msg("%s is off by %f, deviation %f",
                     ws__theta_name((enum ws__theta)k), off, left[k]);
    }
    /* What pairs depend on is known better than before. */
    assert_true(left[WS__T_START] < .7 * prior.sd[WS__T_START]);
    assert_true(left[WS__T_LATENCY] < .7 * prior.sd[WS__T_LATENCY]);
    assert_true(left[WS__T_PAD] < .7 * prior.sd[WS__T_PAD]);
    /* Of what no pair has, nothing is learnt. */
    assert_true(left[WS__T_MASKED] > .99 * prior.sd[WS__T_MASKED]);
    assert_true(left[WS__T_AFTER] > .99 * prior.sd[WS__T_AFTER]);
    assert_true(error_of(m) < .015);
    assert_null(ws__wave_warning(m));
    ws__wave_model_free(m);
}

static void more_samples_are_better(void **state)
{
    static const size_t count[] = {0, 4, 16, 64, 256};
    struct ws__wave_sample s[256];
    double error[5], sd[5];

    (void)state;
    t_wave_times(&t, .8);
    t_wave_sample(&t, 256, .01, s);
    for (int i = 0; i < 5; i++) {
        struct ws__wave_model *m = fit(s, count[i]);

        error[i] = error_of(m);
        sd[i] = deviation_of(m);
        ws__wave_model_free(m);
    }
    for (int i = 1; i < 5; i++)
        assert_true(sd[i] < sd[i - 1]);
    assert_true(error[4] < error[2] && error[2] < error[0]);
}

static void no_sample_at_all(void **state)
{
    struct ws__wave_model *m = fit(NULL, 0);
    struct ws__wave_belief prior;
    double left[WS__NTHETA];

    (void)state;
    ws__wave_prior(&t.table.sheet, &prior);
    ws__wave_theta_sd(m, left);
    for (int k = 0; k < WS__NTHETA; k++) {
        assert_true(fabs(ws__wave_theta(m)[k] - prior.centre[k]) < 1e-12);
        assert_true(fabs(left[k] - prior.sd[k]) < 1e-9);
    }
    assert_true(error_of(m) < 1e-6); /* the table's times are the priors' */
    assert_true(deviation_of(m) > .2);
    assert_non_null(strstr(ws__wave_warning(m), "no times"));
    ws__wave_model_free(m);
}

static void one_sample(void **state)
{
    struct ws__wave_sample s;
    struct ws__wave_model *m;

    (void)state;
    t_wave_sample(&t, 1, .01, &s);
    m = fit(&s, 1);
    is_sane(m, 1.5);
    assert_non_null(strstr(ws__wave_warning(m), "one shape"));
    ws__wave_model_free(m);
}

static void one_shape(void **state)
{
    struct ws__wave_sample s[T_CONFIGS];
    struct ws__wave_model *m;
    double log_ns[T_CONFIGS];

    (void)state;
    t_wave_times(&t, .5);
    for (uint32_t j = 0; j < T_CONFIGS; j++)
        s[j] = (struct ws__wave_sample){3, j, t.log_ns[3 * T_CONFIGS + j], 1};
    m = fit(s, T_CONFIGS);
    is_sane(m, 4);
    assert_int_equal(ws__wave_predict(m, 3, log_ns), 0);
    for (size_t j = 0; j < T_CONFIGS; j++)
        assert_true(fabs(log_ns[j] - s[j].log_ns) < .05);
    assert_non_null(strstr(ws__wave_warning(m), "one shape"));
    ws__wave_model_free(m);
}

static void one_shape_is_less_than_many(void **state)
{
    struct ws__wave_sample one[T_CONFIGS], many[T_CONFIGS];
    struct ws__wave_model *a, *b;

    (void)state;
    t_wave_sample(&t, T_CONFIGS, 0, many);
    for (uint32_t j = 0; j < T_CONFIGS; j++)
        one[j] = (struct ws__wave_sample){3, j, t.log_ns[3 * T_CONFIGS + j], 1};
    a = fit(one, T_CONFIGS);
    b = fit(many, T_CONFIGS);
    assert_true(deviation_of(a) > 1.2 * deviation_of(b));
    ws__wave_model_free(a);
    ws__wave_model_free(b);
}

static void equal_times(void **state)
{
    struct ws__wave_sample s[60];
    struct ws__wave_model *m;

    (void)state;
    t_wave_sample(&t, 60, 0, s);
    for (int i = 0; i < 60; i++)
        s[i].log_ns = log(20000.);
    m = fit(s, 60);
    is_sane(m, 1000);
    assert_non_null(strstr(ws__wave_warning(m), "equal"));
    ws__wave_model_free(m);
}

static void failed_cells(void **state)
{
    struct ws__wave_sample s[80];
    struct ws__wave_quality q;
    struct ws__wave_model *m;

    (void)state;
    t_wave_sample(&t, 80, .01, s);
    for (int i = 0; i < 80; i += 2)
        s[i].log_ns = HUGE_VAL;
    m = fit(s, 80);
    ws__wave_quality(m, &q);
    assert_int_equal(q.n, 40);
    assert_int_equal(q.failed, 40);
    assert_null(ws__wave_warning(m));
    is_sane(m, 1.2);
    ws__wave_model_free(m);
    s[1].log_ns = HUGE_VAL;
    m = fit(s, 80);
    assert_non_null(strstr(ws__wave_warning(m), "failed"));
    ws__wave_model_free(m);
    for (int i = 0; i < 80; i++)
        s[i].log_ns = HUGE_VAL;
    m = fit(s, 80);
    assert_non_null(strstr(ws__wave_warning(m), "no times"));
    assert_true(error_of(m) < 1e-6);
    ws__wave_model_free(m);
}

/* One time that is 50 times too long: others hardly move. */
static void a_wild_outlier(void **state)
{
    struct ws__wave_sample s[100];
    struct ws__wave_quality q;
    struct ws__wave_model *m;

    (void)state;
    t_wave_sample(&t, 100, .01, s);
    s[40].log_ns += log(50);
    m = fit(s, 100);
    ws__wave_quality(m, &q);
    assert_true(q.outliers >= 1 && q.outliers < 5);
    assert_true(error_of(m) < .06);
    ws__wave_model_free(m);
}

static void few_samples_warn(void **state)
{
    struct ws__wave_sample s[WS__NTHETA - 1];
    struct ws__wave_model *m;

    (void)state;
    t_wave_sample(&t, WS__NTHETA - 1, .01, s);
    m = fit(s, WS__NTHETA - 1);
    is_sane(m, 1.3);
    assert_non_null(strstr(ws__wave_warning(m), "fewer times"));
    ws__wave_model_free(m);
}

/* A time at a low clock says what it would be at full clock. */
static void clocks(void **state)
{
    struct ws__wave_sample s[120];
    struct ws__wave_model *m;

    (void)state;
    t_wave_sample(&t, 120, .005, s);
    for (int i = 0; i < 120; i++) {
        s[i].clock = i % 2 ? 1 : .7;
        s[i].log_ns +=
            ws__wave_formula_at(&t.table, t.theta, s[i].shape, s[i].config,
                                s[i].clock) -
            ws__wave_formula_at(&t.table, t.theta, s[i].shape, s[i].config, 1);
    }
    m = fit(s, 120);
    assert_true(error_of(m) < .02);
    ws__wave_model_free(m);
}

static void the_same_bits(void **state)
{
    struct ws__wave_sample s[90];
    double a[T_CONFIGS], b[T_CONFIGS];
    struct ws__wave_model *x, *y;

    (void)state;
    t_wave_times(&t, .5);
    t_wave_sample(&t, 90, .03, s);
    x = fit(s, 90);
    y = fit(s, 90);
    assert_memory_equal(ws__wave_theta(x), ws__wave_theta(y),
                        WS__NTHETA * sizeof(double));
    for (size_t i = 0; i < T_SHAPES; i++) {
        assert_int_equal(ws__wave_predict(x, i, a), 0);
        assert_int_equal(ws__wave_predict(y, i, b), 0);
        assert_memory_equal(a, b, sizeof(a));
    }
    ws__wave_model_free(x);
    ws__wave_model_free(y);
}

/* The weights of a pack say about what the process does. */
static void distilled(void **state)
{
    struct ws__wave_sample s[200];
    struct wsrt_wave_law law;
    struct wsrt_wave_form form[T_CONFIGS];
    struct ws__wave_model *m;
    double log_ns[T_CONFIGS], plain = 0, with = 0;

    (void)state;
    t_wave_sample(&t, 200, .01, s);
    for (int i = 0; i < 200; i++) /* what no constant can explain */
        s[i].log_ns += s[i].config % 2 ? .1 : -.1;
    m = fit(s, 200);
    assert_int_equal(ws__wave_distil(m, NULL, &law, form), 0);
    for (size_t i = 0; i < T_SHAPES; i++) {
        int32_t axis[3];

        for (int a = 0; a < 3; a++)
            axis[a] = wsrt__log2_20(t.axis[3 * i + (size_t)a]);
        assert_int_equal(ws__wave_predict(m, i, log_ns), 0);
        for (size_t j = 0; j < T_CONFIGS; j++) {
            const int64_t *c = t.pair[i * T_CONFIGS + j].coord;

            plain +=
                fabs(log_ns[j] -
                     ws__wave_log_ns(wsrt__wave_formula(&law, &form[j], c)));
            with += fabs(log_ns[j] -
                         ws__wave_log_ns(
                             wsrt__wave_log2_ns(&law, &form[j], c, axis, 3)));
        }
    }
    assert_true(with < .3 * plain);
    ws__wave_model_free(m);
}

static int fit_all(struct ws_ctx *c, void *user)
{
    struct t_wave *w = user;
    struct ws__wave_sample s[20];
    struct wsrt_wave_law law;
    struct wsrt_wave_form form[T_CONFIGS];
    struct ws__wave_point x[2] = {{0, 1}, {2, 3}};
    double log_ns[T_CONFIGS], mean[2], covariance[4], sd;
    struct ws__wave_model *m;
    int rc;

    w->table.ctx = c;
    t_wave_sample(w, 20, .01, s);
    WS_TRY(ws__wave_fit(&w->table, s, 20, &(struct ws__wave_opts){.steps = 2},
                        NULL, &m));
    rc = ws__wave_predict(m, 1, log_ns);
    if (!rc)
        rc = ws__wave_deviation(m, x[0], &sd);
    if (!rc)
        rc = ws__wave_posterior(m, 2, x, mean, covariance);
    if (!rc)
        rc = ws__wave_distil(m, NULL, &law, form);
    ws__wave_model_free(m);
    return rc;
}

static void allocations_fail(void **state)
{
    (void)state;
    assert_true(t_torture(fit_all, &t) > 12);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, make_table)
    const struct CMUnitTest tests[] = {
        CASE(constants_come_back),
        CASE(more_samples_are_better),
        CASE(no_sample_at_all),
        CASE(one_sample),
        CASE(one_shape),
        CASE(one_shape_is_less_than_many),
        CASE(equal_times),
        CASE(failed_cells),
        CASE(a_wild_outlier),
        CASE(few_samples_warn),
        CASE(clocks),
        CASE(the_same_bits),
        CASE(distilled),
        CASE(allocations_fail),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
