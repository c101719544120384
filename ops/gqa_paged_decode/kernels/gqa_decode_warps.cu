/*
 * gqa_decode_warps.cu: attention of one token a sequence by warps that do not
 * wait for each other.
 *
 * A block has one slice of one sequence for HEADS heads of queries that share
 * a head of keys. Its warps take turns at tiles of TILE tokens; each has its
 * own largest logits, sums of weights and sums of values, all in registers
 * like the queries, and they are added once, at the end. A tile comes by
 * asynchronous copies into shared memory of the warp, STAGES - 1 tiles ahead
 * of the one that is used, or with STAGES = 1 straight into registers.
 *
 * MMA = 0: a row of keys or values is PIECES pieces of 16 bytes, one a lane;
 * logits are added up across those lanes, and a lane has the VEC columns of
 * its piece of all heads' sums.
 *
 * MMA = 1: tensor cores take 16 tokens at a time, with the heads (at most 8,
 * the others are zero) along N:
 *   logits[token][head] += keys[token][d] queries[d][head],
 *   sums[d][head]       += values[d][token] weights[token][head].
 * A lane has results of the heads 2 (lane % 4) and the next one in both, so
 * that largest logits and scales never leave it; weights change from results
 * to operands by a transposition of 8 x 8. They go in two parts, what 16 bits
 * hold and what they leave: rounded weights alone would be seen in results,
 * and the tensor cores wait for memory anyway. Rows of shared memory are swizzled
 * so that the eight that a matrix load takes lie in different banks.
 *
 * Slices are cut and merged as gqa_decode_merge.h says.
 */
#include "gqa_decode_merge.h"

#define PIECES (DIM * (int)sizeof(ws_T) / 16)
#define VEC (DIM / PIECES)
#define ROWS (32 / PIECES) /* rows that a warp moves at once */
#define ROUNDS (TILE / ROWS)
#define ALL 0xffffffffu /* lanes */
#define THREADS (32 * WARPS)

static_assert(TILE <= 32, "a lane has the page of one token");

/* What a warp reads its tokens from. */
struct source {
    const ws_T *keys, *values; /* of the head, of page 0 */
    const int *pages;
    size_t row; /* elements of a token in a cache */
    int to;     /* the slice's end */
};

/* --- pieces of rows -------------------------------------------------------- */

/* The page of the lane's token of the tile at t; any of a token that is none. */
WS_DEVICE int load_page(const source &s, int t)
{
    const int lane = threadIdx.x % 32;

    return lane < TILE && t + lane < s.to ? s.pages[t + lane] : 0;
}

#if STAGES > 1
/* Where a piece of a row lies in a tile in shared memory, in elements. */
WS_DEVICE int place(int row, int piece)
{
    return row * DIM + (piece ^ (row & 7)) * VEC;
}

WS_DEVICE unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

/* 16 bytes, of which the first `bytes` are read and the others zero. */
WS_DEVICE void copy_16(ws_T *to, const ws_T *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
}

/* Starts to copy the tile at t, if it is one: keys, behind them values. */
WS_DEVICE void start_copy(const source &s, int t, int page, ws_T *tile)
{
    const int lane = threadIdx.x % 32, piece = lane % PIECES;

    if (t < s.to) {
        WS_UNROLL_ALL
        for (int r = 0; r < ROUNDS; r++) {
            const int row = r * ROWS + lane / PIECES;
            const int bytes = t + row < s.to ? 16 : 0;
            const size_t at =
                __shfl_sync(ALL, page, row) * s.row + piece * VEC;

            copy_16(tile + place(row, piece), s.keys + at, bytes);
            copy_16(tile + TILE * DIM + place(row, piece), s.values + at,
                    bytes);
        }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}
#endif

/* --- a tile ---------------------------------------------------------------- */

#if MMA

WS_DEVICE void load_4(unsigned a[4], const ws_T *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, "
                 "[%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(p))
                 : "memory");
}

WS_DEVICE void load_4_transposed(unsigned a[4], const ws_T *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, "
                 "%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(p))
                 : "memory");
}

