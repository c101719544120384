/*
 * reference.c: many small products, one thread an element, its sum in double.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void products(WS_GLOBAL const float *a, WS_GLOBAL const float *b,
              WS_GLOBAL float *c, int batch, int s)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int matrix = at / (s * s) * s * s, row = at / s % s, col = at % s;
    double sum = 0;

    if (at >= batch * s * s)
        return;
    for (int i = 0; i < s; i++)
        sum += (double)a[matrix + row * s + i] * b[matrix + i * s + col];
    c[at] = (float)sum;
}
