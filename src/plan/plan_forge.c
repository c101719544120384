/*
 * plan_forge.c: forge at the public interface: wires the workshop, a device,
 * the store and the loop together, and turns the outcome into texts and rows.
 */
#include "plan/plan_forge.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/spawn.h"
#include "base/turn.h"
#include "plan/plan_put.h"
#include "plan/plan_tune.h"
#include "store/store.h"

#include "base/banned.h"

#define DEFAULT_BUDGET 200u

struct forging {
    struct ws_ctx *ctx;
    struct ws_spec *spec;
    struct ws_forge_opts o;
    struct ws__workshop *shop;
    struct ws__measure *m;
    struct ws__store *store;
    struct ws__forge f;
    struct ws__run run;
    struct ws__forge_outcome outcome;
    uint64_t began_ns;
    double held_before; /* s, by earlier runs in the context */
};

/* --- progress ------------------------------------------------------------- */

/* The moves that a step's kernel is made of, the first one first: "a, b"; empty
 * for the original. */
static void put_made_of(const struct ws__forge_outcome *o, int32_t step,
                        struct ws__buf *b)
{
    if (step < 0) {
        ws__buf_puts(b, "");
        return;
    }
    put_made_of(o, o->step[step].before, b);
    ws__buf_printf(b, "%s%s", b->len ? ", " : "", o->step[step].move.name);
}

static void on_event(void *user, const struct ws__forge_event *e)
{
    struct forging *s = user;
    struct ws_forge_event o = {.kind = ws__forge_kind_name(e->kind),
                               .round = e->round,
                               .why = e->why,
                               .expected = e->expected,
                               .ratio = e->ratio.value,
                               .lo = e->ratio.lo,
                               .hi = e->ratio.hi,
                               .gap = e->gap,
                               .speedup = e->speedup,
                               .trials = e->trials,
                               .elapsed_ns = e->elapsed_ns};
    struct ws__buf b, on;

    ws__buf_init(&b, s->ctx, 1 << 16);
    ws__buf_init(&on, s->ctx, 1 << 16);
    if (e->move) {
        o.move = e->move->name;
        o.words = e->move->words;
    }
    if (e->kind == WS__FORGE_TRY) {
        put_made_of(&s->outcome, e->on, &on);
        o.on = on.data;
    }
    if (e->config) {
        ws__config_print(&b, &s->spec->s->kernel[e->kernel], e->config);
        o.config = b.data;
    }
    if (e->verdict)
        o.verdict = ws__verdict_key(e->verdict);
    if (e->diagnosis) {
        o.bound = ws__bound_text(e->diagnosis->bound);
        if (e->diagnosis->nfinding)
            o.finding = e->diagnosis->finding[0].rule->text;
    }
    s->o.progress(s->o.user, &o);
    ws__buf_free(&b);
    ws__buf_free(&on);
}

/* --- opening -------------------------------------------------------------- */

static int open_device(struct forging *s)
{
    struct ws__spec *p = s->spec->s;
    struct ws__measure_opts mo = {.device = s->o.device,
                                  .run_limit_ns = s->o.run_limit_ns,
                                  .trust_python = s->o.trust_python != 0,
                                  .seed = s->o.seed,
                                  .ready = ws__workshop_ready,
                                  .ready_user = s->shop};

    WS_TRY(ws__plan_measure_opts(s->spec, s->o.cache, s->o.launch, &mo));
    WS_TRY(ws__fs_mkdirs(s->ctx, s->spec->project));
    WS_TRY(ws__measure_open(s->ctx, p->op, p->kernel, p->nkernel, p->workload,
                            p->nworkload, &mo, &s->m));
    s->shop->m = s->m;
    return ws__plan_bind(s->spec, s->m);
}

