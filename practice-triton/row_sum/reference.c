/*
 * reference.c: the sum of a row, a thread a row.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void row_sum_reference(WS_GLOBAL const real *x, WS_GLOBAL real *y, long m,
                       long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    double sum = 0;

    if (i >= m)
        return;
    for (long k = 0; k < n; k++)
        sum += x[i * n + k];
    y[i] = (real)sum;
}
