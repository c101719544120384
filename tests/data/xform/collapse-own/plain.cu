/* The factor is the thread's, not the row's. */
__global__ void scale(const float *x, const float *w, float *y, int m, int n)
{
    int part = (m + 3) / 4, begin = blockIdx.x * part, mine = threadIdx.x;

    for (int i = threadIdx.x; i < min(part, m - begin); i += THREADS)
        for (int j = 0; j < n; j++)
            y[(begin + i) * n + j] = x[(begin + i) * n + j] * w[begin + i - i % THREADS + mine];
}
