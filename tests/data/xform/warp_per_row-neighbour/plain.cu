// Each element reads the one before, which the turn before wrote. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row >= m)
        return;
    y[row * n] = x[row * n];
    for (int i = 1; i < n; i++)
        y[row * n + i] = y[row * n + i - 1] + x[row * n + i];
}
