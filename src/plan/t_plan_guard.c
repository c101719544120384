/*
 * t_plan_guard.c: conditions that separate shapes, and two kernels in one: what
 * it says, and that both halves of it are right on the device.
 */
#include "base/t_base.h"

#include <unistd.h>

#include "base/fs.h"
#include "plan/plan_forge.h"
#include "xform/clang_api.h"

#define SPEC "practice/gemm_naive"

static struct ws_ctx *ctx;
static bool have_clang;

#define NEED_CLANG                                                             \
    do {                                                                       \
        if (!have_clang)                                                       \
            SKIP("no libclang 19");                                            \
    } while (0)

/* --- conditions ----------------------------------------------------------- */

static const struct ws__forge_row win = {.speedup = {2, 1.9, 2.1}};
static const struct ws__forge_row lose = {.speedup = {.5, .4, .6}};
static const struct ws__forge_row even = {.speedup = {1, .9, 1.1}};

static void condition_is(const int64_t (*axes)[2],
                         const struct ws__forge_row *const *row, size_t n,
                         const char *want)
{
    struct ws__op op = {.naxis = 2,
                        .axis = {{.name = "M", .kind = WS__AXIS_VAR},
                                 {.name = "N", .kind = WS__AXIS_VAR}}};
    struct ws__workload w[4] = {{0}};
    struct ws__forge_row r[4];
    struct ws__arena arena;
    const char *got;

    ws__arena_init(&arena, ctx);
    for (size_t i = 0; i < n; i++) {
        w[i].axis[0] = axes[i][0];
        w[i].axis[1] = axes[i][1];
        r[i] = *row[i];
    }
    got = ws__guard_condition(&arena, &op, w, r, n);
    if (want)
        assert_string_equal(got, want);
    else
        assert_null(got);
    ws__arena_free(&arena);
}

static void conditions(void **state)
{
    const struct ws__forge_row *const first[] = {&lose, &win, &win, &even};
    const struct ws__forge_row *const last[] = {&win, &even, &lose};
    const int64_t large[][2] = {{32, 7}, {64, 7}, {45, 7}, {1, 7}},
                  small[][2] = {{9, 100}, {500, 200}, {9, 300}},
                  product[][2] = {{9, 9}, {100, 3}, {3, 100}},
                  whole[][2] = {{50, 6}, {40, 8}, {56, 4}},
                  none[][2] = {{64, 64}, {64, 64}, {64, 64}};

    (void)state;
    condition_is(large, first, 4, "M >= 45");
    condition_is(small, last, 3, "N <= 100");
    condition_is(product, first, 3, "M * N >= 300");
    condition_is(whole, first, 3, "M % 8 == 0");
    condition_is(none, first, 3, NULL);
}

/* --- two kernels in one --------------------------------------------------- */

static struct ws_spec *spec;
static struct ws__workshop *shop;
static struct ws__forge_row row[3];

/* The kernel with a move done, at its defaults. */
static void made(const char *move, uint32_t from, struct ws__candidate *out)
{
    struct ws__forge_shop seam = ws__workshop_seam(shop);
    const struct ws__forge_move *m;
    char why[512];
    size_t n;

    assert_int_equal(seam.moves(seam.self, from, &m, &n), 0);
    while (n && (strcmp(m->name, move) != 0 || m->refused))
        m++, n--;
    assert_int_not_equal(n, 0);
    assert_int_equal(seam.make(seam.self, from, m, &out->kernel, why), 1);
    ws__config_default(&spec->s->kernel[out->kernel], &out->config);
}

static uint32_t kernel_named(const char *name)
{
    uint32_t i = 0;

    while (strcmp(spec->s->kernel[i].name, name) != 0)
        i++;
    return i;
}

static void open_shop(void)
{
    static const struct ws_forge_opts opts = {.size = sizeof(opts)};

    assert_int_equal(ws_spec_open(ctx, SPEC, NULL, &spec), 0);
    assert_int_equal(ws__workshop_open(spec, &opts, &shop), 0);
    shop->name = "new";
    for (size_t i = 0; i < WS_COUNT(row); i++)
        row[i] = spec->s->workload[i].axis[0] < 100 ? lose : win;
}

static void close_shop(void)
{
    ws__workshop_close(shop);
    ws_spec_free(spec);
}

/* The two in one kernel; what is said of it, and its source. */
static uint32_t guarded(const struct ws__candidate *with,
                        const struct ws__candidate *without, const char **words,
                        const char **text)
{
    char why[512] = "";
    uint32_t out = 0;

    if (ws__workshop_guard(shop, with, without, row, &out, words, why) != 1)
        fail_msg("%s", why);
    assert_int_equal(ws__workshop_text(shop, out, text), 0);
    return out;
}

/* Both ways of the guard, judged on the device, from the files that a forge
 * would write. */
static void judge(uint32_t kernel, const struct ws__config *c)
{
    static const char *const shapes[] = {"M=97,N=33,K=70", "M=200,N=33,K=70"};
    char dir[] = "/tmp/ws_guard_XXXXXX", path[100], op[1000], *file;
    const char *text;
    struct ws_spec *s;

    assert_non_null(mkdtemp(dir));
    assert_non_null(realpath(SPEC "/op.yaml", op));
    assert_int_equal(ws__workshop_text(shop, kernel, &text), 0);
    assert_int_equal(ws__spec_kernel_file(spec->s, kernel, op, c, &file), 0);
    snprintf(path, sizeof(path), "%s/gemm_naive.cl", dir);
    assert_int_equal(ws__fs_write(ctx, path, text, strlen(text)), 0);
    snprintf(path, sizeof(path), "%s/k.yaml", dir);
    assert_int_equal(ws__fs_write(ctx, path, file, strlen(file)), 0);
    ws__free(ctx, file);
    assert_int_equal(ws_spec_open(ctx, path, NULL, &s), 0);
    for (size_t i = 0; i < WS_COUNT(shapes); i++) {
        struct ws_run_opts o = {.size = sizeof(o), .workload = shapes[i]};
        struct ws_check_result r;

        assert_int_equal(ws_check(s, &o, &r), 0);
        if (strcmp(r.verdict, "ok") != 0)
            fail_msg("%s: %s: %s", shapes[i], r.verdict, r.reason);
    }
    ws_spec_free(s);
    snprintf(path, sizeof(path), "rm -r '%s'", dir);
    assert_int_equal(system(path), 0);
}

