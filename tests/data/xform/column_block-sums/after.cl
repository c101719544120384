// Sums of the columns of a matrix: one group a column. Its work items go down
// the column 256 rows at a time, then their sums are added in local memory.
#define THREADS 256

__kernel void sums(__global const float *x, __global float *y, int m, int n)
{
    __local float part[THREADS];
    int place = get_group_id(0) * COLUMNS + get_local_id(0) % COLUMNS;
    int col = place < n ? place : n - 1;
    int tid = get_local_id(0);
    float sum = 0.0f;

    for (int row = tid / COLUMNS; row < m; row += THREADS / COLUMNS)
        sum += x[row * n + col];
    part[tid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);

    // half of the work items add what the other half has, and so on
    for (int step = THREADS / 2; step >= COLUMNS; step /= 2) {
        if (tid < step)
            part[tid] += part[tid + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tid < COLUMNS && place < n)
        y[col] = part[tid];
}
