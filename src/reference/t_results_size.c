/*
 * t_results_size.c: a single result that nearly cancels refuses no honest
 * kernel, and lets no wrong one pass that its neighbours would not.
 */
#include "base/t_base.h"

#include <math.h>

#include "base/hash.h"
#include "reference/reference.h"

#define K 64
#define SEEDS 4000

struct fixture {
    struct ws__op op;
    struct ws__workload work;
    struct ws__instance in;
    struct ws_ctx *ctx;
    struct ws__problem *p;
    int draws, fail_at;
};

static void shape(struct ws__tensor_shape *s, int64_t rows, int64_t cols)
{
    *s = (struct ws__tensor_shape){.ndim = 2,
                                   .dim = {rows, cols},
                                   .stride = {cols, 1},
                                   .dtype = WS__DT_F32,
                                   .elements = (uint64_t)(rows * cols),
                                   .bytes = (uint64_t)(rows * cols) * 4,
                                   .contiguous = true};
}

/* C[1,N] = A[1,K] W[N,K]^T. */
static void begin(struct fixture *f, int64_t n)
{
    memset(f, 0, sizeof(*f));
    f->ctx = t_ctx(NULL);
    f->op.ntensor = 3;
    f->op.tolerance.accumulate = WS__DT_F32;
    for (size_t i = 0; i < 3; i++) {
        f->op.tensor[i].role = i < 2 ? WS__INPUT : WS__OUTPUT;
        f->op.tensor[i].fill = (struct ws__fill){WS__FILL_NORMAL, 0, 1};
        f->op.tensor[i].ndim = 2;
    }
    f->in.op = &f->op;
    f->in.workload = &f->work;
    f->in.reduction = K;
    shape(&f->in.shape[0], 1, K);
    shape(&f->in.shape[1], n, K);
    shape(&f->in.shape[2], 1, n);
    assert_int_equal(ws__problem_new(f->ctx, &f->in, &f->p), 0);
}

static void end(struct fixture *f)
{
    ws__problem_free(f->p);
    ws_ctx_free(f->ctx);
}

static int draw_family(struct fixture *f, struct ws__problem *p, uint64_t seed,
                       enum ws__family family)
{
    const float *a = p->input[0], *w = p->input[1];

    if (++f->draws == f->fail_at)
        return ws__fail(p->ctx, WS_EREFERENCE, "injected");
    WS_TRY(ws__problem_fill_family(p, NULL, seed, 1, family));
    for (uint64_t j = 0; j < f->in.shape[2].elements; j++) {
        p->result[2][j] = 0;
        for (size_t k = 0; k < K; k++)
            p->result[2][j] += (double)a[k] * w[j * K + k];
    }
    return 0;
}

static int draw_as(void *user, struct ws__problem *p, uint64_t seed,
                   enum ws__family family)
{
    return draw_family(user, p, seed, family);
}

static int draw(struct fixture *f, struct ws__problem *p, uint64_t seed)
{
    return draw_family(f, p, seed, WS__FAMILY_PLAIN);
}

/* The single result as a kernel computes it, n terms of it. */
static float chain(const struct ws__problem *p, size_t n)
{
    const float *a = p->input[0], *w = p->input[1];
    volatile float s = 0;

    for (size_t k = 0; k < n; k++)
        s += a[k] * w[k];
    return s;
}

static int judge(const struct fixture *f, float got)
{
    struct ws__mismatch m;

    return ws__compare(f->ctx, &f->in, 2, &got, f->p->result[2], f->p->size[2],
                       ~0u, &m);
}

static void honest_ones_pass(void **state)
{
    long refused = 0, passed = 0;
    struct fixture f;

    (void)state;
    begin(&f, 1);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool again = seed % 8 == 0;

        assert_int_equal(draw(&f, f.p, seed), 0);
        assert_false(f.p->sized);
        if (!judge(&f, chain(f.p, K))) {
            refused++;
            again = true;
        }
        if (!again)
            continue;
        assert_int_equal(ws__problem_sizes(f.p, draw_as, &f), 0);
        assert_true(f.p->sized);
        assert_int_equal(judge(&f, chain(f.p, K)), 1);
        /* Not those that leave out a term; what is a thousandth of others
         * is found in another draw. */
        passed += judge(&f, chain(f.p, K - 1));
        passed += judge(&f, 0);
        passed += judge(&f, -chain(f.p, K));
    }
    assert_true(refused > 0); /* or this tests nothing */
    assert_true(passed < 3);
    end(&f);
}

