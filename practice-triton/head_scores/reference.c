/*
 * reference.c: a score, a thread each.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void head_scores_reference(WS_GLOBAL const real *q, WS_GLOBAL const real *k,
                           WS_GLOBAL real *s, long h, long l)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    const long head = i / (l * l), row = i / l % l;
    double sum = 0;

    if (i >= h * l * l)
        return;
    for (long e = 0; e < 64; e++)
        sum += (double)q[(head * l + row) * 64 + e] *
               k[(head * l + i % l) * 64 + e];
    s[i] = (real)(sum * 0.125);
}