/* c[16][8] += a[16][16] b[16][8] */
WS_DEVICE void multiply(float c[4], const unsigned a[4], unsigned b0,
                        unsigned b1)
{
#if T_IS_BFLOAT16
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, "
                 "%2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),
                   "r"(b1));
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, "
                 "%2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),
                   "r"(b1));
#endif
}

/* x in the lower half, y in the upper one, rounded. */
WS_DEVICE unsigned pack(float x, float y)
{
    unsigned pair;

#if T_IS_BFLOAT16
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
#endif
    return pair;
}

WS_DEVICE float half_of(unsigned pair, int upper)
{
    ws_T x;

#if T_IS_BFLOAT16
    x = (ws_T)(upper ? pair >> 16 : pair);
#else
    x.u = (unsigned short)(upper ? pair >> 16 : pair);
#endif
    return ws_widen(x);
}

/* The transposed of an 8 x 8 matrix of which a lane has two elements of a row.
 */
WS_DEVICE unsigned turn(unsigned pair)
{
    unsigned turned;

    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                 : "=r"(turned)
                 : "r"(pair));
    return turned;
}

struct state {
    unsigned query[DIM / 16][2];
    float factor, most[2], sum[2], acc[DIM / 16][4];

    __device__ __forceinline__ void begin(const ws_T *q, float by)
    {
        const int lane = threadIdx.x % 32, head = lane / 4;
        const unsigned *row =
            (const unsigned *)(q + head * DIM) + lane % 4;

        factor = by;
        WS_UNROLL_ALL
        for (int i = 0; i < DIM / 16; i++) {
            query[i][0] = head < HEADS ? row[i * 8] : 0;
            query[i][1] = head < HEADS ? row[i * 8 + 4] : 0;
            acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = 0.0f;
        }
        most[0] = most[1] = -WS_INFINITY;
        sum[0] = sum[1] = 0.0f;
    }

    /* Logits of tokens [16 g, 16 g + 16) of a tile with n. */
    __device__ __forceinline__ void logits(const ws_T *tile, int g, int n,
                                           float x[4])
    {
        const int lane = threadIdx.x % 32;
        const int row = g * 16 + lane % 16;
        unsigned a[4];

        x[0] = x[1] = x[2] = x[3] = 0.0f;
        WS_UNROLL_ALL
        for (int i = 0; i < DIM / 16; i++) {
            load_4(a, tile + place(row, i * 2 + lane / 16));
            multiply(x, a, query[i][0], query[i][1]);
        }
        WS_UNROLL_ALL
        for (int i = 0; i < 4; i++)
            x[i] = g * 16 + lane / 4 + i / 2 * 8 < n ? x[i] * factor
                                                     : -WS_INFINITY;
    }

    __device__ __forceinline__ void add_values(const ws_T *tile, int g,
                                               const float x[4])
    {
        const int lane = threadIdx.x % 32;
        const int row = g * 16 + lane % 8 + lane / 16 * 8;
        unsigned a[4], high[2], low[2];

        WS_UNROLL_ALL
        for (int i = 0; i < 2; i++) {
            const float y0 = x[2 * i], y1 = x[2 * i + 1];
            const unsigned y = pack(y0, y1);

            high[i] = turn(y);
            low[i] = turn(pack(y0 - half_of(y, 0), y1 - half_of(y, 1)));
        }
        WS_UNROLL_ALL
        for (int i = 0; i < DIM / 16; i++) {
            load_4_transposed(a, tile + place(row, i * 2 + lane / 8 % 2));
            multiply(acc[i], a, high[0], high[1]);
            multiply(acc[i], a, low[0], low[1]);
        }
    }

