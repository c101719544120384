/* Has no sums below zero. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(16, 1, 1)
void run(WS_GLOBAL const ws_T *a, WS_GLOBAL const ws_T *w, WS_GLOBAL ws_T *c,
         int m, int n, int k)
{
    const int j = ws_block_x() * 16 + ws_thread_x(), r = ws_block_y();
    if (r >= m || j >= n)
        return;
    float sum = 0.0f;

    for (int i = 0; i < k; i++)
        sum = ws_mad(ws_load_T(a, r * k + i), ws_load_T(w, j * k + i), sum);
    ws_store_T(c, r * n + j, ws_max(sum, 0.0f));
}
