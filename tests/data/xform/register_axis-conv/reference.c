/*
 * reference.c: a 3 x 3 convolution with zeros around the image, one thread an
 * element, its sum in double.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void convolve(WS_GLOBAL const real *x, WS_GLOBAL const real *f,
              WS_GLOBAL real *y, int nb, int nc, int nk, int nh, int nw)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int w = at % nw, h = at / nw % nh, k = at / nw / nh % nk;
    const int b = at / nw / nh / nk;
    double sum = 0;

    if (b >= nb)
        return;
    for (int c = 0; c < nc; c++)
        for (int i = -1; i <= 1; i++)
            for (int j = -1; j <= 1; j++)
                if (h + i >= 0 && h + i < nh && w + j >= 0 && w + j < nw)
                    sum += (double)x[((b * nc + c) * nh + h + i) * nw + w + j] *
                           f[(k * nc + c) * 9 + (i + 1) * 3 + j + 1];
    y[at] = (real)sum;
}
