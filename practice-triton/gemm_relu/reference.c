/*
 * reference.c: an element of C, a thread each.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void gemm_relu_reference(WS_GLOBAL const real *a, WS_GLOBAL const real *b,
                         WS_GLOBAL const real *bias, WS_GLOBAL real *c, long m,
                         long n, long k)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    double sum = 0;

    if (i >= m * n)
        return;
    for (long e = 0; e < k; e++)
        sum += (double)a[i / n * k + e] * b[e * n + i % n];
    c[i] = (real)fmax(sum + bias[i % n], 0.0);
}
