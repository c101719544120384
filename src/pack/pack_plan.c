/*
 * pack_plan.c: decides what goes into a pack and refuses what cannot.
 *
 * The runtime would refuse a wrong pack too, but it can only say that element
 * 17 is wrong. Here the workload, the kernel and the constraint have names
 * and places, so every such fault is found here first.
 *
 * A constraint that reads axes becomes a guard, which has to be arithmetic
 * over whole numbers: the runtime's choices are the same bits everywhere. One
 * that reads no axis has one answer for a variant on a device; it is asked
 * here and need not be stored. One that only prunes the search is neither.
 */
#include "pack/pack_build.h"

#include <math.h>

#include "base/banned.h"

bool ws__pack_is_guard(const struct ws__constraint *c)
{
    return c->needs_axes && !c->prune;
}

static int check_guard(struct ws_ctx *ctx, const struct ws__expr *e,
                       const char *what)
{
    if (e->integer_only)
        return 0;
    ws__fail_at(ctx, WS_ESPEC, &e->loc,
                "%s '%s' reads axes and uses floats: no pack can hold it", what,
                e->text);
    return ws__hint(ctx, "write it with whole numbers: // instead of /, "
                         "factors on the other side of the comparison");
}

static int check_kernel(struct ws_ctx *ctx, const struct ws__op *op,
                        const struct ws__kernel *k)
{
    size_t slots = op->naxis + k->nparam + WS__NDEVICE_VARS;
    size_t code = 0;

    if (!k->op || !ws__hash_eq(k->op->hash, op->hash))
        return ws__fail(ctx, WS_EINVAL, "kernel '%s' is not of op '%s'",
                        k->name, op->name);
    if (slots > WSRT_MAX_SLOTS)
        return ws__fail(ctx, WS_ELIMIT,
                        "kernel '%s' has too many parameters for a pack",
                        k->name);
    for (size_t i = 0; i < k->nconstraint; i++) {
        if (!ws__pack_is_guard(&k->constraint[i]))
            continue;
        WS_TRY(check_guard(ctx, k->constraint[i].expr, "constraint"));
        code += k->constraint[i].expr->code_bytes;
    }
    if (code > WSRT_MAX_CODE_BYTES)
        return ws__fail(ctx, WS_ELIMIT,
                        "constraints of kernel '%s' are too long for a pack",
                        k->name);
    return 0;
}

static int check_content(struct ws_ctx *ctx, const struct ws__pack_content *c)
{
    const struct ws__op *op = c->op;
    size_t code = 0;

    if (c->nkernel == 0)
        return ws__fail(ctx, WS_EINVAL, "a pack needs a kernel");
    for (size_t i = 0; i < c->nmodel; i++)
        if (!c->model[i].nform || c->model[i].nform > WSRT_MAX_FORMS)
            return ws__fail(ctx, WS_ELIMIT,
                            "a model has %zu candidates, 1 to %d are possible",
                            c->model[i].nform, WSRT_MAX_FORMS);
    if (c->nkernel > WSRT_MAX_KERNELS || c->nentry > WSRT_MAX_ENTRIES)
        return ws__fail(ctx, WS_ELIMIT,
                        "%zu kernels and %zu workloads are too many for a pack",
                        c->nkernel, c->nentry);
    for (size_t i = 0; i < op->nrequire; i++) {
        WS_TRY(check_guard(ctx, op->require[i], "condition"));
        code += op->require[i]->code_bytes;
    }
    if (code > WSRT_MAX_CODE_BYTES)
        return ws__fail(ctx, WS_ELIMIT,
                        "conditions of op '%s' are too long for a pack",
                        op->name);
    for (size_t i = 0; i < c->nkernel; i++)
        WS_TRY(check_kernel(ctx, op, &c->kernel[i]));
    return 0;
}

static bool is_type_of(const struct ws__axis *a, int64_t code)
{
    for (size_t i = 0; i < a->ntypes; i++)
        if ((int64_t)a->types[i] == code)
            return true;
    return false;
}

