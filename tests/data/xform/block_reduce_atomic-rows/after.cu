__global__ void zero(float *out, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows)
        out[i] = 0.0f;
}

// four numbers of a row a thread
__global__ void rows(const float *x, float *out, int rows, int n)
{
    __shared__ float warp_sums[32];
    float mine = 0.0f;
    int added = 0;

    const int r = blockIdx.y;

    if (!(r >= rows)) {
        const float *row = x + (size_t)r * n;
        int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
        for (int i = first; i < first + 4; i++)
            if (i < n)
                added = 1, mine += row[i]; // all to one place
    }

    /* the warp's sum, the block's, one atomic */
    for (int offset = 16; offset; offset /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, offset);
    if (threadIdx.x % 32 == 0)
        warp_sums[threadIdx.x / 32] = mine;
    added = __syncthreads_or(added);
    if (threadIdx.x < 32) {
        mine = threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0.0f;
        for (int offset = 16; offset; offset /= 2)
            mine += __shfl_down_sync(0xffffffffu, mine, offset);
        if (threadIdx.x == 0 && added)
            atomicAdd(&out[r], mine);
    }
}
