/*
 * gp.c: see gp.h.
 *
 * Axes have few levels, so that every factor of k, and its derivatives, are
 * tables of level by level, made once for a theta. The scale of the function
 * is not a parameter: the most likely one is put in (with two values of size 1
 * added, lest few values that happen to be equal make it zero).
 *
 * Learning goes by the signs of the gradient alone, with a step size of its
 * own for every parameter (Riedmiller and Braun's Rprop, 1993): it needs no
 * line search, and cannot be thrown off by a likelihood that is steep
 * somewhere. Matrices are rows of max_points, of which the lower half is used.
 */
#include "search/gp.h"

#include <math.h>

#include "base/banned.h"

#define JITTER 1e-6 /* added to the diagonal for rounding's sake */

/* Priors of the logarithms: normal. Lengths of about an axis, weights of about
 * one, noise of a quarter percent of the variance. */
#define LENGTH_SD 1.0
#define WEIGHT_SD 1.5
#define NOISE_MEAN (-6.0)
#define NOISE_SD 1.0

/* Where logarithms are stopped. */
#define LENGTH_MIN (-3.0)
#define WEIGHT_MIN (-4.0)
#define NOISE_MIN (-11.0)
#define NOISE_MAX 0.0
#define THETA_MAX 4.0

#define STEP_FIRST 0.2
#define STEP_MIN 0.01
#define STEP_MAX 0.7

#define WEIGHT WS__GP_AXES
#define NOISE (2 * WS__GP_AXES)
#define NTHETA (NOISE + 1)

/* Where the factors of axis i begin in a table. */
#define AT(i) ((i) * (size_t)(WS__GP_LEVELS * WS__GP_LEVELS))

enum { FACTOR, BY_LENGTH, BY_WEIGHT, NTABLES };

struct ws__gp {
    struct ws_ctx *ctx;
    size_t max, n;
    const struct ws__gp_axes *axes;
    const uint8_t *const *row;
    double *table[NTABLES]; /* factors; derivatives of their logarithms */
    double *k;              /* learning: before the noise is added */
    double *chol;           /* lower triangle L of k + noise = L L' */
    double *inverse;        /* learning: row c is column c of L's inverse */
    double *alpha, *work;
    double scale; /* variance of the function */
};

void ws__gp_free(struct ws__gp *gp)
{
    if (!gp)
        return;
    for (size_t i = 0; i < NTABLES; i++)
        ws__free(gp->ctx, gp->table[i]);
    ws__free(gp->ctx, gp->k);
    ws__free(gp->ctx, gp->chol);
    ws__free(gp->ctx, gp->inverse);
    ws__free(gp->ctx, gp->alpha);
    ws__free(gp->ctx, gp->work);
    ws__free(gp->ctx, gp);
}

struct ws__gp *ws__gp_new(struct ws_ctx *ctx, size_t max_axes,
                          size_t max_points)
{
    struct ws__gp *gp = ws__alloc(ctx, 1, sizeof(*gp));
    bool complete = true;

    if (!gp)
        return NULL;
    gp->ctx = ctx;
    gp->max = max_points;
    gp->k = ws__alloc(ctx, max_points * max_points, sizeof(double));
    gp->chol = ws__alloc(ctx, max_points * max_points, sizeof(double));
    gp->inverse = ws__alloc(ctx, max_points * max_points, sizeof(double));
    gp->alpha = ws__alloc(ctx, max_points, sizeof(double));
    gp->work = ws__alloc(ctx, max_points, sizeof(double));
    for (size_t i = 0; i < NTABLES; i++) {
        gp->table[i] = ws__alloc(ctx, AT(max_axes), sizeof(double));
        if (!gp->table[i])
            complete = false;
    }
    if (complete && gp->k && gp->chol && gp->inverse && gp->alpha && gp->work)
        return gp;
    ws__gp_free(gp);
    return NULL;
}

void ws__gp_prior(struct ws__gp_theta *out)
{
    memset(out, 0, sizeof(*out));
    out->at[NOISE] = NOISE_MEAN;
}

/* --- correlation ---------------------------------------------------------- */

static double distance(const struct ws__gp_axis *x, size_t a, size_t b)
{
    if (x->nominal)
        return a != b;
    return fabs(x->at[a] - x->at[b]);
}

/* The factor of one axis at distance d, and the derivatives of its logarithm
 * by those of length and weight. */
static void factor(double d, double length, double weight, double *out)
{
    double s = sqrt(5.0) * d / length, e = exp(-s);
    double m = (1 + s + s * s / 3) * e, by = s * s * (1 + s) * e / 3;

    out[FACTOR] = (1 + weight * m) / (1 + weight);
    out[BY_LENGTH] = weight * by / (1 + weight * m);
    out[BY_WEIGHT] = weight * m / (1 + weight * m) - weight / (1 + weight);
}

