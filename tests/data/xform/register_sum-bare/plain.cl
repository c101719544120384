__kernel void sums(__global const float *x, __global float *y, int n)
{
    int row = get_global_id(0);

    y[row] = 0;
    if (n > 0)
        for (int j = 0; j < n; j++)
            y[row] += x[row * n + j];
}
