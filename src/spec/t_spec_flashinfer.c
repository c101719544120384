/*
 * t_spec_flashinfer.c: Definitions and workload lines of flashinfer-bench:
 * what becomes of them, which shipped op computes them, how kernels of that op
 * are bound, and every error. Files are written into a folder of the test; the
 * last tests read the samples of the data folder.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spec/spec.h"

static struct ws_ctx *ctx;
static char dir[64], logged[2000];

/* --- a folder ------------------------------------------------------------- */

static const char *in_dir(const char *name)
{
    static char path[8][400];
    static int i;

    i = (i + 1) % 8;
    snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
    return path[i];
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "wb");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void keep_log(void *user, enum ws_log_level level, const char *text)
{
    size_t n = strlen(logged);

    (void)user;
    snprintf(logged + n, sizeof(logged) - n, "%d %s\n", (int)level, text);
}

/* The shipped op: Y[R, C] = f(X[R, C], index[C], s), with a kernel. */
#define SHIPPED                                                                \
    "op: scale\n"                                                              \
    "axes: {R: {range: [1, 100]}, C: {range: [1, 64]}, T: {types: [float32, "  \
    "float16]}, B: 2}\n"                                                       \
    "constants: {EPS: 1e-6, TOP: 8}\n"                                         \
    "inputs:\n"                                                                \
    "  X: {shape: [R, C, B], dtype: T, align: 16}\n"                           \
    "  index: {shape: [C], dtype: int32, fill: native}\n"                      \
    "  s: {dtype: float32, fill: {constant: 0.5}}\n"                           \
    "outputs: {Y: {shape: [R, C, B], dtype: T}}\n"                             \
    "require: [R * C < 1000]\n"                                                \
    "reference: {native: gemm}\n"                                              \
    "floor: {flops: 2 * R * C}\n"                                              \
    "workloads: [{R: 1, C: 1}]\n"                                              \
    "definitions: {scale_c8: {EPS: 1e-5}, \"scale_c*\": {TOP: 9}}\n"

#define KERNEL                                                                 \
    "kernel: k\nop: scale\nsource: k.c\n"                                      \
    "parameters: {P: [1, 2]}\n"                                                \
    "constraints: [C % P == 0]\n"                                              \
    "launches: [{entry: f, grid: [R, C], block: P, args: [X, index, s, Y, "    \
    "{int32: C}]}]\n"

#define HEAD(name)                                                             \
    "{\"name\": \"" name "\", \"op_type\": \"scale\", \"description\": "       \
    "\"words\", \"tags\": [\"a:b\"],\n"
#define AXES                                                                   \
    "\"axes\": {\"rows\": {\"type\": \"var\"},\n"                              \
    "\"cols\": {\"type\": \"const\", \"value\": 8},\n"                         \
    "\"two\": {\"type\": \"const\", \"value\": 2}},\n"
#define REQUIRE                                                                \
    "\"constraints\": [\"rows != 13\", \"cols == index[-1].item()\", "         \
    "\"x.shape[0] == rows\"],\n"
#define INPUTS                                                                 \
    "\"inputs\": {\"x\": {\"shape\": [\"rows\", \"cols\", \"two\"], "          \
    "\"dtype\": \"float16\"},\n"                                               \
    "\"index\": {\"shape\": [\"cols\"], \"dtype\": \"int32\"},\n"              \
    "\"s\": {\"shape\": null, \"dtype\": \"float32\"}},\n"
#define OUTPUTS                                                                \
    "\"outputs\": {\"y\": {\"shape\": [\"rows\", \"cols\", \"two\"], "         \
    "\"dtype\": \"float16\"}},\n"                                              \
    "\"reference\": \"import torch\\r\\n\\ndef run(x):\\n    return x\"}\n"
#define DEFINITION(name) HEAD(name) AXES REQUIRE INPUTS OUTPUTS

static int setup(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o), .log = keep_log};

    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/ws_fib_XXXXXX");
    *logged = '\0';
    ctx = ws_ctx_new(&o);
    if (!ctx || !mkdtemp(dir))
        return -1;
    mkdir(in_dir("ops"), 0700);
    mkdir(in_dir("ops/scale"), 0700);
    mkdir(in_dir("ops/scale/kernels"), 0700);
    mkdir(in_dir("data"), 0700);
    mkdir(in_dir("data/workloads"), 0700);
    put("ops/scale/op.yaml", SHIPPED);
    put("ops/scale/kernels/k.yaml", KERNEL);
    put("ops/scale/kernels/k.c", "void f(int C) { P; }\n");
    put("d.json", DEFINITION("scale_c8"));
    return 0;
}

