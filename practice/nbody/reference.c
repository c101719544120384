/*
 * reference.c: gravity between bodies, one thread a body, in double.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void gravity(WS_GLOBAL const float *p, WS_GLOBAL const float *mass,
             WS_GLOBAL float *a, int n)
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
    a[3 * i] = (float)ax;
    a[3 * i + 1] = (float)ay;
    a[3 * i + 2] = (float)az;
}
