/* A product, a work item an element; rows are the first axis. */
__kernel void product(__global const float *a, __global const float *w,
                      __global float *c, int M, int N, int K)
{
    const int place = get_global_id(0);
    const int groups = (M + OUTPUTS - 1) / OUTPUTS;
    const int line = place / N;
    const int at = (line / groups * M + line % groups * OUTPUTS) * N +
        place % N;
    if (at >= M * N)
        return;
    const int row = at / N;
    const int col = at % N;
    int row_at[OUTPUTS];

    for (int each = 0; each < OUTPUTS; each++)
        row_at[each] = row + each < M ? row + each : M - 1;

    float sum[OUTPUTS];
    #pragma unroll
    for (int each = 0; each < OUTPUTS; each++)
        sum[each] = 0;
    for (int k = 0; k < K; k++)
        #pragma unroll
        for (int each = 0; each < OUTPUTS; each++)
            sum[each] += a[row_at[each] * K + k] * w[col * K + k];
    #pragma unroll
    for (int each = 0; each < OUTPUTS; each++)
        if (row + each < M)
            c[(row + each) * N + col] = sum[each];
}
