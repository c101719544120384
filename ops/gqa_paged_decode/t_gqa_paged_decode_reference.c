/*
 * t_gqa_paged_decode_reference.c: the reference of paged attention itself,
 * against a case known by hand and against the plain formula; empty sequences;
 * page tables: what the generator promises, and that foreign ones are not
 * trusted; the same bits for any number of threads; mutants that say where
 * they do not apply.
 */
#include "base/t_base.h"

#include <math.h>

#include "reference/reference.h"

enum { Q, K, V, INDPTR, INDICES, SCALE, OUTPUT, LSE, NTENSOR };

struct decode_case {
    struct ws__ref_tensor tensor[NTENSOR];
    struct ws__ref_call call;
    double *value[3]; /* of q, k, v as they are stored */
    void *stored[3];
    int32_t *begin, *page;
    float scale;
    double *out, *lse;
};

static void shape(struct ws__ref_tensor *t, enum ws__dtype type, size_t ndim,
                  int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t dim[] = {a, b, c, d};

    *t = (struct ws__ref_tensor){.dtype = type, .ndim = ndim, .elements = 1};
    for (size_t i = ndim; i-- > 0;) {
        t->dim[i] = dim[i];
        t->stride[i] = (int64_t)t->elements;
        t->elements *= (uint64_t)dim[i];
    }
}

static void make(struct decode_case *g, enum ws__dtype t, int64_t batch,
                 int64_t heads, int64_t kv, int64_t dim, int64_t pages,
                 int64_t tokens)
{
    memset(g, 0, sizeof(*g));
    shape(&g->tensor[Q], t, 3, batch, heads, dim, 0);
    shape(&g->tensor[K], t, 4, pages, 1, kv, dim);
    shape(&g->tensor[V], t, 4, pages, 1, kv, dim);
    shape(&g->tensor[INDPTR], WS__DT_I32, 1, batch + 1, 0, 0, 0);
    shape(&g->tensor[INDICES], WS__DT_I32, 1, tokens, 0, 0, 0);
    shape(&g->tensor[SCALE], WS__DT_F32, 0, 0, 0, 0, 0);
    shape(&g->tensor[OUTPUT], t, 3, batch, heads, dim, 0);
    shape(&g->tensor[LSE], WS__DT_F32, 2, batch, heads, 0, 0);
    for (size_t i = 0; i < 3; i++) {
        size_t n = g->tensor[i].elements;

        g->value[i] = malloc(n * sizeof(double));
        g->stored[i] = malloc(n * ws__dtype_bytes(t));
        assert_true(g->value[i] && g->stored[i]);
        for (size_t j = 0; j < n; j++)
            g->value[i][j] = (double)(ws__rng_at(i + 1, j) % 2000) / 500 - 2;
        ws__dtype_store(t, g->value[i], g->stored[i], n);
        ws__dtype_load(t, g->stored[i], g->value[i], n);
        g->tensor[i].data = g->stored[i];
    }
    g->begin = calloc((size_t)batch + 1, sizeof(*g->begin));
    g->page = calloc((size_t)tokens, sizeof(*g->page));
    g->out = calloc(g->tensor[OUTPUT].elements, sizeof(double));
    g->lse = calloc(g->tensor[LSE].elements, sizeof(double));
    assert_true(g->begin && g->page && g->out && g->lse);
    g->scale = 0.25f;
    g->tensor[INDPTR].data = g->tensor[INDPTR].fill_data = g->begin;
    g->tensor[INDICES].data = g->tensor[INDICES].fill_data = g->page;
    g->tensor[SCALE].data = &g->scale;
    g->tensor[OUTPUT].result = g->out;
    g->tensor[LSE].result = g->lse;
    g->call.tensor = g->tensor;
    g->call.ntensor = NTENSOR;
    g->call.threads = 1;
    g->call.seed = 11;
    g->call.ctx = t_ctx(NULL);
}

static void drop(struct decode_case *g)
{
    for (size_t i = 0; i < 3; i++) {
        free(g->value[i]);
        free(g->stored[i]);
    }
    free(g->begin);
    free(g->page);
    free(g->out);
    free(g->lse);
    ws_ctx_free(g->call.ctx);
}

static const struct ws__native_reference *decode(void)
{
    const struct ws__native_reference *n = ws__native_find("gqa_paged_decode");

    assert_non_null(n);
    return n;
}

