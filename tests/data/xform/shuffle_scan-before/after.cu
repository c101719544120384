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
        {
            __shared__ double totals[32];
            __syncthreads();
            double sum = held[t];

            for (int distance = 1; distance < 32; distance *= 2) {
                const double other = __shfl_up_sync(0xffffffffu, sum, distance);

                if (t % 32 >= distance)
                    sum += other;
            }
            if (t % 32 == 31)
                totals[t / 32] = sum;
            __syncthreads();
            for (int warp = 0; warp < t / 32; warp++)
                sum += totals[warp];
            held[t] = sum;
            __syncthreads();
        }
        __syncthreads();
        if (j < n)
            y[blockIdx.x * n + j] = before + held[t];
        before += held[BLOCK - 1];
        __syncthreads();
    }
}
