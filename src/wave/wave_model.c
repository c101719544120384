/* wave_model.c: fitted models: making them, asking them. */
#include "wave/wave_model.h"

#include <math.h>

#include "base/banned.h"

#define STEPS 25

void ws__wave_model_free(struct ws__wave_model *m)
{
    struct ws_ctx *ctx;

    if (!m)
        return;
    ctx = m->t->ctx;
    ws__free(ctx, m->form);
    ws__free(ctx, m->like_config);
    ws__free(ctx, m->like_shape);
    ws__free(ctx, m->sample);
    ws__free(ctx, m->place);
    ws__free(ctx, m->formula);
    ws__free(ctx, m->factor);
    ws__free(ctx, m->alpha);
    ws__free(ctx, m->law_by);
    ws__free(ctx, m->form_by);
    ws__free(ctx, m->slope);
    ws__free(ctx, m);
}

static void set_forms(struct ws__wave_model *m)
{
    ws__wave_law(m->t, m->theta, &m->law);
    for (size_t i = 0; i < m->t->nconfig; i++)
        ws__wave_form(&m->t->config[i], m->theta, 1, &m->form[i]);
}

/* Samples that are times; of too many, an even share. */
static int take_samples(struct ws__wave_model *m,
                        const struct ws__wave_sample *sample, size_t n)
{
    struct ws_ctx *ctx = m->t->ctx;
    size_t most = n < WS__WAVE_PROCESS_MAX ? n : WS__WAVE_PROCESS_MAX;

    m->sample = ws__alloc(ctx, most + 1, sizeof(*m->sample));
    m->place = ws__alloc(ctx, most + 1, sizeof(*m->place));
    m->formula = ws__alloc(ctx, most + 1, sizeof(*m->formula));
    m->factor = ws__alloc(ctx, most * most + 1, sizeof(*m->factor));
    m->alpha = ws__alloc(ctx, most + 1, sizeof(*m->alpha));
    if (!m->sample || !m->place || !m->formula || !m->factor || !m->alpha)
        return WS_ENOMEM;
    for (size_t i = 0; i < most; i++) {
        const struct ws__wave_sample *s = &sample[i * n / most];

        if (isfinite(s->log_ns))
            m->sample[m->n++] = *s;
        else
            m->quality.failed++;
    }
    for (size_t i = 0; i < m->n; i++)
        ws__wave_place(m, m->sample[i].shape, m->sample[i].config,
                       &m->place[i]);
    return 0;
}

static int fit(struct ws__wave_model *m, unsigned steps)
{
    WS_TRY(ws__wave_factor(m, NULL));
    WS_TRY(ws__wave_fit_theta(m, steps ? steps : STEPS));
    set_forms(m);
    for (size_t i = 0; i < m->n; i++)
        m->formula[i] =
            ws__wave_formula_at(m->t, m->theta, m->sample[i].shape,
                                m->sample[i].config, m->sample[i].clock);
    return ws__wave_condition(m);
}

int ws__wave_fit(const struct ws__wave_table *t,
                 const struct ws__wave_sample *sample, size_t n,
                 const struct ws__wave_opts *opts,
                 const struct ws__wave_model *start,
                 struct ws__wave_model **out)
{
    struct ws__wave_model *m = ws__alloc(t->ctx, 1, sizeof(*m));
    int rc;

    if (!m)
        return WS_ENOMEM;
    m->t = t;
    if (opts && opts->prior)
        m->prior = *opts->prior;
    else
        ws__wave_prior(&t->sheet, &m->prior);
    memcpy(m->theta, start ? start->theta : m->prior.centre, sizeof(m->theta));
    m->form = ws__alloc(t->ctx, t->nconfig, sizeof(*m->form));
    if (!m->form) {
        rc = WS_ENOMEM;
        goto done;
    }
    set_forms(m);
    WS_TRY_DONE(ws__wave_likeness(m));
    WS_TRY_DONE(take_samples(m, sample, n));
    m->quality.n = m->n;
    if (m->n)
        WS_TRY_DONE(fit(m, opts ? opts->steps : 0));
    WS_TRY_DONE(ws__wave_surety(m));
done:
    if (rc) {
        ws__wave_model_free(m);
        return rc;
    }
    *out = m;
    return 0;
}

const double *ws__wave_theta(const struct ws__wave_model *m)
{
    return m->theta;
}

void ws__wave_theta_sd(const struct ws__wave_model *m, double sd[WS__NTHETA])
{
    for (int k = 0; k < WS__NTHETA; k++) {
        double column[WS__NTHETA] = {0};

        column[k] = 1;
        ws__solve_lower(m->sure, WS__NTHETA, column);
        sd[k] = sqrt(ws__dot(column, column, WS__NTHETA));
    }
}

void ws__wave_quality(const struct ws__wave_model *m,
                      struct ws__wave_quality *out)
{
    *out = m->quality;
}

