// The weights lie in shared memory, put there by all threads. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    __shared__ float part[64];
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    part[threadIdx.x] = threadIdx.x < n ? w[threadIdx.x] : 0.0f;
    __syncthreads();
    if (row < m)
        for (int i = 0; i < n; i++)
            y[row * n + i] = x[row * n + i] * part[i % 64];
}
