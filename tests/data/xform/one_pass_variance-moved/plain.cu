// The second loop goes over the next row. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row + 1 >= m)
        return;
    const float *p = x + row * n;
    float mean = 0.0f, sum = 0.0f;
    for (int i = 0; i < n; i++)
        mean += p[i];
    mean /= n;
    p += n;
    for (int i = 0; i < n; i++)
        sum += powf(p[i] - mean, 2.0f);
    y[row] = sum;
}
