/*
 * t_cuda_compile.c: compiling CUDA C by NVRTC, which needs no GPU: what comes
 * out, what is said of what does not compile, names of kernels, the choice of
 * the architecture. Skipped where there is no NVRTC.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

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

/* --- words --------------------------------------------------------------- */

static void words(void **state)
{
    struct state *s = *state;

    NEED(s);
    fails(s, "#warning first\n" CK "int x = \"a\";\n", "k",
          "source(3): error: a value of type \"const char *\" cannot be used");
    fails(s, "#include \"x.h\"\n" CK, "k",
          "source(1): catastrophic error: cannot open source file \"x.h\"");
    fails(s, CK "__global__ void bad() { asm(\"no.such;\"); }\n", "k",
          "ptxas application ptx input, line ");
    fails(s,
          "__device__ float f(float);\n"
          "__global__ void k(float *p) { *p = f(*p); }\n",
          "k", "ptxas fatal   : Unresolved extern function '_Z1ff'");
    fails(s,
          "__global__ void k(float *p)\n"
          "{\n"
          "    __shared__ float t[100000];\n"
          "    t[threadIdx.x] = *p;\n"
          "    __syncthreads();\n"
          "    *p = t[threadIdx.x ^ 1];\n"
          "}\n",
          "k", "ptxas error   : Entry function '_Z1kPf' uses too much shared");
    /* Errors of the source come before those of names. */
    fails(s, "#error no\n", "k", "source(1): catastrophic error: #error");
    fails(s, "int f() { return x; }\n", "k",
          "source(1): error: identifier \"x\" is undefined");
}

/* A mistake in a header is shown without the folder it is in. */
static void words_of_headers(void **state)
{
    struct state *s = *state;

    NEED(s);
    if (!s->c->ninclude)
        SKIP("no headers of a CUDA toolkit");
    fails(s, "#define __half int\n#include <cuda_fp16.h>\n" CK, "k",
          "cuda_fp16.h");
}

static void log_of_success(void **state)
{
    struct state *s = *state;
    struct ws__cuda_code code;

    NEED(s);
    assert_int_equal(compile(s, CK, "k", &code), 0);
    assert_null(code.log);
    ws__cuda_code_free(s->ctx, &code);
    assert_int_equal(compile(s, "#warning look\n" CK, "k", &code), 0);
    assert_non_null(code.log);
    assert_non_null(strstr(code.log, "source(1): warning"));
    ws__cuda_code_free(s->ctx, &code);
}

/* --- options and targets ------------------------------------------------- */

static void targets(void **state)
{
    static const struct {
        int major, minor;
        const char *source, *option, *want;
    } row[] = {
        {9, 0, "", NULL, "sm_90"},
        {8, 0, "", NULL, "sm_80"},
        {8, 6, "", NULL, "sm_86"},
        {8, 9, "wgmma", NULL, "sm_89"},
        {9, 0, "asm(\"wgmma.fence.sync.aligned;\")", NULL, "sm_90a"},
        {9, 0, "asm(\"setmaxnreg.inc\")", NULL, "sm_90a"},
        {9, 0, "#if __CUDA_ARCH_FEAT_SM90_ALL", NULL, "sm_90a"},
        {9, 0, "tcgen05", NULL, "sm_90"},
        {10, 0, "tcgen05", NULL, "sm_100a"},
        {10, 3, "tcgen05", NULL, "sm_103a"},
        {12, 0, "x.kind::mxf4.block_scale", NULL, "sm_120a"},
        {9, 0, "", "--gpu-architecture=sm_90a", "sm_90a"},
        {9, 0, "", "-arch=compute_90a", "sm_90a"},
        {10, 0, "", "-arch=sm_100f", "sm_100f"},
        /* of another device: not for this one */
        {9, 0, "", "-arch=sm_100a", "sm_90"},
        {9, 0, "", "-arch=sm_80", "sm_90"},
        /* not known: the nearest of the same family */
        {8, 7, "", NULL, "sm_86"},
        {12, 1, "tcgen05", NULL, "sm_120"},
        /* newer than all: PTX */
        {11, 0, "tcgen05", NULL, "compute_103"},
        {13, 0, "", NULL, "compute_120"},
    };
    static const int known[] = {75, 80, 86, 89, 90, 100, 103, 120};
    struct state *s = *state;
    struct ws__cuda_compiler c = {.ctx = s->ctx, .narch = WS_COUNT(known)};
    struct ws__cuda_target t;

    memcpy(c.arch, known, sizeof(known));
    for (size_t i = 0; i < WS_COUNT(row); i++) {
        struct ws__build b = build_of(row[i].source, NULL, 0);

        b.option = &row[i].option;
        b.noption = row[i].option != NULL;
        assert_int_equal(ws__cuda_target(&c, &b, row[i].major, row[i].minor,
                                         &t),
                         0);
        assert_string_equal(t.arch, row[i].want);
        assert_int_equal(t.ptx, row[i].want[0] == 'c');
    }
    snprintf(c.version, sizeof(c.version), "NVRTC 13.0");
    assert_int_equal(ws__cuda_target(&c, &(struct ws__build){.source = ""}, 7,
                                     0, &t),
                     WS_ENOTSUP);
    assert_string_equal(s->ctx->err.message,
                        "NVRTC 13.0 does not compile for devices of compute "
                        "capability 7.0");
}

