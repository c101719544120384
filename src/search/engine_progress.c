/*
 * engine_progress.c: how far a run is.
 *
 * Figures for a person who watches; nothing decides by them. Answers that
 * come from the journal of the same run are counted but not announced: they
 * were when they were made.
 */
#include "search/engine.h"

#include <math.h>

#include "base/clock.h"

#include "base/banned.h"

uint64_t ws__engine_elapsed_ns(const struct ws__engine *e)
{
    uint64_t waited =
        e->ev->ops->waited_ns ? e->ev->ops->waited_ns(e->ev->self) : 0;

    return e->before_ns + (ws__now_ns() - e->started_ns) - waited;
}

/* Over all workloads; one without a default or without a gain counts as 1. */
static double geomean_speedup(const struct ws__engine *e)
{
    double sum = 0;

    for (size_t w = 0; w < e->p->nworkload; w++) {
        const struct ws__workload_state *s = &e->work[w];

        if (s->default_ns > 0 && s->best_ns > 0)
            sum += log(s->default_ns / s->best_ns);
    }
    return exp(sum / (double)e->p->nworkload);
}

static uint64_t left_ns(const struct ws__engine *e, uint64_t elapsed)
{
    uint64_t trials = 0, time = 0;

    if (e->opts->budget_trials && e->done)
        trials = (uint64_t)((double)elapsed / (double)e->done *
                            (double)(e->opts->budget_trials - e->done));
    if (e->opts->budget_ns > elapsed)
        time = e->opts->budget_ns - elapsed;
    if (!trials || (e->opts->budget_ns && time < trials))
        return time;
    return trials;
}

void ws__engine_progress(struct ws__engine *e, const struct ws__answer *a)
{
    const struct ws__workload_state *w = &e->work[a->q.workload];
    bool confirming = a->q.effort == WS__CONFIRM;
    struct ws__progress p = {
        .done = confirming ? e->pairs : e->done,
        .planned = confirming ? e->pairs_planned : e->opts->budget_trials,
        .ok = e->ok,
        .failed = e->failed,
        .filtered = e->filtered,
        .reused = e->reused,
        .workload = a->q.workload,
        .trial = &a->t[a->n - 1],
        .default_ns = w->default_ns,
        .best_ns = w->best_ns,
        .stage = e->stage,
    };

    if (!e->opts->progress)
        return;
    p.geomean_speedup = geomean_speedup(e);
    p.elapsed_ns = ws__engine_elapsed_ns(e);
    if (!confirming &&
        (e->done <= e->opts->budget_trials || !e->opts->budget_trials))
        p.left_ns = left_ns(e, p.elapsed_ns);
    e->opts->progress(e->opts->user, &p);
}
