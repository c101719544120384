/*
 * t_measure_opencl.c: kernels that go wrong, and kernels that cheat, on the
 * OpenCL device: each must get its verdict with its cause, and the evaluator
 * must go on. One text holds all variants; the parameter V picks.
 */
#include "measure/t_measure_fixture.h"

#include <signal.h>
#include <unistd.h>

/* V 0 is right; the others are named in the table below. */
#define VARIANTS                                                               \
    "__kernel\n"                                                               \
    "#if V == 5\n"                                                             \
    "__attribute__((reqd_work_group_size(32, 1, 1)))\n"                        \
    "#endif\n"                                                                 \
    "void k(__global float *A, __global float *C, int N)\n"                    \
    "{\n"                                                                      \
    "    int i = get_global_id(0);\n"                                          \
    "#if V == 1\n"                                                             \
    "    C[i] = 2.0f * A[i];;; nonsense\n"                                     \
    "#elif V == 2\n"                                                           \
    "    volatile __global int *p = (volatile __global int *)C;\n"             \
    "    for (;;) p[i]++;\n"                                                   \
    "#elif V == 3\n"                                                           \
    "    C[i] = 2.0f * A[i];\n"                                                \
    "    if (i == 0) C[N + 2] = 1.0f;\n"                                       \
    "#elif V == 4\n"                                                           \
    "    C[(size_t)i * 400000000u] = 2.0f;\n"                                  \
    "    C[(size_t)i * 0x100000000000u + 0x10000000000u] = 2.0f;\n"            \
    "#elif V == 6\n"                                                           \
    "    C[i] = 2.0f * A[i] + as_float(0x7fc00000);\n"                         \
    "#elif V == 7\n"                                                           \
    "    if (as_uint(C[i]) == 0xffffffffu) C[i] = 2.0f * A[i];\n"              \
    "#elif V == 8\n"                                                           \
    "    C[i] = 2.0f * A[i];\n"                                                \
    "    A[i] = 1.0f;\n"                                                       \
    "#elif V == 9\n"                                                           \
    "    float c = fabs(C[i]);\n" /* a result: left as it is */                \
    "    if (!(c > 1e-4f && c < 14.0f)) C[i] = 2.0f * A[i];\n"                 \
    "#elif V == 10\n"                                                          \
    "    C[i] = i + 1 < N ? 2.0f * A[i + 1] : 0.0f;\n"                         \
    "#elif V == 11\n"                                                          \
    "    if (i < N - 1) C[i] = 2.0f * A[i];\n"                                 \
    "#elif V == 12\n"                                                          \
    "    C[i] = (float)(half)0 + 2.0f * A[i];\n"                               \
    "    __local float big[1 << 24];\n"                                        \
    "    big[get_local_id(0)] = A[i];\n"                                       \
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"                                      \
    "    C[i] += big[63 - get_local_id(0)] * 0.0f;\n"                          \
    "#else\n"                                                                  \
    "    C[i] = 2.0f * A[i];\n"                                                \
    "#endif\n"                                                                 \
    "}\n"

static const struct variant {
    int v;
    enum ws__verdict verdict;
    const char *words;
} variants[] = {
    {1, WS__V_BUILD, "nonsense"},
    {2, WS__V_HANG, "did not end within"},
    {3, WS__V_WRONG, "writes outside of 'C', 8 bytes after its end"},
    {4, WS__V_CRASH, "the worker ended in"},
    {5, WS__V_LAUNCH, ""},
    {6, WS__V_WRONG, "64 NaN"},
    {7, WS__V_WRONG, "right at the first launch, wrong at the second"},
    {8, WS__V_CHEAT, "writes to input 'A'"},
    {9, WS__V_CHEAT, ""},
    {10, WS__V_WRONG, "elements of 'C' wrong"},
    {11, WS__V_WRONG, "1 of 64 elements of 'C' wrong; worst at [63]"},
};

static struct ws_ctx *ctx;
static char cache_dir[600];

