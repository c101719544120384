/*
 * xform_streaming.c: loads and stores of what is touched once do not stay in
 * the caches (__ldcs, __stcs), so that other data can.
 *
 * It changes no value; that an element is touched once is looked for because it
 * would not pay otherwise: the array has one access, neighbouring threads touch
 * neighbouring elements, blocks other ones, and each loop around it counts in
 * its index.
 */
#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_ACCESSES 96

static const char *const findings[] = {"dram", "near_memory_floor",
                                       "mostly_dram", "waste", NULL};
static const struct ws__xform_delta deltas[] = {{"l2_hit", 1, 1.5},
                                                {"waste", 0.8, 1},
                                                {NULL, 0, 0}};

static bool is_step(const struct ws__affine *at, int32_t sym)
{
    struct ws__affine x;

    return ws__affine_part(at, sym, &x) && ws__affine_is(&x, 1);
}

/* Which of the launch's dimensions a sum has: bit d blocks, bit 3 + d threads.
 */
static unsigned dims_of(const struct ws__affine *at)
{
    unsigned mask = 0;

    for (int d = 0; d < 3; d++) {
        if (ws__affine_uses(at, WS__SYM(WS__AL_BLOCK, d)))
            mask |= 1u << d;
        if (ws__affine_uses(at, WS__SYM(WS__AL_THREAD, d)))
            mask |= 1u << (3 + d);
    }
    return mask;
}

static bool is_one(const struct ws__expr *e)
{
    return !e || !strcmp(e->text, "1");
}

static unsigned dims_needed(const struct ws__launch *l)
{
    unsigned mask = 0;

    for (int d = 0; d < 3; d++) {
        if (!is_one(l->grid[d]))
            mask |= 1u << d;
        if (!is_one(l->block[d]))
            mask |= 1u << (3 + d);
    }
    return mask;
}

/* Do neighbours in x touch neighbours, directly or by where a loop begins, and
 * all others something else? */
static bool is_dense(const struct ws__xform_in *in, const struct ws__access *a)
{
    const struct ws__ast *t = in->ast;
    bool dense = is_step(&a->at, WS__SYM(WS__AL_THREAD, 0));
    unsigned need = dims_needed(&in->kernel->launch[in->launch]);
    unsigned mask = dims_of(&a->at);

    for (int32_t i = a->node; i > in->body; i = t->node[i].parent) {
        struct ws__affine from;
        struct ws__ast_for f;

        if (t->node[i].kind == WS__AST_WHILE || t->node[i].kind == WS__AST_DO)
            return false;
        if (t->node[i].kind != WS__AST_FOR)
            continue;
        ws__ast_for(t, i, &f);
        if (!f.counts || !ws__affine_uses(&a->at, f.var))
            return false;
        if (ws__affine_of(t, f.from, &from)) {
            mask |= dims_of(&from);
            dense = dense || (is_step(&a->at, f.var) &&
                              is_step(&from, WS__SYM(WS__AL_THREAD, 0)));
        }
    }
    return dense && (mask & need) == need;
}

static bool is_type(const struct ws__ast_type *y)
{
    return (y->class == WS__AT_FLOAT || y->class == WS__AT_INT) &&
           (y->bits == 32 || (y->bits == 64 && y->class == WS__AT_FLOAT)) &&
           (y->width == 1 || y->width == 2 || y->width == 4) &&
           y->bits * y->width <= 128;
}

/* A store as a statement: y[i] = v; */
static bool is_store(const struct ws__ast *t, const struct ws__access *a)
{
    int32_t p = t->node[a->node].parent;
    struct ws__ast_for f;

    ws__ast_for(t, t->node[p].parent, &f);
    return a->write && !a->read && ws__ast_is(t, p, WS__AST_ASSIGN) &&
           ws__ast_child(t, p, 0) == a->node && ws__ast_statement(t, p) == p &&
           ws__xform_is_whole(t, ws__ast_child(t, p, 1)) &&
           (f.body < 0 || f.body == p);
}

static bool is_load(const struct ws__ast *t, const struct ws__access *a)
{
    int32_t p = t->node[a->node].parent;

    return a->read && !a->write &&
           !(ws__ast_is(t, p, WS__AST_UNARY) &&
             t->node[p].op == CL_UnaryOperator_AddrOf);
}

static bool is_good(const struct ws__xform_in *in, const struct ws__access *a,
                    size_t n, size_t i)
{
    const struct ws__ast *t = in->ast;

    if (!a[i].affine || !is_type(&t->node[a[i].decl].type) ||
        t->node[a[i].node].macro || !ws__xform_is_whole(t, a[i].node) ||
        !(is_store(t, &a[i]) || is_load(t, &a[i])) || !is_dense(in, &a[i]))
        return false;
    for (size_t k = 0; k < n; k++)
        if (k != i && a[k].decl == a[i].decl)
            return false;
    return ws__xform_only_indexed(in, a[i].decl) &&
           !(t->node[a[i].decl].spelled &&
             strstr(t->node[a[i].decl].spelled, "volatile"));
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    struct ws__access a[MAX_ACCESSES];
    size_t n = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, a, MAX_ACCESSES);
    int good = 0, rc = 0;

    if (n > MAX_ACCESSES || !n)
        return 0;
    for (size_t i = 0; i < n; i++)
        good += is_good(in, a, n, i);
    if (!good)
        return ws__site_refuse(in, out, in->func, "streaming accesses",
                               "no array is touched by one access, element "
                               "after element");
    ws__site_add(in, out, in->func, &rc,
                 "%d accesses of '%s' touch each element once", good,
                 in->kernel->launch[in->launch].entry);
    return rc;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__access a[MAX_ACCESSES];
    size_t n = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, a, MAX_ACCESSES);

    (void)s;
    if (n > MAX_ACCESSES)
        return ws__fail(in->ctx, WS_EBUG, "no such site");
    for (size_t i = 0; i < n; i++) {
        const struct ws__ast_node *d = &t->node[a[i].node];
        const struct ws__ast_node *value;

        if (!is_good(in, a, n, i))
            continue;
        if (is_load(t, &a[i])) {
            ws__rewrite_at(out, d->begin, 0, "__ldcs(&");
            ws__rewrite_at(out, d->end, 0, ")");
            continue;
        }
        value = &t->node[ws__ast_child(t, d->parent, 1)];
        ws__rewrite_at(out, d->begin, 0, "__stcs(&");
        ws__rewrite_at(out, d->end, value->begin - d->end, ", ");
        ws__rewrite_at(out, value->end, 0, ")");
    }
    return 0;
}

const struct ws__xform_ops ws__xform_streaming = {
    .abi = WS__XFORM_ABI,
    .name = "streaming",
    .about = "loads and stores of what is touched once, past the caches",
    .needs = "an array with one access, by which neighbouring threads touch "
             "neighbouring elements once",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .join = WS__JOIN_ALL,
    .gain = 1.03,
    .find = find,
    .apply = apply,
    .keeps_names = true,
};
