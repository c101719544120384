/*
 * t_surrogate.c: the model tells what it cannot have seen, and is sure only
 * near what it has; the strategy comes near the optimum in a fraction of what
 * drawing at random takes, keeps away from where configs fail, and does so in
 * spaces that cannot be looked through. (That it is deterministic, resumable,
 * ends and survives failing allocations is tested for every strategy.)
 */
#include "search/t_search.h"

#include "search/gp_axes.h"

#define SEEDS 8
#define CAP 300

static struct t_world world;

/* --- the model ------------------------------------------------------------ */

#define SIDE 8
#define KNOWN 24

static struct ws__gp_axes axes;
static uint8_t known[KNOWN][3];
static const uint8_t *rows[KNOWN];
static double values[KNOWN];

/* Axis 2 says nothing. */
static double truth(const uint8_t *at)
{
    double x = at[0] / 7.0 - 0.6, y = at[1] / 7.0 - 0.3;

    return 3 * x * x + 2 * y * y - 0.6;
}

static struct ws__gp_data make_data(void)
{
    struct ws__rng rng;

    ws__rng_seed(&rng, 7);
    axes.n = 3;
    for (size_t i = 0; i < axes.n; i++) {
        axes.axis[i].n = SIDE;
        axes.axis[i].nominal = i == 2;
        for (size_t l = 0; l < SIDE; l++)
            axes.axis[i].at[l] = (double)l / (SIDE - 1);
    }
    for (size_t i = 0; i < KNOWN; i++) {
        for (size_t x = 0; x < 3; x++)
            known[i][x] = (uint8_t)ws__rng_below(&rng, SIDE);
        rows[i] = known[i];
        values[i] = truth(known[i]);
    }
    return (struct ws__gp_data){rows, values, KNOWN};
}

/* Mean squared error at all points, of the model and of knowing nothing. */
static void errors(struct ws__gp *gp, double *model, double *nothing)
{
    *model = *nothing = 0;
    for (unsigned i = 0; i < SIDE * SIDE * SIDE; i++) {
        uint8_t at[3] = {(uint8_t)(i % SIDE), (uint8_t)(i / SIDE % SIDE),
                         (uint8_t)(i / SIDE / SIDE)};
        struct ws__gp_view v;

        ws__gp_view(gp, at, 1, INFINITY, &v);
        assert_true(v.bound <= v.mean);
        *model += (v.mean - truth(at)) * (v.mean - truth(at));
        *nothing += truth(at) * truth(at);
    }
}

static void test_model(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__gp *gp = ws__gp_new(ctx, 3, KNOWN);
    struct ws__gp_data data = make_data();
    struct ws__gp_theta theta;
    double before, after, nothing;

    (void)state;
    assert_non_null(gp);
    ws__gp_prior(&theta);
    ws__gp_condition(gp, &axes, &data, &theta);
    errors(gp, &before, &nothing);
    ws__gp_learn(gp, &axes, &data, 20, &theta);
    ws__gp_condition(gp, &axes, &data, &theta);
    errors(gp, &after, &nothing);
    assert_true(after < before / 4);
    assert_true(after < nothing / 100);
    /* It has found out which axis does not matter. */
    assert_true(ws__gp_alike(gp, (uint8_t[]){0, 0, 0}, (uint8_t[]){0, 0, 7}) >
                ws__gp_alike(gp, (uint8_t[]){0, 0, 0}, (uint8_t[]){7, 0, 0}));
    ws__gp_free(gp);
    ws_ctx_free(ctx);
}

/* Stopping early never changes which side of the limit a bound is on. */
static void test_limit(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__gp *gp = ws__gp_new(ctx, 3, KNOWN);
    struct ws__gp_data data = make_data();
    struct ws__gp_theta theta;
    struct ws__rng rng;

    (void)state;
    assert_non_null(gp);
    ws__gp_prior(&theta);
    ws__gp_condition(gp, &axes, &data, &theta);
    ws__rng_seed(&rng, 1);
    for (int i = 0; i < 500; i++) {
        uint8_t at[3] = {(uint8_t)ws__rng_below(&rng, SIDE),
                         (uint8_t)ws__rng_below(&rng, SIDE),
                         (uint8_t)ws__rng_below(&rng, SIDE)};
        double limit = ws__rng_unit(&rng) * 2 - 1.5;
        struct ws__gp_view whole, part;

        ws__gp_view(gp, at, 1.5, INFINITY, &whole);
        ws__gp_view(gp, at, 1.5, limit, &part);
        assert_int_equal(whole.bound < limit, part.bound < limit);
        if (part.bound < limit)
            assert_true(fabs(part.bound - whole.bound) < 1e-12);
        assert_true(fabs(part.mean - whole.mean) < 1e-12);
    }
    /* At a known point it is nearly sure. */
    for (size_t i = 0; i < KNOWN; i++) {
        struct ws__gp_view v;

        ws__gp_view(gp, known[i], 1, INFINITY, &v);
        assert_true(fabs(v.mean - values[i]) < 0.05);
        assert_true(v.mean - v.bound < 0.1);
    }
    ws__gp_free(gp);
    ws_ctx_free(ctx);
}

