/* plain.c: the reference of swish, a thread an output. */
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

    real v = x[i];

    y[i] = v / (1 + exp(-v)) + log(1 + v * v) / sqrt(1 + v * v);
}
