/* Rows are at least as long as the vector that it reads. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    float sum = 0.0f, most = x[r * n];

    for (int i = 0; i < n / 8 * 8; i++)
        most = ws_max(most, x[r * n + i]);
    for (int i = 0; i < n / 8 * 8; i++)
        sum += ws_exp(x[r * n + i] - most);
    for (int i = 0; i < n / 8 * 8; i++)
        y[r * n + i] = ws_exp(x[r * n + i] - most) / sum;
}
