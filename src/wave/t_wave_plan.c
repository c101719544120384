/*
 * t_wave_plan.c: what a plan asks: within its budget, no pair twice, none that
 * is infeasible, barred or known; shapes that are far apart first; to the end
 * when nothing else is said; the same twice; and what decides rather than what
 * is hopeless.
 */
#include "wave/t_wave.h"

#include "wavesmith/wavesmith.h"

/* What a plan asked. */
struct asked {
    size_t n;
    struct ws__wave_point x[T_SHAPES * T_CONFIGS];
    unsigned times[T_SHAPES * T_CONFIGS], config[T_CONFIGS], shape[T_SHAPES];
};

static int ask(struct ws__wave_plan *p, struct asked *a)
{
    struct ws__wave_point *x = &a->x[a->n];
    int rc;

    rc = ws__wave_plan_next(p, &x->shape, &x->config);
    if (rc)
        return rc;
    a->n++;
    a->times[x->shape * T_CONFIGS + x->config]++;
    a->config[x->config]++;
    a->shape[x->shape]++;
    return 0;
}

static void tell(struct ws__wave_plan *p, uint32_t shape, uint32_t config)
{
    struct ws__wave_sample s = {shape, config,
                                t.log_ns[shape * T_CONFIGS + config], 1};

    assert_int_equal(ws__wave_plan_tell(p, &s), 0);
}

static struct ws__wave_plan *plan(struct ws__wave_plan_opts o)
{
    struct ws__wave_plan *p = NULL;

    assert_int_equal(ws__wave_plan_new(&t.table, &o, &p), 0);
    return p;
}

/* Asks and tells at most `n` times. */
static int go(struct ws__wave_plan *p, struct asked *a, size_t n)
{
    int rc = 0;

    for (size_t i = 0; i < n && !rc; i++) {
        rc = ask(p, a);
        if (!rc)
            tell(p, a->x[a->n - 1].shape, a->x[a->n - 1].config);
    }
    return rc;
}

static void each_at_most_once(const struct asked *a)
{
    for (size_t i = 0; i < T_SHAPES * T_CONFIGS; i++)
        assert_true(a->times[i] <= 1);
}

static void budget_and_once(void **state)
{
    struct asked a = {0};
    struct ws__wave_plan *p =
        plan((struct ws__wave_plan_opts){.budget = 60, .seed = 3});
    const struct ws__wave_model *m;
    size_t n;

    (void)state;
    assert_int_equal(go(p, &a, 1000), WS_EDONE);
    assert_int_equal(a.n, 60);
    each_at_most_once(&a);
    assert_int_equal(ask(p, &a), WS_EDONE);
    assert_ptr_not_equal(ws__wave_plan_samples(p, &n), NULL);
    assert_int_equal(n, 60);
    assert_int_equal(ws__wave_plan_model(p, &m), 0);
    assert_non_null(m);
    ws__wave_plan_free(p);
}

static void to_the_end(void **state)
{
    struct asked a = {0};
    struct ws__wave_plan *p = plan((struct ws__wave_plan_opts){.seed = 3});

    (void)state;
    assert_int_equal(go(p, &a, 1000), WS_EDONE);
    assert_int_equal(a.n, T_SHAPES * T_CONFIGS);
    each_at_most_once(&a);
    ws__wave_plan_free(p);
}

static void infeasible_and_not_allowed(void **state)
{
    unsigned char allowed[T_SHAPES];
    struct asked a = {0};
    struct ws__wave_plan *p;
    size_t may = 0;

    (void)state;
    for (size_t i = 0; i < T_SHAPES; i++) {
        allowed[i] = i % 3 != 0;
        for (size_t j = 0; j < T_CONFIGS; j++) {
            t.pair[i * T_CONFIGS + j].feasible = (i + j) % 4 != 0;
            may += allowed[i] && (i + j) % 4 != 0;
        }
    }
    p = plan((struct ws__wave_plan_opts){.allowed = allowed, .seed = 4});
    assert_int_equal(go(p, &a, 1000), WS_EDONE);
    assert_int_equal(a.n, may);
    each_at_most_once(&a);
    for (size_t i = 0; i < a.n; i++) {
        assert_true(allowed[a.x[i].shape]);
        assert_true((a.x[i].shape + a.x[i].config) % 4 != 0);
    }
    ws__wave_plan_free(p);
}

static void nothing_is_allowed(void **state)
{
    unsigned char allowed[T_SHAPES] = {0};
    struct asked a = {0};
    struct ws__wave_plan *p =
        plan((struct ws__wave_plan_opts){.allowed = allowed, .budget = 10});

    (void)state;
    assert_int_equal(ask(p, &a), WS_EDONE);
    ws__wave_plan_free(p);
}

static void spread_first(void **state)
{
    struct asked a = {0};
    struct ws__wave_plan *p =
        plan((struct ws__wave_plan_opts){.budget = 60,
                                         .spread = T_SHAPES,
                                         .seed = 9});

    (void)state;
    assert_int_equal(go(p, &a, T_SHAPES), 0);
    for (size_t i = 0; i < T_SHAPES; i++)
        assert_int_equal(a.shape[i], 1);
    for (size_t j = 0; j < T_CONFIGS; j++)
        assert_int_equal(a.config[j], T_SHAPES / T_CONFIGS);
    ws__wave_plan_free(p);
}

