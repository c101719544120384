/*
 * measure_image.c: what a pack carries: candidates built to be kept.
 *
 * After a tune the device's compiler has seen every choice, so that this costs
 * little more than reading its cache. What fails here is no verdict: the
 * candidate is right, it was timed. It only has no image, and the log says so.
 *
 * An image serves all shapes that share the values that are compiled in, also
 * those that take other launches of the plan than the workload it is built
 * for. So it is asked for every entry that some shape may launch: all but
 * those whose `when` reads nothing that varies and does not hold. A source
 * that lacks one of them (it is left out by an #if, say) is asked once more
 * for those of the workload alone.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

/* The entries of one image. */
struct entries {
    char text[WS__MAX_LAUNCHES][WS__MAX_ENTRY]; /* by launch; "": not asked */
    const char *list[WS__MAX_LAUNCHES];         /* without repetition */
    size_t n;
    size_t of[WS__MAX_LAUNCHES]; /* by launch: its place in the list */
};

/* May a shape with these parameters and baked axes take the launch? */
static bool possible(const struct ws__kernel *k, const struct ws__launch *l,
                     const union wsrt_value *vars, bool this_shape)
{
    uint32_t baked = ws__kernel_baked(k);

    if (!l->when)
        return true;
    for (size_t a = 0; a < k->op->naxis && !this_shape; a++)
        if (ws__expr_uses(l->when, a) && !(baked >> a & 1))
            return true;
    return ws__expr_test(l->when, vars) == 1;
}

static void add_entry(struct entries *e, size_t launch)
{
    size_t at = 0;

    while (at < e->n && strcmp(e->list[at], e->text[launch]))
        at++;
    if (at == e->n)
        e->list[e->n++] = e->text[launch];
    e->of[launch] = at;
}

static int find_entries(struct ws_ctx *ctx, const struct ws__kernel *k,
                        const union wsrt_value *vars, bool this_shape,
                        struct entries *e)
{
    memset(e, 0, sizeof(*e));
    for (size_t i = 0; i < k->nlaunch; i++) {
        const struct ws__launch *l = &k->launch[i];

        if (!possible(k, l, vars, this_shape))
            continue;
        WS_TRY(ws__pattern_print(ctx, k, l->entry, vars,
                                 k->dialect == WS__DIALECT_CUDA, &l->loc,
                                 e->text[i], sizeof(e->text[i])));
        add_entry(e, i);
    }
    return 0;
}

static int build(struct ws__measure *m, const struct ws__recipe *r,
                 const struct entries *e, struct ws__built *out)
{
    const struct ws__device *d = &m->dev;
    struct ws__build b = {
        .source = r->source,
        .option = (const char *const *)r->kernel->option,
        .noption = r->kernel->noption,
        .dialect = r->kernel->dialect,
        .binary = r->ready ? r->ready->data : NULL,
        .binary_bytes = r->ready ? r->ready->bytes : 0,
        .entry = e->list,
        .nentry = e->n,
        .hint = r->hint,
        .nhint = r->nhint,
        .tensor_bytes = r->tensor_bytes,
        .ntensor = WS__MAX_TENSORS,
        .scratch_bytes = r->scratch_bytes,
        .nscratch = WS__MAX_SCRATCH,
        .compile_only = true,
        .want_image = true,
    };
    int rc;

    memset(out, 0, sizeof(*out));
    if (d->ops->set_limit)
        d->ops->set_limit(d->self, m->opts.build_limit_ns);
    rc = d->ops->build(d->self, &b, out);
    if (rc >= 0)
        d->ops->unload(d->self, out->module);
    else
        ws__built_free(m->ctx, out);
    return rc;
}