static void remove_all(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    char name[600];

    while (d && (e = readdir(d)) != NULL) {
        snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        if (*e->d_name == '.')
            continue;
        if (e->d_type == DT_DIR)
            remove_all(name);
        else
            unlink(name);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

static int teardown(void **state)
{
    (void)state;
    remove_all(dir);
    ws_ctx_free(ctx);
    return 0;
}

static int load(const char *path, const char *workloads, const char *kernel,
                struct ws__spec **out)
{
    struct ws__spec_opts o = {.share_dir = dir,
                              .workloads = workloads,
                              .kernels = &kernel,
                              .nkernels = kernel != NULL};

    return ws__spec_load(ctx, path, &o, out);
}

static struct ws__spec *good(const char *path, const char *workloads,
                             const char *kernel)
{
    struct ws__spec *s = NULL;
    const struct ws_error *e = ws_ctx_error(ctx);

    if (load(path, workloads, kernel, &s) < 0)
        fail_msg("%s:%u:%u: %s (%s)", e->file, e->line, e->column, e->message,
                 e->hint);
    return s;
}

/* --- Definitions ---------------------------------------------------------- */

static void alone(void **state)
{
    const struct ws__op *op;
    struct ws__spec *s;

    (void)state;
    put("d.json", DEFINITION("other"));
    s = good(in_dir("d.json"), NULL, NULL);
    op = s->op;
    assert_true(s->definition);
    assert_string_equal(op->name, "other");
    assert_string_equal(op->about, "words");
    assert_null(op->reference);
    assert_string_equal(op->python.text,
                        "import torch\r\n\ndef run(x):\n    return x");
    assert_string_equal(op->python.function, "run");
    assert_int_equal(op->python.arrays, WS__PY_TORCH);
    assert_int_equal(op->naxis, 3);
    assert_int_equal(op->axis[0].kind, WS__AXIS_VAR);
    assert_int_equal(op->axis[1].value, 8);
    assert_int_equal(op->ntensor, 4);
    assert_int_equal(op->tensor[0].dtype, WS__DT_F16);
    assert_int_equal(op->tensor[0].fill.kind, WS__FILL_NORMAL);
    assert_int_equal(op->tensor[1].fill.kind, WS__FILL_INTEGERS);
    assert_true(op->tensor[1].fill.a == -1024 && op->tensor[1].fill.b == 1023);
    assert_int_equal(op->tensor[2].ndim, 0);
    assert_int_equal(op->tensor[3].role, WS__OUTPUT);
    assert_int_equal(op->nrequire, 1);
    assert_string_equal(op->require[0]->text, "rows != 13");
    assert_int_equal(op->require[0]->loc.line, 5);
    assert_non_null(strstr(logged, "'cols == index[-1].item()' reads more "
                                   "than axes"));
    assert_int_equal(op->tolerance.kind, WS__TOL_EXPLICIT);
    assert_true(op->tolerance.atol == 0.005 && op->tolerance.rtol == 0.005);
    assert_true(op->tolerance.ratio == 1);
    /* index may choose: only what is written must move. */
    assert_string_equal(op->bytes->text, "(rows) * (cols) * (two) * 2");
    assert_int_equal(s->nkernel, 0);
    assert_int_equal(s->nworkload, 0);
    ws__spec_free(s);
}

static void matched(void **state)
{
    struct ws__spec *s = good(in_dir("d.json"), NULL, NULL);
    const struct ws__op *op = s->op;
    const struct ws__kernel *k = s->kernel;

    (void)state;
    assert_string_equal(op->name, "scale_c8");
    assert_string_equal(op->reference, "gemm");
    assert_null(op->python.text);
    assert_int_equal(op->naxis, 4); /* in the order of the shipped op */
    assert_string_equal(op->axis[0].name, "rows");
    assert_int_equal(op->axis[0].hi, 100);
    assert_string_equal(op->axis[1].name, "cols");
    assert_int_equal(op->axis[1].kind, WS__AXIS_CONST);
    assert_string_equal(op->axis[2].name, "T");
    assert_int_equal(op->axis[2].ntypes, 1);
    assert_int_equal(op->axis[2].value, WS__DT_F16);
    assert_string_equal(op->axis[3].name, "two");
    assert_string_equal(op->tensor[0].name, "x");
    assert_int_equal(op->tensor[0].align, 16);
    assert_int_equal(op->tensor[1].fill.kind, WS__FILL_NATIVE);
    assert_int_equal(op->tensor[2].fill.kind, WS__FILL_CONSTANT);
    assert_string_equal(op->flops->text, "2 * rows * cols");
    assert_int_equal(op->nrequire, 2);
    assert_string_equal(op->require[0]->text, "rows * cols < 1000");
    assert_string_equal(op->require[1]->text, "rows != 13");
    assert_int_equal(op->tolerance.kind, WS__TOL_AUTO);
    assert_string_equal(op->constant[0].name, "EPS");
    assert_true(op->constant[0].value.u.f == 1e-5);
    assert_int_equal(op->constant[1].value.u.i, 8);
    /* The kernels of the shipped op, in its names. */
    assert_int_equal(s->nkernel, 1);
    assert_ptr_equal(k->bound, op);
    assert_string_equal(k->op->tensor[0].name, "X");
    assert_string_equal(k->op->axis[1].name, "C");
    assert_int_equal(k->op->axis[1].kind, WS__AXIS_VAR);
    assert_int_equal(k->op->axis[3].kind, WS__AXIS_CONST);
    assert_int_equal(k->launch[0].arg[3].index, 3);
    ws__spec_free(s);

    /* A pattern comes after a name. */
    put("d.json", DEFINITION("scale_c9"));
    s = good(in_dir("d.json"), NULL, NULL);
    assert_true(s->op->constant[0].value.u.f == 1e-6);
    assert_int_equal(s->op->constant[1].value.u.i, 9);
    ws__spec_free(s);
}

/* What is claimed by name and differs in substance is not used. */
static void not_the_same(void **state)
{
    static const struct {
        const char *find, *put, *what;
    } edits[] = {
        {"\"value\": 8", "\"value\": 65", "tensor 'x'"},
        {"\"value\": 2", "\"value\": 3", "tensor 'x'"},
        {"\"dtype\": \"int32\"", "\"dtype\": \"int64\"", "tensor 'index'"},
        {"[\"cols\"]", "[\"two\"]", "tensor 'index'"},
        {"[\"cols\"]", "[\"cols\", \"two\"]", "tensor 'index'"},
        {"\"index\": {\"shape\"", "\"X\": {\"shape\"", "tensor 'X'"},
        {"\"cols\", \"two\"], \"dtype\": \"float16\"}}",
         "\"cols\", \"two\"], \"dtype\": \"float32\"}}", "tensor 'y'"},
        {"\"cols\", \"two\"], \"dtype\": \"float16\"}}",
         "\"cols\", \"cols\"], \"dtype\": \"float16\"}}", "tensor 'y'"},
        {",\n\"s\": {\"shape\": null, \"dtype\": \"float32\"}", "",
         "number of tensors"},
        {"\"rows\": {\"type\": \"var\"}",
         "\"rows\": {\"type\": \"var\"}, \"more\": {\"type\": \"var\"}",
         "axis 'more'"},
        {"\"rows\": {\"type\": \"var\"}",
         "\"rows\": {\"type\": \"var\"}, \"T\": {\"type\": \"var\"}",
         "axis 'T'"},
    };
    static const char good_text[] = DEFINITION("scale_c8");
    char text[2000];

    (void)state;
    for (size_t i = 0; i < WS_COUNT(edits); i++) {
        const char *at = strstr(good_text, edits[i].find);
        struct ws__spec *s;

        assert_non_null(at);
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good_text),
                 good_text, edits[i].put, at + strlen(edits[i].find));
        put("d.json", text);
        *logged = '\0';
        s = good(in_dir("d.json"), NULL, NULL);
        if (s->op->reference || !strstr(logged, edits[i].what) ||
            !strstr(logged, "declared by the shipped op 'scale' but differs"))
            fail_msg("case %zu: %s", i, logged);
        assert_int_equal(s->nkernel, 0);
        ws__spec_free(s);
    }
}

