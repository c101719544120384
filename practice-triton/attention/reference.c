/*
 * reference.c: a row of the output, a thread each.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void attention_reference(WS_GLOBAL const real *q, WS_GLOBAL const real *k,
                         WS_GLOBAL const real *v, WS_GLOBAL real *o, long h,
                         long l)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    const long head = i / l;
    double top = -1e300, total = 0, sum[64] = {0};

    if (i >= h * l)
        return;
    for (long j = 0; j < l; j++) {
        double s = 0, next, fade, p;

        for (int e = 0; e < 64; e++)
            s += (double)q[i * 64 + e] * k[(head * l + j) * 64 + e];
        s *= 0.125;
        next = s > top ? s : top;
        fade = exp(top - next);
        p = exp(s - next);
        total = total * fade + p;
        for (int e = 0; e < 64; e++)
            sum[e] = sum[e] * fade + p * v[(head * l + j) * 64 + e];
        top = next;
    }
    for (int e = 0; e < 64; e++)
        o[i * 64 + e] = (real)(sum[e] / total);
}
