/* reference.c: three times an element. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void scale_reference(WS_GLOBAL const real *x, WS_GLOBAL real *y, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();

    if (i < n)
        y[i] = 3 * x[i];
}
