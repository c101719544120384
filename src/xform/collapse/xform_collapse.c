/*
 * xform_collapse.c: a loop that the threads of a block share, and the loop in
 * it, as one loop over both.
 *
 *     for (i = thread; i < m; i += threads)        for (ij = thread; ij < m *
 * n; for (j = 0; j < n; j++)             ->        ij += threads) { c[i * n +
 * j] = ...;                      i = ij / n, j = ij % n;
 *
 * Where a thread has whole rows, neighbouring threads touch elements that are a
 * row apart. Afterwards they touch neighbouring ones, and no thread is idle
 * where there are fewer rows than threads.
 *
 * The same pairs (i, j) are computed, each once, by another thread. So all
 * threads must come to the loop and agree on its bounds; a turn of the inner
 * loop may leave nothing to the next, use nothing that belongs to the thread,
 * and touch no memory that others write without a barrier between.
 */
#include "xform/clang_api.h"
#include "xform/loop.h"
#include "xform/pieces.h"

#include "base/banned.h"

#define MAX_REACHES 128
#define WORDS "one loop over both"

static const char *const findings[] = {"uncoalesced_loads",
                                       "uncoalesced_stores", "imbalance",
                                       "wait_memory", NULL};
static const struct ws__xform_delta deltas[] = {{"load_sectors", 0.1, 0.6},
                                                {"store_sectors", 0.1, 0.6},
                                                {NULL, 0, 0}};

struct nest {
    struct ws__ast_for outer, inner;
    struct ws__reach reach[MAX_REACHES]; /* of the whole function */
    size_t n;
};

/* --- reading -------------------------------------------------------------- */

/* Is a constant the number of threads of the launch's block, by its value or
 * by the same parameter? */
static bool is_block(const struct ws__xform_in *in, int32_t by, int64_t value)
{
    const struct ws__ast_node *n = &in->ast->node[by];
    const char *block = ws__xform_block(in, 0);
    char number[24];

    snprintf(number, sizeof(number), "%lld", (long long)value);
    return !strcmp(block, number) ||
           (strlen(block) == n->end - n->begin &&
            !strncmp(block, in->ast->text + n->begin, strlen(block)));
}

/* Is it how many threads a block has: asked for, or as the launches have it? */
static bool is_threads(const struct ws__xform_in *in, int32_t by)
{
    struct ws__xform_in l = *in;
    struct ws__affine a, part;
    int64_t value;

    if (!ws__ast_const(in->ast, by, &value))
        return ws__affine_of(in->ast, by, &a) && a.n == 1 &&
               ws__affine_part(&a, WS__SYM(WS__AL_BLOCK_DIM, 0), &part) &&
               ws__affine_is(&part, 1);
    for (l.launch = ws__xform_next_launch(in, 0);
         l.launch < in->kernel->nlaunch;
         l.launch = ws__xform_next_launch(in, l.launch + 1))
        if (!is_block(&l, by, value))
            return false;
    return true;
}

static bool is_thread(const struct ws__ast *t, int32_t expr)
{
    struct ws__affine a, part;

    return ws__affine_of(t, expr, &a) && a.n == 1 &&
           ws__affine_part(&a, WS__SYM(WS__AL_THREAD, 0), &part) &&
           ws__affine_is(&part, 1);
}

static bool is_shared_loop(const struct ws__xform_in *in, int32_t loop,
                           struct ws__ast_for *f)
{
    ws__ast_for(in->ast, loop, f);
    return f->counts && !f->inclusive && f->by >= 0 &&
           is_thread(in->ast, f->from) && is_threads(in, f->by);
}

/* The loop that a turn is: behind declarations alone. -1: there is none; else
 * *only says whether there is nothing more. */
static int32_t inner_of(const struct ws__ast *t, int32_t body, bool *only)
{
    int32_t hit = -1;

    *only = true;
    if (!ws__ast_is(t, body, WS__AST_BLOCK))
        return ws__ast_is(t, body, WS__AST_FOR) ? body : -1;
    for (int32_t c = t->node[body].first; c >= 0; c = t->node[c].next) {
        if (t->node[c].kind == WS__AST_FOR && hit < 0)
            hit = c;
        else if (t->node[c].kind != WS__AST_DECL || hit >= 0)
            *only = false;
    }
    return hit;
}

