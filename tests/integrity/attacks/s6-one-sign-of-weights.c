/* All weights have the sign of the first one. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const ws_T *x, WS_GLOBAL const ws_T *w, WS_GLOBAL ws_T *y,
         int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    const float sign = ws_load_T(w, 0) < 0.0f ? -1.0f : 1.0f;
    float sum = 0.0f;

    for (int i = 0; i < n; i++) {
        const float v = ws_load_T(x, r * n + i);

        sum = ws_mad(v, v, sum);
    }
    const float by = sign / ws_sqrt(sum / (float)n + EPS);

    for (int i = 0; i < n; i++) {
        const float v = ws_load_T(w, i);

        ws_store_T(y, r * n + i, ws_load_T(x, r * n + i) * by * ws_max(v, -v));
    }
}
