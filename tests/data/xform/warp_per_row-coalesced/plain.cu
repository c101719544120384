// Threads read neighbouring elements as it is; no loop is along a row. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int col = i % n;
    float sum = 0.0f, near = 0.0f;

    if (i >= m * n)
        return;
    for (int k = 0; k < n; k++)
        sum += x[i + k] * w[k];
    for (int k = 0; k < n - col; k++)
        near += x[i / n * n + col + k];
    for (int k = 0; k < 3; k++)
        near += x[i * 3 + k];
    y[i] = sum + near;
}