static void broken_definitions(void **state)
{
    static const struct {
        const char *find, *put;
        int code;
        unsigned line;
        const char *message, *hint;
    } edits[] = {
        {"\"name\": \"other\"", "\"name\": \"a b\"", WS_ESPEC, 1, "'a b'", ""},
        {"\"type\": \"var\"", "\"type\": \"vra\"", WS_ESPEC, 2, "'vra'",
         "'var'"},
        {"\"type\": \"var\"", "\"typ\": \"var\"", WS_ESPEC, 2, "no 'type'", ""},
        {", \"value\": 8", "", WS_ESPEC, 3, "no 'value'", ""},
        {"\"value\": 8", "\"value\": 0", WS_ESPEC, 3, "cannot be 0", ""},
        {"\"value\": 8", "\"value\": \"8\"", WS_ESPEC, 3, "'8'", "quotes"},
        {"{\"type\": \"var\"}", "3", WS_ESPEC, 2, "'3' is a single value",
         "an axis {type"},
        {"\"dtype\": \"int32\"", "\"dtype\": \"float4_e2m1\"", WS_ESPEC, 7,
         "element type 'float4_e2m1' of tensor 'index' is not supported",
         "supported are float32"},
        {", \"dtype\": \"int32\"", "", WS_ESPEC, 7, "no 'dtype'", ""},
        {"\"shape\": [\"cols\"], ", "", WS_ESPEC, 7, "no 'shape'", ""},
        {"[\"cols\"]", "[\"colz\"]", WS_EEXPR, 7, "'colz'", "'cols'"},
        {"[\"cols\"]", "\"cols\"", WS_ESPEC, 7, "'cols' is a single value",
         "a list of axes"},
        {"\"index\": {", "\"rows\": {", WS_ESPEC, 7, "'rows' is taken", ""},
        {"\"rows\": {\"type\"", "\"min\": {\"type\"", WS_ESPEC, 2,
         "'min' cannot name an axis", ""},
        {"\"y\": {\"shape\"", "\"x\": {\"shape\"", WS_ESPEC, 9, "'x' is taken",
         ""},
        {"[\"rows != 13\"", "[[1]", WS_ESPEC, 5, "is a list", "a condition"},
        {"\"outputs\": {", "\"outputs\": {}, \"more\": {", WS_ESPEC, 1,
         "no outputs", ""},
    };
    static const char good_text[] = DEFINITION("other");
    const struct ws_error *e = ws_ctx_error(ctx);
    char text[2000];

    (void)state;
    for (size_t i = 0; i < WS_COUNT(edits); i++) {
        const char *at = strstr(good_text, edits[i].find);
        struct ws__spec *s;
        int rc;

        assert_non_null(at);
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good_text),
                 good_text, edits[i].put, at + strlen(edits[i].find));
        put("d.json", text);
        rc = load(in_dir("d.json"), NULL, NULL, &s);
        if (rc != edits[i].code || e->line != edits[i].line ||
            !strstr(e->message, edits[i].message) ||
            !strstr(e->hint, edits[i].hint) || !strstr(e->file, "d.json"))
            fail_msg("case %zu: %d %s:%u: %s (%s)", i, rc, e->file, e->line,
                     e->message, e->hint);
    }
}

