/*
 * compare.c: is this output what the reference says?
 *
 * An element is equal if |a - r| <= A + B |r|. Explicit tolerances give A and
 * B (or say that one of the two is enough: WS__TOL_EITHER); the automatic ones
 * come from arithmetic. Let u be the unit roundoff.
 *
 * B: storing a sum rounds it once, by u(type) |r|; B = 2 u(type) leaves one
 * more rounding for a kernel that converts twice.
 *
 * A: adding K products of zero mean in any order, the partial sum after k of
 * them is near s sqrt(k/K), s being the size of a result; each addition
 * errs by about 0.4 u times that, with random sign, together 0.28 u sqrt(K) s
 * for one long chain and less for every other order. Partial sums of single
 * elements wander off: the product of two random amounts, its tail falls as
 * exp(-t pi/2) in units of 0.4 u sqrt(K) s, which for 10^9 elements is
 * 5.3 u sqrt(K) s: 8 u sqrt(K) s covers that. Matrix units that cut off
 * instead of rounding once every 16 terms err with one sign, by about
 * 0.7 u (2/3) K/16 times the largest results of 4 s or so: u K/8 s. s is the
 * root mean square of the reference where it is not 0: an element that cancels
 * to nearly nothing errs as much as its neighbours, and what was cut off tells
 * nothing of the sums before. Where there are no neighbours, s is what results
 * of other seeds say (results_size.c), which on a family of values also says
 * how many times larger than plain ones they are: A of explicit tolerances is
 * as many times larger. To this comes what types
 * lose near zero. A = (8 sqrt(K) + K/8) u(accumulate) s + tiny. Where sums are
 * kept in types of float32's range each of K partial sums may be flushed to
 * zero below the smallest normal number, as atomics of GPUs do: tiny has K of
 * these.
 *
 * Where one term of a sum is far larger than the others (the family `spikes`)
 * the partial sums behind it are of the size |r| of that result and not of s,
 * so each addition errs by 0.4 u |r|, all by 0.4 u sqrt(K) |r| in random sign:
 * A with |r|/4 in the place of s, five times that, is added to what is
 * allowed there (ws__compare_uneven).
 *
 * What it rejects: leaving out one of K terms moves a result by s/sqrt(K), in
 * float32 42 times A at K = 16384 and more below; summing in float16 errs
 * 8192 times more than in float32. t_compare.c tries both sides.
 *
 * One pass reads the output and the reference once. Since A needs s, and so
 * the end of the pass, the pass keeps the largest |a - r| - B |r|, which
 * decides. The worst element, of the largest error in units of what is
 * allowed, is found beside it with an A from a sample of the reference.
 * Blocks with NaN, infinity or poison, and outputs that are not equal, go
 * through a second pass, an element at a time.
 *
 * Both passes go through the output in chunks of a fixed size, several at a
 * time, and put their findings together in the order of the chunks: the report
 * is the same for any number of threads.
 */
#include "reference/refpriv.h"

#include <math.h>

#include "base/clones.h"
#include "base/banned.h"

#define STORE_ROUNDINGS 2.0
/* flashinfer-bench divides errors by |r| + this. */
#define NEAR_ZERO 1e-8
#define RANDOM_FACTOR 8.0
#define BIAS_FACTOR 0.125
#define UNEVEN_SHARE 0.25

#define BLOCK 1024u
#define CHUNK ((uint64_t)256 * BLOCK)
#define LANES 8u
/* Of the reference, to know its size before the pass. */
#define SAMPLE_RUNS 32u
#define SAMPLE_RUN 32u
/* No bound is smaller, so that it can be divided by. */
#define LEAST_BOUND 0x1p-500

struct job {
    const struct ws__tolerance *tol;
    const struct ws__tensor_shape *shape;
    const void *got;
    const double *want;
    double a, b, ratio;
    double size;      /* AUTO: results are taken to be of that at least;
                         EXPLICIT: they are as many times larger than plain */
    double near;      /* EITHER: what b counts beside |r| */
    bool either;      /* one of a and b |r| is enough, all must be finite */
    double about;     /* a, from a sample */
    bool exact;       /* integers: the rounded reference or nothing */
    uint64_t enough;  /* so many wrong elements settle it: no more is asked */
    double poison[2]; /* of elements at even and odd places */
    unsigned char pattern[8];
};

