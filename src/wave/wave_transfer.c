/*
 * wave_transfer.c: how well a model predicts a device after few of its times.
 *
 * The plan buys cells as it would while tuning. All pairs that it did not buy
 * are predicted by the process itself, and where a shape has several, the one
 * predicted fastest is the choice.
 */
#include "wave/wave_judge.h"

#include <math.h>

#include "base/banned.h"

struct transfer {
    const struct ws__judge_data *d;
    const struct ws__transfer_opts *o;
    unsigned char *bought; /* shape * nconfig + config */
    double *score;         /* of one shape's configs */
    double *error, *regret;
    size_t nerror, nregret;
    double log_sum;
    struct ws__transfer_result *out;
};

/* Where shapes have one config each, no pair decides anything: then all are
 * bought to be far from one another. */
static bool decides(const struct ws__judge_data *d)
{
    const struct ws__wave_table *t = d->table;

    for (size_t i = 0; i < t->nshape; i++) {
        size_t n = 0;

        for (size_t j = 0; j < t->nconfig; j++)
            n += t->pair[i * t->nconfig + j].feasible;
        if (n > 1)
            return true;
    }
    return false;
}

static int buy(struct transfer *x, struct ws__wave_plan *p)
{
    const struct ws__judge_data *d = x->d;
    struct ws__wave_sample s;
    int rc;

    while (!(rc = ws__wave_plan_next(p, &s.shape, &s.config))) {
        size_t at = s.shape * d->table->nconfig + s.config;

        s.log_ns = d->log_ns[at] != 0 ? d->log_ns[at] : HUGE_VAL;
        s.clock = d->clock[at];
        x->bought[at] = 1;
        x->out->cells++;
        WS_TRY(ws__wave_plan_tell(p, &s));
    }
    return rc == WS_EDONE ? 0 : rc;
}

/* Errors of a shape's pairs, and its choice. */
static void judge_shape(struct transfer *x, size_t shape)
{
    const struct ws__judge_data *d = x->d;
    size_t n = 0, first = shape * d->table->nconfig, chosen = SIZE_MAX;
    double best = HUGE_VAL;

    for (size_t j = 0; j < d->table->nconfig; j++) {
        double truth = d->truth_ns[first + j];

        if (!isfinite(x->score[j]) || x->bought[first + j] || !(truth > 0))
            continue;
        n++;
        best = fmin(best, truth);
        if (chosen == SIZE_MAX || x->score[j] < x->score[chosen])
            chosen = j;
        x->log_sum += x->score[j] - log(truth);
        x->error[x->nerror++] = fabs(exp(x->score[j]) / truth - 1);
    }
    if (n < 2)
        return;
    x->regret[x->nregret++] = d->truth_ns[first + chosen] / best - 1;
    x->out->mean_best_over_chosen += best / d->truth_ns[first + chosen];
}

static int figures(struct transfer *x)
{
    struct ws__transfer_result *out = x->out;
    double n = x->nregret ? (double)x->nregret : 1;

    if (!x->nerror) {
        ws__fail(x->d->table->ctx, WS_EINVAL, "no pair is left to judge");
        return ws__hint(x->d->table->ctx, "ask for fewer cells");
    }
    out->pairs = x->nerror;
    out->choices = x->nregret;
    out->bias = exp(x->log_sum / (double)x->nerror);
    out->error_median = ws__judge_quantile(x->error, x->nerror, .5);
    out->error_p95 = ws__judge_quantile(x->error, x->nerror, .95);
    for (size_t i = 0; i < x->nregret; i++) {
        out->regret_mean += x->regret[i] / n;
        out->regret_worst = fmax(out->regret_worst, x->regret[i]);
    }
    out->regret_p95 = ws__judge_quantile(x->regret, x->nregret, .95);
    out->mean_best_over_chosen /= n;
    return 0;
}

static int run(struct transfer *x)
{
    const struct ws__wave_table *t = x->d->table;
    struct ws__wave_plan_opts o = {.budget = x->o->cells,
                                   .spread = decides(x->d) ? 0 : x->o->cells,
                                   .prior = x->o->prior,
                                   .seed = x->o->seed};
    const struct ws__wave_model *m;
    struct ws__wave_plan *p;
    int rc;

    WS_TRY(ws__wave_plan_new(t, &o, &p));
    if (x->o->cells)
        WS_TRY_DONE(buy(x, p));
    WS_TRY_DONE(ws__wave_plan_model(p, &m));
    for (size_t i = 0; i < t->nshape; i++) {
        WS_TRY_DONE(ws__wave_predict(m, i, x->score));
        judge_shape(x, i);
    }
    rc = figures(x);
done:
    ws__wave_plan_free(p);
    return rc;
}

int ws__judge_transfer(const struct ws__judge_data *d,
                       const struct ws__transfer_opts *o,
                       struct ws__transfer_result *out)
{
    const struct ws__wave_table *t = d->table;
    size_t pairs = t->nshape * t->nconfig;
    struct transfer x = {.d = d, .o = o, .out = out};
    int rc = WS_ENOMEM;

    memset(out, 0, sizeof(*out));
    x.bought = ws__alloc(t->ctx, pairs + 1, 1);
    x.error =
        ws__alloc(t->ctx, pairs + t->nconfig + t->nshape + 1, sizeof(*x.error));
    if (x.bought && x.error) {
        x.score = x.error + pairs;
        x.regret = x.score + t->nconfig;
        rc = run(&x);
    }
    ws__free(t->ctx, x.bought);
    ws__free(t->ctx, x.error);
    return rc;
}
