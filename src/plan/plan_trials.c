/*
 * plan_trials.c: what a store holds, at the public interface: listing, sums,
 * verification.
 *
 * Stores are opened for reading only, so that looking works beside a tune and
 * in a folder that cannot be written. Names come from the descriptions in the
 * store; a store of the first format has none, and a specification of the same
 * hash stands in. Where neither knows, names are NULL and numbers remain.
 */
#include "plan/plan_trials.h"

#include <ctype.h>
#include <stddef.h>

#include "base/fs.h"
#include "device/device.h"
#include "plan/plan_recordings.h"
#include "base/banned.h"

#define MAX_WORDS ((size_t)1 << 20)
#define LEAST_HEX 8

/* --- finding ------------------------------------------------------------- */

int ws__trials_path(struct ws_ctx *ctx, const char *store, char **out)
{
    char *project;

    if (!ws__fs_is_dir(store)) {
        *out = ws__strdup(ctx, store);
        return *out ? 0 : WS_ENOMEM;
    }
    *out = ws__path_join(ctx, store, "store.db");
    if (!*out || ws__fs_exists(*out) ||
        !strcmp(ws__path_base(store), ".wavesmith"))
        return *out ? 0 : WS_ENOMEM;
    project = ws__path_join(ctx, store, ".wavesmith");
    ws__free(ctx, *out);
    *out = project ? ws__path_join(ctx, project, "store.db") : NULL;
    ws__free(ctx, project);
    return *out ? 0 : WS_ENOMEM;
}

int ws__trials_open(struct ws_ctx *ctx, const char *store, bool read_only,
                    struct ws__store **out)
{
    char *path;
    int rc;

    *out = NULL;
    if (!store)
        return ws__fail(ctx, WS_EINVAL, "no store is named");
    WS_TRY(ws__trials_path(ctx, store, &path));
    rc = ws__store_open(ctx, path, read_only, out);
    ws__free(ctx, path);
    return rc;
}

/* Is `part` the beginning of the hash, long enough to mean one? */
static bool hash_begins(struct ws__hash h, const char *part)
{
    char hex[33];
    size_t n = strlen(part);

    ws__hash_hex(h, hex);
    return n >= LEAST_HEX && n <= 32 && !strncmp(hex, part, n);
}

static bool contains(const char *text, const char *part)
{
    size_t n = strlen(part);

    for (; *text; text++) {
        size_t i = 0;

        while (i < n && tolower((unsigned char)text[i]) ==
                            tolower((unsigned char)part[i]))
            i++;
        if (i == n)
            return true;
    }
    return !n;
}

bool ws__trials_is_device(const char *name, struct ws__hash h, const char *want)
{
    return !want || hash_begins(h, want) || contains(name, want);
}

/* Is every "axis=value" of `want` one of `axes`? */
static bool has_axes(const char *axes, const char *want)
{
    while (*want) {
        size_t n = strcspn(want, ",");
        const char *at = axes;

        while (*at) {
            size_t m = strcspn(at, ",");

            if (m == n && !strncmp(at, want, n))
                break;
            at += m + (at[m] == ',');
        }
        if (!*at)
            return false;
        want += n + (want[n] == ',');
    }
    return true;
}

/* A space without an op has one workload, which no file describes. */
static bool is_space(const struct ws__parts *p)
{
    return p->nkernel && !p->nworkload && !*p->op;
}

static bool is_workload(const struct ws__parts *p, const struct ws__trial *t,
                        const char *want)
{
    const struct ws__part_workload *w = ws__parts_workload(p, t->workload);

    if (!want || hash_begins(t->workload_hash, want))
        return true;
    if (is_space(p))
        return !strcmp(want, WS__RECORDED);
    return w && (!strcmp(w->name, want) || has_axes(w->axes, want));
}

/* --- names --------------------------------------------------------------- */

void ws__names_free(struct ws__names *n)
{
    ws__parts_free(&n->parts);
    ws__parts_free(&n->given);
    memset(n, 0, sizeof(*n));
}

int ws__names_init(struct ws__names *n, struct ws__store *s,
                   struct ws_spec *spec)
{
    memset(n, 0, sizeof(*n));
    n->s = s;
    if (!spec)
        return 0;
    return ws__parts_make(spec->ctx, spec->s->hash, spec->s->op,
                          spec->s->kernel, spec->s->nkernel, spec->s->workload,
                          spec->s->nworkload, &n->given);
}

