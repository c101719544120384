/*
 * reference.c: the loss of a row, a thread a row.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void cross_entropy_reference(WS_GLOBAL const real *x,
                             WS_GLOBAL const int *target, WS_GLOBAL real *loss,
                             long m, long n)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    double top, sum = 0;

    if (i >= m)
        return;
    x += i * n;
    top = x[0];
    for (long k = 1; k < n; k++)
        if (x[k] > top)
            top = x[k];
    for (long k = 0; k < n; k++)
        sum += exp((double)x[k] - top);
    loss[i] = (real)(log(sum) + (top - (double)x[target[i]]));
}
