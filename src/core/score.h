/*
 * score.h: how much faster, over many workloads, as published scores have it.
 *
 * A ratio is the baseline's time over the candidate's, on one workload; 0: the
 * candidate is not right there. Pure.
 */
#ifndef WS_SCORE_H
#define WS_SCORE_H

#include "base/mem.h"

struct ws__score {
    size_t n, right;
    double mean;          /* arithmetic; failures are 0 */
    double geomean;       /* failures are 1: one keeps the baseline there */
    double geomean_right; /* of those that are right; 0: there are none */
};

void ws__score_make(const double *ratio, size_t n, struct ws__score *out);
/* fast_p: the share of all that is right and has a ratio above p; p = 0: the
 * share that is right. */
double ws__score_fast(const double *ratio, size_t n, double p);

#endif
