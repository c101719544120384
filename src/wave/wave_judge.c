/* wave_judge.c: the split, the methods but for the models, the figures. */
#include "wave/wave_judge.h"

#include <math.h>
#include <stdlib.h>

#include "base/banned.h"

static size_t at(const struct ws__judge_state *s, size_t shape, size_t config)
{
    return shape * s->d->table->nconfig + config;
}

static bool feasible(const struct ws__judge_state *s, size_t shape,
                     size_t config)
{
    return s->d->table->pair[at(s, shape, config)].feasible;
}

/* --- the split ------------------------------------------------------------ */

/* Of the pairs of the fit part, whose number it returns. */
static size_t set_budget(struct ws__judge_state *s)
{
    size_t pairs = 0;

    for (size_t i = 0; i < s->d->table->nshape; i++)
        for (size_t j = 0; s->fit[i] && j < s->d->table->nconfig; j++)
            pairs += feasible(s, i, j);
    s->budget = s->o->share < 0 ? s->o->cells
                                : (size_t)(s->o->share * (double)pairs + .5);
    if (s->budget > pairs)
        s->budget = pairs;
    return pairs;
}

int ws__judge_open(struct ws__judge_state *s)
{
    const struct ws__wave_table *t = s->d->table;

    ws__rng_seed(&s->rng, s->o->seed);
    s->score = ws__alloc(t->ctx, t->nshape * t->nconfig + 1, sizeof(*s->score));
    s->fit = ws__alloc(t->ctx, t->nshape + 1, 1);
    if (!s->score || !s->fit)
        return WS_ENOMEM;
    for (size_t i = 0; i < t->nshape; i++)
        s->fit[i] = s->d->part[i] != WS__PART_HELD;
    set_budget(s);
    return 0;
}

/* Whole groups, in a drawn order, until enough shapes are held out. */
static int draw_parts(struct ws__judge_state *s)
{
    const struct ws__judge_data *d = s->d;
    uint32_t *order = ws__alloc(d->table->ctx, d->ngroup + 1, sizeof(*order));
    double want = s->o->held * (double)d->table->nshape, held = 0;

    if (!order)
        return WS_ENOMEM;
    for (size_t i = 0; i < d->ngroup; i++)
        order[i] = (uint32_t)i;
    ws__wave_shuffle(&s->rng, order, d->ngroup);
    for (size_t g = 0; g < d->ngroup && held < want; g++)
        for (size_t i = 0; i < d->table->nshape; i++)
            if (d->part[i] == WS__PART_DRAWN && d->group[i] == order[g]) {
                s->fit[i] = 0;
                held++;
            }
    ws__free(d->table->ctx, order);
    return 0;
}

static int split(struct ws__judge_state *s, struct ws__judge_result *out)
{
    WS_TRY(draw_parts(s));
    out->pairs = set_budget(s);
    for (size_t i = 0; i < s->d->table->nshape; i++) {
        out->fit_shapes += s->fit[i];
        out->held_shapes += !s->fit[i];
    }
    if (out->held_shapes && out->pairs)
        return 0;
    ws__fail(s->d->table->ctx, WS_EINVAL, "%s",
             out->pairs ? "no shape is held out" : "nothing to fit on");
    return ws__hint(s->d->table->ctx,
                    "give --holdout, or data of several groups of shapes");
}

void ws__judge_close(struct ws__judge_state *s)
{
    ws__free(s->d->table->ctx, s->score);
    ws__free(s->d->table->ctx, s->fit);
    ws__free(s->d->table->ctx, s->margin);
}

/* --- methods -------------------------------------------------------------- */

/* Shapes of the fit part in a drawn order, timed whole while the budget
 * lasts, at least one (of which then only a part may be). */
static size_t whole_shapes(struct ws__judge_state *s, uint32_t *shape,
                           unsigned char *bought)
{
    const struct ws__wave_table *t = s->d->table;
    size_t count = 0, n;

    for (size_t i = 0; i < t->nshape; i++)
        if (s->fit[i])
            shape[count++] = (uint32_t)i;
    ws__wave_shuffle(&s->rng, shape, count);
    for (n = 0; n < count && s->cells < s->budget; n++)
        for (size_t j = 0; j < t->nconfig && s->cells < s->budget; j++)
            if (feasible(s, shape[n], j)) {
                bought[at(s, shape[n], j)] =
                    s->d->log_ns[at(s, shape[n], j)] != 0;
                s->cells++;
            }
    return n;
}

