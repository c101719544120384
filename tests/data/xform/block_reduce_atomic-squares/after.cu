__global__ void zero(float *out)
{
    if (threadIdx.x == 0)
        out[0] = 0.0f;
}

/* the sum of all squares, a thread a number */
__global__ void squares(const float *x, float *out, int n)
{
    __shared__ float warp_sums[32];
    float mine = 0.0f;

    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        float v = x[i];

        mine += v * v;
    }

    /* the warp's sum, the block's, one atomic */
    for (int offset = 16; offset; offset /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, offset);
    if (threadIdx.x % 32 == 0)
        warp_sums[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0.0f;
        for (int offset = 16; offset; offset /= 2)
            mine += __shfl_down_sync(0xffffffffu, mine, offset);
        if (threadIdx.x == 0)
            atomicAdd(out, mine);
    }
}
