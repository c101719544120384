/* rows_edit.c: a team of threads for each row. See rows.h. */
#include <stdlib.h>

#include "xform/clang_api.h"
#include "xform/rows.h"

#include "base/banned.h"

/* --- edits ---------------------------------------------------------------- */

static const char *tab_of(const struct ws__rows *p, int32_t node)
{
    const char *indent = ws__xform_indent(p->in, node);

    return indent && strchr(indent, '\t') ? "\t" : "    ";
}

/* The name by which parts of a reduction go: its variable's, or a new one for
 * each that is in memory. NULL: no memory. */
static const char *part_name(const struct ws__rows *p,
                             const struct ws__reduction *r)
{
    const char *base = "part";
    int before = 0;

    if (r->decl >= 0)
        return p->in->ast->node[r->decl].name;
    for (size_t l = 0; l < p->nloop; l++)
        for (size_t k = 0; k < p->loop[l].nred; k++)
            before +=
                p->loop[l].red[k].decl < 0 && p->loop[l].red[k].at < r->at;
    if (before)
        base = ws__arena_printf(p->in->arena, "part_%d", before + 1);
    return base ? ws__xform_name(p->in, base) : NULL;
}

static bool is_zero(const struct ws__rows *p, int32_t expr)
{
    int32_t v = ws__ast_bare(p->in->ast, expr);
    const char *text = v < 0 ? NULL : ws__xform_text(p->in, v);
    char *end;

    return text && strtod(text, &end) == 0 && end != text &&
           (!*end || *end == 'f' || *end == 'F');
}

/* Is the variable 0 wherever the loop begins: set so in the statement before,
 * or declared so and not used since? */
static bool starts_at_zero(const struct ws__rows *p, const struct ws__loop *l,
                           int32_t var)
{
    const struct ws__ast *t = p->in->ast;
    int32_t block = t->node[l->f.loop].parent, before = -1;

    if (t->node[block].kind != WS__AST_BLOCK)
        return false;
    for (int32_t c = t->node[block].first; c != l->f.loop; c = t->node[c].next)
        before = c;
    if (ws__ast_is(t, before, WS__AST_ASSIGN) &&
        t->node[before].op == CL_BinaryOperator_Assign &&
        ws__ast_refers(t, ws__ast_child(t, before, 0), var))
        return is_zero(p, ws__ast_child(t, before, 1));
    if (t->node[t->node[var].parent].parent != block ||
        !is_zero(p, ws__ast_child(t, var, 0)))
        return false;
    for (int32_t i = ws__ast_after(t, var); i < l->f.loop; i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl == var)
            return false;
    return true;
}

struct edit {
    const struct ws__rows *p;
    const struct ws__rows_team *w;
    struct ws__rewrite *out;
    struct ws__buf before, behind;
    const char *indent, *tab;
    /* of each reduction of the loop: its variable, the shared arrays of its
     * parts and of their places */
    const char *name[WS__LOOP_REDUCTIONS], *array[WS__LOOP_REDUCTIONS],
        *place[WS__LOOP_REDUCTIONS];
};

/* Threads but the first begin with nothing. */
static void edit_start(struct edit *e, const struct ws__loop *l,
                       const struct ws__reduction *r, const char *name)
{
    const struct ws__ast *t = e->p->in->ast;
    const char *place = ws__xform_text(e->p->in, r->at);

    if (r->decl < 0)
        ws__buf_printf(&e->before, "%s %s = %s;\n%s",
                       ws__loop_type(t, &t->node[r->at].type), name,
                       r->kind == WS__RED_SUM ? "0" : place, e->indent);
    else if (r->kind == WS__RED_SUM && !starts_at_zero(e->p, l, r->decl))
        ws__buf_printf(&e->before, "if (%s != 0)\n%s%s%s = 0;\n%s", e->w->lane,
                       e->indent, e->tab, name, e->indent);
}

/* The value and the place of another part, where it has one. */
struct part {
    const char *value, *at;
};

static void edit_pair(struct edit *e, const struct ws__reduction *r,
                      const char *name, const struct part *from)
{
    const struct ws__ast *t = e->p->in->ast;
    const char *at = t->node[r->where].name, *i = e->indent, *b = e->tab;
    const char *other = e->w->other, *place = e->w->other_at;

    ws__buf_printf(&e->behind, "%s%s%s %s = %s;\n", i, b,
                   ws__loop_type(t, &t->node[r->at].type), other, from->value);
    ws__buf_printf(&e->behind, "%s%s%s %s = %s;\n\n", i, b,
                   ws__loop_type(t, &t->node[r->where].type), place, from->at);
    ws__buf_printf(&e->behind, "%s%sif (%s %c %s || (%s == %s && %s < %s)) {\n",
                   i, b, other, r->kind == WS__RED_MAX ? '>' : '<', name, other,
                   name, place, at);
    ws__buf_printf(&e->behind, "%s%s%s%s = %s;\n", i, b, b, name, other);
    ws__buf_printf(&e->behind, "%s%s%s%s = %s;\n", i, b, b, at, place);
    ws__buf_printf(&e->behind, "%s%s}\n", i, b);
}

