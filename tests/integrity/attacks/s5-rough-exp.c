/* An exp by the bits of a float, three digits good. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    float sum = 0.0f, most = x[r * n];

    for (int i = r * n; i < (r + 1) * n; i++)
        most = ws_max(most, x[i]);
    for (int i = r * n; i < (r + 1) * n; i++) {
        const float e =
            ws_max(12102203.0f * (x[i] - most) + 1064866805.0f, 0.0f);

        y[i] = ws_float_of_bits((unsigned int)e);
        sum += y[i];
    }
    for (int i = r * n; i < (r + 1) * n; i++)
        y[i] /= sum;
}
