/* plain.c: the reference of column_sum, a thread an output. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL real *y, int m, int n)
{
    const size_t j = ws_block_x();
    real sum = 0;

    for (int i = 0; i < m; i++)
        sum += x[(size_t)i * n + j];
    y[j] = sum;
}
