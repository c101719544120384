/* plain.c: the reference of forces, a thread an output. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL const real *m, WS_GLOBAL real *a,
           int n)
{
    const size_t i = ws_block_x();
    double sum = 0;

    for (int j = 0; j < n; j++) {
        const double d = (double)x[j] - x[i], d2 = d * d + (double)SOFT;

        sum += m[j] * d / (d2 * sqrt(d2));
    }
    a[i] = (real)sum;
}
