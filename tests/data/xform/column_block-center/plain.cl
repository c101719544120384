/* The mean of a column is taken off, its largest element kept. A group has a
 * column. */
__kernel void center(__global const float *x, __global float *y,
                     __global float *l, int m, int n)
{
    __local float sums[128], tops[128];
    const int col = get_group_id(0), lane = get_local_id(0);
    float sum = 0, top = x[col], mean;

    for (int row = lane; row < m; row += get_local_size(0)) {
        const float e = x[row * n + col];

        sum += e;
        top = fmax(top, e);
    }
    sums[lane] = sum;
    tops[lane] = top;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = get_local_size(0) >> 1; s; s >>= 1) {
        if (lane < s)
            sums[lane] += sums[lane + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int s = get_local_size(0) >> 1; s; s >>= 1) {
        if (lane < s)
            tops[lane] = fmax(tops[lane], tops[lane + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    mean = sums[0] / m;
    for (int row = lane; row < m; row += get_local_size(0))
        y[row * n + col] = x[row * n + col] - mean;
    if (!lane)
        l[col] = tops[0];
}
