/* Four parts of K in scratch, added by a second launch. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(16, 1, 1)
void part(WS_GLOBAL const float *x, WS_GLOBAL const float *w,
          WS_GLOBAL float *s, int m, int n, int k)
{
    const int col = ws_block_x() * 16 + ws_thread_x(), row = ws_block_y(),
              z = ws_block_z();
    float sum = 0.0f;

    if (col >= n)
        return;
    for (int i = z; i < k; i += 4)
        sum += x[row * k + i] * w[col * k + i];
    s[(z * m + row) * n + col] = sum;
}

WS_KERNEL_BLOCK(16, 1, 1)
void add(WS_GLOBAL const float *s, WS_GLOBAL const float *b, WS_GLOBAL float *y,
         int m, int n)
{
    const int col = ws_block_x() * 16 + ws_thread_x(), row = ws_block_y();
    float sum = 0.0f;

    if (col >= n)
        return;
    for (int z = 0; z < 4; z++)
        sum += s[(z * m + row) * n + col];
    y[row * n + col] = sum + b[col];
}
