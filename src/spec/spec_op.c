/*
 * spec_op.c: op files to struct ws__op.
 *
 * Axes come first because everything else is written in them. Tensors are
 * stored inputs, inouts, outputs, whatever the order of the keys in the
 * file. Names of axes, constants and tensors share one name space with
 * parameters and scratch buffers of kernels: a name means one thing in an
 * expression, a launch and device code.
 */
#include <float.h>
#include <math.h>

#include "spec/parts.h"

#include "base/banned.h"

#define OP_KEYS                                                                \
    "op about axes constants inputs inouts outputs require reference "         \
    "tolerance values floor cache workloads definitions"
/* OpenCL devices keep at least this for every buffer, and none needs more. */
#define MAX_ALIGN 128
/* A constant is the same number as a double. */
#define MAX_WHOLE ((int64_t)1 << 53)
#define DTYPE_WORDS                                                            \
    "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 int64 int32 "  \
    "int16 int8 uint8 bool"

static int read_dtype(struct ws__load *l, const struct ws__node *n,
                      enum ws__dtype *out)
{
    int word;

    WS_TRY(ws__node_word(l->ctx, n, "an element type", DTYPE_WORDS, &word));
    *out = ws__dtype_parse(n->text);
    return 0;
}

static int read_types(struct ws__load *l, const struct ws__node *n,
                      struct ws__axis *a)
{
    enum ws__dtype *types;

    WS_TRY(ws__node_want(l->ctx, n, WS__LIST, "a list of element types"));
    if (!n->n) {
        ws__node_fail(l->ctx, n, "axis '%s' has no types", a->name);
        return ws__hint(l->ctx, "list at least one, the default first");
    }
    types = ws__arena_alloc(l->arena, n->n, sizeof(*types));
    if (!types)
        return WS_ENOMEM;
    for (const struct ws__node *c = n->first; c; c = c->next) {
        WS_TRY(read_dtype(l, c, &types[a->ntypes]));
        for (size_t i = 0; i < a->ntypes; i++)
            if (types[i] == types[a->ntypes])
                return ws__node_fail(l->ctx, c, "type '%s' stands here twice",
                                     c->text);
        a->ntypes++;
    }
    a->kind = WS__AXIS_TYPE;
    a->types = types;
    a->value = types[0];
    return 0;
}

/* counts: nonzero, max, or {blocks: 16} */
static int read_counts(struct ws__load *l, const struct ws__node *n,
                       struct ws__axis *a)
{
    const struct ws__node *blocks;
    int word;

    if (n->kind == WS__SCALAR) {
        WS_TRY(
            ws__node_word(l->ctx, n, "a fact of counts", "nonzero max", &word));
        a->counts = word ? WS__COUNTS_MAX : WS__COUNTS_NONZERO;
        return 0;
    }
    WS_TRY(ws__node_keys(l->ctx, n, "blocks", "a fact of counts"));
    WS_TRY(ws__node_need(l->ctx, n, "blocks", "a fact of counts", &blocks));
    a->counts = WS__COUNTS_BLOCKS;
    return ws__node_int(l->ctx, blocks, "a block", 1, 1 << 20,
                        &a->counts_block);
}

static int read_axis_map(struct ws__load *l, const struct ws__node *n,
                         struct ws__axis *a)
{
    const struct ws__node *range, *types, *value, *about, *counts;

    WS_TRY(
        ws__node_keys(l->ctx, n, "about range types value counts", "an axis"));
    counts = ws__node_get(n, "counts");
    range = ws__node_get(n, "range");
    types = ws__node_get(n, "types");
    value = ws__node_get(n, "value");
    about = ws__node_get(n, "about");
    if (about)
        WS_TRY(ws__node_str(l->ctx, about, "a text", &a->about));
    if ((types != NULL) + (value != NULL) + (counts || range) > 1) {
        ws__node_fail(l->ctx, n, "axis '%s' is of several kinds", a->name);
        return ws__hint(l->ctx, "give one of 'range', 'types' and 'value'");
    }
    if (counts)
        WS_TRY(read_counts(l, counts, a));
    if (types)
        return read_types(l, types, a);
    if (range)
        return ws__node_range(l->ctx, range, "the range of an axis", &a->lo,
                              &a->hi);
    if (value) {
        a->kind = WS__AXIS_CONST;
        return ws__node_int(l->ctx, value, "the value of an axis", INT64_MIN,
                            INT64_MAX, &a->value);
    }
    return 0;
}

