/* One pass for the largest and the sum. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    float sum = 0.0f, most = -WS_INFINITY;

    for (int i = r * n; i < (r + 1) * n; i++) {
        const float now = ws_max(most, x[i]);

        sum = sum * ws_exp(most - now) + ws_exp(x[i] - now);
        most = now;
    }
    for (int i = r * n; i < (r + 1) * n; i++)
        y[i] = ws_exp(x[i] - most) / sum;
}
