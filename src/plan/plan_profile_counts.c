/*
 * plan_profile_counts.c: the counters of a candidate, from the device or from a
 * file of ncu. What a device does not have is said in words and is no error;
 * errors are those of memory, of being stopped, and of files that the caller
 * named.
 */
#include "plan/plan_profile.h"

#include <math.h>

#include "profile/ncu_csv.h"

#include "base/banned.h"

static int more_counters(struct ws__profiling *p, size_t launches)
{
    p->counter = ws__arena_alloc(&p->spec->arena, launches * WS__NMETRIC,
                                 sizeof(*p->counter));
    if (!p->counter)
        return WS_ENOMEM;
    for (size_t i = 0; i < launches * WS__NMETRIC; i++)
        p->counter[i] = NAN;
    return 0;
}

static int keep_counts(struct ws__profiling *p, const struct ws__counts_of *c,
                       const enum ws__metric *metric)
{
    /* The plan is made of the same values, so the launches are the same. */
    WS_TRY(more_counters(p, p->plan.nlaunch));
    for (size_t l = 0; l < c->nlaunch && l < p->plan.nlaunch; l++)
        for (size_t i = 0; i < c->nmetric; i++)
            p->counter[l * WS__NMETRIC + metric[i]] =
                c->value[l * c->nmetric + i];
    p->passes = c->passes;
    p->counters = "cupti";
    p->counters_why =
        c->passes == 1
            ? "in one pass, the cache as it is timed"
            : "in several runs of each launch, before each its memory is "
              "put back and the cache made as it is timed";
    return 0;
}

static int count(struct ws__profiling *p)
{
    enum ws__metric metric[WS__NMETRIC];
    const char *name[WS__NMETRIC];
    unsigned set = p->o->set && !strcmp(p->o->set, "one") ? WS__METRICS_ONE_PASS
                                                          : WS__METRICS_FULL;
    size_t n = ws__metric_set(set, p->arch, metric, name);
    struct ws__counts_of c = {0};
    int rc;

    if (!n) {
        p->counters_why = "the device has none that are known here";
        return 0;
    }
    rc = ws__measure_count(p->m, &p->c, WS__PROFILE_ASKED, name, n, &c);
    if (!rc && c.value) {
        rc = keep_counts(p, &c, metric);
    } else if (!rc && c.reason) {
        p->counters_why = ws__arena_strdup(&p->spec->arena, c.reason);
        rc = p->counters_why ? 0 : WS_ENOMEM;
    }
    ws__counts_clear(p->spec->ctx, &c);
    return rc;
}

/* ---- ncu ----------------------------------------------------------------- */

static void add_entries(struct ws__buf *b, const struct ws__plan *plan)
{
    for (size_t i = 0; i < plan->nlaunch; i++) {
        const char *entry = ws__plan_entry(&plan->launch[i]);
        bool again = false;

        for (size_t k = 0; k < i; k++)
            again = again || !strcmp(entry, ws__plan_entry(&plan->launch[k]));
        if (!again)
            ws__buf_printf(b, "%s%.*s", i ? "|" : "", (int)strcspn(entry, "<"),
                           entry);
    }
}

static int not_in_file(struct ws__profiling *p, const struct ws__ncu *f,
                       const struct ws__ncu_launch *other)
{
    struct ws_ctx *ctx = p->spec->ctx;
    const struct ws__ncu_launch *l = other ? other : &f->launch[0];
    const struct ws__loc loc = {.file = p->o->ncu, .line = l->line};
    struct ws__buf b;

    ws__buf_init(&b, ctx, 4096);
    add_entries(&b, &p->plan);
    if (other)
        ws__fail_at(ctx, WS_ESPEC, &loc,
                    "'%.100s' has a grid of (%u, %u, %u) and blocks of (%u, "
                    "%u, %u) here, and others in this config and workload",
                    l->kernel, (unsigned)l->grid[0], (unsigned)l->grid[1],
                    (unsigned)l->grid[2], (unsigned)l->block[0],
                    (unsigned)l->block[1], (unsigned)l->block[2]);
    else
        ws__fail_at(ctx, WS_ESPEC, &loc,
                    "no run of all %zu launches of the kernel, in their "
                    "order; the first launch in it is '%.100s'",
                    p->plan.nlaunch, l->kernel);
    ws__hint(ctx,
             "run ncu with -k 'regex:^(%s)$' on the same config and "
             "workload, and let it record all of them",
             b.failed ? "..." : b.data);
    ws__buf_free(&b);
    return b.failed == WS_ENOMEM ? WS_ENOMEM : WS_ESPEC;
}

static int keep_run(struct ws__profiling *p, const struct ws__ncu *f)
{
    const struct ws__ncu_launch *other;
    const char *cache = p->o->ncu_cache;
    size_t at[WS__MAX_LAUNCHES];

    if (!ws__ncu_last_run(f, &p->plan, at, &other))
        return not_in_file(p, f, other);
    WS_TRY(more_counters(p, p->plan.nlaunch));
    for (size_t i = 0; i < p->plan.nlaunch; i++)
        memcpy(p->counter + i * WS__NMETRIC, f->launch[at[i]].value,
               sizeof(f->launch[0].value));
    p->counters = "ncu";
    p->counters_why = ws__arena_printf(
        &p->spec->arena,
        "from '%s', cache control %s; its durations are no times of ours",
        p->o->ncu, cache ? cache : "not known");
    return p->counters_why ? 0 : WS_ENOMEM;
}

static int import(struct ws__profiling *p)
{
    struct ws__ncu *f;
    int rc;

    WS_TRY(ws__ncu_read(p->spec->ctx, p->o->ncu, p->arch, &f));
    rc = keep_run(p, f);
    ws__ncu_free(f);
    return rc;
}

int ws__profile_counters(struct ws__profiling *p)
{
    if (p->o->ncu)
        return import(p);
    if (p->o->set && !strcmp(p->o->set, "none")) {
        p->counters_why = "nobody asked for them";
        return 0;
    }
    return count(p);
}
