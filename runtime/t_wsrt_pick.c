/*
 * t_wsrt_pick.c: the choice against a model in double precision that looks at
 * every entry and asks every constraint in plain C; the logarithm against
 * libm; the memo against the pick without one.
 */
#include "base/t_base.h"

#include <math.h>

#include "pack/t_pack_sample.h"
#include "wsrt_format.h"

struct fixture {
    struct ws_ctx *ctx;
    struct sample s;
    void *image;
    size_t bytes;
    struct wsrt_pack *p;
};

static void make(struct fixture *f, size_t n, uint64_t seed)
{
    f->ctx = t_ctx(NULL);
    assert_int_equal(sample_make(f->ctx, &f->s, n, seed), 0);
    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &f->image,
                                    &f->bytes),
                     0);
    assert_int_equal(wsrt_open_memory(f->image, f->bytes, &f->p, NULL, 0), 0);
}

static void drop(struct fixture *f)
{
    wsrt_close(f->p);
    ws__free(f->ctx, f->image);
    sample_free(&f->s);
    ws_ctx_free(f->ctx);
}

static double distance(const int64_t *a, const int64_t *b)
{
    return fabs(log2((double)a[AXIS_M] / (double)b[AXIS_M])) +
           fabs(log2((double)a[AXIS_N] / (double)b[AXIS_N]));
}

static const struct ws__pack_entry *entry_of(const struct fixture *f,
                                             const int64_t *axes)
{
    for (size_t i = 0; i < f->s.content.nentry; i++)
        if (!memcmp(f->s.workload[i].axis, axes, SAMPLE_AXES * sizeof(*axes)))
            return &f->s.entry[i];
    return NULL;
}

/* The least distance of an entry that may run the shape; -1: none may. */
static double nearest(const struct fixture *f, const int64_t *axes)
{
    double best = -1;

    for (size_t i = 0; i < f->s.content.nentry; i++) {
        const struct ws__pack_entry *e = &f->s.entry[i];
        double d = distance(axes, e->workload->axis);

        if (e->workload->axis[AXIS_T] == axes[AXIS_T] &&
            sample_may_run(&f->s, e->candidate.kernel, &e->candidate.config,
                           axes) &&
            (best < 0 || d < best))
            best = d;
    }
    return best;
}

/* The first kernel whose default may run the shape, or -1. */
static int dflt(const struct fixture *f, const int64_t *axes)
{
    for (uint32_t k = 0; k < 2; k++) {
        struct ws__config c;

        ws__config_default(&f->s.kernel[k], &c);
        if (sample_may_run(&f->s, k, &c, axes))
            return (int)k;
    }
    return -1;
}

/* Returns what was decided, 0 if nothing may run. */
static int compare(const struct fixture *f, const int64_t *axes)
{
    /* Two roundings of 2^-17 a logarithm, two logarithms, two axes. */
    const double slack = 0x1p-14;
    const struct ws__pack_entry *e;
    struct wsrt_pick pick;
    double best = nearest(f, axes);
    int rc = wsrt_pick(f->p, axes, &pick);

    if (rc) {
        assert_int_equal(rc, WSRT_ENONE);
        assert_true(best < 0);
        assert_int_equal(dflt(f, axes), -1);
        return 0;
    }
    if (pick.how == WSRT_DEFAULT) {
        assert_true(best < 0);
        assert_int_equal(wsrt_variant_kernel(f->p, pick.variant),
                         dflt(f, axes));
        assert_int_equal(pick.entry, WSRT_NO_ENTRY);
        return pick.how;
    }
    e = entry_of(f, wsrt_entry_axes(f->p, pick.entry));
    assert_non_null(e);
    assert_int_equal(pick.how == WSRT_EXACT, entry_of(f, axes) != NULL);
    assert_int_equal(e->workload->axis[AXIS_T], axes[AXIS_T]);
    assert_true(
        sample_may_run(&f->s, e->candidate.kernel, &e->candidate.config, axes));
    assert_true(distance(axes, e->workload->axis) <= best + slack);
    assert_true(fabs(pick.distance / 65536.0 -
                     distance(axes, e->workload->axis)) <= slack);
    assert_true(pick.time_ns == e->time_ns);
    return pick.how;
}

