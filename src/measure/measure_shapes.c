/*
 * measure_shapes.c: workloads that nobody asked for.
 *
 * A kernel that is right on the workloads of its specification may have their
 * sizes built in: no guard at a tail, an alignment taken for granted, a table
 * of the shapes that were seen. So some axes of a workload get other values
 * inside the ranges: one, primes, one off a power of two, a neighbour.
 *
 * What the op requires must hold. A condition that the new value of an axis
 * breaks is mended by giving other axes values that keep what holds in the
 * workload: the product, the ratio, the difference or the sum of two axes
 * (`M * N == 2048`, `N == 2 * M`, `R == N + 1`), a common factor of all
 * workloads (`K % 64 == 0`), a multiple or a divisor of another axis, the
 * product of two (`T == M * N`). What none of these mends is drawn again.
 *
 * There is a pool for all candidates, and for each one a few shapes of its own:
 * inside the kernel's ranges, its constraints mended like the op's; one off a
 * multiple of its parameters, where its tiles end; three of any size,
 * with an axis from the large part of its range, another one each time; and a
 * large one.
 *
 * Only small shapes are kept, their results are computed on the host; where
 * there are none, those that are no dearer than the cheapest workload.
 * Types, counts that callers have, and inputs from files stay as they are.
 */
#include "measure/measure_int.h"

#include <math.h>

#include "base/banned.h"

#define TRIES 600
/* What bytes and operations may be together: where that can be had, else, and
 * of a large one. */
#define SMALL ((int64_t)1 << 18)
#define MANY ((int64_t)1 << 24)
#define LARGE (4 * MANY)
#define FLOPS_A_BYTE 16
/* No factor beyond that is tried. */
#define FACTORS 512
/* A parameter in this range may be the size of a tile. */
#define LEAST_TILE 4
#define MOST_TILE 1024

struct draw {
    struct ws__measure *m;
    const struct ws__candidate *who; /* whose own shapes; NULL: the pool's */
    struct ws__rng rng;
    int64_t lo[WS__MAX_AXES], hi[WS__MAX_AXES];
    /* Largest common factor of an axis in the workloads, 0: of zeros. */
    int64_t factor[WS__MAX_AXES];
    double limit;
    struct ws__hidden *out;
};

/* --- what an axis may be ---------------------------------------------------
 */

static bool may_vary(const struct ws__axis *a)
{
    return a->kind == WS__AXIS_VAR && a->counts == WS__COUNTS_NO;
}

static bool from_files(const struct ws__measure *m,
                       const struct ws__workload *w)
{
    for (size_t t = 0; w->input && t < m->op->ntensor; t++)
        if (w->input[t].kind == WS__INPUT_FILE)
            return true;
    return false;
}

/* May shapes be drawn from this workload? */
static bool is_base(const struct draw *d, const struct ws__workload *w)
{
    return !from_files(d->m, w) &&
           (!d->who || ws__measure_takes(d->m, d->who, w));
}

static int64_t common_factor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Numbers of a user's as a tolerance are for sums as long as those of the
 * workloads: errors of honest kernels grow with sums, the numbers do not. */
static int64_t longest(const struct ws__measure *m, size_t axis, int64_t hi)
{
    int64_t most = 1;

    if (m->op->tolerance.kind == WS__TOL_AUTO)
        return hi;
    for (size_t w = 0; w < m->nworkload; w++)
        if (m->workload[w].axis[axis] > most)
            most = m->workload[w].axis[axis];
    return most < hi ? most : hi;
}

/* Those of the op, else the hull of the workloads; and those of the kernel. */
static void find_ranges(struct draw *d)
{
    const struct ws__measure *m = d->m;

    for (size_t a = 0; a < m->op->naxis; a++) {
        int64_t *lo = &d->lo[a], *hi = &d->hi[a];
        bool declared = m->op->axis[a].hi != 0;

        *lo = declared ? m->op->axis[a].lo : m->workload[0].axis[a];
        *hi = declared ? m->op->axis[a].hi : m->workload[0].axis[a];
        for (size_t w = 0; w < m->nworkload; w++) {
            int64_t v = m->workload[w].axis[a];

            if (!declared && v < *lo)
                *lo = v;
            if (!declared && v > *hi)
                *hi = v;
            if (is_base(d, &m->workload[w]))
                d->factor[a] = common_factor(v, d->factor[a]);
        }
        *hi = longest(m, a, *hi);
        if (d->who) {
            const struct ws__kernel *k = &m->kernel[d->who->kernel];

            if (k->range_lo[a] || k->range_hi[a]) {
                *lo = *lo > k->range_lo[a] ? *lo : k->range_lo[a];
                *hi = *hi < k->range_hi[a] ? *hi : k->range_hi[a];
            }
        }
    }
}