/* Two tokens in pages 2 and 0; logits ln 3 and 0 make weights 3/4 and 1/4. */
static void test_by_hand(void **state)
{
    static const float q[] = {1, 0}, k[] = {0, 5, 9, 9, 4.39444915467244f, 7};
    static const float v[] = {8, -4, 9, 9, 4, 0};
    struct decode_case g;

    (void)state;
    make(&g, WS__DT_F32, 2, 1, 1, 2, 3, 2);
    g.tensor[Q].dim[0] = 2;
    g.tensor[K].data = k;
    g.tensor[V].data = v;
    memcpy(g.stored[Q], q, sizeof(q));
    g.begin[1] = g.begin[2] = 2; /* the second sequence is empty */
    g.page[0] = 2;
    assert_int_equal(decode()->run(&g.call), 0);
    assert_true(fabs(g.out[0] - (0.75 * 4 + 0.25 * 8)) < 1e-7);
    assert_true(fabs(g.out[1] - 0.25 * -4) < 1e-7);
    assert_true(fabs(g.lse[0] - 2) < 1e-7); /* log2(3 + 1) */
    assert_true(g.out[2] == 0 && g.out[3] == 0);
    assert_true(isinf(g.lse[1]) && g.lse[1] < 0);
    drop(&g);
}

/* Head h of sequence b, token by token in long double. */
static void plain(const struct decode_case *g, int64_t b, int64_t h)
{
    int64_t heads = g->tensor[Q].dim[1], dim = g->tensor[Q].dim[2];
    int64_t kv = g->tensor[K].dim[2], kvh = h / (heads / kv);
    long double sum = 0, out[64] = {0};

    for (int32_t t = g->begin[b]; t < g->begin[b + 1]; t++) {
        const double *q = g->value[Q] + (b * heads + h) * dim;
        const double *k = g->value[K] + (g->page[t] * kv + kvh) * dim;
        const double *v = g->value[V] + (g->page[t] * kv + kvh) * dim;
        long double logit = 0;

        for (int64_t d = 0; d < dim; d++)
            logit += (long double)q[d] * k[d];
        logit = expl(logit * g->scale);
        sum += logit;
        for (int64_t d = 0; d < dim; d++)
            out[d] += logit * v[d];
    }
    for (int64_t d = 0; d < dim; d++) {
        long double want = sum > 0 ? out[d] / sum : 0;

        assert_true(fabsl(g->out[(b * heads + h) * dim + d] - want) < 1e-12L);
    }
    if (sum > 0)
        assert_true(fabsl(g->lse[b * heads + h] - log2l(sum)) < 1e-12L);
    else
        assert_true(isinf(g->lse[b * heads + h]));
}

static void test_formula(void **state)
{
    /* batch, heads, heads of keys, dim, pages, tokens */
    static const int64_t size[][6] = {{1, 1, 1, 3, 1, 1},
                                      {3, 8, 2, 16, 50, 40},
                                      {5, 4, 4, 7, 9, 3},
                                      {2, 6, 3, 33, 20, 70},
                                      {4, 12, 1, 64, 90, 90}};
    static const enum ws__dtype types[] = {WS__DT_F32, WS__DT_F16, WS__DT_BF16};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(size); i++) {
        for (size_t t = 0; t < WS_COUNT(types); t++) {
            const int64_t *s = size[i];
            struct decode_case g;

            make(&g, types[t], s[0], s[1], s[2], s[3], s[4], s[5]);
            g.call.threads = 1 + (unsigned)t;
            assert_int_equal(decode()->generate(&g.call), 0);
            assert_int_equal(decode()->run(&g.call), 0);
            for (int64_t b = 0; b < s[0]; b++)
                for (int64_t h = 0; h < s[1]; h++)
                    plain(&g, b, h);
            drop(&g);
        }
    }
}

/* Every token has a sequence and a page; which, the seed decides. */
static void check_table(const struct decode_case *g, int64_t batch,
                        int64_t pages, int64_t tokens)
{
    unsigned char *taken = calloc((size_t)pages, 1);

    assert_non_null(taken);
    assert_int_equal(g->begin[0], 0);
    assert_int_equal(g->begin[batch], tokens);
    for (int64_t b = 0; b < batch; b++)
        assert_true(g->begin[b + 1] - g->begin[b] >= (tokens >= batch));
    for (int64_t i = 0; i < tokens; i++) {
        assert_true(g->page[i] >= 0 && g->page[i] < pages);
        assert_true(pages < tokens || !taken[g->page[i]]);
        taken[g->page[i]] = 1;
    }
    free(taken);
}

