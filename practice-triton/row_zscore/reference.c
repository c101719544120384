/*
 * reference.c: the scores of a row, a thread a row.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void row_zscore_reference(WS_GLOBAL const real *x, WS_GLOBAL real *y,
                          WS_GLOBAL real *means, long m, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    double mean = 0, square = 0;

    if (i >= m)
        return;
    x += i * n;
    for (long k = 0; k < n; k++)
        mean += x[k];
    mean /= n;
    for (long k = 0; k < n; k++)
        square += (x[k] - mean) * (x[k] - mean);
    for (long k = 0; k < n; k++)
        y[i * n + k] = (real)((x[k] - mean) / sqrt(square / n));
    means[i] = (real)mean;
}
