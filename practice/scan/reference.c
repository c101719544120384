/*
 * reference.c: inclusive sums, one thread a row from left to right, in double.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(32, 1, 1)
void rows(WS_GLOBAL const float *x, WS_GLOBAL float *y, int m, int n)
{
    const int row = ws_block_x() * 32 + ws_thread_x();
    double sum = 0;

    if (row >= m)
        return;
    for (int i = 0; i < n; i++) {
        sum += x[row * n + i];
        y[row * n + i] = (float)sum;
    }
}
