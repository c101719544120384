/*
 * kernel.c: the text that is compiled, and the identity of a candidate.
 *
 * Parameters reach device code as macros in front of the source; a #line
 * directive after them makes compilers count lines as the author does. Only
 * base names appear in it: the same kernel in another folder is the same
 * text, and so the same candidate.
 *
 * The identity covers what decides about a result and nothing else: final
 * source, dialect, build options, launches, scratch, whether the order of
 * sums may vary (the verdict allows for it) and the parameter values
 * themselves. It does not cover the lists of values, so that widening a
 * space keeps what was measured.
 */
#include "core/kernel.h"

#include <ctype.h>

#include "base/banned.h"

#define MAX_SOURCE ((size_t)16 << 20)

int ws__value_define(struct ws__buf *b, const struct ws__value *v)
{
    if (v->type == WS__FLOAT)
        return ws__value_print(b, v);
    if (v->type == WS__STR)
        return ws__buf_puts(b, v->u.s);
    return ws__buf_printf(b, "%lld", (long long)v->u.i);
}

/* Names in an entry reach the source as arguments of its templates. */
static bool is_in_entry(const struct ws__kernel *k, const char *name)
{
    for (size_t i = 0; i < k->nlaunch; i++)
        if (k->launch[i].pattern && ws__pattern_has(k->launch[i].entry, name))
            return true;
    return false;
}

static int define_param(struct ws__buf *b, const struct ws__param *p,
                        const struct ws__value *v)
{
    WS_TRY(ws__buf_printf(b, "#define %s ", p->name));
    ws__value_define(b, v);
    return ws__buf_puts(b, "\n");
}

/* A float is a float32 constant: device code has no use for doubles. */
static int define_constant(struct ws__buf *b, const struct ws__constant *c)
{
    WS_TRY(ws__buf_printf(b, "#define %s ", c->name));
    WS_TRY(ws__value_print(b, &c->value));
    return ws__buf_puts(b, c->value.type == WS__FLOAT ? "f\n" : "\n");
}

