/* layer norm without a bias, in three passes. USED */
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < m) {
        const float *p = &x[idx * n];
        float mean = 0.0f, var = 0.0f;
        int j;

        float own_mean = 0, own_squares = 0;
        int turns = 0;
        for (j = 0; j < n; j++) {
            const float value = p[j];
            const float away = value - own_mean;

            mean += value;
            turns++;
            own_mean += away / turns;
            own_squares += away * (value - own_mean);
        }
        mean /= n;
        var += own_squares + turns * (own_mean - mean) * (own_mean - mean);
        var /= n;
        for (j = 0; j < n; j++)
            y[idx * n + j] = (p[j] - mean) / sqrtf(var + 1e-5f) * w[j];
    }
}
