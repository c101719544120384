/*
 * wave_plan.c: which pairs to time.
 *
 * First some that are spread: every config about equally often, on shapes that
 * are far from one another. Then pairs by what knowing them is worth: over a
 * pool of shapes, each with its contenders, the expected fall of the sum of the
 * least expected times ("knowledge gradient"). What one timing tells of all
 * others comes from the joint posterior, the constants' uncertainty included;
 * so the budget goes to pairs that decide something, or that teach about many.
 *
 * The model is fitted anew a few times; in between, the pool's posterior is
 * updated by each time that is told.
 */
#include "wave/wave_model.h"

#include <math.h>
#include <stdlib.h>

#include "base/banned.h"

#define SPREAD_MIN 12
#define SPREAD_SHARE .3
#define ROUNDS 16
#define ROUND_MIN 4
#define ROUND_MAX 64
#define POOL_SHAPES 64
#define CONTENDERS 8
#define POOL_MAX (POOL_SHAPES * CONTENDERS)
#define REFIT_STEPS 8
#define SURPRISE_MAX 2.5 /* deviations by which one time moves the pool */

#define BARRED 2

struct ws__wave_plan {
    const struct ws__wave_table *t;
    struct ws__rng rng;
    size_t budget, spread, round; /* round: pairs between two fits */
    uint32_t *shape;              /* those that are allowed */
    size_t nshape;
    unsigned char *taken, *known; /* shape * nconfig + config: asked or BARRED;
                                     told */
    struct ws__wave_point *queue;
    size_t queued, asked; /* of the budget */
    struct ws__wave_sample *sample;
    size_t told, sample_cap;
    struct ws__wave_model *model;
    size_t modelled; /* samples in the model */
    /* The pool: points in the order of their shapes. */
    struct ws__wave_point *pool;
    size_t npool, first; /* first: of the queue, taken from this pool */
    double *mean, *covariance, *scratch;
    bool improve;
    const struct ws__wave_belief *prior;
    double *best; /* of each shape, log ns told; infinity: nothing yet */
    struct {
        uint32_t point;
        double deviation;
        double *move; /* of the pool's means, a deviation of the time */
    } pick[ROUND_MAX];
};

void ws__wave_plan_free(struct ws__wave_plan *p)
{
    struct ws_ctx *ctx;

    if (!p)
        return;
    ctx = p->t->ctx;
    ws__wave_model_free(p->model);
    ws__free(ctx, p->shape);
    ws__free(ctx, p->taken);
    ws__free(ctx, p->queue);
    ws__free(ctx, p->sample);
    ws__free(ctx, p->best);
    ws__free(ctx, p->pool);
    ws__free(ctx, p->mean);
    ws__free(ctx, p);
}

static bool is_free(const struct ws__wave_plan *p, size_t shape, size_t config)
{
    size_t at = shape * p->t->nconfig + config;

    return p->t->pair[at].feasible && !p->taken[at];
}

static void enqueue(struct ws__wave_plan *p, size_t shape, size_t config)
{
    p->taken[shape * p->t->nconfig + config] = 1;
    p->queue[p->queued].shape = (uint32_t)shape;
    p->queue[p->queued++].config = (uint32_t)config;
}

/* Shapes in an order in which each is as far as can be from those before. */
static int order_shapes(struct ws__wave_plan *p, uint32_t *order)
{
    size_t n = p->nshape;
    double *near = ws__alloc(p->t->ctx, n, sizeof(*near));
    size_t at = (size_t)ws__rng_below(&p->rng, n);

    if (!near)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        near[i] = HUGE_VAL;
    for (size_t k = 0; k < n; k++) {
        size_t far = at;

        order[k] = p->shape[at];
        near[at] = -1;
        for (size_t i = 0; i < n; i++) {
            if (near[i] < 0)
                continue;
            near[i] =
                fmin(near[i], ws__wave_apart(p->t, p->shape[i], p->shape[at]));
            if (near[far] < 0 || near[i] > near[far])
                far = i;
        }
        at = far;
    }
    ws__free(p->t->ctx, near);
    return 0;
}

/* A free pair on this shape with a config that was taken least; false: none.
 * uses: how often each was; order: in which equals are tried. */
static bool take_spread(struct ws__wave_plan *p, size_t shape, uint32_t *uses,
                        const uint32_t *order)
{
    size_t best = p->t->nconfig;

    for (size_t i = 0; i < p->t->nconfig; i++)
        if (is_free(p, shape, order[i]) &&
            (best == p->t->nconfig || uses[order[i]] < uses[best]))
            best = order[i];
    if (best == p->t->nconfig)
        return false;
    uses[best]++;
    enqueue(p, shape, best);
    return true;
}