static bool reads_nest(const struct ws__xform_in *in, int32_t loop,
                       struct nest *n, bool *only)
{
    int32_t inner;

    if (!is_shared_loop(in, loop, &n->outer))
        return false;
    inner = inner_of(in->ast, n->outer.body, only);
    if (inner < 0)
        return false;
    ws__ast_for(in->ast, inner, &n->inner);
    return true;
}

static bool is_inside(const struct ws__ast *t, const struct nest *n, int32_t i)
{
    return ws__ast_below(t, i, n->outer.loop);
}

/* Does the pointer belong to the turn of the outer loop: a row? */
static bool is_row(const struct ws__ast *t, const struct nest *n,
                   int32_t pointer)
{
    return ws__ast_below(t, pointer, n->outer.body) &&
           ws__ast_uses(t, pointer, n->outer.var);
}

/* Accesses by which neighbouring threads come to touch the same or neighbouring
 * elements where there was a row between, and those the other way round. */
static void judge(const struct ws__xform_in *in, const struct nest *n,
                  int *better, int *worse)
{
    const struct ws__ast *t = in->ast;
    struct ws__affine i, j;

    for (size_t k = 0; k < n->n; k++) {
        const struct ws__reach *r = &n->reach[k];
        bool near, was;

        if (!ws__ast_below(t, r->node, n->inner.loop) || !r->affine ||
            !ws__affine_part(&r->at, n->outer.var, &i) ||
            !ws__affine_part(&r->at, n->inner.var, &j))
            continue;
        near = ws__affine_is(&j, 1) || ws__affine_is(&j, 0);
        was = !is_row(t, n, r->pointer) &&
              (ws__affine_is(&i, 1) || ws__affine_is(&i, 0));
        *better += near && !was;
        *worse += was && !near;
    }
}

/* --- do all threads come there, knowing the same? ------------------------- */

static bool is_loop(const struct ws__ast *t, int32_t i)
{
    return ws__ast_is(t, i, WS__AST_FOR) || ws__ast_is(t, i, WS__AST_WHILE) ||
           ws__ast_is(t, i, WS__AST_DO);
}

/* May some threads miss the loop by what happens at i: a jump, or the loop
 * itself? */
static bool may_part(const struct ws__xform_in *in, int32_t i, int32_t loop)
{
    const struct ws__ast *t = in->ast;
    int32_t around = i;

    if (i == loop)
        return true;
    switch (t->node[i].kind) {
    case WS__AST_RETURN:
        return true;
    case WS__AST_BREAK:
    case WS__AST_CONTINUE:
        while (around >= 0 && !is_loop(t, around))
            around = t->node[around].parent;
        return around >= 0 && ws__ast_below(t, loop, around);
    default:
        return false;
    }
}

static const char *check_way(const struct ws__xform_in *in, int32_t loop)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    if (ws__xform_others_ask(in))
        return "another function asks which thread it is";
    for (int32_t i = in->body; i < end; i++) {
        int32_t below = i, at = t->node[i].parent;

        if (t->node[i].kind == WS__AST_JUMP)
            return "there are jumps";
        if (!may_part(in, i, loop) || (i != loop && ws__ast_below(t, i, loop)))
            continue;
        for (; at > in->body; below = at, at = t->node[at].parent)
            for (int32_t c = t->node[at].first; c >= 0; c = t->node[c].next)
                if (c != below &&
                    (is_loop(t, at) || (t->node[at].kind == WS__AST_IF &&
                                        c == t->node[at].first)) &&
                    (ws__loop_by_thread(in, c) ||
                     !ws__xform_calls_known(t, c, 0)))
                    return "not all threads of a block may come to the loop";
    }
    return NULL;
}

