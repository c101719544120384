// Sums of the columns of a matrix: one block a column. Its threads go down the
// column 256 rows at a time, then their sums are added in shared memory.
#define THREADS 256

__global__ void col_sum(const float *x, float *y, int m, int n)
{
    __shared__ float part[THREADS];
    int col = blockIdx.x;
    int tid = threadIdx.x;
    float sum = 0.0f;

    for (int row = tid; row < m; row += THREADS)
        sum += x[row * n + col];
    part[tid] = sum;
    __syncthreads();

    // half of the threads add what the other half has, and so on
    for (int step = THREADS / 2; step > 0; step /= 2) {
        if (tid < step)
            part[tid] += part[tid + step];
        __syncthreads();
    }
    if (tid == 0)
        y[col] = part[0];
}