static void variant_words(void **state)
{
    (void)state;
    assert_true(ws__cuda_wants_variant(
        "error   : Instruction 'wgmma.fence' not supported on .target "
        "'sm_90'"));
    assert_true(ws__cuda_wants_variant(
        "Unresolved extern function "
        "'__cuda_ptx_x_is_not_supported_before_SM_100a_SM_101a__'"));
    assert_true(ws__cuda_wants_variant("Feature 'x' requires sm_90a"));
    assert_false(ws__cuda_wants_variant("requires .target sm_80 or higher"));
    assert_false(ws__cuda_wants_variant("_a sm_ m_9a rsm_90"));
    assert_false(ws__cuda_wants_variant(""));
}

/* The instruction is seen in the text, or hides in two halves of it. */
static void variants(void **state)
{
    static const char *const source[] = {
        "asm volatile(\"wgmma.fence.sync.aligned;\");",
        "asm volatile(\"wgm\" \"ma.fence.sync.aligned;\");",
    };
    struct state *s = *state;
    char text[300];

    NEED(s);
    for (size_t i = 0; i < WS_COUNT(source); i++) {
        snprintf(text, sizeof(text),
                 "extern \"C\" __global__ void k(float *p) { %s *p = 1; }\n",
                 source[i]);
        works(s, text, "k", "k");
    }
    /* An instruction that no variant has stays a failure. */
    fails(s, "__global__ void k() { asm(\"tcg\" \"en05.wait::ld.x;\"); }\n",
          "k", "ptxas application");
}

static void ptx(void **state)
{
    static const char *const entry[] = {"k<2>"};
    struct state *s = *state;
    struct ws__build b = build_of("template <int n> " K, entry, 1);
    struct ws__cuda_code code;
    struct ws__cuda_target t;

    NEED(s);
    assert_int_equal(ws__cuda_target(s->c, &b, 99, 0, &t), 0);
    assert_true(t.ptx);
    assert_int_equal(ws__cuda_compile(s->c, &b, &t, &code), 0);
    assert_string_equal(code.symbol[0], "_Z1kILi2EEvPf");
    assert_non_null(strstr(code.image, ".entry _Z1kILi2EEvPf("));
    assert_int_equal(strlen(code.image) + 1, code.bytes);
    ws__cuda_code_free(s->ctx, &code);
}