/* What types lose near zero: half the smallest step, twice; float32 and
 * bfloat16 may be flushed to zero below the smallest normal number. */
static double tiny_step(enum ws__dtype t)
{
    switch (t) {
    case WS__DT_F32:
    case WS__DT_BF16:
        return 0x1p-126;
    case WS__DT_F16:
        return 0x1p-24;
    case WS__DT_F8E4M3:
        return 0x1p-9;
    case WS__DT_F8E5M2:
        return 0x1p-16;
    case WS__DT_F64:
        return 0x1p-1022;
    default:
        return 0;
    }
}

/* What an error may be where the reference is r. */
static double bound_of(const struct job *job, double r)
{
    double part = job->b * (fabs(r) + job->near);

    return job->either ? fmax(job->a, part) : job->a + part;
}

/* --- first pass ---------------------------------------------------------- */

struct sums {
    double err2, ref2;           /* sums of squares */
    double zeros;                /* references that are 0 */
    double excess, abs_err, rel; /* largest */
    double suspects;             /* equal to the poison */
    double beyond;               /* above 0: a share above the largest */
};

/* The same per lane: the compiler need not reorder a sum to use vectors. */
struct lanes {
    double err2[LANES], ref2[LANES], excess[LANES], abs_err[LANES], rel[LANES],
        suspects[LANES];
    double beyond[LANES], zeros[LANES];
};

WS__CLONES
static void block_lanes(const double *restrict v, const double *restrict r,
                        size_t n, const struct job *restrict job, double share,
                        struct lanes *restrict l)
{
    const double b = job->b, share_a = share * job->about, share_b = share * b,
                 poison0 = job->poison[0], poison1 = job->poison[1];

    for (size_t i = 0; i < n; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            double d = fabs(v[i + j] - r[i + j]), m = fabs(r[i + j]);
            double over = d - b * m, q = d / (m > 0 ? m : HUGE_VAL);
            double beyond = d - (share_a + share_b * m);

            l->err2[j] += d * d;
            l->ref2[j] += m * m;
            l->excess[j] = over > l->excess[j] ? over : l->excess[j];
            l->abs_err[j] = d > l->abs_err[j] ? d : l->abs_err[j];
            l->rel[j] = q > l->rel[j] ? q : l->rel[j];
            l->zeros[j] += m > 0 ? 0 : 1;
            l->suspects[j] += v[i + j] == poison0 ? 1 : 0;
            l->suspects[j] += v[i + j] == poison1 ? 1 : 0;
            l->beyond[j] = beyond > l->beyond[j] ? beyond : l->beyond[j];
        }
    }
}

static void block_sums(const double *v, const double *r, size_t n,
                       const struct job *job, double share, struct sums *out)
{
    struct lanes l = {0};
    double tail_v[LANES], tail_r[LANES];
    size_t whole = n / LANES * LANES;

    for (size_t j = 0; j < LANES; j++)
        l.excess[j] = -HUGE_VAL;
    block_lanes(v, r, whole, job, share, &l);
    if (whole < n) {
        /* Repeat the last element: sums below count it out again. */
        for (size_t j = 0; j < LANES; j++) {
            size_t i = whole + j < n ? whole + j : n - 1;

            tail_v[j] = v[i];
            tail_r[j] = r[i];
        }
        block_lanes(tail_v, tail_r, LANES, job, share, &l);
    }
    *out = (struct sums){.excess = -HUGE_VAL};
    for (size_t j = 0; j < LANES; j++) {
        out->err2 += l.err2[j];
        out->ref2 += l.ref2[j];
        out->zeros += l.zeros[j];
        out->excess = fmax(out->excess, l.excess[j]);
        out->abs_err = fmax(out->abs_err, l.abs_err[j]);
        out->rel = fmax(out->rel, l.rel[j]);
        out->suspects += l.suspects[j];
        out->beyond = fmax(out->beyond, l.beyond[j]);
    }
    if (whole < n) {
        double extra = (double)(LANES - (n - whole));
        double d = v[n - 1] - r[n - 1];

        out->err2 -= extra * d * d;
        out->ref2 -= extra * r[n - 1] * r[n - 1];
        out->zeros -= r[n - 1] == 0 ? extra : 0;
    }
}

