__kernel void turn(__global const float *x, __global float *y, int m, int n)
{
    int i = get_global_id(0), j = get_global_id(1);

    if (i < m && j < n)
        y[j * m + i] = x[i * n + j];
}