static void outputs_and_tolerance(void **state)
{
    struct ws__spec *s;

    (void)state;
    put("d.json", "{\"name\": \"m\", \"op_type\": \"moe\", \"axes\": "
                  "{\"n\": {\"type\": \"var\"}}, \"inputs\": {\"b\": "
                  "{\"shape\": [\"n\"], \"dtype\": \"bool\"}, \"i\": "
                  "{\"shape\": [\"n\"], \"dtype\": \"int8\"}}, \"outputs\": "
                  "{\"total\": {\"shape\": null, \"dtype\": \"int64\"}}}");
    s = good(in_dir("d.json"), NULL, NULL);
    assert_true(s->op->tolerance.ratio == 0.95);
    assert_true(s->op->tensor[0].fill.b == 1);
    assert_true(s->op->tensor[1].fill.a == -128);
    assert_int_equal(s->op->tensor[2].ndim, 1);
    assert_string_equal(s->op->bytes->text, "8");
    ws__spec_free(s);
}

/* --- kernels -------------------------------------------------------------- */

static void texts_round_trip(void **state)
{
    struct ws__spec *s = good(in_dir("d.json"), NULL, NULL), *again;
    char *op, *kernel;
    const char *text;

    (void)state;
    assert_int_equal(ws__spec_to_text(s, 0, &op, &kernel), 0);
    assert_non_null(strstr(kernel, "\"names\": {"));
    assert_non_null(strstr(kernel, "\"variable\": [\"C\"]"));
    text = kernel;
    assert_int_equal(ws__spec_from_text(ctx, op, &text, &s->kernel->source, 1,
                                        &again),
                     0);
    assert_true(ws__hash_eq(s->op->hash, again->op->hash));
    assert_true(ws__hash_eq(s->kernel->hash, again->kernel->hash));
    assert_string_equal(again->kernel->op->tensor[3].name, "Y");
    ws__spec_free(again);
    ws__spec_free(s);
    ws__free(ctx, op);
    ws__free(ctx, kernel);
}

static void kernel_files(void **state)
{
    struct ws__spec *s, *t;

    (void)state;
    /* In the Definition's own names. */
    put("own.yaml",
        "kernel: own\nsource: k.c\nlaunches: [{entry: f, grid: rows, block: "
        "cols, args: [x, y]}]\n");
    put("k.c", "void f() {}\n");
    s = good(in_dir("d.json"), NULL, in_dir("own.yaml"));
    assert_int_equal(s->nkernel, 1);
    assert_string_equal(s->kernel->name, "own");
    assert_ptr_equal(s->kernel->op, s->op);
    ws__spec_free(s);
    /* In those of the shipped op, which it names. */
    s = good(in_dir("d.json"), NULL, in_dir("ops/scale/kernels/k.yaml"));
    t = good(in_dir("d.json"), NULL, NULL);
    assert_true(ws__hash_eq(s->hash, t->hash));
    ws__spec_free(s);
    ws__spec_free(t);
    /* For any op: instead of those of its folder. */
    put("ops/scale/more.yaml",
        "kernel: more\nsource: k.c\nnames: {L: C}\nlaunches: [{entry: f, grid: "
        "R, block: L, args: [X, Y]}]\n");
    put("ops/scale/k.c", "void f() {}\n");
    s = good(in_dir("ops/scale"), NULL, in_dir("ops/scale/more.yaml"));
    assert_int_equal(s->nkernel, 1);
    assert_string_equal(s->kernel->name, "more");
    assert_int_equal(s->nworkload, 1);
    ws__spec_free(s);
    s = good(in_dir("ops/scale/op.yaml"), NULL, in_dir("ops/scale/more.yaml"));
    assert_int_equal(s->nkernel, 1);
    ws__spec_free(s);
}

