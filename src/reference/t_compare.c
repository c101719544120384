/*
 * t_compare.c: does the comparison separate honest kernels from wrong ones?
 *
 * Honest: a float32 sum of K products in the orders that kernels use, K up
 * to 16384, stored in each float type. Wrong: mistakes that must never pass.
 * Then the bookkeeping: counts, first, worst, poison, strides, infinities.
 */
#include "base/t_base.h"

#include <math.h>

#include "base/hash.h"
#include "reference/reference.h"

#define M 6
#define N 40

static const struct ws__op auto_op = {.name = "t",
                                      .tolerance = {.accumulate = WS__DT_F32}};

/* ws__compare; who asks for the end alone is told the same. */
static int compare(struct ws_ctx *ctx, const struct ws__instance *in,
                   size_t tensor, const void *got, const double *want,
                   uint32_t poison, struct ws__mismatch *m)
{
    int rc = ws__compare(ctx, in, tensor, got, want, 0, poison, m);

    assert_int_equal(ws__compare_end(ctx, in, &in->op->tolerance, tensor, got,
                                     want, poison),
                     rc);
    return rc;
}

static void dense(struct ws__instance *in, const struct ws__op *op,
                  enum ws__dtype t, int64_t rows, int64_t cols, int64_t len)
{
    memset(in, 0, sizeof(*in));
    in->op = op;
    in->reduction = len;
    in->shape[0] = (struct ws__tensor_shape){
        .ndim = 2,
        .dim = {rows, cols},
        .stride = {cols, 1},
        .dtype = t,
        .elements = (uint64_t)(rows * cols),
        .bytes = (uint64_t)(rows * cols) * ws__dtype_bytes(t),
        .contiguous = true,
    };
}

/* One row of products; the way to add them is what differs. */
typedef float sum_fn(const float *a, const float *w, size_t k);

static float sum_chain(const float *a, const float *w, size_t k)
{
    volatile float s = 0;

    for (size_t i = 0; i < k; i++)
        s += a[i] * w[i];
    return s;
}

static float sum_fma(const float *a, const float *w, size_t k)
{
    float s = 0;

    for (size_t i = 0; i < k; i++)
        s = fmaf(a[i], w[i], s);
    return s;
}

static float sum_lanes(const float *a, const float *w, size_t k)
{
    float s[16] = {0}, t = 0;

    for (size_t i = 0; i < k; i++)
        s[i % 16] += a[i] * w[i];
    for (size_t i = 0; i < 16; i++)
        t += s[i];
    return t;
}

static float sum_split(const float *a, const float *w, size_t k)
{
    size_t part = (k + 3) / 4;
    float t = 0;

    for (size_t i = 0; i < k; i += part)
        t += sum_fma(a + i, w + i, k - i < part ? k - i : part);
    return t;
}

static float sum_halves(const float *a, const float *w, size_t k)
{
    return k < 8 ? sum_chain(a, w, k)
                 : sum_halves(a, w, k / 2) +
                       sum_halves(a + k / 2, w + k / 2, k - k / 2);
}

/* Hardware that adds 16 exact products at a time and cuts off. */
static float sum_cut(const float *a, const float *w, size_t k)
{
    float s = 0;

    for (size_t i = 0; i < k; i += 16) {
        double exact = s;
        float r;

        for (size_t j = i; j < i + 16 && j < k; j++)
            exact += (double)a[j] * w[j];
        r = (float)exact;
        if (fabs((double)r) > fabs(exact))
            r = nextafterf(r, 0);
        s = r;
    }
    return s;
}

static float sum_backwards(const float *a, const float *w, size_t k)
{
    float s = 0;

    while (k-- > 0)
        s = fmaf(a[k], w[k], s);
    return s;
}

static sum_fn *const honest[] = {sum_chain,  sum_fma, sum_lanes,    sum_split,
                                 sum_halves, sum_cut, sum_backwards};

/* Wrong ones. */
static float sum_zero(const float *a, const float *w, size_t k)
{
    (void)a;
    (void)w;
    (void)k;
    return 0;
}

