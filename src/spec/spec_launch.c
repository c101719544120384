/*
 * spec_launch.c: scratch buffers and the launch plan of a kernel.
 *
 * An argument is a name (a tensor, a scalar, a scratch buffer) or a map with
 * one key: a type with a value expression, or `shared` with a size. Names
 * are resolved to indices here, so a launch never looks at text. An output
 * that no launch gets is an error: the kernel could not compute the op.
 */
#include "base/names.h"
#include "spec/parts.h"

#include "base/banned.h"

static int find_scratch(const struct ws__kernel *k, const char *name)
{
    for (size_t i = 0; i < k->nscratch; i++)
        if (!strcmp(k->scratch[i].name, name))
            return (int)i;
    return -1;
}

static int check_scratch_name(struct ws__load *l, const struct ws__kernel *k,
                              const struct ws__node *n)
{
    WS_TRY(ws__node_variable(l->ctx, n->key, &n->key_loc, "a scratch buffer",
                             true));
    if (ws__scope_find(&k->scope, n->key) < 0 &&
        !ws__op_name_taken(k->op, n->key))
        return 0;
    ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc, "the name '%s' is taken",
                n->key);
    return ws__hint(l->ctx, "scratch buffers need a name of their own");
}

static int read_scratch(struct ws__load *l, const struct ws__node *n,
                        struct ws__kernel *k, struct ws__scratch *s)
{
    const struct ws__node *c;

    s->name = n->key;
    if (n->kind == WS__SCALAR)
        return ws__node_expr(l->ctx, l->arena, n, &k->scope, WS__INT,
                             &s->bytes);
    WS_TRY(ws__node_keys(l->ctx, n, "bytes when zero", "a scratch buffer"));
    WS_TRY(ws__node_need(l->ctx, n, "bytes", "the scratch buffer", &c));
    WS_TRY(ws__node_expr(l->ctx, l->arena, c, &k->scope, WS__INT, &s->bytes));
    if ((c = ws__node_get(n, "when")))
        WS_TRY(ws__node_expr(l->ctx, l->arena, c, &k->scope, WS__CONDITION,
                             &s->when));
    if ((c = ws__node_get(n, "zero")))
        WS_TRY(ws__node_bool(l->ctx, c, "zero", &s->zero));
    return 0;
}

int ws__load_scratch(struct ws__load *l, const struct ws__node *map,
                     struct ws__kernel *k)
{
    WS_TRY(ws__node_want(l->ctx, map, WS__MAP, "a map of scratch buffers"));
    for (const struct ws__node *c = map->first; c; c = c->next) {
        if (k->nscratch == WS__MAX_SCRATCH)
            return ws__fail_at(l->ctx, WS_ELIMIT, &c->key_loc,
                               "more than %d scratch buffers", WS__MAX_SCRATCH);
        WS_TRY(check_scratch_name(l, k, c));
        WS_TRY(read_scratch(l, c, k, &k->scratch[k->nscratch]));
        k->nscratch++;
    }
    return 0;
}

/* One expression or a list of one to three. */
static int read_dims(struct ws__load *l, const struct ws__node *n,
                     const struct ws__kernel *k, struct ws__expr **out)
{
    size_t i = 0;

    if (n->kind == WS__SCALAR)
        return ws__node_expr(l->ctx, l->arena, n, &k->scope, WS__INT, out);
    WS_TRY(ws__node_want(l->ctx, n, WS__LIST, "a list of 1 to 3 expressions"));
    if (n->n < 1 || n->n > 3) {
        ws__node_fail(l->ctx, n, "'%s' has %zu dimensions", n->key, n->n);
        return ws__hint(l->ctx, "1 to 3; quote expressions with commas");
    }
    for (const struct ws__node *c = n->first; c; c = c->next)
        WS_TRY(
            ws__node_expr(l->ctx, l->arena, c, &k->scope, WS__INT, &out[i++]));
    return 0;
}

static int unknown_arg(struct ws__load *l, const struct ws__kernel *k,
                       const struct ws__node *n)
{
    struct ws__nearest near;

    if (ws__scope_find(&k->scope, n->text) >= 0 ||
        ws__op_name_taken(k->op, n->text)) {
        ws__node_fail(l->ctx, n, "argument '%s' has no type", n->text);
        return ws__hint(l->ctx, "write {int32: %s}", n->text);
    }
    ws__nearest_begin(&near, n->text);
    for (size_t i = 0; i < k->op->ntensor; i++)
        ws__nearest_see(&near, k->op->tensor[i].name);
    for (size_t i = 0; i < k->nscratch; i++)
        ws__nearest_see(&near, k->scratch[i].name);
    ws__node_fail(l->ctx, n, "'%s' is no tensor and no scratch buffer",
                  n->text);
    if (ws__nearest_name(&near))
        return ws__hint(l->ctx, "did you mean '%s'?", ws__nearest_name(&near));
    return ws__hint(l->ctx, "values are written {int32: expression}");
}