/* Names that are internal to a source are the same each time. */
static void reproducible(void **state)
{
    static const char source[] =
        "namespace { __device__ int v; }\n"
        "static __device__ int w;\n"
        "__global__ void k(float *p) { v++; w++; *p = v + w; }\n";
    struct state *s = *state;
    struct ws__cuda_code one, two;

    NEED(s);
    if (!s->c->takes_seed)
        SKIP("%s has no --frandom-seed", ws__cuda_compiler_version(s->c));
    assert_int_equal(compile(s, source, "k", &one), 0);
    assert_int_equal(compile(s, source, "k", &two), 0);
    assert_int_equal(one.bytes, two.bytes);
    assert_memory_equal(one.image, two.image, one.bytes);
    ws__cuda_code_free(s->ctx, &one);
    ws__cuda_code_free(s->ctx, &two);
}

static int (*real_compile)(nvrtc_program, int, const char *const *);

/* An older NVRTC: an option that it has not heard of. */
static int old_compile(nvrtc_program p, int n, const char *const *option)
{
    const char *list[WS__CUDA_MAX_OPTIONS];

    for (int i = 0; i < n; i++)
        list[i] = strcmp(option[i], "--frandom-seed=0")
                      ? option[i]
                      : "--frandom-seed-of-a-later-one=0";
    return real_compile(p, n, list);
}

static void older(void **state)
{
    struct state *s = *state;
    struct ws__cuda_compiler *now = s->c;
    struct nvrtc_api api;

    NEED(s);
    assert_int_equal(ws__nvrtc_load(s->ctx, &api), 0);
    real_compile = api.CompileProgram;
    api.CompileProgram = old_compile;
    assert_int_equal(ws__cuda_compiler_open_with(s->ctx, &api, NULL, NULL, 0,
                                                 &s->c),
                     0);
    assert_false(s->c->takes_seed);
    works(s, K, "k", "_Z1kPf");
    ws__cuda_compiler_close(s->c);
    s->c = now;
}

static void options(void **state)
{
    static const char *const option[] = {"-cl-mad-enable", "--use_fast_math",
                                         "-fmad=false", "--maxrregcount=40",
                                         "-arch=sm_90"};
    static const char *const wrong[] = {"--no-such-option"};
    static const char *const entry[] = {"k"};
    struct state *s = *state;
    struct ws__build b = build_of(CK, entry, 1);
    struct ws__cuda_code code;
    struct ws__cuda_target t;

    NEED(s);
    b.dialect = WS__DIALECT_PORTABLE;
    b.option = option;
    b.noption = WS_COUNT(option);
    assert_int_equal(ws__cuda_target(s->c, &b, 9, 0, &t), 0);
    assert_int_equal(ws__cuda_compile(s->c, &b, &t, &code), 0);
    ws__cuda_code_free(s->ctx, &code);
    b.option = wrong;
    b.noption = 1;
    assert_int_equal(ws__cuda_compile(s->c, &b, &t, &code), WS_EBUILD);
    assert_non_null(strstr(s->ctx->err.message, "--no-such-option"));
}

/* --- headers ------------------------------------------------------------- */

static void libc_headers(void **state)
{
    static const char *const include[] = {
        "assert.h", "cassert",   "cfloat",   "climits",  "cmath",
        "cstddef",  "cstdint",   "cstdio",   "float.h",  "limits.h",
        "math.h",   "stdbool.h", "stddef.h", "stdint.h", "stdio.h",
    };
    struct state *s = *state;
    struct nvrtc_api api;
    struct ws__cuda_compiler *with = s->c, *without;
    char text[2000] = "";
    size_t n = 0;

    NEED(s);
    for (size_t i = 0; i < 2 * WS_COUNT(include); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "#include <%s>\n",
                              include[i % WS_COUNT(include)]);
    snprintf(text + n, sizeof(text) - n,
             "extern \"C\" __global__ void k(float *p, uint64_t u, int8_t i)\n"
             "{\n"
             "    assert(p != NULL && u < LLONG_MAX && CHAR_BIT == 8);\n"
             "    printf(\"%%d\\n\", (int)sizeof(std::size_t));\n"
             "    p[i] = sqrtf(FLT_MAX) + INFINITY + DBL_EPSILON;\n"
             "}\n");
    works(s, text, "k", "k");
    /* and without any toolkit */
    assert_int_equal(ws__nvrtc_load(s->ctx, &api), 0);
    assert_int_equal(ws__cuda_compiler_open_with(s->ctx, &api, "/nowhere", NULL,
                                                 0, &without),
                     0);
    s->c = without;
    works(s, text, "k", "k");
    fails(s, "#include <cuda_fp16.h>\n" CK, "k", "source(1): catastrophic");
    s->c = with;
    ws__cuda_compiler_close(without);
}

