/*
 * t_xform.h: for tests of this folder: a kernel file's worth of data around a
 * function of a tree, with no files: an op of two axes and some tensors, and a
 * launch of one or two dimensions that gives a parameter what its type takes.
 * And the #defines that go before the source of a kernel file.
 */
#ifndef WS_T_XFORM_H
#define WS_T_XFORM_H

#include "xform/xform.h"

#define T_TENSORS 8

static inline int t_expr(struct ws_ctx *ctx, struct ws__arena *a,
                         const struct ws__kernel *k, const char *text,
                         struct ws__expr **out)
{
    struct ws__loc at = {"test", 1, 1};

    return ws__expr_compile(ctx, a, text, &at, &k->scope, WS__INT, out);
}

static inline void t_op(struct ws__op *op)
{
    static const char *const names[] = {"N", "M"};
    static const char *const tensors[T_TENSORS] = {"A0", "A1", "A2", "A3",
                                                   "A4", "A5", "A6", "A7"};

    memset(op, 0, sizeof(*op));
    op->name = "test";
    for (size_t i = 0; i < WS_COUNT(names); i++) {
        op->axis[i].name = names[i];
        op->axis[i].kind = WS__AXIS_VAR;
        op->axis[i].lo = 1;
        op->axis[i].hi = 1 << 20;
    }
    op->naxis = WS_COUNT(names);
    for (size_t i = 0; i < T_TENSORS; i++) {
        op->tensor[i].name = tensors[i];
        op->tensor[i].align = i % 2 ? 4 : 16;
    }
    op->ntensor = T_TENSORS;
}

/* The first function with a body, as the only launch. WS_ENOENT: there is
 * none. */
static inline int t_kernel(struct ws_ctx *ctx, struct ws__arena *a,
                           const struct ws__ast *t, struct ws__op *op, bool two,
                           struct ws__kernel *k)
{
    struct ws__launch *l = &k->launch[0];
    int32_t f = -1;

    memset(k, 0, sizeof(*k));
    t_op(op);
    k->name = "test";
    k->op = k->bound = op;
    k->dialect = t->dialect;
    k->source = t->text;
    k->source_file = t->path;
    k->nlaunch = 1;
    for (int32_t i = 0; i < t->n; i = ws__ast_after(t, i))
        if (t->node[i].kind == WS__AST_FUNCTION && t->node[i].name &&
            ws__ast_function(t, t->node[i].name) == i &&
            (f < 0 || (t->node[i].is_kernel && !t->node[f].is_kernel)))
            f = i;
    if (f < 0)
        return WS_ENOENT;
    l->entry = t->node[f].name;
    for (size_t i = 0; i < op->naxis; i++)
        WS_TRY(ws__scope_add(ctx, &k->scope, op->axis[i].name, WS__INT, NULL));
    WS_TRY(t_expr(ctx, a, k, "(N + 127) // 128", &l->grid[0]));
    WS_TRY(t_expr(ctx, a, k, "128", &l->block[0]));
    if (two)
        WS_TRY(t_expr(ctx, a, k, "M", &l->grid[1]));
    for (int32_t c = t->node[f].first; c >= 0 && l->narg < WS__MAX_ARGS;
         c = t->node[c].next) {
        struct ws__arg *g = &l->arg[l->narg];

        if (t->node[c].kind != WS__AST_PARAM)
            continue;
        g->kind = t->node[c].type.pointers ? WS__ARG_TENSOR : WS__ARG_VALUE;
        g->index = l->narg % T_TENSORS;
        g->dtype = WS__DT_I32;
        if (g->kind == WS__ARG_VALUE)
            WS_TRY(t_expr(ctx, a, k, l->narg % 2 ? "N" : "M", &g->expr));
        l->narg++;
    }
    return 0;
}

/* The #defines of the default config. */
static inline char *t_prologue(struct ws_ctx *ctx, const struct ws__kernel *k)
{
    struct ws__buf b;

    ws__buf_init(&b, ctx, 1 << 16);
    for (size_t i = 0; i < k->nparam; i++) {
        ws__buf_printf(&b, "#define %s ", k->param[i].name);
        ws__value_define(&b, &k->param[i].value[k->param[i].dflt]);
        ws__buf_puts(&b, "\n");
    }
    for (size_t i = 0; i < k->op->naxis; i++)
        if (k->specialize & 1u << i)
            ws__buf_printf(&b, "#define %s 64\n", k->op->axis[i].name);
    for (size_t i = 0; i < k->op->nconstant; i++) {
        const struct ws__constant *c = &k->op->constant[i];

        ws__buf_printf(&b, "#define %s ", c->name);
        ws__value_print(&b, &c->value);
        ws__buf_puts(&b, c->value.type == WS__FLOAT ? "f\n" : "\n");
    }
    return b.data ? ws__buf_take(&b) : ws__strdup(ctx, "");
}

#endif
