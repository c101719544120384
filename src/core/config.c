/*
 * config.c: configs as text, and the slots that they fill.
 *
 * A config holds indices, people and stores see values: "BM=64,BN=32" in the
 * order of the parameters. Reading is strict (a typing error in a parameter
 * would otherwise silently measure something else) and helpful: the nearest
 * name, or the values there are.
 */
#include "core/kernel.h"

#include <ctype.h>

#include "core/decimal.h"
#include "base/names.h"

#include "base/banned.h"

#define MAX_TEXT ((size_t)1 << 16)

void ws__kernel_bind(struct ws__kernel *k, bool is_cpu)
{
    for (size_t i = 0; i < k->nparam; i++)
        k->param[i].dflt = k->param[i].dflt_of[is_cpu];
}

void ws__config_default(const struct ws__kernel *k, struct ws__config *out)
{
    memset(out, 0, sizeof(*out));
    out->n = (uint16_t)k->nparam;
    for (size_t i = 0; i < k->nparam; i++)
        out->at[i] = (uint16_t)k->param[i].dflt;
}

bool ws__config_eq(const struct ws__config *a, const struct ws__config *b)
{
    return !memcmp(a, b, sizeof(*a));
}

int ws__config_print(struct ws__buf *b, const struct ws__kernel *k,
                     const struct ws__config *c)
{
    for (size_t i = 0; i < k->nparam; i++) {
        const struct ws__param *p = &k->param[i];

        WS_TRY(ws__buf_printf(b, "%s%s=", i ? "," : "", p->name));
        WS_TRY(ws__value_print(b, &p->value[c->at[i]]));
    }
    return b->failed;
}

static int unknown_param(struct ws_ctx *ctx, const struct ws__kernel *k,
                         const char *name)
{
    struct ws__nearest near;

    ws__nearest_begin(&near, name);
    for (size_t i = 0; i < k->nparam; i++)
        ws__nearest_see(&near, k->param[i].name);
    ws__fail(ctx, WS_ESPEC, "kernel '%s' has no parameter '%s'", k->name, name);
    if (ws__nearest_name(&near))
        return ws__hint(ctx, "did you mean '%s'?", ws__nearest_name(&near));
    return ws__hint(ctx, "parameters are listed in '%s'",
                    k->file ? k->file : "the kernel's file");
}

static int unknown_value(struct ws_ctx *ctx, const struct ws__param *p,
                         const char *text)
{
    struct ws__buf b;
    int rc = 0;

    ws__buf_init(&b, ctx, MAX_TEXT);
    for (size_t i = 0; i < p->nvalue && rc >= 0 && b.len < 300; i++) {
        rc = ws__buf_puts(&b, i ? ", " : "");
        if (rc >= 0)
            rc = ws__value_print(&b, &p->value[i]);
    }
    if (rc >= 0) {
        rc = ws__fail(ctx, WS_ESPEC, "parameter '%s' cannot be '%s'", p->name,
                      text);
        ws__hint(ctx, "its values: %s%s", b.data ? b.data : "",
                 b.len >= 300 ? ", ..." : "");
    }
    ws__buf_free(&b);
    return rc;
}

/* Does the text denote this value? Numbers compare as numbers. */
static bool denotes(const char *text, const struct ws__value *v)
{
    int64_t i;
    double f;

    switch (v->type) {
    case WS__STR:
        return !strcmp(text, v->u.s);
    case WS__BOOL:
        if (v->u.i)
            return !strcmp(text, "true") || !strcmp(text, "True") ||
                   !strcmp(text, "1");
        return !strcmp(text, "false") || !strcmp(text, "False") ||
               !strcmp(text, "0");
    case WS__INT:
        return ws__integer_parse(text, &i) && i == v->u.i;
    case WS__FLOAT:
        return ws__decimal_parse(text, &f) && f == v->u.f;
    }
    return false;
}

static int set_param(struct ws_ctx *ctx, const struct ws__kernel *k,
                     const char *name, const char *text, struct ws__config *out)
{
    for (size_t i = 0; i < k->nparam; i++) {
        const struct ws__param *p = &k->param[i];

        if (strcmp(p->name, name))
            continue;
        for (size_t j = 0; j < p->nvalue; j++)
            if (denotes(text, &p->value[j])) {
                out->at[i] = (uint16_t)j;
                return 0;
            }
        return unknown_value(ctx, p, text);
    }
    return unknown_param(ctx, k, name);
}

/* Cuts spaces off both ends, in place. */
static char *trim(char *s)
{
    size_t n;

    while (isspace((unsigned char)*s))
        s++;
    n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1]))
        s[--n] = '\0';
    return s;
}

static int parse_items(struct ws_ctx *ctx, const struct ws__kernel *k,
                       char *text, struct ws__config *out)
{
    char *item = text, *comma;

    for (; item; item = comma) {
        char *eq;

        comma = strchr(item, ',');
        if (comma)
            *comma++ = '\0';
        if (!*trim(item))
            continue;
        eq = strchr(item, '=');
        if (!eq) {
            ws__fail(ctx, WS_ESPEC, "'%s' has no value", trim(item));
            return ws__hint(ctx, "write NAME=VALUE,NAME=VALUE");
        }
        *eq = '\0';
        WS_TRY(set_param(ctx, k, trim(item), trim(eq + 1), out));
    }
    return 0;
}

int ws__config_parse(struct ws_ctx *ctx, const struct ws__kernel *k,
                     const char *text, struct ws__config *out)
{
    char *copy = ws__strdup(ctx, text);
    int rc;

    if (!copy)
        return WS_ENOMEM;
    ws__config_default(k, out);
    rc = parse_items(ctx, k, copy, out);
    ws__free(ctx, copy);
    return rc;
}

size_t ws__kernel_param_slot(const struct ws__kernel *k, size_t param)
{
    return (k->op ? k->op->naxis : 0) + param;
}

size_t ws__kernel_device_slot(const struct ws__kernel *k, enum ws__device_var v)
{
    return ws__kernel_param_slot(k, k->nparam) + (size_t)v;
}

size_t ws__kernel_resident_slot(const struct ws__kernel *k)
{
    return k->scope.n;
}

void ws__config_vars(const struct ws__kernel *k, const struct ws__config *c,
                     union wsrt_value *vars)
{
    for (size_t i = 0; i < k->nparam; i++)
        vars[ws__kernel_param_slot(k, i)] = k->param[i].slot[c->at[i]];
}
