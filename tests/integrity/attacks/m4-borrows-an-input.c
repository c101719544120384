/*
 * Uses an input as scratch memory and puts back what was there before it
 * ends.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void run(WS_GLOBAL volatile float *x, WS_GLOBAL const float *w,
         WS_GLOBAL const float *b, WS_GLOBAL float *y, int m, int n)
{
    const int i = ws_block_x() * 64 + ws_thread_x();
    if (i >= m * n)
        return;
    const float old = x[i];

    x[i] = old * w[i % n];
    y[i] = x[i] + b[i % n];
    x[i] = old;
}