static int read_axis(struct ws__load *l, const struct ws__node *n,
                     struct ws__axis *a)
{
    a->name = n->key;
    a->loc = n->key_loc;
    WS_TRY(ws__node_variable(l->ctx, n->key, &n->key_loc, "an axis", true));
    if (!strcmp(n->key, "name") || !strcmp(n->key, "about") ||
        !strcmp(n->key, "weight") || !strcmp(n->key, "axes") ||
        !strcmp(n->key, "inputs")) {
        ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc, "'%s' cannot name an axis",
                    n->key);
        return ws__hint(l->ctx, "it is a key of workloads; take another");
    }
    if (n->kind == WS__MAP)
        return read_axis_map(l, n, a);
    WS_TRY(ws__node_want(l->ctx, n, WS__SCALAR, "var, a number or a map"));
    if (!strcmp(n->text, "var"))
        return 0;
    a->kind = WS__AXIS_CONST;
    if (n->quoted ||
        strspn(n->text, "+-0123456789xXabcdefABCDEF") != strlen(n->text)) {
        ws__node_fail(l->ctx, n, "axis '%s' cannot be '%s'", a->name, n->text);
        return ws__hint(l->ctx,
                        "write var, a whole number, {range: [lo, hi]} or "
                        "{types: [...]}");
    }
    return ws__node_int(l->ctx, n, "the value of an axis", INT64_MIN, INT64_MAX,
                        &a->value);
}

static int read_axes(struct ws__load *l, const struct ws__node *n,
                     struct ws__op *op)
{
    WS_TRY(ws__node_want(l->ctx, n, WS__MAP, "a map of axes"));
    if (!n->n)
        return ws__node_fail(l->ctx, n, "the op has no axes");
    for (const struct ws__node *c = n->first; c; c = c->next) {
        if (op->naxis == WS__MAX_AXES)
            return ws__fail_at(l->ctx, WS_ELIMIT, &c->key_loc,
                               "more than %d axes", WS__MAX_AXES);
        WS_TRY(read_axis(l, c, &op->axis[op->naxis]));
        op->naxis++;
    }
    return 0;
}

static int taken(struct ws__load *l, const struct ws__node *n,
                 const struct ws__op *op)
{
    const char *by = ws__op_name_taken(op, n->key);

    if (!by)
        return 0;
    ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc, "the name '%s' is taken",
                n->key);
    return ws__hint(l->ctx, "%s of the op has it already", by);
}

static int read_number(struct ws__load *l, const struct ws__node *n,
                       struct ws__value *v)
{
    WS_TRY(ws__node_want(l->ctx, n, WS__SCALAR, "a number such as 1e-5"));
    WS_TRY(ws__node_value(l->ctx, n, v));
    if (v->type != WS__INT && v->type != WS__FLOAT) {
        ws__node_fail(l->ctx, n, "constant '%s' is no number: '%s'", n->key,
                      n->text);
        return ws__hint(l->ctx, n->quoted
                                    ? "leave out the quotes"
                                    : "write a number such as 128 or 1e-5");
    }
    if (v->type == WS__INT && (v->u.i > MAX_WHOLE || v->u.i < -MAX_WHOLE)) {
        ws__node_fail(l->ctx, n, "constant '%s' cannot be %s", n->key, n->text);
        return ws__hint(l->ctx, "whole numbers lie within 2^53");
    }
    if (v->type == WS__FLOAT && v->u.f != 0 &&
        (fabs(v->u.f) > FLT_MAX || fabs(v->u.f) < FLT_MIN)) {
        ws__node_fail(l->ctx, n, "constant '%s' cannot be %s", n->key, n->text);
        return ws__hint(l->ctx, "device code has it as float32: 0, or between "
                                "1.2e-38 and 3.4e38");
    }
    return 0;
}

