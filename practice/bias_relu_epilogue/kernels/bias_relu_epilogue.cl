// The epilogue of a matrix product: y = relu(x * scale + bias + residual), with a
// scale and a bias for every column. A work item stays in its column, so that it
// reads those once, and does eight rows; all loads come before the stores.
#define ROWS 8

__kernel void bias_relu_epilogue(__global const float *restrict x,
                                 __global const float *restrict scale,
                                 __global const float *restrict bias,
                                 __global const float *restrict residual,
                                 __global float *restrict y, int m, int n)
{
    int col = get_global_id(0);
    int first = get_group_id(1) * ROWS;
    float v[ROWS];

    if (col >= n)
        return;

    float s = scale[col];
    float b = bias[col];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        int at = (first + r) * n + col;

        v[r] = first + r < m ? x[at] * s + b + residual[at] : 0.0f;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (first + r < m)
            y[(first + r) * n + col] = fmax(v[r], 0.0f);
}