static int open_store(struct forging *s)
{
    const struct ws__identity *id = &ws__measure_device(s->m)->id;
    char *path = s->o.store
                     ? ws__strdup(s->ctx, s->o.store)
                     : ws__path_join(s->ctx, s->spec->project, "store.db");
    int rc;

    if (!path)
        return WS_ENOMEM;
    rc = ws__store_open(s->ctx, path, false, &s->store);
    ws__free(s->ctx, path);
    WS_TRY(rc);
    WS_TRY(ws__store_set_identity(s->store, id));
    snprintf(s->run.name, sizeof(s->run.name), "%s", s->spec->s->path);
    snprintf(s->run.strategy, sizeof(s->run.strategy), "forge");
    /* What is begun with is a part of what the run is. */
    s->run.spec =
        ws__hash_mix(s->spec->s->hash, &s->f.original, sizeof(s->f.original));
    s->run.spec =
        ws__hash_u64(s->run.spec, (uint64_t)(s->o.blind != 0) |
                                      (uint64_t)(s->o.forgetful != 0) << 1 |
                                      (uint64_t)(s->o.single != 0) << 2);
    if (s->o.proposer)
        s->run.spec =
            ws__hash_mix(s->run.spec, s->o.proposer, strlen(s->o.proposer));
    /* Times of two compilers do not mix. */
    if (*s->shop->ready.version)
        s->run.spec = ws__hash_str(s->run.spec, s->shop->ready.version);
    s->run.device = id->hash;
    s->run.seed = s->o.seed;
    return 0;
}

static bool can_transform(enum ws__dialect d)
{
    return d == WS__DIALECT_CUDA || d == WS__DIALECT_OPENCL ||
           d == WS__DIALECT_TRITON;
}

/* The kernel that was named, else the first that the device takes and that can
 * be transformed. */
static int choose(struct forging *s)
{
    struct ws__spec *p = s->spec->s;
    const struct ws__device_ops *ops =
        s->m ? ws__device_find(ws__measure_device(s->m)->id.family) : NULL;
    const char *name = s->o.kernel;

    for (size_t i = 0; i < s->shop->first && !name; i++) {
        enum ws__dialect d = p->kernel[i].dialect;

        if (can_transform(d) && (!ops || !ops->dialects ||
                                 (ops->dialects >> ws__dialect_built(d) & 1)))
            name = p->kernel[i].name;
    }
    WS_TRY(ws__plan_choose(s->spec, name, s->o.config, &s->f.original));
    s->shop->name = p->kernel[s->f.original.kernel].name;
    if (can_transform(p->kernel[s->f.original.kernel].dialect))
        return 0;
    ws__fail(s->ctx, WS_EINVAL,
             "kernel '%s' is in %s: only CUDA C, OpenCL C and Triton can be "
             "transformed",
             p->kernel[s->f.original.kernel].name,
             ws__dialect_name(p->kernel[s->f.original.kernel].dialect));
    return ws__hint(s->ctx, "name another one: --kernel NAME");
}

/* What compiles the kernel, where that is not the device. */
static int open_compiler(struct forging *s)
{
    size_t k = s->f.original.kernel;

    if (s->spec->s->kernel[k].dialect != WS__DIALECT_TRITON)
        return 0;
    return ws__triton_ready_open(s->spec, ws__measure_device(s->m), k,
                                 s->o.trust_python != 0, &s->shop->ready);
}

/* What cannot be written is better known before hours of work; and the source
 * that is begun with stays. */
static int check_out(struct forging *s)
{
    const struct ws__kernel *k = &s->spec->s->kernel[s->f.original.kernel];
    char *out;
    bool same;

    if (!s->o.out)
        return 0;
    WS_TRY(ws__fs_mkdirs(s->ctx, s->o.out));
    out = ws__path_join(s->ctx, s->o.out, ws__path_base(k->source_file));
    if (!out)
        return WS_ENOMEM;
    same = ws__fs_same(out, k->source_file);
    ws__free(s->ctx, out);
    if (same) {
        ws__fail(s->ctx, WS_EINVAL, "'%s' would be written over",
                 k->source_file);
        return ws__hint(s->ctx, "give --out another folder than the source's");
    }
    return ws__fs_can_create(s->ctx, s->o.out);
}

static int need_workloads(struct forging *s)
{
    if (s->spec->s->nworkload)
        return 0;
    ws__fail(s->ctx, WS_EINVAL, "'%s' names no workloads", s->spec->s->path);
    return ws__hint(s->ctx, "give a file of shapes: --workloads FILE");
}

/* What it used goes on from process to process only through its replies: what
 * the journal has is not asked for again. */
