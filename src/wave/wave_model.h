/* wave_model.h: private to the folder: a fitted model. */
#ifndef WS_WAVE_MODEL_H
#define WS_WAVE_MODEL_H

#include "wave/wave.h"

/* Samples that a process conditions on, at most: its cost grows by the cube.
 * Of more, an even share is taken. */
#define WS__WAVE_PROCESS_MAX 1600

/* The coordinates of a pair in which residuals are alike. */
struct ws__wave_place {
    double at[4];
};

struct ws__wave_model {
    const struct ws__wave_table *t;
    struct ws__wave_belief prior;
    double theta[WS__NTHETA];
    struct wsrt_wave_law law;    /* at full clock */
    struct wsrt_wave_form *form; /* of the configs, at full clock */
    double *like_config;         /* nconfig * nconfig: 1 is the same */
    double *like_shape;          /* nshape * nshape */
    size_t n;                    /* samples */
    struct ws__wave_sample *sample;
    struct ws__wave_place *place;
    double *formula; /* log ns of the formula, at the samples' clocks */
    double *factor;  /* n * n: of the samples' covariance */
    double *alpha;   /* its inverse times the residuals */
    /* With one constant a step further: a law each, and nconfig forms. */
    struct wsrt_wave_law *law_by;
    struct wsrt_wave_form *form_by;
    double *slope; /* NTHETA * n: of the formula by the constants, whitened */
    double sure[WS__NTHETA * WS__NTHETA]; /* factor of the constants' inverse
                                             covariance */
    struct ws__wave_quality quality;
};

/* Formula alone, log ns: of one config's form, and of constants. */
double ws__wave_log_time(const struct ws__wave_table *t,
                         const struct wsrt_wave_law *law,
                         const struct wsrt_wave_form *form, size_t shape,
                         size_t config);
double ws__wave_formula_at(const struct ws__wave_table *t, const double *theta,
                           uint32_t shape, uint32_t config, double clock);

/* --- wave_process.c: the Gaussian process over residuals --- */
int ws__wave_likeness(struct ws__wave_model *m);
void ws__wave_place(const struct ws__wave_model *m, uint32_t shape,
                    uint32_t config, struct ws__wave_place *out);
/* Covariance of the residuals of two pairs, without noise. */
double ws__wave_covariance(const struct ws__wave_model *m, uint32_t shape_a,
                           uint32_t config_a, const struct ws__wave_place *a,
                           uint32_t shape_b, uint32_t config_b,
                           const struct ws__wave_place *b);
/* The samples' covariance, factored; extra (may be NULL): more noise of each.
 */
int ws__wave_factor(struct ws__wave_model *m, const double *extra);
/* After the constants are fitted: outliers, gate, alpha. */
int ws__wave_condition(struct ws__wave_model *m);

/* --- wave_fit.c --- */
int ws__wave_fit_theta(struct ws__wave_model *m, unsigned steps);
/* After conditioning: how sure the constants are (slope, sure). */
int ws__wave_surety(struct ws__wave_model *m);
/* Slopes of one pair by each constant (NTHETA), at full clock. */
void ws__wave_slope(const struct ws__wave_model *m, uint32_t shape,
                    uint32_t config, double *out);

#endif
