/*
 * reference.c: gelu of an element.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void gelu_reference(WS_GLOBAL const real *x, WS_GLOBAL real *y, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();

    if (i < n)
        y[i] =
            (real)(0.5 * x[i] * (1.0 + erf((double)x[i] * 0.7071067811865476)));
}