static float sum_short(const float *a, const float *w, size_t k)
{
    return sum_fma(a, w, k - 1);
}

static float sum_half(const float *a, const float *w, size_t k)
{
    float s = 0;

    for (size_t i = 0; i < k; i++) {
        uint16_t code;
        double d = (double)s + (double)a[i] * w[i];

        ws__dtype_store(WS__DT_F16, &d, &code, 1);
        s = (float)ws__dtype_get(WS__DT_F16, &code, 0);
    }
    return s;
}

static float sum_bf16_inputs(const float *a, const float *w, size_t k)
{
    float s = 0;

    for (size_t i = 0; i < k; i++) {
        uint16_t code[2];
        double d[2] = {a[i], w[i]};

        ws__dtype_store(WS__DT_BF16, d, code, 2);
        ws__dtype_load(WS__DT_BF16, code, d, 2);
        s = fmaf((float)d[0], (float)d[1], s);
    }
    return s;
}

static sum_fn *const wrong[] = {sum_zero, sum_short, sum_half};

struct data {
    size_t k;
    enum ws__dtype type;
    float *a, *w;
    double want[M * N];
};

static double normal(struct ws__rng *r)
{
    double s = 0;

    for (int i = 0; i < 12; i++)
        s += ws__rng_unit(r);
    return s - 6;
}

/* Values that the element type can hold. */
static void make_data(struct data *d, size_t k, enum ws__dtype type)
{
    struct ws__rng r;
    unsigned char code[8];

    ws__rng_seed(&r, k * 16 + type);
    d->k = k;
    d->type = type;
    d->a = malloc(M * k * sizeof(float));
    d->w = malloc(N * k * sizeof(float));
    assert_non_null(d->a);
    assert_non_null(d->w);
    for (size_t i = 0; i < (M + N) * k; i++) {
        double v = normal(&r) * (i < M * k ? 1 : 0.05);

        ws__dtype_store(type, &v, code, 1);
        v = ws__dtype_get(type, code, 0);
        if (i < M * k)
            d->a[i] = (float)v;
        else
            d->w[i - M * k] = (float)v;
    }
    for (size_t i = 0; i < M * N; i++) {
        d->want[i] = 0;
        for (size_t j = 0; j < k; j++)
            d->want[i] += (double)d->a[i / N * k + j] * d->w[i % N * k + j];
    }
}

static void drop_data(struct data *d)
{
    free(d->a);
    free(d->w);
}

typedef int compare_fn(struct ws_ctx *, const struct ws__instance *, size_t,
                       const void *, const double *, double, uint32_t,
                       struct ws__mismatch *);

static int judge_by(compare_fn *by, const struct data *d, sum_fn *f,
                    struct ws__mismatch *m)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__instance in;
    unsigned char got[M * N * 8];
    int rc;

    for (size_t i = 0; i < M * N; i++) {
        double v = f(d->a + i / N * d->k, d->w + i % N * d->k, d->k);

        ws__dtype_store(d->type, &v, got + i * ws__dtype_bytes(d->type), 1);
    }
    dense(&in, &auto_op, d->type, M, N, (int64_t)d->k);
    rc = by(ctx, &in, 0, got, d->want, 0, 0xffffffffu, m);
    ws_ctx_free(ctx);
    return rc;
}

static int judge(const struct data *d, sum_fn *f, struct ws__mismatch *m)
{
    return judge_by(ws__compare, d, f, m);
}

static const enum ws__dtype float_types[] = {WS__DT_F32, WS__DT_F16,
                                             WS__DT_BF16};
static const size_t lengths[] = {1, 2, 17, 256, 1000, 4096, 16384};

static void test_honest(void **state)
{
    (void)state;
    for (size_t t = 0; t < WS_COUNT(float_types); t++) {
        for (size_t l = 0; l < WS_COUNT(lengths); l++) {
            struct data d;

            make_data(&d, lengths[l], float_types[t]);
            for (size_t f = 0; f < WS_COUNT(honest); f++) {
                struct ws__mismatch m;

                assert_int_equal(judge(&d, honest[f], &m), 1);
                assert_int_equal(m.bad, 0);
                assert_int_equal(m.total, M * N);
                /* Not by luck: half of the bound would do as well. */
                assert_true(fabs(m.worst_got - m.worst_want) <=
                            m.allowed * 0.75);
            }
            drop_data(&d);
        }
    }
}

