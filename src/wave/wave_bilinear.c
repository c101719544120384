/*
 * wave_bilinear.c: WaveTune's model (arXiv 2604.10187), for comparison.
 *
 * The parameters that fix the grid G and the loop L are the macro config. For
 * each macro config and each number of waves w = ceil(G / units), without
 * occupancy, a bucket: T = a G L + b G + c L + d by ordinary least squares on
 * measured times. A choice takes the macro config of the least prediction, and
 * within it the micro config that was best at the nearest loop of the bucket.
 * Cells are bought in turn over macro configs and waves ("wave anchors").
 *
 * The paper's text leaves open which waves share a bucket (here all beyond 8),
 * which time is fitted (here the best known of the macro config on the shape)
 * and what an empty bucket does (here the nearest one with samples answers).
 */
#include "wave/wave_judge.h"

#include <math.h>
#include <stdlib.h>

#include "base/banned.h"

#define WAVES WS__WAVE_COUNTS
#define TERMS WS__BILINEAR_TERMS

struct anchor {
    uint32_t shape, config;
    double grid, loop, log_ns;
    unsigned wave;
    bool best; /* of its macro config on its shape */
};

struct bucket {
    bool done, fits;
    double c[TERMS];
};

struct bilinear {
    struct ws__judge_state *s;
    const struct ws__wave_table *t;
    struct anchor *anchor;
    size_t n;
    struct ws__wave_point *order;
    struct bucket *bucket; /* macro * (WAVES + 1) + wave */
};

static double loop_of(const struct ws__wave_table *t, size_t pair)
{
    const int64_t *c = t->pair[pair].coord;

    return (double)c[WSRT_W_STEPS] / fmax(1, (double)c[WSRT_W_GRID]);
}

/* One that has no time costs as much and tells nothing. */
static void buy(struct bilinear *b, size_t pair)
{
    struct anchor *a = &b->anchor[b->n];

    b->s->cells++;
    if (b->s->d->log_ns[pair] == 0)
        return;
    b->n++;
    a->shape = (uint32_t)(pair / b->t->nconfig);
    a->config = (uint32_t)(pair % b->t->nconfig);
    a->grid = (double)b->t->pair[pair].coord[WSRT_W_GRID];
    a->loop = loop_of(b->t, pair);
    a->wave = ws__wave_count(b->t, pair);
    a->log_ns = b->s->d->log_ns[pair];
}

/* The bucket that answers: itself, or the nearest with samples. */
static unsigned nearest_wave(const struct bilinear *b, uint32_t macro,
                             unsigned wave)
{
    unsigned best = 0;

    for (size_t i = 0; i < b->n; i++) {
        const struct anchor *a = &b->anchor[i];

        if (b->t->config[a->config].macro == macro &&
            (!best ||
             abs((int)a->wave - (int)wave) < abs((int)best - (int)wave)))
            best = a->wave;
    }
    return best;
}

/* Is anchor i the best time of its macro config on its shape? */
static bool is_best(const struct bilinear *b, size_t i)
{
    const struct anchor *a = &b->anchor[i];

    for (size_t k = 0; k < b->n; k++) {
        const struct anchor *o = &b->anchor[k];

        if (o->shape == a->shape &&
            b->t->config[o->config].macro == b->t->config[a->config].macro &&
            (o->log_ns < a->log_ns || (k < i && o->log_ns <= a->log_ns)))
            return false;
    }
    return true;
}

/* Coefficients of a bucket. A trace of a ridge decides where there are fewer
 * samples than terms. */
