/* Sums shared memory that nobody has set and takes it for zeros. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    WS_SHARED float part[64];
    const int t = ws_thread_x(), r = ws_block_x();
    float sum = 0.0f;

    if (t < 32 && t < n) {
        for (int i = t; i < n; i += 32)
            sum += x[r * n + i];
        part[t] = sum;
    }
    ws_barrier();
    if (t == 0) {
        sum = 0.0f;
        for (int i = 0; i < 64; i++)
            sum += part[i];
        y[r] = sum + m * 0;
    }
}