static void test_wrong(void **state)
{
    (void)state;
    for (size_t t = 0; t < WS_COUNT(float_types); t++) {
        for (size_t l = 3; l < WS_COUNT(lengths); l++) {
            struct ws__mismatch m;
            struct data d;

            make_data(&d, lengths[l], float_types[t]);
            for (size_t f = 0; f < WS_COUNT(wrong); f++) {
                assert_int_equal(judge(&d, wrong[f], &m), 0);
                assert_true(m.bad > 0);
            }
            if (float_types[t] != WS__DT_BF16)
                assert_int_equal(judge(&d, sum_bf16_inputs, &m), 0);
            drop_data(&d);
        }
    }
}

/* One result is a thousand times the others, since one product is: what comes
 * behind it in the sum is rounded as coarsely as it. */
static void test_uneven(void **state)
{
    struct ws__mismatch m;
    long narrow = 0;

    (void)state;
    for (size_t l = 2; l + 2 < WS_COUNT(lengths); l++) {
        for (size_t seed = 0; seed < 40; seed += 3) {
            struct data d;

            make_data(&d, lengths[l] - 4 + seed % 8, WS__DT_F32);
            for (size_t j = 0; j < N; j++) {
                double was = (double)d.a[seed / 8] * d.w[j * d.k + seed / 8];

                d.want[j] += was * ((double)(1e5F * d.a[seed / 8]) /
                                        (double)d.a[seed / 8] -
                                    1);
            }
            d.a[seed / 8] *= 1e5F;
            for (size_t f = 0; f < WS_COUNT(honest); f++) {
                assert_int_equal(judge_by(ws__compare_uneven, &d, honest[f],
                                          &m),
                                 1);
                narrow += !judge(&d, honest[f], &m);
            }
            for (size_t f = 0; f < WS_COUNT(wrong); f++)
                if (wrong[f] != sum_short) /* small beside the others' size */
                    assert_int_equal(judge_by(ws__compare_uneven, &d, wrong[f],
                                              &m),
                                     0);
            assert_int_equal(judge_by(ws__compare_uneven, &d, sum_bf16_inputs,
                                      &m),
                             0);
            drop_data(&d);
        }
    }
    assert_true(narrow > 0);
}

/* Parts that are not written, or hold a neighbour's values. */
static void test_missing(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    static float got[256 * 64];
    static double want[256 * 64];
    struct ws__instance in;
    struct ws__mismatch m;
    struct ws__rng r;

    (void)state;
    ws__rng_seed(&r, 3);
    for (size_t i = 0; i < WS_COUNT(got); i++) {
        got[i] = (float)normal(&r);
        want[i] = (double)got[i];
    }
    dense(&in, &auto_op, WS__DT_F32, 256, 64, 4096);
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 1);
    assert_true(m.max_abs == 0 && m.max_rel == 0 && m.rms_err == 0);
    assert_true(m.rms_ref > 0.9 && m.rms_ref < 1.1);

    got[5000] = got[5001]; /* one element of 16384 */
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 0);
    assert_int_equal(m.bad, 1);
    assert_int_equal(m.first, 5000);
    assert_int_equal(m.worst, 5000);
    assert_true(m.worst_got == (double)got[5001]);
    assert_true(m.worst_want == want[5000]);
    assert_true(m.first_want == want[5000]);
    got[5000] = (float)want[5000];

    memset(got + 255 * 64, 0, 64 * sizeof(float)); /* the last row */
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 0);
    assert_int_equal(m.bad, 64);
    assert_int_equal(m.first, 255 * 64);

    memset(got + 255 * 64, 0xff, 64 * sizeof(float)); /* still poisoned */
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 0);
    assert_int_equal(m.unwritten, 64);
    assert_int_equal(m.bad, 64);
    assert_int_equal(m.nan, 0);
    assert_int_equal(compare(ctx, &in, 0, got, want, 1, &m), 0);
    assert_int_equal(m.unwritten, 0);
    assert_int_equal(m.nan, 64);
    ws_ctx_free(ctx);
}

