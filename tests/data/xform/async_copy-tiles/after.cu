#include <cuda_pipeline_primitives.h>

#define TILE 32

// tiled matrix product as in every tutorial
__global__ void matmul(const float *A, const float *B, float *C, int M, int N,
                       int K)
{
    __shared__ float As[2][TILE][TILE], Bs[2][TILE][TILE];

    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int tiles = (K + TILE - 1) / TILE;
    float acc = 0.0f;

    for (int t = -1, buffer = 1; t < tiles; t += 1, buffer ^= 1) {
        const int next = t + 1;

        /* the next tile, while this one is used */
        if (next < tiles) {
            const int ka = next * TILE + threadIdx.x;
            const int kb = next * TILE + threadIdx.y;

            if ((row < M && ka < K))
                __pipeline_memcpy_async(&As[buffer ^ 1][threadIdx.y][threadIdx.x], &A[(size_t)row * K + ka], 4);
            else
                As[buffer ^ 1][threadIdx.y][threadIdx.x] = 0.0f;
            if ((kb < K && col < N))
                __pipeline_memcpy_async(&Bs[buffer ^ 1][threadIdx.y][threadIdx.x], &B[(size_t)kb * N + col], 4);
            else
                Bs[buffer ^ 1][threadIdx.y][threadIdx.x] = 0.0f;
        }
        __pipeline_commit();
        if (t < 0)
            continue;
        __pipeline_wait_prior(1);
        __syncthreads();

        for (int i = 0; i < TILE; ++i)
            acc += As[buffer][threadIdx.y][i] * Bs[buffer][i][threadIdx.x];
        __syncthreads();
    }

    if (row < M && col < N)
        C[(size_t)row * N + col] = acc;
}
