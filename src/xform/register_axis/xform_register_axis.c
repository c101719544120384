/*
 * xform_register_axis.c: a thread does several outputs along one axis.
 *
 *     int i = <place in the grid>;          which output
 *     int k = i / D % K;                    its place along an axis
 *     float sum = 0;
 *     for (...)
 *         sum += X[...] * F[... k ...];     X is the same for all k
 *     Y[i] = sum;
 * Each element of X is loaded by as many threads as the axis is long. Here a
 * thread has OUTPUTS neighbours along the axis, which lie D apart in Y, and
 * uses what it loads for all of them. Statements that have to do with k are
 * done for each, in the order they had, so that no sum rounds otherwise;
 * everything else is done once. Only i is computed otherwise: it is the first
 * output's number, and other coordinates come from it as before, which is why
 * they must not depend on k: they divide by a multiple of D * K, or take a
 * remainder that a factor of D bounds. Where the axis ends before OUTPUTS, the
 * last place is done again and not stored.
 */
#include "xform/clang_api.h"
#include "xform/loop.h"
#include "xform/pieces.h"
#include "xform/rows.h"

#include "base/banned.h"

#define MAX_SUMS 4
#define MAX_PLACES 16
#define MAX_PIECES 32
#define MAX_REACHES 32

static const char *const findings[] = {"wait_memory", "wait_lg", "mostly_fma",
                                       NULL};
static const struct ws__xform_delta deltas[] = {{"long_scoreboard", 0.2, 1},
                                                {"lg_throttle", 0.2, 1},
                                                {NULL, 0, 0}};

struct axis {
    const struct ws__xform_in *in;
    struct ws__elements e;
    int32_t k;              /* VAR: the place along the axis */
    int32_t apart, length;  /* expressions: D; K */
    int first;              /* 1: no remainder is taken: it is the first axis */
    struct ws__affine d, n; /* D, K as products */
    int32_t sum[MAX_SUMS];  /* VARs */
    size_t nsum;
    int32_t join[MAX_PLACES], store[MAX_PLACES]; /* statements */
    size_t njoin, nstore;
    const char *count; /* of all outputs, as the grid has it */
    const char *why;
};

static bool no(struct axis *x, const char *why)
{
    if (!x->why)
        x->why = why;
    return false;
}

/* --- coordinates ---------------------------------------------------------- */

/* Of products: is b so many times a, whatever the symbols are? */
static bool divides(const struct ws__affine *a, const struct ws__affine *b)
{
    const struct ws__affine_term *x = &a->term[0], *y = &b->term[0];
    int k = 0;

    if (a->n != 1 || b->n != 1 || x->times < 1 || y->times % x->times)
        return false;
    for (int i = 0; i < x->n; i++) { /* both are sorted */
        while (k < y->n && y->sym[k] != x->sym[i])
            k++;
        if (k++ >= y->n)
            return false;
    }
    return true;
}

static bool multiply(const struct ws__affine *a, const struct ws__affine *b,
                     struct ws__affine *out)
{
    struct ws__affine_term *t = &out->term[0];

    if (a->n != 1 || b->n != 1 ||
        a->term[0].n + b->term[0].n > WS__AFFINE_SYMBOLS ||
        __builtin_mul_overflow(a->term[0].times, b->term[0].times,
                               &out->term[0].times))
        return false;
    out->n = 1;
    t->n = 0;
    memset(t->sym, 0, sizeof(t->sym));
    for (int i = 0; i < a->term[0].n + b->term[0].n; i++) {
        int32_t s = i < a->term[0].n ? a->term[0].sym[i]
                                     : b->term[0].sym[i - a->term[0].n];
        int k = t->n++;

        for (; k && t->sym[k - 1] > s; k--)
            t->sym[k] = t->sym[k - 1];
        t->sym[k] = s;
    }
    return true;
}

