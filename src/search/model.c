/* model.c: see model.h. */
#include "search/model.h"

#include <math.h>

#include "base/banned.h"

#define LEARN_MAX (WS__MODEL_POINTS / 2)
#define LEARN_STEPS 20
#define FAIL_NEAR 4.0 /* of a failed config itself, in points of belief */
#define FAIL_COST 2.0 /* standard deviations, if all fail */

int ws__modeller_open(struct ws__modeller *o, struct ws_ctx *ctx,
                      size_t max_axes)
{
    memset(o, 0, sizeof(*o));
    o->ctx = ctx;
    o->gp = ws__gp_new(ctx, max_axes, WS__MODEL_POINTS);
    return o->gp ? 0 : WS_ENOMEM;
}

void ws__modeller_close(struct ws__modeller *o)
{
    ws__gp_free(o->gp);
    ws__free(o->ctx, o->ranked);
}

/* --- points --------------------------------------------------------------- */

void ws__model_open(struct ws__model *m, const struct ws__param_axes *axes)
{
    m->axes = axes;
    ws__gp_prior(&m->theta);
}

void ws__model_close(struct ws_ctx *ctx, struct ws__model *m)
{
    ws__free(ctx, m->point);
    ws__free(ctx, m->row);
}

/* An axis is missing only in a space of one config: a row is never empty. */
static size_t row_size(const struct ws__model *m)
{
    return m->axes->gp.n ? m->axes->gp.n : 1;
}

static const uint8_t *row_of(const struct ws__model *m, size_t i)
{
    return m->row + i * row_size(m);
}

int ws__model_add(struct ws_ctx *ctx, struct ws__model *m,
                  const struct ws__config *c, double y,
                  enum ws__point_state state)
{
    WS_TRY(ws__grow(ctx, (void **)&m->point, &m->cap, m->n, sizeof(*m->point)));
    WS_TRY(ws__grow(ctx, (void **)&m->row, &m->row_cap, m->n, row_size(m)));
    m->point[m->n] = (struct ws__point){*c, y, state};
    ws__param_row(m->axes, c, m->row + m->n * row_size(m));
    m->n++;
    m->ok += state == WS__POINT_OK;
    return 0;
}

int ws__model_tell(struct ws_ctx *ctx, struct ws__model *m,
                   const struct ws__config *c, double y,
                   enum ws__point_state state)
{
    for (size_t i = m->n; i-- > 0;) {
        struct ws__point *pt = &m->point[i];

        if (!ws__config_eq(&pt->config, c))
            continue;
        m->ok += (state == WS__POINT_OK);
        m->ok -= (pt->state == WS__POINT_OK);
        pt->state = state;
        pt->y = y;
        return 0;
    }
    return ws__model_add(ctx, m, c, y, state);
}

bool ws__model_ready(const struct ws__model *m)
{
    return m->ok > 2 && m->n >= WS__MODEL_FIRST;
}

/* --- the model ------------------------------------------------------------ */

static int by_rank(const void *a, const void *b)
{
    const struct ws__ranked *x = a, *y = b;

    if (x->y < y->y || x->y > y->y)
        return x->y < y->y ? -1 : 1;
    return (x->point > y->point) - (x->point < y->point);
}

static int rank(struct ws__modeller *o, double y, size_t point)
{
    WS_TRY(ws__grow(o->ctx, (void **)&o->ranked, &o->ranked_cap, o->nranked,
                    sizeof(*o->ranked)));
    o->ranked[o->nranked++] = (struct ws__ranked){y, point};
    return 0;
}

/* Best first: what is known, and, unless `told`, what is expected of open
 * questions. What failed comes last, with the median. */
static int rank_points(struct ws__modeller *o, const struct ws__model *m,
                       bool told)
{
    o->nranked = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct ws__point *pt = &m->point[i];

        if (pt->state == WS__POINT_OK ||
            (pt->state == WS__POINT_OPEN && !told && isfinite(pt->y)))
            WS_TRY(rank(o, pt->y, i));
    }
    qsort(o->ranked, o->nranked, sizeof(*o->ranked), by_rank);
    o->median = o->ranked[o->nranked / 2].y;
    for (size_t i = 0; i < m->n; i++)
        if (m->point[i].state == WS__POINT_FAILED)
            WS_TRY(rank(o, o->median, i));
    return 0;
}