static bool fit(const struct bilinear *b, uint32_t macro, unsigned wave,
                double *out)
{
    double m[TERMS * TERMS] = {0}, scale[TERMS] = {0};
    size_t n = 0;

    memset(out, 0, TERMS * sizeof(*out));
    for (size_t i = 0; i < b->n; i++) {
        const struct anchor *a = &b->anchor[i];
        double x[TERMS] = {a->grid * a->loop, a->grid, a->loop, 1};

        if (a->wave != wave || b->t->config[a->config].macro != macro ||
            !a->best)
            continue;
        n++;
        for (int k = 0; k < TERMS; k++) {
            scale[k] += x[k] * x[k];
            out[k] += x[k] * exp(a->log_ns);
            for (int l = 0; l < TERMS; l++)
                m[k * TERMS + l] += x[k] * x[l];
        }
    }
    if (!n)
        return false;
    for (int k = 0; k < TERMS; k++)
        m[k * TERMS + k] += 1e-6 * scale[k];
    if (!ws__cholesky(m, TERMS))
        return false;
    ws__solve_lower(m, TERMS, out);
    ws__solve_upper(m, TERMS, out);
    return true;
}

/* Among the configs of a macro config: first the one that was best at the
 * nearest loop, then by how near their loops are. */
static void score_micros(struct bilinear *b, size_t shape, uint32_t macro,
                         unsigned wave, double ns)
{
    const struct ws__wave_table *t = b->t;

    for (size_t j = 0; j < t->nconfig; j++) {
        size_t pair = shape * t->nconfig + j;
        double far = 100;

        if (t->config[j].macro != macro || !t->pair[pair].feasible)
            continue;
        for (size_t i = 0; i < b->n; i++) {
            const struct anchor *a = &b->anchor[i];

            if (a->config == j && a->wave == wave)
                far = fmin(far, fabs(log2(a->loop / loop_of(t, pair))) +
                                    (a->best ? 0 : 50));
        }
        /* A hair's breadth: it orders micros and never macros. */
        b->s->score[pair] = log(fmax(ns, 1)) + 1e-9 * far;
    }
}

static const double *coefficients(struct bilinear *b, uint32_t macro,
                                  unsigned wave)
{
    struct bucket *k = &b->bucket[macro * (WAVES + 1) + wave];

    if (!k->done)
        k->fits = fit(b, macro, wave, k->c);
    k->done = true;
    return k->fits ? k->c : NULL;
}

static void score_shape(struct bilinear *b, size_t shape)
{
    const struct ws__wave_table *t = b->t;

    for (size_t j = 0; j < t->nconfig; j++)
        b->s->score[shape * t->nconfig + j] = WS__JUDGE_UNKNOWN;
    for (size_t j = 0; j < t->nconfig; j++) {
        size_t pair = shape * t->nconfig + j;
        uint32_t macro = t->config[j].macro;
        const double *c;
        double g, l;
        unsigned wave;

        if (b->s->score[pair] < WS__JUDGE_UNKNOWN || !t->pair[pair].feasible)
            continue;
        wave = nearest_wave(b, macro, ws__wave_count(t, pair));
        c = wave ? coefficients(b, macro, wave) : NULL;
        if (!c)
            continue;
        g = (double)t->pair[pair].coord[WSRT_W_GRID];
        l = loop_of(t, pair);
        score_micros(b, shape, macro, wave,
                     c[0] * g * l + c[1] * g + c[2] * l + c[3]);
    }
}

static int fill_tables(struct bilinear *b)
{
    struct ws__judge_state *s = b->s;
    const struct ws__wave_table *t = b->t;
    size_t n;

    WS_TRY(ws__wave_anchors(t, s->fit, &s->rng, b->order, &n));
    for (size_t i = 0; i < n && s->cells < s->budget; i++)
        buy(b, b->order[i].shape * t->nconfig + b->order[i].config);
    for (size_t i = 0; i < b->n; i++)
        b->anchor[i].best = is_best(b, i);
    return 0;
}

static void close_tables(struct bilinear *b)
{
    ws__free(b->t->ctx, b->anchor);
    ws__free(b->t->ctx, b->order);
    ws__free(b->t->ctx, b->bucket);
}

/* Buys; closed also after a failure. */
static int open_tables(struct bilinear *b, struct ws__judge_state *s)
{
    const struct ws__wave_table *t = s->d->table;
    size_t nbucket = t->nconfig * (WAVES + 1);

    *b = (struct bilinear){.s = s, .t = t};
    b->anchor = ws__alloc(t->ctx, s->budget + 1, sizeof(*b->anchor));
    b->order = ws__alloc(t->ctx, t->nshape * t->nconfig + 1, sizeof(*b->order));
    b->bucket = ws__alloc(t->ctx, nbucket, sizeof(*b->bucket));
    if (!b->anchor || !b->order || !b->bucket)
        return WS_ENOMEM;
    return fill_tables(b);
}

