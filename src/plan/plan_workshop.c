/*
 * plan_workshop.c: kernels for a forge: reads their sources, lists what the
 * transformations would do to them, and makes new kernels.
 */
#include "base/fs.h"
#include "base/spawn.h"
#include "plan/plan_forge.h"

#include <math.h>

#include "base/banned.h"

#define MAX_SOURCE ((size_t)8 << 20)
#define MAX_MEMORY ((size_t)8 << 20)
#define MAX_WORDS ((size_t)1 << 20)
#define ASKS 3 /* of the model, for each kernel */
#define MODEL_GAIN 1.5
#define FROM_MODEL ((size_t)-1)

/* --- sources -------------------------------------------------------------- */

int ws__workshop_text(struct ws__workshop *s, size_t kernel, const char **out)
{
    struct ws__forge_source *f = &s->source[kernel];
    char *text;
    size_t len;

    if (!f->text)
        f->text = s->spec->s->kernel[kernel].triton_source;
    if (!f->text) {
        WS_TRY(ws__fs_read(s->spec->ctx, s->spec->s->kernel[kernel].source_file,
                           MAX_SOURCE, &text, &len));
        f->text = ws__arena_strdup(&s->arena, text);
        ws__free(s->spec->ctx, text);
        if (!f->text)
            return WS_ENOMEM;
    }
    *out = f->text;
    return 0;
}

/* What is defined before the source for the first workload: as
 * ws__kernel_source has it, up to the source itself. */
static int prologue(struct ws__workshop *s, const struct ws__kernel *k,
                    char **out)
{
    struct ws_spec *spec = s->spec;
    struct ws__instance in;
    struct ws__config c;
    char *all, *at;

    *out = NULL;
    ws__config_default(k, &c);
    WS_TRY(ws__instance_make(spec->ctx, k->op, &spec->s->workload[0], &in));
    WS_TRY(ws__kernel_source(spec->ctx, k, &c, &in, &all));
    at = *k->source ? strstr(all, k->source) : NULL;
    if (at)
        *at = '\0';
    *out = all;
    return 0;
}

static int parse(struct ws__workshop *s, size_t kernel)
{
    const struct ws__kernel *k = &s->spec->s->kernel[kernel];
    struct ws__forge_source *f = &s->source[kernel];
    struct ws__ast_source a = {.path = k->source_file,
                               .dialect = k->dialect,
                               .headers = s->headers};
    const char *include[] = {k->dir, NULL, NULL};
    char *before, *ours;
    int rc;

    if (f->parsed)
        return 0;
    if (k->dialect == WS__DIALECT_TRITON) {
        WS_TRY(ws__workshop_triton_parse(s, kernel));
        f->parsed = true;
        return 0;
    }
    WS_TRY(ws__workshop_text(s, kernel, &a.text));
    WS_TRY(prologue(s, k, &before));
    ours = ws__path_dir(s->spec->ctx, s->headers); /* of ws_dialect.h */
    include[1] = ours;
    a.prologue = before;
    a.include = include;
    rc = ours ? ws__ast_build(s->spec->ctx, &s->arena, &a, &f->ast) : WS_ENOMEM;
    ws__free(s->spec->ctx, ours);
    ws__free(s->spec->ctx, before);
    f->parsed = rc >= 0;
    return rc;
}

/* --- moves ---------------------------------------------------------------- */

static int add_moves(struct ws__workshop *s, struct ws__forge_source *f,
                     const struct ws__xform_ops *x, const struct ws__sites *in)
{
    size_t n = f->nmove + in->n;
    struct ws__forge_move *m = ws__arena_alloc(&s->arena, n + 1, sizeof(*m));
    struct ws__site *site = ws__arena_alloc(&s->arena, n + 1, sizeof(*site));

    if (!m || !site)
        return WS_ENOMEM;
    if (f->nmove) {
        memcpy(m, f->move, f->nmove * sizeof(*m));
        memcpy(site, f->site, f->nmove * sizeof(*site));
    }
    for (size_t i = 0; i < in->n; i++) {
        size_t at = f->nmove + i;

        site[at] = in->site[i];
        m[at] = (struct ws__forge_move){.name = x->name,
                                        .words = in->site[i].words,
                                        .needs = x->needs,
                                        .refused = in->site[i].refused,
                                        .trust = in->site[i].trust,
                                        .finding = x->finding,
                                        .gain = x->gain,
                                        .want = x->gates,
                                        .rounding = x->rounding,
                                        .site = at};
    }
    f->move = m;
    f->site = site;
    f->nmove = n;
    return 0;
}