/* Is a variable that the loop uses, of outside, the same for all threads? */
static bool is_common(const struct ws__xform_in *in, const struct nest *n,
                      int32_t ref)
{
    const struct ws__ast *t = in->ast;
    int32_t d = t->node[ref].decl;

    if (d < 0 || is_inside(t, n, d) || !ws__ast_below(t, d, in->func))
        return true;
    if (t->node[d].kind == WS__AST_PARAM)
        return !ws__ast_changes(t, in->func, d);
    if (t->node[d].is_static || t->node[d].type.space == WS__AS_SHARED)
        return true;
    for (int32_t up = n->outer.loop; up > in->body; up = t->node[up].parent) {
        struct ws__ast_for f;

        ws__ast_for(t, up, &f);
        if (f.counts && f.var == d) /* see check_way */
            return !ws__loop_by_thread(in, f.from);
    }
    return !t->node[d].type.ndim && !ws__ast_changes(t, in->func, d) &&
           ws__ast_is_pure(t, d) && !ws__loop_by_thread(in, d);
}

static const char *check_values(const struct ws__xform_in *in,
                                const struct nest *n)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, n->outer.body);
    int dim;

    for (int32_t i = n->outer.body; i < end; i++) {
        enum ws__ast_launch v =
            t->node[i].kind == WS__AST_CALL || t->node[i].kind == WS__AST_MEMBER
                ? ws__ast_launch_value(t, i, &dim)
                : WS__AL_NONE;

        if (v == WS__AL_THREAD || v == WS__AL_GLOBAL)
            return "it asks which thread it is";
        if (t->node[i].kind == WS__AST_REF && !is_common(in, n, i))
            return "it uses what may belong to the thread";
    }
    if (ws__loop_by_thread(in, n->outer.to) ||
        !ws__xform_stays(t, n->outer.to, n->outer.loop) ||
        !ws__xform_stays(t, n->inner.to, n->outer.loop) ||
        ws__ast_uses(t, n->inner.to, n->outer.var))
        return "a bound is not the same in all turns and threads";
    return NULL;
}

/* --- memory --------------------------------------------------------------- */

static bool is_in_loop(const struct ws__xform_in *in, int32_t i)
{
    for (i = in->ast->node[i].parent; i > in->body; i = in->ast->node[i].parent)
        if (is_loop(in->ast, i))
            return true;
    return false;
}

/* The child of `above` that i lies in. */
static int32_t child_with(const struct ws__ast *t, int32_t above, int32_t i)
{
    while (t->node[i].parent != above)
        i = t->node[i].parent;
    return i;
}

/* Do all threads wait between the loop and a place outside of it, whichever
 * comes first? */
static bool is_apart(const struct ws__xform_in *in, const struct nest *n,
                     int32_t node)
{
    const struct ws__ast *t = in->ast;
    int32_t above = t->node[n->outer.loop].parent, from, to;
    bool between = false, around = false, seen = false;

    while (!ws__ast_below(t, node, above))
        above = t->node[above].parent;
    if (!ws__ast_is(t, above, WS__AST_BLOCK))
        return false;
    from = child_with(t, above, node);
    to = child_with(t, above, n->outer.loop);
    if (from == to)
        return false;
    for (int32_t c = t->node[above].first; c >= 0; c = t->node[c].next) {
        bool end = c == from || c == to;

        if (!end && ws__ast_is_barrier(t, c)) {
            between = between || seen;
            around = around || !seen;
        }
        seen = end ? !seen : seen;
    }
    return between && (around || !is_in_loop(in, above));
}

/* Do all threads wait between the loop and its next time, if there is one? */
static bool is_once(const struct ws__xform_in *in, const struct nest *n)
{
    const struct ws__ast *t = in->ast;

    for (int32_t i = t->node[n->outer.loop].parent; i > in->body;
         i = t->node[i].parent) {
        if (is_loop(t, i))
            return false;
        for (int32_t c = t->node[i].first;
             c >= 0 && t->node[i].kind == WS__AST_BLOCK; c = t->node[c].next)
            if (ws__ast_is_barrier(t, c))
                return true;
    }
    return true;
}