static int spread(struct ws__wave_plan *p)
{
    size_t nshape = p->nshape, nconfig = p->t->nconfig;
    uint32_t *shapes =
        ws__alloc(p->t->ctx, nshape + 2 * nconfig, sizeof(*shapes));
    uint32_t *configs = shapes + nshape, *uses = configs + nconfig;
    bool any = true;
    int rc;

    if (!shapes)
        return WS_ENOMEM;
    for (size_t i = 0; i < nconfig; i++)
        configs[i] = (uint32_t)i;
    WS_TRY_DONE(order_shapes(p, shapes));
    while (any && p->queued < p->spread) {
        any = false;
        for (size_t i = 0; i < nshape && p->queued < p->spread; i++) {
            ws__wave_shuffle(&p->rng, configs, nconfig);
            any |= take_spread(p, shapes[i], uses, configs);
        }
    }
done:
    ws__free(p->t->ctx, shapes);
    return rc;
}

static int anchor(struct ws__wave_plan *p, const unsigned char *allowed)
{
    const struct ws__wave_table *t = p->t;
    size_t n;
    struct ws__wave_point *x =
        ws__alloc(t->ctx, t->nshape * t->nconfig + 1, sizeof(*x));
    int rc = x ? ws__wave_anchors(t, allowed, &p->rng, x, &n) : WS_ENOMEM;

    for (size_t i = 0; !rc && i < n && p->queued < p->budget; i++)
        enqueue(p, x[i].shape, x[i].config);
    ws__free(t->ctx, x);
    return rc;
}

static size_t free_pairs(const struct ws__wave_plan *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->nshape; i++)
        for (size_t j = 0; j < p->t->nconfig; j++)
            n += is_free(p, p->shape[i], j);
    return n;
}

/* What there is to ask, and how. */
static int set_sizes(struct ws__wave_plan *p,
                     const struct ws__wave_plan_opts *o)
{
    const struct ws__wave_table *t = p->t;
    size_t pairs;

    p->best = ws__alloc(t->ctx, t->nshape + 1, sizeof(*p->best));
    p->shape = ws__alloc(t->ctx, t->nshape + 1, sizeof(*p->shape));
    p->taken = ws__alloc(t->ctx, 2 * t->nshape * t->nconfig + 1, 1);
    if (!p->best || !p->shape || !p->taken)
        return WS_ENOMEM;
    for (size_t i = 0; i < t->nshape; i++)
        p->best[i] = HUGE_VAL;
    p->known = p->taken + t->nshape * t->nconfig;
    for (size_t i = 0; i < t->nshape; i++)
        if (!o->allowed || o->allowed[i])
            p->shape[p->nshape++] = (uint32_t)i;
    pairs = free_pairs(p);
    p->budget = o->budget && o->budget < pairs ? o->budget : pairs;
    p->spread =
        o->spread ? o->spread : (size_t)(SPREAD_SHARE * (double)p->budget);
    if (p->spread < SPREAD_MIN)
        p->spread = SPREAD_MIN;
    if (p->spread > p->budget)
        p->spread = p->budget;
    return 0;
}

/* Room for the pool, in one piece of memory. */
static int pool_room(struct ws__wave_plan *p)
{
    size_t most = POOL_MAX,
           scratch = p->t->nconfig > most ? p->t->nconfig : most;

    p->pool = ws__alloc(p->t->ctx, most, sizeof(*p->pool));
    p->mean =
        ws__alloc(p->t->ctx, most + most * most + scratch + ROUND_MAX * most,
                  sizeof(*p->mean));
    if (!p->pool || !p->mean)
        return WS_ENOMEM;
    p->covariance = p->mean + most;
    p->scratch = p->covariance + most * most;
    for (size_t i = 0; i < ROUND_MAX; i++)
        p->pick[i].move = p->scratch + scratch + i * most;
    return 0;
}

int ws__wave_plan_new(const struct ws__wave_table *t,
                      const struct ws__wave_plan_opts *opts,
                      struct ws__wave_plan **out)
{
    struct ws__wave_plan *p = ws__alloc(t->ctx, 1, sizeof(*p));
    int rc;

