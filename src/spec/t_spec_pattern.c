/*
 * t_spec_pattern.c: entries by name expression, and kernels that were compiled
 * before: what is accepted, what a config makes of it, what it is refused for.
 */
#include "base/t_base.h"

#include <unistd.h>

#include "base/fs.h"
#include "core/cubin.h"
#include "spec/spec.h"
#include "spec/t_elf.h"

static const char op[] =
    "{op: o, axes: {M: {range: [1, 100]}, D: 64, T: {types: [float32, "
    "float16]}}, outputs: {C: {shape: [M], dtype: T}}}";

static struct ws_ctx *ctx;
static struct ws__spec *spec;

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws__spec_free(spec);
    spec = NULL;
    ws_ctx_free(ctx);
    return 0;
}

/* A kernel with these keys and this entry, from texts. */
static int load(const char *keys, const char *entry)
{
    char text[1200];
    const char *kernel = text, *source = "int BM, BN, TY;";

    ws__spec_free(spec);
    spec = NULL;
    snprintf(
        text, sizeof(text),
        "{kernel: k, source: k.cu, %s parameters: {BM: [16, 32], BN: [8], "
        "TY: [float, half]}, launches: [{entry: \"%s\", grid: M, block: 1, "
        "args: [C]}]}",
        keys, entry);
    return ws__spec_from_text(ctx, op, &kernel, &source, 1, &spec);
}

static void refused(const char *keys, const char *entry, const char *words)
{
    assert_true(load(keys, entry) < 0);
    if (!strstr(ctx->err.message, words) && !strstr(ctx->err.hint, words))
        fail_msg("'%s' gives: %s; %s", entry, ctx->err.message, ctx->err.hint);
    assert_true(ctx->err.line > 0);
}

static const char *entry_of(const char *config, int64_t m, enum ws__dtype t)
{
    static struct ws__plan plan;
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};
    struct ws__config c;

    assert_int_equal(ws__config_parse(ctx, spec->kernel, config, &c), 0);
    vars[0].i = m;
    vars[1].i = 64;
    vars[2].i = t;
    ws__config_vars(spec->kernel, &c, vars);
    assert_int_equal(ws__plan_make(ctx, spec->kernel, vars, &plan), 0);
    return ws__plan_entry(&plan.launch[0]);
}

static void expressions(void **state)
{
    static const char cuda[] = "dialect: cuda, specialize: [M],";

    (void)state;
    assert_int_equal(load(cuda, "ns::mm<{BM}, {TY}, 2 * {BN}>"), 0);
    assert_string_equal(entry_of("BM=32,TY=half", 1, WS__DT_F32),
                        "ns::mm<32, half, 2 * 8>");
    assert_int_equal(load(cuda, "mm<{BM}, {T}, {D}, {M}>"), 0);
    assert_string_equal(entry_of("BM=16", 7, WS__DT_F16),
                        "mm<16, __half, 64, 7>");
    assert_int_equal(load(cuda, "mm<64, (3 > 2), float*>"), 0);
    assert_string_equal(entry_of("", 7, WS__DT_F16), "mm<64, (3 > 2), float*>");
    assert_true(ws__entry_is_expression("mm<64>"));
    assert_false(ws__entry_is_expression("mm_64"));
    /* A plain name stays one, in every dialect. */
    assert_int_equal(load(cuda, "mm"), 0);
    assert_false(spec->kernel[0].launch[0].pattern);

    refused(cuda, "mm<{BX}>", "did you mean '{BM}'");
    refused(cuda, "mm<{zzzzzzz}>", "is no parameter and no axis");
    refused("dialect: cuda,", "mm<{M}>", "specialize");
    refused(cuda, "mm<{BM>", "without its partner");
    refused(cuda, "mm<{BM}", "without its partner");
    refused(cuda, "mm<(>)", "without its partner");
    refused(cuda, "<{BM}>", "begins with no name");
    refused(cuda, "mm<{BM}>; x", "not allowed");
    refused(cuda, "mm<'a'>", "not allowed");
    refused("", "mm<{BM}>", "OpenCL C has no templates");
    refused("dialect: opencl,", "mm_{BM}", "OpenCL C has no templates");
}

