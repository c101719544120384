/*
 * mistakes.c: results with the mistakes of kernels, made from a right one.
 *
 * No code of an operator is needed for them: nothing written, the result of
 * another seed, the mean (of all, or along one dimension: an output that hardly
 * varies is computed best by a constant), a tile, a row or a tail left at zero,
 * at what was there before or not written, everything moved by one element,
 * other signs, fewer bits. A tolerance that lets one of them pass is too
 * loose, or the inputs are too tame to tell a right result from a wrong one.
 *
 * A mistake that changes nothing (zeros of zeros, a constant that is moved) is
 * none and proves nothing.
 */
#include "reference/refpriv.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>

#include "base/banned.h"

#define TILE 16
#define TAIL 32
#define FLAT_TAIL 256u
/* No mistake writes it: what counts as unwritten fails by itself. */
#define POISON 0xffc1ffc1u

/* --- values --------------------------------------------------------------- */

/* Element i, at the coordinates `at`. NaN: not written. */
typedef double value_fn(const struct ws__right *r, uint64_t i,
                        const int64_t *at);
/* NULL: it is a mistake here; else why not. May prepare r. */
typedef const char *applies_fn(struct ws__right *r, int param);

static const struct ws__tensor_shape *shape(const struct ws__right *r)
{
    return &r->in->shape[r->tensor];
}

static double zero(const struct ws__right *r, uint64_t i, const int64_t *at)
{
    (void)r;
    (void)i;
    (void)at;
    return 0;
}

static double moved(const struct ws__right *r, uint64_t i, const int64_t *at)
{
    (void)at;
    return r->v[(i + 1) % shape(r)->elements];
}

static double negated(const struct ws__right *r, uint64_t i, const int64_t *at)
{
    (void)at;
    return -r->v[i];
}

static double mean(const struct ws__right *r, uint64_t i, const int64_t *at)
{
    (void)i;
    (void)at;
    return r->mean;
}

static double old(const struct ws__right *r, uint64_t i, const int64_t *at)
{
    (void)at;
    return r->old[i];
}

static double fewer_bits(const struct ws__right *r, uint64_t i,
                         const int64_t *at)
{
    (void)at;
    return ws__round_bits(r->v[i], r->bits);
}

static double one_zero(const struct ws__right *r, uint64_t i, const int64_t *at)
{
    (void)at;
    return i == r->one ? 0 : r->v[i];
}

/* The last tile of the last two dimensions. */
static bool in_tile(const struct ws__right *r, const int64_t *at)
{
    const struct ws__tensor_shape *s = shape(r);

    for (size_t d = 0; d < s->ndim; d++) {
        bool tiled = d + 2 >= s->ndim;

        if (at[d] < (tiled ? (s->dim[d] - 1) / TILE * TILE : s->dim[d] - 1))
            return false;
    }
    return true;
}

static double tile_zero(const struct ws__right *r, uint64_t i,
                        const int64_t *at)
{
    return in_tile(r, at) ? 0 : r->v[i];
}

static double tile_old(const struct ws__right *r, uint64_t i, const int64_t *at)
{
    return in_tile(r, at) ? r->old[i] : r->v[i];
}

static double tile_unwritten(const struct ws__right *r, uint64_t i,
                             const int64_t *at)
{
    return in_tile(r, at) ? (double)NAN : r->v[i];
}

/* The last run along the last dimension. */
static bool in_row(const struct ws__right *r, uint64_t i)
{
    const struct ws__tensor_shape *s = shape(r);

    return i >= s->elements - (uint64_t)s->dim[s->ndim - 1];
}

static double row_zero(const struct ws__right *r, uint64_t i, const int64_t *at)
{
    (void)at;
    return in_row(r, i) ? 0 : r->v[i];
}

static double row_old(const struct ws__right *r, uint64_t i, const int64_t *at)
{
    (void)at;
    return in_row(r, i) ? r->old[i] : r->v[i];
}

