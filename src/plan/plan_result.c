/*
 * plan_result.c: what a tune leaves: a row for each workload and the pack.
 *
 * The pack carries its evidence: for each entry the numbers of the trials it
 * rests on, the identities of candidate and device, the samples' summary.
 */
#include "plan/plan_recordings.h"
#include "plan/plan_tune.h"

#include <jansson.h>
#include <math.h>

#include "base/fs.h"
#include "base/banned.h"

struct result {
    struct ws_tune_result r;
    struct ws__arena arena;
};

void ws_tune_result_free(struct ws_ctx *ctx, struct ws_tune_result *r)
{
    struct result *own;

    if (!r)
        return;
    own = r->priv;
    ws__arena_free(&own->arena);
    ws__free(ctx, own);
}

static const char *keep(struct ws__arena *a, struct ws__buf *b)
{
    const char *s = ws__arena_strndup(a, b->data ? b->data : "", b->len);

    b->len = 0;
    return s;
}

static int median_of(struct ws_ctx *ctx, const struct ws__trial *t, double *out)
{
    struct ws__summary s;

    *out = 0;
    if (!t->nsample)
        return 0;
    WS_TRY(ws__summarize(ctx, t->sample_ns, t->nsample, &s));
    *out = s.median;
    return 0;
}

static void count_verdicts(const struct ws__choice *c, struct ws_tune_row *row)
{
    for (size_t v = 0; v < WS_COUNT(row->verdicts); v++) {
        row->verdicts[v] = c->verdicts[v];
        if (v == WS__V_OK)
            row->ok += c->verdicts[v];
        else if (v == WS__V_FILTERED)
            row->filtered += c->verdicts[v];
        else
            row->failed += c->verdicts[v];
    }
}

/* "BM=8,VEC=16": the parameters that differ from the default. */
static int print_changes(struct ws__buf *b, const struct ws__kernel *k,
                         const struct ws__config *c)
{
    struct ws__config dflt;

    ws__config_default(k, &dflt);
    for (size_t i = 0; i < k->nparam; i++) {
        if (c->at[i] == dflt.at[i])
            continue;
        WS_TRY(ws__buf_printf(b, "%s%s=", b->len ? "," : "", k->param[i].name));
        WS_TRY(ws__value_print(b, &k->param[i].value[c->at[i]]));
    }
    return 0;
}

/* "CONFIG: verdict: reason" of a candidate that failed. */
static int print_failure(struct ws__buf *b, const struct ws__kernel *kernels,
                         const struct ws__trial *t)
{
    const struct ws__kernel *k = &kernels[t->candidate.kernel];

    WS_TRY(ws__config_print(b, k, &t->candidate.config));
    return ws__buf_printf(b, ": %s%s%.600s", ws__verdict_key(t->verdict),
                          t->reason ? ": " : "", t->reason ? t->reason : "");
}

static int fill_row(struct ws_spec *spec, struct ws__arena *a,
                    const struct ws__choice *c, const struct ws__workload *w,
                    struct ws_tune_row *row)
{
    struct ws_ctx *ctx = spec->ctx;
    struct ws__buf b;
    int rc = 0;

    ws__buf_init(&b, ctx, 1 << 16);
    WS_TRY_DONE(ws__plan_print_workload(&b, spec, w));
    row->workload = keep(a, &b);
    row->name = w->name ? w->name : "";
    row->speedup = c->speedup.value;
    row->speedup_lo = c->speedup.lo;
    row->speedup_hi = c->speedup.hi;
    row->confirmed = c->confirmed;
    count_verdicts(c, row);
    if (c->have_default) {
        WS_TRY_DONE(median_of(ctx, &c->dflt, &row->default_ns));
        row->default_trial = c->dflt.id;
    }
    if (c->have_best) {
        const struct ws__kernel *k = &spec->s->kernel[c->best.candidate.kernel];

        WS_TRY_DONE(median_of(ctx, &c->best, &row->best_ns));
        WS_TRY_DONE(ws__config_print(&b, k, &c->best.candidate.config));
        row->kernel = k->name;
        row->config = keep(a, &b);
        WS_TRY_DONE(print_changes(&b, k, &c->best.candidate.config));
        row->changes = keep(a, &b);
        row->trial = c->best.id;
        row->shapes = c->passed >> WS__GATE_SHAPES & 1;
        row->values = c->passed >> WS__GATE_VALUES & 1;
        row->sanitizer = c->passed >> WS__GATE_SANITIZER & 1;
    }
    if (c->failure.verdict != WS__V_NONE) {
        WS_TRY_DONE(print_failure(&b, spec->s->kernel, &c->failure));
        row->failure = keep(a, &b);
    }
    row->attempted = c->dflt.verdict != WS__V_NONE || row->ok || row->failed ||
                     row->filtered;
    if (!row->workload || (c->have_best && (!row->config || !row->changes)))
        rc = WS_ENOMEM;
done:
    ws__buf_free(&b);
    return rc;
}

