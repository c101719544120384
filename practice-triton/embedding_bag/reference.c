/*
 * reference.c: an element, a thread each.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void embedding_bag_reference(WS_GLOBAL const int *ids,
                             WS_GLOBAL const real *table, WS_GLOBAL real *y,
                             long bags, long bag, long dim)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    double sum = 0;

    if (i >= bags * dim)
        return;
    for (long l = 0; l < bag; l++)
        sum += table[ids[i / dim * bag + l] * dim + i % dim];
    y[i] = (real)sum;
}