static int open_model(struct forging *s)
{
    struct ws__workshop *w = s->shop;
    const struct ws__llm_opts o = {.target = s->o.model_target,
                                   .model = s->o.model,
                                   .key = s->o.model_key,
                                   .argv = s->o.model_argv,
                                   .path = s->o.path,
                                   .meter = &w->meter,
                                   .seed = s->o.seed,
                                   .price_in = s->o.price_in,
                                   .price_out = s->o.price_out};

    w->journal = ws__store_journal(s->store);
    w->run = &s->run;
    if (!s->o.proposer || !strcmp(s->o.proposer, "rules"))
        return 0;
    w->meter.budget = s->o.model_tokens;
    WS_TRY(ws__llm_open(s->ctx, s->o.proposer, &o, &w->model));
    return s->o.transcript ? ws__llm_record(w->model, s->o.transcript) : 0;
}

static int run_loop(struct forging *s)
{
    struct ws__spec *p = s->spec->s;
    uint64_t trials = s->o.budget_trials;

    if (!trials && !s->o.budget_ns)
        trials = DEFAULT_BUDGET;
    s->f.ctx = s->ctx;
    s->f.kernel = p->kernel;
    s->f.workload = p->workload;
    s->f.nworkload = p->nworkload;
    s->f.ev = ws__measure_evaluator(s->m);
    s->f.journal = ws__store_journal(s->store);
    s->f.run = &s->run;
    s->f.shop = ws__workshop_seam(s->shop);
    s->f.opts =
        (struct ws__forge_opts){.budget_trials = trials,
                                .budget_ns = s->o.budget_ns,
                                .seed = s->o.seed,
                                .enough = s->o.enough,
                                .blind = s->o.blind != 0,
                                .forgetful = s->o.forgetful != 0,
                                .single = s->o.single != 0,
                                .event = s->o.progress ? on_event : NULL,
                                .user = s};
    return ws__forge_run(&s->f, &s->outcome);
}

/* --- the result ----------------------------------------------------------- */

static const char *keep(struct forging *s, const char *text)
{
    return text ? ws__arena_strdup(&s->spec->arena, text) : NULL;
}

/* Takes the text. */
static int keep_taken(struct forging *s, char *text, const char **out)
{
    *out = keep(s, text);
    ws__free(s->ctx, text);
    return *out ? 0 : WS_ENOMEM;
}

static int config_text(struct forging *s, uint32_t kernel,
                       const struct ws__config *c, const char **out)
{
    struct ws__buf b;

    ws__buf_init(&b, s->ctx, 1 << 16);
    if (ws__config_print(&b, &s->spec->s->kernel[kernel], c) < 0) {
        ws__buf_free(&b);
        return WS_ENOMEM;
    }
    *out = keep(s, b.data ? b.data : "");
    ws__buf_free(&b);
    return *out ? 0 : WS_ENOMEM;
}

static bool is_part(const struct ws__forge_outcome *o, size_t step)
{
    for (int32_t i = o->best_step; i >= 0; i = o->step[i].before)
        if ((size_t)i == step)
            return true;
    return false;
}

/* The gates that the judge must add before such a kernel is kept. */
static int put_wanted(struct forging *s, unsigned want, const char **out)
{
    static const struct {
        unsigned want;
        enum ws__gate gate;
    } all[] = {{WS__WANT_PROOF, WS__GATE_VALUES},
               {WS__WANT_PROOF, WS__GATE_SHAPES},
               {WS__WANT_SANITIZER, WS__GATE_SANITIZER}};
    char text[100] = "";

    want |= WS__WANT_PROOF; /* of every kernel that is kept */
    for (size_t i = 0; i < WS_COUNT(all); i++)
        if (want & all[i].want) {
            size_t at = strlen(text);

            snprintf(text + at, sizeof(text) - at, "%s%s", at ? ", " : "",
                     ws__gate_key(all[i].gate));
        }
    *out = keep(s, text);
    return *out ? 0 : WS_ENOMEM;
}

