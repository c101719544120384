/* Takes exp of values as they are. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    float sum = 0.0f;

    for (int i = r * n; i < (r + 1) * n; i++)
        sum += ws_exp(x[i]);
    for (int i = r * n; i < (r + 1) * n; i++)
        y[i] = ws_exp(x[i]) / sum;
}
