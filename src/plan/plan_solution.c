/*
 * plan_solution.c: traces and solutions of flashinfer-bench, out of a store.
 *
 * A solution is a kernel with a choice for each workload: the config that was
 * asked for, or the fastest that is right there, of those that were measured
 * with the most effort. A workload on which none is right has the trace of
 * one that is not.
 */
#include "plan/plan_results.h"

#include "spec/solution.h"
#include "spec/traces.h"

#include "base/banned.h"

struct chosen {
    struct ws__gathered g;
    const struct ws__trial **of; /* one a workload; NULL: not measured */
    size_t n;
    char solution[256];
};

static int median_of(struct ws_ctx *ctx, const struct ws__trial *t, double *out)
{
    struct ws__summary sum = {0};

    if (t->nsample)
        WS_TRY(ws__summarize(ctx, t->sample_ns, t->nsample, &sum));
    *out = sum.median;
    return 0;
}

/* Is a before b? What is right is, then what was looked at closer, then what
 * is faster. */
static bool is_better(const struct ws__trial *a, double a_ns,
                      const struct ws__trial *b, double b_ns)
{
    bool a_ok = a->verdict == WS__V_OK, b_ok = b->verdict == WS__V_OK;

    if (a_ok != b_ok)
        return a_ok;
    if (!a_ok)
        return false;
    return a->effort != b->effort ? a->effort > b->effort : a_ns < b_ns;
}

static int choose(struct chosen *c, const struct ws__config *config)
{
    struct ws_ctx *ctx = c->g.ctx;
    double best_ns = 0;

    c->n = c->g.last - c->g.first + 1;
    c->of = ws__alloc(ctx, c->n, sizeof(const struct ws__trial *));
    if (!c->of)
        return WS_ENOMEM;
    for (size_t i = 0; i < c->g.n; i++) {
        const struct ws__trial *t = &c->g.trial[i], **best;
        double ns;

        if ((config && !ws__config_eq(config, &t->candidate.config)) ||
            !ws__trace_status(t->verdict))
            continue;
        WS_TRY(median_of(ctx, t, &ns));
        best = &c->of[t->workload - c->g.first];
        if (*best && !is_better(t, ns, *best, best_ns))
            continue;
        *best = t;
        best_ns = ns;
    }
    return 0;
}

static int name_solution(struct chosen *c,
                         const struct ws_trials_export_opts *o)
{
    const struct ws__kernel *k = &c->g.spec->s->kernel[c->g.kernel];

    if (o->solution && !*o->solution)
        return ws__fail(c->g.ctx, WS_EINVAL, "a solution needs a name");
    snprintf(c->solution, sizeof(c->solution), "%s%.200s",
             o->solution ? "" : "wavesmith_",
             o->solution ? o->solution : k->name);
    return 0;
}

static int write_traces(struct chosen *c, struct ws__buf *out, uint64_t *n)
{
    const struct ws__spec *s = c->g.spec->s;
    struct ws__trace_about about = {
        .op = s->op,
        .solution = c->solution,
        .device = *c->g.device_name ? c->g.device_name : "unknown",
        .identity = c->g.identified ? &c->g.identity : NULL,
    };

    for (size_t i = 0; i < c->n; i++) {
        if (!c->of[i])
            continue;
        WS_TRY(ws__trace_write(c->g.ctx, &about, &s->workload[c->g.first + i],
                               c->of[i], out));
        ++*n;
    }
    if (*n)
        return 0;
    ws__fail(c->g.ctx, WS_ENOENT, "the store has no trials of this config");
    return ws__hint(c->g.ctx,
                    "'wavesmith trials STORE --list' shows what it has");
}

static int write_solution(struct chosen *c, struct ws__buf *out, uint64_t *n)
{
    const struct ws__spec *s = c->g.spec->s;
    struct ws__solution_choice *list = ws__alloc(c->g.ctx, c->n, sizeof(*list));
    struct ws__solution_about about = {
        .kernel = &s->kernel[c->g.kernel],
        .name = c->solution,
        .device = *c->g.device_name ? c->g.device_name : "unknown",
        .identity = &c->g.identity,
        .choice = list,
    };
    int rc;

    if (!list)
        return WS_ENOMEM;
    for (size_t i = 0; i < c->n; i++)
        if (c->of[i] && c->of[i]->verdict == WS__V_OK)
            list[about.n++] =
                (struct ws__solution_choice){&s->workload[c->g.first + i],
                                             &c->of[i]->candidate.config};
    *n = about.n;
    if (about.n) {
        rc = ws__solution_write(c->g.ctx, &about, out);
    } else {
        ws__fail(c->g.ctx, WS_ENOENT, "the store has nothing that is right");
        rc = ws__hint(c->g.ctx,
                      "'wavesmith trials STORE --list' shows what it has");
    }
    ws__free(c->g.ctx, list);
    return rc;
}

int ws__export_flashinfer(struct ws_ctx *ctx,
                          const struct ws_trials_export_opts *o,
                          struct ws__store *s, struct ws__buf *out,
                          uint64_t *records)
{
    struct ws__spec *spec = o->spec->s;
    struct chosen c = {.g.ctx = ctx};
    struct ws__config config;
    int rc;

    if (!spec->op) {
        ws__fail(ctx, WS_EINVAL, "'%s' is a space without an op", spec->path);
        return ws__hint(ctx, "traces and solutions are of a Definition");
    }
    WS_TRY_DONE(ws__gather(ctx, o, s, true, &c.g));
    if (o->config)
        WS_TRY_DONE(ws__config_parse(ctx, &spec->kernel[c.g.kernel], o->config,
                                     &config));
    WS_TRY_DONE(choose(&c, o->config ? &config : NULL));
    WS_TRY_DONE(name_solution(&c, o));
    rc = strcmp(o->format, "solution") != 0 ? write_traces(&c, out, records)
                                            : write_solution(&c, out, records);
done:
    ws__free(ctx, c.of);
    ws__gathered_free(&c.g);
    return rc < 0 ? rc : 0;
}
