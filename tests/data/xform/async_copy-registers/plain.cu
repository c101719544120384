/* Matrix product C = A * B, all row-major. */
__global__ void matmul(const float *A, const float *B, float *C, int M, int N,
                       int K)
{
    /* x walks over the rows, y over the columns */

    __shared__ __align__(16) float A_tile[BK][BM + 4];
    __shared__ __align__(16) float B_tile[BK][BN + 4];
    const int THREADS = BM / TM * (BN / TN);
    const int GROUP = TN < 4 ? TN : 4; /* neighbours a thread */
    const int tid = threadIdx.x;
    const int ty = tid / (BN / TN), tx = tid % (BN / TN);
    const int row0 = blockIdx.x * BM;
    const int col0 = blockIdx.y * BN;
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
            const int row = row0 + at / BK;
            const int k = k0 + at % BK;

            A_tile[k - k0][row - row0] =
                row < M && k < K ? A[row * K + k] : 0.0f;
        }
        /* B, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BN * BK / THREADS; e++) {
            const int at = e * THREADS + tid;
            const int col = col0 + at % BN;
            const int k = k0 + at / BN;

            B_tile[k - k0][col - col0] =
                col < N && k < K ? B[k * N + col] : 0.0f;
        }
        __syncthreads();

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
                for (int c = 0; c < TN; c++)
                    sum_part[r][c] += A_part[r] * B_part[c];
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
                // one store a thread
                C[row * N + col] = sum;
            }
        }
}
