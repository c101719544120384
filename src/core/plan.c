/*
 * plan.c: a launch plan with all expressions evaluated.
 *
 * A plan is data from a file: nothing in it is trusted. Whatever leaves this
 * file has at least one launch, grids of 1 to 2^31-1 blocks a dimension, at
 * most 2^20 threads a block, scratch below 2^40 bytes, and values that fit
 * the type of their argument; so devices need no checks of their own beyond
 * their limits.
 */
#include "core/kernel.h"

#include "base/banned.h"

#define MAX_GRID (((int64_t)1 << 31) - 1)
#define MAX_BLOCK ((int64_t)1 << 20)
#define MAX_SHARED ((int64_t)1 << 31)
#define MAX_BYTES ((int64_t)1 << 40)

static const struct ws__loc *place(const struct ws__expr *e,
                                   const struct ws__launch *l)
{
    return e->loc.line || !l ? &e->loc : &l->loc;
}

/* An integer in [lo, hi]; `what` names it in the error. */
static int eval_size(struct ws_ctx *ctx, const struct ws__expr *e,
                     const union wsrt_value *vars, const struct ws__launch *l,
                     const char *what, int64_t lo, int64_t hi, int64_t *out)
{
    WS_TRY(ws__expr_eval_int(ctx, e, vars, out));
    if (*out >= lo && *out <= hi)
        return 0;
    ws__fail_at(ctx, WS_ESPEC, place(e, l), "%s '%s' is %lld", what, e->text,
                (long long)*out);
    return ws__hint(ctx,
                    "it must lie in %lld..%lld; a constraint can rule "
                    "such configs out",
                    (long long)lo, (long long)hi);
}

static int holds(struct ws_ctx *ctx, const struct ws__expr *when,
                 const union wsrt_value *vars, bool *out)
{
    union wsrt_value v = {.i = 1};

    if (when)
        WS_TRY(ws__expr_eval(ctx, when, vars, &v));
    *out = v.i != 0;
    return 0;
}

static int eval_dims(struct ws_ctx *ctx, const struct ws__launch *l,
                     const union wsrt_value *vars, struct ws__plan_launch *out)
{
    int64_t threads = 1, v;

    for (int i = 0; i < 3; i++) {
        out->grid[i] = 1;
        out->block[i] = 1;
        if (l->grid[i]) {
            WS_TRY(
                eval_size(ctx, l->grid[i], vars, l, "grid", 1, MAX_GRID, &v));
            out->grid[i] = (uint64_t)v;
        }
        if (l->block[i]) {
            WS_TRY(eval_size(ctx, l->block[i], vars, l, "block", 1, MAX_BLOCK,
                             &v));
            out->block[i] = (uint32_t)v;
            threads *= v;
        }
        if (threads > MAX_BLOCK)
            return ws__fail_at(ctx, WS_ESPEC, &l->loc,
                               "a block of '%s' has over %lld threads",
                               l->entry, (long long)MAX_BLOCK);
    }
    if (!l->shared)
        return 0;
    WS_TRY(eval_size(ctx, l->shared, vars, l, "shared", 0, MAX_SHARED, &v));
    out->shared_bytes = (uint64_t)v;
    return 0;
}

/* Limits of an integer type, or false for floats. */
static bool int_limits(enum ws__dtype t, int64_t *lo, int64_t *hi)
{
    switch (t) {
    case WS__DT_I64:
        *lo = INT64_MIN;
        *hi = INT64_MAX;
        return true;
    case WS__DT_I32:
        *lo = INT32_MIN;
        *hi = INT32_MAX;
        return true;
    case WS__DT_I16:
        *lo = INT16_MIN;
        *hi = INT16_MAX;
        return true;
    case WS__DT_I8:
        *lo = INT8_MIN;
        *hi = INT8_MAX;
        return true;
    case WS__DT_U8:
        *lo = 0;
        *hi = UINT8_MAX;
        return true;
    case WS__DT_BOOL:
        *lo = 0;
        *hi = 1;
        return true;
    default:
        return false;
    }
}

static int eval_value(struct ws_ctx *ctx, const struct ws__launch *l,
                      const struct ws__arg *a, const union wsrt_value *vars,
                      struct ws__plan_arg *out)
{
    union wsrt_value v;
    int64_t lo, hi;