/* What no transformation looks at is told once. */
static int add_left_alone(struct ws__workshop *s, struct ws__forge_source *f,
                          size_t kernel, struct ws__sites *sites)
{
    static const char *const none[] = {NULL};
    static const struct ws__xform_ops any = {.name = "(any)",
                                             .finding = none,
                                             .gain = 1};

    WS_TRY(ws__xform_left_alone(s->spec->ctx, &s->arena, &f->ast,
                                &s->spec->s->kernel[kernel], sites));
    return add_moves(s, f, &any, sites);
}

/* The model may be asked, a few times. */
static int add_asks(struct ws__workshop *s, struct ws__forge_source *f)
{
    static const char *const none[] = {NULL};
    struct ws__forge_move *m;

    if (!s->model || s->model_gone)
        return 0;
    m = ws__arena_alloc(&s->arena, f->nmove + ASKS, sizeof(*m));
    if (!m)
        return WS_ENOMEM;
    if (f->nmove)
        memcpy(m, f->move, f->nmove * sizeof(*m));
    for (int i = 0; i < ASKS; i++)
        m[f->nmove++] = (struct ws__forge_move){.name = "model",
                                                .words = "ask the model",
                                                .finding = none,
                                                .gain = MODEL_GAIN,
                                                .rounding = true,
                                                .asks = true,
                                                .site = FROM_MODEL};
    f->move = m;
    return 0;
}

static int find_moves(struct ws__workshop *s, size_t kernel)
{
    struct ws__forge_source *f = &s->source[kernel];
    const struct ws__kernel *k = &s->spec->s->kernel[kernel];
    struct ws__sites *sites;
    int rc = 0;

    if (k->dialect == WS__DIALECT_TRITON)
        return ws__workshop_triton_moves(s, kernel);
    sites = ws__alloc(s->spec->ctx, 1, sizeof(*sites));
    if (!sites)
        return WS_ENOMEM;
    rc = add_left_alone(s, f, (uint32_t)kernel, sites);
    for (size_t i = 0; ws__xform_table[i] && rc >= 0; i++) {
        rc = ws__xform_find(s->spec->ctx, &s->arena, &f->ast, k,
                            ws__xform_table[i], sites);
        if (rc >= 0)
            rc = add_moves(s, f, ws__xform_table[i], sites);
    }
    ws__free(s->spec->ctx, sites);
    return rc;
}

static int moves(void *self, uint32_t kernel, const struct ws__forge_move **out,
                 size_t *n)
{
    struct ws__workshop *s = self;
    struct ws__forge_source *f = &s->source[kernel];

    WS_TRY(parse(s, kernel));
    if (!f->move) {
        WS_TRY(find_moves(s, kernel));
        WS_TRY(add_asks(s, f));
    }
    *out = f->move;
    *n = f->nmove;
    return 0;
}

/* --- making --------------------------------------------------------------- */

int ws__workshop_refused(struct ws__workshop *s, size_t kernel, int rc,
                         char why[512])
{
    struct ws_ctx *ctx = s->spec->ctx;
    const struct ws__kernel *k = &s->spec->s->kernel[kernel];
    bool helper = k->dialect == WS__DIALECT_TRITON &&
                  (rc == WS_EPROTO || rc == WS_EREFERENCE);

    if (rc != WS_ESPEC && rc != WS_EEXPR && rc != WS_EBUG && rc != WS_ELIMIT &&
        rc != WS_EPARSE && !helper)
        return rc;
    snprintf(why, 512, "%.500s", ctx->err.message);
    ws__error_clear(ctx);
    return 0;
}

void ws__workshop_name(const struct ws__workshop *s,
                       char name[WS__WORKSHOP_NAME])
{
    snprintf(name, WS__WORKSHOP_NAME, "%.200s_%zu", s->name,
             s->spec->s->nkernel - s->first + 1);
}

int ws__workshop_enter(struct ws__workshop *s, size_t kernel, const char *text)
{
    struct ws_spec *spec = s->spec;

    s->source[kernel].text = text;
    if (s->m) {
        ws__kernel_bind(&spec->s->kernel[kernel],
                        ws__measure_device(s->m)->id.is_cpu);
        ws__measure_more(s->m, spec->s->nkernel);
    }
    return parse(s, kernel);
}

int ws__workshop_new(struct ws__workshop *s, uint32_t of, const char *text,
                     const struct ws__change *change, size_t nchange,
                     size_t *out)
{
    char name[WS__WORKSHOP_NAME];

    ws__workshop_name(s, name);
    WS_TRY(ws__spec_vary(s->spec->s, of, name, change, nchange, text, out));
    return ws__workshop_enter(s, *out, text);
}