static void toolkit_headers(void **state)
{
    struct state *s = *state;

    NEED(s);
    if (!s->c->ninclude)
        SKIP("no headers of a CUDA toolkit");
    works(s,
          "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n"
          "template <class T> __global__ void k(T *p) { *p = *p + *p; }\n",
          "k<__half>", NULL);
    works(s,
          "#include <limits>\n#include <type_traits>\n#include <utility>\n"
          "#include <cstdint>\n#include <cmath>\n"
          "#include <cooperative_groups.h>\n#include <cuda/pipeline>\n"
          "template <class T> __global__ void k(T *p)\n"
          "{\n"
          "    static_assert(std::is_same<T, std::int32_t>::value, \"\");\n"
          "    T x = std::numeric_limits<T>::max(), y = std::move(x);\n"
          "    *p = y + (T)std::sqrt(2.0f);\n"
          "    cooperative_groups::this_thread_block().sync();\n"
          "}\n",
          "k<int>", NULL);
}

/* Functions need not say where they run, as under nvcc. */
static void unmarked_functions(void **state)
{
    struct state *s = *state;

    NEED(s);
    works(s,
          "constexpr int up(int a, int b) { return (a + b - 1) / b; }\n"
          "struct pair { int a, b; int sum() const { return a + b; } };\n"
          "template <int n> __global__ void k(int *p)\n"
          "{ __shared__ int t[up(n, 4)]; t[0] = pair{n, 1}.sum(); *p = t[0]; }",
          "k<7>", NULL);
}

/* --- through the cache --------------------------------------------------- */

static void remove_files(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;

    assert_non_null(d);
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
    closedir(d);
}

