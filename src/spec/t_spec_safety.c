/*
 * t_spec_safety.c: what a specification cannot reach. Sources, include
 * folders and workload files lie inside of the folder of the file that names
 * them, links followed; build options come from a list; a source includes
 * nothing that its text does not hold, and values of parameters are macros of
 * one line. What comes as texts, as in a pack, names no files at all.
 * (Includes in quotes: t_spec.c; references: t_spec_reference.c.)
 */
#include "base/t_base.h"

#include <sys/stat.h>
#include <unistd.h>

#include "spec/parts.h"
#include "spec/spec.h"

#define OP "op: x\naxes: {M: var}\noutputs: {C: {shape: [M], dtype: int8}}\n"
#define LAUNCH "launches: [{entry: f, grid: M, block: 1, args: [C]}]\n"

static struct ws_ctx *ctx;
static char dir[] = "/tmp/ws_safe_XXXXXX";

static const char *at(const char *name)
{
    static char path[8][300];
    static unsigned next;
    char *p = path[next++ % 8];

    snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
    return p;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(at(name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void refused(const char *what, const char *words)
{
    struct ws__spec *s = NULL;
    int rc = ws__spec_load(ctx, at("in/op.yaml"), NULL, &s);

    if (rc >= 0) {
        ws__spec_free(s);
        rc = ws__spec_load(ctx, at("in/k.yaml"), NULL, &s);
    }
    if (rc >= 0)
        fail_msg("%s: loaded", what);
    if (!strstr(ws_ctx_error(ctx)->message, words))
        fail_msg("%s: %s", what, ws_ctx_error(ctx)->message);
    assert_true(ws_ctx_error(ctx)->line > 0);
}

static void kernel_with(const char *source, const char *more)
{
    char text[600];

    snprintf(text, sizeof(text),
             "kernel: k\nop: op.yaml\nsource: %s\n" LAUNCH "%s\n", source,
             more);
    put("in/k.yaml", text);
}

static void files_stay_inside(void **state)
{
    static const char *const ways[] = {"../out.c", "link.c", "linked/out.c",
                                       "sub/../../out.c"};

    (void)state;
    put("in/op.yaml", OP);
    for (size_t i = 0; i < WS_COUNT(ways); i++) {
        kernel_with(ways[i], "");
        refused(ways[i], "outside of");
    }
    kernel_with(at("out.c"), "");
    refused("absolute", "outside of");
}

static void include_folders_stay_inside(void **state)
{
    static const char *const ways[] = {"..", "linked", "sub/../.."};

    (void)state;
    put("in/op.yaml", OP);
    for (size_t i = 0; i < WS_COUNT(ways); i++) {
        char more[300];

        snprintf(more, sizeof(more), "include: [%s]", ways[i]);
        kernel_with("k.c", more);
        refused(ways[i], "outside of");
    }
    kernel_with("k.c", "include: [/etc]");
    refused("absolute", "outside of");
}

static void workload_files_stay_inside(void **state)
{
    static const char *const ways[] = {"../out.yaml", "link.yaml",
                                       "linked/out.yaml", "/etc/passwd"};

    (void)state;
    kernel_with("k.c", "");
    for (size_t i = 0; i < WS_COUNT(ways); i++) {
        char text[400];

        snprintf(text, sizeof(text), OP "workloads: %s\n", ways[i]);
        put("in/op.yaml", text);
        refused(ways[i], "outside of");
    }
}

static void options_come_from_the_list(void **state)
{
    static const char *const bad[] = {
        "-DX=1",
        "-I/etc",
        "-include /etc/passwd",
        "-cl-std=CL9",
        "--pre-include=x",
        "-x spir",
        "-L.",
        "-o /tmp/out",
        "@/etc/passwd",
        "-fmad=maybe",
        "--maxrregcount=",
        "--maxrregcount=12345",
        "-cl-mad-enable -I/etc",
        "--maxrregcount=3 -I/etc",
        "\"\"",
    };
    static const char *const right[] = {"-cl-mad-enable", "--use_fast_math",
                                        "--maxrregcount=64"};
    struct ws__spec *s;

    (void)state;
    put("in/op.yaml", OP);
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        char more[200];

        snprintf(more, sizeof(more), "options: [%s%s%s]",
                 bad[i][0] == '"' ? "" : "\"", bad[i],
                 bad[i][0] == '"' ? "" : "\"");
        kernel_with("k.c", more);
        refused(bad[i], "is not allowed");
    }
    for (size_t i = 0; i < WS_COUNT(right); i++) {
        char more[200];

        snprintf(more, sizeof(more), "options: [%s]", right[i]);
        kernel_with("k.c", more);
        assert_int_equal(ws__spec_load(ctx, at("in/k.yaml"), NULL, &s), 0);
        ws__spec_free(s);
    }
}

#define ANY 3 /* all dialects */

static const struct {
    int dialect;
    const char *source, *message; /* NULL: loads */
} sources[] = {
    /* brackets */
    {WS__DIALECT_OPENCL, "#include <k.h>\n", "in OpenCL C"},
    {WS__DIALECT_OPENCL, "#include <stdint.h>\n", "in OpenCL C"},
    {WS__DIALECT_OPENCL, "%:include <k.h>\n", "in OpenCL C"},
    {WS__DIALECT_OPENCL, "#inc\\\nlude <k.h>\n", "in OpenCL C"},
    {WS__DIALECT_OPENCL, "#/**/include/*\n*/<k.h>\n", "in OpenCL C"},
    {WS__DIALECT_OPENCL, "%\\\n:include <k.h>\n", "in OpenCL C"},
    {WS__DIALECT_PORTABLE, "#include <k.h>\n", "no known header"},
    {WS__DIALECT_PORTABLE, "#include <./k.h>\n", "no known header"},
    {WS__DIALECT_CUDA, "#include <k.h>\n", "no known header"},
    {WS__DIALECT_CUDA, "#include <cuda/../k.h>\n", "no known header"},
    {WS__DIALECT_CUDA, "#include <cuda//k.h>\n", "no known header"},
    {WS__DIALECT_CUDA, "#include <cub/.h>\n", "no known header"},
    {WS__DIALECT_CUDA, "#include <cub/>\n", "no known header"},
    {WS__DIALECT_CUDA, "#include <thrust/fill.h>\n", "no known header"},
    {WS__DIALECT_CUDA, "#include <mma.h\n", "no known header"},
    {WS__DIALECT_CUDA, "#include <m\\\nma.hh>\n", "no known header"},
    {WS__DIALECT_CUDA, "#include < mma.h>\n", "no known header"},
    {WS__DIALECT_CUDA, "#include <mma.h>\n", NULL},
    {WS__DIALECT_CUDA, "%:inc\\\nlude <m\\\nma.h>\n", NULL},
    {WS__DIALECT_CUDA, "#include <cuda/std/cstdint>\n", NULL},
    {WS__DIALECT_CUDA, "#include <cooperative_groups/reduce.h>\n", NULL},
    {WS__DIALECT_PORTABLE, "#if WS_CUDA\n#include <cuda_fp16.h>\n#endif\n",
     NULL},
    /* lines as compilers see them */
    {ANY, "\xe2\x80\x83#include \"/etc/passwd\"\n", "beyond ASCII"},
    {ANY, "\xc2\xa0#include \"/etc/passwd\"\n", "beyond ASCII"},
    {ANY, "\xe3\x80\x80#include \"/etc/passwd\"\n", "beyond ASCII"},
    {ANY, "\xc2\x85#include \"/etc/passwd\"\n", "beyond ASCII"},
    {ANY, "#\xc2\xa0include \"/etc/passwd\"\n", "beyond ASCII"},
    {ANY, "#pragma\xc2\xa0once\n", "beyond ASCII"},
    {ANY, "\x1a#include \"/etc/passwd\"\n", "of control"},
    {ANY, "// \xc3\xa4 \xe2\x80\x83\n/* \xc3\xa4 */ \"\xc3\xa4\" '\xc3\xa4'\n",
     NULL},
    {ANY, "#warning /*\n#include \"/etc/passwd\"\n// */\n", "line of words"},
    {ANY, "#error /\\\n*\n#include \"/etc/passwd\"\n", "line of words"},
    {ANY, "%:pragma mark /*\n#include \"/etc/passwd\"\n", "line of words"},
    {ANY, "#ifdef NO\nit's /* \n#endif\n", "quote without an end"},
    {ANY, "#ifdef NO\n#error it's\n#endif\n", NULL},
    {ANY, "#error no such type // yet\n", NULL},
    {ANY, "// x \\ \n#include \"/etc/passwd\"\n", "blank behind"},
    {ANY, "#define X \\\r\n 1\n", NULL},
    /* asking for files without reading them */
    {ANY, "#pragma GCC dependency \"/etc/passwd\"\n", "pragma on other"},
    {ANY, "%:pra\\\ngma GCC/**/dep\\\nendency \"x\"\n", "pragma on other"},
    {ANY, "#pragma include_alias(\"a\", \"/b\")\n", "pragma on other"},
    {ANY, "#define P(x) _Pragma(#x)\nP(GCC dependency \"x\")\n",
     "pragma on other"},
    {ANY, "_Pragma(\"GCC dependency \\\"/etc/passwd\\\"\")\n",
     "pragma on other"},
    {ANY, "_Pragma ( L\"GCC/*\\\")*/ dependency x\")\n", "pragma on other"},
    {ANY, "_Pragma(\"unroll 4\")\nint dependency;\n", NULL},
    {ANY, "#pragma unroll\n#pragma GCC diagnostic push\n", NULL},
    {ANY, "#define P(a, b) a##b\n#if P(__has_,include)(\"x\")\n#endif\n",
     "other files"},
    {ANY, "#define P(a, b) a##b\n#if P(__,has_include)(\"x\")\n#endif\n",
     "other files"},
    {ANY, "#if __has_include_next(\"x\")\n#endif\n", "other files"},
    {ANY, "#if __has_embed(\"x\")\n#endif\n", "other files"},
    {ANY, "#if __has_builtin(x)\n#endif\n", NULL},
    {ANY, "#__include_macros \"x\"\n", "is not supported"},
    /* assembly */
    {WS__DIALECT_OPENCL, "__asm__(\".incbin \\\"/etc/passwd\\\"\");\n",
     "assembly in a source"},
    {WS__DIALECT_PORTABLE, "void f(void) { __asm volatile(\"nop\"); }\n",
     "assembly in a source"},
    {WS__DIALECT_OPENCL, "as\\\nm(\"nop\");\n", "assembly in a source"},
    {WS__DIALECT_OPENCL, "#define A asm\nA(\"nop\");\n",
     "assembly in a source"},
    {WS__DIALECT_OPENCL, "#undef __asm__\n", "assembly in a source"},
    {WS__DIALECT_OPENCL, "int asma, my_asm; /* asm */\n", NULL},
    {WS__DIALECT_CUDA, "void f(void) { asm volatile(\"trap;\"); }\n", NULL},
};

static const char *const dialect_names[] = {"portable", "opencl", "cuda"};

static void load_source_as(size_t i, int dialect)
{
    struct ws__spec *s = NULL;
    char more[40];
    int rc;

    snprintf(more, sizeof(more), "dialect: %s", dialect_names[dialect]);
    kernel_with("s.c", more);
    put("in/s.c", sources[i].source);
    rc = ws__spec_load(ctx, at("in/k.yaml"), NULL, &s);
    ws__spec_free(s);
    if (!sources[i].message) {
        if (rc < 0)
            fail_msg("source %zu: %s", i, ws_ctx_error(ctx)->message);
        return;
    }
    if (rc != WS_ESPEC)
        fail_msg("source %zu as %s: %d", i, dialect_names[dialect], rc);
    if (!strstr(ws_ctx_error(ctx)->message, sources[i].message))
        fail_msg("source %zu: %s", i, ws_ctx_error(ctx)->message);
    assert_non_null(strstr(ws_ctx_error(ctx)->file, "s.c"));
    assert_true(ws_ctx_error(ctx)->line > 0 && *ws_ctx_error(ctx)->hint);
}

static void sources_hold_all(void **state)
{
    (void)state;
    put("in/op.yaml", OP);
    for (size_t i = 0; i < WS_COUNT(sources); i++)
        for (int d = 0; d < 3; d++)
            if (sources[i].dialect == d || sources[i].dialect == ANY)
                load_source_as(i, d);
}

static void values_are_macros(void **state)
{
    static const char *const bad[] = {
        "\"1\\n#include </etc/passwd>\"",
        "\"1\\r\"",
        "\"1\\t\"",
        "'1\\'",
        "'1 // x'",
        "'1 /* x'",
        "'#x'",
        "'%:x'",
        "'\"a\\\"b\"'",
        "'\"a\"'",
        "\"'\"",
        "'a ?\?/'",
        "\"a\\x7f\"",
        "'\xc2\xa0'",
        "'__has_include(<x>)'",
    };
    struct ws__spec *s;
    char more[200];

    (void)state;
    put("in/op.yaml", OP);
    put("in/k.c", "// P\n");
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        snprintf(more, sizeof(more), "parameters:\n  P:\n  - a\n  - %s\n",
                 bad[i]);
        kernel_with("k.c", more);
        refused(bad[i], "value 2 of parameter 'P' cannot be a macro");
        assert_int_equal(ws_ctx_error(ctx)->line, 8);
        assert_non_null(strstr(ws_ctx_error(ctx)->hint, "half2"));
    }
    kernel_with("k.c", "parameters: {P: [half2, unsigned int, (x + 1) * 2, "
                       "'float4*', a / b, a % b, '', 'f<1>(2, 3)']}");
    if (ws__spec_load(ctx, at("in/k.yaml"), NULL, &s) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    ws__spec_free(s);
}

static void values_of_foreign_spaces(void **state)
{
    struct ws__spec *s;

    (void)state;
    put("in/k.yaml",
        "{\"ConfigurationSpace\": {\"TuningParameters\": [\n{\"Name\": \"P\","
        "\n\"Values\": [\"a\",\n\"b\\n#define Q 1\"]}]}}\n");
    assert_int_equal(ws__spec_load(ctx, at("in/k.yaml"), NULL, &s), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "cannot be a macro"));
    assert_int_equal(ws_ctx_error(ctx)->line, 4);
}

/* ---- texts without files ------------------------------------------------ */

#define TEXT_KERNEL                                                            \
    "{kernel: k, source: k.c, dialect: opencl, launches: [{entry: f, grid: "   \
    "M, block: 1, args: [C]}]}"

static void texts_include_nothing(void **state)
{
    static const struct {
        const char *source, *message;
    } bad[] = {
        {"\n#include \"/etc/passwd\"\n", "comes without files"},
        {"\n#include \"k.c\"\n", "comes without files"},
        {"\n#include \"ws_dialect.h\"\n", "comes without files"},
        {"\n#include <k.h>\n", "in OpenCL C"},
        {"\n\xc2\xa0#include \"/etc/passwd\"\n", "beyond ASCII"},
    };
    const char *const kernel = TEXT_KERNEL, *source = "// good\n";
    struct ws__spec *s;

    (void)state;
    assert_int_equal(ws__spec_from_text(ctx, OP, &kernel, &source, 1, &s), 0);
    assert_string_equal(s->kernel[0].source, source);
    ws__spec_free(s);
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        source = bad[i].source;
        if (ws__spec_from_text(ctx, OP, &kernel, &source, 1, &s) != WS_ESPEC ||
            !strstr(ws_ctx_error(ctx)->message, bad[i].message))
            fail_msg("%s: %s", source, ws_ctx_error(ctx)->message);
        assert_string_equal(ws_ctx_error(ctx)->file, "kernel:0");
        assert_int_equal(ws_ctx_error(ctx)->line, 2);
    }
}

