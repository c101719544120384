/* Half of the items have nothing to do. */
__kernel void scale(__global const float *x, __global const float *w, __global float *y, int m, int n)
{
    int part = (m + 3) / 4, begin = get_group_id(0) * part;

    if (get_local_id(0) >= 64)
        return;
    for (int i = get_local_id(0); i < min(part, m - begin); i += get_local_size(0))
        for (int j = 0; j < n; j++)
            y[(begin + i) * n + j] = x[(begin + i) * n + j] * w[begin + i];
}
