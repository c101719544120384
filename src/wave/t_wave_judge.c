/*
 * t_wave_judge.c: the yardstick itself: which shapes are held out, figures of
 * a matrix small enough to check by hand, and that no method sees what it is
 * judged on.
 */
#include "wave/t_wave.h"

#include "wave/wave_judge.h"

/* All that a judgement reads. */
struct input {
    double log_ns[T_SHAPES * T_CONFIGS], clock[T_SHAPES * T_CONFIGS];
    double first[T_SHAPES * T_CONFIGS], truth[T_SHAPES * T_CONFIGS];
    uint32_t group[T_SHAPES];
    enum ws__judge_part part[T_SHAPES];
    struct ws__judge_data d;
};
static struct input in;

/* Groups of three shapes; each pass has its own noise. */
static int make_input(void **state)
{
    struct ws__rng r;

    (void)state;
    t_wave_make(ctx, &t);
    t_wave_times(&t, .5);
    memset(&in, 0, sizeof(in));
    ws__rng_seed(&r, 8);
    for (int i = 0; i < T_SHAPES * T_CONFIGS; i++) {
        in.log_ns[i] = t.log_ns[i] + .02 * t_noise(&r);
        in.first[i] = exp(t.log_ns[i] + .02 * t_noise(&r));
        in.truth[i] = exp(t.log_ns[i] + .02 * t_noise(&r));
        in.clock[i] = 1;
    }
    for (uint32_t i = 0; i < T_SHAPES; i++)
        in.group[i] = i / 3;
    in.d = (struct ws__judge_data){.table = &t.table,
                                   .log_ns = in.log_ns,
                                   .clock = in.clock,
                                   .first_ns = in.first,
                                   .truth_ns = in.truth,
                                   .group = in.group,
                                   .part = in.part,
                                   .ngroup = T_SHAPES / 3};
    return 0;
}

static struct ws__judge_result judge(struct ws__judge_opts o, uint32_t *chosen)
{
    struct ws__judge_result r;

    assert_int_equal(ws__judge(&in.d, &o, chosen, &r), 0);
    return r;
}

/* --- the split ------------------------------------------------------------ */

static void whole_groups(void **state)
{
    uint32_t chosen[T_SHAPES];
    unsigned seen = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ws__judge_result r =
            judge((struct ws__judge_opts){.method = WS__JUDGE_RANDOM,
                                          .held = .4,
                                          .seed = seed},
                  chosen);
        size_t held = 0;

        for (size_t i = 0; i < T_SHAPES; i++) {
            bool is_held = chosen[i] != UINT32_MAX;

            held += is_held;
            seen |= (unsigned)is_held << i / 3;
            assert_int_equal(is_held, chosen[i / 3 * 3] != UINT32_MAX);
        }
        /* Groups of 3 until 40% of 24 are reached. */
        assert_int_equal(held, 12);
        assert_int_equal(r.held_shapes, 12);
        assert_int_equal(r.fit_shapes, 12);
        assert_int_equal(r.pairs, 12 * T_CONFIGS);
    }
    assert_int_equal(seen, 255); /* each group is held out at some time */
}

static void parts_that_are_said(void **state)
{
    uint32_t chosen[T_SHAPES];

    (void)state;
    for (size_t i = 0; i < T_SHAPES; i++)
        in.part[i] = i % 4 ? WS__PART_FIT : WS__PART_HELD;
    judge((struct ws__judge_opts){.method = WS__JUDGE_RANDOM, .held = .4},
          chosen);
    for (size_t i = 0; i < T_SHAPES; i++)
        assert_int_equal(chosen[i] != UINT32_MAX, i % 4 == 0);
}

static void no_split(void **state)
{
    struct ws__judge_result r;
    struct ws__judge_opts o = {.method = WS__JUDGE_SINGLE, .held = .4};

    (void)state;
    for (size_t i = 0; i < T_SHAPES; i++)
        in.part[i] = WS__PART_FIT;
    assert_int_equal(ws__judge(&in.d, &o, NULL, &r), WS_EINVAL);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "held out"));
    for (size_t i = 0; i < T_SHAPES; i++)
        in.part[i] = WS__PART_HELD;
    assert_int_equal(ws__judge(&in.d, &o, NULL, &r), WS_EINVAL);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "nothing to fit"));
}

