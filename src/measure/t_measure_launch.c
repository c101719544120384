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
    assert_string_equal(id[0].protocol, "measure 2, cache warm, 3 sets");
    assert_string_equal(id[1].protocol, "measure 2, cache warm, 3 sets, graph");
    assert_false(ws__hash_eq(id[0].hash, id[1].hash));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup(f, reset)
        T(graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