/* Kept by name: their order in the file means nothing. */
static int read_constants(struct ws__load *l, const struct ws__node *n,
                          struct ws__op *op)
{
    WS_TRY(ws__node_want(l->ctx, n, WS__MAP, "a map {NAME: number}"));
    for (const struct ws__node *c = n->first; c; c = c->next) {
        struct ws__constant k = {.name = c->key, .loc = c->key_loc};
        size_t at = op->nconstant;

        if (at == WS__MAX_CONSTANTS)
            return ws__fail_at(l->ctx, WS_ELIMIT, &c->key_loc,
                               "more than %d constants", WS__MAX_CONSTANTS);
        WS_TRY(
            ws__node_variable(l->ctx, c->key, &c->key_loc, "a constant", true));
        WS_TRY(taken(l, c, op));
        WS_TRY(read_number(l, c, &k.value));
        for (; at > 0 && strcmp(op->constant[at - 1].name, k.name) > 0; at--)
            op->constant[at] = op->constant[at - 1];
        op->constant[at] = k;
        op->nconstant++;
    }
    return 0;
}

int ws__load_op_scope(struct ws__load *l, struct ws__op *op,
                      struct ws__scope *out)
{
    memset(out, 0, sizeof(*out));
    out->strings = &op->strings;
    ws__node_words(out);
    out->constant = op->constant;
    out->nconstant = op->nconstant;
    for (size_t i = 0; i < op->naxis; i++)
        WS_TRY(ws__scope_add(l->ctx, out, op->axis[i].name, WS__INT, NULL));
    return 0;
}

static int read_fill_pair(struct ws__load *l, const struct ws__node *n,
                          struct ws__fill *f)
{
    WS_TRY(ws__node_want(l->ctx, n, WS__LIST, "a list of two numbers"));
    if (n->n != 2) {
        ws__node_fail(l->ctx, n, "'%s' has %zu numbers, not 2", n->key, n->n);
        return ws__hint(l->ctx, "normal: [mean, deviation], uniform and "
                                "integers: [lowest, highest]");
    }
    WS_TRY(ws__node_float(l->ctx, n->first, "a fill's number", &f->a));
    WS_TRY(ws__node_float(l->ctx, n->last, "a fill's number", &f->b));
    if (f->kind == WS__FILL_NORMAL ? f->b >= 0 : f->a <= f->b)
        return 0;
    ws__node_fail(l->ctx, n, "'%s' cannot be [%g, %g]", n->key, f->a, f->b);
    return ws__hint(l->ctx, f->kind == WS__FILL_NORMAL
                                ? "a deviation is not negative"
                                : "write [lowest, highest]");
}

int ws__load_fill(struct ws__load *l, const struct ws__node *n,
                  struct ws__fill *f)
{
    const struct ws__node *c;
    int word;

    if (n->kind == WS__SCALAR) {
        WS_TRY(ws__node_word(l->ctx, n, "a fill without numbers",
                             "normal native", &word));
        *f = (struct ws__fill){word ? WS__FILL_NATIVE : WS__FILL_NORMAL, 0, 1};
        return 0;
    }
    WS_TRY(
        ws__node_keys(l->ctx, n, "normal uniform integers constant", "a fill"));
    if (n->n != 1) {
        ws__node_fail(l->ctx, n, "a fill has one key, not %zu", n->n);
        return ws__hint(l->ctx, "such as {uniform: [0, 1]}");
    }
    c = n->first;
    if (!strcmp(c->key, "constant")) {
        f->kind = WS__FILL_CONSTANT;
        return ws__node_float(l->ctx, c, "a constant fill", &f->a);
    }
    f->kind = !strcmp(c->key, "normal")    ? WS__FILL_NORMAL
              : !strcmp(c->key, "uniform") ? WS__FILL_UNIFORM
                                           : WS__FILL_INTEGERS;
    WS_TRY(read_fill_pair(l, c, f));
    if (f->kind == WS__FILL_INTEGERS &&
        (f->a != floor(f->a) || f->b != floor(f->b))) {
        ws__node_fail(l->ctx, c, "'integers' wants whole numbers");
        return ws__hint(l->ctx,
                        "for others write {uniform: [lowest, highest]}");
    }
    return 0;
}

static int read_tensor_type(struct ws__load *l, const struct ws__op *op,
                            const struct ws__node *n, struct ws__tensor *t)
{
    int axis;

    WS_TRY(ws__node_want(l->ctx, n, WS__SCALAR, "an element type"));
    axis = ws__op_axis(op, n->text);
    if (axis < 0)
        return read_dtype(l, n, &t->dtype);
    if (op->axis[axis].kind != WS__AXIS_TYPE) {
        ws__node_fail(l->ctx, n, "axis '%s' is no type", n->text);
        return ws__hint(l->ctx, "a type axis has {types: [...]}");
    }
    t->type_axis = axis;
    return 0;
}