static int32_t outside_parens(const struct ws__ast *t, int32_t i)
{
    while (ws__ast_is(t, t->node[i].parent, WS__AST_PAREN))
        i = t->node[i].parent;
    return i;
}

static const struct ws__affine one = {.n = 1, .term = {{.times = 1}}};

/* i / by % to around a REF of i: by is 1 where nothing divides, *to -1 where no
 * remainder is taken; *by_at what divides, -1 where that is nothing or in
 * steps. The expression that it is; -1: something else. */
static int32_t coordinate(const struct ws__ast *t, int32_t ref,
                          struct ws__affine *by, int32_t *by_at, int32_t *to)
{
    int32_t i = outside_parens(t, ref), up = t->node[i].parent, n = 0;

    *by = one;
    *by_at = *to = -1;
    while (ws__ast_is_op(t, up, CL_BinaryOperator_Div) &&
           ws__ast_child(t, up, 0) == i) {
        struct ws__affine factor, before = *by;
        int32_t at = ws__ast_child(t, up, 1);

        if (!ws__affine_of(t, at, &factor) || !multiply(&before, &factor, by))
            return -1;
        *by_at = n++ ? -1 : at;
        i = outside_parens(t, up);
        up = t->node[i].parent;
    }
    if (ws__ast_is_op(t, up, CL_BinaryOperator_Rem) &&
        ws__ast_child(t, up, 0) == i) {
        *to = ws__ast_child(t, up, 1);
        return outside_parens(t, up);
    }
    return n ? i : -1;
}

/* Is the coordinate the same for all places of the axis? */
static bool is_other(const struct axis *x, const struct ws__affine *by,
                     int32_t to)
{
    struct ws__affine all, radix, end;

    if (!multiply(&x->d, &x->n, &all))
        return false;
    if (divides(&all, by))
        return true;
    return to >= 0 && ws__affine_of(x->in->ast, to, &radix) &&
           multiply(by, &radix, &end) && divides(&end, &x->d);
}

/* Lengths that are known before i is: parameters, constants. */
static bool is_early(const struct axis *x, int32_t expr)
{
    const struct ws__ast *t = x->in->ast;
    int32_t end = ws__ast_after(t, expr);

    for (int32_t i = expr; i < end; i++)
        if (t->node[i].kind == WS__AST_REF &&
            (t->node[i].decl >= x->e.decl ||
             (t->node[i].decl >= 0 &&
              ws__ast_changes(t, x->in->func, t->node[i].decl))))
            return false;
    return ws__xform_is_whole(t, expr) && ws__ast_is_pure(t, expr);
}

/* The parameter that the guard's bound has besides D: the length of an axis
 * that is the first. -1: there is more, or less. */
static int32_t first_length(const struct axis *x)
{
    const struct ws__ast *t = x->in->ast;
    int32_t end = ws__ast_after(t, x->e.bound);
    struct ws__affine bound, one_more, all;

    if (!ws__affine_of(t, x->e.bound, &bound))
        return -1;
    for (int32_t i = x->e.bound; i < end; i++)
        if (t->node[i].kind == WS__AST_REF && ws__affine_of(t, i, &one_more) &&
            multiply(&x->d, &one_more, &all) && ws__affine_same(&all, &bound))
            return i;
    return -1;
}

/* k = (i / D) % K, or i / D */
static bool reads_axis(struct axis *x, int32_t var)
{
    const struct ws__ast *t = x->in->ast;
    int32_t init = ws__ast_child(t, var, 0), end, to;

    if (t->node[var].kind != WS__AST_VAR || init < 0)
        return false;
    end = ws__ast_after(t, init);
    x->k = var;
    for (int32_t i = init; i < end; i++)
        if (ws__ast_refers(t, i, x->e.var) && ws__ast_bare(t, i) == i) {
            int32_t c = coordinate(t, i, &x->d, &x->apart, &to);

            if (c != init || x->apart < 0 || x->d.n != 1 ||
                ws__affine_is(&x->d, 1) || t->node[c].macro)
                return false;
            x->first = to < 0;
            x->length = to < 0 ? first_length(x) : to;
            return x->length >= 0 && ws__affine_of(t, x->length, &x->n) &&
                   x->n.n == 1;
        }
    return false;
}