static json_t *hash_json(struct ws__hash h)
{
    char hex[33];

    ws__hash_hex(h, hex);
    return json_string(hex);
}

/* A path need not be UTF-8, JSON must: other bytes become '?'. */
static json_t *path_json(const char *path)
{
    char text[4096];

    snprintf(text, sizeof(text), "%s", path);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    return json_string(text);
}

static json_t *entry_json(const struct ws__choice *c,
                          const struct ws_tune_row *row)
{
    return json_pack(
        "{s:s, s:s?, s:s?, s:I, s:I, s:I, s:I, s:o, s:o, s:f, s:f, s:f, s:f, "
        "s:f, s:b, s:i, s:I}",
        "workload", row->workload, "kernel", row->kernel, "config", row->config,
        "trial", (json_int_t)c->best.id, "default_trial",
        (json_int_t)c->dflt.id, "pair_default_trial",
        (json_int_t)c->pair_trial_a, "pair_trial", (json_int_t)c->pair_trial_b,
        "candidate", hash_json(c->best.candidate_hash), "binary",
        hash_json(c->best.res.binary), "time_ns", row->best_ns, "default_ns",
        row->default_ns, "speedup", row->speedup, "speedup_lo", row->speedup_lo,
        "speedup_hi", row->speedup_hi, "confirmed", row->confirmed, "cache",
        (int)c->best.cache, "samples", (json_int_t)c->best.nsample);
}

static int dump(struct ws_ctx *ctx, struct ws__arena *a, json_t *j,
                const char **out)
{
    char *text = j ? json_dumps(j, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;

    json_decref(j);
    *out = text ? ws__arena_strdup(a, text) : NULL;
    free(text);
    return *out ? 0 : ws__nomem(ctx);
}

static int evidence_text(struct ws_ctx *ctx, struct ws__arena *a,
                         const struct ws__outcome *o,
                         const struct ws_tune_result *r, const char **out)
{
    json_t *list = json_array();

    for (size_t i = 0; i < o->n; i++)
        if (o->choice[i].have_best)
            json_array_append_new(list, entry_json(&o->choice[i], &r->row[i]));
    return dump(ctx, a,
                json_pack("{s:o, s:s, s:o}", "store", path_json(r->store),
                          "tool", WS_VERSION, "entries", list),
                out);
}

/* What each choice passed, by shape (wsrt_entry_gates); the first line says
 * what was asked for. */
static int gates_text(struct ws_ctx *ctx, struct ws__arena *a,
                      const struct ws__spec *s, const struct ws__outcome *o,
                      const struct ws_tune_result *r, const char **out)
{
    struct ws__buf b;

    ws__buf_init(&b, ctx, SIZE_MAX);
    ws__buf_printf(&b, "asked %s\n",
                   r->recordings  ? "none"
                   : r->few_gates ? "few"
                                  : "all");
    for (size_t i = 0; i < o->n; i++) {
        const struct ws__choice *c = &o->choice[i];
        uint32_t passed = ws__gates_passed(&c->best) | c->passed;

        if (!c->speaks)
            continue;
        for (size_t k = 0; k < s->op->naxis; k++)
            ws__buf_printf(&b, "%s%lld", k ? " " : "",
                           (long long)s->workload[i].axis[k]);
        ws__buf_puts(&b, ":");
        for (unsigned g = 0; g < WS__NGATE; g++)
            if (passed >> g & 1)
                ws__buf_printf(&b, " %s", ws__gate_key((enum ws__gate)g));
        ws__buf_puts(&b, "\n");
    }
    *out = b.failed ? NULL : keep(a, &b);
    ws__buf_free(&b);
    return *out ? 0 : ws__nomem(ctx);
}

static int device_text(struct ws_ctx *ctx, struct ws__arena *a,
                       const struct ws__identity *id, const char **out)
{
    return dump(ctx, a,
                json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:o}", "family",
                          id->family, "device", id->device, "driver",
                          id->driver, "compiler", id->compiler, "protocol",
                          id->protocol, "units", (int)id->units, "identity",
                          hash_json(id->hash)),
                out);
}