static int check_shape(struct ws_ctx *ctx, const struct ws__op *op,
                       const struct ws__workload *w)
{
    for (size_t i = 0; i < op->naxis; i++) {
        const struct ws__axis *a = &op->axis[i];
        int64_t v = w->axis[i];

        if (a->kind == WS__AXIS_VAR    ? v >= 1
            : a->kind == WS__AXIS_TYPE ? is_type_of(a, v)
                                       : v == a->value)
            continue;
        return ws__fail_at(ctx, WS_ESPEC, &w->loc,
                           "workload '%s' has the bad value %lld for axis '%s'",
                           w->name, (long long)v, a->name);
    }
    return 0;
}

static bool is_time(double ns)
{
    return isfinite((float)ns) && !signbit(ns);
}

static int check_candidate(struct ws_ctx *ctx, const struct ws__pack_content *c,
                           const struct ws__candidate *v)
{
    const struct ws__kernel *k;

    if (v->kernel >= c->nkernel)
        return ws__fail(ctx, WS_EINVAL, "a config without a kernel");
    k = &c->kernel[v->kernel];
    if (v->config.n != k->nparam)
        return ws__fail(ctx, WS_EINVAL, "config is not of kernel '%s'",
                        k->name);
    for (size_t i = 0; i < k->nparam; i++)
        if (v->config.at[i] >= k->param[i].nvalue)
            return ws__fail(ctx, WS_EINVAL, "config is not of kernel '%s'",
                            k->name);
    return 0;
}

static int check_entry(struct ws_ctx *ctx, const struct ws__pack_content *c,
                       const struct ws__pack_entry *e)
{
    if (!e->workload)
        return ws__fail(ctx, WS_EINVAL, "entry without workload");
    WS_TRY(check_candidate(ctx, c, &e->candidate));
    if (!is_time(e->time_ns) || !is_time(e->default_ns))
        return ws__fail(ctx, WS_EINVAL, "workload '%s' has a time of %g ns",
                        e->workload->name,
                        is_time(e->time_ns) ? e->default_ns : e->time_ns);
    return check_shape(ctx, c->op, e->workload);
}

/* Widens the range to hold what the entries ask of this axis. */
static void hull(const struct ws__pack_content *c, size_t axis,
                 struct wsrt_f_range *r)
{
    r->lo = INT64_MAX;
    r->hi = INT64_MIN;
    for (size_t i = 0; i < c->nentry; i++) {
        int64_t v = c->entry[i].workload->axis[axis];

        r->lo = v < r->lo ? v : r->lo;
        r->hi = v > r->hi ? v : r->hi;
    }
}

static void make_range(const struct ws__pack_content *c,
                       const struct ws__kernel *k, size_t axis,
                       struct wsrt_f_range *r)
{
    const struct ws__axis *a = &c->op->axis[axis];
    bool of_kernel = k->range_lo[axis] || k->range_hi[axis];
    bool of_op = a->lo || a->hi;

    r->lo = INT64_MIN;
    r->hi = INT64_MAX;
    if (a->kind != WS__AXIS_VAR)
        return;
    if (of_kernel) {
        r->lo = k->range_lo[axis];
        r->hi = k->range_hi[axis];
    }
    if (of_op) {
        r->lo = a->lo > r->lo ? a->lo : r->lo;
        r->hi = a->hi < r->hi ? a->hi : r->hi;
    }
    if (!of_kernel && !of_op && c->nentry)
        hull(c, axis, r);
}

static int make_ranges(struct ws_ctx *ctx, struct ws__pack_plan *plan)
{
    const struct ws__pack_content *c = plan->c;
    size_t n = c->op->naxis;

    plan->range = ws__alloc(ctx, c->nkernel * n + 1, sizeof(*plan->range));
    if (!plan->range)
        return WS_ENOMEM;
    for (size_t k = 0; k < c->nkernel; k++)
        for (size_t a = 0; a < n; a++)
            make_range(c, &c->kernel[k], a, &plan->range[k * n + a]);
    return 0;
}

static int add_variant(struct ws_ctx *ctx, struct ws__pack_plan *plan,
                       const struct ws__candidate *v, uint32_t *index)
{
    for (size_t i = 0; i < plan->nvariant; i++)
        if (plan->variant[i].kernel == v->kernel &&
            ws__config_eq(&plan->variant[i].config, &v->config)) {
            *index = (uint32_t)i;
            return 0;
        }
    if (plan->nvariant == WSRT_MAX_VARIANTS)
        return ws__fail(ctx, WS_ELIMIT, "more than %d variants in a pack",
                        WSRT_MAX_VARIANTS);
    WS_TRY(ws__grow(ctx, (void **)&plan->variant, &plan->variant_cap,
                    plan->nvariant, sizeof(*plan->variant)));
    *index = (uint32_t)plan->nvariant;
    plan->variant[plan->nvariant++] = *v;
    return 0;
}

