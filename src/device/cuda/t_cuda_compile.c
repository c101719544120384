/*
 * t_cuda_compile.c: compiling CUDA C by NVRTC, which needs no GPU: what comes
 * out, what is said of what does not compile, names of kernels, the choice of
 * the architecture. Skipped where there is no NVRTC.
 */
#include "base/t_base.h"

#include "device/cuda/cuda_compiler.h"

struct state {
    struct ws_ctx *ctx;
    struct ws__cuda_compiler *c; /* NULL: none, words say why */
    char words[1100];
};

static int setup(void **state)
{
    struct state *s = calloc(1, sizeof(*s));

    *state = s;
    if (!s)
        return -1;
    s->ctx = t_ctx(NULL);
    if (!s->ctx)
        return -1;
    if (ws__cuda_compiler_open(s->ctx, NULL, &s->c) < 0)
        snprintf(s->words, sizeof(s->words), "%s", s->ctx->err.message);
    return 0;
}

static int teardown(void **state)
{
    struct state *s = *state;

    ws__cuda_compiler_close(s->c);
    ws_ctx_free(s->ctx);
    free(s);
    return 0;
}

#define NEED(s)                                                                \
    do {                                                                       \
        if (!(s)->c)                                                           \
            SKIP("%s", (s)->words);                                            \
    } while (0)

static struct ws__build build_of(const char *source, const char *const *entry,
                                 size_t n)
{
    return (struct ws__build){.source = source,
                              .dialect = WS__DIALECT_CUDA,
                              .entry = entry,
                              .nentry = n};
}

static int compile(struct state *s, const char *source, const char *entry,
                   struct ws__cuda_code *out)
{
    struct ws__build b = build_of(source, &entry, entry != NULL);
    struct ws__cuda_target t;

    assert_int_equal(ws__cuda_target(s->c, &b, 9, 0, &t), 0);
    return ws__cuda_compile(s->c, &b, &t, out);
}

static void works(struct state *s, const char *source, const char *entry,
                  const char *symbol)
{
    struct ws__cuda_code code;
    int rc = compile(s, source, entry, &code);

    if (rc < 0)
        print_error("%s: %s\n", entry, s->ctx->err.message);
    assert_int_equal(rc, 0);
    assert_memory_equal(code.image, "\177ELF", 4);
    assert_int_equal(code.nsymbol, 1);
    if (symbol)
        assert_string_equal(code.symbol[0], symbol);
    assert_false(ws__cuda_lacks_kernel(&code, code.symbol[0]));
    assert_false(code.cached);
    ws__cuda_code_free(s->ctx, &code);
}

static void fails(struct state *s, const char *source, const char *entry,
                  const char *words)
{
    struct ws__cuda_code code;
    int rc = compile(s, source, entry, &code);

    assert_int_equal(rc, WS_EBUILD);
    if (strncmp(s->ctx->err.message, words, strlen(words)))
        print_error("%s\n", s->ctx->err.message);
    assert_memory_equal(s->ctx->err.message, words, strlen(words));
    assert_null(code.image);
    assert_null(code.symbol);
    assert_null(code.log);
}

#define K "__global__ void k(float *p) { p[threadIdx.x] = 1; }\n"
#define CK "extern \"C\" " K

static void version(void **state)
{
    struct state *s = *state;

    NEED(s);
    assert_memory_equal(ws__cuda_compiler_version(s->c), "NVRTC ", 6);
    assert_true(s->c->narch > 0);
    assert_true(s->c->number >= 1102);
}

static void names(void **state)
{
    struct state *s = *state;

    NEED(s);
    works(s, CK, "k", "k");
    works(s, K, "k", "_Z1kPf");
    works(s, "namespace a {\n" K "}\n", "a::k", "_ZN1a1kEPf");
    works(s, "namespace a {\n" K "}\nusing a::k;\n", "k", "_ZN1a1kEPf");
    /* Not found by this name, but that is what it is called. */
    works(s, "namespace a {\n" CK "}\n", "k", "k");
    works(s, "template <int n> " K, "k<3>", "_Z1kILi3EEvPf");
    works(s, "template <int n, class T> __global__ void k(T *p) { *p = n; }\n",
          "k<64, double>", "_Z1kILi64EdEvPT0_");
    fails(s, CK, "x", "no kernel 'x' in the source");
    fails(s, CK, "x<1>", "no kernel 'x<1>' in the source");
    fails(s, CK, "a.b", "no kernel 'a.b' in the source");
    fails(s, K "__global__ void k(int *p) { *p = 1; }\n", "k",
          "no kernel 'k' in the source: cannot determine which instance");
    fails(s, "__device__ void f() {}\n" CK, "f", "no kernel 'f' in the source");
    fails(s, "__device__ int v[3];\n" CK, "v", "no kernel 'v' in the source");
}

static void several(void **state)
{
    static const char *const entry[] = {"k", "t<2>", "g"};
    static const char *const absent[] = {"k", "t<2>", "x"};
    struct state *s = *state;
    struct ws__build b = build_of(
        CK "template <int n> __global__ void t(int *p) { *p = n; }\n"
           "namespace a { extern \"C\" __global__ void g(int *p) { *p = 1; } }",
        entry, 3);
    struct ws__cuda_target t;
    struct ws__cuda_code code;

    NEED(s);
    assert_int_equal(ws__cuda_target(s->c, &b, 9, 0, &t), 0);
    assert_int_equal(ws__cuda_compile(s->c, &b, &t, &code), 0);
    assert_int_equal(code.nsymbol, 3);
    assert_string_equal(code.symbol[0], "k");
    assert_string_equal(code.symbol[1], "_Z1tILi2EEvPi");
    assert_string_equal(code.symbol[2], "g");
    ws__cuda_code_free(s->ctx, &code);
    b.entry = absent;
    assert_int_equal(ws__cuda_compile(s->c, &b, &t, &code), WS_EBUILD);
    assert_string_equal(s->ctx->err.message, "no kernel 'x' in the source");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version),
        cmocka_unit_test(names),
        cmocka_unit_test(several),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
