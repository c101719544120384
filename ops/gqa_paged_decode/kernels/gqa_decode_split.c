/*
 * gqa_decode_split.c: attention of one token a sequence, in slices of the
 * sequence that run side by side.
 *
 * A block has one slice of one sequence for HEADS heads of queries that share
 * a head of keys. It takes TILE tokens at a time:
 *   1. logits: LANES threads a token, each a part of the dot products with
 *      all HEADS queries, which lie in shared memory, scaled for exp2;
 *   2. weights: THREADS / HEADS threads a head add the parts, find the largest
 *      logit so far and put the weights into shared memory;
 *   3. values: a thread has VEC columns of the output for all heads, and every
 *      LINES-th token; what was summed before is scaled down by how much the
 *      largest logit has grown.
 * At the end the sums of the lines are added. With SPLIT > 1 each slice leaves
 * its sums, unscaled, with the largest logit and the sum of weights in
 * scratch, and they are merged: by a second launch, or with ONCE by the block
 * of this sequence and these heads that finishes last.
 *
 * A slice has LEAST tokens or more, so that short sequences have fewer slices
 * than SPLIT. With ONCE the blocks that are left over end at once, and a
 * sequence of one slice is not merged at all.
 *
 * Sequences may be empty, and slices: their largest logit is minus infinity,
 * their sum 0, and nobody reads the rest.
 */
#include "gqa_decode_merge.h"

#define COLUMNS (DIM / VEC)       /* threads a row of values */
#define LINES (THREADS / COLUMNS) /* rows of values at a time */
#define WIDTH (THREADS / HEADS)   /* threads a head in step 2 */
#define LINE (TILE + 1)           /* of parts: not all in one bank */
#define PARTS (LANES * HEADS * LINE)
#define MERGED (LINES / 2 * HEADS * DIM)
#define ROOM (PARTS > MERGED ? PARTS : MERGED)
#define STEPS (DIM / (LANES * VEC)) /* vectors of keys a thread */

typedef WS_VEC(VEC) vec;

