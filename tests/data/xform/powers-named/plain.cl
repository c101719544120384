/* What is called sqrt is a number. */
__kernel void powers(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i >= n)
        return;

    float sqrt = 1.0f + fabs(x[i]), b = x[i] - HALF;

    y[i] = pow(sqrt, 2.5f) / pow(sqrt, 0.5f) + 2.0f / sqrt + b * b * b + x[i] * x[i];
}
