#include "me.cuh"
__global__ void k(const float *x, float *y, int m, int n)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < m && c < n) y[c * m + r] = x[r * n + c] * x[r * n + c + 0] * (lane() == 0 ? 1.0f : 2.0f);
}