/* Is a sum made of nothing that the loop sets, but for its counters? */
static bool is_settled(const struct ws__ast *t, const struct nest *n,
                       const struct ws__affine *a)
{
    for (size_t k = 0; k < a->n; k++)
        for (int s = 0; s < a->term[k].n; s++) {
            int32_t sym = a->term[k].sym[s];

            if (sym >= 0 && sym != n->outer.var && sym != n->inner.var &&
                (is_inside(t, n, sym) ||
                 ws__ast_changes(t, n->outer.loop, sym)))
                return false;
        }
    return true;
}

/* What a row's pointer adds to an index: i * n of `x + i * n` or `&x[i * n]`,
 * x being a parameter. */
static bool start_of(const struct ws__ast *t, int32_t pointer,
                     struct ws__affine *out)
{
    int32_t v = ws__ast_child(t, pointer, 0), base;

    while (v >= 0 && t->node[v].next >= 0)
        v = t->node[v].next; /* parts of a type go before */
    v = ws__ast_bare(t, v);
    if (ws__ast_is(t, v, WS__AST_UNARY) &&
        t->node[v].op == CL_UnaryOperator_AddrOf) {
        v = ws__ast_bare(t, ws__ast_child(t, v, 0));
        if (!ws__ast_is(t, v, WS__AST_INDEX))
            return false;
    } else if (!ws__ast_is_op(t, v, CL_BinaryOperator_Add)) {
        return false;
    }
    base = ws__ast_bare(t, ws__ast_child(t, v, 0));
    return ws__ast_is(t, base, WS__AST_REF) && t->node[base].decl >= 0 &&
           t->node[t->node[base].decl].kind == WS__AST_PARAM &&
           ws__affine_of(t, ws__ast_child(t, v, 1), out);
}

static bool constant(const struct ws__affine *a, int64_t *value)
{
    *value = a->n ? a->term[0].times : 0;
    return a->n < 2 && (!a->n || !a->term[0].n);
}

/* Are elements i * rows + j * columns others for each pair of turns? */
static bool is_apart_by(const struct ws__ast *t, const struct nest *n,
                        const struct ws__affine *rows,
                        const struct ws__affine *columns)
{
    int64_t r, c, m, k;
    struct ws__affine to;

    if (constant(columns, &c) && c > 0 && constant(rows, &r) &&
        ws__ast_const(t, n->inner.to, &k) && k <= r / c)
        return true;
    if (constant(rows, &r) && r > 0 && constant(columns, &c) &&
        ws__ast_const(t, n->outer.to, &m) && m <= c / r)
        return true;
    if (ws__affine_is(rows, 1) && ws__affine_of(t, n->outer.to, &to) &&
        ws__affine_same(&to, columns))
        return true;
    /* Where a row were longer than the way to the next, the two would meet, and
     * two threads have always had them. */
    return ws__affine_is(columns, 1) && rows->n == 1 &&
           (rows->term[0].n || rows->term[0].times > 1);
}

/* Has each pair of turns elements of its own, by this index? */
static bool is_pair(const struct ws__ast *t, const struct nest *n,
                    const struct ws__affine *rows,
                    const struct ws__affine *columns)
{
    struct ws__affine i, j;

    return is_settled(t, n, rows) && is_settled(t, n, columns) &&
           ws__affine_part(rows, n->outer.var, &i) &&
           ws__affine_part(columns, n->inner.var, &j) &&
           !ws__affine_uses(&i, n->inner.var) &&
           !ws__affine_uses(&j, n->outer.var) && is_apart_by(t, n, &i, &j);
}

