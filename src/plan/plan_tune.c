/*
 * plan_tune.c: tune at the public interface: wires specification, spaces,
 * device or recordings, store and engine together and turns the outcome into
 * rows and a pack.
 *
 * What may be long (the engine) is interruptible and resumable; what follows
 * it (pack, rows) is short and happens whatever ended the search, so that a
 * stopped tune still leaves the best it knows.
 */
#include <math.h>

#include "plan/plan_recordings.h"
#include "plan/plan_roof.h"
#include "plan/plan_tune.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/banned.h"

#define DEFAULT_BUDGET_TRIALS 100u
#define DEFAULT_STRATEGY "hill"
/* Questions asked ahead for each device; more where builds and inputs are made
 * while it works, since the first of a batch waits for its own. */
#define PARALLEL 4u
#define PARALLEL_BESIDE 8u
#define TREE_EVERY_NS 1000000000u /* how old the tree in the store may be */

struct tune {
    struct ws_ctx *ctx;
    struct ws_spec *spec;
    const struct ws_tune_opts *o;
    struct ws__fleet *fleet; /* or */
    struct ws__recordings *rec;
    struct ws__outside outside;
    struct ws__measure *m;            /* of the fleet's first device; or NULL */
    struct ws__results_report report; /* of the recordings */
    struct ws__evaluator ev;
    struct ws__subject about;
    struct ws__store *store;
    struct ws__space **space;
    size_t nspace;
    struct ws__outcome outcome;
    struct ws__run run;
    const struct ws__catalogue *catalogue; /* NULL: none */
    json_t *tree;                          /* the latest, or NULL */
    uint64_t tree_ns;                      /* when that was made */
    struct ws__steering steering;
    bool tree_new;       /* nobody was told of it yet */
    double *floor_ns;    /* a workload; NULL: unknown */
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

/* Recordings say at once what they do not hold. */
static int is_recorded(void *user, const struct ws__candidate *c,
                       uint32_t workload)
{
    struct tune *t = user;
    double ns;
    int rc = ws__recordings_look(t->rec, c, workload, &ns);

    return rc ? rc : WS__FITS_MISSED;
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

/* --- the tree ------------------------------------------------------------- */

/* The tree is in the store for who looks, and at hand. */
static int keep_tree(struct tune *t, const struct ws__tree *tree,
                     uint64_t asked)
{
    struct ws__journal j = ws__store_journal(t->store);
    char *text;
    int rc;

    json_decref(t->tree);
    WS_TRY(ws__tree_doc(t->spec, t->catalogue, tree, asked, &t->tree));
    t->tree_ns = ws__now_ns();
    t->tree_new = true;
    WS_TRY(ws__tree_dump(t->ctx, t->tree, &text));
    rc = j.ops->put(j.self, &t->run, WS__TREE_VALUE, text);
    ws__free(t->ctx, text);
    return rc;
}

static int watch(void *user, const struct ws__strategy_ops *ops, void *state,
                 uint64_t asked)
{
    struct tune *t = user;
    struct ws__tree tree = {.n = 0};
    int rc;

    if (t->tree && ws__now_ns() - t->tree_ns < TREE_EVERY_NS)
        return 0;
    ws__arena_init(&tree.arena, t->ctx);
    rc = ops->tree(state, &tree);
    if (rc >= 0)
        rc = keep_tree(t, &tree, asked);
    ws__arena_free(&tree.arena);
    return rc < 0 ? rc : 0;
}

static int steer(void *user, uint64_t asked, bool live, struct ws__steer *out)
{
    return ws__steering_next(&((struct tune *)user)->steering, asked, live,
                             out);
}

static void print_brief(struct tune *t, uint32_t workload, struct ws__buf *b)
{
    if (!t->tree || !t->tree_new)
        return;
    ws__tree_brief(b, t->tree, t->about.workload[workload].name);
    t->tree_new = !b->len;
}

/* --- the search ----------------------------------------------------------- */

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
    struct ws__buf work, config, tree;

    ws__buf_init(&work, t->ctx, 4096);
    ws__buf_init(&config, t->ctx, 4096);
    ws__buf_init(&tree, t->ctx, 1 << 16);
    print_brief(t, p->workload, &tree);
    o.tree = tree.data;
    o.floor_ns = t->floor_ns ? t->floor_ns[p->workload] : 0;
    if (p->trial) {
        double score = ws__trial_score(t->ctx, p->trial);

        ws__plan_print_workload(&work, t->spec,
                                &t->about.workload[p->workload]);
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
    ws__buf_free(&tree);
}

/* Axes, and what is known of the device: of recordings that is nothing. */
static void space_vars(struct tune *t, const struct ws__kernel *k, size_t w,
                       union wsrt_value *vars)
{
    memset(vars, 0, WS__MAX_SLOTS * sizeof(*vars));
    if (t->m) {
        ws__measure_vars(t->m, k, (uint32_t)w, vars);
        return;
    }
    for (size_t a = 0; k->op && a < k->op->naxis; a++)
        vars[a].i = t->about.workload[w].axis[a];
}

/* How a kernel is made is searched by who reads the catalogue of ideas; others
 * tune what it is by default. */
static int make_spaces(struct tune *t, bool structural)
{
    struct ws__spec *s = t->spec->s;
    union wsrt_value vars[WS__MAX_SLOTS];

    t->nspace = s->nkernel * t->about.nworkload;
    t->space = ws__alloc(t->ctx, t->nspace, sizeof(*t->space));
    if (!t->space)
        return WS_ENOMEM;
    for (size_t k = 0; k < s->nkernel; k++)
        for (size_t w = 0; w < t->about.nworkload; w++) {
            struct ws__space **sp = &t->space[k * t->about.nworkload + w];
            struct ws__config dflt;

            space_vars(t, &s->kernel[k], w, vars);
            WS_TRY(ws__space_new(t->ctx, &s->kernel[k], vars, s->op != NULL,
                                 t->m != NULL, sp));
            ws__config_default(&s->kernel[k], &dflt);
            if (!structural)
                WS_TRY(ws__space_fix_structural(*sp, &dflt));
        }
    return 0;
}

/* So that the store can tell by itself what was tried. */
static int describe(struct tune *t)
{
    const struct ws__spec *s = t->spec->s;
    struct ws__parts p;
    int rc = ws__parts_make(t->ctx, s->hash, s->op, s->kernel, s->nkernel,
                            s->workload, s->nworkload, &p);

    if (rc >= 0)
        rc = ws__store_describe(t->store, &p);
    ws__parts_free(&p);
    if (rc != WS_ELIMIT)
        return rc;
    ws__log(t->ctx, WS_LOG_WARN,
            "the lists of values of '%s' are too long to "
            "be kept in the store; its trials can be told "
            "with --spec only",
            s->path);
    return 0;
}

static int open_store(struct tune *t)
{
    struct ws_ctx *ctx = t->ctx;
    const struct ws__identity *id = t->ev.ops->identity(t->ev.self);
    char *path = t->o->store ? ws__strdup(ctx, t->o->store)
                             : ws__path_join(ctx, t->spec->project, "store.db");
    int rc;

    if (!path)
        return WS_ENOMEM;
    rc = ws__store_open(ctx, path, false, &t->store);
    if (!rc)
        rc = ws__store_set_identity(t->store, id);
    t->run.device = id->hash;
    ws__free(ctx, path);
    return rc < 0 ? rc : describe(t);
}

static int need_workloads(struct tune *t)
{
    if (t->about.nworkload)
        return 0;
    ws__fail(t->ctx, WS_EINVAL, "'%s' names no workloads", t->spec->s->path);
    return ws__hint(t->ctx, "give a file of shapes: --workloads FILE");
}

/* Are builds and inputs made while the device works? */
static bool is_beside(const struct tune *t)
{
    return t->m && !ws__measure_device(t->m)->id.is_cpu;
}

/* What is on record is answered at once: to ask ahead would only mean to ask
 * without knowing the last answers. */
static unsigned parallel(const struct tune *t)
{
    if (t->rec)
        return 1;
    return (is_beside(t) ? PARALLEL_BESIDE : PARALLEL) *
           (unsigned)ndevice(t->o);
}

/* Trials; a share of all pairs as a number of them; 0: as time allows. */
static int budget_of(struct tune *t, uint64_t *trials)
{
    double all = 0;

    *trials = t->o->budget_trials;
    if (!(t->o->budget_share > 0)) {
        if (!*trials && !t->o->budget_ns)
            *trials = DEFAULT_BUDGET_TRIALS;
        return 0;
    }
    for (size_t i = 0; i < t->nspace; i++) {
        uint64_t valid;

        WS_TRY(ws__space_count(t->space[i], &valid));
        all += (double)valid;
    }
    *trials = (uint64_t)ceil(fmin(1, t->o->budget_share) * all);
    return 0;
}

/* A strategy that reads the op's catalogue asks otherwise if that changes, and
 * another one if it may change how kernels are made: it is another run then. */
static void name_strategy(struct tune *t, const struct ws__strategy_ops *ops)
{
    struct ws__run *run = &t->run;
    const struct ws__catalogue *c = ops->reads_catalogue ? t->catalogue : NULL;
    int n = snprintf(run->strategy, sizeof(run->strategy), "%s%s", ops->name,
                     t->o->search && !ops->reads_catalogue ? ":whole" : "");

    if (c && n > 0 && (size_t)n + 10 < sizeof(run->strategy))
        snprintf(run->strategy + n, sizeof(run->strategy) - (size_t)n, ":%08x",
                 (unsigned)(c->hash.lo & 0xffffffff));
}

static int search(struct tune *t, const char *strategy)
{
    struct ws__spec *s = t->spec->s;
    struct ws__journal j = ws__store_journal(t->store);
    uint64_t trials;
    int rc = budget_of(t, &trials);
    const struct ws__strategy_ops *ops = ws__strategy_find(strategy);
    struct ws__problem_space p = {
        .ctx = t->ctx,
        .kernel = s->kernel,
        .nkernel = s->nkernel,
        .workload = t->about.workload,
        .nworkload = t->about.nworkload,
        .spaces = t->space,
        .seed = t->o->seed,
        .budget = trials,
        .device = t->ev.ops->identity(t->ev.self),
        .fits = t->m     ? fits
                : t->rec ? is_recorded
                         : NULL,
        .fits_user = t,
    };
    /* A fleet has questions enough. */
    const bool ahead = is_beside(t) && ndevice(t->o) == 1;
    struct ws__engine_opts eo = {
        .prove = t->m && ws__measure_can_prove(t->m),
        .sanitize = t->m && ws__measure_can_sanitize(t->m),
        .strategy = strategy,
        .seed = t->o->seed,
        .budget_trials = trials,
        .budget_ns = t->o->budget_ns,
        .parallel = t->o->parallel ? t->o->parallel : parallel(t),
        .ahead = ahead,
        .progress = t->o->progress ? on_progress : NULL,
        .watch = watch,
        .steer = steer,
        .user = t,
    };

    if (rc)
        return rc;
    p.catalogue = ops->reads_catalogue ? t->catalogue : NULL;
    snprintf(t->run.name, sizeof(t->run.name), "%s", s->path);
    name_strategy(t, ops);
    t->run.spec = s->hash;
    t->run.seed = t->o->seed;
    t->steering = (struct ws__steering){t->spec, j, &t->run, 0};
    WS_TRY(ws__engine_run(&p, &t->ev, &j, &t->run, &eo, &t->outcome));
    return ops->tree ? keep_tree(t, &t->outcome.tree, t->outcome.asked) : 0;
}

static void tune_end(struct tune *t)
{
    ws__outcome_clear(t->ctx, &t->outcome);
    json_decref(t->tree);
    ws__free(t->ctx, t->floor_ns);
    for (size_t i = 0; i < t->nspace; i++)
        ws__space_free(t->space ? t->space[i] : NULL);
    ws__free(t->ctx, t->space);
    ws__store_close(t->store);
    ws__fleet_close(t->fleet);
    ws__recordings_free(t->rec);
}

/* A pack that cannot be written is better known before hours of work. */
static int check_pack_path(struct tune *t)
{
    struct ws_ctx *ctx = t->ctx;
    const char *path = t->o->pack;
    char *dir;
    int rc;

    if (!path)
        return 0;
    if (!*path) {
        ws__fail(ctx, WS_EINVAL, "the pack has no name");
        return ws__hint(ctx, "name a file, such as 'kernel.wspack'");
    }
    if (ws__fs_is_dir(path)) {
        ws__fail(ctx, WS_EINVAL, "cannot write the pack '%s': it is a folder",
                 path);
        return ws__hint(ctx, "name a file, such as '%s/kernel.wspack'", path);
    }
    WS_TRY(ws__plan_may_replace(ctx, path, true, t->o->store));
    dir = ws__path_dir(ctx, path);
    if (!dir)
        return WS_ENOMEM;
    rc = ws__fs_can_create(ctx, dir);
    ws__free(ctx, dir);
    return rc < 0 ? ws__error_prefix(ctx, "the pack has no place") : 0;
}

/* A pack holds sources, and conditions on the device that are true there. */
static int check_pack(struct tune *t)
{
    const struct ws__spec *s = t->spec->s;
    bool device = false, source = s->op != NULL;

    if (!t->o->pack || !t->o->recordings)
        return check_pack_path(t);
    for (size_t k = 0; k < s->nkernel; k++) {
        source = source && s->kernel[k].source;
        for (size_t i = 0; i < s->kernel[k].nconstraint; i++)
            device = device || s->kernel[k].constraint[i].needs_device;
    }
    if (source && !device)
        return check_pack_path(t);
    ws__fail(t->ctx, WS_EINVAL, "no pack can be made of '%s': %s", s->path,
             source ? "its constraints read the device, which recordings do "
                      "not know"
                    : "it has no source that could be shipped");
    return ws__hint(t->ctx, "leave out --out");
}

static int open_devices(struct tune *t)
{
    const struct ws_tune_opts *o = t->o;
    const struct ws__spec *s = t->spec->s;
    struct ws__measure_opts mo = {.builders = o->builders,
                                  .few_gates = o->few_gates != 0,
                                  .counters =
                                      o->counters ? ws__plan_counters : NULL,
                                  .seed = o->seed,
                                  .run_limit_ns = o->run_limit_ns,
                                  .trust_python = o->trust_python};

    WS_TRY(ws__plan_measure_opts(t->spec, o->cache, o->launch, &mo));
    WS_TRY(ws__fs_mkdirs(t->ctx, t->spec->project));
    WS_TRY(ws__fleet_open(t->ctx, s->op, s->kernel, s->nkernel,
                          t->about.workload, t->about.nworkload, &mo,
                          o->ndevice ? o->devices : &o->device, ndevice(o),
                          &t->fleet));
    t->m = ws__fleet_first(t->fleet);
    t->ev = ws__fleet_evaluator(t->fleet);
    return ws__plan_bind(t->spec, t->m);
}

static int open_recordings(struct tune *t)
{
    WS_TRY(ws__plan_recordings(t->spec, t->o->recordings, t->o->where,
                               t->o->time_column,
                               t->o->ndevice ? t->o->devices[0] : t->o->device,
                               &t->report, &t->rec));
    t->ev = ws__recordings_evaluator(t->rec);
    return 0;
}

void ws__plan_throughput(const struct ws__evaluator *ev,
                         struct ws_throughput *out)
{
    struct ws__throughput t;
    double all;

    if (!ev->ops->throughput)
        return;
    ev->ops->throughput(ev->self, &t);
    all = (double)t.wall_ns * (double)t.devices;
    if (!(all > 0))
        return;
    out->seconds = (double)t.wall_ns * 1e-9;
    out->trials = t.trials;
    out->trials_a_minute = (double)t.trials * 60 / out->seconds;
    out->run_share = (double)t.run_ns / all;
    out->ahead = t.ahead;
    for (size_t i = 0; i < WS__NSTEP; i++) {
        out->step[i] = ws__step_name((enum ws__step)i);
        out->step_share[i] = (double)t.step_ns[i] / all;
    }
    out->nstep = WS__NSTEP;
    out->slowed = t.slowed;
    out->lost_some = t.lost_some;
    out->kept_some = t.kept_some;
}

/* The result; what was found is told even if the last looks were stopped. */
static int make_result(struct tune *t, struct ws_tune_result **out)
{
    const struct ws__identity *id =
        t->m ? &ws__measure_device(t->m)->id : t->ev.ops->identity(t->ev.self);
    size_t n = t->about.nworkload;
    double *oracle = ws__alloc(t->ctx, n, sizeof(*oracle));
    struct ws__recorded rec = {&t->report, oracle};
    int rc = oracle ? 0 : WS_ENOMEM;

    for (size_t w = 0; w < n && t->rec && !rc; w++)
        rc =
            ws__plan_oracle(t->spec, t->rec, t->space, (uint32_t)w, &oracle[w]);
    if (rc == WS_ECANCEL || rc == WS_ETIMEOUT)
        rc = 0;
    if (!rc)
        rc = ws__tune_result(t->spec, t->o, &t->outcome,
                             &(struct ws__tuned){.id = id,
                                                 .rec = t->rec ? &rec : NULL,
                                                 .m = t->m,
                                                 .journal = ws__store_journal(
                                                     t->store),
                                                 .run = &t->run,
                                                 .catalogue = t->catalogue,
                                                 .tree = t->tree,
                                                 .floor_ns = t->floor_ns},
                             out);
    ws__free(t->ctx, oracle);
    return rc;
}

/* What no kernel undercuts. Of an op that picks rows it depends on the inputs,
 * and is left to 'wavesmith profile'. */
static int find_floors(struct tune *t)
{
    const struct ws__op *op = t->spec->s->op;
    struct ws__roof roof;
    char why[512];

    WS_TRY(ws__plan_roof(t->ctx, &ws__measure_device(t->m)->id, &roof, why));
    t->floor_ns = ws__alloc(t->ctx, t->about.nworkload, sizeof(double));
    if (!t->floor_ns)
        return WS_ENOMEM;
    for (size_t w = 0; w < t->about.nworkload && !ws__op_picks_rows(op); w++) {
        enum ws__cache_mode cache = WS__CACHE_DEFAULT;
        struct ws__instance in;
        struct ws__floor floor;

        WS_TRY(ws__plan_cache_mode(t->ctx, t->o->cache, &cache));
        WS_TRY(ws__instance_make(t->ctx, op, &t->about.workload[w], &in));
        ws__floor_make(&in, in.bytes, &roof,
                       cache == WS__CACHE_DEFAULT ? op->cache : cache, 1,
                       &floor);
        t->floor_ns[w] = floor.ns;
    }
    return 0;
}

static int check_start(struct tune *t, const char *strategy)
{
    if (!t->o->recordings && !t->o->answer) {
        if (t->o->where || t->o->time_column) {
            ws__fail(t->ctx, WS_EINVAL,
                     "rows and columns can be chosen in recordings only");
            return ws__hint(t->ctx, "name them: --recordings FILE");
        }
        WS_TRY(ws__plan_need_op(t->spec, "tune"));
    }
    WS_TRY(need_workloads(t));
    if (!ws__strategy_find(strategy)) {
        ws__fail(t->ctx, WS_EINVAL, "unknown strategy '%s'", strategy);
        return ws__hint(t->ctx, "'wavesmith tune --help' lists them");
    }
    if (t->o->search)
        WS_TRY(ws__search_check(t->spec, t->o));
    return check_pack(t);
}

/* A caller that was built before a field was added does not set it. */
static struct ws_tune_opts known_opts(const struct ws_tune_opts *o)
{
    struct ws_tune_opts all = {0};

    if (!o)
        return all;
    memcpy(&all, o, o->size && o->size < sizeof(all) ? o->size : sizeof(all));
    return all;
}

int ws_tune(struct ws_spec *spec, const struct ws_tune_opts *opts,
            struct ws_tune_result **out)
{
    const struct ws_tune_opts o = known_opts(opts);
    struct tune t = {.ctx = spec->ctx,
                     .spec = spec,
                     .o = &o,
                     .about = ws__plan_subject(spec)};
    const char *strategy = o.strategy ? o.strategy : DEFAULT_STRATEGY;
    struct ws_throughput spent = {0};
    struct ws_error why;
    int rc;

    *out = NULL;
    if (o.ndevice && !o.devices)
        return ws__fail(t.ctx, WS_EINVAL, "%zu devices without their names",
                        o.ndevice);
    WS_TRY(check_start(&t, strategy));
    WS_TRY_DONE(o.answer       ? ws__outside_open(spec, &o, &t.outside, &t.ev)
                : o.recordings ? open_recordings(&t)
                               : open_devices(&t));
    WS_TRY_DONE(open_store(&t));
    WS_TRY_DONE(
        make_spaces(&t,
                    o.search || ws__strategy_find(strategy)->reads_catalogue));
    if (o.search || ws__strategy_find(strategy)->reads_catalogue)
        WS_TRY_DONE(ws__spec_catalogue(spec->s, NULL, &t.catalogue));
    if (o.search && t.m)
        WS_TRY_DONE(find_floors(&t));
    WS_TRY_DONE(search(&t, strategy));
    why = t.ctx->err;
    ws__plan_throughput(&t.ev, &spent);
    WS_TRY_DONE(make_result(&t, out));
    if (t.outcome.stopped) /* a pack that failed, too, came later */
        t.ctx->err = why;
    (*out)->unfit = t.unfit;
    (*out)->throughput = spent;
    snprintf((*out)->unfit_why, sizeof((*out)->unfit_why), "%s", t.unfit_why);
done:
    tune_end(&t);
    return rc;
}
