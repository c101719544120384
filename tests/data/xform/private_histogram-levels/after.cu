__global__ void zero(int *counts, int levels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < levels) counts[i] = 0;
}

__global__ void count_levels(const int *values, int *counts,
                             unsigned int n, int levels)
{
    __shared__ int counts_of_block[LEVELS];

    for (int bin = threadIdx.x; bin < LEVELS; bin += blockDim.x)
        counts_of_block[bin] = 0;
    __syncthreads();

    for (int part = 0; part < PARTS; part++) {
        const unsigned int i = (blockIdx.x * PARTS + part) * blockDim.x + threadIdx.x;
        if (i >= n)
            continue;

        // everything above goes to the last
        int v = values[i];
        if (v >= levels) {
            atomicAdd(counts_of_block + (levels - 1), 1);
            continue;
        }
        atomicAdd(&counts_of_block[v], 1);
    }

    /* what the block has counted */
    __syncthreads();
    for (int bin = threadIdx.x; bin < LEVELS; bin += blockDim.x)
        if (counts_of_block[bin])
            atomicAdd(&counts[bin], counts_of_block[bin]);
}
