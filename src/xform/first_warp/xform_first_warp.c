/*
 * xform_first_warp.c: the first warp instead of the first thread joins what the
 * block's threads left in memory.
 *
 *     __syncthreads();
 *     if (tid == 0) {
 *         float sum = 0;
 *         for (int i = 0; i < THREADS; i++)
 *             sum += part[i];
 *         ...
 *     }
 * While one thread waits for each load in turn, all others wait for it. Here 32
 * lanes take every 32nd element, shuffles join what they have in the first
 * lane, and that one does the rest. The barrier before makes all elements seen
 * by all lanes, and says that all lanes of the first warp come here.
 */
#include "core/trial.h"
#include "xform/clang_api.h"
#include "xform/pieces.h"
#include "xform/rows.h"
#include "xform/tree.h"

#include "base/banned.h"

#define FEW_TURNS 16
#define MAX_ACCESSES 32

static const char *const findings[] = {"wait_barrier", "wait_shared",
                                       "wait_fixed", "imbalance", NULL};
static const struct ws__xform_delta deltas[] = {{"barrier", 0.2, 0.9},
                                                {"short_scoreboard", 0.3, 1},
                                                {NULL, 0, 0}};
static const char what[] = "the first warp instead of the first thread";

struct first {
    const struct ws__xform_in *in;
    int32_t stmt, then; /* the IF, its BLOCK */
    int32_t tid;        /* expression: threadIdx.x */
    int32_t rest;       /* statement behind the loop */
    struct ws__loop l;
    const char *why;
};

static bool no(struct first *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return false;
}

/* --- the statement -------------------------------------------------------- */

static int32_t before(const struct ws__ast *t, int32_t stmt)
{
    int32_t last = -1;

    for (int32_t c = ws__ast_child(t, t->node[stmt].parent, 0); c != stmt;
         c = t->node[c].next)
        if (t->node[c].kind != WS__AST_EMPTY)
            last = c;
    return last;
}

/* The loop in the statement's block that only declarations are before; -1. */
static int32_t loop_of(const struct ws__ast *t, int32_t then)
{
    int32_t c = ws__ast_child(t, then, 0);

    while (ws__ast_is(t, c, WS__AST_DECL))
        c = t->node[c].next;
    return ws__ast_is(t, c, WS__AST_FOR) ? c : -1;
}

/* Is it worth a thought: one thread has many turns? */
static bool reads_statement(struct first *r)
{
    const struct ws__ast *t = r->in->ast;
    int64_t from, to;
    int32_t loop;

    r->tid = ws__tree_first(t, ws__ast_child(t, r->stmt, 0));
    r->then = ws__ast_child(t, r->stmt, 1);
    if (r->tid < 0 || ws__ast_nchild(t, r->stmt) != 2 ||
        !ws__ast_is(t, r->then, WS__AST_BLOCK))
        return false;
    loop = loop_of(t, r->then);
    if (loop < 0 || ws__loop_read(r->in, loop, &r->l) < 0 || !r->l.nred)
        return false;
    r->rest = t->node[loop].next;
    return !(ws__ast_const(t, r->l.f.from, &from) &&
             ws__ast_const(t, r->l.f.to, &to) && to - from < FEW_TURNS);
}

/* --- legality ------------------------------------------------------------- */

static bool check_declarations(struct first *r)
{
    const struct ws__ast *t = r->in->ast;

    for (int32_t c = ws__ast_child(t, r->then, 0); c != r->l.f.loop;
         c = t->node[c].next)
        if (!ws__ast_is_pure(t, c) || ws__loop_call(t, c) >= 0)
            return no(r, "a declaration has effects");
    for (size_t i = 0; i < r->l.nred; i++) {
        const struct ws__reduction *d = &r->l.red[i];

        if (d->decl < 0 || !ws__ast_below(t, d->decl, r->then) || d->where >= 0)
            return no(r, "it carries more than a sum, a largest or a smallest "
                         "value in a variable of its own");
        if (d->kind == WS__RED_SUM &&
            !ws__ast_is_zero(t, ws__ast_child(t, d->decl, 0)))
            return no(r, "a sum begins with something else than 0");
        if (ws__ast_child(t, d->decl, 0) < 0)
            return no(r, "an extreme begins with nothing");
    }
    return true;
}

static bool check_loop(struct first *r)
{
    const struct ws__ast *t = r->in->ast;
    const struct ws__ast_for *f = &r->l.f;
    struct ws__reach a[MAX_ACCESSES];
    size_t n = ws__loop_reaches(r->in, f->loop, a, MAX_ACCESSES);

    if (r->l.why)
        return no(r, r->l.why);
    if (!f->counts || f->by >= 0 || !ws__ast_is(t, f->init, WS__AST_DECL) ||
        !ws__ast_is_pure(t, f->from) || !ws__ast_is_pure(t, f->to))
        return no(r, "the loop does not count by one");
    for (size_t i = 0; i < n; i++)
        if (n > MAX_ACCESSES || a[i].write)
            return no(r, "the loop writes to memory");
    if (t->node[f->from].macro || t->node[f->step].macro ||
        ws__xform_has_directive(t, r->stmt) ||
        !ws__xform_is_whole(t, r->stmt) || ws__loop_has_pragma(t, f->loop))
        return no(r, "a macro or a directive has a part of it");
    return r->rest >= 0 || no(r, "nothing is made of what is joined");
}