    if (!p)
        return WS_ENOMEM;
    p->t = t;
    p->improve = opts->improve;
    p->prior = opts->prior;
    ws__rng_seed(&p->rng, opts->seed);
    rc = set_sizes(p, opts);
    if (!rc) {
        p->queue = ws__alloc(t->ctx, p->budget + 1, sizeof(*p->queue));
        rc = p->queue ? pool_room(p) : WS_ENOMEM;
    }
    if (!rc && opts->anchors)
        rc = anchor(p, opts->allowed);
    else if (!rc && p->budget)
        rc = spread(p);
    if (rc) {
        ws__wave_plan_free(p);
        return rc;
    }
    p->first = p->queued;
    *out = p;
    return 0;
}

/* --- the pool ------------------------------------------------------------- */

/* Gauss and Hermite's rule of 9 nodes for a standard normal. */
static const double node[] = {0, 1.0232556637891326, 2.0768479786778302,
                              3.2054290028564703, 4.5127458633997826};
static const double node_weight[] = {0.40634920634920635, 0.24409750289493909,
                                     0.049916406765217900,
                                     0.0027891413212317700,
                                     2.2345844007746600e-05};

/* A config of one shape: what its log time is thought to be. */
struct hope {
    uint32_t config;
    double mean, sd;
};

static int by_hope(const void *a, const void *b)
{
    const struct hope *x = a, *y = b;
    double u = x->mean - x->sd, v = y->mean - y->sd;

    return u < v   ? -1
           : u > v ? 1
                   : (x->config > y->config) - (x->config < y->config);
}

/* The configs of a shape that may be its best go into the pool: the one that is
 * thought to be, and those that come near it with luck. */
static int add_contenders(struct ws__wave_plan *p, uint32_t shape,
                          struct hope *all)
{
    size_t n = 0, look;
    bool any = false;

    WS_TRY(ws__wave_predict(p->model, shape, p->scratch));
    for (size_t j = 0; j < p->t->nconfig; j++)
        if (isfinite(p->scratch[j]))
            all[n++] = (struct hope){(uint32_t)j, p->scratch[j], 0};
    qsort(all, n, sizeof(*all), by_hope);
    look = n < 3 * CONTENDERS ? n : 3 * CONTENDERS;
    for (size_t i = 1; i < look; i++)
        WS_TRY(ws__wave_deviation(p->model,
                                  (struct ws__wave_point){shape, all[i].config},
                                  &all[i].sd));
    if (look > 1)
        qsort(all + 1, look - 1, sizeof(*all), by_hope);
    for (size_t i = 0; i < n && i < CONTENDERS; i++) {
        p->pool[p->npool++] = (struct ws__wave_point){shape, all[i].config};
        any |= is_free(p, shape, all[i].config);
    }
    /* One at least is to be had. */
    for (size_t i = CONTENDERS; i < n && !any; i++)
        if (is_free(p, shape, all[i].config)) {
            p->pool[p->npool - 1].config = all[i].config;
            any = true;
        }
    return 0;
}

/* Fits become rarer as they become dearer. */
static void next_round(struct ws__wave_plan *p)
{
    p->round = p->queued / ROUNDS;
    if (p->round < ROUND_MIN)
        p->round = ROUND_MIN;
    if (p->round > ROUND_MAX)
        p->round = ROUND_MAX;
    p->first = p->queued;
}

static int make_pool(struct ws__wave_plan *p)
{
    struct ws_ctx *ctx = p->t->ctx;
    size_t shapes = p->nshape < POOL_SHAPES ? p->nshape : POOL_SHAPES;
    struct hope *all = ws__alloc(ctx, p->t->nconfig + 1, sizeof(*all));
    int rc = all ? 0 : WS_ENOMEM;

    p->npool = 0;
    next_round(p);
    ws__wave_shuffle(&p->rng, p->shape, p->nshape);
    for (size_t i = 0; !rc && i < shapes; i++)
        rc = add_contenders(p, p->shape[i], all);
    ws__free(ctx, all);
    return rc ? rc
              : ws__wave_posterior(p->model, p->npool, p->pool, p->mean,
                                   p->covariance);
}

/* The expected fall of the least of n means that move by `move` times a
 * standard normal. */
static double fall(const double *mean, const double *move, size_t n)
{
    double least = HUGE_VAL, sum = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        least = fmin(least, mean[i]);
        most = fmax(most, fabs(move[i]));
    }
    if (most < 1e-4)
        return 0;
    for (size_t k = 0; k < WS_COUNT(node); k++) {
        double up = HUGE_VAL, down = HUGE_VAL;

        for (size_t i = 0; i < n; i++) {
            double by = node[k] * move[i];

            up = up < mean[i] + by ? up : mean[i] + by;
            down = down < mean[i] - by ? down : mean[i] - by;
        }
        sum += node_weight[k] * (k ? up + down : up);
    }
    return fmax(0, least - sum);
}

