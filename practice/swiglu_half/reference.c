/*
 * reference.c: a gate and what it lets through, a thread an element.
 */
#include "ws_dialect.h"

#if !T_IS_FLOAT64
#error "the reference is computed in float64"
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void swiglu_half_reference(WS_GLOBAL const double *x, WS_GLOBAL double *y,
                           long m, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    const long at = i / n * 2 * n + i % n;

    if (i < m * n)
        y[i] = x[at] / (1 + exp(-x[at])) * x[at + n];
}
