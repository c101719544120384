/* Sums of rows in two steps: nothing, then what is even and what is odd. */
__global__ void clear(float *y, int M)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < M)
        y[row] = 0.0f;
}

__global__ void sums(const float *x, float *y, int M, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row >= M)
        return;

    float even = 0.0f, odd = 0.0f;

    for (int j = 0; j < columns; j += 2)
        even += x[row * columns + j];
    for (int j = 1; j < columns; j += 2) {
        odd += x[row * columns + j];
    }
    y[row] += even + odd;
}
