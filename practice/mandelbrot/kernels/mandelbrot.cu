/* Mandelbrot set: how many steps the orbit of each point stays near 0.
 *
 * Every step is an explicit fmaf, so that all compilers count the same. A block
 * is a tile of 8 x 16 points: the 32 points of a warp lie close together, in 4
 * rows of 8, and leave at nearly the same time. */
__global__ void mandelbrot(float left, float top, float spacing,
                           int *__restrict__ count, int H, int W)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    int h = blockIdx.y * blockDim.y + threadIdx.y;

    if (w >= W || h >= H)
        return;

    float re = fmaf((float)w, spacing, left);
    float im = fmaf((float)h, spacing, top);
    float x = 0.0f;
    float y = 0.0f;
    int steps = 0;

    while (steps < STEPS && fmaf(x, x, y * y) <= 4.0f) {
        float next = fmaf(x, x, fmaf(-y, y, re));

        y = fmaf(x + x, y, im);
        x = next;
        steps++;
    }
    count[h * W + w] = steps;
}
