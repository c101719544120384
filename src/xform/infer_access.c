/*
 * infer_access.c: what a kernel reads and writes, and so what each of its
 * parameters is. Functions of the file are followed with their arguments.
 */
#include "xform/clang_api.h"
#include "xform/infer_int.h"

#include "base/banned.h"

/* --- pointers ---------------------------------------------------------------
 */

static int fact_of(const struct ws__infer *x, const char *own)
{
    for (size_t i = 0; own && i < x->out->nfact; i++)
        if (x->out->fact[i].own && !strcmp(x->out->fact[i].own, own))
            return (int)i;
    return -1;
}

static int of_name(struct ws__infer *x, int32_t i, int env,
                   struct ws__ip *offset, int *width)
{
    int32_t decl = x->t->node[i].decl, def, from;
    const struct ws__ast_node *d;
    int fact, w;

    if (decl < 0 || !x->t->node[decl].type.pointers)
        return -1;
    d = &x->t->node[decl];
    *width = d->type.width;
    if (d->kind == WS__AST_PARAM && x->env[env].up < 0) {
        *offset = ws__ast_changes(x->t, x->env[env].func, decl)
                      ? ws__ip_unknown()
                      : ws__ip_number(0);
        return fact_of(x, d->name);
    }
    if (d->kind == WS__AST_PARAM) {
        fact = ws__infer_array(x, ws__infer_argument(x, decl, env),
                               x->env[env].up, offset, &w);
        if (ws__ast_changes(x->t, x->env[env].func, decl))
            *offset = ws__ip_unknown();
        return fact;
    }
    def = ws__infer_definition(x, decl, i);
    from = def < 0 || x->t->node[def].kind == WS__AST_VAR
               ? ws__infer_init(x->t, decl)
               : ws__ast_child(x->t, def, 1);
    fact = from < 0 ? -1 : ws__infer_array(x, from, env, offset, &w);
    if (def < 0)
        *offset = ws__ip_unknown();
    return fact;
}

static int moved(struct ws__infer *x, int32_t base, int32_t by, int64_t times,
                 int env, struct ws__ip *offset, int *width)
{
    int fact = ws__infer_array(x, base, env, offset, width);
    struct ws__ip v, w;

    if (fact < 0)
        return fact;
    v = ws__infer_value(x, by, env);
    w = ws__ip_number(*width);
    v = ws__ip_multiply(&v, &w);
    *offset = ws__ip_add(offset, &v, times);
    return fact;
}

int ws__infer_array(struct ws__infer *x, int32_t expr, int env,
                    struct ws__ip *offset, int *width)
{
    const struct ws__ast_node *n;
    int32_t last;
    int fact;

    *offset = ws__ip_unknown();
    *width = 1;
    if (expr < 0 || x->depth > 40 || x->rc < 0)
        return -1;
    n = &x->t->node[expr];
    last = ws__infer_init(x->t, expr);
    x->depth++;
    switch (n->kind) {
    case WS__AST_PAREN:
        fact = ws__infer_array(x, last, env, offset, width);
        break;
    case WS__AST_CAST:
        fact = ws__infer_array(x, last, env, offset, width);
        if (fact >= 0 && n->type.pointers == 1 &&
            n->type.bits * 8u !=
                ws__dtype_bytes(x->out->fact[fact].dtype) * 64u)
            *offset = ws__ip_unknown();
        *width = n->type.width;
        break;
    case WS__AST_REF:
        fact = of_name(x, expr, env, offset, width);
        break;
    case WS__AST_BINARY:
        if (n->type.pointers &&
            (n->op == CL_BinaryOperator_Add || n->op == CL_BinaryOperator_Sub))
            fact = moved(x, ws__ast_child(x->t, expr, 0),
                         ws__ast_child(x->t, expr, 1),
                         n->op == CL_BinaryOperator_Add ? 1 : -1, env, offset,
                         width);
        else
            fact = -1;
        break;
    case WS__AST_INDEX:
        fact = moved(x, ws__ast_child(x->t, expr, 0),
                     ws__ast_child(x->t, expr, 1), 1, env, offset, width);
        break;
    case WS__AST_UNARY:
        fact =
            n->op == CL_UnaryOperator_AddrOf || n->op == CL_UnaryOperator_Deref
                ? ws__infer_array(x, last, env, offset, width)
                : -1;
        break;
    default:
        fact = -1;
        break;
    }
    x->depth--;
    return fact;
}