static void fill_slots(const struct ws__pack_content *c,
                       const struct ws__candidate *v,
                       const struct ws__workload *w, union wsrt_value *vars)
{
    const struct ws__kernel *k = &c->kernel[v->kernel];

    memset(vars, 0, WS__MAX_SLOTS * sizeof(*vars));
    for (size_t i = 0; w && i < c->op->naxis; i++)
        vars[i].i = w->axis[i];
    ws__config_vars(k, &v->config, vars);
    for (size_t i = 0; i < WS__NDEVICE_VARS; i++)
        vars[ws__kernel_device_slot(k, (enum ws__device_var)i)] = c->device[i];
}

/* The constraint without an axis that does not hold on the device, or NULL. */
static const struct ws__expr *broken_on_device(const struct ws__pack_content *c,
                                               const struct ws__candidate *v)
{
    const struct ws__kernel *k = &c->kernel[v->kernel];
    union wsrt_value vars[WS__MAX_SLOTS];

    fill_slots(c, v, NULL, vars);
    for (size_t i = 0; i < k->nconstraint; i++)
        if (!k->constraint[i].needs_axes && !k->constraint[i].prune &&
            ws__expr_test(k->constraint[i].expr, vars) != 1)
            return k->constraint[i].expr;
    return NULL;
}

bool ws__pack_fits_device(const struct ws__pack_content *c,
                          const struct ws__candidate *v)
{
    return !broken_on_device(c, v);
}

/* Defaults come first: variant k is the default of kernel k. */
static int add_defaults(struct ws_ctx *ctx, struct ws__pack_plan *plan)
{
    const struct ws__pack_content *c = plan->c;

    plan->dflt = ws__alloc(ctx, c->nkernel, sizeof(*plan->dflt));
    if (!plan->dflt)
        return WS_ENOMEM;
    for (uint32_t k = 0; k < c->nkernel; k++) {
        struct ws__candidate v;

        memset(&v, 0, sizeof(v));
        v.kernel = k;
        ws__config_default(&c->kernel[k], &v.config);
        WS_TRY(add_variant(ctx, plan, &v, &plan->dflt[k]));
        if (!ws__pack_fits_device(c, &v))
            plan->dflt[k] = WSRT_NONE;
    }
    return 0;
}

static int does_not_hold(struct ws_ctx *ctx, const struct ws__workload *w,
                         const char *what, const struct ws__expr *e)
{
    return ws__fail_at(ctx, WS_ESPEC, &e->loc,
                       "%s '%s' does not hold for workload '%s'", what, e->text,
                       w->name);
}

/* The config was measured on this shape, so it may run it: if the conditions
 * say no, the pack would never pick it. */
static int check_holds(struct ws_ctx *ctx, const struct ws__pack_plan *plan,
                       const struct ws__pack_entry *e)
{
    const struct ws__pack_content *c = plan->c;
    const struct ws__op *op = c->op;
    const struct ws__kernel *k = &c->kernel[e->candidate.kernel];
    const struct wsrt_f_range *r =
        plan->range + e->candidate.kernel * op->naxis;
    union wsrt_value vars[WS__MAX_SLOTS];

    for (size_t i = 0; i < op->naxis; i++)
        if (e->workload->axis[i] < r[i].lo || e->workload->axis[i] > r[i].hi)
            return ws__fail_at(ctx, WS_ESPEC, &e->workload->loc,
                               "workload '%s' has %s = %lld, kernel '%s' is "
                               "made for %lld to %lld",
                               e->workload->name, op->axis[i].name,
                               (long long)e->workload->axis[i], k->name,
                               (long long)r[i].lo, (long long)r[i].hi);
    fill_slots(c, &e->candidate, e->workload, vars);
    for (size_t i = 0; i < op->nrequire; i++)
        if (ws__expr_test(op->require[i], vars) != 1)
            return does_not_hold(ctx, e->workload, "condition", op->require[i]);
    for (size_t i = 0; i < k->nconstraint; i++)
        if (!k->constraint[i].prune &&
            ws__expr_test(k->constraint[i].expr, vars) != 1)
            return does_not_hold(ctx, e->workload, "constraint",
                                 k->constraint[i].expr);
    return 0;
}

