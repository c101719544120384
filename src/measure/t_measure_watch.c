/*
 * t_measure_watch.c: what becomes of a launch that a device watched, and of
 * ops whose results tell nothing.
 */
#include "measure/t_measure_once.h"

#define GOOD "kernel k\nmul 1 0 2\ntime 1000\n"

static void ask(struct once *o, enum ws__effort effort)
{
    struct ws__question q = t_question(1, 0, 0);

    q.effort = effort;
    once_ask(o, &q);
}

/* Not in screening, not with few gates, not where a device cannot; and the
 * reason of none is the candidate. */
static void when(void **state)
{
    struct ws__measure_opts few = {.builders = 1,
                                   .cache = WS__CACHE_WARM,
                                   .few_gates = true};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct once o;

        reset(NULL);
        t_script.watch = i != 3;
        once_begin(&o, GOOD);
        if (i == 2)
            assert_int_equal(t_measure_open(o.c, &few, &o.m), 0);
        ask(&o, i == 0 ? WS__SCREEN : WS__NORMAL);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_int_equal(t_script.watches > 0, i == 1);
        once_end(&o);
    }
}

static void judged(void **state)
{
    static const struct {
        struct ws__dev_touch touch;
        enum ws__verdict verdict;
        const char *reason;
    } c[] = {
        {{WS__TOUCH_INPUT, 1, 4}, WS__V_CHEAT, "writes to input 'A', and puts"},
        {{WS__TOUCH_INPUT, 1, WS__TOUCH_NOWHERE},
         WS__V_CHEAT,
         "writes to input 'A', and puts"},
        {{WS__TOUCH_READ, 1, 260},
         WS__V_WRONG,
         "reads outside of 'A', 4 bytes after its end"},
        {{WS__TOUCH_READ, 2, -8},
         WS__V_WRONG,
         "reads outside of 'C', 8 bytes before its start"},
        {{WS__TOUCH_WRITE, 2, 256},
         WS__V_WRONG,
         "writes outside of 'C', 0 bytes after its end"},
        {{WS__TOUCH_READ, 999, 0}, WS__V_CHEAT, "another launch's"},
        {{WS__TOUCH_SOME, 0, WS__TOUCH_NOWHERE},
         WS__V_WRONG,
         "reads or writes outside of its buffers"},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        struct once o;
        long opens;

        reset(NULL);
        t_script.watch = true;
        t_script.touch = c[i].touch;
        once_begin(&o, GOOD);
        ask(&o, WS__NORMAL);
        assert_int_equal(o.t[0].verdict, c[i].verdict);
        if (!strstr(o.t[0].reason, c[i].reason))
            fail_msg("'%s' lacks '%s'", o.t[0].reason, c[i].reason);
        assert_int_equal(ws__gate_end(&o.t[0], WS__GATE_RESULT),
                         WS__GATE_FAILED);
        /* the device may be broken: the next question gets a fresh one */
        opens = t_script.opens;
        t_script.touch.kind = WS__TOUCH_NONE;
        ask(&o, WS__NORMAL);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_true(t_script.opens > opens);
        once_end(&o);
    }
}

/* Those of a processor can be told by their addresses, so all are watched. */
static void which_sets(void **state)
{
    (void)state;
    for (int gpu = 0; gpu < 2; gpu++) {
        struct once o;

        reset(NULL);
        t_script.watch = true;
        t_script.not_cpu = gpu;
        once_begin(&o, GOOD);
        ask(&o, WS__NORMAL);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_int_equal(t_script.watches, gpu ? 1 : WS__SETS);
        once_end(&o);
    }
}

/* As in any launch: a crash must come twice, a hang once. */
static void failures(void **state)
{
    static const struct {
        int rc;
        enum ws__verdict verdict;
        long watches;
    } c[] = {{WS_ECRASH, WS__V_CRASH, 2},
             {WS_ETIMEOUT, WS__V_HANG, 1},
             {WS_ELAUNCH, WS__V_LAUNCH, 1}};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        struct once o;

        reset(NULL);
        t_script.watch = true;
        t_script.watch_rc = c[i].rc;
        once_begin(&o, GOOD);
        ask(&o, WS__NORMAL);
        assert_int_equal(o.t[0].verdict, c[i].verdict);
        assert_non_null(strstr(o.t[0].reason, "watched: blinded"));
        assert_int_equal(t_script.watches, c[i].watches);
        once_end(&o);
    }
}

/* The same everywhere, and for another seed: refused. Where another seed gives
 * another value the reference was asked once more and no further. */
static void constants(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
    t_reference_flat = 1;
    assert_int_equal(t_answer(o.m, &q, o.t), WS_EREFERENCE);
    assert_non_null(strstr(ws_ctx_error(o.ctx)->message,
                           "output 'C' of 'scale' tells nothing: every element "
                           "is 3"));
    assert_non_null(strstr(ws_ctx_error(o.ctx)->hint, "op audit"));
    assert_int_equal(t_reference_runs, 2);

    t_reference_flat = 2;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_WRONG);
    assert_int_equal(t_reference_runs, 4);
    once_end(&o);
}

/* An axis of one element may make any result fixed. */
static void degenerate(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    o.c->workload[0].axis[0] = 1;
    t_reference_flat = 1;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_WRONG);
    assert_int_equal(t_reference_runs, 1);
    once_end(&o);
}

/* Nobody asked for a hidden shape, and its inputs may be another one's. */
static void hidden_constants(void **state)
{
    struct ws__measure_opts opts = {.inner = true};
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    assert_int_equal(t_measure_open(o.c, &opts, &o.m), 0);
    t_reference_flat = 1;
    assert_int_equal(t_answer(o.m, &q, o.t), 0);
    assert_int_equal(o.t[0].verdict, WS__V_WRONG);
    assert_int_equal(t_reference_runs, 1);
    once_end(&o);
}

/* Nor does a result of few elements say anything: a coin falls alike twice. */
static void few_elements(void **state)
{
    struct ws__question q = t_question(1, 0, 0);

    (void)state;
    for (int64_t n = 15; n <= 16; n++) {
        struct once o;

        reset(NULL);
        once_begin(&o, GOOD);
        o.c->workload[0].axis[0] = n;
        assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
        t_reference_flat = 1;
        assert_int_equal(t_answer(o.m, &q, o.t), n < 16 ? 0 : WS_EREFERENCE);
        once_end(&o);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, reset)
    const struct CMUnitTest tests[] = {
        T(when),      T(judged),           T(which_sets), T(failures),
        T(constants), T(hidden_constants), T(degenerate), T(few_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
