/* In the inner loop 'row' is something else. */
__global__ void scale(const float *x, const float *w, float *y, int m, int n)
{
    int part = (m + 3) / 4, begin = blockIdx.x * part;

    for (int i = threadIdx.x; i < min(part, m - begin); i += THREADS) {
        int row = begin + i;

        for (int j = 0; j < n; j++) {
            float value = x[row * n + j] * w[row];
            int row = begin + i;

            y[(begin + i) * n + j] = value + 0 * row;
        }
    }
}