/* That of most draws; one result is enough to be unlucky. */
static void size_is_that_of_most(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 1);
    for (uint64_t seed = 1; seed <= 400; seed++) {
        assert_int_equal(draw(&f, f.p, seed), 0);
        f.draws = 0;
        assert_int_equal(ws__problem_sizes(f.p, draw_as, &f), 0);
        assert_int_equal(f.draws, 9);
        assert_true(f.p->size[2] > 0.08 * sqrt(K));
        assert_true(f.p->size[2] < 2.5 * sqrt(K));
        /* A spike in some draws is not what most results are like. */
        assert_int_equal(draw_family(&f, f.p, seed, WS__FAMILY_SPIKES), 0);
        assert_int_equal(ws__problem_sizes(f.p, draw_as, &f), 0);
        assert_true(f.p->size[2] < 200 * sqrt(K));
    }
    end(&f);
}

static void many_tell_it_themselves(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 16);
    assert_int_equal(draw(&f, f.p, 1), 0);
    f.draws = 0;
    assert_false(ws__problem_asks(f.p, 2));
    assert_false(ws__problem_asks(f.p, 0)); /* no output */
    assert_int_equal(ws__problem_sizes(f.p, draw_as, &f), 0);
    assert_int_equal(f.draws, 0);
    assert_true(f.p->sized);
    assert_true(f.p->size[2] == 0);
    end(&f);

    begin(&f, 15);
    assert_true(ws__problem_asks(f.p, 2));
    f.op.tolerance.kind = WS__TOL_EXPLICIT;
    assert_false(ws__problem_asks(f.p, 2));
    end(&f);
}

/* Numbers are for plain values: of others they are as many times larger. */
static void numbers_grow(void **state)
{
    long refused = 0, passed = 0;
    struct fixture f;

    (void)state;
    begin(&f, 1);
    f.op.tolerance = (struct ws__tolerance){.kind = WS__TOL_EXPLICIT,
                                            .atol = 2e-5,
                                            .rtol = 1e-6,
                                            .ratio = 1};
    assert_int_equal(draw(&f, f.p, 1), 0);
    assert_false(ws__problem_asks(f.p, 2));
    for (uint64_t seed = 1; seed <= 400; seed++) {
        assert_int_equal(draw_family(&f, f.p, seed, WS__FAMILY_HUGE), 0);
        assert_true(ws__problem_asks(f.p, 2));
        refused += !judge(&f, chain(f.p, K));
        assert_int_equal(ws__problem_sizes(f.p, draw_as, &f), 0);
        assert_true(f.p->size[2] > 1e20);
        assert_int_equal(judge(&f, chain(f.p, K)), 1);
        passed += judge(&f, 1.01F * chain(f.p, K));
        passed += judge(&f, 0);
    }
    assert_true(refused > 0);
    assert_true(passed < 3);
    end(&f);

    /* Of many one draw is enough. */
    begin(&f, 16);
    f.op.tolerance.kind = WS__TOL_EXPLICIT;
    assert_int_equal(draw_family(&f, f.p, 1, WS__FAMILY_HUGE), 0);
    f.draws = 0;
    assert_int_equal(ws__problem_sizes(f.p, draw_as, &f), 0);
    assert_int_equal(f.draws, 1);
    end(&f);
}

static void fails_and_is_taken_back(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 3);
    assert_int_equal(draw(&f, f.p, 1), 0);
    f.fail_at = 4;
    assert_int_equal(ws__problem_sizes(f.p, draw_as, &f), WS_EREFERENCE);
    assert_false(f.p->sized);
    assert_int_equal(ws__problem_sizes(f.p, draw_as, &f), 0);
    assert_true(f.p->size[2] > 0);
    assert_int_equal(draw(&f, f.p, 2), 0); /* other inputs */
    assert_false(f.p->sized);
    assert_true(f.p->size[2] == 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_ones_pass),
        cmocka_unit_test(size_is_that_of_most),
        cmocka_unit_test(many_tell_it_themselves),
        cmocka_unit_test(numbers_grow),
        cmocka_unit_test(fails_and_is_taken_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
