/*
 * reference.c: sums of segments, one thread a segment, in double.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void segments(WS_GLOBAL const real *values, WS_GLOBAL const int *starts,
              WS_GLOBAL real *sums, int n)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    double sum = 0;
    int begin = 0, end = n * AVERAGE;

    if (at >= n)
        return;
    if (at > 0)
        begin = at * AVERAGE + starts[at];
    if (at < n - 1)
        end = (at + 1) * AVERAGE + starts[at + 1];
    for (int i = begin; i < end; i++)
        sum += values[i];
    sums[at] = (real)sum;
}
