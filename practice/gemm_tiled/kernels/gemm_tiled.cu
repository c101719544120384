/* Linear layer C = A * W^T + bias with tiles in shared memory. */
#define TILE 16

__global__ void gemm_tiled(const float *A, const float *W, const float *bias,
                           float *C, int M, int N, int K)
{
    __shared__ float tileA[TILE][TILE];
    __shared__ float tileW[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;

    for (int k0 = 0; k0 < K; k0 += TILE) {
        int wrow = blockIdx.x * TILE + ty;

        /* each thread loads one element of each tile, zero outside */
        if (row < M && k0 + tx < K)
            tileA[ty][tx] = A[row * K + k0 + tx];
        else
            tileA[ty][tx] = 0.0f;
        if (wrow < N && k0 + tx < K)
            tileW[ty][tx] = W[wrow * K + k0 + tx];
        else
            tileW[ty][tx] = 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE; k++)
            sum += tileA[ty][k] * tileW[tx][k];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum + bias[col];
}
