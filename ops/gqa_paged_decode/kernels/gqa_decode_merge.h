/*
 * gqa_decode_merge.h: how slices of a sequence are cut and merged, for the
 * kernels of this folder.
 *
 * Slice z leaves the sums of its weighted values, unscaled, in sums[z][row],
 * the largest logit and the sum of weights in ends[z][row][2]; row is a head
 * of a sequence. Who merges is ONCE: the block that finishes last, or a second
 * launch.
 */
#include "ws_dialect.h"

#define DIM head_dim

#if SPLIT == 1
#define ALONE 1 /* nobody else has a part of these results */
#elif ONCE
#define ALONE (slices == 1)
#else
#define ALONE 0
#endif

/* Writes are seen by other blocks before what this thread writes later, and
 * reads see what others wrote so: FRESH ones pass by the nearest cache. */
#if WS_CUDA
#define FENCE() __threadfence()
#define COUNT(p) atomicAdd(p, 1)
#else
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#define COUNT(p) atomic_inc(p)
#endif
#if WS_CUDA && ONCE
#define FRESH(p, i) __ldcg((p) + (i))
#else
#define FRESH(p, i) ((p)[i])
#endif
#if ONCE
#define UNROLL_SLICES WS_UNROLL(4)
#else
#define UNROLL_SLICES WS_UNROLL_ALL
#endif

#if SPLIT > 1
/* A column of a row of results, from slices weighted by their largest logits.
 */
WS_DEVICE void merge_column(WS_GLOBAL const float *sums,
                            WS_GLOBAL const float *ends,
                            WS_GLOBAL ws_T *out, WS_GLOBAL float *lse_out,
                            int slices, size_t rows, size_t row, int column)
{
    float largest = -WS_INFINITY, sum = 0.0f, value = 0.0f;

    UNROLL_SLICES
    for (int z = 0; z < slices; z++)
        largest = ws_max(largest, FRESH(ends, (z * rows + row) * 2));
    UNROLL_SLICES
    for (int z = 0; z < slices; z++) {
        const size_t at = z * rows + row;
        const float s = FRESH(ends, at * 2 + 1);

        if (s > 0.0f) {
            const float share = ws_exp2(FRESH(ends, at * 2) - largest);

            sum += share * s;
            value = ws_mad(share, FRESH(sums, at * DIM + column), value);
        }
    }
    ws_store_T(out, row * DIM + column, sum > 0.0f ? value / sum : 0.0f);
    if (column == 0)
        lse_out[row] = sum > 0.0f ? largest + ws_log2(sum) : -WS_INFINITY;
}
#endif

#if SPLIT > 1 && !ONCE
WS_KERNEL_BLOCK(DIM, 1, 1)
void merge(WS_GLOBAL const float *sums, WS_GLOBAL const float *ends,
           WS_GLOBAL ws_T *WS_RESTRICT out,
           WS_GLOBAL float *WS_RESTRICT lse_out, int rows)
{
    merge_column(sums, ends, out, lse_out, SPLIT, (size_t)rows,
                 (size_t)ws_block_x(), ws_thread_x());
}
#endif
