/*
 * Adds the parts of a row by atomics, in an order that varies, and does not
 * say so.
 */
void add(volatile __global float *p, float v)
{
    uint old = as_uint(*p), seen;

    for (;;) {
        seen = atomic_cmpxchg((volatile __global uint *)p, old,
                              as_uint(as_float(old) + v));
        if (seen == old)
            return;
        old = seen;
    }
}

__kernel void clear(__global float *y, int m)
{
    if (get_global_id(0) < m)
        y[get_global_id(0)] = 0.0f;
}

__kernel
void run(__global const float *x, __global float *y, int m, int n)
{
    int r = get_group_id(1), at = get_global_id(0) * 16;
    float sum = 0.0f;

    for (int i = at; i < at + 16 && i < n; i++)
        sum += x[r * n + i];
    if (r < m)
        add(&y[r], sum * (1.0f + 1e-7f * 0.0f));
}
