/*
 * space.c: making a space, and the questions that need no search.
 *
 * A space is little more than a kernel, the slots that its constraints read
 * and a layout (space_layout.c) that is made when first needed, so that
 * structural parameters can be fixed before. Everything that explores works
 * on the one assignment in the space; each call begins by loading what it
 * needs, so calls do not depend on each other.
 */
#include "space/space_int.h"

#include "base/banned.h"

bool ws__space_active(const struct ws__space *s, size_t constraint)
{
    const struct ws__constraint *c = &s->kernel->constraint[constraint];

    return (s->have_axes || !c->needs_axes) &&
           (s->have_device || !c->needs_device);
}

/* Mask of the parameters that are not pinned and that a constraint reads. */
uint64_t ws__space_reads(const struct ws__space *s, size_t constraint)
{
    const struct ws__expr *e = s->kernel->constraint[constraint].expr;
    uint64_t mask = 0;

    for (size_t p = 0; p < s->kernel->nparam; p++)
        if (ws__expr_uses(e, ws__kernel_param_slot(s->kernel, p)))
            mask |= (uint64_t)1 << p;
    return mask & s->varied;
}

void ws__space_set(struct ws__space *s, size_t param, size_t value)
{
    s->at.at[param] = (uint16_t)value;
    s->vars[ws__kernel_param_slot(s->kernel, param)] =
        s->kernel->param[param].slot[value];
}

void ws__space_load(struct ws__space *s, const struct ws__config *c)
{
    s->at = *c;
    s->uses++;
    ws__config_vars(s->kernel, c, s->vars);
}

int ws__space_tick(struct ws__space *s)
{
    return ++s->ticks % 4096 ? 0 : ws__check_stop(s->ctx);
}

