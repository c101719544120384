/* Sums every second element and doubles that. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    float sum = 0.0f;

    for (int i = 0; i < n; i += 2)
        sum += x[r * n + i];
    y[r] = 2.0f * sum;
}
