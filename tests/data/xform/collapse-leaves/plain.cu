__device__ int me() { return threadIdx.x; }
__global__ void k(const float *x, const float *w, float *y, int m, int n)
{
    int t = me();
    if (t >= 20) return;
    for (int row = threadIdx.x; row < m; row += THREADS)
        for (int j = 0; j < n; j++)
            y[row * n + j] = x[row * n + j] * w[row];
}