static void test_axes(void **state)
{
    static struct ws__param_axes out;
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__arena arena;
    struct t_kernel t;
    struct ws__config c = {.n = 4, .at = {3, 0, 2, 99}};
    uint8_t row[WS__GP_AXES];

    (void)state;
    t_kernel_init(&t, ctx);
    assert_int_equal(t_param(&t, "warps", 8, 16, 16), 0); /* 16 .. 128 */
    assert_int_equal(t_param(&t, "fixed", 1, 4, 1), 0);
    assert_int_equal(t_param(&t, "flag", 3, 0, 1), 0);     /* 0 1 2 */
    assert_int_equal(t_param(&t, "many", 200, 300, 1), 0); /* 300 .. 499 */
    ws__arena_init(&arena, ctx);
    memset(&out, 0, sizeof(out));
    assert_int_equal(ws__param_axes(&arena, &t.k, &out), 0);
    /* warps, its twos, flag, many, its twos */
    assert_int_equal(out.gp.n, 5);
    assert_int_equal(out.param[1], 0);
    assert_int_equal(out.param[2], 2);
    assert_int_equal(out.gp.axis[3].n, WS__GP_LEVELS);
    /* By logarithm: 64 lies two thirds from 16 to 128. */
    assert_true(fabs(out.gp.axis[0].at[3] - 2.0 / 3) < 1e-9);
    assert_true(fabs(out.gp.axis[2].at[1] - 0.5) < 1e-9);
    ws__param_row(&out, &c, row);
    assert_int_equal(row[0], 3);
    assert_int_equal(row[1], 2); /* 64: more twos than 16, 32; 128 has more */
    assert_int_equal(row[2], 2);
    assert_int_equal(row[3], 99 * WS__GP_LEVELS / 200);
    ws__arena_free(&arena);
    t_kernel_free(&t);
    ws_ctx_free(ctx);
}

/* --- the strategy --------------------------------------------------------- */

static double least_cost(uint32_t workload)
{
    struct ws__space_iter it;
    struct ws__candidate c = {0};
    double least = INFINITY;

    ws__space_begin(world.space[workload], &it);
    while (ws__space_next(&it, &c.config) > 0)
        least = fmin(least, t_cost(&world, &c, workload));
    return least;
}

/* Questions until one came within 1% of the optimum; CAP if none did. */
static size_t questions(void)
{
    double least = least_cost(0);

    for (size_t i = 0; i < world.journal.n; i++) {
        const struct t_record *r = &world.journal.rec[i];

        if (r->t[0].verdict == WS__V_OK &&
            t_cost(&world, &r->q.a, 0) <= 1.01 * least)
            return i + 1;
    }
    return CAP;
}

static size_t total_questions(const char *strategy)
{
    size_t sum = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct ws__outcome out;
        struct ws_ctx *ctx;

        t_world_case(&world, &ctx, 1, 1, 24);
        world.p.seed = seed;
        world.fail_one_in = 20;
        world.noisy = true;
        assert_int_equal(t_world_run(&world, strategy,
                                     strategy[0] == 'r' ? CAP : 80, 2, &out),
                         0);
        sum += questions();
        ws__outcome_clear(ctx, &out);
        t_world_free(&world);
        ws_ctx_free(ctx);
    }
    return sum;
}

static void test_few_questions(void **state)
{
    (void)state;
    assert_true(total_questions("surrogate") * 3 < total_questions("random"));
}

/* The way down the bowl ends where nothing builds. */
static void fail_beyond(struct t_world *w, const struct ws__question *q,
                        struct ws__trial *out)
{
    (void)w;
    if (q->a.config.at[0] >= 12)
        out->verdict = WS__V_BUILD;
}

static void test_failing_region(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;
    size_t late = 0, failed = 0;

    (void)state;
    t_world_case(&world, &ctx, 1, 1, 24);
    world.change = fail_beyond;
    assert_int_equal(t_world_run(&world, "surrogate", 120, 1, &out), 0);
    for (size_t i = world.journal.n / 2; i < world.journal.n; i++) {
        late += !world.journal.rec[i].q.pair;
        failed += world.journal.rec[i].t[0].verdict == WS__V_BUILD;
    }
    assert_true(late >= 50);
    assert_true(failed < late / 4); /* by chance: a half */
    /* 1066.4 is the least of what builds. */
    assert_true(t_cost(&world, &out.choice[0].best.candidate, 0) <
                1.07 * 1066.4);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

/* Two kernels, two workloads; the second kernel is the faster one. */
static void test_all_workloads(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    t_world_case(&world, &ctx, 2, 2, 24);
    assert_int_equal(t_world_run(&world, "surrogate", 160, 4, &out), 0);
    for (uint32_t w = 0; w < 2; w++) {
        assert_int_equal(out.choice[w].best.candidate.kernel, 1);
        /* Kernel 1 is kernel 0 less 100. */
        assert_true(t_cost(&world, &out.choice[w].best.candidate, w) <
                    1.02 * (least_cost(w) - 100));
    }
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

/* 2,000 million configs: nothing is looked through, nor kept. */
static void test_huge(void **state)
{
    static const char *const by[] = {"surrogate", "random"};
    double cost[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct ws__outcome out;
        struct ws_ctx *ctx;

        t_world_case(&world, &ctx, 1, 1, 1000);
        assert_int_equal(t_world_run(&world, by[i], 60, 2, &out), 0);
        cost[i] = t_cost(&world, &out.choice[0].best.candidate, 0);
        ws__outcome_clear(ctx, &out);
        t_world_free(&world);
        ws_ctx_free(ctx);
    }
    /* Nearly all configs have d == 0: the bottom of the bowl is at 1435.6. */
    assert_true(cost[0] - 1435.6 < (cost[1] - 1435.6) / 4);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_few_questions),
        cmocka_unit_test(test_failing_region),
        cmocka_unit_test(test_all_workloads),
        cmocka_unit_test(test_huge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
