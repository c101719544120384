__kernel void linear(__global const float *x, __global const float *w,
                     __global const float *bias, __global const float *old,
                     __global float *y, int M, int N, int K)
{
    __local float x_tile[BK][BM + 1] __attribute__((aligned(16)));
    __local float w_tile[BK][BN + 1] __attribute__((aligned(16)));
    const int ty = get_local_id(1), tx = get_local_id(0);
    const int tid = ty * BN + tx;
    const int row0 = get_group_id(1) * BM;
    const int col0 = get_group_id(0) * BN;
    float sum = 0.0f;

    {
        int row = row0 + ty;
        int col = col0 + tx;

        if (row < M && col < N) {
            sum = bias[col] + old[row * N + col];
        }
    }

    for (int k0 = 0; k0 < K; k0 += BK) {
        /* x, zeros where it ends */
        #pragma unroll
        for (int e = tid; e < BM * BK; e += BM * BN) {
            const int row = row0 + e / BK;
            const int k = k0 + e % BK;

            x_tile[k - k0][row - row0] =
                row < M && k < K ? x[row * K + k] : 0.0f;
        }
        /* w, zeros where it ends */
        #pragma unroll
        for (int e = tid; e < BN * BK; e += BM * BN) {
            const int col = col0 + e % BN;
            const int k = k0 + e / BN;

            w_tile[k - k0][col - col0] =
                col < N && k < K ? w[k * N + col] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        #pragma unroll 8
        for (int kk = 0; kk < BK; kk++)
            sum += x_tile[kk][ty] * w_tile[kk][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    int row = row0 + ty;
    int col = col0 + tx;

    if (row < M && col < N) {
        y[row * N + col] = sum;
    }
}
