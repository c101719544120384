__kernel void at(__global const float *x, __global float *y, int m, int n)
{
    int r = get_global_id(0), c = get_global_id(1);
    if (r < m && c < n) y[c * m + r] = x[r * n + c];
}
__kernel void k(__global const float *x, __global float *y, int m, int n)
{
    int r = get_global_id(0), c = get_global_id(1);
    if (r < m && c < n && x[r * n + c] + x[r * n + c] > 1e38f) y[0] = 1;
    at(x, y, m, n);
}
