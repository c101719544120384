/*
 * measure_shapes.c: workloads that nobody asked for.
 *
 * A kernel that is right on the workloads of its specification may have their
 * sizes built in: no guard at a tail, an alignment taken for granted, a table
 * of the shapes that were seen. So some axes of a workload get other values
 * inside the ranges: one, primes, one off a power of two, a neighbour. What the
 * op requires must hold: an equation between axes is mended by trying the
 * neighbours of other axes (`len_indptr == batch_size + 1`).
 *
 * Only cheap shapes are kept: no dearer than the cheapest workload, or small.
 * Types, counts that callers have, and inputs from files stay as they are.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

#define TRIES 600
#define MANY                                                                   \
    ((int64_t)1 << 24) /* what bytes and operations may be together            \
                        */
#define FLOPS_A_BYTE 16

struct draw {
    struct ws__measure *m;
    struct ws__rng rng;
    int64_t lo[WS__MAX_AXES], hi[WS__MAX_AXES];
    double limit;
    struct ws__hidden *out;
};

/* --- what an axis may be ---------------------------------------------------
 */

static bool may_vary(const struct ws__axis *a)
{
    return a->kind == WS__AXIS_VAR && a->counts == WS__COUNTS_NO;
}

/* Declared, else the hull of the workloads. */
static void find_ranges(struct draw *d)
{
    const struct ws__measure *m = d->m;

    for (size_t a = 0; a < m->op->naxis; a++) {
        d->lo[a] = m->op->axis[a].lo;
        d->hi[a] = m->op->axis[a].hi;
        if (d->hi[a])
            continue;
        d->lo[a] = d->hi[a] = m->workload[0].axis[a];
        for (size_t w = 1; w < m->nworkload; w++) {
            int64_t v = m->workload[w].axis[a];

            d->lo[a] = v < d->lo[a] ? v : d->lo[a];
            d->hi[a] = v > d->hi[a] ? v : d->hi[a];
        }
    }
}

static int64_t below(struct draw *d, int64_t n)
{
    return (int64_t)ws__rng_below(&d->rng, (uint64_t)n);
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
    return v < lo ? lo : v > hi ? hi : v;
}

/* --- what must hold --------------------------------------------------------
 */

/* How many of the op's conditions do not. */
static size_t broken(const struct draw *d, const struct ws__workload *w)
{
    const struct ws__op *op = d->m->op;
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};
    size_t n = 0;

    for (size_t a = 0; a < op->naxis; a++)
        vars[a].i = w->axis[a];
    for (size_t i = 0; i < op->nrequire; i++)
        n += ws__expr_test(op->require[i], vars) != 1;
    return n;
}

/* Tries for each axis the neighbours of the others. */
static bool mend(const struct draw *d, struct ws__workload *w)
{
    const struct ws__op *op = d->m->op;
    size_t left = broken(d, w);

    for (size_t a = 0; a < op->naxis && left; a++) {
        int64_t old = w->axis[a], best = old;

        for (size_t b = 0; b < op->naxis && may_vary(&op->axis[a]); b++)
            for (int64_t by = -1; by <= 1 && b != a; by++) {
                size_t now;

                w->axis[a] = w->axis[b] + by;
                now = w->axis[a] >= d->lo[a] && w->axis[a] <= d->hi[a]
                          ? broken(d, w)
                          : left;
                if (now < left) {
                    left = now;
                    best = w->axis[a];
                }
            }
        w->axis[a] = best;
    }
    return !left;
}

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

static bool from_files(const struct ws__measure *m,
                       const struct ws__workload *w)
{
    for (size_t t = 0; w->input && t < m->op->ntensor; t++)
        if (w->input[t].kind == WS__INPUT_FILE)
            return true;
    return false;
}

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

static int draw_one(struct draw *d)
{
    const struct ws__measure *m = d->m;
    size_t from = (size_t)below(d, (int64_t)m->nworkload);
    struct ws__workload w = m->workload[from];
    double c;
    int rc;

    if (from_files(m, &w))
        return 0;
    w.name = "hidden";
    w.about = NULL;
    for (size_t a = 0; a < m->op->naxis; a++)
        if (may_vary(&m->op->axis[a]) && below(d, 3))
            w.axis[a] = draw_value(d, a);
    if (!mend(d, &w) || is_known(d, &w))
        return 0;
    rc = cost_of(d, &w, &c);
    if (rc < 0)
        return rc == WS_ENOMEM ? rc : 0;
    if (c <= d->limit)
        insert(d->out, &w, c);
    return 0;
}

int ws__hidden_shapes(struct ws__measure *m, uint64_t seed,
                      struct ws__hidden *out)
{
    struct draw d = {.m = m, .out = out};

    out->n = 0;
    ws__rng_seed(&d.rng, seed);
    find_ranges(&d);
    WS_TRY(find_limit(&d));
    for (int i = 0; i < TRIES && out->n < WS__HIDDEN_SHAPES; i++)
        WS_TRY(draw_one(&d));
    return 0;
}