/* Name and text pairs of the pack: op, kernels, sources, evidence. */
static int pack_texts(struct ws_spec *spec, struct ws__arena *a,
                      const struct ws__outcome *o,
                      const struct ws_tune_result *r,
                      const struct ws__identity *id, const char ***out)
{
    struct ws__spec *s = spec->s;
    size_t n = 0;
    const char **t =
        ws__arena_alloc(a, 2 * (5 + 2 * s->nkernel) + 1, sizeof(*t));

    if (!t)
        return WS_ENOMEM;
    t[n++] = "tool";
    t[n++] = "wavesmith " WS_VERSION;
    t[n++] = "device";
    WS_TRY(device_text(spec->ctx, a, id, &t[n++]));
    t[n++] = "evidence";
    WS_TRY(evidence_text(spec->ctx, a, o, r, &t[n++]));
    t[n++] = "gates";
    WS_TRY(gates_text(spec->ctx, a, s, o, r, &t[n++]));
    for (size_t k = 0; k < s->nkernel; k++) {
        char *op = NULL, *kernel = NULL;

        WS_TRY(ws__spec_to_text(s, k, &op, &kernel));
        if (!k) {
            t[n++] = "op";
            t[n++] = ws__arena_strdup(a, op);
        }
        t[n++] = ws__arena_printf(a, "kernel:%zu", k);
        t[n++] = ws__arena_strdup(a, kernel);
        t[n++] = ws__arena_printf(a, "source:%zu", k);
        t[n++] = s->kernel[k].source;
        ws__free(spec->ctx, op);
        ws__free(spec->ctx, kernel);
    }
    for (size_t i = 0; i < n; i++)
        if (!t[i])
            return ws__nomem(spec->ctx);
    *out = t;
    return 0;
}

/* The device that the guards of the pack are about. */
static void device_vars(const struct ws__identity *id,
                        const struct ws__kernel *k, union wsrt_value *out)
{
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};

    ws__identity_vars(id, k, vars);
    for (int v = 0; v < WS__NDEVICE_VARS; v++)
        out[v] = vars[ws__kernel_device_slot(k, (enum ws__device_var)v)];
}

/* "not (M == 3 and N == 65)" of one workload, in the names of `as`. */
static int bar_text(struct ws__buf *b, const struct ws__op *op,
                    const struct ws__op *as, const struct ws__workload *w)
{
    const char *word = "not (";

    for (size_t i = 0; i < op->naxis; i++) {
        if (op->axis[i].kind == WS__AXIS_CONST)
            continue;
        WS_TRY(ws__buf_printf(b, "%s%s == %lld", word, as->axis[i].name,
                              (long long)w->axis[i]));
        word = " and ";
    }
    return ws__buf_puts(b, ")");
}

/* A shape at which nothing was right gets no answer, not a neighbour's: a
 * condition more that every variant must hold. The copy lives in the arena. */
static int bar_shapes(struct ws_spec *spec, struct ws__arena *a,
                      const struct ws__outcome *o, const struct ws__op **out)
{
    struct ws__spec *s = spec->s;
    struct ws__op *op = ws__arena_alloc(a, 1, sizeof(*op));
    struct ws__expr **all =
        ws__arena_alloc(a, s->op->nrequire + o->n + 1, sizeof(*all));
    struct ws__loc loc = {.file = s->path};
    int rc = 0;

    if (!op || !all)
        return WS_ENOMEM;
    *op = *s->op;
    for (size_t i = 0; i < op->nrequire; i++)
        all[i] = op->require[i];
    op->require = all;
    for (size_t i = 0; i < o->n && rc >= 0; i++) {
        struct ws__buf b;
        char *text;

        if (!o->choice[i].barred)
            continue;
        ws__buf_init(&b, spec->ctx, 4096);
        rc = bar_text(&b, op, s->kernel[0].op, &s->workload[i]);
        text = rc < 0 ? NULL : ws__arena_strdup(a, b.data);
        ws__buf_free(&b);
        if (!text)
            return rc < 0 ? rc : WS_ENOMEM;
        rc = ws__expr_compile(spec->ctx, a, text, &loc, &s->kernel[0].scope,
                              WS__BOOL, &all[op->nrequire]);
        op->nrequire += rc >= 0;
    }
    *out = op;
    return rc;
}

