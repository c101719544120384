/* Sparse matrix (compressed rows) times vector: one thread computes one row. */
__global__ void spmv_csr(const float *values, const int *columns,
                         const int *starts, const float *x, float *y, int M)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < M) {
        /* the first row begins at 0, the last one ends at the end */
        int begin = row == 0 ? 0 : row * AVERAGE + starts[row];
        int end =
            row == M - 1 ? M * AVERAGE : (row + 1) * AVERAGE + starts[row + 1];
        float sum = 0.0f;

        for (int j = begin; j < end; j++)
            sum += values[j] * x[columns[j]];
        y[row] = sum;
    }
}