/* Do all lanes see what the first thread sees: variables that are the same in
 * all of them, and keep? */
static bool check_values(struct first *r)
{
    const struct ws__ast *t = r->in->ast;
    int32_t end = ws__ast_after(t, r->l.f.loop);

    for (int32_t i = r->then; i < end; i++) {
        int32_t d = t->node[i].kind == WS__AST_REF ? t->node[i].decl : -1;

        if (d >= 0 && !ws__ast_below(t, d, r->then) &&
            t->node[d].type.space != WS__AS_SHARED &&
            ws__ast_changes(t, r->in->body, d))
            return no(r, "a variable may be another in other threads");
    }
    for (int32_t c = ws__ast_child(t, r->then, 0);; c = t->node[c].next) {
        if (ws__loop_by_thread(r->in, c))
            return no(r, "it asks which thread it is");
        if (c == r->l.f.loop)
            return true;
    }
}

/* May some threads of a block not come so far? */
static bool leaves_some(const struct first *r)
{
    const struct ws__ast *t = r->in->ast;

    for (int32_t i = r->in->body; i < r->stmt; i++) {
        if (t->node[i].kind == WS__AST_JUMP)
            return true;
        if (t->node[i].kind != WS__AST_RETURN)
            continue;
        for (int32_t p = i; p > r->in->body; p = t->node[p].parent)
            if ((t->node[p].kind == WS__AST_IF ||
                 t->node[p].kind == WS__AST_WHILE ||
                 t->node[p].kind == WS__AST_DO ||
                 t->node[p].kind == WS__AST_FOR) &&
                ws__loop_by_thread(r->in, p))
                return true;
    }
    return false;
}

static bool check_block(struct first *r)
{
    const struct ws__launch *l = &r->in->kernel->launch[r->in->launch];
    int64_t number;

    if (l->block[1] || l->block[2])
        return no(r, "the block has more than one dimension");
    if (!ws__xform_same_blocks(r->in))
        return no(r, "it is launched with blocks of several sizes");
    if (ws__rows_number(ws__xform_block(r->in, 0), &number) &&
        number < WS__ROWS_WARP)
        return no(r, "a block has no whole warp");
    return true;
}

static bool check_place(struct first *r)
{
    const struct ws__ast *t = r->in->ast;
    int32_t b;

    if (!ws__ast_is(t, t->node[r->stmt].parent, WS__AST_BLOCK))
        return no(r, "it is no statement of a block");
    b = before(t, r->stmt);
    if (b < 0 || !ws__ast_is_barrier(t, b))
        return no(r, "no barrier stands right before it");
    return !leaves_some(r) || no(r, "some threads of a block may have left");
}

static bool read_first(const struct ws__xform_in *in, int32_t stmt,
                       struct first *r)
{
    memset(r, 0, sizeof(*r));
    r->in = in;
    r->stmt = stmt;
    if (!reads_statement(r))
        return false;
    if (check_loop(r) && check_declarations(r) && check_values(r) &&
        check_block(r))
        check_place(r);
    return true;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    int32_t end = ws__ast_after(in->ast, in->body);

    for (int32_t i = in->body; i < end; i++) {
        struct ws__site *s;
        struct first r;
        int rc = 0;

        if (in->ast->node[i].kind != WS__AST_IF || !read_first(in, i, &r))
            continue;
        if (r.why) {
            WS_TRY(ws__site_refuse(in, out, i, what, r.why));
            continue;
        }
        s = ws__site_add(in, out, i, &rc, "%s: for '%s'", what,
                         in->ast->node[r.l.red[0].decl].name);
        WS_TRY(rc);
        for (size_t k = 0; s && k < r.l.nred; k++)
            if (r.l.red[k].keeps_nan)
                s->trust = "a comparison lets the place of a NaN decide: where "
                           "there is one, the result may be another";
    }
    return 0;
}

/* --- edits ---------------------------------------------------------------- */

static const char *join_of(const struct first *r, size_t i, const char *step)
{
    const struct ws__ast *t = r->in->ast;
    const struct ws__reduction *d = &r->l.red[i];
    const char *v = t->node[d->decl].name;

    if (d->kind == WS__RED_SUM)
        return ws__arena_printf(r->in->arena,
                                "%s += __shfl_down_sync(0xffffffffu, %s, %s);",
                                v, v, step);
    return ws__arena_printf(r->in->arena,
                            "%s = %s(%s, __shfl_down_sync(0xffffffffu, %s, "
                            "%s));",
                            v, ws__loop_extreme(t, d->at, d->kind, d->by), v, v,
                            step);
}