/* --- accesses ---------------------------------------------------------------
 */

static bool begins(const char *name, const char *with)
{
    return name && !strncmp(name, with, strlen(with));
}

static bool is_atomic(const char *name)
{
    return begins(name, "atom");
}

/* Elements of whole numbers that say which element is meant. */
static void see_places(struct ws__infer *x, const struct ws__ip *at)
{
    for (int i = 0; i < at->n; i++) {
        int v = ws__ip_variable(x, &at->term[i]);
        struct ws__ip_term a = at->term[i], b;
        int64_t most = 1023;

        if (v < 0 || x->atom[v].kind != WS__ATOM_LOAD)
            continue;
        for (int k = 0; k < at->n; k++) {
            b = at->term[k];
            if (k != i && ws__ip_variable(x, &b) >= 0 && b.n == a.n &&
                b.times == a.times && a.n == 1)
                most = 7;
        }
        v = x->atom[v].key;
        x->is_place[v] = true;
        if (ws__dtype_bytes(x->out->fact[v].dtype) >= 4 &&
            (x->most_of[v] < 0 || most < x->most_of[v]))
            x->most_of[v] = most;
    }
}

static struct ws__infer_access *add(struct ws__infer *x, int32_t node, int env)
{
    struct ws__infer_access *a;

    if (x->naccess == WS__INFER_ACCESSES) {
        if (x->rc >= 0)
            x->rc = ws__fail(x->ctx, WS_ELIMIT,
                             "'%s' has more than %d accesses: too many to "
                             "draft from it",
                             x->t->path, WS__INFER_ACCESSES);
        return NULL;
    }
    a = &x->access[x->naccess];
    memset(a, 0, sizeof(*a));
    a->launch = x->launch;
    a->node = node;
    a->env = env;
    a->decl = -1;
    a->width = 1;
    a->known = ws__infer_nothing(x);
    if (x->rc < 0)
        return NULL;
    ws__infer_known(x, node, env, &a->known);
    return a;
}

static struct ws__infer_access *record(struct ws__infer *x, int32_t node,
                                       int env, int fact,
                                       const struct ws__ip *at, int width)
{
    struct ws__infer_access *a = add(x, node, env);

    if (!a)
        return NULL;
    a->fact = (size_t)fact;
    a->width = width;
    a->at = ws__infer_resolve(x, at, &a->known, false);
    see_places(x, &a->at);
    x->naccess++;
    return a;
}

static void record_shared(struct ws__infer *x, int32_t i, int env)
{
    int32_t base = ws__ast_child(x->t, i, 0), decl = base;
    struct ws__infer_access *a;
    struct ws__ip at;
    int dim = 0;

    for (; ws__ast_is(x->t, ws__ast_bare(x->t, decl), WS__AST_INDEX); dim++)
        decl = ws__ast_child(x->t, ws__ast_bare(x->t, decl), 0);
    decl = ws__ast_bare(x->t, decl);
    if (!ws__ast_is(x->t, decl, WS__AST_REF) || x->t->node[decl].decl < 0)
        return;
    decl = x->t->node[decl].decl;
    if (x->t->node[decl].type.space != WS__AS_SHARED)
        return;
    at = ws__infer_value(x, ws__ast_child(x->t, i, 1), env);
    a = add(x, i, env);
    if (!a)
        return;
    a->shared = true;
    a->decl = decl;
    a->at = ws__infer_resolve(x, &at, &a->known, false);
    a->width = dim < x->t->node[decl].type.ndim && dim < 4
                   ? (int)x->t->node[decl].type.dim[dim]
                   : -1;
    x->naccess++;
}

/* How an element is used, by what stands around it. */
static bool see_use(const struct ws__ast *t, int32_t i,
                    struct ws__infer_access *a)
{
    int32_t p = t->node[i].parent, at = i;

