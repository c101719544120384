/*
 * t_spec.c: good specifications: every field arrives, texts round-trip,
 * hashes follow the meaning, and no failing allocation leaks.
 */
#include "base/t_base.h"

#include <sys/stat.h>
#include <unistd.h>

#include "spec/spec.h"

#define SPECS "tests/data/specs/"

static struct ws_ctx *ctx;
static const struct ws__spec_opts opts = {.share_dir = "tests/data/share"};

static int make_ctx(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    return ctx ? 0 : -1;
}

static int free_ctx(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return 0;
}

static struct ws__spec *load(const char *path)
{
    struct ws__spec *s = NULL;
    int rc = ws__spec_load(ctx, path, &opts, &s);
    const struct ws_error *e = ws_ctx_error(ctx);

    if (rc < 0)
        print_error("%s:%u:%u: %s (%s)\n", e->file, e->line, e->column,
                    e->message, e->hint);
    assert_int_equal(rc, 0);
    return s;
}

static void op_fields(void **state)
{
    struct ws__spec *s = load(SPECS "gemm");
    const struct ws__op *op = s->op;

    (void)state;
    assert_int_equal(s->kind, WS__SPEC_OP);
    assert_string_equal(op->name, "gemm");
    assert_string_equal(op->reference, "gemm");
    assert_string_equal(s->dir, SPECS "gemm");
    assert_int_equal(op->naxis, 5);
    assert_int_equal(op->axis[0].kind, WS__AXIS_VAR);
    assert_int_equal(op->axis[0].hi, 16384);
    assert_string_equal(op->axis[0].about, "tokens");
    assert_int_equal(op->axis[3].kind, WS__AXIS_TYPE);
    assert_int_equal(op->axis[3].ntypes, 3);
    assert_int_equal(op->axis[3].value, WS__DT_F32);
    assert_int_equal(op->axis[4].kind, WS__AXIS_CONST);
    assert_int_equal(op->axis[4].value, 4);
    assert_int_equal(op->ntensor, 4);
    assert_int_equal(op->tensor[0].type_axis, 3);
    assert_int_equal(op->tensor[1].align, 16);
    assert_true(op->tensor[1].fill.b == 0.05);
    assert_int_equal(op->tensor[2].ndim, 0);
    assert_int_equal(op->tensor[2].fill.kind, WS__FILL_CONSTANT);
    assert_int_equal(op->tensor[3].role, WS__OUTPUT);
    assert_non_null(op->tensor[3].stride[0]);
    assert_int_equal(op->nrequire, 2);
    assert_int_equal(op->tolerance.kind, WS__TOL_AUTO);
    assert_int_equal(op->tolerance.accumulate, WS__DT_F32);
    assert_int_equal(op->cache, WS__CACHE_COLD);
    ws__spec_free(s);
}

static void workloads(void **state)
{
    struct ws__spec *s = load(SPECS "gemm");
    struct ws__workload w;
    struct ws__hash before = s->hash;

    (void)state;
    assert_int_equal(s->nworkload, 4);
    assert_string_equal(s->workload[1].name, "half");
    assert_int_equal(s->workload[1].axis[3], WS__DT_F16);
    assert_int_equal(s->workload[1].axis[4], 4);
    assert_true(s->workload[1].weight == 2.5);
    assert_int_equal(s->workload[2].axis[1], 256);
    assert_int_equal(s->workload[3].loc.line, 5);
    assert_string_equal(s->workload[3].name, "M=1,N=8,K=8,T=float32");
    assert_int_equal(ws__spec_workload(s, "M=16, N=64,K=32,T=float16", &w), 0);
    assert_true(ws__hash_eq(ws__workload_hash(s->op, &w),
                            ws__workload_hash(s->op, &s->workload[1])));
    assert_int_equal(ws__spec_workload(s, "nosuch", &w), WS_ESPEC);
    assert_string_equal(ws_ctx_error(ctx)->message,
                        "there is no workload 'nosuch'");
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, s->workload[0].name));
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "AXIS=VALUE"));
    assert_int_equal(ws__spec_workload(s, "some M=3", &w), WS_ESPEC);
    assert_string_equal(ws_ctx_error(ctx)->message,
                        "there is no workload 'some M=3'");
    assert_int_equal(ws__spec_workload(s, "M=16", &w), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "N, K"));
    assert_int_equal(ws__spec_workload(s, "M=16,N=8,K=9", &w), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "K % 8 == 0"));
    assert_int_equal(ws__spec_workload(s, "M=16,N=8,k=8", &w), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "'K'"));
    assert_int_equal(ws__spec_workloads(s, SPECS "more.jsonl"), 0);
    assert_int_equal(s->nworkload, 2);
    assert_int_equal(s->workload[1].axis[3], WS__DT_BF16);
    assert_int_equal(s->workload[1].loc.line, 3);
    assert_false(ws__hash_eq(before, s->hash));
    ws__spec_free(s);
}

