__kernel void sums(__global const float *x, __global float *y, int n)
{
    int row = get_group_id(0);
    float sum = 0;

    if (row >= 0) 
    #pragma unroll UNROLL
        for (int j = 0; j < n; j += 1) sum += x[row * n + j];
    y[row] = sum;
}
