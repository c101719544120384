/*
 * reference.c: a sparse matrix times a vector, one thread a row, in double.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void rows(WS_GLOBAL const real *values, WS_GLOBAL const int *columns,
          WS_GLOBAL const int *starts, WS_GLOBAL const real *x,
          WS_GLOBAL real *y, int m)
{
    const int row = ws_block_x() * 64 + ws_thread_x();
    double sum = 0;
    int begin = 0, end = m * AVERAGE;

    if (row >= m)
        return;
    if (row > 0)
        begin = row * AVERAGE + starts[row];
    if (row < m - 1)
        end = (row + 1) * AVERAGE + starts[row + 1];
    for (int i = begin; i < end; i++)
        sum += (double)values[i] * x[columns[i]];
    y[row] = (real)sum;
}
