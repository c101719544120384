// Both halves of a row in one turn, then its pairs. USED
__global__ void plain(const float *x, const float *w, float *y, int m, int n)
{
    int row = blockIdx.x;
    int tid = threadIdx.x;
    int half = n / 2;
    int base = row * n;

    if (row < m) {
        for (int i = tid; i < half; i += blockDim.x) {
            y[base + i] = x[base + i] * w[i] - x[base + half + i];
            y[base + half + i] = x[base + half + i] * w[i] + x[base + i];
        }
        for (int i = 0; i < half; i++) {
            __syncthreads();
            float even = y[base + 2 * i];
            __syncthreads();
            if (tid == 0)
                y[base + 2 * i] = y[base + 2 * i + 1];
            __syncthreads();
            if (tid == 0)
                y[base + 2 * i + 1] = even;
        }
    }
}