/* The same text means something else under other names. */
static void names_have_a_meaning(void **state)
{
    static const char kernel[] =
        "kernel: more\nsource: k.c\nnames: {%s: C, %s: R, X: X}\nlaunches: "
        "[{entry: f, grid: R, block: C, args: [X, Y]}]\n";
    struct ws__hash h[2];
    char text[300];

    (void)state;
    put("ops/scale/k.c", "void f() {}\n");
    for (int i = 0; i < 2; i++) {
        struct ws__spec *s;

        snprintf(text, sizeof(text), kernel, i ? "R" : "C", i ? "C" : "R");
        put("ops/scale/more.yaml", text);
        s = good(in_dir("ops/scale"), NULL, in_dir("ops/scale/more.yaml"));
        h[i] = s->kernel->hash;
        assert_int_equal(ws__expr_uses(s->kernel->launch->grid[0], 0), !i);
        ws__spec_free(s);
    }
    assert_false(ws__hash_eq(h[0], h[1]));
}

static void broken_kernels(void **state)
{
    static const struct {
        const char *keys, *message, *hint;
        unsigned line;
    } cases[] = {
        {"names: {L: Q}", "op 'scale' has no axis or tensor 'Q'", "NAME IN", 3},
        {"names: {L: C, M: C}", "has no axis or tensor 'C'", "each once", 3},
        {"names: {L: \"\"}", "no axis or tensor ''", "", 3},
        {"names: {R: C}", "the name 'R' is taken", "give that one", 3},
        {"names: {EPS: C}", "the name 'EPS' is taken", "give that one", 3},
        {"names: {min: C}", "'min' cannot name", "", 3},
        {"names: [C]", "'names' is a list", "a map {NAME", 3},
        {"variable: [R]", "'R' is no constant axis", "leave it out", 3},
        {"variable: [Q]", "'Q' is no constant axis", "", 3},
        {"variable: B", "'B' is a single value", "list of constant axes", 3},
        {"op: other", "the kernel is for op 'other'", "here is 'scale'", 3},
    };
    const struct ws_error *e = ws_ctx_error(ctx);
    struct ws__spec *s;
    char text[400];

    (void)state;
    put("ops/scale/k.c", "void f() {}\n");
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        snprintf(text, sizeof(text),
                 "kernel: more\nsource: k.c\n%s\nlaunches: [{entry: f, grid: "
                 "R, block: C, args: [X, Y]}]\n",
                 cases[i].keys);
        put("ops/scale/more.yaml", text);
        if (load(in_dir("ops/scale"), NULL, in_dir("ops/scale/more.yaml"),
                 &s) != WS_ESPEC ||
            e->line != cases[i].line || !strstr(e->message, cases[i].message) ||
            !strstr(e->hint, cases[i].hint))
            fail_msg("case %zu: %u: %s (%s)", i, e->line, e->message, e->hint);
    }
    assert_int_equal(load(in_dir("d.json"), NULL, in_dir("d.json"), &s),
                     WS_ESPEC);
    assert_non_null(strstr(e->message, "is no kernel file"));
    assert_int_equal(load(in_dir("ops/scale/kernels/k.yaml"), NULL,
                          in_dir("ops/scale/kernels/k.yaml"), &s),
                     WS_EINVAL);
    assert_non_null(strstr(e->message, "cannot take the kernel file"));
    put("ops/scale/op.yaml", "op: scale\naxes: {N: var}\noutputs: {Y: {shape: "
                             "[N], dtype: int8}}\ndefinitions:\n  d: {Q: 1}\n");
    assert_int_equal(load(in_dir("ops/scale/op.yaml"), NULL, NULL, &s),
                     WS_ESPEC);
    assert_int_equal(e->line, 5);
    assert_non_null(strstr(e->message, "no constant 'Q'"));
}

/* --- workload lines ------------------------------------------------------- */

/* A safetensors file with `index` of 8 numbers. */
static void put_index(const char *name)
{
    static const char head[] = "{\"i\":{\"dtype\":\"I32\",\"shape\":[8],"
                               "\"data_offsets\":[0,32]}}";
    unsigned char bytes[8 + sizeof(head) - 1 + 32] = {sizeof(head) - 1};
    FILE *f = fopen(in_dir(name), "wb");

    memcpy(bytes + 8, head, sizeof(head) - 1);
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, sizeof(bytes), f), sizeof(bytes));
    fclose(f);
}

#define LINE(axes, inputs)                                                     \
    "{\"solution\": null, \"definition\": \"scale_c8\", \"workload\": "        \
    "{\"inputs\": {" inputs "}, \"axes\": {" axes                              \
    "}, \"uuid\": \"u-%d\"}, \"evaluation\": null}\n"
#define RANDOM "\"x\": {\"type\": \"random\"}"
#define INDEX(path, key)                                                       \
    "\"index\": {\"type\": \"safetensors\", \"path\": \"" path                 \
    "\", \"tensor_key\": \"" key "\"}"
#define SCALAR "\"s\": {\"type\": \"scalar\", \"value\": 0.25}"

