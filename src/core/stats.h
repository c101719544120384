/*
 * stats.h: order statistics and bootstrap intervals of time samples. Pure;
 * deterministic (the resampling generator is seeded by the caller).
 */
#ifndef WS_STATS_H
#define WS_STATS_H

#include "base/mem.h"

struct ws__summary {
    size_t n;
    double median, lo, hi; /* 95% interval of the median, by order
                              statistics (binomial) */
    double min, mean, mad; /* mad: median absolute deviation */
};

double ws__median(double *v, size_t n); /* reorders v */
int ws__summarize(struct ws_ctx *ctx, const double *v, size_t n,
                  struct ws__summary *out);

/* Speed-up of b over a: median(a) / median(b), with a 95% percentile
 * bootstrap interval. If paired (n equal), rounds are resampled together. */
struct ws__ratio {
    double value, lo, hi;
};
int ws__ratio_bootstrap(struct ws_ctx *ctx, const double *a, size_t na,
                        const double *b, size_t nb, bool paired, uint64_t seed,
                        struct ws__ratio *out);
/* As one of n comparisons of which the best is taken: the interval is that of
 * 1 - 0.05/n (Bonferroni), so that all n hold together in 95% of cases. */
int ws__ratio_of_many(struct ws_ctx *ctx, const double *a, size_t na,
                      const double *b, size_t nb, bool paired, uint64_t seed,
                      size_t n, struct ws__ratio *out);
double ws__geomean(const double *v, size_t n);

#endif
