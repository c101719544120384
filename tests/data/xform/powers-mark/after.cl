static float cube(float x)
{
    return x * x * x;
}

static float square(float x)
{
    return x * x;
}

__kernel void powers(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i >= n)
        return;

    float a = 1.0f + fabs(x[i]);

    y[i] = (a * a) + 2.0f / a + cube(x[i] - HALF) + square(x[i]);
}
