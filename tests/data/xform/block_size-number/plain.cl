__kernel void add(__global const float *x, __global const float *b, __global float *y, int n)
{
    size_t i = get_group_id(0) * 64 + get_local_id(0);

    if (i < n)
        y[i] = x[i] + 2.0f * b[i];
}
