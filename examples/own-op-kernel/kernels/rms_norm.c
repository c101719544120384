#include "ws_dialect.h"

/* One block a row: sums of the threads, then the row once more. */
WS_KERNEL_BLOCK(TX, 1, 1)
void rms_norm(WS_GLOBAL const float *WS_RESTRICT x, WS_GLOBAL const float *WS_RESTRICT w,
              WS_GLOBAL float *WS_RESTRICT y, int n)
{
    WS_SHARED float part[TX];
    const int t = ws_thread_x();
    const size_t at = (size_t)ws_block_x() * n;
    float sum = 0.0f, scale;

    for (int i = t * VEC; i < n; i += TX * VEC)
        for (int k = i; k < i + VEC && k < n; k++)
            sum = ws_mad(x[at + k], x[at + k], sum);
    part[t] = sum;
    ws_barrier();
    sum = 0.0f;
    for (int i = 0; i < TX; i++)
        sum += part[i];
    scale = ws_rsqrt(sum / n + 1e-6f);
    for (int i = t * VEC; i < n; i += TX * VEC)
        for (int k = i; k < i + VEC && k < n; k++)
            y[at + k] = x[at + k] * scale * w[k];
}
