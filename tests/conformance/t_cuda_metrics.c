/*
 * t_cuda_metrics.c: the table of metrics (src/profile/metrics.h) against CUPTI,
 * whose host interface knows every chip and needs none: each name that the
 * table gives an architecture is one there, the one-pass set takes one pass on
 * each, and what the table says an architecture lacks it does lack.
 *
 * CUPTI is the system's, or that of 'make deps-cupti'; skipped without it.
 */
#include "base/t_base.h"

#include <dlfcn.h>
#include <glob.h>

#include "device/cuda/cuda_cupti.h"
#include "profile/metrics.h"

#define ARGS(var, function, ...)                                               \
    struct cupti_##function var = {.structSize = CUPTI_SIZE_##function,        \
                                   __VA_ARGS__}

static const struct {
    unsigned arch;
    const char *chip;
} archs[] = {
#define WS_X(arch, chip) {arch, chip},
    WS__METRIC_ARCHS(WS_X)
#undef WS_X
};

static struct cupti_api api;
static bool loaded, sanitized;

/* A library that is loaded already is found by its name. */
static void load_from(const char *pattern)
{
    glob_t found = {0};

    if (!glob(pattern, 0, NULL, &found))
        dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
}

static int set_up(void **state)
{
    struct ws_ctx *ctx;

    (void)state;
    /* It opens its parts in a way (RTLD_DEEPBIND) that ends the process. */
    sanitized = dlsym(RTLD_DEFAULT, "__asan_init") ||
                dlsym(RTLD_DEFAULT, "__tsan_init");
    if (sanitized)
        return 0;
    load_from("build/venv-cupti/lib/python*/site-packages/nvidia/cu13/lib/"
              "libcupti.so.13");
    ctx = t_ctx(NULL);
    loaded = ws__cupti_load(ctx, &api) == 0;
    ws_ctx_free(ctx);
    return 0;
}

static void need_cupti(void)
{
    if (sanitized)
        SKIP("CUPTI does not run beside sanitizers");
    if (!loaded)
        SKIP("no CUPTI of CUDA 13 ('make deps-cupti' installs it)");
}

static cupti_host host_of(const char *chip)
{
    ARGS(h, ProfilerHostInitialize, .profilerType = CUPTI__RANGE_PROFILER,
         .pChipName = chip);

    assert_int_equal(api.ProfilerHostInitialize(&h), 0);
    return h.pHostObject;
}

static void end_host(cupti_host host)
{
    ARGS(end, ProfilerHostDeinitialize, .pHostObject = host);

    api.ProfilerHostDeinitialize(&end);
}

static int add(cupti_host host, const char **name, size_t n)
{
    ARGS(a, ProfilerHostConfigAddMetrics, .pHostObject = host,
         .ppMetricNames = name, .numMetrics = n);

    return api.ProfilerHostConfigAddMetrics(&a);
}

/* One that refused a metric is of no use any more. */
static bool is_there(const char *chip, const char *name)
{
    cupti_host host = host_of(chip);
    int error = add(host, &name, 1);

    end_host(host);
    assert_true(!error || error == CUPTI__E_INVALID_PARAMETER);
    return !error;
}

static size_t passes(const char *chip, const char **name, size_t n)
{
    cupti_host host = host_of(chip);
    ARGS(size, ProfilerHostGetConfigImageSize, .pHostObject = host);
    ARGS(image, ProfilerHostGetConfigImage, .pHostObject = host);
    ARGS(p, ProfilerHostGetNumOfPasses, .pPriv = NULL);

    assert_int_equal(add(host, name, n), 0);
    assert_int_equal(api.ProfilerHostGetConfigImageSize(&size), 0);
    image.configImageSize = p.configImageSize = size.configImageSize;
    image.pConfigImage = p.pConfigImage = calloc(1, size.configImageSize);
    assert_non_null(p.pConfigImage);
    assert_int_equal(api.ProfilerHostGetConfigImage(&image), 0);
    assert_int_equal(api.ProfilerHostGetNumOfPasses(&p), 0);
    free(p.pConfigImage);
    end_host(host);
    return p.numOfPasses;
}

