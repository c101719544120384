/* Powers of all kinds. */
typedef struct {
    float low, high;
} range;

static float cube(float x)
{
    return x * x * x;
}

static float square(float x)
{
    return x * x;
}

static float power_4(float x)
{
    return (x * x) * (x * x);
}

// what is added,
// to the third
static float rest(float x)
{
    return cube(x - HALF) + (x * x) / 4;
}

__kernel void powers(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);
    range r;

    if (i >= n)
        return;
    r.high = 1 + fabs(x[i]);
    y[i] = (r.high * r.high * sqrt(r.high)) * rsqrt(1 + fabs(x[i])) + rest(x[i])
        + 2 * (1.0f / (r.high + 0)) + cube(square(x[i])) / power_4(1e-9f + fabs(x[i])) * 0.75f;
}
