// the sum begins with the bias
__global__ void linear(const float *x, const float *w, const float *bias,
                       const float *old, float *y, int M, int N, int K)
{
    __shared__ __align__(16) float x_tile[BK][BM + 4];
    __shared__ __align__(16) float w_tile[BK][BN + 4];
    const int THREADS = BM / TM * (BN / TN);
    const int GROUP = TN < 4 ? TN : 4; /* neighbours a thread */
    const int tid = threadIdx.x;
    const int ty = tid / (BN / TN), tx = tid % (BN / TN);
    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;
    float sum_part[TM][TN];

    #pragma unroll
    for (int r = 0; r < TM; r++)
        #pragma unroll
        for (int c = 0; c < TN; c++) {
            int row = row0 + ty * TM + r;
            int col = col0 + (c / GROUP * (BN / TN) + tx) * GROUP + c % GROUP;

            sum_part[r][c] = 0.0f;
            if (row < M && col < N) {
                sum_part[r][c] = bias[col];
            }
        }

    for (int k0 = 0; k0 < K; k0 += BK) {
        /* x, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BM * BK / THREADS; e++) {
            const int at = e * THREADS + tid;
            const int row = row0 + at / BK;
            const int k = k0 + at % BK;

            x_tile[k - k0][row - row0] =
                row < M && k < K ? x[row * K + k] : 0.0f;
        }
        /* w, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BN * BK / THREADS; e++) {
            const int at = e * THREADS + tid;
            const int col = col0 + at % BN;
            const int k = k0 + at / BN;

            w_tile[k - k0][col - col0] =
                col < N && k < K ? w[k * N + col] : 0.0f;
        }
        __syncthreads();

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
        __syncthreads();
    }

    #pragma unroll
    for (int r = 0; r < TM; r++)
        #pragma unroll
        for (int c = 0; c < TN; c++) {
            int row = row0 + ty * TM + r;
            int col = col0 + (c / GROUP * (BN / TN) + tx) * GROUP + c % GROUP;

            if (row < M && col < N) {
                float sum = sum_part[r][c];
                y[row * N + col] = sum + old[row * N + col];
            }
        }
}
