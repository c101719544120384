__kernel void add(const __global float *x, const __global float *b, __global float *y, const int n)
{
    for (size_t at = get_global_id(0); at < n; at += get_global_size(0)) {
        y[at] = x[at] + 2.0f * b[at];
    }
}