static void kernels_of_a_folder(void **state)
{
    struct ws__spec *s = load(SPECS "gemm");

    (void)state;
    assert_int_equal(s->nkernel, 2); /* sorted by file */
    assert_string_equal(s->kernel[0].name, "gemm_naive");
    assert_string_equal(s->kernel[1].name, "gemm_tiled");
    assert_ptr_equal(s->kernel[0].op, s->op);
    assert_int_equal(s->kernel[0].nparam, 0);
    assert_null(strstr(s->kernel[0].source, "pragma"));
    ws__spec_free(s);
}

static void kernel_fields(void **state)
{
    struct ws__spec *s = load(SPECS "gemm/kernels/tiled.yaml");
    const struct ws__kernel *k = &s->kernel[0];

    (void)state;
    assert_int_equal(s->kind, WS__SPEC_KERNEL);
    assert_string_equal(s->dir, SPECS "gemm");
    assert_string_equal(k->dir, SPECS "gemm/kernels");
    assert_int_equal(k->specialize, 1u << 2);
    assert_true(k->order_dependent);
    assert_int_equal(k->noption, 1);
    assert_int_equal(k->nparam, 6);
    assert_int_equal(k->param[0].dflt, 1);
    ws__kernel_bind(&s->kernel[0], false);
    assert_int_equal(k->param[0].dflt, 2); /* BN is one for all */
    assert_int_equal(k->param[1].dflt, 1);
    ws__kernel_bind(&s->kernel[0], true);
    assert_int_equal(k->param[1].nvalue, 4);
    assert_int_equal(k->param[1].value[3].u.i, 64);
    assert_int_equal(k->param[1].dflt, 1);
    assert_int_equal(k->param[3].type, WS__STR);
    assert_true(k->param[3].structural);
    assert_int_equal(k->param[4].type, WS__BOOL);
    assert_int_equal(k->param[5].type, WS__FLOAT);
    assert_true(k->param[5].slot[0].f == 1.0);
    assert_int_equal(k->nconstraint, 4);
    assert_false(k->constraint[0].needs_axes);
    assert_true(k->constraint[1].needs_axes);
    assert_string_equal(k->constraint[1].about, "whole parts");
    assert_true(k->constraint[3].needs_device && k->constraint[3].prune);
    assert_false(k->constraint[1].prune);
    assert_int_equal(k->range_hi[0], 4096);
    assert_int_equal(k->nscratch, 1);
    assert_true(k->scratch[0].zero);
    assert_int_equal(k->nlaunch, 2);
    assert_int_equal(k->launch[0].narg, 11);
    assert_int_equal(k->launch[0].arg[3].kind, WS__ARG_SCRATCH);
    assert_int_equal(k->launch[0].arg[6].kind, WS__ARG_TENSOR);
    assert_int_equal(k->launch[0].arg[6].index, 2);
    assert_int_equal(k->launch[0].arg[8].kind, WS__ARG_SHARED);
    assert_non_null(k->wave.loop);
    ws__spec_free(s);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void source_is_resolved(void **state)
{
    struct ws__spec *s = load(SPECS "gemm/kernels/tiled.yaml");
    const char *text = s->kernel[0].source;

    (void)state;
    assert_int_equal(count(text, "#define TILE 32"), 1);
    assert_int_equal(count(text, "pragma"), 0);
    assert_int_equal(count(text, "#include \"tile.h\""), 0);
    assert_int_equal(count(text, "#include <math.h>"), 1);
    assert_int_equal(count(text, "in_a_comment.h"), 1);
    assert_int_equal(count(text, "in_a_string.h"), 1);
    assert_int_equal(count(text, "#line 1 \"tile.h\""), 1);
    assert_int_equal(count(text, "#line 4 \"tiled.c\""), 1);
    assert_null(strstr(text, "tests/"));
    ws__spec_free(s);
}

static void t1(void **state)
{
    struct ws__spec *s = load(SPECS "t1.json");
    const struct ws__kernel *k = &s->kernel[0];
    char *op, *text;
    const char *texts;
    struct ws__spec *again;

    (void)state;
    assert_int_equal(s->kind, WS__SPEC_T1);
    assert_null(s->op);
    assert_string_equal(k->name, "toy");
    assert_int_equal(k->nparam, 3);
    assert_int_equal(k->param[0].nvalue, 5);
    assert_int_equal(k->param[0].dflt, 2);
    assert_int_equal(k->param[1].dflt, 1);
    assert_int_equal(k->param[2].dflt, 0);
    assert_int_equal(k->nconstraint, 1);
    assert_int_equal(ws__spec_workloads(s, SPECS "more.jsonl"), WS_ESPEC);
    assert_int_equal(ws__spec_to_text(s, 0, &op, &text), 0);
    assert_null(op);
    texts = text;
    assert_int_equal(ws__spec_from_text(ctx, NULL, &texts, NULL, 1, &again), 0);
    assert_true(ws__hash_eq(s->kernel[0].hash, again->kernel[0].hash));
    ws__free(ctx, text);
    ws__spec_free(again);
    ws__spec_free(s);
}

static void texts_round_trip(void **state)
{
    struct ws__spec *s = load(SPECS "gemm"), *again;
    const char *kernel[3], *source[3];
    char *op[2], *text[2];

    (void)state;
    assert_int_equal(s->nkernel, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ws__spec_to_text(s, i, &op[i], &text[i]), 0);
        assert_null(strstr(op[i], "workloads"));
        kernel[i] = text[i];
        source[i] = s->kernel[i].source;
    }
    assert_string_equal(op[0], op[1]);
    assert_int_equal(ws__spec_from_text(ctx, *op, kernel, source, 2, &again),
                     0);
    assert_int_equal(again->nkernel, 2);
    assert_true(ws__hash_eq(s->op->hash, again->op->hash));
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(s->kernel[i].name, again->kernel[i].name);
        assert_true(ws__hash_eq(s->kernel[i].hash, again->kernel[i].hash));
        assert_string_equal(s->kernel[i].source, again->kernel[i].source);
        assert_ptr_equal(again->kernel[i].op, again->op);
    }
    ws__spec_free(again);
    /* Errors say which text it was. */
    kernel[2] = kernel[0];
    source[2] = source[0];
    assert_int_equal(ws__spec_from_text(ctx, *op, kernel, source, 3, &again),
                     WS_ESPEC);
    assert_string_equal(ws_ctx_error(ctx)->file, "kernel:2");
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "'kernel:0'"));
    assert_null(again);
    for (size_t i = 0; i < 2; i++) {
        ws__free(ctx, op[i]);
        ws__free(ctx, text[i]);
    }
    ws__spec_free(s);
}

