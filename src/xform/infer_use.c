/*
 * infer_use.c: what elements are used for: those that a logarithm, a root or a
 * quotient wants positive, sums and how long they are, what is approximated.
 */
#include "xform/clang_api.h"
#include "xform/infer_int.h"

#include "base/banned.h"

#define UNKNOWN_TERMS 64 /* of a loop whose turns data decide */

static bool is_one_of(const char *name, const char *const *list)
{
    for (; name && *list; list++)
        if (!strcmp(name, *list))
            return true;
    return false;
}

/* --- positive elements ------------------------------------------------------
 */

static void want_positive(struct ws__infer *x, int32_t expr, int env,
                          int depth);

static void of_variable(struct ws__infer *x, int32_t decl, int env, int depth)
{
    const struct ws__ast *t = x->t;
    int32_t f = ws__ast_up(t, decl, WS__AST_FUNCTION);

    if (t->node[decl].kind == WS__AST_PARAM) {
        int32_t arg =
            x->env[env].up < 0 ? -1 : ws__infer_argument(x, decl, env);

        for (size_t i = 0; x->env[env].up < 0 && i < x->out->nfact; i++)
            if (x->out->fact[i].own && t->node[decl].name &&
                !strcmp(x->out->fact[i].own, t->node[decl].name))
                x->positive[i] = true;
        if (arg >= 0)
            want_positive(x, arg, x->env[env].up, depth + 1);
        return;
    }
    if (f < 0)
        return;
    want_positive(x, ws__infer_init(t, decl), env, depth + 1);
    for (int32_t i = f; i < ws__ast_after(t, f); i++)
        if (t->node[i].kind == WS__AST_ASSIGN &&
            ws__ast_refers(t, ws__ast_child(t, i, 0), decl))
            want_positive(x, ws__ast_child(t, i, 1), env, depth + 1);
}

/* All elements that the value is made of, but for squares and what is positive
 * anyway. */
static void want_positive(struct ws__infer *x, int32_t expr, int env, int depth)
{
    static const char *const positive[] = {
        "exp",  "expf",  "__expf",        "native_exp",   "exp2", "exp2f",
        "fabs", "fabsf", "get_global_id", "get_local_id", NULL};
    const struct ws__ast *t = x->t;
    int32_t i = ws__ast_bare(t, expr);
    const struct ws__ast_node *n;
    struct ws__ip at;
    int width, fact;

    if (i < 0 || depth > 12)
        return;
    n = &t->node[i];
    if (n->kind == WS__AST_REF) {
        if (n->decl >= 0 && n->type.class == WS__AT_FLOAT && !n->type.pointers)
            of_variable(x, n->decl, env, depth);
        return;
    }
    if (n->kind == WS__AST_INDEX) {
        fact = ws__infer_array(x, i, env, &at, &width);
        if (fact >= 0 && n->type.class == WS__AT_FLOAT)
            x->positive[fact] = true;
        return;
    }
    if (n->kind == WS__AST_CALL && is_one_of(n->name, positive))
        return;
    if (n->kind == WS__AST_BINARY && n->op == CL_BinaryOperator_Mul &&
        ws__ast_same(t, ws__ast_child(t, i, 0), ws__ast_child(t, i, 1)))
        return;
    for (int32_t c = n->first; c >= 0; c = t->node[c].next)
        want_positive(x, c, env, depth + 1);
}

/* --- sums -------------------------------------------------------------------
 */

/* Turns of a loop, as many as data allow. */
static struct ws__ip turns(struct ws__infer *x, int32_t loop, bool outer,
                           int env)
{
    struct ws__ast_for f;
    struct ws__ip from, to, step, one = ws__ip_number(1);
    struct ws__knowledge k = ws__infer_nothing(x);
    int64_t by;

    ws__ast_for(x->t, loop, &f);
    if (!f.counts)
        return one;
    from = ws__infer_value(x, f.from, env);
    to = ws__infer_value(x, f.to, env);
    ws__infer_known(x, loop, env, &k);
    if (ws__ip_varies(x, &from)) {
        from = ws__infer_resolve(x, &from, &k, true);
        for (int i = 0; i < from.n; i++) {
            int v = ws__ip_variable(x, &from.term[i]);

            if (v >= 0 && x->atom[v].kind >= WS__ATOM_LOAD &&
                x->atom[v].kind != WS__ATOM_MOD)
                return ws__ip_number(UNKNOWN_TERMS);
        }
        from = ws__ip_number(0);
        outer = false; /* the threads of a block share out the turns */
    }
    if (ws__ip_varies(x, &to)) {
        to = ws__infer_resolve(x, &to, &k, false);
        to = ws__infer_most(x, &to, &k);
    }
    to = ws__ip_add(&to, &from, -1);
    step = f.by < 0 ? one : ws__infer_value(x, f.by, env);
    if (to.n < 0)
        return ws__ip_number(UNKNOWN_TERMS);
    if (ws__ip_varies(x, &step)) /* all threads of the grid share them out */
        return one;
    if (outer && ws__ip_is_number(&step, &by) && by > 1)
        return ws__ip_ceil(x, &to, &step);
    return to;
}

