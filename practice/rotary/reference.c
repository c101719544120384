/*
 * reference.c: rotary embedding, a thread an element. Element d of the first
 * half of a head makes a pair with element d + D/2.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void rotary_reference(WS_GLOBAL const real *x, WS_GLOBAL const real *angle,
                      WS_GLOBAL real *y, long s, long h, long d)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    const long token = i / (h * d), at = i % d, half_d = d / 2;
    double a;

    if (i >= s * h * d)
        return;
    a = (double)angle[token * half_d + at % half_d];
    if (at < half_d)
        y[i] = (real)(x[i] * cos(a) - x[i + half_d] * sin(a));
    else
        y[i] = (real)(x[i] * cos(a) + x[i - half_d] * sin(a));
}
