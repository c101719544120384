/*
 * reference.c: distances of points, one thread a pair, in double.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void distances(WS_GLOBAL const float *a, WS_GLOBAL const float *b,
               WS_GLOBAL float *d, int m, int n, int k)
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
    d[at] = (float)sqrt(sum);
}
