/*
 * t_measure_gates.c: which gates a trial books, and what they cost: few of
 * them, those of a pair whose partner fails, those of a trial that was begun
 * again, and those that are asked for alone.
 */
#include "measure/t_measure_once.h"

#define GOOD "kernel k\nmul 1 0 2\ntime 1000\n"

static enum ws__gate_end end_of(const struct once *o, int i, enum ws__gate g)
{
    return ws__gate_end(&o->t[i], g);
}

static void open_light(struct once *o, bool light)
{
    struct ws__measure_opts opts = {.builders = 1,
                                    .cache = WS__CACHE_WARM,
                                    .seed = 7,
                                    .few_gates = light};

    once_begin(o, GOOD);
    assert_int_equal(t_measure_open(o->c, &opts, &o->m), 0);
}

static void few_book_no_others(void **state)
{
    static const enum ws__gate not [] = {WS__GATE_STATE, WS__GATE_VALUES,
                                         WS__GATE_SHAPES, WS__GATE_SANITIZER,
                                         WS__GATE_AGAIN};
    static const enum ws__gate both[] = {WS__GATE_FILTER, WS__GATE_BUILD,
                                         WS__GATE_RESULT, WS__GATE_TIMED};
    struct ws__question q = t_question(1, 0, 0);

    (void)state;
    q.want |= WS__WANT_PROOF | WS__WANT_SANITIZER | WS__WANT_FRESH;
    q.effort = WS__CONFIRM;
    for (int light = 0; light < 2; light++) {
        struct once o;

        open_light(&o, light);
        assert_int_equal(ws__measure_can_prove(o.m), !light);
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        for (size_t i = 0; i < WS_COUNT(both); i++)
            assert_int_equal(end_of(&o, 0, both[i]), WS__GATE_PASSED);
        for (size_t i = 0; light && i < WS_COUNT(not ); i++) {
            assert_int_equal(end_of(&o, 0, not [i]), WS__GATE_ABSENT);
            assert_int_equal(o.t[0].gate_ns[not [i]], 0);
        }
        if (!light) {
            assert_int_equal(end_of(&o, 0, WS__GATE_STATE), WS__GATE_PASSED);
            assert_int_equal(end_of(&o, 0, WS__GATE_SHAPES), WS__GATE_PASSED);
            assert_int_equal(end_of(&o, 0, WS__GATE_AGAIN), WS__GATE_PASSED);
        }
        assert_int_equal(o.t[0].did & WS__WANT_PROOF,
                         light ? 0 : WS__WANT_PROOF);
        once_end(&o);
    }
}

/* Who was not timed again is not as fast in a fresh process. */
static void again_needs_a_time(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    q.want |= WS__WANT_FRESH;
    q.pair = true;
    once_begin(&o, "kernel k\nmul 1 0 2\ntime 9\nif V 2 fill 1 7\n");
    for (int bad = 0; bad < 2; bad++) {
        q.id++;
        q.b.config.at[0] = bad ? 2 : 1;
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_int_equal(end_of(&o, 0, WS__GATE_RESULT), WS__GATE_PASSED);
        assert_int_equal(end_of(&o, 0, WS__GATE_AGAIN),
                         bad ? WS__GATE_ABSENT : WS__GATE_PASSED);
        assert_int_equal(end_of(&o, 1, WS__GATE_AGAIN),
                         bad ? WS__GATE_CLOSED : WS__GATE_PASSED);
        assert_int_equal(!o.t[0].nsample, bad);
        if (bad)
            assert_int_equal(o.t[0].gate_ns[WS__GATE_AGAIN], 0);
    }
    once_end(&o);
}

/* Only what was done in the end is booked; what it was filtered by stays. */
static void retries_begin_anew(void **state)
{
    struct ws__question q = t_question(1, 0, 0);

    (void)state;
    for (long at = 1; at < 20; at++) {
        struct once o;

        reset(NULL);
        once_begin(&o, GOOD);
        assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
        t_script.code = WS_ECRASH;
        t_script.fail_at = t_script.calls + at;
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_true(t_script.opens == 2 || t_script.calls < t_script.fail_at);
        for (int g = 0; g < WS__NGATE; g++) {
            enum ws__gate_end end = end_of(&o, 0, (enum ws__gate)g);

            assert_true(end == WS__GATE_PASSED || end == WS__GATE_ABSENT);
            if (g <= WS__GATE_STATE)
                assert_int_equal(end, WS__GATE_PASSED);
            assert_true(o.t[0].gate_ns[g] <= o.t[0].spent_ns);
        }
        once_end(&o);
    }
}

static long crash_after; /* so many runs of a device, what comes next crashes */

static void then_crash(struct t_script *x, struct ws__device *d,
                       const struct ws__dev_batch *b, struct ws__dev_sample *y,
                       size_t n)
{
    static long opens, runs;

    (void)d;
    (void)b;
    (void)y;
    (void)n;
    runs = x->opens == opens ? runs + 1 : 1;
    opens = x->opens;
    if (runs == crash_after)
        x->fail_at = x->calls + 1;
}

/* The second crash is the verdict, of the gate at which it came: those behind
 * it stay closed. */
static void believed_crash(void **state)
{
    static const enum ws__gate gate[] = {WS__GATE_RESULT, WS__GATE_RESULT,
                                         WS__GATE_TIMED};
    struct ws__question q = t_question(1, 0, 0);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(gate); i++) {
        struct once o;

        reset(NULL);
        crash_after = (long)i + 1;
        t_script.code = WS_ECRASH;
        t_script.after_run = then_crash;
        once_begin(&o, GOOD);
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_CRASH);
        for (int g = 0; g < WS__NGATE; g++)
            if (g != WS__GATE_FLOOR) /* a processor has none */
                assert_int_equal(end_of(&o, 0, (enum ws__gate)g),
                                 g < (int)gate[i]    ? WS__GATE_PASSED
                                 : g == (int)gate[i] ? WS__GATE_FAILED
                                                     : WS__GATE_CLOSED);
        once_end(&o);
    }
}

/* A proof without times: no launch on the workload that was asked for, but
 * those of the proof. */
static void gates_alone(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    q.want = WS__WANT_BUILD | WS__WANT_PROOF;
    q.effort = WS__CONFIRM;
    once_begin(&o, GOOD);
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[0].did, q.want);
    assert_int_equal(o.t[0].nsample, 0);
    assert_int_equal(end_of(&o, 0, WS__GATE_RESULT), WS__GATE_ABSENT);
    assert_int_equal(end_of(&o, 0, WS__GATE_AGAIN), WS__GATE_ABSENT);
    assert_int_equal(end_of(&o, 0, WS__GATE_SHAPES), WS__GATE_PASSED);
    assert_int_equal(end_of(&o, 0, WS__GATE_VALUES), WS__GATE_PASSED);
    once_end(&o);

    once_begin(&o, "kernel k\nfill 1 7\n");
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_WRONG);
    assert_int_equal(end_of(&o, 0, WS__GATE_SHAPES), WS__GATE_FAILED);
    once_end(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(few_book_no_others, reset),
        cmocka_unit_test_setup(again_needs_a_time, reset),
        cmocka_unit_test_setup(retries_begin_anew, reset),
        cmocka_unit_test_setup(believed_crash, reset),
        cmocka_unit_test_setup(gates_alone, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
