/*
 * reference.c: rows of a table, one thread an element.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void fetch(WS_GLOBAL const float *table, WS_GLOBAL const int *ids,
           WS_GLOBAL float *y, int rows, int m, int n)
{
    const int at = ws_block_x() * 64 + ws_thread_x();

    if (at >= m * n)
        return;
    y[at] = table[ids[at / n] % rows * n + at % n];
}
