/*
 * spec_space.c: parameters and constraints of a kernel.
 *
 * The values of a parameter are written out or made by a list expression,
 * which may use the constant axes. After this file every parameter has
 * distinct values of one type, a default among them, and the same values in
 * slot form; a constraint knows whether it can be tested from the
 * parameters alone.
 */
#include <ctype.h>

#include "spec/parts.h"

#include "base/banned.h"

#define MAX_VALUES 4096

static const char *const device_names[] = {
#define WS_X(name, text) text,
    WS__DEVICE_VARS(WS_X)
#undef WS_X
};

static int mixed(struct ws__load *l, const struct ws__node *n,
                 const struct ws__param *p)
{
    ws__node_fail(l->ctx, n, "values of parameter '%s' differ in type: '%s'",
                  p->name, n->text);
    return ws__hint(l->ctx, "all of them are numbers, bools or words");
}

/* Written values; whole numbers become floats beside a float. */
static int read_values(struct ws__load *l, const struct ws__node *list,
                       struct ws__param *p)
{
    bool any_float = false;
    size_t i = 0;

    p->value = ws__arena_alloc(l->arena, list->n, sizeof(*p->value));
    if (!p->value)
        return WS_ENOMEM;
    for (const struct ws__node *c = list->first; c; c = c->next)
        WS_TRY(ws__node_value(l->ctx, c, &p->value[i++]));
    p->nvalue = i;
    for (i = 0; i < p->nvalue; i++)
        any_float = any_float || p->value[i].type == WS__FLOAT;
    i = 0;
    for (const struct ws__node *c = list->first; c; c = c->next, i++) {
        struct ws__value *v = &p->value[i];

        if (any_float && v->type == WS__INT) {
            v->type = WS__FLOAT;
            v->u.f = (double)v->u.i;
        }
        if (v->type != p->value[0].type)
            return mixed(l, c, p);
    }
    return 0;
}

/* The constant axes and the constants, for list expressions. */
static int list_scope(struct ws__load *l, const struct ws__kernel *k,
                      struct ws__scope *scope, union wsrt_value *vars)
{
    memset(scope, 0, sizeof(*scope));
    scope->strings = k->scope.strings;
    scope->constant = k->op ? k->op->constant : NULL;
    scope->nconstant = k->op ? k->op->nconstant : 0;
    for (size_t i = 0; k->op && i < k->op->naxis; i++) {
        size_t slot;

        if (k->op->axis[i].kind != WS__AXIS_CONST)
            continue;
        WS_TRY(
            ws__scope_add(l->ctx, scope, k->op->axis[i].name, WS__INT, &slot));
        vars[slot].i = k->op->axis[i].value;
    }
    return 0;
}

static int make_values(struct ws__load *l, const struct ws__kernel *k,
                       const struct ws__node *n, struct ws__param *p)
{
    union wsrt_value vars[WS__MAX_SLOTS];
    struct ws__scope scope;

    memset(vars, 0, sizeof(vars));
    WS_TRY(list_scope(l, k, &scope, vars));
    return ws__expr_list(l->ctx, l->arena, n->text, &n->loc, &scope, vars,
                         MAX_VALUES, &p->value, &p->nvalue);
}

/* A text stands in a #define as it is: it must neither end that line, nor join
 * it with the next, nor begin a comment, nor ask for files. */
static const char *bad_part(const char *text)
{
    static const char *const parts[] = {"\\", "#",  "//", "/*",     "\"",
                                        "'",  "%:", "??", "__has_", "_Pragma"};

    for (const char *p = text; *p; p++)
        if ((*p & 0x80) || iscntrl((unsigned char)*p))
            return "a character beyond ASCII, or of control";
    for (size_t i = 0; i < WS_COUNT(parts); i++)
        if (strstr(text, parts[i]))
            return parts[i];
    return NULL;
}

