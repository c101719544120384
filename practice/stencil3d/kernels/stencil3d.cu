/* Laplacian of a 3-D grid U[D][H][W]; outside of the grid U is zero.
 * The thread's x is the plane, y the row and z the column, like the indices of
 * the array from left to right. */
__device__ float value(const float *U, int d, int h, int w, int D, int H, int W)
{
    if (d < 0 || d >= D || h < 0 || h >= H || w < 0 || w >= W)
        return 0.0f;
    return U[(d * H + h) * W + w];
}

__global__ void stencil3d(const float *U, float *L, int D, int H, int W)
{
    int d = blockIdx.x * blockDim.x + threadIdx.x;
    int h = blockIdx.y * blockDim.y + threadIdx.y;
    int w = blockIdx.z * blockDim.z + threadIdx.z;

    if (d >= D || h >= H || w >= W)
        return;

    float middle = value(U, d, h, w, D, H, W);
    /* second derivatives along the three axes */
    float dd = (value(U, d - 1, h, w, D, H, W) - 2.0f * middle +
                value(U, d + 1, h, w, D, H, W)) /
               (SPACING * SPACING);
    float hh = (value(U, d, h - 1, w, D, H, W) - 2.0f * middle +
                value(U, d, h + 1, w, D, H, W)) /
               (SPACING * SPACING);
    float ww = (value(U, d, h, w - 1, D, H, W) - 2.0f * middle +
                value(U, d, h, w + 1, D, H, W)) /
               (SPACING * SPACING);

    L[(d * H + h) * W + w] = dd + hh + ww;
}
