/*
 * t_spec_use.c: what core makes of a loaded specification: instances,
 * configs, final sources, launch plans, identities. It lies in spec because
 * core may not load files.
 */
#include "base/t_base.h"

#include "spec/spec.h"

#define TILED "tests/data/specs/gemm/kernels/tiled.yaml"

static struct ws_ctx *ctx;
static struct ws__spec *spec;
static const struct ws__kernel *kernel;

static int setup(void **state)
{
    static const struct ws__spec_opts opts = {.share_dir = "tests/data/share"};

    (void)state;
    ctx = t_ctx(NULL);
    if (!ctx || ws__spec_load(ctx, TILED, &opts, &spec) < 0)
        return -1;
    kernel = &spec->kernel[0];
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ws__spec_free(spec);
    ws_ctx_free(ctx);
    return 0;
}

static void instances(void **state)
{
    struct ws__instance in;

    (void)state;
    /* half: M=16, N=64, K=32, float16; rows of C are N + 4 apart. */
    assert_int_equal(ws__instance_make(ctx, spec->op, &spec->workload[1], &in),
                     0);
    assert_int_equal(in.shape[0].bytes, 16 * 32 * 2);
    assert_true(in.shape[0].contiguous);
    assert_int_equal(in.shape[0].stride[0], 32);
    assert_int_equal(in.shape[2].ndim, 0);
    assert_int_equal(in.shape[2].bytes, 4);
    assert_int_equal(in.shape[3].elements, 16 * 64);
    assert_int_equal(in.shape[3].bytes, (15 * 68 + 64) * 2);
    assert_false(in.shape[3].contiguous);
    assert_true(in.flops == 2.0 * 16 * 64 * 32);
    assert_true(in.bytes == 16 * 32 * 2 + 64 * 32 * 2 + (15 * 68 + 64) * 2);
    assert_int_equal(in.reduction, 32);
}

static struct ws__spec *small(const char *op, const char *text)
{
    struct ws__spec *s = NULL;

    assert_int_equal(ws__spec_from_text(ctx, op, &text, NULL, 1, &s), 0);
    return s;
}

static struct ws__spec *small_op(const char *tensors)
{
    char op[500];

    snprintf(op, sizeof(op), "{op: x, axes: {M: var}, %s}", tensors);
    return small(op, "{kernel: k, source: k.c, launches: [{entry: f, "
                     "grid: M, block: 1, args: [C]}]}");
}

/* Such an op is refused with these words. */
static void refused_op(const char *tensors, const char *message)
{
    const char *body = "{kernel: k, source: k.c, launches: [{entry: f, "
                       "grid: M, block: 1, args: [C]}]}";
    struct ws__spec *s = NULL;
    char op[500];

    snprintf(op, sizeof(op), "{op: x, axes: {M: var}, %s}", tensors);
    assert_int_equal(ws__spec_from_text(ctx, op, &body, NULL, 1, &s), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, message));
}

static void shapes(void **state)
{
    static const struct {
        const char *tensors;
        int rc;
        double bytes;
    } cases[] = {
        {"inouts: {C: {shape: [M, 2], dtype: int8}}", 0, 40},
        {"inputs: {A: {shape: [M, 8], strides: [0, 1], dtype: int8}}, "
         "outputs: {C: {shape: [M], dtype: int8}}",
         0, 18},
        {"outputs: {C: {shape: [M, 8], strides: [0, 1], dtype: int8}}",
         WS_ESPEC, 0},
        {"outputs: {C: {shape: [M, 8], strides: [1, M], dtype: int8}}", 0, 80},
        {"outputs: {C: {shape: [M, 8], strides: [7, 1], dtype: int8}}",
         WS_ESPEC, 0},
        {"outputs: {C: {shape: [M, 8], strides: [8, 0 - 1], dtype: int8}}",
         WS_ESPEC, 0},
        {"outputs: {C: {shape: [M - 10], dtype: int8}}", WS_ESPEC, 0},
        {"outputs: {C: {shape: [M], strides: [1 << 45], dtype: int8}}",
         WS_ESPEC, 0},
        {"outputs: {C: {shape: [M], dtype: int8}}, floor: {bytes: 2.5 * M}", 0,
         25},
        {"outputs: {C: {shape: [M], dtype: int8}}, floor: {flops: 0}", WS_ESPEC,
         0},
        {"outputs: {C: {shape: [M // (M - 10)], dtype: int8}}", WS_EEXPR, 0},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        struct ws__spec *s = small_op(cases[i].tensors);
        struct ws__workload w = {.name = "w", .axis = {10}};
        struct ws__instance in;
        int rc = ws__instance_make(ctx, s->op, &w, &in);

        if (rc < 0) {
            assert_ptr_equal(strstr(ws_ctx_error(ctx)->message,
                                    "workload 'w': "),
                             ws_ctx_error(ctx)->message);
            assert_null(strstr(ws_ctx_error(ctx)->message, ": :"));
        }
        if (cases[i].rc != WS_EEXPR)
            assert_int_equal(rc, cases[i].rc);
        else
            assert_true(rc < 0);
        if (!rc)
            assert_true(in.bytes == cases[i].bytes);
        ws__spec_free(s);
    }
}

