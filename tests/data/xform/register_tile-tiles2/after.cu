#define TILE 32

// tiled matrix product as in every tutorial
__global__ void matmul(const float *A, const float *B, float *C, int M, int N,
                       int K)
{
    const int tiles = (K + TILE - 1) / TILE;

    __shared__ __align__(16) float A_tile[BK][BM + 4];
    __shared__ __align__(16) float B_tile[BK][BN + 4];
    const int THREADS = BM / TM * (BN / TN);
    const int GROUP = TN < 4 ? TN : 4; /* neighbours a thread */
    const int tid = threadIdx.x;
    const int ty = tid / (BN / TN), tx = tid % (BN / TN);
    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;
    float acc_part[TM][TN];

    #pragma unroll
    for (int r = 0; r < TM; r++)
        #pragma unroll
        for (int c = 0; c < TN; c++)
            acc_part[r][c] = 0.0f;

    for (int i0 = 0; i0 < K; i0 += BK) {
        /* A, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BM * BK / THREADS; e++) {
            const int at = e * THREADS + tid;
            const int row = row0 + at / BK;
            const int i = i0 + at % BK;

            A_tile[i - i0][row - row0] =
                row < M && i < K ? A[(size_t)row * K + (size_t)i] : 0.0f;
        }
        /* B, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BN * BK / THREADS; e++) {
            const int at = e * THREADS + tid;
            const int col = col0 + at % BN;
            const int i = i0 + at / BN;

            B_tile[i - i0][col - col0] =
                col < N && i < K ? B[(size_t)col + (size_t)i * N] : 0.0f;
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
                    acc_part[r][c] += A_part[r] * B_part[c];
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
                float acc = acc_part[r][c];
                C[(size_t)row * N + col] = acc;
            }
        }
}
