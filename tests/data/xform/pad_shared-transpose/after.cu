// A tile goes through shared memory.
#define TILE 32
__global__ void transpose(const float *x, float *y, int m, int n)
{
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;

    if (row < m && col < n)
        tile[threadIdx.y][threadIdx.x] = x[row * n + col];
    __syncthreads();
    row = blockIdx.x * TILE + threadIdx.y;
    col = blockIdx.y * TILE + threadIdx.x;
    if (row < n && col < m)
        y[row * m + col] = tile[threadIdx.x][threadIdx.y];
}
