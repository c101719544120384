/*
 * triton.c: kernels that Triton compiled: which file a launch runs.
 *
 * A function of Triton's is compiled once for every set of constants, types
 * and facts about its arguments, so one config needs a file a launch, and
 * another one for shapes that turn a constant (`K % BK == 0`). All that decides
 * is printed as one text, the key, in one place; whoever compiles reads it, and
 * the list of what was compiled is keyed by it.
 *
 * What a launch needs beyond the arguments is only known from the compiled
 * file: its threads, its dynamic shared memory, and pointers that the compiler
 * adds behind the arguments for scratch of its own (of no size, or the file
 * was refused): null.
 */
#include "core/kernel.h"

#include <stdlib.h>

#include "base/banned.h"

static const char *type_word(enum ws__dtype t)
{
    static const char *const names[] = {
        [WS__DT_F64] = "fp64",       [WS__DT_F32] = "fp32",
        [WS__DT_F16] = "fp16",       [WS__DT_BF16] = "bf16",
        [WS__DT_F8E4M3] = "fp8e4nv", [WS__DT_F8E5M2] = "fp8e5",
        [WS__DT_I64] = "i64",        [WS__DT_I32] = "i32",
        [WS__DT_I16] = "i16",        [WS__DT_I8] = "i8",
        [WS__DT_U8] = "u8",          [WS__DT_BOOL] = "i1",
    };

    return (size_t)t < WS_COUNT(names) && names[t] ? names[t] : "i32";
}

static enum ws__dtype tensor_type(const struct ws__tensor *t,
                                  const union wsrt_value *vars)
{
    return t->type_axis >= 0 ? (enum ws__dtype)vars[t->type_axis].i : t->dtype;
}

/* 16 if the argument is known to be a multiple of it, else 1. */
static int divisor(struct ws_ctx *ctx, const struct ws__arg *a,
                   const union wsrt_value *vars, int64_t *out)
{
    *out = 1;
    if (!a->divisible)
        return 0;
    WS_TRY(ws__expr_eval_int(ctx, a->divisible, vars, out));
    if (*out == 1 || *out == 16)
        return 0;
    ws__fail_at(ctx, WS_ESPEC, &a->divisible->loc, "'%s' is %lld",
                a->divisible->text, (long long)*out);
    return ws__hint(ctx, "Triton compiles for multiples of 16, or of 1");
}

static int add_arg(struct ws_ctx *ctx, struct ws__buf *b,
                   const struct ws__kernel *k, const struct ws__arg *a,
                   const union wsrt_value *vars)
{
    const struct ws__tensor *t =
        a->kind == WS__ARG_TENSOR ? &k->op->tensor[a->index] : NULL;
    enum ws__dtype type = t ? tensor_type(t, vars) : a->dtype;
    bool pointer = a->kind == WS__ARG_SCRATCH || (t && t->ndim);
    int64_t by = 16;

    /* Scratch lies where devices put things; tensors as the op says. */
    if (!pointer)
        WS_TRY(divisor(ctx, a, vars, &by));
    else if (t && t->align < 16)
        by = 1;
    return ws__buf_printf(b, "'%s%s%s', ", pointer ? "*" : "", type_word(type),
                          by == 16 ? ":16" : "");
}

static int add_meta(struct ws_ctx *ctx, struct ws__buf *b,
                    const struct ws__kernel *k, const struct ws__meta *m,
                    const union wsrt_value *vars, bool flip)
{
    union wsrt_value v;
    struct ws__value value = {.type = WS__FLOAT};

    if (m->type_axis >= 0)
        return ws__buf_printf(b, "%s=%s, ", m->name,
                              type_word((enum ws__dtype)vars[m->type_axis].i));
    WS_TRY(ws__expr_eval(ctx, m->expr, vars, &v));
    ws__buf_printf(b, "%s=", m->name);
    if (m->expr->type == WS__BOOL) {
        ws__buf_puts(b, (v.i != 0) != flip ? "True" : "False");
    } else if (m->expr->type == WS__STR) {
        ws__buf_printf(b, "'%s'", k->scope.strings->text[v.i]);
    } else if (m->expr->type == WS__FLOAT) {
        value.u.f = v.f;
        ws__value_print(b, &value);
    } else {
        ws__buf_printf(b, "%lld", (long long)v.i);
    }
    return ws__buf_puts(b, ", ");
}

static int add_count(struct ws_ctx *ctx, struct ws__buf *b, const char *name,
                     const struct ws__expr *e, const union wsrt_value *vars,
                     int64_t hi)
{
    int64_t v;

    WS_TRY(ws__expr_eval_int(ctx, e, vars, &v));
    if (v < 1 || v > hi) {
        ws__fail_at(ctx, WS_ESPEC, &e->loc, "%s '%s' is %lld", name, e->text,
                    (long long)v);
        return ws__hint(ctx, "it lies in 1..%lld", (long long)hi);
    }
    return ws__buf_printf(b, "%s=%lld", name, (long long)v);
}

