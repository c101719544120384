/*
 * reference.c: C = A B, one thread an element, its sum in double.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void product(WS_GLOBAL const float *a, WS_GLOBAL const float *b,
             WS_GLOBAL float *c, int m, int n, int k)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    double sum = 0;

    if (at >= m * n)
        return;
    for (int i = 0; i < k; i++)
        sum += (double)a[at / n * k + i] * b[i * n + at % n];
    c[at] = (float)sum;
}
