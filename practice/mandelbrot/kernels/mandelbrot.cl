/* Mandelbrot set: how many steps the orbit of each point stays near 0.
 *
 * Every step is an explicit fma, so that all compilers count the same. A block
 * is a tile of 8 x 16 points: the 32 points of a warp lie close together, in 4
 * rows of 8, and leave at nearly the same time. */
__kernel void mandelbrot(float left, float top, float spacing,
                         __global int *restrict count, int H, int W)
{
    int w = get_global_id(0);
    int h = get_global_id(1);

    if (w >= W || h >= H)
        return;

    float re = fma((float)w, spacing, left);
    float im = fma((float)h, spacing, top);
    float x = 0.0f;
    float y = 0.0f;
    int steps = 0;

    while (steps < STEPS && fma(x, x, y * y) <= 4.0f) {
        float next = fma(x, x, fma(-y, y, re));

        y = fma(x + x, y, im);
        x = next;
        steps++;
    }
    count[h * W + w] = steps;
}
