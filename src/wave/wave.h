/*
 * wave.h: the wave model: how long a config takes on a shape, from few timings.
 *
 * A table is the problem before anything is timed: shapes, configs, and for
 * each pair the coordinates that the formula of runtime/wsrt_wave.h sees. A
 * fit turns samples (times of some pairs) into a model: constants of the
 * formula, found under priors, and a Gaussian process over what the formula
 * leaves. A plan says which pairs to time next. All of it is pure arithmetic,
 * deterministic, and knows neither devices nor files.
 *
 * docs/wave.md explains the model. Logarithms are natural unless a name says
 * log2; times are nanoseconds.
 *
 * A table belongs to its maker and is constant while used; models and plans
 * are used by one thread at a time. Functions return 0, WS_ENOMEM, or what
 * they say.
 */
#ifndef WS_WAVE_H
#define WS_WAVE_H

#include "base/hash.h"
#include "base/mem.h"
#include "wsrt_wave.h"

#define WS__WAVE_FEATURES 64 /* of a config: one a parameter */

/* A device, as data sheets have it. 0 where a device has no such unit, or a
 * figure is not known. */
struct ws__wave_sheet {
    const char *name;
    const char *words;    /* all of them are in the name that drivers give */
    double units;         /* multiprocessors */
    double mhz;           /* their highest clock */
    double dram_gbs;      /* device memory, read and write, GB/s */
    double cache_bytes;   /* last level */
    double matrix_tflops; /* dense, of 16-bit floats; 0: no such units */
    double vector_tflops; /* float32, beside the matrix units */
    double watts;         /* of the board, at most */
    double nm;            /* its process */
    double vector_bytes;  /* that one instruction of a thread works on */
    bool is_cpu;
    bool vague; /* made up from little: the priors are wide */
};
/* NULL: not known. The first is the one the priors were made on. */
const struct ws__wave_sheet *ws__wave_sheet_find(const char *name);
/* The sheet of a device as its driver names it ("NVIDIA H200"); else a vague
 * one of its kind, with the driver's own figures (0: unknown). */
struct ws__wave_device {
    const char *name;
    double units, cache_bytes, vector_bytes;
    bool is_cpu;
};
struct ws__wave_sheet ws__wave_sheet_of(const struct ws__wave_device *d);
extern const struct ws__wave_sheet ws__wave_sheets[];
extern const size_t ws__wave_nsheet;

/* What the constants of a config depend on, all known without timing. */
enum ws__wave_engine { WS__ENGINE_VECTOR, WS__ENGINE_MMA, WS__ENGINE_WGMMA };

struct ws__wave_config {
    double rows, columns, depth; /* of a tile and a step; 0: unknown */
    double warps, stages;        /* of a block */
    double accumulators;         /* elements a block; 0: unknown */
    enum ws__wave_engine engine;
    bool spread;        /* warps divide columns, not rows */
    uint32_t occupancy; /* 0: unknown */
    uint32_t macro; /* the same: grid and loop are the same on every shape */
    double feature[WS__WAVE_FEATURES]; /* scaled: a distance of 1 is far */
};

struct ws__wave_pair {
    int64_t coord[WSRT_NWAVE];
    bool feasible;
};

struct ws__wave_table {
    struct ws_ctx *ctx;
    struct ws__wave_sheet sheet;
    bool balanced; /* blocks of unequal length, the longest first */
    size_t nshape, nconfig, naxis, nfeature;
    const int64_t *axis; /* shape * naxis + axis: the varying ones */
    const struct ws__wave_config *config;
    const struct ws__wave_pair *pair; /* shape * nconfig + config */
};

/* A time of a pair. */
struct ws__wave_sample {
    uint32_t shape, config;
    double log_ns;
    double clock; /* of the multiprocessors, as a share of the sheet's; 1 if
                     unknown */
};

/* --- constants ----------------------------------------------------------- */

/* Id, name, prior centre, prior deviation, unit, and whether the prior is of
 * its logarithm (or of itself). Rates are those of an H200 at its highest
 * clock; other sheets scale them. */
