/* t_signature.c: what the signature reader says of sources, good and bad. */
#include "base/t_base.h"

#include "spec/signature.h"

static struct ws_ctx *ctx;
static struct ws__arena arena;
static struct ws__signature sig;

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
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

static void take(const char *text)
{
    ws__arena_free(&arena);
    assert_int_equal(ws__signature_read(ctx, &arena, text, NULL, &sig), 0);
}

/* The arguments of entry e in short: "in x float32, ...". */
static const char *args(size_t e)
{
    static char out[2000];
    static const char *const kinds[] = {"?", "", "shared ", "scalar "};

    *out = '\0';
    assert_true(e < sig.nentry);
    for (size_t i = 0; i < sig.entry[e].narg; i++) {
        const struct ws__sig_arg *a = &sig.entry[e].arg[i];
        size_t n = strlen(out);

        snprintf(out + n, sizeof(out) - n, "%s%s%s%s %s%s", i ? ", " : "",
                 kinds[a->kind],
                 a->kind == WS__SIG_POINTER ? (a->constant ? "in " : "out ")
                                            : "",
                 a->name ? a->name : "-",
                 a->dtype ? ws__dtype_name(a->dtype) : a->trouble,
                 a->is_unsigned ? "!" : "");
        n = strlen(out);
        if (a->width > 1)
            snprintf(out + n, sizeof(out) - n, "x%u", a->width);
    }
    return out;
}

static const char *macros(void)
{
    static char out[2000];

    *out = '\0';
    for (size_t i = 0; i < sig.nmacro; i++) {
        size_t n = strlen(out);
        const struct ws__sig_macro *m = &sig.macro[i];

        snprintf(out + n, sizeof(out) - n, "%s%s%s%s%s", i ? " " : "", m->name,
                 m->value ? "=" : "", m->value ? m->value : "",
                 m->by_ifdef ? "?" : "");
    }
    return out;
}

static void one(const char *text, const char *want)
{
    take(text);
    assert_int_equal(sig.nentry, 1);
    assert_string_equal(args(0), want);
}

static void parameters(void **state)
{
    (void)state;
    one("__kernel void f(__global const float *A, __global float *restrict C,"
        "int n, float alpha) {}",
        "in A float32, out C float32, scalar n int32, scalar alpha float32");
    one("kernel void f(global const half* x, local float *s, uint n) {}",
        "in x float16, shared s float32, scalar n int32!");
    one("extern \"C\" __global__ void __launch_bounds__(256, 2)\n"
        "f(const __half *__restrict__ a, __nv_bfloat16 *b, unsigned long long "
        "n, const unsigned char u) {}",
        "in a float16, out b bfloat16, scalar n int64!, scalar u uint8");
    assert_string_equal(sig.entry[0].bounds, "256, 2");
    one("__global__ void f(float4 const *a, const float2 *b, int3 c) {}",
        "in a float32x4, in b float32x2, scalar c int32x3");
    one("__global__ void f(float *const p, volatile int q[], const int r[4]) "
        "{}",
        "out p float32, out q int32, in r int32");
    one("__global__ void f(void) {}", "");
    one("__global__ void f() {}", "");
    one("__global__ void f(float *, const int) {}",
        "out - float32, scalar - int32");
    one("__global__ void f(std::size_t n, std::int32_t m) {}",
        "scalar n int64!, scalar m int32");
    one("__global__ void f(__grid_constant__ const int n, long m = 4, bool b) "
        "{}",
        "scalar n int32, scalar m int64, scalar b bool");
    one("__kernel void f(__constant float *lut, long n, double d) {}",
        "in lut float32, scalar n int64, scalar d float64");
    one("__kernel __attribute__((reqd_work_group_size(16, 8, 1))) void f(int "
        "n) {}",
        "scalar n int32");
    assert_int_equal(sig.entry[0].block[0], 16);
    assert_int_equal(sig.entry[0].block[1], 8);
    one("WS_KERNEL_BLOCK(NX, NY, 1)\nvoid f(WS_GLOBAL const ws_bf16 "
        "*WS_RESTRICT A, int M) {}",
        "in A bfloat16, scalar M int32");
    assert_int_equal(sig.entry[0].block[0], 0);
    assert_string_equal(sig.entry[0].block_text[1], "NY");
    assert_string_equal(sig.entry[0].block_text[2], "1");
    one("__kernel __attribute__((reqd_work_group_size(X * 2, 1, 1))) void "
        "f(int n) {}",
        "scalar n int32");
    assert_null(sig.entry[0].block_text[0]);
}