/* Poison that is a plausible number, in a 16-bit type where it is two: what is
 * wrong and holds it was not written; what is right may look like it. */
/* Atomics and fast modes of GPUs know no subnormal numbers: each of K partial
 * sums may be lost, and no more. */
static void test_flushed(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__op op = auto_op;
    struct ws__mismatch m;
    struct ws__instance in;
    float got[M * N] = {0};
    double want[M * N];

    (void)state;
    dense(&in, &op, WS__DT_F32, M, N, 1000);
    for (size_t i = 0; i < M * N; i++)
        want[i] = 900 * 0x1p-126;
    assert_int_equal(compare(ctx, &in, 0, got, want, 0xffffffffu, &m), 1);
    for (size_t i = 0; i < M * N; i++)
        want[i] = 1100 * 0x1p-126;
    assert_int_equal(compare(ctx, &in, 0, got, want, 0xffffffffu, &m), 0);
    /* Sums in double precision lose nothing of it. */
    op.tolerance.accumulate = WS__DT_F64;
    for (size_t i = 0; i < M * N; i++)
        want[i] = 3 * 0x1p-126;
    assert_int_equal(compare(ctx, &in, 0, got, want, 0xffffffffu, &m), 0);
    ws_ctx_free(ctx);
}

static void test_poison(void **state)
{
    static const struct ws__op half = {
        .tolerance = {.kind = WS__TOL_EXPLICIT, .atol = 0.1, .ratio = 0.5}};
    struct ws_ctx *ctx = t_ctx(NULL);
    uint16_t got[8] = {0x3c00, 0x4000, 0x3c00, 0x4000, 0x4200, 0, 0, 0};
    double want[8] = {1, 1, 2, 2.05, 3, 0, 0, 0};
    struct ws__instance in;
    struct ws__mismatch m;

    (void)state;
    dense(&in, &half, WS__DT_F16, 1, 8, 1);
    assert_int_equal(compare(ctx, &in, 0, got, want, 0xffffffffu, &m), 1);
    assert_int_equal(m.bad, 2);
    assert_int_equal(m.unwritten, 0);
    /* 0x40003c00: 1 at even places, 2 at odd ones. [1] and [2] are wrong and
     * hold it; [3] is as near as it may be, and does too. */
    assert_int_equal(compare(ctx, &in, 0, got, want, 0x40003c00u, &m), 0);
    assert_int_equal(m.unwritten, 2);
    assert_int_equal(m.first, 1);
    ws_ctx_free(ctx);
}

/* Right bfloat16 results, a million of them: some look like every poison. */
static void test_poison_of_right_results(void **state)
{
    enum { COUNT = 1 << 20 };
    struct ws_ctx *ctx = t_ctx(NULL);
    uint16_t *got = ws__alloc(ctx, COUNT, sizeof(*got));
    double *want = ws__alloc(ctx, COUNT, sizeof(*want));
    struct ws__instance in;
    struct ws__mismatch m;
    struct ws__rng rng;

    (void)state;
    assert_non_null(got);
    assert_non_null(want);
    ws__rng_seed(&rng, 5);
    for (size_t i = 0; i < COUNT; i++) {
        double v = 16 * (ws__rng_unit(&rng) - 0.5);

        want[i] = v;
        v *= 1 + 0.002 * (ws__rng_unit(&rng) - 0.5);
        ws__dtype_set(WS__DT_BF16, got, i, v);
    }
    dense(&in, &auto_op, WS__DT_BF16, 1, COUNT, 1);
    for (int i = 0; i < 20; i++) {
        uint32_t word = (uint32_t)got[ws__rng_below(&rng, COUNT)] * 0x10001u;

        assert_int_equal(compare(ctx, &in, 0, got, want, word, &m), 1);
        assert_int_equal(m.bad, 0);
    }
    ws__free(ctx, got);
    ws__free(ctx, want);
    ws_ctx_free(ctx);
}

