/*
 * plan_exchange.c: a store's trials into files and back, at the public
 * interface.
 *
 * Our own text is exact and complete: what is exported and imported continues
 * where it was. The formats of other tools hold one figure a config
 * (plan_results.c, plan_solution.c). What comes from other tools
 * becomes a run of its own, strategy "import", measured by a device of family
 * "import": such trials are kept and listed, and never taken for something
 * that was measured here.
 */
#include "plan/plan_results.h"

#include <stdlib.h>

#include "base/fs.h"
#include "plan/plan_recordings.h"
#include "spec/results.h"
#include "base/banned.h"

#define MAX_FILE ((size_t)1 << 30)

/* --- our own text -------------------------------------------------------- */

static int export_text(struct ws_ctx *ctx,
                       const struct ws_trials_export_opts *o,
                       struct ws__store *s, struct ws__buf *out,
                       uint64_t *records)
{
    struct ws__export_opts e = {.run = o->run};
    struct ws__picked_device p;

    if (o->device) {
        WS_TRY(ws__pick_device(ctx, s, o->device, o->run, &p));
        e.device = p.found;
    }
    WS_TRY(ws__store_export(s, &e, out, records));
    if (*records || !o->run)
        return 0;
    ws__fail(ctx, WS_ENOENT, "the store has no trials of run %llu",
             (unsigned long long)o->run);
    return ws__hint(ctx, "'wavesmith trials STORE' lists the runs");
}

static int need_file(struct ws_ctx *ctx, const char *file)
{
    return file && *file ? 0 : ws__fail(ctx, WS_EINVAL, "no file is named");
}

static int export_as(struct ws_ctx *ctx, const struct ws_trials_export_opts *o,
                     struct ws__store *s, struct ws__buf *out, uint64_t *n)
{
    bool theirs = o->format && (!strcmp(o->format, "trace") ||
                                !strcmp(o->format, "solution"));

    if (!o->format || !strcmp(o->format, "jsonl"))
        return export_text(ctx, o, s, out, n);
    if (!o->spec) {
        ws__fail(ctx, WS_EINVAL, "this format needs the specification");
        return ws__hint(ctx, "add --spec SPEC");
    }
    return theirs ? ws__export_flashinfer(ctx, o, s, out, n)
                  : ws__export_results(ctx, o, s, out, n);
}

int ws_trials_export(struct ws_ctx *ctx,
                     const struct ws_trials_export_opts *opts,
                     uint64_t *records)
{
    struct ws__store *s;
    struct ws__buf b;
    uint64_t n = 0;
    int rc;

    WS_TRY(need_file(ctx, opts ? opts->file : NULL));
    WS_TRY(ws__plan_may_replace(ctx, opts->file, false, opts->store));
    WS_TRY(ws__trials_open(ctx, opts->store, true, &s));
    ws__buf_init(&b, ctx, MAX_FILE);
    rc = export_as(ctx, opts, s, &b, &n);
    ws__store_close(s);
    if (rc >= 0)
        rc = ws__fs_write(ctx, opts->file, b.data ? b.data : "", b.len);
    ws__buf_free(&b);
    if (records)
        *records = n;
    return rc < 0 ? rc : 0;
}

/* --- one figure a config: in --------------------------------------------- */

struct bring {
    struct ws_ctx *ctx;
    const struct ws_trials_import_opts *o;
    struct ws_spec *spec;
    size_t kernel;
    uint32_t first; /* workload */
    struct ws__import *in;
    struct ws__run run;
    struct ws__identity id;
    uint64_t n;
    struct once *once; /* results so far, by what they are about */
    size_t nonce;      /* places; a power of two, or 0 */
};

struct once {
    struct ws__hash key;
    bool used;
    uint32_t line;
};

static struct once *place(const struct bring *b, struct ws__hash key)
{
    size_t i = (size_t)key.lo & (b->nonce - 1);

    while (b->once[i].used && !ws__hash_eq(b->once[i].key, key))
        i = (i + 1) & (b->nonce - 1);
    return &b->once[i];
}

static int more_places(struct bring *b)
{
    struct once *was = b->once;
    size_t n = b->nonce;
    struct once *next = ws__alloc(b->ctx, n ? n * 2 : 64, sizeof(*next));

    if (!next)
        return WS_ENOMEM;
    b->once = next;
    b->nonce = n ? n * 2 : 64;
    for (size_t i = 0; i < n; i++)
        if (was[i].used)
            *place(b, was[i].key) = was[i];
    ws__free(b->ctx, was);
    return 0;
}