static double tail_zero(const struct ws__right *r, uint64_t i,
                        const int64_t *at)
{
    const struct ws__tensor_shape *s = shape(r);
    int64_t n = s->dim[s->ndim - 1];

    return at[s->ndim - 1] >= n - n % TAIL ? 0 : r->v[i];
}

static double flat_tail(const struct ws__right *r, uint64_t i,
                        const int64_t *at)
{
    uint64_t n = shape(r)->elements;

    (void)at;
    return i >= n - n % FLAT_TAIL ? 0 : r->v[i];
}

static double mean_along(const struct ws__right *r, uint64_t i,
                         const int64_t *at)
{
    uint64_t n = (uint64_t)shape(r)->dim[r->dim];

    (void)at;
    return r->means[i / (n * r->inner) * r->inner + i % r->inner];
}

/* --- where they are mistakes ---------------------------------------------- */

static const char *always(struct ws__right *r, int param)
{
    (void)r;
    (void)param;
    return NULL;
}

static const char *with_mean(struct ws__right *r, int param)
{
    uint64_t n = shape(r)->elements, count = 0;
    double sum = 0;

    (void)param;
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(r->v[i]))
            continue;
        sum += r->v[i];
        count++;
    }
    r->mean = count ? sum / (double)count : 0;
    return NULL;
}

static void sum_along(const struct ws__right *r, uint64_t n)
{
    const double *v = r->v;

    for (uint64_t i = 0; i < shape(r)->elements; i += n * r->inner)
        for (uint64_t k = 0; k < n; k++, v += r->inner)
            for (uint64_t j = 0; j < r->inner; j++)
                r->means[i / n + j] += v[j] / (double)n;
}

/* Infinite elements spoil the mean of theirs, which fails then: a kernel that
 * writes it is no better. */
static const char *with_means(struct ws__right *r, int param)
{
    const struct ws__tensor_shape *s = shape(r);
    size_t d = (size_t)param;

    if (d >= s->ndim)
        return ""; /* not worth a line */
    if (s->ndim < 2 || s->dim[d] < 2)
        return "it has one element there, or no other dimension";
    r->dim = d;
    r->inner = 1;
    for (size_t k = d + 1; k < s->ndim; k++)
        r->inner *= (uint64_t)s->dim[k];
    r->means =
        ws__alloc(r->ctx, s->elements / (uint64_t)s->dim[d], sizeof(*r->means));
    if (r->means)
        sum_along(r, (uint64_t)s->dim[d]);
    else
        r->failed = WS_ENOMEM;
    return NULL;
}

/* The first that is not small, so that zero is far from it. */
static const char *with_one(struct ws__right *r, int param)
{
    const struct ws__tolerance *t = &r->in->op->tolerance;
    double sum = 0, count = 0, size;

    (void)param;
    if (t->kind != WS__TOL_AUTO && t->ratio > 0 && t->ratio < 1)
        return "some elements are declared to be wrong";
    for (uint64_t i = 0; i < shape(r)->elements; i++)
        if (isfinite(r->v[i])) {
            sum += r->v[i] * r->v[i];
            count++;
        }
    size = count > 0 ? sqrt(sum / count) : 0;
    for (r->one = 0; r->one + 1 < shape(r)->elements; r->one++)
        if (fabs(r->v[r->one]) >= size)
            break;
    return NULL;
}

static const char *with_old(struct ws__right *r, int param)
{
    (void)param;
    return r->old ? NULL : "there is no other result";
}

static const char *with_rows(struct ws__right *r, int param)
{
    const struct ws__tensor_shape *s = shape(r);

    if (s->elements == (uint64_t)s->dim[s->ndim - 1])
        return "there is one row";
    return param ? with_old(r, 0) : NULL;
}

static const char *with_tail(struct ws__right *r, int param)
{
    const struct ws__tensor_shape *s = shape(r);

    (void)param;
    return s->dim[s->ndim - 1] % TAIL ? NULL : "there is no tail";
}