/* Do the samples differ, in their shapes and in their times? */
static bool vary(const struct ws__wave_model *m, bool by_time)
{
    for (size_t i = 1; i < m->n; i++)
        if (by_time ? fabs(m->sample[i].log_ns - m->sample[0].log_ns) > 1e-9
                    : m->sample[i].shape != m->sample[0].shape)
            return true;
    return false;
}

const char *ws__wave_warning(const struct ws__wave_model *m)
{
    if (!m->n)
        return "no times: the priors alone";
    if (m->n > 1 && !vary(m, true))
        return "all times are equal: what was timed was not the kernel";
    if (m->t->nshape > 1 && !vary(m, false))
        return "times of one shape only: others are a guess";
    if (m->quality.failed > m->n)
        return "most of what was asked failed: few times are left";
    if (m->n < WS__NTHETA)
        return "fewer times than constants: the priors decide with them";
    return NULL;
}

static double formula(const struct ws__wave_model *m, size_t shape,
                      size_t config)
{
    return ws__wave_log_time(m->t, &m->law, &m->form[config], shape, config);
}

/* Covariances of a pair with all samples. */
static void with_samples(const struct ws__wave_model *m, uint32_t shape,
                         uint32_t config, double *k)
{
    struct ws__wave_place place;

    ws__wave_place(m, shape, config, &place);
    for (size_t i = 0; i < m->n; i++)
        k[i] = ws__wave_covariance(m, shape, config, &place, m->sample[i].shape,
                                   m->sample[i].config, &m->place[i]);
}

int ws__wave_predict(const struct ws__wave_model *m, size_t shape,
                     double *log_ns)
{
    const struct ws__wave_table *t = m->t;
    double *k = ws__alloc(t->ctx, m->n + 1, sizeof(*k));

    if (!k)
        return WS_ENOMEM;
    for (size_t j = 0; j < t->nconfig; j++) {
        log_ns[j] = HUGE_VAL;
        if (!t->pair[shape * t->nconfig + j].feasible)
            continue;
        with_samples(m, (uint32_t)shape, (uint32_t)j, k);
        log_ns[j] =
            formula(m, shape, j) + m->quality.gate * ws__dot(k, m->alpha, m->n);
    }
    ws__free(t->ctx, k);
    return 0;
}

/* What the constants' own uncertainty does to a pair: the slopes that samples
 * do not explain (with: its whitened covariances), whitened. */
static void unsure(const struct ws__wave_model *m, struct ws__wave_point x,
                   const double *with, double *out)
{
    ws__wave_slope(m, x.shape, x.config, out);
    for (int k = 0; m->n && k < WS__NTHETA; k++)
        out[k] -= ws__dot(m->slope + k * m->n, with, m->n);
    ws__solve_lower(m->sure, WS__NTHETA, out);
}

/* Rows of what a posterior is made of, one a point. */
struct rows {
    struct ws__wave_place *place;
    double *with;  /* n: covariances with the samples, whitened */
    double *doubt; /* NTHETA: what the constants' uncertainty does */
};

static void fill_rows(const struct ws__wave_model *m, size_t n,
                      const struct ws__wave_point *x, struct rows *r,
                      double *mean)
{
    for (size_t i = 0; i < n; i++) {
        double *k = r->with + i * m->n;

        ws__wave_place(m, x[i].shape, x[i].config, &r->place[i]);
        with_samples(m, x[i].shape, x[i].config, k);
        mean[i] = formula(m, x[i].shape, x[i].config) +
                  m->quality.gate * ws__dot(k, m->alpha, m->n);
        ws__solve_lower(m->factor, m->n, k);
        unsure(m, x[i], k, r->doubt + i * WS__NTHETA);
    }
}

int ws__wave_posterior(const struct ws__wave_model *m, size_t n,
                       const struct ws__wave_point *x, double *mean,
                       double *covariance)
{
    struct rows r;
    int rc = WS_ENOMEM;

    r.place = ws__alloc(m->t->ctx, n + 1, sizeof(*r.place));
    r.with = ws__alloc(m->t->ctx, n * (m->n + WS__NTHETA) + 1, sizeof(*r.with));
    if (!r.place || !r.with)
        goto done;
    r.doubt = r.with + n * m->n;
    fill_rows(m, n, x, &r, mean);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            covariance[i * n + j] = covariance[j * n + i] =
                ws__wave_covariance(m, x[i].shape, x[i].config, &r.place[i],
                                    x[j].shape, x[j].config, &r.place[j]) -
                ws__dot(r.with + i * m->n, r.with + j * m->n, m->n) +
                ws__dot(r.doubt + i * WS__NTHETA, r.doubt + j * WS__NTHETA,
                        WS__NTHETA);
    rc = 0;
done:
    ws__free(m->t->ctx, r.place);
    ws__free(m->t->ctx, r.with);
    return rc;
}

int ws__wave_deviation(const struct ws__wave_model *m, struct ws__wave_point x,
                       double *sd)
{
    double mean, variance;

    WS_TRY(ws__wave_posterior(m, 1, &x, &mean, &variance));
    *sd = sqrt(fmax(0, variance));
    return 0;
}