/* Driver caches beside the test, so that a second run is quick. */
static int find_cache(void)
{
    char exe[512];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

    if (n <= 0)
        return -1;
    exe[n] = '\0';
    snprintf(cache_dir, sizeof(cache_dir), "%s.cache", exe);
    return 0;
}

static int setup(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .turn_dir = getenv("WAVESMITH_TURNS"),
                            .cache_dir = cache_dir};

    (void)state;
    if (find_cache() < 0)
        return -1;
    ctx = ws_ctx_new(&o);
    memset(&t_script, 0, sizeof(t_script));
    t_script.inner = "opencl";
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return 0;
}

static struct t_case *new_case(const char *source)
{
    struct t_case *c = t_case_new(ctx, source);
    struct ws__launch *l;

    assert_non_null(c);
    c->kernel.dialect = WS__DIALECT_OPENCL;
    l = &c->kernel.launch[0];
    l->narg = 3;
    l->arg[2].kind = WS__ARG_VALUE;
    l->arg[2].dtype = WS__DT_I32;
    l->arg[2].expr = t_expr(c, "N");
    return c;
}

/* NULL, after a skip, if there is no device. */
static struct ws__measure *open_or_skip(struct t_case *c)
{
    static const struct ws__measure_opts opts = {
        .builders = 2,
        .cache = WS__CACHE_WARM,
        .seed = 3,
        .build_limit_ns = 8000000000u,
        .run_limit_ns = 2000000000u,
    };
    struct ws__measure *m = NULL;
    int rc = t_measure_open(c, &opts, &m);

    if (rc == 0)
        return m;
    t_case_free(c);
    if (rc == WS_ENODEVICE || rc == WS_ENODRIVER || rc == WS_ENOENT)
        SKIP("no OpenCL device: %s", ctx->err.message);
    fail_msg("%s", ctx->err.message);
    return NULL;
}

static void judge(struct ws__measure *m, const struct variant *x)
{
    struct ws__question q = t_question(1, x->v, 0);
    struct ws__trial t[2];

    if (t_answer(m, &q, t) < 0)
        fail_msg("variant %d: %s", x->v, ctx->err.message);
    print_message("# variant %d: %s: %.200s (%.0f ms)\n", x->v,
                  ws__verdict_key(t[0].verdict), t[0].reason ? t[0].reason : "",
                  (double)t[0].spent_ns / 1e6);
    if (t[0].verdict != x->verdict)
        fail_msg("variant %d: verdict %s, %s expected: %s", x->v,
                 ws__verdict_key(t[0].verdict), ws__verdict_key(x->verdict),
                 t[0].reason ? t[0].reason : "");
    if (x->words)
        T_ASSERT_HAS(t[0].reason, x->words);
    else
        assert_true(t[0].nsample >= 3);
    t_clear(ctx, t);
}

static void bad_ones(void **state)
{
    static const struct variant good = {0, WS__V_OK, NULL};
    struct t_case *c = new_case(VARIANTS);
    struct ws__measure *m = open_or_skip(c);

    (void)state;
    judge(m, &good);
    for (size_t i = 0; i < WS_COUNT(variants); i++)
        judge(m, &variants[i]);
    judge(m, &good);
    ws__measure_close(m);
    t_case_free(c);
}

/* The same through builders: they meet the crash and the hang first. */
static void bad_builds_ahead(void **state)
{
    static const struct variant known[] = {{1, WS__V_BUILD, "nonsense"},
                                           {4, WS__V_CRASH,
                                            "the worker ended in"},
                                           {0, WS__V_OK, NULL}};
    struct t_case *c = new_case(VARIANTS);
    struct ws__measure *m = open_or_skip(c);
    struct ws__evaluator ev = ws__measure_evaluator(m);
    struct ws__question q[WS_COUNT(known)];
    long opens;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(known); i++)
        q[i] = t_question(1, known[i].v, 0);
    assert_int_equal(ev.ops->prefetch(ev.self, q, WS_COUNT(known)), 0);
    opens = t_script.opens;
    for (size_t i = 0; i < WS_COUNT(known); i++)
        judge(m, &known[i]);
    assert_int_equal(t_script.opens, opens); /* the timing device lives on */
    ws__measure_close(m);
    t_case_free(c);
}

