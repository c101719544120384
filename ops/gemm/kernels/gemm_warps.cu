/*
 * gemm_warps.cu: C = A W^T by tensor cores, sums in float32.
 *
 * A block has BM x BN results, each of its warps WM x WN of them in registers.
 * Tiles of BK terms of both operands come by asynchronous copies into shared
 * memory, STAGES - 1 of them ahead of the one that is used; what lies outside
 * of the matrices comes as zero. Rows of tiles are swizzled in pieces of 16
 * bytes, so that the eight rows that a matrix load takes lie in different
 * banks. Both operands have their terms side by side, as the instructions want
 * them.
 *
 * With SPLIT_K > 1 a block has a slice of the terms; sums go to scratch and are
 * added in the order of the slices: by a second launch, or with ONCE by the
 * block of these results that finishes last.
 *
 * Blocks go down GROUP rows of tiles before they go on to the next column, so
 * that those that run at once share more of what they read.
 */
#include "ws_dialect.h"

#define THREADS (BM / WM * (BN / WN) * 32)
#define PIECES (BK / 8)                   /* of a row of a tile */
#define TILE ((BM + BN) * BK)             /* elements of a stage */
#define SHIFT (PIECES < 8 ? 1 : 0)        /* rows of 64 bytes share banks */
#define MASK (PIECES < 8 ? PIECES - 1 : 7)

/* Where a piece of a row lies in a tile, in elements. */
WS_DEVICE int place(int row, int piece)
{
    return row * BK + (piece ^ (row >> SHIFT & MASK)) * 8;
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

WS_DEVICE void load_4(unsigned a[4], const ws_T *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, "
                 "[%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(p))
                 : "memory");
}

/* c[16][8] += a[16][16] b[16][8] */
WS_DEVICE void multiply(float c[4], const unsigned a[4], const unsigned b[2])
{
#if T_IS_BFLOAT16
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, "
                 "%2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, "
                 "%2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
#endif
}

/* Starts to copy rows [first, first + n) of a matrix of `rows`, terms [k, k +
 * BK) as far as `end`. */
template <int n>
WS_DEVICE void start_rows(const ws_T *from, int first, int rows, int k, int end,
                          int K, ws_T *to)
{
    WS_UNROLL(4)
    for (int i = threadIdx.x; i < n * PIECES; i += THREADS) {
        const int row = i / PIECES, piece = i % PIECES;
        const bool there = first + row < rows && k + piece * 8 < end;
        const size_t at =
            there ? (size_t)(first + row) * K + k + piece * 8 : 0;

        copy_16(to + place(row, piece), from + at, there ? 16 : 0);
    }
}

/* Adds the products of a stage; m, n: the warp's place in the tile. */
WS_DEVICE void add_tile(float acc[WM / 16][WN / 8][4], const ws_T *a,
                        const ws_T *w, int m, int n)
{
    const int lane = threadIdx.x % 32;

    WS_UNROLL_ALL
    for (int k = 0; k < BK / 16; k++) {
        unsigned x[WM / 16][4], y[WN / 16][4];

        WS_UNROLL_ALL
        for (int i = 0; i < WM / 16; i++)
            load_4(x[i], a + place(m + i * 16 + lane % 16, k * 2 + lane / 16));
        WS_UNROLL_ALL
        for (int j = 0; j < WN / 16; j++)
            load_4(y[j], w + place(n + j * 16 + lane % 8 + lane / 16 * 8,
                                   k * 2 + lane / 8 % 2));
        WS_UNROLL_ALL
        for (int i = 0; i < WM / 16; i++)
            WS_UNROLL_ALL
            for (int j = 0; j < WN / 8; j++)
                multiply(acc[i][j], x[i], y[j / 2] + j % 2 * 2);
    }
}

#if SPLIT_K == 1 || ONCE
/* Two results side by side, of which the second may lie outside; N even: both
 * are there, and aligned. */
WS_DEVICE void store_pair(ws_T *C, size_t at, float x, float y, int n, int N)
{
    if (N % 2 == 0) {
        const ws_vec<2> v = {{x, y}};

        if (n < N)
            ws_vstore_global_T(2, C + at, v);
        return;
    }
    if (n < N)
        ws_store_T(C, at, x);
    if (n + 1 < N)
        ws_store_T(C, at + 1, y);
}
#endif

#if SPLIT_K > 1
WS_DEVICE void leave_pair(float *partial, size_t at, float x, float y, int n,
                          int N)
{
    if (n < N)
        partial[at] = x;
    if (n + 1 < N)
        partial[at + 1] = y;
}

