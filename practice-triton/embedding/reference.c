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
void embedding_reference(WS_GLOBAL const int *ids, WS_GLOBAL const real *table,
                         WS_GLOBAL real *y, long tokens, long dim)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();

    if (i < tokens * dim)
        y[i] = table[ids[i / dim] * dim + i % dim];
}
