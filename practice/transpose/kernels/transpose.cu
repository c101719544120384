// Transposes a matrix through tiles of 64 x 64 in shared memory, so that both the
// reads and the writes go along rows. A tile has one more column than it needs:
// without it the threads of a warp would meet in one bank.
#define TILE 64
#define STEP 4

__global__ void transpose(const float *__restrict__ x, float *__restrict__ y, int m, int n)
{
    __shared__ float tile[TILE][TILE + 1];
    int tx = threadIdx.x;
    int ty = threadIdx.y;

    int col = blockIdx.x * TILE + tx;
    int row = blockIdx.y * TILE + ty;
#pragma unroll
    for (int i = 0; i < TILE; i += STEP)
        if (row + i < m && col < n)
            tile[ty + i][tx] = x[(row + i) * n + col];
    __syncthreads();

    // the same tile on the other side of the diagonal
    col = blockIdx.y * TILE + tx;
    row = blockIdx.x * TILE + ty;
#pragma unroll
    for (int i = 0; i < TILE; i += STEP)
        if (row + i < n && col < m)
            y[(row + i) * m + col] = tile[tx][ty + i];
}