WS_KERNEL_BLOCK(THREADS, 1, 1)
void decode(WS_GLOBAL const ws_T *WS_RESTRICT q,
            WS_GLOBAL const ws_T *WS_RESTRICT keys,
            WS_GLOBAL const ws_T *WS_RESTRICT values,
            WS_GLOBAL const int *WS_RESTRICT begin,
            WS_GLOBAL const int *WS_RESTRICT pages, float factor,
            WS_GLOBAL ws_T *WS_RESTRICT out, WS_GLOBAL float *WS_RESTRICT lse_out,
            WS_GLOBAL float *sums, WS_GLOBAL float *ends,
            WS_GLOBAL int *done, int kv_heads, int batch)
{
    WS_SHARED float query[HEADS * DIM];
    WS_SHARED float room[ROOM]; /* parts of logits; at the end sums */
    WS_SHARED float weight[TILE * HEADS];
    WS_SHARED float seen[THREADS]; /* largest logits; at the end sums */
    WS_SHARED float grown[HEADS];
    WS_SHARED int page[2 * TILE]; /* of this tile, and of the one before */
#if SPLIT > 1 && ONCE
    WS_SHARED int before_us;
#endif
    const int tid = ws_thread_x();
    const int b = ws_block_x(), h0 = ws_block_y() * HEADS, z = ws_block_z();
    const size_t kv = (size_t)(h0 / (num_qo_heads / kv_heads)) * DIM;
    const size_t row = (size_t)kv_heads * DIM; /* of one token in a cache */
    const int first = begin[b], length = begin[b + 1] - first;
    const int slice = ws_max(LEAST, (length + SPLIT - 1) / SPLIT);
#if SPLIT > 1 && ONCE
    const int slices = ws_max(1, (length + slice - 1) / slice);
#endif
    const int from = first + ws_min(length, z * slice);
    const int to = first + ws_min(length, (z + 1) * slice);
    /* Step 2: head and place; step 3: column and line. */
    const int head = tid % HEADS, place = tid / HEADS;
    const int column = tid % COLUMNS * VEC, line = tid / COLUMNS;
    float largest = -WS_INFINITY, sum = 0.0f;
    int turn = 0;
    vec acc[HEADS];
#if KEEP_Q
    vec kept[STEPS * HEADS];
#endif

#if SPLIT > 1 && ONCE
    if (z >= slices)
        return;
#endif
    WS_UNROLL_ALL
    for (int h = 0; h < HEADS; h++)
        acc[h] = ws_vzero(VEC);
    for (int i = tid; i < HEADS * DIM; i += THREADS)
        query[i] = ws_load_T(q, ((size_t)b * num_qo_heads + h0) * DIM + i) *
                   (factor * WS_LOG2E);
    ws_barrier();
#if KEEP_Q
    WS_UNROLL_ALL
    for (int i = 0; i < STEPS * HEADS; i++)
        kept[i] = ws_vload_shared_f32(
            VEC, query + i % HEADS * DIM +
                     (i / HEADS * LANES + tid % LANES) * VEC);
#endif

    for (int t = from; t < to; t += TILE) {
        const int n = ws_min(TILE, to - t);
        const float before = largest;
        float scale;

        /* 1: logits */
        for (int e = tid; e < n * LANES; e += THREADS) {
            const int token = e / LANES, lane = e % LANES;
            const int at = pages[t + token];
            WS_GLOBAL const ws_T *k = keys + at * row + kv;
            vec part[HEADS];

            if (lane == 0)
                page[turn + token] = at;
            WS_UNROLL_ALL
            for (int h = 0; h < HEADS; h++)
                part[h] = ws_vzero(VEC);
#if KEEP_Q
            WS_UNROLL_ALL
            for (int i = 0; i < STEPS; i++) {
                const vec x =
                    ws_vload_global_T(VEC, k + (i * LANES + lane) * VEC);

                WS_UNROLL_ALL
                for (int h = 0; h < HEADS; h++)
                    part[h] = ws_vmad(x, kept[i * HEADS + h], part[h]);
            }
#else
            WS_UNROLL(UNROLL_K)
            for (int c = lane * VEC; c < DIM; c += LANES * VEC) {
                const vec x = ws_vload_global_T(VEC, k + c);

                WS_UNROLL_ALL
                for (int h = 0; h < HEADS; h++)
                    part[h] = ws_vmad(
                        x, ws_vload_shared_f32(VEC, query + h * DIM + c),
                        part[h]);
            }
#endif
            WS_UNROLL_ALL
            for (int h = 0; h < HEADS; h++)
                room[(lane * HEADS + h) * LINE + token] =
                    ws_vsum(VEC, part[h]);
        }
        ws_barrier();

        /* 2: weights */
        for (int i = place; i < n; i += WIDTH) {
            float x = room[head * LINE + i];

            WS_UNROLL_ALL
            for (int l = 1; l < LANES; l++)
                x += room[(l * HEADS + head) * LINE + i];
            weight[i * HEADS + head] = x;
            largest = ws_max(largest, x);
        }
        seen[tid] = largest;
        ws_barrier();
        for (int i = 0; i < WIDTH; i++)
            largest = ws_max(largest, seen[i * HEADS + head]);
        /* Before this tile all places of a head had the same largest. */
        scale = ws_exp2(before - largest);
        sum *= scale;
        for (int i = place; i < n; i += WIDTH) {
            const float x = ws_exp2(weight[i * HEADS + head] - largest);

            weight[i * HEADS + head] = x;
            sum += x;
        }
        if (place == 0)
            grown[head] = scale;
        ws_barrier();

        /* 3: values. Nothing is read that step 1 of the next tile writes. */
        WS_UNROLL_ALL
        for (int h = 0; h < HEADS; h++)
            acc[h] = ws_vmul(acc[h], ws_vsplat(VEC, grown[h]));
        WS_UNROLL(UNROLL_V)
        for (int i = line; i < n; i += LINES) {
            const vec x = ws_vload_global_T(
                VEC, values + page[turn + i] * row + kv + column);

            WS_UNROLL_ALL
            for (int h = 0; h < HEADS; h++)
                acc[h] = ws_vmad(x, ws_vsplat(VEC, weight[i * HEADS + h]),
                                 acc[h]);
        }
        turn = TILE - turn;
    }

    seen[tid] = sum;
    ws_barrier();
    if (tid < HEADS) {
        float s = 0.0f;

        for (int i = 0; i < WIDTH; i++)
            s += seen[i * HEADS + tid];
        if (ALONE) {
            lse_out[(size_t)b * num_qo_heads + h0 + tid] =
                s > 0.0f ? largest + ws_log2(s) : -WS_INFINITY;
            grown[tid] = s > 0.0f ? 1.0f / s : 0.0f;
        } else {
            const size_t at = ((size_t)z * batch + b) * num_qo_heads + h0 + tid;

            ends[at * 2] = largest;
            ends[at * 2 + 1] = s;
        }
    }
#if LINES > 1
    /* The upper half of the lines is added to the lower half, and so on. */
    for (int low = LINES / 2; low > 0; low /= 2) {
        if (line >= low && line < 2 * low) {
            WS_UNROLL_ALL
            for (int h = 0; h < HEADS; h++)
                ws_vstore_f32(VEC,
                              room + ((line - low) * HEADS + h) * DIM + column,
                              acc[h]);
        }
        ws_barrier();
        if (line < low) {
            WS_UNROLL_ALL
            for (int h = 0; h < HEADS; h++)
                acc[h] = ws_vmad(
                    ws_vload_shared_f32(VEC, room + (line * HEADS + h) * DIM +
                                                 column),
                    ws_vsplat(VEC, 1.0f), acc[h]);
        }
        ws_barrier();
    }
#else
    ws_barrier();
#endif
    if (line == 0) {
        WS_UNROLL_ALL
        for (int h = 0; h < HEADS; h++) {
            const size_t row = (size_t)b * num_qo_heads + h0 + h;
            const size_t at = (size_t)z * batch * num_qo_heads + row;

            if (ALONE)
                ws_vstore_global_T(VEC, out + row * DIM + column,
                                   ws_vmul(acc[h], ws_vsplat(VEC, grown[h])));
            else if (from < to)
                ws_vstore_global_f32(VEC, sums + at * DIM + column, acc[h]);
        }
    }
#if SPLIT > 1 && ONCE
    if (ALONE)
        return;
    FENCE();
    ws_barrier();
    if (tid == 0)
        before_us = COUNT(&done[b * ws_grid_dim_y() + ws_block_y()]);
    ws_barrier();
    if (before_us != slices - 1)
        return;
    FENCE();
    for (int i = tid; i < HEADS * DIM; i += THREADS)
        merge_column(sums, ends, out, lse_out, slices,
                     (size_t)batch * num_qo_heads,
                     (size_t)b * num_qo_heads + h0 + i / DIM, i % DIM);
#endif
}
