/*
 * wave_distil.c: the process folded into weights, for the runtime.
 *
 * For each config the process's mean on all shapes of the table is fitted by
 * the features of runtime/wsrt_wave.h, with a penalty that keeps weights of
 * features that hardly vary at 0. It costs no timing: the model is asked.
 */
#include "wave/wave_model.h"

#include <math.h>

#include "base/banned.h"

#define PENALTY .3

static void axis_logs(const struct ws__wave_table *t, size_t shape,
                      int32_t *log_axis)
{
    for (size_t i = 0; i < t->naxis; i++)
        log_axis[i] = wsrt__log2_20(t->axis[shape * t->naxis + i]);
}

static void add_row(double *a, double *b, const double *x, double y)
{
    for (int i = 0; i < WSRT_WAVE_WEIGHTS; i++) {
        for (int j = 0; j < WSRT_WAVE_WEIGHTS; j++)
            a[i * WSRT_WAVE_WEIGHTS + j] += x[i] * x[j];
        b[i] += x[i] * y;
    }
}

static void set_weights(double *a, double *b, struct wsrt_wave_form *form)
{
    for (int i = 0; i < WSRT_WAVE_WEIGHTS; i++)
        a[i * WSRT_WAVE_WEIGHTS + i] += PENALTY;
    if (!ws__cholesky(a, WSRT_WAVE_WEIGHTS))
        return;
    ws__solve_lower(a, WSRT_WAVE_WEIGHTS, b);
    ws__solve_upper(a, WSRT_WAVE_WEIGHTS, b);
    for (int i = 0; i < WSRT_WAVE_WEIGHTS; i++)
        form->weight[i] =
            (int32_t)lrint(fmax(-64, fmin(64, b[i] / M_LN2)) * WSRT_WAVE_ONE);
}

/* residual: nshape * nconfig, log of the process's factor; infinite where the
 * pair is infeasible. */
static void fit_config(const struct ws__wave_model *m, const double *residual,
                       size_t config, struct wsrt_wave_form *form)
{
    const struct ws__wave_table *t = m->t;
    double a[WSRT_WAVE_WEIGHTS * WSRT_WAVE_WEIGHTS] = {0};
    double b[WSRT_WAVE_WEIGHTS] = {0}, x[WSRT_WAVE_WEIGHTS];

    for (size_t s = 0; s < t->nshape; s++) {
        size_t at = s * t->nconfig + config;
        int32_t log_axis[64], f[WSRT_WAVE_WEIGHTS];

        if (!isfinite(residual[at]))
            continue;
        axis_logs(t, s, log_axis);
        wsrt__wave_features(&m->law, form, t->pair[at].coord, log_axis,
                            (uint32_t)t->naxis, f);
        for (int i = 0; i < WSRT_WAVE_WEIGHTS; i++)
            x[i] = f[i] / (double)WSRT_WAVE_ONE;
        add_row(a, b, x, residual[at]);
    }
    set_weights(a, b, form);
}

int ws__wave_distil(const struct ws__wave_model *m,
                    const unsigned char *allowed, struct wsrt_wave_law *law,
                    struct wsrt_wave_form *form)
{
    const struct ws__wave_table *t = m->t;
    double *residual =
        ws__alloc(t->ctx, t->nshape * t->nconfig + 1, sizeof(*residual));
    int rc = residual ? 0 : WS_ENOMEM;

    *law = m->law;
    memcpy(form, m->form, t->nconfig * sizeof(*form));
    for (size_t s = 0; !rc && s < t->nshape; s++) {
        double *r = residual + s * t->nconfig;

        for (size_t j = 0; j < t->nconfig; j++)
            r[j] = HUGE_VAL;
        if (allowed && !allowed[s])
            continue;
        rc = ws__wave_predict(m, s, r);
        for (size_t j = 0; !rc && j < t->nconfig; j++)
            if (isfinite(r[j]))
                r[j] -= ws__wave_log_time(t, law, &form[j], s, j);
    }
    for (size_t j = 0; !rc && m->n && j < t->nconfig; j++)
        fit_config(m, residual, j, &form[j]);
    ws__free(t->ctx, residual);
    return rc;
}
