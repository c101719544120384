// a layer: the sum begins with the column's bias and with what was there
__kernel void linear(__global const float *x, __global const float *w,
                     __global const float *bias, __global const float *old,
                     __global float *y, int M, int N, int K)
{
    __local float x_tile[BK][BM + 4] __attribute__((aligned(16)));
    __local float w_tile[BK][BN + 4] __attribute__((aligned(16)));
    const int THREADS = BM / TM * (BN / TN);
    const int GROUP = TN < 4 ? TN : 4; /* neighbours a thread */
    const int tid = get_local_id(0);
    const int ty = tid / (BN / TN), tx = tid % (BN / TN);
    const int row0 = get_group_id(1) * BM;
    const int col0 = get_group_id(0) * BN;
    float sum_part[TM][TN];

    #pragma unroll
    for (int r = 0; r < TM; r++)
        #pragma unroll
        for (int c = 0; c < TN; c++) {
            int row = row0 + ty * TM + r;
            int col = col0 + (c / GROUP * (BN / TN) + tx) * GROUP + c % GROUP;

            sum_part[r][c] = 0.0f;
            if (row < M && col < N) {
                int at = row * N + col;
                sum_part[r][c] = bias[col] + old[at];
            }
        }

    for (int k0 = 0; k0 < K; k0 += BK) {
        /* x, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BM * BK / THREADS; e++) {
            const int at2 = e * THREADS + tid;
            const int row = row0 + at2 / BK;
            const int k = k0 + at2 % BK;

            x_tile[k - k0][row - row0] =
                row < M && k < K ? x[row * K + k] : 0.0f;
        }
        /* w, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BN * BK / THREADS; e++) {
            const int at2 = e * THREADS + tid;
            const int col = col0 + at2 % BN;
            const int k = k0 + at2 / BN;

            w_tile[k - k0][col - col0] =
                col < N && k < K ? w[k * N + col] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        #pragma unroll 8
        for (int kk = 0; kk < BK; kk++) {
            float x_part[TM];
            float w_part[TN];

            #pragma unroll
            for (int r = 0; r < TM; r++)
                x_part[r] = x_tile[kk][ty * TM + r];
            #pragma unroll
            for (int c = 0; c < TN; c++)
                w_part[c] =
                    w_tile[kk][(c / GROUP * (BN / TN) + tx) * GROUP + c % GROUP];
            #pragma unroll
            for (int r = 0; r < TM; r++)
                #pragma unroll
                for (int c = 0; c < TN; c++)
                    sum_part[r][c] += x_part[r] * w_part[c];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    #pragma unroll
    for (int r = 0; r < TM; r++)
        #pragma unroll
        for (int c = 0; c < TN; c++) {
            int row = row0 + ty * TM + r;
            int col = col0 + (c / GROUP * (BN / TN) + tx) * GROUP + c % GROUP;

            if (row < M && col < N) {
                int at = row * N + col;
                float sum = sum_part[r][c];
                y[at] = sum;
            }
        }
}