#define WS__THETA_MAP(X)                                                       \
    X(START, "start", 4000, .5, "ns", true)                                    \
    X(WGMMA, "wgmma", 5000, .25, "flop/ns of a unit", true)                    \
    X(MMA, "mma", 3000, .4, "flop/ns of a unit", true)                         \
    X(VECTOR, "vector", 164, .5, "op/ns of a unit", true)                      \
    X(FMA, "fma", 430, .25, "flop/ns of a unit", true)                         \
    X(LOAD, "load", 85, .25, "B/ns of a unit", true)                           \
    X(SHARED, "shared", 400, .4, "B/ns of a unit", true)                       \
    X(LATENCY, "latency", 900, .4, "ns a stage", true)                         \
    X(LATENCY_BYTE, "latency_byte", .002, .7, "ns/B of a step", true)          \
    X(BLOCK, "block", 1200, .5, "ns a block", true)                            \
    X(FILL, "fill", .0046, .5, "ns/B of a stage", true)                        \
    X(STORE, "store", 20, .6, "B/ns of a unit", true)                          \
    X(DRAM, "dram", 4200, .15, "B/ns", true)                                   \
    X(AGAIN, "again", 1, .5, "share", true)                                    \
    X(DISTINCT, "distinct", .6, .5, "factor", true)                            \
    X(HIDDEN, "hidden", .3, .5, "share", true)                                 \
    X(P, "p", 3, .2, "exponent", true)                                         \
    X(P_SHALLOW, "p_shallow", 1.3, .2, "exponent", true)                       \
    X(Q, "q", 2, .25, "exponent", true)                                        \
    X(SOFT, "soft", .15, .6, "per wave", true)                                 \
    X(PAD, "pad", .0156, .6, "ns a row and depth", true)                       \
    X(LINE, "line", 2600, .4, "B/ns", true)                                    \
    X(LINE_LOOP, "line_loop", .3, .2, "exponent", false)                       \
    X(LINE_DEPTH, "line_depth", .5, .2, "exponent", false)                     \
    X(LINE_COLUMNS, "line_columns", .3, .3, "log factor", false)               \
    X(AFTER, "after", 2500, .4, "ns", true)                                    \
    X(AFTER_BYTE, "after_byte", 1, .4, "of dram", true)                        \
    X(MASKED, "masked", .2, .8, "share of a step", true)                       \
    X(CROWD, "crowd", -.1, .1, "exponent", false)                              \
    X(SHALLOW, "shallow", .05, .05, "log factor", false)                       \
    X(SPILL, "spill", .4, .3, "log factor", false)                             \
    X(SPREAD, "spread", .2, .2, "log factor", false)                           \
    X(UNEVEN, "uneven", .08, .08, "log factor", false)                         \
    X(BY_ROWS, "by_rows", 0, .1, "exponent", false)                            \
    X(BY_COLUMNS, "by_columns", 0, .1, "exponent", false)                      \
    X(BY_WARPS, "by_warps", 0, .15, "log factor", false)                       \
    X(BY_DEPTH, "by_depth", 0, .15, "exponent", false)                         \
    X(DRAM_DEPTH, "dram_depth", .1, .08, "exponent", false)

enum ws__theta {
#define WS_X(id, name, centre, sd, unit, log) WS__T_##id,
    WS__THETA_MAP(WS_X)
#undef WS_X
        WS__NTHETA
};
struct ws__wave_model;

/* What the fitted numbers are thought to be, and how far they may be off. */
struct ws__wave_belief {
    double centre[WS__NTHETA], sd[WS__NTHETA];
};
/* Of a device of which there is a sheet and no time. */
void ws__wave_prior(const struct ws__wave_sheet *sheet,
                    struct ws__wave_belief *out);
/* What a model of one device says of another: the fitted numbers keep their
 * distance from their sheet's centres. Wider than they are known there, for a
 * part of what was learnt is of that device. */
void ws__wave_carry(const struct ws__wave_model *from,
                    const struct ws__wave_sheet *to,
                    struct ws__wave_belief *out);
const char *ws__theta_name(enum ws__theta t);
const char *ws__theta_unit(enum ws__theta t);
bool ws__theta_is_log(enum ws__theta t);
/* The constant itself. */
double ws__theta_value(enum ws__theta t, double fitted);

/* The formula's constants. clock: as in a sample. The form's weights are 0. */
void ws__wave_law(const struct ws__wave_table *t, const double *theta,
                  struct wsrt_wave_law *out);
void ws__wave_form(const struct ws__wave_config *c, const double *theta,
                   double clock, struct wsrt_wave_form *out);

/* --- models -------------------------------------------------------------- */

struct ws__wave_opts {
    unsigned steps;                      /* of the fit, at most; 0: 25 */
    const struct ws__wave_belief *prior; /* NULL: of the table's sheet */
};

/* Fits. n may be 0: the priors. `start` (may be NULL): a model of the same
 * table to begin from. */
int ws__wave_fit(const struct ws__wave_table *t,
                 const struct ws__wave_sample *sample, size_t n,
                 const struct ws__wave_opts *opts,
                 const struct ws__wave_model *start,
                 struct ws__wave_model **out);
void ws__wave_model_free(struct ws__wave_model *m); /* NULL: no-op */
struct ws__wave_point {
    uint32_t shape, config;
};
/* Predicted log ns of all configs on a shape (nconfig of them; infeasible
 * pairs get infinity), at full clock. */
int ws__wave_predict(const struct ws__wave_model *m, size_t shape,
                     double *log_ns);
/* Deviation of the prediction of one feasible pair. */
int ws__wave_deviation(const struct ws__wave_model *m, struct ws__wave_point x,
                       double *sd);
/* Joint posterior of n feasible pairs: means, and covariances (n * n). */
int ws__wave_posterior(const struct ws__wave_model *m, size_t n,
                       const struct ws__wave_point *x, double *mean,
                       double *covariance);