static int check_texts(struct ws__load *l, const struct ws__node *n,
                       const struct ws__param *p)
{
    const struct ws__node *c = n->kind == WS__LIST ? n->first : NULL;

    for (size_t i = 0; i < p->nvalue; i++, c = c ? c->next : NULL) {
        const char *text = p->value[i].type == WS__STR ? p->value[i].u.s : "";
        const char *bad = bad_part(text);

        if (!bad)
            continue;
        ws__node_fail(l->ctx, c ? c : n,
                      "value %zu of parameter '%s' cannot be a macro: it has "
                      "%s%s%s",
                      i + 1, p->name, bad[0] == 'a' ? "" : "'", bad,
                      bad[0] == 'a' ? "" : "'");
        return ws__hint(l->ctx, "values are words, types or expressions, as "
                                "in half2, unsigned int, (x + 1)");
    }
    return 0;
}

/* Type and slots of the values; they must be distinct. */
static int finish_values(struct ws__load *l, const struct ws__node *n,
                         struct ws__strtab *t, struct ws__param *p)
{
    if (!p->nvalue) {
        ws__node_fail(l->ctx, n, "parameter '%s' has no values", p->name);
        return ws__hint(l->ctx, "give at least one");
    }
    if (p->nvalue > MAX_VALUES) {
        ws__node_fail(l->ctx, n, "parameter '%s' has %zu values", p->name,
                      p->nvalue);
        return ws__hint(l->ctx, "at most %d", MAX_VALUES);
    }
    WS_TRY(check_texts(l, n, p));
    p->type = p->value[0].type;
    p->slot = ws__arena_alloc(l->arena, p->nvalue, sizeof(*p->slot));
    if (!p->slot)
        return WS_ENOMEM;
    for (size_t i = 0; i < p->nvalue; i++) {
        WS_TRY(ws__value_slot(t, &p->value[i], &p->slot[i]));
        for (size_t j = 0; j < i; j++)
            if (ws__value_eq(&p->value[i], &p->value[j])) {
                ws__node_fail(l->ctx, n,
                              "values %zu and %zu of parameter '%s' are equal",
                              j + 1, i + 1, p->name);
                return ws__hint(l->ctx, "list each value once");
            }
    }
    return 0;
}

int ws__load_values(struct ws__load *l, const struct ws__kernel *k,
                    const struct ws__node *n, struct ws__param *p)
{
    if (n->kind == WS__SCALAR) {
        WS_TRY(ws__node_want(l->ctx, n, WS__SCALAR, "a list of values"));
        WS_TRY(make_values(l, k, n, p));
    } else {
        WS_TRY(ws__node_want(l->ctx, n, WS__LIST, "a list of values"));
        WS_TRY(read_values(l, n, p));
    }
    return finish_values(l, n, k->scope.strings, p);
}

static bool find_value(const struct ws__param *p, const struct ws__value *v,
                       size_t *at)
{
    for (*at = 0; *at < p->nvalue; ++*at)
        if (ws__value_eq(&p->value[*at], v))
            return true;
    return false;
}

bool ws__load_default(const struct ws__value *v, struct ws__param *p)
{
    size_t at;

    if (!find_value(p, v, &at))
        return false;
    p->dflt = p->dflt_of[0] = p->dflt_of[1] = at;
    return true;
}

static int read_one_default(struct ws__load *l, const struct ws__node *n,
                            struct ws__param *p, size_t *at)
{
    struct ws__value v;

    WS_TRY(ws__node_value(l->ctx, n, &v));
    if (find_value(p, &v, at))
        return 0;
    ws__node_fail(l->ctx, n,
                  "default %s of parameter '%s' is not among its values",
                  n->text, p->name);
    return ws__hint(l->ctx, "take one of 'values'");
}

/* A value, or {cpu: value, gpu: value}. */
static int read_default(struct ws__load *l, const struct ws__node *n,
                        struct ws__param *p)
{
    static const char *const kind[2] = {"gpu", "cpu"};

    if (n->kind == WS__MAP)
        WS_TRY(ws__node_keys(l->ctx, n, "cpu gpu", "a default"));
    for (int i = 0; i < 2; i++) {
        const struct ws__node *c = n;

        if (n->kind == WS__MAP)
            WS_TRY(ws__node_need(l->ctx, n, kind[i], "the default", &c));
        WS_TRY(read_one_default(l, c, p, &p->dflt_of[i]));
    }
    p->dflt = p->dflt_of[1];
    return 0;
}

