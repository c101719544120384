__device__ int my_row() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void scale(const float *x, const float *w, float *y, int m, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;

    if (my_row() < m && j < n)
        y[i * n + j] = x[i * n + j] * w[i];
}
