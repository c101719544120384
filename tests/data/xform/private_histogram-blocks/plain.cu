__global__ void zero(int *counts, int levels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < levels) counts[i] = 0;
}

__global__ void count_levels(const int *values, int *counts,
                             unsigned int n, int levels)
{
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    // everything above goes to the last
    int v = values[i];
    if (v >= levels) {
        atomicAdd(counts + (levels - 1), 1);
        return;
    }
    atomicAdd(&counts[v], 1);
}
