/*
 * reference.c: the place in a row, a thread a row.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void argmax_reference(WS_GLOBAL const real *x, WS_GLOBAL int *y, long m, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    long best = 0;

    if (i >= m)
        return;
    x += i * n;
    for (long k = 1; k < n; k++)
        if (x[k] > x[best])
            best = k;
    y[i] = (int)best;
}
