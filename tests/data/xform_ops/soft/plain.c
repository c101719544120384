/* plain.c: the reference of soft, a thread an output. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL real *y)
{
    const size_t i = ws_block_x();

    y[i] = x[i] > 1 ? (real)1 : x[i] < -1 ? (real)-1 : x[i] + (i % 7 == 0);
}
