// Sums of halves: each half of the block scans for itself.
__global__ void sums(const float *x, float *y, int n)
{
    __shared__ float held[128];
    int t = threadIdx.x;

    held[t] = t < n ? x[blockIdx.x * n + t] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        float left = t >= d ? held[t - d] : 0.0f;

        __syncthreads();
        held[t] += left;
        __syncthreads();
    }
    if (t < n)
        y[blockIdx.x * n + t] = held[t];
}