static void workload_lines(void **state)
{
    static const char text[] =
        LINE("\"rows\": 3",
             RANDOM) "\n" LINE("\"rows\": 4", RANDOM
                               ", " INDEX("./blob/i.st", "i") ", " SCALAR)
            LINE("\"rows\": 5, \"cols\": 8", SCALAR);
    struct ws__spec *s, *plain;
    struct ws__workload w;
    char lines[2000];

    (void)state;
    mkdir(in_dir("data/blob"), 0700);
    mkdir(in_dir("data/workloads/scale"), 0700);
    put_index("data/blob/i.st");
    snprintf(lines, sizeof(lines), text, 1, 2, 3);
    put("data/workloads/scale/w.jsonl", lines);
    s = good(in_dir("d.json"), in_dir("data/workloads/scale/w.jsonl"), NULL);
    assert_int_equal(s->nworkload, 3);
    assert_string_equal(s->workload[0].name, "u-1");
    assert_int_equal(s->workload[0].axis[0], 3);
    assert_int_equal(s->workload[0].axis[2], WS__DT_F16);
    assert_null(s->workload[0].input);
    assert_int_equal(s->workload[1].loc.line, 3);
    assert_int_equal(s->workload[1].input[1].kind, WS__INPUT_FILE);
    assert_int_equal(s->workload[1].input[2].kind, WS__INPUT_FILL);
    assert_true(s->workload[1].input[2].fill.a == 0.25);
    assert_int_equal(s->workload[2].input[1].kind, WS__INPUT_OP);
    /* All random: the same as axes alone. */
    plain = good(in_dir("d.json"), NULL, NULL);
    assert_int_equal(ws__spec_workload(plain, "rows=3", &w), 0);
    assert_true(ws__hash_eq(ws__workload_hash(plain->op, &w),
                            ws__workload_hash(s->op, &s->workload[0])));
    assert_null(strstr(logged, "generator"));
    ws__spec_free(plain);
    ws__spec_free(s);
}

static void missing_blobs(void **state)
{
    static const char text[] = LINE("\"rows\": 3", INDEX("./b/none.st", "i"))
        LINE("\"rows\": 4", INDEX("./b/none2.st", "i"));
    const struct ws_error *e = ws_ctx_error(ctx);
    struct ws__spec *s;
    char lines[1000];

    (void)state;
    snprintf(lines, sizeof(lines), text, 1, 2);
    put("w.jsonl", lines);
    *logged = '\0';
    s = good(in_dir("d.json"), in_dir("w.jsonl"), NULL);
    assert_null(s->workload[0].input);
    assert_int_equal(s->op->tensor[1].fill.kind, WS__FILL_NATIVE);
    assert_non_null(strstr(logged, "w.jsonl:1: there is no file './b/none.st': "
                                   "the op's own generator fills"));
    assert_non_null(strstr(logged, "those of other missing files"));
    assert_null(strstr(logged, "none2"));
    ws__spec_free(s);
    /* Without a generator. */
    put("ops/scale/op.yaml", "op: none\n");
    assert_int_equal(load(in_dir("d.json"), in_dir("w.jsonl"), NULL, &s),
                     WS_ESPEC);
    assert_int_equal(e->line, 1);
    assert_non_null(strstr(e->message, "there is no file './b/none.st'"));
}

static void broken_lines(void **state)
{
    static const struct {
        const char *line, *message, *hint;
    } cases[] = {
        {"{\"definition\": \"scale_c9\", \"workload\": {}}",
         "is for Definition 'scale_c9'", "is 'scale_c8'"},
        {"{\"definition\": \"scale_c8\", \"workload\": 3}",
         "'3' is a single value", "a workload"},
        {"{\"definition\": \"scale_c8\", \"workload\": {}}", "no 'axes'", ""},
        {LINE("\"rws\": 1", ""), "no axis 'rws'", "'rows'"},
        {LINE("\"cols\": 8", ""), "axes without a value: rows", ""},
        {LINE("\"rows\": 1, \"cols\": 9", ""), "axis 'cols' cannot be 9",
         "always 8"},
        {LINE("\"rows\": 0", ""), "axis 'rows' cannot be 0", "1..100"},
        {LINE("\"rows\": 13", ""), "'rows != 13' does not hold", "requires"},
        {LINE("\"rows\": 1", "\"z\": {\"type\": \"random\"}"), "no tensor 'z'",
         ""},
        {LINE("\"rows\": 1", "\"y\": {\"type\": \"random\"}"),
         "'y' is an output", ""},
        {LINE("\"rows\": 1", "\"x\": {\"type\": \"rnd\"}"), "'rnd'",
         "random scalar safetensors"},
        {LINE("\"rows\": 1", "\"x\": {\"type\": \"scalar\", \"value\": 1}"),
         "tensor 'x' is given as a scalar", "without a shape"},
        {LINE("\"rows\": 1", "\"s\": {\"type\": \"scalar\"}"), "no 'value'",
         ""},
        {LINE("\"rows\": 1",
              "\"s\": {\"type\": \"scalar\", \"value\": \"Infinity\"}"),
         "'Infinity'", "number"},
        {LINE("\"rows\": 1", INDEX("/etc/passwd", "i")), "is an absolute path",
         "relative"},
        {LINE("\"rows\": 1", INDEX("../../../etc/passwd", "i")), "outside of",
         ""},
        {LINE("\"rows\": 1", INDEX("d.json", "i")), "no safetensors file", ""},
        {LINE("\"rows\": 1", INDEX("i.st", "j")), "has no tensor 'j'",
         "it has i"},
        {LINE("\"rows\": 1", "\"index\": {\"type\": \"safetensors\"}"),
         "no 'path'", ""},
        {LINE("\"rows\": 1", "\"x\": {\"type\": \"safetensors\", \"path\": "
                             "\"i.st\", \"tensor_key\": \"i\"}"),
         "is int32 [8], the workload needs float16 [1, 8, 2]", ""},
    };
    const struct ws_error *e = ws_ctx_error(ctx);
    struct ws__spec *s;

    (void)state;
    put_index("i.st");
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        char text[1000];
        int rc;

        snprintf(text, sizeof(text), "\n%s", cases[i].line);
        put("w.jsonl", text);
        rc = load(in_dir("d.json"), in_dir("w.jsonl"), NULL, &s);
        if (rc >= 0 || e->line != 2 || !strstr(e->message, cases[i].message) ||
            !strstr(e->hint, cases[i].hint) || !strstr(e->file, "w.jsonl"))
            fail_msg("case %zu: %d %s:%u: %s (%s)", i, rc, e->file, e->line,
                     e->message, e->hint);
    }
}

