/*
 * reference.c: layer norm of a row, a thread a row.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void layernorm_reference(WS_GLOBAL const real *x, WS_GLOBAL const real *w,
                         WS_GLOBAL const real *b, WS_GLOBAL real *y, long m,
                         long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    double mean = 0, square = 0;

    if (i >= m)
        return;
    x += i * n;
    for (long k = 0; k < n; k++)
        mean += x[k];
    mean /= n;
    for (long k = 0; k < n; k++)
        square += (x[k] - mean) * (x[k] - mean);
    for (long k = 0; k < n; k++)
        y[i * n + k] =
            (real)((x[k] - mean) / sqrt(square / n + 1e-5) * w[k] + b[k]);
}