static struct ws__spec *from_op(const char *op)
{
    static const char *const kernel =
        "{kernel: k, source: k.c, launches: [{entry: f, grid: M, block: 1, "
        "args: [C]}]}";
    struct ws__spec *s = NULL;

    assert_int_equal(ws__spec_from_text(ctx, op, &kernel, NULL, 1, &s), 0);
    return s;
}

static void hash_is_meaning(void **state)
{
    static const char base[] = "op: x\naxes: {M: var}\noutputs:\n  C: {shape: "
                               "[M*2], dtype: int8}\n";
    static const char same[] =
        "# comment\n\"op\": 'x'\nabout: words\naxes:\n  M: var\noutputs: {C: "
        "{dtype: int8, shape: [\"M * 2\"]}}\n";
    static const char other[] = "op: x\naxes: {M: var}\noutputs:\n  C: {shape: "
                                "[M*3], dtype: int8}\n";
    struct ws__spec *a = from_op(base), *b = from_op(same), *c = from_op(other);

    (void)state;
    assert_true(ws__hash_eq(a->op->hash, b->op->hash));
    assert_true(ws__hash_eq(a->hash, b->hash));
    assert_false(ws__hash_eq(a->op->hash, c->op->hash));
    ws__spec_free(a);
    ws__spec_free(b);
    ws__spec_free(c);
}

