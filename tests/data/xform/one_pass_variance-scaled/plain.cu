// The elements are weighted between the two loops. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m)
        return;
    float mean = 0.0f, sum = 0.0f;
    for (int i = 0; i < n; i++)
        mean += y[row * n + i];
    mean /= n;
    for (int i = 0; i < n; i++)
        y[row * n + i] = x[row * n + i] * w[i];
    for (int i = 0; i < n; i++)
        sum += (y[row * n + i] - mean) * (y[row * n + i] - mean);
    y[row * n] = sum;
}
