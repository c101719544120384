/* The variance from differences. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    float sum = 0.0f, var = 0.0f, scale;

    for (int i = r * n; i < (r + 1) * n; i++)
        sum += x[i];
    sum /= n;
    for (int i = r * n; i < (r + 1) * n; i++)
        var += (x[i] - sum) * (x[i] - sum);
    scale = 1.0f / ws_sqrt(var / n + 1e-5f);
    for (int i = r * n; i < (r + 1) * n; i++)
        y[i] = (x[i] - sum) * scale;
}