/* Numbers of the op: by name, part of the meaning, in texts for packs too. */
static void constants(void **state)
{
#define WITH(c)                                                                \
    "op: x\naxes: {M: var}\n" c "outputs:\n  C: {shape: [M*2], dtype: int8}\n"
    static const char *const ops[] = {
        WITH(""),
        WITH("constants: {}\n"),
        WITH("constants: {EPS: 1e-5, B: 3}\n"),
        WITH("constants: {B: 3, EPS: 0.00001}\n"),
        WITH("constants: {B: 3.0, EPS: 1e-5}\n"),
        WITH("constants: {B: 3, EPS: 1e-6}\n"),
        WITH("constants: {B: 3, EPT: 1e-5}\n"),
    };
    struct ws__spec *s[WS_COUNT(ops)], *again;
    const char *source = "";
    char *op, *kernel;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(ops); i++)
        s[i] = from_op(ops[i]);
    assert_int_equal(s[1]->op->nconstant, 0);
    assert_true(ws__hash_eq(s[0]->op->hash, s[1]->op->hash));
    assert_int_equal(s[2]->op->nconstant, 2);
    assert_string_equal(s[2]->op->constant[0].name, "B");
    assert_int_equal(s[2]->op->constant[0].value.u.i, 3);
    assert_int_equal(s[2]->op->constant[1].value.type, WS__FLOAT);
    assert_true(s[2]->op->constant[1].value.u.f == 1e-5);
    assert_true(ws__hash_eq(s[2]->op->hash, s[3]->op->hash));
    for (size_t i = 0; i < WS_COUNT(ops); i++)
        for (size_t j = 0; j < i; j++)
            if (!(i == 1 && j == 0) && !(i == 3 && j == 2))
                assert_false(ws__hash_eq(s[i]->op->hash, s[j]->op->hash));
    assert_int_equal(ws__spec_to_text(s[2], 0, &op, &kernel), 0);
    assert_int_equal(ws__spec_from_text(ctx, op, (const char **)&kernel,
                                        &source, 1, &again),
                     0);
    assert_true(ws__hash_eq(s[2]->op->hash, again->op->hash));
    ws__free(ctx, op);
    ws__free(ctx, kernel);
    ws__spec_free(again);
    for (size_t i = 0; i < WS_COUNT(ops); i++)
        ws__spec_free(s[i]);
}

/* A kernel may not use the name of a constant for anything else. */
static void constants_keep_their_names(void **state)
{
    static const char op[] =
        "op: x\naxes: {M: var}\nconstants: {EPS: 1e-5}\noutputs:\n"
        "  C: {shape: [M], dtype: int8}\n";
    static const struct {
        const char *more, *args, *message, *hint;
    } cases[] = {
        {"parameters: {EPS: [1]}", "C", "'EPS' is taken", "a constant"},
        {"scratch: {EPS: 4}", "C", "'EPS' is taken", "their own"},
        {"order_dependent: false", "C, EPS", "'EPS' has no type", "EPS}"},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        const char *text, *source = "";
        struct ws__spec *s;
        char kernel[300];

        snprintf(kernel, sizeof(kernel),
                 "{kernel: k, source: k.c, %s, launches: [{entry: f, grid: M, "
                 "block: 1, args: [%s]}]}",
                 cases[i].more, cases[i].args);
        text = kernel;
        assert_int_equal(ws__spec_from_text(ctx, op, &text, &source, 1, &s),
                         WS_ESPEC);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, cases[i].message));
        assert_non_null(strstr(ws_ctx_error(ctx)->hint, cases[i].hint));
    }
}

