/* A thread a counter: how often is its value there? */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(32, 1, 1)
void count(WS_GLOBAL const int *values, WS_GLOBAL int *counts,
           int n, int levels)
{
    const int mine = ws_block_x() * 32 + ws_thread_x();
    int sum = 0;

    if (mine >= levels)
        return;
    for (int i = 0; i < n; i++)
        sum += (values[i] < levels ? values[i] : levels - 1) ==
               mine;
    counts[mine] = sum;
}
