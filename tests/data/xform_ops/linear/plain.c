/* plain.c: the reference of linear, a thread an output. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL const real *w,
           WS_GLOBAL const real *bias, WS_GLOBAL const real *old,
           WS_GLOBAL real *y, int N, int K)
{
    const int at = ws_block_x();
    real sum = bias[at % N] + old[at];

    for (int k = 0; k < K; k++)
        sum += x[at / N * K + k] * w[k * N + at % N];
    y[at] = sum;
}