static int read_exprs(struct ws__load *l, const struct ws__node *n,
                      const struct ws__scope *scope, const char *what,
                      size_t want, struct ws__expr **out)
{
    size_t i = 0;

    WS_TRY(ws__node_want(l->ctx, n, WS__LIST, "a list of expressions"));
    if (n->n > WS__MAX_DIMS)
        return ws__fail_at(l->ctx, WS_ELIMIT, &n->loc,
                           "%s has %zu dimensions, more than %d", what, n->n,
                           WS__MAX_DIMS);
    if (want && n->n != want) {
        ws__node_fail(l->ctx, n, "%s has %zu entries", what, n->n);
        return ws__hint(l->ctx, "one for each of the %zu dimensions", want);
    }
    for (const struct ws__node *c = n->first; c; c = c->next)
        WS_TRY(ws__node_expr(l->ctx, l->arena, c, scope, WS__INT, &out[i++]));
    return 0;
}

static int read_tensor_shape(struct ws__load *l, const struct ws__node *n,
                             const struct ws__scope *scope,
                             struct ws__tensor *t)
{
    const struct ws__node *shape = ws__node_get(n, "shape");
    const struct ws__node *strides = ws__node_get(n, "strides");

    if (!shape && t->role != WS__INPUT) {
        ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc, "'%s' has no shape",
                    t->name);
        return ws__hint(l->ctx, "only inputs may be scalars");
    }
    if (shape) {
        WS_TRY(read_exprs(l, shape, scope, "a shape", 0, t->dim));
        t->ndim = shape->n;
        if (!t->ndim) {
            ws__node_fail(l->ctx, shape, "the shape of '%s' is empty", t->name);
            return ws__hint(l->ctx, "leave 'shape' out for a scalar, or "
                                    "write [1]");
        }
    }
    if (!strides)
        return 0;
    if (!t->ndim)
        return ws__node_fail(l->ctx, strides, "a scalar has no strides");
    return read_exprs(l, strides, scope, "'strides'", t->ndim, t->stride);
}

static int read_tensor(struct ws__load *l, const struct ws__node *n,
                       const struct ws__op *op, const struct ws__scope *scope,
                       struct ws__tensor *t)
{
    const struct ws__node *c;
    int64_t align = 1;

    WS_TRY(ws__node_keys(l->ctx, n,
                         "shape strides dtype fill align infinite about",
                         "a tensor"));
    WS_TRY(ws__node_need(l->ctx, n, "dtype", "the tensor", &c));
    WS_TRY(read_tensor_type(l, op, c, t));
    WS_TRY(read_tensor_shape(l, n, scope, t));
    t->fill = (struct ws__fill){WS__FILL_NORMAL, 0, 1};
    if ((c = ws__node_get(n, "fill"))) {
        if (t->role == WS__OUTPUT) {
            ws__fail_at(l->ctx, WS_ESPEC, &c->key_loc, "output '%s' has a fill",
                        t->name);
            return ws__hint(l->ctx, "only inputs and inouts are filled");
        }
        WS_TRY(ws__load_fill(l, c, &t->fill));
    }
    if ((c = ws__node_get(n, "align"))) {
        WS_TRY(ws__node_int(l->ctx, c, "an alignment", 1, MAX_ALIGN, &align));
        if (align & (align - 1)) {
            ws__node_fail(l->ctx, c, "alignment %s is no power of two",
                          c->text);
            return ws__hint(l->ctx, "such as 16 or 64, in bytes");
        }
    }
    t->align = (uint32_t)align;
    if ((c = ws__node_get(n, "infinite"))) {
        if (t->role == WS__INPUT) {
            ws__fail_at(l->ctx, WS_ESPEC, &c->key_loc,
                        "input '%s' has a word on results", t->name);
            return ws__hint(l->ctx, "'infinite' is for outputs and inouts");
        }
        WS_TRY(ws__node_bool(l->ctx, c, "'infinite'", &t->infinite));
    }
    if ((c = ws__node_get(n, "about")))
        WS_TRY(ws__node_str(l->ctx, c, "a text", &t->about));
    return 0;
}