int ws__names_of(struct ws__names *n, struct ws__hash spec,
                 const struct ws__parts **out)
{
    if (n->given.arena.ctx && ws__hash_eq(n->given.spec, spec)) {
        n->used = true;
        *out = &n->given;
        return 0;
    }
    if (!n->known || !ws__hash_eq(n->parts.spec, spec)) {
        ws__parts_free(&n->parts);
        n->known = false;
        WS_TRY(ws__store_parts(n->s, spec, &n->parts));
        n->parts.spec = spec;
        n->known = true;
    }
    *out = &n->parts;
    return 0;
}

/* --- listing ------------------------------------------------------------- */

struct list {
    struct ws_ctx *ctx;
    const struct ws_trials_opts *o;
    struct ws__names names;
    uint64_t left, first; /* while looking for the newest */
    int (*fn)(void *user, const struct ws_trial_info *t);
    void *user;
};

/* Callers built before the field was there leave none out. */
static bool wants_slowed(const struct ws_trials_opts *o)
{
    return o->size > offsetof(struct ws_trials_opts, slowed) && o->slowed;
}

static int is_wanted(struct list *l, const struct ws__store_row *r,
                     const struct ws__parts **parts, bool *wanted)
{
    const struct ws_trials_opts *o = l->o;

    WS_TRY(ws__check_stop(l->ctx));
    WS_TRY(ws__names_of(&l->names, r->run.spec, parts));
    *wanted =
        (!o->verdict ||
         !strcmp(o->verdict, ws__verdict_key(r->trial.verdict))) &&
        r->trial.wall_ns >= o->since_ns &&
        (!wants_slowed(o) || r->trial.slowed || r->trial.kept_slowed) &&
        ws__trials_is_device(r->identity.device, r->run.device, o->device) &&
        is_workload(*parts, &r->trial, o->workload);
    return 0;
}

/* Texts that live as long as fn runs. */
struct words {
    struct ws__buf config, index;
    char spec[33], device[33], candidate[33], workload[33], slowed[32];
};

static int config_index(struct ws__buf *b, const struct ws__config *c)
{
    for (size_t i = 0; i < c->n; i++)
        ws__buf_printf(b, "%s%u", i ? "," : "", (unsigned)c->at[i]);
    return b->failed;
}

static int name_all(const struct ws__store_row *r, const struct ws__parts *p,
                    struct words *w, struct ws_trial_info *t)
{
    const struct ws__part_workload *work =
        ws__parts_workload(p, r->trial.workload);
    int rc = ws__parts_config(p, &r->trial.candidate, &w->config);

    WS_TRY(rc);
    if (rc) {
        t->op = p->op;
        t->kernel = p->kernel[r->trial.candidate.kernel].name;
        t->config = w->config.data ? w->config.data : "";
    }
    if (work) {
        t->workload = work->axes;
        t->workload_name = work->name;
    } else if (is_space(p)) {
        t->workload = t->workload_name = WS__RECORDED;
    }
    WS_TRY(config_index(&w->index, &r->trial.candidate.config));
    t->config_index = w->index.data ? w->index.data : "";
    ws__hash_hex(r->run.spec, w->spec);
    ws__hash_hex(r->run.device, w->device);
    ws__hash_hex(r->trial.candidate_hash, w->candidate);
    ws__hash_hex(r->trial.workload_hash, w->workload);
    return 0;
}

/* What a text of counters says; a damaged one is told by ws__trial_flaw when
 * it comes from outside, and ends here. */
static int list_counters(struct ws_ctx *ctx, const char *text,
                         struct ws_trial_counter **out, size_t *n)
{
    const char *at = text ? text : "";
    struct ws__counted c = {0};

    *out = NULL;
    *n = 0;
    while (ws__counters_next(&at, &c) > 0)
        (*n)++;
    if (!*n)
        return 0;
    *out = ws__alloc(ctx, *n, sizeof(**out));
    if (!*out)
        return WS_ENOMEM;
    at = text;
    c.launch = 0;
    for (size_t i = 0; i < *n && ws__counters_next(&at, &c) > 0; i++) {
        (*out)[i].launch = c.launch;
        snprintf((*out)[i].key, sizeof((*out)[i].key), "%s", c.key);
        (*out)[i].value = c.value;
    }
    return 0;
}