static void test_explicit(void **state)
{
    static const struct ws__op op = {.tolerance = {.kind = WS__TOL_EXPLICIT,
                                                   .atol = 0.1,
                                                   .rtol = 0.01,
                                                   .ratio = 0.75}};
    struct ws_ctx *ctx = t_ctx(NULL);
    double want[4] = {0, 100, -100, 1}, got[4] = {0.1, 101, -101.2, 1};
    struct ws__instance in;
    struct ws__mismatch m;

    (void)state;
    dense(&in, &op, WS__DT_F64, 2, 2, 1);
    assert_int_equal(compare(ctx, &in, 0, got, want, 1, &m), 1);
    assert_int_equal(m.bad, 1);
    assert_int_equal(m.worst, 2);
    assert_true(fabs(m.allowed - 1.1) < 1e-12);
    assert_true(fabs(m.max_abs - 1.2) < 1e-12);
    got[3] = 2;
    assert_int_equal(compare(ctx, &in, 0, got, want, 1, &m), 0);
    assert_int_equal(m.bad, 2);
    got[3] = NAN; /* no ratio excuses it */
    got[2] = -100;
    assert_int_equal(compare(ctx, &in, 0, got, want, 1, &m), 0);
    assert_int_equal(m.nan, 1);
    ws_ctx_free(ctx);
}

/* The worst of right results: the largest share of what is allowed, not the
 * least distance to it, which small elements have. */
static void test_worst_of_right(void **state)
{
    static const struct ws__op op = {
        .tolerance = {.kind = WS__TOL_EXPLICIT, .rtol = 0.01, .ratio = 1}};
    struct ws_ctx *ctx = t_ctx(NULL);
    static float got[5003];
    static double want[5003];
    struct ws__instance in;
    struct ws__mismatch m;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(want); i++)
        got[i] = (float)(want[i] = i % 3 ? 1 : 128);
    got[4200] += 1.0f;     /* of 1.28 */
    got[40] += 0x1p-8f;    /* of 0.01 */
    got[5002] += 0x1p-11f; /* in the last, short run */
    dense(&in, &op, WS__DT_F32, 1, 5003, 1);
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 1);
    assert_int_equal(m.worst, 4200);
    assert_true(m.worst_got == 129 && m.worst_want == 128);
    assert_true(fabs(m.allowed - 1.28) < 1e-12);
    got[4200] = 128;
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 1);
    assert_int_equal(m.worst, 40);
    got[40] = 1;
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 1);
    assert_int_equal(m.worst, 5002);
    /* Derived bounds: an error near zero counts more than one of a step at
     * a large element. */
    dense(&in, &auto_op, WS__DT_BF16, 1, 5003, 16);
    for (size_t i = 0; i < WS_COUNT(want); i++)
        want[i] = i % 3 ? 1 : 128;
    ws__dtype_store(WS__DT_BF16, want, got, WS_COUNT(want));
    ((uint16_t *)(void *)got)[4200]++; /* 1 of 1.0 and a bit */
    ((uint16_t *)(void *)got)[2000]++; /* 1/128 of 1/128 and more */
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 1);
    assert_int_equal(m.worst, 4200);
    ws_ctx_free(ctx);
}

/* Infinity and NaN are right where the reference, rounded, has them. */
static void test_not_finite(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    uint16_t got[4] = {0x7c00, 0xfc00, 0x7e00, 0x3c00};
    double want[4] = {70000, -HUGE_VAL, NAN, 1};
    struct ws__instance in;
    struct ws__mismatch m;

    (void)state;
    dense(&in, &auto_op, WS__DT_F16, 1, 4, 1);
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 1);
    got[1] = 0x7c00;
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 0);
    assert_int_equal(m.first, 1);
    got[1] = 0xfc00;
    got[2] = 0;
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 0);
    got[2] = 0x7e00;
    got[3] = 0x7c00;
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 0);
    assert_int_equal(m.nan, 1);
    assert_int_equal(m.worst, 3);
    ws_ctx_free(ctx);
}

