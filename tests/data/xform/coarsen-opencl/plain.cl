__kernel void add(const __global float *x, const __global float *b, __global float *y, const int n)
{
    const float two = 2.0f;
    const uint i = get_global_id(0); /* the place */
    if (i >= (uint)n) { return; }

    y[i] = x[i];
    for (int k = 0; k < 2; k++) {
        if (k == 7)
            continue;
        y[i] += two / 2 * b[i];
    }
}
