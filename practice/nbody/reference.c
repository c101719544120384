/*
 * reference.c: gravity between bodies, one thread a body, in double.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void gravity(WS_GLOBAL const real *p, WS_GLOBAL const real *mass,
             WS_GLOBAL real *a, int n)
{
    const int i = ws_block_x() * 64 + ws_thread_x();
    double ax = 0, ay = 0, az = 0;

    if (i >= n)
        return;
    for (int j = 0; j < n; j++) {
        const double x = (double)p[3 * j] - p[3 * i];
        const double y = (double)p[3 * j + 1] - p[3 * i + 1];
        const double z = (double)p[3 * j + 2] - p[3 * i + 2];
        const double d2 = x * x + y * y + z * z + (double)SOFTENING;
        const double f = mass[j] / (d2 * sqrt(d2));

        ax += f * x;
        ay += f * y;
        az += f * z;
    }
    a[3 * i] = (real)ax;
    a[3 * i + 1] = (real)ay;
    a[3 * i + 2] = (real)az;
}
