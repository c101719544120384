__kernel void sums(__global const float *x, __global float *y, int m, int n)
{
    int row = get_global_id(0);

    if (row >= m)
        return;
    y[row] = 0;
#ifdef FAST
    n /= 2;
#endif
    #pragma unroll 4
    for (int j = 0; j < n; j++)
        y[row] += x[row * n + j];
}
