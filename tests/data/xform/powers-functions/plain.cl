/* Powers of all kinds. */
typedef struct {
    float low, high;
} range;

// what is added,
// to the third
static float rest(float x)
{
    return pow(x - HALF, 3.0f) + pown(x, 2) / 4;
}

__kernel void powers(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);
    range r;

    if (i >= n)
        return;
    r.high = 1 + fabs(x[i]);
    y[i] = pow(r.high, (2.5f)) * pow(1 + fabs(x[i]), -0.5f) + rest(x[i])
        + 2 * pow(r.high + 0, -1.f) + pow(pow(x[i], 2.0f), 3.0f) / powr(1e-9f + fabs(x[i]), 4.0f) * 0.75f;
}
