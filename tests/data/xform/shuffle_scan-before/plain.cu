// Running sums of rows; a level waits before it reads and before it writes.
__global__ void sums(const float *x, float *y, int n)
{
    __shared__ double held[BLOCK];
    const unsigned int t = threadIdx.x;
    double before = 0;

    for (int j = t; j - (int)t < n; j += BLOCK) {
        if (j < n)
            held[t] = x[blockIdx.x * n + j];
        else
            held[t] = 0;
        for (unsigned int d = 1; d < BLOCK; d <<= 1) {
            double both;

            __syncthreads();
            if (d <= t)
                both = held[t] + held[t - d];
            __syncthreads();
            if (d <= t)
                held[t] = both;
        }
        __syncthreads();
        if (j < n)
            y[blockIdx.x * n + j] = before + held[t];
        before += held[BLOCK - 1];
        __syncthreads();
    }
}