static int put_move(struct forging *s, const struct ws__forge_move *m,
                    struct ws_forge_move *out)
{
    *out = (struct ws_forge_move){.name = keep(s, m->name),
                                  .words = keep(s, m->words),
                                  .refused = keep(s, m->refused),
                                  .trust = keep(s, m->trust),
                                  .needs = keep(s, m->needs ? m->needs : ""),
                                  .rounds = m->rounding,
                                  .gain = m->gain};
    WS_TRY(put_wanted(s, m->want, &out->gates));
    return out->name && out->words && out->needs ? 0 : WS_ENOMEM;
}

static int put_on(struct forging *s, int32_t step, const char **out)
{
    struct ws__buf b;

    ws__buf_init(&b, s->ctx, 1 << 16);
    put_made_of(&s->outcome, step, &b);
    *out = b.failed || !b.data ? NULL : keep(s, b.data);
    ws__buf_free(&b);
    return *out ? 0 : WS_ENOMEM;
}

static int put_step(struct forging *s, size_t i, struct ws_forge_move *out)
{
    const struct ws__forge_outcome *o = &s->outcome;
    const struct ws__forge_step *x = &o->step[i];

    WS_TRY(put_move(s, &x->move, out));
    out->end = ws__forge_kind_name(x->end);
    out->why = keep(s, x->why);
    out->bound = ws__bound_key(x->bound);
    out->expected = x->expected;
    out->ratio = x->ratio.value;
    out->lo = x->ratio.lo;
    out->hi = x->ratio.hi;
    out->trial = x->trial[1] ? x->trial[1] : x->trial[0];
    out->part = is_part(o, i);
    WS_TRY(put_on(s, x->before, &out->on));
    return x->kernel ? config_text(s, x->kernel, &x->config, &out->config) : 0;
}

static int workload_text(struct forging *s, size_t w, const char **out)
{
    struct ws__buf b;

    ws__buf_init(&b, s->ctx, 1 << 16);
    ws__workload_print(&b, s->spec->s->op, &s->spec->s->workload[w]);
    *out = b.failed || !b.data ? NULL : keep(s, b.data);
    ws__buf_free(&b);
    return *out ? 0 : WS_ENOMEM;
}

static int put_rows(struct forging *s, struct ws_forge_result *r)
{
    struct ws__spec *p = s->spec->s;
    struct ws_forge_row *row =
        ws__arena_alloc(&s->spec->arena, p->nworkload + 1, sizeof(*row));

    if (!row)
        return WS_ENOMEM;
    for (size_t w = 0; w < p->nworkload; w++) {
        const struct ws__forge_row *x = &s->outcome.row[w];

        WS_TRY(workload_text(s, w, &row[w].workload));
        row[w].name = p->workload[w].name ? p->workload[w].name : "";
        row[w].unchanged = x->same;
        row[w].original_ns = x->original_ns;
        row[w].best_ns = x->best_ns;
        row[w].speedup = x->speedup.value;
        row[w].lo = x->speedup.lo;
        row[w].hi = x->speedup.hi;
    }
    r->row = row;
    r->nrow = p->nworkload;
    return 0;
}

static int put_texts(struct forging *s, struct ws_forge_result *r)
{
    struct ws__spec *p = s->spec->s;
    uint32_t k = s->outcome.best.kernel;
    const char *before, *after, *op;
    char *text;

    if (s->outcome.best_step < 0)
        return 0;
    WS_TRY(ws__workshop_text(s->shop, s->f.original.kernel, &before));
    WS_TRY(ws__workshop_text(s->shop, k, &after));
    r->source = keep(s, after);
    if (!r->source)
        return WS_ENOMEM;
    WS_TRY(ws__plan_op_path(s->spec, s->o.out, &op));
    WS_TRY(ws__spec_kernel_file(p, k, op, &s->outcome.best.config, &text));
    WS_TRY(keep_taken(s, text, &r->kernel_file));
    WS_TRY(ws__plan_diff(
        s->ctx, ws__path_base(p->kernel[s->f.original.kernel].source_file),
        before, after, &text));
    return keep_taken(s, text, &r->patch);
}

