// The sum of a block's 256 values, in thread 0.
__device__ long long block_sum(long long sum)
{
    __shared__ long long part[8];

    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    for (int i = 1; i < 8 && threadIdx.x == 0; i++)
        sum += part[i];
    return sum;
}

__global__ void add(const int4 *__restrict__ X, long long *part)
{
    long long i = blockIdx.x * 4096LL + threadIdx.x;
    long long sum = 0;

#pragma unroll
    for (int turn = 0; turn < 16; turn++, i += 256) {
        int4 q = X[i];

        sum += q.x + q.y + q.z + q.w;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        part[blockIdx.x] = sum;
}

__global__ void finish(const long long *part, long long *total, int parts)
{
    long long sum = 0;

    for (int i = threadIdx.x; i < parts; i += 256)
        sum += part[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *total = sum;
}