/* Has each pair of turns elements of its own, in every loop around? */
static bool is_own(const struct ws__xform_in *in, const struct nest *n,
                   const struct ws__reach *r)
{
    const struct ws__ast *t = in->ast;
    bool once = is_once(in, n);
    int32_t top = n->outer.loop;
    struct ws__affine start;

    for (int32_t i = top; i > in->body; i = t->node[i].parent)
        top = is_loop(t, i) ? i : top;
    if (t->node[r->pointer].kind != WS__AST_PARAM)
        return once && is_row(t, n, r->pointer) && r->affine &&
               !ws__affine_uses(&r->at, n->outer.var) &&
               start_of(t, r->pointer, &start) && is_pair(t, n, &start, &r->at);
    for (size_t k = 0; k < r->at.n; k++)
        for (int s = 0; s < r->at.term[k].n; s++) {
            int32_t sym = r->at.term[k].sym[s];

            if (!once && sym >= 0 && !is_inside(t, n, sym) &&
                (ws__ast_below(t, sym, top) || ws__ast_changes(t, top, sym)))
                return false;
        }
    return r->affine && is_pair(t, n, &r->at, &r->at);
}

static const char *check_arrays(const struct ws__xform_in *in,
                                const struct nest *n)
{
    const struct ws__ast *t = in->ast;

    for (size_t a = 0; a < n->n; a++) {
        const struct ws__reach *x = &n->reach[a];

        if (!is_inside(t, n, x->node))
            continue;
        if (x->write && !is_own(in, n, x))
            return "turns may write the same elements";
        for (size_t b = 0; b < n->n; b++) {
            const struct ws__reach *y = &n->reach[b];

            if ((x->root != y->root && x->root >= 0 && y->root >= 0) ||
                !(x->write || y->write))
                continue;
            if (!is_inside(t, n, y->node)
                    ? !is_apart(in, n, y->node)
                    : !ws__ast_below(t, x->node, n->inner.loop) ||
                          !ws__ast_below(t, y->node, n->inner.loop))
                return "what it reads or writes is used elsewhere, with no "
                       "barrier between";
        }
    }
    return NULL;
}

/* Arrays of the block that the loop uses. */
static const char *check_shared(const struct ws__xform_in *in,
                                const struct nest *n)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = n->outer.loop; i < end && is_inside(t, n, i); i++) {
        int32_t d = t->node[i].kind == WS__AST_REF ? t->node[i].decl : -1;

        if (d < 0 || (t->node[d].type.space != WS__AS_SHARED &&
                      !(t->node[d].kind == WS__AST_VAR &&
                        t->node[d].is_static && !t->node[d].type.is_const)))
            continue;
        for (int32_t k = in->body; k < end; k++)
            if (t->node[k].kind == WS__AST_REF && t->node[k].decl == d &&
                !is_inside(t, n, k) && !is_apart(in, n, k))
                return "memory of the block is used elsewhere, with no barrier "
                       "between";
    }
    return NULL;
}

/* --- the text ------------------------------------------------------------- */

static bool has_comment(const struct ws__ast *t, uint32_t from, uint32_t to)
{
    for (; from + 1 < to; from++)
        if (t->text[from] == '/' &&
            (t->text[from + 1] == '/' || t->text[from + 1] == '*'))
            return true;
    return false;
}

static const char *check_text(const struct ws__xform_in *in,
                              const struct nest *n)
{
    const struct ws__ast *t = in->ast;
    const struct ws__ast_for *f[] = {&n->outer, &n->inner};

    if (ws__xform_has_directive(t, n->outer.loop) ||
        ws__loop_has_pragma(t, n->outer.loop))
        return "the loop has directives";
    if (!ws__xform_is_whole(t, n->outer.loop))
        return "a macro is part of a loop";
    for (int k = 0; k < 2; k++) {
        const struct ws__ast_node *v = &t->node[f[k]->var];

        if (!ws__ast_is(t, f[k]->init, WS__AST_DECL) ||
            !memchr(t->text + v->begin, '=',
                    t->node[f[k]->from].begin - v->begin))
            return "a counter is declared outside of its loop";
        if (strncmp(t->text + t->node[f[k]->loop].begin, "for", 3) != 0 ||
            !ws__xform_is_whole(t, f[k]->to) ||
            !ws__xform_is_whole(t, f[k]->body))
            return "a macro is part of a loop";
        if (has_comment(t, t->node[f[k]->loop].begin,
                        t->node[f[k]->body].begin))
            return "a comment stands in the head of a loop";
    }
    return NULL;
}