/* What stores remember: an op without constants keeps its identity. */
static void hash_stays(void **state)
{
    struct ws__spec *s =
        from_op("op: x\naxes: {M: var}\noutputs:\n  C: {shape: "
                "[M*2], dtype: int8}\n");

    (void)state;
    assert_true(s->op->hash.lo == 0x3c2c21f425ef22efu &&
                s->op->hash.hi == 0x2bc1503eab32729fu);
    ws__spec_free(s);
}

#define SMALL_OP                                                               \
    "{op: x, axes: {M: var}, outputs: {C: {shape: [M], dtype: int8}}}"
#define SMALL_KERNEL                                                           \
    "{kernel: k, op: op.yaml, source: k.c, launches: [{entry: f, grid: M, "    \
    "block: 1, args: [C]}]}"

static void put(const char *dir, const char *name, const char *text)
{
    char path[200];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_non_null(f = fopen(path, "w"));
    fputs(text, f);
    fclose(f);
}

/* The folder and what the tests put into it. */
static void take_away(const char *dir)
{
    static const char *const names[] = {"op.yaml", "k.c", "k.yaml", "link.h"};
    char path[200];

    for (size_t i = 0; i < WS_COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0);
}

static void escapes_are_refused(void **state)
{
    char dir[] = "/tmp/ws_spec_XXXXXX", path[200];
    static const struct {
        const char *source, *message;
    } bad[] = {
        {"\n #  include \"/etc/passwd\"\n", "absolute"},
        {"#include \"../../../../../../../../etc/passwd\"\n", "outside"},
        {"#inc\\\nlude \"link.h\"\n", "outside"},
        {"/* */ # /* */ include \"link.h\"\n", "outside"},
        {"%:include \"link.h\"\n", "outside"},
        {"#include <../../../etc/passwd>\n", "no known header"},
        {"#define X \"a.h\"\n#include X\n", "macro"},
        {"#import \"k.c\"\n", "'#import'"},
        {"#if __has_include(\"/etc/passwd\")\n#endif\n", "other files"},
        {"char *s = R\"(\"\n", "raw string"},
        {"#include \"none.h\"\n", "not found"},
        {"#inc\\ \t\nlude \"link.h\"\n", "blank behind"},
        {"\xef\xbb\xbf#include \"link.h\"\n", "outside"},
        {"// x\r#include \"link.h\"\n", "carriage return"},
        {"int a = 1'0'/*';\n#include \"link.h\"\n", "digit separator"},
        {"#define X 1.'0 ' /* '\n#include \"link.h\"\n/* ' */\n",
         "digit separator"},
        {"#define X 0x1p\\\n-'0 ' /* '\n#include \"link.h\"\n/* ' */\n",
         "digit separator"},
        {"#define X 1.e'0 ' /* '\n#include \"link.h\"\n/* ' */\n",
         "digit separator"},
        {"int a = 1+'0';\n#include \"link.h\"\n", "outside"},
        {"// x ?\?/\n#include \"link.h\"\n", "trigraph"},
    };
    struct ws__spec *s;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/link.h", dir);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    put(dir, "op.yaml", SMALL_OP);
    put(dir, "k.yaml", SMALL_KERNEL);
    snprintf(path, sizeof(path), "%s/k.yaml", dir);
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        put(dir, "k.c", bad[i].source);
        assert_true(ws__spec_load(ctx, path, &opts, &s) < 0);
        if (!strstr(ws_ctx_error(ctx)->message, bad[i].message))
            fail_msg("case %zu: %s", i, ws_ctx_error(ctx)->message);
        assert_non_null(strstr(ws_ctx_error(ctx)->file, "k.c"));
        assert_true(ws_ctx_error(ctx)->line >= 1);
    }
    take_away(dir);
}

