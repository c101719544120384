/* Two sums a thread, one of them of squares that are not stored. */
__kernel void mixed(__global const float *x, __global const float *w,
                  __global const float *v, __global float *y, int B, int C,
                  int K, int N)
{
    const int place = get_global_id(0);
    const int groups = (K + OUTPUTS - 1) / OUTPUTS;
    const int line = place / N;
    int i = (line / groups * K + line % groups * OUTPUTS) * N +
        place % N;

    if (i >= B * K * N)
        return;
    int k = (i / N) % K;
    int b = i / (K * N);
    int k_at[OUTPUTS];

    for (int each = 0; each < OUTPUTS; each++)
        k_at[each] = k + each < K ? k + each : K - 1;
    float sum[OUTPUTS] = {0};
    float squares[OUTPUTS] = {0};

    for (int c = 0; c < C; c++) {
        float e = x[(b * C + c) * N + i % N];

        #pragma unroll
        for (int each = 0; each < OUTPUTS; each++)
            sum[each] += w[k_at[each] * C + c] * x[(b * C + c) * N + i % N];
        #pragma unroll
        for (int each = 0; each < OUTPUTS; each++)
            squares[each] += w[k_at[each] * C + c] * e *
                       w[k_at[each] * C + c] * e;
    }
    #pragma unroll
    for (int each = 0; each < OUTPUTS; each++)
        if (k + each < K)
            y[i + each * N] = squares[each] < 0 ? 0 : sum[each] + v[k + each];
}