/* Place in memory of flat element i. */
static uint64_t place_of(const struct ws__tensor_shape *s, uint64_t i)
{
    uint64_t at = 0;

    if (s->contiguous)
        return i;
    for (size_t d = s->ndim; d-- > 0;) {
        at += i % (uint64_t)s->dim[d] * (uint64_t)s->stride[d];
        i /= (uint64_t)s->dim[d];
    }
    return at;
}

static void load_block(const struct job *job, uint64_t begin, size_t n,
                       double *v)
{
    const struct ws__tensor_shape *s = job->shape;
    size_t bytes = ws__dtype_bytes(s->dtype), last;

    if (s->contiguous) {
        ws__dtype_load(s->dtype, (const char *)job->got + begin * bytes, v, n);
        return;
    }
    /* A run along the last dimension at a time. */
    for (size_t i = 0; i < n; i += last) {
        uint64_t row = (uint64_t)s->dim[s->ndim - 1];
        const char *p = (const char *)job->got + place_of(s, begin + i) * bytes;

        last = (size_t)(row - (begin + i) % row);
        last = last < n - i ? last : n - i;
        if (s->stride[s->ndim - 1] == 1) {
            ws__dtype_load(s->dtype, p, v + i, last);
            continue;
        }
        for (size_t j = 0; j < last; j++)
            v[i + j] =
                ws__dtype_get(s->dtype, p, j * (size_t)s->stride[s->ndim - 1]);
    }
}

/* --- one element --------------------------------------------------------- */

enum judgement { EQUAL, DIFFERENT, NOT_FINITE, UNWRITTEN };

static bool same(double x, double y)
{
    return x == y || (x != x && y != y);
}

/* What storing the reference in the element's type yields. */
static void round_block(enum ws__dtype t, const double *r, size_t n, double *q)
{
    _Alignas(8) unsigned char code[BLOCK * 8];

    ws__dtype_store(t, r, code, n);
    ws__dtype_load(t, code, q, n);
}

static bool holds_pattern(const struct job *job, uint64_t place)
{
    size_t bytes = ws__dtype_bytes(job->shape->dtype);
    const unsigned char *p = (const unsigned char *)job->got + place * bytes;
    const unsigned char *q = job->pattern + place * bytes % 4;

    return *p == *q && !memcmp(p, q, bytes);
}

/* g: what was computed, r: the reference, q: that as it is stored. */
static enum judgement judge(const struct job *job, uint64_t i, double g,
                            double r, double q)
{
    if (job->either && !isfinite(g))
        return holds_pattern(job, place_of(job->shape, i)) ? UNWRITTEN
                                                           : NOT_FINITE;
    /* What the type makes of the reference is right by definition: this
     * covers overflow to infinity, saturation, and integers. */
    if (same(g, q) || (!isfinite(r) && same(g, r)))
        return EQUAL;
    if (isfinite(r) && !job->exact && fabs(g - r) <= bound_of(job, r))
        return EQUAL;
    /* Only what is wrong can be unwritten: in a 16-bit type one right result
     * in 65536 looks like any poison that is a plausible number. */
    if (holds_pattern(job, place_of(job->shape, i)))
        return UNWRITTEN;
    return isfinite(r) && !isfinite(g) ? NOT_FINITE : DIFFERENT;
}

/* The error in units of what is allowed, for naming the worst element: above
 * 1 is wrong. */
static double badness(const struct job *job, double g, double r, double q)
{
    double bound = job->exact ? 0 : bound_of(job, r), share;

    share = fabs(g - r) / (bound > LEAST_BOUND ? bound : LEAST_BOUND);
    if (job->either && !isfinite(g))
        return HUGE_VAL;
    if (same(g, q))
        return share <= 1 ? share : share == share;
    return share == share ? share : HUGE_VAL;
}

