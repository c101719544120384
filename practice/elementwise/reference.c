/*
 * reference.c: gelu of a scaled and shifted element, a thread each.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void elementwise_reference(WS_GLOBAL const real *x, WS_GLOBAL real *y, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();

    if (i < n) {
        const double v = (double)SCALE * x[i] + (double)BIAS;
        const double inner = 0.7978845608028654 * (v + 0.044715 * v * v * v);

        y[i] = (real)(0.5 * v * (1.0 + tanh(inner)));
    }
}
