/*
 * t_kernels.c: what the kernels of every shipped operator promise.
 *
 * Without a device: every workload of the op, of its demo.yaml if it has one,
 * and of its t_shapes.yaml has a valid default and enough valid configs on a
 * CPU and on a GPU (or none at all, of a kernel that is not the first of its
 * op and leaves the shape to that one); for random configs the launch plan can
 * be made and the final text names every parameter and includes nothing. With
 * the OpenCL device, and as CUDA C on a GPU or on the driver of tests/fakecuda:
 * the default and random configs on the awkward shapes of t_shapes.yaml get the
 * verdict ok.
 */
#include "base/t_base.h"

#include <unistd.h>

#include "measure/measure.h"
#include "reference/reference.h"
#include "space/space.h"
#include "spec/spec.h"
#include "tests/fakecuda/t_fakecuda.h"

#define ENOUGH 30   /* configs, so that a search has something to search */
#define WORKLOADS 8 /* looked at of a list, spread over it */
#define PLANS 8     /* random configs a workload whose plans are made */
#define PER_SHAPE 2 /* random configs a shape that are run */
#define MAX_KERNELS 8
#define SEED 5

struct machine {
    const char *name;
    int64_t var[WS__NDEVICE_VARS];
};
static const struct machine machines[] = {
    {"cpu", {2, 4096, 524288, 64, 1}},
    {"gpu", {132, 1024, 232448, 16, 0}},
};

static struct ws_ctx *ctx;

static void must(int rc, const char *what)
{
    const struct ws_error *e = ws_ctx_error(ctx);

    if (rc < 0)
        fail_msg("%s: %s:%u: %s", what, e->file, e->line, e->message);
}

static struct ws__spec *load_op(size_t i)
{
    static const struct ws__spec_opts opts = {.share_dir = "ops"};
    struct ws__spec *s = NULL;
    char path[200];

    snprintf(path, sizeof(path), "ops/%s", ws__native_table[i]->name);
    must(ws__spec_load(ctx, path, &opts, &s), path);
    return s;
}

static void take_shapes(struct ws__spec *s, const char *file)
{
    char path[200];

    snprintf(path, sizeof(path), "ops/%s/%s", s->op->name, file);
    if (!strcmp(file, "demo.yaml") && access(path, R_OK) < 0)
        return;
    must(ws__spec_workloads(s, path), path);
}

/* "gemm_tiled on M=1,N=1,K=1: BM=1,..." */
static void print_where(struct ws__buf *b, const struct ws__kernel *k,
                        const struct ws__workload *w,
                        const struct ws__config *c)
{
    ws__buf_init(b, ctx, 4096);
    ws__buf_printf(b, "%s on ", k->name);
    ws__workload_print(b, k->op, w);
    if (c) {
        ws__buf_puts(b, ": ");
        ws__config_print(b, k, c);
    }
}

static void check_plan(const struct ws__kernel *k,
                       const struct ws__instance *in,
                       const struct ws__config *c, union wsrt_value *vars)
{
    static struct ws__plan plan;
    struct ws__buf b, name;
    char *text;

    print_where(&b, k, in->workload, c);
    ws__config_vars(k, c, vars);
    must(ws__plan_make(ctx, k, vars, &plan), b.data);
    must(ws__kernel_source(ctx, k, c, in, &text), b.data);
    for (size_t i = 0; i < k->nparam; i++) {
        ws__buf_init(&name, ctx, 256);
        ws__buf_printf(&name, "#define %s ", k->param[i].name);
        assert_non_null(strstr(text, name.data));
        ws__buf_free(&name);
    }
    assert_null(strstr(text, "#include"));
    ws__free(ctx, text);
    ws__buf_free(&b);
}

/* Has it any? */
static bool check_space(const struct ws__kernel *k, bool first,
                        const struct machine *m, const struct ws__workload *w)
{
    union wsrt_value vars[WS__MAX_SLOTS];
    struct ws__config c[PLANS];
    struct ws__instance in;
    struct ws__space *s;
    struct ws__rng rng;
    struct ws__buf b;
    uint64_t valid;
    size_t got;

    print_where(&b, k, w, NULL);
    must(ws__instance_make(ctx, k->op, w, &in), b.data);
    memcpy(vars, in.vars, sizeof(vars));
    for (int v = 0; v < WS__NDEVICE_VARS; v++)
        vars[ws__kernel_device_slot(k, (enum ws__device_var)v)].i = m->var[v];
    must(ws__space_new(ctx, k, vars, true, true, &s), b.data);
    must(ws__space_count(s, &valid), b.data);
    ws__config_default(k, &c[0]);
    if ((first || valid) &&
        (valid < ENOUGH || ws__space_valid(s, &c[0], NULL) != 1))
        fail_msg("%s, %s: %llu valid configs, the default %s", b.data, m->name,
                 (unsigned long long)valid,
                 ws__space_valid(s, &c[0], NULL) == 1 ? "too" : "not");
    ws__rng_seed(&rng, SEED);
    must(ws__space_sample(s, &rng, PLANS, c, &got), b.data);
    for (size_t i = 0; i < got; i++)
        check_plan(k, &in, &c[i], vars);
    ws__space_free(s);
    ws__buf_free(&b);
    return valid > 0;
}