static void as_the_model_says(void **state)
{
    static const size_t sizes[] = {0, 1, 5, 17, 64, 333};
    long seen[4] = {0};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(sizes); i++) {
        struct fixture f;
        struct ws__rng r;

        make(&f, sizes[i], 100 + i);
        ws__rng_seed(&r, i);
        for (size_t e = 0; e < sizes[i]; e++)
            seen[compare(&f, f.s.workload[e].axis)]++;
        for (int round = 0; round < 4000; round++) {
            int64_t axes[SAMPLE_AXES];

            sample_shape(&r, axes);
            if (!ws__rng_below(&r, 8)) /* the op's condition may forbid it */
                axes[AXIS_N] = 16 * sample_size(&r, 16);
            /* Half of them no multiple of a tile. */
            axes[AXIS_N] += (int64_t)ws__rng_below(&r, 2) * 7;
            axes[AXIS_M] = sample_size(&r, 20);
            seen[compare(&f, axes)]++;
        }
        drop(&f);
    }
    for (int how = 0; how < 4; how++)
        assert_true(seen[how] > 50);
}

/* Entries at equal distance: the one that comes first in the pack. */
static void ties(void **state)
{
    struct fixture f;
    int64_t axes[SAMPLE_AXES];
    struct wsrt_pick pick;

    (void)state;
    f.ctx = t_ctx(NULL);
    assert_int_equal(sample_make(f.ctx, &f.s, 50, 1), 0);
    f.s.content.nbinary = 0;
    for (int i = 0; i < 50; i++) {
        struct ws__candidate *c = &f.s.entry[i].candidate;

        /* M = 2^5 to 2^9, N so that M * N = 2^20; then shapes far off. */
        f.s.workload[i].axis[AXIS_M] = i < 5 ? 32 << i : (1 << 19) + i;
        f.s.workload[i].axis[AXIS_N] = i < 5 ? 32768 >> i : 16;
        f.s.workload[i].axis[AXIS_T] = WS__DT_F32;
        memset(c, 0, sizeof(*c));
        ws__config_default(&f.s.kernel[0], &c->config);
    }
    assert_int_equal(ws__pack_image(f.ctx, &f.s.content, &f.image, &f.bytes),
                     0);
    assert_int_equal(wsrt_open_memory(f.image, f.bytes, &f.p, NULL, 0), 0);
    memcpy(axes, f.s.workload[0].axis, sizeof(axes));
    /* (1024, 32768): every one of the five is 5 away. */
    axes[AXIS_M] = 1024;
    axes[AXIS_N] = 32768;
    assert_int_equal(wsrt_pick(f.p, axes, &pick), WSRT_OK);
    assert_int_equal(pick.how, WSRT_NEAREST);
    assert_int_equal(pick.entry, 0);
    assert_int_equal(pick.distance, 5 << 16);
    drop(&f);
}

