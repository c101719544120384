/*
 * t_name_expression.c: what we hand to a CUDA compiler for an entry by name
 * expression, through the real one: NVRTC needs no GPU. The prologue and the
 * expression of every config must compile to a kernel of its own, whose real
 * name is in the PTX. Skipped where there is no NVRTC.
 */
#include "base/t_base.h"

#include "base/dl.h"
#include "spec/spec.h"

typedef struct rtc_program_s *rtc_program;

static struct {
    int (*create)(rtc_program *, const char *, const char *, int,
                  const char *const *, const char *const *);
    int (*destroy)(rtc_program *);
    int (*add)(rtc_program, const char *);
    int (*compile)(rtc_program, int, const char *const *);
    int (*lowered)(rtc_program, const char *, const char **);
    int (*log_size)(rtc_program, size_t *);
    int (*log)(rtc_program, char *);
    int (*ptx_size)(rtc_program, size_t *);
    int (*ptx)(rtc_program, char *);
} rtc;

static const char op[] =
    "{op: scale, axes: {N: {range: [1, 1000]}, D: 3, T: {types: [float32, "
    "float64]}}, inputs: {x: {shape: [N], dtype: T}}, outputs: {y: {shape: "
    "[N], dtype: T}}}";
static const char kernel[] =
    "{kernel: scale, dialect: cuda, source: scale.cu, specialize: [N], "
    "parameters: {BM: [32, 64], FAST: [false, true], UNROLL: [1, 4], ACC: "
    "[float, double]}, "
    "launches: [{entry: \"ws::scale<{BM}, {FAST}, {T}, {ACC}, {D}, {N}>\", "
    "grid: N, block: BM, args: [x, y]}]}";
/* BM, FAST, T, D and N are the template's own names; UNROLL is a macro. */
static const char source[] =
    "namespace ws {\n"
    "template <int BM, bool FAST, typename T, typename A, int D, int N>\n"
    "__global__ void scale(const T *x, T *y)\n"
    "{\n"
    "    int i = blockIdx.x * BM + threadIdx.x;\n"
    "    A s = FAST ? 1 : 2;\n"
    "    for (int u = 0; u < UNROLL; u++)\n"
    "        if (i + u < N)\n"
    "            y[i + u] = (T)((A)x[i + u] * s * D);\n"
    "}\n"
    "}\n";

static void *library;

static void compile(const char *text, const char *entry, struct ws_ctx *ctx)
{
    static const char *const options[] = {"--gpu-architecture=compute_90",
                                          "-default-device"};
    const char *name = NULL;
    rtc_program p = NULL;
    size_t n = 0;
    char *ptx, want[400];
    int rc;

    assert_int_equal(rtc.create(&p, text, "scale.cu", 0, NULL, NULL), 0);
    assert_int_equal(rtc.add(p, entry), 0);
    rc = rtc.compile(p, 1, options);
    if (rc) {
        assert_int_equal(rtc.log_size(p, &n), 0);
        ptx = ws__alloc(ctx, n + 1, 1);
        assert_non_null(ptx);
        rtc.log(p, ptx);
        print_error("%s: %s\n", entry, ptx);
        ws__free(ctx, ptx);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(rtc.lowered(p, entry, &name), 0);
    assert_int_equal(rtc.ptx_size(p, &n), 0);
    ptx = ws__alloc(ctx, n + 1, 1);
    assert_non_null(ptx);
    assert_int_equal(rtc.ptx(p, ptx), 0);
    snprintf(want, sizeof(want), ".entry %s(", name);
    assert_non_null(strstr(ptx, want));
    ws__free(ctx, ptx);
    rtc.destroy(&p);
}

static void all_configs(void **state)
{
    const char *text = kernel, *body = source, *old = "";
    struct ws_ctx *ctx = *state;
    struct ws__spec *s;
    struct ws__workload w;
    struct ws__instance *in = ws__alloc(ctx, 1, sizeof(*in));
    struct ws__plan *plan = ws__alloc(ctx, 1, sizeof(*plan));
    size_t n = 0;

    assert_true(in && plan);
    assert_int_equal(ws__spec_from_text(ctx, op, &text, &body, 1, &s), 0);
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < 16; i += 5) {
            struct ws__config c;
            union wsrt_value vars[WS__MAX_SLOTS];
            char *final;

            assert_int_equal(ws__spec_workload(s, t ? "N=77,T=float64" : "N=5",
                                               &w),
                             0);
            assert_int_equal(ws__instance_make(ctx, s->op, &w, in), 0);
            ws__config_default(s->kernel, &c);
            for (size_t k = 0; k < 4; k++)
                c.at[k] = i >> k & 1;
            memcpy(vars, in->vars, sizeof(vars));
            ws__config_vars(s->kernel, &c, vars);
            assert_int_equal(ws__plan_make(ctx, s->kernel, vars, plan), 0);
            assert_int_equal(ws__kernel_source(ctx, s->kernel, &c, in, &final),
                             0);
            assert_true(
                ws__entry_is_expression(ws__plan_entry(&plan->launch[0])));
            assert_string_not_equal(ws__plan_entry(&plan->launch[0]), old);
            compile(final, ws__plan_entry(&plan->launch[0]), ctx);
            ws__free(ctx, final);
            n++;
        }
    assert_int_equal(n, 8);
    ws__spec_free(s);
    ws__free(ctx, in);
    ws__free(ctx, plan);
}

static int setup(void **state)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so",
                                        NULL};
    static const struct ws__dl_symbol symbols[] = {
        {"nvrtcCreateProgram", (void **)&rtc.create, false},
        {"nvrtcDestroyProgram", (void **)&rtc.destroy, false},
        {"nvrtcAddNameExpression", (void **)&rtc.add, false},
        {"nvrtcCompileProgram", (void **)&rtc.compile, false},
        {"nvrtcGetLoweredName", (void **)&rtc.lowered, false},
        {"nvrtcGetProgramLogSize", (void **)&rtc.log_size, false},
        {"nvrtcGetProgramLog", (void **)&rtc.log, false},
        {"nvrtcGetPTXSize", (void **)&rtc.ptx_size, false},
        {"nvrtcGetPTX", (void **)&rtc.ptx, false},
        {NULL, NULL, false},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    *state = ctx;
    if (!ctx)
        return -1;
    if (ws__dl_open(ctx, names, "", symbols, &library) < 0)
        library = NULL;
    return 0;
}

static int teardown(void **state)
{
    ws__dl_close(library);
    ws_ctx_free(*state);
    return 0;
}

static void configs(void **state)
{
    if (!library)
        SKIP("no NVRTC on this machine");
    all_configs(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(configs)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
