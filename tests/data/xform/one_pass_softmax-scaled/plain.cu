// The elements are scaled between the two loops. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m)
        return;
    for (int i = 0; i < n; i++)
        y[row * n + i] = x[row * n + i];
    float big = y[row * n], sum = 0.0f;
    for (int i = 0; i < n; i++)
        big = fmaxf(big, y[row * n + i]);
    y[row * n] = 2.0f * y[row * n];
    for (int i = 0; i < n; i++)
        sum += expf(y[row * n + i] - big);
    y[row * n] = sum;
}