/* {float32: alpha} for a scalar of the op is the scalar itself. */
static int scalar_by_type(struct ws__load *l, const struct ws__kernel *k,
                          const struct ws__node *n, struct ws__arg *a)
{
    int i = n->kind == WS__SCALAR ? ws__op_tensor(k->op, n->text) : -1;
    const struct ws__tensor *t;

    if (i < 0)
        return 0;
    t = &k->op->tensor[i];
    if (t->ndim || t->dtype != a->dtype) {
        ws__node_fail(l->ctx, n, "tensor '%s' is passed as %s", n->text,
                      n->key);
        return ws__hint(l->ctx, "pass it by its name alone: %s", n->text);
    }
    a->kind = WS__ARG_TENSOR;
    a->index = (size_t)i;
    return 1;
}

/* Triton asks what a pointer points to. */
static int scratch_by_type(const struct ws__kernel *k, const struct ws__node *n,
                           struct ws__arg *a)
{
    int i = n->kind == WS__SCALAR ? find_scratch(k, n->text) : -1;

    if (i < 0)
        return 0;
    a->kind = WS__ARG_SCRATCH;
    a->index = (size_t)i;
    return 1;
}

static int read_typed_arg(struct ws__load *l, const struct ws__kernel *k,
                          const struct ws__node *map, struct ws__arg *a)
{
    const struct ws__node *n = map->first;
    bool triton = k->dialect == WS__DIALECT_TRITON;
    int want = WS__INT, rc;

    if (map->n != 1 && !(triton && map->n == 2)) {
        ws__node_fail(l->ctx, map, "an argument has one key, not %zu", map->n);
        return ws__hint(l->ctx, "such as {int32: M}");
    }
    a->kind = WS__ARG_SHARED;
    if (strcmp(n->key, "shared")) {
        a->kind = WS__ARG_VALUE;
        a->dtype = ws__dtype_parse(n->key);
        if (a->dtype == WS__DT_NONE) {
            ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc,
                        "'%s' is not an element type", n->key);
            return ws__hint_words(l->ctx, n->key,
                                  "float64 float32 float16 bfloat16 int64 "
                                  "int32 int16 int8 uint8 bool shared",
                                  "known are");
        }
        rc = scalar_by_type(l, k, n, a);
        if (!rc && triton)
            rc = scratch_by_type(k, n, a);
        if (rc)
            return rc < 0 ? rc : 0;
        if (ws__dtype_is_float(a->dtype))
            want = WS__FLOAT;
        else if (a->dtype == WS__DT_BOOL)
            want = WS__BOOL;
    }
    return ws__node_expr(l->ctx, l->arena, n, &k->scope, want, &a->expr);
}

static int read_arg(struct ws__load *l, const struct ws__kernel *k,
                    const struct ws__node *n, struct ws__arg *a)
{
    int i;

    if (n->kind == WS__MAP)
        return read_typed_arg(l, k, n, a);
    WS_TRY(ws__node_want(l->ctx, n, WS__SCALAR,
                         "a tensor, a scratch buffer or {type: value}"));
    a->kind = WS__ARG_TENSOR;
    i = ws__op_tensor(k->op, n->text);
    if (i < 0) {
        a->kind = WS__ARG_SCRATCH;
        i = find_scratch(k, n->text);
    }
    if (i < 0)
        return unknown_arg(l, k, n);
    a->index = (size_t)i;
    return 0;
}

static int read_args(struct ws__load *l, const struct ws__node *list,
                     const struct ws__kernel *k, struct ws__launch *out)
{
    WS_TRY(ws__node_want(l->ctx, list, WS__LIST, "a list of arguments"));
    for (const struct ws__node *c = list->first; c; c = c->next) {
        if (out->narg == WS__MAX_ARGS)
            return ws__fail_at(l->ctx, WS_ELIMIT, &c->loc,
                               "more than %d arguments", WS__MAX_ARGS);
        WS_TRY(read_arg(l, k, c, &out->arg[out->narg]));
        out->narg++;
    }
    return 0;
}

