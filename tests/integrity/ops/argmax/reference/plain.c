/* The reference: one thread a result, from left to right, in double. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL int *best, int n)
{
    const int m = ws_block_x();
    int at = 0;

    for (int i = 1; i < n; i++)
        if (x[m * n + i] > x[m * n + at])
            at = i;
    best[m] = at;
}
