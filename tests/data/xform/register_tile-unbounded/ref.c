/* relu(A W^T + bias), one thread an element, its sum in double. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void product(WS_GLOBAL const real *a, WS_GLOBAL const real *w,
             WS_GLOBAL const real *bias, WS_GLOBAL real *c, int batches, int m,
             int n, int k)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int row = at / n, col = at % n;
    double sum = 0;

    if (at >= batches * m * n)
        return;
    for (int i = 0; i < k; i++)
        sum += (double)a[row * k + i] * w[(row / m * n + col) * k + i];
    sum += bias[col];
    c[at] = (real)(sum > 0 ? sum : 0);
}
