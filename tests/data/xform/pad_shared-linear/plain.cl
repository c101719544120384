__kernel void transpose(__global const float *x, __global float *y, int m, int n)
{
    __local float tile[SIDE][SIDE];
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int bx = get_group_id(0) * SIDE, by = get_group_id(1) * SIDE;

    for (int k = ty * SIDE + tx; k < SIDE * SIDE; k += SIDE * SIDE)
        if (by + k / SIDE < m && bx + k % SIDE < n)
            tile[0][k] = x[(by + k / SIDE) * n + bx + k % SIDE];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (bx + ty < n && by + tx < m)
        y[(bx + ty) * m + by + tx] = tile[tx][ty];
}
