/* The mean of a column is taken off, its largest element kept. A group has a
 * column. */
__kernel void center(__global const float *x, __global float *y,
                     __global float *l, int m, int n)
{
    __local float sums[128], tops[128];
    int place = get_group_id(0) * COLUMNS + get_local_id(0) % COLUMNS;
    const int col = place < n ? place : n - 1, lane = get_local_id(0);
    float sum = 0, top = x[col], mean;

    for (int row = lane / COLUMNS; row < m; row += get_local_size(0) / COLUMNS) {
        const float e = x[row * n + col];

        sum += e;
        top = fmax(top, e);
    }
    sums[lane] = sum;
    tops[lane] = top;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = get_local_size(0) >> 1; s >= COLUMNS; s >>= 1) {
        if (lane < s)
            sums[lane] += sums[lane + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int s = get_local_size(0) >> 1; s >= COLUMNS; s >>= 1) {
        if (lane < s)
            tops[lane] = fmax(tops[lane], tops[lane + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    mean = sums[lane % COLUMNS] / m;
    for (int row = lane / COLUMNS; row < m; row += get_local_size(0) / COLUMNS)
        if (place < n)
            y[row * n + col] = x[row * n + col] - mean;
    if (lane < COLUMNS && place < n)
        l[col] = tops[lane];
}
