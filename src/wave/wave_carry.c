/*
 * wave_carry.c: what a model says beyond its own shapes: of another device, and
 * of how sure its choices are.
 *
 * A constant that was fitted on one device is, beside what its sheet says,
 * how well this kernel uses it: which share of a peak it reaches, how many
 * bytes it has under way. That share moves to another device better than the
 * constant does.
 */
#include "wave/wave_model.h"

#include <math.h>

#include "base/banned.h"

/* How alike the constants of one kernel on two devices are, their sheets taken
 * into account: the correlation of their distances from the priors' centres. On
 * library GEMMs of eight GPUs (docs/results) .5 to .8 predict alike. */
#define ALIKE .6

/* Shapes that a margin looks at, at most. */
#define MARGIN_SHAPES 32

void ws__wave_carry(const struct ws__wave_model *from,
                    const struct ws__wave_sheet *to,
                    struct ws__wave_belief *out)
{
    struct ws__wave_belief home;
    double sd[WS__NTHETA];

    ws__wave_prior(&from->t->sheet, &home);
    ws__wave_prior(to, out);
    ws__wave_theta_sd(from, sd);
    for (int k = 0; k < WS__NTHETA; k++) {
        double known = ALIKE * sd[k], own = out->sd[k];

        out->centre[k] += ALIKE * (from->theta[k] - home.centre[k]);
        out->sd[k] =
            fmin(own, sqrt(known * known + (1 - ALIKE * ALIKE) * own * own));
    }
}

/* Variance of the difference of two configs' logarithms on a shape. */
static int difference(const struct ws__wave_model *m, size_t shape, size_t a,
                      size_t b, double *variance)
{
    struct ws__wave_point x[2] = {{(uint32_t)shape, (uint32_t)a},
                                  {(uint32_t)shape, (uint32_t)b}};
    double mean[2], c[4];

    WS_TRY(ws__wave_posterior(m, 2, x, mean, c));
    *variance = fmax(0, c[0] + c[3] - c[1] - c[2]);
    return 0;
}

/* The root mean square of the deviations of one config's differences. */
static int deviation(const struct ws__wave_model *m, size_t dflt, size_t config,
                     const unsigned char *allowed, double *out)
{
    const struct ws__wave_table *t = m->t;
    size_t step = t->nshape / MARGIN_SHAPES + 1, n = 0;
    double sum = 0;

    for (size_t i = 0; i < t->nshape; i++) {
        const struct ws__wave_pair *p = t->pair + i * t->nconfig;
        double v;

        if ((allowed && !allowed[i]) || !p[dflt].feasible ||
            !p[config].feasible || n++ % step)
            continue;
        WS_TRY(difference(m, i, dflt, config, &v));
        sum += v;
    }
    *out = n ? sqrt(sum / (double)((n + step - 1) / step)) : 0;
    return 0;
}

int ws__wave_margin(const struct ws__wave_model *m, size_t dflt,
                    double deviations, const unsigned char *allowed,
                    int32_t *margin)
{
    for (size_t j = 0; j < m->t->nconfig; j++) {
        double sd = 0;

        if (j != dflt)
            WS_TRY(deviation(m, dflt, j, allowed, &sd));
        margin[j] = (int32_t)fmin(INT32_MAX / 2., ceil(deviations * sd / M_LN2 *
                                                       WSRT_WAVE_ONE));
    }
    return 0;
}
