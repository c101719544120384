// Adds a row vector to every row of a matrix. The blocks are squares of 16 x 16
// threads: x goes over the rows of the matrix, y over its columns.
__global__ void broadcast_add(const float *x, const float *b, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < m && col < n)
        y[row * n + col] = x[row * n + col] + b[col];
}
