/*
 * plan_tune.c: tune at the public interface: wires specification, spaces,
 * device, store and engine together and turns the outcome into rows and a
 * pack.
 *
 * What may be long (the engine) is interruptible and resumable; what follows
 * it (pack, rows) is short and happens whatever ended the search, so that a
 * stopped tune still leaves the best it knows.
 */
#include "plan/plan_tune.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/banned.h"

#define DEFAULT_BUDGET_TRIALS 100u
#define DEFAULT_STRATEGY "hill"
#define PARALLEL 4u /* questions asked ahead for each device */

struct tune {
    struct ws_ctx *ctx;
    struct ws_spec *spec;
    const struct ws_tune_opts *o;
    struct ws__fleet *fleet;
    struct ws__measure *m; /* of its first device */
    struct ws__store *store;
    struct ws__space **space;
    size_t nspace;
    struct ws__outcome outcome;
    struct ws__run run;
    uint64_t unfit;      /* candidates that the resource filter removed */
    char unfit_why[256]; /* the first of them */
};

static size_t ndevice(const struct ws_tune_opts *o)
{
    return o->ndevice ? o->ndevice : 1;
}

const char *ws_verdict_name(unsigned index)
{
    const char *key = ws__verdict_key((enum ws__verdict)index);

    return index <= WS__V_FILTERED ? key : NULL;
}

const char *ws_strategy_name(unsigned i, const char **about)
{
    for (unsigned n = 0; ws__strategy_table[n]; n++)
        if (n == i) {
            if (about)
                *about = ws__strategy_table[n]->about;
            return ws__strategy_table[n]->name;
        }
    return NULL;
}

static int fits(void *user, const struct ws__candidate *c, uint32_t workload)
{
    struct tune *t = user;
    char reason[256] = "";
    int rc = ws__measure_fits(t->m, c, workload, reason);

    if (!rc && !t->unfit++)
        snprintf(t->unfit_why, sizeof(t->unfit_why), "%s", reason);
    return rc;
}

static void on_progress(void *user, const struct ws__progress *p)
{
    struct tune *t = user;
    const struct ws__spec *s = t->spec->s;
    struct ws_tune_progress o = {
        .stage = p->stage,
        .done = p->done,
        .planned = p->planned,
        .ok = p->ok,
        .failed = p->failed,
        .filtered = p->filtered,
        .reused = p->reused,
        .default_ns = p->default_ns,
        .best_ns = p->best_ns,
        .geomean_speedup = p->geomean_speedup,
        .elapsed_ns = p->elapsed_ns,
        .left_ns = p->left_ns,
    };
    struct ws__buf work, config;

    ws__buf_init(&work, t->ctx, 4096);
    ws__buf_init(&config, t->ctx, 4096);
    if (p->trial) {
        double score = ws__trial_score(t->ctx, p->trial);

        ws__workload_print(&work, s->op, &s->workload[p->workload]);
        ws__config_print(&config, &s->kernel[p->trial->candidate.kernel],
                         &p->trial->candidate.config);
        o.workload = work.data;
        o.config = config.data;
        o.verdict = ws__verdict_key(p->trial->verdict);
        o.time_ns = p->trial->nsample && score < 1e300 ? score : 0;
    }
    t->o->progress(t->o->user, &o);
    ws__buf_free(&work);
    ws__buf_free(&config);
}

static int open_devices(struct tune *t)
{
    const struct ws_tune_opts *o = t->o;
    const struct ws__spec *s = t->spec->s;
    struct ws__measure_opts mo = {.builders = o->builders, .seed = o->seed};

    WS_TRY(ws__plan_measure_opts(t->spec, o->cache, &mo));
    WS_TRY(ws__fleet_open(t->ctx, s->op, s->kernel, s->nkernel, s->workload,
                          s->nworkload, &mo,
                          o->ndevice ? o->devices : &o->device, ndevice(o),
                          &t->fleet));
    t->m = ws__fleet_first(t->fleet);
    ws__plan_bind(t->spec, t->m);
    return 0;
}

static int make_spaces(struct tune *t)
{
    struct ws__spec *s = t->spec->s;
    union wsrt_value vars[WS__MAX_SLOTS];

    t->nspace = s->nkernel * s->nworkload;
    t->space = ws__alloc(t->ctx, t->nspace, sizeof(*t->space));
    if (!t->space)
        return WS_ENOMEM;
    for (size_t k = 0; k < s->nkernel; k++)
        for (size_t w = 0; w < s->nworkload; w++) {
            struct ws__space **sp = &t->space[k * s->nworkload + w];
            struct ws__config dflt;

            memset(vars, 0, sizeof(vars));
            ws__measure_vars(t->m, &s->kernel[k], (uint32_t)w, vars);
            WS_TRY(ws__space_new(t->ctx, &s->kernel[k], vars, true, true, sp));
            ws__config_default(&s->kernel[k], &dflt);
            WS_TRY(ws__space_fix_structural(*sp, &dflt));
        }
    return 0;
}

