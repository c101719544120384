/*
 * reference.c: one step of a 5-point stencil, one thread a point, in double.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void relax(WS_GLOBAL const real *x, WS_GLOBAL real *y, int nh, int nw)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int h = at / nw, w = at % nw;

    if (h >= nh)
        return;
    if (h == 0 || h == nh - 1 || w == 0 || w == nw - 1)
        y[at] = x[at];
    else
        y[at] = (real)((double)MIDDLE * x[at] +
                       (double)SIDE * ((double)x[at - nw] + x[at + nw] +
                                       x[at - 1] + x[at + 1]));
}
