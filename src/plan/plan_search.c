/*
 * plan_search.c: what a search leaves beside a tune's rows: the best kernel of
 * each regime, and a folder with all of it.
 *
 * Every workload has a choice of its own. What is best for a regime is one of
 * these, or a default, the one that is the fastest over all workloads of the
 * regime by what was measured there; where it was not measured it counts as the
 * default.
 */
#include <math.h>
#include <stdio.h>

#include "plan/plan_put.h"
#include "plan/plan_recordings.h"
#include "plan/plan_tune.h"

#include "base/fs.h"
#include "base/banned.h"

#define ALL "all"
#define MAX_SOURCE ((size_t)16 << 20)

struct searched {
    struct ws_ctx *ctx;
    struct ws_spec *spec;
    const struct ws_tune_opts *o;
    const struct ws__outcome *outcome;
    const struct ws__tuned *t;
    struct ws__arena *a;
    struct ws_tune_result *r;
    struct ws__candidate *best; /* one a regime told */
    /* Of the choices (one a workload), then of the defaults, on the workloads:
     * the least time, 0 not measured, infinity failed. [choice * n + workload]
     */
    double *ns;
    size_t n;
    struct ws__buf csv;
};

/* --- the best ------------------------------------------------------------- */

/* The candidate of a choice or default; NULL: it has none that is right. */
static const struct ws__candidate *candidate_of(const struct searched *s,
                                                size_t c)
{
    const struct ws__choice *x = &s->outcome->choice[c % s->n];

    if (c < s->n)
        return x->have_best ? &x->best.candidate : NULL;
    return x->have_default ? &x->dflt.candidate : NULL;
}

static void note_time(struct searched *s, const struct ws__trial *t, double ns)
{
    if (t->verdict == WS__V_OK && !t->nsample)
        return; /* a gate that times nothing */
    for (size_t c = 0; c < 2 * s->n; c++) {
        const struct ws__candidate *of = candidate_of(s, c);
        double *at = &s->ns[c * s->n + t->workload];

        if (!of || !ws__candidate_eq(of, &t->candidate))
            continue;
        if (!isfinite(ns) || !(*at > 0))
            *at = ns;
        else if (isfinite(*at))
            *at = fmin(*at, ns);
    }
}

static void put_cell(struct ws__buf *b, const char *text)
{
    ws__buf_puts(b, "\"");
    for (; *text; text++)
        ws__buf_printf(b, *text == '"' ? "\"\"" : "%c", *text);
    ws__buf_puts(b, "\"");
}

static int put_attempt(struct searched *s, const struct ws__question *q,
                       const struct ws__trial *t, double ns)
{
    const struct ws_tune_row *row = &s->r->row[t->workload];
    const struct ws__kernel *k = &s->spec->s->kernel[t->candidate.kernel];
    struct ws__buf *b = &s->csv, config;

    ws__buf_init(&config, s->ctx, 1 << 16);
    ws__config_print(&config, k, &t->candidate.config);
    ws__buf_printf(b, "%llu,", (unsigned long long)q->id);
    put_cell(b, row->workload);
    ws__buf_printf(b, ",%s,%s,", row->regime, k->name);
    put_cell(b, config.data ? config.data : "");
    ws__buf_printf(b, ",%s,%s,", ws__effort_key(q->effort),
                   ws__verdict_key(t->verdict));
    if (ns > 0 && isfinite(ns))
        ws__buf_printf(b, "%.9g", ns);
    ws__buf_puts(b, ",");
    if (ns > 0 && isfinite(ns) && row->default_ns > 0)
        ws__buf_printf(b, "%.6g", row->default_ns / ns);
    ws__buf_puts(b, ",");
    put_cell(b, t->reason ? t->reason : "");
    ws__buf_free(&config);
    return ws__buf_puts(b, "\n");
}

static int see_answer(void *user, const struct ws__question *q,
                      const struct ws__trial *t, size_t n)
{
    struct searched *s = user;
    const struct ws__spec *spec = s->spec->s;

    for (size_t i = 0; i < n; i++) {
        double ns = ws__trial_score(s->ctx, &t[i]);

        if (t[i].workload >= s->n ||
            !ws__candidate_fits(&t[i].candidate, spec->kernel, spec->nkernel))
            continue;
        note_time(s, &t[i], ns);
        WS_TRY(put_attempt(s, q, &t[i], ns));
    }
    return 0;
}

static bool is_in(const struct searched *s, size_t w, const char *regime)
{
    return !strcmp(s->r->row[w].regime, regime);
}

/* The geometric mean over a regime; -infinity: it fails somewhere. */
static double score_of(const struct searched *s, size_t choice,
                       const char *regime, size_t *measured)
{
    double sum = 0;
    size_t n = 0;

    *measured = 0;
    for (size_t w = 0; w < s->n; w++) {
        double ns = s->ns[choice * s->n + w], from = s->r->row[w].default_ns;

        if (!is_in(s, w, regime))
            continue;
        n++;
        if (isinf(ns))
            return -INFINITY;
        *measured += ns > 0;
        if (ns > 0 && from > 0)
            sum += log(from / ns);
    }
    return n ? sum / (double)n : -INFINITY;
}

