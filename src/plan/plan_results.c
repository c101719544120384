/*
 * plan_results.c: one result a config, out of a store and into files of other
 * tools. See plan_results.h.
 */
#include "plan/plan_results.h"

#include <stdlib.h>

#include "plan/plan_recordings.h"
#include "spec/results.h"

#include "base/banned.h"

/* --- which device --------------------------------------------------------- */

static int see_device(void *user, const struct ws__store_sum *sum)
{
    struct ws__picked_device *p = user;

    if (!sum->trials || (p->run && p->run != sum->run.id) ||
        !ws__trials_is_device(sum->device, sum->run.device, p->want) ||
        (p->n && ws__hash_eq(p->found, sum->run.device)))
        return 0;
    p->found = sum->run.device;
    if (p->n < 2)
        snprintf(p->name[p->n], sizeof(p->name[0]), "%s", sum->device);
    p->n++;
    return 0;
}

/* The one device that is meant: of a run there is one. */
int ws__pick_device(struct ws_ctx *ctx, struct ws__store *s, const char *want,
                    uint64_t run, struct ws__picked_device *p)
{
    *p = (struct ws__picked_device){.want = want, .run = run};
    WS_TRY(ws__store_runs(s, see_device, p));
    if (p->n == 1)
        return 0;
    if (!p->n) {
        if (run)
            ws__fail(ctx, WS_ENOENT,
                     "the store has no trials of run %llu%s%s%s",
                     (unsigned long long)run, want ? " on a device '" : "",
                     want ? want : "", want ? "'" : "");
        else
            ws__fail(ctx, WS_ENOENT, "the store has no trials of %s%s%s",
                     want ? "a device '" : "any device", want ? want : "",
                     want ? "'" : "");
        return ws__hint(ctx, "'wavesmith trials STORE' lists what it has");
    }
    ws__fail(ctx, WS_EINVAL, "the trials are of several devices: '%s', '%s'%s",
             p->name[0], p->name[1], p->n > 2 ? ", ..." : "");
    return ws__hint(ctx, "say which: --run N, --device NAME, or the beginning "
                         "of its hash");
}

/* --- one figure a config: out -------------------------------------------- */

static bool is_of(const struct ws__gathered *g, const struct ws__store_row *r)
{
    const struct ws__kernel *k = &g->spec->s->kernel[g->kernel];
    const struct ws__trial *t = &r->trial;

    if (r->part || t->candidate.kernel != g->kernel || t->workload < g->first ||
        t->workload > g->last || !ws__hash_eq(r->run.spec, g->spec->s->hash) ||
        !ws__hash_eq(r->run.device, g->device) ||
        t->candidate.config.n != k->nparam)
        return false;
    for (size_t i = 0; i < k->nparam; i++)
        if (t->candidate.config.at[i] >= k->param[i].nvalue)
            return false;
    return true;
}

static int on_row(void *user, const struct ws__store_row *r)
{
    struct ws__gathered *g = user;

    WS_TRY(ws__check_stop(g->ctx));
    if (!is_of(g, r))
        return 0;
    WS_TRY(
        ws__grow(g->ctx, (void **)&g->trial, &g->cap, g->n, sizeof(*g->trial)));
    WS_TRY(ws__trial_copy(g->ctx, &r->trial, &g->trial[g->n]));
    g->n++;
    if (r->has_identity) {
        g->identity = r->identity;
        g->identified = true;
    }
    return 0;
}

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By workload and config. */
static int order_place(const struct ws__trial *a, const struct ws__trial *b)
{
    int d = order(a->workload, b->workload);

    for (size_t i = 0; !d && i < a->candidate.config.n; i++)
        d = order(a->candidate.config.at[i], b->candidate.config.at[i]);
    return d;
}

/* The one to be taken first within each. */
static int order_trials(const void *x, const void *y)
{
    const struct ws__trial *a = x, *b = y;
    int d = order_place(a, b);

    if (!d)
        d = order(b->effort, a->effort);
    return d ? d : order(b->id, a->id);
}

static void keep_best(struct ws__gathered *g)
{
    size_t n = 0;

    if (g->n)
        qsort(g->trial, g->n, sizeof(*g->trial), order_trials);
    for (size_t i = 0; i < g->n; i++) {
        if (n && !order_place(&g->trial[n - 1], &g->trial[i]))
            ws__trial_clear(g->ctx, &g->trial[i]);
        else
            g->trial[n++] = g->trial[i];
    }
    g->n = n;
}

static int to_results(struct ws__gathered *g, struct ws__result *list)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct ws__trial *t = &g->trial[i];
        struct ws__summary sum = {0};

        if (t->nsample)
            WS_TRY(ws__summarize(g->ctx, t->sample_ns, t->nsample, &sum));
        list[i] = (struct ws__result){
            .config = t->candidate.config,
            .workload = t->workload - g->first,
            .verdict = t->verdict,
            .reason = t->reason,
            .figure_ns = sum.median,
            .sample_ns = t->sample_ns,
            .nsample = t->verdict == WS__V_OK ? t->nsample : 0,
            .build_ns = t->res.build_ns,
            .wall_ns = t->wall_ns,
        };
    }
    return 0;
}

