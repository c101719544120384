__kernel void powers(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i >= n)
        return;

    float a = 1.0f + fabs(x[i]);

    y[i] = pow(a, 2.0f) + 2.0f / a + pow(x[i] - HALF, 3.0f) + pow(x[i], 2.0f);
}
