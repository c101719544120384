inline float limit(float v) { return v > 1 ? 1.0f : v < -1 ? -1.0f : v; }

__kernel void soft(__global const float *restrict x, __global float *y, uint n)
{
    const size_t me = get_global_id(0);
    const float one = 1.0f;

    if (me >= n)
        return;
    // those between the limits stay
    y[me] = limit(x[me]);
    if (fabs(x[me]) <= one) {
        if (me % 7 == 0)
            y[me] += one;
    }
}