static int read_param_map(struct ws__load *l, const struct ws__kernel *k,
                          const struct ws__node *n, struct ws__param *p)
{
    const struct ws__node *values, *c;

    WS_TRY(ws__node_keys(l->ctx, n, "values default about structural",
                         "a parameter"));
    WS_TRY(ws__node_need(l->ctx, n, "values", "the parameter", &values));
    WS_TRY(ws__load_values(l, k, values, p));
    if ((c = ws__node_get(n, "default")))
        WS_TRY(read_default(l, c, p));
    if ((c = ws__node_get(n, "about")))
        WS_TRY(ws__node_str(l->ctx, c, "a text", &p->about));
    if ((c = ws__node_get(n, "structural")))
        WS_TRY(ws__node_bool(l->ctx, c, "structural", &p->structural));
    return 0;
}

static int check_param_name(struct ws__load *l, const struct ws__kernel *k,
                            const struct ws__node *n)
{
    const char *by = k->op ? ws__op_name_taken(k->op, n->key) : NULL;

    WS_TRY(ws__node_variable(l->ctx, n->key, &n->key_loc, "a parameter", true));
    if (!by)
        return 0;
    ws__fail_at(l->ctx, WS_ESPEC, &n->key_loc, "the name '%s' is taken",
                n->key);
    return ws__hint(l->ctx, "op '%s' has %s of that name", k->op->name, by);
}

int ws__load_params(struct ws__load *l, const struct ws__node *map,
                    struct ws__kernel *k)
{
    WS_TRY(ws__node_want(l->ctx, map, WS__MAP, "a map of parameters"));
    for (const struct ws__node *c = map->first; c; c = c->next) {
        struct ws__param *p = &k->param[k->nparam];

        if (k->nparam == WS__MAX_PARAMS)
            return ws__fail_at(l->ctx, WS_ELIMIT, &c->key_loc,
                               "more than %d parameters", WS__MAX_PARAMS);
        WS_TRY(check_param_name(l, k, c));
        p->name = c->key;
        p->loc = c->key_loc;
        if (c->kind == WS__MAP) {
            WS_TRY(read_param_map(l, k, c, p));
        } else {
            WS_TRY(ws__node_want(l->ctx, c, WS__LIST,
                                 "a list of values or a map with 'values'"));
            WS_TRY(ws__load_values(l, k, c, p));
        }
        k->nparam++;
    }
    return 0;
}

int ws__load_kernel_scope(struct ws__load *l, struct ws__kernel *k,
                          struct ws__strtab *strings)
{
    memset(&k->scope, 0, sizeof(k->scope));
    k->scope.strings = strings;
    if (k->op) {
        ws__node_words(&k->scope);
        k->scope.constant = k->op->constant;
        k->scope.nconstant = k->op->nconstant;
    }
    for (size_t i = 0; k->op && i < k->op->naxis; i++)
        WS_TRY(ws__scope_add(l->ctx, &k->scope, k->op->axis[i].name, WS__INT,
                             NULL));
    for (size_t i = 0; i < k->nparam; i++)
        if (ws__scope_add(l->ctx, &k->scope, k->param[i].name, k->param[i].type,
                          NULL) < 0)
            return ws__error_locate(l->ctx, &k->param[i].loc);
    for (size_t i = 0; i < WS_COUNT(device_names); i++)
        WS_TRY(ws__scope_add(l->ctx, &k->scope, device_names[i],
                             i == WS__DV_IS_CPU ? WS__BOOL : WS__INT, NULL));
    return 0;
}

int ws__load_constraint(struct ws__load *l, const struct ws__node *text,
                        const char *about, bool prune, struct ws__kernel *k)
{
    struct ws__constraint *c = &k->constraint[k->nconstraint];
    size_t naxis = ws__kernel_param_slot(k, 0);

    c->about = about;
    c->prune = prune;
    /* A foreign space (no op) may test numbers for their truth. */
    WS_TRY(ws__node_expr(l->ctx, l->arena, text, &k->scope,
                         k->op ? WS__CONDITION : WS__BOOL, &c->expr));
    for (size_t i = 0; i < naxis; i++)
        c->needs_axes = c->needs_axes || ws__expr_uses(c->expr, i);
    for (int v = 0; v < WS__NDEVICE_VARS; v++)
        c->needs_device =
            c->needs_device ||
            ws__expr_uses(c->expr,
                          ws__kernel_device_slot(k, (enum ws__device_var)v));
    k->nconstraint++;
    return 0;
}

