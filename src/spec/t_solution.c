/* t_solution.c: solutions of flashinfer-bench read, and the part of a source
 * that a device compiles. */
#include "base/t_base.h"

#include "spec/solution.h"

static struct ws_ctx *ctx;
static struct ws__arena arena;

static int setup(void **state)
{
    (void)state;
    ctx = ws_ctx_new(NULL);
    ws__arena_init(&arena, ctx);
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws__arena_free(&arena);
    ws_ctx_free(ctx);
    return 0;
}

#define SPEC "{\"language\": \"cuda\", \"entry_point\": \"a.cu::run\"}"
#define HEAD(spec)                                                             \
    "{\"name\": \"s\", \"definition\": \"d\", \"spec\": " spec ", "            \
    "\"sources\": "
#define FILE_(path) "{\"path\": \"" path "\", \"content\": \"int x;\"}"

static int read_text(const char *text, struct ws__solution *s)
{
    return ws__solution_read(ctx, &arena, text, strlen(text), "s.json", s);
}

static void t_reads(void **state)
{
    struct ws__solution s;

    (void)state;
    assert_int_equal(
        read_text(HEAD(SPEC) "[{\"path\": \"src/a.cu\", \"content\": "
                             "\"__global__ void f();\\n\"}, " FILE_(
                                 "b-1.h") "], \"author\": \"x\"}",
                  &s),
        0);
    assert_string_equal(s.name, "s");
    assert_string_equal(s.definition, "d");
    assert_string_equal(s.language, "cuda");
    assert_string_equal(s.entry, "a.cu::run");
    assert_int_equal(s.n, 2);
    assert_string_equal(s.file[0].path, "src/a.cu");
    assert_string_equal(s.file[0].text, "__global__ void f();\n");
    assert_true(s.file[0].device);
    assert_false(s.file[1].device);
}

static void t_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"[]", "no solution"},
        {"{\"name\": \"s\"}", "no solution"},
        {HEAD("{\"language\": \"perl\", \"entry_point\": \"x\"}") "[]}",
         "'perl'"},
        {HEAD("{\"language\": \"cuda\"}") "[]}", "entry_point"},
        {HEAD(SPEC) "[]}", "0 sources"},
        {HEAD(SPEC) "[" FILE_("a") ", " FILE_("a") "]}", "a second source"},
        {HEAD(SPEC) "[" FILE_("/etc/x") "]}", "no path"},
        {HEAD(SPEC) "[" FILE_("../x") "]}", "no path"},
        {HEAD(SPEC) "[" FILE_("a/../x") "]}", "no path"},
        {HEAD(SPEC) "[" FILE_("a//x") "]}", "no path"},
        {HEAD(SPEC) "[" FILE_("a/") "]}", "no path"},
        {HEAD(SPEC) "[" FILE_(".x") "]}", "no path"},
        {HEAD(SPEC) "[" FILE_("a b") "]}", "no path"},
        {HEAD(SPEC) "[" FILE_("") "]}", "path"},
        {HEAD(SPEC) "[{\"path\": \"a\"}]}", "content"},
    };
    struct ws__solution s;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        assert_int_equal(read_text(bad[i].text, &s), WS_ESPEC);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, bad[i].message));
    }
}

static const char source[] = "#include <cuda_runtime.h>\n"
                             "#include <cuda_fp16.h>\n"
                             "#include \"tvm/ffi/function.h\"\n"
                             "#define CHECK(x) do { x; } while (0)\n"
                             "namespace k {\n"
                             "__device__ float f(float v) { return v; } // "
                             "std::\n"
                             "struct pair { int a, b; };\n"
                             "}\n"
                             "extern \"C\" __global__ void g(float *y)\n"
                             "{\n"
                             "    y[0] = k::f(\"std::\"[0]);\n"
                             "}\n"
                             "void run(tvm::ffi::TensorView y)\n"
                             "{\n"
                             "    g<<<1, 1>>>((float *)y.data_ptr());\n"
                             "}\n"
                             "TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);\n"
                             "constexpr int N = 4;\n";

static void t_device_part(void **state)
{
    uint32_t lines, first;
    char *part = ws__device_part(&arena, source, &lines, &first);

    (void)state;
    assert_non_null(part);
    assert_string_equal(part, "\n"
                              "#include <cuda_fp16.h>\n"
                              "\n"
                              "#define CHECK(x) do { x; } while (0)\n"
                              "namespace k {\n"
                              "__device__ float f(float v) { return v; } // "
                              "std::\n"
                              "struct pair { int a, b; };\n"
                              "}\n"
                              "extern \"C\" __global__ void g(float *y)\n"
                              "{\n"
                              "    y[0] = k::f(\"std::\"[0]);\n"
                              "}\n"
                              "\n\n\n\n\n"
                              "constexpr int N = 4;\n");
    assert_int_equal(lines, 7);
    assert_int_equal(first, 1);
    /* What is all for a device stays as it is. */
    part =
        ws__device_part(&arena, "__global__ void f() {}  \n\n", &lines, &first);
    assert_string_equal(part, "__global__ void f() {}  \n\n");
    assert_int_equal(lines, 0);
    assert_int_equal(first, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(t_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(t_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(t_device_part, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