static int rewrite(struct ws__workshop *s, uint32_t kernel,
                   const struct ws__forge_move *m, size_t *made)
{
    struct ws__forge_source *f = &s->source[kernel];
    struct ws__rewrite *w = ws__alloc(s->spec->ctx, 1, sizeof(*w));
    char *text;
    int rc = w ? 0 : WS_ENOMEM;

    if (rc >= 0)
        rc = ws__xform_apply(s->spec->ctx, &s->arena, &f->ast,
                             &s->spec->s->kernel[kernel],
                             ws__xform_lookup(m->name), &f->site[m->site],
                             &text, w);
    if (rc >= 0)
        rc = ws__workshop_new(s, kernel, text, w->change, w->nchange, made);
    ws__free(s->spec->ctx, w);
    return rc;
}

static int rewrite_triton(struct ws__workshop *s, uint32_t kernel,
                          const struct ws__forge_move *m, size_t *made)
{
    struct ws__triton_edited e;

    WS_TRY(ws__workshop_triton_apply(s, kernel, m, &e));
    return ws__workshop_new(s, kernel, e.text, e.change, e.nchange, made);
}

static int make(void *self, uint32_t kernel, const struct ws__forge_move *m,
                uint32_t *out, char why[512])
{
    struct ws__workshop *s = self;
    const struct ws__kernel *k = &s->spec->s->kernel[kernel];
    size_t made = 0;
    int rc;

    if (m->site == FROM_MODEL) {
        rc = ws__workshop_ask(s, kernel, out, why);
        if (rc > 0)
            ws__workshop_inherit(s, kernel, *out);
        return rc;
    }
    rc = k->dialect == WS__DIALECT_TRITON ? rewrite_triton(s, kernel, m, &made)
                                          : rewrite(s, kernel, m, &made);
    if (rc < 0)
        return ws__workshop_refused(s, kernel, rc, why);
    *out = (uint32_t)made;
    ws__workshop_inherit(s, kernel, made);
    return 1;
}

/* --- what is compiled when it is asked for -------------------------------- */

int ws__workshop_ready(void *self, const struct ws__kernel *k,
                       const union wsrt_value *vars)
{
    struct ws__workshop *s = self;
    const struct ws__spec *p = s->spec->s;

    for (size_t i = 0; s->ready.spec && i < p->nkernel; i++)
        if (k == &p->kernel[i])
            return ws__triton_ready_make(&s->ready, i, vars);
    return 0;
}

/* What is on record was compiled by another process. */
static int compile_again(struct ws__workshop *s, const struct ws__candidate *c)
{
    const struct ws__kernel *k = &s->spec->s->kernel[c->kernel];
    union wsrt_value vars[WS__MAX_SLOTS];

    if (k->dialect != WS__DIALECT_TRITON)
        return 0;
    ws__measure_vars(s->m, k, 0, vars);
    ws__config_vars(k, &c->config, vars);
    return ws__workshop_ready(s, k, vars);
}

/* --- what holds it back --------------------------------------------------- */

/* The findings with their evidence, for people and models. */
static void tell_diagnosis(struct ws__workshop *s,
                           const struct ws__diagnosis *d, const double *fact)
{
    ws__buf_free(&s->diagnosis);
    ws__buf_init(&s->diagnosis, s->spec->ctx, MAX_WORDS);
    ws__buf_printf(&s->diagnosis, "%s.", ws__bound_text(d->bound));
    for (size_t i = 0; i < d->nfinding; i++) {
        ws__buf_printf(&s->diagnosis, " %s", d->finding[i].rule->text);
        for (size_t k = 0; k < d->finding[i].nevidence; k++)
            ws__buf_printf(&s->diagnosis, "%s%s %.4g", k ? ", " : " (",
                           ws__fact_key(d->finding[i].evidence[k]),
                           fact[d->finding[i].evidence[k]]);
        ws__buf_puts(&s->diagnosis, d->finding[i].nevidence ? ");" : ";");
    }
    if (fact[WS__F_GAP] > 0)
        ws__buf_printf(&s->diagnosis, " Time over the floor: %.3g.",
                       fact[WS__F_GAP]);
}

static void hear(void *self, const struct ws__forge_step *x)
{
    ws__workshop_hear(self, x);
}

/* Over the workloads whose floor is known. */
static double gap_of(const struct ws__workshop *s,
                     const struct ws__forge_row *row, const double *floor_ns)
{
    double sum = 0;
    size_t n = 0;

    for (size_t w = 0; w < s->spec->s->nworkload; w++)
        if (floor_ns[w] > 0 && row[w].best_ns > 0) {
            sum += log(row[w].best_ns / floor_ns[w]);
            n++;
        }
    return n ? exp(sum / (double)n) : 0;
}

