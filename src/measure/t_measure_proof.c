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

#define AXES 3

/* A second and a third axis, and conditions on all. */
struct bound {
    const char *require[2];
    int64_t shape[2][AXES]; /* the workloads */
    bool (*holds)(const int64_t *v);
};

static bool product(const int64_t *v)
{
    return v[0] * v[1] == 2048;
}

static bool twice(const int64_t *v)
{
    return v[1] == 2 * v[0];
}

static bool whole(const int64_t *v)
{
    return v[2] % 64 == 0 && v[0] + v[1] == 100;
}

static bool sum(const int64_t *v)
{
    return v[2] == v[0] * v[1] && v[1] % 4 == 0;
}

static bool divides(const int64_t *v)
{
    return v[0] % v[1] == 0 && v[2] % 96 == 0;
}

static const struct bound bounds[] = {
    {{"N * R == 2048"}, {{64, 32, 7}, {16, 128, 7}}, product},
    {{"R == 2 * N"}, {{64, 128, 7}, {100, 200, 9}}, twice},
    {{"K % 64 == 0", "N + R == 100"}, {{40, 60, 256}, {50, 50, 512}}, whole},
    {{"K == N * R", "R % 4 == 0"}, {{16, 8, 128}, {32, 12, 384}}, sum},
    {{"N % R == 0", "K % 96 == 0"}, {{32, 8, 960}, {64, 4, 1920}}, divides},
};

static void bind(struct t_case *c, const struct bound *x, struct ws__expr **e)
{
    static const char *const name[AXES] = {"N", "R", "K"};
    struct ws__scope scope = {.strings = &c->strings};
    struct ws__loc loc = {"test", 1, 1};

    for (size_t a = 0; a < AXES; a++) {
        assert_int_equal(ws__scope_add(ctx, &scope, name[a], WS__INT, NULL), 0);
        c->op.axis[a] = c->op.axis[0];
        c->op.axis[a].name = name[a];
        c->op.axis[a].lo = 1;
        c->op.axis[a].hi = 2048;
        for (size_t w = 0; w < 2; w++)
            c->workload[w].axis[a] = x->shape[w][a];
    }
    c->op.naxis = AXES;
    c->op.require = e;
    for (c->op.nrequire = 0; c->op.nrequire < 2; c->op.nrequire++) {
        const char *text = x->require[c->op.nrequire];

        if (!text)
            break;
        assert_int_equal(ws__expr_compile(ctx, &c->arena, text, &loc, &scope,
                                          -1, &e[c->op.nrequire]),
                         0);
    }
}

/* Shapes are found inside them, of more than a few values of each axis. */
static void equations_are_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(bounds); i++) {
        struct t_case *c = t_case_new(ctx, "");
        struct ws__hidden *h = calloc(1, sizeof(*h));
        struct ws__measure m = {.ctx = ctx};
        struct ws__expr *e[2];
        size_t other = 0;

        assert_true(c && h);
        bind(c, &bounds[i], e);
        m.op = &c->op;
        m.workload = c->workload;
        m.nworkload = 2;
        assert_int_equal(ws__hidden_shapes(&m, 1, h), 0);
        if (h->n < 5)
            fail_msg("%s: %zu shapes", bounds[i].require[0], h->n);
        for (size_t k = 0; k < h->n; k++) {
            assert_true(bounds[i].holds(h->shape[k].axis));
            other += h->shape[k].axis[0] != h->shape[0].axis[0];
        }
        assert_true(other > 2);
        free(h);
        t_case_free(c);
    }
}

/* A candidate's own: inside its ranges and constraints, off its tiles, large.
 */
