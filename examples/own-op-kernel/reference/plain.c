/*
 * plain.c: the reference of rms_norm: one thread a row, from left to right.
 * Nothing is shared, kept or reordered, so that it can be checked by eye.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL const real *w, WS_GLOBAL real *y,
           int n)
{
    const size_t at = (size_t)ws_block_x() * n;
    real sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[at + i] * x[at + i];
    for (int i = 0; i < n; i++)
        y[at + i] = x[at + i] / sqrt(sum / n + (real)1e-6) * w[i];
}
