/*
 * plan_profile.c: profile at the public interface: one config on one workload
 * is judged, timed and counted, and the folder profile says what holds it
 * back.
 *
 * Times are those of the protocol, on the plain device; counters come from a
 * run of their own, or from a file of ncu, and never become times. Without
 * counters a smaller workload is timed as well, which tells fixed costs from
 * those that grow.
 */
#include "plan/plan_profile.h"

#include <math.h>

#include "base/fs.h"
#include "plan/plan_roof.h"
#include "plan/plan_trials.h"

#include "base/banned.h"

/* ---- which config ---------------------------------------------------------
 */

struct best {
    const struct ws__profiling *p;
    struct ws__hash workload, device;
    size_t kernel;
    bool any_kernel;
    double ns;
    struct ws__candidate c;
};

/* A config of a kernel that we have, whatever its source was then? */
static bool can_be(const struct best *b, const struct ws__candidate *c)
{
    const struct ws__spec *s = b->p->spec->s;

    return (b->any_kernel || c->kernel == b->kernel) &&
           ws__candidate_fits(c, s->kernel, s->nkernel);
}

/* Is it made of the source, plan and values that its config has now? 1, 0. */
static int is_same(const struct best *b, const struct ws__trial *t)
{
    struct ws_ctx *ctx = b->p->spec->ctx;
    const struct ws__kernel *k = &b->p->spec->s->kernel[t->candidate.kernel];
    struct ws__hash h;
    char *text;
    int rc = ws__kernel_source(ctx, k, &t->candidate.config, &b->p->in, &text);

    if (rc < 0)
        return rc == WS_ENOMEM ? rc : 0;
    h = ws__candidate_hash(k, &t->candidate.config, text);
    ws__free(ctx, text);
    return ws__hash_eq(h, t->candidate_hash);
}

static int look(void *user, const struct ws__run *run,
                const struct ws__question *q, const struct ws__trial *t)
{
    struct best *b = user;
    struct ws__summary sum;
    int rc;

    (void)q;
    if (t->verdict != WS__V_OK || !t->nsample ||
        !ws__hash_eq(run->device, b->device) ||
        !ws__hash_eq(t->workload_hash, b->workload) ||
        !can_be(b, &t->candidate))
        return 0;
    WS_TRY(ws__summarize(b->p->spec->ctx, t->sample_ns, t->nsample, &sum));
    if (b->ns > 0 && sum.median >= b->ns)
        return 0;
    rc = is_same(b, t);
    if (rc <= 0)
        return rc;
    b->ns = sum.median;
    b->c = t->candidate;
    return 0;
}

/* The fastest that the project's store knows; a store that is not there, or is
 * none, has nothing to say. */
static int best_of_store(struct ws__profiling *p)
{
    struct ws_spec *spec = p->spec;
    struct ws__evaluator ev = ws__measure_evaluator(p->m);
    struct best b = {.p = p,
                     .workload = ws__workload_hash(spec->s->op, &p->w[0]),
                     .device = ev.ops->identity(ev.self)->hash,
                     .kernel = p->c.kernel,
                     .any_kernel = !p->o->kernel};
    struct ws__store *store = NULL;
    char *path = ws__path_join(spec->ctx, spec->project, "store.db");
    int rc = 0;

    if (!path)
        return WS_ENOMEM;
    if (ws__fs_exists(path))
        rc = ws__store_open(spec->ctx, path, true, &store);
    ws__free(spec->ctx, path);
    if (rc == 0 && store)
        rc = ws__store_each(store, look, &b);
    ws__store_close(store);
    if (rc == WS_ENOMEM || rc == WS_ECANCEL)
        return rc;
    if (rc < 0)
        ws__log(spec->ctx, WS_LOG_WARN,
                "the store is not asked for the best config: %s",
                spec->ctx->err.message);
    ws__error_clear(spec->ctx);
    if (rc < 0 || !(b.ns > 0))
        return 0;
    p->c = b.c;
    p->config_from = "best";
    return 0;
}

