#define TILE 32

// tiled matrix product as in every tutorial
__global__ void matmul(const float *A, const float *B, float *C, int M, int N,
                       int K)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];

    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int tiles = (K + TILE - 1) / TILE;
    float acc = 0.0f;

    for (int t = 0; t < tiles; ++t) {
        const int ka = t * TILE + threadIdx.x;
        const int kb = t * TILE + threadIdx.y;

        As[threadIdx.y][threadIdx.x] =
            (row < M && ka < K) ? A[(size_t)row * K + ka] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] =
            (kb < K && col < N) ? B[(size_t)kb * N + col] : 0.0f;
        __syncthreads();

        for (int i = 0; i < TILE; ++i)
            acc += As[threadIdx.y][i] * Bs[i][threadIdx.x];
        __syncthreads();
    }

    if (row < M && col < N)
        C[(size_t)row * N + col] = acc;
}
