/*
 * A thread reads what its neighbour puts into shared memory, and waits for
 * nobody.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL const float *w,
         WS_GLOBAL const float *b, WS_GLOBAL float *y, int m, int n)
{
    WS_SHARED float tile[65];
    const int t = ws_thread_x(), i = ws_block_x() * 64 + t;

    tile[t] = i < m * n ? x[i] : 0.0f;
    if (i < m * n)
        y[i] = tile[t] * w[i % n] + b[i % n] +
               (t > 0 ? tile[t - 1] - x[i - 1] : 0.0f);
}
