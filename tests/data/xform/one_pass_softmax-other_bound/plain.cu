// The second loop goes over fewer elements. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m)
        return;
    const float *p = x + row * n;
    float big = p[0], sum = 0.0f;
    for (int i = 0; i < n; i++)
        if (p[i] > big)
            big = p[i];
    n = n / 2;
    for (int i = 0; i < n; i++)
        sum += expf(p[i] - big);
    y[row] = sum;
}
