/* Matrix times vector: every thread computes one row of the result. */
__global__ void gemv(const float *A, const float *x, float *y, int M, int N)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row >= M)
        return;

    float sum = 0.0f;
    for (int col = 0; col < N; col++)
        sum += A[row * N + col] * x[col];
    y[row] = sum;
}
