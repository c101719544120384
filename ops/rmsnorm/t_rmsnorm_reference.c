/*
 * t_rmsnorm_reference.c: the reference of RMS normalisation itself, against
 * numbers known by hand and against the plain formula, on sizes around its
 * runs and lanes, on rows with gaps; the same bits for any number of threads;
 * mutants that say where they do not apply.
 */
#include "base/t_base.h"

#include <math.h>

#include "reference/reference.h"

struct norm_case {
    struct ws__ref_tensor tensor[3];
    struct ws__ref_constant eps;
    struct ws__ref_call call;
    double *x, *w, *y;
    void *stored[2];
};

/* Rows of `h` elements, each `gap` elements behind the end of the last. */
static void make(struct norm_case *g, enum ws__dtype t, int64_t b, int64_t h,
                 int64_t gap)
{
    const size_t count[2] = {(size_t)(b * (h + gap)), (size_t)h};
    double **v[2] = {&g->x, &g->w};

    memset(g, 0, sizeof(*g));
    g->y = malloc((size_t)(b * h) * sizeof(double));
    assert_non_null(g->y);
    g->tensor[0] = (struct ws__ref_tensor){.ndim = 2,
                                           .dim = {b, h},
                                           .stride = {h + gap, 1},
                                           .elements = (uint64_t)(b * h)};
    g->tensor[1] = (struct ws__ref_tensor){.ndim = 1,
                                           .dim = {h},
                                           .stride = {1},
                                           .elements = (uint64_t)h};
    g->tensor[2] = g->tensor[0];
    g->tensor[2].stride[0] = h;
    for (size_t i = 0; i < 2; i++) {
        *v[i] = malloc(count[i] * sizeof(double));
        g->stored[i] = malloc(count[i] * ws__dtype_bytes(t));
        assert_non_null(*v[i]);
        assert_non_null(g->stored[i]);
        for (size_t j = 0; j < count[i]; j++)
            (*v[i])[j] = (double)(ws__rng_at(i + 1, j) % 1000) / 500 - 0.8;
        ws__dtype_store(t, *v[i], g->stored[i], count[i]);
        ws__dtype_load(t, g->stored[i], *v[i], count[i]);
        g->tensor[i].data = g->stored[i];
    }
    for (size_t i = 0; i < 3; i++)
        g->tensor[i].dtype = t;
    g->tensor[2].result = g->y;
    g->eps = (struct ws__ref_constant){"EPS", 1e-5};
    g->call.tensor = g->tensor;
    g->call.ntensor = 3;
    g->call.constant = &g->eps;
    g->call.nconstant = 1;
    g->call.threads = 1;
    g->call.ctx = t_ctx(NULL);
}

static void drop(struct norm_case *g)
{
    free(g->x);
    free(g->w);
    free(g->y);
    free(g->stored[0]);
    free(g->stored[1]);
    ws_ctx_free(g->call.ctx);
}

static const struct ws__native_reference *rmsnorm(void)
{
    const struct ws__native_reference *n = ws__native_find("rmsnorm");

    assert_non_null(n);
    return n;
}

static void test_by_hand(void **state)
{
    static const float x[] = {3, 4, 0, 0, 1, 1, -1, 1};
    static const float w[] = {1, 2, 3, 4};
    /* Means of squares 25/4 and 1; with EPS = 0 the roots are 5/2 and 1. */
    static const double want[] = {1.2, 3.2, 0, 0, 1, 2, -3, 4};
    struct norm_case g;

    (void)state;
    make(&g, WS__DT_F32, 2, 4, 0);
    g.eps.value = 0;
    g.tensor[0].data = x;
    g.tensor[1].data = w;
    assert_int_equal(rmsnorm()->run(&g.call), 0);
    for (size_t i = 0; i < 8; i++)
        assert_true(fabs(g.y[i] - want[i]) < 1e-15);
    /* EPS inside of the root: 25/4 + 11/4 = 9. */
    g.eps.value = 2.75;
    assert_int_equal(rmsnorm()->run(&g.call), 0);
    assert_true(fabs(g.y[0] - 1) < 1e-15);
    drop(&g);
}

