/*
 * t_measure_proof.c: what a tune is about to choose is run on shapes and
 * values that nobody asked for: which shapes these are, who is caught there
 * and with which words, who is not, and that it is done once a config.
 */
#include "measure/t_measure_fixture.h"

#include <unistd.h>

static struct ws_ctx *ctx;
static char cache_dir[600];

static int setup(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .turn_dir = getenv("WAVESMITH_TURNS"),
                            .cache_dir = cache_dir};
    ssize_t n = readlink("/proc/self/exe", cache_dir, sizeof(cache_dir) - 8);

    (void)state;
    if (n <= 0)
        return -1;
    strcpy(cache_dir + n, ".cache");
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

/* --- shapes ----------------------------------------------------------------
 */

static void shapes_are_hidden(void **state)
{
    struct t_case *c = t_case_new(ctx, "");
    struct ws__hidden *h = calloc(2, sizeof(*h));
    struct ws__measure m = {.ctx = ctx};
    bool one = false, odd = false;

    (void)state;
    assert_true(c && h);
    m.op = &c->op;
    m.workload = c->workload;
    m.nworkload = 2;
    assert_int_equal(ws__hidden_shapes(&m, 1, &h[0]), 0);
    assert_int_equal(h[0].n, WS__HIDDEN_SHAPES);
    for (size_t i = 0; i < h[0].n; i++) {
        int64_t n = h[0].shape[i].axis[0];

        assert_true(n > 64 && n < 4096); /* the hull, without its ends */
        assert_true(!i || h[0].cost[i] >= h[0].cost[i - 1]);
        odd = odd || n % 2;
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(h[0].shape[k].axis[0], n);
    }
    assert_true(odd);
    assert_int_equal(ws__hidden_shapes(&m, 1, &h[1]), 0);
    assert_memory_equal(h[0].cost, h[1].cost, sizeof(h[0].cost));
    assert_int_equal(ws__hidden_shapes(&m, 2, &h[1]), 0);
    assert_memory_not_equal(h[0].cost, h[1].cost, sizeof(h[0].cost));
    c->op.axis[0].lo = 1;
    c->op.axis[0].hi = 70;
    c->workload[1].axis[0] = 70;
    assert_int_equal(ws__hidden_shapes(&m, 1, &h[0]), 0);
    for (size_t i = 0; i < h[0].n; i++) {
        assert_in_range(h[0].shape[i].axis[0], 1, 70);
        one = one || h[0].shape[i].axis[0] == 1;
    }
    assert_true(one);
    free(h);
    t_case_free(c);
}

/* Of axes that an equation binds, none is left behind. */
static void equations_hold(void **state)
{
    struct t_case *c = t_case_new(ctx, "");
    struct ws__scope scope = {.strings = &c->strings};
    struct ws__loc loc = {"test", 1, 1};
    struct ws__measure m = {.ctx = ctx, .op = &c->op};
    struct ws__hidden *h = calloc(1, sizeof(*h));
    struct ws__expr *e;

    (void)state;
    assert_true(c && h);
    assert_int_equal(ws__scope_add(ctx, &scope, "N", WS__INT, NULL), 0);
    assert_int_equal(ws__scope_add(ctx, &scope, "R", WS__INT, NULL), 0);
    assert_int_equal(ws__expr_compile(ctx, &c->arena, "R == N + 1", &loc,
                                      &scope, -1, &e),
                     0);
    c->op.axis[1].name = "R";
    c->op.naxis = 2;
    c->op.require = &e;
    c->op.nrequire = 1;
    c->workload[0].axis[1] = 65;
    c->workload[1].axis[1] = 4097;
    m.workload = c->workload;
    m.nworkload = 2;
    assert_int_equal(ws__hidden_shapes(&m, 1, h), 0);
    assert_true(h->n > 10);
    for (size_t i = 0; i < h->n; i++)
        assert_int_equal(h->shape[i].axis[1], h->shape[i].axis[0] + 1);
    free(h);
    t_case_free(c);
}

/* --- candidates ------------------------------------------------------------
 */

#define SOURCE                                                                 \
    "__kernel void k(__global float *A, __global float *C, int N)\n"           \
    "{\n"                                                                      \
    "    int i = get_global_id(0);\n"                                          \
    "    if (i >= N) return;\n"                                                \
    "#if V == 1\n" /* made for the sizes that were asked for */                \
    "    C[i] = N == 64 || N == 4096 ? 2.0f * A[i] : 0.0f;\n"                  \
    "#elif V == 2\n" /* no tail */                                             \
    "    if (i < N / 32 * 32) C[i] = 2.0f * A[i];\n"                           \
    "#elif V == 3\n" /* normal deviates are not that large */                  \
    "    C[i] = 2.0f * clamp(A[i], -40.0f, 40.0f);\n"                          \
    "#elif V == 4\n" /* nor exactly 0 */                                       \
    "    C[i] = A[i] == 0.0f ? 1.0f : 2.0f * A[i];\n"                          \
    "#elif V == 5\n" /* writes outside there */                                \
    "    C[i] = 2.0f * A[i];\n"                                                \
    "    if (N % 64 && i == 0) C[N + 1] = 1.0f;\n"                             \
    "#else\n"                                                                  \
    "    C[i] = 2.0f * A[i];\n"                                                \
    "#endif\n"                                                                 \
    "}\n"

