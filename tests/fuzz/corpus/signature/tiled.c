/*
 * gemm_tiled.c: C[M,N] = A[M,K] W[N,K]^T, sums in float32.
 *
 * Both operands are contiguous along K, so vectors run along K. A block
 * computes BM x BN results, a thread TM x TN of them: rows ty, ty + BM/TM, ...
 * and columns tx, tx + BN/TN, ..., which lets neighbours store neighbours. A
 * and W come straight from memory or, STAGE_A and STAGE_W, through tiles of
 * BK terms in shared memory, converted to float32 on the way. ACC_VEC keeps
 * the sums as vectors until the end (more registers, no horizontal sums).
 *
 * Any M, N, K: rows beyond the edge are read as the last row and not stored;
 * terms beyond K are zero in both operands. With SPLIT_K, slice z of K goes to
 * `partial` and a second launch adds the slices.
 */
#include "ws_dialect.h"

#define NX (BN / TN)
#define NY (BM / TM)
#define STAGED (STAGE_A || STAGE_W)
#define BUFS (DOUBLE_BUF ? 2 : 1)
/* Rows of a tile; one vector more keeps neighbours in different banks. */
#define LD (BK + (PAD ? VEC : 0))

typedef WS_VEC(VEC) vec;
#if ACC_VEC
typedef vec sum;
#define SUM_ZERO ws_vzero(VEC)
#define SUM_ADD(a, w, s) ws_vmad(a, w, s)
#define SUM_END(s) ws_vsum(VEC, s)
#else
typedef float sum;
#define SUM_ZERO 0.0f
#define SUM_ADD(a, w, s) ws_vdot(VEC, a, w, s)
#define SUM_END(s) (s)
#endif

/* `n` valid terms at p (n may be VEC or more, or 0 and less), else zeros. */
WS_DEVICE vec load_some(WS_GLOBAL const ws_T *p, int n)
{
    float x[VEC];

    WS_UNROLL_ALL
    for (int i = 0; i < VEC; i++) {
        x[i] = 0.0f;
        if (i < n)
            x[i] = ws_load_T(p, i);
    }
    return ws_vload_f32(VEC, x);
}

/* Rows start aligned for vectors only if VEC divides K. */
#define LOAD_DIRECT(p)                                                        \
    (aligned ? ws_vload_aligned_T(VEC, p) : ws_vload_T(VEC, p))

/* rows x BK terms from column t of `from` into a tile, by all threads. */
#define STAGE(tile, from, first, rows, last)                                  \
    for (int e = tid; e < (rows) * (BK / VEC); e += NX * NY) {                \
        const int r = e / (BK / VEC), c = e % (BK / VEC) * VEC;               \
        WS_GLOBAL const ws_T *p =                                             \
            (from) + ws_min((first) + r, last) * K + t + c;                   \
        const vec x = t + c + VEC <= k1 ? LOAD_DIRECT(p)                      \
                                        : load_some(p, k1 - t - c);           \
        ws_vstore_f32(VEC, (tile) + r * LD + c, x);                           \
    }
#define STAGE_TILES(buf)                                                      \
    do {                                                                      \
        STAGE_TILE_A(buf)                                                     \
        STAGE_TILE_W(buf)                                                     \
    } while (0)
#if STAGE_A
#define STAGE_TILE_A(buf) STAGE(tile_a + (buf) * BM * LD, A, m_base, BM, M - 1)
#define READ_A(i, k)                                                          \
    ws_vload_aligned_f32(VEC, tile_a + at * BM * LD + (ty + (i) * NY) * LD + k)
#define READ_A_SOME(i, k, n) READ_A(i, k)
#else
#define STAGE_TILE_A(buf)
#define READ_A(i, k) LOAD_DIRECT(A + row_a[i] + t + k)
#define READ_A_SOME(i, k, n) load_some(A + row_a[i] + t + k, n)
#endif
#if STAGE_W
#define STAGE_TILE_W(buf) STAGE(tile_w + (buf) * BN * LD, W, n_base, BN, N - 1)
#define READ_W(j, k)                                                          \
    ws_vload_aligned_f32(VEC, tile_w + at * BN * LD + (tx + (j) * NX) * LD + k)
#define READ_W_SOME(j, k, n) READ_W(j, k)
#else
#define STAGE_TILE_W(buf)
#define READ_W(j, k) LOAD_DIRECT(W + row_w[j] + t + k)
#define READ_W_SOME(j, k, n) load_some(W + row_w[j] + t + k, n)
#endif

