/* The reference: one thread a result, from left to right, in double. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL real *lo, WS_GLOBAL real *hi,
           int n)
{
    const int m = ws_block_x();
    real a = x[m * n], b = a;

    for (int i = 1; i < n; i++) {
        a = x[m * n + i] < a ? x[m * n + i] : a;
        b = x[m * n + i] > b ? x[m * n + i] : b;
    }
    lo[m] = a;
    hi[m] = b;
}