/* Units and rows that an index names; words that mean nothing are refused. */
static void floor_words(void **state)
{
#define OUT                                                                    \
    "inputs: {A: {shape: [M, 8], dtype: int8}, I: {shape: [M], dtype: "        \
    "int32}, "                                                                 \
    "F: {shape: [M], dtype: float32}}, "                                       \
    "outputs: {C: {shape: [M], dtype: int8}}, floor: "
    static const struct {
        const char *tensors, *message;
    } bad[] = {
        {OUT "{unit: matrix}", "'matrix' is not a unit"},
        {OUT "{touched: {X: I}}", "no such tensor: 'X'"},
        {OUT "{touched: {A: X}}", "no such tensor: 'X'"},
        {OUT "{touched: {C: I}}", "'C' is no input with rows"},
        {OUT "{touched: {A: F}}", "'F' cannot name rows of 'A'"},
        {OUT "{touched: 3}", "'3' is a single value"},
    };
    struct ws__spec *s = small_op(OUT "{unit: vector, touched: {A: I}}");

    (void)state;
    assert_int_equal(s->op->unit, WS__UNIT_VECTOR);
    assert_int_equal(s->op->touched[0], 2);
    assert_int_equal(s->op->touched[1], 0);
    ws__spec_free(s);
    for (size_t i = 0; i < WS_COUNT(bad); i++)
        refused_op(bad[i].tensors, bad[i].message);
#undef OUT
}

static void config_texts(void **state)
{
    struct ws__config c, d;
    struct ws__buf b;

    (void)state;
    ws__config_default(kernel, &c);
    ws__buf_init(&b, ctx, 1000);
    assert_int_equal(ws__config_print(&b, kernel, &c), 0);
    assert_string_equal(b.data, "BM=32,BN=16,SPLIT_K=1,LAYOUT=row,PAD=false,"
                                "SCALE=1.0");
    assert_int_equal(ws__config_parse(ctx, kernel, b.data, &d), 0);
    assert_true(ws__config_eq(&c, &d));
    assert_int_equal(ws__config_parse(ctx, kernel,
                                      " BM = 0x40, LAYOUT=col,PAD=1,SCALE=.5",
                                      &d),
                     0);
    assert_int_equal(d.at[0], 2);
    assert_int_equal(d.at[1], c.at[1]);
    assert_int_equal(d.at[3], 1);
    assert_int_equal(d.at[4], 1);
    assert_int_equal(d.at[5], 1);
    assert_false(ws__config_eq(&c, &d));
    ws__buf_free(&b);
}

static void config_errors(void **state)
{
    struct ws__config c;

    (void)state;
    assert_int_equal(ws__config_parse(ctx, kernel, "BMM=16", &c), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "'BM'"));
    assert_int_equal(ws__config_parse(ctx, kernel, "BM=17", &c), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "16, 32, 64"));
    assert_int_equal(ws__config_parse(ctx, kernel, "BM", &c), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "NAME=VALUE"));
    assert_int_equal(ws__config_parse(ctx, kernel, "BM=", &c), WS_ESPEC);
}

