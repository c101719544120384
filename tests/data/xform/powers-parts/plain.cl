#ifdef HALF
float rest(float x)
{
    return pow(x - HALF, 3.0f) + x * x;
}
#endif

__kernel void powers(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i < n) {
        float a = 1 + fabs(x[i]);

        y[i] = a * a + 2 / a + rest(x[i]);
    }
}