static const char *check_inner(const struct ws__xform_in *in,
                               const struct nest *n, int *rc)
{
    const struct ws__ast *t = in->ast;
    struct ws__loop l;
    int64_t from;

    if (!n->inner.counts || n->inner.by >= 0 || n->inner.inclusive ||
        !ws__ast_const(t, n->inner.from, &from) || from)
        return "the inner loop does not count from 0 by ones";
    *rc = ws__loop_read(in, n->inner.loop, &l);
    if (*rc < 0)
        return "";
    if (l.why) {
        l.why = ws__arena_printf(in->arena, "the inner loop %s", l.why);
        *rc = l.why ? 0 : WS_ENOMEM;
        return l.why;
    }
    if (l.nred)
        return "a turn of the inner loop leaves a sum to the next";
    for (int32_t c = ws__ast_child(t, n->outer.body, 0);
         c >= 0 && n->inner.loop != n->outer.body && c != n->inner.loop;
         c = t->node[c].next)
        if (!ws__ast_is_pure(t, c) || ws__loop_stray(in, c) >= 0)
            return "what stands in front of the inner loop has effects";
    return NULL;
}

static int look(const struct ws__xform_in *in, int32_t loop, struct nest *n,
                struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    int better = 0, worse = 0, rc = 0;
    const char *why;
    struct ws__site *s;
    bool only;

    if (!reads_nest(in, loop, n, &only))
        return 0;
    judge(in, n, &better, &worse);
    if (!better)
        return 0;
    why = only ? check_inner(in, n, &rc)
               : "there is more in a turn than the inner loop";
    WS_TRY(rc);
    why = why ? why : check_text(in, n);
    why = why ? why : check_way(in, loop);
    why = why ? why : check_values(in, n);
    why = why ? why : check_arrays(in, n);
    why = why ? why : check_shared(in, n);
    if (!why && worse >= better)
        why = "as many accesses would lose as would gain";
    if (why)
        return ws__site_refuse(in, out, loop, WORDS, why);
    s = ws__site_add(in, out, loop, &rc,
                     "threads share the loop over %s and that over %s as one: "
                     "neighbours have neighbouring %s",
                     t->node[n->outer.var].name, t->node[n->inner.var].name,
                     t->node[n->inner.var].name);
    if (s)
        s->trust = "no bound is negative, their product fits the counter's "
                   "type, and rows that are written do not overlap";
    return rc;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    int32_t end = ws__ast_after(in->ast, in->body);
    struct nest *n = ws__arena_alloc(in->arena, 1, sizeof(*n));

    if (!n)
        return WS_ENOMEM;
    n->n = ws__loop_reaches(in, in->body, n->reach, MAX_REACHES);
    for (int32_t i = in->body; i < end && n->n <= MAX_REACHES; i++)
        if (in->ast->node[i].kind == WS__AST_FOR)
            WS_TRY(look(in, i, n, out));
    return 0;
}

/* --- writing it ----------------------------------------------------------- */

/* "n", or "(n + 1)". */
static const char *factor(const struct ws__xform_in *in, int32_t expr)
{
    const char *text = ws__xform_text(in, expr);
    struct ws__arena *a = in->arena;

    if (!text)
        return NULL;
    for (const char *p = text; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz_.0123456789"
                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                    *p))
            return *text == '(' && in->ast->node[expr].kind == WS__AST_PAREN
                       ? text
                       : ws__arena_printf(a, "(%s)", text);
    return text;
}

/* How the counter's type is written. */
static const char *type_text(const struct ws__xform_in *in,
                             const struct ws__ast_for *f)
{
    const struct ws__ast *t = in->ast;
    const char *p = t->text + t->node[f->init].begin;
    const char *eq = strchr(p, '=');
    size_t n = eq ? (size_t)(eq - p) : 0;

    while (n && strchr(" \t", p[n - 1]))
        n--;
    n -= n > strlen(t->node[f->var].name) ? strlen(t->node[f->var].name) : 0;
    while (n && strchr(" \t", p[n - 1]))
        n--;
    return ws__arena_strndup(in->arena, p, n);
}

