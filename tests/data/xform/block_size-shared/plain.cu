__global__ void sums(const float *x, float *y, int n)
{
    __shared__ float part[4];
    float sum = 0;

    for (int j = threadIdx.x; j < n; j += blockDim.x)
        sum += x[blockIdx.x * n + j];
    for (int o = 16; o; o >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
