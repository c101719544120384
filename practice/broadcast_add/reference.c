/*
 * reference.c: a row vector added to every row, a thread an element.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void broadcast_add_reference(WS_GLOBAL const real *x, WS_GLOBAL const real *b,
                             WS_GLOBAL real *y, long m, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();

    if (i < m * n)
        y[i] = (real)((double)x[i] + (double)b[i % n]);
}