static int twice(struct bring *b, const struct ws__result *r, uint32_t first)
{
    struct ws__loc loc = {.file = b->o->file, .line = r->line};
    struct ws__buf config;
    int rc;

    ws__buf_init(&config, b->ctx, 1 << 16);
    rc = ws__config_print(&config, &b->spec->s->kernel[b->kernel], &r->config);
    if (rc >= 0) {
        rc = ws__fail_at(b->ctx, WS_ESPEC, &loc,
                         "a second result of '%.600s' on one workload",
                         config.data ? config.data : "");
        if (first)
            ws__hint(b->ctx,
                     "the first is in line %u; select one of each: "
                     "--where COLUMN=VALUE",
                     first);
        else
            ws__hint(b->ctx, "is a parameter of the file missing in the "
                             "space?");
    }
    ws__buf_free(&config);
    return rc;
}

/* Which of two results is meant nobody can tell, so there may be one. */
static int check_once(struct bring *b, const struct ws__result *r)
{
    struct ws__hash key = {r->workload, 3};
    struct once *at;

    if ((b->n + 1) * 2 > b->nonce)
        WS_TRY(more_places(b));
    key = ws__hash_mix(key, &r->config, sizeof(r->config));
    at = place(b, key);
    if (at->used)
        return twice(b, r, at->line);
    *at = (struct once){.key = key, .used = true, .line = r->line};
    return 0;
}

/* What a candidate is: as recordings look for it. A kernel without a source is
 * its config, and without an op there is no workload to tell. */
static int identify(struct bring *b, const struct ws__result *r,
                    uint32_t workload, struct ws__trial *t)
{
    struct ws__spec *s = b->spec->s;
    const struct ws__kernel *k = &s->kernel[b->kernel];
    struct ws__instance *in;
    char *text = NULL;
    int rc;

    if (s->op)
        t->workload_hash = ws__workload_hash(s->op, &s->workload[workload]);
    if (!s->op || !k->source) {
        t->candidate_hash = ws__candidate_hash(k, &r->config, "");
        return 0;
    }
    in = ws__alloc(b->ctx, 1, sizeof(*in));
    if (!in)
        return WS_ENOMEM;
    rc = ws__instance_make(b->ctx, s->op, &s->workload[workload], in);
    if (rc >= 0)
        rc = ws__kernel_source(b->ctx, k, &r->config, in, &text);
    if (rc >= 0)
        t->candidate_hash = ws__candidate_hash(k, &r->config, text);
    ws__free(b->ctx, text);
    ws__free(b->ctx, in);
    return rc;
}

static int on_result(void *user, const struct ws__result *r)
{
    struct bring *b = user;
    uint32_t workload = b->first + r->workload;
    struct ws__question q;
    struct ws__trial t;
    int rc;

    WS_TRY(check_once(b, r));
    memset(&q, 0, sizeof(q));
    memset(&t, 0, sizeof(t));
    q.id = ++b->n;
    q.a.kernel = (uint32_t)b->kernel;
    q.a.config = r->config;
    q.workload = workload;
    q.want = WS__WANT_BUILD | WS__WANT_VERDICT | WS__WANT_TIME;
    t.candidate = q.a;
    t.workload = workload;
    t.verdict = r->verdict;
    t.did = r->verdict == WS__V_OK ? q.want : WS__WANT_BUILD;
    t.reason = (char *)r->reason;
    t.sample_ns = (double *)r->sample_ns;
    t.nsample = r->nsample;
    t.inner = 1;
    t.res.build_ns = r->build_ns;
    t.wall_ns = r->wall_ns;
    rc = identify(b, r, workload, &t);
    if (rc >= 0)
        rc = ws__import_answer(b->in, &b->run, &b->id, r->line, &q, &t);
    return rc;
}

/* The run's seed is the file's content and what is taken of it: the same again
 * is the same run, anything else is another. */
static int name_run(struct bring *b, const struct ws_trials_import_opts *o)
{
    struct ws__hash h;
    char *text;
    size_t n;

    WS_TRY(ws__fs_read(b->ctx, o->file, MAX_FILE, &text, &n));
    h = ws__hash_bytes(text, n);
    ws__free(b->ctx, text);
    h = ws__hash_str(ws__hash_str(h, o->where), o->time_column);
    h = ws__hash_u64(ws__hash_u64(h, b->kernel), b->first);
    snprintf(b->run.name, sizeof(b->run.name), "%s", b->spec->s->path);
    snprintf(b->run.strategy, sizeof(b->run.strategy), "import");
    b->run.spec = b->spec->s->hash;
    b->run.seed = h.lo >> 1;
    return 0;
}

