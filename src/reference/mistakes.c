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

#include <math.h>

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

/* Flat index of a place without dimension d. */
static uint64_t without(const struct ws__tensor_shape *s, const int64_t *at,
                        size_t d)
{
    uint64_t i = 0;

    for (size_t k = 0; k < s->ndim; k++)
        if (k != d)
            i = i * (uint64_t)s->dim[k] + (uint64_t)at[k];
    return i;
}

static double mean_along(const struct ws__right *r, uint64_t i,
                         const int64_t *at)
{
    (void)i;
    return r->means[without(shape(r), at, r->dim)];
}

/* --- where they are mistakes ---------------------------------------------- */

static void step(const struct ws__tensor_shape *s, int64_t *at)
{
    for (size_t d = s->ndim; d-- > 0 && ++at[d] == s->dim[d];)
        at[d] = 0;
}

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

/* Infinite elements spoil the mean of theirs, which fails then: a kernel that
 * writes it is no better. */
static const char *with_means(struct ws__right *r, int param)
{
    const struct ws__tensor_shape *s = shape(r);
    int64_t at[WS__MAX_DIMS] = {0};
    size_t d = (size_t)param;

    if (d >= s->ndim)
        return ""; /* not worth a line */
    if (s->ndim < 2 || s->dim[d] < 2)
        return "it has one element there, or no other dimension";
    r->dim = d;
    r->means =
        ws__alloc(r->ctx, s->elements / (uint64_t)s->dim[d], sizeof(*r->means));
    if (!r->means)
        r->failed = WS_ENOMEM;
    for (uint64_t i = 0; r->means && i < s->elements; i++) {
        r->means[without(s, at, d)] += r->v[i] / (double)s->dim[d];
        step(s, at);
    }
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

double ws__round_bits(double x, unsigned bits)
{
    int e;
    double m;

    if (!isfinite(x))
        return x;
    m = frexp(x, &e);
    return ldexp(rint(ldexp(m, (int)bits)), e - (int)bits);
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

static void put(const struct ws__tensor_shape *s, void *to, int64_t off,
                double x)
{
    static const uint32_t poison[2] = {POISON, POISON};
    size_t bytes = ws__dtype_bytes(s->dtype), at = (size_t)off * bytes;

    if (isnan(x))
        memcpy((char *)to + at, (const char *)poison + at % 4, bytes);
    else
        ws__dtype_set(s->dtype, to, (size_t)off, x);
}

static int64_t offset(const struct ws__tensor_shape *s, const int64_t *at)
{
    int64_t off = 0;

    for (size_t d = 0; d < s->ndim; d++)
        off += at[d] * s->stride[d];
    return off;
}

void ws__write_result(const struct ws__tensor_shape *s, const double *v,
                      void *to)
{
    int64_t at[WS__MAX_DIMS] = {0};

    for (uint64_t i = 0; i < s->elements; i++) {
        put(s, to, offset(s, at), v[i]);
        step(s, at);
    }
}

/* True if any element differs from what is right in the output's type. */
static bool write_mistake(const struct ws__right *r, size_t which)
{
    const struct ws__tensor_shape *s = shape(r);
    int64_t at[WS__MAX_DIMS] = {0};
    unsigned char right[8];
    bool differs = false;

    for (uint64_t i = 0; i < s->elements; i++) {
        double x = mistakes[which].value(r, i, at);
        int64_t off = offset(s, at);

        put(s, r->got, off, x);
        ws__dtype_set(s->dtype, right, 0, r->v[i]);
        differs |= isnan(x) || ws__dtype_get(s->dtype, r->got, (size_t)off) !=
                                   ws__dtype_get(s->dtype, right, 0);
        step(s, at);
    }
    return differs;
}

static double share_of(const struct ws__mismatch *m)
{
    double err = fabs(m->worst_got - m->worst_want);

    if (m->nan || m->unwritten || isnan(err))
        return (double)INFINITY;
    return err > 0 ? err / m->allowed : 0;
}

int ws__judge_output(const struct ws__right *r, bool all_rules,
                     struct ws__mistaken *out)
{
    int rc;

    memset(&out->mismatch, 0, sizeof(out->mismatch));
    rc = ws__compare(r->ctx, r->in, r->tensor, r->got, r->v, POISON,
                     &out->mismatch);
    WS_TRY(rc);
    out->end = rc ? WS__MISTAKE_PASSES : WS__MISTAKE_REJECTED;
    out->share = share_of(&out->mismatch);
    for (int i = 0; all_rules && i < WS__NRULES; i++) {
        struct ws__tolerance t = ws__tolerance_named(i);
        struct ws__mismatch m = {0};

        rc = ws__compare_by(r->ctx, r->in, &t, r->tensor, r->got, r->v, POISON,
                            &m);
        WS_TRY(rc);
        out->rejected[i] = !rc;
    }
    return 0;
}

int ws__mistake(struct ws__right *r, size_t which, bool all_rules,
                struct ws__mistaken *out)
{
    int rc = 0;

    *out = (struct ws__mistaken){.name = mistakes[which].name,
                                 .end = WS__MISTAKE_NONE};
    r->means = NULL;
    out->why = mistakes[which].applies(r, mistakes[which].param);
    WS_TRY(r->failed);
    if (!out->why && !write_mistake(r, which))
        out->why = "it changes nothing";
    if (!out->why)
        rc = ws__judge_output(r, all_rules, out);
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
