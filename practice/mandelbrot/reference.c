/*
 * reference.c: steps of orbits, one thread a point, as op.yaml says: in float,
 * each step rounded once, for that is what makes the counts exact.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void orbits(float left, float top, float spacing, WS_GLOBAL int *count, int nh,
            int nw)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int h = at / nw, w = at % nw;
    float re, im, x = 0, y = 0;
    int steps = 0;

    if (h >= nh)
        return;
    re = fma((float)w, spacing, left);
    im = fma((float)h, spacing, top);
    while (steps < STEPS && fma(x, x, y * y) <= 4.0f) {
        const float next = fma(x, x, fma(-y, y, re));

        y = fma(2.0f * x, y, im);
        x = next;
        steps++;
    }
    count[at] = steps;
}
