__kernel void scale(__global const float *x, __global const float *w, __global float *y, int n)
{
    const size_t row = get_group_id(0);

    for (int j = get_local_id(0); j < n; j += get_local_size(0))
        y[row * n + j] = x[row * n + j] * w[row];
}