static void tabulate(struct ws__gp *gp, const struct ws__gp_theta *theta)
{
    for (size_t i = 0; i < gp->axes->n; i++) {
        const struct ws__gp_axis *x = &gp->axes->axis[i];
        double length = exp(theta->at[i]);
        double weight = exp(theta->at[WEIGHT + i]);

        for (size_t a = 0; a < x->n; a++)
            for (size_t b = 0; b < x->n; b++) {
                double f[NTABLES];

                factor(distance(x, a, b), length, weight, f);
                for (size_t t = 0; t < NTABLES; t++)
                    gp->table[t][AT(i) + a * WS__GP_LEVELS + b] = f[t];
            }
    }
}

double ws__gp_alike(const struct ws__gp *gp, const uint8_t *a, const uint8_t *b)
{
    double k = 1;

    for (size_t i = 0; i < gp->axes->n; i++)
        k *= gp->table[FACTOR][AT(i) + a[i] * (size_t)WS__GP_LEVELS + b[i]];
    return k;
}

/* --- linear algebra ------------------------------------------------------- */

/* From the correlations of the known points: false if noise and rounding do
 * not leave a positive matrix. */
static bool factorise(struct ws__gp *gp, double noise)
{
    for (size_t i = 0; i < gp->n; i++) {
        double *row = gp->chol + i * gp->max;

        for (size_t j = 0; j <= i; j++) {
            const double *other = gp->chol + j * gp->max;
            double sum = gp->k[i * gp->max + j] + (i == j ? noise : 0);

            for (size_t c = 0; c < j; c++)
                sum -= row[c] * other[c];
            if (i == j && !(sum > 0))
                return false;
            row[j] = i == j ? sqrt(sum) : sum / other[j];
        }
    }
    return true;
}

static void correlate(struct ws__gp *gp)
{
    for (size_t i = 0; i < gp->n; i++)
        for (size_t j = 0; j <= i; j++)
            gp->k[i * gp->max + j] = ws__gp_alike(gp, gp->row[i], gp->row[j]);
}

/* alpha = (k + noise)^-1 y and the scale; returns the log likelihood, but for
 * a constant. */
static double solve(struct ws__gp *gp, const double *y)
{
    size_t n = gp->n;
    double fit = 0, volume = 0;

    for (size_t i = 0; i < n; i++) {
        const double *row = gp->chol + i * gp->max;
        double sum = y[i];

        for (size_t c = 0; c < i; c++)
            sum -= row[c] * gp->alpha[c];
        gp->alpha[i] = sum / row[i];
        fit += gp->alpha[i] * gp->alpha[i];
        volume += log(row[i]);
    }
    for (size_t i = n; i-- > 0;) {
        double sum = gp->alpha[i];

        for (size_t c = i + 1; c < n; c++)
            sum -= gp->chol[c * gp->max + i] * gp->alpha[c];
        gp->alpha[i] = sum / gp->chol[i * gp->max + i];
    }
    gp->scale = (fit + 2) / ((double)n + 2);
    return -0.5 * ((double)n + 2) * log(gp->scale) - volume;
}

static void invert(struct ws__gp *gp)
{
    for (size_t c = 0; c < gp->n; c++) {
        double *column = gp->inverse + c * gp->max;

        for (size_t i = c; i < gp->n; i++) {
            const double *row = gp->chol + i * gp->max;
            double sum = i == c;

            for (size_t j = c; j < i; j++)
                sum -= row[j] * column[j];
            column[i] = sum / row[i];
        }
    }
}

/* --- learning ------------------------------------------------------------- */

/* Adds the derivatives by the correlation of one pair of known points. */
static void add_pair(const struct ws__gp *gp, size_t i, size_t j, double noise,
                     double *gradient)
{
    const double *a = gp->inverse + i * gp->max;
    const double *b = gp->inverse + j * gp->max;
    double by = gp->alpha[i] * gp->alpha[j] / gp->scale, at;

    for (size_t c = i; c < gp->n; c++)
        by -= a[c] * b[c];
    if (i == j) { /* the correlation of a point with itself is always 1 */
        gradient[NOISE] += 0.5 * by * noise;
        return;
    }
    at = by * gp->k[i * gp->max + j];
    for (size_t x = 0; x < gp->axes->n; x++) {
        size_t place =
            AT(x) + gp->row[i][x] * (size_t)WS__GP_LEVELS + gp->row[j][x];

        gradient[x] += at * gp->table[BY_LENGTH][place];
        gradient[WEIGHT + x] += at * gp->table[BY_WEIGHT][place];
    }
}

static double add_prior(double value, double mean, double sd, double *gradient)
{
    double d = (value - mean) / sd;

    *gradient -= d / sd;
    return -0.5 * d * d;
}