static void too_much_memory(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct t_case *c = new_case(VARIANTS);
    struct ws__measure *m = open_or_skip(c);
    struct ws__trial t[2];

    (void)state;
    c->kernel.nscratch = 1;
    c->kernel.scratch[0].name = "S";
    c->kernel.scratch[0].bytes = t_expr(c, "2 ** 39");
    assert_int_equal(t_answer(m, &q, t), 0);
    assert_int_equal(t[0].verdict, WS__V_FILTERED);
    T_ASSERT_HAS(t[0].reason, "'S' takes 5497559");
    t_clear(ctx, t);
    c->kernel.nscratch = 0;
    q.a.config.at[0] = 12; /* 64 MB of local memory, not declared */
    assert_int_equal(t_answer(m, &q, t), 0);
    assert_true(t[0].verdict != WS__V_OK && t[0].verdict != WS__V_NONE);
    t_clear(ctx, t);
    judge(m, &(struct variant){0, WS__V_OK, NULL});
    ws__measure_close(m);
    t_case_free(c);
}

/* Rows with gaps between them: writing into a gap is wrong. */
#define ROWS                                                                   \
    "__kernel void k(__global const float *A, __global float *C, int N)\n"     \
    "{\n"                                                                      \
    "    int i = get_global_id(0);\n"                                          \
    "    for (int r = 0; r < 4; r++) {\n"                                      \
    "        C[r * 2 * N + i] = 2.0f * A[r * 2 * N + i];\n"                    \
    "#if V == 1\n"                                                             \
    "        if (r == 2) C[r * 2 * N + N + i] = 0.0f;\n"                       \
    "#endif\n"                                                                 \
    "    }\n"                                                                  \
    "}\n"

static void gaps(void **state)
{
    struct t_case *c = new_case(ROWS);
    struct ws__measure *m;

    (void)state;
    for (int t = 0; t < 2; t++) {
        c->op.tensor[t].ndim = 2;
        c->op.tensor[t].dim[1] = c->op.tensor[t].dim[0];
        c->op.tensor[t].dim[0] = t_expr(c, "4");
        c->op.tensor[t].stride[0] = t_expr(c, "2 * N");
    }
    m = open_or_skip(c);
    judge(m, &(struct variant){0, WS__V_OK, NULL});
    judge(m, &(struct variant){1, WS__V_WRONG,
                               "writes between the elements of 'C'"});
    ws__measure_close(m);
    t_case_free(c);
}

/* Module-scope variables: right for as long as it is checked, then wrong; and
 * one that keeps its first result. Where the driver has none of them they do
 * not build, which is as good. */
#define STATEFUL                                                               \
    "__global int calls[4096];\n"                                              \
    "__global float kept[4096];\n"                                             \
    "__kernel void k(__global const float *A, __global float *C, int N)\n"     \
    "{\n"                                                                      \
    "    int i = get_global_id(0);\n"                                          \
    "    int n = calls[i]++;\n"                                                \
    "#if V == 1\n"                                                             \
    "    C[i] = n < 6 ? 2.0f * A[i] : A[i];\n"                                 \
    "#else\n"                                                                  \
    "    if (n == 1) kept[i] = 2.0f * A[i];\n"                                 \
    "    C[i] = n > 1 ? kept[i] : 2.0f * A[i];\n"                              \
    "#endif\n"                                                                 \
    "}\n"

