/* The product goes through scratch memory to a second launch. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void scale(WS_GLOBAL const float *x, WS_GLOBAL const float *w,
           WS_GLOBAL float *s, int m, int n)
{
    const int i = ws_block_x() * 64 + ws_thread_x();
    if (i < m * n)
        s[i] = x[i] * w[i % n];
}

WS_KERNEL_BLOCK(64, 1, 1)
void shift(WS_GLOBAL const float *s, WS_GLOBAL const float *b,
           WS_GLOBAL float *y, int m, int n)
{
    const int i = ws_block_x() * 64 + ws_thread_x();
    if (i < m * n)
        y[i] = s[i] + b[i % n];
}