    out->bytes = ws__dtype_bytes(a->dtype);
    WS_TRY(ws__expr_eval(ctx, a->expr, vars, &v));
    if (!int_limits(a->dtype, &lo, &hi)) {
        ws__dtype_set(a->dtype, out->value, 0,
                      a->expr->type == WS__FLOAT ? v.f : (double)v.i);
        return 0;
    }
    if (a->expr->type == WS__FLOAT)
        return ws__fail_at(ctx, WS_ESPEC, place(a->expr, l),
                           "argument '%s' is a float, not %s", a->expr->text,
                           ws__dtype_name(a->dtype));
    if (v.i < lo || v.i > hi) {
        ws__fail_at(ctx, WS_ESPEC, place(a->expr, l), "argument '%s' is %lld",
                    a->expr->text, (long long)v.i);
        return ws__hint(ctx, "%s holds %lld..%lld", ws__dtype_name(a->dtype),
                        (long long)lo, (long long)hi);
    }
    /* Not through double: it would round large int64 values. */
    for (size_t i = 0; i < out->bytes; i++)
        out->value[i] = (unsigned char)((uint64_t)v.i >> (8 * i));
    return 0;
}

static int eval_args(struct ws_ctx *ctx, const struct ws__launch *l,
                     const union wsrt_value *vars, struct ws__plan_launch *out)
{
    out->narg = l->narg;
    for (size_t i = 0; i < l->narg; i++) {
        const struct ws__arg *a = &l->arg[i];
        struct ws__plan_arg *o = &out->arg[i];
        int64_t v;

        o->kind = a->kind;
        o->index = a->index;
        if (a->kind == WS__ARG_VALUE) {
            WS_TRY(eval_value(ctx, l, a, vars, o));
        } else if (a->kind == WS__ARG_SHARED) {
            WS_TRY(
                eval_size(ctx, a->expr, vars, l, "shared", 1, MAX_SHARED, &v));
            o->bytes = (uint64_t)v;
        }
    }
    return 0;
}

static int eval_scratch(struct ws_ctx *ctx, const struct ws__kernel *k,
                        const union wsrt_value *vars, struct ws__plan *out)
{
    for (size_t i = 0; i < k->nscratch; i++) {
        const struct ws__scratch *s = &k->scratch[i];
        bool use;
        int64_t v;

        WS_TRY(holds(ctx, s->when, vars, &use));
        if (!use)
            continue;
        WS_TRY(
            eval_size(ctx, s->bytes, vars, NULL, "scratch", 1, MAX_BYTES, &v));
        out->scratch_bytes[i] = (uint64_t)v;
    }
    return 0;
}

int ws__plan_make(struct ws_ctx *ctx, const struct ws__kernel *k,
                  const union wsrt_value *vars, struct ws__plan *out)
{
    memset(out, 0, sizeof(*out));
    WS_TRY(eval_scratch(ctx, k, vars, out));
    for (size_t i = 0; i < k->nlaunch; i++) {
        const struct ws__launch *l = &k->launch[i];
        struct ws__plan_launch *o = &out->launch[out->nlaunch];
        bool use;

        WS_TRY(holds(ctx, l->when, vars, &use));
        if (!use)
            continue;
        if (!l->pattern)
            o->entry = l->entry;
        else
            WS_TRY(ws__pattern_print(ctx, k, l->entry, vars,
                                     k->dialect == WS__DIALECT_CUDA, &l->loc,
                                     o->entry_text, sizeof(o->entry_text)));
        WS_TRY(eval_dims(ctx, l, vars, o));
        WS_TRY(eval_args(ctx, l, vars, o));
        if (k->dialect == WS__DIALECT_TRITON)
            WS_TRY(ws__triton_plan(ctx, k, l, vars, o));
        out->nlaunch++;
    }
    if (out->nlaunch)
        return 0;
    ws__fail_at(ctx, WS_ESPEC, k->nlaunch ? &k->launch[0].loc : NULL,
                "kernel '%s' launches nothing", k->name);
    return ws__hint(ctx, "no launch's `when` holds for this config");
}