static void test_tables(void **state)
{
    static const int64_t size[][3] = {{1, 1, 1},     {1, 17, 2},
                                      {7, 5, 3},     {16, 1070, 1020},
                                      {64, 200, 64}, {64, 61, 900}};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(size); i++) {
        const int64_t *s = size[i];
        size_t bytes = (size_t)s[2] * sizeof(int32_t), lengths = 0;
        struct decode_case g, other;

        make(&g, WS__DT_BF16, s[0], 2, 1, 2, s[1], s[2]);
        make(&other, WS__DT_BF16, s[0], 2, 1, 2, s[1], s[2]);
        for (uint64_t seed = 1; seed < 20; seed++) {
            g.call.seed = other.call.seed = seed;
            assert_int_equal(decode()->generate(&g.call), 0);
            check_table(&g, s[0], s[1], s[2]);
            assert_int_equal(decode()->generate(&other.call), 0);
            assert_memory_equal(g.page, other.page, bytes);
            other.call.seed = seed + 100;
            assert_int_equal(decode()->generate(&other.call), 0);
            assert_true(s[2] < 5 || memcmp(g.page, other.page, bytes));
        }
        for (int64_t b = 1; b < s[0]; b++)
            lengths += g.begin[b + 1] - g.begin[b] != g.begin[1];
        assert_true(s[2] < 2 * s[0] || s[0] == 1 || lengths);
        /* What is not asked for stays. */
        g.tensor[INDPTR].fill_data = NULL;
        memset(g.begin, 1, sizeof(*g.begin));
        assert_int_equal(decode()->generate(&g.call), 0);
        assert_int_equal(g.begin[0], 0x01010101);
        drop(&g);
        drop(&other);
    }
}

static void test_threads(void **state)
{
    double first[9 * 8 * 16], lse[9 * 8];
    struct decode_case g;

    (void)state;
    make(&g, WS__DT_F32, 9, 8, 2, 16, 300, 250);
    assert_int_equal(decode()->generate(&g.call), 0);
    for (unsigned threads = 1; threads < 6; threads++) {
        g.call.threads = threads;
        assert_int_equal(decode()->run(&g.call), 0);
        if (threads == 1) {
            memcpy(first, g.out, sizeof(first));
            memcpy(lse, g.lse, sizeof(lse));
        }
        assert_memory_equal(first, g.out, sizeof(first));
        assert_memory_equal(lse, g.lse, sizeof(lse));
    }
    drop(&g);
}

static void test_refusals(void **state)
{
    struct decode_case g;
    size_t refused = 0;

    (void)state;
    make(&g, WS__DT_BF16, 1, 4, 2, 8, 32, 32);
    for (int i = 0; i < 32; i++)
        g.page[i] = i;
    g.begin[1] = 32;
    for (size_t i = 0; i < decode()->nmutant; i++) {
        int rc = decode()->mutant(&g.call, i);

        assert_true(rc == 0 || rc == WS_ENOTSUP);
        refused += rc == WS_ENOTSUP;
    }
    assert_int_equal(refused, 4); /* tail, table, even, next query */
    g.page[31] = 32;
    assert_int_equal(decode()->run(&g.call), WS_EREFERENCE);
    assert_non_null(strstr(ws_ctx_error(g.call.ctx)->message, "page 32 of 32"));
    g.page[31] = -1;
    assert_int_equal(decode()->run(&g.call), WS_EREFERENCE);
    g.page[31] = 31;
    g.begin[1] = 31;
    assert_int_equal(decode()->run(&g.call), WS_EREFERENCE);
    g.begin[1] = 32;
    g.begin[0] = 33;
    assert_int_equal(decode()->run(&g.call), WS_EREFERENCE);
    g.begin[0] = 0;
    assert_int_equal(decode()->run(&g.call), 0);
    g.tensor[V].dim[3] = 7;
    assert_int_equal(decode()->run(&g.call), WS_EREFERENCE);
    assert_int_equal(decode()->generate(&g.call), WS_EREFERENCE);
    drop(&g);
}

static int all_calls(struct ws_ctx *ctx, void *user)
{
    struct decode_case *g = user;
    struct ws__ref_call call = g->call;

    call.ctx = ctx;
    WS_TRY(decode()->generate(&call));
    WS_TRY(decode()->run(&call));
    for (size_t i = 0; i < decode()->nmutant; i++) {
        int rc = decode()->mutant(&call, i);

        if (rc < 0 && rc != WS_ENOTSUP)
            return rc;
    }
    return 0;
}

static void test_torture(void **state)
{
    struct decode_case g;

    (void)state;
    make(&g, WS__DT_F32, 3, 4, 2, 8, 50, 40);
    g.call.threads = 2;
    assert_true(t_torture(all_calls, &g) > 14);
    drop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),  cmocka_unit_test(test_formula),
        cmocka_unit_test(test_tables),   cmocka_unit_test(test_threads),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