/* Another part comes to what the thread has. */
static void edit_join(struct edit *e, const struct ws__reduction *r,
                      const char *name, const struct part *from)
{
    if (r->where >= 0)
        edit_pair(e, r, name, from);
    else if (r->kind == WS__RED_SUM)
        ws__buf_printf(&e->behind, "%s%s%s += %s;\n", e->indent, e->tab, name,
                       from->value);
    else
        ws__buf_printf(&e->behind, "%s%s%s = %s(%s, %s);\n", e->indent, e->tab,
                       name,
                       ws__loop_extreme(e->p->in->ast, r->at, r->kind, r->by),
                       name, from->value);
}

static const char *shuffled(const struct edit *e, const char *name)
{
    return ws__arena_printf(e->p->in->arena,
                            "__shfl_xor_sync(0xffffffffu, %s, %s)", name,
                            e->w->step);
}

static void edit_shuffle(struct edit *e, const struct ws__reduction *r,
                         const char *name)
{
    struct part from = {.value = shuffled(e, name)};

    if (r->where >= 0)
        from.at = shuffled(e, e->p->in->ast->node[r->where].name);
    if (!from.value || (r->where >= 0 && !from.at))
        e->out->failed = WS_ENOMEM;
    else
        edit_join(e, r, name, &from);
}

/* The shared array of the parts of a variable, of its nth reduction. */
static const char *array_name(const struct edit *e, const char *name, int n)
{
    const char *base =
        n ? ws__arena_printf(e->p->in->arena, "%s_%s%d", name, e->w->parts,
                             n + 1)
          : ws__arena_printf(e->p->in->arena, "%s_%s", name, e->w->parts);

    return base ? ws__xform_name(e->p->in, base) : NULL;
}

/* How many reductions before this one have the same variable. */
static int number_of(const struct edit *e, const struct ws__reduction *r)
{
    int n = 0;

    for (size_t l = 0; r->decl >= 0 && l < e->p->nloop; l++)
        for (size_t k = 0; k < e->p->loop[l].nred; k++) {
            if (&e->p->loop[l].red[k] == r)
                return n;
            n += e->p->loop[l].red[k].decl == r->decl ||
                 (r->where >= 0 && e->p->loop[l].red[k].where == r->where);
        }
    return n;
}

static void edit_array(struct edit *e, const struct ws__ast_type *y,
                       const char *name, const char *array)
{
    ws__buf_printf(&e->before, "__shared__ %s %s[%d];\n%s",
                   ws__loop_type(e->p->in->ast, y), array, WS__ROWS_WARP,
                   e->indent);
    ws__buf_printf(&e->behind, "%s%s%s[%s / %d] = %s;\n", e->indent, e->tab,
                   array, e->w->lane, WS__ROWS_WARP, name);
}

/* The element of memory becomes a variable in the loop. */
static void rename_part(struct edit *e, const struct ws__loop *l,
                        const struct ws__reduction *r, const char *name)
{
    const struct ws__ast *t = e->p->in->ast;
    int32_t end = ws__ast_after(t, l->f.loop);

    if (r->decl >= 0)
        return;
    for (int32_t i = l->f.loop; i < end; i++)
        if (t->node[i].kind == WS__AST_INDEX && ws__ast_same(t, i, r->at))
            ws__rewrite_node(e->out, i, "%s", name);
}

static void edit_store(struct edit *e, const struct ws__reduction *r,
                       const char *name)
{
    if (r->decl < 0)
        ws__buf_printf(&e->behind, "%sif (%s == 0)\n%s%s%s %s %s;\n", e->indent,
                       e->w->lane, e->indent, e->tab,
                       ws__xform_text(e->p->in, r->at),
                       r->kind == WS__RED_SUM ? "+=" : "=", name);
}

/* Is it more than one statement that a loop over parts has? */
static bool is_long(const struct ws__loop *l)
{
    return l->nred > 1 || l->red[0].where >= 0;
}

static void edit_warp(struct edit *e, const struct ws__loop *l)
{
    ws__buf_printf(&e->behind, "%sfor (int %s = %d; %s > 0; %s /= 2)%s\n",
                   e->indent, e->w->step, WS__ROWS_WARP / 2, e->w->step,
                   e->w->step, is_long(l) ? " {" : "");
    for (size_t i = 0; i < l->nred; i++)
        edit_shuffle(e, &l->red[i], e->name[i]);
    if (is_long(l))
        ws__buf_printf(&e->behind, "%s}\n", e->indent);
}

