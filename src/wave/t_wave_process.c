/*
 * t_wave_process.c: covariances are ones; a sample is known better than what is
 * far from it; left-out residuals are those of models without the sample;
 * joint posteriors agree with single ones; the gate closes on what is noise.
 */
#include "wave/t_wave.h"

static struct ws__wave_model *fit(const struct ws__wave_sample *s, size_t n)
{
    struct ws__wave_model *m = NULL;

    assert_int_equal(ws__wave_fit(&t.table, s, n, NULL, NULL, &m), 0);
    return m;
}

static double covariance(const struct ws__wave_model *m, size_t a, size_t b)
{
    struct ws__wave_place x, y;
    uint32_t sa = (uint32_t)(a / T_CONFIGS), ca = (uint32_t)(a % T_CONFIGS);
    uint32_t sb = (uint32_t)(b / T_CONFIGS), cb = (uint32_t)(b % T_CONFIGS);

    ws__wave_place(m, sa, ca, &x);
    ws__wave_place(m, sb, cb, &y);
    return ws__wave_covariance(m, sa, ca, &x, sb, cb, &y);
}

static void positive_definite(void **state)
{
    enum { N = T_SHAPES * T_CONFIGS };
    static double k[N * N];
    struct ws__wave_model *m = fit(NULL, 0);

    (void)state;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            k[i * N + j] = covariance(m, i, j);
            assert_true(k[i * N + j] > 0);
            assert_true(fabs(k[i * N + j] - covariance(m, j, i)) < 1e-15);
        }
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++)
            assert_true(k[i * N + j] <= k[i * N + i]);
        k[i * N + i] += 1e-9;
    }
    assert_true(ws__cholesky(k, N));
    ws__wave_model_free(m);
}

static void linear_algebra(void **state)
{
    double a[9] = {4, 0, 0, 2, 5, 0, 1, 3, 6}, b[3] = {1, 2, 3};
    double none[4] = {1, 0, 2, 1};

    (void)state;
    assert_true(ws__cholesky(a, 3));
    ws__solve_lower(a, 3, b);
    ws__solve_upper(a, 3, b);
    assert_true(fabs(4 * b[0] + 2 * b[1] + b[2] - 1) < 1e-12);
    assert_true(fabs(2 * b[0] + 5 * b[1] + 3 * b[2] - 2) < 1e-12);
    assert_true(fabs(b[0] + 3 * b[1] + 6 * b[2] - 3) < 1e-12);
    assert_false(ws__cholesky(none, 2));
}

static double deviation(const struct ws__wave_model *m, uint32_t shape,
                        uint32_t config)
{
    double sd;

    assert_int_equal(
        ws__wave_deviation(m, (struct ws__wave_point){shape, config}, &sd), 0);
    return sd;
}

static void samples_are_known(void **state)
{
    struct ws__wave_sample s[12];
    struct ws__wave_model *before = fit(NULL, 0), *m;

    (void)state;
    t_wave_sample(&t, 12, 0, s);
    m = fit(s, 12);
    for (uint32_t i = 0; i < T_SHAPES; i++)
        for (uint32_t j = 0; j < T_CONFIGS; j++)
            assert_true(deviation(m, i, j) < deviation(before, i, j));
    for (int i = 0; i < 12; i++)
        assert_true(deviation(m, s[i].shape, s[i].config) <
                    1.5 * sqrt(ws__wave_noise));
    ws__wave_model_free(before);
    ws__wave_model_free(m);
}

static void joint_agrees_with_single(void **state)
{
    enum { N = 5 };
    static const struct ws__wave_point x[N] = {
        {0, 0}, {0, 1}, {3, 1}, {9, 11}, {20, 5}};
    struct ws__wave_sample s[30];
    double mean[N], c[N * N], log_ns[T_CONFIGS];
    struct ws__wave_model *m;

    (void)state;
    t_wave_sample(&t, 30, .05, s);
    m = fit(s, 30);
    assert_int_equal(ws__wave_posterior(m, N, x, mean, c), 0);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(ws__wave_predict(m, x[i].shape, log_ns), 0);
        assert_true(fabs(mean[i] - log_ns[x[i].config]) < 1e-12);
        assert_true(fabs(sqrt(c[i * N + i]) -
                         deviation(m, x[i].shape, x[i].config)) < 1e-9);
        for (size_t j = 0; j < N; j++)
            assert_true(fabs(c[i * N + j] - c[j * N + i]) < 1e-15);
    }
    assert_true(ws__cholesky(c, N));
    ws__wave_model_free(m);
}

/* The residual of sample `out` as those of the others predict it: kernel and
 * formula are the model's. */
static double without(const struct ws__wave_model *m, size_t out)
{
    double k[64], with[8], r[8], sum = 0;
    size_t n = m->n - 1, a = 0;

    for (size_t i = 0; i < m->n; i++) {
        const struct ws__wave_sample *s = &m->sample[i];
        size_t at = s->shape * T_CONFIGS + s->config, b = 0;

        if (i == out)
            continue;
        r[a] = s->log_ns - m->formula[i];
        with[a] = covariance(m, at,
                             m->sample[out].shape * T_CONFIGS +
                                 m->sample[out].config);
        for (size_t j = 0; j < m->n; j++)
            if (j != out)
                k[a * n + b++] = covariance(m, at,
                                            m->sample[j].shape * T_CONFIGS +
                                                m->sample[j].config);
        k[a * n + a] += ws__wave_noise;
        a++;
    }
    assert_true(ws__cholesky(k, n));
    ws__solve_lower(k, n, r);
    ws__solve_upper(k, n, r);
    for (size_t i = 0; i < n; i++)
        sum += with[i] * r[i];
    return m->sample[out].log_ns - m->formula[out] - sum;
}

static void left_out_is_a_refit(void **state)
{
    struct ws__wave_sample s[8];
    struct ws__wave_quality q;
    struct ws__wave_model *m;
    double sum = 0;

    (void)state;
    t_wave_sample(&t, 8, .06, s);
    m = fit(s, 8);
    ws__wave_quality(m, &q);
    assert_int_equal(q.outliers, 0);
    for (size_t i = 0; i < 8; i++)
        sum += without(m, i) * without(m, i);
    assert_true(fabs(q.left_out_rms - sqrt(sum / 8)) < 1e-9);
    ws__wave_model_free(m);
}

/* What configs do of their own is taken up; what is different each time is not.
 */
static void the_gate(void **state)
{
    struct ws__wave_sample s[150];
    struct ws__wave_quality like, noise;
    struct ws__wave_model *m;
    struct ws__rng r;

    (void)state;
    ws__rng_seed(&r, 1);
    t_wave_sample(&t, 150, .01, s);
    for (int i = 0; i < 150; i++)
        s[i].log_ns += s[i].config % 2 ? .1 : -.1;
    m = fit(s, 150);
    ws__wave_quality(m, &like);
    ws__wave_model_free(m);
    t_wave_sample(&t, 150, .2, s);
    m = fit(s, 150);
    ws__wave_quality(m, &noise);
    ws__wave_model_free(m);
    assert_true(like.gate > .9);
    assert_true(like.left_out_rms < .5 * like.formula_rms);
    assert_true(noise.gate < .7);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, make_table)
    const struct CMUnitTest tests[] = {
        CASE(positive_definite),   CASE(linear_algebra),
        CASE(samples_are_known),   CASE(joint_agrees_with_single),
        CASE(left_out_is_a_refit), CASE(the_gate),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
