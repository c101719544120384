/*
 * reference.c: every s-th column, a thread an element of the result.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void strided_copy_reference(WS_GLOBAL const real *x, WS_GLOBAL real *y, long m,
                            long n, long s)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    const long columns = (n + s - 1) / s;

    if (i < m * columns)
        y[i] = x[i / columns * n + i % columns * s];
}
