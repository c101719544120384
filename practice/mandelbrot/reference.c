/*
 * reference.c: steps of orbits, one thread a point, as op.yaml says: in float,
 * each step rounded once, for that is what makes the counts exact. Each fma()
 * has a variable of its own, so that its result is a float whatever fma() is.
 */
#include "ws_dialect.h"

WS_KERNEL_BLOCK(64, 1, 1)
void orbits(float left, float top, float spacing, WS_GLOBAL int *count, int nh,
            int nw)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int h = at / nw, w = at % nw;
    float re, im, x = 0, y = 0, distance = 0; /* squared, of (x, y) from 0 */
    int steps = 0;

    if (h >= nh)
        return;
    re = fma((float)w, spacing, left);
    im = fma((float)h, spacing, top);
    while (steps < STEPS && distance <= 4.0f) {
        const float part = fma(-y, y, re);
        const float next = fma(x, x, part);

        y = fma(2.0f * x, y, im);
        x = next;
        distance = fma(x, x, y * y);
        steps++;
    }
    count[at] = steps;
}
