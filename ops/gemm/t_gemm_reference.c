/*
 * t_gemm_reference.c: the reference of GEMM itself, against numbers known by
 * hand and against the plain triple loop, on sizes around its block sizes; the
 * same bits for any number of threads; mutants that say where they do not
 * apply.
 */
#include "base/t_base.h"

#include <math.h>

#include "reference/reference.h"

struct gemm_case {
    struct ws__ref_tensor tensor[3];
    struct ws__ref_call call;
    double *a, *w, *c;
    void *stored[2];
};

static void make(struct gemm_case *g, enum ws__dtype t, int64_t m, int64_t n,
                 int64_t k)
{
    const int64_t dim[3][2] = {{m, k}, {n, k}, {m, n}};
    double **v[2] = {&g->a, &g->w};

    memset(g, 0, sizeof(*g));
    g->c = malloc((size_t)(m * n) * sizeof(double));
    assert_non_null(g->c);
    for (size_t i = 0; i < 3; i++)
        g->tensor[i] = (struct ws__ref_tensor){
            .dtype = t,
            .ndim = 2,
            .dim = {dim[i][0], dim[i][1]},
            .stride = {dim[i][1], 1},
            .elements = (uint64_t)(dim[i][0] * dim[i][1]),
        };
    for (size_t i = 0; i < 2; i++) {
        size_t count = g->tensor[i].elements;

        *v[i] = malloc(count * sizeof(double));
        g->stored[i] = malloc(count * ws__dtype_bytes(t));
        assert_non_null(*v[i]);
        assert_non_null(g->stored[i]);
        for (size_t j = 0; j < count; j++) {
            /* Halves in [-4, 4): exact in every type, and so are the sums. */
            (*v[i])[j] = (double)(ws__rng_at(i + 1, j) % 16) / 2 - 4;
        }
        ws__dtype_store(t, *v[i], g->stored[i], count);
        g->tensor[i].data = g->stored[i];
    }
    g->tensor[2].result = g->c;
    g->call.tensor = g->tensor;
    g->call.ntensor = 3;
    g->call.threads = 1;
    g->call.ctx = t_ctx(NULL);
}

static void drop(struct gemm_case *g)
{
    free(g->a);
    free(g->w);
    free(g->c);
    free(g->stored[0]);
    free(g->stored[1]);
    ws_ctx_free(g->call.ctx);
}

static const struct ws__native_reference *gemm(void)
{
    const struct ws__native_reference *n = ws__native_find("gemm");

    assert_non_null(n);
    return n;
}

static void test_by_hand(void **state)
{
    static const float a[] = {1, 2, 3, -1, 0.5f, 4};
    static const float w[] = {1, 0, 0, 0, 1, 1};
    static const double want[] = {1, 5, -1, 4.5};
    struct gemm_case g;

    (void)state;
    make(&g, WS__DT_F32, 2, 2, 3);
    g.tensor[0].data = a;
    g.tensor[1].data = w;
    assert_int_equal(gemm()->run(&g.call), 0);
    for (size_t i = 0; i < 4; i++)
        assert_true(g.c[i] == want[i]);
    drop(&g);
}

static void test_loop(void **state)
{
    static const int64_t size[][3] = {{1, 1, 1},    {1, 7, 255},  {3, 8, 256},
                                      {4, 9, 257},  {5, 97, 513}, {6, 200, 64},
                                      {9, 31, 1030}};
    static const enum ws__dtype types[] = {WS__DT_F32, WS__DT_F16, WS__DT_BF16,
                                           WS__DT_F64};

    (void)state;
    for (size_t s = 0; s < WS_COUNT(size); s++) {
        for (size_t t = 0; t < WS_COUNT(types); t++) {
            const int64_t m = size[s][0], n = size[s][1], k = size[s][2];
            struct gemm_case g;

            make(&g, types[t], m, n, k);
            g.call.threads = 1 + (unsigned)t;
            assert_int_equal(gemm()->run(&g.call), 0);
            for (int64_t i = 0; i < m * n; i++) {
                double sum = 0;

                for (int64_t j = 0; j < k; j++)
                    sum += g.a[i / n * k + j] * g.w[i % n * k + j];
                assert_true(g.c[i] == sum);
            }
            drop(&g);
        }
    }
}

/* With values whose sums do round. */
static void test_threads(void **state)
{
    struct gemm_case g;
    double first[7 * 203];

    (void)state;
    make(&g, WS__DT_F32, 7, 203, 700);
    for (size_t i = 0; i < g.tensor[0].elements; i++)
        ((float *)g.stored[0])[i] = (float)(1.0 / (double)(i + 3));
    for (unsigned threads = 1; threads < 6; threads++) {
        g.call.threads = threads;
        assert_int_equal(gemm()->run(&g.call), 0);
        if (threads == 1)
            memcpy(first, g.c, sizeof(first));
        assert_memory_equal(first, g.c, sizeof(first));
    }
    drop(&g);
}

static void test_refusals(void **state)
{
    struct gemm_case g;
    size_t refused = 0;

    (void)state;
    make(&g, WS__DT_BF16, 4, 32, 64);
    for (size_t i = 0; i < gemm()->nmutant; i++) {
        int rc = gemm()->mutant(&g.call, i);

        assert_true(rc == 0 || rc == WS_ENOTSUP);
        refused += rc == WS_ENOTSUP;
    }
    assert_int_equal(refused, 6); /* two tails, operands, tf32, sums */
    g.call.ntensor = 2;
    assert_int_equal(gemm()->run(&g.call), WS_EREFERENCE);
    g.call.ntensor = 3;
    g.tensor[1].dim[1] = 63;
    assert_int_equal(gemm()->run(&g.call), WS_EREFERENCE);
    drop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
