/*
 * t_pack_gemm.h: a matrix multiplication with two kernels and a model, built by
 * hand: 64 or more candidates, as many tuned shapes as wanted, for tests and
 * figures of models in packs. Times are what the model says.
 */
#ifndef WS_T_PACK_GEMM_H
#define WS_T_PACK_GEMM_H

#include "pack/t_pack_sample.h"
#include "wsrt_format.h"

enum { GEMM_M, GEMM_N, GEMM_K, GEMM_T, GEMM_AXES };

struct gemm {
    struct sample s;
    struct ws__pack_model model[2];
    struct ws__pack_form *form;
    struct wsrt_wave_law law[2];
    struct ws__expr *coord[2][WSRT_NWAVE];
    struct ws__expr *const *coord_of[2];
};

static inline int gemm_op(struct ws_ctx *ctx, struct sample *s)
{
    static const enum ws__dtype types[] = {WS__DT_F16, WS__DT_BF16};
    static const struct ws__axis axis[GEMM_AXES] = {
        [GEMM_M] = {.name = "M", .kind = WS__AXIS_VAR, .lo = 1, .hi = 16384},
        [GEMM_N] = {.name = "N", .kind = WS__AXIS_VAR, .lo = 1, .hi = 65536},
        [GEMM_K] = {.name = "K", .kind = WS__AXIS_VAR, .lo = 1, .hi = 65536},
        [GEMM_T] = {.name = "T",
                    .kind = WS__AXIS_TYPE,
                    .value = WS__DT_F16,
                    .types = types,
                    .ntypes = 2}};
    struct ws__op *op = &s->op;

    op->name = "gemm";
    memcpy(op->axis, axis, sizeof(axis));
    op->naxis = GEMM_AXES;
    op->require = ws__arena_alloc(&s->arena, 1, sizeof(*op->require));
    if (!op->require)
        return WS_ENOMEM;
    for (int k = 0; k < 2; k++) {
        s->kernel[k].op = op;
        s->kernel[k].scope.strings = &s->strings;
        for (size_t i = 0; i < op->naxis; i++)
            WS_TRY(ws__scope_add(ctx, &s->kernel[k].scope, axis[i].name,
                                 WS__INT, NULL));
    }
    op->nrequire = 1;
    return sample_compile(ctx, s, &s->kernel[0].scope, "M * N < 2 ** 31",
                          op->require);
}

static inline void gemm_values(struct ws__value *v, const int64_t *from,
                               size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (struct ws__value){WS__INT, {.i = from[i]}};
}

static inline int gemm_kernel(struct ws_ctx *ctx, struct sample *s,
                              struct ws__kernel *k, bool split)
{
    static const int64_t m[] = {16, 32, 64, 128, 256}, n[] = {32, 64, 128, 256},
                         d[] = {32, 64, 128}, parts[] = {2, 4, 8};
    static const char *const text[] = {"BM * BN <= 32768", "N % 8 == 0",
                                       "SPLIT * BK <= K"};
    struct ws__value v[8];

    k->name = split ? "split" : "tiled";
    gemm_values(v, m, 5);
    WS_TRY(sample_param(ctx, s, k, "BM", v, 5, split ? 0 : 2));
    gemm_values(v, n, 4);
    WS_TRY(sample_param(ctx, s, k, "BN", v, 4, 1));
    gemm_values(v, d, 3);
    WS_TRY(sample_param(ctx, s, k, "BK", v, 3, 0));
    if (split) {
        gemm_values(v, parts, 3);
        WS_TRY(sample_param(ctx, s, k, "SPLIT", v, 3, 0));
    }
    return sample_constraints(ctx, s, k, text, split ? 3 : 1);
}

