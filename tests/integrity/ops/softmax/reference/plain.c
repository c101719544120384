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
    real most = x[m * n], sum = 0;

    for (int i = 1; i < n; i++)
        most = x[m * n + i] > most ? x[m * n + i] : most;
    for (int i = 0; i < n; i++)
        sum += exp(x[m * n + i] - most);
    for (int i = 0; i < n; i++)
        y[m * n + i] = exp(x[m * n + i] - most) / sum;
}
