float unused(float v) { return exp(v); }

__kernel void sigmoid(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i < n)
        y[i] = native_divide(x[i], (1 + native_exp(-x[i])));
}

__kernel void add(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i < n)
        y[i] += native_log(1 + x[i] * x[i]) * rsqrt(1 + x[i] * x[i]);
}