/* most: -HUGE_VAL before the first element, which is taken in any case. */
static void note_worst(const struct job *job, uint64_t begin, const double *v,
                       const double *q, size_t n, double *most,
                       struct ws__mismatch *m)
{
    for (size_t i = 0; i < n; i++) {
        double over = badness(job, v[i], job->want[begin + i], q[i]);

        if (over <= *most)
            continue;
        *most = over;
        m->worst = begin + i;
        m->worst_got = v[i];
        m->worst_want = job->want[begin + i];
    }
}

/* --- passes -------------------------------------------------------------- */

/* What a pass found in one chunk, then in all. */
struct totals {
    double err2, ref2, most;
    double share;    /* largest error over its bound so far, about */
    uint64_t finite; /* elements in the sums */
    uint64_t zeros;  /* of them: the reference is 0 */
    uint64_t worst_block;
    bool suspicious; /* only the second pass can tell */
    struct ws__mismatch m;
};

struct passing {
    const struct job *job;
    struct totals *chunk;
    void (*pass)(const struct job *job, uint64_t begin, uint64_t end,
                 struct totals *t);
};

static uint64_t chunks_of(const struct job *job)
{
    return (job->shape->elements + CHUNK - 1) / CHUNK;
}

static size_t block_length(uint64_t begin, uint64_t end)
{
    return end - begin < BLOCK ? (size_t)(end - begin) : BLOCK;
}

/* A block with NaN or infinity: sums over what is finite. */
static void add_finite(const double *v, const double *r, size_t n,
                       struct totals *t)
{
    struct ws__mismatch *m = &t->m;

    for (size_t i = 0; i < n; i++) {
        double d = fabs(v[i] - r[i]);

        if (!isfinite(v[i]) || !isfinite(r[i]))
            continue;
        t->finite++;
        t->err2 += d * d;
        t->ref2 += r[i] * r[i];
        t->zeros += r[i] == 0;
        m->max_abs = fmax(m->max_abs, d);
        m->max_rel = r[i] != 0 ? fmax(m->max_rel, d / fabs(r[i])) : m->max_rel;
    }
}

static enum ws__dtype accumulate(const struct ws__tolerance *tol)
{
    return tol->accumulate ? tol->accumulate : WS__DT_F32;
}

/* Of sums of size 1. */
static double sum_error(const struct ws__instance *in,
                        const struct ws__tolerance *tol)
{
    double k = (double)in->reduction;

    return (RANDOM_FACTOR * sqrt(k) + BIAS_FACTOR * k) *
           ws__dtype_eps(accumulate(tol));
}

/* What is lost near zero, by sums and by their result. */
static double tiny(const struct ws__instance *in,
                   const struct ws__tolerance *tol, enum ws__dtype out)
{
    enum ws__dtype acc = accumulate(tol);
    bool flushes = acc == WS__DT_F32 || acc == WS__DT_BF16;

    return tiny_step(out) +
           (flushes ? (double)in->reduction * tiny_step(acc) : 0);
}

/* A of the head, for a reference of size s. */
static double bound_at_zero(const struct ws__instance *in,
                            const struct job *job, double s)
{
    if (job->tol->kind != WS__TOL_AUTO)
        return job->tol->atol * fmax(1, job->size);
    return sum_error(in, job->tol) * fmax(s, job->size) +
           tiny(in, job->tol, job->shape->dtype);
}

/* Root mean square of some of the reference: runs, evenly spread. */
static double sampled_size(const struct job *job)
{
    uint64_t n = job->shape->elements, step = n / SAMPLE_RUNS;
    double sum = 0, count = 0;

    if (step < SAMPLE_RUN)
        step = SAMPLE_RUN;
    for (uint64_t at = 0; at < n; at += step)
        for (uint64_t i = at; i < n && i < at + SAMPLE_RUN; i++) {
            double r = job->want[i];

            if (!isfinite(r) || r == 0)
                continue;
            sum += r * r;
            count++;
        }
    return count > 0 ? sqrt(sum / count) : 0;
}

/* Few blocks have an element that is worse than all before. */
static void raise_share(const struct job *job, const double *v, const double *r,
                        size_t n, double *share)
{
    for (size_t i = 0; i < n; i++)
        *share = fmax(*share,
                      fabs(v[i] - r[i]) / (job->about + job->b * fabs(r[i])));
}