/* Takes the image out of what was built. */
static int keep(struct ws__measure *m, const struct ws__kernel *k,
                const struct entries *e, struct ws__built *built,
                struct ws__image *out)
{
    if (!built->image || !built->image_bytes || built->nsymbol != e->n)
        return 0;
    out->symbol = ws__alloc(m->ctx, k->nlaunch, sizeof(*out->symbol));
    if (!out->symbol)
        return WS_ENOMEM;
    for (size_t i = 0; i < k->nlaunch; i++)
        if (e->text[i][0])
            out->symbol[i] = built->symbol[e->of[i]];
    out->built = *built;
    memset(built, 0, sizeof(*built));
    return 1;
}

/* 1 an image, 0 the device has none to give, negative: why not. */
static int make(struct ws__measure *m, const struct ws__recipe *r,
                const union wsrt_value *vars, struct ws__image *out)
{
    struct entries *e = ws__alloc(m->ctx, 1, sizeof(*e));
    struct ws__built built = {0};
    int rc = e ? find_entries(m->ctx, r->kernel, vars, false, e) : WS_ENOMEM;

    if (rc >= 0)
        rc = build(m, r, e, &built);
    if (rc == WS_EBUILD) {
        rc = find_entries(m->ctx, r->kernel, vars, true, e);
        if (rc >= 0)
            rc = build(m, r, e, &built);
    }
    if (rc >= 0)
        rc = keep(m, r->kernel, e, &built, out);
    ws__built_free(m->ctx, &built);
    ws__free(m->ctx, e);
    return rc;
}

static int make_image(struct ws__measure *m, struct ws__plan *plan,
                      struct ws__image *out)
{
    const struct ws__candidate *c = out->candidate;
    const struct ws__instance *in;
    union wsrt_value vars[WS__MAX_SLOTS];
    struct ws__recipe r;
    char reason[256];
    int rc = ws__measure_plan(m, c, out->workload, plan, reason);

    if (rc <= 0)
        return rc < 0 ? rc : ws__fail(m->ctx, WS_EBUILD, "%s", reason);
    WS_TRY(ws__measure_instance(m, out->workload, &in));
    ws__measure_vars(m, &m->kernel[c->kernel], out->workload, vars);
    ws__config_vars(&m->kernel[c->kernel], &c->config, vars);
    WS_TRY(ws__recipe_make(m, c, in, plan, &r));
    rc = make(m, &r, vars, out);
    ws__recipe_clear(m->ctx, &r);
    return rc;
}

/* 1 go on, 0 no image will come of the others either, negative on error. */
static int next_image(struct ws__measure *m, struct ws__plan *plan,
                      struct ws__image *out)
{
    int rc = ws__measure_ready(m);

    if (rc >= 0)
        rc = make_image(m, plan, out);
    if (rc < 0 && ws__measure_kills(rc))
        ws__measure_lose(m);
    if (rc >= 0 || rc == WS_ENOMEM || rc == WS_ECANCEL)
        return rc;
    ws__log(m->ctx, WS_LOG_WARN, "the pack has no binary of '%s': %s",
            m->kernel[out->candidate->kernel].name, m->ctx->err.message);
    return m->open || ws__measure_kills(rc);
}

int ws__measure_images(struct ws__measure *m, struct ws__image *list, size_t n)
{
    struct ws__plan *plan;
    bool cpu = m->info.id.is_cpu; /* shares its units with compilers */
    int rc;

    if (m->ordered || !n)
        return 0;
    plan = ws__alloc(m->ctx, 1, sizeof(*plan));
    if (!plan)
        return WS_ENOMEM;
    rc = cpu ? ws__turn_take(m->ctx, &m->turn) : 0;
    rc = rc < 0 ? rc : 1;
    for (size_t i = 0; i < n && rc > 0; i++)
        rc = ws__check_stop(m->ctx) < 0 ? WS_ECANCEL
                                        : next_image(m, plan, &list[i]);
    if (cpu)
        ws__turn_give(&m->turn);
    ws__free(m->ctx, plan);
    return rc < 0 ? rc : 0;
}

void ws__image_clear(struct ws_ctx *ctx, struct ws__image *image)
{
    ws__free(ctx, image->symbol);
    ws__built_free(ctx, &image->built);
    image->symbol = NULL;
}
