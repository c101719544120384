/*
 * t_plan_forms.c: every form a launch plan can have, end to end on OpenCL:
 * inouts that are restored before each launch, strides, alignment, scalars,
 * scratch (zeroed and not, or absent), several launches with `when`, dynamic
 * shared memory, grids and blocks of three dimensions, axes that become
 * macros, atomics; and two kernels in one pack.
 *
 * The op (tests/data/forms) is nobody's operator, so its native reference is
 * registered in this program alone: the table below takes the place of the
 * generated one, and the program is its own worker. Devices and references
 * still run in processes of their own, and all is asked through the public
 * interface. Kernels have mistakes to choose from: each must be seen.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <unistd.h>

#include "base/hash.h"
#include "device/device.h"
#include "reference/reference.h"

#define FORMS "tests/data/forms"
#define WORKER_ENV "WS_T_PLAN_FORMS_WORKER"

/* ---- the reference ------------------------------------------------------ */

enum { A, W, BIAS, ALPHA, BETA, C, SUMS };

static double at(const struct ws__ref_tensor *t, int64_t i, int64_t j)
{
    return ws__dtype_get(t->dtype, t->data,
                         (size_t)(i * t->stride[0] + j * t->stride[1]));
}

static int run(const struct ws__ref_call *call)
{
    const struct ws__ref_tensor *t = call->tensor;
    double alpha = ws__dtype_get(t[ALPHA].dtype, t[ALPHA].data, 0);
    double beta = ws__dtype_get(t[BETA].dtype, t[BETA].data, 0);
    int64_t rows = t[C].dim[0], columns = t[C].dim[1], terms = t[A].dim[1];

    for (int64_t m = 0; m < rows; m++) {
        t[SUMS].result[m] = 0;
        for (int64_t n = 0; n < columns; n++) {
            double ab = 0;

            for (int64_t k = 0; k < terms; k++)
                ab += at(&t[A], m, k) * at(&t[W], n, k);
            t[C].result[m * columns + n] =
                alpha * ab + beta * at(&t[C], m, n) + at(&t[BIAS], m, n);
            t[SUMS].result[m] += ab;
        }
    }
    return 0;
}

/* W, between -1 and 1. */
static int generate(const struct ws__ref_call *call)
{
    const struct ws__ref_tensor *w = &call->tensor[W];

    for (uint64_t i = 0; i < w->elements; i++)
        ws__dtype_set(w->dtype, w->fill_data, (size_t)i,
                      (double)(ws__rng_at(call->seed, i) >> 11) * 0x1p-52 - 1);
    return 0;
}

static const struct ws__native_reference forms = {.abi = 1,
                                                  .name = "forms",
                                                  .run = run,
                                                  .generate = generate};
const struct ws__native_reference *const ws__native_table[] = {&forms, NULL};

/* ---- this program as a worker ------------------------------------------- */

static void work(void)
{
    struct ws_ctx *c = ws_ctx_new(NULL);
    enum ws__worker_role role;
    int rc = WS_ENOMEM;

    if (c)
        rc = ws__worker_hello(c, WS__WORKER_FD, &role);
    if (rc >= 0)
        rc = role == WS__ROLE_REFERENCE ? ws__reference_serve(c, WS__WORKER_FD)
                                        : ws__device_serve(c, WS__WORKER_FD);
    _exit(rc < 0);
}

/* ---- questions ---------------------------------------------------------- */

static struct ws_ctx *ctx;
static struct ws_spec *spec;
static char folder[] = "/tmp/ws_forms_XXXXXX", store[100], pack[100];

static int setup(void **state)
{
    static char exe[512], cache[600];
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .turn_dir = getenv("WAVESMITH_TURNS"),
                            .worker_path = exe,
                            .share_dir = ".",
                            .cache_dir = cache};

    (void)state;
    if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) <= 0 ||
        !mkdtemp(folder) || setenv(WORKER_ENV, "1", 1))
        return -1;
    /* Driver caches beside the test, so that a second run is quick. */
    snprintf(cache, sizeof(cache), "%s.cache", exe);
    snprintf(store, sizeof(store), "%s/store.db", folder);
    snprintf(pack, sizeof(pack), "%s/forms.pack", folder);
    ctx = ws_ctx_new(&o);
    if (ctx && ws_spec_open(ctx, FORMS, NULL, &spec) == 0)
        return 0;
    print_error("%s:%u: %s\n", ws_ctx_error(ctx)->file, ws_ctx_error(ctx)->line,
                ws_ctx_error(ctx)->message);
    return -1;
}

