/* What all others do to one. */

static float force(float m, float d)
{
    return m * d / pow(powr(d, 2.0f) + SOFT, 1.5f);
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
