/* x is the plane, y the row, z the column. */
__device__ float at(const float *U, int d, int h, int w, int H, int W)
{
    return U[(d * H + h) * W + w];
}

__global__ void laplace(const float *U, float *L, int D, int H, int W)
{
    int d = blockIdx.z * blockDim.z + threadIdx.z;
    int h = blockIdx.y * blockDim.y + threadIdx.y;
    int w = blockIdx.x * blockDim.x + threadIdx.x;

    if (d < D && h < H && w < W)
        L[(d * H + h) * W + w] =
            at(U, d, h, max(w - 1, 0), H, W) + at(U, d, h, min(w + 1, W - 1), H, W) +
            at(U, max(d - 1, 0), h, w, H, W) + at(U, min(d + 1, D - 1), h, w, H, W) -
            4 * at(U, d, h, w, H, W);
}
