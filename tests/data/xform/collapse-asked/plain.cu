__device__ int me() { return threadIdx.x; }

/* Some threads leave by what a function says. */
__global__ void scale(const float *x, const float *w, float *y, int m, int n)
{
    int mine = me();

    if (mine >= m)
        return;
    for (int row = threadIdx.x; row < m; row += THREADS)
        for (int j = 0; j < n; j++)
            y[row * n + j] = x[row * n + j] * w[row];
}
