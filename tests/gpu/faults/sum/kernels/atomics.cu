__global__ void clear(unsigned long long *total)
{
    *total = 0;
}

__global__ void add(const int4 *__restrict__ X, unsigned long long *total)
{
    long long i = blockIdx.x * 1024LL + threadIdx.x;
    unsigned long long sum = 0;

#pragma unroll
    for (int turn = 0; turn < 4; turn++, i += 256)
        sum += X[i].x + X[i].y + X[i].z + X[i].w;
    atomicAdd(total, sum);
}
