/* t_host.c: what of a CUDA source is for the host, and what its launches say.
 */
#include "base/t_base.h"

#include "spec/host.h"

static struct ws_ctx *ctx;
static struct ws__arena arena;
static struct ws__host host;

static void read_it(const char *text)
{
    assert_int_equal(ws__host_read(ctx, &arena, text, &host), 0);
}

/* Lines keep their numbers. */
static void device_is(const char *text, const char *device)
{
    read_it(text);
    if (!host.device || strcmp(host.device, device) != 0)
        print_error("%s\n-- gives --\n%s\n", text,
                    host.device ? host.device : "(all of it)");
    assert_non_null(host.device);
    assert_string_equal(host.device, device);
}

#define KERNEL "__global__ void k(float *x) { x[0] = 1; }\n"
#define MAIN "int main() { k<<<1, 1>>>(0); }\n"

static void what_goes(void **state)
{
    (void)state;
    device_is(KERNEL MAIN, KERNEL "\n");
    device_is("#include <stdio.h>\n#include <vector>\n#include <cuda_fp16.h>\n"
              "#include \"own.h\"\n" KERNEL MAIN,
              "\n\n#include <cuda_fp16.h>\n#include \"own.h\"\n" KERNEL "\n");
    /* Strings, comments and directives have brackets that are none. */
    device_is("void f() { g(\"}\"); /* } */ h('}'); // }\n}\n"
              "void r() { s(R\"x(}\")x\"); }\n"
              "void i()\n{\n#if A /* { */\n}\n" KERNEL MAIN,
              "\n\n\n\n\n\n\n" KERNEL "\n");
    device_is("template <int N = (3 > 2), class T>\nvoid f(T t) { }\n"
              "template <int N = 4>\n__global__ void g(int *x) { }\n" MAIN,
              "\n\ntemplate <int N = 4>\n__global__ void g(int *x) { }\n\n");
    device_is("static float *d;\nconst int N = 4;\nint table[] = {1, 2};\n"
              "__constant__ int c[] = {1};\nconstexpr int two() { return 2; }\n"
              "void f(int);\n__global__ void k(float *);\n" MAIN,
              "\nconst int N = 4;\n\n__constant__ int c[] = {1};\n"
              "constexpr int two() { return 2; }\n\n"
              "__global__ void k(float *);\n\n");
    device_is("using namespace std;\nusing namespace nvcuda;\n"
              "struct S { std::vector<int> v; };\nstruct T { int i; };\n"
              "struct __align__(8) P { int i, j; };\n"
              "__device__ bool operator==(T a, T b) { return a.i == b.i; }\n"
              "bool operator<(T a, T b) { return a.i < b.i; }\n"
              "namespace a { namespace {\nvoid f() { }\n" KERNEL "} }\n"
              "extern \"C\" {\nvoid c() { }\n}\n" MAIN,
              "\nusing namespace nvcuda;\n\nstruct T { int i; };\n"
              "struct __align__(8) P { int i, j; };\n"
              "__device__ bool operator==(T a, T b) { return a.i == b.i; }\n\n"
              "namespace a { namespace {\n\n" KERNEL "} }\n"
              "extern \"C\" {\n\n}\n\n");
    device_is("#define MAKE(T) __global__ void k##T(T *x) { }\nMAKE(int)\n"
              "MAKE(float)\nint main() { kint<<<1, 1>>>(0); }\n",
              "#define MAKE(T) __global__ void k##T(T *x) { }\nMAKE(int)\n"
              "MAKE(float)\n\n");
    assert_int_equal(host.nfunction, 1);
}

/* Nothing is taken out where nothing is the host's, or what is cannot be told.
 */
static void what_stays(void **state)
{
    (void)state;
    read_it(KERNEL);
    assert_null(host.device);
    read_it("inline int half(int n) { return n / 2; }\n" KERNEL);
    assert_null(host.device);
    read_it(KERNEL "int main() { if (a) { k<<<1, 1>>>(0); }\n");
    assert_null(host.device);
    assert_non_null(host.why);
}