static void bad_values(void **state)
{
    struct fixture f;
    struct wsrt_pick pick = {.variant = 77};
    struct wsrt_memo *memo = calloc(1, sizeof(*memo));
    static const int64_t bad[][SAMPLE_AXES] = {
        {[AXIS_M] = 0, [AXIS_T] = 2, [AXIS_K] = 4096, [AXIS_N] = 16},
        {[AXIS_M] = INT64_MIN, [AXIS_T] = 2, [AXIS_K] = 4096, [AXIS_N] = 16},
        {[AXIS_M] = 1, [AXIS_T] = 3, [AXIS_K] = 4096, [AXIS_N] = 16},
        {[AXIS_M] = 1, [AXIS_T] = 0, [AXIS_K] = 4096, [AXIS_N] = 16},
        {[AXIS_M] = 1, [AXIS_T] = 2, [AXIS_K] = 4097, [AXIS_N] = 16},
        {[AXIS_M] = 1, [AXIS_T] = 2, [AXIS_K] = 4096, [AXIS_N] = -1},
    };

    (void)state;
    make(&f, 9, 2);
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        assert_int_equal(wsrt_pick(f.p, bad[i], &pick), WSRT_EARG);
        assert_int_equal(wsrt_pick_memo(f.p, memo, bad[i], &pick), WSRT_EARG);
        assert_int_equal(pick.variant, 77);
    }
    /* Overflow in a condition is a condition that does not hold. */
    assert_int_equal(wsrt_pick(f.p,
                               (int64_t[]){[AXIS_M] = INT64_MAX,
                                           [AXIS_T] = WS__DT_F32,
                                           [AXIS_K] = 4096,
                                           [AXIS_N] = INT64_MAX},
                               &pick),
                     WSRT_ENONE);
    free(memo);
    drop(&f);
}

/* Without a declared range a kernel is made for the hull of the workloads. */
static void hull_is_the_range(void **state)
{
    struct fixture f;
    struct wsrt_pick pick;
    int64_t axes[SAMPLE_AXES];

    (void)state;
    f.ctx = t_ctx(NULL);
    assert_int_equal(sample_make(f.ctx, &f.s, 30, 4), 0);
    f.s.content.nbinary = 0;
    f.s.op.axis[AXIS_N].lo = 0;
    f.s.op.axis[AXIS_N].hi = 0;
    for (int i = 0; i < 30; i++) {
        f.s.workload[i].axis[AXIS_M] = 64 + i;
        f.s.workload[i].axis[AXIS_N] = i == 7 ? 64 : 1024;
        memset(&f.s.entry[i].candidate, 0, sizeof(f.s.entry[i].candidate));
        ws__config_default(&f.s.kernel[0], &f.s.entry[i].candidate.config);
    }
    assert_int_equal(ws__pack_image(f.ctx, &f.s.content, &f.image, &f.bytes),
                     0);
    assert_int_equal(wsrt_open_memory(f.image, f.bytes, &f.p, NULL, 0), 0);
    memcpy(axes, f.s.workload[0].axis, sizeof(axes));
    axes[AXIS_N] = 512;
    assert_int_equal(wsrt_pick(f.p, axes, &pick), WSRT_OK);
    axes[AXIS_N] = 1040;
    assert_int_equal(wsrt_pick(f.p, axes, &pick), WSRT_ENONE);
    axes[AXIS_N] = 48;
    assert_int_equal(wsrt_pick(f.p, axes, &pick), WSRT_ENONE);
    drop(&f);
}

/* An op that leaves nothing open has one shape and one entry. */
static void constants_only(void **state)
{
    struct fixture f;
    struct wsrt_pick pick;
    int64_t axes[SAMPLE_AXES] = {64, WS__DT_F32, 4096, 128};

    (void)state;
    f.ctx = t_ctx(NULL);
    assert_int_equal(sample_make(f.ctx, &f.s, 1, 4), 0);
    f.s.op.tensor[TENSOR_A].dtype = WS__DT_F32;
    for (int a = 0; a < SAMPLE_AXES; a++) {
        f.s.op.axis[a].kind = WS__AXIS_CONST;
        f.s.op.axis[a].value = axes[a];
        f.s.workload[0].axis[a] = axes[a];
    }
    ws__config_default(&f.s.kernel[0], &f.s.entry[0].candidate.config);
    f.s.entry[0].candidate.kernel = 0;
    for (size_t n = 0; n < 2; n++) {
        f.s.content.nentry = n;
        f.s.content.nbinary = 0;
        assert_int_equal(ws__pack_image(f.ctx, &f.s.content, &f.image,
                                        &f.bytes),
                         0);
        assert_int_equal(wsrt_open_memory(f.image, f.bytes, &f.p, NULL, 0), 0);
        assert_int_equal(wsrt_pick(f.p, axes, &pick), WSRT_OK);
        assert_int_equal(pick.how, n ? WSRT_EXACT : WSRT_DEFAULT);
        axes[AXIS_M]++;
        assert_int_equal(wsrt_pick(f.p, axes, &pick), WSRT_EARG);
        axes[AXIS_M]--;
        wsrt_close(f.p);
        ws__free(f.ctx, f.image);
    }
    sample_free(&f.s);
    ws_ctx_free(f.ctx);
}

