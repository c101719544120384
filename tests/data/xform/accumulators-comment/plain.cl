__kernel void sums(__global const float *x, __global float *y, int m, int n)
{
    int row = get_global_id(0);
    float sum = 0;

    if (row >= m)
        return;
    for (int j = 0; j < n; j++)
        sum += x[row * n + j] /* one
                               * more */ ; // all of them
    y[row] = sum;
}
