__kernel void add(__global const float *x, __global const float *b, __global float *y, __global float *z, int n)
{
    int i = get_global_id(0);

    if (i < n) {
        y[i] = x[i];
        z[i] += 2.0f * b[i];
    }
}
