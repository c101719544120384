// Sums of the rows of a matrix: one work item walks along one row.
__kernel void row_sum(__global const float *x, __global float *y, int m, int n)
{
    int row = get_global_id(0);

    if (row >= m)
        return;

    y[row] = 0.0f;
    for (int col = 0; col < n; col++)
        y[row] += x[row * n + col];
}