/* The logarithm of the posterior density and its gradient; -infinity where it
 * cannot be computed. */
static double density(struct ws__gp *gp, const double *y,
                      const struct ws__gp_theta *theta, double *gradient)
{
    double noise = exp(theta->at[NOISE]), sum;

    tabulate(gp, theta);
    correlate(gp);
    if (!factorise(gp, noise + JITTER))
        return -INFINITY;
    sum = solve(gp, y);
    invert(gp);
    memset(gradient, 0, NTHETA * sizeof(*gradient));
    for (size_t i = 0; i < gp->n; i++)
        for (size_t j = 0; j <= i; j++)
            add_pair(gp, i, j, noise, gradient);
    for (size_t i = 0; i < gp->axes->n; i++) {
        sum += add_prior(theta->at[i], 0, LENGTH_SD, &gradient[i]);
        sum += add_prior(theta->at[WEIGHT + i], 0, WEIGHT_SD,
                         &gradient[WEIGHT + i]);
    }
    return sum +
           add_prior(theta->at[NOISE], NOISE_MEAN, NOISE_SD, &gradient[NOISE]);
}

static double clamp(size_t i, double value)
{
    double lo = i == NOISE ? NOISE_MIN : i >= WEIGHT ? WEIGHT_MIN : LENGTH_MIN;

    return fmin(fmax(value, lo), i == NOISE ? NOISE_MAX : THETA_MAX);
}

struct climb {
    double gradient[NTHETA], before[NTHETA], step[NTHETA];
};

static void step(struct climb *c, size_t i, double *value)
{
    double turn = c->gradient[i] * c->before[i];

    if (turn > 0)
        c->step[i] = fmin(c->step[i] * 1.3, STEP_MAX);
    else if (turn < 0)
        c->step[i] = fmax(c->step[i] * 0.5, STEP_MIN);
    if (c->gradient[i] > 0)
        *value = clamp(i, *value + c->step[i]);
    else if (c->gradient[i] < 0)
        *value = clamp(i, *value - c->step[i]);
    c->before[i] = c->gradient[i];
}

static void know(struct ws__gp *gp, const struct ws__gp_axes *axes,
                 const struct ws__gp_data *data)
{
    gp->axes = axes;
    gp->row = data->row;
    gp->n = data->n;
}

void ws__gp_learn(struct ws__gp *gp, const struct ws__gp_axes *axes,
                  const struct ws__gp_data *data, unsigned steps,
                  struct ws__gp_theta *theta)
{
    struct ws__gp_theta at = *theta;
    double best = -INFINITY;
    struct climb c = {0};

    know(gp, axes, data);
    for (size_t i = 0; i < NTHETA; i++)
        c.step[i] = STEP_FIRST;
    for (unsigned s = 0; s <= steps; s++) {
        double now = density(gp, data->y, &at, c.gradient);

        if (now > best) {
            best = now;
            *theta = at;
        }
        for (size_t i = 0; i < NTHETA; i++)
            step(&c, i, &at.at[i]);
    }
}

/* --- asking --------------------------------------------------------------- */

void ws__gp_condition(struct ws__gp *gp, const struct ws__gp_axes *axes,
                      const struct ws__gp_data *data,
                      const struct ws__gp_theta *theta)
{
    double noise = exp(theta->at[NOISE]) + JITTER;

    know(gp, axes, data);
    tabulate(gp, theta);
    correlate(gp);
    /* With enough on the diagonal every matrix is positive. */
    while (!factorise(gp, noise))
        noise *= 10;
    solve(gp, data->y);
}

/* The known points' k with a point, into work; the mean there. */
static void expect(struct ws__gp *gp, const uint8_t *at,
                   struct ws__gp_view *out)
{
    out->mean = out->near = 0;
    for (size_t j = 0; j < gp->n; j++) {
        double k = ws__gp_alike(gp, at, gp->row[j]);

        gp->work[j] = k;
        out->mean += k * gp->alpha[j];
        out->near += k * k;
    }
}

void ws__gp_view(struct ws__gp *gp, const uint8_t *at, double kappa,
                 double limit, struct ws__gp_view *out)
{
    double left = 1;

    expect(gp, at, out);
    out->bound = out->mean - kappa * sqrt(gp->scale);
    /* What is unknown only shrinks with each point that is looked at. */
    for (size_t i = 0; i < gp->n && out->bound < limit; i++) {
        const double *row = gp->chol + i * gp->max;
        double sum = gp->work[i];

        for (size_t c = 0; c < i; c++)
            sum -= row[c] * gp->work[c];
        gp->work[i] = sum / row[i];
        left = fmax(left - gp->work[i] * gp->work[i], 0);
        out->bound = out->mean - kappa * sqrt(gp->scale * left);
    }
}