/* --- statements ----------------------------------------------------------- */

static bool is_sum(const struct axis *x, int32_t decl)
{
    for (size_t i = 0; i < x->nsum; i++)
        if (x->sum[i] == decl)
            return true;
    return false;
}

static bool is_joined(const struct axis *x, int32_t i)
{
    for (size_t k = 0; k < x->njoin; k++)
        if (ws__ast_below(x->in->ast, i, x->join[k]))
            return true;
    for (size_t k = 0; k < x->nstore; k++)
        if (ws__ast_below(x->in->ast, i, x->store[k]))
            return true;
    return false;
}

/* The statements behind the guard, the first of them. */
static int32_t first_of(const struct axis *x)
{
    const struct ws__ast *t = x->in->ast;

    if (x->e.early)
        return x->e.first;
    return ws__ast_is(t, x->e.first, WS__AST_BLOCK)
               ? ws__ast_child(t, x->e.first, 0)
               : -1;
}

/* Variables that statements in loops give values, declared at the top. */
static bool reads_sums(struct axis *x)
{
    const struct ws__ast *t = x->in->ast;

    for (int32_t s = first_of(x); s >= 0; s = t->node[s].next) {
        int32_t end = ws__ast_after(t, s);

        for (int32_t i = s; t->node[s].kind == WS__AST_FOR && i < end; i++) {
            int32_t to = ws__ast_bare(t, ws__ast_child(t, i, 0)), d;

            if (t->node[i].kind != WS__AST_ASSIGN ||
                !ws__ast_is(t, to, WS__AST_REF) || t->node[to].decl < 0 ||
                !ws__ast_uses(t, ws__ast_child(t, i, 1), x->k))
                continue;
            d = t->node[to].decl;
            if (t->node[d].parent < x->e.guard || t->node[d].is_static ||
                t->node[d].type.ndim || t->node[d].type.pointers ||
                ws__ast_nchild(t, t->node[d].parent) != 1 ||
                t->node[t->node[d].parent].parent != t->node[s].parent)
                return no(x, "a sum is not declared alone, at the beginning");
            if (ws__ast_statement(t, i) != i || t->node[i].macro)
                return no(x, "a sum is part of something else");
            if (x->njoin == MAX_PLACES || x->nsum == MAX_SUMS)
                return no(x, "there are too many sums");
            x->join[x->njoin++] = i;
            if (!is_sum(x, d))
                x->sum[x->nsum++] = d;
        }
    }
    return x->nsum > 0;
}

/* Other statements that join something to a sum, and what is stored. */
static bool reads_others(struct axis *x)
{
    const struct ws__ast *t = x->in->ast;

    for (int32_t s = first_of(x); s >= 0; s = t->node[s].next) {
        int32_t end = ws__ast_after(t, s), to;

        for (int32_t i = s; i < end; i++) {
            to = ws__ast_bare(t, ws__ast_child(t, i, 0));
            if (t->node[i].kind != WS__AST_ASSIGN ||
                !ws__ast_is(t, to, WS__AST_REF) ||
                !is_sum(x, t->node[to].decl) || is_joined(x, i))
                continue;
            if (ws__ast_statement(t, i) != i || t->node[i].macro ||
                x->njoin == MAX_PLACES)
                return no(x, "a sum is part of something else");
            x->join[x->njoin++] = i;
        }
        to = ws__ast_bare(t, ws__ast_child(t, s, 0));
        if (t->node[s].kind != WS__AST_ASSIGN ||
            !ws__ast_is(t, to, WS__AST_INDEX))
            continue;
        if (x->nstore == MAX_PLACES || t->node[s].macro)
            return no(x, "a store is not understood");
        x->store[x->nstore++] = s;
    }
    return x->nstore > 0 || no(x, "nothing is stored at the end");
}