    while (p >= 0 && (t->node[p].kind == WS__AST_PAREN ||
                      t->node[p].kind == WS__AST_MEMBER ||
                      t->node[p].kind == WS__AST_CAST ||
                      (t->node[p].kind == WS__AST_UNARY &&
                       t->node[p].op == CL_UnaryOperator_AddrOf))) {
        at = p;
        p = t->node[p].parent;
    }
    a->read = true;
    if (p < 0)
        return true;
    if (t->node[p].kind == WS__AST_ASSIGN && ws__ast_child(t, p, 0) == at) {
        a->write = true;
        a->read = t->node[p].op != CL_BinaryOperator_Assign;
    }
    if (t->node[p].kind == WS__AST_UNARY &&
        t->node[p].op <= CL_UnaryOperator_PreDec)
        a->write = true;
    if (t->node[p].kind == WS__AST_CALL && t->node[at].kind != WS__AST_INDEX &&
        t->node[at].kind != WS__AST_MEMBER) {
        const struct ws__ast_node *c = &t->node[p];

        if (c->decl >= 0) /* it is followed there */
            return !t->node[at].type.pointers;
        a->atomic = is_atomic(c->name);
        a->write = a->atomic ||
                   (!ws__ast_is_pure_call(t, p) && t->node[at].type.pointers &&
                    ws__ast_child(t, p, 1) == at);
    }
    return true;
}

static void see_element(struct ws__infer *x, int32_t i, int env)
{
    struct ws__infer_access *a, use;
    struct ws__ip at;
    int width, fact;

    if (x->t->node[i].type.pointers && !x->t->node[i].type.width)
        return;
    fact = ws__infer_array(x, i, env, &at, &width);
    if (fact < 0 || x->out->fact[fact].role == WS__FACT_SHARED) {
        if (x->t->node[i].kind == WS__AST_INDEX)
            record_shared(x, i, env);
        return;
    }
    memset(&use, 0, sizeof(use));
    if (!see_use(x->t, i, &use))
        return;
    a = record(x, i, env, fact, &at, width);
    if (!a)
        return;
    a->read = use.read;
    a->write = use.write;
    a->atomic = use.atomic;
}

/* vload4(i, p), vstore_half(v, i, p): elements a step; 0: none. */
static int vector_width(const char *name, bool *store)
{
    const char *p;
    int n;

    *store = begins(name, "vstore");
    if (!*store && !begins(name, "vload"))
        return 0;
    p = name + strlen(*store ? "vstore" : "vload");
    if (!strncmp(p, "a_half", 6))
        p += 6;
    else if (!strncmp(p, "_half", 5))
        p += 5;
    n = *p >= '0' && *p <= '9' ? *p - '0' : 1;
    return p[0] == '1' && p[1] == '6' ? 16 : n;
}

static void see_vector(struct ws__infer *x, int32_t call, int width, bool store,
                       int env)
{
    int32_t by = ws__ast_child(x->t, call, store ? 2 : 1);
    int32_t p = ws__ast_child(x->t, call, store ? 3 : 2);
    struct ws__ip at, v, w = ws__ip_number(width);
    struct ws__infer_access *a;
    int one, fact = ws__infer_array(x, p, env, &at, &one);

    if (fact < 0)
        return;
    v = ws__infer_value(x, by, env);
    v = ws__ip_multiply(&v, &w);
    at = ws__ip_add(&at, &v, 1);
    a = record(x, call, env, fact, &at, width);
    if (a) {
        a->read = !store;
        a->write = store;
    }
}

/* Pointers given to functions of the language: what they do there is known by
 * their place alone. */
static void see_pointers(struct ws__infer *x, int32_t call, int env)
{
    const struct ws__ast *t = x->t;
    int place = 0;

    for (int32_t c = ws__ast_child(t, call, 1); c >= 0;
         c = t->node[c].next, place++) {
        struct ws__infer_access *a;
        struct ws__ip at;
        int width, fact;

        int32_t b = ws__ast_bare(t, c);

        if (b < 0 || !t->node[b].type.pointers ||
            (t->node[b].kind == WS__AST_UNARY &&
             t->node[b].op == CL_UnaryOperator_AddrOf))
            continue;
        fact = ws__infer_array(x, c, env, &at, &width);
        a = fact < 0 ? NULL : record(x, call, env, fact, &at, width);
        if (!a)
            continue;
        a->atomic = is_atomic(t->node[call].name);
        a->read = true;
        a->write = a->atomic || (!place && !ws__ast_is_pure_call(t, call) &&
                                 !begins(t->node[call].name, "prefetch"));
    }
}

static void walk(struct ws__infer *x, int32_t func, int env);

static void see_call(struct ws__infer *x, int32_t i, int env)
{
    const struct ws__ast_node *n = &x->t->node[i];
    bool store;
    int width = n->decl < 0 && n->name ? vector_width(n->name, &store) : 0;

    if (width) {
        see_vector(x, i, width, store, env);
    } else if (n->decl >= 0 && x->t->node[n->decl].kind == WS__AST_FUNCTION) {
        int e = ws__infer_enter(x, i, n->decl, env);

        if (e >= 0)
            walk(x, n->decl, e);
    } else {
        see_pointers(x, i, env);
    }
}