static void budgets(void **state)
{
    (void)state;
    for (int m = WS__JUDGE_WAVE; m <= WS__JUDGE_RANDOM; m++) {
        struct ws__judge_opts o = {.method = (enum ws__judge_method)m,
                                   .share = .25,
                                   .held = .4};
        struct ws__judge_result r = judge(o, NULL);
        size_t want = m == WS__JUDGE_RANDOM ? 0 : 36; /* of 144 */

        assert_int_equal(r.cells, want);
        o.share = -1;
        o.cells = 20;
        assert_int_equal(judge(o, NULL).cells, want ? 20 : 0);
        o.cells = 100000;
        assert_int_equal(judge(o, NULL).cells, want ? 144 : 0);
        o.share = 0;
        assert_int_equal(judge(o, NULL).cells, 0);
    }
}

/* --- by hand -------------------------------------------------------------- */

/*
 * Shapes 0, 1, 2 are fitted on, 3, 4, 5 held out; configs 0, 1, 2.
 *
 *            fit (ns)      truth (ns)     first pass
 *   shape 3   -            100 200 400    110 190 400
 *   shape 4   -            100 120 100    100 120  90
 *   shape 5   -            300 100 110    300 130 120
 */
static const double fit_ns[9] = {100, 150, 400, 200, 210, 200, 300, 310, 500};
static const double truth_ns[9] = {100, 200, 400, 100, 120, 100, 300, 100, 110};
static const double first_ns[9] = {110, 190, 400, 100, 120, 90, 300, 130, 120};

static void small_matrix(void)
{
    t.table.nshape = 6;
    t.table.nconfig = 3;
    for (int i = 0; i < 9; i++) {
        in.log_ns[i] = log(fit_ns[i]);
        in.truth[i] = fit_ns[i];
        in.first[9 + i] = first_ns[i];
        in.truth[9 + i] = truth_ns[i];
    }
    for (int i = 0; i < 6; i++)
        in.part[i] = i < 3 ? WS__PART_FIT : WS__PART_HELD;
    in.d.dflt = 1;
}

static void is_near(double got, double want)
{
    if (fabs(got - want) > 1e-9)
        fail_msg("%.12f, not %.12f", got, want);
}

static void figures_by_hand(void **state)
{
    uint32_t chosen[T_SHAPES];
    struct ws__judge_result r;

    (void)state;
    small_matrix();
    /* Excess of config 0: none; so it is the one, then 1, then 2. */
    r = judge((struct ws__judge_opts){.method = WS__JUDGE_SINGLE, .share = 1},
              chosen);
    for (int i = 3; i < 6; i++)
        assert_int_equal(chosen[i], 0);
    is_near(r.mean_best_over_chosen, (1 + 1 + 1 / 3.) / 3);
    is_near(r.regret_mean, 2 / 3.);
    is_near(r.regret_worst, 2);
    assert_int_equal(r.worst_shape, 5);
    assert_int_equal(r.worst_config, 0);
    assert_int_equal(r.worst_best, 1);
    is_near(r.within_5pct, 2 / 3.);
    /* The default is config 1: slower than it on shape 5 alone. */
    is_near(r.below_default, 1 / 3.);
    /* Of all three, the first pass takes 0, 2 and 2. */
    is_near(r.top3_mean_best_over_chosen, (1 + 1 + 100 / 110.) / 3);
    is_near(r.error_median, 0);
    assert_int_equal(r.cells, 9);
    assert_int_equal(r.pairs, 9);
}

static void a_config_that_cannot_be(void **state)
{
    uint32_t chosen[T_SHAPES];
    struct ws__judge_result r;

    (void)state;
    small_matrix();
    t.pair[5 * 3].feasible = false; /* of config 0 on shape 5 */
    r = judge((struct ws__judge_opts){.method = WS__JUDGE_SINGLE, .share = 1},
              chosen);
    assert_int_equal(chosen[3], 0);
    assert_int_equal(chosen[5], 1);
    is_near(r.regret_mean, 0);
}

static void nearest_by_hand(void **state)
{
    static const int64_t m[6] = {64, 512, 4096, 70, 500, 5000};
    uint32_t chosen[T_SHAPES];

    (void)state;
    small_matrix();
    for (int i = 0; i < 6; i++) {
        t.axis[3 * i] = m[i];
        t.axis[3 * i + 1] = t.axis[3 * i + 2] = 512;
    }
    in.log_ns[3 + 2] = log(150); /* of shape 1 config 2 is best */
    in.log_ns[6 + 1] = log(100); /* of shape 2 config 1 */
    judge((struct ws__judge_opts){.method = WS__JUDGE_NEAREST, .share = 1},
          chosen);
    assert_int_equal(chosen[3], 0);
    assert_int_equal(chosen[4], 2);
    assert_int_equal(chosen[5], 1);
}

