/* What all others do to one. */

static float power_minus_1_5(float x)
{
    return rsqrt(x) * rsqrt(x) * rsqrt(x);
}

static float force(float m, float d)
{
    return m * d * power_minus_1_5((d * d) + SOFT);
}

__kernel void forces(__global const float *x, __global const float *m, __global float *a, int n)
{
    int i = get_global_id(0);
    float sum = 0;

    if (i >= n) return;
    for (int j = 0; j < n; j++)
        sum += force(m[j], x[j] - x[i]);
    a[i] = sum;
}
