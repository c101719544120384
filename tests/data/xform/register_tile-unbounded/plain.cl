/* Linear layers with tiles in local memory, one after the other in z. */
#define TILE 16

__kernel void layer(__global const float *A, __global const float *W,
                    __global const float *bias, __global float *C, int M,
                    int N, int K)
{
    __local float tileA[TILE][TILE];
    __local float tileW[TILE][TILE];
    int tx = get_local_id(0);
    int ty = get_local_id(1);
    int batch = get_group_id(2);
    int row = get_group_id(1) * TILE + ty;
    int col = get_group_id(0) * TILE + tx;
    float sum = 0.0f;

    for (int k0 = 0; k0 < K; k0 += TILE) {
        int wrow = get_group_id(0) * TILE + ty;

        /* each thread loads one element of each tile, zero outside */
        if (row < M && k0 + tx < K)
            tileA[ty][tx] = A[batch * M * K + row * K + k0 + tx];
        else
            tileA[ty][tx] = 0.0f;
        if (wrow < N)
            tileW[ty][tx] = W[(batch * N + wrow) * K + k0 + tx];
        else
            tileW[ty][tx] = 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);

        for (int k = 0; k < TILE; k++)
            sum += tileA[ty][k] * tileW[tx][k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < M && col < N) {
        float v = sum + bias[col];

        C[(batch * M + row) * N + col] = v > 0 ? v : 0;
    }
}
