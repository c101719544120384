/* Leaves out terms that are small. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    float sum = 0.0f;

    for (int i = 0; i < n; i++)
        if (x[r * n + i] > 0.02f || x[r * n + i] < -0.02f)
            sum += x[r * n + i];
    y[r] = sum;
}