static int show(struct list *l, const struct ws__store_row *r,
                const struct ws__parts *p)
{
    static const char *const cache[] = {"default", "cold", "warm"};
    const struct ws__trial *t = &r->trial;
    struct ws_trial_counter *counter = NULL;
    struct ws__summary sum = {0};
    struct words w;
    struct ws_trial_info i = {
        .id = t->id,
        .run = r->run.id,
        .seq = r->seq,
        .question = r->question.id,
        .part = r->part,
        .name = r->run.name,
        .strategy = r->run.strategy,
        .spec_hash = w.spec,
        .device = r->identity.device,
        .device_hash = w.device,
        .driver = r->identity.driver,
        .compiler = r->identity.compiler,
        .tool = r->identity.tool,
        .kernel_index = t->candidate.kernel,
        .workload_index = t->workload,
        .candidate_hash = w.candidate,
        .workload_hash = w.workload,
        .verdict = ws__verdict_key(t->verdict),
        .reason = t->reason,
        .effort = ws__effort_key(t->effort),
        .cache = cache[(size_t)t->cache % WS_COUNT(cache)],
        .sample_ns = t->sample_ns,
        .nsample = t->nsample,
        .spent_ns = t->spent_ns,
        .wall_ns = t->wall_ns,
        .input_seed = t->input_seed,
        .mhz = t->mhz,
        .slowed = t->slowed,
        .kept_slowed = w.slowed,
        .registers = t->res.registers,
        .spill_bytes = t->res.spill_bytes,
        .blocks_per_unit = t->res.blocks_per_unit,
    };
    int rc;

    ws__buf_init(&w.config, l->ctx, MAX_WORDS);
    ws__buf_init(&w.index, l->ctx, MAX_WORDS);
    ws__slow_text(t->kept_slowed, w.slowed);
    ws__gates_public(t, i.gate);
    rc = name_all(r, p, &w, &i);
    if (rc >= 0)
        rc = list_counters(l->ctx, t->counters, &counter, &i.ncounter);
    i.counter = counter;
    if (rc >= 0 && t->nsample)
        rc = ws__summarize(l->ctx, t->sample_ns, t->nsample, &sum);
    i.median_ns = sum.median;
    i.lo_ns = sum.lo;
    i.hi_ns = sum.hi;
    if (rc >= 0)
        rc = l->fn(l->user, &i);
    ws__free(l->ctx, counter);
    ws__buf_free(&w.config);
    ws__buf_free(&w.index);
    return rc;
}

static int on_row(void *user, const struct ws__store_row *r)
{
    const struct ws__parts *parts;
    struct list *l = user;
    bool wanted;

    WS_TRY(is_wanted(l, r, &parts, &wanted));
    return wanted ? show(l, r, parts) : 0;
}

/* From the newest on, until there are as many as wanted. */
static int on_newest(void *user, const struct ws__store_row *r)
{
    const struct ws__parts *parts;
    struct list *l = user;
    bool wanted;

    WS_TRY(is_wanted(l, r, &parts, &wanted));
    if (!wanted)
        return 0;
    l->first = r->trial.id;
    return --l->left == 0;
}

static int walk(struct list *l)
{
    struct ws__store_range range = {.run = l->o->run, .backward = true};
    uint64_t last = 0;

    if (l->o->limit) {
        l->left = l->o->limit;
        WS_TRY(ws__store_last(l->names.s, &last));
        range.to = last;
        WS_TRY(ws__store_rows(l->names.s, &range, on_newest, l));
        range.from = l->first;
        if (!l->first)
            return 0;
    }
    range.backward = false;
    return ws__store_rows(l->names.s, &range, on_row, l);
}

static int check_verdict(struct ws_ctx *ctx, const char *verdict)
{
    char names[256] = "one of:";

    for (unsigned i = 0; verdict && ws_verdict_name(i); i++) {
        size_t n = strlen(names);

        if (!strcmp(verdict, ws_verdict_name(i)))
            return 0;
        snprintf(names + n, sizeof(names) - n, " %s", ws_verdict_name(i));
    }
    if (!verdict)
        return 0;
    ws__fail(ctx, WS_EINVAL, "there is no verdict '%s'", verdict);
    return ws__hint(ctx, "%s", names);
}

