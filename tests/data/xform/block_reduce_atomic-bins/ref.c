/* One thread adds all. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void add(WS_GLOBAL const real *x, WS_GLOBAL real *out, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    out[0] = (real)sum;
}