static int64_t below(struct draw *d, int64_t n)
{
    return (int64_t)ws__rng_below(&d->rng, (uint64_t)n);
}

static int64_t clamped(const struct draw *d, size_t axis, int64_t v)
{
    return v < d->lo[axis] ? d->lo[axis] : v > d->hi[axis] ? d->hi[axis] : v;
}

/* Each size as likely as its double; from: the share of the range, in
 * doublings, that is passed over at its lower end. */
static int64_t draw_size(struct draw *d, int64_t lo, int64_t hi, double from)
{
    double u = from + (1 - from) * (double)below(d, 1 << 30) / (1 << 30);
    double v = (double)lo * exp(u * log((double)hi / (double)lo));

    return lo > 0 && isfinite(v) ? (int64_t)v : lo;
}

static int64_t draw_value(struct draw *d, size_t axis)
{
    static const int64_t primes[] = {1, 2, 3, 7, 13, 31, 61, 97, 127, 251};
    const struct ws__measure *m = d->m;
    int64_t lo = d->lo[axis], hi = d->hi[axis], v;
    size_t w = (size_t)below(d, (int64_t)m->nworkload);

    switch (below(d, 6)) {
    case 0:
        v = lo;
        break;
    case 1:
        v = primes[below(d, (int64_t)WS_COUNT(primes))];
        break;
    case 2: /* one off a power of two */
        v = ((int64_t)1 << (3 + below(d, 7))) - 1 + 2 * below(d, 2);
        break;
    case 3:
        v = 16 * (1 + below(d, 20));
        break;
    case 4: /* near the least */
        v = lo + below(d, hi - lo < 200 ? hi - lo + 1 : 200);
        break;
    default:
        v = m->workload[w].axis[axis] - 1 + below(d, 3);
        break;
    }
    return clamped(d, axis, v);
}

/* One off a multiple of a parameter of the candidate, or of two of them; 0: it
 * has none that may be a tile. */
static int64_t draw_tail(struct draw *d, size_t axis)
{
    const struct ws__kernel *k = &d->m->kernel[d->who->kernel];
    int64_t tile[WS__MAX_PARAMS];
    size_t n = 0;
    int64_t v;

    for (size_t i = 0; i < k->nparam; i++) {
        const struct ws__value *x = &k->param[i].value[d->who->config.at[i]];

        if (x->type == WS__INT && x->u.i >= LEAST_TILE && x->u.i <= MOST_TILE)
            tile[n++] = x->u.i;
    }
    if (!n)
        return 0;
    v = tile[below(d, (int64_t)n)];
    if (!below(d, 3) && v * tile[0] <= MOST_TILE)
        v *= tile[0];
    return clamped(d, axis, v * (1 + below(d, 4)) - 1 + 2 * below(d, 2));
}

/* --- what must hold --------------------------------------------------------
 */

/* How many conditions of the op, and of the kernel, do not. */
static size_t broken(const struct draw *d, const struct ws__workload *w)
{
    const struct ws__op *op = d->m->op;
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};
    size_t n = 0;

    for (size_t a = 0; a < op->naxis; a++)
        vars[a].i = w->axis[a];
    for (size_t i = 0; i < op->nrequire; i++)
        n += ws__expr_test(op->require[i], vars) != 1;
    return n + (d->who ? ws__measure_unmet(d->m, d->who, w) : 0);
}

/* A repair of one axis. */
struct mending {
    const struct draw *d;
    struct ws__workload *w;
    size_t axis, left; /* conditions */
    int64_t best;
};

static void try_value(struct mending *x, int64_t v)
{
    size_t now;

    if (!x->left || v < x->d->lo[x->axis] || v > x->d->hi[x->axis])
        return;
    x->w->axis[x->axis] = v;
    now = broken(x->d, x->w);
    if (now < x->left) {
        x->left = now;
        x->best = v;
    }
}

/* a * b / c if that is whole and no overflow; else -1, which no axis is. */
static int64_t scaled(int64_t a, int64_t b, int64_t c)
{
    int64_t product;

    if (c <= 0 || __builtin_mul_overflow(a, b, &product) || product % c)
        return -1;
    return product / c;
}

/* What holds between two axes in a workload is kept. */
static void try_pair(struct mending *x, size_t b, const struct ws__workload *of)
{
    int64_t a0 = of->axis[x->axis], b0 = of->axis[b], v = x->w->axis[b];

    try_value(x, a0 + (v - b0));
    try_value(x, a0 - (v - b0));
    try_value(x, scaled(a0, v, b0));
    try_value(x, scaled(a0, b0, v));
}