#if ONCE
/* Sums of all slices at one place; other blocks have written them. */
WS_DEVICE float add_up(const float *partial, size_t at, size_t results,
                       bool there)
{
    float s = 0.0f;

    WS_UNROLL_ALL
    for (int z = 0; z < SPLIT_K && there; z++)
        s += __ldcg(partial + z * results + at);
    return s;
}
#endif
#endif

/* Calls f(place in C, row fragment, column fragment, first of two elements,
 * column) for each pair of results of the lane whose row is there. */
template <class F>
WS_DEVICE void each_pair(int m, int n, int M, int N, F f)
{
    const int lane = threadIdx.x % 32;

    WS_UNROLL_ALL
    for (int i = 0; i < WM / 16 * 2; i++) {
        const int row = m + i / 2 * 16 + i % 2 * 8 + lane / 4;

        if (row >= M)
            continue;
        WS_UNROLL_ALL
        for (int j = 0; j < WN / 8; j++) {
            const int column = n + j * 8 + lane % 4 * 2;

            f((size_t)row * N + column, i / 2, j, i % 2 * 2, column);
        }
    }
}

WS_KERNEL_BLOCK(THREADS, 1, 1)
void gemm(const ws_T *__restrict__ A, const ws_T *__restrict__ W,
          ws_T *__restrict__ C, float *partial, int *done, int M, int N, int K)
{
    extern __shared__ __align__(128) unsigned char room[];
#if SPLIT_K > 1 && ONCE
    __shared__ int before_us;
#endif
    ws_T *const stages = (ws_T *)room;
    const int warp = threadIdx.x / 32;
    const int rows = (M + BM - 1) / BM, columns = (N + BN - 1) / BN;
    const int group = blockIdx.x / (GROUP * columns);
    const int in_group = blockIdx.x % (GROUP * columns);
    const int height = min(GROUP, rows - group * GROUP);
    const int m0 = (group * GROUP + in_group % height) * BM;
    const int n0 = in_group / height * BN;
    const int m = warp / (BN / WN) * WM, n = warp % (BN / WN) * WN;
    const int slice = ((K + BK - 1) / BK + SPLIT_K - 1) / SPLIT_K * BK;
    const int from = min(K, (int)blockIdx.z * slice);
    const int to = min(K, from + slice);
    float acc[WM / 16][WN / 8][4] = {};
    const auto start = [&](int k, int stage) {
        ws_T *tile = stages + stage * TILE;

        if (k < to) {
            start_rows<BM>(A, m0, M, k, to, K, tile);
            start_rows<BN>(W, n0, N, k, to, K, tile + BM * BK);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    WS_UNROLL_ALL
    for (int i = 0; i < STAGES - 1; i++)
        start(from + i * BK, i);
    for (int i = 0, k = from; k < to; i++, k += BK) {
        const ws_T *tile = stages + i % STAGES * TILE;

        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        /* All copies are there, and nobody reads the tile before. */
        __syncthreads();
        start(k + (STAGES - 1) * BK, (i + STAGES - 1) % STAGES);
        add_tile(acc, tile, tile + BM * BK, m, n);
    }

#if SPLIT_K > 1
    const size_t results = (size_t)M * N;

    each_pair(m0 + m, n0 + n, M, N,
              [&](size_t at, int i, int j, int e, int column) {
                  leave_pair(partial + blockIdx.z * results, at, acc[i][j][e],
                             acc[i][j][e + 1], column, N);
              });
#if ONCE
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        before_us = atomicAdd(&done[blockIdx.x], 1);
    __syncthreads();
    if (before_us != SPLIT_K - 1)
        return;
    __threadfence();
    each_pair(m0 + m, n0 + n, M, N,
              [&](size_t at, int i, int j, int e, int column) {
                  store_pair(C, at,
                             add_up(partial, at, results, column < N),
                             add_up(partial, at + 1, results, column + 1 < N),
                             column, N);
              });
#endif
#else
    each_pair(m0 + m, n0 + n, M, N,
              [&](size_t at, int i, int j, int e, int column) {
                  store_pair(C, at, acc[i][j][e], acc[i][j][e + 1], column, N);
              });
#endif
}

#if SPLIT_K > 1 && !ONCE
WS_KERNEL_BLOCK(64, 1, 1)
void add_slices(const float *__restrict__ partial, ws_T *__restrict__ C,
                int results)
{
    const int at = blockIdx.x * 64 + threadIdx.x;
    float s = 0.0f;

    if (at >= results)
        return;
    WS_UNROLL_ALL
    for (int z = 0; z < SPLIT_K; z++)
        s += partial[(size_t)z * results + at];
    ws_store_T(C, at, s);
}
#endif