/* The prologue leaves to templates what an entry names. */
static void prologue(void **state)
{
    struct ws__config c;
    struct ws__hash h1, h2;
    char *text;

    (void)state;
    assert_int_equal(load("dialect: cuda,", "mm<{BM}, {D}>"), 0);
    ws__config_default(spec->kernel, &c);
    assert_int_equal(ws__kernel_source(ctx, spec->kernel, &c, NULL, &text), 0);
    assert_null(strstr(text, "#define BM"));
    assert_non_null(strstr(text, "#define BN 8"));
    h1 = ws__candidate_hash(spec->kernel, &c, text);
    c.at[0] = 1;
    h2 = ws__candidate_hash(spec->kernel, &c, text);
    assert_false(ws__hash_eq(h1, h2));
    ws__free(ctx, text);
}

/* --- ready-made --------------------------------------------------------- */

static char dir[4096];

static void write_file(const char *name, const void *data, size_t n)
{
    char path[4200];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(ws__fs_write(ctx, path, data, n), 0);
}

static int load_dir(const char *dialect, const char *source, const char *entry)
{
    struct ws__spec_opts o = {.share_dir = "tests/data/share"};
    char text[1000], path[4200];

    snprintf(text, sizeof(text),
             "{kernel: k, op: ./o.yaml, dialect: %s, source: \"%s\", "
             "parameters: {BM: [16, 32], BN: [8, 4]}, launches: [{entry: "
             "\"%s\", grid: M * BM + BN, block: 1, args: [C]}]}",
             dialect, source, entry);
    write_file("o.yaml", op, strlen(op));
    write_file("k.yaml", text, strlen(text));
    snprintf(path, sizeof(path), "%s/k.yaml", dir);
    ws__spec_free(spec);
    spec = NULL;
    return ws__spec_load(ctx, path, &o, &spec);
}

static void told(int rc, const char *words)
{
    assert_true(rc < 0);
    if (!strstr(ctx->err.message, words) && !strstr(ctx->err.hint, words))
        fail_msg("%s; %s", ctx->err.message, ctx->err.hint);
}

static const char ptx16[] = ".version 8.0\n.target sm_90\n.visible .entry mm(\n"
                            ".param .u64 x\n)\n{ ret; } // 16\n";
static const char ptx32[] = ".version 8.0\n.target sm_90\n.entry mm ( ) { } ";

static int setup_dir(void **state)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(dir, sizeof(dir), "%s/ws-ready-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? setup(state) : -1;
}

static void ptx(void **state)
{
    struct ws__config c;
    struct ws__hash h;
    char *text;

    (void)state;
    write_file("a_16.ptx", ptx16, sizeof(ptx16) - 1);
    write_file("a_32.ptx", ptx32, sizeof(ptx32) - 1);
    assert_int_equal(load_dir("ptx", "a_{BM}.ptx", "mm"), 0);
    assert_int_equal(spec->kernel[0].nready, 2);
    h = spec->kernel[0].hash;
    assert_int_equal(ws__config_parse(ctx, spec->kernel, "BM=32", &c), 0);
    assert_int_equal(ws__kernel_source(ctx, spec->kernel, &c, NULL, &text), 0);
    assert_string_equal(text, ptx32);
    ws__free(ctx, text);
    /* Of two files one may be missing, but not the default's. */
    write_file("b_16.ptx", ptx16, sizeof(ptx16) - 1);
    assert_int_equal(load_dir("ptx", "b_{BM}.ptx", "mm"), 0);
    assert_int_equal(spec->kernel[0].nready, 1);
    assert_false(ws__hash_eq(h, spec->kernel[0].hash));
    assert_int_equal(ws__config_parse(ctx, spec->kernel, "BM=32", &c), 0);
    assert_int_equal(ws__kernel_source(ctx, spec->kernel, &c, NULL, &text), 0);
    assert_string_equal(text, "no file b_32.ptx\n");
    ws__free(ctx, text);
    write_file("c_32.ptx", ptx32, sizeof(ptx32) - 1);
    told(load_dir("ptx", "c_{BM}.ptx", "mm"), "'c_16.ptx' is not found");
    told(load_dir("ptx", "a_{BM}.ptx", "m"), "no kernel of that name");
    told(load_dir("ptx", "a_{BM}.ptx", "mm<3>"), "not allowed");
    told(load_dir("ptx", "a_{BX}.ptx", "mm"), "did you mean");
    told(load_dir("ptx, include: [i]", "a_{BM}.ptx", "mm"), "includes nothing");
    told(load_dir("ptx, options: [-fmad=true]", "a_{BM}.ptx", "mm"),
         "compiled before");
    told(load_dir("ptx", "a_{M}.ptx", "mm"), "not known when");
    told(load_dir("ptx", "../a_{BM}.ptx", "mm"), "");
    write_file("d.ptx",
               "\x7f"
               "ELF",
               4);
    told(load_dir("ptx", "d.ptx", "mm"), "it is no PTX");
}

