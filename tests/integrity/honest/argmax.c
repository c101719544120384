/* The first of equals. */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(8, 1, 1)
void run(WS_GLOBAL const float *x, WS_GLOBAL int *best, int m, int n)
{
    const int r = ws_block_x() * 8 + ws_thread_x();
    if (r >= m)
        return;
    int at = 0;

    for (int i = 1; i < n; i++)
        if (x[r * n + i] > x[r * n + at])
            at = i;
    best[r] = at;
}
