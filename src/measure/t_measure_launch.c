/*
 * t_measure_launch.c: how launches are made: one by one or by a graph, and
 * under which limit of time.
 */
#include "measure/t_measure_once.h"

#define GOOD "kernel k\nmul 1 0 2\ntime 1000\n"

static long graphs, streams;

static void look_at_mode(struct t_script *s, struct ws__device *d,
                         const struct ws__dev_batch *b,
                         struct ws__dev_sample *x, size_t n)
{
    (void)s, (void)d, (void)x, (void)n;
    if (b->graph)
        graphs++;
    else
        streams++;
}

/* Checked launches and timed ones alike, and under an identity of its own. */
static void graph(void **state)
{
    struct ws__measure_opts opts = {.builders = 1, .cache = WS__CACHE_WARM};
    struct ws__question q = t_question(1, 0, 0);
    struct ws__identity id[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct once o;

        graphs = streams = 0;
        t_script.after_run = look_at_mode;
        opts.graph = i;
        once_begin(&o, GOOD);
        assert_int_equal(t_measure_open(o.c, &opts, &o.m), 0);
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_true((i ? graphs : streams) > 3);
        assert_int_equal(i ? streams : graphs, 0);
        id[i] = ws__measure_device(o.m)->id;
        once_end(&o);
    }
    assert_string_equal(id[0].protocol, "measure 5, cache warm, 3 sets");
    assert_string_equal(id[1].protocol, "measure 5, cache warm, 3 sets, graph");
    assert_false(ws__hash_eq(id[0].hash, id[1].hash));
}

/* ---- limits ------------------------------------------------------------- */

static uint64_t least_ns;

static void look_at_limit(struct t_script *s, struct ws__device *d,
                          const struct ws__dev_batch *b,
                          struct ws__dev_sample *x, size_t n)
{
    (void)d, (void)b, (void)x, (void)n;
    if (!least_ns || s->limit_ns < least_ns)
        least_ns = s->limit_ns;
}

/* A thousand times the best known, between 2 s and the default or what was
 * asked for; of the other workload nothing is known. */
static void limits(void **state)
{
    static const struct {
        const char *time;
        uint64_t asked_ns, first_ns, then_ns;
    } c[] = {{"1000", 0, 20000000000u, 2000000000u},
             {"1e7", 0, 20000000000u, 10000000000u},
             {"1e9", 0, 20000000000u, 20000000000u},
             {"1000", 3000000000u, 3000000000u, 3000000000u},
             {"1e9", 50000000000u, 50000000000u, 50000000000u}};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        struct ws__measure_opts opts = {.builders = 1,
                                        .cache = WS__CACHE_WARM,
                                        .run_limit_ns = c[i].asked_ns};
        struct ws__question q = t_question(1, 0, 0);
        char source[64];
        struct once o;

        reset(NULL);
        t_script.after_run = look_at_limit;
        snprintf(source, sizeof(source), "kernel k\nmul 1 0 2\ntime %s\n",
                 c[i].time);
        once_begin(&o, source);
        assert_int_equal(t_measure_open(o.c, &opts, &o.m), 0);
        for (int k = 0; k < 3; k++) {
            least_ns = 0;
            q.id++;
            q.a.config.at[0] = (uint16_t)k;
            q.workload = k == 2;
            once_ask(&o, &q);
            assert_int_equal(o.t[0].verdict, WS__V_OK);
            assert_int_equal(least_ns, k == 1 ? c[i].then_ns : c[i].first_ns);
        }
        once_end(&o);
    }
}

static void hangs(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    t_script.inner = "isolate:null:1"; /* builders do not run it */
    once_begin(&o, GOOD "if V 1 hang\n");
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    q.id++;
    q.a.config.at[0] = 1;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_HANG);
    T_ASSERT_HAS(o.t[0].reason, "did not end within 2 s");
    once_end(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup(f, reset)
        T(graph),
        T(limits),
        T(hangs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