static inline int gemm_coords(struct ws_ctx *ctx, struct gemm *g, int kernel)
{
    static const char *const text[2][WSRT_NWAVE] = {
        {[WSRT_W_GRID] = "ceil_div(M, BM) * ceil_div(N, BN)",
         [WSRT_W_STEPS] = "ceil_div(M, BM) * ceil_div(N, BN) * ceil_div(K, BK)",
         [WSRT_W_LONGEST] = "ceil_div(K, BK)",
         [WSRT_W_FLOPS] = "2 * BM * BN * BK",
         [WSRT_W_SHARED] = "2 * (BM + BN) * BK",
         [WSRT_W_BYTES] = "2 * (BM + BN) * BK",
         [WSRT_W_STORE] = "2 * BM * BN",
         [WSRT_W_UNIQUE] = "2 * (M * K + N * K + M * N)",
         [WSRT_W_UNEVEN] = "K % BK != 0"},
        {[WSRT_W_GRID] = "ceil_div(M, BM) * ceil_div(N, BN) * SPLIT",
         [WSRT_W_STEPS] = "ceil_div(M, BM) * ceil_div(N, BN) * SPLIT * "
                          "ceil_div(K, BK * SPLIT)",
         [WSRT_W_LONGEST] = "ceil_div(K, BK * SPLIT)",
         [WSRT_W_FLOPS] = "2 * BM * BN * BK",
         [WSRT_W_SHARED] = "2 * (BM + BN) * BK",
         [WSRT_W_BYTES] = "2 * (BM + BN) * BK",
         [WSRT_W_STORE] = "4 * BM * BN",
         [WSRT_W_UNIQUE] = "2 * (M * K + N * K + M * N)",
         [WSRT_W_AFTER] = "4 * M * N * SPLIT",
         [WSRT_W_UNEVEN] = "K % (BK * SPLIT) != 0"}};

    for (int i = 0; i < WSRT_NWAVE; i++) {
        struct ws__expr *e = NULL;

        if (text[kernel][i])
            WS_TRY(sample_expr(ctx, &g->s, &g->s.kernel[kernel].scope,
                               text[kernel][i], WS__INT, &e));
        g->coord[kernel][i] = e;
    }
    return 0;
}

/* log2(2^n / d), Q20 */
static inline int32_t gemm_log(int n, int64_t d)
{
    return (n << WSRT_WAVE_Q) - wsrt__log2_20(d);
}

/* Small tiles use the units less; the rest differs a little from config to
 * config. */
static inline void gemm_form(const struct ws__kernel *k,
                             struct ws__pack_form *f)
{
    const struct ws__config *c = &f->candidate.config;
    int64_t bm = k->param[0].value[c->at[0]].u.i,
            bn = k->param[1].value[c->at[1]].u.i,
            bk = k->param[2].value[c->at[2]].u.i;
    int32_t odd = (int32_t)((bm * 7 + bn * 13 + bk * 3) % 11);
    int64_t held = 65536 / (bm * bn) + 1;

    f->resident_blocks = held;
    f->form = (struct wsrt_wave_form){
        .occupancy = (int32_t)(held > 8 ? 8 : held),
        .flop = gemm_log(0, 7500) + gemm_log(0, bm * bn) / 8 + (2 << 20) +
                odd * 12000,
        .vector = gemm_log(0, 200),
        .shared = gemm_log(0, 200),
        .byte = gemm_log(0, 110),
        .latency = gemm_log(0, 1) + (8 << WSRT_WAVE_Q) + odd * 20000,
        .latency_byte = gemm_log(0, 200),
        .overlap = 3 << 16,
        .overlap_inverse = (1 << 16) / 3,
        .pad = WSRT_WAVE_NOTHING,
        .block = 9 << WSRT_WAVE_Q,
        .fill = gemm_log(0, 60),
        .fill_steps = 2 << WSRT_WAVE_Q,
        .store = gemm_log(0, 40),
        .dram = gemm_log(0, 4000),
        .rows = (int32_t)bm};
    f->form.weight[1] = odd * 500;
    f->margin = 70000 + odd * 1000;
}

/* All configs of both kernels that fit, the defaults among them. */
static inline int gemm_forms(struct gemm *g, size_t most)
{
    size_t n = 0;

    g->form = ws__arena_alloc(&g->s.arena, WSRT_MAX_FORMS, sizeof(*g->form));
    if (!g->form)
        return WS_ENOMEM;
    for (uint32_t k = 0; k < 2; k++)
        for (uint16_t i = 0; i < (k ? 180 : 60) && n < most; i++) {
            const struct ws__kernel *kernel = &g->s.kernel[k];
            struct ws__pack_form *f = &g->form[n];
            uint16_t at[] = {(uint16_t)(i % 5), (uint16_t)(i / 5 % 4),
                             (uint16_t)(i / 20 % 3), (uint16_t)(i / 60)};

            memset(f, 0, sizeof(*f));
            f->candidate.kernel = k;
            f->candidate.config.n = (uint16_t)kernel->nparam;
            memcpy(f->candidate.config.at, at, kernel->nparam * sizeof(at[0]));
            if (kernel->param[0].value[at[0]].u.i *
                    kernel->param[1].value[at[1]].u.i >
                32768)
                continue;
            gemm_form(kernel, f);
            n++;
        }
    g->model[0].form = g->form;
    g->model[0].nform = n;
    return 0;
}

static inline void gemm_shape(struct ws__rng *r, int64_t *axis)
{
    axis[GEMM_M] = sample_size(r, 14);
    axis[GEMM_N] = 8 * sample_size(r, 13);
    axis[GEMM_K] = 64 * sample_size(r, 10);
    axis[GEMM_T] = WS__DT_F16;
}

