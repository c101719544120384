/* x is the plane, y the row, z the column. */
static float at(__global const float *U, int d, int h, int w, int H, int W)
{
    return U[(d * H + h) * W + w];
}

__kernel void laplace(__global const float *U, __global float *L, int D, int H, int W)
{
    int d = get_global_id(0);
    int h = get_global_id(1);
    int w = get_global_id(2);

    if (d < D && h < H && w < W)
        L[(d * H + h) * W + w] =
            at(U, d, h, max(w - 1, 0), H, W) + at(U, d, h, min(w + 1, W - 1), H, W) +
            at(U, max(d - 1, 0), h, w, H, W) + at(U, min(d + 1, D - 1), h, w, H, W) -
            4 * at(U, d, h, w, H, W);
}