static void module_state(void **state)
{
    static const char *option[] = {"-cl-std=CL2.0"};
    struct t_case *c = new_case(STATEFUL);
    struct ws__measure *m = open_or_skip(c);

    (void)state;
    c->kernel.option = option;
    c->kernel.noption = 1;
    for (int v = 1; v < 3; v++) {
        struct ws__question q = t_question(1, v, 0);
        struct ws__trial t[2];

        q.effort = WS__NORMAL; /* screening looks less closely */
        assert_int_equal(t_answer(m, &q, t), 0);
        print_message("# variant %d: %s: %.200s\n", v,
                      ws__verdict_key(t[0].verdict),
                      t[0].reason ? t[0].reason : "");
        assert_true(t[0].verdict == WS__V_CHEAT || t[0].verdict == WS__V_BUILD);
        t_clear(ctx, t);
    }
    ws__measure_close(m);
    t_case_free(c);
}

/* Keeps results in local memory, which this driver does not clear, with a mark
 * made of a few inputs; computes unless the outputs hold the poison that timing
 * was once known by, or (V 2) hold anything but the first word of checking. */
#define MEMORY                                                                 \
    "__kernel void k(__global float *A, __global float *C, int N)\n"           \
    "{\n"                                                                      \
    "    __local float kept[64 * 64];\n"                                       \
    "    __local uint mark[64];\n"                                             \
    "    int i = get_global_id(0), l = get_local_id(0);\n"                     \
    "    int g = get_group_id(0);\n"                                           \
    "    uint was = as_uint(C[i]);\n"                                          \
    "    uint now = as_uint(A[1]) * 33u + as_uint(A[N - 1]) + N;\n"            \
    "#if V == 1\n"                                                             \
    "    if (was == 0x5a5a5a5au && mark[g] == now) {\n"                        \
    "#else\n"                                                                  \
    "    if (was != 0xffffffffu && mark[g] == now) {\n"                        \
    "#endif\n"                                                                 \
    "        C[i] = kept[g * 64 + l];\n"                                       \
    "        return;\n"                                                        \
    "    }\n"                                                                  \
    "    float x = 0;\n"                                                       \
    "    for (int n = 0; n < 999; n++) x += A[(i + n) % N] * 1e-30f;\n"        \
    "    C[i] = kept[g * 64 + l] = 2.0f * A[i] + x * 0.0f;\n"                  \
    "    if (l == 63) mark[g] = now;\n"                                        \
    "}\n"

static void kept_in_local_memory(void **state)
{
    struct t_case *c = new_case(MEMORY);
    struct ws__measure *m = open_or_skip(c);

    (void)state;
    for (int i = 0; i < 12; i++) {
        struct ws__question q = t_question(1, i < 6 ? 1 : 2, 1);
        struct ws__trial t[2];

        m->opts.seed = (uint64_t)i;
        m->opts.cache = i % 2 ? WS__CACHE_COLD : WS__CACHE_WARM;
        q.effort = (enum ws__effort)(i % 3);
        assert_int_equal(t_answer(m, &q, t), 0);
        if (t[0].verdict != WS__V_CHEAT)
            fail_msg("run %d: verdict %s", i, ws__verdict_key(t[0].verdict));
        t_clear(ctx, t);
    }
    ws__measure_close(m);
    t_case_free(c);
}

/* Scratch that survives a launch: V 1 keeps results there under a mark made of
 * a few inputs, V 2 clears it first. */
#define KEEPS_SCRATCH                                                          \
    "__kernel void k(__global const float *A, __global float *C, int N,\n"     \
    "                __global float *S)\n"                                     \
    "{\n"                                                                      \
    "    int i = get_global_id(0);\n"                                          \
    "#if V == 2\n"                                                             \
    "    S[i] = 0.0f;\n"                                                       \
    "#endif\n"                                                                 \
    "    C[i] = S[i] == 12345.0f ? S[N + i] : 2.0f * A[i];\n"                  \
    "    S[N + i] = C[i];\n"                                                   \
    "    S[i] = 12345.0f;\n"                                                   \
    "}\n"