/* Every use of i, k and a sum is in a statement that is done for each output,
 * or a coordinate of all. */
static bool check_use(struct axis *x, int32_t i)
{
    const struct ws__ast *t = x->in->ast;
    int32_t d = t->node[i].decl, by_at, to, up;
    struct ws__affine by;

    if (t->node[i].macro)
        return no(x, "a macro hides where outputs are");
    if (d == x->e.var) {
        for (size_t k = 0; k < x->nstore; k++)
            if (ws__ast_below(t, i, x->store[k]))
                return true;
        if (ws__ast_below(t, i, x->k) || ws__ast_below(t, i, x->e.guard) ||
            (coordinate(t, i, &by, &by_at, &to) >= 0 && is_other(x, &by, to)))
            return true;
        return no(x, "another coordinate depends on the axis");
    }
    if (is_joined(x, i))
        return true;
    up = t->node[i].parent;
    while (up >= 0 && t->node[up].kind != WS__AST_VAR)
        up = t->node[up].parent;
    if (d == x->k && up >= 0 && is_sum(x, up))
        return true;
    return no(x, d == x->k ? "something else is made of the place along the "
                             "axis"
                           : "a sum is used otherwise");
}

static bool check_uses(struct axis *x)
{
    const struct ws__ast *t = x->in->ast;
    int32_t end = ws__ast_after(t, x->in->body);

    for (int32_t i = x->e.first; i < end; i++)
        if (t->node[i].kind == WS__AST_REF &&
            (t->node[i].decl == x->e.var || t->node[i].decl == x->k ||
             is_sum(x, t->node[i].decl)) &&
            !check_use(x, i))
            return false;
    return true;
}

static bool is_change(const struct ws__ast *t, int32_t i)
{
    return t->node[i].kind == WS__AST_ASSIGN ||
           (t->node[i].kind == WS__AST_UNARY &&
            t->node[i].op >= CL_UnaryOperator_PostInc &&
            t->node[i].op <= CL_UnaryOperator_PreDec);
}

/* Does a statement or a value change something besides, which would happen for
 * each output? Calls are looked at elsewhere. */
static bool changes_more(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root + 1; i < end; i++)
        if (is_change(t, i))
            return true;
    return false;
}

static bool check_values(struct axis *x)
{
    const struct ws__ast *t = x->in->ast;
    bool more = false;

    for (size_t k = 0; k < x->njoin; k++)
        more = more || changes_more(t, x->join[k]);
    for (size_t k = 0; k < x->nstore; k++)
        more = more || changes_more(t, x->store[k]);
    for (size_t k = 0; k < x->nsum; k++)
        more = more || changes_more(t, x->sum[k]);
    return !more || no(x, "a term changes something besides the sum");
}

/* Is an element of something else than a parameter's array changed: of an array
 * that the thread or the block has once? */
static bool changes_own(const struct axis *x)
{
    const struct ws__ast *t = x->in->ast;
    int32_t end = ws__ast_after(t, x->in->body);

    for (int32_t i = x->in->body; i < end; i++) {
        int32_t to = is_change(t, i) ? ws__ast_child(t, i, 0) : -1;
        bool element = false;

        while (ws__ast_is(t, to, WS__AST_INDEX) ||
               ws__ast_is(t, to, WS__AST_PAREN) ||
               ws__ast_is(t, to, WS__AST_MEMBER)) {
            element = element || t->node[to].kind == WS__AST_INDEX;
            to = ws__ast_child(t, to, 0);
        }
        if (element &&
            (!ws__ast_is(t, to, WS__AST_REF) || t->node[to].decl < 0 ||
             ws__loop_root(x->in, t->node[to].decl) < 0))
            return true;
    }
    return false;
}