static void final_source(void **state)
{
    struct ws__instance in;
    struct ws__config c, d;
    struct ws__hash h1, h2;
    char *text, *other;

    (void)state;
    assert_int_equal(ws__instance_make(ctx, spec->op, &spec->workload[1], &in),
                     0);
    ws__config_default(kernel, &c);
    assert_int_equal(ws__kernel_source(ctx, kernel, &c, &in, &text), 0);
    /* M and N are arguments: only K is specialised. */
    assert_ptr_equal(strstr(text, "#define BM 32\n"
                                  "#define BN 16\n"
                                  "#define SPLIT_K 1\n"
                                  "#define LAYOUT row\n"
                                  "#define PAD 0\n"
                                  "#define SCALE 1.0\n"
                                  "#define K 32\n"
                                  "#define T_IS_FLOAT16 1\n"
                                  "#define G 4\n"
                                  "#line 1 \"tiled.c\"\n"),
                     text);
    d = c;
    d.at[4] = 1;
    assert_int_equal(ws__kernel_source(ctx, kernel, &d, &in, &other), 0);
    h1 = ws__candidate_hash(kernel, &c, text);
    h2 = ws__candidate_hash(kernel, &d, other);
    assert_false(ws__hash_eq(h1, h2));
    assert_false(ws__hash_eq(h1, ws__candidate_hash(kernel, &d, text)));
    assert_true(ws__hash_eq(h1, ws__candidate_hash(kernel, &c, text)));
    ws__free(ctx, text);
    ws__free(ctx, other);
}

/* Slots of workload 1 with a config. */
/* Macros after the axes; in a plan the number itself. */
static void constant_source(void **state)
{
    const char *kernel_text =
        "{kernel: k, source: k.c, parameters: {P: {values: \"[B, 2 * B]\"}}, "
        "constraints: [P >= B], launches: [{entry: f, grid: B * 2, block: 1, "
        "args: [C, {float32: EPS}]}]}";
    const char *source = "void f(void) { P; }\n";
    static struct ws__plan plan;
    struct ws__workload w = {.name = "w", .axis = {10, 4}};
    struct ws__instance in;
    struct ws__config c;
    struct ws__spec *s = NULL;
    char *text;
    float eps;

    (void)state;
    assert_int_equal(
        ws__spec_from_text(ctx,
                           "{op: x, axes: {M: var, D: 4}, "
                           "constants: {EPS: 1e-5, B: 3, W: 2.0}, outputs: "
                           "{C: {shape: [M * B], dtype: int8}}}",
                           &kernel_text, &source, 1, &s),
        0);
    assert_int_equal(ws__instance_make(ctx, s->op, &w, &in), 0);
    assert_int_equal(in.shape[0].elements, 30);
    ws__config_default(&s->kernel[0], &c);
    assert_int_equal(ws__kernel_source(ctx, &s->kernel[0], &c, &in, &text), 0);
    assert_ptr_equal(strstr(text, "#define P 3\n"
                                  "#define D 4\n"
                                  "#define B 3\n"
                                  "#define EPS 1e-05f\n"
                                  "#define W 2.0f\n"
                                  "#line 1 "),
                     text);
    ws__free(ctx, text);
    ws__config_vars(&s->kernel[0], &c, in.vars);
    assert_int_equal(ws__plan_make(ctx, &s->kernel[0], in.vars, &plan), 0);
    assert_int_equal(plan.launch[0].grid[0], 6);
    memcpy(&eps, plan.launch[0].arg[1].value, sizeof(eps));
    assert_true(eps == 1e-5f);
    ws__spec_free(s);
}

static void fill_vars(const char *config, union wsrt_value *vars)
{
    struct ws__instance in;
    struct ws__config c;

    assert_int_equal(ws__instance_make(ctx, spec->op, &spec->workload[1], &in),
                     0);
    memcpy(vars, in.vars, sizeof(in.vars));
    assert_int_equal(ws__config_parse(ctx, kernel, config, &c), 0);
    ws__config_vars(kernel, &c, vars);
    vars[ws__kernel_device_slot(kernel, WS__DV_THREADS)].i = 256;
}