static void barred_configs(void **state)
{
    struct asked a = {0};
    struct ws__wave_plan *p = plan((struct ws__wave_plan_opts){.seed = 6});
    unsigned before;

    (void)state;
    assert_int_equal(go(p, &a, 3), 0);
    before = a.config[5];
    ws__wave_plan_bar(p, 5);
    assert_int_equal(go(p, &a, 1000), WS_EDONE);
    assert_int_equal(a.config[5], before);
    assert_int_equal(a.n, T_SHAPES * (T_CONFIGS - 1) + before);
    each_at_most_once(&a);
    ws__wave_plan_free(p);
}

/* Times that come from elsewhere are known, and not asked for. */
static void foreign_pairs(void **state)
{
    struct asked a = {0};
    struct ws__wave_plan *p = plan((struct ws__wave_plan_opts){.seed = 6});
    size_t n;

    (void)state;
    for (uint32_t i = 0; i < T_SHAPES; i++)
        for (uint32_t j = i % 2; j < T_CONFIGS; j += 2)
            tell(p, i, j);
    tell(p, 0, 0); /* again: left out */
    ws__wave_plan_samples(p, &n);
    assert_int_equal(n, T_SHAPES * T_CONFIGS / 2);
    assert_int_equal(go(p, &a, 1000), WS_EDONE);
    assert_int_equal(a.n, T_SHAPES * T_CONFIGS / 2);
    for (size_t i = 0; i < a.n; i++)
        assert_true((a.x[i].config + a.x[i].shape) % 2 == 1);
    ws__wave_plan_free(p);
}

static void failures_go_on(void **state)
{
    struct asked a = {0};
    struct ws__wave_plan *p =
        plan((struct ws__wave_plan_opts){.budget = 80, .seed = 2});
    const struct ws__wave_model *m;

    (void)state;
    while (!ask(p, &a)) {
        struct ws__wave_sample s = {a.x[a.n - 1].shape, a.x[a.n - 1].config,
                                    HUGE_VAL, 1};

        if (a.n % 3 == 0)
            assert_int_equal(ws__wave_plan_tell(p, &s), 0);
        else
            tell(p, s.shape, s.config);
    }
    assert_int_equal(a.n, 80);
    each_at_most_once(&a);
    assert_int_equal(ws__wave_plan_model(p, &m), 0);
    ws__wave_plan_free(p);
}

static void the_same_twice(void **state)
{
    for (int improve = 0; improve < 2; improve++) {
        struct asked a = {0}, b = {0}, c = {0};
        struct ws__wave_plan_opts o = {.budget = 60,
                                       .seed = 5,
                                       .improve = improve};
        struct ws__wave_plan *p = plan(o), *q = plan(o), *r;

        (void)state;
        assert_int_equal(go(p, &a, 60), 0);
        assert_int_equal(go(q, &b, 60), 0);
        assert_memory_equal(&a, &b, sizeof(a));
        o.seed = 6;
        r = plan(o);
        assert_int_equal(go(r, &c, 60), 0);
        assert_memory_not_equal(a.x, c.x, sizeof(a.x));
        ws__wave_plan_free(p);
        ws__wave_plan_free(q);
        ws__wave_plan_free(r);
    }
}

/* Two configs are about as fast, the others thirty times slower on every
 * shape: after the spread only those two decide anything. */
static void what_decides(void **state)
{
    struct asked a = {0};
    struct ws__wave_plan *p;
    size_t first;

    (void)state;
    for (int j = 2; j < T_CONFIGS; j++)
        for (int i = 0; i < T_SHAPES; i++) {
            int64_t *c = t.pair[i * T_CONFIGS + j].coord;

            c[WSRT_W_STEPS] *= 30;
            c[WSRT_W_LONGEST] *= 30;
        }
    for (int i = 0; i < T_SHAPES; i++)
        t.pair[i * T_CONFIGS + 1] = t.pair[i * T_CONFIGS];
    t.config[1] = t.config[0];
    t.config[1].feature[2] = 5; /* another config for the process */
    t_wave_times(&t, 0);
    p = plan(
        (struct ws__wave_plan_opts){.budget = 48, .spread = 24, .seed = 1});
    assert_int_equal(go(p, &a, 24), 0);
    first = a.n;
    assert_int_equal(go(p, &a, 12), 0);
    for (size_t i = first; i < a.n; i++)
        assert_true(a.x[i].config < 2);
    ws__wave_plan_free(p);
}

static int run_plan(struct ws_ctx *c, void *user)
{
    struct t_wave *w = user;
    struct ws__wave_plan_opts o = {.budget = 20, .seed = 1};
    const struct ws__wave_model *m;
    struct ws__wave_plan *p;
    uint32_t shape, config;
    int rc;

    w->table.ctx = c;
    WS_TRY(ws__wave_plan_new(&w->table, &o, &p));
    while (!(rc = ws__wave_plan_next(p, &shape, &config))) {
        struct ws__wave_sample s = {shape, config,
                                    w->log_ns[shape * T_CONFIGS + config], 1};

        rc = ws__wave_plan_tell(p, &s);
        if (rc)
            break;
    }
    if (rc == WS_EDONE)
        rc = ws__wave_plan_model(p, &m);
    ws__wave_plan_free(p);
    return rc;
}

static void allocations_fail(void **state)
{
    (void)state;
    assert_true(t_torture(run_plan, &t) > 20);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, make_table)
    const struct CMUnitTest tests[] = {
        CASE(budget_and_once),
        CASE(to_the_end),
        CASE(infeasible_and_not_allowed),
        CASE(nothing_is_allowed),
        CASE(spread_first),
        CASE(barred_configs),
        CASE(foreign_pairs),
        CASE(failures_go_on),
        CASE(the_same_twice),
        CASE(what_decides),
        CASE(allocations_fail),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