/* A neighbour, multiples and divisors of another axis, or products with it. */
static void try_other(struct mending *x, size_t b, int64_t old)
{
    const struct ws__op *op = x->d->m->op;
    int64_t v = x->w->axis[b];

    for (int64_t by = -1; by <= 1; by++)
        try_value(x, v + by);
    if (v > 0)
        try_value(x, old / v * v);
    for (int64_t k = 2; k <= 8; k++) {
        try_value(x, scaled(v, k, 1));
        try_value(x, scaled(v, 1, k));
    }
    for (size_t c = 0; c < op->naxis; c++)
        if (c != x->axis && c != b && op->axis[c].kind != WS__AXIS_TYPE) {
            try_value(x, scaled(v, x->w->axis[c], 1));
            try_value(x, scaled(v, 1, x->w->axis[c]));
        }
}

/* The least common factor of the workloads that helps. */
static void try_factors(struct mending *x, int64_t old)
{
    int64_t all = x->d->factor[x->axis];

    for (int64_t f = 2; f <= FACTORS && f <= all && x->left; f++)
        if (all % f == 0) {
            try_value(x, old / f * f);
            try_value(x, (old / f + 1) * f);
        }
}

static void mend_axis(struct mending *x)
{
    const struct ws__measure *m = x->d->m;
    int64_t old = x->w->axis[x->axis];

    x->best = old;
    try_factors(x, old);
    for (size_t b = 0; b < m->op->naxis && x->left; b++) {
        if (b == x->axis || m->op->axis[b].kind == WS__AXIS_TYPE)
            continue;
        try_other(x, b, old);
        for (size_t i = 0; i < m->nworkload && x->left; i++)
            try_pair(x, b, &m->workload[i]);
    }
    x->w->axis[x->axis] = x->best;
}

/* True if all that must hold does at the end. */
static bool mend(const struct draw *d, struct ws__workload *w)
{
    struct mending x = {.d = d, .w = w, .left = broken(d, w)};

    for (x.axis = 0; x.axis < d->m->op->naxis && x.left; x.axis++)
        if (may_vary(&d->m->op->axis[x.axis]))
            mend_axis(&x);
    return !x.left;
}

/* --- what it costs ---------------------------------------------------------
 */

static double cost(const struct ws__instance *in)
{
    double flops = in->flops / FLOPS_A_BYTE;
    double bytes = 0;

    for (size_t t = 0; t < in->op->ntensor; t++)
        bytes += (double)in->shape[t].bytes;
    return bytes > flops ? bytes : flops;
}

/* Negative if there is no such instance: no fault of anybody's. */
static int cost_of(struct draw *d, const struct ws__workload *w, double *out)
{
    struct ws_error kept = d->m->ctx->err;
    struct ws__instance *in = ws__alloc(d->m->ctx, 1, sizeof(*in));
    int rc = WS_ENOMEM;

    if (in)
        rc = ws__instance_make(d->m->ctx, d->m->op, w, in);
    if (rc >= 0)
        *out = cost(in);
    ws__free(d->m->ctx, in);
    if (rc != WS_ENOMEM)
        d->m->ctx->err = kept;
    return rc;
}

/* --- the pool --------------------------------------------------------------
 */

static bool is_known(const struct draw *d, const struct ws__workload *w)
{
    size_t bytes = d->m->op->naxis * sizeof(w->axis[0]);

    for (size_t i = 0; i < d->out->n; i++)
        if (!memcmp(d->out->shape[i].axis, w->axis, bytes))
            return true;
    for (size_t i = 0; i < d->m->nworkload; i++)
        if (!memcmp(d->m->workload[i].axis, w->axis, bytes))
            return true;
    return false;
}

/* Sorted by cost. There is room. */
static void insert(struct ws__hidden *h, const struct ws__workload *w, double c)
{
    size_t i = h->n++;

    for (; i > 0 && c < h->cost[i - 1]; i--) {
        h->shape[i] = h->shape[i - 1];
        h->cost[i] = h->cost[i - 1];
    }
    h->shape[i] = *w;
    h->cost[i] = c;
}

static int find_limit(struct draw *d)
{
    double least = 0, c;

    for (size_t w = 0; w < d->m->nworkload; w++) {
        WS_TRY(cost_of(d, &d->m->workload[w], &c));
        if (!w || c < least)
            least = c;
    }
    d->limit = least > (double)MANY ? least : (double)MANY;
    return 0;
}

/* Keeps a workload if everything holds and it is new and cheap enough. */
static int keep(struct draw *d, struct ws__workload *w)
{
    double c;
    int rc;

    if (!mend(d, w) || is_known(d, w))
        return 0;
    rc = cost_of(d, w, &c);
    if (rc < 0)
        return rc == WS_ENOMEM ? rc : 0;
    if (c <= d->limit)
        insert(d->out, w, c);
    return 0;
}