/* used: of each kernel, whether a shape was for it. */
static void check_spaces(const struct ws__spec *s, bool *used)
{
    size_t step = s->nworkload / WORKLOADS + 1;

    for (size_t k = 0; k < s->nkernel; k++)
        for (size_t m = 0; m < WS_COUNT(machines); m++)
            for (size_t w = 0; w < s->nworkload; w += step)
                used[k] |= check_space(&s->kernel[k], !k, &machines[m],
                                       &s->workload[w]);
}

static void spaces(void **state)
{
    (void)state;
    for (size_t i = 0; ws__native_table[i]; i++) {
        struct ws__spec *s = load_op(i);
        bool used[MAX_KERNELS] = {false};

        assert_true(s->nkernel > 0 && s->nkernel <= MAX_KERNELS);
        assert_true(s->nworkload > 0);
        check_spaces(s, used);
        take_shapes(s, "demo.yaml");
        check_spaces(s, used);
        take_shapes(s, "t_shapes.yaml");
        check_spaces(s, used);
        for (size_t k = 0; k < s->nkernel; k++)
            if (!used[k])
                fail_msg("%s is for no shape", s->kernel[k].name);
        ws__spec_free(s);
    }
}

/* ---- results ------------------------------------------------------------ */

static void ask(struct ws__measure *m, const struct ws__spec *s,
                uint32_t kernel, uint32_t w, const struct ws__config *c)
{
    struct ws__evaluator e = ws__measure_evaluator(m);
    struct ws__question q = {.id = 1,
                             .a = {.kernel = kernel, .config = *c},
                             .workload = w,
                             .want = WS__WANT_BUILD | WS__WANT_VERDICT,
                             .effort = WS__SCREEN};
    struct ws__trial t[2];
    struct ws__buf b;

    memset(t, 0, sizeof(t));
    print_where(&b, &s->kernel[kernel], &s->workload[w], c);
    must(e.ops->answer(e.self, &q, t), b.data);
    if (t[0].verdict != WS__V_OK)
        fail_msg("%s: %s (%s)", b.data, ws__verdict_key(t[0].verdict),
                 t[0].reason ? t[0].reason : "");
    ws__trial_clear(ctx, &t[0]);
    ws__buf_free(&b);
}

/* And `random` configs beside the default; how many, none if no config is
 * valid. */
static size_t ask_shape(struct ws__measure *m, const struct ws__spec *s,
                        uint32_t kernel, uint32_t w, size_t random)
{
    const struct ws__kernel *k = &s->kernel[kernel];
    struct ws__config c[PER_SHAPE + 1];
    union wsrt_value vars[WS__MAX_SLOTS];
    struct ws__space *space;
    struct ws__rng rng;
    size_t got;

    ws__rng_seed(&rng, SEED + w);
    ws__measure_vars(m, k, w, vars);
    must(ws__space_new(ctx, k, vars, true, true, &space), k->name);
    must(ws__space_sample(space, &rng, random, c, &got), k->name);
    ws__space_free(space);
    if (kernel && !got)
        return 0;
    ws__config_default(k, &c[got]);
    for (size_t i = 0; i <= got; i++)
        ask(m, s, kernel, w, &c[i]);
    return got + 1;
}

/* OpenCL takes no CUDA C. */
static bool takes(const char *device, const struct ws__kernel *k)
{
    return k->dialect != WS__DIALECT_CUDA || !strcmp(device, "cuda");
}

static int check_results(struct ws__spec *s, const char *device, size_t random)
{
    const struct ws__measure_opts opts = {.device = device,
                                          .cache = WS__CACHE_WARM,
                                          .seed = 4};
    struct ws__measure *m = NULL;
    int rc;

    take_shapes(s, "t_shapes.yaml");
    rc = ws__measure_open(ctx, s->op, s->kernel, s->nkernel, s->workload,
                          s->nworkload, &opts, &m);
    if (rc == WS_ENODEVICE || rc == WS_ENODRIVER || rc == WS_ENOENT)
        return rc;
    must(rc, s->op->name);
    for (uint32_t k = 0; k < s->nkernel; k++) {
        size_t asked = 0;

        if (!takes(device, &s->kernel[k]))
            continue;
        for (uint32_t w = 0; w < s->nworkload; w++)
            asked += ask_shape(m, s, k, w, random);
        assert_true(asked > 0);
    }
    ws__measure_close(m);
    return 0;
}

static void results_on(const char *device, size_t random)
{
    for (size_t i = 0; ws__native_table[i]; i++) {
        struct ws__spec *s = load_op(i);
        int rc = check_results(s, device, random);

        ws__spec_free(s);
        if (rc < 0)
            SKIP("%s", ws_ctx_error(ctx)->message);
    }
}

static void results_on_opencl(void **state)
{
    (void)state;
    results_on("opencl", PER_SHAPE);
}

static void results_on_cuda(void **state)
{
    bool fake = t_fakecuda_if_none();

    (void)state;
    if (fake)
        printf("# no CUDA device: a fake driver runs the kernels\n");
    results_on("cuda", fake ? 1 : PER_SHAPE);
}

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces),
        cmocka_unit_test(results_on_opencl),
        cmocka_unit_test(results_on_cuda),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