/* The shuffles, a loop for each value or one for all. */
static int put_joins(struct ws__buf *b, const struct first *r,
                     const char *indent)
{
    const char *step = ws__xform_name(r->in, "step");
    bool many = r->l.nred > 1;

    if (!step)
        return WS_ENOMEM;
    ws__buf_printf(b, "\n%sfor (int %s = %d; %s > 0; %s /= 2)%s", indent, step,
                   WS__ROWS_WARP / 2, step, step, many ? " {" : "");
    for (size_t i = 0; i < r->l.nred; i++) {
        const char *join = join_of(r, i, step);

        if (!join)
            return WS_ENOMEM;
        ws__buf_printf(b, "\n%s    %s", indent, join);
    }
    if (many)
        ws__buf_printf(b, "\n%s}", indent);
    return 0;
}

/* What the first thread makes of it. */
static int put_rest(struct ws__buf *b, const struct first *r,
                    const char *indent)
{
    const struct ws__ast *t = r->in->ast;
    uint32_t begin = ws__xform_end(t, r->l.f.loop);
    uint32_t end = t->node[r->then].end - 1;
    const char *cond = ws__xform_text(r->in, ws__ast_child(t, r->stmt, 0));
    const char *text;
    bool one;

    ws__pieces_trim(t, &begin, &end);
    one = t->node[r->rest].next < 0 && t->node[r->rest].begin == begin &&
          t->node[r->rest].kind != WS__AST_DECL &&
          t->node[r->rest].kind != WS__AST_IF &&
          !memchr(t->text + begin, '\n', end - begin);
    text = ws__pieces_text(r->in, begin, end, NULL, 0);
    if (!text || !cond)
        return WS_ENOMEM;
    ws__buf_printf(b, "\n%sif (%s)%s\n", indent, cond, one ? "" : " {");
    ws__pieces_lines(b, indent, 1, text, ws__pieces_blanks(t, begin));
    if (!one)
        ws__buf_printf(b, "%s}\n", indent);
    return 0;
}

static void edit_loop(const struct first *r, const char *tid,
                      struct ws__rewrite *out)
{
    const struct ws__ast *t = r->in->ast;
    const struct ws__ast_for *f = &r->l.f;
    const char *from = ws__xform_text(r->in, f->from);

    if (!from)
        out->failed = WS_ENOMEM;
    else if (ws__ast_is_value(t, f->from, 0))
        ws__rewrite_node(out, f->from, "%s", tid);
    else
        ws__rewrite_node(out, f->from,
                         ws__ast_is(t, f->from, WS__AST_INT) ||
                                 ws__ast_is(t, f->from, WS__AST_REF)
                             ? "%s + %s"
                             : "(%s) + %s",
                         from, tid);
    ws__rewrite_node(out, f->step, "%s += %d", t->node[f->var].name,
                     WS__ROWS_WARP);
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    const char *block = ws__xform_block(in, 0), *indent, *outer, *tid;
    struct first r;
    struct ws__buf b;
    int64_t number;
    uint32_t at;
    int rc;

    read_first(in, s->node[0], &r);
    indent = ws__xform_indent(in, r.l.f.loop);
    outer = ws__xform_indent(in, r.stmt);
    tid = ws__xform_text(in, r.tid);
    if (!indent || !outer || !tid)
        return WS_ENOMEM;
    ws__buf_init(&b, in->ctx, 1 << 16);
    rc = put_joins(&b, &r, indent);
    if (rc >= 0)
        rc = put_rest(&b, &r, indent);
    ws__buf_puts(&b, outer);
    if (rc >= 0 && b.failed)
        rc = WS_ENOMEM;
    at = ws__xform_end(t, r.l.f.loop);
    if (rc >= 0) {
        ws__rewrite_node(out, ws__ast_child(t, r.stmt, 0), "%s < %d", tid,
                         WS__ROWS_WARP);
        edit_loop(&r, tid, out);
        ws__rewrite_at(out, at, t->node[r.then].end - 1 - at, "%s", b.data);
    }
    ws__buf_free(&b);
    if (rc >= 0 && !ws__rows_number(block, &number)) {
        const char *whole =
            ws__arena_printf(in->arena, "(%s) >= %d", block, WS__ROWS_WARP);

        if (!whole)
            return WS_ENOMEM;
        ws__rewrite_change(out, whole, "constraints[+]");
    }
    return rc;
}

const struct ws__xform_ops ws__xform_first_warp = {
    .abi = WS__XFORM_ABI,
    .name = "first_warp",
    .about = "the first warp instead of the first thread joins what a block "
             "has in memory",
    .needs = "behind a barrier, the first thread alone has a loop that carries "
             "nothing but sums, largest and smallest values of its own",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .rounding = true,
    .cuda = true,
    .gain = 1.3,
    .find = find,
    .apply = apply,
};