static void troubles(void **state)
{
    (void)state;
    one("__global__ void f(Foo x, struct bar *y, float **z, int &r) {}",
        "?x its type 'Foo x' is not known, out y its type 'struct bar *y' is "
        "not known, ?z it is a pointer to pointers, ?r it is a reference");
    one("__global__ void f(void (*fn)(int, float), float *x) {}",
        "?- it is a pointer to a function, or a macro with arguments, "
        "out x float32");
    one("__global__ void f(float (*t)[4], pair<int, float> p, int n) {}",
        "?- it is a pointer to a function, or a macro with arguments, "
        "?p its type 'pair<int, float> p' is not known, scalar n int32");
    one("__global__ void f(image2d_t img, __read_only int x) {}",
        "?img its type 'image2d_t img' is not known, "
        "?x its type '__read_only int x' is not known");
}

static void aliases(void **state)
{
    (void)state;
    one("#define GLOBAL __global\n#define REAL float\ntypedef unsigned int "
        "u32;\ntypedef REAL real;\n__kernel void f(GLOBAL const real *x, u32 "
        "n) {}",
        "in x float32, scalar n int32!");
    one("#if A\n#define REAL float\n#else\n#define REAL double\n#endif\n"
        "__kernel void f(__global REAL *x) {}",
        "out x its type '__global REAL *x' is not known");
    one("#define A B\n#define B A\n__kernel void f(__global A *x) {}",
        "out x its type '__global A *x' is not known");
}

static void functions(void **state)
{
    (void)state;
    take("__kernel void a(int n);\n__kernel void b(int m) { }\n"
         "__kernel void a(int n) { b(n); }\n"
         "#if X\n__kernel void b(float m) {\n#else\n{\n#endif\n}\n");
    assert_int_equal(sig.nentry, 2);
    assert_string_equal(sig.entry[0].name, "a");
    assert_true(sig.entry[0].defined);
    assert_int_equal(sig.entry[0].line, 3);
    assert_int_equal(sig.nnote, 1);
    assert_non_null(strstr(sig.note[0], "'b' is there twice"));
    one("__global__ void BOUNDS(256) f(int n) {}", "scalar n int32");
    assert_string_equal(sig.entry[0].name, "f");
    one("[[nodiscard]] __global__ void f(int n) __attribute__((used)) {}",
        "scalar n int32");
    take("#define MAKE(T) \\\n  __kernel void f_##T(__global T *x) \\\n { }\n"
         "MAKE(float) MAKE(int)\n");
    assert_int_equal(sig.nentry, 0);
    assert_non_null(strstr(sig.note[0], "a macro makes"));
    take("// __kernel void a(int n) {}\n/* __kernel void b() {} */\n"
         "const char *s = \"__kernel void c() {}\";\n#define K __kernel\n");
    assert_int_equal(sig.nentry, 0);
}

static void templates(void **state)
{
    (void)state;
    one("template <int BM, int BN = 8 * (2 > 1), typename T>\n__global__ void "
        "f(const T *a, float *c, int n) { int x = BM < BN; }",
        "in a its type is the template's 'T', out c float32, scalar n int32");
    assert_int_equal(sig.entry[0].ntparam, 3);
    assert_string_equal(sig.entry[0].tparam[1], "BN");
    assert_true(sig.entry[0].tparam_type[2]);
    assert_string_equal(macros(), "");
    one("template <class T, template <class> class U> struct S {};\n"
        "__global__ void g(int n) {}\n"
        "template __global__ void f<64, float>(const float *, int);\n",
        "scalar n int32");
    assert_int_equal(sig.entry[0].ntparam, 0);
    assert_non_null(strstr(sig.note[0], "'f<...>'"));
}

static void names(void **state)
{
    (void)state;
    take("#ifndef BM\n#define BM 64\n#endif\n#ifdef USE_FAST\n#endif\n"
         "#ifndef GUARD_H\n#define GUARD_H\n#endif\n#define NX (BM / TM)\n"
         "#define MIN(A, B) ((A) < (B) ? (A) : (B))\n"
         "enum { RED, GREEN = 2 };\n"
         "__kernel void f(__global float *A, int K)\n{\n"
         "  int R = 0, S; float *P = A + COLS; int T = K * UNROLL;\n"
         "  R += MIN(RED, GREEN) + WIDTH(3) + FLT_MAX; p.X = q->Y; S = R;\n"
         "#if PAD && !defined(TWO) || VEC > 1\n#endif\n"
         "  barrier(CLK_LOCAL_MEM_FENCE);\n}\n");
    assert_string_equal(macros(), "BM=64 USE_FAST? TM COLS UNROLL PAD TWO? "
                                  "VEC");
    assert_int_equal(sig.macro[2].line, 9);
    take("#define A 1\n#undef A\n__kernel void f() { A; }");
    assert_string_equal(macros(), "");
}