static void first_pass(const struct job *job, uint64_t begin, uint64_t end,
                       struct totals *t)
{
    double v[BLOCK];

    t->most = -HUGE_VAL;
    t->worst_block = begin;
    for (uint64_t at = begin; at < end; at += BLOCK) {
        size_t n = block_length(at, end);
        const double *r = job->want + at;
        struct sums s;

        load_block(job, at, n, v);
        block_sums(v, r, n, job, t->share, &s);
        t->suspicious |= s.suspects > 0;
        if (!isfinite(s.err2) || !isfinite(s.ref2)) {
            t->suspicious = true;
            add_finite(v, r, n, t);
            continue;
        }
        t->finite += n;
        t->err2 += fmax(s.err2, 0);
        t->ref2 += fmax(s.ref2, 0);
        t->zeros += (uint64_t)s.zeros;
        t->m.max_abs = fmax(t->m.max_abs, s.abs_err);
        t->m.max_rel = fmax(t->m.max_rel, s.rel);
        t->most = fmax(t->most, s.excess);
        if (s.beyond > 0) {
            raise_share(job, v, r, n, &t->share);
            t->worst_block = at;
        }
    }
}

static void judge_block(const struct job *job, uint64_t begin, const double *v,
                        const double *q, size_t n, struct ws__mismatch *m)
{
    for (size_t i = 0; i < n; i++) {
        double r = job->want[begin + i];
        enum judgement j = judge(job, begin + i, v[i], r, q[i]);

        if (j == EQUAL)
            continue;
        if (!m->bad++) {
            m->first = begin + i;
            m->first_got = v[i];
            m->first_want = r;
        }
        m->unwritten += j == UNWRITTEN;
        m->nan += j == NOT_FINITE;
    }
}

static bool settled(const struct job *job, const struct ws__mismatch *m)
{
    return job->enough && (m->nan || m->unwritten || m->bad >= job->enough);
}

/* most: the worst element's, unless the end alone is asked for. */
static void second_pass(const struct job *job, uint64_t begin, uint64_t end,
                        struct totals *t)
{
    double v[BLOCK], q[BLOCK];

    t->most = -HUGE_VAL;
    for (uint64_t at = begin; at < end && !settled(job, &t->m); at += BLOCK) {
        size_t n = block_length(at, end);

        load_block(job, at, n, v);
        round_block(job->shape->dtype, job->want + at, n, q);
        if (!job->enough)
            note_worst(job, at, v, q, n, &t->most, &t->m);
        judge_block(job, at, v, q, n, &t->m);
    }
}

static int pass_chunks(void *user, uint64_t begin, uint64_t end)
{
    const struct passing *p = user;

    for (uint64_t i = begin; i < end; i++) {
        uint64_t from = i * CHUNK, to = from + CHUNK;

        if (to > p->job->shape->elements)
            to = p->job->shape->elements;
        memset(&p->chunk[i], 0, sizeof(p->chunk[i]));
        p->pass(p->job, from, to, &p->chunk[i]);
    }
    return 0;
}

static void join_first(struct totals *all, const struct totals *t)
{
    all->err2 += t->err2;
    all->ref2 += t->ref2;
    all->finite += t->finite;
    all->zeros += t->zeros;
    all->most = fmax(all->most, t->most);
    all->suspicious |= t->suspicious;
    all->m.max_abs = fmax(all->m.max_abs, t->m.max_abs);
    all->m.max_rel = fmax(all->m.max_rel, t->m.max_rel);
    if (t->share > all->share) {
        all->share = t->share;
        all->worst_block = t->worst_block;
    }
}

static void join_second(struct totals *all, const struct totals *t)
{
    struct ws__mismatch *m = &all->m;

    if (t->most > all->most) {
        all->most = t->most;
        m->worst = t->m.worst;
        m->worst_got = t->m.worst_got;
        m->worst_want = t->m.worst_want;
    }
    if (!m->bad && t->m.bad) {
        m->first = t->m.first;
        m->first_got = t->m.first_got;
        m->first_want = t->m.first_want;
    }
    m->bad += t->m.bad;
    m->nan += t->m.nan;
    m->unwritten += t->m.unwritten;
}

