__kernel void swish(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);
    float v;

    if (i >= n) return;
    v = x[i];
    y[i] = native_divide(v, (1 + native_exp(-v))) + native_log(1 + v * v) * rsqrt(1 + v * v);
}
