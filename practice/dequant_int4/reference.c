/*
 * reference.c: elements of 4 bits as numbers, a thread an element.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void dequant_int4_reference(WS_GLOBAL const unsigned char *q,
                            WS_GLOBAL const unsigned char *zero,
                            WS_GLOBAL const real *scale, WS_GLOBAL real *y,
                            long m, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    const long groups = (n + GROUP - 1) / GROUP;
    const long row = i / n, col = i % n;

    if (i < m * n) {
        const int v = q[i / 2] >> i % 2 * 4 & 15;
        const long g = row * groups + col / GROUP;

        y[i] = (real)((double)(v - zero[g]) * scale[g]);
    }
}