/* Names what is best of the regime. */
static int name_best(struct searched *s, size_t c, struct ws_tune_regime *out)
{
    const struct ws__candidate *of = candidate_of(s, c);
    const struct ws__kernel *k = &s->spec->s->kernel[of->kernel];
    struct ws__buf b;

    s->best[s->r->nregime] = *of;
    if (c < s->n) {
        out->kernel = s->r->row[c].kernel;
        out->config = s->r->row[c].config;
        out->changes = s->r->row[c].changes;
        return 0;
    }
    ws__buf_init(&b, s->ctx, 1 << 16);
    ws__config_print(&b, k, &of->config);
    out->kernel = k->name;
    out->config = ws__arena_strdup(s->a, b.data ? b.data : "");
    out->changes = "";
    ws__buf_free(&b);
    return out->config ? 0 : WS_ENOMEM;
}

static int tell_best(struct searched *s, const char *name, const char *about)
{
    struct ws_tune_regime *out =
        (struct ws_tune_regime *)&s->r->regime[s->r->nregime];
    double best = -INFINITY;
    size_t at = 0;
    int rc = 0;

    *out = (struct ws_tune_regime){.name = name,
                                   .about = about ? about : "",
                                   .speedup = 1};
    for (size_t c = 0; c < 2 * s->n; c++) {
        size_t measured;
        double score;

        if (!is_in(s, c % s->n, name))
            continue;
        out->workloads += c < s->n;
        if (!candidate_of(s, c))
            continue;
        score = score_of(s, c, name, &measured);
        if (score <= best)
            continue;
        best = score;
        at = c;
        out->measured = measured;
    }
    if (isfinite(best)) {
        out->speedup = exp(best);
        rc = name_best(s, at, out);
    }
    s->r->nregime += out->workloads > 0;
    return rc;
}

static int tell_all(struct searched *s)
{
    const struct ws__catalogue *c = s->t->catalogue;
    size_t n = c ? c->nregime : 0;

    s->r->regime = ws__arena_alloc(s->a, n + 1, sizeof(*s->r->regime));
    s->best = ws__arena_alloc(s->a, n + 1, sizeof(*s->best));
    if (!s->r->regime || !s->best)
        return WS_ENOMEM;
    for (size_t r = 0; r < n; r++)
        WS_TRY(tell_best(s, c->regime[r].name, c->regime[r].about));
    return tell_best(s, ALL, "of no regime");
}

/* --- the folder ----------------------------------------------------------- */

/* A name that any file system takes. */
static void file_name(const char *regime, char out[80])
{
    size_t n = 0;

    for (; regime[n] && n < 79; n++) {
        char ch = regime[n];
        bool plain = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
                     (ch >= '0' && ch <= '9') || ch == '_';

        out[n] = plain ? ch : '-';
    }
    out[n] = '\0';
}

/* The source that was begun with stays. */
static int keeps_source(struct searched *s, const char *dir, const char *file)
{
    char *out = ws__path_join(s->ctx, dir, ws__path_base(file));
    bool same = out && ws__fs_same(out, file);

    ws__free(s->ctx, out);
    if (!out)
        return WS_ENOMEM;
    if (!same)
        return 0;
    ws__fail(s->ctx, WS_EINVAL, "the kernel's own source lies in '%s'", dir);
    return ws__hint(s->ctx, "name another folder for the results");
}

/* As the author has it: its includes are not resolved. */
static int write_source(struct searched *s, const struct ws__kernel *k,
                        const char *dir)
{
    const char *name = ws__path_base(k->source_file);
    char *text = NULL;
    size_t len;
    int rc;

    if (k->triton_source)
        return ws__put_text(s->ctx, dir, name, k->triton_source);
    WS_TRY(ws__fs_read(s->ctx, k->source_file, MAX_SOURCE, &text, &len));
    rc = ws__put_text(s->ctx, dir, name, text);
    ws__free(s->ctx, text);
    return rc;
}

/* A file that nobody can load is no result: one that includes files beside it,
 * say. */
static bool is_whole(struct searched *s, const char *path)
{
    struct ws__spec *again = NULL;
    const struct ws__spec_opts o = {.uncompiled = true};
    struct ws_error before = s->ctx->err;
    int rc = ws__spec_load(s->ctx, path, &o, &again);

    if (rc < 0)
        ws__log(s->ctx, WS_LOG_WARN, "'%s' is not complete: %s", path,
                s->ctx->err.message);
    ws__spec_free(again);
    s->ctx->err = before;
    return rc >= 0;
}