int ws__judge_nearest(struct ws__judge_state *s)
{
    const struct ws__wave_table *t = s->d->table;
    uint32_t *shape = ws__alloc(t->ctx, t->nshape + 1, sizeof(*shape));
    unsigned char *bought = ws__alloc(t->ctx, t->nshape * t->nconfig + 1, 1);
    int rc = shape && bought ? 0 : WS_ENOMEM;
    size_t n = rc ? 0 : whole_shapes(s, shape, bought);

    for (size_t i = 0; !rc && i < t->nshape; i++)
        for (size_t j = 0; j < t->nconfig; j++) {
            double best = HUGE_VAL, *score = &s->score[at(s, i, j)];

            /* The nearest shape that has this config decides for it; configs
             * of farther ones come behind all of nearer ones. */
            *score = WS__JUDGE_UNKNOWN;
            for (size_t k = 0; k < n; k++) {
                double d = ws__wave_apart(t, i, shape[k]);

                if (!bought[at(s, shape[k], j)] || d >= best)
                    continue;
                best = d;
                *score = d * 1e6 + s->d->log_ns[at(s, shape[k], j)];
            }
        }
    ws__free(t->ctx, shape);
    ws__free(t->ctx, bought);
    return rc;
}

/* The mean excess of a config over the best of each shape. */
int ws__judge_single(struct ws__judge_state *s)
{
    const struct ws__wave_table *t = s->d->table;
    uint32_t *shape = ws__alloc(t->ctx, t->nshape + 1, sizeof(*shape));
    unsigned char *bought = ws__alloc(t->ctx, t->nshape * t->nconfig + 1, 1);
    int rc = shape && bought ? 0 : WS_ENOMEM;
    size_t n = rc ? 0 : whole_shapes(s, shape, bought);

    for (size_t j = 0; !rc && j < t->nconfig; j++) {
        double sum = 0, count = 0;

        for (size_t k = 0; k < n; k++) {
            double best = HUGE_VAL;

            for (size_t c = 0; c < t->nconfig; c++)
                if (bought[at(s, shape[k], c)])
                    best = fmin(best, s->d->log_ns[at(s, shape[k], c)]);
            if (!bought[at(s, shape[k], j)])
                continue;
            sum += s->d->log_ns[at(s, shape[k], j)] - best;
            count++;
        }
        /* One that was not feasible everywhere is no single choice. */
        for (size_t i = 0; i < t->nshape; i++)
            s->score[at(s, i, j)] =
                count > 0 ? sum / count + 1e3 * ((double)n - count)
                          : WS__JUDGE_UNKNOWN;
    }
    ws__free(t->ctx, shape);
    ws__free(t->ctx, bought);
    return rc;
}

int ws__judge_random(struct ws__judge_state *s)
{
    const struct ws__wave_table *t = s->d->table;

    for (size_t i = 0; i < t->nshape * t->nconfig; i++)
        s->score[i] = ws__rng_unit(&s->rng);
    return 0;
}

static int buy(struct ws__judge_state *s, struct ws__wave_plan *p)
{
    const struct ws__judge_data *d = s->d;
    struct ws__wave_sample x;
    int rc;

    while (!(rc = ws__wave_plan_next(p, &x.shape, &x.config))) {
        x.log_ns = d->log_ns[at(s, x.shape, x.config)];
        x.clock = d->clock[at(s, x.shape, x.config)];
        if (x.log_ns == 0)
            x.log_ns = HUGE_VAL;
        WS_TRY(ws__wave_plan_tell(p, &x));
        s->cells++;
    }
    return rc == WS_EDONE ? 0 : rc;
}

static int distilled(struct ws__judge_state *s, const struct ws__wave_model *m)
{
    const struct ws__wave_table *t = s->d->table;
    struct wsrt_wave_law law;
    struct wsrt_wave_form *form = ws__alloc(t->ctx, t->nconfig, sizeof(*form));
    int32_t axis[WS__WAVE_FEATURES];
    int rc = form ? ws__wave_distil(m, s->fit, &law, form) : WS_ENOMEM;

    for (size_t i = 0; !rc && i < t->nshape; i++) {
        for (size_t a = 0; a < t->naxis; a++)
            axis[a] = wsrt__log2_20(t->axis[i * t->naxis + a]);
        for (size_t j = 0; j < t->nconfig; j++)
            if (feasible(s, i, j))
                s->score[at(s, i, j)] = ws__wave_log_ns(
                    wsrt__wave_log2_ns(&law, &form[j],
                                       t->pair[at(s, i, j)].coord, axis,
                                       (uint32_t)t->naxis));
    }
    ws__free(t->ctx, form);
    return rc;
}

