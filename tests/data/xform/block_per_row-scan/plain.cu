// A recurrence along each row. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < m) {
        float last = 0.0f;
        for (int i = 0; i < n; i++) {
            last = 0.5f * last + x[row * n + i];
            y[row * n + i] = last * w[i];
        }
    }
}
