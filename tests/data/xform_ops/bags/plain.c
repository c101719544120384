/*
 * plain.c: sums of bags of rows, one thread an element, in double.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void bags(WS_GLOBAL const real *table, WS_GLOBAL const int *ids,
          WS_GLOBAL const int *starts, WS_GLOBAL real *y, int rows, int nbag,
          int d)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int bag = at / d, col = at % d;
    double sum = 0;
    int begin = 0, end = nbag * AVERAGE;

    if (bag >= nbag)
        return;
    if (bag > 0)
        begin = bag * AVERAGE + starts[bag];
    if (bag < nbag - 1)
        end = (bag + 1) * AVERAGE + starts[bag + 1];
    for (int i = begin; i < end; i++)
        sum += table[ids[i] % rows * d + col];
    y[at] = (real)sum;
}
