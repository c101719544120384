/* Linear layers with tiles in local memory, one after the other in z. */
#define TILE 16

__kernel void layer(__global const float *A, __global const float *W,
                    __global const float *bias, __global float *C, int M,
                    int N, int K)
{
    int batch = get_group_id(2);

    __local float A_tile[BK][BM + 4] __attribute__((aligned(16)));
    __local float W_tile[BK][BN + 4] __attribute__((aligned(16)));
    const int THREADS = BM / TM * (BN / TN);
    const int GROUP = TN < 4 ? TN : 4; /* neighbours a thread */
    const int tid = get_local_id(0);
    const int ty2 = tid / (BN / TN), tx2 = tid % (BN / TN);
    const int row0 = get_group_id(1) * BM;
    const int col0 = get_group_id(0) * BN;
    float sum_part[TM][TN];

    #pragma unroll
    for (int r = 0; r < TM; r++)
        #pragma unroll
        for (int c = 0; c < TN; c++)
            sum_part[r][c] = 0.0f;

    for (int k02 = 0; k02 < K; k02 += BK) {
        /* A, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BM * BK / THREADS; e++) {
            const int at = e * THREADS + tid;
            const int row = row0 + at / BK;
            const int k = k02 + at % BK;

            A_tile[k - k02][row - row0] =
                row < M && k < K ? A[row * K + k + get_group_id(2) * M * K] : 0.0f;
        }
        /* W, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BN * BK / THREADS; e++) {
            const int at = e * THREADS + tid;
            const int col = col0 + at / BK;
            const int k = k02 + at % BK;

            W_tile[k - k02][col - col0] =
                col < N && k < K ? W[col * K + k + get_group_id(2) * N * K] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        #pragma unroll 8
        for (int kk = 0; kk < BK; kk++) {
            float A_part[TM];
            float W_part[TN];

            #pragma unroll
            for (int r = 0; r < TM; r++)
                A_part[r] = A_tile[kk][ty2 * TM + r];
            #pragma unroll
            for (int c = 0; c < TN; c++)
                W_part[c] =
                    W_tile[kk][(c / GROUP * (BN / TN) + tx2) * GROUP + c % GROUP];
            #pragma unroll
            for (int r = 0; r < TM; r++)
                #pragma unroll
                for (int c = 0; c < TN; c++)
                    sum_part[r][c] += A_part[r] * W_part[c];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    #pragma unroll
    for (int r = 0; r < TM; r++)
        #pragma unroll
        for (int c = 0; c < TN; c++) {
            int row = row0 + ty2 * TM + r;
            int col = col0 + (c / GROUP * (BN / TN) + tx2) * GROUP + c % GROUP;

            if (row < M && col < N) {
                float sum = sum_part[r][c];
                float v = sum + bias[col];

                C[(batch * M + row) * N + col] = v > 0 ? v : 0;
            }
        }
}
