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
void batched_gemm_reference(WS_GLOBAL const real *a, WS_GLOBAL const real *b,
                            WS_GLOBAL real *c, long batch, long m, long n,
                            long k)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    const long at = i / (m * n), row = i / n % m;
    double sum = 0;

    if (i >= batch * m * n)
        return;
    for (long e = 0; e < k; e++)
        sum += (double)a[(at * m + row) * k + e] * b[(at * k + e) * n + i % n];
    c[i] = (real)sum;
}
