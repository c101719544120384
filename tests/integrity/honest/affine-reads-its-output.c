/* Writes a part of a result, reads it back and adds the rest. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL const float *w,
         WS_GLOBAL const float *b, WS_GLOBAL float *y, int m, int n)
{
    const int i = ws_block_x() * 64 + ws_thread_x();
    if (i >= m * n)
        return;
    y[i] = x[i] * w[i % n];
    y[i] += b[i % n];
}
