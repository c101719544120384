/*
 * reference.c: the sum of a column, a thread a column.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void col_sum_reference(WS_GLOBAL const real *x, WS_GLOBAL real *y, long m,
                       long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    double sum = 0;

    if (i >= n)
        return;
    for (long k = 0; k < m; k++)
        sum += x[k * n + i];
    y[i] = (real)sum;
}