/* The trusted kernel of a pack stands in the op itself. */
static void trusted_texts_include_nothing(void **state)
{
    static const char *const op =
        OP "reference: {kernel: {kernel: n, source: n.c, launches: [{entry: "
           "f, grid: [M], block: [1], args: [C]}]}, text: "
           "\"#include \\\"Makefile\\\"\\n\"}\n";
    const char *const kernel = TEXT_KERNEL, *source = "// good\n";
    struct ws__spec *s;

    (void)state;
    assert_int_equal(access("Makefile", R_OK), 0);
    assert_int_equal(ws__spec_from_text(ctx, op, &kernel, &source, 1, &s),
                     WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "comes without files"));
}

static void texts_read_no_inputs(void **state)
{
    struct ws__arena arena;
    struct ws__load l = {.ctx = ctx, .arena = &arena};
    struct ws__node n = {.loc = {"op", 3, 5}, .text = "op.yaml"};
    struct ws__input x = {0};

    (void)state;
    put("in/op.yaml", OP);
    ws__arena_init(&arena, ctx);
    assert_int_equal(ws__load_input_file(&l, &n, at("in"), n.text, "A", &x), 0);
    l.no_files = true;
    assert_int_equal(ws__load_input_file(&l, &n, at("in"), n.text, "A", &x),
                     WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "is a file"));
    assert_int_equal(ws_ctx_error(ctx)->line, 3);
    ws__arena_free(&arena);
}

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    if (!mkdtemp(dir) || mkdir(at("in"), 0755) || mkdir(at("in/sub"), 0755) ||
        symlink("../out.c", at("in/link.c")) ||
        symlink("../out.yaml", at("in/link.yaml")) ||
        symlink("..", at("in/linked")))
        return -1;
    put("out.c", "// outside\n");
    put("out.yaml", "- {M: 1}\n");
    put("in/k.c", "// inside\n");
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"in/link.c",  "in/link.yaml",
                                        "in/linked",  "in/k.c",
                                        "in/s.c",     "in/k.yaml",
                                        "in/op.yaml", "out.c",
                                        "out.yaml"};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(names); i++)
        unlink(at(names[i]));
    rmdir(at("in/sub"));
    rmdir(at("in"));
    ws_ctx_free(ctx);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_stay_inside),
        cmocka_unit_test(include_folders_stay_inside),
        cmocka_unit_test(workload_files_stay_inside),
        cmocka_unit_test(options_come_from_the_list),
        cmocka_unit_test(sources_hold_all),
        cmocka_unit_test(values_are_macros),
        cmocka_unit_test(values_of_foreign_spaces),
        cmocka_unit_test(texts_include_nothing),
        cmocka_unit_test(trusted_texts_include_nothing),
        cmocka_unit_test(texts_read_no_inputs),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