static int set_margins(struct ws__judge_state *s,
                       const struct ws__wave_model *m)
{
    if (!(s->o->margin > 0) || s->d->dflt >= s->d->table->nconfig)
        return 0;
    s->margin =
        ws__alloc(s->d->table->ctx, s->d->table->nconfig, sizeof(*s->margin));
    return s->margin
               ? ws__wave_margin(m, s->d->dflt, s->o->margin, s->fit, s->margin)
               : WS_ENOMEM;
}

int ws__judge_plan(struct ws__judge_state *s, struct ws__wave_plan **out)
{
    struct ws__wave_plan_opts o = {.allowed = s->fit,
                                   .budget = s->budget,
                                   .seed = s->o->seed};
    int rc;

    WS_TRY(ws__wave_plan_new(s->d->table, &o, out));
    rc = s->budget ? buy(s, *out) : 0;
    if (rc)
        ws__wave_plan_free(*out);
    return rc;
}

int ws__judge_wave(struct ws__judge_state *s)
{
    const struct ws__wave_table *t = s->d->table;
    const struct ws__wave_model *m;
    struct ws__wave_plan *p;
    int rc;

    s->log = true;
    WS_TRY(ws__judge_plan(s, &p));
    WS_TRY_DONE(ws__wave_plan_model(p, &m));
    WS_TRY_DONE(set_margins(s, m));
    s->warning = ws__wave_warning(m);
    if (!s->o->full)
        rc = distilled(s, m);
    for (size_t i = 0; s->o->full && !rc && i < t->nshape; i++)
        if (!s->fit[i])
            rc = ws__wave_predict(m, i, s->score + at(s, i, 0));
done:
    ws__wave_plan_free(p);
    return rc;
}

/* --- figures -------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double ws__judge_quantile(double *v, size_t n, double q)
{
    if (!n)
        return 0;
    qsort(v, n, sizeof(*v), by_value);
    return v[(size_t)fmin((double)n - 1, q * (double)n)];
}

/* The three configs of the lowest scores; fewer: the last is repeated. */
static bool best_three(const struct ws__judge_state *s, size_t shape,
                       uint32_t out[3])
{
    size_t n = 0;

    while (n < 3) {
        size_t best = SIZE_MAX;

        for (size_t j = 0; j < s->d->table->nconfig; j++) {
            bool used = false;

            for (size_t i = 0; i < n; i++)
                used |= out[i] == j;
            if (!used && feasible(s, shape, j) &&
                s->d->truth_ns[at(s, shape, j)] > 0 &&
                (best == SIZE_MAX ||
                 s->score[at(s, shape, j)] < s->score[at(s, shape, best)]))
                best = j;
        }
        if (best == SIZE_MAX)
            break;
        out[n++] = (uint32_t)best;
    }
    for (size_t i = n; n && i < 3; i++)
        out[i] = out[n - 1];
    return n > 0;
}

static uint32_t true_best(const struct ws__judge_state *s, size_t shape)
{
    uint32_t best = UINT32_MAX;

    for (size_t j = 0; j < s->d->table->nconfig; j++) {
        double ns = s->d->truth_ns[at(s, shape, j)];

        if (feasible(s, shape, j) && ns > 0 &&
            (best == UINT32_MAX || ns < s->d->truth_ns[at(s, shape, best)]))
            best = (uint32_t)j;
    }
    return best;
}

/* The one of three that one pass says is fastest. */
static uint32_t timed_best(const struct ws__judge_state *s, size_t shape,
                           const uint32_t three[3])
{
    uint32_t best = three[0];

    for (int i = 1; i < 3; i++) {
        double ns = s->d->first_ns[at(s, shape, three[i])];

        if (ns > 0 && ns < s->d->first_ns[at(s, shape, best)])
            best = three[i];
    }
    return best;
}

static double margin_of(const struct ws__judge_state *s, uint32_t config)
{
    return s->margin ? ws__wave_log_ns(s->margin[config]) : 0;
}

static bool has_default(const struct ws__judge_state *s, size_t shape)
{
    size_t d = s->d->dflt;

    return d < s->d->table->nconfig && feasible(s, shape, d) &&
           s->d->truth_ns[at(s, shape, d)] > 0;
}

/* The one of the best score, unless it does not gain enough over the default:
 * as a pack's margins do it at run time. */