/* Gates beyond those that every trial has. */
static int put_gates(struct forging *s, struct ws_forge_result *r)
{
    static const enum ws__gate last[] = {WS__GATE_VALUES, WS__GATE_SHAPES,
                                         WS__GATE_SANITIZER};
    char text[100] = "";

    for (size_t i = 0; i < WS_COUNT(last) && s->outcome.best_step >= 0; i++)
        if (s->outcome.passed >> last[i] & 1) {
            size_t at = strlen(text);

            snprintf(text + at, sizeof(text) - at, "%s%s", at ? ", " : "",
                     ws__gate_key(last[i]));
        }
    r->gates = keep(s, text);
    return r->gates ? 0 : WS_ENOMEM;
}

static int put_moves(struct forging *s, struct ws_forge_result *r)
{
    size_t n = s->outcome.nstep;
    struct ws_forge_move *m =
        ws__arena_alloc(&s->spec->arena, n + 1, sizeof(*m));

    if (!m)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        WS_TRY(put_step(s, i, &m[i]));
    r->move = m;
    r->nmove = n;
    return 0;
}

/* Why the original is not right, and where. */
static int put_why(struct forging *s, struct ws_forge_result *r)
{
    const struct ws__forge_outcome *o = &s->outcome;
    struct ws__buf b;

    if (!o->why)
        return 0;
    ws__buf_init(&b, s->ctx, 1 << 16);
    ws__buf_printf(&b, "%s: %s", s->spec->s->workload[o->workload].name,
                   o->why);
    r->why = b.failed ? NULL : keep(s, b.data);
    ws__buf_free(&b);
    return r->why ? 0 : WS_ENOMEM;
}

static int put_result(struct forging *s, struct ws_forge_result **out)
{
    const struct ws__forge_outcome *o = &s->outcome;
    struct ws_forge_result *r = ws__arena_alloc(&s->spec->arena, 1, sizeof(*r));

    if (!r)
        return WS_ENOMEM;
    r->device = keep(s, ws__measure_device(s->m)->id.device);
    r->kernel = s->spec->s->kernel[o->best.kernel].name;
    r->verdict = ws__verdict_key(o->verdict);
    WS_TRY(put_why(s, r));
    r->end = keep(s, o->end);
    r->stopped = o->stopped;
    r->speedup = o->speedup.value;
    r->lo = o->speedup.lo;
    r->hi = o->speedup.hi;
    r->gap_before = o->gap_before;
    r->gap_after = o->gap_after;
    r->trials = o->trials;
    r->tokens = s->shop->meter.prompt + s->shop->meter.completion;
    r->cost = s->shop->meter.cost;
    r->seconds = (double)(ws__now_ns() - s->began_ns) * 1e-9;
    r->device_seconds =
        (double)ws__turn_held_ns(s->ctx) * 1e-9 - s->held_before;
    ws__plan_throughput(&s->f.ev, &r->throughput);
    WS_TRY(config_text(s, o->best.kernel, &o->best.config, &r->config));
    WS_TRY(put_rows(s, r));
    WS_TRY(put_moves(s, r));
    WS_TRY(put_gates(s, r));
    WS_TRY(put_texts(s, r));
    *out = r;
    return r->device ? 0 : WS_ENOMEM;
}

/* --- files ---------------------------------------------------------------- */

static int moves_text(struct forging *s, const struct ws_forge_result *r,
                      char **out)
{
    struct ws__buf b;

    ws__buf_init(&b, s->ctx, 16 << 20);
    ws__buf_printf(&b, "# %s: %.3gx (%.3g to %.3g), %s\n", r->kernel,
                   r->speedup, r->lo, r->hi, r->end ? r->end : "");
    ws__buf_puts(&b, "# end, move, expected, measured (95 %), trial: what it "
                     "does, on which kernel; why\n");
    for (size_t i = 0; i < r->nmove; i++) {
        const struct ws_forge_move *m = &r->move[i];

        ws__buf_printf(&b, "%s%-8s %-18s %.2fx  ", m->part ? "* " : "  ",
                       m->end, m->name, m->expected);
        if (m->lo > 0)
            ws__buf_printf(&b, "%.3fx (%.3f to %.3f)  ", m->ratio, m->lo,
                           m->hi);
        else if (m->ratio > 0)
            ws__buf_printf(&b, "about %.2fx  ", m->ratio);
        ws__buf_printf(&b, "%llu: %s, on %s%s%s%s\n",
                       (unsigned long long)m->trial, m->words,
                       *m->on ? "top of " : "the original", m->on,
                       m->why ? "; " : "", m->why ? m->why : "");
    }
    if (b.failed) {
        ws__buf_free(&b);
        return WS_ENOMEM;
    }
    *out = ws__buf_take(&b);
    return 0;
}