/* One vector of terms for all TM x TN sums. */
#define STEP(read_a, read_w)                                                  \
    do {                                                                      \
        vec a[TM];                                                            \
        WS_UNROLL_ALL                                                         \
        for (int i = 0; i < TM; i++)                                          \
            a[i] = read_a;                                                    \
        WS_UNROLL_ALL                                                         \
        for (int j = 0; j < TN; j++) {                                        \
            const vec w = read_w;                                             \
            WS_UNROLL_ALL                                                     \
            for (int i = 0; i < TM; i++)                                      \
                acc[i][j] = SUM_ADD(a[i], w, acc[i][j]);                      \
        }                                                                     \
    } while (0)

WS_KERNEL_BLOCK(NX, NY, 1)
void gemm(WS_GLOBAL const ws_T *WS_RESTRICT A,
          WS_GLOBAL const ws_T *WS_RESTRICT W, WS_GLOBAL ws_T *WS_RESTRICT C,
          WS_GLOBAL float *WS_RESTRICT partial, int M, int N, int K)
{
#if STAGE_A
    WS_SHARED float tile_a[BUFS * BM * LD];
#endif
#if STAGE_W
    WS_SHARED float tile_w[BUFS * BN * LD];
#endif
    const int tx = ws_thread_x(), ty = ws_thread_y();
    const int block = ws_block_y() * ws_grid_dim_x() + ws_block_x();
#if M_FIRST
    const int m_base = block % ws_grid_dim_y() * BM;
    const int n_base = block / ws_grid_dim_y() * BN;
#else
    const int m_base = block / ws_grid_dim_x() * BM;
    const int n_base = block % ws_grid_dim_x() * BN;
#endif
    /* This slice of K; a multiple of BK long, the last ones may be empty. */
    const int slice = (K + SPLIT_K * BK - 1) / (SPLIT_K * BK) * BK;
    const int k0 = ws_block_z() * slice, k1 = ws_min(K, k0 + slice);
    const int aligned = K % VEC == 0;
    const int active = m_base + ty < M && n_base + tx < N;
    sum acc[TM][TN];

    WS_UNROLL_ALL
    for (int i = 0; i < TM; i++) {
        WS_UNROLL_ALL
        for (int j = 0; j < TN; j++)
            acc[i][j] = SUM_ZERO;
    }
#if !STAGE_A
    int row_a[TM];
    WS_UNROLL_ALL
    for (int i = 0; i < TM; i++)
        row_a[i] = ws_min(m_base + ty + i * NY, M - 1) * K;
#endif
#if !STAGE_W
    int row_w[TN];
    WS_UNROLL_ALL
    for (int j = 0; j < TN; j++)
        row_w[j] = ws_min(n_base + tx + j * NX, N - 1) * K;
#endif

#if STAGED
    const int tid = ty * NX + tx;
    int at = 0;
#if DOUBLE_BUF
    {
        const int t = k0;
        STAGE_TILES(0);
    }
    ws_barrier();
#endif
    for (int tile = k0; tile < k1; tile += BK) {
#if DOUBLE_BUF
        if (tile + BK < k1) {
            const int t = tile + BK;
            STAGE_TILES(1 - at);
        }
#else
        {
            const int t = tile;
            STAGE_TILES(0);
        }
        ws_barrier();
#endif
        const int t = tile, terms = ws_min(BK, k1 - t);
#else
    {
        const int t = k0, terms = k1 - k0;
#endif
        if (active) {
            int k = 0;

            WS_UNROLL(UNROLL)
            for (; k <= terms - VEC; k += VEC)
                STEP(READ_A(i, k), READ_W(j, k));
            if (VEC > 1 && k < terms)
                STEP(READ_A_SOME(i, k, terms - k),
                     READ_W_SOME(j, k, terms - k));
        }
#if STAGED
        ws_barrier();
#if DOUBLE_BUF
        at = 1 - at;
#endif
#endif
    }

    if (!active)
        return;
    WS_UNROLL_ALL
    for (int i = 0; i < TM; i++) {
        const int m = m_base + ty + i * NY;
        WS_UNROLL_ALL
        for (int j = 0; j < TN; j++) {
            const int n = n_base + tx + j * NX;

            if (m < M && n < N) {
#if SPLIT_K > 1
                partial[((size_t)ws_block_z() * M + m) * N + n] =
                    SUM_END(acc[i][j]);
#else
                ws_store_T(C, m * N + n, SUM_END(acc[i][j]));
#endif
            }
        }
    }
}

#if SPLIT_K > 1
/* Adds the slices, in order. */
WS_KERNEL_BLOCK(64, 1, 1)
void add_slices(WS_GLOBAL const float *WS_RESTRICT partial,
                WS_GLOBAL ws_T *WS_RESTRICT C, int results)
{
    const int at = ws_block_x() * 64 + ws_thread_x();

    if (at < results) {
        float s = 0.0f;

        WS_UNROLL_ALL
        for (int z = 0; z < SPLIT_K; z++)
            s += partial[(size_t)z * results + at];
        ws_store_T(C, at, s);
    }
}
#endif