int ws__judge_bilinear(struct ws__judge_state *s)
{
    struct bilinear b;
    int rc = open_tables(&b, s);

    s->log = true;
    for (size_t i = 0; !rc && i < b.t->nshape; i++)
        if (!s->fit[i])
            score_shape(&b, i);
    close_tables(&b);
    return rc;
}

/* --- explanations --------------------------------------------------------- */

static int list_buckets(struct bilinear *b, struct ws__bilinear_view *out)
{
    size_t most = b->t->nconfig * (WAVES + 1);

    out->bucket = ws__alloc(b->t->ctx, most, sizeof(*out->bucket));
    if (!out->bucket)
        return WS_ENOMEM;
    for (uint32_t at = 0; at < most; at++) {
        struct ws__bilinear_bucket *k = &out->bucket[out->nbucket];
        const double *c = NULL;

        *k = (struct ws__bilinear_bucket){.macro = at / (WAVES + 1),
                                          .wave = at % (WAVES + 1)};
        for (size_t i = 0; i < b->n; i++)
            k->samples += b->t->config[b->anchor[i].config].macro == k->macro &&
                          b->anchor[i].wave == k->wave;
        if (k->samples)
            c = coefficients(b, k->macro, k->wave);
        if (!c)
            continue;
        memcpy(k->c, c, sizeof(k->c));
        out->nbucket++;
    }
    return 0;
}

/* Table B: the anchor that was best at the loop nearest to this one. */
static void find_micro(const struct bilinear *b, struct ws__bilinear_view *v)
{
    uint32_t macro = b->t->config[v->config].macro;
    double near = HUGE_VAL;

    v->micro = UINT32_MAX;
    for (size_t i = 0; i < b->n; i++) {
        const struct anchor *a = &b->anchor[i];
        double far = fabs(log2(a->loop / v->loop));

        if (!a->best || a->wave != v->used || far >= near ||
            b->t->config[a->config].macro != macro)
            continue;
        near = far;
        v->micro = a->config;
        v->micro_loop = a->loop;
    }
}

static void explain_shape(struct bilinear *b, size_t shape, uint32_t config,
                          struct ws__bilinear_view *v)
{
    const struct ws__wave_table *t = b->t;
    const double *score = b->s->score + shape * t->nconfig, *c = NULL;
    size_t pair;

    score_shape(b, shape);
    v->chosen = UINT32_MAX;
    for (uint32_t j = 0; j < t->nconfig; j++)
        if (t->pair[shape * t->nconfig + j].feasible &&
            (v->chosen == UINT32_MAX || score[j] < score[v->chosen]))
            v->chosen = j;
    v->config = config == UINT32_MAX ? v->chosen : config;
    if (v->config == UINT32_MAX)
        return;
    pair = shape * t->nconfig + v->config;
    v->grid = (double)t->pair[pair].coord[WSRT_W_GRID];
    v->loop = loop_of(t, pair);
    v->wave = ws__wave_count(t, pair);
    v->used = nearest_wave(b, t->config[v->config].macro, v->wave);
    if (v->used)
        c = coefficients(b, t->config[v->config].macro, v->used);
    if (c) {
        memcpy(v->c, c, sizeof(v->c));
        v->ns = (c[0] * v->loop + c[1]) * v->grid + c[2] * v->loop + c[3];
    }
    find_micro(b, v);
}

int ws__bilinear_explain(struct ws__judge_state *s, size_t shape,
                         uint32_t config, struct ws__bilinear_view *out)
{
    struct bilinear b;
    int rc = open_tables(&b, s);

    memset(out, 0, sizeof(*out));
    if (!rc)
        rc = list_buckets(&b, out);
    if (!rc && shape != SIZE_MAX)
        explain_shape(&b, shape, config, out);
    close_tables(&b);
    return rc;
}