/* One of the workloads to start from; NULL: not this time. */
static const struct ws__workload *draw_base(struct draw *d,
                                            struct ws__workload *w)
{
    const struct ws__measure *m = d->m;
    const struct ws__workload *from =
        &m->workload[below(d, (int64_t)m->nworkload)];

    if (!is_base(d, from))
        return NULL;
    *w = *from;
    w->name = "hidden";
    w->about = NULL;
    return from;
}

/* Now and then one axis alone: its conditions are mended most surely. */
static int draw_one(struct draw *d)
{
    const struct ws__measure *m = d->m;
    size_t naxis = m->op->naxis;
    struct ws__workload w;
    size_t alone;

    if (!draw_base(d, &w))
        return 0;
    alone = below(d, 3) ? naxis : (size_t)below(d, (int64_t)naxis);
    for (size_t a = 0; a < naxis; a++)
        if (may_vary(&m->op->axis[a]) &&
            (alone < naxis ? a == alone : below(d, 3) != 0))
            w.axis[a] = draw_value(d, a);
    return keep(d, &w);
}

/* Any size, each as likely as its double; the nth axis that may vary from the
 * large third of its range. */
static int draw_sizes(struct draw *d, size_t nth)
{
    const struct ws__op *op = d->m->op;
    struct ws__workload w;
    size_t n = 0;

    if (!draw_base(d, &w))
        return 0;
    for (size_t a = 0; a < op->naxis; a++)
        if (may_vary(&op->axis[a]))
            w.axis[a] =
                draw_size(d, d->lo[a], d->hi[a], n++ == nth ? 2.0 / 3 : 0);
    return keep(d, &w);
}

static void start(struct draw *d, uint64_t seed)
{
    d->out->n = 0;
    ws__rng_seed(&d->rng, seed);
    find_ranges(d);
}

int ws__hidden_shapes(struct ws__measure *m, uint64_t seed,
                      struct ws__hidden *out)
{
    struct draw d = {.m = m, .out = out};

    start(&d, seed);
    d.limit = (double)SMALL;
    for (int i = 0; i < TRIES && out->n < WS__HIDDEN_SHAPES; i++)
        WS_TRY(draw_one(&d));
    if (out->n)
        return 0;
    WS_TRY(find_limit(&d));
    for (int i = 0; i < TRIES && out->n < WS__HIDDEN_SHAPES; i++)
        WS_TRY(draw_one(&d));
    return 0;
}

/* --- a candidate's own -----------------------------------------------------
 */

static int draw_tile(struct draw *d)
{
    const struct ws__measure *m = d->m;
    struct ws__workload w;

    if (!draw_base(d, &w))
        return 0;
    for (size_t a = 0; a < m->op->naxis; a++)
        if (may_vary(&m->op->axis[a])) {
            int64_t v = draw_tail(d, a);

            w.axis[a] = v ? v : w.axis[a];
        }
    return keep(d, &w);
}

/* One axis becomes as long as the limit allows, less a few for the sake of its
 * residue; the others stay as they are. */
static int draw_large(struct draw *d)
{
    const struct ws__measure *m = d->m;
    size_t a = (size_t)below(d, (int64_t)m->op->naxis);
    struct ws__workload w;
    double c, v;
    int rc;

    if (!may_vary(&m->op->axis[a]) || !draw_base(d, &w))
        return 0;
    rc = cost_of(d, &w, &c);
    if (rc < 0 || c <= 0)
        return rc == WS_ENOMEM ? rc : 0;
    v = (double)w.axis[a] * (d->limit / c) * 0.9;
    v = fmin(v, fmin((double)d->hi[a], 1e15));
    w.axis[a] = clamped(d, a, (int64_t)v - below(d, 64));
    return keep(d, &w);
}

int ws__hidden_own(struct ws__measure *m, const struct ws__candidate *c,
                   uint64_t seed, enum ws__hidden_kind kind,
                   struct ws__hidden *out)
{
    struct draw d = {.m = m, .who = c, .out = out};

    start(&d, seed);
    d.limit = kind == WS__HIDDEN_LARGE ? (double)LARGE : (double)SMALL;
    for (int i = 0; i < 2 * TRIES && !out->n; i++) {
        if (i == TRIES && kind != WS__HIDDEN_LARGE)
            WS_TRY(find_limit(&d));
        if (kind == WS__HIDDEN_TILE)
            WS_TRY(draw_tile(&d));
        else if (kind >= WS__HIDDEN_SIZE)
            WS_TRY(draw_sizes(&d, kind - WS__HIDDEN_SIZE));
        else if (kind == WS__HIDDEN_LARGE)
            WS_TRY(draw_large(&d));
        else
            WS_TRY(draw_one(&d));
    }
    return 0;
}