extern const double ws__wave_noise; /* variance of one time's logarithm */
/* The same model without the process: its effect folded into the weights of
 * the forms, one set a config. Predictions of `law` and `form` approximate
 * ws__wave_predict. form: nconfig of them. allowed: the shapes that the process
 * is asked about, as for a plan. */
int ws__wave_distil(const struct ws__wave_model *m,
                    const unsigned char *allowed, struct wsrt_wave_law *law,
                    struct wsrt_wave_form *form);

/* How far below the default's a config's time has to be predicted for the
 * default to be left: `deviations` of the difference of the two, as the model
 * knows them, the root mean square over shapes (allowed: as for a plan). Q20
 * log2, of each config; 0 for the default, and where the two are never both
 * feasible. For `margin` of packs. */
int ws__wave_margin(const struct ws__wave_model *m, size_t dflt,
                    double deviations, const unsigned char *allowed,
                    int32_t *margin);

const double *ws__wave_theta(const struct ws__wave_model *m);
/* How sure they are: deviations after the samples. */
void ws__wave_theta_sd(const struct ws__wave_model *m, double sd[WS__NTHETA]);
/* How well it fits what it saw: root mean squares of residuals, and the share
 * of the process that is used. */
struct ws__wave_quality {
    size_t n, failed; /* samples with a time, and those without */
    double formula_rms, left_out_rms, gate;
    size_t outliers;
};
void ws__wave_quality(const struct ws__wave_model *m,
                      struct ws__wave_quality *out);
/* Why not to trust it much: what its samples cannot have told. NULL: nothing.
 */
const char *ws__wave_warning(const struct ws__wave_model *m);

/* --- plans --------------------------------------------------------------- */

/* Which pairs to time: first `spread` ones that are far from one another, then
 * those that are worth most to decisions, until there are `budget`.
 * Deterministic for a seed. */
struct ws__wave_plan;
struct ws__wave_plan_opts {
    const unsigned char *allowed; /* a byte a shape, 0: none of its pairs; NULL:
                                     all shapes. It must outlive the plan */
    size_t budget;                /* 0: all pairs */
    size_t spread;                /* 0: a share of the budget */
    bool improve; /* every second pair is one that may itself beat what is
                     known of its shape: for those who use what was timed,
                     rather than the model */
    const struct ws__wave_belief *prior; /* as of a fit; it must outlive the
                                            plan */
    bool anchors; /* WaveTune's order, for comparison: no model is asked */
    uint64_t seed;
};
int ws__wave_plan_new(const struct ws__wave_table *t,
                      const struct ws__wave_plan_opts *opts,
                      struct ws__wave_plan **out);
void ws__wave_plan_free(struct ws__wave_plan *p);
/* The next pair to time: 0, or WS_EDONE: the budget is spent or nothing is
 * left. */
int ws__wave_plan_next(struct ws__wave_plan *p, uint32_t *shape,
                       uint32_t *config);
/* A time, of any pair; what is told of a pair again is left out. clock as in a
 * sample. A failed pair: log_ns infinity. */
int ws__wave_plan_tell(struct ws__wave_plan *p,
                       const struct ws__wave_sample *s);
/* No pair of this config is asked any more. */
void ws__wave_plan_bar(struct ws__wave_plan *p, uint32_t config);
/* All that was told, and the latest model (made if none is). */
int ws__wave_plan_model(struct ws__wave_plan *p,
                        const struct ws__wave_model **out);
const struct ws__wave_sample *
ws__wave_plan_samples(const struct ws__wave_plan *p, size_t *n);

/* log2 with 20 fraction bits as a natural logarithm. */
double ws__wave_log_ns(int32_t log2_20);

/* How far two shapes are from one another: the sum over the axes of the squared
 * log2 ratio. */
double ws__wave_apart(const struct ws__wave_table *t, size_t a, size_t b);

/* WaveTune's order of all pairs of the allowed shapes: out has room for nshape
 * * nconfig. And the number of waves that it counts by: without occupancy, all
 * beyond WS__WAVE_COUNTS as one. */
#define WS__WAVE_COUNTS 8
int ws__wave_anchors(const struct ws__wave_table *t,
                     const unsigned char *allowed, struct ws__rng *rng,
                     struct ws__wave_point *out, size_t *n);
unsigned ws__wave_count(const struct ws__wave_table *t, size_t pair);
void ws__wave_shuffle(struct ws__rng *rng, uint32_t *v, size_t n);

/* --- linear algebra, of one folder -------------------------------------- */

double ws__dot(const double *a, const double *b, size_t n);
/* Lower factor of a symmetric positive definite matrix in place (row-major,
 * n * n); false: it is not. */
bool ws__cholesky(double *a, size_t n);
/* Solves L x = b, and L^T x = b, in place. */
void ws__solve_lower(const double *l, size_t n, double *b);
void ws__solve_upper(const double *l, size_t n, double *b);

#endif