static void cubins(void **state)
{
    struct ws__config c;
    const struct ws__source_file *f;
    unsigned char elf[T_ELF_BYTES];
    char name[WS__MAX_ENTRY], *text, *kernel = NULL, *op_text = NULL;

    (void)state;
    t_elf(elf, "mm");
    write_file("a_16.cubin", elf, sizeof(elf));
    assert_int_equal(load_dir("cubin", "a_{BM}.cubin", "mm"), 0);
    ws__config_default(spec->kernel, &c);
    assert_int_equal(ws__kernel_file(ctx, spec->kernel, &c, NULL, name, &f), 0);
    assert_string_equal(name, "a_16.cubin");
    assert_int_equal(f->bytes, sizeof(elf));
    assert_memory_equal(f->data, elf, sizeof(elf));
    assert_int_equal(ws__kernel_source(ctx, spec->kernel, &c, NULL, &text), 0);
    assert_ptr_equal(strstr(text, "cubin "), text);
    ws__free(ctx, text);
    assert_int_equal(ws__spec_to_text(spec, 0, &op_text, &kernel), 0);
    ws__free(ctx, op_text);
    ws__free(ctx, kernel);
    told(load_dir("cubin", "a_{BM}.cubin", "nn"), "no kernel of that name");
    told(load_dir("ptx", "a_{BM}.cubin", "mm"), "it is no PTX");
}

struct held {
    const void *data;
    size_t n;
};

static const void *find(void *user, size_t kernel, const char *name,
                        size_t *bytes)
{
    const struct held *h = user;

    if (kernel || strcmp(name, "a_16.ptx") != 0)
        return NULL;
    *bytes = h->n;
    return h->data;
}

/* As a pack carries them. */
static void from_parts(void **state)
{
    struct held h = {ptx16, sizeof(ptx16) - 1};
    struct ws__spec_files files = {find, &h};
    char *op_text = NULL, *kernel = NULL;
    struct ws__spec *again = NULL;

    (void)state;
    write_file("a_16.ptx", ptx16, sizeof(ptx16) - 1);
    assert_int_equal(load_dir("ptx", "a_{BM}.ptx", "mm"), 0);
    assert_int_equal(ws__spec_to_text(spec, 0, &op_text, &kernel), 0);
    assert_int_equal(ws__spec_from_parts(ctx, op_text,
                                         (const char *const *)&kernel, NULL, 1,
                                         &files, &again),
                     0);
    assert_true(ws__hash_eq(spec->kernel[0].hash, again->kernel[0].hash));
    ws__spec_free(again);
    told(ws__spec_from_text(ctx, op_text, (const char *const *)&kernel, NULL, 1,
                            &again),
         "is not found");
    ws__free(ctx, op_text);
    ws__free(ctx, kernel);
}

static int body(struct ws_ctx *c, void *user)
{
    static const char kernel[] =
        "{kernel: k, dialect: ptx, source: \"a_{BM}.ptx\", parameters: {BM: "
        "[16, 32]}, launches: [{entry: mm, grid: M, block: 1, args: [C]}]}";
    const char *text = kernel;
    struct held h = {ptx16, sizeof(ptx16) - 1};
    struct ws__spec_files files = {find, &h};
    struct ws__spec *s = NULL;
    int rc = ws__spec_from_parts(c, op, &text, NULL, 1, &files, &s);

    (void)user;
    ws__spec_free(s);
    return rc;
}

static void torture(void **state)
{
    (void)state;
    assert_true(t_torture(body, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(expressions, setup, teardown),
        cmocka_unit_test_setup_teardown(prologue, setup, teardown),
        cmocka_unit_test_setup_teardown(ptx, setup_dir, teardown),
        cmocka_unit_test_setup_teardown(cubins, setup_dir, teardown),
        cmocka_unit_test_setup_teardown(from_parts, setup_dir, teardown),
        cmocka_unit_test(torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
