/*
 * belief.h: what is expected of ideas, and how sure that is.
 *
 * The effect of an idea is the logarithm of the factor by which the best time
 * shrinks where it is tried. It is a sum of three independent Gaussians: what
 * the ideas of an axis share (they may be overrated as a class), what is the
 * idea's own, and what is so in one regime only. So an attempt says most about
 * the same idea in the same regime, something about it elsewhere, and a little
 * about its siblings. Means of the idea's own part are the catalogue's. The
 * posterior is exact: a Gaussian process on (axis, idea, regime).
 *
 * That the catalogue promises too much, or too little, as a whole is learnt the
 * same way: its means share a factor that is 1, give or take.
 */
#ifndef WS_BELIEF_H
#define WS_BELIEF_H

#include "base/mem.h"

#define WS__BELIEF_MAX 512 /* attempts that are remembered: the latest */

struct ws__subject {
    uint32_t axis, idea, regime;
    double mean, sd; /* before anything was tried */
};

struct ws__belief {
    struct ws_ctx *ctx;
    struct ws__subject *seen;
    double *value, *noise; /* of attempts */
    double *factor;        /* Cholesky's, row by row, n (n + 1) / 2 */
    double *weight, *room; /* weight: solved; room: one row */
    size_t n;
};

/* 0 or WS_ENOMEM; ends with _close in either case. */
int ws__belief_open(struct ws__belief *b, struct ws_ctx *ctx);
void ws__belief_close(struct ws__belief *b);
void ws__belief_view(const struct ws__belief *b, const struct ws__subject *s,
                     double *mean, double *sd);
/* The same before anything was tried. */
void ws__belief_prior(const struct ws__subject *s, double *mean, double *sd);
/* An attempt had this effect, known to that standard deviation. */
void ws__belief_learn(struct ws__belief *b, const struct ws__subject *s,
                      double value, double noise);

#endif