/* The best half of `max`, and the others evenly. */
static size_t chosen(const struct ws__modeller *o, size_t i, size_t max)
{
    size_t half = max / 2;

    if (o->nranked <= max || i < half)
        return i;
    return half + (i - half) * (o->nranked - half) / (max - half);
}

/* Rows and values for a model of at most `max` of the ranked points. */
static struct ws__gp_data gather(struct ws__modeller *o,
                                 const struct ws__model *m, size_t max)
{
    size_t n = o->nranked < max ? o->nranked : max;
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        const struct ws__ranked *r = &o->ranked[chosen(o, i, max)];

        o->row[i] = row_of(m, r->point);
        o->y[i] = fmin(r->y, o->median);
        sum += o->y[i];
    }
    o->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (o->y[i] - o->mean) * (o->y[i] - o->mean);
    o->sd = sqrt(squares / (double)n) + 1e-9;
    for (size_t i = 0; i < n; i++)
        o->y[i] = (o->y[i] - o->mean) / o->sd;
    return (struct ws__gp_data){o->row, o->y, n};
}

/* Learns when there is a tenth more to learn from. */
static int learn(struct ws__modeller *o, struct ws__model *m)
{
    size_t more = m->learnt < 40 ? 4 : m->learnt / 10;
    struct ws__gp_data data;

    if (m->ok < m->learnt + more)
        return 0;
    WS_TRY(rank_points(o, m, true));
    data = gather(o, m, LEARN_MAX);
    ws__gp_learn(o->gp, &m->axes->gp, &data, LEARN_STEPS, &m->theta);
    m->learnt = m->ok;
    return 0;
}

int ws__model_make(struct ws__modeller *o, struct ws__model *m)
{
    struct ws__gp_data data;

    WS_TRY(learn(o, m));
    WS_TRY(rank_points(o, m, false));
    data = gather(o, m, WS__MODEL_POINTS);
    ws__gp_condition(o->gp, &m->axes->gp, &data, &m->theta);
    return 0;
}

/* What failures nearby add to a bound. The latest are enough. */
static double failing(const struct ws__modeller *o, const struct ws__model *m,
                      const uint8_t *row, double near)
{
    double failed = 0;
    size_t count = 0;

    for (size_t i = m->n; i-- > 0 && count < WS__MODEL_POINTS;) {
        double k;

        if (m->point[i].state != WS__POINT_FAILED)
            continue;
        k = ws__gp_alike(o->gp, row, row_of(m, i));
        failed += k * k;
        count++;
    }
    failed *= FAIL_NEAR;
    return FAIL_COST * fmin(failed / (1 + FAIL_NEAR * near), 1);
}

/* --- what it says --------------------------------------------------------- */

bool ws__model_below(struct ws__modeller *o, const struct ws__model *m,
                     const struct ws__config *c, double limit, double *bound,
                     double *expected)
{
    uint8_t row[WS__GP_AXES] = {0};
    double least = (limit - o->mean) / o->sd;
    struct ws__gp_view view;

    ws__param_row(m->axes, c, row);
    ws__gp_view(o->gp, row, WS__MODEL_KAPPA, least, &view);
    if (!(view.bound < least))
        return false;
    view.bound += failing(o, m, row, view.near);
    if (!(view.bound < least))
        return false;
    *bound = o->mean + o->sd * view.bound;
    *expected = o->mean + o->sd * view.mean;
    return true;
}

static double distance(const struct ws__gp_axes *axes, const uint8_t *a,
                       const uint8_t *b)
{
    double sum = 0;

    for (size_t i = 0; i < axes->n; i++) {
        const struct ws__gp_axis *x = &axes->axis[i];

        sum += x->nominal ? a[i] != b[i] : fabs(x->at[a[i]] - x->at[b[i]]);
    }
    return sum;
}

double ws__model_apart(const struct ws__model *m, const struct ws__config *c)
{
    uint8_t row[WS__GP_AXES] = {0};
    double least = INFINITY;
    size_t from = m->n > WS__MODEL_POINTS ? m->n - WS__MODEL_POINTS : 0;

    ws__param_row(m->axes, c, row);
    for (size_t i = from; i < m->n; i++)
        least = fmin(least, distance(&m->axes->gp, row, row_of(m, i)));
    return least;
}
