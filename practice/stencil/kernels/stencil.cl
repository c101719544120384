/* One step of a 5-point stencil.
 *
 * A thread walks down ROWS points of one column. The point above, the point
 * itself and the point below stay in registers, so that each step loads one
 * new point; left and right come from the cache. Neighbouring threads take
 * neighbouring columns. */
#define ROWS 8

__kernel void stencil(__global const float *restrict X,
                      __global float *restrict Y, int H, int W)
{
    int w = get_global_id(0);
    int h0 = get_group_id(1) * ROWS;
    float row[ROWS + 2];

    if (w >= W)
        return;

        /* all loads of the column first, they do not wait for each other */
#pragma unroll
    for (int i = 0; i < ROWS + 2; i++) {
        int h = h0 + i - 1;

        row[i] = h >= 0 && h < H ? X[h * W + w] : 0.0f;
    }

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        int h = h0 + i;
        float y = row[i + 1];

        if (h >= H)
            break;
        if (h > 0 && h < H - 1 && w > 0 && w < W - 1)
            y = MIDDLE * y + SIDE * (row[i] + row[i + 2] + X[h * W + w - 1] +
                                     X[h * W + w + 1]);
        Y[h * W + w] = y;
    }
}