/* The defaults that an expression reads: "BM=32, TM=5". */
static int print_read(const struct ws__kernel *k, const struct ws__expr *e,
                      struct ws__buf *b)
{
    for (size_t i = 0; i < k->nparam; i++) {
        const struct ws__param *p = &k->param[i];

        if (!ws__expr_uses(e, ws__kernel_param_slot(k, i)))
            continue;
        ws__buf_printf(b, "%s%s=", b->len ? ", " : "", p->name);
        WS_TRY(ws__value_print(b, &p->value[p->dflt]));
    }
    return b->failed;
}

static int broken_default(struct ws__load *l, const struct ws__kernel *k,
                          const struct ws__expr *e)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, l->ctx, 1 << 16);
    rc = print_read(k, e, &b);
    if (rc >= 0) {
        rc = ws__fail_at(l->ctx, WS_ESPEC, &e->loc,
                         "the default values break '%s'%s%s", e->text,
                         b.len ? ": " : "", b.len ? b.data : "");
        ws__hint(l->ctx, b.len ? "give a 'default' that all constraints allow"
                               : "no config can keep it");
    }
    ws__buf_free(&b);
    return rc;
}

static int check_default(struct ws__load *l, const struct ws__kernel *k)
{
    union wsrt_value vars[WS__MAX_SLOTS], v;
    struct ws__config c;

    memset(vars, 0, sizeof(vars));
    ws__config_default(k, &c);
    ws__config_vars(k, &c, vars);
    for (size_t i = 0; i < k->nconstraint; i++) {
        const struct ws__constraint *s = &k->constraint[i];

        if (s->needs_axes || s->needs_device)
            continue;
        if (ws__expr_eval(l->ctx, s->expr, vars, &v) < 0)
            return ws__error_prefix(l->ctx, "the default values");
        if (!v.i)
            return broken_default(l, k, s->expr);
    }
    return 0;
}

int ws__load_check_default(struct ws__load *l, struct ws__kernel *k)
{
    for (int cpu = 0; cpu < 2; cpu++) {
        ws__kernel_bind(k, cpu);
        WS_TRY(check_default(l, k));
    }
    return 0;
}

/* {require: C} or {prune: C}. */
static int read_constraint(struct ws__load *l, const struct ws__node *c,
                           const struct ws__node **text, bool *prune)
{
    const struct ws__node *both = ws__node_get(c, "require");

    WS_TRY(ws__node_keys(l->ctx, c, "require prune about", "a constraint"));
    *text = ws__node_get(c, "prune");
    *prune = *text;
    if (*text && both) {
        ws__node_fail(l->ctx, *text,
                      "a constraint cannot both require and "
                      "prune");
        return ws__hint(l->ctx, "'require' says what can run, 'prune' what is "
                                "worth trying: make two of it");
    }
    return *text ? 0
                 : ws__node_need(l->ctx, c, "require", "the constraint", text);
}

int ws__load_constraints(struct ws__load *l, const struct ws__node *list,
                         struct ws__kernel *k)
{
    WS_TRY(ws__node_want(l->ctx, list, WS__LIST, "a list of constraints"));
    k->constraint = ws__arena_alloc(l->arena, list->n, sizeof(*k->constraint));
    if (!k->constraint)
        return WS_ENOMEM;
    for (const struct ws__node *c = list->first; c; c = c->next) {
        const struct ws__node *text = c, *about = NULL;
        const char *words = NULL;
        bool prune = false;

        if (c->kind == WS__MAP) {
            WS_TRY(read_constraint(l, c, &text, &prune));
            about = ws__node_get(c, "about");
        }
        if (about)
            WS_TRY(ws__node_str(l->ctx, about, "a text", &words));
        WS_TRY(ws__load_constraint(l, text, words, prune, k));
    }
    return 0;
}