uint64_t ws__sat_mul(uint64_t a, uint64_t b)
{
    uint64_t r;

    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

int ws__space_new(struct ws_ctx *ctx, const struct ws__kernel *k,
                  const union wsrt_value *vars, bool have_axes,
                  bool have_device, struct ws__space **out)
{
    struct ws__space *s;

    *out = NULL;
    for (size_t p = 0; p < k->nparam; p++)
        if (!k->param[p].nvalue)
            return ws__fail_at(ctx, WS_ESPEC, &k->param[p].loc,
                               "parameter '%s' has no value", k->param[p].name);
    s = ws__alloc(ctx, 1, sizeof(*s));
    if (!s)
        return WS_ENOMEM;
    s->ctx = ctx;
    s->kernel = k;
    s->have_axes = have_axes;
    s->have_device = have_device;
    if (vars)
        memcpy(s->vars, vars, sizeof(s->vars));
    s->base.n = (uint16_t)k->nparam;
    for (size_t p = 0; p < k->nparam; p++)
        if (k->param[p].nvalue > 1)
            s->varied |= (uint64_t)1 << p;
    *out = s;
    return 0;
}

int ws__space_fix_structural(struct ws__space *s, const struct ws__config *c)
{
    const struct ws__kernel *k = s->kernel;

    for (size_t p = 0; p < k->nparam; p++) {
        if (!k->param[p].structural)
            continue;
        if (p >= c->n || c->at[p] >= k->param[p].nvalue)
            return ws__fail(s->ctx, WS_EINVAL,
                            "config has no value for parameter '%s'",
                            k->param[p].name);
        s->base.at[p] = c->at[p];
        s->varied &= ~((uint64_t)1 << p);
    }
    ws__layout_clear(s->ctx, &s->layout);
    s->ready = false;
    return 0;
}

void ws__space_free(struct ws__space *s)
{
    if (!s)
        return;
    ws__layout_clear(s->ctx, &s->layout);
    ws__free(s->ctx, s);
}

int ws__space_prepare(struct ws__space *s)
{
    if (s->ready)
        return 0;
    WS_TRY(ws__layout_make(s, s->kernel->nconstraint, SIZE_MAX, &s->layout));
    s->ready = true;
    return 0;
}

uint64_t ws__space_size(const struct ws__space *s)
{
    uint64_t n = 1;

    for (size_t p = 0; p < s->kernel->nparam; p++)
        if (s->varied >> p & 1)
            n = ws__sat_mul(n, s->kernel->param[p].nvalue);
    return n;
}

static bool in_product(const struct ws__space *s, const struct ws__config *c)
{
    const struct ws__kernel *k = s->kernel;

    if (c->n != k->nparam)
        return false;
    for (size_t p = 0; p < k->nparam; p++) {
        if (c->at[p] >= k->param[p].nvalue)
            return false;
        if (!(s->varied >> p & 1) && c->at[p] != s->base.at[p])
            return false;
    }
    return true;
}

/* The error of the assignment at hand, with the config in front. */
static int fail_constraint(struct ws__space *s, const struct ws__expr *e)
{
    struct ws__buf b;
    union wsrt_value v;
    int rc;

    ws__buf_init(&b, s->ctx, 1 << 12);
    rc = ws__config_print(&b, s->kernel, &s->at);
    if (rc >= 0)
        rc = ws__expr_eval(s->ctx, e, s->vars, &v);
    if (rc >= 0)
        rc = ws__fail(s->ctx, WS_EEXPR, "'%s' cannot be evaluated", e->text);
    if (rc != WS_ENOMEM)
        ws__error_prefix(s->ctx, "config '%s'", b.data ? b.data : "");
    ws__buf_free(&b);
    return rc;
}

static int test_all(struct ws__space *s, const struct ws__config *c,
                    bool pruned, size_t *which)
{
    const struct ws__kernel *k = s->kernel;
    const struct ws__expr *bad = NULL;

    if (which)
        *which = k->nconstraint;
    if (!in_product(s, c))
        return 0;
    ws__space_load(s, c);
    for (size_t i = 0; i < k->nconstraint; i++) {
        int r;

        if (!ws__space_active(s, i) || (!pruned && k->constraint[i].prune))
            continue;
        r = ws__expr_test(k->constraint[i].expr, s->vars);
        if (r < 0 && !bad)
            bad = k->constraint[i].expr;
        if (r)
            continue;
        if (which)
            *which = i;
        return 0;
    }
    return bad ? fail_constraint(s, bad) : 1;
}

int ws__space_valid(struct ws__space *s, const struct ws__config *c,
                    size_t *which)
{
    return test_all(s, c, true, which);
}

int ws__space_legal(struct ws__space *s, const struct ws__config *c,
                    size_t *which)
{
    return test_all(s, c, false, which);
}

static uint64_t product(const struct ws__layout *l)
{
    uint64_t n = 1;

    for (size_t g = 0; g < l->ngroup; g++)
        n = ws__sat_mul(n, l->group[g].count);
    return n;
}

int ws__space_count(struct ws__space *s, uint64_t *valid)
{
    int some;

    WS_TRY(ws__space_prepare(s));
    some = ws__layout_count(s, &s->layout);
    WS_TRY(some);
    *valid = some ? product(&s->layout) : 0;
    if (*valid <= INT64_MAX)
        return 0;
    ws__fail(s->ctx, WS_EOVERFLOW,
             "kernel '%s' has more than 2^63 valid configs", s->kernel->name);
    return ws__hint(s->ctx, "give its parameters fewer values");
}

int ws__space_removed(struct ws__space *s, uint64_t *removed)
{
    for (size_t i = 0; i < s->kernel->nconstraint; i++) {
        struct ws__layout l;
        int some;

        removed[i] = 0;
        if (!ws__space_active(s, i))
            continue;
        WS_TRY(ws__layout_make(s, i + 1, i, &l));
        some = ws__layout_count(s, &l);
        if (some > 0)
            removed[i] = product(&l);
        ws__layout_clear(s->ctx, &l);
        WS_TRY(some);
    }
    return 0;
}