static int choose(struct ws__profiling *p)
{
    struct ws_spec *spec = p->spec;

    WS_TRY(ws__plan_choose(spec, p->o->kernel, p->o->config, &p->c));
    p->config_from = p->o->config ? "given" : "default";
    if (p->o->workload)
        WS_TRY(ws__plan_workload(spec, p->o->workload, &p->w[0]));
    else
        WS_TRY(ws__plan_first_workload(spec, &p->c, &p->w[0]));
    WS_TRY(ws__instance_make(spec->ctx, spec->s->op, &p->w[0], &p->in));
    return p->o->config ? 0 : best_of_store(p);
}

static int open_session(struct ws__profiling *p)
{
    struct ws_spec *spec = p->spec;
    const struct ws_profile_opts *o = p->o;
    struct ws__measure_opts mo = {.device = o->device,
                                  .builders = 1,
                                  .run_limit_ns = o->run_limit_ns,
                                  .trust_python = o->trust_python != 0,
                                  .seed = o->seed};

    WS_TRY(ws__plan_need_op(spec, "profile"));
    WS_TRY(ws__plan_measure_opts(spec, o->cache, o->launch, &mo));
    WS_TRY(ws__measure_open(spec->ctx, spec->s->op, spec->s->kernel,
                            spec->s->nkernel, p->w, WS_COUNT(p->w), &mo,
                            &p->m));
    p->device = ws__measure_device(p->m);
    return ws__plan_bind(spec, p->m);
}

/* ---- verdict and time -----------------------------------------------------
 */

static int ask(struct ws__profiling *p, uint32_t workload, struct ws__trial *t)
{
    struct ws__evaluator ev = ws__measure_evaluator(p->m);
    struct ws__question q = {.id = 1 + workload,
                             .a = p->c,
                             .workload = workload,
                             .want = WS__WANT_BUILD | WS__WANT_VERDICT |
                                     WS__WANT_TIME,
                             .effort = WS__NORMAL};
    struct ws__trial pair[2] = {{0}};
    char reason[256];
    int rc = ws__measure_fits(p->m, &p->c, workload, reason);

    if (rc == 0) {
        t->verdict = WS__V_FILTERED;
        return ws__trial_set_reason(p->spec->ctx, t, "%s", reason);
    }
    if (rc > 0)
        rc = ev.ops->answer(ev.self, &q, pair);
    *t = pair[0];
    ws__trial_clear(p->spec->ctx, &pair[1]);
    return rc;
}

static int make_plan(struct ws__profiling *p)
{
    const struct ws__kernel *k = &p->spec->s->kernel[p->c.kernel];
    union wsrt_value vars[WS__MAX_SLOTS];
    size_t n = 0;

    ws__measure_vars(p->m, k, WS__PROFILE_ASKED, vars);
    ws__config_vars(k, &p->c.config, vars);
    for (size_t i = 0; i < k->nlaunch; i++)
        if (!k->launch[i].when || ws__expr_test(k->launch[i].when, vars) == 1)
            p->launch_of[n++] = i;
    return ws__plan_make(p->spec->ctx, k, vars, &p->plan);
}

/* ---- the floor ------------------------------------------------------------
 */

/* The inputs that were timed are made again, from the seed of the trial. */
static int count_bytes(struct ws__profiling *p, const struct ws__instance *in,
                       double *bytes)
{
    struct ws_ctx *ctx = p->spec->ctx;
    struct ws__reference *r = NULL;
    struct ws__problem *problem = NULL;
    int rc;

    *bytes = in->bytes;
    if (!ws__op_picks_rows(in->op))
        return 0;
    if (!in->op->trusted.kernel) /* which has no inputs of its own */
        WS_TRY_DONE(ws__reference_open(ctx, in->op, 0, 0, &r));
    WS_TRY_DONE(ws__problem_new(ctx, in, &problem));
    WS_TRY_DONE(ws__problem_fill(problem, r, p->t.input_seed, 0));
    WS_TRY_DONE(ws__problem_bytes(problem, bytes));
done:
    ws__problem_free(problem);
    ws__reference_close(r);
    return rc;
}

