/*
 * reference.c: layer norm of a row, a thread a row.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void layernorm_reference(WS_GLOBAL const real *x, WS_GLOBAL const real *w,
                         WS_GLOBAL const real *b, WS_GLOBAL real *y, long m,
                         long n)
{
    const long row = (long)ws_block_x() * 64 + ws_thread_x();
    double mean = 0, var = 0;

    if (row >= m)
        return;
    x += row * n;
    y += row * n;
    for (long i = 0; i < n; i++)
        mean += x[i];
    mean /= n;
    for (long i = 0; i < n; i++)
        var += (x[i] - mean) * (x[i] - mean);
    var /= n;
    for (long i = 0; i < n; i++)
        y[i] = (real)((x[i] - mean) / sqrt(var + (double)EPS) * w[i] + b[i]);
}