static int diagnose(void *self, const struct ws__trial *t,
                    const struct ws__forge_row *row, struct ws__diagnosis *out,
                    double *gap)
{
    struct ws__workshop *s = self;
    double fact[WS__NFACT], *floor_ns;

    WS_TRY(compile_again(s, &t->candidate));
    WS_TRY(ws__workshop_facts(s, t, fact, &floor_ns));
    ws__diagnose(fact, out);
    tell_diagnosis(s, out, fact);
    *gap = gap_of(s, row, floor_ns);
    ws__free(s->spec->ctx, floor_ns);
    return 1;
}

/* --- what is remembered, over all projects -------------------------------- */

static char *memory_path(struct ws_ctx *ctx)
{
    return ws__path_join(ctx, ctx->data_dir, "moves.txt");
}

static int recall(void *self, char **text)
{
    struct ws_ctx *ctx = ((struct ws__workshop *)self)->spec->ctx;
    char *path = memory_path(ctx);
    size_t len;
    int rc = 0;

    *text = NULL;
    if (!path)
        return WS_ENOMEM;
    if (ws__fs_exists(path))
        rc = ws__fs_read(ctx, path, MAX_MEMORY, text, &len);
    ws__free(ctx, path);
    if (rc < 0 && rc != WS_ENOMEM) { /* nothing is remembered then */
        ws__log(ctx, WS_LOG_WARN, "%s", ctx->err.message);
        ws__error_clear(ctx);
        rc = 0;
    }
    return rc;
}

static int learn(void *self, const char *text)
{
    struct ws_ctx *ctx = ((struct ws__workshop *)self)->spec->ctx;
    char *path = memory_path(ctx);
    int rc = path ? 0 : WS_ENOMEM;

    if (rc >= 0)
        rc = ws__fs_mkdirs(ctx, ctx->data_dir);
    if (rc >= 0)
        rc = ws__fs_add_lines(ctx, path, text);
    ws__free(ctx, path);
    return rc;
}

/* --- the workshop --------------------------------------------------------- */

struct ws__forge_shop ws__workshop_seam(struct ws__workshop *s)
{
    const struct ws_ctx *ctx = s->spec->ctx;

    return (struct ws__forge_shop){.moves = moves,
                                   .make = make,
                                   .guard = ws__workshop_guard,
                                   .same = ws__workshop_same,
                                   .diagnose = s->m ? diagnose : NULL,
                                   .hear = hear,
                                   .recall = ctx->data_dir ? recall : NULL,
                                   .learn = ctx->data_dir ? learn : NULL,
                                   .self = s};
}

static int find_headers(struct ws__workshop *s)
{
    struct ws_ctx *ctx = s->spec->ctx;
    char *share;

    WS_TRY(ws__share_dir(ctx, &share));
    s->headers = ws__path_join(ctx, share, "ops/dialect/parse");
    ws__free(ctx, share);
    if (!s->headers)
        return WS_ENOMEM;
    if (ws__fs_is_dir(s->headers))
        return 0;
    return ws__fail(ctx, WS_ENOENT,
                    "the headers for reading sources are not there: '%s'",
                    s->headers);
}

int ws__workshop_open(struct ws_spec *spec, const struct ws_forge_opts *o,
                      struct ws__workshop **out)
{
    struct ws__workshop *s = ws__alloc(spec->ctx, 1, sizeof(*s));
    int rc;

    *out = NULL;
    if (!s)
        return WS_ENOMEM;
    s->spec = spec;
    s->o = o;
    s->first = spec->s->nkernel;
    ws__arena_init(&s->arena, spec->ctx);
    ws__buf_init(&s->diagnosis, spec->ctx, MAX_WORDS);
    ws__buf_init(&s->told, spec->ctx, MAX_WORDS);
    rc = find_headers(s);
    if (rc >= 0)
        rc = ws__spec_reserve(spec->s, WS__FORGE_KERNELS - spec->s->nkernel);
    if (rc < 0)
        ws__workshop_close(s);
    else
        *out = s;
    return rc;
}

void ws__workshop_close(struct ws__workshop *s)
{
    struct ws_ctx *ctx;

    if (!s)
        return;
    ctx = s->spec->ctx;
    ws__llm_free(s->model);
    if (s->helper.ctx)
        ws__triton_helper_close(&s->helper);
    ws__triton_ready_close(&s->ready);
    ws__buf_free(&s->diagnosis);
    ws__buf_free(&s->told);
    ws__arena_free(&s->arena);
    ws__free(ctx, s->headers);
    ws__free(ctx, s);
}