static int open_store(struct tune *t)
{
    struct ws_ctx *ctx = t->ctx;
    const struct ws__identity *id = &ws__measure_device(t->m)->id;
    struct ws__evaluator ev = ws__fleet_evaluator(t->fleet);
    char *path = t->o->store ? ws__strdup(ctx, t->o->store)
                             : ws__path_join(ctx, t->spec->project, "store.db");
    int rc;

    if (!path)
        return WS_ENOMEM;
    if (ev.ops->identity)
        id = ev.ops->identity(ev.self);
    rc = ws__store_open(ctx, path, false, &t->store);
    if (!rc)
        rc = ws__store_set_identity(t->store, id);
    t->run.device = id->hash;
    ws__free(ctx, path);
    return rc;
}

static int need_workloads(struct tune *t)
{
    if (t->spec->s->nworkload)
        return 0;
    ws__fail(t->ctx, WS_EINVAL, "'%s' names no workloads", t->spec->s->path);
    return ws__hint(t->ctx, "give a file of shapes: --workloads FILE");
}

static int search(struct tune *t, const char *strategy)
{
    struct ws__spec *s = t->spec->s;
    struct ws__evaluator ev = ws__fleet_evaluator(t->fleet);
    struct ws__journal j = ws__store_journal(t->store);
    struct ws__problem_space p = {
        .ctx = t->ctx,
        .kernel = s->kernel,
        .nkernel = s->nkernel,
        .workload = s->workload,
        .nworkload = s->nworkload,
        .spaces = t->space,
        .seed = t->o->seed,
        .fits = fits,
        .fits_user = t,
    };
    struct ws__engine_opts eo = {
        .strategy = strategy,
        .seed = t->o->seed,
        .budget_trials = t->o->budget_trials,
        .budget_ns = t->o->budget_ns,
        .parallel = t->o->parallel ? t->o->parallel
                                   : PARALLEL * (unsigned)ndevice(t->o),
        .progress = t->o->progress ? on_progress : NULL,
        .user = t,
    };

    if (!eo.budget_trials && !eo.budget_ns)
        eo.budget_trials = DEFAULT_BUDGET_TRIALS;
    snprintf(t->run.name, sizeof(t->run.name), "%s", s->path);
    snprintf(t->run.strategy, sizeof(t->run.strategy), "%s", strategy);
    t->run.spec = s->hash;
    t->run.seed = t->o->seed;
    return ws__engine_run(&p, &ev, &j, &t->run, &eo, &t->outcome);
}

static void tune_end(struct tune *t)
{
    ws__outcome_clear(t->ctx, &t->outcome);
    for (size_t i = 0; i < t->nspace; i++)
        ws__space_free(t->space ? t->space[i] : NULL);
    ws__free(t->ctx, t->space);
    ws__store_close(t->store);
    ws__fleet_close(t->fleet);
}

/* A pack that cannot be written is better known before hours of work. */
static int check_pack_path(struct ws_ctx *ctx, const char *path)
{
    char *dir;
    int rc;

    if (!path)
        return 0;
    if (ws__fs_is_dir(path)) {
        ws__fail(ctx, WS_EINVAL, "cannot write the pack '%s': it is a folder",
                 path);
        return ws__hint(ctx, "name a file, such as '%s/kernel.wspack'", path);
    }
    dir = ws__path_dir(ctx, path);
    if (!dir)
        return WS_ENOMEM;
    rc = ws__fs_can_create(ctx, dir);
    ws__free(ctx, dir);
    return rc < 0 ? ws__error_prefix(ctx, "the pack has no place") : 0;
}

int ws_tune(struct ws_spec *spec, const struct ws_tune_opts *opts,
            struct ws_tune_result **out)
{
    struct tune t = {.ctx = spec->ctx, .spec = spec, .o = opts};
    const char *strategy = opts->strategy ? opts->strategy : DEFAULT_STRATEGY;
    int rc;

    *out = NULL;
    WS_TRY(ws__plan_need_op(spec, "tune"));
    WS_TRY(need_workloads(&t));
    if (!ws__strategy_find(strategy)) {
        ws__fail(t.ctx, WS_EINVAL, "unknown strategy '%s'", strategy);
        return ws__hint(t.ctx, "'wavesmith tune --help' lists them");
    }
    WS_TRY(check_pack_path(t.ctx, opts->pack));
    WS_TRY(ws__fs_mkdirs(t.ctx, spec->project));
    WS_TRY_DONE(open_devices(&t));
    WS_TRY_DONE(open_store(&t));
    WS_TRY_DONE(make_spaces(&t));
    WS_TRY_DONE(search(&t, strategy));
    WS_TRY_DONE(ws__tune_result(spec, opts, &t.outcome, t.m, out));
    (*out)->unfit = t.unfit;
    snprintf((*out)->unfit_why, sizeof((*out)->unfit_why), "%s", t.unfit_why);
done:
    tune_end(&t);
    return rc;
}