/* How the means of the pool move, a deviation of the time of point x; returns
 * that deviation. */
static double moves(const struct ws__wave_plan *p, size_t x, double *move)
{
    const double *row = p->covariance + x * p->npool;
    double s = sqrt(row[x] + ws__wave_noise);

    for (size_t i = 0; i < p->npool; i++)
        move[i] = row[i] / s;
    return s;
}

static double worth(const struct ws__wave_plan *p, size_t x, double *move)
{
    double sum = 0;

    moves(p, x, move);
    for (size_t at = 0, end; at < p->npool; at = end) {
        for (end = at + 1;
             end < p->npool && p->pool[end].shape == p->pool[at].shape;)
            end++;
        sum += fall(p->mean + at, move + at, end - at);
    }
    return sum;
}

/* By how much the time of point x is expected to fall below the best known. */
static double improvement(const struct ws__wave_plan *p, size_t x)
{
    double best = p->best[p->pool[x].shape];
    double sd = sqrt(p->covariance[x * p->npool + x] + 1e-12);
    double z = (best - p->mean[x]) / sd;

    if (!isfinite(best))
        return 1e3 - p->mean[x];
    return sd *
           (z * .5 * erfc(-z * M_SQRT1_2) + exp(-z * z / 2) / sqrt(2 * M_PI));
}

/* The free point of the pool that is worth most, npool: none is free. */
static size_t best_point(const struct ws__wave_plan *p)
{
    size_t best = p->npool;
    double most = -1;

    for (size_t x = 0; x < p->npool; x++) {
        double v;

        if (!is_free(p, p->pool[x].shape, p->pool[x].config))
            continue;
        v = p->improve && p->queued % 2 ? improvement(p, x)
                                        : worth(p, x, p->scratch);
        if (v > most) {
            most = v;
            best = x;
        }
    }
    return best;
}

/* From now on its time counts as known, whatever it will be. */
static void take_point(struct ws__wave_plan *p, size_t x)
{
    size_t k = p->queued - p->first;
    double *move = p->pick[k].move;

    p->pick[k].point = (uint32_t)x;
    p->pick[k].deviation = moves(p, x, move);
    for (size_t i = 0; i < p->npool; i++)
        for (size_t j = 0; j < p->npool; j++)
            p->covariance[i * p->npool + j] -= move[i] * move[j];
    enqueue(p, p->pool[x].shape, p->pool[x].config);
}

/* A time of the pool is known: its means move. */
static void learn(struct ws__wave_plan *p, size_t k,
                  const struct ws__wave_sample *s)
{
    const double *theta = ws__wave_theta(p->model);
    double at_full =
        s->log_ns -
        ws__wave_formula_at(p->t, theta, s->shape, s->config, s->clock) +
        ws__wave_formula_at(p->t, theta, s->shape, s->config, 1);
    double by = (at_full - p->mean[p->pick[k].point]) / p->pick[k].deviation;

    if (!isfinite(s->log_ns))
        return;
    by = fmax(-SURPRISE_MAX, fmin(SURPRISE_MAX, by));
    for (size_t i = 0; i < p->npool; i++)
        p->mean[i] += by * p->pick[k].move[i];
}

struct rest {
    struct ws__wave_point x;
    double excess;
};

static int by_excess(const void *a, const void *b)
{
    const struct rest *x = a, *y = b;

    if (x->excess < y->excess || x->excess > y->excess)
        return x->excess < y->excess ? -1 : 1;
    if (x->x.shape != y->x.shape)
        return x->x.shape < y->x.shape ? -1 : 1;
    return (x->x.config > y->x.config) - (x->x.config < y->x.config);
}

static int refit(struct ws__wave_plan *p, unsigned steps)
{
    struct ws__wave_opts opts = {.steps = steps, .prior = p->prior};
    struct ws__wave_model *m;

    WS_TRY(ws__wave_fit(p->t, p->sample, p->told, &opts, p->model, &m));
    ws__wave_model_free(p->model);
    p->model = m;
    p->modelled = p->told;
    return 0;
}