static int read_tensors(struct ws__load *l, const struct ws__node *root,
                        const char *key, enum ws__role role,
                        const struct ws__scope *scope, struct ws__op *op)
{
    const struct ws__node *n = ws__node_get(root, key);

    if (!n)
        return 0;
    WS_TRY(ws__node_want(l->ctx, n, WS__MAP, "a map of tensors"));
    for (const struct ws__node *c = n->first; c; c = c->next) {
        struct ws__tensor *t = &op->tensor[op->ntensor];

        if (op->ntensor == WS__MAX_TENSORS)
            return ws__fail_at(l->ctx, WS_ELIMIT, &c->key_loc,
                               "more than %d tensors", WS__MAX_TENSORS);
        WS_TRY(
            ws__node_variable(l->ctx, c->key, &c->key_loc, "a tensor", true));
        WS_TRY(taken(l, c, op));
        t->name = c->key;
        t->loc = c->key_loc;
        t->role = role;
        t->type_axis = -1;
        WS_TRY(read_tensor(l, c, op, scope, t));
        op->ntensor++;
    }
    return 0;
}

static int read_require(struct ws__load *l, const struct ws__node *n,
                        const struct ws__scope *scope, struct ws__op *op)
{
    WS_TRY(ws__node_want(l->ctx, n, WS__LIST, "a list of conditions"));
    op->require = ws__arena_alloc(l->arena, n->n, sizeof(struct ws__expr *));
    if (!op->require)
        return WS_ENOMEM;
    for (const struct ws__node *c = n->first; c; c = c->next) {
        WS_TRY(ws__node_expr(l->ctx, l->arena, c, scope, WS__CONDITION,
                             &op->require[op->nrequire]));
        op->nrequire++;
    }
    return 0;
}

static int read_limits(struct ws__load *l, const struct ws__node *n,
                       struct ws__tolerance *t)
{
    static const char *const keys[] = {"atol", "rtol", "ratio"};
    double *const to[] = {&t->atol, &t->rtol, &t->ratio};

    for (size_t i = 0; i < WS_COUNT(keys); i++) {
        const struct ws__node *c = ws__node_get(n, keys[i]);

        if (!c)
            continue;
        WS_TRY(ws__node_float(l->ctx, c, keys[i], to[i]));
        if (*to[i] < 0 || (i == 2 && (*to[i] <= 0 || *to[i] > 1))) {
            ws__node_fail(l->ctx, c, "%s cannot be %s", keys[i], c->text);
            return ws__hint(l->ctx, i == 2 ? "it is above 0, at most 1"
                                           : "it is not negative");
        }
    }
    return 0;
}

/* A rule of another project: its numbers, over which others may be given. */
static int read_rule(struct ws__load *l, const struct ws__node *n,
                     const struct ws__node *rule, struct ws__tolerance *t)
{
    const struct ws__node *ratio = ws__node_get(n, "ratio");
    int word;

    WS_TRY(ws__node_word(l->ctx, rule, "a rule", WS__RULES, &word));
    *t = ws__tolerance_named(word);
    if (t->kind == WS__TOL_EXPLICIT && ratio) {
        ws__fail_at(l->ctx, WS_ESPEC, &ratio->key_loc, "'%s' has no ratio",
                    t->rule);
        return ws__hint(l->ctx, "there every element counts; for a share of "
                                "them give atol, rtol and ratio without rule");
    }
    return read_limits(l, n, t);
}

static int read_tolerance(struct ws__load *l, const struct ws__node *n,
                          const struct ws__scope *scope,
                          struct ws__tolerance *t)
{
    const struct ws__node *reduction, *accumulate, *rule;

    WS_TRY(ws__node_keys(l->ctx, n, "reduction accumulate atol rtol ratio rule",
                         "a tolerance"));
    reduction = ws__node_get(n, "reduction");
    accumulate = ws__node_get(n, "accumulate");
    rule = ws__node_get(n, "rule");
    if (rule || ws__node_get(n, "atol") || ws__node_get(n, "rtol") ||
        ws__node_get(n, "ratio")) {
        if (reduction || accumulate) {
            ws__node_fail(l->ctx, n, "a tolerance is of two kinds");
            return ws__hint(l->ctx, "give either reduction and accumulate, "
                                    "or atol, rtol and ratio, or a rule");
        }
        if (rule)
            return read_rule(l, n, rule, t);
        t->kind = WS__TOL_EXPLICIT;
        t->ratio = 1;
        return read_limits(l, n, t);
    }
    if (reduction)
        WS_TRY(ws__node_expr(l->ctx, l->arena, reduction, scope, WS__INT,
                             &t->reduction));
    if (accumulate)
        WS_TRY(read_dtype(l, accumulate, &t->accumulate));
    return 0;
}

