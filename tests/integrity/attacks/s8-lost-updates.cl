/* Blocks add to one result at once, without atomics. */
__kernel void clear(volatile __global float *y, int m)
{
    if (get_global_id(0) < m)
        y[get_global_id(0)] = 0.0f;
}

__kernel
void run(__global const float *x, __global volatile float *y, int m, int n)
{
    int at = get_global_id(0) * 64, r = get_group_id(1);

    for (int i = at; i < at + 64 && i < n && r < m; i++)
        y[r] += x[r * n + i];
}
