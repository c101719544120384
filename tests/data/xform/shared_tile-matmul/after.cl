__kernel void matmul(__global const float *A, __global const float *B,
                     __global float *C, int M, int N, int K)
{
    __local float A_tile[BK][BM + 1] __attribute__((aligned(16)));
    __local float B_tile[BK][BN + 1] __attribute__((aligned(16)));
    const int ty = get_local_id(1), tx = get_local_id(0);
    const int tid = ty * BN + tx;
    const int row0 = get_group_id(1) * BM;
    const int col0 = get_group_id(0) * BN;
    float acc = 0.0f;

    for (int k0 = 0; k0 < K; k0 += BK) {
        /* A, zeros where it ends */
        #pragma unroll
        for (int e = tid; e < BM * BK; e += BM * BN) {
            const int row = row0 + e / BK;
            const int k = k0 + e % BK;

            A_tile[k - k0][row - row0] =
                row < M && k < K ? A[row * K + k] : 0.0f;
        }
        /* B, zeros where it ends */
        #pragma unroll
        for (int e = tid; e < BN * BK; e += BM * BN) {
            const int col = col0 + e % BN;
            const int k = k0 + e / BN;

            B_tile[k - k0][col - col0] =
                col < N && k < K ? B[k * N + col] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        #pragma unroll 8
        for (int kk = 0; kk < BK; kk++) {
            acc = fma(A_tile[kk][ty], B_tile[kk][tx], acc);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    int row = row0 + ty;
    int col = col0 + tx;

    if (row < M && col < N) {
        C[row * N + col] = acc;
    }
}
