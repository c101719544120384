/*
 * t_name_expression.c: what we hand to a CUDA compiler for an entry by name
 * expression, through the real one: NVRTC needs no GPU. The prologue and the
 * expression of every config must compile to a kernel of its own, whose real
 * name is in the PTX. Skipped where there is no NVRTC.
 */
#include "base/t_base.h"

#include "device/cuda/cuda_compile.h"
#include "spec/spec.h"

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

static struct ws__cuda_compiler *compiler;
static char missing[1100]; /* why there is none */

static void compile(const char *text, const char *entry, struct ws_ctx *ctx)
{
    const struct ws__cuda_target target = {.arch = "compute_90", .ptx = true};
    const struct ws__build b = {.source = text,
                                .dialect = WS__DIALECT_CUDA,
                                .entry = &entry,
                                .nentry = 1};
    struct ws__cuda_code code;
    char want[400];
    int rc = ws__cuda_compile(compiler, &b, &target, &code);

    if (rc < 0)
        print_error("%s: %s\n", entry, ws_ctx_error(ctx)->message);
    assert_int_equal(rc, 0);
    assert_string_not_equal(code.symbol[0], entry);
    snprintf(want, sizeof(want), ".entry %s(", code.symbol[0]);
    assert_non_null(strstr(code.image, want));
    ws__cuda_code_free(ctx, &code);
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
    struct ws_ctx *ctx = t_ctx(NULL);

    *state = ctx;
    if (!ctx)
        return -1;
    if (ws__cuda_compiler_open(ctx, NULL, &compiler) < 0)
        snprintf(missing, sizeof(missing), "%s", ws_ctx_error(ctx)->message);
    return 0;
}

static int teardown(void **state)
{
    ws__cuda_compiler_close(compiler);
    ws_ctx_free(*state);
    return 0;
}

static void configs(void **state)
{
    if (!compiler)
        SKIP("%s", missing);
    all_configs(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(configs)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