static int make_floor(struct ws__profiling *p)
{
    char why[512];

    WS_TRY(ws__plan_roof(p->spec->ctx, &p->device->id, &p->roof, why));
    if (why[0])
        ws__log(p->spec->ctx, WS_LOG_INFO, "%s", why);
    WS_TRY(count_bytes(p, &p->in, &p->bytes));
    ws__floor_make(&p->in, p->bytes, &p->roof, p->t.cache, p->plan.nlaunch,
                   &p->floor);
    return 0;
}

int ws__profile_floor(struct ws__profiling *p, const struct ws__workload *w,
                      double *ns)
{
    struct ws__instance in;
    struct ws__floor floor;
    double bytes;

    WS_TRY(ws__instance_make(p->spec->ctx, p->in.op, w, &in));
    WS_TRY(count_bytes(p, &in, &bytes));
    ws__floor_make(&in, bytes, &p->roof, p->t.cache, p->plan.nlaunch, &floor);
    *ns = floor.ns;
    return 0;
}

/* ---- another size ---------------------------------------------------------
 */

/* What a size costs if only its work counts: bytes and operations, each as a
 * share of the whole. */
static double work(const struct ws__instance *in,
                   const struct ws__instance *whole)
{
    double bytes = in->bytes / whole->bytes;
    double flops = whole->flops > 0 ? in->flops / whole->flops : bytes;

    return bytes > flops ? bytes : flops;
}

/* Is the workload with axis a at `to` one that the config can run, and that
 * costs another amount of work? Then it is w[1]. */
static int try_size(struct ws__profiling *p, size_t a, int64_t to,
                    double *share, bool *found)
{
    struct ws__instance in;
    char reason[256];
    int rc;

    p->w[1] = p->w[0];
    p->w[1].name = "scaled";
    p->w[1].axis[a] = to;
    rc = ws__instance_make(p->spec->ctx, p->in.op, &p->w[1], &in);
    if (rc < 0)
        return rc == WS_ENOMEM ? rc : 0;
    *share = work(&in, &p->in);
    if (*share > .75 && *share < 1.5)
        return 0;
    rc = ws__measure_fits(p->m, &p->c, WS__PROFILE_SCALED, reason);
    *found = rc > 0;
    p->scaled_axis = rc > 0 ? (int)a : -1;
    return rc < 0 ? rc : 0;
}

/* The first axis that can be halved, else doubled, so that the work changes
 * much. Not found: there is none. */
static int find_other(struct ws__profiling *p, double *share, bool *found)
{
    const struct ws__op *op = p->in.op;

    *found = false;
    if (p->w[0].input) /* its tensors have sizes of their own */
        return 0;
    for (int doubled = 0; doubled < 2; doubled++)
        for (size_t a = 0; a < op->naxis && !*found; a++) {
            int64_t v = p->w[0].axis[a];

            if (op->axis[a].kind == WS__AXIS_VAR && v >= (doubled ? 1 : 4) &&
                v < (int64_t)1 << 30)
                WS_TRY(try_size(p, a, doubled ? v * 2 : v / 2, share, found));
        }
    ws__error_clear(p->spec->ctx);
    return 0;
}

/* time = fixed + work * rest, from two sizes. */
static int time_other(struct ws__profiling *p)
{
    struct ws__trial t = {0};
    struct ws__summary sum;
    double share = 1, fixed;
    bool found;
    int rc;

    WS_TRY(find_other(p, &share, &found));
    if (!found)
        return 0;
    rc = ask(p, WS__PROFILE_SCALED, &t);
    if (rc < 0 || t.verdict != WS__V_OK || !t.nsample)
        p->scaled_axis = -1;
    else
        rc = ws__summarize(p->spec->ctx, t.sample_ns, t.nsample, &sum);
    ws__trial_clear(p->spec->ctx, &t);
    if (rc < 0 || p->scaled_axis < 0)
        return rc;
    p->scaled_ns = sum.median;
    fixed = (sum.median - share * p->time.median) / (1 - share);
    p->fixed_ns = fmin(fmax(fixed, 0), p->time.median);
    return 0;
}

