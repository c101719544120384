/* Layer norm of a row, a thread a row, in double. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void layernorm_reference(WS_GLOBAL const real *x, WS_GLOBAL real *y, long m,
                         long n)
{
    const long row = (long)ws_block_x() * 64 + ws_thread_x();
    double mean = 0, var = 0;

    if (row >= m)
        return;
    x += row * n;
    y += row * n;
    for (long i = 0; i < n; i++)
        mean += x[i];
    mean /= n;
    for (long i = 0; i < n; i++)
        var += ((double)x[i] - mean) * ((double)x[i] - mean);
    var /= n;
    for (long i = 0; i < n; i++)
        y[i] = (real)(((double)x[i] - mean) / sqrt(var + 1e-5));
}