static int scan(void *user, const struct ws__result *r)
{
    (void)user, (void)r;
    return 0;
}

/* Which device: as the file says, or the caller. */
static int name_device(struct bring *b, const struct ws_trials_import_opts *o,
                       const struct ws__results_spec *rs)
{
    struct ws__results_report report;
    const char *name = o->device;

    WS_TRY(ws__results_read(b->ctx, rs, o->file, scan, NULL, &report));
    if (!name)
        name = report.device;
    if (!*name) {
        ws__fail(b->ctx, WS_EINVAL, "'%s' does not say which device it is of",
                 o->file);
        return ws__hint(b->ctx, "say it: --device NAME");
    }
    snprintf(b->id.device, sizeof(b->id.device), "%s", name);
    snprintf(b->id.family, sizeof(b->id.family), "import");
    snprintf(b->id.protocol, sizeof(b->id.protocol), "%s", report.format);
    ws__identity_seal(&b->id);
    b->run.device = b->id.hash;
    return 0;
}

static int describe(struct bring *b)
{
    const struct ws__spec *s = b->spec->s;
    struct ws__parts p;
    int rc = ws__parts_make(b->ctx, s->hash, s->op, s->kernel, s->nkernel,
                            s->workload, s->nworkload, &p);

    if (rc < 0) {
        ws__parts_free(&p);
        return rc;
    }
    return ws__import_describe_take(b->in, &p);
}

static int bring_results(struct ws_ctx *ctx,
                         const struct ws_trials_import_opts *o,
                         struct ws_trials_imported *out, struct ws__import **in)
{
    struct bring b = {.ctx = ctx, .o = o, .spec = o->spec};
    struct ws__spec *s = o->spec->s;
    struct ws__results_report report;
    struct ws__results_spec rs;
    int rc;

    WS_TRY(ws__plan_kernel(o->spec, o->kernel, &b.kernel));
    WS_TRY(ws__results_workload(o->spec, o->workload, &b.first));
    rs = (struct ws__results_spec){
        .kernel = &s->kernel[b.kernel],
        .workload = s->workload + b.first,
        .nworkload = o->workload && s->op ? 1 : s->nworkload,
        .where = o->where,
        .time = o->time_column,
    };
    WS_TRY(name_run(&b, o));
    WS_TRY(name_device(&b, o, &rs));
    WS_TRY(ws__import_begin(ctx, o->file, &b.in));
    rc = describe(&b);
    if (rc >= 0)
        rc = ws__results_read(ctx, &rs, o->file, on_result, &b, &report);
    ws__free(ctx, b.once);
    if (rc < 0) {
        ws__import_free(b.in);
        return rc;
    }
    out->foreign = report.foreign;
    out->unfinished = report.unfinished;
    snprintf(out->foreign_why, sizeof(out->foreign_why), "%s",
             report.foreign_why);
    *in = b.in;
    return 0;
}

/* --- in ------------------------------------------------------------------ */

static int read_text(struct ws_ctx *ctx, const char *file,
                     struct ws__import **in)
{
    char *text;
    size_t n;
    int rc;

    WS_TRY(ws__fs_read(ctx, file, MAX_FILE, &text, &n));
    rc = ws__import_new(ctx, file, text, n, in);
    ws__free(ctx, text);
    return rc;
}

int ws_trials_import(struct ws_ctx *ctx,
                     const struct ws_trials_import_opts *opts,
                     struct ws_trials_imported *out)
{
    struct ws__import_counts c;
    struct ws__import *in = NULL;
    struct ws__store *s = NULL;
    int rc;

    memset(out, 0, sizeof(*out));
    WS_TRY(need_file(ctx, opts ? opts->file : NULL));
    rc = opts->spec ? bring_results(ctx, opts, out, &in)
                    : read_text(ctx, opts->file, &in);
    if (rc >= 0)
        rc = ws__trials_open(ctx, opts->store, false, &s);
    if (rc >= 0)
        rc = ws__store_import(s, in, &c);
    if (rc >= 0) {
        out->records = c.lines;
        out->trials = c.trials;
        out->runs = c.runs;
        out->specs = c.specs;
        out->values = c.values;
        out->matched = c.matched;
    }
    if (rc < 0)
        ws__store_discard(s); /* nothing new stays of what was refused */
    else
        ws__store_close(s);
    ws__import_free(in);
    return rc < 0 ? rc : 0;
}
