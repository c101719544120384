// Sums in memory, and what depends on them. USED
__global__ void plain(const float *a, const float *w, float *out, int rows, int cols)
{
    long row = (long)blockIdx.x * (64 / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;

    if (lane == 0)
        out[row] = 1.0f;
    float low = a[row * cols];
    for (int c = lane; c < cols; c += 32)
        low = low < a[row * cols + c] ? low : a[row * cols + c];
    for (int step = 16; step > 0; step /= 2)
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, step));
    float part = 0;
    for (int c = lane; c < cols; c += 32)
        part += a[row * cols + c] * w[c];
    for (int step = 16; step > 0; step /= 2)
        part += __shfl_xor_sync(0xffffffffu, part, step);
    if (lane == 0)
        out[row] += part;
    int n = 0;
    if (low < 0) {
        if (lane != 0)
            n = 0;
        for (int c = lane; c < cols; c += 32)
            if (a[row * cols + c] < 0.0f)
                n++;
        for (int step = 16; step > 0; step /= 2)
            n += __shfl_xor_sync(0xffffffffu, n, step);
    }
    if (n > 3) {
        if (lane == 0)
            out[row] += n;
    }
    else {
        if (lane == 0)
            out[row] = out[row] * low;
    }
}