    /* n tokens, at least one. */
    __device__ __forceinline__ void add(const ws_T *tile, int n)
    {
        float x[TILE / 16][4], grown[2];

        WS_UNROLL_ALL
        for (int g = 0; g < TILE / 16; g++)
            logits(tile, g, n, x[g]);
        WS_UNROLL_ALL
        for (int j = 0; j < 2; j++) {
            float m = most[j];

            WS_UNROLL_ALL
            for (int g = 0; g < TILE / 16; g++)
                m = fmaxf(m, fmaxf(x[g][j], x[g][j + 2]));
            WS_UNROLL_ALL
            for (int far = 4; far < 32; far *= 2)
                m = fmaxf(m, __shfl_xor_sync(ALL, m, far));
            grown[j] = exp2f(most[j] - m);
            most[j] = m;
            sum[j] *= grown[j];
        }
        WS_UNROLL_ALL
        for (int i = 0; i < DIM / 16 * 4; i++)
            acc[i / 4][i % 4] *= grown[i % 2];
        WS_UNROLL_ALL
        for (int g = 0; g < TILE / 16; g++) {
            WS_UNROLL_ALL
            for (int i = 0; i < 4; i++) {
                x[g][i] = exp2f(x[g][i] - most[i % 2]);
                sum[i % 2] += x[g][i];
            }
            add_values(tile + TILE * DIM, g, x[g]);
        }
    }

    /* sums[HEADS][DIM], ends[HEADS][2] */
    __device__ __forceinline__ void leave(float *sums, float *ends)
    {
        const int lane = threadIdx.x % 32;

        WS_UNROLL_ALL
        for (int j = 0; j < 2; j++) {
            const int head = lane % 4 * 2 + j;

            WS_UNROLL_ALL
            for (int far = 4; far < 32; far *= 2)
                sum[j] += __shfl_xor_sync(ALL, sum[j], far);
            if (head >= HEADS)
                continue;
            WS_UNROLL_ALL
            for (int i = 0; i < DIM / 16; i++) {
                sums[head * DIM + i * 16 + lane / 4] = acc[i][j];
                sums[head * DIM + i * 16 + lane / 4 + 8] = acc[i][j + 2];
            }
            if (lane < 4) {
                ends[head * 2] = most[j];
                ends[head * 2 + 1] = sum[j];
            }
        }
    }
};

#else

typedef ws_vec<VEC> vec;

struct state {
    vec query[HEADS], acc[HEADS];
    float most[HEADS], sum[HEADS];

    __device__ __forceinline__ void begin(const ws_T *q, float by)
    {
        const int piece = threadIdx.x % 32 % PIECES;

        WS_UNROLL_ALL
        for (int h = 0; h < HEADS; h++) {
            query[h] = ws_vmul(ws_vload_global_T(VEC, q + h * DIM + piece * VEC),
                               ws_vsplat(VEC, by));
            acc[h] = ws_vzero(VEC);
            most[h] = -WS_INFINITY;
            sum[h] = 0.0f;
        }
    }

    /* keys and values of the lane's rows, one a round; n tokens, at least
     * one. */
    template <class K, class V>
    __device__ __forceinline__ void add(K keys, V values, int n)
    {
        const int sub = threadIdx.x % 32 / PIECES;
        float x[ROUNDS][HEADS];

        WS_UNROLL_ALL
        for (int r = 0; r < ROUNDS; r++) {
            const vec k = keys(r);

            WS_UNROLL_ALL
            for (int h = 0; h < HEADS; h++)
                x[r][h] = ws_vdot(VEC, query[h], k, 0.0f);
        }
        WS_UNROLL_ALL
        for (int i = 0; i < ROUNDS * HEADS; i++) {
            float &y = x[i / HEADS][i % HEADS];

            WS_UNROLL_ALL
            for (int far = 1; far < PIECES; far *= 2)
                y += __shfl_xor_sync(ALL, y, far);
            if (i / HEADS * ROWS + sub >= n)
                y = -WS_INFINITY;
        }
        WS_UNROLL_ALL
        for (int h = 0; h < HEADS; h++) {
            float m = most[h], grown;

            WS_UNROLL_ALL
            for (int r = 0; r < ROUNDS; r++)
                m = fmaxf(m, x[r][h]);
            WS_UNROLL_ALL
            for (int far = PIECES; far < 32; far *= 2)
                m = fmaxf(m, __shfl_xor_sync(ALL, m, far));
            grown = exp2f(most[h] - m);
            most[h] = m;
            sum[h] *= grown;
            acc[h] = ws_vmul(acc[h], ws_vsplat(VEC, grown));
            WS_UNROLL_ALL
            for (int r = 0; r < ROUNDS; r++) {
                x[r][h] = exp2f(x[r][h] - m);
                sum[h] += x[r][h];
            }
        }
        WS_UNROLL_ALL
        for (int r = 0; r < ROUNDS; r++) {
            const vec v = values(r);

            WS_UNROLL_ALL
            for (int h = 0; h < HEADS; h++)
                acc[h] = ws_vmad(v, ws_vsplat(VEC, x[r][h]), acc[h]);
        }
    }