static int teardown(void **state)
{
    DIR *d = opendir(folder);
    struct dirent *e;

    (void)state;
    ws_spec_free(spec);
    ws_ctx_free(ctx);
    while (d && (e = readdir(d)) != NULL) {
        char path[400];

        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    return rmdir(folder);
}

static bool no_device(int rc)
{
    return rc == WS_ENODEVICE || rc == WS_ENODRIVER;
}

/* The verdict must be `want`; `words` must be in its reason. */
static void check(struct ws_spec *s, const char *kernel, const char *config,
                  const char *workload, const char *want, const char *words)
{
    struct ws_run_opts o = {.size = sizeof(o),
                            .device = "opencl",
                            .kernel = kernel,
                            .config = config,
                            .workload = workload,
                            .seed = 11};
    struct ws_check_result r;
    int rc = ws_check(s, &o, &r);

    if (no_device(rc))
        SKIP("%s", ws_ctx_error(ctx)->message);
    if (rc < 0)
        fail_msg("%s %s: %s", kernel, config, ws_ctx_error(ctx)->message);
    if (strcmp(r.verdict, want) || !strstr(r.reason, words))
        fail_msg("%s %s %s: %s (%s), '%s' with '%s' expected", kernel, config,
                 workload, r.verdict, r.reason, want, words);
}

static void right_ones(void **state)
{
    static const struct {
        const char *kernel, *config, *workload;
    } right[] = {
        {"ordered", "SPLIT=1,STAGE=false", "small"},
        {"ordered", "SPLIT=3,STAGE=false,BM=8", "half"},
        {"ordered", "SPLIT=1,STAGE=true,BM=8", "brain"},
        {"ordered", "SPLIT=3,STAGE=true", "M=1,N=1,K=1"},
        {"atomic", "SPLIT=2", "small"},
        {"atomic", "SPLIT=5", "brain"},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(right); i++)
        check(spec, right[i].kernel, right[i].config, right[i].workload, "ok",
              "");
}

static void mistakes(void **state)
{
    static const struct {
        int bug;
        const char *words;
    } bad[] = {
        {1, "'C' wrong"}, {2, "'C'"},
        {3, "'C' wrong"}, {4, "'C' wrong"},
        {5, "'C' wrong"}, {6, "'C' wrong"},
        {7, "'C' wrong"}, {8, "between the elements of 'C'"},
    };
    char config[100];

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        snprintf(config, sizeof(config), "SPLIT=%d,BUG=%d", i % 2 ? 3 : 1,
                 bad[i].bug);
        check(spec, "ordered", config, "small", "wrong", bad[i].words);
    }
    /* Scratch that is not marked `zero` holds a pattern, never zeros. */
    check(spec, "atomic", "DIRTY=true", "small", "wrong", "'C'");
}

/* Timing launches again and again: the inout must be the same each time. */
static void timed(void **state)
{
    static const struct {
        const char *kernel, *a, *b;
    } pairs[] = {
        {"ordered", "SPLIT=1", "SPLIT=3,STAGE=true,BM=8"},
        {"atomic", "SPLIT=2", "SPLIT=5"},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(pairs); i++) {
        struct ws_run_opts o = {.size = sizeof(o),
                                .device = "opencl",
                                .kernel = pairs[i].kernel,
                                .config = pairs[i].a,
                                .workload = "half",
                                .seed = 12};
        struct ws_bench_row r;
        int rc = ws_bench(spec, &o, pairs[i].b, &r);

        if (no_device(rc))
            SKIP("%s", ws_ctx_error(ctx)->message);
        if (rc < 0)
            fail_msg("%s: %s", pairs[i].kernel, ws_ctx_error(ctx)->message);
        if (strcmp(r.verdict_a, "ok") || strcmp(r.verdict_b, "ok"))
            fail_msg("%s: %s, %s: %s", pairs[i].kernel, r.verdict_a,
                     r.verdict_b, r.reason);
        assert_true(r.samples > 1 && r.a_ns > 0 && r.b_ns > 0);
    }
}

/* A pack of both kernels is a specification of both kernels. */
static void packed(void **state)
{
    struct ws_tune_opts o = {.size = sizeof(o),
                             .device = "opencl",
                             .store = store,
                             .pack = pack,
                             .budget_trials = 6,
                             .seed = 13};
    struct ws_tune_result *r = NULL;
    struct ws_spec *again = NULL;
    int rc = ws_tune(spec, &o, &r);

    (void)state;
    if (no_device(rc))
        SKIP("%s", ws_ctx_error(ctx)->message);
    if (rc < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    assert_non_null(r->pack);
    ws_tune_result_free(ctx, r);
    if (ws_spec_from_pack(ctx, pack, &again) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    assert_int_equal(ws_spec_kernel_count(again), 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(ws_spec_kernel_name(again, i),
                            ws_spec_kernel_name(spec, i));
    check(again, "ordered", "SPLIT=3,STAGE=true", "M=5,N=9,K=33", "ok", "");
    check(again, "atomic", "SPLIT=5", "M=5,N=9,K=33", "ok", "");
    check(again, "ordered", "BUG=4", "M=5,N=9,K=33", "wrong", "'C' wrong");
    ws_spec_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_ones),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(timed),
        cmocka_unit_test(packed),
    };

    if (getenv(WORKER_ENV))
        work();
    return cmocka_run_group_tests(tests, setup, teardown);
}