static void test_integers(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    int32_t got[3] = {7, -2, 2147483647};
    double want[3] = {7, -2, 1e12};
    struct ws__instance in;
    struct ws__mismatch m;

    (void)state;
    dense(&in, &auto_op, WS__DT_I32, 1, 3, 1);
    assert_int_equal(compare(ctx, &in, 0, got, want, 0, &m), 1);
    got[1]++;
    assert_int_equal(compare(ctx, &in, 0, got, want, 0, &m), 0);
    assert_int_equal(m.bad, 1);
    assert_int_equal(m.worst, 1);
    ws_ctx_free(ctx);
}

/* Rows with gaps, and columns that are not neighbours. */
/* Larger than what is compared in one piece: the report is that of the whole.
 */
static void test_large(void **state)
{
    enum { ROWS = 700, COLS = 1031, ALL = ROWS * COLS };
    static const uint64_t off[] = {300001, 599999, 600000, ALL - 1};
    const uint32_t poison = 0x7fc07fc0u;
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__instance in;
    struct ws__mismatch m;
    struct ws__rng r;
    float *got = ws__alloc(ctx, ALL, sizeof(*got));
    double *want = ws__alloc(ctx, ALL, sizeof(*want)), sum = 0;

    (void)state;
    assert_true(got && want);
    dense(&in, &auto_op, WS__DT_F32, ROWS, COLS, 64);
    ws__rng_seed(&r, 5);
    for (size_t i = 0; i < ALL; i++) {
        want[i] = normal(&r);
        got[i] = (float)want[i];
        sum += want[i] * want[i];
    }
    assert_int_equal(compare(ctx, &in, 0, got, want, poison, &m), 1);
    assert_true(fabs(m.rms_ref - sqrt(sum / ALL)) < 1e-9);
    got[555555] += 1e-6f; /* the worst of what is right */
    assert_int_equal(compare(ctx, &in, 0, got, want, poison, &m), 1);
    assert_int_equal(m.worst, 555555);
    assert_int_equal(m.bad, 0);
    for (size_t i = 0; i < WS_COUNT(off); i++)
        got[off[i]] = (float)want[off[i]] + (float)(i + 1);
    memcpy(&got[650000], &poison, 4);
    assert_int_equal(compare(ctx, &in, 0, got, want, poison, &m), 0);
    assert_int_equal(m.bad, 5);
    assert_int_equal(m.unwritten, 1);
    assert_int_equal(m.first, off[0]);
    assert_true(m.first_got == got[off[0]] && m.first_want == want[off[0]]);
    assert_int_equal(m.worst, 650000);
    got[650000] = (float)want[650000];
    assert_int_equal(compare(ctx, &in, 0, got, want, poison, &m), 0);
    assert_int_equal(m.worst, off[3]);
    assert_int_equal(m.bad, 4);
    ws__free(ctx, got);
    ws__free(ctx, want);
    ws_ctx_free(ctx);
}

static void test_strides(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    static float got[3 * 900], wide[3 * 500 * 2];
    static double want[3 * 500];
    struct ws__instance in;
    struct ws__mismatch m;

    (void)state;
    memset(got, 0xff, sizeof(got));
    memset(wide, 0xff, sizeof(wide));
    for (size_t i = 0; i < WS_COUNT(want); i++) {
        want[i] = (double)i - 700;
        got[i / 500 * 900 + i % 500] = (float)want[i];
        wide[i * 2] = (float)want[i];
    }
    dense(&in, &auto_op, WS__DT_F32, 3, 500, 1);
    in.shape[0].contiguous = false;
    in.shape[0].stride[0] = 900;
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 1);
    memset(&got[2 * 900 + 7], 0xff, sizeof(float));
    assert_int_equal(compare(ctx, &in, 0, got, want, ~0u, &m), 0);
    assert_int_equal(m.unwritten, 1);
    assert_int_equal(m.first, 2 * 500 + 7);
    in.shape[0].stride[0] = 1000;
    in.shape[0].stride[1] = 2;
    assert_int_equal(compare(ctx, &in, 0, wide, want, ~0u, &m), 1);
    ws_ctx_free(ctx);
}