/* The free pairs of a shape, by how far they are from its best. */
static int find_rest(struct ws__wave_plan *p, uint32_t shape, struct rest *out,
                     size_t *n)
{
    double least = HUGE_VAL;

    WS_TRY(ws__wave_predict(p->model, shape, p->scratch));
    for (size_t j = 0; j < p->t->nconfig; j++)
        least = fmin(least, p->scratch[j]);
    for (size_t j = 0; j < p->t->nconfig; j++)
        if (is_free(p, shape, j))
            out[(*n)++] =
                (struct rest){{shape, (uint32_t)j}, p->scratch[j] - least};
    return 0;
}

/* All contenders are known: the others, a round of the nearest ones. Their
 * times move no pool, so there is a new one after them. */
static int take_rest(struct ws__wave_plan *p)
{
    size_t most = free_pairs(p), n = 0;
    struct rest *all = ws__alloc(p->t->ctx, most + 1, sizeof(*all));
    int rc = all ? 0 : WS_ENOMEM;

    for (size_t i = 0; most && !rc && i < p->nshape; i++)
        rc = find_rest(p, p->shape[i], all, &n);
    if (!rc)
        qsort(all, n, sizeof(*all), by_excess);
    for (size_t i = 0; !rc && i < n && i < p->round && p->queued < p->budget;
         i++)
        enqueue(p, all[i].x.shape, all[i].x.config);
    ws__free(p->t->ctx, all);
    p->first = p->queued;
    p->npool = 0;
    return rc;
}

/* One pair more in the queue, unless nothing is free. */
static int choose(struct ws__wave_plan *p)
{
    size_t x;

    if (!free_pairs(p))
        return 0;
    if (!p->npool || p->queued - p->first == p->round) {
        WS_TRY(refit(p, REFIT_STEPS));
        WS_TRY(make_pool(p));
    }
    x = best_point(p);
    if (x == p->npool && p->queued > p->first) {
        WS_TRY(refit(p, REFIT_STEPS)); /* another pool may have some */
        WS_TRY(make_pool(p));
        x = best_point(p);
    }
    if (x < p->npool)
        take_point(p, x);
    return x < p->npool ? 0 : take_rest(p);
}

/* Pairs that were told, or barred, after they came into the queue. */
static void skip_stale(struct ws__wave_plan *p)
{
    while (p->asked < p->queued) {
        const struct ws__wave_point *x = &p->queue[p->asked];
        size_t at = x->shape * p->t->nconfig + x->config;

        if (!p->known[at] && p->taken[at] != BARRED)
            return;
        p->queued--;
        memmove(p->queue + p->asked, p->queue + p->asked + 1,
                (p->queued - p->asked) * sizeof(*p->queue));
        p->first = p->first < p->queued ? p->first : p->queued;
    }
}

int ws__wave_plan_next(struct ws__wave_plan *p, uint32_t *shape,
                       uint32_t *config)
{
    if (p->asked == p->budget)
        return WS_EDONE;
    skip_stale(p);
    if (p->asked == p->queued) {
        WS_TRY(choose(p));
        if (p->asked == p->queued)
            return WS_EDONE;
    }
    *shape = p->queue[p->asked].shape;
    *config = p->queue[p->asked++].config;
    return 0;
}

int ws__wave_plan_tell(struct ws__wave_plan *p, const struct ws__wave_sample *s)
{
    size_t at = s->shape * p->t->nconfig + s->config;

    if (p->known[at])
        return 0;
    WS_TRY(ws__grow(p->t->ctx, (void **)&p->sample, &p->sample_cap, p->told,
                    sizeof(*p->sample)));
    for (size_t q = p->first; q < p->asked; q++)
        if (p->queue[q].shape == s->shape && p->queue[q].config == s->config)
            learn(p, q - p->first, s);
    p->known[at] = 1;
    if (!p->taken[at])
        p->taken[at] = 1;
    p->best[s->shape] = fmin(p->best[s->shape], s->log_ns);
    p->sample[p->told++] = *s;
    return 0;
}

void ws__wave_plan_bar(struct ws__wave_plan *p, uint32_t config)
{
    for (size_t i = 0; i < p->t->nshape; i++)
        p->taken[i * p->t->nconfig + config] = BARRED;
}

int ws__wave_plan_model(struct ws__wave_plan *p,
                        const struct ws__wave_model **out)
{
    if (!p->model || p->modelled != p->told)
        WS_TRY(refit(p, 0));
    *out = p->model;
    return 0;
}

const struct ws__wave_sample *
ws__wave_plan_samples(const struct ws__wave_plan *p, size_t *n)
{
    *n = p->told;
    return p->sample;
}
