/* layer norm without a bias, in three passes. USED */
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < m) {
        const float *p = &x[idx * n];
        float mean = 0.0f, var = 0.0f;
        int j;

        for (j = 0; j < n; j++)
            mean += p[j];
        mean /= n;
        for (j = 0; j < n; j++) {
            float diff = p[j] - mean;
            var += diff * diff;
        }
        var /= n;
        for (j = 0; j < n; j++)
            y[idx * n + j] = (p[j] - mean) / sqrtf(var + 1e-5f) * w[j];
    }
}