static int write_pack(struct ws_spec *spec, struct ws__arena *a,
                      const char *path, const struct ws__outcome *o,
                      const struct ws_tune_result *r, const struct ws__tuned *t)
{
    struct ws__spec *s = spec->s;
    struct ws__pack_images images;
    struct ws__pack_entry *e = ws__arena_alloc(a, o->n, sizeof(*e));
    struct ws__pack_content c = {.op = s->op,
                                 .kernel = s->kernel,
                                 .nkernel = s->nkernel,
                                 .entry = e};
    const char **texts = NULL;
    int rc;

    if (!e)
        return WS_ENOMEM;
    for (size_t i = 0; i < o->n; i++)
        if (o->choice[i].speaks)
            e[c.nentry++] = (struct ws__pack_entry){
                .workload = &s->workload[i],
                .candidate = o->choice[i].best.candidate,
                .time_ns = r->row[i].best_ns,
                .default_ns = r->row[i].default_ns,
            };
    if (!c.nentry)
        return 0;
    WS_TRY(bar_shapes(spec, a, o, &c.op));
    device_vars(t->id, &s->kernel[0], c.device);
    WS_TRY(pack_texts(spec, a, o, r, t->id, &texts));
    c.text = texts;
    WS_TRY(ws__plan_waves(spec, &t->journal, t->run, t->id, a, &c));
    WS_TRY(ws__plan_ready(spec, a, &c));
    rc = ws__plan_images(spec, t->m, a, t->id->family, &c, &images);
    if (rc >= 0)
        rc = ws__pack_write(spec->ctx, path, &c);
    ws__plan_images_free(spec->ctx, &images);
    return rc;
}

static int has_best(const struct ws__outcome *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->choice[i].have_best)
            return 1;
    return 0;
}

/* Geometric mean over everything attempted; what failed counts as 1. */
static int geomean(struct ws__arena *a, const struct ws_tune_row *row, size_t n,
                   double *out)
{
    double *v = ws__arena_alloc(a, n + 1, sizeof(*v));
    size_t used = 0;

    if (!v)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (row[i].attempted)
            v[used++] = row[i].speedup > 0 ? row[i].speedup : 1.0;
    *out = used ? ws__geomean(v, used) : 1.0;
    return 0;
}

/* What a result from recordings has more: where it comes from, and for each
 * workload how far its choice is from the best. Nothing was interleaved. */
static void fill_recorded(const struct ws__recorded *rec, const char *path,
                          struct ws_tune_row *row, size_t n,
                          struct ws_tune_result *r)
{
    double sum = 0;
    size_t known = 0;

    r->recordings = path;
    r->recorded = rec->report->used;
    r->foreign = rec->report->foreign;
    r->unfinished = rec->report->unfinished;
    snprintf(r->foreign_why, sizeof(r->foreign_why), "%s",
             rec->report->foreign_why);
    for (size_t w = 0; w < n; w++) {
        row[w].confirmed = 0;
        row[w].oracle_ns = rec->oracle_ns[w];
        if (!(row[w].oracle_ns > 0) || !(row[w].best_ns > 0))
            continue;
        row[w].regret = row[w].best_ns / row[w].oracle_ns - 1;
        sum += log(row[w].best_ns / row[w].oracle_ns);
        known++;
    }
    r->geomean_regret = known ? exp(sum / (double)known) - 1 : 0;
}

static int fill_ideas(struct ws__arena *a, const struct ws__tree *tree,
                      struct ws_tune_result *r)
{
    struct ws_tune_idea *idea = ws__arena_alloc(a, tree->n + 1, sizeof(*idea));

    if (!idea)
        return WS_ENOMEM;
    for (size_t i = 0; i < tree->n; i++) {
        const struct ws__tried *t = &tree->tried[i];

        idea[i] =
            (struct ws_tune_idea){.axis = ws__arena_strdup(a, t->axis),
                                  .choice = ws__arena_strdup(a, t->choice),
                                  .place = ws__arena_strdup(a, t->place),
                                  .parent = t->parent,
                                  .depth = t->depth,
                                  .tries = t->tries,
                                  .expected = exp(t->expected),
                                  .lo = exp(t->expected - 1.96 * t->sd),
                                  .hi = exp(t->expected + 1.96 * t->sd),
                                  .factor =
                                      isnan(t->effect) ? 0 : exp(t->effect),
                                  .speedup = isnan(t->gain) ? 0 : exp(t->gain)};
        if (!idea[i].axis || !idea[i].choice || !idea[i].place)
            return WS_ENOMEM;
    }
    r->idea = idea;
    r->nidea = tree->n;
    return 0;
}

