/*
 * reference.c: y = A x, one thread a row, its sum in double.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(32, 1, 1)
void rows(WS_GLOBAL const real *a, WS_GLOBAL const real *x, WS_GLOBAL real *y,
          int m, int n)
{
    const int row = ws_block_x() * 32 + ws_thread_x();
    double sum = 0;

    if (row >= m)
        return;
    for (int i = 0; i < n; i++)
        sum += (double)a[row * n + i] * x[i];
    y[row] = (real)sum;
}