static void test_formula(void **state)
{
    static const int64_t size[][3] = {{1, 1, 0},    {3, 7, 0},    {2, 8, 5},
                                      {5, 9, 3},    {4, 1023, 0}, {3, 1024, 1},
                                      {2, 1025, 0}, {1, 3000, 7}};
    static const enum ws__dtype types[] = {WS__DT_F32, WS__DT_F16, WS__DT_BF16};

    (void)state;
    for (size_t s = 0; s < WS_COUNT(size); s++) {
        for (size_t t = 0; t < WS_COUNT(types); t++) {
            const int64_t b = size[s][0], h = size[s][1], gap = size[s][2];
            struct norm_case g;

            make(&g, types[t], b, h, gap);
            g.call.threads = 1 + (unsigned)t;
            assert_int_equal(rmsnorm()->run(&g.call), 0);
            for (int64_t i = 0; i < b; i++) {
                const double *x = g.x + i * (h + gap);
                long double sum = 0;

                for (int64_t j = 0; j < h; j++)
                    sum += (long double)x[j] * x[j];
                for (int64_t j = 0; j < h; j++) {
                    long double want = x[j] / sqrtl(sum / h + 1e-5L) * g.w[j];

                    assert_true(fabsl(g.y[i * h + j] - want) <=
                                1e-13L * fabsl(want));
                }
            }
            drop(&g);
        }
    }
}

static void test_threads(void **state)
{
    double first[37 * 130];
    struct norm_case g;

    (void)state;
    make(&g, WS__DT_F32, 37, 130, 0);
    for (unsigned threads = 1; threads < 6; threads++) {
        g.call.threads = threads;
        assert_int_equal(rmsnorm()->run(&g.call), 0);
        if (threads == 1)
            memcpy(first, g.y, sizeof(first));
        assert_memory_equal(first, g.y, sizeof(first));
    }
    drop(&g);
}

static void test_refusals(void **state)
{
    struct norm_case g;
    size_t refused = 0;

    (void)state;
    /* Elements near 1, rows of a whole number of tails and pads. */
    make(&g, WS__DT_BF16, 4, 512, 0);
    for (size_t i = 0; i < rmsnorm()->nmutant; i++) {
        int rc = rmsnorm()->mutant(&g.call, i);

        assert_true(rc == 0 || rc == WS_ENOTSUP);
        refused += rc == WS_ENOTSUP;
    }
    assert_int_equal(refused, 4); /* EPS twice, padding, tail */
    g.call.nconstant = 0;
    assert_int_equal(rmsnorm()->run(&g.call), WS_EREFERENCE);
    g.call.nconstant = 1;
    g.call.ntensor = 2;
    assert_int_equal(rmsnorm()->run(&g.call), WS_EREFERENCE);
    g.call.ntensor = 3;
    g.tensor[1].dim[0] = 511;
    assert_int_equal(rmsnorm()->run(&g.call), WS_EREFERENCE);
    drop(&g);
}

static int all_calls(struct ws_ctx *ctx, void *user)
{
    struct norm_case *g = user;
    struct ws__ref_call call = g->call;

    call.ctx = ctx;
    WS_TRY(rmsnorm()->run(&call));
    for (size_t i = 0; i < rmsnorm()->nmutant; i++) {
        int rc = rmsnorm()->mutant(&call, i);

        if (rc < 0 && rc != WS_ENOTSUP)
            return rc;
    }
    return 0;
}

static void test_torture(void **state)
{
    struct norm_case g;

    (void)state;
    make(&g, WS__DT_F32, 3, 70, 0);
    g.call.threads = 2;
    assert_true(t_torture(all_calls, &g) > 13);
    drop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand), cmocka_unit_test(test_formula),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