/* ---- rules of others ------------------------------------------------------
 */

/* One element of a result of 100 right ones. */
static int by_rule(const struct ws__tolerance *tol, double got, double want,
                   struct ws__mismatch *m)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__op op = {.name = "t", .tolerance = *tol};
    struct ws__instance in;
    double g[100], r[100];
    int rc;

    for (size_t i = 0; i < 100; i++)
        g[i] = r[i] = 0.25;
    g[42] = got;
    r[42] = want;
    dense(&in, &op, WS__DT_F64, 10, 10, 1);
    rc = compare(ctx, &in, 0, g, r, 0xffffffffu, m);
    ws_ctx_free(ctx);
    return rc;
}

static void test_flashinfer(void **state)
{
    static const struct {
        double got, want;
        int equal;
    } cases[] = {
        {0.0099, 0, 1},          /* within atol, however far in shares */
        {0.0101, 0, 0},          /* a share of next to nothing */
        {1.0101, 1, 0},          /* in neither */
        {1.0099, 1, 1},          /* within both */
        {100.9, 100, 1},         /* within rtol alone */
        {101.1, 100, 0},         /* beyond it: the two do not add up */
        {-100.9, -100, 1},       /* of either sign */
        {HUGE_VAL, HUGE_VAL, 0}, /* no infinity, even a right one */
        {(double)NAN, 1, 0},     {(double)NAN, (double)NAN, 0},
    };
    struct ws__tolerance t = ws__tolerance_named(0);
    struct ws__mismatch m;

    (void)state;
    assert_string_equal(ws__tolerance_rule(&t), "flashinfer-bench");
    assert_true(t.atol == 1e-2 && t.rtol == 1e-2 && t.ratio == 1);
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        assert_int_equal(by_rule(&t, cases[i].got, cases[i].want, &m),
                         cases[i].equal);
        if (cases[i].got != cases[i].want)
            assert_int_equal(m.worst, 42);
    }
    t.ratio = 0.99; /* one of a hundred may be wrong, but not without limit */
    assert_int_equal(by_rule(&t, 50, 1, &m), 1);
    assert_int_equal(m.bad, 1);
    assert_int_equal(by_rule(&t, (double)NAN, 1, &m), 0);
    t.ratio = 0.991;
    assert_int_equal(by_rule(&t, 50, 1, &m), 0);
}

static void test_gpu_mode(void **state)
{
    static const struct {
        double got, want;
        int equal;
    } cases[] = {
        {0.99e-8, 0, 1},          {1.01e-8, 0, 0},
        {1 + 0.99e-5, 1, 1},      {1 + 1.01e-5, 1, 0},
        {100 - 0.99e-3, 100, 1},  {100 - 1.01e-3, 100, 0},
        {HUGE_VAL, HUGE_VAL, 1}, /* the same infinity at the same place */
        {-HUGE_VAL, HUGE_VAL, 0}, {HUGE_VAL, 1, 0},
        {1, HUGE_VAL, 0},         {(double)NAN, (double)NAN, 1},
        {(double)NAN, 1, 0},      {1, (double)NAN, 0},
    };
    struct ws__tolerance t = ws__tolerance_named(1);
    struct ws__mismatch m;

    (void)state;
    assert_string_equal(ws__tolerance_rule(&t), "gpu-mode");
    assert_true(t.atol == 1e-8 && t.rtol == 1e-5 && t.ratio == 1);
    for (size_t i = 0; i < WS_COUNT(cases); i++)
        assert_int_equal(by_rule(&t, cases[i].got, cases[i].want, &m),
                         cases[i].equal);
}

