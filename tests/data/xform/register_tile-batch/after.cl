// a layer for each batch: relu(x W^T + bias)
__kernel void layer(__global const float *restrict X,
                    __global const float *restrict W,
                    __global const float *restrict bias,
                    __global float *restrict out, int batches, int rows,
                    int cols, int depth)
{
    const int b = get_group_id(2);
    if (b >= batches)
        return;

    X += (size_t)b * rows * depth;   // the batch's own matrices
    W += (size_t)b * cols * depth;
    int d;

    __local float W_tile[BK][BN + 4] __attribute__((aligned(16)));
    __local float x_tile[BK][BM + 4] __attribute__((aligned(16)));
    const int THREADS = BM / TM * (BN / TN);
    const int GROUP = TN < 4 ? TN : 4; /* neighbours a thread */
    const int tid = get_local_id(0);
    const int ty = tid / (BN / TN), tx = tid % (BN / TN);
    const int r0 = get_group_id(1) * BM;
    const int c0 = get_group_id(0) * BN;
    float total_part[TM][TN];

    #pragma unroll
    for (int r2 = 0; r2 < TM; r2++)
        #pragma unroll
        for (int c2 = 0; c2 < TN; c2++)
            total_part[r2][c2] = 0;

    for (int d0 = 0; d0 < depth; d0 += BK) {
        /* W, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BN * BK / THREADS; e++) {
            const int at2 = e * THREADS + tid;
            const int c = c0 + at2 / BK;
            const int d = d0 + at2 % BK;

            W_tile[d - d0][c - c0] =
                c < cols && d < depth ? W[c * depth + d] : 0.0f;
        }
        /* x, zeros where it ends */
        #pragma unroll
        for (int e = 0; e < BM * BK / THREADS; e++) {
            const int at2 = e * THREADS + tid;
            const int r = r0 + at2 / BK;
            const int d = d0 + at2 % BK;

            x_tile[d - d0][r - r0] = 0.0f;
            if (r < rows && d < depth) {
                __global const float *x = X + (size_t)r * depth;
                x_tile[d - d0][r - r0] = x[d];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        #pragma unroll 8
        for (int kk = 0; kk < BK; kk++) {
            float W_part[TN];
            float x_part[TM];

            #pragma unroll
            for (int c2 = 0; c2 < TN; c2++)
                W_part[c2] =
                    W_tile[kk][(c2 / GROUP * (BN / TN) + tx) * GROUP + c2 % GROUP];
            #pragma unroll
            for (int r2 = 0; r2 < TM; r2++)
                x_part[r2] = x_tile[kk][ty * TM + r2];
            #pragma unroll
            for (int r2 = 0; r2 < TM; r2++)
                #pragma unroll
                for (int c2 = 0; c2 < TN; c2++) {
                    float w = W_part[c2];
                    total_part[r2][c2] = total_part[r2][c2] + x_part[r2] * w;
                }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    #pragma unroll
    for (int r2 = 0; r2 < TM; r2++)
        #pragma unroll
        for (int c2 = 0; c2 < TN; c2++) {
            int r = r0 + ty * TM + r2;
            int c = c0 + (c2 / GROUP * (BN / TN) + tx) * GROUP + c2 % GROUP;

            if (r < rows && c < cols) {
                const int at = (b * rows + r) * cols + c;
                float total = total_part[r2][c2];
                float v = total + bias[c];
                if (v < 0)
                    v = 0;
                out[at] = v;
            }
        }
}
