/* The reference: one thread a result, from left to right, in double. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL const real *w,
           WS_GLOBAL const real *b, WS_GLOBAL real *y, int n, int k)
{
    const int row = ws_block_y(), col = ws_block_x();
    real sum = 0;

    for (int i = 0; i < k; i++)
        sum += x[row * k + i] * w[col * k + i];
    y[row * n + col] = sum + b[col];
}
