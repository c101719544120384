// Transposes a matrix through tiles of 64 x 64 in local memory, so that both the
// reads and the writes go along rows. A tile has one more column than it needs:
// without it neighbours would all meet in one bank.
#define TILE 64
#define STEP 4

__kernel void transpose(__global const float *restrict x, __global float *restrict y, int m, int n)
{
    __local float tile[TILE][TILE + 1];
    int tx = get_local_id(0);
    int ty = get_local_id(1);

    int col = (int)get_group_id(0) * TILE + tx;
    int row = (int)get_group_id(1) * TILE + ty;
#pragma unroll
    for (int i = 0; i < TILE; i += STEP)
        if (row + i < m && col < n)
            tile[ty + i][tx] = x[(row + i) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);

    // the same tile on the other side of the diagonal
    col = (int)get_group_id(1) * TILE + tx;
    row = (int)get_group_id(0) * TILE + ty;
#pragma unroll
    for (int i = 0; i < TILE; i += STEP)
        if (row + i < n && col < m)
            y[(row + i) * m + col] = tile[tx][ty + i];
}
