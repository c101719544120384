/* moved pointers. USED */
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int idx = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (idx >= m) return;
    x += idx * n;
    y += idx * n;
    float s = 0, t = 0;
    for (int j = lane; j < n; j += 32)
        s += x[j];
    for (int step = 16; step > 0; step /= 2)
        s += __shfl_xor_sync(0xffffffffu, s, step);
    for (int j = lane; j < n; j += 32) {
        if (x[j] > s / n) continue;
        y[j] = x[j] - s / n;
        t = fmaf(x[j], x[j], t);
    }
    for (int step = 16; step > 0; step /= 2)
        t += __shfl_xor_sync(0xffffffffu, t, step);
    __syncwarp();
    for (int j = lane; j < n; j += 32)
        if (y[j] < 0 && t > 1) y[j] = 0;
}
