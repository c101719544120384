/*
 * wave_fit.c: the constants that are most likely, given samples and priors.
 *
 * Levenberg and Marquardt's method on residuals that are whitened by the
 * process's covariance, with a loss that grows linearly where a residual is
 * large ("soft L1"). Derivatives are differences: the formula is piecewise
 * smooth and a step of a hundredth is far above its rounding.
 */
#include "wave/wave_model.h"

#include <math.h>

#include "base/banned.h"

#define LOSS 6.25 /* of the square of a whitened residual */
#define STEP .01
#define GOOD_ENOUGH 1e-5

double ws__wave_log_ns(int32_t log2_20)
{
    return log2_20 * (M_LN2 / WSRT_WAVE_ONE);
}

double ws__wave_log_time(const struct ws__wave_table *t,
                         const struct wsrt_wave_law *law,
                         const struct wsrt_wave_form *form, size_t shape,
                         size_t config)
{
    return ws__wave_log_ns(
        wsrt__wave_formula(law, form,
                           t->pair[shape * t->nconfig + config].coord));
}

double ws__wave_formula_at(const struct ws__wave_table *t, const double *theta,
                           uint32_t shape, uint32_t config, double clock)
{
    struct wsrt_wave_law law;
    struct wsrt_wave_form form;

    ws__wave_law(t, theta, &law);
    ws__wave_form(&t->config[config], theta, clock, &form);
    return ws__wave_log_time(t, &law, &form, shape, config);
}

struct fit {
    struct ws__wave_model *m;
    double *z, *trial; /* n: whitened residuals */
    double *slope;     /* NTHETA * n: of z */
    double loss;
};

static void residuals(const struct fit *f, const double *theta, double *z)
{
    const struct ws__wave_model *m = f->m;

    for (size_t i = 0; i < m->n; i++) {
        const struct ws__wave_sample *s = &m->sample[i];

        z[i] = s->log_ns -
               ws__wave_formula_at(m->t, theta, s->shape, s->config, s->clock);
    }
}

static double loss_of(const struct fit *f, const double *theta, const double *z)
{
    double sum = 0;

    for (size_t i = 0; i < f->m->n; i++)
        sum += 2 * LOSS * (sqrt(1 + z[i] * z[i] / LOSS) - 1);
    for (int k = 0; k < WS__NTHETA; k++) {
        double d = (theta[k] - f->m->prior.centre[k]) / f->m->prior.sd[k];

        sum += d * d;
    }
    return sum;
}

static void slopes(struct fit *f)
{
    struct ws__wave_model *m = f->m;
    double theta[WS__NTHETA];

    residuals(f, m->theta, f->trial);
    for (int k = 0; k < WS__NTHETA; k++) {
        double *to = f->slope + (size_t)k * m->n;

        memcpy(theta, m->theta, sizeof(theta));
        theta[k] += STEP;
        residuals(f, theta, to);
        for (size_t i = 0; i < m->n; i++)
            to[i] = (to[i] - f->trial[i]) / STEP;
        ws__solve_lower(m->factor, m->n, to);
    }
}

/* The normal equations at the present constants: a (NTHETA^2) and g. */
static void normal(const struct fit *f, double *a, double *g)
{
    size_t n = f->m->n;

    memset(a, 0, sizeof(*a) * WS__NTHETA * WS__NTHETA);
    for (int k = 0; k < WS__NTHETA; k++) {
        const double *sk = f->slope + (size_t)k * n;
        double sd = f->m->prior.sd[k], v = sd * sd, sum = 0;

        for (size_t i = 0; i < n; i++)
            sum += sk[i] * f->z[i] / sqrt(1 + f->z[i] * f->z[i] / LOSS);
        g[k] = -sum - (f->m->theta[k] - f->m->prior.centre[k]) / v;
        for (int j = 0; j <= k; j++) {
            const double *sj = f->slope + (size_t)j * n;

            sum = 0;
            for (size_t i = 0; i < n; i++)
                sum += sk[i] * sj[i] / sqrt(1 + f->z[i] * f->z[i] / LOSS);
            a[k * WS__NTHETA + j] = sum;
        }
        a[k * WS__NTHETA + k] += 1 / v;
    }
}