static void plans(void **state)
{
    static union wsrt_value vars[WS__MAX_SLOTS];
    static struct ws__plan p;
    int32_t m;
    float scale;
    int64_t mn;

    (void)state;
    fill_vars("BM=16,BN=32,SPLIT_K=2,SCALE=0.5,PAD=true", vars);
    assert_int_equal(ws__plan_make(ctx, kernel, vars, &p), 0);
    assert_int_equal(p.nlaunch, 2);
    assert_int_equal(p.scratch_bytes[0], 2 * 16 * 64 * 4);
    assert_int_equal(p.launch[0].grid[0], 1);
    assert_int_equal(p.launch[0].grid[1], 2);
    assert_int_equal(p.launch[0].grid[2], 2);
    assert_int_equal(p.launch[0].block[0], 16);
    assert_int_equal(p.launch[0].block[1], 4);
    assert_int_equal(p.launch[0].block[2], 1);
    assert_int_equal(p.launch[0].shared_bytes, (16 + 32) * 32 * 4);
    assert_int_equal(p.launch[0].narg, 11);
    assert_int_equal(p.launch[0].arg[4].bytes, 4);
    memcpy(&m, p.launch[0].arg[4].value, sizeof(m));
    assert_int_equal(m, 16);
    assert_int_equal(p.launch[0].arg[8].kind, WS__ARG_SHARED);
    assert_int_equal(p.launch[0].arg[8].bytes, 64);
    memcpy(&scale, p.launch[0].arg[9].value, sizeof(scale));
    assert_true(scale == 0.5f);
    assert_int_equal(p.launch[0].arg[10].bytes, 1);
    assert_int_equal(p.launch[0].arg[10].value[0], 1);
    memcpy(&mn, p.launch[1].arg[2].value, sizeof(mn));
    assert_int_equal(mn, 16 * 64);
    assert_int_equal(p.launch[1].grid[0], 4);
    /* Without the split neither the second launch nor the buffer. */
    fill_vars("SPLIT_K=1", vars);
    assert_int_equal(ws__plan_make(ctx, kernel, vars, &p), 0);
    assert_int_equal(p.nlaunch, 1);
    assert_int_equal(p.scratch_bytes[0], 0);
}

static void absurd_plans(void **state)
{
    static const struct {
        const char *launch, *message;
    } cases[] = {
        {"grid: M - 10, block: 1, args: [C]", "grid 'M - 10' is 0"},
        {"grid: M << 30, block: 1, args: [C]", "grid"},
        {"grid: M, block: [M * 200, M * 200], args: [C]", "threads"},
        {"grid: M, block: 0, args: [C]", "block '0' is 0"},
        {"grid: M, block: 1, args: [C, {int8: M * 100}]", "is 1000"},
        {"grid: M, block: 1, args: [C, {uint8: 0 - M}]", "is -10"},
        {"grid: M, block: 1, args: [C, {shared: M - 10}]", "shared"},
        {"grid: M, block: 1, shared: 0 - 1, args: [C]", "shared"},
        {"grid: M, block: 1, when: M > 10, args: [C]", "launches nothing"},
    };
    static union wsrt_value vars[WS__MAX_SLOTS];
    static struct ws__plan p;

    (void)state;
    memset(vars, 0, sizeof(vars));
    vars[0].i = 10;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        char text[500];
        struct ws__spec *s;

        snprintf(text, sizeof(text),
                 "{kernel: k, source: k.c, launches: [{entry: f, %s}]}",
                 cases[i].launch);
        s = small("{op: x, axes: {M: var}, outputs: {C: {shape: [M], dtype: "
                  "int8}}}",
                  text);
        assert_int_equal(ws__plan_make(ctx, &s->kernel[0], vars, &p), WS_ESPEC);
        if (!strstr(ws_ctx_error(ctx)->message, cases[i].message))
            fail_msg("case %zu: %s", i, ws_ctx_error(ctx)->message);
        assert_int_equal(ws_ctx_error(ctx)->line, 1);
        ws__spec_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances),       cmocka_unit_test(shapes),
        cmocka_unit_test(floor_words),     cmocka_unit_test(config_texts),
        cmocka_unit_test(config_errors),   cmocka_unit_test(final_source),
        cmocka_unit_test(constant_source), cmocka_unit_test(plans),
        cmocka_unit_test(absurd_plans),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
