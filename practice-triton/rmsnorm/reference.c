/*
 * reference.c: root mean square norm of a row, a thread a row.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void rmsnorm_reference(WS_GLOBAL const real *x, WS_GLOBAL const real *w,
                       WS_GLOBAL real *y, long m, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    double square = 0;

    if (i >= m)
        return;
    x += i * n;
    for (long k = 0; k < n; k++)
        square += (double)x[k] * x[k];
    for (long k = 0; k < n; k++)
        y[i * n + k] = (real)(x[k] / sqrt(square / n + 1e-6) * w[k]);
}
