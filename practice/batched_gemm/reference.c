/*
 * reference.c: many small products, one thread an element, its sum in double.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void products(WS_GLOBAL const real *a, WS_GLOBAL const real *b,
              WS_GLOBAL real *c, int batch, int s)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int matrix = at / (s * s) * s * s, row = at / s % s, col = at % s;
    double sum = 0;

    if (at >= batch * s * s)
        return;
    for (int i = 0; i < s; i++)
        sum += (double)a[matrix + row * s + i] * b[matrix + i * s + col];
    c[at] = (real)sum;
}
