#define SIGMOID(v) (1 / (1 + exp(-(v))))
#define ROOT(v) sqrt(v)
__kernel void swish(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i < n)
        y[i] = x[i] * SIGMOID(x[i]) + 2 * (log2(ROOT(1 + x[i] * x[i])) / 1.44269504f) * (1.0f - 0) / 1.0f;
}
