float unused(float v) { return exp(v); }

__kernel void sigmoid(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i < n)
        y[i] = x[i] / (1 + exp(-x[i]));
}

__kernel void add(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i < n)
        y[i] += log(1 + x[i] * x[i]) / sqrt(1 + x[i] * x[i]);
}