static void every_name_is_one(void **state)
{
    enum ws__metric m[WS__NMETRIC];
    const char *name[WS__NMETRIC];
    size_t bad = 0;

    (void)state;
    need_cupti();
    for (size_t i = 0; i < WS_COUNT(archs); i++) {
        size_t n = ws__metric_set(WS__METRICS_FULL, archs[i].arch, m, name);

        assert_true(n > 80);
        for (size_t k = 0; k < n; k++) {
            if (is_there(archs[i].chip, name[k]))
                continue;
            print_error("%s has no '%s' (%s)\n", archs[i].chip, name[k],
                        ws__metric_key(m[k]));
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

/* A name that the table gives elsewhere, and that would be one here, is not
 * kept from an architecture. */
static void what_is_missing_is_missing(void **state)
{
    size_t missing = 0;

    (void)state;
    need_cupti();
    for (size_t i = 0; i < WS_COUNT(archs); i++)
        for (enum ws__metric m = 0; m < WS__NMETRIC; m++) {
            if (ws__metric_name(m, archs[i].arch))
                continue;
            missing++;
            for (size_t k = 0; k < WS_COUNT(archs); k++) {
                const char *name = ws__metric_name(m, archs[k].arch);

                if (name && is_there(archs[i].chip, name))
                    fail_msg("%s has '%s'", archs[i].chip, name);
            }
        }
    assert_true(missing > 5);
}

static void one_pass_is_one_pass(void **state)
{
    enum ws__metric m[WS__NMETRIC];
    const char *name[WS__NMETRIC];

    (void)state;
    need_cupti();
    for (size_t i = 0; i < WS_COUNT(archs); i++) {
        size_t n = ws__metric_set(WS__METRICS_ONE_PASS, archs[i].arch, m, name);
        size_t all;

        assert_int_equal(n, 11);
        assert_int_equal(passes(archs[i].chip, name, n), 1);
        n = ws__metric_set(WS__METRICS_FULL, archs[i].arch, m, name);
        all = passes(archs[i].chip, name, n);
        printf("# %s: %zu metrics in %zu passes\n", archs[i].chip, n, all);
        assert_true(all > 1 && all <= 20);
    }
}

/* ---- the table itself, without CUPTI ------------------------------------- */

static void names_lead_back(void **state)
{
    (void)state;
    for (enum ws__metric m = 0; m < WS__NMETRIC; m++) {
        assert_int_equal(ws__metric_find(ws__metric_key(m)), m);
        assert_true(ws__metric_unit(m)[0]);
        assert_true(ws__metric_in(m, WS__METRICS_FULL));
        assert_null(ws__metric_name(m, 0));
        for (size_t i = 0; i < WS_COUNT(archs); i++)
            if (ws__metric_name(m, archs[i].arch))
                assert_int_equal(ws__metric_find(
                                     ws__metric_name(m, archs[i].arch)),
                                 m);
    }
    assert_int_equal(ws__metric_find("dram__bytes_read.sun"), WS__NMETRIC);
    assert_string_equal(ws__metric_key(WS__M_STALL_FIRST),
                        "stall_long_scoreboard");
    assert_int_equal(WS__NSTALL, 19);
}

static void capabilities_have_a_column(void **state)
{
    static const unsigned want[][3] = {{7, 5, 0},    {8, 0, 80},   {8, 6, 80},
                                       {8, 7, 80},   {8, 9, 89},   {9, 0, 90},
                                       {10, 0, 100}, {10, 3, 100}, {11, 0, 100},
                                       {12, 0, 120}, {13, 0, 0}};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(want); i++)
        assert_int_equal(ws__metric_arch((int)want[i][0], (int)want[i][1]),
                         want[i][2]);
    assert_string_equal(ws__metric_name(WS__M_DRAM_READ, 120),
                        "dram__bytes_op_read.sum");
    assert_null(ws__metric_name(WS__M_STALL_GMMA, 80));
    assert_non_null(ws__metric_name(WS__M_STALL_GMMA, 90));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_one),
        cmocka_unit_test(what_is_missing_is_missing),
        cmocka_unit_test(one_pass_is_one_pass),
        cmocka_unit_test(names_lead_back),
        cmocka_unit_test(capabilities_have_a_column),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
