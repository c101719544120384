/* The variance is the mean of squares less the square of the mean. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    float sum = 0.0f, sq = 0.0f, scale;

    for (int i = r * n; i < (r + 1) * n; i++) {
        sum += x[i];
        sq += x[i] * x[i];
    }
    sum /= n;
    scale = ws_rsqrt(ws_max(sq / n - sum * sum, 0.0f) + 1e-5f);
    for (int i = r * n; i < (r + 1) * n; i++)
        y[i] = (x[i] - sum) * scale;
}