static int first_passes(struct ws_ctx *ctx, const struct ws__instance *in,
                        struct job *job, struct totals *chunk,
                        struct totals *all)
{
    struct passing p = {job, chunk, first_pass};

    memset(all, 0, sizeof(*all));
    all->most = -HUGE_VAL;
    job->about = fmax(bound_at_zero(in, job, sampled_size(job)), LEAST_BOUND);
    WS_TRY(ws__parallel_for(ctx, 0, chunks_of(job), pass_chunks, &p));
    for (uint64_t i = 0; i < chunks_of(job); i++)
        join_first(all, &chunk[i]);
    return 0;
}

/* Adds to what the first ones found. */
static int second_passes(struct ws_ctx *ctx, const struct job *job,
                         struct totals *chunk, struct totals *all)
{
    struct passing p = {job, chunk, second_pass};

    all->most = -HUGE_VAL;
    WS_TRY(ws__parallel_for(ctx, 0, chunks_of(job), pass_chunks, &p));
    for (uint64_t i = 0; i < chunks_of(job); i++)
        join_second(all, &chunk[i]);
    return 0;
}

static void make_job(const struct ws__instance *in,
                     const struct ws__tolerance *tol, size_t tensor,
                     const void *got, const double *want, uint32_t poison,
                     struct job *job)
{
    memset(job, 0, sizeof(*job));
    job->tol = tol;
    job->shape = &in->shape[tensor];
    job->got = got;
    job->want = want;
    job->ratio = 1;
    if (tol->kind != WS__TOL_AUTO) {
        job->either = tol->kind == WS__TOL_EITHER;
        job->near = job->either ? NEAR_ZERO : 0;
        job->a = tol->atol;
        job->b = tol->rtol;
        job->ratio = tol->ratio > 0 ? tol->ratio : 1;
    } else {
        job->b = STORE_ROUNDINGS * ws__dtype_eps(job->shape->dtype);
        job->exact = !ws__dtype_is_float(job->shape->dtype);
    }
    memcpy(job->pattern, &poison, 4);
    memcpy(job->pattern + 4, &poison, 4);
    for (size_t i = 0; i < 2; i++) {
        size_t at = i * ws__dtype_bytes(job->shape->dtype) % 4;
        unsigned char aside[8];

        memcpy(aside, job->pattern, sizeof(aside));
        memmove(aside, job->pattern + at, sizeof(aside) - at);
        job->poison[i] = ws__dtype_get(job->shape->dtype, aside, 0);
    }
}

/* Bytes have four places in the pattern, not two: let the second pass look
 * whenever it might matter. */
static bool must_look(const struct job *job)
{
    return job->exact || ws__dtype_bytes(job->shape->dtype) == 1;
}

/* The worst element, of the block that has it. */
static void name_worst(const struct job *job, struct totals *all)
{
    struct ws__mismatch *m = &all->m;
    double v[BLOCK], q[BLOCK], most = -HUGE_VAL;
    size_t n = block_length(all->worst_block, job->shape->elements);

    load_block(job, all->worst_block, n, v);
    round_block(job->shape->dtype, job->want + all->worst_block, n, q);
    m->worst = all->worst_block;
    m->worst_got = v[0];
    m->worst_want = job->want[all->worst_block];
    note_worst(job, all->worst_block, v, q, n, &most, m);
}

/* Does what the first pass kept settle that every element is equal? */
static bool all_within(const struct job *job, const struct totals *all)
{
    return job->either ? all->m.max_abs <= job->a : all->most <= job->a;
}

/* Without the whole second pass where the block that looks worst settles it. */
static int look(struct ws_ctx *ctx, const struct job *job, struct totals *chunk,
                struct totals *all)
{
    uint64_t at = all->worst_block;

    if (job->enough) {
        struct totals t = {0};

        second_pass(job, at, at + block_length(at, job->shape->elements), &t);
        if (settled(job, &t.m)) {
            join_second(all, &t);
            return 0;
        }
    }
    return second_passes(ctx, job, chunk, all);
}

static int both_passes(struct ws_ctx *ctx, const struct ws__instance *in,
                       struct job *job, struct totals *chunk,
                       struct totals *all)
{
    struct ws__mismatch *m = &all->m;
    double size = 0;

