// A thread an output; its channel begins with the bias.
__global__ void mixed(const float *x, const float *w, const float *v, float *y,
                    int B, int C, int K, int N)
{
    const unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int groups = (K + OUTPUTS - 1) / OUTPUTS;
    const unsigned int line = place / N;
    const unsigned int i = (line / groups * K + line % groups * OUTPUTS) * N +
        place % N;

    if (i < B * K * N) {
        const int n = i % N, k = i / N % K;
        const int b = i / (N * K);
        int k_at[OUTPUTS];

        for (int each = 0; each < OUTPUTS; each++)
            k_at[each] = k + each < K ? k + each : K - 1;
        float sum[OUTPUTS];

        for (int each = 0; each < OUTPUTS; each++)
            sum[each] = v[k_at[each]];

        for (int c = 0; c < C; c++)
            #pragma unroll
            for (int each = 0; each < OUTPUTS; each++)
                sum[each] = fmaf(w[k_at[each] * C + c], x[(b * C + c) * N + n], sum[each]);
        #pragma unroll
        for (int each = 0; each < OUTPUTS; each++)
            if (k + each < K)
                y[i + each * N] = sum[each];
    }
}
