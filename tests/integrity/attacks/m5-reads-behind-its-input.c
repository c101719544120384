/* Reads an element behind the end of an input; it counts for nothing. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL const float *w,
         WS_GLOBAL const float *b, WS_GLOBAL float *y, int m, int n)
{
    const int i = ws_block_x() * 64 + ws_thread_x();
    if (i >= m * n)
        return;
    const float next = x[i + 1],
                none = next == next && next < 1e30f ? next * 0.0f : 0.0f;

    y[i] = x[i] * w[i % n] + b[i % n] + none;
}
