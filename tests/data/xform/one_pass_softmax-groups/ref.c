/* Softmax of a row, a thread a row, in double. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void softmax_reference(WS_GLOBAL const real *x, WS_GLOBAL real *y, long m,
                       long n)
{
    const long row = (long)ws_block_x() * 64 + ws_thread_x();
    double largest, sum = 0;

    if (row >= m)
        return;
    x += row * n;
    y += row * n;
    largest = x[0];
    for (long i = 1; i < n; i++)
        if (x[i] > largest)
            largest = x[i];
    for (long i = 0; i < n; i++)
        sum += exp((double)x[i] - largest);
    for (long i = 0; i < n; i++)
        y[i] = (real)(exp((double)x[i] - largest) / sum);
}
