/*
 * t_gemm_kernel.c: the shipped GEMM: specification, space, plans, results.
 *
 * Without a device: it loads, every workload has a valid default and more
 * than 1,000 valid configs on a CPU and on a GPU, and for random configs the
 * plan covers C exactly once and the final text names every parameter. With
 * the OpenCL device: random configs on shapes with every kind of tail, in all
 * three types, get the verdict ok.
 */
#include "base/t_base.h"

#include "measure/measure.h"
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

/* Shapes with tails in M, N, K or none; K odd, so rows are not aligned. */
static const char *const shapes[] = {
    "M=1,N=1,K=1,T=float32",      "M=1,N=70,K=520,T=float16",
    "M=3,N=8,K=5,T=bfloat16",     "M=33,N=65,K=129,T=float32",
    "M=17,N=40,K=2048,T=float16", "M=64,N=64,K=64,T=bfloat16",
    "M=2,N=9,K=1030,T=float32",
};
#define PER_SHAPE 4

static void ask(struct ws__measure *m, const struct ws__config *c, uint32_t w)
{
    struct ws__evaluator e = ws__measure_evaluator(m);
    struct ws__question q = {.id = 1,
                             .a = {.config = *c},
                             .workload = w,
                             .want = WS__WANT_BUILD | WS__WANT_VERDICT,
                             .effort = WS__SCREEN};
    struct ws__trial t[2];
    struct ws__buf b;

    memset(t, 0, sizeof(t));
    if (e.ops->answer(e.self, &q, t) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    if (t[0].verdict != WS__V_OK) {
        ws__buf_init(&b, ctx, 4096);
        ws__config_print(&b, &spec->kernel[0], c);
        printf("# %s: %s: %s (%s)\n", shapes[w], b.data,
               ws__verdict_key(t[0].verdict), t[0].reason ? t[0].reason : "");
        ws__buf_free(&b);
    }
    assert_int_equal(t[0].verdict, WS__V_OK);
    ws__trial_clear(ctx, &t[0]);
}

static void ask_shape(struct ws__measure *m, struct ws__rng *rng, uint32_t w)
{
    union wsrt_value vars[WS__MAX_SLOTS];
    struct ws__config c[PER_SHAPE];
    struct ws__space *s;
    size_t got;

    ws__measure_vars(m, &spec->kernel[0], w, vars);
    assert_int_equal(ws__space_new(ctx, &spec->kernel[0], vars, true, true, &s),
                     0);
    assert_int_equal(ws__space_sample(s, rng, PER_SHAPE, c, &got), 0);
    for (size_t i = 0; i < got; i++)
        ask(m, &c[i], w);
    ws__space_free(s);
}

static void test_results(void **state)
{
    static const struct ws__measure_opts opts = {.device = "opencl",
                                                 .cache = WS__CACHE_WARM,
                                                 .seed = 4};
    struct ws__workload work[WS_COUNT(shapes)];
    struct ws__measure *m = NULL;
    struct ws__rng rng;
    int rc;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(shapes); i++)
        assert_int_equal(ws__spec_workload(spec, shapes[i], &work[i]), 0);
    rc = ws__measure_open(ctx, spec->op, spec->kernel, spec->nkernel, work,
                          WS_COUNT(work), &opts, &m);
    if (rc == WS_ENODEVICE || rc == WS_ENODRIVER || rc == WS_ENOENT)
        SKIP("%s", ws_ctx_error(ctx)->message);
    assert_int_equal(rc, 0);
    ws__rng_seed(&rng, 5);
    for (uint32_t w = 0; w < WS_COUNT(shapes); w++)
        ask_shape(m, &rng, w);
    ws__measure_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space),
        cmocka_unit_test(test_results),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
