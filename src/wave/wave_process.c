/*
 * wave_process.c: what the formula leaves, as a Gaussian process.
 *
 * Residuals of two pairs are alike if the configs are alike, if the shapes
 * are, and if both are and the pairs lie in the same regime (waves, loop,
 * padding, reuse). The amplitudes are small: the process may bend the formula,
 * not replace it. Amplitudes and lengths come from experiments on timing
 * matrices of an H200; changing them by a third hardly changes choices.
 *
 * Two safeguards. A sample far from the formula says less (its noise grows by
 * the square of the excess), so that one bad time does not spoil its
 * neighbourhood. And the process counts as much (the gate, 0 to 1) as it helps
 * samples, left out one by one, to be predicted from the others.
 */
#include "wave/wave_model.h"

#include <math.h>

#include "base/banned.h"

#define VAR(sd) ((sd) * (sd))
static const double var_same_config = VAR(.036), var_config = VAR(.072),
                    var_same_shape = VAR(.036), var_shape = VAR(.072),
                    var_regime = VAR(.036), var_config_regime = VAR(.036),
                    var_like_regime = VAR(.084), var_like_shape = VAR(.084);
const double ws__wave_noise = VAR(.025);

#define OUTLIER 2.5   /* deviations */
#define GATE_PRIOR 16 /* samples that speak for a gate of 1 */

/* Features that a place takes: waves, loop, padding, reuse. */
enum { FIRST_PLACE = 1 + WSRT_WAVE_AXES };
static const double place_length[4] = {2, 3, .7, 3};
/* Of shapes, in doublings of an axis; of configs, in a feature's spread. */
static const double shape_length = 3.6, config_length = 1.3;

double ws__wave_apart(const struct ws__wave_table *t, size_t a, size_t b)
{
    double sum = 0;

    for (size_t i = 0; i < t->naxis; i++) {
        double x = fmax(1, (double)t->axis[a * t->naxis + i]);
        double y = fmax(1, (double)t->axis[b * t->naxis + i]);
        double d = log2(x / y);

        sum += d * d;
    }
    return sum;
}

static double shape_distance(const struct ws__wave_table *t, size_t a, size_t b)
{
    return ws__wave_apart(t, a, b) / VAR(shape_length);
}

static double config_distance(const struct ws__wave_table *t, size_t a,
                              size_t b)
{
    double sum = 0;

    for (size_t i = 0; i < t->nfeature; i++) {
        double d = t->config[a].feature[i] - t->config[b].feature[i];

        sum += d * d;
    }
    return sum / VAR(config_length);
}

static double *likeness(const struct ws__wave_table *t, size_t n,
                        double (*distance)(const struct ws__wave_table *,
                                           size_t, size_t))
{
    double *k = ws__alloc(t->ctx, n * n, sizeof(*k));

    for (size_t i = 0; k && i < n; i++)
        for (size_t j = 0; j <= i; j++)
            k[i * n + j] = k[j * n + i] = exp(-distance(t, i, j) / 2);
    return k;
}

int ws__wave_likeness(struct ws__wave_model *m)
{
    m->like_config = likeness(m->t, m->t->nconfig, config_distance);
    m->like_shape = likeness(m->t, m->t->nshape, shape_distance);
    return m->like_config && m->like_shape ? 0 : WS_ENOMEM;
}

void ws__wave_place(const struct ws__wave_model *m, uint32_t shape,
                    uint32_t config, struct ws__wave_place *out)
{
    const struct ws__wave_table *t = m->t;
    int32_t f[WSRT_WAVE_WEIGHTS];

    wsrt__wave_features(&m->law, &m->form[config],
                        t->pair[shape * t->nconfig + config].coord, NULL, 0, f);
    for (int i = 0; i < 4; i++)
        out->at[i] =
            f[FIRST_PLACE + i] / (double)WSRT_WAVE_ONE / place_length[i];
}