/* Arrays that are stored to are those of the stores alone. */
static bool check_memory(struct axis *x)
{
    const struct ws__xform_in *in = x->in;
    const struct ws__ast *t = in->ast;
    struct ws__reach r[MAX_REACHES];
    size_t n = ws__loop_reaches(in, in->body, r, MAX_REACHES);

    if (changes_own(x))
        return no(x, "an array that is no parameter is stored to");
    if (n > MAX_REACHES || ws__loop_stray(in, in->body) >= 0)
        return no(x, "pointers are used otherwise");
    for (size_t i = 0; i < n; i++) {
        bool stores = false;

        for (size_t k = 0; k < x->nstore; k++)
            stores = stores || ws__ast_below(t, r[i].node, x->store[k]);
        if (r[i].write && !stores)
            return no(x, "something is stored on the way");
        for (size_t k = 0; k < n && r[i].write; k++)
            if (r[i].root < 0 || r[k].root < 0 ||
                (r[k].root == r[i].root &&
                 (r[k].pointer != r[i].pointer ||
                  !ws__ast_same(t, r[k].node, r[i].node))))
                return no(x, "what is stored may be read");
    }
    return true;
}

/* Is something loaded that all outputs of the axis need, and something that
 * they do not share? */
static bool shares(const struct axis *x)
{
    const struct ws__ast *t = x->in->ast;
    bool shared = false, own = false;

    for (size_t k = 0; k < x->njoin; k++) {
        struct ws__reach r[MAX_REACHES];
        size_t n = ws__loop_reaches(x->in, x->join[k], r, MAX_REACHES);

        for (size_t i = 0; i < n && i < MAX_REACHES; i++) {
            bool uses = ws__ast_uses(t, r[i].node, x->k);

            own = own || uses;
            shared = shared || !uses;
        }
    }
    return shared && own;
}

/* --- the kernel ----------------------------------------------------------- */

static bool check_count(struct axis *x)
{
    struct ws__rows rows = {.in = x->in};
    struct ws__affine all, bound;
    const struct ws__arg *a;
    int32_t n = ws__ast_bare(x->in->ast, x->length);
    int64_t c;

    if (!ws__affine_of(x->in->ast, x->e.bound, &bound) ||
        !multiply(&x->d, &x->n, &all) || !divides(&all, &bound))
        return no(x, "the number of outputs is no product with the axis");
    x->count = ws__rows_count(&rows);
    if (!x->count)
        return no(x, "the grid is no ceil_div of the outputs");
    if (ws__ast_const(x->in->ast, n, &c))
        return true;
    a = ws__ast_is(x->in->ast, n, WS__AST_REF) &&
                x->in->ast->node[x->in->ast->node[n].decl].kind == WS__AST_PARAM
            ? ws__xform_arg(x->in, x->in->ast->node[n].decl)
            : NULL;
    return (a && a->kind == WS__ARG_VALUE) ||
           no(x, "the axis' length is no parameter");
}

/* Is the variable a place along an axis that it pays to look at? */
static bool read_axis(const struct ws__xform_in *in,
                      const struct ws__elements *e, int32_t var, struct axis *x)
{
    const char *why;

    memset(x, 0, sizeof(*x));
    x->in = in;
    x->e = *e;
    if (!reads_axis(x, var))
        return false;
    if (!reads_sums(x))
        return x->why;
    if (!shares(x))
        return false;
    why = ws__elements_refusal(in, e, false);
    if (why)
        no(x, why);
    else if (!is_early(x, x->apart) || !is_early(x, x->length))
        no(x, "lengths are not known where the place is");
    else if (ws__ast_changes(in->ast, in->body, x->k))
        no(x, "the place along the axis is changed");
    else if (ws__loop_call(in->ast, in->body) >= 0)
        no(x, "a call may have effects");
    else if (reads_others(x) && check_values(x) && check_uses(x) &&
             check_memory(x))
        check_count(x);
    return true;
}

