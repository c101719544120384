/*
 * plan_transfer.c: a model of one device, judged on another.
 *
 * Two matrices, each with the sheet of its device, become two tables of the
 * same kernel. What the model of the first says of its constants is the prior
 * of the second; for comparison, so is the second's sheet alone.
 */
#include <math.h>

#include "plan/plan_matrix.h"

#include "base/banned.h"

#define SEEDS 5

struct transfer {
    const struct ws_model_transfer_opts *o;
    struct ws__model_data from, to;
    struct ws_model_eval_opts from_files, to_files;
    struct ws__wave_belief prior;
};

static int need_files(struct ws_ctx *ctx,
                      const struct ws_model_transfer_opts *o)
{
    if (o->data && o->to_data)
        return 0;
    ws__fail(ctx, WS_EINVAL, "two timing matrices are needed");
    return ws__hint(ctx, "one of the device that was timed, one of the other");
}

/* Before anything is fitted: is a pair left to judge? */
static int need_rest(const struct transfer *x)
{
    const struct ws__model_data *e = &x->to;
    size_t pairs = 0;

    for (size_t at = 0; at < e->nshape * e->nconfig; at++)
        pairs += e->log_ns[at] != 0;
    if (x->o->cells < pairs)
        return 0;
    ws__fail(e->ctx, WS_EINVAL, "no pair is left to judge: '%s' has %zu",
             x->o->to_data, pairs);
    return ws__hint(e->ctx, "ask for fewer cells");
}

static int load(struct transfer *x, struct ws_spec *spec)
{
    const struct ws__kernel *k;

    x->from.ctx = x->to.ctx = spec->ctx;
    WS_TRY(need_files(spec->ctx, x->o));
    WS_TRY(ws__model_kernel(spec, &k));
    x->from_files.data = x->o->data;
    x->to_files.data = x->o->to_data;
    x->from.o = &x->from_files;
    x->to.o = &x->to_files;
    x->from.kernel = x->to.kernel = k;
    x->from.any_default = x->to.any_default = true;
    WS_TRY(
        ws__model_sheet(spec->ctx, &spec->arena, x->o->sheet, &x->from.sheet));
    WS_TRY(
        ws__model_sheet(spec->ctx, &spec->arena, x->o->to_sheet, &x->to.sheet));
    WS_TRY(ws__model_load(&x->from));
    WS_TRY(ws__model_load(&x->to));
    return need_rest(x);
}

/* --- the first device ----------------------------------------------------- */

/* All pairs of the matrix, or as many as the budget says, evenly. */
static int take_samples(struct transfer *x, struct ws__wave_sample *sample,
                        size_t *n)
{
    const struct ws__model_data *e = &x->from;
    struct ws__judge_opts o = {.share = 1};
    size_t most;

    *n = 0;
    if (x->o->budget)
        WS_TRY(ws__model_budget(e->ctx, x->o->budget, &o));
    for (size_t at = 0; at < e->nshape * e->nconfig; at++)
        if (e->log_ns[at] != 0)
            sample[(*n)++] =
                (struct ws__wave_sample){.shape = (uint32_t)(at / e->nconfig),
                                         .config = (uint32_t)(at % e->nconfig),
                                         .log_ns = e->log_ns[at],
                                         .clock = e->clock[at]};
    most = o.share < 0 ? o.cells : (size_t)(o.share * (double)*n + .5);
    for (size_t i = 0; i < most && most < *n; i++)
        sample[i] = sample[i * *n / most];
    *n = most < *n ? most : *n;
    return 0;
}

static int learn(struct transfer *x, struct ws_model_transfer *out)
{
    const struct ws__model_data *e = &x->from;
    struct ws__wave_sample *sample =
        ws__alloc(e->ctx, e->nshape * e->nconfig + 1, sizeof(*sample));
    struct ws__wave_model *m = NULL;
    struct ws__wave_quality q;
    size_t n;
    int rc = sample ? take_samples(x, sample, &n) : WS_ENOMEM;

    if (!rc)
        rc = ws__wave_fit(&e->maker.table, sample, n, NULL, NULL, &m);
    if (!rc) {
        ws__wave_quality(m, &q);
        out->source_cells = (double)q.n;
        out->source_rms = q.formula_rms;
        ws__wave_carry(m, &x->to.sheet, &x->prior);
    }
    ws__wave_model_free(m);
    ws__free(e->ctx, sample);
    return rc;
}

/* --- the other ------------------------------------------------------------ */

static int judge_one(struct transfer *x, const struct ws__wave_belief *prior,
                     uint64_t seed, struct ws_transfer_figures *f)
{
    struct ws__transfer_opts o = {.prior = prior,
                                  .cells = (size_t)x->o->cells,
                                  .seed = seed};
    struct ws__transfer_result r;

    WS_TRY(ws__check_stop(x->to.ctx));
    WS_TRY(ws__judge_transfer(&x->to.data, &o, &r));
    *f = (struct ws_transfer_figures){.error_median = r.error_median,
                                      .error_p95 = r.error_p95,
                                      .bias = r.bias,
                                      .cells = (double)r.cells,
                                      .pairs = (double)r.pairs,
                                      .choices = (double)r.choices,
                                      .mean_oracle_over_chosen =
                                          r.mean_best_over_chosen,
                                      .regret_mean = r.regret_mean,
                                      .regret_p95 = r.regret_p95,
                                      .regret_worst = r.regret_worst,
                                      .seed = seed};
    return 0;
}

static void average(const struct ws_transfer_figures *f, size_t n,
                    struct ws_transfer_figures *out)
{
#define WS_X(name)                                                             \
    for (size_t i = 0; i < n; i++)                                             \
        out->name += f[i].name / (double)n;
    WS_TRANSFER_FIGURES(WS_X)
#undef WS_X
}

static int judge(struct transfer *x, struct ws__arena *arena,
                 struct ws_model_transfer *out)
{
    /* Without cells nothing is drawn. */
    size_t n = !x->o->cells ? 1 : x->o->seeds ? x->o->seeds : SEEDS;
    struct ws_transfer_figures *f = ws__arena_alloc(arena, 2 * n, sizeof(*f));

    if (!f)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint64_t seed = (x->o->seed ? x->o->seed : 1) + i;

        WS_TRY(judge_one(x, &x->prior, seed, &f[i]));
        WS_TRY(judge_one(x, NULL, seed, &f[n + i]));
    }
    average(f, n, &out->mean);
    average(f + n, n, &out->neutral);
    out->seed = f;
    out->neutral_seed = f + n;
    out->nseed = n;
    return 0;
}

int ws_model_transfer(struct ws_spec *spec,
                      const struct ws_model_transfer_opts *opts,
                      struct ws_model_transfer *out)
{
    struct ws_model_transfer_opts all = {0};
    struct transfer *x;
    int rc;

    memset(out, 0, sizeof(*out));
    memcpy(&all, opts,
           opts->size && opts->size < sizeof(all) ? opts->size : sizeof(all));
    x = ws__alloc(spec->ctx, 1, sizeof(*x));
    if (!x)
        return WS_ENOMEM;
    x->o = &all;
    rc = load(x, spec);
    if (!rc)
        rc = learn(x, out);
    if (!rc)
        rc = judge(x, &spec->arena, out);
    ws__model_clear(&x->from);
    ws__model_clear(&x->to);
    ws__free(spec->ctx, x);
    return rc;
}
