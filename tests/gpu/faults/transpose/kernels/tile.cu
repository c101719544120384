// A tile of 64 x 64 through shared memory: rows are read and rows are written.
// A warp reads a column of the tile, whose elements lie 64 + PAD words apart:
// all in one bank without PAD, in 32 banks with PAD 1.
__global__ void transpose(const float *__restrict__ X, float *__restrict__ Y, int M, int N)
{
    __shared__ float tile[64][64 + PAD];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long row = blockIdx.y * 64, col = blockIdx.x * 64;

#pragma unroll
    for (int r = warp; r < 64; r += 8)
        for (int c = lane; c < 64; c += 32)
            tile[r][c] = X[(row + r) * N + col + c];
    __syncthreads();
#pragma unroll
    for (int c = warp; c < 64; c += 8)
        for (int r = lane; r < 64; r += 32)
            Y[(col + c) * M + row + r] = tile[r][c];
}