static const struct variant {
    int v;
    enum ws__verdict verdict;
    enum ws__gate gate; /* that failed */
    const char *words;
} variants[] = {
    {0, WS__V_OK, WS__NGATE, NULL},
    {1, WS__V_WRONG, WS__GATE_SHAPES, "not on another (N="},
    {2, WS__V_WRONG, WS__GATE_SHAPES, "not written"},
    {3, WS__V_WRONG, WS__GATE_VALUES, "not on 'huge'"},
    {4, WS__V_WRONG, WS__GATE_VALUES, "not on 'zeros'"},
    {5, WS__V_WRONG, WS__GATE_SHAPES, "writes outside of 'C'"},
};

static struct t_case *new_case(void)
{
    struct t_case *c = t_case_new(ctx, SOURCE);
    struct ws__launch *l = &c->kernel.launch[0];

    assert_non_null(c);
    c->kernel.dialect = WS__DIALECT_OPENCL;
    l->narg = 3;
    l->arg[2].kind = WS__ARG_VALUE;
    l->arg[2].dtype = WS__DT_I32;
    l->arg[2].expr = t_expr(c, "N");
    return c;
}

static struct ws__measure *open_or_skip(struct t_case *c)
{
    static const struct ws__measure_opts opts = {.builders = 1,
                                                 .cache = WS__CACHE_WARM,
                                                 .seed = 3};
    struct ws__measure *m = NULL;
    int rc = t_measure_open(c, &opts, &m);

    if (rc == WS_ENODEVICE || rc == WS_ENOTSUP) {
        t_case_free(c);
        print_message("# no OpenCL device\n");
        skip();
    }
    assert_int_equal(rc, 0);
    return m;
}

static void ask(struct ws__measure *m, int v, struct ws__trial t[2])
{
    struct ws__question q = t_question(1, v, 0);

    q.want = WS__WANT_BUILD | WS__WANT_VERDICT | WS__WANT_PROOF;
    if (t_answer(m, &q, t) < 0)
        fail_msg("variant %d: %s", v, ctx->err.message);
}

static void expect(struct ws__measure *m, const struct variant *x)
{
    struct ws__trial t[2];

    ask(m, x->v, t);
    if (t[0].verdict != x->verdict)
        fail_msg("variant %d: verdict %s: %s", x->v,
                 ws__verdict_key(t[0].verdict), t[0].reason ? t[0].reason : "");
    if (x->words)
        T_ASSERT_HAS(t[0].reason, x->words);
    assert_true(t[0].did & WS__WANT_PROOF);
    for (int g = WS__GATE_VALUES; g <= WS__GATE_SHAPES; g++) {
        enum ws__gate_end end = ws__gate_end(&t[0], (enum ws__gate)g);

        if (x->gate == (enum ws__gate)g)
            assert_int_equal(end, WS__GATE_FAILED);
        else if (x->gate == WS__NGATE)
            assert_int_equal(end, WS__GATE_PASSED);
    }
    t_clear(ctx, t);
}

static void who_is_caught(void **state)
{
    struct t_case *c = new_case();
    struct ws__measure *m = open_or_skip(c);
    struct ws__trial t[2];
    long runs;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(variants); i++)
        expect(m, &variants[i]);
    /* Nothing is run twice: one verdict's reference, and no cost. */
    runs = t_reference_runs;
    ask(m, 1, t);
    assert_int_equal(t[0].verdict, WS__V_WRONG);
    assert_int_equal(ws__gate_end(&t[0], WS__GATE_SHAPES), WS__GATE_FAILED);
    assert_int_equal(t[0].gate_ns[WS__GATE_SHAPES], 0);
    assert_true(t_reference_runs - runs <= 1);
    t_clear(ctx, t);
    ws__measure_close(m);
    t_case_free(c);
}

/* A kernel that says what it is made for is held to that. */
static void ranges_are_believed(void **state)
{
    struct t_case *c = new_case();
    struct ws__measure *m;
    struct ws__trial t[2];

    (void)state;
    c->kernel.range_lo[0] = c->kernel.range_hi[0] = 64;
    m = open_or_skip(c);
    ask(m, 1, t);
    assert_int_equal(t[0].verdict, WS__V_OK);
    assert_int_equal(ws__gate_end(&t[0], WS__GATE_SHAPES), WS__GATE_ABSENT);
    assert_int_equal(ws__gate_end(&t[0], WS__GATE_VALUES), WS__GATE_PASSED);
    t_clear(ctx, t);
    ws__measure_close(m);
    t_case_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_hidden),
        cmocka_unit_test(equations_hold),
        cmocka_unit_test(who_is_caught),
        cmocka_unit_test(ranges_are_believed),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
