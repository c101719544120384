#include <cuda_pipeline_primitives.h>

/* Matrix product C = A * B, all row-major. */
__global__ void matmul(const float *A, const float *B, float *C, int M, int N,
                       int K)
{
    /* x walks over the rows, y over the columns */

    __shared__ __align__(16) float A_tile[2][BK][BM + 4];
    __shared__ __align__(16) float B_tile[2][BK][BN + 4];
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

    for (int k0 = -BK, buffer = 1; k0 < K; k0 += BK, buffer ^= 1) {
        const int next = k0 + BK;

        /* the next tile, while this one is used */
        if (next < K) {
            /* A, zeros where it ends */
            #pragma unroll
            for (int e = 0; e < BM * BK / THREADS; e++) {
                const int at = e * THREADS + tid;
                const int row = row0 + at / BK;
                const int k = next + at % BK;

                if (row < M && k < K)
                    __pipeline_memcpy_async(&A_tile[buffer ^ 1][k - next][row - row0], &A[row * K + k], 4);
                else
                    A_tile[buffer ^ 1][k - next][row - row0] = 0.0f;
            }
            /* B, zeros where it ends */
            #pragma unroll
            for (int e = 0; e < BN * BK / THREADS; e++) {
                const int at = e * THREADS + tid;
                const int col = col0 + at % BN;
                const int k = next + at / BN;

                if (col < N && k < K)
                    __pipeline_memcpy_async(&B_tile[buffer ^ 1][k - next][col - col0], &B[k * N + col], 4);
                else
                    B_tile[buffer ^ 1][k - next][col - col0] = 0.0f;
            }
        }
        __pipeline_commit();
        if (k0 < 0)
            continue;
        __pipeline_wait_prior(1);
        __syncthreads();

        #pragma unroll 8
        for (int kk = 0; kk < BK; kk++) {
            float A_part[TM];
            float B_part[TN];

            #pragma unroll
            for (int r = 0; r < TM; r++)
                A_part[r] = A_tile[buffer][kk][ty * TM + r];
            #pragma unroll
            for (int c = 0; c < TN; c++)
                B_part[c] =
                    B_tile[buffer][kk][(c / GROUP * (BN / TN) + tx) * GROUP + c % GROUP];
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
