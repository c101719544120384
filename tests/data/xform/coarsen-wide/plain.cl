__kernel void add(const __global float *x, const __global float *b, __global float *y, const int n)
{
    size_t at = get_global_id(0);

    if (at < n)
        y[at] = x[at] + 2.0f * b[at];
}