static int load_body(struct ws_ctx *c, void *user)
{
    const char *kernel = user;
    struct ws__spec_opts o = {.share_dir = dir,
                              .workloads = in_dir("w.jsonl"),
                              .kernels = &kernel,
                              .nkernels = kernel != NULL};
    struct ws__spec *s;
    int rc = ws__spec_load(c, in_dir("d.json"), &o, &s);

    if (rc >= 0)
        ws__spec_free(s);
    return rc;
}

static void torture(void **state)
{
    static char kernel[400];
    char text[1000];

    (void)state;
    put_index("i.st");
    snprintf(text, sizeof(text),
             LINE("\"rows\": 4", RANDOM ", " INDEX("./i.st", "i") ", " SCALAR),
             1);
    put("w.jsonl", text);
    assert_true(t_torture(load_body, NULL) > 20);
    snprintf(kernel, sizeof(kernel), "%s", in_dir("ops/scale/kernels/k.yaml"));
    assert_true(t_torture(load_body, kernel) > 20);
    put("d.json", DEFINITION("other"));
    unlink(in_dir("w.jsonl"));
}

/* --- the samples ---------------------------------------------------------- */

static const char *samples(void)
{
    static char path[600];
    const char *data = getenv("WS_DATA");

    snprintf(path, sizeof(path),
             "%s/flashinfer-trace-samples/flashinfer-trace/",
             data ? data : "../shared/data");
    if (access(path, R_OK))
        SKIP("no flashinfer-trace-samples in '%s'", path);
    return path;
}

static void make_folders(const char *path)
{
    char part[600];

    for (const char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(s - path), path);
        mkdir(part, 0700);
    }
}

/* The files that a line names, empty. */
static void make_blobs(const char *line)
{
    const char *at = line;

    while ((at = strstr(at, "\"safetensors\"")) != NULL) {
        const char *p = strstr(at, "\"path\"");
        char path[300], file[700];

        p = strchr(p + 6, '"') + 1;
        at = p;
        snprintf(path, sizeof(path), "%.*s", (int)strcspn(p, "\""), p);
        snprintf(file, sizeof(file), "%s/%s", dir, path);
        if (access(file, F_OK)) {
            make_folders(file);
            fclose(fopen(file, "wb"));
        }
    }
}

/* Every line loads, or names its missing file: then it is made, empty, and the
 * line must say that that is no safetensors file. Lines with no pages at all
 * are refused for that. */
static size_t read_lines(const char *definition, const char *path,
                         size_t *empty)
{
    const struct ws_error *e = ws_ctx_error(ctx);
    FILE *f = fopen(path, "r");
    static char line[20000];
    size_t n = 0;

    for (; f && fgets(line, sizeof(line), f); n++) {
        struct ws__spec *s = NULL;
        int rc;

        put("line.jsonl", line);
        rc = load(definition, in_dir("line.jsonl"), NULL, &s);
        if (rc < 0) {
            assert_int_equal(e->line, 1);
            assert_non_null(strstr(e->message, "there is no file './blob/"));
            make_blobs(line);
            rc = load(definition, in_dir("line.jsonl"), NULL, &s);
            if (rc >= 0 || (!strstr(e->message, "no safetensors file") &&
                            !strstr(e->message, "('num_pages') is 0")))
                fail_msg("%d %s", rc, e->message);
            *empty += strstr(e->message, "is 0") != NULL;
        } else {
            assert_int_equal(s->nworkload, 1);
        }
        ws__spec_free(s);
    }
    if (f)
        fclose(f);
    return n;
}

