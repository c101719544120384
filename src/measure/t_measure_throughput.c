/*
 * t_measure_throughput.c: where the time of an evaluator went: the steps are
 * all of it, and what is counted is counted once.
 */
#include "measure/fleet.h"
#include "measure/t_measure_once.h"

/* What the samples of a screened candidate may take. */
#define SCREEN_NS 150000000u

#define GOOD                                                                   \
    "kernel k\nmul 1 0 2\nslow 200\ntime 1000\n"                               \
    "if V 2 slowed thermal 0 1e15\nif V 3 fill 1 7\n"

/* The first samples that count are slowed, and no others. How many were thrown
 * away before them to warm up depends on the machine; those have a part of the
 * time only. */
static bool slows_first;

static void slow_first(struct t_script *s, struct ws__device *d,
                       const struct ws__dev_batch *b, struct ws__dev_sample *x,
                       size_t n)
{
    (void)s;
    (void)d;
    if (!slows_first || b->limit_ns != SCREEN_NS)
        return;
    for (size_t i = 0; i < 2 && i < n; i++)
        x[i].slowed = WS__SLOW_POWER;
    slows_first = false;
}

static uint64_t sum(const struct ws__throughput *t)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < WS__NSTEP; i++)
        ns += t->step_ns[i];
    return ns;
}

static void steps(void **state)
{
    static const enum ws__step used[] = {WS__STEP_BUILD,  WS__STEP_INPUTS,
                                         WS__STEP_UPLOAD, WS__STEP_VERIFY,
                                         WS__STEP_TIME,   WS__STEP_BETWEEN};
    struct ws__throughput t, later;
    struct ws__evaluator ev;
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    t_script.after_run = slow_first;
    for (int v = 0; v < 4; v++) {
        struct ws__question q = t_question((uint64_t)v + 1, v, 0);

        slows_first = v == 1;
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, v == 3 ? WS__V_WRONG : WS__V_OK);
    }
    ev = ws__measure_evaluator(o.m);
    ev.ops->throughput(ev.self, &t);
    assert_int_equal(t.devices, 1);
    assert_int_equal(t.trials, 4);
    assert_int_equal(t.ahead, 0);
    assert_false(slows_first);
    assert_true(t.slowed > 1);
    assert_int_equal(t.lost_some, 2);
    assert_int_equal(t.kept_some, 1);
    assert_int_equal(sum(&t), t.wall_ns);
    for (size_t i = 0; i < WS_COUNT(used); i++)
        assert_true(t.step_ns[used[i]] > 0);
    assert_true(t.run_ns > 0);
    assert_true(t.run_ns <
                t.step_ns[WS__STEP_VERIFY] + t.step_ns[WS__STEP_TIME]);
    ev.ops->throughput(ev.self, &later);
    for (size_t i = 0; i < WS__NSTEP; i++)
        if (i != WS__STEP_BETWEEN)
            assert_int_equal(t.step_ns[i], later.step_ns[i]);
    once_end(&o);
}

static void of_a_fleet(void **state)
{
    static const char *const name[] = {"null:1", "null:2"};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_case *c = t_case_new(ctx, "kernel k\nmul 1 0 2\ntime 1000\n");
    struct ws__measure_deps deps = t_deps;
    struct ws__measure_opts opts = {.builders = 2, .cache = WS__CACHE_WARM};
    struct ws__question q[8];
    struct ws__throughput t;
    struct ws__evaluator ev;
    struct ws__trial a[2];
    struct ws__fleet *f;

    (void)state;
    deps.device_open = ws__device_open;
    assert_int_equal(ws__fleet_open_with(ctx, &deps, &c->op, &c->kernel, 1,
                                         c->workload, 2, &opts, name, 2, &f),
                     0);
    ev = ws__fleet_evaluator(f);
    for (int i = 0; i < 8; i++)
        q[i] = t_question((uint64_t)i + 1, i, 0);
    assert_int_equal(ev.ops->prefetch(ev.self, q, 8), 0);
    for (int i = 0; i < 8; i++) {
        memset(a, 0, sizeof(a));
        assert_int_equal(ev.ops->answer(ev.self, &q[i], a), 0);
        t_clear(ctx, a);
    }
    ev.ops->throughput(ev.self, &t);
    assert_int_equal(t.devices, 2);
    assert_int_equal(t.trials, 8);
    assert_true(t.ahead <= 8);
    assert_true(t.wall_ns > 0);
    assert_true(sum(&t) > t.wall_ns); /* of both */
    ws__fleet_close(f);
    t_case_free(c);
    ws_ctx_free(ctx);
}

static void names(void **state)
{
    (void)state;
    for (int i = 0; i < WS__NSTEP; i++)
        assert_true(ws__step_name((enum ws__step)i)[0] != '\0');
    assert_string_equal(ws__step_name(WS__STEP_BETWEEN), "between");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup(f, reset)
        T(steps),
        T(of_a_fleet),
        T(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
