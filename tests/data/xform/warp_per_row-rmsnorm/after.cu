// RMS norm, a thread a row. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;

    if (row < m) {
        float sum = 0.0f; // of the squares

        for (int i = lane; i < n; i += 32)
            sum += x[row * n + i] * x[row * n + i];
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, step);

        /* divide by the root of the mean square */
        for (int i = lane; i < n; i += 32)
            y[row * n + i] = x[row * n + i] / sqrtf(sum / n + 1e-6f) * w[i];
    }
}