    /* sums[HEADS][DIM], ends[HEADS][2] */
    __device__ __forceinline__ void leave(float *sums, float *ends)
    {
        const int lane = threadIdx.x % 32;

        WS_UNROLL_ALL
        for (int h = 0; h < HEADS; h++) {
            WS_UNROLL_ALL
            for (int far = PIECES; far < 32; far *= 2) {
                sum[h] += __shfl_xor_sync(ALL, sum[h], far);
                WS_UNROLL_ALL
                for (int i = 0; i < VEC; i++)
                    acc[h].v[i] += __shfl_xor_sync(ALL, acc[h].v[i], far);
            }
            if (lane < PIECES)
                ws_vstore_f32(VEC, sums + h * DIM + lane * VEC, acc[h]);
            if (lane == 0) {
                ends[h * 2] = most[h];
                ends[h * 2 + 1] = sum[h];
            }
        }
    }
};
#endif

/* --- a warp's part of a slice ----------------------------------------------- */

#if STAGES > 1
/* Tiles at t, t + WARPS * TILE, ...; stages: room for STAGES tiles. */
WS_DEVICE void take_tiles(state &x, const source &s, int t, ws_T *stages)
{
    const int step = WARPS * TILE;
    int page = load_page(s, t);

    WS_UNROLL_ALL
    for (int i = 0; i < STAGES - 1; i++) {
        start_copy(s, t + i * step, page, stages + i * (2 * TILE * DIM));
        page = load_page(s, t + (i + 1) * step);
    }
    for (int i = 0; t < s.to; i++, t += step) {
        ws_T *tile = stages + i % STAGES * (2 * TILE * DIM);
        const int n = min(TILE, s.to - t);

        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        /* The others' copies are there, and nobody reads the tile before. */
        __syncwarp();
        start_copy(s, t + (STAGES - 1) * step, page,
                   stages + (i + STAGES - 1) % STAGES * (2 * TILE * DIM));
        page = load_page(s, t + STAGES * step);
#if MMA
        x.add(tile, n);
#else
        const int lane = threadIdx.x % 32;
        const auto load = [&](const ws_T *from, int r) {
            return ws_vload_aligned_T(
                VEC, from + place(r * ROWS + lane / PIECES, lane % PIECES));
        };

        x.add([&](int r) { return load(tile, r); },
              [&](int r) { return load(tile + TILE * DIM, r); }, n);
#endif
    }
    /* Shared memory gets another use. */
    asm volatile("cp.async.wait_group %0;" ::"n"(0) : "memory");
}
#else
WS_DEVICE void take_tiles(state &x, const source &s, int t)
{
    const int lane = threadIdx.x % 32, sub = lane / PIECES;
    int page = load_page(s, t);

    for (; t < s.to; t += WARPS * TILE) {
        const int n = min(TILE, s.to - t), at = page;
        const auto load = [&](const ws_T *from, int r) {
            const size_t row = __shfl_sync(ALL, at, r * ROWS + sub) * s.row;

            return r * ROWS + sub < n
                       ? ws_vload_global_T(
                             VEC, from + row + lane % PIECES * VEC)
                       : ws_vzero(VEC);
        };

        page = load_page(s, t + WARPS * TILE);
        x.add([&](int r) { return load(s.keys, r); },
              [&](int r) { return load(s.values, r); }, n);
    }
}
#endif

/* --- a block ---------------------------------------------------------------- */

/* Four columns of one head from what the warps left; returns the largest logit,
 * and the sum of weights in `sum`. */