static void kept_in_scratch(void **state)
{
    struct t_case *c = new_case(KEEPS_SCRATCH);
    struct ws__launch *l = &c->kernel.launch[0];
    struct ws__measure *m;

    (void)state;
    c->kernel.nscratch = 1;
    c->kernel.scratch[0].name = "S";
    c->kernel.scratch[0].bytes = t_expr(c, "8 * N");
    l->narg = 4;
    l->arg[3].kind = WS__ARG_SCRATCH;
    m = open_or_skip(c);
    judge(m, &(struct variant){1, WS__V_CHEAT, "over old outputs and scratch"});
    judge(m, &(struct variant){2, WS__V_OK, NULL});
    c->kernel.scratch[0].zero = true; /* then nothing is kept */
    judge(m, &(struct variant){1, WS__V_OK, NULL});
    ws__measure_close(m);
    t_case_free(c);
}

/* Local memory of which V 1 sets a half and sums all, V 2 sets all. */
#define HALF_SET                                                               \
    "__kernel void k(__global const float *A, __global float *C, int N)\n"     \
    "{\n"                                                                      \
    "    __local float s[128];\n"                                              \
    "    int i = get_global_id(0), l = get_local_id(0);\n"                     \
    "    s[2 * l] = A[i] * 2.0f;\n"                                            \
    "#if V == 2\n"                                                             \
    "    s[2 * l + 1] = 0.0f;\n"                                               \
    "#endif\n"                                                                 \
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"                                      \
    "    C[i] = s[2 * l] + s[(2 * l + 1) % 128];\n"                            \
    "}\n"

static void unset_local_memory(void **state)
{
    struct t_case *c = new_case(HALF_SET);
    struct ws__measure *m = open_or_skip(c);

    (void)state;
    judge(m, &(struct variant){2, WS__V_OK, NULL});
    assert_true(m->dirt.module && !m->dirt.none);
    judge(m, &(struct variant){1, WS__V_WRONG, "NaN"});
    ws__measure_close(m);
    t_case_free(c);
}

/* What a wrong result looks like. */
#define KINDS                                                                  \
    "__kernel void k(__global const float *A, __global float *C, int N)\n"     \
    "{\n"                                                                      \
    "    int i = get_global_id(0);\n"                                          \
    "#if V == 1\n"                                                             \
    "    C[i] = 0.0f;\n"                                                       \
    "#elif V == 2\n"                                                           \
    "    C[i] = 0.25f;\n"                                                      \
    "#elif V == 3\n"                                                           \
    "    C[i] = A[i];\n"                                                       \
    "#elif V == 4\n"                                                           \
    "    C[i] = as_float(as_uint(2.0f * A[i]) & 0xffff0000u);\n"               \
    "#elif V == 5\n"                                                           \
    "    if (i < 0) C[i] = A[i];\n"                                            \
    "#else\n"                                                                  \
    "    C[i] = i == 9 ? 0.0f : 2.0f * A[i];\n"                                \
    "#endif\n"                                                                 \
    "}\n"

static void kinds(void **state)
{
    static const struct variant kind[] = {
        {1, WS__V_WRONG, "; all zero"},
        {2, WS__V_WRONG, "; the same value everywhere"},
        {3, WS__V_WRONG, "; a copy of 'A'"},
        {4, WS__V_WRONG, "lower precision, or small terms left out"},
        {5, WS__V_WRONG, "; nothing was written"},
        {6, WS__V_WRONG, "1 of 64 elements of 'C' wrong; worst at [9]"},
    };
    struct t_case *c = new_case(KINDS);
    struct ws__measure *m = open_or_skip(c);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(kind); i++)
        judge(m, &kind[i]);
    ws__measure_close(m);
    t_case_free(c);
}

/* Kills all children, twice: workers are the only ones. */
static void kill_workers(struct t_script *s, struct ws__device *d,
                         const struct ws__dev_batch *b,
                         struct ws__dev_sample *x, size_t n)
{
    char path[64], list[512];
    FILE *f;

    (void)d;
    (void)b;
    (void)x;
    (void)n;
    if (s->runs != 2 && s->runs != 5)
        return;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "r");
    if (!f)
        return;
    s->last_fills += fgets(list, sizeof(list), f) != NULL;
    fclose(f);
    for (char *p = list, *end; s->last_fills; p = end) {
        long pid = strtol(p, &end, 10);

        if (end == p)
            break;
        kill((pid_t)pid, SIGKILL);
    }
}

