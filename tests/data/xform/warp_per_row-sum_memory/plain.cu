// Sums in memory, and what depends on them. USED
__global__ void plain(const float *a, const float *w, float *out, int rows, int cols)
{
    long row = (long)blockIdx.x * 64 + threadIdx.x;
    if (row >= rows)
        return;

    out[row] = 1.0f;
    float low = a[row * cols];
    for (int c = 1; c < cols; c++)
        low = low < a[row * cols + c] ? low : a[row * cols + c];
    for (int c = 0; c < cols; c++)
        out[row] += a[row * cols + c] * w[c];
    int n = 0;
    if (low < 0)
        for (int c = 0; c < cols; c++)
            if (a[row * cols + c] < 0.0f)
                n++;
    if (n > 3)
        out[row] += n;
    else
        out[row] = out[row] * low;
}
