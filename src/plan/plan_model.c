/*
 * plan_model.c: wave models at the public interface: the yardstick.
 *
 * The judging itself is in src/wave/wave_judge.c.
 */
#include "base/clock.h"
#include "plan/plan_matrix.h"

#include "base/banned.h"

#define SEEDS 5

static int set_figures(struct ws__model_data *e, struct ws__arena *arena,
                       const struct ws__judge_result *r,
                       struct ws_model_figures *f)
{
    f->mean_oracle_over_chosen = r->mean_best_over_chosen;
    f->regret_mean = r->regret_mean;
    f->regret_p95 = r->regret_p95;
    f->regret_worst = r->regret_worst;
    f->within_5pct = r->within_5pct;
    f->below_default = r->below_default;
    f->below_default_worst = r->below_default_worst;
    f->below_margin = r->below_margin;
    f->left_default = r->left_default;
    f->top3_mean_oracle_over_chosen = r->top3_mean_best_over_chosen;
    f->error_median = r->error_median;
    f->error_p95 = r->error_p95;
    f->cells = (double)r->cells;
    f->fit_pairs = (double)r->pairs;
    f->fit_shapes = (double)r->fit_shapes;
    f->held_shapes = (double)r->held_shapes;
    f->warning = r->warning;
    f->worst_shape = ws__model_shape_text(e, arena, r->worst_shape);
    f->worst_chosen = ws__model_config_text(e, arena, r->worst_config);
    f->worst_best = ws__model_config_text(e, arena, r->worst_best);
    return f->worst_shape && f->worst_chosen && f->worst_best ? 0 : WS_ENOMEM;
}

/* Means over the seeds, but the median of the worst shapes. */
static void average(struct ws_model_figures *f, size_t n,
                    struct ws_model_figures *out)
{
    memset(out, 0, sizeof(*out));
#define WS_X(name)                                                             \
    for (size_t i = 0; i < n; i++)                                             \
        out->name += f[i].name / (double)n;
    WS_MODEL_FIGURES(WS_X)
#undef WS_X
    for (size_t i = 0; i < n && !out->warning; i++)
        out->warning = f[i].warning;
    for (size_t i = 0; i < n; i++) {
        size_t below = 0, same = 0;

        for (size_t k = 0; k < n; k++) {
            below += f[k].regret_worst < f[i].regret_worst;
            same += k < i && f[k].regret_worst == f[i].regret_worst;
        }
        if (below + same == n / 2) {
            out->regret_worst = f[i].regret_worst;
            out->worst_shape = f[i].worst_shape;
            out->worst_chosen = f[i].worst_chosen;
            out->worst_best = f[i].worst_best;
        }
    }
}

/* Choices that lose more than was asked for. */
struct losses {
    struct ws_model_choice *c;
    size_t n, cap;
};

static uint32_t fastest(const struct ws__model_data *e, const double *truth)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t j = 0; j < e->nconfig; j++)
        if (truth[j] > 0 && (best == UINT32_MAX || truth[j] < truth[best]))
            best = j;
    return best;
}

static int add_losses(struct ws__model_data *e, struct ws__arena *arena,
                      uint64_t seed, const uint32_t *chosen, struct losses *l)
{
    for (size_t i = 0; i < e->nshape; i++) {
        const double *truth = e->truth + i * e->nconfig;
        uint32_t best = fastest(e, truth);
        struct ws_model_choice *c;

        if (chosen[i] == UINT32_MAX ||
            truth[chosen[i]] <= e->o->beyond * truth[best])
            continue;
        WS_TRY(ws__grow(e->ctx, (void **)&l->c, &l->cap, l->n, sizeof(*l->c)));
        c = &l->c[l->n++];
        c->seed = seed;
        c->chosen_ns = truth[chosen[i]];
        c->best_ns = truth[best];
        c->shape = ws__model_shape_text(e, arena, i);
        c->chosen = ws__model_config_text(e, arena, chosen[i]);
        c->best = ws__model_config_text(e, arena, best);
        if (!c->shape || !c->chosen || !c->best)
            return WS_ENOMEM;
    }
    return 0;
}

static int keep_losses(struct ws__arena *arena, const struct losses *l,
                       struct ws_model_eval *out)
{
    struct ws_model_choice *c = ws__arena_alloc(arena, l->n + 1, sizeof(*c));

    if (!c)
        return WS_ENOMEM;
    if (l->n)
        memcpy(c, l->c, l->n * sizeof(*c));
    out->loss = c;
    out->nloss = l->n;
    return 0;
}

static int judge_seeds(struct ws__model_data *e, struct ws__arena *arena,
                       struct ws__judge_opts *o, struct ws_model_figures *f,
                       size_t n, struct losses *l)
{
    uint32_t *chosen = ws__alloc(e->ctx, e->nshape, sizeof(*chosen));
    int rc = chosen ? 0 : WS_ENOMEM;

    for (size_t i = 0; i < n && !rc; i++) {
        struct ws__judge_result r;
        uint64_t start = ws__now_ns();

        o->seed = (e->o->seed ? e->o->seed : 1) + i;
        WS_TRY_DONE(ws__check_stop(e->ctx));
        WS_TRY_DONE(ws__judge(&e->data, o, chosen, &r));
        f[i].seconds = (double)(ws__now_ns() - start) / 1e9;
        f[i].seed = o->seed;
        WS_TRY_DONE(set_figures(e, arena, &r, &f[i]));
        if (e->o->beyond > 0)
            rc = add_losses(e, arena, o->seed, chosen, l);
    }
done:
    ws__free(e->ctx, chosen);
    return rc;
}

static int judge(struct ws__model_data *e, struct ws__arena *arena,
                 struct ws__judge_opts *o, struct ws_model_eval *out)
{
    size_t n = e->o->seeds ? e->o->seeds : SEEDS;
    struct ws_model_figures *f = ws__arena_alloc(arena, n, sizeof(*f));
    struct losses l = {0};
    int rc;

    if (!f)
        return WS_ENOMEM;
    rc = judge_seeds(e, arena, o, f, n, &l);
    if (!rc)
        rc = keep_losses(arena, &l, out);
    ws__free(e->ctx, l.c);
    if (rc)
        return rc;
    average(f, n, &out->mean);
    out->seed = f;
    out->nseed = n;
    out->foreign = e->fit.foreign + e->held.foreign;
    return 0;
}

int ws_model_eval(struct ws_spec *spec, const struct ws_model_eval_opts *opts,
                  struct ws_model_eval *out)
{
    struct ws_model_eval_opts all = {0};
    struct ws__judge_opts o = {0};
    const struct ws__kernel *k;
    struct ws__model_data *e;
    int rc;

    memset(out, 0, sizeof(*out));
    memcpy(&all, opts,
           opts->size && opts->size < sizeof(all) ? opts->size : sizeof(all));
    WS_TRY(ws__model_kernel(spec, &k));
    e = ws__alloc(spec->ctx, 1, sizeof(*e));
    if (!e)
        return WS_ENOMEM;
    e->ctx = spec->ctx;
    e->kernel = k;
    e->o = &all;
    rc = ws__model_opts(e, &spec->arena, &o);
    if (!rc)
        rc = ws__model_load(e);
    if (!rc)
        rc = judge(e, &spec->arena, &o, out);
    ws__model_clear(e);
    ws__free(spec->ctx, e);
    return rc;
}