static const char *with_flat_tail(struct ws__right *r, int param)
{
    (void)param;
    return shape(r)->elements % FLAT_TAIL ? NULL : "there is no tail";
}

static const char *with_bits(struct ws__right *r, int param)
{
    (void)param;
    r->bits = ws__lower_bits(shape(r)->dtype);
    return r->bits ? ws__bits_declared(r->in, r->bits)
                   : "it is of whole numbers";
}

static const struct {
    const char *name;
    value_fn *value;
    applies_fn *applies;
    int param;
} mistakes[] = {
    {"all zero", zero, always, 0},
    {"moved by one element", moved, always, 0},
    {"of the other sign", negated, always, 0},
    {"its mean everywhere", mean, with_mean, 0},
#define CHEAP 4
    {"the result of another seed", old, with_old, 0},
    {"its mean along dimension 0", mean_along, with_means, 0},
    {"its mean along dimension 1", mean_along, with_means, 1},
    {"its mean along dimension 2", mean_along, with_means, 2},
    {"its mean along dimension 3", mean_along, with_means, 3},
    {"its mean along dimension 4", mean_along, with_means, 4},
    {"its mean along dimension 5", mean_along, with_means, 5},
    {"zero in one element", one_zero, with_one, 0},
    {"zero in the last tile of 16 x 16", tile_zero, always, 0},
    {"old in the last tile of 16 x 16", tile_old, with_old, 0},
    {"not written in the last tile of 16 x 16", tile_unwritten, always, 0},
    {"zero in the last row", row_zero, with_rows, 0},
    {"old in the last row", row_old, with_rows, 1},
    {"zero beyond a multiple of 32 of a row", tail_zero, with_tail, 0},
    {"zero beyond a multiple of 256 of all", flat_tail, with_flat_tail, 0},
    {"rounded to the next narrower type", fewer_bits, with_bits, 0},
};

size_t ws__mistakes(void)
{
    return WS_COUNT(mistakes);
}

size_t ws__mistakes_cheap(void)
{
    return CHEAP;
}

/* --- bits ----------------------------------------------------------------- */

/* float64 to float32, that to tf32 (and float16), that to bfloat16, that to
 * the two of 8 bits. */
unsigned ws__lower_bits(enum ws__dtype t)
{
    static const unsigned lower[] = {
        [WS__DT_F64] = 24, [WS__DT_F32] = 11,   [WS__DT_F16] = 8,
        [WS__DT_BF16] = 4, [WS__DT_F8E4M3] = 3, [WS__DT_F8E5M2] = 2,
    };

    return (size_t)t < WS_COUNT(lower) ? lower[t] : 0;
}

/* To nearest even: the mantissa's bits beyond `bits` are rounded as a whole
 * number, a carry moves on into the exponent. The smallest numbers have fewer
 * bits than others and go by way of larger ones. */
double ws__round_bits(double x, unsigned bits)
{
    unsigned cut = DBL_MANT_DIG - bits;
    uint64_t u = ws__bits_of(x), half = (uint64_t)1 << cut >> 1;

    if (!isfinite(x) || !cut || x == 0)
        return x;
    if (fabs(x) < DBL_MIN)
        return ws__round_bits(x * 0x1p100, bits) * 0x1p-100;
    u += half - 1 + (u >> cut & 1);
    return ws__double_of(u >> cut << cut);
}

const char *ws__bits_declared(const struct ws__instance *in, unsigned bits)
{
    const struct ws__tolerance *t = &in->op->tolerance;
    enum ws__dtype acc = t->accumulate ? t->accumulate : WS__DT_F32;

    return t->kind == WS__TOL_AUTO && ws__dtype_eps(acc) >= ldexp(1, -(int)bits)
               ? "sums are declared to be no more exact"
               : NULL;
}

/* --- judging -------------------------------------------------------------- */

#define BLOCK 512u
/* Below so many blocks a thread costs more than it saves. */
#define FEW_BLOCKS 64u

