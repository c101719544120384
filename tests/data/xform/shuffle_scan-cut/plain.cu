// What is added is cut to an integer.
__global__ void sums(const float *x, float *y, int n)
{
    __shared__ float held[128];
    int t = threadIdx.x;

    held[t] = t < n ? x[blockIdx.x * n + t] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int left = 0;

        if (t >= d)
            left = held[t - d];
        __syncthreads();
        held[t] += left;
        __syncthreads();
    }
    if (t < n)
        y[blockIdx.x * n + t] = held[t];
}