/* --- no leak -------------------------------------------------------------- */

static const struct ws__judge_opts all_methods[] = {
    {.method = WS__JUDGE_WAVE, .share = .2, .held = .4, .seed = 3},
    {.method = WS__JUDGE_WAVE,
     .share = .2,
     .held = .4,
     .seed = 3,
     .full = true},
    {.method = WS__JUDGE_BILINEAR, .share = .2, .held = .4, .seed = 3},
    {.method = WS__JUDGE_NEAREST, .share = .2, .held = .4, .seed = 3},
    {.method = WS__JUDGE_SINGLE, .share = .2, .held = .4, .seed = 3},
    {.method = WS__JUDGE_RANDOM, .share = .2, .held = .4, .seed = 3},
};

/* Everything that is timed on held-out shapes becomes something else. */
static void held_times_do_not_matter(void **state)
{
    (void)state;
    for (size_t m = 0; m < WS_COUNT(all_methods); m++) {
        uint32_t before[T_SHAPES], after[T_SHAPES];
        struct ws__judge_result a, b;

        make_input(state);
        a = judge(all_methods[m], before);
        for (int i = 0; i < T_SHAPES; i++)
            for (int j = 0; before[i] != UINT32_MAX && j < T_CONFIGS; j++) {
                int at = i * T_CONFIGS + j;

                in.truth[at] = 100 + 1e9 / in.truth[at];
                in.first[at] = 100 + 1e9 / in.first[at];
                in.log_ns[at] = 25 - in.log_ns[at];
                in.clock[at] = .5;
            }
        b = judge(all_methods[m], after);
        assert_memory_equal(before, after, sizeof(before));
        assert_true(fabs(a.regret_mean - b.regret_mean) > 1e-6);
    }
}

/* The same change to what may be seen is seen: the test above can fail. */
static void fit_times_do_matter(void **state)
{
    (void)state;
    for (size_t m = 0; m + 1 < WS_COUNT(all_methods); m++) {
        uint32_t before[T_SHAPES], after[T_SHAPES];

        make_input(state);
        judge(all_methods[m], before);
        for (int i = 0; i < T_SHAPES; i++)
            for (int j = 0; before[i] == UINT32_MAX && j < T_CONFIGS; j++)
                in.log_ns[i * T_CONFIGS + j] =
                    25 - in.log_ns[i * T_CONFIGS + j];
        judge(all_methods[m], after);
        assert_memory_not_equal(before, after, sizeof(before));
    }
}

/* Nor do truth and first pass of the shapes that are fitted on. */
static void only_fit_passes_are_fitted(void **state)
{
    (void)state;
    for (size_t m = 0; m < WS_COUNT(all_methods); m++) {
        uint32_t before[T_SHAPES], after[T_SHAPES];

        make_input(state);
        judge(all_methods[m], before);
        for (int i = 0; i < T_SHAPES; i++)
            for (int j = 0; before[i] == UINT32_MAX && j < T_CONFIGS; j++) {
                in.truth[i * T_CONFIGS + j] = 7;
                in.first[i * T_CONFIGS + j] = 7;
            }
        judge(all_methods[m], after);
        assert_memory_equal(before, after, sizeof(before));
    }
}

/* --- cells without a time ------------------------------------------------- */

/* Config 4 and the macro config of 5 and 11 are timed nowhere. */
static bool never_timed(size_t config)
{
    return config == 4 || config == 5 || config == 11;
}

/* Others on two shapes of three. */
static bool is_timed(size_t shape, size_t config)
{
    return !never_timed(config) && (shape + 2 * config) % 3;
}

/* Fit passes lack times; first pass and truth have them. */
static void forget_times(void)
{
    for (size_t i = 0; i < T_SHAPES; i++)
        for (size_t j = 0; j < T_CONFIGS; j++)
            if (!is_timed(i, j))
                in.log_ns[i * T_CONFIGS + j] = in.clock[i * T_CONFIGS + j] = 0;
}