    WS_TRY(first_passes(ctx, in, job, chunk, all));
    if (all->finite) {
        m->rms_err = sqrt(all->err2 / (double)all->finite);
        m->rms_ref = sqrt(all->ref2 / (double)all->finite);
        size = sqrt(all->ref2 / (double)(all->finite > all->zeros
                                             ? all->finite - all->zeros
                                             : 1));
    }
    job->a = bound_at_zero(in, job, size);
    if (all->suspicious || !all_within(job, all) || must_look(job))
        return look(ctx, job, chunk, all);
    if (!job->enough)
        name_worst(job, all);
    return 0;
}

/* How many may be wrong. */
static double spared(const struct job *job)
{
    return (1 - job->ratio) * (double)job->shape->elements + 1e-9;
}

static int run(struct ws_ctx *ctx, const struct ws__instance *in,
               struct job *job, struct totals *all)
{
    struct totals *chunk;
    int rc;

    WS_TRY(ws__check_stop(ctx));
    chunk = ws__alloc(ctx, (size_t)chunks_of(job) + 1, sizeof(*chunk));
    if (!chunk)
        return WS_ENOMEM;
    rc = both_passes(ctx, in, job, chunk, all);
    ws__free(ctx, chunk);
    WS_TRY(rc);
    return all->m.nan == 0 && all->m.unwritten == 0 &&
           (double)all->m.bad <= spared(job);
}

static int compare_job(struct ws_ctx *ctx, const struct ws__instance *in,
                       size_t tensor, struct job *job, struct ws__mismatch *m)
{
    struct totals all;
    int rc = run(ctx, in, job, &all);

    WS_TRY(rc);
    *m = all.m;
    m->tensor = (uint32_t)tensor;
    m->total = job->shape->elements;
    m->allowed = job->exact ? 0 : bound_of(job, m->worst_want);
    return rc;
}

int ws__compare_end(struct ws_ctx *ctx, const struct ws__instance *in,
                    const struct ws__tolerance *tol, size_t tensor,
                    const void *got, const double *want, uint32_t poison)
{
    struct totals all;
    struct job job;

    make_job(in, tol, tensor, got, want, poison, &job);
    job.enough = (uint64_t)spared(&job) + 1;
    return run(ctx, in, &job, &all);
}

int ws__compare_by(struct ws_ctx *ctx, const struct ws__instance *in,
                   const struct ws__tolerance *tol, size_t tensor,
                   const void *got, const double *want, uint32_t poison,
                   struct ws__mismatch *m)
{
    struct job job;

    make_job(in, tol, tensor, got, want, poison, &job);
    return compare_job(ctx, in, tensor, &job, m);
}

static int compare_sized(struct ws_ctx *ctx, const struct ws__instance *in,
                         size_t tensor, const void *got, const double *want,
                         double size, uint32_t poison, bool uneven,
                         struct ws__mismatch *m)
{
    const struct ws__tolerance *tol = &in->op->tolerance;
    struct job job;

    make_job(in, tol, tensor, got, want, poison, &job);
    job.size = size;
    if (uneven && tol->kind == WS__TOL_AUTO && !job.exact)
        job.b += UNEVEN_SHARE * sum_error(in, tol);
    return compare_job(ctx, in, tensor, &job, m);
}

int ws__compare(struct ws_ctx *ctx, const struct ws__instance *in,
                size_t tensor, const void *got, const double *want, double size,
                uint32_t poison, struct ws__mismatch *m)
{
    return compare_sized(ctx, in, tensor, got, want, size, poison, false, m);
}

int ws__compare_uneven(struct ws_ctx *ctx, const struct ws__instance *in,
                       size_t tensor, const void *got, const double *want,
                       double size, uint32_t poison, struct ws__mismatch *m)
{
    return compare_sized(ctx, in, tensor, got, want, size, poison, true, m);
}

int ws__compare_finite(struct ws_ctx *ctx, const struct ws__instance *in,
                       size_t tensor, const void *got, const double *want,
                       double size, uint32_t poison, struct ws__mismatch *m)
{
    WS_TRY(ws__compare(ctx, in, tensor, got, want, size, poison, m));
    return m->nan == 0 && m->unwritten == 0;
}
