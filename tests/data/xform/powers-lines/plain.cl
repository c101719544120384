/* All lines end in CR LF, those of the macro, too. */
#define DISTANCE(v) \
    ((v) - HALF)

__kernel void powers(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i >= n)
        return;

    float a = 1.0f + fabs(x[i]), b = DISTANCE(x[i]);

    y[i] = pow(a, 2.0f) + 2.0f / a + pow(b + 0.0f, 3.0f) + pow(x[i], 2.0f);
}
