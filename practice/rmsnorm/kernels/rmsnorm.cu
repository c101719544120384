// RMS norm of the rows of a matrix: one thread a row, which goes through it
// twice.
__global__ void rmsnorm(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < m) {
        float sum = 0.0f;

        for (int i = 0; i < n; i++)
            sum += x[row * n + i] * x[row * n + i];

        // divide by the root of the mean square, then multiply by the weight
        for (int i = 0; i < n; i++)
            y[row * n + i] = x[row * n + i] / sqrtf(sum / n + EPS) * w[i];
    }
}