static void own_shapes(void **state)
{
    struct t_case *c = t_case_new(ctx, "");
    struct ws__hidden *h = calloc(1, sizeof(*h));
    struct ws__candidate who = {.kernel = 0};
    struct ws__measure m = {.ctx = ctx};
    struct ws__constraint even = {0};

    (void)state;
    assert_true(c && h);
    m.op = &c->op;
    m.kernel = &c->kernel;
    m.nkernel = 1;
    m.workload = c->workload;
    m.nworkload = 2;
    c->op.axis[0].lo = 1;
    c->op.axis[0].hi = 1 << 24;
    c->op.tolerance.kind = WS__TOL_AUTO;
    who.config.n = 1;
    who.config.at[0] = 13;
    for (uint64_t seed = 0; seed < 20; seed++) {
        int64_t n;

        assert_int_equal(ws__hidden_own(&m, &who, seed, WS__HIDDEN_TILE, h), 0);
        assert_int_equal(h->n, 1);
        n = h->shape[0].axis[0] % 13;
        assert_true(n == 1 || n == 12);
        assert_int_equal(ws__hidden_own(&m, &who, seed, WS__HIDDEN_LARGE, h),
                         0);
        assert_int_equal(h->n, 1);
        assert_true(h->cost[0] > (double)(1 << 24));
    }
    /* Small ones of the large third of the range, where there are such. */
    c->op.axis[0].hi = 1 << 15;
    for (uint64_t seed = 0; seed < 20; seed++) {
        assert_int_equal(ws__hidden_own(&m, &who, seed, WS__HIDDEN_SIZE, h), 0);
        assert_int_equal(h->n, 1);
        assert_in_range(h->shape[0].axis[0], 1 << 10, 1 << 15);
        assert_true(h->cost[0] <= (double)(1 << 18));
    }
    c->op.axis[0].hi = 1 << 24;
    /* Numbers for a tolerance are for sums as long as those asked for. */
    c->op.tolerance.kind = WS__TOL_EXPLICIT;
    for (uint64_t seed = 0; seed < 20; seed++) {
        assert_int_equal(ws__hidden_own(&m, &who, seed, WS__HIDDEN_SIZE, h), 0);
        assert_int_equal(h->n, 1);
        assert_in_range(h->shape[0].axis[0], 1, 4096);
    }
    assert_int_equal(ws__hidden_own(&m, &who, 1, WS__HIDDEN_LARGE, h), 0);
    assert_int_equal(h->n, 1);
    assert_in_range(h->shape[0].axis[0], 4096 - 63, 4096);
    /* Its ranges and what it requires of them. */
    even.expr = t_expr(c, "N % 32 == 0");
    c->kernel.constraint = &even;
    c->kernel.nconstraint = 1;
    c->kernel.range_lo[0] = 33;
    c->kernel.range_hi[0] = 200;
    for (int kind = 0; kind <= WS__HIDDEN_SIZE; kind++) {
        assert_int_equal(ws__hidden_own(&m, &who, 5, (enum ws__hidden_kind)kind,
                                        h),
                         0);
        assert_int_equal(h->n, 1);
        assert_in_range(h->shape[0].axis[0], 65, 192);
        assert_int_equal(h->shape[0].axis[0] % 32, 0);
    }
    c->kernel.range_lo[0] = c->kernel.range_hi[0] = 64;
    assert_int_equal(ws__hidden_own(&m, &who, 5, WS__HIDDEN_ANY, h), 0);
    assert_int_equal(h->n, 0);
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
    "#elif V == 6\n" /* knows its sizes, and takes values for granted there */ \
    "    C[i] = 2.0f * (N == 64 ? clamp(A[i], -30.0f, 30.0f) : A[i]);\n"       \
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
    {4, WS__V_WRONG, WS__GATE_VALUES, "not on 'ties'"},
    {5, WS__V_WRONG, WS__GATE_SHAPES, "writes outside of 'C'"},
    {6, WS__V_WRONG, WS__GATE_VALUES, "(N=64)"},
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

/* A kernel that says what it is made for is held to that: what it takes beside
 * the shapes that were asked for is tried, and nothing else. */
static const struct declared {
    int64_t lo, hi;
    const char *constraint;
    int v;
    enum ws__verdict verdict;
    enum ws__gate_end shapes;
} declared[] = {
    {64, 64, NULL, 1, WS__V_OK, WS__GATE_ABSENT},
    {60, 70, NULL, 0, WS__V_OK, WS__GATE_PASSED},
    {60, 70, NULL, 1, WS__V_WRONG, WS__GATE_FAILED},
    {0, 0, "N % 32 == 0", 2, WS__V_OK, WS__GATE_PASSED},
    {0, 0, "N % 32 == 0", 1, WS__V_WRONG, WS__GATE_FAILED},
    {0, 0, "N == 64", 1, WS__V_OK, WS__GATE_ABSENT},
};

static void ranges_are_believed(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(declared); i++) {
        const struct declared *x = &declared[i];
        struct t_case *c = new_case();
        struct ws__constraint only = {0};
        struct ws__measure *m;
        struct ws__trial t[2];

        c->kernel.range_lo[0] = x->lo;
        c->kernel.range_hi[0] = x->hi;
        if (x->constraint) {
            only.expr = t_expr(c, x->constraint);
            c->kernel.constraint = &only;
            c->kernel.nconstraint = 1;
        }
        m = open_or_skip(c);
        ask(m, x->v, t);
        if (t[0].verdict != x->verdict)
            fail_msg("case %zu: %s", i, t[0].reason ? t[0].reason : "right");
        assert_int_equal(ws__gate_end(&t[0], WS__GATE_SHAPES), x->shapes);
        if (x->shapes == WS__GATE_ABSENT)
            T_ASSERT_HAS(t[0].absent[WS__GATE_SHAPES], "no shape but those");
        if (x->verdict == WS__V_OK)
            assert_int_equal(ws__gate_end(&t[0], WS__GATE_VALUES),
                             WS__GATE_PASSED);
        t_clear(ctx, t);
        if (x->shapes == WS__GATE_ABSENT) { /* known by then, and said again */
            ask(m, x->v, t);
            T_ASSERT_HAS(t[0].absent[WS__GATE_SHAPES], "no shape but those");
            t_clear(ctx, t);
        }
        ws__measure_close(m);
        t_case_free(c);
    }
}

/* Nothing that a candidate is judged by is drawn before it was compiled: the
 * seed of its inputs follows from what the compiler made, shapes are drawn at
 * the first proof. */
static void drawn_after_compilation(void **state)
{
    struct t_case *c = new_case();
    struct ws__measure *m = open_or_skip(c);
    struct ws__question q = t_question(1, 0, 0);
    struct ws__trial t[2];
    uint64_t seed[3];

    (void)state;
    q.want = WS__WANT_BUILD;
    assert_true(t_answer(m, &q, t) >= 0);
    assert_int_equal(t[0].input_seed, 0); /* compiled, and none drawn */
    t_clear(ctx, t);
    for (int v = 0; v < 3; v++) {
        q = t_question(1, v == 2 ? 0 : v, 0);
        q.want = WS__WANT_BUILD | WS__WANT_VERDICT;
        assert_true(t_answer(m, &q, t) >= 0);
        seed[v] = t[0].input_seed;
        t_clear(ctx, t);
    }
    assert_true(seed[0] != seed[1] && seed[0] == seed[2]);
    assert_null(m->proof);
    ask(m, 0, t);
    assert_non_null(m->proof);
    t_clear(ctx, t);
    ws__measure_close(m);
    t_case_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_hidden),
        cmocka_unit_test(equations_hold),
        cmocka_unit_test(equations_are_kept),
        cmocka_unit_test(own_shapes),
        cmocka_unit_test(who_is_caught),
        cmocka_unit_test(ranges_are_believed),
        cmocka_unit_test(drawn_after_compilation),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
