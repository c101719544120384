/* t_wave.h: a small table for the tests of this folder: a matrix product in
 * tiles, drawn shapes, and times that the formula makes. */
#ifndef WS_T_WAVE_H
#define WS_T_WAVE_H

#include "base/t_base.h"

#include <math.h>

#include "wave/wave_model.h"

#define T_SHAPES 24
#define T_CONFIGS 12

struct t_wave {
    struct ws__wave_table table;
    int64_t axis[T_SHAPES * 3];
    struct ws__wave_config config[T_CONFIGS];
    struct ws__wave_pair pair[T_SHAPES * T_CONFIGS];
    double log_ns[T_SHAPES * T_CONFIGS]; /* true */
    double theta[WS__NTHETA];            /* true */
};

static inline int64_t t_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline void t_wave_config(struct ws__wave_config *c, unsigned i)
{
    static const double tile[][2] = {{64, 64},   {128, 64},  {64, 128},
                                     {128, 128}, {128, 256}, {256, 128}};

    c->rows = tile[i % 6][0];
    c->columns = tile[i % 6][1];
    c->depth = 64;
    c->warps = i < 6 ? 4 : 8;
    c->stages = i < 6 ? 3 : 4;
    c->accumulators = c->rows * c->columns;
    c->engine = WS__ENGINE_WGMMA;
    c->occupancy = i % 6 < 3 ? 2 : 1;
    c->macro = i % 6;
    c->feature[0] = log2(c->rows) / 1.4;
    c->feature[1] = log2(c->columns) / 1.4;
    c->feature[2] = i < 6 ? 0 : 1;
}

static inline void t_wave_pair(const int64_t *axis,
                               const struct ws__wave_config *c,
                               struct ws__wave_pair *out)
{
    int64_t bm = (int64_t)c->rows, bn = (int64_t)c->columns;
    int64_t gm = t_ceil_div(axis[0], bm), gn = t_ceil_div(axis[1], bn);
    int64_t loop = t_ceil_div(axis[2], 64);

    out->feasible = true;
    out->coord[WSRT_W_GRID] = gm * gn;
    out->coord[WSRT_W_STEPS] = gm * gn * loop;
    out->coord[WSRT_W_LONGEST] = loop;
    out->coord[WSRT_W_FLOPS] = 2 * bm * bn * 64;
    out->coord[WSRT_W_BYTES] = 2 * (bm + bn) * 64;
    out->coord[WSRT_W_SHARED] = 2 * (bm + bn) * 64;
    out->coord[WSRT_W_STORE] = 2 * bm * bn;
    out->coord[WSRT_W_UNIQUE] =
        2 * (axis[0] * axis[2] + axis[1] * axis[2] + axis[0] * axis[1]);
    out->coord[WSRT_W_PADDED] = gn * (gm * bm - axis[0]);
    out->coord[WSRT_W_PADMOST] = gm * bm - axis[0];
}

/* True times: of constants that are `off` prior deviations from the centres. */
static inline void t_wave_times(struct t_wave *t, double off)
{
    struct ws__wave_belief prior;
    struct ws__rng r;

    ws__rng_seed(&r, 99);
    ws__wave_prior(&t->table.sheet, &prior);
    memcpy(t->theta, prior.centre, sizeof(t->theta));
    for (int k = 0; k < WS__NTHETA; k++)
        t->theta[k] += off * prior.sd[k] * (ws__rng_below(&r, 2) ? 1 : -1);
    for (uint32_t i = 0; i < t->table.nshape; i++)
        for (uint32_t j = 0; j < t->table.nconfig; j++)
            t->log_ns[i * t->table.nconfig + j] =
                ws__wave_formula_at(&t->table, t->theta, i, j, 1);
}

static inline void t_wave_make(struct ws_ctx *ctx, struct t_wave *t)
{
    struct ws__rng r;

    memset(t, 0, sizeof(*t));
    ws__rng_seed(&r, 5);
    for (int i = 0; i < T_SHAPES; i++) {
        t->axis[3 * i] = (int64_t)exp2(4 + 9 * ws__rng_unit(&r));
        t->axis[3 * i + 1] = 64 * (int64_t)exp2(3 + 4 * ws__rng_unit(&r));
        t->axis[3 * i + 2] = 64 * (int64_t)exp2(3 + 4 * ws__rng_unit(&r));
    }
    for (unsigned j = 0; j < T_CONFIGS; j++)
        t_wave_config(&t->config[j], j);
    for (int i = 0; i < T_SHAPES; i++)
        for (int j = 0; j < T_CONFIGS; j++)
            t_wave_pair(t->axis + 3 * i, &t->config[j],
                        &t->pair[i * T_CONFIGS + j]);
    t->table = (struct ws__wave_table){.ctx = ctx,
                                       .sheet = ws__wave_sheets[0],
                                       .nshape = T_SHAPES,
                                       .nconfig = T_CONFIGS,
                                       .naxis = 3,
                                       .nfeature = 3,
                                       .axis = t->axis,
                                       .config = t->config,
                                       .pair = t->pair};
    t_wave_times(t, 0);
}

/* About normal, of a deviation of 1. */
static inline double t_noise(struct ws__rng *r)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += ws__rng_unit(r);
    return sum;
}

/* n samples of different pairs, spread over the table, with noise. */
static inline void t_wave_sample(const struct t_wave *t, size_t n, double noise,
                                 struct ws__wave_sample *out)
{
    struct ws__rng r;

    ws__rng_seed(&r, 17);
    for (size_t i = 0; i < n; i++) {
        size_t at = (i * 37 + 11) % (T_SHAPES * T_CONFIGS);

        out[i] = (struct ws__wave_sample){.shape = (uint32_t)(at / T_CONFIGS),
                                          .config = (uint32_t)(at % T_CONFIGS),
                                          .log_ns = t->log_ns[at] +
                                                    noise * t_noise(&r),
                                          .clock = 1};
    }
}

/* What the tests of a file share, and its fixtures. */
static struct ws_ctx *ctx;
static struct t_wave t;

static inline int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    return ctx ? 0 : -1;
}

static inline int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return 0;
}

static inline int make_table(void **state)
{
    (void)state;
    t_wave_make(ctx, &t);
    return 0;
}

#endif