static int format_of(struct ws_ctx *ctx, const char *name,
                     enum ws__results_format *out)
{
    static const char *const names[] = {
        [WS__RESULTS_MATRIX] = "csv",
        [WS__RESULTS_T4] = "t4",
        [WS__RESULTS_CACHE] = "cache",
    };

    for (size_t i = 0; i < WS_COUNT(names); i++)
        if (!strcmp(names[i], name)) {
            *out = (enum ws__results_format)i;
            return 0;
        }
    ws__fail(ctx, WS_EINVAL, "unknown format '%s'", name);
    return ws__hint(ctx, "jsonl, t4, cache, csv, trace or solution");
}

int ws__results_workload(struct ws_spec *spec, const char *text, uint32_t *out)
{
    struct ws__spec *s = spec->s;
    struct ws__workload w;

    *out = 0;
    if (!text)
        return 0;
    if (!s->op && strcmp(text, WS__RECORDED) != 0) {
        ws__fail(spec->ctx, WS_EINVAL, "'%s' is no workload of '%s'", text,
                 s->path);
        return ws__hint(spec->ctx, "a space without an op has one: "
                                   "'" WS__RECORDED "'");
    }
    if (!s->op)
        return 0;
    WS_TRY(ws__plan_workload(spec, text, &w));
    for (size_t i = 0; i < s->nworkload; i++)
        /* Axes alone mean the first of that shape. */
        if (!memcmp(s->workload[i].axis, w.axis, sizeof(w.axis)) &&
            (!w.input || w.input == s->workload[i].input)) {
            *out = (uint32_t)i;
            return 0;
        }
    ws__fail(spec->ctx, WS_EINVAL, "'%s' is none of the workloads of '%s'",
             text, s->path);
    return ws__hint(spec->ctx, "give the file of workloads that was used: "
                               "--workloads FILE");
}

int ws__gather(struct ws_ctx *ctx, const struct ws_trials_export_opts *o,
               struct ws__store *s, bool all, struct ws__gathered *g)
{
    struct ws__picked_device p;

    *g = (struct ws__gathered){.ctx = ctx, .spec = o->spec};
    WS_TRY(ws__plan_kernel(o->spec, o->kernel, &g->kernel));
    WS_TRY(ws__results_workload(o->spec, o->workload, &g->first));
    g->last = g->first;
    if (all && !o->workload && o->spec->s->nworkload)
        g->last = (uint32_t)o->spec->s->nworkload - 1;
    WS_TRY(ws__pick_device(ctx, s, o->device, o->run, &p));
    g->device = p.found;
    snprintf(g->device_name, sizeof(g->device_name), "%s", p.name[0]);
    WS_TRY(
        ws__store_rows(s, &(struct ws__store_range){.run = o->run}, on_row, g));
    keep_best(g);
    if (g->n)
        return 0;
    ws__fail(ctx, WS_ENOENT,
             "the store has no trials of this kernel, workload and device "
             "for '%s' as it is now",
             o->spec->s->path);
    return ws__hint(ctx, "'wavesmith trials STORE --list' shows what it has; "
                         "workloads must be those of the tune");
}

void ws__gathered_free(struct ws__gathered *g)
{
    for (size_t i = 0; i < g->n; i++)
        ws__trial_clear(g->ctx, &g->trial[i]);
    ws__free(g->ctx, g->trial);
}

int ws__export_results(struct ws_ctx *ctx,
                       const struct ws_trials_export_opts *o,
                       struct ws__store *s, struct ws__buf *out,
                       uint64_t *records)
{
    enum ws__results_format format = WS__RESULTS_MATRIX;
    struct ws__result *list = NULL;
    struct ws__results_spec rs;
    struct ws__gathered g = {.ctx = ctx};
    int rc;

    WS_TRY(format_of(ctx, o->format, &format));
    WS_TRY_DONE(ws__gather(ctx, o, s, format == WS__RESULTS_MATRIX, &g));
    list = ws__alloc(ctx, g.n, sizeof(*list));
    WS_TRY_DONE(list ? to_results(&g, list) : WS_ENOMEM);
    rs = (struct ws__results_spec){
        .kernel = &o->spec->s->kernel[g.kernel],
        .workload = o->spec->s->workload + g.first,
        .nworkload = o->spec->s->nworkload ? g.last - g.first + 1 : 0,
    };
    WS_TRY_DONE(ws__results_write(&rs, format, g.device_name, list, g.n, out));
    *records = g.n;
done:
    ws__gathered_free(&g);
    ws__free(ctx, list);
    return rc < 0 ? rc : 0;
}