static void lines(void **state)
{
    (void)state;
    take("/* a\r\n b */\r\n__ker\\\r\nnel void\r\nf(int \\\n n)\r\n{\r\n"
         "x = AB;\r\n}\r\n");
    assert_int_equal(sig.nentry, 1);
    assert_string_equal(args(0), "scalar n int32");
    assert_int_equal(sig.macro[0].line, 8);
    ws__arena_free(&arena);
    assert_int_equal(
        ws__signature_read(ctx, &arena,
                           "#line 1 \"lib.h\"\n__kernel void a(int n) { Q; }\n"
                           "#line 7 \"main.cl\"\n__kernel void b(int n) { R; "
                           "}\n",
                           "lib.h", &sig),
        0);
    assert_int_equal(sig.nentry, 1);
    assert_string_equal(sig.entry[0].name, "b");
    assert_int_equal(sig.entry[0].line, 7);
    assert_string_equal(macros(), "R");
}

static void nasty(void **state)
{
    static const char *const texts[] = {
        "",
        "__kernel",
        "__kernel void f(",
        "__kernel void f(int n",
        "__kernel void f(int n)",
        "__kernel void f)",
        "__global__ void f<",
        "__global__ void f<3>(",
        "template",
        "template <",
        "template <int",
        "template <>\n__global__ void f<3>(int n) {}",
        "#define",
        "#define (",
        "#define F(",
        "#define F(a",
        "#ifdef",
        "#if defined(",
        "#endif\n#else\n#elif X\n",
        "#line",
        "#line 99999999999999999999 \"x",
        "# 3",
        "\"unclosed\n'u\n/* unclosed",
        "enum {",
        "enum { A, ",
        "typedef",
        "typedef int",
        "}}}})))]]]>>>",
        "__kernel void f(,,,) {}",
        "__kernel void f(int a[[[) {}",
        "__kernel void f(= = =) {}",
        "__kernel void f(...) {}",
        "\\\n\\\n\\",
        "__kernel void f(__attribute__((x) int n) {}",
        "\xff\xfe\x80__kernel",
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(texts); i++)
        take(texts[i]);
}

/* Long lines and many names: linear, and limits that are told. */
static void large(void **state)
{
    size_t n = (size_t)1 << 20, used = 0;
    char *text = test_malloc(n + 200);

    (void)state;
    used = (size_t)snprintf(text, 100, "__kernel void f(");
    while (used < n)
        used += (size_t)snprintf(text + used, 100, "int a%zu,", used);
    snprintf(text + used, 100, "int z) { }");
    take(text);
    assert_int_equal(sig.entry[0].narg, WS__SIG_MAX_ARGS);
    assert_true(sig.nnote > 0);
    for (used = 0; used < n;)
        used += (size_t)snprintf(text + used, 100, "A%zu ", used);
    take(text);
    for (used = 0; used < n;)
        used += (size_t)snprintf(text + used, 100, "(<[{");
    take(text);
    for (used = 0; used < n;)
        used += (size_t)snprintf(text + used, 100, "template <");
    take(text);
    for (used = 0; used < n;)
        used += (size_t)snprintf(text + used, 100, "__global__ a(");
    take(text);
    test_free(text);
}

static int body(struct ws_ctx *c, void *user)
{
    struct ws__arena a;
    struct ws__signature s;
    int rc;

    (void)user;
    ws__arena_init(&a, c);
    rc = ws__signature_read(
        c, &a,
        "#ifndef N\n#define N 4\n#endif\n#define R float\ntemplate <int A, "
        "class T>\n__launch_bounds__(64) __global__ void f(const R *a, Foo b, "
        "int c) { XX; }\n__global__ void f(int a) {}",
        NULL, &s);
    ws__arena_free(&a);
    return rc;
}

static void torture(void **state)
{
    (void)state;
    assert_true(t_torture(body, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(troubles, setup, teardown),
        cmocka_unit_test_setup_teardown(aliases, setup, teardown),
        cmocka_unit_test_setup_teardown(functions, setup, teardown),
        cmocka_unit_test_setup_teardown(templates, setup, teardown),
        cmocka_unit_test_setup_teardown(names, setup, teardown),
        cmocka_unit_test_setup_teardown(lines, setup, teardown),
        cmocka_unit_test_setup_teardown(nasty, setup, teardown),
        cmocka_unit_test_setup_teardown(large, setup, teardown),
        cmocka_unit_test(torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
