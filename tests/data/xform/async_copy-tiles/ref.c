/* C = A B, one thread an element, its sum in double. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void product(WS_GLOBAL const real *a, WS_GLOBAL const real *b,
             WS_GLOBAL real *c, int m, int n, int k)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    double sum = 0;

    if (at >= m * n)
        return;
    for (int i = 0; i < k; i++)
        sum += (double)a[at / n * k + i] * b[i * n + at % n];
    c[at] = (real)sum;
}