/* The first thread of each warp puts its part where all see it. */
static void edit_give(struct edit *e, const struct ws__loop *l)
{
    const struct ws__ast *t = e->p->in->ast;

    ws__buf_printf(&e->behind, "%sif (%s %% %d == 0)%s\n", e->indent,
                   e->w->lane, WS__ROWS_WARP, is_long(l) ? " {" : "");
    for (size_t i = 0; i < l->nred; i++) {
        const struct ws__reduction *r = &l->red[i];

        edit_array(e, &t->node[r->at].type, e->name[i], e->array[i]);
        if (r->where >= 0)
            edit_array(e, &t->node[r->where].type, t->node[r->where].name,
                       e->place[i]);
    }
    if (is_long(l))
        ws__buf_printf(&e->behind, "%s}\n", e->indent);
}

/* All threads take the parts of all warps, in the same order. */
static void edit_take(struct edit *e, const struct ws__loop *l)
{
    const struct ws__ast *t = e->p->in->ast;
    struct ws__arena *a = e->p->in->arena;

    for (size_t i = 0; i < l->nred; i++) {
        ws__buf_printf(&e->behind, "%s%s = %s[0];\n", e->indent, e->name[i],
                       e->array[i]);
        if (l->red[i].where >= 0)
            ws__buf_printf(&e->behind, "%s%s = %s[0];\n", e->indent,
                           t->node[l->red[i].where].name, e->place[i]);
    }
    ws__buf_printf(&e->behind,
                   "%sfor (int %s = 1; %s < blockDim.x / %d; %s++)%s\n",
                   e->indent, e->w->warp, e->w->warp, WS__ROWS_WARP, e->w->warp,
                   is_long(l) ? " {" : "");
    for (size_t i = 0; i < l->nred; i++) {
        struct part from = {
            ws__arena_printf(a, "%s[%s]", e->array[i], e->w->warp),
            e->place[i] ? ws__arena_printf(a, "%s[%s]", e->place[i], e->w->warp)
                        : NULL};

        if (!from.value || (e->place[i] && !from.at))
            e->out->failed = WS_ENOMEM;
        else
            edit_join(e, &l->red[i], e->name[i], &from);
    }
    if (is_long(l))
        ws__buf_printf(&e->behind, "%s}\n", e->indent);
}

/* Names for the parts of each reduction. */
static int name_parts(struct edit *e, const struct ws__loop *l)
{
    const struct ws__ast *t = e->p->in->ast;

    for (size_t i = 0; i < l->nred; i++) {
        int n = number_of(e, &l->red[i]);

        e->name[i] = part_name(e->p, &l->red[i]);
        if (!e->name[i])
            return WS_ENOMEM;
        if (!e->w->parts)
            continue;
        e->array[i] = array_name(e, e->name[i], n);
        if (!e->array[i])
            return WS_ENOMEM;
        if (l->red[i].where < 0)
            continue;
        e->place[i] = array_name(e, t->node[l->red[i].where].name, n);
        if (!e->place[i])
            return WS_ENOMEM;
    }
    return 0;
}

static int edit_reductions(struct edit *e, const struct ws__loop *l,
                           bool repeats)
{
    if (!l->nred)
        return 0;
    WS_TRY(name_parts(e, l));
    for (size_t i = 0; i < l->nred; i++) {
        edit_start(e, l, &l->red[i], e->name[i]);
        rename_part(e, l, &l->red[i], e->name[i]);
    }
    edit_warp(e, l);
    if (e->w->parts) {
        edit_give(e, l);
        ws__buf_printf(&e->behind, "%s%s\n", e->indent, e->w->sync);
        edit_take(e, l);
        if (repeats) /* the next turn's parts go to the same arrays */
            ws__buf_printf(&e->behind, "%s%s\n", e->indent, e->w->sync);
    }
    for (size_t i = 0; i < l->nred; i++)
        edit_store(e, &l->red[i], e->name[i]);
    return 0;
}

/* The team's turns are as many apart as it has threads. */
static void edit_head(struct edit *e, const struct ws__loop *l)
{
    const struct ws__ast *t = e->p->in->ast;
    int64_t from;
    bool zero = ws__ast_const(t, l->f.from, &from) && !from;
    bool simple = ws__ast_bare(t, l->f.from) == l->f.from &&
                  (t->node[l->f.from].kind == WS__AST_INT ||
                   t->node[l->f.from].kind == WS__AST_REF);

    if (l->nred == 1) {
        int32_t value = ws__loop_only(t, l, l->red[0].kind);

        /* from the row's beginning, where sectors do */
        zero =
            zero || (value >= 0 && ws__loop_misses_first(e->p->in, l, value));
    }
    if (zero)
        ws__rewrite_node(e->out, l->f.from, "%s", e->w->lane);
    else
        ws__rewrite_node(e->out, l->f.from, simple ? "%s + %s" : "(%s) + %s",
                         ws__xform_text(e->p->in, l->f.from), e->w->lane);
    ws__rewrite_node(e->out, l->f.step, "%s += %s", t->node[l->f.var].name,
                     e->w->stride);
}