static uint32_t guarded(const struct ws__judge_state *s, size_t shape,
                        uint32_t best)
{
    const double *score = s->score + at(s, shape, 0);

    if (!s->margin || !has_default(s, shape) ||
        score[best] + margin_of(s, best) < score[s->d->dflt])
        return best;
    return (uint32_t)s->d->dflt;
}

struct tally {
    double *regret, *error;
    size_t n, nerror;
    struct ws__judge_result *out;
};

static void beside_default(const struct ws__judge_state *s, size_t shape,
                           uint32_t choice, struct ws__judge_result *out)
{
    const double *truth = s->d->truth_ns + at(s, shape, 0);
    double loss;

    if (!has_default(s, shape))
        return;
    loss = log(truth[choice] / truth[s->d->dflt]);
    out->below_default += loss > 0;
    out->below_margin += loss > margin_of(s, choice);
    out->left_default += choice != s->d->dflt;
    out->below_default_worst = fmax(out->below_default_worst, exp(loss) - 1);
}

static void judge_shape(const struct ws__judge_state *s, size_t shape,
                        uint32_t *chosen, struct tally *y)
{
    const double *truth = s->d->truth_ns + at(s, shape, 0);
    uint32_t three[3], choice, best = true_best(s, shape);
    double regret;

    if (best == UINT32_MAX || !best_three(s, shape, three))
        return;
    choice = guarded(s, shape, three[0]);
    if (chosen)
        chosen[shape] = choice;
    regret = truth[choice] / truth[best] - 1;
    if (regret > y->out->regret_worst || !y->n) {
        y->out->regret_worst = regret;
        y->out->worst_shape = shape;
        y->out->worst_config = choice;
        y->out->worst_best = best;
    }
    y->regret[y->n++] = regret;
    y->out->mean_best_over_chosen += truth[best] / truth[choice];
    y->out->top3_mean_best_over_chosen +=
        truth[best] / truth[timed_best(s, shape, three)];
    y->out->within_5pct += regret <= .05;
    beside_default(s, shape, choice, y->out);
    for (size_t j = 0; s->log && j < s->d->table->nconfig; j++)
        if (feasible(s, shape, j) && truth[j] > 0 &&
            s->score[at(s, shape, j)] < WS__JUDGE_UNKNOWN)
            y->error[y->nerror++] =
                fabs(exp(s->score[at(s, shape, j)]) / truth[j] - 1);
}

static int figures(const struct ws__judge_state *s, uint32_t *chosen,
                   struct ws__judge_result *out)
{
    const struct ws__wave_table *t = s->d->table;
    struct tally y = {.out = out};
    double n;

    y.regret =
        ws__alloc(t->ctx, t->nshape * (t->nconfig + 1) + 1, sizeof(*y.regret));
    if (!y.regret)
        return WS_ENOMEM;
    y.error = y.regret + t->nshape;
    for (size_t i = 0; i < t->nshape; i++) {
        if (chosen)
            chosen[i] = UINT32_MAX;
        if (!s->fit[i])
            judge_shape(s, i, chosen, &y);
    }
    n = y.n ? (double)y.n : 1;
    out->mean_best_over_chosen /= n;
    out->top3_mean_best_over_chosen /= n;
    out->within_5pct /= n;
    out->below_default /= n;
    out->below_margin /= n;
    out->left_default /= n;
    for (size_t i = 0; i < y.n; i++)
        out->regret_mean += y.regret[i] / n;
    out->regret_p95 = ws__judge_quantile(y.regret, y.n, .95);
    out->error_median = ws__judge_quantile(y.error, y.nerror, .5);
    out->error_p95 = ws__judge_quantile(y.error, y.nerror, .95);
    out->held_shapes = y.n;
    out->cells = s->cells;
    out->warning = s->warning;
    ws__free(t->ctx, y.regret);
    return 0;
}

int ws__judge(const struct ws__judge_data *d, const struct ws__judge_opts *o,
              uint32_t *chosen, struct ws__judge_result *out)
{
    static int (*const method[])(
        struct ws__judge_state *) = {ws__judge_wave, ws__judge_bilinear,
                                     ws__judge_nearest, ws__judge_single,
                                     ws__judge_random};
    struct ws__judge_state s = {.d = d, .o = o};
    int rc;

    memset(out, 0, sizeof(*out));
    rc = ws__judge_open(&s);
    if (!rc)
        rc = split(&s, out);
    if (!rc)
        rc = method[o->method](&s);
    if (!rc)
        rc = figures(&s, chosen, out);
    ws__judge_close(&s);
    return rc;
}
