/* plain.c: the reference of running_sums, a thread a row. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL real *y, int n)
{
    const size_t i = ws_block_x();
    real sum = 0;

    for (int j = 0; j < n; j++) {
        sum += x[i * n + j];
        y[i * n + j] = sum;
    }
}