static int add_site(const struct ws__xform_in *in, const struct axis *x,
                    struct ws__sites *out)
{
    struct ws__site *s;
    int rc = 0;

    if (x->why)
        return ws__site_refuse(in, out, x->k, "several outputs along an axis",
                               x->why);
    s = ws__site_add(in, out, x->k, &rc, "several outputs along '%s' a thread",
                     in->ast->node[x->k].name);
    if (s)
        s->trust = "the places of the last block fit in their type";
    return rc;
}

/* The first axis, which often is short, goes last. */
static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    int32_t end = ws__ast_after(in->ast, in->body);
    struct ws__elements e;
    struct axis x;

    if (!ws__elements_find(in, &e))
        return 0;
    for (int first = 0; first < 2; first++)
        for (int32_t i = e.first; i < end; i++)
            if (in->ast->node[i].kind == WS__AST_VAR &&
                read_axis(in, &e, i, &x) && x.first == first)
                WS_TRY(add_site(in, &x, out));
    return 0;
}

/* --- edits ---------------------------------------------------------------- */

struct words {
    const char *outputs, *place, *groups, *line, *each, *at;
    const char *apart, *length, *k, *i;
};

/* The text of a factor, in parentheses if it takes any. */
static const char *factor(const struct ws__xform_in *in, int32_t expr)
{
    const char *text;

    expr = ws__ast_bare(in->ast, expr);
    text = ws__xform_text(in, expr);
    if (!text || ws__ast_is(in->ast, expr, WS__AST_REF) ||
        ws__ast_is(in->ast, expr, WS__AST_INT))
        return text;
    return ws__arena_printf(in->arena, "(%s)", text);
}

static int name_all(const struct axis *x, struct words *w)
{
    const struct ws__ast *t = x->in->ast;
    const char *at =
        ws__arena_printf(x->in->arena, "%s_at", t->node[x->k].name);

    w->outputs = ws__xform_name(x->in, "OUTPUTS");
    w->place = ws__xform_name(x->in, "place");
    w->groups = ws__xform_name(x->in, "groups");
    w->line = ws__xform_name(x->in, "line");
    w->each = ws__xform_name(x->in, "each");
    w->at = at ? ws__xform_name(x->in, at) : NULL;
    w->apart = factor(x->in, x->apart);
    w->length = factor(x->in, x->length);
    w->k = t->node[x->k].name;
    w->i = t->node[x->e.var].name;
    return w->outputs && w->place && w->groups && w->line && w->each && w->at &&
                   w->apart && w->length
               ? 0
               : WS_ENOMEM;
}

static int edit_place(const struct axis *x, const struct words *w,
                      struct ws__rewrite *out)
{
    int32_t init = ws__ast_child(x->in->ast, x->e.var, 0);
    const char *type = ws__elements_type(x->in, &x->e);
    const char *text = ws__xform_text(x->in, init);
    const char *indent = ws__xform_indent(x->in, x->e.decl);

    if (!type || !text || !indent)
        return WS_ENOMEM;
    ws__rewrite_before(out, x->e.decl, "const %s %s = %s;", type, w->place,
                       text);
    ws__rewrite_before(out, x->e.decl, "const %s %s = (%s + %s - 1) / %s;",
                       type, w->groups, w->length, w->outputs, w->outputs);
    ws__rewrite_before(out, x->e.decl, "const %s %s = %s / %s;", type, w->line,
                       w->place, w->apart);
    ws__rewrite_node(out, init,
                     "(%s / %s * %s + %s %% %s * %s) * %s +\n%s    %s %% %s",
                     w->line, w->groups, w->length, w->line, w->groups,
                     w->outputs, w->apart, indent, w->place, w->apart);
    return 0;
}

