// Copies every stride-th column of a matrix. Neighbouring work items write
// neighbouring elements, and each does four rows, all loads first.
#define ROWS 4

__kernel void strided_copy(__global const float *restrict x, __global float *restrict y, int m,
                           int n, int stride)
{
    int columns = (n + stride - 1) / stride;
    int col = get_global_id(0);
    int first = get_group_id(1) * ROWS;
    float v[ROWS];

    if (col >= columns)
        return;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        v[r] = first + r < m ? x[(first + r) * n + col * stride] : 0.0f;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (first + r < m)
            y[(first + r) * columns + col] = v[r];
}
