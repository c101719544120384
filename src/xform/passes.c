/* passes.c: two loops over the same elements. See passes.h. */
#include "xform/passes.h"

#include "xform/clang_api.h"

#include "base/banned.h"

#define MAX_REACHES 32

int32_t ws__passes_value(const struct ws__ast *t, int32_t loop, int32_t expr)
{
    for (int depth = 0; depth < 4; depth++) {
        int32_t d, v;

        expr = ws__ast_bare(t, expr);
        if (!ws__ast_is(t, expr, WS__AST_REF))
            return expr;
        d = t->node[expr].decl;
        if (d < 0 || !ws__ast_below(t, d, loop) ||
            !ws__ast_is(t, t->node[d].parent, WS__AST_DECL))
            return expr;
        v = ws__ast_child(t, d, 0);
        if (v < 0 || ws__ast_changes(t, loop, d))
            return expr;
        expr = v;
    }
    return expr;
}

/* --- comparing ------------------------------------------------------------ */

/* Equal trees, where counter x stands for counter y. */
static bool same_but(const struct ws__ast *t, int32_t a, int32_t b, int32_t x,
                     int32_t y)
{
    int32_t c, d;

    a = ws__ast_bare(t, a);
    b = ws__ast_bare(t, b);
    if (a < 0 || b < 0)
        return a < 0 && b < 0;
    if (ws__ast_is(t, a, WS__AST_REF) && t->node[a].decl == x && x >= 0)
        return ws__ast_is(t, b, WS__AST_REF) && t->node[b].decl == y;
    if (t->node[a].first < 0 || t->node[b].first < 0)
        return ws__ast_same(t, a, b);
    if (t->node[a].kind != t->node[b].kind || t->node[a].op != t->node[b].op ||
        t->node[a].decl != t->node[b].decl ||
        t->node[a].type.class != t->node[b].type.class ||
        t->node[a].type.bits != t->node[b].type.bits)
        return false;
    if ((t->node[a].name || t->node[b].name) &&
        (!t->node[a].name || !t->node[b].name ||
         strcmp(t->node[a].name, t->node[b].name) != 0))
        return false;
    for (c = t->node[a].first, d = t->node[b].first; c >= 0 && d >= 0;
         c = t->node[c].next, d = t->node[d].next)
        if (!same_but(t, c, d, x, y))
            return false;
    return c < 0 && d < 0;
}

/* Does the expression name something that the loop declares, but its counter?
 */
static bool is_inner(const struct ws__ast *t, const struct ws__loop *l,
                     int32_t expr, bool counter)
{
    int32_t end = ws__ast_after(t, expr);

    for (int32_t i = expr; i < end; i++) {
        int32_t d = t->node[i].kind == WS__AST_REF ? t->node[i].decl : -1;

        if (d >= 0 &&
            ((d == l->f.var && !counter) || ws__ast_below(t, d, l->f.body) ||
             ws__ast_changes(t, l->f.body, d)))
            return true;
    }
    return false;
}

/* --- loops ---------------------------------------------------------------- */

static bool same_turns(const struct ws__xform_in *in,
                       const struct ws__passes *p, int32_t e)
{
    const struct ws__ast *t = in->ast;
    const struct ws__ast_for *a = &p->first.f, *b = &p->second.f;
    int64_t y;

    if (a->inclusive != b->inclusive || !ws__ast_same(t, a->to, b->to) ||
        (a->by < 0) != (b->by < 0) ||
        (a->by >= 0 && !ws__ast_same(t, a->by, b->by)))
        return false;
    if (ws__ast_same(t, a->from, b->from))
        return true;
    return ws__ast_const(t, b->from, &y) && !y &&
           ws__loop_misses_first(in, &p->first, e);
}

/* --- between -------------------------------------------------------------- */

bool ws__passes_changes(const struct ws__ast *t, const struct ws__passes *p,
                        int32_t decl)
{
    for (int32_t i = t->node[p->first.f.loop].next;
         i >= 0 && i != p->second.f.loop; i = t->node[i].next)
        if (ws__ast_changes(t, i, decl))
            return true;
    return false;
}

/* Do all that an expression names exist before the first loop, and keep? */
static bool keeps(const struct ws__ast *t, const struct ws__passes *p,
                  int32_t expr)
{
    int32_t end = expr < 0 ? 0 : ws__ast_after(t, expr);

    for (int32_t i = expr; i >= 0 && i < end; i++) {
        int32_t d = t->node[i].kind == WS__AST_REF ? t->node[i].decl : -1;

        if (d < 0 || d == p->second.f.var)
            continue;
        if (d > p->first.f.loop || ws__ast_changes(t, p->first.f.loop, d) ||
            ws__passes_changes(t, p, d))
            return false;
    }
    return true;
}

/* Does e read memory that is written between the loops, or that cannot be told
 * apart from such? */
