// Sums of columns, a block each, of a size that is a parameter.
__global__ void spread(const float *x, float *y, int m, int n)
{
    __shared__ float part[BLOCK];
    unsigned int col = blockIdx.x;
    float sum = 0.f;

    for (int row = threadIdx.x; row < m; row += BLOCK)
        sum += x[(size_t)row * n + col];
    part[threadIdx.x] = sum;
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
    }
    if (threadIdx.x == 0)
        y[col] = part[0];
}
