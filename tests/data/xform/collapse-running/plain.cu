/* What is left of a product goes to the next, times nothing. */
__global__ void scale(const float *x, const float *w, float *y, int m, int n)
{
    int part = (m + 3) / 4, begin = blockIdx.x * part;

    for (int i = threadIdx.x; i < min(part, m - begin); i += blockDim.x) {
        float last = 0;

        for (int j = 0; j < n; j++) {
            y[(begin + i) * n + j] = x[(begin + i) * n + j] * w[begin + i] + 0 * last;
            last = last * 0.5f + x[(begin + i) * n + j];
        }
    }
}
