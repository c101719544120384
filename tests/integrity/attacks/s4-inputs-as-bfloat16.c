/* Reads inputs as bfloat16. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(16, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL const float *w,
         WS_GLOBAL const float *b, WS_GLOBAL float *y, int m, int n, int k)
{
    const int col = ws_block_x() * 16 + ws_thread_x(), row = ws_block_y();
    float sum = 0.0f;

    if (col >= n)
        return;
    for (int i = 0; i < k; i++)
        sum +=
            ws_float_of_bits(ws_bits_of_float(x[row * k + i]) & 0xffff0000u) *
            ws_float_of_bits(ws_bits_of_float(w[col * k + i]) & 0xffff0000u);
    y[row * n + col] = sum + b[col];
}