static void is_finite(const struct ws__judge_result *r)
{
    const double v[] = {r->mean_best_over_chosen,
                        r->regret_mean,
                        r->regret_p95,
                        r->regret_worst,
                        r->within_5pct,
                        r->below_default,
                        r->below_default_worst,
                        r->below_margin,
                        r->left_default,
                        r->top3_mean_best_over_chosen,
                        r->error_median,
                        r->error_p95};

    for (size_t i = 0; i < WS_COUNT(v); i++)
        if (!isfinite(v[i]) || v[i] < 0)
            fail_msg("figure %zu is %f", i, v[i]);
    assert_true(r->mean_best_over_chosen > 0);
}

/* Choices are those where the cells without a time could not be bought. */
static void no_time_is_no_knowledge(void **state)
{
    for (int m = WS__JUDGE_BILINEAR; m <= WS__JUDGE_SINGLE; m++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct ws__judge_opts o = {.method = (enum ws__judge_method)m,
                                       .share = 1,
                                       .held = .4,
                                       .seed = seed};
            uint32_t chosen[T_SHAPES], without[T_SHAPES];
            struct ws__judge_result r;

            make_input(state);
            forget_times();
            r = judge(o, chosen);
            is_finite(&r);
            assert_int_equal(r.cells, r.pairs); /* it costs as much */
            for (size_t i = 0; i < T_SHAPES; i++)
                for (size_t j = 0; chosen[i] == UINT32_MAX && j < T_CONFIGS;
                     j++)
                    if (!is_timed(i, j))
                        t.pair[i * T_CONFIGS + j].feasible = false;
            r = judge(o, without);
            assert_true(r.cells < 12 * T_CONFIGS);
            for (size_t i = 0; i < T_SHAPES; i++)
                assert_false(never_timed(chosen[i]));
            /* The nearest of two buckets that are equally near is another in
             * another order of buying. */
            if (m != WS__JUDGE_BILINEAR)
                assert_memory_equal(chosen, without, sizeof(chosen));
        }
}

/* Whatever the budget, also where nothing at all has a time. */
static void no_time_is_survived(void **state)
{
    static const double share[] = {0, .02, .1, .3, 1};

    (void)state;
    for (int times = 1; times >= 0; times--) {
        forget_times();
        if (!times)
            memset(in.log_ns, 0, sizeof(in.log_ns));
        for (int m = WS__JUDGE_BILINEAR; m <= WS__JUDGE_RANDOM; m++)
            for (size_t i = 0; i < WS_COUNT(share); i++) {
                struct ws__judge_result r =
                    judge((struct ws__judge_opts){.method =
                                                      (enum ws__judge_method)m,
                                                  .share = share[i],
                                                  .held = .4,
                                                  .seed = 2},
                          NULL);

                is_finite(&r);
                assert_int_equal(r.held_shapes, 12);
                if (m == WS__JUDGE_RANDOM)
                    assert_int_equal(r.cells, 0);
                /* Nothing is known, so nothing is predicted. */
                if (!times)
                    is_near(r.error_p95, 0);
            }
    }
}

/* --- the model ------------------------------------------------------------ */

static void more_is_better(void **state)
{
    double error[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ws__judge_result r =
            judge((struct ws__judge_opts){.method = WS__JUDGE_WAVE,
                                          .share = i ? .3 : 0,
                                          .held = .4,
                                          .seed = 1},
                  NULL);

        error[i] = r.error_median;
        assert_true(i ? !r.warning || r.cells < WS__NTHETA : !!r.warning);
    }
    assert_true(error[1] < .5 * error[0] && error[1] < .05);
}

static int judge_all(struct ws_ctx *c, void *user)
{
    struct t_wave *w = user;
    struct ws__judge_result r;
    int rc = 0;

    w->table.ctx = c;
    for (size_t m = 0; !rc && m < WS_COUNT(all_methods); m++) {
        struct ws__judge_opts o = all_methods[m];

        o.share = .1;
        rc = ws__judge(&in.d, &o, NULL, &r);
    }
    return rc;
}

static void allocations_fail(void **state)
{
    (void)state;
    assert_true(t_torture(judge_all, &t) > 40);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, make_input)
    const struct CMUnitTest tests[] = {
        CASE(whole_groups),
        CASE(parts_that_are_said),
        CASE(no_split),
        CASE(budgets),
        CASE(figures_by_hand),
        CASE(a_config_that_cannot_be),
        CASE(nearest_by_hand),
        CASE(held_times_do_not_matter),
        CASE(fit_times_do_matter),
        CASE(only_fit_passes_are_fitted),
        CASE(no_time_is_no_knowledge),
        CASE(no_time_is_survived),
        CASE(more_is_better),
        CASE(allocations_fail),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