static bool may_change(const struct ws__xform_in *in,
                       const struct ws__passes *p)
{
    const struct ws__ast *t = in->ast;
    struct ws__reach r[MAX_REACHES], w[MAX_REACHES];
    size_t n = ws__loop_reaches(in, p->e, r, MAX_REACHES), arrays = 0;
    int32_t end = ws__ast_after(t, p->e);

    for (int32_t i = p->e; i < end; i++)
        arrays += t->node[i].kind == WS__AST_INDEX;
    if (arrays != n || n > MAX_REACHES)
        return true;
    for (int32_t i = p->first.f.loop; i >= 0 && i != p->second.f.loop;
         i = t->node[i].next) {
        size_t m = ws__loop_reaches(in, i, w, MAX_REACHES);

        if (m > MAX_REACHES || ws__loop_stray(in, i) >= 0)
            return true;
        for (size_t k = 0; k < m; k++)
            for (size_t j = 0; j < n; j++)
                if (w[k].write &&
                    (w[k].root < 0 || r[j].root < 0 || w[k].root == r[j].root))
                    return true;
    }
    return false;
}

/* Is a counter declared outside read where no loop has set it? */
static bool counter_lives(const struct ws__xform_in *in,
                          const struct ws__ast_for *f)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end && !ws__ast_below(t, f->var, f->loop);
         i++) {
        int32_t l = i;
        struct ws__ast_for o = {.var = -1};

        if (t->node[i].kind != WS__AST_REF || t->node[i].decl != f->var)
            continue;
        for (; l >= 0 && o.var != f->var; l = t->node[l].parent)
            ws__ast_for(t, l, &o);
        if (o.var != f->var)
            return true;
    }
    return false;
}

static void judge(const struct ws__xform_in *in, struct ws__passes *p)
{
    const struct ws__ast *t = in->ast;

    if (is_inner(t, &p->second, p->m, false))
        p->why = "what is taken off changes in the loop";
    else if (!ws__ast_is_pure(t, p->m) || !ws__ast_is_pure(t, p->e))
        p->why = "an expression has effects";
    else if (is_inner(t, &p->second, p->e, true))
        p->why = "the element is made of variables of the loop's own";
    else if (!keeps(t, p, p->e) || !keeps(t, p, p->second.f.from) ||
             !keeps(t, p, p->second.f.to) || !keeps(t, p, p->second.f.by))
        p->why = "what the loops read changes between them";
    else if (may_change(in, p))
        p->why = "the elements may be written between the loops";
    else if (counter_lives(in, &p->first.f) || counter_lives(in, &p->second.f))
        p->why = "a counter is read behind its loop";
    else if (t->node[p->e].type.class != WS__AT_FLOAT ||
             t->node[p->e].type.bits != t->node[p->sum].type.bits ||
             t->node[p->joint].type.class != WS__AT_FLOAT ||
             t->node[p->joint].type.bits != t->node[p->sum].type.bits)
        p->why = "elements and sums have different types";
}

bool ws__passes_read(const struct ws__xform_in *in, int32_t loop,
                     enum ws__reduce kind, ws__passes_term *term,
                     struct ws__passes *out, int *rc)
{
    const struct ws__ast *t = in->ast;
    int32_t value;

    memset(out, 0, sizeof(*out));
    out->call = -1;
    if (!ws__ast_is(t, t->node[loop].parent, WS__AST_BLOCK))
        return false;
    *rc = ws__loop_read(in, loop, &out->second);
    value = *rc < 0 ? -1 : ws__loop_only(t, &out->second, WS__RED_SUM);
    if (value < 0 || !term(t, loop, value, out))
        return false;
    out->sum = out->second.red[0].at;
    for (int32_t c = ws__ast_child(t, t->node[loop].parent, 0); c != loop;
         c = t->node[c].next) {
        struct ws__loop first;
        int32_t e;

        if (t->node[c].kind != WS__AST_FOR)
            continue;
        *rc = ws__loop_read(in, c, &first);
        if (*rc < 0)
            return false;
        e = ws__loop_only(t, &first, kind);
        if (e < 0)
            continue;
        e = ws__passes_value(t, c, e);
        if (!same_but(t, e, out->e, first.f.var, out->second.f.var))
            continue;
        out->first = first;
        if (same_turns(in, out, e))
            out->joint = first.red[0].at;
        else
            out->first.f.loop = 0;
    }
    if (!out->first.f.loop)
        return false;
    judge(in, out);
    return true;
}

const char *ws__passes_head(const struct ws__xform_in *in,
                            const struct ws__passes *p)
{
    const struct ws__ast *t = in->ast;
    uint32_t from = t->node[p->second.f.loop].begin;
    uint32_t to = t->node[p->second.f.step].end;

    while (t->text[to] && t->text[to] != ')')
        to++;
    return ws__arena_strndup(in->arena, t->text + from, to + 1 - from);
}

uint32_t ws__passes_length(const struct ws__ast *t, int32_t loop)
{
    return ws__xform_end(t, loop) - t->node[loop].begin;
}
