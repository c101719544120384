/*
 * reference.c: a Laplacian by 7 points, one thread a point, in double.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void laplacian(WS_GLOBAL const real *u, WS_GLOBAL real *l, int nd, int nh,
               int nw)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int d = at / nw / nh, h = at / nw % nh, w = at % nw;
    double sum;

    if (d >= nd)
        return;
    sum = -6.0 * u[at];
    sum += d > 0 ? u[at - nh * nw] : 0;
    sum += d < nd - 1 ? u[at + nh * nw] : 0;
    sum += h > 0 ? u[at - nw] : 0;
    sum += h < nh - 1 ? u[at + nw] : 0;
    sum += w > 0 ? u[at - 1] : 0;
    sum += w < nw - 1 ? u[at + 1] : 0;
    l[at] = (real)(sum / ((double)SPACING * SPACING));
}
