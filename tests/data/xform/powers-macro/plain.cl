#define SQUARE(v) pow(v, 2.0f)
#define TWO 2.0f

__kernel void powers(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i >= n)
        return;
    float v = x[i], a = 1 + fabs(v);
    y[i] = SQUARE(a) + 2 / a + (v - HALF) * SQUARE(v - HALF) + pow(v, TWO) * pow(v, 2.0f /* squared */) / (v * v + 1e-20f);
}
