// What was made of the thread's number before the guard is another element's.
__kernel void rows(__global const float *x, __global float *y, int m, int n)
{
    const int b = get_group_id(0);
    const int r = get_group_id(0) * get_local_size(0) + get_local_id(0);

    if (r < m)
        y[r] = x[r * n] + (float)(b * 64 - r);
}
