/* Distances of all points of A from all points of B. */
__kernel void pairs(__global const float *A, __global const float *B,
                    __global float *D, int M, int N, int K)
{
    __local float A_tile[BK][BM + 4] __attribute__((aligned(16)));
    __local float B_tile[BK][BN + 4] __attribute__((aligned(16)));
    const int THREADS = BM / TM * (BN / TN);
    const int GROUP = TN < 4 ? TN : 4; /* neighbours a thread */
    const int tid = get_local_id(0);
    const int ty = tid / (BN / TN), tx = tid % (BN / TN);
    const int i0 = get_group_id(1) * BM;
    const int j0 = get_group_id(0) * BN;
    float sum_part[TM][TN];

    #pragma unroll
    for (int r = 0; r < TM; r++)
        #pragma unroll
        for (int c = 0; c < TN; c++)
            sum_part[r][c] = 0.0f;

    for (int k0 = 0; k0 < K; k0 += BK) {
        /* A, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BM * BK / THREADS; e++) {
            const int at = e * THREADS + tid;
            const int i = i0 + at / BK;
            const int k = k0 + at % BK;

            A_tile[k - k0][i - i0] =
                i < M && k < K ? A[i * K + k] : 0.0f;
        }
        /* B, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BN * BK / THREADS; e++) {
            const int at = e * THREADS + tid;
            const int j = j0 + at / BK;
            const int k = k0 + at % BK;

            B_tile[k - k0][j - j0] =
                j < N && k < K ? B[j * K + k] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        #pragma unroll 8
        for (int kk = 0; kk < BK; kk++) {
            float A_part[TM];
            float B_part[TN];

            #pragma unroll
            for (int r = 0; r < TM; r++)
                A_part[r] = A_tile[kk][ty * TM + r];
            #pragma unroll
            for (int c = 0; c < TN; c++)
                B_part[c] =
                    B_tile[kk][(c / GROUP * (BN / TN) + tx) * GROUP + c % GROUP];
            #pragma unroll
            for (int r = 0; r < TM; r++)
                #pragma unroll
                for (int c = 0; c < TN; c++) {
                    float diff = A_part[r] - B_part[c];

                    sum_part[r][c] += diff * diff;
                }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    #pragma unroll
    for (int r = 0; r < TM; r++)
        #pragma unroll
        for (int c = 0; c < TN; c++) {
            int i = i0 + ty * TM + r;
            int j = j0 + (c / GROUP * (BN / TN) + tx) * GROUP + c % GROUP;

            if (i < M && j < N) {
                D[i * N + j] = sum_part[r][c];
                D[i * N + j] = sqrt(D[i * N + j]);
            }
        }
}
