/*
 * gp.h: a Gaussian process on the points of a grid.
 *
 * It learns a function of points from values at some of them, and says at any
 * other what it expects and how sure it is. A point is one level of every
 * axis. How alike two points are is a product over the axes,
 *
 *     k(a, b) = product of (1 + w m(|a - b| / l)) / (1 + w),
 *
 * m being Matern's correlation (nu = 5/2): written out, the sum of all
 * interactions of axes (Duvenaud, Nickisch and Rasmussen, "Additive Gaussian
 * processes", 2011). Two points that differ in one axis of small weight stay
 * alike; so few values say something about the whole grid, which a plain
 * product of m forgets as soon as one axis differs. Lengths, weights and noise
 * are those of the greatest posterior density.
 *
 * Everything is sums in a fixed order: same input, same bits. A process is for
 * one thread at a time.
 */
#ifndef WS_GP_H
#define WS_GP_H

#include <stdint.h>

#include "base/mem.h"

#define WS__GP_LEVELS 64
#define WS__GP_AXES 128

struct ws__gp_axis {
    unsigned n;               /* levels, 1 to WS__GP_LEVELS */
    bool nominal;             /* levels are alike or not, without order */
    double at[WS__GP_LEVELS]; /* their places in 0 .. 1; not if nominal */
};

struct ws__gp_axes {
    struct ws__gp_axis axis[WS__GP_AXES];
    size_t n;
};

/* What is learnt, as natural logarithms: the length of axis i at i, its weight
 * at WS__GP_AXES + i, the variance of the noise at the end. */
struct ws__gp_theta {
    double at[2 * WS__GP_AXES + 1];
};

/* Known values: rows have a level for every axis, y has mean 0 and standard
 * deviation 1. */
struct ws__gp_data {
    const uint8_t *const *row;
    const double *y;
    size_t n;
};

struct ws__gp_view {
    double mean, bound; /* bound: mean - kappa * standard deviation */
    double near;        /* sum over the known points of k squared */
};

struct ws__gp;

/* For that many axes and known values. NULL: out of memory, error set. */
struct ws__gp *ws__gp_new(struct ws_ctx *ctx, size_t max_axes,
                          size_t max_points);
void ws__gp_free(struct ws__gp *gp); /* NULL: nothing */
/* What is thought before anything is known. */
void ws__gp_prior(struct ws__gp_theta *out);
/* Improves *theta by `steps` steps: a local maximum is near after some ten. */
void ws__gp_learn(struct ws__gp *gp, const struct ws__gp_axes *axes,
                  const struct ws__gp_data *data, unsigned steps,
                  struct ws__gp_theta *theta);
/* From now on it knows `data`, which stays the caller's and must stay there,
 * as the axes must. */
void ws__gp_condition(struct ws__gp *gp, const struct ws__gp_axes *axes,
                      const struct ws__gp_data *data,
                      const struct ws__gp_theta *theta);
/* What is expected at a point. If the bound is certain not to be below `limit`
 * it stops early, and bound is a number that is not below it either. */
void ws__gp_view(struct ws__gp *gp, const uint8_t *at, double kappa,
                 double limit, struct ws__gp_view *out);
/* k of two points, by the last theta conditioned with. */
double ws__gp_alike(const struct ws__gp *gp, const uint8_t *a,
                    const uint8_t *b);

#endif
