/*
 * t_gemm_kernel.c: the shipped GEMM: specification, space, plans.
 *
 * It loads, every workload has a valid default and more than 1,000 valid
 * configs on a CPU and on a GPU, and for random configs the plan covers C
 * exactly once and the final text names every parameter. t_kernels.c runs
 * them.
 */
#include "base/t_base.h"

#include "space/space.h"
#include "spec/spec.h"

#define KERNEL "ops/gemm/kernels/gemm_tiled.yaml"
#define DEMO "ops/gemm/demo.yaml"

struct machine {
    const char *name;
    int64_t units, threads, shared, vector, is_cpu;
};
static const struct machine machines[] = {
    {"cpu", 2, 4096, 524288, 64, 1},
    {"gpu", 132, 1024, 232448, 16, 0},
};

static struct ws_ctx *ctx;
static struct ws__spec *spec;

static int setup(void **state)
{
    struct ws__spec_opts o = {.share_dir = "ops"};

    (void)state;
    ctx = t_ctx(NULL);
    if (ctx && ws__spec_load(ctx, KERNEL, &o, &spec) == 0)
        return 0;
    printf("# %s:%u: %s\n", ws_ctx_error(ctx)->file, ws_ctx_error(ctx)->line,
           ws_ctx_error(ctx)->message);
    return -1;
}

static int teardown(void **state)
{
    (void)state;
    ws__spec_free(spec);
    ws_ctx_free(ctx);
    return 0;
}

static void set_vars(const struct machine *m, const struct ws__instance *in,
                     union wsrt_value *vars)
{
    const struct ws__kernel *k = &spec->kernel[0];

    memcpy(vars, in->vars, sizeof(in->vars));
    vars[ws__kernel_device_slot(k, WS__DV_UNITS)].i = m->units;
    vars[ws__kernel_device_slot(k, WS__DV_THREADS)].i = m->threads;
    vars[ws__kernel_device_slot(k, WS__DV_SHARED)].i = m->shared;
    vars[ws__kernel_device_slot(k, WS__DV_VECTOR)].i = m->vector;
    vars[ws__kernel_device_slot(k, WS__DV_IS_CPU)].i = m->is_cpu;
}

static int64_t param(const struct ws__config *c, const char *name)
{
    const struct ws__kernel *k = &spec->kernel[0];

    for (size_t i = 0; i < k->nparam; i++)
        if (!strcmp(k->param[i].name, name))
            return k->param[i].value[c->at[i]].u.i;
    fail_msg("no parameter %s", name);
    return 0;
}

static void check_plan(const struct ws__instance *in,
                       const struct ws__config *c, union wsrt_value *vars)
{
    int64_t m = in->vars[0].i, n = in->vars[1].i, bm = param(c, "BM"),
            bn = param(c, "BN"), split = param(c, "SPLIT_K");
    static struct ws__plan plan;
    char *text, want[64];

    ws__config_vars(&spec->kernel[0], c, vars);
    assert_int_equal(ws__plan_make(ctx, &spec->kernel[0], vars, &plan), 0);
    assert_int_equal(plan.nlaunch, split > 1 ? 2 : 1);
    assert_int_equal(plan.launch[0].grid[0], (n + bn - 1) / bn);
    assert_int_equal(plan.launch[0].grid[1], (m + bm - 1) / bm);
    assert_int_equal(plan.launch[0].grid[2], split);
    assert_int_equal(plan.launch[0].block[0] * param(c, "TN"), bn);
    assert_int_equal(plan.launch[0].block[1] * param(c, "TM"), bm);
    assert_int_equal(plan.scratch_bytes[0], split > 1 ? split * m * n * 4 : 0);

    assert_int_equal(ws__kernel_source(ctx, &spec->kernel[0], c, in, &text), 0);
    for (size_t i = 0; i < spec->kernel[0].nparam; i++) {
        const struct ws__param *p = &spec->kernel[0].param[i];

        snprintf(want, sizeof(want), "#define %s %lld\n", p->name,
                 (long long)p->value[c->at[i]].u.i);
        assert_non_null(strstr(text, want));
    }
    assert_non_null(strstr(text, "ws_load_T"));
    assert_null(strstr(text, "#include"));
    ws__free(ctx, text);
}

static void check_space(const struct machine *m, const struct ws__workload *w)
{
    const struct ws__kernel *k = &spec->kernel[0];
    struct ws__instance in;
    union wsrt_value vars[WS__MAX_SLOTS];
    struct ws__config c[24];
    struct ws__space *s;
    struct ws__rng rng;
    uint64_t valid;
    size_t got;

    assert_int_equal(ws__instance_make(ctx, spec->op, w, &in), 0);
    set_vars(m, &in, vars);
    assert_int_equal(ws__space_new(ctx, k, vars, true, true, &s), 0);
    assert_int_equal(ws__space_count(s, &valid), 0);
    assert_true(valid >= 1000);
    ws__config_default(k, &c[0]);
    assert_int_equal(ws__space_valid(s, &c[0], NULL), 1);
    ws__rng_seed(&rng, 1);
    assert_int_equal(ws__space_sample(s, &rng, WS_COUNT(c), c, &got), 0);
    assert_int_equal(got, WS_COUNT(c));
    for (size_t i = 0; i < got; i++)
        check_plan(&in, &c[i], vars);
    ws__space_free(s);
}

static void test_space(void **state)
{
    (void)state;
    assert_true(spec->nworkload > 100);
    for (size_t m = 0; m < WS_COUNT(machines); m++)
        for (size_t w = 0; w < spec->nworkload; w += 13)
            check_space(&machines[m], &spec->workload[w]);
    assert_int_equal(ws__spec_workloads(spec, DEMO), 0);
    assert_int_equal(spec->nworkload, 5);
    for (size_t m = 0; m < WS_COUNT(machines); m++)
        for (size_t w = 0; w < spec->nworkload; w++)
            check_space(&machines[m], &spec->workload[w]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