/* A missing header says where the shipped ones were looked for. */
static void missing_include(void **state)
{
    static const struct {
        const char *share, *hint;
    } cases[] = {
        {"tests/data/share", "then in 'tests/data/share/dialect'"},
        {"tests/data", "then in 'tests/data/dialect'"},
        {NULL, "no folder with the shipped headers was found"},
    };
    char dir[] = "/tmp/ws_spec_XXXXXX", path[200];
    struct ws__spec_opts o = {0};
    struct ws__spec *s;

    (void)state;
    assert_non_null(mkdtemp(dir));
    put(dir, "op.yaml", SMALL_OP);
    put(dir, "k.c", "\n#include \"no_such.h\"\n");
    put(dir, "k.yaml", SMALL_KERNEL);
    snprintf(path, sizeof(path), "%s/k.yaml", dir);
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        o.share_dir = cases[i].share;
        ctx->share_dir = o.share_dir ? NULL : ws__strdup(ctx, dir);
        assert_int_equal(ws__spec_load(ctx, path, &o, &s), WS_ENOENT);
        ws__free(ctx, ctx->share_dir);
        ctx->share_dir = NULL;
        assert_int_equal(ws_ctx_error(ctx)->line, 2);
        if (!strstr(ws_ctx_error(ctx)->hint, cases[i].hint))
            fail_msg("case %zu: %s", i, ws_ctx_error(ctx)->hint);
    }
    take_away(dir);
}

static void files_of_tuning_spaces(void **state)
{
    static const struct {
        const char *name;
        size_t nparam, nconstraint;
    } files[] = {
        {"convolution", 8, 3},       {"convolution_milo", 10, 4},
        {"dedispersion_milo", 8, 3}, {"gemm_milo", 17, 8},
        {"hotspot_milo", 10, 4},     {"pnpoly", 4, 0},
    };
    const char *data = getenv("WS_DATA");

    (void)state;
    data = data ? data : "../shared/data";
    for (size_t i = 0; i < WS_COUNT(files); i++) {
        char path[500];
        struct ws__spec *s;

        snprintf(path, sizeof(path), "%s/benchmark_hub/T1_%s.json", data,
                 files[i].name);
        if (access(path, R_OK))
            SKIP("no recordings at %s", path);
        s = load(path);
        assert_int_equal(s->kernel[0].nparam, files[i].nparam);
        assert_int_equal(s->kernel[0].nconstraint, files[i].nconstraint);
        ws__spec_free(s);
    }
}

static int load_and_print(struct ws_ctx *c, void *user)
{
    struct ws__spec *s;
    struct ws__spec *again;
    const char *texts;
    char *op, *kernel;
    int rc;

    WS_TRY(ws__spec_load(c, user, &opts, &s));
    rc = ws__spec_to_text(s, 0, &op, &kernel);
    if (rc >= 0) {
        texts = kernel;
        rc = ws__spec_from_text(c, op, &texts, NULL, 1, &again);
        ws__spec_free(again);
        ws__free(c, op);
        ws__free(c, kernel);
    }
    ws__spec_free(s);
    return rc;
}

static void torture(void **state)
{
    char folder[] = SPECS "gemm", kernel[] = SPECS "gemm/kernels/tiled.yaml",
         space[] = SPECS "t1.json";

    (void)state;
    assert_true(t_torture(load_and_print, folder) > 20);
    assert_true(t_torture(load_and_print, kernel) > 20);
    assert_true(t_torture(load_and_print, space) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(op_fields),
        cmocka_unit_test(workloads),
        cmocka_unit_test(kernels_of_a_folder),
        cmocka_unit_test(kernel_fields),
        cmocka_unit_test(source_is_resolved),
        cmocka_unit_test(t1),
        cmocka_unit_test(texts_round_trip),
        cmocka_unit_test(hash_is_meaning),
        cmocka_unit_test(constants),
        cmocka_unit_test(constants_keep_their_names),
        cmocka_unit_test(hash_stays),
        cmocka_unit_test(escapes_are_refused),
        cmocka_unit_test(missing_include),
        cmocka_unit_test(files_of_tuning_spaces),
        cmocka_unit_test(torture),
    };

    return cmocka_run_group_tests(tests, make_ctx, free_ctx);
}
