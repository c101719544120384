/*
 * reference.c: a row times x, a thread a row.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void gemv_reference(WS_GLOBAL const real *a, WS_GLOBAL const real *x,
                    WS_GLOBAL real *y, long m, long k)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    double sum = 0;

    if (i >= m)
        return;
    for (long e = 0; e < k; e++)
        sum += (double)a[i * k + e] * x[e];
    y[i] = (real)sum;
}