static void step(const struct ws__tensor_shape *s, int64_t *at)
{
    for (size_t d = s->ndim; d-- > 0 && ++at[d] == s->dim[d];)
        at[d] = 0;
}

/* The coordinates of flat element i. */
static void seek(const struct ws__tensor_shape *s, uint64_t i, int64_t *at)
{
    for (size_t d = s->ndim; d-- > 0; i /= (uint64_t)s->dim[d])
        at[d] = (int64_t)(i % (uint64_t)s->dim[d]);
}

static uint64_t offset(const struct ws__tensor_shape *s, const int64_t *at)
{
    int64_t off = 0;

    for (size_t d = 0; d < s->ndim; d++)
        off += at[d] * s->stride[d];
    return (uint64_t)off;
}

static void put(const struct ws__tensor_shape *s, void *to, uint64_t off,
                double x)
{
    static const uint32_t poison[2] = {POISON, POISON};
    size_t bytes = ws__dtype_bytes(s->dtype), at = (size_t)off * bytes;

    if (isnan(x))
        memcpy((char *)to + at, (const char *)poison + at % 4, bytes);
    else
        ws__dtype_set(s->dtype, to, (size_t)off, x);
}

/* Elements [i, i + n) to where the strides put them. */
static void put_block(const struct ws__tensor_shape *s, void *to, uint64_t i,
                      const double *x, size_t n)
{
    int64_t at[WS__MAX_DIMS];

    if (s->contiguous) {
        ws__dtype_store(s->dtype, x, (char *)to + i * ws__dtype_bytes(s->dtype),
                        n);
        for (size_t k = 0; k < n; k++)
            if (isnan(x[k]))
                put(s, to, i + k, x[k]);
        return;
    }
    seek(s, i, at);
    for (size_t k = 0; k < n; k++) {
        put(s, to, offset(s, at), x[k]);
        step(s, at);
    }
}

/* Do two runs of values differ where they are stored? What is not a number
 * differs from everything. */
static bool stored_differ(enum ws__dtype t, const double *a, const double *b,
                          size_t n)
{
    _Alignas(8) unsigned char code[BLOCK * 8];
    double p[BLOCK], q[BLOCK];
    bool differ = false;

    for (size_t i = 0; i < n; i++)
        differ |= a[i] != b[i];
    if (!differ)
        return false;
    ws__dtype_store(t, a, code, n);
    ws__dtype_load(t, code, p, n);
    ws__dtype_store(t, b, code, n);
    ws__dtype_load(t, code, q, n);
    differ = false;
    for (size_t i = 0; i < n; i++)
        differ |= isnan(a[i]) || p[i] != q[i];
    return differ;
}

struct writing {
    const struct ws__tensor_shape *shape;
    const struct ws__right *right; /* of which a mistake is made, or NULL */
    size_t which;
    const double *v;     /* else: what is written, or compared with the right */
    void *to;            /* NULL: it is compared only */
    atomic_bool differs; /* in the output's type from what is right */
};

static void make_block(const struct writing *w, uint64_t begin, size_t n,
                       double *x)
{
    int64_t at[WS__MAX_DIMS];

    seek(w->shape, begin, at);
    for (size_t k = 0; k < n; k++) {
        x[k] = mistakes[w->which].value(w->right, begin + k, at);
        step(w->shape, at);
    }
}

static int write_blocks(void *user, uint64_t begin, uint64_t end)
{
    struct writing *w = user;
    uint64_t last = w->shape->elements;
    bool differs = false;
    double made[BLOCK];

    for (uint64_t i = begin * BLOCK; i < last && i < end * BLOCK; i += BLOCK) {
        size_t n = last - i < BLOCK ? (size_t)(last - i) : BLOCK;
        const double *x = made;

        if (w->v)
            x = w->v + i;
        else
            make_block(w, i, n, made);
        if (w->to)
            put_block(w->shape, w->to, i, x, n);
        if (w->right && !differs)
            differs = stored_differ(w->shape->dtype, x, w->right->v + i, n);
    }
    if (differs)
        atomic_store(&w->differs, true);
    return 0;
}