/* Numbers, however wrong; no NaN, nothing unwritten. */
static void test_finite(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__instance in;
    struct ws__mismatch m;
    double want[2] = {1, HUGE_VAL}, got[2] = {-7, 3};

    (void)state;
    dense(&in, &auto_op, WS__DT_F64, 1, 2, 1);
    assert_int_equal(compare(ctx, &in, 0, got, want, 7, &m), 0);
    assert_int_equal(ws__compare_finite(ctx, &in, 0, got, want, 0, 7, &m), 1);
    got[0] = HUGE_VAL;
    assert_int_equal(ws__compare_finite(ctx, &in, 0, got, want, 0, 7, &m), 0);
    got[0] = (double)NAN;
    assert_int_equal(ws__compare_finite(ctx, &in, 0, got, want, 0, 7, &m), 0);
    memset(got, 0x11, sizeof(got[0]));
    assert_int_equal(ws__compare_finite(ctx, &in, 0, got, want, 0, 0x11111111u,
                                        &m),
                     0);
    assert_int_equal(m.unwritten, 1);
    ws_ctx_free(ctx);
}

/* ---- precision, told by cancellation --------------------------------------
 */

static double to_bits(double x, int bits)
{
    int e;
    double f = frexp(x, &e);

    return ldexp(rint(ldexp(f, bits)), e - bits);
}

/* What tf32 units do: operands of 11 bits, sums of 24. */
static float sum_tf32(const float *a, const float *w, size_t k)
{
    float s = 0;

    for (size_t i = 0; i < k; i++)
        s = fmaf((float)to_bits((double)a[i], 11),
                 (float)to_bits((double)w[i], 11), s);
    return s;
}

/* Sums of 11 and 8 bits. */
static float sum_of_bits(const float *a, const float *w, size_t k, int bits)
{
    double s = 0;

    for (size_t i = 0; i < k; i++)
        s = to_bits(s + (double)a[i] * w[i], bits);
    return (float)s;
}

static float sum_11(const float *a, const float *w, size_t k)
{
    return sum_of_bits(a, w, k, 11);
}

static float sum_8(const float *a, const float *w, size_t k)
{
    return sum_of_bits(a, w, k, 8);
}

static sum_fn *const coarse[] = {sum_tf32, sum_11, sum_8, sum_half,
                                 sum_bf16_inputs};

/* Every second term takes three quarters of the one before back: results are a
 * sixth of what the sizes of their terms say. */
static void cancel(struct data *d)
{
    for (size_t row = 0; row < M + N; row++) {
        float *v = row < M ? d->a + row * d->k : d->w + (row - M) * d->k;

        for (size_t i = 1; i < d->k; i += 2)
            v[i] = row < M ? -v[i - 1] + 0.25f * v[i] : v[i - 1];
    }
    for (size_t i = 0; i < M * N; i++) {
        d->want[i] = 0;
        for (size_t j = 0; j < d->k; j++)
            d->want[i] +=
                (double)d->a[i / N * d->k + j] * d->w[i % N * d->k + j];
    }
}

/* On inputs that cancel float32 sums in any order are accepted, and what keeps
 * fewer bits errs more than ten times as much as the worst of them, and is
 * rejected. */
static void test_precision(void **state)
{
    static const size_t length[] = {64, 256, 1000, 4096};

    (void)state;
    for (size_t l = 0; l < WS_COUNT(length); l++) {
        struct ws__mismatch m;
        struct data d;
        double worst = 0;

        make_data(&d, length[l], WS__DT_F32);
        cancel(&d);
        for (size_t f = 0; f < WS_COUNT(honest); f++) {
            assert_int_equal(judge(&d, honest[f], &m), 1);
            worst = fmax(worst, m.rms_err);
        }
        for (size_t f = 0; f < WS_COUNT(coarse); f++) {
            assert_int_equal(judge(&d, coarse[f], &m), 0);
            assert_true(m.rms_err > 10 * worst);
        }
        drop_data(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_flushed),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_poison_of_right_results),
        cmocka_unit_test(test_explicit),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_worst_of_right),
        cmocka_unit_test(test_flashinfer),
        cmocka_unit_test(test_gpu_mode),
        cmocka_unit_test(test_finite),
        cmocka_unit_test(test_precision),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