static unsigned arch_of(const struct ws__device_info *d)
{
    int major, minor;

    return ws__plan_capability(d, &major, &minor)
               ? ws__metric_arch(major, minor)
               : 0;
}

/* Of the one-pass set, which costs one more run of a candidate. */
size_t ws__plan_counters(const struct ws__device_info *d, const char **name,
                         const char **key)
{
    enum ws__metric metric[WS__NMETRIC];
    const char *all[WS__NMETRIC];
    size_t n = ws__metric_set(WS__METRICS_ONE_PASS, arch_of(d), metric, all);

    for (size_t i = 0; i < n && i < WS__MAX_COUNTERS; i++) {
        name[i] = all[i];
        key[i] = ws__metric_key(metric[i]);
    }
    return n < WS__MAX_COUNTERS ? n : WS__MAX_COUNTERS;
}

/* ---- all of it ------------------------------------------------------------
 */

int ws__profile_right(struct ws__profiling *p)
{
    WS_TRY(make_plan(p));
    p->res = p->t.res;
    WS_TRY(ws__summarize(p->spec->ctx, p->t.sample_ns, p->t.nsample, &p->time));
    WS_TRY(make_floor(p));
    p->arch = arch_of(p->device);
    WS_TRY(ws__profile_counters(p));
    if (!p->counter && !p->one_size)
        WS_TRY(time_other(p));
    return ws__profile_image(p);
}

static int check_words(struct ws_ctx *ctx, const struct ws_profile_opts *o)
{
    if (o->set && strcmp(o->set, "one") && strcmp(o->set, "full") &&
        strcmp(o->set, "none")) {
        ws__fail(ctx, WS_EINVAL, "no such set of counters: '%s'", o->set);
        return ws__hint(ctx, "'one' (pass), 'full' or 'none'");
    }
    if (o->ncu_cache && strcmp(o->ncu_cache, "all") &&
        strcmp(o->ncu_cache, "none")) {
        ws__fail(ctx, WS_EINVAL, "no such cache control of ncu: '%s'",
                 o->ncu_cache);
        return ws__hint(ctx, "'all' (its default) or 'none'");
    }
    return 0;
}

int ws_profile(struct ws_spec *spec, const struct ws_profile_opts *opts,
               struct ws_profile *out)
{
    struct ws_profile_opts o = {0};
    struct ws__profiling *p;
    int rc;

    memset(out, 0, sizeof(*out));
    if (opts)
        memcpy(&o, opts,
               opts->size && opts->size < sizeof(o) ? opts->size : sizeof(o));
    WS_TRY(check_words(spec->ctx, &o));
    p = ws__alloc(spec->ctx, 1, sizeof(*p));
    if (!p)
        return WS_ENOMEM;
    *p = (struct ws__profiling){.spec = spec,
                                .o = &o,
                                .scaled_axis = -1,
                                .scaled_ns = NAN,
                                .fixed_ns = NAN,
                                .counters = "none"};
    WS_TRY_DONE(open_session(p));
    WS_TRY_DONE(choose(p));
    WS_TRY_DONE(ask(p, WS__PROFILE_ASKED, &p->t));
    if (p->t.verdict == WS__V_OK && p->t.nsample) {
        WS_TRY_DONE(ws__profile_right(p));
    }
    WS_TRY_DONE(ws__profile_public(p, out));
done:
    ws__trial_clear(spec->ctx, &p->t);
    ws__measure_close(p->m);
    ws__free(spec->ctx, p);
    return rc;
}
