/* Threads share a row and add by a tree in shared memory. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    WS_SHARED float part[64];
    const int t = ws_thread_x(), r = ws_block_x();
    float sum = 0.0f;

    for (int i = t; i < n && r < m; i += 64)
        sum += x[r * n + i];
    part[t] = sum;
    for (int step = 32; step > 0; step /= 2) {
        ws_barrier();
        if (t < step)
            part[t] += part[t + step];
    }
    if (t == 0)
        y[r] = part[0];
}
