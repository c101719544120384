__kernel void swish(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);
    float v;

    if (i >= n) return;
    v = x[i];
    y[i] = v / (1 + exp(-v)) + log(1 + v * v) / sqrt(1 + v * v);
}