/* Pieces of a statement that is done for each output. */
static size_t pieces_of(const struct axis *x, const struct words *w,
                        int32_t root, bool store, struct ws__piece *out)
{
    const struct ws__ast *t = x->in->ast;
    struct ws__arena *a = x->in->arena;
    int32_t end = ws__ast_after(t, root);
    size_t n = 0;

    for (int32_t i = root; i < end && n < MAX_PIECES; i++) {
        const struct ws__ast_node *r = &t->node[i];
        bool alone = ws__ast_is(t, r->parent, WS__AST_INDEX);
        const char *text = NULL;

        if (r->kind != WS__AST_REF)
            continue;
        if (is_sum(x, r->decl))
            text = ws__arena_printf(a, "%s[%s]", r->name, w->each);
        else if (r->decl == x->k && store)
            text = ws__arena_printf(a, alone ? "%s + %s" : "(%s + %s)", w->k,
                                    w->each);
        else if (r->decl == x->k)
            text = ws__arena_printf(a, "%s[%s]", w->at, w->each);
        else if (r->decl == x->e.var && store)
            text =
                ws__arena_printf(a, alone ? "%s + %s * %s" : "(%s + %s * %s)",
                                 w->i, w->each, w->apart);
        else
            continue;
        out[n++] = (struct ws__piece){r->begin, r->end, text};
    }
    return n;
}

/* The statement in a loop over outputs. */
static int edit_statement(const struct axis *x, const struct words *w,
                          int32_t stmt, bool store, struct ws__rewrite *out)
{
    const struct ws__ast *t = x->in->ast;
    const char *indent = ws__xform_indent(x->in, stmt), *text;
    struct ws__piece piece[MAX_PIECES];
    size_t n = pieces_of(x, w, stmt, store, piece);
    struct ws__buf b;
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        if (!piece[i].text)
            return WS_ENOMEM;
    if (n == MAX_PIECES)
        return ws__fail(x->in->ctx, WS_ELIMIT, "too much to change");
    text = ws__pieces_text(x->in, t->node[stmt].begin, t->node[stmt].end, piece,
                           n);
    if (!text || !indent)
        return WS_ENOMEM;
    ws__buf_init(&b, x->in->ctx, 1 << 18);
    ws__buf_printf(&b, "for (int %s = 0; %s < %s; %s++)\n", w->each, w->each,
                   w->outputs, w->each);
    if (store)
        ws__buf_printf(&b, "%s    if (%s + %s < %s)\n", indent, w->k, w->each,
                       w->length);
    ws__pieces_lines(&b, indent, store ? 2 : 1, text,
                     ws__pieces_blanks(t, t->node[stmt].begin));
    if (b.failed)
        rc = WS_ENOMEM;
    else
        ws__rewrite_at(out, t->node[stmt].begin,
                       t->node[stmt].end - t->node[stmt].begin, "%.*s",
                       (int)(b.len - 1), b.data);
    ws__buf_free(&b);
    ws__rewrite_line(out, stmt, "#pragma unroll");
    return rc;
}

/* A sum becomes an array of them. */
static int edit_sum(const struct axis *x, const struct words *w, int32_t var,
                    struct ws__rewrite *out)
{
    const struct ws__ast *t = x->in->ast;
    int32_t init = ws__ast_child(t, var, 0), decl = t->node[var].parent;
    const char *indent = ws__xform_indent(x->in, decl), *text;
    uint32_t at = t->node[var].end, behind = ws__xform_end(t, decl);
    struct ws__piece piece[MAX_PIECES];
    size_t n;

    if (init < 0) {
        ws__rewrite_at(out, at, 0, "[%s]", w->outputs);
        return 0;
    }
    n = pieces_of(x, w, init, false, piece);
    text = ws__pieces_text(x->in, t->node[init].begin, t->node[init].end, piece,
                           n);
    if (!text || !indent)
        return WS_ENOMEM;
    at = t->node[init].begin;
    while (t->text[at] != '=')
        at--;
    while (t->text[at - 1] == ' ')
        at--;
    if (ws__ast_is_zero(t, init))
        ws__rewrite_at(out, at, t->node[init].end - at, "[%s] = {%s}",
                       w->outputs, text);
    else
        ws__rewrite_at(out, at, behind - at,
                       "[%s];\n\n%sfor (int %s = 0; %s < %s; %s++)\n"
                       "%s    %s[%s] = %s;",
                       w->outputs, indent, w->each, w->each, w->outputs,
                       w->each, indent, t->node[var].name, w->each, text);
    return 0;
}

