/* t_touched.c: rows that an index names are counted once, on real values. */
#include "base/t_base.h"

#include "reference/refpriv.h"

struct world {
    struct ws__op op;
    struct ws__workload work;
    struct ws__instance in;
    struct ws__problem p;
    int32_t narrow[8];
    int64_t wide[8];
};

/* rows[10, 4] of float32, named by eight entries. */
static void make(struct world *w, enum ws__dtype index)
{
    memset(w, 0, sizeof(*w));
    w->op.ntensor = 2;
    w->op.touched[0] = 2;
    w->in.op = &w->op;
    w->in.workload = &w->work;
    w->in.shape[0] = (struct ws__tensor_shape){.ndim = 2,
                                               .dim = {10, 4},
                                               .stride = {4, 1},
                                               .dtype = WS__DT_F32,
                                               .elements = 40,
                                               .bytes = 160};
    w->in.shape[1] = (struct ws__tensor_shape){
        .ndim = 1, .dim = {8}, .stride = {1}, .dtype = index, .elements = 8};
    w->in.bytes = 1000;
    w->p.in = &w->in;
    w->p.input[1] = index == WS__DT_I64 ? (void *)w->wide : (void *)w->narrow;
}

static void name_rows(struct world *w, const int *row)
{
    for (int i = 0; i < 8; i++)
        w->wide[i] = w->narrow[i] = row[i];
}

static double bytes_of(struct ws_ctx *ctx, struct world *w)
{
    double bytes = 0;

    w->p.ctx = ctx;
    assert_int_equal(ws__problem_bytes(&w->p, &bytes), 0);
    return bytes;
}

static void counts_rows_once(void **state)
{
    static const int once[8] = {0, 1, 2, 3, 4, 5, 6, 9};
    static const int twice[8] = {3, 3, 3, 7, 7, 0, 0, 9};
    static const int padded[8] = {2, 2, -1, 10, 1000, -1, 3, -7};
    struct ws_ctx *ctx = t_ctx(NULL);
    static const enum ws__dtype types[] = {WS__DT_I32, WS__DT_I64};

    (void)state;
    for (size_t t = 0; t < 2; t++) {
        struct world w;
        uint64_t distinct, named;

        make(&w, types[t]);
        name_rows(&w, once); /* 8 of 10 rows */
        assert_true(bytes_of(ctx, &w) == 1000 - 2 * 16);
        name_rows(&w, twice); /* 4 rows */
        assert_true(bytes_of(ctx, &w) == 1000 - 6 * 16);
        name_rows(&w, padded);
        assert_int_equal(ws__problem_rows(&w.p, 0, &distinct, &named), 0);
        assert_int_equal(distinct, 2);
        assert_int_equal(named, 3);
    }
    ws_ctx_free(ctx);
}

/* An expression has a row an entry: only what is named twice goes. */
static void declared_bytes_have_a_row_an_entry(void **state)
{
    static const int twice[8] = {3, 3, 3, 7, 7, 0, 0, 9};
    struct ws_ctx *ctx = t_ctx(NULL);
    static struct ws__expr some;
    struct world w;

    (void)state;
    make(&w, WS__DT_I32);
    w.op.bytes = &some;
    name_rows(&w, twice);
    assert_true(bytes_of(ctx, &w) == 1000 - 4 * 16);
    w.op.touched[0] = 0;
    assert_true(bytes_of(ctx, &w) == 1000);
    ws_ctx_free(ctx);
}

/* The gaps of a strided index are no entries. */
static void strided_index(void **state)
{
    static const int gaps[8] = {1, 5, 1, 6, 2, 7, 2, 8};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct world w;
    uint64_t distinct, named;

    (void)state;
    make(&w, WS__DT_I32);
    w.p.ctx = ctx;
    w.in.shape[1].dim[0] = 4;
    w.in.shape[1].stride[0] = 2;
    w.in.shape[1].elements = 4;
    name_rows(&w, gaps);
    assert_int_equal(ws__problem_rows(&w.p, 0, &distinct, &named), 0);
    assert_int_equal(distinct, 2);
    assert_int_equal(named, 4);
    ws_ctx_free(ctx);
}

static int count(struct ws_ctx *ctx, void *user)
{
    struct world *w = user;
    double bytes;

    w->p.ctx = ctx;
    return ws__problem_bytes(&w->p, &bytes);
}

static void torture(void **state)
{
    struct world w;

    (void)state;
    make(&w, WS__DT_I32);
    assert_true(t_torture(count, &w) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_rows_once),
        cmocka_unit_test(declared_bytes_have_a_row_an_entry),
        cmocka_unit_test(strided_index),
        cmocka_unit_test(torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