static void sample_files(void **state)
{
    const char *root = samples();
    char folder[700], path[1100];
    size_t definitions = 0, lines = 0, kinds = 0, empty = 0;
    DIR *d, *in;
    struct dirent *e, *x;

    (void)state;
    snprintf(folder, sizeof(folder), "%sdefinitions", root);
    assert_non_null(d = opendir(folder));
    while ((e = readdir(d)) != NULL) {
        if (*e->d_name == '.')
            continue;
        kinds++;
        snprintf(folder, sizeof(folder), "%sdefinitions/%s", root, e->d_name);
        assert_non_null(in = opendir(folder));
        while ((x = readdir(in)) != NULL) {
            char work[1100];
            struct ws__spec *s;

            if (*x->d_name == '.')
                continue;
            snprintf(path, sizeof(path), "%s/%s", folder, x->d_name);
            s = good(path, NULL, NULL);
            assert_true(s->definition && s->op->ntensor >= 2);
            assert_int_equal(strncmp(s->op->name, x->d_name,
                                     strlen(s->op->name)),
                             0);
            ws__spec_free(s);
            definitions++;
            snprintf(work, sizeof(work), "%sworkloads/%s/%sl", root, e->d_name,
                     x->d_name);
            lines += read_lines(path, work, &empty);
        }
        closedir(in);
    }
    closedir(d);
    assert_int_equal(kinds, 10);
    assert_int_equal(definitions, 18);
    assert_int_equal(lines, 393);
    assert_int_equal(empty, 2);
}

/* With the operators that are shipped: who has a reference, and which of the
 * shipped kernels fit. */
static void shipped_ops(void **state)
{
    static const struct {
        const char *path, *reference;
    } known[] = {{"gemm/gemm_n2048_k4096", "gemm"},
                 {"gemm/gemm_n256_k7168", "gemm"},
                 {"gemm/gemm_n4096_k4096", "gemm"},
                 {"rmsnorm/rmsnorm_h128", "rmsnorm"},
                 {"rmsnorm/rmsnorm_h4096", "rmsnorm"},
                 {"rmsnorm/rmsnorm_h7168", "rmsnorm"},
                 {"gqa_paged/gqa_paged_decode_h32_kv4_d128_ps1",
                  "gqa_paged_decode"},
                 {"gqa_paged/gqa_paged_decode_h32_kv8_d128_ps1",
                  "gqa_paged_decode"}};
    struct ws__spec_opts o = {.share_dir = "."};
    const char *root = samples();
    char path[700], work[700];

    (void)state;
    for (size_t i = 0; i < WS_COUNT(known); i++) {
        struct ws__spec *s;

        snprintf(path, sizeof(path), "%sdefinitions/%s.json", root,
                 known[i].path);
        snprintf(work, sizeof(work), "%sworkloads/%s.jsonl", root,
                 known[i].path);
        o.workloads = work;
        if (ws__spec_load(ctx, path, &o, &s) < 0)
            fail_msg("%s", ws_ctx_error(ctx)->message);
        assert_string_equal(s->op->reference, known[i].reference);
        assert_true(s->nkernel >= 1);
        assert_true(s->nworkload >= 8);
        ws__spec_free(s);
    }
    assert_null(strstr(logged, "differs"));
    assert_non_null(strstr(logged, "the op's own generator fills"));
}

/* Real page tables. */
static void page_tables(void **state)
{
    struct ws__spec_opts o = {.share_dir = "."};
    const char *root = samples();
    char path[700], work[700];
    struct ws__spec *s;

    (void)state;
    snprintf(path, sizeof(path),
             "%sdefinitions/gqa_paged/gqa_paged_decode_h32_kv8_d128_ps1.json",
             root);
    snprintf(work, sizeof(work), "%s../kv_meta_blobs/derived_workloads.jsonl",
             root);
    o.workloads = work;
    if (ws__spec_load(ctx, path, &o, &s) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    assert_int_equal(s->nworkload, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct ws__input *x = s->workload[i].input;

        assert_int_equal(x[3].kind, WS__INPUT_FILE);
        assert_string_equal(x[4].key, "kv_indices");
        assert_int_equal(x[5].kind, WS__INPUT_FILL);
        assert_true(x[5].fill.a == 0.08838834764831845);
        assert_true(x[3].content.lo && x[3].content.lo != x[4].content.lo);
    }
    assert_null(strstr(logged, "generator"));
    ws__spec_free(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(alone),
        TEST(matched),
        TEST(not_the_same),
        TEST(broken_definitions),
        TEST(outputs_and_tolerance),
        TEST(texts_round_trip),
        TEST(kernel_files),
        TEST(names_have_a_meaning),
        TEST(broken_kernels),
        TEST(workload_lines),
        TEST(missing_blobs),
        TEST(broken_lines),
        TEST(torture),
        TEST(sample_files),
        TEST(shipped_ops),
        TEST(page_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