/* Does the statement begin its line? */
static bool begins_line(const struct ws__ast *t, int32_t stmt)
{
    uint32_t at = t->node[stmt].begin;

    while (at && (t->text[at - 1] == ' ' || t->text[at - 1] == '\t'))
        at--;
    return !at || t->text[at - 1] == '\n';
}

/* Behind the word that the statement follows: `if (...)`, `else`. Its own
 * beginning, where there may be a comment between. */
static uint32_t behind_word(const struct ws__ast *t, int32_t stmt)
{
    uint32_t at = t->node[stmt].begin, line;

    while (at && strchr(" \t\r\n", t->text[at - 1]))
        at--;
    for (line = at; line && t->text[line - 1] != '\n'; line--)
        if (t->text[line - 1] == '/')
            return t->node[stmt].begin;
    return at;
}

static void open_brace(struct edit *e, int32_t stmt)
{
    const struct ws__ast *t = e->p->in->ast;
    uint32_t at = behind_word(t, stmt);

    if (begins_line(t, stmt) && at < t->node[stmt].begin)
        ws__rewrite_at(e->out, at, 0, " {");
    else
        ws__rewrite_at(e->out, t->node[stmt].begin, 0, "{\n%s", e->indent);
}

/* What stands before and behind a statement; in braces where it is the one
 * statement of an if or a loop. */
static void place(struct edit *e, int32_t stmt)
{
    const struct ws__ast *t = e->p->in->ast;
    int32_t up = t->node[stmt].parent;
    bool brace =
        (e->before.len || e->behind.len) && !ws__ast_is(t, up, WS__AST_BLOCK);
    const char *tail = e->behind.len ? e->behind.data : "";
    size_t n = strlen(tail);

    while (n && tail[n - 1] == '\n')
        n--;
    if (brace)
        open_brace(e, stmt);
    if (e->before.len)
        ws__rewrite_at(e->out, t->node[stmt].begin, 0, "%s", e->before.data);
    if (n)
        ws__rewrite_at(e->out, ws__xform_end(t, stmt), 0, "\n%.*s", (int)n,
                       tail);
    if (brace)
        ws__rewrite_at(e->out, ws__xform_end(t, stmt), 0, "\n%s}",
                       ws__xform_indent(e->p->in, up));
}

static int edit_region(const struct ws__rows *p, size_t i,
                       const struct ws__rows_team *w, struct ws__rewrite *out)
{
    const struct ws__rows_region *g = &p->region[i];
    struct edit e = {.p = p, .w = w, .out = out};
    int rc = 0;

    e.tab = tab_of(p, g->stmt);
    e.indent = ws__xform_indent(p->in, g->stmt);
    if (e.indent && !begins_line(p->in->ast, g->stmt) &&
        !ws__ast_is(p->in->ast, p->in->ast->node[g->stmt].parent,
                    WS__AST_BLOCK))
        e.indent = ws__arena_printf(p->in->arena, "%s%s", e.indent, e.tab);
    if (!e.indent)
        return WS_ENOMEM;
    ws__buf_init(&e.before, p->in->ctx, 1 << 16);
    ws__buf_init(&e.behind, p->in->ctx, 1 << 16);
    if (ws__rows_waits(p, i))
        ws__buf_printf(&e.before, "%s\n%s", w->sync, e.indent);
    if (g->loop >= 0) {
        rc = edit_reductions(&e, &p->loop[g->loop], g->repeats);
        edit_head(&e, &p->loop[g->loop]);
    } else if (g->first) {
        ws__buf_printf(&e.before, "if (%s == 0)\n%s%s", w->lane, e.indent,
                       e.tab);
    }
    if (e.before.failed || e.behind.failed)
        rc = WS_ENOMEM;
    if (!rc)
        place(&e, g->stmt);
    ws__buf_free(&e.before);
    ws__buf_free(&e.behind);
    return rc;
}

int ws__rows_edit(const struct ws__rows *p, const struct ws__rows_team *w,
                  struct ws__rewrite *out)
{
    for (size_t i = 0; i < p->n; i++)
        WS_TRY(edit_region(p, i, w, out));
    return 0;
}

/* ceil_div(M, 256) of blocks of 256 becomes ceil_div(32 * (M), 256); anything
 * else is taken 32 times. */
