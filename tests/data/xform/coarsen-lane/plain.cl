__kernel void add(const __global float *x, const __global float *b, __global float *y, const int n)
{
    size_t i = get_global_id(0);

    if (i < n)
        y[i] = x[i] + 2.0f * b[i] + 0 * (float)get_local_id(0);
}