static void walk(struct ws__infer *x, int32_t func, int env)
{
    const struct ws__ast *t = x->t;
    int32_t end = ws__ast_after(t, func);

    for (int32_t i = func; i < end && x->rc >= 0; i++) {
        const struct ws__ast_node *n = &t->node[i];
        int dim;

        if (n->kind == WS__AST_INDEX ||
            (n->kind == WS__AST_UNARY && n->op == CL_UnaryOperator_Deref))
            see_element(x, i, env);
        if (ws__ast_launch_value(t, i, &dim) != WS__AL_NONE)
            ws__infer_value(x, i, env);
        else if (n->kind == WS__AST_CALL)
            see_call(x, i, env);
    }
}

/* Did the same thread write the element before, whatever happened? */
static bool is_settled(const struct ws__infer *x,
                       const struct ws__infer_access *r)
{
    const struct ws__ast *t = x->t;

    for (size_t i = 0; i < x->naccess; i++) {
        const struct ws__infer_access *w = &x->access[i];
        int32_t s, b;

        if (w->shared || w->launch != r->launch || w->fact != r->fact ||
            w->env != r->env || !w->write || w->read || w->node >= r->node ||
            !ws__ip_equal(&w->at, &r->at) || w->width < r->width)
            continue;
        for (s = w->node; t->node[s].parent >= 0; s = t->node[s].parent) {
            b = t->node[s].parent;
            if (t->node[b].kind == WS__AST_BLOCK) {
                if (ws__ast_below(t, r->node, b))
                    return true;
                break;
            }
            if (t->node[b].kind != WS__AST_ASSIGN &&
                t->node[b].kind != WS__AST_PAREN)
                break;
        }
    }
    return false;
}

void ws__infer_accesses(struct ws__infer *x, size_t launch)
{
    int32_t func = x->in->func[launch];

    x->launch = launch;
    if ((size_t)x->nenv == WS_COUNT(x->env)) {
        x->rc =
            ws__fail(x->ctx, WS_ELIMIT, "'%s' has too many calls", x->t->path);
        return;
    }
    x->env[x->nenv] = (struct ws__infer_env){-1, -1, func};
    walk(x, func, x->nenv++);
    for (size_t i = 0; i < x->naccess; i++)
        if (x->access[i].launch == launch && x->access[i].read &&
            !x->access[i].shared)
            x->access[i].settled = is_settled(x, &x->access[i]);
}

/* --- roles ------------------------------------------------------------------
 */

struct use {
    bool written, needed, last_reads;
    size_t first, last, n; /* launches */
};

static struct use use_of(const struct ws__infer *x, size_t fact)
{
    struct use u = {.first = WS__MAX_LAUNCHES};

    for (size_t l = 0; l < x->in->nfunc; l++) {
        bool here = false, reads = false, writes = false;

        for (size_t i = 0; i < x->naccess; i++) {
            const struct ws__infer_access *a = &x->access[i];

            if (a->shared || a->launch != l || a->fact != fact)
                continue;
            here = true;
            writes = writes || a->write;
            reads = reads || (a->read && !a->settled);
        }
        if (!here)
            continue;
        if (!u.n++)
            u.needed = reads;
        u.first = u.n == 1 ? l : u.first;
        u.last = l;
        u.written = u.written || writes;
        u.last_reads = !writes;
    }
    return u;
}

void ws__infer_roles(struct ws__infer *x)
{
    size_t results = 0;

    for (size_t i = 0; i < x->out->nfact; i++) {
        struct ws__fact *f = &x->out->fact[i];
        struct use u = use_of(x, i);

        if (f->role != WS__FACT_INPUT)
            continue;
        if (!u.n)
            f->check = "nothing that reads or writes it was found";
        f->role = !u.written ? WS__FACT_INPUT
                  : u.needed ? WS__FACT_INOUT
                             : WS__FACT_OUTPUT;
        results += u.written;
    }
    for (size_t i = 0; i < x->out->nfact; i++) {
        struct ws__fact *f = &x->out->fact[i];
        struct use u = use_of(x, i);

        if (f->role != WS__FACT_OUTPUT || u.first == u.last || !u.last_reads ||
            results < 2)
            continue;
        f->role = WS__FACT_SCRATCH;
        f->guess = "a guess: one launch writes it for the next";
        results--;
    }
}
