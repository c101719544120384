/*
 * reference.c: RMS norm of a row, a thread a row.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void rmsnorm_reference(WS_GLOBAL const real *x, WS_GLOBAL const real *w,
                       WS_GLOBAL real *y, long m, long n)
{
    const long row = (long)ws_block_x() * 64 + ws_thread_x();
    double sum = 0;

    if (row >= m)
        return;
    x += row * n;
    y += row * n;
    for (long i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    for (long i = 0; i < n; i++)
        y[i] = (real)(x[i] / sqrt(sum / n + (double)EPS) * w[i]);
}
