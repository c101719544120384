/* C[M,N] = A[M,K] W[N,K]^T, one thread for COLS columns of one row. The
 * capital names are parameters: wavesmith defines them before this text. */
__kernel void my_gemm(__global const float *A, __global const float *W,
                      __global float *C, int M, int N, int K)
{
    int row = get_global_id(1);
    int col = get_global_id(0) * COLS;
    float acc[COLS];

    if (row >= M)
        return;
    for (int c = 0; c < COLS; c++)
        acc[c] = 0.0f;
    for (int k = 0; k + UNROLL <= K; k += UNROLL)
        for (int c = 0; c < COLS; c++)
            if (col + c < N)
                for (int u = 0; u < UNROLL; u++)
                    acc[c] += A[row * K + k + u] * W[(col + c) * K + k + u];
    for (int k = K - K % UNROLL; k < K; k++)
        for (int c = 0; c < COLS; c++)
            if (col + c < N)
                acc[c] += A[row * K + k] * W[(col + c) * K + k];
    for (int c = 0; c < COLS; c++)
        if (col + c < N)
            C[row * N + col + c] = acc[c];
}
