// Adds a row vector to every row of a matrix. The groups are squares of 16 x 16
// work items: dimension 0 goes over the rows of the matrix, 1 over its columns.
__kernel void broadcast_add(__global const float *x, __global const float *b,
                            __global float *y, int m, int n)
{
    int row = get_global_id(0);
    int col = get_global_id(1);

    if (row < m && col < n)
        y[row * n + col] = x[row * n + col] + b[col];
}
