/* The same thread comes to an element in several rows, and adds to it. */
__global__ void scale(const float *x, const float *w, float *y, int m, int n)
{
    for (int row = threadIdx.x; row < m; row += THREADS)
        for (int j = 0; j < n; j++)
            y[row + THREADS * j] += x[row * n + j] * w[row] + x[row * n + j];
}
