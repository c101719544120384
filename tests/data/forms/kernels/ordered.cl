/* Three launches through scratch. BUG picks a mistake. */
#include "ws_dialect.h"

#define TILE 16
#define LDA (BUG == 1 ? K : K + PAD)
#define LDC (BUG == 2 ? N : N + PAD)

__kernel void slices(__global const ws_T *A, __global const float *W,
                     __global float *partial, int M, int N,
                     __local float *tile)
{
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int m = get_global_id(1), n = get_global_id(0);
    const int slice = (K + SPLIT - 1) / SPLIT;
    const int k0 = get_group_id(2) * slice, k1 = min(K, k0 + slice);
    float s = 0.0f;

    /* Alignment that the op promises. */
    if (((size_t)A & 63) || ((size_t)W & 127))
        s = NAN;
    for (int t = k0; t < k1; t += TILE) {
        const int terms = min(TILE, k1 - t);

        if (STAGE) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int i = tx; i < terms; i += BN)
                tile[ty * TILE + i] =
                    m < M ? ws_load_T(A, m * LDA + t + i) : 0.0f;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (m < M && n < N)
            for (int i = 0; i < terms; i++)
                s += (STAGE ? tile[ty * TILE + i]
                            : ws_load_T(A, m * LDA + t + i)) *
                     W[BUG == 3 ? n * K + t + i : n + (t + i) * N];
    }
    if (m < M && n < N)
        partial[((int)get_group_id(2) * M + m) * N + n] = s;
}

/* The slices, in order, into the first one. */
__kernel void fold(__global float *partial, __global int *mark, long results)
{
    const long at = get_global_id(0);

    if (at == 0)
        mark[0]++; /* zero before, every time */
    for (int z = 1; at < results && z < SPLIT; z++)
        partial[at] += partial[z * results + at];
}

__kernel void finish(__global const float *partial, __global const int *mark,
                     __global const float *bias, float alpha, int beta,
                     __global float *C, __global float *sums, int N,
                     float half_m, uchar split)
{
    const int m = get_group_id(0);
    /* The plan's values as they arrive; no buffer where `when` is false. */
    const int good = split == (SPLIT > 1) && (mark != 0) == (SPLIT > 1) &&
                     half_m * 2.0f == (float)get_num_groups(0) &&
                     !((size_t)C & 15) && (!mark || mark[0] == 1);
    float sum = good ? 0.0f : NAN;

    for (int n = 0; n < N; n++) {
        const float ab = partial[m * N + n];
        float c = beta * C[m * LDC + n];

        if (BUG == 4)
            c = C[m * LDC + n];
        if (BUG == 5)
            c = 0.0f;
        C[m * LDC + n] = (BUG == 6 ? 1.0f : alpha) * ab + c +
                         (BUG == 7 ? 0.0f : bias[n]);
        sum += ab;
    }
    if (BUG == 8) /* between two rows */
        C[N] = 0.0f;
    sums[m] = sum;
}
