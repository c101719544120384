/*
 * rmsnorm_rows.c: each row divided by its root mean square, times weight.
 *
 * THREADS threads share a row, column by column in steps of THREADS vectors;
 * a block has ROWS such rows side by side and does TURNS of them one after
 * another. A row is read twice, the second time from a cache, or once: KEEP
 * vectors of it stay in the registers of each thread, and with several turns
 * so does the weight. Sums of squares are added through shared memory, FAN at
 * a time, the last time by every thread for itself.
 *
 * Any number of rows and columns: rows beyond the last are read as the last
 * and not stored; columns beyond the last are zero. Where VEC does not divide
 * the columns, rows do not start aligned.
 */
#include "ws_dialect.h"

#define STEP (THREADS * VEC)

typedef WS_VEC(VEC) vec;

/* `n` valid elements at p, then zeros. */
WS_DEVICE vec load_some(WS_GLOBAL const ws_T *p, int n)
{
    float v[VEC];

    WS_UNROLL_ALL
    for (int i = 0; i < VEC; i++) {
        v[i] = 0.0f;
        if (i < n)
            v[i] = ws_load_T(p, i);
    }
    return ws_vload_f32(VEC, v);
}

WS_DEVICE vec load(WS_GLOBAL const ws_T *p, int n, int aligned)
{
    if (n < VEC)
        return load_some(p, n);
    return aligned ? ws_vload_global_T(VEC, p) : ws_vload_T(VEC, p);
}

WS_DEVICE void store(WS_GLOBAL ws_T *p, vec x, int n, int aligned)
{
    if (n >= VEC && aligned) {
        ws_vstore_global_T(VEC, p, x);
    } else {
        WS_ALIGNED(16) float v[VEC];

        ws_vstore_f32(VEC, v, x);
        WS_UNROLL_ALL
        for (int i = 0; i < VEC; i++)
            if (i < n)
                ws_store_T(p, i, v[i]);
    }
}

#if THREADS > 1
/* The sum over the threads of a row of what each wrote to its place. */
WS_DEVICE float add_up(WS_SHARED_PTR float *part, int tx)
{
    float s = 0.0f;
    int left = THREADS;

    ws_barrier();
    while (left > FAN) {
        left = left / FAN;
        if (tx < left) {
            float t = part[tx];

            WS_UNROLL_ALL
            for (int i = 1; i < FAN; i++)
                t += part[tx + i * left];
            part[tx] = t;
        }
        ws_barrier();
    }
    for (int i = 0; i < left; i++)
        s += part[i];
    return s;
}
#endif

WS_KERNEL_BLOCK(THREADS, ROWS, 1)
void rmsnorm(WS_GLOBAL const ws_T *WS_RESTRICT x,
             WS_GLOBAL const ws_T *WS_RESTRICT w, WS_GLOBAL ws_T *WS_RESTRICT y,
             int rows, int columns)
{
#if THREADS > 1
    WS_SHARED float part[ROWS * THREADS];
#endif
    const int tx = ws_thread_x(), first = tx * VEC;
    const int aligned = columns % VEC == 0;
#if KEEP
    vec kept[KEEP], weight[KEEP];

#if TURNS > 1
    WS_UNROLL_ALL
    for (int k = 0; k < KEEP; k++) {
        const int c = first + k * STEP;

        weight[k] = ws_vzero(VEC);
        if (c < columns)
            weight[k] = load(w + c, columns - c, aligned);
    }
#endif
#endif

    for (int turn = 0; turn < TURNS; turn++) {
        const int row =
            (ws_block_x() * TURNS + turn) * ROWS + ws_thread_y();
        const size_t at = (size_t)ws_min(row, rows - 1) * columns;
        vec square = ws_vzero(VEC);
        float sum, scale;

#if KEEP
        WS_UNROLL_ALL
        for (int k = 0; k < KEEP; k++) {
            const int c = first + k * STEP;

            kept[k] = ws_vzero(VEC);
            if (c < columns)
                kept[k] = load(x + at + c, columns - c, aligned);
            square = ws_vmad(kept[k], kept[k], square);
        }
#else
        WS_UNROLL(UNROLL)
        for (int c = first; c < columns; c += STEP) {
            const vec v = load(x + at + c, columns - c, aligned);

            square = ws_vmad(v, v, square);
        }
#endif
        sum = ws_vsum(VEC, square);
#if THREADS > 1
#if TURNS > 1
        ws_barrier(); /* the turn before has read its sums */
#endif
        part[ws_thread_y() * THREADS + tx] = sum;
        sum = add_up(part + ws_thread_y() * THREADS, tx);
#endif
        scale = ws_rsqrt(sum / (float)columns + EPS);

#if KEEP
        WS_UNROLL_ALL
        for (int k = 0; k < KEEP; k++) {
            const int c = first + k * STEP;

            if (c < columns && row < rows) {
#if TURNS == 1
                weight[k] = load(w + c, columns - c, aligned);
#endif
                store(y + at + c,
                      ws_vmul(ws_vmul(kept[k], ws_vsplat(VEC, scale)),
                              weight[k]),
                      columns - c, aligned);
            }
        }
#else
        WS_UNROLL(UNROLL)
        for (int c = first; c < columns && row < rows; c += STEP) {
            const vec v = load(x + at + c, columns - c, aligned);

            store(y + at + c,
                  ws_vmul(ws_vmul(v, ws_vsplat(VEC, scale)),
                          load(w + c, columns - c, aligned)),
                  columns - c, aligned);
        }
#endif
    }
}