static int print_key(struct ws_ctx *ctx, struct ws__buf *b,
                     const struct ws__kernel *k, const struct ws__launch *l,
                     const union wsrt_value *vars, uint32_t flip)
{
    ws__buf_printf(b, "%s(", l->entry);
    for (size_t i = 0; i < l->narg; i++)
        WS_TRY(add_arg(ctx, b, k, &l->arg[i], vars));
    for (size_t i = 0; i < l->nmeta; i++)
        WS_TRY(add_meta(ctx, b, k, &l->meta[i], vars, flip >> i & 1));
    WS_TRY(add_count(ctx, b, "num_warps", l->warps, vars, 32));
    ws__buf_puts(b, ", ");
    WS_TRY(add_count(ctx, b, "num_stages", l->stages, vars, 64));
    return ws__buf_puts(b, ")");
}

int ws__triton_key(struct ws_ctx *ctx, const struct ws__kernel *k,
                   const struct ws__launch *l, const union wsrt_value *vars,
                   uint32_t flip, char out[WS__MAX_TRITON_KEY])
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, ctx, WS__MAX_TRITON_KEY - 1);
    rc = print_key(ctx, &b, k, l, vars, flip);
    if (b.failed == WS_ELIMIT)
        rc = ws__fail_at(ctx, WS_ELIMIT, &l->loc,
                         "the launch has too many arguments and constants");
    snprintf(out, WS__MAX_TRITON_KEY, "%s", rc >= 0 ? b.data : "");
    ws__buf_free(&b);
    return rc < 0 ? rc : 0;
}

static int compare_key(const void *key, const void *file)
{
    return strcmp(key, ((const struct ws__source_file *)file)->key);
}

const struct ws__source_file *ws__triton_file(const struct ws__kernel *k,
                                              const char *key)
{
    if (!k->nready)
        return NULL;
    return bsearch(key, k->ready, k->nready, sizeof(*k->ready), compare_key);
}

bool ws__triton_may_run(const struct ws__kernel *k, const struct ws__launch *l,
                        const union wsrt_value *vars)
{
    for (int v = 0; l->when && v < WS__NDEVICE_VARS; v++)
        if (ws__expr_uses(l->when,
                          ws__kernel_device_slot(k, (enum ws__device_var)v)))
            return true;
    return !l->when || ws__expr_test(l->when, vars) == 1;
}

void ws__triton_files(struct ws_ctx *ctx, const struct ws__kernel *k,
                      const union wsrt_value *vars,
                      const struct ws__source_file *out[WS__MAX_LAUNCHES],
                      size_t *n)
{
    struct ws_error err = ctx->err;
    char key[WS__MAX_TRITON_KEY];

    *n = 0;
    for (size_t i = 0; i < k->nlaunch; i++) {
        const struct ws__source_file *f = NULL;
        bool seen = false;

        if (ws__triton_may_run(k, &k->launch[i], vars) &&
            ws__triton_key(ctx, k, &k->launch[i], vars, 0, key) == 0)
            f = ws__triton_file(k, key);
        for (size_t at = 0; at < *n; at++)
            seen = seen || out[at] == f;
        if (f && !seen)
            out[(*n)++] = f;
    }
    ctx->err = err;
}

/* What was promised to the compiler has to hold. */
static int check_values(struct ws_ctx *ctx, const struct ws__launch *l,
                        const union wsrt_value *vars,
                        const struct ws__plan_launch *p)
{
    for (size_t i = 0; i < l->narg; i++) {
        const struct ws__arg *a = &l->arg[i];
        int64_t by;

        if (a->kind != WS__ARG_VALUE)
            continue;
        WS_TRY(divisor(ctx, a, vars, &by));
        if (by == 16 && p->arg[i].value[0] % 16)
            return ws__fail_at(ctx, WS_ESPEC, &l->loc,
                               "argument '%s' of '%s' is no multiple of 16, "
                               "for which it is compiled",
                               a->expr->text, l->entry);
    }
    return 0;
}

static void append(const struct ws__source_file *f, struct ws__plan_launch *p)
{
    for (uint32_t i = 0; i < f->nulls; i++) {
        p->arg[p->narg].kind = WS__ARG_VALUE;
        p->arg[p->narg++].bytes = 8;
    }
    if (!f->shared_bytes)
        return;
    p->arg[p->narg].kind = WS__ARG_SHARED;
    p->arg[p->narg++].bytes = f->shared_bytes;
}

int ws__triton_plan(struct ws_ctx *ctx, const struct ws__kernel *k,
                    const struct ws__launch *l, const union wsrt_value *vars,
                    struct ws__plan_launch *out)
{
    const struct ws__source_file *f;
    char key[WS__MAX_TRITON_KEY];

    WS_TRY(check_values(ctx, l, vars, out));
    WS_TRY(ws__triton_key(ctx, k, l, vars, 0, key));
    f = ws__triton_file(k, key);
    if (!f) {
        ws__fail_at(ctx, WS_ENOENT, &l->loc, "not compiled: %.180s", key);
        return ws__hint(ctx, "'wavesmith compile' compiles what is missing");
    }
    out->file = f;
    out->entry = f->entry;
    out->block[0] = f->threads;
    out->shared_bytes = f->shared_bytes;
    append(f, out);
    return 0;
}