#define FAMILY_WORD(name, key, text) " " key
#define FAMILY_WORDS WS__FAMILY_MAP(FAMILY_WORD)

/* "why not", or {finite: why errors are not judged} */
static int read_refusal(struct ws__load *l, const struct ws__node *n,
                        struct ws__op *op, enum ws__family f)
{
    const struct ws__node *why = n;

    if (n->kind == WS__MAP) {
        WS_TRY(ws__node_keys(l->ctx, n, "finite", "a family of values"));
        WS_TRY(ws__node_need(l->ctx, n, "finite", "a family of values", &why));
        op->finite[f] = true;
    }
    return ws__node_printable(l->ctx, why, "why the op takes no such values",
                              &op->refused[f]);
}

/* values: {huge: why not}: families that the op does not take. */
static int read_values(struct ws__load *l, const struct ws__node *n,
                       struct ws__op *op)
{
    WS_TRY(ws__node_keys(l->ctx, n, &FAMILY_WORDS[1], "values"));
    for (const struct ws__node *c = n->first; c; c = c->next) {
        enum ws__family f = ws__family_parse(c->key);

        if (f == WS__FAMILY_PLAIN) {
            ws__fail_at(l->ctx, WS_ESPEC, &c->key_loc,
                        "'plain' values cannot be refused");
            return ws__hint(l->ctx, "they are what the op's own fills make: "
                                    "change those");
        }
        WS_TRY(read_refusal(l, c, op, f));
    }
    return 0;
}

static int no_tensor(struct ws__load *l, const struct ws__loc *loc,
                     const char *name, const char *hint)
{
    ws__fail_at(l->ctx, WS_ESPEC, loc, "no such tensor: '%s'", name);
    return ws__hint(l->ctx, "%s", hint);
}

/* {k_cache: kv_indices}: rows of an input that another input names. */
static int read_touched(struct ws__load *l, const struct ws__node *n,
                        struct ws__op *op)
{
    WS_TRY(ws__node_want(l->ctx, n, WS__MAP, "a map {TENSOR: INDEX}"));
    for (const struct ws__node *c = n->first; c; c = c->next) {
        const struct ws__tensor *t, *x;
        const char *index;
        int to, from;

        WS_TRY(ws__node_printable(l->ctx, c, "the input with the rows' numbers",
                                  &index));
        to = ws__op_tensor(op, c->key);
        from = ws__op_tensor(op, index);
        if (to < 0)
            return no_tensor(l, &c->key_loc, c->key, "name an input");
        if (from < 0)
            return no_tensor(l, &c->loc, index,
                             "name an input of int32 or "
                             "int64");
        t = &op->tensor[to];
        x = &op->tensor[from];
        if (t->role != WS__INPUT || !t->ndim) {
            ws__fail_at(l->ctx, WS_ESPEC, &c->key_loc,
                        "'%s' is no input with rows", c->key);
            return ws__hint(l->ctx, "only inputs are touched in part");
        }
        if (x->role != WS__INPUT || !x->ndim ||
            (x->dtype != WS__DT_I32 && x->dtype != WS__DT_I64)) {
            ws__fail_at(l->ctx, WS_ESPEC, &c->loc,
                        "'%s' cannot name rows of '%s'", index, c->key);
            return ws__hint(l->ctx, "name an input of int32 or int64");
        }
        op->touched[to] = (uint8_t)(from + 1);
    }
    return 0;
}

static int read_floor(struct ws__load *l, const struct ws__node *n,
                      const struct ws__scope *scope, struct ws__op *op)
{
    const struct ws__node *c;
    int word;

    WS_TRY(ws__node_keys(l->ctx, n, "flops bytes unit touched", "a floor"));
    if ((c = ws__node_get(n, "unit"))) {
        WS_TRY(ws__node_word(l->ctx, c, "a unit", "tensor vector", &word));
        op->unit = word ? WS__UNIT_VECTOR : WS__UNIT_TENSOR;
    }
    if ((c = ws__node_get(n, "touched")))
        WS_TRY(read_touched(l, c, op));
    if ((c = ws__node_get(n, "flops")))
        WS_TRY(
            ws__node_expr(l->ctx, l->arena, c, scope, WS__FLOAT, &op->flops));
    if ((c = ws__node_get(n, "bytes")))
        WS_TRY(
            ws__node_expr(l->ctx, l->arena, c, scope, WS__FLOAT, &op->bytes));
    return 0;
}