/* The text of a body's statements between its braces, or the one statement. */
static const char *inside(const struct ws__xform_in *in, uint32_t from,
                          uint32_t to, int common, const char *indent)
{
    const char *text =
        ws__arena_strndup(in->arena, in->ast->text + from, to - from);

    return text ? ws__xform_indented(in, text, common, indent) : NULL;
}

struct parts {
    const char *before, *body, *behind; /* the inner loop */
};

static int take_parts(const struct ws__xform_in *in, const struct nest *n,
                      const char *indent, struct parts *p)
{
    const struct ws__ast *t = in->ast;
    const struct ws__ast_node *o = &t->node[n->outer.body];
    const struct ws__ast_node *b = &t->node[n->inner.body];
    uint32_t end = ws__xform_end(t, n->inner.loop);
    bool block = b->kind == WS__AST_BLOCK;

    p->before = p->behind = "";
    if (n->outer.body != n->inner.loop) {
        p->before =
            inside(in, o->begin + 1, t->node[n->inner.loop].begin, -1, indent);
        p->behind = inside(in, end, o->end - 1, -1, indent);
    }
    p->body = block ? inside(in, b->begin + 1, b->end - 1, -1, indent)
                    : inside(in, b->begin, ws__xform_end(t, n->inner.body),
                             (int)ws__pieces_blanks(t, b->begin), indent);
    return p->before && p->body && p->behind ? 0 : WS_ENOMEM;
}

static int put(const struct ws__xform_in *in, const struct nest *n,
               struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    const char *i = t->node[n->outer.var].name, *j = t->node[n->inner.var].name;
    const char *indent = ws__xform_indent(in, n->outer.loop), *deep, *both;
    const char *type = type_text(in, &n->outer), *type2;
    const char *rows = factor(in, n->outer.to);
    const char *columns = factor(in, n->inner.to);
    uint32_t begin = t->node[n->outer.loop].begin;
    struct parts p;

    both = strlen(i) + strlen(j) < 4 ? ws__arena_printf(in->arena, "%s%s", i, j)
                                     : "turn";
    both = both ? ws__xform_name(in, both) : NULL;
    type2 = type_text(in, &n->inner);
    if (!indent || !both || !type || !type2 || !rows || !columns)
        return WS_ENOMEM;
    deep = ws__arena_printf(in->arena, "%s%s", indent,
                            strchr(indent, '\t') ? "\t" : "    ");
    if (!deep)
        return WS_ENOMEM;
    WS_TRY(take_parts(in, n, deep, &p));
    ws__rewrite_at(out, begin, ws__xform_end(t, n->outer.loop) - begin,
                   "for (%s %s = %s; %s < %s * %s; %s += %s) {\n"
                   "%s%s %s = %s / %s%s%s%s %s = %s %% %s;\n\n"
                   "%s%s%s%s%s\n%s}",
                   type, both, ws__xform_text(in, n->outer.from), both, rows,
                   columns, both, ws__xform_text(in, n->outer.by), deep, type,
                   i, both, columns, strcmp(type, type2) ? ";\n" : ",",
                   strcmp(type, type2) ? deep : "",
                   strcmp(type, type2) ? type2 : "", j, both, columns, p.before,
                   *p.before ? "\n\n" : "", p.body, *p.behind ? "\n" : "",
                   p.behind, indent);
    return 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    struct nest *n = ws__arena_alloc(in->arena, 1, sizeof(*n));
    bool only;

    if (!n)
        return WS_ENOMEM;
    if (!reads_nest(in, s->node[0], n, &only))
        return ws__fail(in->ctx, WS_EBUG, "no such site");
    return put(in, n, out);
}

const struct ws__xform_ops ws__xform_collapse = {
    .abi = WS__XFORM_ABI,
    .name = "collapse",
    .about = "a loop that a block's threads share and the loop in it as one",
    .needs = "a loop in steps of the block's threads whose turn is a loop from "
             "0 that carries nothing, over neighbouring elements",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .gain = 2,
    .find = find,
    .apply = apply,
};
