__kernel void add(__global const float *x, __global const float *b, __global float *y)
{
    size_t i = get_global_id(0);

    y[i] = x[i] + 2.0f * b[i];
}
