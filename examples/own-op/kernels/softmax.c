#include "ws_dialect.h"

/* One block a row: the largest element, the sum of the powers, the result. */
WS_KERNEL_BLOCK(TX, 1, 1)
void softmax(WS_GLOBAL const ws_T *WS_RESTRICT x, WS_GLOBAL ws_T *WS_RESTRICT y, int n)
{
    WS_SHARED float part[TX];
    const int t = ws_thread_x();
    WS_GLOBAL const ws_T *row = x + (size_t)ws_block_x() * n;
    WS_GLOBAL ws_T *out = y + (size_t)ws_block_x() * n;
    float top = -WS_INFINITY, sum = 0.0f;

    for (int i = t * VEC; i < n; i += TX * VEC)
        for (int k = i; k < i + VEC && k < n; k++)
            top = ws_max(top, ws_load_T(row, k));
    part[t] = top;
    ws_barrier();
    for (int i = 0; i < TX; i++)
        top = ws_max(top, part[i]);
    ws_barrier();
    for (int i = t * VEC; i < n; i += TX * VEC)
        for (int k = i; k < i + VEC && k < n; k++)
            sum += ws_exp(ws_load_T(row, k) - top);
    part[t] = sum;
    ws_barrier();
    sum = 0.0f;
    for (int i = 0; i < TX; i++)
        sum += part[i];
    for (int i = t * VEC; i < n; i += TX * VEC)
        for (int k = i; k < i + VEC && k < n; k++)
            ws_store_T(out, k, ws_exp(ws_load_T(row, k) - top) / sum);
}
