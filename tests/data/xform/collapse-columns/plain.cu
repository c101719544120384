/* Threads have columns: neighbours are neighbours as it is. */
__global__ void scale(const float *x, const float *w, float *y, int m, int n)
{
    int part = (m + 3) / 4, begin = blockIdx.x * part;

    for (int j = threadIdx.x; j < n; j += blockDim.x)
        for (int i = 0; i < min(part, m - begin); i++)
            y[(begin + i) * n + j] = x[(begin + i) * n + j] * w[begin + i];
}
