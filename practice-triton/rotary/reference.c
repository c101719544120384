/*
 * reference.c: an element of a head, a thread each.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void rotary_reference(WS_GLOBAL const real *x, WS_GLOBAL const real *c,
                      WS_GLOBAL const real *s, WS_GLOBAL real *y, long tokens,
                      long heads, long pairs)
{
    const long i = (long)ws_block_x() * 64 + ws_thread_x();
    const long at = i % (2 * pairs), token = i / (2 * pairs) / heads;
    const long angle = token * pairs + at % pairs;

    if (i >= tokens * heads * 2 * pairs)
        return;
    if (at < pairs)
        y[i] =
            (real)((double)x[i] * c[angle] - (double)x[i + pairs] * s[angle]);
    else
        y[i] =
            (real)((double)x[i] * c[angle] + (double)x[i - pairs] * s[angle]);
}
