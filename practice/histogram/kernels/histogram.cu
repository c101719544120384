/* Histogram of bytes: 256 counters in global memory. */
__global__ void clear(int *counts)
{
    counts[threadIdx.x] = 0;
}

/* one thread per byte */
__global__ void histogram(const unsigned char *bytes, int *counts, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < N)
        atomicAdd(&counts[bytes[i]], 1);
}
