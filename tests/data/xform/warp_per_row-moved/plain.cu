/* moved pointers. USED */
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= m) return;
    x += idx * n;
    y += idx * n;
    float s = 0, t = 0;
    for (int j = 0; j < n; j++)
        s += x[j];
    for (int j = 0; j < n; j++) {
        if (x[j] > s / n) continue;
        y[j] = x[j] - s / n;
        t = fmaf(x[j], x[j], t);
    }
    for (int j = 0; j < n; j++)
        if (y[j] < 0 && t > 1) y[j] = 0;
}
