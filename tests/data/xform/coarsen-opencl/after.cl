__kernel void add(const __global float *x, const __global float *b, __global float *y, const int n)
{
    const float two = 2.0f;
     /* the place */
    for (long item = get_global_id(0); item < (uint)n; item += (long)get_global_size(0)) {
        const uint i = item;

        y[i] = x[i];
        for (int k = 0; k < 2; k++) {
            if (k == 7)
                continue;
            y[i] += two / 2 * b[i];
        }
    }
}
