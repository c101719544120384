/*
 * t_generate.c: inputs are what their rule says, and the same bytes whatever
 * the number of threads, the compiler and the processor.
 */
#include "base/t_base.h"

#include <math.h>

#include "reference/refpriv.h"

#define COUNT 200000u

static void fill(const struct ws__fill *f, double *v)
{
    ws__fill_run(f, WS__DT_F64, 42, NULL, v, 0, COUNT);
}

static double moment(const double *v, int power)
{
    double s = 0;

    for (size_t i = 0; i < COUNT; i++)
        s += pow(v[i], power);
    return s / COUNT;
}

static void test_normal(void **state)
{
    static double v[COUNT];
    struct ws__fill f = {WS__FILL_NORMAL, 0, 1};
    size_t beyond1 = 0, beyond3 = 0;
    double neighbours = 0;

    (void)state;
    fill(&f, v);
    /* Standard errors are 0.0022, 0.0032, 0.0055, 0.022: four of them. */
    assert_true(fabs(moment(v, 1)) < 0.009);
    assert_true(fabs(moment(v, 2) - 1) < 0.013);
    assert_true(fabs(moment(v, 3)) < 0.035);
    assert_true(fabs(moment(v, 4) - 3) < 0.09);
    for (size_t i = 0; i < COUNT; i++) {
        beyond1 += fabs(v[i]) > 1;
        beyond3 += fabs(v[i]) > 3;
        neighbours += i ? v[i] * v[i - 1] : 0;
    }
    assert_true(fabs((double)beyond1 / COUNT - 0.317311) < 0.0042);
    assert_true(fabs((double)beyond3 / COUNT - 0.0026998) < 0.00047);
    assert_true(fabs(neighbours / COUNT) < 0.009);

    f.a = 10;
    f.b = 0.5;
    fill(&f, v);
    assert_true(fabs(moment(v, 1) - 10) < 0.005);
}

static void test_ranges(void **state)
{
    static double v[COUNT];
    struct ws__fill uniform = {WS__FILL_UNIFORM, -2, 3};
    struct ws__fill integers = {WS__FILL_INTEGERS, -1, 2};
    struct ws__fill constant = {WS__FILL_CONSTANT, 7, 0};
    size_t seen[4] = {0};

    (void)state;
    fill(&uniform, v);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(v[i] >= -2 && v[i] < 3);
    assert_true(fabs(moment(v, 1) - 0.5) < 0.013);
    fill(&integers, v);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(v[i] == floor(v[i]) && v[i] >= -1 && v[i] <= 2);
        seen[(int)v[i] + 1]++;
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(seen[i] > COUNT / 4 - 800 && seen[i] < COUNT / 4 + 800);
    fill(&constant, v);
    assert_true(v[0] == 7 && v[COUNT - 1] == 7);
}

/* Any cut at a block gives the same bytes, odd lengths too. */
static void test_cuts(void **state)
{
    static const struct ws__fill f = {WS__FILL_NORMAL, 0, 1};
    uint16_t whole[5001], parts[5001];

    (void)state;
    ws__fill_run(&f, WS__DT_BF16, 9, NULL, whole, 0, 5001);
    memset(parts, 0, sizeof(parts));
    ws__fill_run(&f, WS__DT_BF16, 9, NULL, parts, 4096, 5001);
    ws__fill_run(&f, WS__DT_BF16, 9, NULL, parts, 1024, 4096);
    ws__fill_run(&f, WS__DT_BF16, 9, NULL, parts, 0, 1024);
    assert_memory_equal(whole, parts, sizeof(whole));
    ws__fill_run(&f, WS__DT_BF16, 10, NULL, parts, 0, 5001);
    assert_memory_not_equal(whole, parts, sizeof(whole));
}

/* A stored seed must mean the same inputs for ever. */
static void test_frozen(void **state)
{
    static const struct ws__fill f = {WS__FILL_NORMAL, 0, 1};
    static const struct {
        enum ws__dtype type;
        const char *hash;
    } golden[] = {
        {WS__DT_F64, "d2a346f41f6c2ebea5572d82073e350b"},
        {WS__DT_F32, "a00713bb73298a1b19cd7f829b2196c1"},
        {WS__DT_F16, "753aef0b3a48fa6d67851cae7b365b76"},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(golden); i++) {
        static double v[4096];
        char hex[33];

        ws__fill_run(&f, golden[i].type, 1, NULL, v, 0, WS_COUNT(v));
        ws__hash_hex(ws__hash_bytes(v, WS_COUNT(v) *
                                           ws__dtype_bytes(golden[i].type)),
                     hex);
        assert_string_equal(hex, golden[i].hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_frozen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
