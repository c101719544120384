// RMS norm, a thread a row. USED
__global__ void __launch_bounds__(128) plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < m) {
        float sum = 0.0f; // of the squares

        for (int i = 0; i < n; i++)
            sum += x[row * n + i] * x[row * n + i];

        /* divide by the root of the mean square */
        for (int i = 0; i < n; i++)
            y[row * n + i] = x[row * n + i] / sqrtf(sum / n + 1e-6f) * w[i];
    }
}
