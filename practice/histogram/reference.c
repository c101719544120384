/*
 * reference.c: how often each byte occurs. One thread counts 4096 bytes in 256
 * counters of its own; then one thread a counter adds those of all.
 */
#include "ws_dialect.h"

#define RUN 4096

WS_KERNEL_BLOCK(32, 1, 1)
void count(WS_GLOBAL const unsigned char *bytes, WS_GLOBAL int *partial, int n)
{
    const int thread = ws_block_x() * 32 + ws_thread_x();
    const int left = n - thread * RUN, run = left < RUN ? left : RUN;
    WS_GLOBAL const unsigned char *first = bytes + thread * RUN;
    WS_GLOBAL int *mine = partial + (size_t)thread * 256;

    if (thread >= (n + RUN - 1) / RUN)
        return;
    for (int i = 0; i < 256; i++)
        mine[i] = 0;
    for (int i = 0; i < run; i++)
        mine[first[i]]++;
}

WS_KERNEL_BLOCK(32, 1, 1)
void add(WS_GLOBAL const int *partial, WS_GLOBAL int *counts, int n)
{
    const int bin = ws_block_x() * 32 + ws_thread_x();
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += partial[(size_t)i * 256 + bin];
    counts[bin] = sum;
}
