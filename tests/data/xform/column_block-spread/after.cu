// Sums of columns, a block each, of a size that is a parameter.
__global__ void spread(const float *x, float *y, int m, int n)
{
    __shared__ float part[BLOCK];
    int place = blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
    unsigned int col = place < n ? place : n - 1;
    float sum = 0.f;

    for (int row = threadIdx.x / COLUMNS; row < m; row += BLOCK / COLUMNS)
        sum += x[(size_t)row * n + col];
    part[threadIdx.x] = sum;
    for (int s = BLOCK / 2; s >= COLUMNS; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
    }
    if (threadIdx.x < COLUMNS && place < n)
        y[col] = part[threadIdx.x];
}