/* The text of `which` (0: grid, 1: block) of the first launch, "a, b, c"; or
 * why there is none. */
static void sizes_are(const char *before, const char *body, int which,
                      const char *want)
{
    struct ws__host_value v[3];
    char text[2000], got[500];
    const char *why;
    int rc;

    snprintf(text, sizeof(text),
             "__global__ void k(float *x, int n, int m) { x[n] = m; }\n%s"
             "void run(float *x, int n, int m)\n{\n%s\n}\n",
             before, body);
    read_it(text);
    assert_int_equal(host.nlaunch, 1);
    assert_string_equal(host.launch[0].kernel, "k");
    rc = ws__host_sizes(ctx, &arena, &host, &host.launch[0],
                        host.launch[0].config[which], v, &why);
    assert_true(rc >= 0);
    if (rc)
        snprintf(got, sizeof(got), "%s, %s, %s", v[0].text, v[1].text,
                 v[2].text);
    assert_string_equal(rc ? got : why, want);
}

static void launches(void **state)
{
    const char *plain = "k<<<(n + 127) / 128, 2 * 64u, 16>>>(x, n, m);";

    (void)state;
    sizes_are("", plain, 0, "ceil_div($1, 128), 1, 1");
    sizes_are("", plain, 1, "128, 1, 1");
    assert_string_equal(host.launch[0].config[2], "16");
    assert_int_equal(host.launch[0].line, 4);
    assert_int_equal(host.launch[0].narg, 3);
    sizes_are("#define T 16\n#define UP(a, b) (((a) + (b) - 1) / (b))\n",
              "dim3 b(T, T), g(UP(n, T), UP(m, b.y));\n"
              "k<<<g, b>>>(x, n, m);",
              0, "ceil_div($1, 16), ceil_div($2, 16), 1");
    sizes_are("int up(int a, int b) { return (a + b - 1) / b; }\n"
              "constexpr int threads = 96;\n",
              "const size_t g = up(n * m, threads);\n"
              "k<<<(unsigned int)g, dim3(threads)>>>(x, (int)n, m);",
              0, "ceil_div(($1 * $2), 96), 1, 1");
    /* A name that a build may define is a parameter. */
    sizes_are("#ifndef TILE\n#define TILE 16\n#endif\n",
              "k<<<n / TILE, TILE>>>(x, n, m);", 0, "($1 // TILE), 1, 1");
}

static void what_is_not_known(void **state)
{
    (void)state;
    sizes_are("", "int t = 64; if (n > 9) t = 128;\nk<<<n, t>>>(x, n, m);", 1,
              "what 't' is there is not known");
    sizes_are("", "dim3 b(64); b.x = m;\nk<<<n, b>>>(x, n, m);", 1,
              "what 'b' is there is not known");
    sizes_are("", "int t; get(&t);\nk<<<n, t>>>(x, n, m);", 1,
              "what 't' is there is not known");
    sizes_are("", "n *= 2;\nk<<<n, 1>>>(x, n, m);", 0, "'n' changes");
    sizes_are("", "k<<<n > 9 ? n : 9, 1>>>(x, n, m);", 0, "'> 9 ? n : 9'");
    sizes_are("", "k<<<blocks(n), 1>>>(x, n, m);", 0,
              "what 'blocks' does is not known");
    sizes_are("", "k<<<n / 0, 1>>>(x, n, m);", 0, "a division by nothing");
    sizes_are("#define A B\n#define B A\n", "k<<<A, 1>>>(x, n, m);", 0,
              "it goes round");
}

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    if (ctx)
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_goes),
                                       cmocka_unit_test(what_stays),
                                       cmocka_unit_test(launches),
                                       cmocka_unit_test(what_is_not_known)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
