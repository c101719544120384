// Sums of the rows of a matrix: one thread walks along one row.
__global__ void row_sum(const float *x, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row >= m)
        return;

    y[row] = 0.0f;
    for (int col = 0; col < n; col++)
        y[row] += x[row * n + col];
}
