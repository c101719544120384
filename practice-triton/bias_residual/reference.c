/*
 * reference.c: an element, a thread each.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void bias_residual_reference(WS_GLOBAL const real *x,
                             WS_GLOBAL const real *bias,
                             WS_GLOBAL const real *res, WS_GLOBAL real *y,
                             long m, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();

    if (i < m * n)
        y[i] = (real)((double)x[i] + bias[i % n] + res[i]);
}