static void cached(void **state)
{
    static const char *const entry[] = {"k"}, *const other[] = {"k", "k"};
    static const char *const option[] = {"-fmad=false"};
    struct state *s = *state;
    struct ws__build b = build_of("#warning look\n" K, entry, 1), x;
    struct ws__cuda_target t, t2;
    struct ws__cuda_compiler *c;
    struct ws__cuda_code first, again;
    char dir[] = "/tmp/ws-t-cuda-compile-XXXXXX", path[100];
    struct nvrtc_api api;

    NEED(s);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(ws__nvrtc_load(s->ctx, &api), 0);
    assert_int_equal(ws__cuda_compiler_open_with(s->ctx, &api, NULL, dir, 0,
                                                 &c),
                     0);
    assert_int_equal(ws__cuda_target(c, &b, 9, 0, &t), 0);
    assert_int_equal(ws__cuda_compile(c, &b, &t, &first), 0);
    assert_false(first.cached);
    assert_int_equal(ws__cuda_compile(c, &b, &t, &again), 0);
    assert_true(again.cached);
    assert_int_equal(first.bytes, again.bytes);
    assert_memory_equal(first.image, again.image, first.bytes);
    assert_string_equal(first.symbol[0], again.symbol[0]);
    assert_string_equal(first.log, again.log);
    ws__cuda_code_free(s->ctx, &first);
    ws__cuda_code_free(s->ctx, &again);
    /* Whatever differs is another key. */
    for (int i = 0; i < 4; i++) {
        x = b;
        t2 = t;
        if (i == 0)
            x.source = K;
        if (i == 1)
            assert_int_equal(ws__cuda_target(c, &b, 8, 0, &t2), 0);
        if (i == 2) {
            x.option = option;
            x.noption = 1;
        }
        if (i == 3) {
            x.entry = other;
            x.nentry = 2;
        }
        assert_int_equal(ws__cuda_compile(c, &x, &t2, &again), 0);
        assert_false(again.cached);
        ws__cuda_code_free(s->ctx, &again);
    }
    /* Failures are not kept. */
    x = b;
    x.source = "";
    for (int i = 0; i < 2; i++)
        assert_int_equal(ws__cuda_compile(c, &x, &t, &again), WS_EBUILD);
    ws__cuda_compiler_close(c);
    snprintf(path, sizeof(path), "%s/cubin", dir);
    remove_files(path);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* --- precompiled headers ------------------------------------------------- */

static struct ws__cuda_compiler *open_cached(struct state *s, char *dir)
{
    struct ws__cuda_compiler *c;

    assert_non_null(mkdtemp(dir));
    assert_int_equal(ws__cuda_compiler_open(s->ctx, dir, &c), 0);
    return c;
}

static size_t count_files(const char *dir, const char *ending)
{
    char path[100];
    struct dirent *e;
    size_t n = 0;
    DIR *d;

    snprintf(path, sizeof(path), "%s/cubin", dir);
    d = opendir(path);
    while (d && (e = readdir(d)))
        n += strlen(e->d_name) > strlen(ending) &&
             !strcmp(e->d_name + strlen(e->d_name) - strlen(ending), ending);
    if (d)
        closedir(d);
    return n;
}

static void close_cached(struct ws__cuda_compiler *c, const char *dir)
{
    char path[100];

    ws__cuda_compiler_close(c);
    snprintf(path, sizeof(path), "%s/cubin", dir);
    remove_files(path);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

#define HEAVY "#include <cuda/std/array>\n#include <cuda/barrier>\n"

/* Candidates of one kernel: the second run makes the file, later ones use it,
 * and nobody sees a difference but the clock. */
static void heavy_headers(void **state)
{
    struct state *s = *state;
    char dir[] = "/tmp/ws-t-cuda-pch-XXXXXX", text[600];
    struct ws__cuda_compiler *plain, *c;
    struct ws__cuda_code a, b;

    NEED(s);
    if (!s->c->ninclude || !s->c->api.GetPCHCreateStatus)
        SKIP("no headers of a CUDA toolkit, or NVRTC before 12.8");
    plain = s->c;
    c = open_cached(s, dir);
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof(text),
                 "#define BM %d\n" HEAVY
                 "template <int n> __global__ void k(float *p)\n"
                 "{ cuda::std::array<int, BM> x{n, 2}; *p = x[0] * BM; }\n",
                 i + 2);
        s->c = plain;
        assert_int_equal(compile(s, text, "k<3>", &a), 0);
        s->c = c;
        assert_int_equal(compile(s, text, "k<3>", &b), 0);
        assert_int_equal(c->pch.fd >= 0, i > 0);
        assert_null(b.log);
        assert_string_equal(a.symbol[0], b.symbol[0]);
        if (c->takes_seed) {
            assert_int_equal(a.bytes, b.bytes);
            assert_memory_equal(a.image, b.image, a.bytes);
        }
        ws__cuda_code_free(s->ctx, &a);
        ws__cuda_code_free(s->ctx, &b);
    }
    assert_false(c->pch.off);
    assert_int_equal(count_files(dir, ".tmp"), 0);
    assert_int_equal(count_files(dir, ".cubin"), 5);
    /* The lines are those of the source, and names are looked for as ever. */
    fails(s, "#define BM 9\n" HEAVY "__global__ void k(float *p) { *p = x; }",
          "k", "source(4): error: identifier \"x\" is undefined");
    fails(s, HEAVY K, "x", "no kernel 'x' in the source");
    works(s, HEAVY K, "k", "_Z1kPf");
    s->c = plain;
    close_cached(c, dir);
}

