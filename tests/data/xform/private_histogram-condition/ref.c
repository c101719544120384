/* A thread a counter: how often is its byte there? */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(32, 1, 1)
void count(WS_GLOBAL const unsigned char *bytes, WS_GLOBAL int *counts, int n)
{
    const int mine = ws_block_x() * 32 + ws_thread_x();
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += bytes[i] == mine;
    counts[mine] = sum;
}
