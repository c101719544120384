// RMS norm, a thread a row. USED
__global__ void __launch_bounds__(128) plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x;
    int tid = threadIdx.x;

    if (row < m) {
        float sum = 0.0f; // of the squares

        __shared__ float sum_parts[32];
        for (int i = tid; i < n; i += blockDim.x)
            sum += x[row * n + i] * x[row * n + i];
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (tid % 32 == 0)
            sum_parts[tid / 32] = sum;
        __syncthreads();
        sum = sum_parts[0];
        for (int warp = 1; warp < blockDim.x / 32; warp++)
            sum += sum_parts[warp];

        /* divide by the root of the mean square */
        for (int i = tid; i < n; i += blockDim.x)
            y[row * n + i] = x[row * n + i] / sqrtf(sum / n + 1e-6f) * w[i];
    }
}
