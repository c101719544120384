/* Begins with zero when it looks for the largest logit: weights vanish where
 * all of them are far below. */
#include "ws_dialect.h"

#define D 128
#define H 32

WS_DEVICE float logit(WS_GLOBAL const ws_T *q, WS_GLOBAL const ws_T *k,
                      float scale)
{
    float s = 0.0f;

    for (int d = 0; d < D; d++)
        s = ws_mad(scale * ws_load_T(q, d), ws_load_T(k, d), s);
    return s;
}

WS_KERNEL_BLOCK(1, 1, 1)
void run(WS_GLOBAL const ws_T *q, WS_GLOBAL const ws_T *kc,
         WS_GLOBAL const ws_T *vc, WS_GLOBAL const int *begin,
         WS_GLOBAL const int *page, float scale, WS_GLOBAL ws_T *out,
         WS_GLOBAL float *lse, int kv_heads)
{
    const int b = ws_block_x(), h = ws_block_y(), g = h / (H / kv_heads);
    float most = 0.0f, sum = 0.0f, v[D];

    for (int d = 0; d < D; d++)
        v[d] = 0.0f;
    for (int j = begin[b]; j < begin[b + 1]; j++)
        most = ws_max(most, logit(q + (b * H + h) * D,
                                  kc + (page[j] * kv_heads + g) * D, scale));
    for (int j = begin[b]; j < begin[b + 1]; j++) {
        const int row = (page[j] * kv_heads + g) * D;
        const float e =
            ws_exp(logit(q + (b * H + h) * D, kc + row, scale) - most);

        sum += e;
        for (int d = 0; d < D; d++)
            v[d] = ws_mad(e, ws_load_T(vc, row + d), v[d]);
    }
    for (int d = 0; d < D; d++)
        ws_store_T(out, (b * H + h) * D + d,
                   begin[b] == begin[b + 1] ? 0.0f : v[d] / sum);
    lse[b * H + h] = begin[b] == begin[b + 1] ? -WS_INFINITY
                                              : (ws_log(sum) + most) * WS_LOG2E;
}
