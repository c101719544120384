/* Begins with zero when it looks for the largest. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *lo, WS_GLOBAL float *hi,
         int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    float a = 1e30f, b = 0.0f;

    for (int i = r * n; i < (r + 1) * n; i++) {
        a = ws_min(a, x[i]);
        b = ws_max(b, x[i]);
    }
    lo[r] = a;
    hi[r] = b;
}
