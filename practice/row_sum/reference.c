/*
 * reference.c: sums of rows, a thread a row, from left to right.
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
    const long row = (long)ws_block_x() * 64 + ws_thread_x();
    double sum = 0;

    if (row >= m)
        return;
    for (long i = 0; i < n; i++)
        sum += x[row * n + i];
    y[row] = (real)sum;
}
