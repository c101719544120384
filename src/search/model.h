/*
 * model.h: what is expected of the configs of a kernel, from those timed.
 *
 * A Gaussian process (gp.h) of the logarithm of the time, for strategies that
 * think before they ask:
 *
 * - Times above the median count as the median. What is slow need not be told
 *   apart, and a few times that are a hundred times the best would otherwise
 *   bend everything.
 * - A config that failed counts as the median, too, so that the model turns
 *   away; and since others near it are likely to fail, how much of what is
 *   known near a config failed is added to its bound.
 * - A question that is not answered yet counts as if the answer were what the
 *   model expects (Desautels et al., 2014). So nobody need wait.
 *
 * Memory and time are bounded: a model knows at most WS__MODEL_POINTS points,
 * the better half of them the best, and learns from half as many.
 *
 * Models share one modeller, which holds the model of the moment. Neither is
 * for two threads at a time.
 */
#ifndef WS_MODEL_H
#define WS_MODEL_H

#include "search/gp_axes.h"

#define WS__MODEL_POINTS 256
#define WS__MODEL_KAPPA 1.5 /* standard deviations of a bound */
#define WS__MODEL_FIRST 8   /* points before it has something to say */

enum ws__point_state { WS__POINT_OPEN, WS__POINT_OK, WS__POINT_FAILED };

struct ws__point {
    struct ws__config config;
    double y; /* logarithm of the time; OPEN: as expected, or NAN */
    enum ws__point_state state;
};

struct ws__model {
    const struct ws__param_axes *axes;
    struct ws__point *point; /* in the order they came */
    uint8_t *row;            /* of every point */
    size_t n, cap, row_cap;
    size_t ok, learnt; /* learnt: from so many */
    struct ws__gp_theta theta;
};

struct ws__ranked {
    double y;
    size_t point;
};

struct ws__modeller {
    struct ws_ctx *ctx;
    struct ws__gp *gp;
    struct ws__ranked *ranked; /* points of the model of the moment, best first
                                */
    size_t nranked, ranked_cap;
    double median;
    const uint8_t *row[WS__MODEL_POINTS];
    double y[WS__MODEL_POINTS], mean, sd;
};

/* For models of at most so many axes. 0 or WS_ENOMEM; ends with _close in
 * either case. */
int ws__modeller_open(struct ws__modeller *o, struct ws_ctx *ctx,
                      size_t max_axes);
void ws__modeller_close(struct ws__modeller *o);

/* Zeroed memory becomes a model that knows nothing. The axes stay the
 * caller's. */
void ws__model_open(struct ws__model *m, const struct ws__param_axes *axes);
void ws__model_close(struct ws_ctx *ctx, struct ws__model *m);
/* A point that it does not have. 0 or WS_ENOMEM. */
int ws__model_add(struct ws_ctx *ctx, struct ws__model *m,
                  const struct ws__config *c, double y,
                  enum ws__point_state state);
/* What became of a config: of a point that is open, or of a new one. */
int ws__model_tell(struct ws_ctx *ctx, struct ws__model *m,
                   const struct ws__config *c, double y,
                   enum ws__point_state state);
/* Enough is known for a model. */
bool ws__model_ready(const struct ws__model *m);
/* Makes it the modeller's, and learns if there is a tenth more to learn from.
 * It is ready. */
int ws__model_make(struct ws__modeller *o, struct ws__model *m);
/* Of the model made last: is there a bound (expectation less KAPPA standard
 * deviations, more where configs failed) below the limit? Then sets
 * both. In logarithms. */
bool ws__model_below(struct ws__modeller *o, const struct ws__model *m,
                     const struct ws__config *c, double limit, double *bound,
                     double *expected);
/* How far a config is from the nearest of the latest points. */
double ws__model_apart(const struct ws__model *m, const struct ws__config *c);

#endif