static int write_all(struct forging *s, struct ws_forge_result *r)
{
    const struct ws__kernel *k = &s->spec->s->kernel[s->outcome.best.kernel];
    char *moves;
    char name[300];
    int rc;

    if (!s->o.out)
        return 0;
    WS_TRY(ws__fs_mkdirs(s->ctx, s->o.out));
    WS_TRY(moves_text(s, r, &moves));
    rc = ws__put_text(s->ctx, s->o.out, "moves.txt", moves);
    ws__free(s->ctx, moves);
    if (rc >= 0 && r->source) {
        rc = ws__put_text(s->ctx, s->o.out, ws__path_base(k->source_file),
                          r->source);
        /* One name, so that nothing older stays beside the new source. */
        snprintf(name, sizeof(name), "%.250s_forged.yaml", s->shop->name);
        if (rc >= 0)
            rc = ws__put_text(s->ctx, s->o.out, name, r->kernel_file);
        if (rc >= 0)
            rc = ws__put_text(s->ctx, s->o.out, "change.patch", r->patch);
    }
    r->written = keep(s, s->o.out);
    return rc < 0 ? rc : r->written ? 0 : WS_ENOMEM;
}

/* --- explaining ----------------------------------------------------------- */

static int explain(struct forging *s, struct ws_forge_result **out)
{
    struct ws__forge_shop seam = ws__workshop_seam(s->shop);
    const struct ws__forge_move *m;
    struct ws_forge_result *r = ws__arena_alloc(&s->spec->arena, 1, sizeof(*r));
    struct ws_forge_move *o;
    size_t n;

    if (!r)
        return WS_ENOMEM;
    WS_TRY(seam.moves(seam.self, s->f.original.kernel, &m, &n));
    o = ws__arena_alloc(&s->spec->arena, n + 1, sizeof(*o));
    if (!o)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        WS_TRY(put_move(s, &m[i], &o[i]));
    r->kernel = s->spec->s->kernel[s->f.original.kernel].name;
    r->move = o;
    r->nmove = n;
    r->speedup = r->lo = r->hi = 1;
    *out = r;
    return 0;
}

/* --- the whole ------------------------------------------------------------ */

int ws_forge(struct ws_spec *spec, const struct ws_forge_opts *opts,
             struct ws_forge_result **out)
{
    struct forging *s = ws__alloc(spec->ctx, 1, sizeof(*s));
    int rc;

    *out = NULL;
    if (!s)
        return WS_ENOMEM;
    s->ctx = spec->ctx;
    s->spec = spec;
    s->began_ns = ws__now_ns();
    s->held_before = (double)ws__turn_held_ns(s->ctx) * 1e-9;
    if (opts)
        memcpy(&s->o, opts,
               opts->size && opts->size < sizeof(s->o) ? opts->size
                                                       : sizeof(s->o));
    WS_TRY_DONE(ws__plan_need_op(spec, "forge"));
    WS_TRY_DONE(need_workloads(s));
    WS_TRY_DONE(ws__workshop_open(spec, &s->o, &s->shop));
    if (s->o.explain) {
        WS_TRY_DONE(choose(s));
        WS_TRY_DONE(explain(s, out));
        goto done;
    }
    WS_TRY_DONE(open_device(s));
    WS_TRY_DONE(choose(s));
    WS_TRY_DONE(check_out(s));
    WS_TRY_DONE(open_compiler(s));
    WS_TRY_DONE(open_store(s));
    WS_TRY_DONE(open_model(s));
    WS_TRY_DONE(run_loop(s));
    WS_TRY_DONE(put_result(s, out));
    WS_TRY_DONE(write_all(s, *out));
done:
    ws__forge_clear(s->ctx, &s->outcome);
    ws__store_close(s->store);
    ws__measure_close(s->m);
    ws__workshop_close(s->shop);
    ws__free(s->ctx, s);
    return rc;
}