static int read_launch(struct ws__load *l, const struct ws__node *n,
                       const struct ws__kernel *k, struct ws__launch *out)
{
    bool triton = k->dialect == WS__DIALECT_TRITON;
    const struct ws__node *c;

    out->loc = n->loc;
    WS_TRY(triton
               ? ws__load_triton_keys(l, n)
               : ws__node_keys(l->ctx, n, "entry when grid block shared args",
                               "a launch"));
    WS_TRY(ws__node_need(l->ctx, n, "entry", "the launch", &c));
    WS_TRY(ws__load_entry(l, c, k, out));
    WS_TRY(ws__node_need(l->ctx, n, "grid", "the launch", &c));
    WS_TRY(read_dims(l, c, k, out->grid));
    if (triton) {
        WS_TRY(ws__load_triton_launch(l, n, k, out));
    } else {
        WS_TRY(ws__node_need(l->ctx, n, "block", "the launch", &c));
        WS_TRY(read_dims(l, c, k, out->block));
    }
    if ((c = ws__node_get(n, "when")))
        WS_TRY(ws__node_expr(l->ctx, l->arena, c, &k->scope, WS__CONDITION,
                             &out->when));
    if ((c = ws__node_get(n, "shared")))
        WS_TRY(ws__node_expr(l->ctx, l->arena, c, &k->scope, WS__INT,
                             &out->shared));
    WS_TRY(ws__node_need(l->ctx, n, "args", "the launch", &c));
    WS_TRY(read_args(l, c, k, out));
    return triton ? ws__load_triton_args(l, c, k, out) : 0;
}

static int check_outputs(struct ws__load *l, const struct ws__node *list,
                         const struct ws__kernel *k)
{
    for (size_t t = 0; t < k->op->ntensor; t++) {
        bool used = k->op->tensor[t].role == WS__INPUT;

        for (size_t i = 0; i < k->nlaunch; i++)
            for (size_t a = 0; a < k->launch[i].narg; a++) {
                const struct ws__arg *arg = &k->launch[i].arg[a];

                used = used || (arg->kind == WS__ARG_TENSOR && arg->index == t);
            }
        if (used)
            continue;
        ws__node_fail(l->ctx, list, "no launch gets output '%s'",
                      k->op->tensor[t].name);
        return ws__hint(l->ctx, "add it to the 'args' of a launch");
    }
    return 0;
}

static bool uses(const struct ws__expr *e, size_t slot)
{
    return e && ws__expr_uses(e, slot);
}

static bool launch_uses(const struct ws__launch *l, size_t slot)
{
    bool found = uses(l->when, slot) || uses(l->shared, slot);

    for (size_t d = 0; d < 3; d++)
        found = found || uses(l->grid[d], slot) || uses(l->block[d], slot);
    for (size_t i = 0; i < l->narg; i++)
        found = found || uses(l->arg[i].expr, slot) ||
                uses(l->arg[i].divisible, slot);
    for (size_t i = 0; i < l->nmeta; i++)
        found = found || uses(l->meta[i].expr, slot);
    return found || uses(l->warps, slot) || uses(l->stages, slot);
}

bool ws__load_plan_uses(const struct ws__kernel *k, size_t slot)
{
    bool found = false;

    for (size_t i = 0; i < k->nscratch; i++)
        found = found || uses(k->scratch[i].bytes, slot) ||
                uses(k->scratch[i].when, slot);
    for (size_t i = 0; i < k->nlaunch; i++)
        found = found || launch_uses(&k->launch[i], slot);
    return found;
}

int ws__load_launches(struct ws__load *l, const struct ws__node *list,
                      struct ws__kernel *k)
{
    WS_TRY(ws__node_want(l->ctx, list, WS__LIST, "a list of launches"));
    if (!list->n) {
        ws__node_fail(l->ctx, list, "the list of launches is empty");
        return ws__hint(l->ctx, "give at least one");
    }
    for (const struct ws__node *c = list->first; c; c = c->next) {
        if (k->nlaunch == WS__MAX_LAUNCHES)
            return ws__fail_at(l->ctx, WS_ELIMIT, &c->loc,
                               "more than %d launches", WS__MAX_LAUNCHES);
        WS_TRY(read_launch(l, c, k, &k->launch[k->nlaunch]));
        k->nlaunch++;
    }
    return check_outputs(l, list, k);
}
