/*
 * reference.c: distances of points, one thread a pair, in double.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void distances(WS_GLOBAL const real *a, WS_GLOBAL const real *b,
               WS_GLOBAL real *d, int m, int n, int k)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int i = at / n, j = at % n;
    double sum = 0;

    if (i >= m)
        return;
    for (int c = 0; c < k; c++) {
        const double x = (double)a[i * k + c] - b[j * k + c];

        sum += x * x;
    }
    d[at] = (real)sqrt(sum);
}