/* Where outputs are along the axis, before the first that asks. */
static void edit_axis(const struct axis *x, const struct words *w,
                      struct ws__rewrite *out)
{
    const struct ws__ast *t = x->in->ast;
    int32_t decl = t->node[x->k].parent, behind;
    const char *indent = ws__xform_indent(x->in, decl);

    for (behind = decl; t->node[behind].next >= 0 &&
                        t->node[t->node[behind].next].kind == WS__AST_DECL;
         behind = t->node[behind].next)
        if (is_sum(x, ws__ast_child(t, t->node[behind].next, 0)))
            break;
    if (!indent) {
        out->failed = WS_ENOMEM;
        return;
    }
    ws__rewrite_behind(out, behind,
                       "int %s[%s];\n\n%sfor (int %s = 0; %s < %s; %s++)\n"
                       "%s    %s[%s] = %s + %s < %s ? %s + %s : %s - 1;",
                       w->at, w->outputs, indent, w->each, w->each, w->outputs,
                       w->each, indent, w->at, w->each, w->k, w->each,
                       w->length, w->k, w->each, w->length);
}

static void change_plan(const struct axis *x, const struct words *w,
                        struct ws__rewrite *out)
{
    const struct ws__xform_in *in = x->in;
    int32_t n = ws__ast_bare(in->ast, x->length);
    const char *length = NULL, *grid;
    int64_t c;

    if (ws__ast_const(in->ast, n, &c))
        length = ws__arena_printf(in->arena, "%lld", (long long)c);
    else
        length = ws__xform_arg(in, in->ast->node[n].decl)->expr->text;
    grid = length ? ws__arena_printf(
                        in->arena,
                        "\"ceil_div((%s) // (%s) * ceil_div(%s, %s), %s)\"",
                        x->count, length, length, w->outputs,
                        ws__xform_block(in, 0))
                  : NULL;
    if (!grid) {
        out->failed = WS_ENOMEM;
        return;
    }
    ws__rewrite_change(out, grid, "launches[%zu].grid[0]", in->launch);
    ws__rewrite_param(out, w->outputs, "[2, 4, 8]", "4", "outputs a thread");
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    struct ws__elements e;
    struct axis x;
    struct words w;

    if (!ws__elements_find(in, &e) || !read_axis(in, &e, s->node[0], &x))
        return ws__fail(in->ctx, WS_EBUG, "no such site");
    WS_TRY(name_all(&x, &w));
    WS_TRY(edit_place(&x, &w, out));
    edit_axis(&x, &w, out);
    for (size_t i = 0; i < x.nsum; i++)
        WS_TRY(edit_sum(&x, &w, x.sum[i], out));
    for (size_t i = 0; i < x.njoin; i++)
        WS_TRY(edit_statement(&x, &w, x.join[i], false, out));
    for (size_t i = 0; i < x.nstore; i++)
        WS_TRY(edit_statement(&x, &w, x.store[i], true, out));
    change_plan(&x, &w, out);
    return 0;
}

const struct ws__xform_ops ws__xform_register_axis = {
    .abi = WS__XFORM_ABI,
    .name = "register_axis",
    .about = "several outputs along one axis a thread, which share what is "
             "loaded",
    .needs = "a thread an output, whose place along an axis is i / d % k; "
             "loops that add to variables, of elements some of which do not "
             "depend on the axis; stores at the end",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .gain = 2,
    .find = find,
    .apply = apply,
};
