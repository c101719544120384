/* belief.c: see belief.h. */
#include "search/belief.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

/* Shares of an idea's variance: its axis, itself, the regime. */
#define SHARE_AXIS 0.25
#define SHARE_IDEA 0.5
#define SHARE_REGIME 0.25

/* The catalogue's expectations are multiplied by a number that is 1 at first,
 * with this variance: one that promises too much is believed less. */
#define SCALE_VAR 0.25

int ws__belief_open(struct ws__belief *b, struct ws_ctx *ctx)
{
    memset(b, 0, sizeof(*b));
    b->ctx = ctx;
    b->seen = ws__alloc(ctx, WS__BELIEF_MAX, sizeof(*b->seen));
    b->value = ws__alloc(ctx, WS__BELIEF_MAX, sizeof(double));
    b->noise = ws__alloc(ctx, WS__BELIEF_MAX, sizeof(double));
    b->weight = ws__alloc(ctx, WS__BELIEF_MAX, sizeof(double));
    b->room = ws__alloc(ctx, WS__BELIEF_MAX, sizeof(double));
    b->factor = ws__alloc(ctx, WS__BELIEF_MAX * (WS__BELIEF_MAX + 1) / 2,
                          sizeof(double));
    return b->seen && b->value && b->noise && b->weight && b->room && b->factor
               ? 0
               : WS_ENOMEM;
}

void ws__belief_close(struct ws__belief *b)
{
    ws__free(b->ctx, b->seen);
    ws__free(b->ctx, b->value);
    ws__free(b->ctx, b->noise);
    ws__free(b->ctx, b->weight);
    ws__free(b->ctx, b->room);
    ws__free(b->ctx, b->factor);
}

static double covariance(const struct ws__subject *a,
                         const struct ws__subject *b)
{
    double share = 0;

    if (a->axis == b->axis)
        share += SHARE_AXIS;
    if (a->idea == b->idea)
        share += SHARE_IDEA;
    if (a->idea == b->idea && a->regime == b->regime)
        share += SHARE_REGIME;
    return share * a->sd * b->sd + SCALE_VAR * a->mean * b->mean;
}

static double *row_of(const struct ws__belief *b, size_t i)
{
    return b->factor + i * (i + 1) / 2;
}

/* room = L^-1 k, k being what the subject shares with the first n. */
static void project(const struct ws__belief *b, const struct ws__subject *s,
                    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double *row = row_of(b, i);
        double sum = covariance(&b->seen[i], s);

        for (size_t k = 0; k < i; k++)
            sum -= row[k] * b->room[k];
        b->room[i] = sum / row[i];
    }
}

void ws__belief_view(const struct ws__belief *b, const struct ws__subject *s,
                     double *mean, double *sd)
{
    double var = covariance(s, s), sum = s->mean;

    project(b, s, b->n);
    for (size_t i = 0; i < b->n; i++) {
        sum += b->room[i] * b->weight[i];
        var -= b->room[i] * b->room[i];
    }
    *mean = sum;
    *sd = sqrt(fmax(var, 0));
}

void ws__belief_prior(const struct ws__subject *s, double *mean, double *sd)
{
    *mean = s->mean;
    *sd = sqrt(covariance(s, s));
}

/* Appends attempt i to the factor, and to L^-1 (value - mean). */
static void append(struct ws__belief *b, size_t i)
{
    const struct ws__subject *s = &b->seen[i];
    double *row = row_of(b, i);
    double var = covariance(s, s) + b->noise[i] * b->noise[i];
    double rest = b->value[i] - s->mean;

    project(b, s, i);
    for (size_t k = 0; k < i; k++) {
        row[k] = b->room[k];
        var -= row[k] * row[k];
        rest -= row[k] * b->weight[k];
    }
    row[i] = sqrt(fmax(var, 1e-9));
    b->weight[i] = rest / row[i];
}

void ws__belief_learn(struct ws__belief *b, const struct ws__subject *s,
                      double value, double noise)
{
    size_t half = WS__BELIEF_MAX / 2;

    if (b->n == WS__BELIEF_MAX) { /* the older half is forgotten */
        memmove(b->seen, b->seen + half, half * sizeof(*b->seen));
        memmove(b->value, b->value + half, half * sizeof(double));
        memmove(b->noise, b->noise + half, half * sizeof(double));
        for (b->n = 0; b->n < half; b->n++)
            append(b, b->n);
    }
    b->seen[b->n] = *s;
    b->value[b->n] = value;
    b->noise[b->n] = fmax(noise, 1e-3);
    append(b, b->n);
    b->n++;
}