/* What is added to, where it is: a variable's declaration, or -1. */
static int32_t sum_of(const struct ws__ast *t, int32_t i)
{
    const struct ws__ast_node *n = &t->node[i];
    int32_t to = ws__ast_child(t, i, 0), b = ws__ast_bare(t, to);
    int32_t from = ws__ast_bare(t, ws__ast_child(t, i, 1));
    bool sum = n->op == CL_BinaryOperator_AddAssign ||
               n->op == CL_BinaryOperator_SubAssign;

    if (b < 0 || t->node[b].type.class != WS__AT_FLOAT)
        return -2;
    if (n->op == CL_BinaryOperator_Assign && from >= 0)
        for (int32_t k = from; k < ws__ast_after(t, from); k++)
            sum = sum || ws__ast_same(t, k, b);
    if (!sum)
        return -2;
    return t->node[b].kind == WS__AST_REF ? t->node[b].decl : -1;
}

static struct ws__ip terms_of(struct ws__infer *x, int32_t i, int32_t decl,
                              int env)
{
    const struct ws__ast *t = x->t;
    struct ws__ip out = ws__ip_number(1), n;
    bool inner = false;

    for (int32_t p = t->node[i].parent; p >= 0; p = t->node[p].parent) {
        if (decl >= 0 && ws__ast_below(t, decl, p))
            break;
        if (t->node[p].kind == WS__AST_WHILE || t->node[p].kind == WS__AST_DO)
            n = ws__ip_number(UNKNOWN_TERMS);
        else if (t->node[p].kind == WS__AST_FOR)
            n = turns(x, p, inner, env);
        else
            continue;
        inner = true;
        out = ws__ip_multiply(&out, &n);
    }
    return out;
}

/* c ceil(n / c) is n, or a little more. */
static struct ws__ip without_steps(const struct ws__infer *x,
                                   const struct ws__ip *a)
{
    const struct ws__ip_term *t = &a->term[0];
    const struct ws__atom *q =
        a->n == 1 && t->n == 1 ? &x->atom[t->atom[0]] : NULL;
    struct ws__ip one = ws__ip_number(1), over;
    int64_t by;

    if (!q || q->kind != WS__ATOM_QUOT || !ws__ip_is_number(q->den, &by) ||
        by != t->times)
        return *a;
    over = ws__ip_add(q->num, q->den, -1);
    return ws__ip_add(&over, &one, 1);
}

static int degree_of(const struct ws__infer *x, const struct ws__ip *a)
{
    int most = 0;

    for (int i = 0; i < a->n; i++) {
        int n = 0;

        for (int k = 0; k < a->term[i].n; k++) {
            const struct ws__atom *t = &x->atom[a->term[i].atom[k]];

            n += t->kind == WS__ATOM_SIZE;
            if (t->kind == WS__ATOM_QUOT)
                n += degree_of(x, t->num) - degree_of(x, t->den);
        }
        most = n > most ? n : most;
    }
    return most;
}

/* How many sizes the work of an access is a product of. */
static int work_of(struct ws__infer *x, const struct ws__infer_access *a)
{
    int32_t node = a->node;
    int n = 0;

    for (int d = 0; d < 3; d++)
        n += degree_of(x, &x->grid[a->launch][d]);
    for (int env = a->env; env >= 0; env = x->env[env].up) {
        for (int32_t p = node; p >= 0; p = x->t->node[p].parent)
            if (x->t->node[p].kind == WS__AST_FOR) {
                struct ws__ip t = turns(x, p, false, env);

                n += degree_of(x, &t);
            }
        node = x->env[env].call;
    }
    return n;
}

