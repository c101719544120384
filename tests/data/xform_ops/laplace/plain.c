/* plain.c: the reference of laplace, a thread an output. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *u, WS_GLOBAL real *l, int D, int H, int W)
{
    const int i = ws_block_x();
    const int w = i % W, d = i / W / H;
    const int left = w ? i - 1 : i, right = w + 1 < W ? i + 1 : i;
    const int up = d ? i - H * W : i, down = d + 1 < D ? i + H * W : i;

    l[i] = u[left] + u[right] + u[up] + u[down] - 4 * u[i];
}