static void killed_from_outside(void **state)
{
    struct t_case *c = new_case(VARIANTS);
    struct ws__measure *m = open_or_skip(c);
    struct ws__question q = t_question(1, 0, 0);
    struct ws__trial t[2];

    (void)state;
    t_script.after_run = kill_workers;
    assert_int_equal(t_answer(m, &q, t), 0);
    if (t[0].verdict != WS__V_OK)
        fail_msg("%s", t[0].reason);
    assert_true(!t_script.last_fills || t_script.opens == 3);
    t_clear(ctx, t);
    ws__measure_close(m);
    t_case_free(c);
}

static void pairs_and_cold(void **state)
{
    struct t_case *c = new_case(VARIANTS);
    struct ws__measure *m = open_or_skip(c);
    struct ws__question q = t_question(1, 0, 1);
    struct ws__trial t[2];
    struct ws__ratio r;

    (void)state;
    m->opts.cache = WS__CACHE_COLD;
    q.pair = true;
    q.b.config.at[0] = 13; /* the same text after preprocessing */
    assert_int_equal(t_answer(m, &q, t), 0);
    for (int i = 0; i < 2; i++) {
        if (t[i].verdict != WS__V_OK)
            fail_msg("%s", t[i].reason);
        assert_int_equal(t[i].inner, 1);
        assert_true(t[i].nsample >= 20);
    }
    assert_int_equal(t[0].nsample, t[1].nsample);
    assert_int_equal(ws__ratio_bootstrap(ctx, t[0].sample_ns, t[0].nsample,
                                         t[1].sample_ns, t[1].nsample, true, 1,
                                         &r),
                     0);
    print_message("# ratio of equals %.4f [%.4f, %.4f], %zu samples\n", r.value,
                  r.lo, r.hi, t[0].nsample);
    t_clear(ctx, t);
    ws__measure_close(m);
    t_case_free(c);
}

/* While another process has the device nothing is measured, nor is anybody
 * to blame. */
static void waits_for_its_turn(void **state)
{
    struct t_case *c = new_case(VARIANTS);
    struct ws__question q = t_question(1, 0, 0);
    struct ws__trial t[2];
    struct ws__turn other;
    char dir[] = "/tmp/t_turns.XXXXXX";
    struct ws__measure *m;

    (void)state;
    assert_non_null(mkdtemp(dir));
    ws__free(ctx, ctx->turn_dir);
    ctx->turn_dir = ws__strdup(ctx, dir);
    m = open_or_skip(c);
    if (!m)
        return;
    ws__turn_open(ctx, dir, ws__measure_device(m)->place, &other);
    assert_int_equal(ws__turn_take(ctx, &other), 0);
    ws_ctx_set_timeout(ctx, 100000000);
    assert_int_equal(t_answer(m, &q, t), WS_ETIMEOUT);
    assert_int_equal(t[0].verdict, WS__V_NONE);
    ws_ctx_set_timeout(ctx, 0);
    ws__turn_give(&other);
    t_clear(ctx, t);
    assert_int_equal(t_answer(m, &q, t), 0);
    assert_int_equal(t[0].verdict, WS__V_OK);
    assert_int_equal(ws__turn_take(ctx, &other), 0); /* given back */
    ws__turn_close(&other);
    t_clear(ctx, t);
    ws__measure_close(m);
    t_case_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bad_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_builds_ahead, setup, teardown),
        cmocka_unit_test_setup_teardown(too_much_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(gaps, setup, teardown),
        cmocka_unit_test_setup_teardown(module_state, setup, teardown),
        cmocka_unit_test_setup_teardown(kept_in_local_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(kept_in_scratch, setup, teardown),
        cmocka_unit_test_setup_teardown(unset_local_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(killed_from_outside, setup, teardown),
        cmocka_unit_test_setup_teardown(pairs_and_cold, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_for_its_turn, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