static void see_calls(struct ws__infer *x, int32_t i, int env)
{
    static const char *const wants[] = {
        "log",    "logf",       "__logf",      "log2",         "log2f",
        "log10",  "log10f",     "sqrt",        "sqrtf",        "rsqrt",
        "rsqrtf", "native_log", "native_sqrt", "native_rsqrt", "pow",
        "powf",   "__powf",     NULL};
    static const char *const exact[] = {"fmax", "fmaxf", "fmin", "fminf",
                                        "fabs", "fabsf", "fma",  "fmaf",
                                        "mad",  "min",   "max",  "abs",
                                        NULL};
    const struct ws__ast_node *n = &x->t->node[i];

    if (n->kind == WS__AST_CALL && is_one_of(n->name, wants))
        want_positive(x, ws__ast_child(x->t, i, 1), env, 0);
    if (n->kind == WS__AST_CALL && n->decl < 0 &&
        n->type.class == WS__AT_FLOAT && ws__ast_is_pure_call(x->t, i) &&
        !is_one_of(n->name, exact) && !strstr(n->name, "2float") &&
        !strstr(n->name, "2half") && strncmp(n->name, "vload", 5) &&
        strncmp(n->name, "make_", 5) && strcmp(n->name, "__ldg"))
        x->out->rough = true;
    if ((n->kind == WS__AST_BINARY || n->kind == WS__AST_ASSIGN) &&
        (n->op == CL_BinaryOperator_Div ||
         n->op == CL_BinaryOperator_DivAssign) &&
        n->type.class == WS__AT_FLOAT) {
        x->out->rough = true;
        want_positive(x, ws__ast_child(x->t, i, 1), env, 0);
    }
}

/* Sums of different lengths follow each other, and so do their lengths. */
static void see_sum(struct ws__infer *x, int32_t i, int env,
                    struct ws__ip *seen, size_t *nseen)
{
    int32_t decl = sum_of(x->t, i);
    struct ws__ip n;

    if (decl == -2)
        return;
    n = terms_of(x, i, decl, env);
    n = without_steps(x, &n);
    for (size_t k = 0; k < *nseen; k++)
        if (ws__ip_equal(&seen[k], &n))
            return;
    if (n.n > 0 && *nseen < 8 &&
        !(n.n == 1 && !n.term[0].n && n.term[0].times == 1))
        seen[(*nseen)++] = n;
}

static void add_reduction(struct ws__infer *x, const struct ws__ip *n)
{
    const char *text;

    x->numbers = true;
    text = ws__ip_text(x, n);
    x->numbers = false;
    if (!text)
        return;
    for (const char *p = x->out->reduction; p; p = strstr(p, " + ")) {
        p += *p == ' ' ? 3 : 0;
        if (!strncmp(p, text, strlen(text)) &&
            (!p[strlen(text)] || !strncmp(p + strlen(text), " + ", 3)))
            return;
    }
    x->out->reduction =
        x->out->reduction
            ? ws__infer_words(x, "%s + %s", x->out->reduction, text)
            : text;
}

static void see_accesses(struct ws__infer *x)
{
    for (size_t i = 0; i < x->naccess; i++) {
        const struct ws__infer_access *a = &x->access[i];
        int degree;

        if (a->launch != x->launch || a->shared)
            continue;
        if (a->atomic && ws__dtype_is_float(x->out->fact[a->fact].dtype))
            x->out->atomic = true;
        degree = work_of(x, a);
        if (degree > x->out->degree)
            x->out->degree = degree;
    }
}

void ws__infer_uses(struct ws__infer *x, size_t launch)
{
    const struct ws__ast *t = x->t;
    struct ws__ip seen[8];
    size_t nseen = 0;

    x->launch = launch;
    for (int e = 0; e < x->nenv; e++) {
        int root = e;

        while (x->env[root].up >= 0)
            root = x->env[root].up;
        if (x->env[root].func != x->in->func[launch])
            continue;
        for (int32_t i = x->env[e].func;
             i < ws__ast_after(t, x->env[e].func) && x->rc >= 0; i++) {
            see_calls(x, i, e);
            if (t->node[i].kind == WS__AST_ASSIGN)
                see_sum(x, i, e, seen, &nseen);
        }
    }
    see_accesses(x);
    if (x->out->atomic && !nseen)
        seen[nseen++] = ws__ip_number(UNKNOWN_TERMS);
    for (size_t i = 0; i < nseen; i++)
        add_reduction(x, &seen[i]);
}