WS_DEVICE float add_warps(const float *sums, const float *ends, int head,
                          int column, ws_vec<4> *value, float *sum)
{
    float largest = -WS_INFINITY;

    WS_UNROLL_ALL
    for (int w = 0; w < WARPS; w++)
        largest = fmaxf(largest, ends[(w * HEADS + head) * 2]);
    *value = ws_vzero(4);
    *sum = 0.0f;
    WS_UNROLL_ALL
    for (int w = 0; w < WARPS; w++) {
        const int at = w * HEADS + head;
        const float s = ends[at * 2 + 1];
        const float share = s > 0.0f ? exp2f(ends[at * 2] - largest) : 0.0f;

        *sum += share * s;
        *value = ws_vmad(ws_vload_shared_f32(4, sums + at * DIM + column),
                         ws_vsplat(4, share), *value);
    }
    return largest;
}

WS_KERNEL_BLOCK(THREADS, 1, 1)
void decode(const ws_T *__restrict__ q, const ws_T *__restrict__ keys,
            const ws_T *__restrict__ values, const int *__restrict__ begin,
            const int *__restrict__ pages, float factor,
            ws_T *__restrict__ out, float *__restrict__ lse_out, float *sums,
            float *ends, int *done, int kv_heads, int batch)
{
    extern __shared__ __align__(16) float room[]; /* tiles; at the end sums */
    __shared__ float warp_ends[WARPS * HEADS * 2];
#if SPLIT > 1 && ONCE
    __shared__ int before_us;
#endif
    const int tid = threadIdx.x, warp = tid / 32;
    const int b = blockIdx.x, h0 = blockIdx.y * HEADS, z = blockIdx.z;
    const size_t kv = (size_t)(h0 / (num_qo_heads / kv_heads)) * DIM;
    const size_t own = (size_t)b * num_qo_heads + h0; /* row of results */
    const int first = begin[b], length = begin[b + 1] - first;
    const int slice = max(LEAST, (length + SPLIT - 1) / SPLIT);
#if SPLIT > 1 && ONCE
    const int slices = max(1, (length + slice - 1) / slice);
#endif
    const int from = first + min(length, z * slice);
    const source s = {keys + kv, values + kv, pages, (size_t)kv_heads * DIM,
                      first + min(length, (z + 1) * slice)};
    state x;

#if SPLIT > 1 && ONCE
    if (z >= slices)
        return;
#endif
    x.begin(q + own * DIM, factor * WS_LOG2E);
#if STAGES > 1
    take_tiles(x, s, from + warp * TILE,
               (ws_T *)room + warp * (STAGES * 2 * TILE * DIM));
    __syncthreads();
#else
    take_tiles(x, s, from + warp * TILE);
#endif
    x.leave(room + warp * (HEADS * DIM), warp_ends + warp * (HEADS * 2));
    __syncthreads();
    for (int i = tid * 4; i < HEADS * DIM; i += THREADS * 4) {
        const int head = i / DIM, column = i % DIM;
        const size_t row = own + head;
        const size_t at = (size_t)z * batch * num_qo_heads + row;
        ws_vec<4> value;
        float sum, largest = add_warps(room, warp_ends, head, column, &value,
                                       &sum);

        if (ALONE) {
            ws_vstore_global_T(
                4, out + row * DIM + column,
                ws_vmul(value, ws_vsplat(4, sum > 0.0f ? 1.0f / sum : 0.0f)));
            if (column == 0)
                lse_out[row] =
                    sum > 0.0f ? largest + log2f(sum) : -WS_INFINITY;
        } else {
            ws_vstore_global_f32(4, sums + at * DIM + column, value);
            if (column == 0) {
                ends[at * 2] = largest;
                ends[at * 2 + 1] = sum;
            }
        }
    }
#if SPLIT > 1 && ONCE
    if (ALONE)
        return;
    FENCE();
    __syncthreads();
    if (tid == 0)
        before_us = COUNT(&done[b * gridDim.y + blockIdx.y]);
    __syncthreads();
    if (before_us != slices - 1)
        return;
    FENCE();
    for (int i = tid; i < HEADS * DIM; i += THREADS)
        merge_column(sums, ends, out, lse_out, slices,
                     (size_t)batch * num_qo_heads, own + i / DIM, i % DIM);
#endif
}