static int define_axis(struct ws__buf *b, const struct ws__axis *a, int64_t v)
{
    if (a->kind != WS__AXIS_TYPE)
        return ws__buf_printf(b, "#define %s %lld\n", a->name, (long long)v);
    WS_TRY(ws__buf_printf(b, "#define %s_IS_", a->name));
    for (const char *s = ws__dtype_name((enum ws__dtype)v); *s; s++) {
        char c = (char)toupper((unsigned char)*s);

        WS_TRY(ws__buf_add(b, &c, 1));
    }
    return ws__buf_puts(b, " 1\n");
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

uint32_t ws__kernel_baked(const struct ws__kernel *k)
{
    uint32_t mask = 0;

    for (size_t i = 0; k->op && i < k->op->naxis; i++)
        if (k->op->axis[i].kind != WS__AXIS_VAR || k->specialize >> i & 1)
            mask |= 1u << i;
    return mask;
}

static int add_source(struct ws__buf *b, const struct ws__kernel *k,
                      const struct ws__config *c, const struct ws__instance *in)
{
    const struct ws__op *op = k->op;

    for (size_t i = 0; i < k->nparam; i++)
        if (!is_in_entry(k, k->param[i].name))
            WS_TRY(define_param(b, &k->param[i], &k->param[i].value[c->at[i]]));
    for (size_t i = 0; op && in && i < op->naxis; i++)
        if ((ws__kernel_baked(k) >> i & 1) &&
            (op->axis[i].kind == WS__AXIS_TYPE ||
             !is_in_entry(k, op->axis[i].name)))
            WS_TRY(define_axis(b, &op->axis[i], in->vars[i].i));
    for (size_t i = 0; op && i < op->nconstant; i++)
        WS_TRY(define_constant(b, &op->constant[i]));
    ws__buf_puts(b, "#line 1 \"");
    for (const char *s = base_name(k->source_file ? k->source_file : k->name);
         *s; s++)
        ws__buf_printf(b, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    ws__buf_puts(b, "\"\n");
    return ws__buf_puts(b, k->source);
}

static int add_ready(struct ws_ctx *ctx, struct ws__buf *b,
                     const struct ws__kernel *k, const struct ws__config *c,
                     const struct ws__instance *in)
{
    const struct ws__source_file *f;
    char name[WS__MAX_ENTRY];

    WS_TRY(ws__kernel_file(ctx, k, c, in, name, &f));
    if (!f) /* a candidate all the same: filtered, and named so */
        return ws__buf_printf(b, "no file %s\n", name);
    if (k->dialect == WS__DIALECT_PTX)
        return ws__buf_add(b, f->data, f->bytes);
    return ws__buf_printf(b, "cubin %016llx%016llx\n",
                          (unsigned long long)f->hash.hi,
                          (unsigned long long)f->hash.lo);
}

/* What Triton made of the config, and by which version. */
static int add_triton(struct ws_ctx *ctx, struct ws__buf *b,
                      const struct ws__kernel *k, const struct ws__config *c,
                      const struct ws__instance *in)
{
    const struct ws__source_file *f[WS__MAX_LAUNCHES];
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};
    size_t n;

    for (size_t i = 0; k->op && i < k->op->naxis; i++)
        vars[i].i = in ? in->vars[i].i : k->op->axis[i].value;
    ws__config_vars(k, c, vars);
    ws__triton_files(ctx, k, vars, f, &n);
    ws__buf_printf(b, "triton %s\n", k->triton ? k->triton : "(none)");
    for (size_t i = 0; i < n; i++)
        ws__buf_printf(b, "%s\n%s %016llx%016llx, %u threads, %u bytes\n",
                       f[i]->key, f[i]->failed ? "failed" : "cubin",
                       (unsigned long long)f[i]->hash.hi,
                       (unsigned long long)f[i]->hash.lo, f[i]->threads,
                       f[i]->shared_bytes);
    return b->failed;
}

int ws__kernel_source(struct ws_ctx *ctx, const struct ws__kernel *k,
                      const struct ws__config *c, const struct ws__instance *in,
                      char **out)
{
    struct ws__buf b;
    int rc;

    *out = NULL;
    if (!k->source) {
        ws__fail(ctx, WS_ESPEC, "kernel '%s' has no source", k->name);
        return ws__hint(ctx, "it is a search space only");
    }
    ws__buf_init(&b, ctx, MAX_SOURCE);
    if (k->dialect == WS__DIALECT_TRITON)
        rc = add_triton(ctx, &b, k, c, in);
    else
        rc = ws__dialect_is_ready(k->dialect) ? add_ready(ctx, &b, k, c, in)
                                              : add_source(&b, k, c, in);
    if (rc < 0)
        ws__buf_free(&b);
    else
        *out = ws__buf_take(&b);
    return rc;
}

static struct ws__hash hash_arg(struct ws__hash h, const struct ws__kernel *k,
                                const struct ws__arg *a)
{
    h = ws__hash_u64(h, (uint64_t)a->kind);
    if (a->kind == WS__ARG_TENSOR)
        return ws__hash_str(h, k->op ? k->op->tensor[a->index].name : NULL);
    if (a->kind == WS__ARG_SCRATCH)
        return ws__hash_str(h, k->scratch[a->index].name);
    return ws__expr_meaning(ws__hash_u64(h, (uint64_t)a->dtype), a->expr);
}

static struct ws__hash hash_triton(struct ws__hash h,
                                   const struct ws__launch *l)
{
    h = ws__expr_meaning(ws__expr_meaning(h, l->warps), l->stages);
    h = ws__hash_u64(h, l->nmeta);
    for (size_t i = 0; i < l->nmeta; i++)
        h = ws__expr_meaning(ws__hash_str(h, l->meta[i].name), l->meta[i].expr);
    for (size_t i = 0; i < l->narg; i++) {
        h = ws__hash_u64(h, (uint64_t)l->arg[i].dtype);
        h = ws__expr_meaning(h, l->arg[i].divisible);
    }
    return h;
}

static struct ws__hash hash_launch(struct ws__hash h,
                                   const struct ws__kernel *k,
                                   const struct ws__launch *l)
{
    h = ws__expr_meaning(ws__hash_str(h, l->entry), l->when);
    for (int i = 0; i < 3; i++)
        h = ws__expr_meaning(ws__expr_meaning(h, l->grid[i]), l->block[i]);
    h = ws__hash_u64(ws__expr_meaning(h, l->shared), l->narg);
    for (size_t i = 0; i < l->narg; i++)
        h = hash_arg(h, k, &l->arg[i]);
    return k->dialect == WS__DIALECT_TRITON ? hash_triton(h, l) : h;
}

/* What a kernel sees otherwise than the op says decides what its names mean. */
static struct ws__hash hash_view(struct ws__hash h, const struct ws__kernel *k)
{
    const struct ws__op *a = k->op, *b = k->bound;

    if (!b || a == b)
        return h;
    for (size_t i = 0; i < a->naxis; i++) {
        const struct ws__axis *x = &a->axis[i], *y = &b->axis[i];

        if (!strcmp(x->name, y->name) && x->kind == y->kind)
            continue;
        h = ws__hash_str(ws__hash_str(h, x->name), y->name);
        h = ws__hash_u64(h, (uint64_t)x->kind);
    }
    for (size_t i = 0; i < a->ntensor; i++)
        if (strcmp(a->tensor[i].name, b->tensor[i].name))
            h = ws__hash_str(ws__hash_str(h, a->tensor[i].name),
                             b->tensor[i].name);
    return h;
}

struct ws__hash ws__kernel_plan_meaning(struct ws__hash h,
                                        const struct ws__kernel *k)
{
    h = ws__hash_u64(ws__hash_u64(h, (uint64_t)k->dialect), k->noption);
    for (size_t i = 0; i < k->noption; i++)
        h = ws__hash_str(h, k->option[i]);
    h = ws__hash_u64(h, k->nlaunch);
    for (size_t i = 0; i < k->nlaunch; i++)
        h = hash_launch(h, k, &k->launch[i]);
    h = ws__hash_u64(h, k->nscratch);
    for (size_t i = 0; i < k->nscratch; i++) {
        h = ws__expr_meaning(ws__hash_str(h, k->scratch[i].name),
                             k->scratch[i].bytes);
        h = ws__expr_meaning(h, k->scratch[i].when);
        h = ws__hash_u64(h, k->scratch[i].zero);
    }
    return hash_view(ws__hash_u64(h, k->order_dependent), k);
}

struct ws__hash ws__value_meaning(struct ws__hash h, const struct ws__value *v)
{
    h = ws__hash_u64(h, (uint64_t)v->type);
    if (v->type == WS__STR)
        return ws__hash_str(h, v->u.s);
    if (v->type == WS__FLOAT)
        return ws__hash_mix(h, &v->u.f, sizeof(v->u.f));
    return ws__hash_u64(h, (uint64_t)v->u.i);
}

struct ws__hash ws__candidate_hash(const struct ws__kernel *k,
                                   const struct ws__config *c,
                                   const char *final_source)
{
    struct ws__hash h = ws__hash_str((struct ws__hash){2, 0}, final_source);

    h = ws__kernel_plan_meaning(h, k);
    h = ws__hash_u64(h, k->nparam);
    for (size_t i = 0; i < k->nparam; i++)
        h = ws__value_meaning(ws__hash_str(h, k->param[i].name),
                              &k->param[i].value[c->at[i]]);
    return h;
}
