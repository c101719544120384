/*
 * stats.c: order statistics and bootstrap intervals of time samples.
 *
 * Times of kernels are skewed and have outliers, so nothing here assumes a
 * shape of the distribution: the location is the median, its interval comes
 * from the binomial law of ranks, and the interval of a ratio of medians from
 * resampling. Selection by rank (no sort, no allocation) is what both need.
 *
 * Below six samples no pair of ranks covers 95%: the interval is then the
 * whole range, and says less than it seems to.
 */
#include "core/stats.h"

#include <math.h>

#include "base/hash.h"

#include "base/banned.h"

#define RESAMPLES 1000
#define TAIL 0.025 /* of a 95% interval, each side */

static void swap(double *a, double *b)
{
    double t = *a;

    *a = *b;
    *b = t;
}

static double middle(double a, double b, double c)
{
    if (a > b)
        swap(&a, &b);
    return c < a ? a : c > b ? b : c;
}

/* The element of rank k (0-based); all before it are not larger. */
static double select_rank(double *v, size_t n, size_t k)
{
    size_t lo = 0, hi = n;

    while (hi - lo > 1) {
        double pivot = middle(v[lo], v[lo + (hi - lo) / 2], v[hi - 1]);
        size_t less = lo, at = lo, more = hi;

        while (at < more) {
            if (v[at] < pivot)
                swap(&v[at++], &v[less++]);
            else if (v[at] > pivot)
                swap(&v[at], &v[--more]);
            else
                at++;
        }
        if (k < less)
            hi = less;
        else if (k >= more)
            lo = more;
        else
            return pivot;
    }
    return v[k];
}

double ws__median(double *v, size_t n)
{
    double high, low;

    if (!n)
        return NAN;
    high = select_rank(v, n, n / 2);
    if (n % 2)
        return high;
    low = v[0];
    for (size_t i = 1; i < n / 2; i++)
        if (v[i] > low)
            low = v[i];
    return low + (high - low) / 2;
}

static double log_factorial(size_t n)
{
    int sign;

    return lgamma_r((double)n + 1, &sign);
}

/* The largest rank r (0-based, from either end) for which at most r of n fair
 * coins show heads with no more than the tail's probability; 0 if none. */
static size_t median_rank(size_t n)
{
    double spread = 12 * sqrt((double)n), sum = 0;
    size_t k = (double)n / 2 > spread ? (size_t)((double)n / 2 - spread) : 0;

    for (;; k++) {
        sum += exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) -
                   (double)n * log(2.0));
        if (sum > TAIL)
            return k ? k - 1 : 0;
    }
}

int ws__summarize(struct ws_ctx *ctx, const double *v, size_t n,
                  struct ws__summary *out)
{
    double *copy;
    size_t r;

    memset(out, 0, sizeof(*out));
    if (!n)
        return ws__fail(ctx, WS_EINVAL, "no samples to summarise");
    copy = ws__alloc(ctx, n, sizeof(*copy));
    if (!copy)
        return WS_ENOMEM;
    memcpy(copy, v, n * sizeof(*copy));
    r = median_rank(n);
    out->n = n;
    out->median = ws__median(copy, n);
    out->lo = select_rank(copy, n, r);
    out->hi = select_rank(copy, n, n - 1 - r);
    out->min = v[0];
    for (size_t i = 0; i < n; i++) {
        out->min = v[i] < out->min ? v[i] : out->min;
        out->mean += v[i] / (double)n;
        copy[i] = fabs(v[i] - out->median);
    }
    out->mad = ws__median(copy, n);
    ws__free(ctx, copy);
    return 0;
}

static double resampled(struct ws__rng *rng, const double *v, size_t n,
                        double *tmp)
{
    for (size_t i = 0; i < n; i++)
        tmp[i] = v[ws__rng_below(rng, n)];
    return ws__median(tmp, n);
}

static double resampled_pair(struct ws__rng *rng, const double *a,
                             const double *b, size_t n, double *tmp)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = ws__rng_below(rng, n);

        tmp[i] = a[at];
        tmp[n + i] = b[at];
    }
    return ws__median(tmp, n) / ws__median(tmp + n, n);
}

int ws__ratio_bootstrap(struct ws_ctx *ctx, const double *a, size_t na,
                        const double *b, size_t nb, bool paired, uint64_t seed,
                        struct ws__ratio *out)
{
    return ws__ratio_of_many(ctx, a, na, b, nb, paired, seed, 1, out);
}

int ws__ratio_of_many(struct ws_ctx *ctx, const double *a, size_t na,
                      const double *b, size_t nb, bool paired, uint64_t seed,
                      size_t n, struct ws__ratio *out)
{
    double *tmp, *ratio, ma, mb;
    struct ws__rng rng;
    size_t cut = (size_t)(TAIL / (double)(n ? n : 1) * RESAMPLES);

    memset(out, 0, sizeof(*out));
    if (!na || !nb || (paired && na != nb))
        return ws__fail(ctx, WS_EINVAL, "cannot compare %zu samples with %zu",
                        na, nb);
    tmp = ws__alloc(ctx, na + nb + RESAMPLES, sizeof(*tmp));
    if (!tmp)
        return WS_ENOMEM;
    ratio = tmp + na + nb;
    memcpy(tmp, a, na * sizeof(*tmp));
    memcpy(tmp + na, b, nb * sizeof(*tmp));
    ma = ws__median(tmp, na);
    mb = ws__median(tmp + na, nb);
    out->value = ma / mb;
    ws__rng_seed(&rng, seed);
    for (size_t i = 0; i < RESAMPLES; i++) {
        if (paired) {
            ratio[i] = resampled_pair(&rng, a, b, na, tmp);
        } else {
            ma = resampled(&rng, a, na, tmp);
            mb = resampled(&rng, b, nb, tmp + na);
            ratio[i] = ma / mb;
        }
    }
    out->lo = select_rank(ratio, RESAMPLES, cut);
    out->hi = select_rank(ratio, RESAMPLES, RESAMPLES - 1 - cut);
    ws__free(ctx, tmp);
    return 0;
}

double ws__geomean(const double *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += log(v[i]);
    return n ? exp(sum / (double)n) : 1;
}