static void tell_unused(struct ws_ctx *ctx, const struct ws__names *n,
                        const struct ws_spec *spec)
{
    if (spec && !n->used)
        ws__log(ctx, WS_LOG_WARN,
                "no trial here is of '%s' as it is now (or with these "
                "workloads)",
                spec->s->path);
}

static int need_opts(struct ws_ctx *ctx, const struct ws_trials_opts *o)
{
    return o ? 0 : ws__fail(ctx, WS_EINVAL, "no store is named");
}

int ws_trials_each(struct ws_ctx *ctx, const struct ws_trials_opts *opts,
                   int (*fn)(void *user, const struct ws_trial_info *t),
                   void *user)
{
    struct list l = {.ctx = ctx, .o = opts, .fn = fn, .user = user};
    struct ws__store *s;
    int rc;

    WS_TRY(need_opts(ctx, opts));
    WS_TRY(check_verdict(ctx, opts->verdict));
    WS_TRY(ws__trials_open(ctx, opts->store, true, &s));
    rc = ws__names_init(&l.names, s, opts->spec);
    if (rc >= 0)
        rc = walk(&l);
    if (rc >= 0)
        tell_unused(ctx, &l.names, opts->spec);
    ws__names_free(&l.names);
    ws__store_close(s);
    return rc;
}

/* --- runs ---------------------------------------------------------------- */

struct runs {
    struct ws_ctx *ctx;
    const struct ws_trials_opts *o;
    struct ws__names names;
    int (*fn)(void *user, const struct ws_run_info *r);
    void *user;
};

static int on_run(void *user, const struct ws__store_sum *sum)
{
    struct runs *u = user;
    const struct ws__parts *parts;
    char spec[33], device[33];
    struct ws_run_info i = {
        .id = sum->run.id,
        .seed = sum->run.seed,
        .begun_ns = sum->begun_ns,
        .last_ns = sum->last_ns,
        .name = sum->run.name,
        .strategy = sum->run.strategy,
        .device = sum->device,
        .spec_hash = spec,
        .device_hash = device,
        .trials = sum->trials,
        .samples = sum->samples,
        .spent_ns = sum->spent_ns,
        .protocol = sum->protocol,
        .measuring = sum->measuring,
        .pid = sum->measuring ? sum->pid : 0,
    };

    if ((u->o->run && u->o->run != sum->run.id) ||
        !ws__trials_is_device(sum->device, sum->run.device, u->o->device))
        return 0;
    WS_TRY(ws__names_of(&u->names, sum->run.spec, &parts));
    i.op = parts->op ? parts->op : "";
    ws__hash_hex(sum->run.spec, spec);
    ws__hash_hex(sum->run.device, device);
    for (size_t v = 0; v < WS_COUNT(sum->verdict); v++)
        i.verdicts[v] = sum->verdict[v];
    return u->fn(u->user, &i);
}

int ws_trials_runs(struct ws_ctx *ctx, const struct ws_trials_opts *opts,
                   int (*fn)(void *user, const struct ws_run_info *r),
                   void *user)
{
    struct runs u = {.ctx = ctx, .o = opts, .fn = fn, .user = user};
    struct ws__store *s;
    int rc;

    WS_TRY(need_opts(ctx, opts));
    WS_TRY(ws__trials_open(ctx, opts->store, true, &s));
    rc = ws__names_init(&u.names, s, opts->spec);
    if (rc >= 0)
        rc = ws__store_runs(s, on_run, &u);
    ws__names_free(&u.names);
    ws__store_close(s);
    return rc;
}

/* --- verification -------------------------------------------------------- */

int ws_trials_verify(struct ws_ctx *ctx, const char *store, uint64_t *trials,
                     uint64_t *runs)
{
    struct ws__store *s;
    uint64_t n = 0, m = 0;
    int rc;

    WS_TRY(ws__trials_open(ctx, store, true, &s));
    rc = ws__store_verify(s);
    if (rc >= 0)
        rc = ws__store_count(s, &n, &m);
    ws__store_close(s);
    if (trials)
        *trials = n;
    if (runs)
        *runs = m;
    return rc;
}
