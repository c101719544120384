/*
 * op.c: names, text and identity of operators and their workloads.
 *
 * A workload is identified by its op, the values of the axes, and the inputs
 * where it says more of them than the op: its name, weight and comment may
 * change without losing what was measured. A file counts by its content, so
 * that it may be moved.
 */
#include "core/op.h"

#include "base/banned.h"

int ws__op_axis(const struct ws__op *op, const char *name)
{
    for (size_t i = 0; i < op->naxis; i++)
        if (!strcmp(op->axis[i].name, name))
            return (int)i;
    return -1;
}

int ws__op_tensor(const struct ws__op *op, const char *name)
{
    for (size_t i = 0; i < op->ntensor; i++)
        if (!strcmp(op->tensor[i].name, name))
            return (int)i;
    return -1;
}

const char *ws__op_name_taken(const struct ws__op *op, const char *name)
{
    if (ws__op_axis(op, name) >= 0)
        return "an axis";
    if (ws__op_tensor(op, name) >= 0)
        return "a tensor";
    for (size_t i = 0; i < op->nconstant; i++)
        if (!strcmp(op->constant[i].name, name))
            return "a constant";
    return NULL;
}

int ws__op_compare_types(const struct ws__op *op, const int64_t *a,
                         const int64_t *b)
{
    for (size_t i = 0; i < op->naxis; i++)
        if (op->axis[i].kind == WS__AXIS_TYPE && a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

struct ws__hash ws__expr_meaning(struct ws__hash h, const struct ws__expr *e)
{
    char quote = '\0';

    h = ws__hash_u64(h, e != NULL);
    for (const char *s = e ? e->text : ""; *s; s++) {
        if (quote && *s == quote)
            quote = '\0';
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
        if (quote || !strchr(" \t\r\n", *s))
            h = ws__hash_u64(h, (unsigned char)*s);
    }
    return h;
}

const struct ws__fill *ws__workload_fill(const struct ws__op *op,
                                         const struct ws__workload *w,
                                         size_t tensor)
{
    const struct ws__input *x = w->input ? &w->input[tensor] : NULL;

    if (!x || x->kind == WS__INPUT_OP)
        return &op->tensor[tensor].fill;
    return x->kind == WS__INPUT_FILL ? &x->fill : NULL;
}

static struct ws__hash mix_input(struct ws__hash h, const struct ws__input *x)
{
    h = ws__hash_u64(h, (uint64_t)x->kind);
    if (x->kind == WS__INPUT_FILE)
        return ws__hash_mix(h, &x->content, sizeof(x->content));
    if (x->kind == WS__INPUT_OP)
        return h;
    h = ws__hash_u64(h, (uint64_t)x->fill.kind);
    h = ws__hash_mix(h, &x->fill.a, sizeof(x->fill.a));
    return ws__hash_mix(h, &x->fill.b, sizeof(x->fill.b));
}

struct ws__hash ws__workload_hash(const struct ws__op *op,
                                  const struct ws__workload *w)
{
    struct ws__hash h = ws__hash_u64(op->hash, op->naxis);

    for (size_t i = 0; i < op->naxis; i++)
        h = ws__hash_u64(h, (uint64_t)w->axis[i]);
    /* Workloads without inputs keep the hash that they always had. */
    for (size_t i = 0; w->input && i < op->ntensor; i++)
        h = mix_input(h, &w->input[i]);
    return h;
}

int ws__workload_print(struct ws__buf *b, const struct ws__op *op,
                       const struct ws__workload *w)
{
    const char *comma = "";

    for (size_t i = 0; i < op->naxis; i++) {
        const struct ws__axis *a = &op->axis[i];

        if (a->kind == WS__AXIS_CONST)
            continue;
        if (a->kind == WS__AXIS_TYPE)
            ws__buf_printf(b, "%s%s=%s", comma, a->name,
                           ws__dtype_name((enum ws__dtype)w->axis[i]));
        else
            ws__buf_printf(b, "%s%s=%lld", comma, a->name,
                           (long long)w->axis[i]);
        comma = ",";
    }
    return b->failed;
}
