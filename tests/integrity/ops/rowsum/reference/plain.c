/* The reference: one thread a result, from left to right, in double. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL real *y, int n)
{
    const int m = ws_block_x();
    real sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[m * n + i];
    y[m] = sum;
}
