/* Sparse matrix (compressed rows) times vector: one thread computes one row. USED */
__device__ float scaled(float a, float b) { return 0.5f * a * b; }

__global__ void plain(const float *values, const int *columns,
                         const int *starts, const float *x, float *y, int M)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < M) {
        /* the first row begins at 0, the last one ends at the end */
        int begin = row == 0 ? 0 : row * 5 + starts[row];
        int end =
            row == M - 1 ? M * 5 : (row + 1) * 5 + starts[row + 1];
        float sum = 0.0f;

        for (int j = begin; j < end; j++)
            sum += scaled(values[j], x[columns[j]]);
        y[row] = sum;
    }
}