/* A folder of its own: kernels of two regimes may have one source. */
static int write_kernel(struct searched *s, size_t r)
{
    struct ws_tune_regime *out = (struct ws_tune_regime *)&s->r->regime[r];
    const struct ws__kernel *k = &s->spec->s->kernel[s->best[r].kernel];
    const struct ws__puts puts = {.ctx = s->ctx, .arena = s->a, .force = true};
    char name[80], file[300];
    const char *op, *dir;
    char *text;
    int rc;

    if (!out->kernel || !k->source || !k->source_file || !s->spec->s->op ||
        (k->ready && !k->triton_source))
        return 0;
    file_name(out->name, name);
    dir = ws__arena_printf(s->a, "%s/%s", s->o->dir, name);
    if (!dir)
        return WS_ENOMEM;
    WS_TRY(ws__put_check(&puts, dir, s->o->dir));
    WS_TRY(ws__fs_mkdirs(s->ctx, dir));
    WS_TRY(keeps_source(s, dir, k->source_file));
    WS_TRY(ws__plan_op_path(s->spec, dir, &op));
    WS_TRY(ws__spec_kernel_file(s->spec->s, s->best[r].kernel, op,
                                &s->best[r].config, &text));
    snprintf(file, sizeof(file), "%.250s.yaml", k->name);
    rc = ws__put_text(s->ctx, dir, file, text);
    ws__free(s->ctx, text);
    if (rc >= 0)
        rc = write_source(s, k, dir);
    WS_TRY(rc);
    out->file = ws__arena_printf(s->a, "%s/%s", dir, file);
    if (!out->file)
        return WS_ENOMEM;
    if (!is_whole(s, out->file))
        out->file = NULL;
    return 0;
}

static int write_best(struct searched *s)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, s->ctx, 4 << 20);
    ws__buf_puts(&b, "regime,workloads,measured,kernel,config,speedup,file\n");
    for (size_t r = 0; r < s->r->nregime; r++) {
        const struct ws_tune_regime *x = &s->r->regime[r];

        put_cell(&b, x->name);
        ws__buf_printf(&b, ",%zu,%zu,", x->workloads, x->measured);
        put_cell(&b, x->kernel ? x->kernel : "");
        ws__buf_puts(&b, ",");
        put_cell(&b, x->config ? x->config : "");
        ws__buf_printf(&b, ",%.6g,", x->speedup);
        put_cell(&b, x->file ? x->file : "");
        ws__buf_puts(&b, "\n");
    }
    rc = b.failed ? WS_ENOMEM
                  : ws__put_text(s->ctx, s->o->dir, "best.csv", b.data);
    ws__buf_free(&b);
    return rc;
}

static int write_all(struct searched *s)
{
    WS_TRY(ws__fs_mkdirs(s->ctx, s->o->dir));
    for (size_t r = 0; r < s->r->nregime; r++)
        WS_TRY(write_kernel(s, r));
    WS_TRY(write_best(s));
    WS_TRY(ws__put_text(s->ctx, s->o->dir, "attempts.csv", s->csv.data));
    if (s->r->tree) {
        WS_TRY(ws__put_text(s->ctx, s->o->dir, "tree.txt", s->r->tree));
        WS_TRY(ws__put_text(s->ctx, s->o->dir, "tree.json", s->r->tree_json));
    }
    s->r->written = ws__arena_strdup(s->a, s->o->dir);
    return s->r->written ? 0 : WS_ENOMEM;
}

int ws__search_result(struct ws_spec *spec, const struct ws_tune_opts *opts,
                      const struct ws__outcome *o, const struct ws__tuned *t,
                      struct ws__arena *a, struct ws_tune_result *r)
{
    struct searched s = {.ctx = spec->ctx,
                         .spec = spec,
                         .o = opts,
                         .outcome = o,
                         .t = t,
                         .a = a,
                         .r = r,
                         .n = o->n};
    int rc;

    ws__buf_init(&s.csv, s.ctx, SIZE_MAX);
    ws__buf_puts(&s.csv, "question,workload,regime,kernel,config,effort,"
                         "verdict,time_ns,speedup,reason\n");
    s.ns = ws__alloc(s.ctx, 2 * o->n * o->n + 1, sizeof(*s.ns));
    rc = s.ns ? 0 : WS_ENOMEM;
    if (rc >= 0)
        rc = t->journal.ops->replay(t->journal.self, t->run, see_answer, &s);
    if (rc >= 0)
        rc = tell_all(&s);
    if (rc >= 0 && opts->dir)
        r->files_status = s.csv.failed ? ws__nomem(s.ctx) : write_all(&s);
    ws__free(s.ctx, s.ns);
    ws__buf_free(&s.csv);
    return rc < 0 ? rc : 0;
}

/* What cannot be written is better known before hours of work. */
int ws__search_check(struct ws_spec *spec, const struct ws_tune_opts *opts)
{
    struct ws_ctx *ctx = spec->ctx;
    const char *dir = opts->dir;
    int rc;

    if (!dir)
        return 0;
    if (!*dir) {
        ws__fail(ctx, WS_EINVAL, "the folder to write has no name");
        return ws__hint(ctx, "name one, such as 'found'");
    }
    if (ws__fs_exists(dir) && !ws__fs_is_dir(dir)) {
        ws__fail(ctx, WS_EINVAL, "cannot write to '%s': it is a file", dir);
        return ws__hint(ctx, "name a folder");
    }
    rc = ws__fs_mkdirs(ctx, dir);
    if (rc >= 0)
        rc = ws__fs_can_create(ctx, dir);
    return rc < 0 ? ws__error_prefix(ctx, "the results have no place") : 0;
}