static inline int gemm_entries(struct gemm *g, size_t n, uint64_t seed)
{
    struct sample *s = &g->s;
    struct ws__rng r;

    ws__rng_seed(&r, seed);
    s->workload = ws__arena_alloc(&s->arena, n + 1, sizeof(*s->workload));
    s->entry = ws__arena_alloc(&s->arena, n + 1, sizeof(*s->entry));
    if (!s->workload || !s->entry)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct ws__workload *w = &s->workload[i];
        struct ws__pack_entry *e = &s->entry[i];

        do
            gemm_shape(&r, w->axis);
        while (sample_seen(s, i) ||
               w->axis[GEMM_M] * w->axis[GEMM_N] >= INT64_C(1) << 31);
        w->name = "w";
        e->workload = w;
        do
            e->candidate =
                g->form[ws__rng_below(&r, g->model[0].nform)].candidate;
        while (e->candidate.kernel && w->axis[GEMM_K] < 1024);
        e->time_ns = (double)(i + 1) * 100;
        e->default_ns = (double)(i + 1) * 200;
    }
    return 0;
}

/* Freed by gemm_free, also after a failure. most: candidates. */
static inline int gemm_make(struct ws_ctx *ctx, struct gemm *g, size_t nentry,
                            size_t most)
{
    struct sample *s = &g->s;

    memset(g, 0, sizeof(*g));
    ws__arena_init(&s->arena, ctx);
    s->strings.arena = &s->arena;
    WS_TRY(gemm_op(ctx, s));
    for (int k = 0; k < 2; k++) {
        WS_TRY(gemm_kernel(ctx, s, &s->kernel[k], k));
        WS_TRY(gemm_coords(ctx, g, k));
        g->law[k] = (struct wsrt_wave_law){.units = 132,
                                           .cache = 50 << 20,
                                           .p = 4 << 16,
                                           .p_inverse = 1 << 14,
                                           .q = 4 << 16,
                                           .q_inverse = 1 << 14,
                                           .start = (11 + k) << WSRT_WAVE_Q,
                                           .soft = -(2 << WSRT_WAVE_Q),
                                           .line = WSRT_WAVE_NOTHING,
                                           .after = 12 << WSRT_WAVE_Q,
                                           .after_byte = gemm_log(0, 3000),
                                           .distinct = WSRT_WAVE_NOTHING,
                                           .masked = WSRT_WAVE_NOTHING,
                                           .crowd = k * 60000,
                                           .hidden = -(4 << WSRT_WAVE_Q)};
    }
    WS_TRY(gemm_forms(g, most));
    WS_TRY(gemm_entries(g, nentry, 5));
    s->content = (struct ws__pack_content){.op = &s->op,
                                           .kernel = s->kernel,
                                           .nkernel = 2,
                                           .entry = s->entry,
                                           .nentry = nentry,
                                           .model = g->model,
                                           .nmodel = 1};
    g->model[0].type[GEMM_T] = WS__DT_F16;
    g->model[0].law = g->law;
    g->coord_of[0] = g->coord[0];
    g->coord_of[1] = g->coord[1];
    g->model[0].coord = g->coord_of;
    s->content.device[WS__DV_UNITS].i = 132;
    s->content.device[WS__DV_THREADS].i = 1024;
    s->content.device[WS__DV_SHARED].i = 233472;
    return 0;
}

/* A tree that is made at once. */
static inline void gemm_small(struct gemm *g)
{
    for (int i = 0; i < 2; i++) {
        g->model[i].nodes = 15;
        g->model[i].shapes = 300;
        g->model[i].points = 200;
    }
}

/* Planes that touch a paraboloid: each is the lowest somewhere. So all of these
 * candidates are worth keeping, apart from those that the rest of the formula
 * puts above that. */
static inline void gemm_keep_all(struct gemm *g)
{
    const int32_t slope = WSRT_WAVE_ONE / 100;

    for (size_t i = 0; i < g->model[0].nform; i++) {
        int32_t *w = g->form[i].form.weight;
        int32_t at[3] = {(int32_t)(i % 6) * 2 - 5, (int32_t)(i / 6 % 5) * 2 - 4,
                         (int32_t)(i / 30) * 2 - 7};

        for (int k = 0; k < 3; k++) {
            w[0] += at[k] * at[k] * slope / 2;
            w[1 + k] -= at[k] * slope;
        }
    }
}

static inline void gemm_free(struct gemm *g)
{
    sample_free(&g->s);
}

#endif
