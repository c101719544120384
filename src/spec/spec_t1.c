/*
 * spec_t1.c: search spaces in the T1 format of the tuning community.
 *
 * Only the space is read: it makes a kernel without op, source or launches,
 * enough to count, sample and replay recordings. The format is foreign, so
 * unknown keys are ignored and a default that is not among the values falls
 * back to the first value.
 */
#include "spec/parts.h"

#include "base/banned.h"

static void find_default(struct ws__load *l, const struct ws__node *n,
                         struct ws__param *p)
{
    struct ws__value v;

    if (n && n->kind == WS__LIST)
        n = n->first;
    if (!n || n->kind != WS__SCALAR || ws__node_value(l->ctx, n, &v) < 0)
        return;
    ws__load_default(&v, p);
}

static int read_param(struct ws__load *l, const struct ws__node *n,
                      struct ws__kernel *k, struct ws__param *p)
{
    const struct ws__node *c, *values;

    WS_TRY(ws__node_want(l->ctx, n, WS__MAP, "a map for a parameter"));
    WS_TRY(ws__node_need(l->ctx, n, "Name", "the parameter", &c));
    WS_TRY(ws__node_str(l->ctx, c, "a name", &p->name));
    WS_TRY(ws__node_variable(l->ctx, p->name, &c->loc, "a parameter", false));
    p->loc = c->loc;
    WS_TRY(ws__node_need(l->ctx, n, "Values", "the parameter", &values));
    WS_TRY(ws__load_values(l, k, values, p));
    find_default(l, ws__node_get(n, "Default"), p);
    return 0;
}

static int read_params(struct ws__load *l, const struct ws__node *space,
                       struct ws__kernel *k)
{
    const struct ws__node *list;

    WS_TRY(ws__node_need(l->ctx, space, "TuningParameters",
                         "ConfigurationSpace", &list));
    WS_TRY(ws__node_want(l->ctx, list, WS__LIST, "a list of parameters"));
    for (const struct ws__node *c = list->first; c; c = c->next) {
        if (k->nparam == WS__MAX_PARAMS)
            return ws__fail_at(l->ctx, WS_ELIMIT, &c->loc,
                               "more than %d parameters", WS__MAX_PARAMS);
        WS_TRY(read_param(l, c, k, &k->param[k->nparam]));
        k->nparam++;
    }
    return 0;
}

static int read_conditions(struct ws__load *l, const struct ws__node *list,
                           struct ws__kernel *k)
{
    WS_TRY(ws__node_want(l->ctx, list, WS__LIST, "a list of conditions"));
    k->constraint = ws__arena_alloc(l->arena, list->n, sizeof(*k->constraint));
    if (!k->constraint)
        return WS_ENOMEM;
    for (const struct ws__node *c = list->first; c; c = c->next) {
        const struct ws__node *text;

        WS_TRY(ws__node_want(l->ctx, c, WS__MAP, "a map for a condition"));
        WS_TRY(ws__node_need(l->ctx, c, "Expression", "the condition", &text));
        WS_TRY(ws__load_constraint(l, text, NULL, false, k));
    }
    return 0;
}

int ws__load_t1(struct ws__load *l, const struct ws__node *root,
                const char *file, const char *dir, struct ws__kernel *out)
{
    struct ws__strtab *strings = ws__arena_alloc(l->arena, 1, sizeof(*strings));
    const struct ws__node *n, *general = ws__node_get(root, "General");

    if (!strings)
        return WS_ENOMEM;
    strings->arena = l->arena;
    out->file = file;
    out->dir = dir;
    out->name = "t1";
    if (general && general->kind == WS__MAP &&
        (n = ws__node_get(general, "BenchmarkName")))
        WS_TRY(ws__node_printable(l->ctx, n, "the name", &out->name));
    WS_TRY(
        ws__node_need(l->ctx, root, "ConfigurationSpace", "the T1 file", &n));
    WS_TRY(ws__node_want(l->ctx, n, WS__MAP, "a configuration space"));
    out->scope.strings = strings;
    WS_TRY(read_params(l, n, out));
    WS_TRY(ws__load_kernel_scope(l, out, strings));
    if ((n = ws__node_get(n, "Conditions")))
        WS_TRY(read_conditions(l, n, out));
    out->hash = ws__kernel_meaning(out);
    return 0;
}
