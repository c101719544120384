/* plain.c: the reference of products, a thread an output. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *a, WS_GLOBAL const real *w, WS_GLOBAL real *c,
           int S)
{
    const int at = ws_block_x();
    const int b = at / S / S, row = at / S % S, column = at % S;
    real sum = 0;

    for (int k = 0; k < S; k++)
        sum += a[(b * S + row) * S + k] * w[(b * S + k) * S + column];
    c[at] = sum;
}
