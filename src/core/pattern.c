/*
 * pattern.c: texts with {NAME} in them.
 *
 * The names of C++ templates' instances and of files that were compiled
 * before say which config they are for. In a specification they are written
 * once, with names in braces for the values. A pattern was checked when it
 * was loaded (spec_pattern.c), so a name that is not found here is a bug.
 *
 * Values are printed as in a #define, so that a template gets what the source
 * would have got from a macro.
 */
#include "core/kernel.h"

#include <ctype.h>

#include "base/banned.h"

const char *ws__dialect_name(enum ws__dialect d)
{
    static const char *const names[] = {
        [WS__DIALECT_PORTABLE] = "portable", [WS__DIALECT_OPENCL] = "opencl",
        [WS__DIALECT_CUDA] = "cuda",         [WS__DIALECT_PTX] = "ptx",
        [WS__DIALECT_CUBIN] = "cubin",       [WS__DIALECT_TRITON] = "triton",
    };

    return (size_t)d < WS_COUNT(names) ? names[d] : "unknown";
}

bool ws__pattern_next(const char **p, const char **name, size_t *n)
{
    const char *open = strchr(*p, '{'),
               *close = open ? strchr(open, '}') : NULL;

    if (!close)
        return false;
    *name = open + 1;
    *n = (size_t)(close - *name);
    *p = close + 1;
    return true;
}

bool ws__pattern_has(const char *text, const char *name)
{
    const char *found;
    size_t n;

    while (ws__pattern_next(&text, &found, &n))
        if (strlen(name) == n && !memcmp(name, found, n))
            return true;
    return false;
}

bool ws__entry_is_expression(const char *entry)
{
    for (; *entry; entry++)
        if (!isalnum((unsigned char)*entry) && !strchr("_$.", *entry))
            return true;
    return false;
}

/* The type as CUDA C++ calls it. */
static const char *cpp_type(enum ws__dtype t)
{
    static const char *const names[] = {
        [WS__DT_F64] = "double",
        [WS__DT_F32] = "float",
        [WS__DT_F16] = "__half",
        [WS__DT_BF16] = "__nv_bfloat16",
        [WS__DT_F8E4M3] = "__nv_fp8_e4m3",
        [WS__DT_F8E5M2] = "__nv_fp8_e5m2",
        [WS__DT_I64] = "long long",
        [WS__DT_I32] = "int",
        [WS__DT_I16] = "short",
        [WS__DT_I8] = "signed char",
        [WS__DT_U8] = "unsigned char",
        [WS__DT_BOOL] = "bool",
    };

    return names[t];
}

static bool same(const char *a, const char *b, size_t n)
{
    return strlen(a) == n && !memcmp(a, b, n);
}

static int put_value(struct ws_ctx *ctx, struct ws__buf *b,
                     const struct ws__kernel *k, const char *name, size_t n,
                     const union wsrt_value *vars, bool cpp)
{
    for (size_t i = 0; i < k->nparam; i++) {
        const struct ws__param *p = &k->param[i];
        const union wsrt_value *v = &vars[ws__kernel_param_slot(k, i)];

        if (!same(p->name, name, n))
            continue;
        for (size_t at = 0; at < p->nvalue; at++)
            if (p->slot[at].i == v->i)
                return ws__value_define(b, &p->value[at]);
    }
    for (size_t i = 0; k->op && i < k->op->naxis; i++) {
        enum ws__dtype t = (enum ws__dtype)vars[i].i;

        if (!same(k->op->axis[i].name, name, n))
            continue;
        if (k->op->axis[i].kind != WS__AXIS_TYPE)
            return ws__buf_printf(b, "%lld", (long long)vars[i].i);
        return ws__buf_puts(b, cpp ? cpp_type(t) : ws__dtype_name(t));
    }
    return ws__fail(ctx, WS_EBUG, "no value for '%.*s'", (int)n, name);
}

int ws__pattern_print(struct ws_ctx *ctx, const struct ws__kernel *k,
                      const char *text, const union wsrt_value *vars, bool cpp,
                      const struct ws__loc *loc, char *out, size_t n)
{
    const char *p = text, *from = text, *name;
    struct ws__buf b;
    size_t len;
    int rc = 0;

    ws__buf_init(&b, ctx, n - 1);
    while (rc == 0 && ws__pattern_next(&p, &name, &len)) {
        ws__buf_add(&b, from, (size_t)(name - 1 - from));
        rc = put_value(ctx, &b, k, name, len, vars, cpp);
        from = p;
    }
    ws__buf_puts(&b, from);
    if (b.failed == WS_ELIMIT) {
        ws__fail_at(ctx, WS_ELIMIT, loc, "'%.100s' with its values is too long",
                    text);
        rc = ws__hint(ctx, "at most %zu bytes", n - 1);
    } else if (b.failed) {
        rc = b.failed;
    }
    snprintf(out, n, "%s", rc == 0 ? b.data : "");
    ws__buf_free(&b);
    return rc;
}

int ws__kernel_file(struct ws_ctx *ctx, const struct ws__kernel *k,
                    const struct ws__config *c, const struct ws__instance *in,
                    char *name, const struct ws__source_file **out)
{
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};

    *out = NULL;
    for (size_t i = 0; k->op && i < k->op->naxis; i++)
        vars[i].i = in ? in->vars[i].i : k->op->axis[i].value;
    ws__config_vars(k, c, vars);
    WS_TRY(ws__pattern_print(ctx, k, k->source_file, vars, false, NULL, name,
                             WS__MAX_ENTRY));
    for (size_t i = 0; i < k->nready && !*out; i++)
        if (!strcmp(k->ready[i].name, name))
            *out = &k->ready[i];
    return 0;
}