static int go_through(struct ws_ctx *ctx, struct writing *w)
{
    uint64_t blocks = (w->shape->elements + BLOCK - 1) / BLOCK;

    return ws__parallel_for(ctx, blocks < FEW_BLOCKS ? 1 : 0, blocks,
                            write_blocks, w);
}

int ws__write_result(struct ws_ctx *ctx, const struct ws__tensor_shape *s,
                     const double *v, void *to)
{
    struct writing w = {.shape = s, .v = v, .to = to};

    return go_through(ctx, &w);
}

int ws__stored_differ(const struct ws__right *r, const double *v)
{
    struct writing w = {.shape = shape(r), .right = r, .v = v};

    WS_TRY(go_through(r->ctx, &w));
    return w.differs;
}

/* 1 if any element differs from what is right in the output's type. */
static int write_mistake(const struct ws__right *r, size_t which)
{
    struct writing w = {.shape = shape(r),
                        .right = r,
                        .which = which,
                        .to = r->got};

    WS_TRY(go_through(r->ctx, &w));
    return w.differs;
}

static double share_of(const struct ws__mismatch *m)
{
    double err = fabs(m->worst_got - m->worst_want);

    if (m->nan || m->unwritten || isnan(err))
        return (double)INFINITY;
    return err > 0 ? err / m->allowed : 0;
}

static int judge_by_others(const struct ws__right *r, struct ws__mistaken *out)
{
    for (int i = 0; i < WS__NRULES; i++) {
        struct ws__tolerance t = ws__tolerance_named(i);
        int rc =
            ws__compare_end(r->ctx, r->in, &t, r->tensor, r->got, r->v, POISON);

        WS_TRY(rc);
        out->rejected[i] = !rc;
    }
    return 0;
}

int ws__judge_output(const struct ws__right *r, enum ws__judging how,
                     struct ws__mistaken *out)
{
    int rc;

    memset(&out->mismatch, 0, sizeof(out->mismatch));
    rc = how == WS__JUDGE_END
             ? ws__compare_end(r->ctx, r->in, &r->in->op->tolerance, r->tensor,
                               r->got, r->v, POISON)
             : ws__compare(r->ctx, r->in, r->tensor, r->got, r->v, 0, POISON,
                           &out->mismatch);
    WS_TRY(rc);
    out->end = rc ? WS__MISTAKE_PASSES : WS__MISTAKE_REJECTED;
    out->share = share_of(&out->mismatch);
    return how == WS__JUDGE_ALL ? judge_by_others(r, out) : 0;
}

int ws__mistake(struct ws__right *r, size_t which, enum ws__judging how,
                struct ws__mistaken *out)
{
    int rc = 0;

    *out = (struct ws__mistaken){.name = mistakes[which].name,
                                 .end = WS__MISTAKE_NONE};
    r->means = NULL;
    out->why = mistakes[which].applies(r, mistakes[which].param);
    WS_TRY(r->failed);
    if (!out->why) {
        rc = write_mistake(r, which);
        if (!rc)
            out->why = "it changes nothing";
        else if (rc > 0)
            rc = ws__judge_output(r, how, out);
    }
    ws__free(r->ctx, r->means);
    r->means = NULL;
    return rc;
}

void ws__advise(const struct ws__instance *in, const struct ws__mismatch *m,
                char out[256])
{
    const struct ws__tolerance *t = &in->op->tolerance;

    if (t->kind == WS__TOL_AUTO)
        snprintf(out, 256,
                 "inputs are too tame or the declared sum is too long: give "
                 "other fills, a smaller 'reduction' or a finer 'accumulate'");
    else
        snprintf(out, 256,
                 "the tolerance is too loose, or the inputs are too tame: atol "
                 "%.3g and rtol %.3g meet results of size %.3g; lower them or "
                 "give other fills",
                 t->atol, t->rtol, m->rms_ref);
}
