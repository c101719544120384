/* Adds by atomics and declares that the order varies. */
extern "C" __global__ void clear(float *y, int m)
{
    int i = blockIdx.x * 64 + threadIdx.x;

    if (i < m)
        y[i] = 0.0f;
}

extern "C" __global__
void run(const float *x, float *y, int m, int n)
{
    int r = blockIdx.y, at = blockIdx.x * 16;
    float sum = 0.0f;

    for (int i = at; i < at + 16 && i < n; i++)
        sum += x[r * n + i];
    if (r < m)
        atomicAdd(&y[r], sum);
}
