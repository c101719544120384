/* An element is written in two steps, by the same item. */
__kernel void scale(__global const float *x, __global const float *w, __global float *y, int m, int n)
{
    int part = (m + 3) / 4, begin = get_group_id(0) * part;
    int rows = min(part, m - begin);

    for (int step = 0; step < 2; step++)
        for (int i = get_local_id(0); i < rows; i += get_local_size(0))
            for (int j = 0; j < n - step; j++)
                y[(begin + i) * n + j + step] = x[(begin + i) * n + j + step] * w[begin + i];
}