/* What strategies.yaml and the device say of the workloads, and the tree. */
static int fill_known(struct ws_spec *spec, const struct ws_tune_opts *opts,
                      struct ws__arena *a, const struct ws__tuned *t,
                      struct ws_tune_row *row, struct ws_tune_result *r)
{
    struct ws__buf b;
    char *text;
    int rc;

    for (size_t w = 0; w < r->nrow; w++) {
        const struct ws__catalogue *c = t->catalogue;
        size_t at =
            c ? ws__catalogue_regime(c, &ws__plan_subject(spec).workload[w])
              : 0;

        row[w].regime = c && at < c->nregime ? c->regime[at].name
                        : opts->search       ? "all"
                                             : NULL;
        row[w].floor_ns = t->floor_ns ? t->floor_ns[w] : 0;
    }
    r->run = t->run->id;
    if (!t->tree)
        return 0;
    WS_TRY(ws__tree_dump(spec->ctx, t->tree, &text));
    r->tree_json = ws__arena_strdup(a, text);
    ws__free(spec->ctx, text);
    ws__buf_init(&b, spec->ctx, 16 << 20);
    rc = ws__tree_text(&b, t->tree);
    if (rc >= 0)
        r->tree = keep(a, &b);
    ws__buf_free(&b);
    return rc < 0 ? rc : r->tree && r->tree_json ? 0 : WS_ENOMEM;
}

int ws__tune_result(struct ws_spec *spec, const struct ws_tune_opts *opts,
                    const struct ws__outcome *o, const struct ws__tuned *t,
                    struct ws_tune_result **out)
{
    struct ws_ctx *ctx = spec->ctx;
    struct result *res = ws__alloc(ctx, 1, sizeof(*res));
    struct ws_tune_row *row;
    struct ws__arena *a;
    char *store = NULL;
    int rc;

    if (!res)
        return WS_ENOMEM;
    a = &res->arena;
    ws__arena_init(a, ctx);
    res->r.priv = res;
    row = ws__arena_alloc(a, o->n + 1, sizeof(*row));
    store = opts->store ? ws__strdup(ctx, opts->store)
                        : ws__path_join(ctx, spec->project, "store.db");
    rc = row && store ? 0 : WS_ENOMEM;
    for (size_t i = 0; i < o->n && !rc; i++)
        rc = fill_row(spec, a, &o->choice[i],
                      &ws__plan_subject(spec).workload[i], &row[i]);
    WS_TRY_DONE(rc);
    res->r.row = row;
    res->r.nrow = o->n;
    res->r.trials = o->answered;
    res->r.reused = o->reused;
    res->r.filtered = o->filtered;
    res->r.missed = o->missed;
    res->r.stopped = o->stopped;
    res->r.few_gates = opts->few_gates != 0;
    if (t->rec)
        fill_recorded(t->rec, ws__arena_strdup(a, opts->recordings), row, o->n,
                      &res->r);
    WS_TRY_DONE(geomean(a, row, o->n, &res->r.geomean_speedup));
    WS_TRY_DONE(fill_ideas(a, &o->tree, &res->r));
    WS_TRY_DONE(fill_known(spec, opts, a, t, row, &res->r));
    if (opts->search)
        WS_TRY_DONE(ws__search_result(spec, opts, o, t, a, &res->r));
    res->r.device = ws__arena_strdup(a, t->id->device);
    res->r.store = ws__arena_strdup(a, store);
    if (opts->pack && has_best(o)) {
        /* What was measured is told even if the pack cannot be written. */
        res->r.pack_status = write_pack(spec, a, opts->pack, o, &res->r, t);
        if (!res->r.pack_status)
            res->r.pack = ws__arena_strdup(a, opts->pack);
    }
    *out = &res->r;
    res = NULL;
done:
    ws__free(ctx, store);
    if (res)
        ws_tune_result_free(ctx, &res->r);
    return rc;
}