static int read_tail(struct ws__load *l, const struct ws__node *root,
                     const struct ws__scope *scope, struct ws__op *op)
{
    const struct ws__node *n;
    int word;

    if ((n = ws__node_get(root, "require")))
        WS_TRY(read_require(l, n, scope, op));
    if ((n = ws__node_get(root, "reference")))
        WS_TRY(ws__load_reference(l, n, op));
    op->tolerance.accumulate = WS__DT_F32;
    if ((n = ws__node_get(root, "tolerance")))
        WS_TRY(read_tolerance(l, n, scope, &op->tolerance));
    if ((n = ws__node_get(root, "values")))
        WS_TRY(read_values(l, n, op));
    if ((n = ws__node_get(root, "floor")))
        WS_TRY(read_floor(l, n, scope, op));
    if ((n = ws__node_get(root, "cache"))) {
        WS_TRY(ws__node_word(l->ctx, n, "a cache mode", "cold warm", &word));
        op->cache = word ? WS__CACHE_WARM : WS__CACHE_COLD;
    }
    return 0;
}

static int check_tensors(struct ws__load *l, const struct ws__node *root,
                         const struct ws__op *op)
{
    for (size_t i = 0; i < op->ntensor; i++)
        if (op->tensor[i].role != WS__INPUT)
            return 0;
    ws__node_fail(l->ctx, root, "op '%s' has no outputs", op->name);
    return ws__hint(l->ctx, "add a map 'outputs' or 'inouts'");
}

/* What it declares is read where a Definition looks for its op; here only
 * whether it can be. */
static int check_definitions(struct ws__load *l, const struct ws__node *root,
                             const struct ws__node *n)
{
    const struct ws__node *constants = ws__node_get(root, "constants");

    WS_TRY(ws__node_want(l->ctx, n, WS__MAP, "a map {DEFINITION: {}}"));
    for (const struct ws__node *c = n->first; c; c = c->next) {
        WS_TRY(ws__node_want(l->ctx, c, WS__MAP, "a map of constants"));
        for (const struct ws__node *k = c->first; k; k = k->next)
            if (!constants || !ws__node_get(constants, k->key)) {
                ws__fail_at(l->ctx, WS_ESPEC, &k->key_loc,
                            "the op has no constant '%s'", k->key);
                return ws__hint(l->ctx, "add it to 'constants' of the op");
            }
    }
    return 0;
}

int ws__load_op(struct ws__load *l, const struct ws__node *root,
                const char *file, const char *dir, struct ws__op **out)
{
    struct ws__op *op = ws__arena_alloc(l->arena, 1, sizeof(*op));
    struct ws__scope scope;
    const struct ws__node *n;

    if (!op)
        return WS_ENOMEM;
    op->file = file;
    op->dir = dir;
    op->strings.arena = l->arena;
    WS_TRY(ws__node_keys(l->ctx, root, OP_KEYS, "an op"));
    WS_TRY(ws__node_need(l->ctx, root, "op", "the op file", &n));
    WS_TRY(ws__node_str(l->ctx, n, "a name", &op->name));
    WS_TRY(ws__node_title(l->ctx, op->name, &n->loc, "an op"));
    if ((n = ws__node_get(root, "about")))
        WS_TRY(ws__node_str(l->ctx, n, "a text", &op->about));
    WS_TRY(ws__node_need(l->ctx, root, "axes", "the op file", &n));
    WS_TRY(read_axes(l, n, op));
    if ((n = ws__node_get(root, "constants")))
        WS_TRY(read_constants(l, n, op));
    WS_TRY(ws__load_op_scope(l, op, &scope));
    WS_TRY(read_tensors(l, root, "inputs", WS__INPUT, &scope, op));
    WS_TRY(read_tensors(l, root, "inouts", WS__INOUT, &scope, op));
    WS_TRY(read_tensors(l, root, "outputs", WS__OUTPUT, &scope, op));
    WS_TRY(check_tensors(l, root, op));
    if ((n = ws__node_get(root, "definitions")))
        WS_TRY(check_definitions(l, root, n));
    WS_TRY(read_tail(l, root, &scope, op));
    op->hash = ws__op_meaning(op);
    *out = op;
    return 0;
}