static void memo_agrees(void **state)
{
    struct fixture f[2];
    struct wsrt_memo *memo = calloc(1, sizeof(*memo));
    struct ws__rng r;

    (void)state;
    make(&f[0], 40, 8);
    make(&f[1], 40, 9);
    ws__rng_seed(&r, 5);
    /* One memo for two packs, few shapes: hits, clashes, replacements. */
    for (int round = 0; round < 20000; round++) {
        struct fixture *x = &f[ws__rng_below(&r, 2)];
        struct wsrt_pick a, b;
        int64_t axes[SAMPLE_AXES];
        int rc;

        sample_shape(&r, axes);
        axes[AXIS_M] %= 20;
        axes[AXIS_N] = 16 * (1 + axes[AXIS_N] % 20);
        rc = wsrt_pick(x->p, axes, &a);
        assert_int_equal(wsrt_pick_memo(x->p, memo, axes, &b), rc);
        if (rc)
            continue;
        assert_int_equal(a.variant, b.variant);
        assert_int_equal(a.how, b.how);
        assert_int_equal(a.entry, b.entry);
        assert_int_equal(a.distance, b.distance);
        assert_true(a.time_ns == b.time_ns && a.default_ns == b.default_ns);
    }
    free(memo);
    drop(&f[0]);
    drop(&f[1]);
}

static void logarithm(void **state)
{
    struct ws__rng r;
    int32_t last = 0;

    (void)state;
    for (int b = 0; b < 63; b++)
        assert_int_equal(wsrt__log2((int64_t)1 << b), b << 16);
    assert_int_equal(wsrt__log2(INT64_MAX), 63 << 16);
    for (int64_t x = 1; x < 300000; x++) {
        int32_t v = wsrt__log2(x);

        assert_true(v >= last);
        assert_true(fabs(v / 65536.0 - log2((double)x)) < 0x1p-16);
        last = v;
    }
    ws__rng_seed(&r, 1);
    for (int i = 0; i < 300000; i++) {
        int64_t x = (int64_t)(ws__rng_u64(&r) >> (1 + ws__rng_below(&r, 60)));

        x = x < 1 ? 1 : x;
        assert_true(fabs(wsrt__log2(x) / 65536.0 - (double)log2l(x)) < 0x1p-16);
    }
}

/* The values are part of the format: these may never change. */
static void numbers_that_are_for_ever(void **state)
{
    static const int64_t shape[] = {16, 4096, 2};
    unsigned char bytes[200];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    assert_int_equal(wsrt__log2(3), 103872);
    assert_int_equal(wsrt__log2(1000003), 1306236);
    assert_true(wsrt__shape_hash(shape, 3) == UINT64_C(0xc5a70b9acc79eae4));
    assert_true(wsrt__file_sum(bytes, sizeof(bytes)) ==
                UINT64_C(0xf68bb414c246e952));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_model_says),
        cmocka_unit_test(ties),
        cmocka_unit_test(bad_values),
        cmocka_unit_test(hull_is_the_range),
        cmocka_unit_test(constants_only),
        cmocka_unit_test(memo_agrees),
        cmocka_unit_test(logarithm),
        cmocka_unit_test(numbers_that_are_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
