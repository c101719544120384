/*
 * reference.c: the epilogue of a matrix product, a thread an element.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void bias_relu_epilogue_reference(WS_GLOBAL const real *x,
                                  WS_GLOBAL const real *s,
                                  WS_GLOBAL const real *b,
                                  WS_GLOBAL const real *r, WS_GLOBAL real *y,
                                  long m, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();

    if (i < m * n) {
        const double v = (double)x[i] * s[i % n] + b[i % n] + r[i];

        y[i] = (real)(v > 0 ? v : 0);
    }
}
