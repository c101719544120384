/*
 * reference.c: rows of a table, one thread an element.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void fetch(WS_GLOBAL const real *table, WS_GLOBAL const int *ids,
           WS_GLOBAL real *y, int rows, int m, int n)
{
    const int at = ws_block_x() * 64 + ws_thread_x();

    if (at >= m * n)
        return;
    y[at] = table[ids[at / n] % rows * n + at % n];
}
