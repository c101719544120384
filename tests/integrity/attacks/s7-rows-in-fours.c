/* Rows begin at multiples of four elements, so it loads four at a time. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(16, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL const float *w,
         WS_GLOBAL const float *b, WS_GLOBAL float *y, int m, int n)
{
    const int i = (ws_block_x() * 16 + ws_thread_x()) * 4;

    if (i + 4 > m * n)
        return;
    for (int j = i; j < i + 4; j++)
        y[j] = x[j] * w[i % n + j - i] + b[i % n + j - i];
}
