/* plain.c: the reference of powers, a thread an output. */
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

    real v = x[i], a = 1 + (v < 0 ? -v : v), b = v - (real)HALF;

    y[i] = a * a + 2 / a + b * b * b + v * v;
}