static int compare_items(const void *pa, const void *pb)
{
    const struct ws__pack_item *a = pa, *b = pb;
    const struct ws__op *op = a->op;
    const int64_t *x = a->entry->workload->axis, *y = b->entry->workload->axis;
    int types = ws__op_compare_types(op, x, y);

    if (types)
        return types;
    for (size_t i = 0; i < op->naxis; i++)
        if (op->axis[i].kind == WS__AXIS_VAR && x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int order_entries(struct ws_ctx *ctx, struct ws__pack_plan *plan)
{
    const struct ws__pack_content *c = plan->c;

    plan->item = ws__alloc(ctx, c->nentry + 1, sizeof(*plan->item));
    if (!plan->item)
        return WS_ENOMEM;
    for (size_t i = 0; i < c->nentry; i++) {
        struct ws__pack_item *item = &plan->item[i];

        item->entry = &c->entry[i];
        item->op = c->op;
        WS_TRY(check_holds(ctx, plan, item->entry));
        WS_TRY(add_variant(ctx, plan, &item->entry->candidate, &item->variant));
    }
    qsort(plan->item, c->nentry, sizeof(*plan->item), compare_items);
    for (size_t i = 1; i < c->nentry; i++)
        if (compare_items(&plan->item[i - 1], &plan->item[i]) == 0)
            return ws__fail_at(ctx, WS_ESPEC,
                               &plan->item[i].entry->workload->loc,
                               "workloads '%s' and '%s' have the same shape",
                               plan->item[i - 1].entry->workload->name,
                               plan->item[i].entry->workload->name);
    return 0;
}

bool ws__pack_is_key(const struct ws__op *op, const struct ws__kernel *k,
                     size_t axis)
{
    return op->axis[axis].kind != WS__AXIS_CONST &&
           (ws__kernel_baked(k) >> axis & 1);
}

static int compare_codes(const void *pa, const void *pb)
{
    const struct ws__pack_code *a = pa, *b = pb;

    if (a->variant != b->variant)
        return a->variant < b->variant ? -1 : 1;
    for (size_t i = 0; i < a->nkey; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return 0;
}

/* The first given comes first, and stays. */
static int compare_given(const void *pa, const void *pb)
{
    const struct ws__pack_code *a = pa, *b = pb;
    int order = compare_codes(a, b);

    return order ? order : (a->binary > b->binary) - (a->binary < b->binary);
}

/* A candidate of a model, then, that is not kept. */
static bool is_form(const struct ws__pack_content *c,
                    const struct ws__candidate *v)
{
    for (size_t i = 0; i < c->nmodel; i++)
        for (size_t k = 0; k < c->model[i].nform; k++) {
            const struct ws__candidate *f = &c->model[i].form[k].candidate;

            if (f->kernel == v->kernel && ws__config_eq(&f->config, &v->config))
                return true;
        }
    return false;
}

/* variant: WSRT_NONE for one that is left out. */
static int check_binary(struct ws_ctx *ctx, const struct ws__pack_plan *plan,
                        const struct ws__pack_binary *b, uint32_t *variant)
{
    if (!b->workload || !b->image || !b->bytes || !b->symbol || !b->family ||
        !b->target)
        return ws__fail(ctx, WS_EINVAL, "binary without a part");
    WS_TRY(check_shape(ctx, plan->c->op, b->workload));
    for (uint32_t i = 0; i < plan->nvariant; i++)
        if (plan->variant[i].kernel == b->candidate.kernel &&
            ws__config_eq(&plan->variant[i].config, &b->candidate.config)) {
            *variant = i;
            return 0;
        }
    if (is_form(plan->c, &b->candidate)) {
        *variant = WSRT_NONE;
        return 0;
    }
    return ws__fail(ctx, WS_EINVAL, "binary of a config that is no variant");
}

static int order_binaries(struct ws_ctx *ctx, struct ws__pack_plan *plan)
{
    const struct ws__pack_content *c = plan->c;
    size_t n = 0;

    plan->code = ws__alloc(ctx, c->nbinary + 1, sizeof(*plan->code));
    if (!plan->code)
        return WS_ENOMEM;
    for (size_t i = 0; i < c->nbinary; i++) {
        struct ws__pack_code *code = &plan->code[n];

        code->binary = &c->binary[i];
        code->nkey = 0;
        WS_TRY(check_binary(ctx, plan, code->binary, &code->variant));
        if (code->variant == WSRT_NONE)
            continue;
        n++;
        for (size_t a = 0; a < c->op->naxis; a++)
            if (ws__pack_is_key(c->op,
                                &c->kernel[code->binary->candidate.kernel], a))
                code->key[code->nkey++] = code->binary->workload->axis[a];
    }
    qsort(plan->code, n, sizeof(*plan->code), compare_given);
    for (size_t i = 0; i < n; i++)
        if (!plan->ncode ||
            compare_codes(&plan->code[plan->ncode - 1], &plan->code[i]))
            plan->code[plan->ncode++] = plan->code[i];
    return 0;
}

/* A candidate of a model may run on the device; what depends on the shape is
 * asked for each shape. */
static int check_form(struct ws_ctx *ctx, const struct ws__pack_plan *plan,
                      const struct ws__pack_form *f)
{
    const struct ws__expr *broken;

    WS_TRY(check_candidate(ctx, plan->c, &f->candidate));
    if (f->margin < 0)
        return ws__fail(ctx, WS_EINVAL, "candidate with a margin below 0");
    broken = broken_on_device(plan->c, &f->candidate);
    return broken ? ws__fail_at(ctx, WS_ESPEC, &broken->loc,
                                "constraint '%s' does not hold for a candidate "
                                "of the model",
                                broken->text)
                  : 0;
}

static int add_model(struct ws_ctx *ctx, struct ws__pack_plan *plan, size_t i)
{
    const struct ws__pack_model *m = &plan->c->model[i];
    const struct ws__pack_choice *choice = &plan->choice[i];
    uint32_t *variant = ws__alloc(ctx, choice->nkeep + 1, sizeof(*variant));

    if (!variant)
        return WS_ENOMEM;
    plan->form_variant[i] = variant;
    for (size_t k = 0; k < choice->nkeep; k++) {
        const struct ws__pack_form *f = &m->form[choice->keep[k]];

        WS_TRY(check_form(ctx, plan, f));
        WS_TRY(add_variant(ctx, plan, &f->candidate, &variant[k]));
        for (size_t j = 0; j < k; j++)
            if (variant[j] == variant[k])
                return ws__fail(ctx, WS_EINVAL,
                                "a model has the same candidate twice");
    }
    return 0;
}

static int add_models(struct ws_ctx *ctx, struct ws__pack_plan *plan)
{
    size_t n = plan->c->nmodel;

    plan->form_variant = ws__alloc(ctx, n + 1, sizeof(*plan->form_variant));
    if (!plan->form_variant)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        WS_TRY(add_model(ctx, plan, i));
    return 0;
}

int ws__pack_plan_make(struct ws_ctx *ctx, const struct ws__pack_content *c,
                       const struct ws__pack_choice *choice,
                       struct ws__pack_plan *out)
{
    int rc;

    memset(out, 0, sizeof(*out));
    out->c = c;
    out->choice = choice;
    WS_TRY_DONE(check_content(ctx, c));
    for (size_t i = 0; i < c->nentry; i++)
        WS_TRY_DONE(check_entry(ctx, c, &c->entry[i]));
    WS_TRY_DONE(make_ranges(ctx, out));
    WS_TRY_DONE(add_defaults(ctx, out));
    WS_TRY_DONE(order_entries(ctx, out));
    WS_TRY_DONE(add_models(ctx, out));
    WS_TRY_DONE(order_binaries(ctx, out));
    return 0;
done:
    ws__pack_plan_clear(ctx, out);
    return rc;
}

void ws__pack_plan_clear(struct ws_ctx *ctx, struct ws__pack_plan *plan)
{
    for (size_t i = 0; plan->form_variant && i < plan->c->nmodel; i++)
        ws__free(ctx, plan->form_variant[i]);
    ws__free(ctx, plan->form_variant);
    ws__free(ctx, plan->variant);
    ws__free(ctx, plan->item);
    ws__free(ctx, plan->dflt);
    ws__free(ctx, plan->range);
    ws__free(ctx, plan->code);
    memset(plan, 0, sizeof(*plan));
}
