/*
 * reference.c: C = A W^T + bias, one thread an element, its sum in double.
 * Neighbouring threads take neighbouring rows of A: those read one row of W.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void layer(WS_GLOBAL const real *a, WS_GLOBAL const real *w,
           WS_GLOBAL const real *bias, WS_GLOBAL real *c, int m, int n, int k)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int row = at % m, col = at / m;
    double sum = 0;

    if (at >= m * n)
        return;
    for (int i = 0; i < k; i++)
        sum += (double)a[row * k + i] * w[col * k + i];
    c[row * n + col] = (real)(sum + bias[col]);
}
