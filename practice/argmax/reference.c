/*
 * reference.c: the column of the largest element of each row, the first one of
 * several; one thread a row.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(32, 1, 1)
void rows(WS_GLOBAL const float *x, WS_GLOBAL int *index, int m, int n)
{
    const int row = ws_block_x() * 32 + ws_thread_x();
    int best = 0;

    if (row >= m)
        return;
    for (int i = 1; i < n; i++)
        if (x[row * n + i] > x[row * n + best])
            best = i;
    index[row] = best;
}
