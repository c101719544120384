// Two parts of a row that may overlap: n - half is not half. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int half = n / 2;
    int base = row * n;

    if (row < m) {
        for (int i = 0; i < n - half; i++) {
            y[base + i] = x[base + i] * w[i];
            y[base + half + i] = x[base + half + i];
        }
    }
}