static bool have_device(void)
{
    struct ws_device_info *d;
    size_t n = 0;

    if (ws_devices_list(ctx, &d, &n) < 0)
        return false;
    ws_devices_free(ctx, d);
    return n > 0;
}

static void both_in_one(void **state)
{
    struct ws__candidate with = {0}, without = {0}, guard;
    const struct ws__kernel *k;
    const char *words, *text;
    uint32_t out;

    (void)state;
    NEED_CLANG;
    open_shop();
    without.kernel = kernel_named("gemm_naive_opencl");
    made("swap_axes", without.kernel, &with);
    made("shared_tile", with.kernel, &with);
    out = guarded(&with, &without, &words, &text);
    assert_string_equal(words, "only where M >= 131");
    k = &spec->s->kernel[out];
    assert_int_equal(k->nlaunch, 2);
    assert_string_equal(k->launch[0].entry, "gemm_naive");
    assert_string_equal(k->launch[0].when->text, "(M >= 131)");
    assert_string_equal(k->launch[1].entry, "gemm_naive_before");
    assert_string_equal(k->launch[1].when->text, "not (M >= 131)");
    assert_non_null(strstr(text, "__kernel void gemm_naive_before("));
    guard = (struct ws__candidate){.kernel = out, .config = with.config};
    for (uint32_t i = 0; i < WS_COUNT(row); i++) {
        bool small = spec->s->workload[i].axis[0] < 131;

        assert_int_equal(ws__workshop_same(shop, &without, &guard, i), small);
        assert_int_equal(ws__workshop_same(shop, &with, &guard, i), !small);
        assert_false(ws__workshop_same(shop, &without, &with, i));
    }
    if (have_device())
        judge(out, &with.config);
    else
        printf("# SKIP judging both ways: no OpenCL device\n");
    close_shop();
}

/* CUDA C, and a guard upon a guard. */
static void again(void **state)
{
    struct ws__candidate with = {0}, without = {0}, original, last;
    uint32_t out, small = 0, large = 0;
    const char *words, *text;

    (void)state;
    NEED_CLANG;
    open_shop();
    without.kernel = kernel_named("gemm_naive_cuda");
    ws__config_default(&spec->s->kernel[without.kernel], &without.config);
    original = without;
    while (spec->s->workload[small].axis[0] >= 100)
        small++;
    while (spec->s->workload[large].axis[0] < 100)
        large++;
    made("swap_axes", without.kernel, &with);
    out = guarded(&with, &without, &words, &text);
    without.kernel = out;
    made("accumulators", out, &with);
    assert_true(ws__workshop_same(shop, &original, &with, small));
    out = guarded(&with, &without, &words, &text);
    assert_non_null(strstr(text, "__global__ void gemm_naive_before2("));
    assert_int_equal(spec->s->kernel[out].nlaunch, 4);
    /* The original is still what small ones get; another config is not it. */
    last = (struct ws__candidate){.kernel = out, .config = with.config};
    assert_true(ws__workshop_same(shop, &original, &last, small));
    assert_false(ws__workshop_same(shop, &original, &last, large));
    assert_true(ws__workshop_same(shop, &with, &last, large));
    /* A move that the old functions get, too, makes something else of them. */
    made("launch_bounds", without.kernel, &with);
    assert_false(ws__workshop_same(shop, &original, &with, small));
    close_shop();
}

/* A length that becomes a constant is a parameter's name in the old one. */
static void constants(void **state)
{
    struct ws__candidate with = {0}, without = {0};
    const char *words, *text;

    (void)state;
    NEED_CLANG;
    open_shop();
    without.kernel = kernel_named("gemm_naive_cuda");
    made("specialise", without.kernel, &with);
    guarded(&with, &without, &words, &text);
    assert_non_null(strstr(text, "int N_before"));
    close_shop();
}

static void what_cannot_be(void **state)
{
    struct ws__candidate with = {0}, without = {0};
    const char *words;
    char why[512] = "";
    uint32_t out;

    (void)state;
    NEED_CLANG;
    open_shop();
    without.kernel = kernel_named("gemm_naive_opencl");
    made("swap_axes", without.kernel, &with);
    for (size_t i = 0; i < WS_COUNT(row); i++)
        row[i] = even;
    assert_int_equal(ws__workshop_guard(shop, &with, &without, row, &out,
                                        &words, why),
                     0);
    assert_non_null(strstr(why, "no size separates"));
    close_shop();
}

static int setup(void **state)
{
    struct cl_api api = {0};

    (void)state;
    ctx = ws_ctx_new(NULL);
    if (!ctx)
        return -1;
    have_clang = ws__clang_open(ctx, NULL, &api) >= 0;
    ws__clang_close(&api);
    return 0;
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
        cmocka_unit_test(conditions),     cmocka_unit_test(both_in_one),
        cmocka_unit_test(again),          cmocka_unit_test(constants),
        cmocka_unit_test(what_cannot_be),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
