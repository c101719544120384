__kernel void add(__global const float *x, __global const float *b, __global float *y, int n)
{
    int i = get_global_id(0);

    if (i < n) {
        if (i % 3 != 0)
            y[i] = x[i] + 2.0f * b[i];
        else
            y[i] = x[i] + 2.0f * b[i];
    }
}