/* One step, damped until it helps; false: none does. */
static bool improve(struct fit *f, double *damping)
{
    double a[WS__NTHETA * WS__NTHETA], b[WS__NTHETA * WS__NTHETA];
    double g[WS__NTHETA], d[WS__NTHETA], theta[WS__NTHETA];

    slopes(f);
    normal(f, a, g);
    for (int tries = 0; tries < 8; tries++, *damping *= 5) {
        double loss;

        memcpy(b, a, sizeof(b));
        memcpy(d, g, sizeof(d));
        for (int k = 0; k < WS__NTHETA; k++)
            b[k * WS__NTHETA + k] *= 1 + *damping;
        if (!ws__cholesky(b, WS__NTHETA))
            continue;
        ws__solve_lower(b, WS__NTHETA, d);
        ws__solve_upper(b, WS__NTHETA, d);
        for (int k = 0; k < WS__NTHETA; k++)
            theta[k] = f->m->theta[k] + fmax(-.7, fmin(.7, d[k]));
        residuals(f, theta, f->trial);
        ws__solve_lower(f->m->factor, f->m->n, f->trial);
        loss = loss_of(f, theta, f->trial);
        if (loss < f->loss) {
            bool more = f->loss - loss > GOOD_ENOUGH * f->loss;

            memcpy(f->m->theta, theta, sizeof(theta));
            memcpy(f->z, f->trial, f->m->n * sizeof(*f->z));
            f->loss = loss;
            *damping = fmax(*damping / 10, 1e-9);
            return more;
        }
    }
    return false;
}

int ws__wave_fit_theta(struct ws__wave_model *m, unsigned steps)
{
    struct ws_ctx *ctx = m->t->ctx;
    struct fit f = {.m = m};
    double damping = 1e-3;

    f.z = ws__alloc(ctx, m->n * (2 + WS__NTHETA), sizeof(*f.z));
    if (!f.z)
        return WS_ENOMEM;
    f.trial = f.z + m->n;
    f.slope = f.trial + m->n;
    residuals(&f, m->theta, f.z);
    ws__solve_lower(m->factor, m->n, f.z);
    f.loss = loss_of(&f, m->theta, f.z);
    for (unsigned i = 0; i < steps && improve(&f, &damping); i++)
        ;
    ws__free(ctx, f.z);
    return 0;
}

void ws__wave_slope(const struct ws__wave_model *m, uint32_t shape,
                    uint32_t config, double *out)
{
    double at =
        ws__wave_log_time(m->t, &m->law, &m->form[config], shape, config);

    for (size_t k = 0; k < WS__NTHETA; k++)
        out[k] = (ws__wave_log_time(m->t, &m->law_by[k],
                                    m->form_by + k * m->t->nconfig + config,
                                    shape, config) -
                  at) /
                 STEP;
}

static int set_steps(struct ws__wave_model *m)
{
    size_t nconfig = m->t->nconfig;
    double theta[WS__NTHETA];

    m->law_by = ws__alloc(m->t->ctx, WS__NTHETA, sizeof(*m->law_by));
    m->form_by =
        ws__alloc(m->t->ctx, WS__NTHETA * nconfig, sizeof(*m->form_by));
    if (!m->law_by || !m->form_by)
        return WS_ENOMEM;
    for (size_t k = 0; k < WS__NTHETA; k++) {
        memcpy(theta, m->theta, sizeof(theta));
        theta[k] += STEP;
        ws__wave_law(m->t, theta, &m->law_by[k]);
        for (size_t j = 0; j < nconfig; j++)
            ws__wave_form(&m->t->config[j], theta, 1,
                          &m->form_by[k * nconfig + j]);
    }
    return 0;
}

int ws__wave_surety(struct ws__wave_model *m)
{
    size_t n = m->n;
    double *sd = m->prior.sd, one[WS__NTHETA];

    WS_TRY(set_steps(m));
    memset(m->sure, 0, sizeof(m->sure));
    m->slope = ws__alloc(m->t->ctx, n * WS__NTHETA + 1, sizeof(*m->slope));
    if (!m->slope)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        ws__wave_slope(m, m->sample[i].shape, m->sample[i].config, one);
        for (int k = 0; k < WS__NTHETA; k++)
            m->slope[k * n + i] = one[k];
    }
    for (int k = 0; k < WS__NTHETA; k++)
        ws__solve_lower(m->factor, n, m->slope + k * n);
    for (int k = 0; k < WS__NTHETA; k++)
        for (int j = 0; j <= k; j++) {
            double own = j == k ? 1 / (sd[k] * sd[k]) : 0;

            m->sure[k * WS__NTHETA + j] =
                own + ws__dot(m->slope + k * n, m->slope + j * n, n);
        }
    return ws__cholesky(m->sure, WS__NTHETA)
               ? 0
               : ws__fail(m->t->ctx, WS_EBUG, "constants without a precision");
}
