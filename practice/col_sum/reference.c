/*
 * reference.c: sums of columns, a thread a column, from top to bottom.
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
    const long col = (long)ws_block_x() * 64 + ws_thread_x();
    double sum = 0;

    if (col >= n)
        return;
    for (long i = 0; i < m; i++)
        sum += x[i * n + col];
    y[col] = (real)sum;
}
