/*
 * t_measure_clock.c: samples that were taken while something slowed the
 * device, and its clock. The null device says when ("slowed"), counted in
 * samples of the module: two are checked ones, at least seven warm up.
 */
#include "measure/t_measure_once.h"

#define GOOD "kernel k\nmul 1 0 2\ntime 1000\nmhz 1755\n"

static void a_while(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD "slowed power 10 12\n");
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[0].slowed, 2);
    assert_int_equal(o.t[0].kept_slowed, 0);
    assert_int_equal(o.t[0].mhz, 1755);
    assert_true(o.t[0].nsample >= 5);
    once_end(&o);
}

/* The same across a worker's wire. */
static void isolated(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    t_script.inner = "isolate:null";
    once_begin(&o, GOOD "slowed hardware 10 11\n");
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[0].slowed, 1);
    assert_int_equal(o.t[0].mhz, 1755);
    once_end(&o);
}

/* While warming up nothing is lost. */
static void before(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD "slowed power 0 5\n");
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[0].slowed, 0);
    assert_int_equal(o.t[0].kept_slowed, 0);
    once_end(&o);
}

/* It ends all the same, and says that its samples are slowed ones. */
static void for_ever(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD "slowed thermal 0 1e15\nslowed power 12 1e15\n");
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_true(o.t[0].slowed > 0);
    assert_int_equal(o.t[0].kept_slowed, WS__SLOW_THERMAL | WS__SLOW_POWER);
    assert_true(o.t[0].nsample >= 5);
    assert_int_equal(o.t[0].mhz, 1755);
    once_end(&o);
}

/* Trials that follow wait less and less for what does not end, until one is
 * not slowed. */
static void in_vain(void **state)
{
    struct ws__question q = t_question(0, 0, 0);
    uint32_t first = 0;
    struct once o;

    (void)state;
    once_begin(&o, GOOD "if V 1 slowed thermal 0 1e15\n");
    for (int i = 0; i < 8; i++) {
        q.id++;
        q.a.config.at[0] = i != 6;
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_int_equal(o.m->bore, i < 6 ? i + 1 : i == 7);
        if (!i)
            first = o.t[0].slowed;
        else if (i == 5)
            assert_true(o.t[0].slowed && o.t[0].slowed < first);
        else if (i == 6)
            assert_int_equal(o.t[0].slowed, 0);
    }
    once_end(&o);
}

/* What slows one of a pair costs both the round. */
static void pair(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    q.pair = true;
    q.a.config.at[0] = 1;
    q.b.config.at[0] = 2;
    once_begin(&o, GOOD "if V 1 mhz 55\nif V 2 slowed power 14 17\n");
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[1].verdict, WS__V_OK);
    assert_int_equal(o.t[0].slowed, 3);
    assert_int_equal(o.t[1].slowed, 3);
    assert_int_equal(o.t[0].kept_slowed | o.t[1].kept_slowed, 0);
    assert_int_equal(o.t[0].nsample, o.t[1].nsample);
    assert_int_equal(o.t[0].mhz, 55);
    assert_int_equal(o.t[1].mhz, 1755);
    once_end(&o);
}

static void unknown(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, "kernel k\nmul 1 0 2\ntime 1000\n");
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[0].mhz, 0);
    assert_int_equal(o.t[0].slowed, 0);
    once_end(&o);
}

/* Rounds that are thrown away may have been wrong all the same. */
static void spoil(struct t_script *s, struct ws__device *d,
                  const struct ws__dev_batch *b, struct ws__dev_sample *x,
                  size_t n)
{
    (void)s, (void)d, (void)b;
    for (size_t i = 0; i < n; i++)
        if (x[i].slowed)
            x[i].hash++;
}

static void wrong_when_slowed(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD "slowed power 10 12\n");
    t_script.after_run = spoil;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_CHEAT);
    once_end(&o);
}

static struct ws_ctx *to_stop;

static void stop_when_slowed(struct t_script *s, struct ws__device *d,
                             const struct ws__dev_batch *b,
                             struct ws__dev_sample *x, size_t n)
{
    (void)s, (void)d, (void)b;
    for (size_t i = 0; i < n; i++)
        if (x[i].slowed)
            ws_ctx_cancel(to_stop);
}

static void stopped(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD "slowed power 10 1e15\n");
    assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
    to_stop = o.ctx;
    t_script.after_run = stop_when_slowed;
    assert_int_equal(t_answer(o.m, &q, o.t), WS_ECANCEL);
    once_end(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup(f, reset)
        T(a_while), T(isolated), T(before),  T(for_ever),          T(in_vain),
        T(pair),    T(unknown),  T(stopped), T(wrong_when_slowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