/* A folder that went away: as without. */
static void no_room_for_headers(void **state)
{
    struct state *s = *state;
    char dir[] = "/tmp/ws-t-cuda-pch-XXXXXX", path[100];
    struct ws__cuda_compiler *plain;
    int fd;

    NEED(s);
    if (!s->c->ninclude || !s->c->api.GetPCHCreateStatus)
        SKIP("no headers of a CUDA toolkit, or NVRTC before 12.8");
    plain = s->c;
    s->c = open_cached(s, dir);
    works(s, HEAVY K, "k", "_Z1kPf");
    snprintf(path, sizeof(path), "%s/cubin", dir);
    remove_files(path);
    assert_int_equal(rmdir(path), 0);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    close(fd);
    works(s, HEAVY K "\n", "k", "_Z1kPf");
    assert_true(s->c->pch.off);
    works(s, HEAVY K "\n\n", "k", "_Z1kPf");
    ws__cuda_compiler_close(s->c);
    s->c = plain;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* A file that cannot be read any more. */
static void lost_headers(void **state)
{
    struct state *s = *state;
    char dir[] = "/tmp/ws-t-cuda-pch-XXXXXX";
    struct ws__cuda_compiler *plain;
    struct ws__cuda_code code;
    int null;

    NEED(s);
    if (!s->c->ninclude || !s->c->api.GetPCHCreateStatus)
        SKIP("no headers of a CUDA toolkit, or NVRTC before 12.8");
    plain = s->c;
    s->c = open_cached(s, dir);
    works(s, HEAVY K, "k", "_Z1kPf");
    works(s, HEAVY K "\n", "k", "_Z1kPf");
    assert_true(s->c->pch.fd >= 0);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_true(null >= 0);
    assert_true(dup2(null, s->c->pch.fd) >= 0);
    close(null);
    assert_int_equal(compile(s, HEAVY K "\n\n", "k", &code), 0);
    assert_null(code.log);
    assert_true(s->c->pch.off);
    ws__cuda_code_free(s->ctx, &code);
    close_cached(s->c, dir);
    s->c = plain;
}

static int pch_status(nvrtc_program p)
{
    (void)p;
    return 0;
}

/* What is allocated around a run, without the runs. */
static int pch_torture_body(struct ws_ctx *ctx, void *user)
{
    struct ws__cuda_compiler c = {.ctx = ctx, .pch = {.fd = -1}};
    struct ws__cuda_hoisted h = {.text = NULL};
    struct ws__cuda_run run = {.pch_option = NULL};
    int rc;

    c.api.GetPCHCreateStatus = pch_status;
    WS_TRY(ws__cuda_cache_open(ctx, user, 0, &c.cache));
    rc = ws__cuda_hoist(&c, HEAVY K, &h);
    for (int i = 0; i < 2 && rc == 0; i++) {
        rc = ws__cuda_pch_begin(&c, h.prefix, &run);
        assert_true(rc < 0 || !run.pch_option == !i);
    }
    ws__free(ctx, run.pch_option);
    ws__free(ctx, h.text);
    ws__cuda_cache_close(c.cache);
    return rc;
}

static void pch_torture(void **state)
{
    char dir[] = "/tmp/ws-t-cuda-pch-XXXXXX", path[100];

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_true(t_torture(pch_torture_body, dir) > 5);
    snprintf(path, sizeof(path), "%s/cubin", dir);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void hoisting(void **state)
{
    static const struct {
        const char *source, *want; /* in front; NULL: nothing */
    } row[] = {
        {"int x;\n", NULL},
        {"#include <cuda_fp16.h>\n", NULL},
        {"#include <cuda/barrier>", "#include <cuda/barrier>\n"},
        {"#define N 3\n # include <cuda_fp16.h>\n#include <cub/x.cuh> // y\n",
         "#include <cuda_fp16.h>\n#include <cub/x.cuh>\n"},
        /* in a comment, it may be no header */
        {"/*\n#include </etc/passwd>\n#include <cuda/../../x>\n"
         "#include <a b>\n*/\n#include <cuda/a>\n",
         "#include <cuda/a>\n"},
        /* meant for the header */
        {"#define _CG_ABI_EXPERIMENTAL\n#include <cooperative_groups.h>\n",
         NULL},
        {"#include <cub/x.cuh>\n#define CUB_A\n#include <cuda/y>\n",
         "#include <cub/x.cuh>\n"},
        /* under a condition */
        {"#if X\n#include <cuda/barrier>\n#endif\n", NULL},
        {"#if WS_CUDA\n#include <cuda/barrier>\n#endif\n",
         "#include <cuda/barrier>\n"},
        {"#if WS_CUDA && X\n#include <cuda/barrier>\n#endif\n", NULL},
        {"#if WS_CUDA\n#else\n#include <cuda/barrier>\n#endif\n", NULL},
        {"#ifndef G\n#if WS_CUDA\n#endif\n#endif\n#include <cuda/a>\n",
         "#include <cuda/a>\n"},
    };
    struct state *s = *state;
    char dir[] = "/tmp/ws-t-cuda-pch-XXXXXX", want[300];
    struct ws__cuda_compiler *c;

    NEED(s);
    if (!s->c->api.GetPCHCreateStatus)
        SKIP("NVRTC before 12.8");
    c = open_cached(s, dir);
    for (size_t i = 0; i < WS_COUNT(row); i++) {
        struct ws__cuda_hoisted h;

        assert_int_equal(ws__cuda_hoist(c, row[i].source, &h), 0);
        assert_int_equal(h.text == NULL, row[i].want == NULL);
        if (!h.text)
            continue;
        snprintf(want, sizeof(want), "%s#pragma nv_hdrstop\n%s", row[i].want,
                 row[i].source);
        assert_string_equal(h.text, want);
        assert_int_equal(h.lines, i == 3 ? 3 : 2);
        ws__free(s->ctx, h.text);
    }
    ws__cuda_compiler_close(c);
    assert_int_equal(rmdir(dir), 0);
}

static void lines(void **state)
{
    char text[] = "source(12): error\nsource(1): x(7) source(x) source(100)";

    (void)state;
    ws__cuda_unshift_lines(text, 3);
    assert_string_equal(
        text, "source(9): error\nsource(1): x(7) source(x) source(97)");
}

static int torture_body(struct ws_ctx *ctx, void *user)
{
    static const char *const entry[] = {"k", "t<3>"};
    struct ws__build b =
        build_of("#include <stdint.h>\n" K
                 "template <int n> __global__ void t(int *p) { *p = n; }\n",
                 entry, 2);
    struct ws__cuda_compiler *c;
    struct ws__cuda_target t;
    struct ws__cuda_code code;
    int rc;

    (void)user;
    WS_TRY(ws__cuda_compiler_open(ctx, NULL, &c));
    rc = ws__cuda_target(c, &b, 9, 0, &t);
    if (rc == 0)
        rc = ws__cuda_compile(c, &b, &t, &code);
    if (rc == 0) {
        b.source = K;
        ws__cuda_code_free(ctx, &code);
        rc = ws__cuda_compile(c, &b, &t, &code);
        rc = rc == WS_EBUILD ? 0 : rc;
    }
    ws__cuda_compiler_close(c);
    return rc;
}

static void torture(void **state)
{
    struct state *s = *state;

    NEED(s);
    assert_true(t_torture(torture_body, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version),
        cmocka_unit_test(names),
        cmocka_unit_test(several),
        cmocka_unit_test(words),
        cmocka_unit_test(words_of_headers),
        cmocka_unit_test(log_of_success),
        cmocka_unit_test(targets),
        cmocka_unit_test(variant_words),
        cmocka_unit_test(variants),
        cmocka_unit_test(ptx),
        cmocka_unit_test(reproducible),
        cmocka_unit_test(older),
        cmocka_unit_test(options),
        cmocka_unit_test(libc_headers),
        cmocka_unit_test(toolkit_headers),
        cmocka_unit_test(unmarked_functions),
        cmocka_unit_test(cached),
        cmocka_unit_test(heavy_headers),
        cmocka_unit_test(no_room_for_headers),
        cmocka_unit_test(lost_headers),
        cmocka_unit_test(pch_torture),
        cmocka_unit_test(hoisting),
        cmocka_unit_test(lines),
        cmocka_unit_test(torture),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