double ws__wave_covariance(const struct ws__wave_model *m, uint32_t shape_a,
                           uint32_t config_a, const struct ws__wave_place *a,
                           uint32_t shape_b, uint32_t config_b,
                           const struct ws__wave_place *b)
{
    double configs = m->like_config[config_a * m->t->nconfig + config_b];
    double shapes = m->like_shape[shape_a * m->t->nshape + shape_b];
    double sum = var_config * configs + var_shape * shapes, d2 = 0, regime;

    for (int i = 0; i < 4; i++)
        d2 += (a->at[i] - b->at[i]) * (a->at[i] - b->at[i]);
    regime = exp(-d2 / 2);
    sum += var_regime * regime +
           configs * (var_like_regime * regime + var_like_shape * shapes);
    if (config_a == config_b)
        sum += var_same_config + var_config_regime * regime;
    if (shape_a == shape_b)
        sum += var_same_shape;
    return sum;
}

int ws__wave_factor(struct ws__wave_model *m, const double *extra)
{
    size_t n = m->n;

    for (size_t i = 0; i < n; i++) {
        const struct ws__wave_sample *a = &m->sample[i];

        for (size_t j = 0; j <= i; j++) {
            const struct ws__wave_sample *b = &m->sample[j];

            m->factor[i * n + j] =
                ws__wave_covariance(m, a->shape, a->config, &m->place[i],
                                    b->shape, b->config, &m->place[j]);
        }
        m->factor[i * n + i] += ws__wave_noise + (extra ? extra[i] : 0);
    }
    return ws__cholesky(m->factor, n)
               ? 0
               : ws__fail(m->t->ctx, WS_EBUG,
                          "the covariance of %zu samples is not positive", n);
}

/* Noise of the samples that are farther from the formula than it deviates. */
static void doubt(struct ws__wave_model *m, const double *residual,
                  double *extra)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct ws__wave_sample *s = &m->sample[i];
        double prior = ws__wave_noise +
                       ws__wave_covariance(m, s->shape, s->config, &m->place[i],
                                           s->shape, s->config, &m->place[i]);
        double z2 = residual[i] * residual[i] / (VAR(OUTLIER) * prior);

        extra[i] = z2 > 1 ? 4 * prior * (z2 - 1) : 0;
        m->quality.outliers += z2 > 1;
    }
}

/* Each sample predicted from the others: what remains of its residual is
 * alpha_k / (K^-1)_kk. The root mean square of that; and the gate, the share
 * of the process that would have predicted best. */
static int left_out(struct ws__wave_model *m, const double *residual)
{
    size_t n = m->n;
    double *column = ws__alloc(m->t->ctx, n, sizeof(*column)), sum = 0;
    double both = 0, own = 0;

    if (!column)
        return WS_ENOMEM;
    for (size_t k = 0; k < n; k++) {
        double inverse, r;

        memset(column, 0, n * sizeof(*column));
        column[k] = 1;
        /* L^-1 e_k is zero above k. */
        for (size_t i = k; i < n; i++) {
            double s = column[i];

            for (size_t j = k; j < i; j++)
                s -= m->factor[i * n + j] * column[j];
            column[i] = s / m->factor[i * n + i];
        }
        inverse = ws__dot(column + k, column + k, n - k);
        r = m->alpha[k] / inverse;
        sum += r * r;
        both += residual[k] * (residual[k] - r);
        own += (residual[k] - r) * (residual[k] - r);
    }
    m->quality.left_out_rms = sqrt(sum / (double)n);
    own += 1e-12;
    m->quality.gate =
        fmax(0, fmin(1, (both + GATE_PRIOR * own / (double)n) /
                            (own + GATE_PRIOR * own / (double)n)));
    ws__free(m->t->ctx, column);
    return 0;
}

int ws__wave_condition(struct ws__wave_model *m)
{
    size_t n = m->n;
    double *work = ws__alloc(m->t->ctx, 2 * n, sizeof(*work)), *extra;
    int rc;

    if (!work)
        return WS_ENOMEM;
    extra = work + n;
    for (size_t i = 0; i < n; i++)
        work[i] = m->sample[i].log_ns - m->formula[i];
    doubt(m, work, extra);
    WS_TRY_DONE(ws__wave_factor(m, extra));
    memcpy(m->alpha, work, n * sizeof(*work));
    ws__solve_lower(m->factor, n, m->alpha);
    ws__solve_upper(m->factor, n, m->alpha);
    m->quality.formula_rms = sqrt(ws__dot(work, work, n) / (double)n);
    WS_TRY_DONE(left_out(m, work));
done:
    ws__free(m->t->ctx, work);
    return rc;
}
