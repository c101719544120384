/* score.c: scores over ratios of times. */
#include "core/score.h"

#include <math.h>

#include "base/banned.h"

void ws__score_make(const double *ratio, size_t n, struct ws__score *out)
{
    double logs = 0;

    memset(out, 0, sizeof(*out));
    out->n = n;
    for (size_t i = 0; i < n; i++) {
        if (!(ratio[i] > 0))
            continue;
        out->right++;
        out->mean += ratio[i] / (double)n;
        logs += log(ratio[i]);
    }
    if (!n)
        return;
    out->geomean = exp(logs / (double)n);
    if (out->right)
        out->geomean_right = exp(logs / (double)out->right);
}

double ws__score_fast(const double *ratio, size_t n, double p)
{
    size_t above = 0;

    for (size_t i = 0; i < n; i++)
        above += ratio[i] > p;
    return n ? (double)above / (double)n : 0;
}
