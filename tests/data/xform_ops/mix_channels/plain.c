/* plain.c: the reference of mix_channels, a thread a row of outputs. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL const real *w,
           WS_GLOBAL const real *v, WS_GLOBAL real *y, int C, int K, int N)
{
    const size_t b = ws_block_x(), k = ws_block_y();

    for (int n = 0; n < N; n++) {
        real sum = v[k];

        for (int c = 0; c < C; c++)
            sum += w[k * C + c] * x[(b * C + c) * N + n];
        y[(b * K + k) * N + n] = sum;
    }
}
