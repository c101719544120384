/*
 * wave_judge.h: how well a method chooses, on timings where the best is known.
 *
 * A method spends a budget of cells on the shapes of the fit part, then chooses
 * one config for each held-out shape from what is known of it before anything
 * is timed. Its choices are judged on other timings than those that it saw.
 */
#ifndef WS_WAVE_JUDGE_H
#define WS_WAVE_JUDGE_H

#include "wave/wave.h"

enum ws__judge_method {
    WS__JUDGE_WAVE,
    WS__JUDGE_BILINEAR, /* WaveTune as published */
    WS__JUDGE_NEAREST,  /* the best of the nearest shape timed whole */
    WS__JUDGE_SINGLE,   /* one config for all */
    WS__JUDGE_RANDOM    /* any feasible config */
};

enum ws__judge_part { WS__PART_DRAWN, WS__PART_FIT, WS__PART_HELD };

/* Arrays over shape * nconfig + config, 0 where there is no time; all shapes,
 * held-out ones too, are of one table. */
struct ws__judge_data {
    const struct ws__wave_table *table;
    const double *log_ns, *clock; /* what buying a cell gives */
    const double *first_ns; /* one pass of it: what timing the top 3 gives */
    const double *truth_ns;
    const uint32_t *group;           /* of each shape */
    const enum ws__judge_part *part; /* of each shape */
    size_t ngroup, dflt;             /* dflt nconfig: it was not timed */
};

struct ws__judge_opts {
    enum ws__judge_method method;
    double share; /* of the feasible pairs of the fit part; or */
    size_t cells; /* this many, if `share` is below 0 */
    double held;  /* share of shapes that is drawn to be held out */
    uint64_t seed;
    bool full;     /* ask the process itself, not its weights */
    double margin; /* of `wave`: the default is left only for what is predicted
                      below it by so many deviations; 0: for anything */
};

struct ws__judge_result {
    double mean_best_over_chosen;
    double regret_mean, regret_p95, regret_worst;
    double within_5pct, below_default; /* shares of the held-out shapes */
    double below_default_worst; /* the largest loss against the default */
    double below_margin; /* share that lose more against it than the margin */
    double left_default; /* share whose choice is another one */
    double top3_mean_best_over_chosen;
    double error_median, error_p95; /* |predicted / true - 1|; 0: none */
    size_t cells, pairs, fit_shapes, held_shapes, worst_shape;
    uint32_t worst_config, worst_best; /* of the worst shape */
    const char *warning;               /* of the model; NULL: none */
};

/* WS_EINVAL: nothing to fit on or to judge. The choice of each held-out shape
 * goes into `chosen` (nshape, may be NULL; UINT32_MAX: not held out). */
int ws__judge(const struct ws__judge_data *d, const struct ws__judge_opts *o,
              uint32_t *chosen, struct ws__judge_result *out);

/* --- another device ------------------------------------------------------ */

struct ws__transfer_opts {
    const struct ws__wave_belief *prior; /* NULL: of the sheet */
    size_t cells;
    uint64_t seed;
};
struct ws__transfer_result {
    double error_median, error_p95; /* |predicted / true - 1| */
    double bias;                    /* geometric mean of predicted / true */
    size_t cells, pairs;            /* bought, and judged: all others */
    size_t choices; /* shapes with two pairs or more that were not bought */
    double mean_best_over_chosen, regret_mean, regret_p95, regret_worst;
};
/* What a model says of a table after `cells` of it. WS_EINVAL: no pair is
 * left to judge. Parts and groups of shapes do not matter here. */
int ws__judge_transfer(const struct ws__judge_data *d,
                       const struct ws__transfer_opts *o,
                       struct ws__transfer_result *out);
/* The share q of the way through n numbers, which it sorts; 0 of none. */
double ws__judge_quantile(double *v, size_t n, double q);

/* --- of one folder: a method's scores --- */

#define WS__JUDGE_UNKNOWN 1e30 /* the score where nothing is known */
/* Scores of all configs on a held-out shape, lower is better; `log`: they are
 * log ns. */
struct ws__judge_state {
    const struct ws__judge_data *d;
    const struct ws__judge_opts *o;
    struct ws__rng rng;
    unsigned char *fit; /* a byte a shape */
    size_t budget, cells;
    double *score; /* shape * nconfig + config */
    bool log;
    int32_t *margin; /* of each config, log2 Q20; NULL: none is asked for */
    const char *warning;
};
/* For those who fit on all shapes but the held-out parts and judge nothing: d
 * and o are set. Closed also after a failure. */
int ws__judge_open(struct ws__judge_state *s);
void ws__judge_close(struct ws__judge_state *s);
/* The wave model's plan with its budget spent. */
int ws__judge_plan(struct ws__judge_state *s, struct ws__wave_plan **out);

int ws__judge_wave(struct ws__judge_state *s);
int ws__judge_bilinear(struct ws__judge_state *s);
int ws__judge_nearest(struct ws__judge_state *s);
int ws__judge_single(struct ws__judge_state *s);
int ws__judge_random(struct ws__judge_state *s);

/* --- wave_bilinear.c: what its tables say --- */

#define WS__BILINEAR_TERMS 4 /* a G L + b G + c L + d */
/* A row of table A; the last number of waves means that many or more. */
struct ws__bilinear_bucket {
    uint32_t macro; /* the first config of it */
    unsigned wave;
    size_t samples;
    double c[WS__BILINEAR_TERMS];
};
struct ws__bilinear_view {
    struct ws__bilinear_bucket *bucket; /* freed by the caller */
    size_t nbucket;
    /* Of the shape that was asked for: */
    uint32_t chosen, config, micro;    /* micro: of table B, for `config`'s
                                          macro config; UINT32_MAX: none */
    double grid, loop, micro_loop, ns; /* ns 0: nothing is known */
    unsigned wave, used;               /* used: the bucket that answers */
    double c[WS__BILINEAR_TERMS];
};
/* An opened state. shape SIZE_MAX: none; config UINT32_MAX: the chosen one. */
int ws__bilinear_explain(struct ws__judge_state *s, size_t shape,
                         uint32_t config, struct ws__bilinear_view *out);

#endif
