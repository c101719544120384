/* plain.c: the reference of center_columns, a thread a column. */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(1, 1, 1)
void plain(WS_GLOBAL const real *x, WS_GLOBAL real *y, WS_GLOBAL real *l, int m,
           int n)
{
    const size_t j = ws_block_x();
    real sum = 0, largest = x[j];

    for (int i = 0; i < m; i++) {
        const real e = x[(size_t)i * n + j];

        sum += e;
        if (e > largest)
            largest = e;
    }
    for (int i = 0; i < m; i++)
        y[(size_t)i * n + j] = x[(size_t)i * n + j] - sum / m;
    l[j] = largest;
}
