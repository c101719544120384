/* plain.c: the reference of bins, a thread a bin. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL const int *keys, WS_GLOBAL real *s,
           WS_GLOBAL int *c, int n, int k)
{
    const int b = (int)ws_block_x();
    real sum = 0;
    int count = 0;

    for (int i = 0; i < n; i++)
        if (keys[i] % k == b) {
            sum += x[i];
            count++;
        }
    s[b] = sum;
    c[b] = count;
}
