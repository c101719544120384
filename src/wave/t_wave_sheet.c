/* t_wave_sheet.c: sheets by the names that drivers give, and what priors make
 * of them. */
#include "base/t_base.h"

#include <math.h>

#include "wave/wave.h"

static struct ws__wave_sheet of(const char *name)
{
    return ws__wave_sheet_of(&(struct ws__wave_device){.name = name});
}

static void test_names(void **state)
{
    static const char *const name[][2] = {
        {"NVIDIA H200", "h200"},
        {"NVIDIA GH200 480GB", "gpu"},
        {"NVIDIA H100 80GB HBM3", "h100"},
        {"NVIDIA H100 PCIe", "h100-pcie"},
        {"NVIDIA A100 80GB PCIe", "a100-80gb-pcie"},
        {"NVIDIA A100-SXM4-80GB", "a100-80gb"},
        {"NVIDIA A100-PCIE-40GB", "a100-pcie"},
        {"NVIDIA A100-SXM4-40GB", "a100"},
        {"NVIDIA L4", "l4"},
        {"NVIDIA L40", "gpu"},
        {"Tesla T4", "t4"},
        {"Tesla V100-PCIE-32GB", "v100"},
        {"Tesla P100-PCIE-16GB", "p100"},
        {"Tesla P4", "p4"},
        {"", "gpu"},
    };
    (void)state;

    for (size_t i = 0; i < WS_COUNT(name); i++)
        assert_string_equal(of(name[i][0]).name, name[i][1]);
    assert_null(ws__wave_sheet_find("gpu"));
    assert_string_equal(ws__wave_sheets[0].name, "h200");
}

/* A device without a sheet: the driver's figures, and little faith in them. */
static void test_unknown(void **state)
{
    struct ws__wave_device d = {.name = "Some T4",
                                .units = 8,
                                .cache_bytes = 3e6,
                                .vector_bytes = 64,
                                .is_cpu = true};
    struct ws__wave_sheet s = ws__wave_sheet_of(&d), one;
    struct ws__wave_belief vague, known;
    (void)state;

    assert_string_equal(s.name, "cpu");
    assert_true(s.vague && s.is_cpu);
    assert_true(s.units == 8 && s.cache_bytes == 3e6 && s.vector_bytes == 64);
    d.units = 0;
    one = ws__wave_sheet_of(&d);
    assert_true(one.units == 1);
    assert_true(s.vector_tflops == 8 * one.vector_tflops);
    ws__wave_prior(&s, &vague);
    s.vague = false;
    ws__wave_prior(&s, &known);
    for (int k = 0; k < WS__NTHETA; k++) {
        assert_true(vague.sd[k] > known.sd[k]);
        assert_true(vague.centre[k] == known.centre[k]);
    }
}

static void test_priors(void **state)
{
    struct ws__wave_belief home, p;
    (void)state;

    ws__wave_prior(&ws__wave_sheets[0], &home);
    for (size_t i = 0; i < ws__wave_nsheet; i++) {
        const struct ws__wave_sheet *s = &ws__wave_sheets[i];

        assert_ptr_equal(ws__wave_sheet_find(s->name), s);
        assert_string_equal(of(s->words).name, s->name);
        ws__wave_prior(s, &p);
        for (int k = 0; k < WS__NTHETA; k++)
            assert_true(isfinite(p.centre[k]) && p.sd[k] > 0);
        /* None is above the one the priors were made on. */
        assert_true(p.centre[WS__T_DRAM] <= home.centre[WS__T_DRAM]);
        assert_true(p.centre[WS__T_MMA] <= home.centre[WS__T_MMA]);
    }
}

/* A board of few watts does not hold its peak; one without matrix units does
 * that work with the others. */
static void test_power(void **state)
{
    struct ws__wave_sheet t4 = *ws__wave_sheet_find("t4");
    struct ws__wave_belief held, free, bare;
    (void)state;

    ws__wave_prior(&t4, &held);
    t4.watts = 0;
    ws__wave_prior(&t4, &free);
    assert_true(held.centre[WS__T_FMA] < free.centre[WS__T_FMA] - .3);
    assert_true(held.centre[WS__T_MMA] == free.centre[WS__T_MMA]);
    t4.matrix_tflops = 0;
    ws__wave_prior(&t4, &bare);
    assert_true(bare.centre[WS__T_MMA] < free.centre[WS__T_MMA]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_priors),
        cmocka_unit_test(test_power),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
