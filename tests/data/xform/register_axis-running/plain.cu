// The sum so far is stored in each turn.
__global__ void mixed(const float *x, const float *w, const float *v, float *y,
                    int B, int C, int K, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= B * K * N)
        return;
    int k = (i / N) % K;
    int b = i / N / K;
    float sum = v[k];

    for (int c = 0; c < C; c++) {
        sum += w[k * C + c] * x[(b * C + c) * N + i % N];
        y[(b * K + k) * N + i % N] = sum;
    }
}
