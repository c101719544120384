/*
 * xform_shuffle_reduction.c: a tree in shared memory becomes shuffles.
 *
 * A tree (tree.h) takes a barrier a level. A warp needs neither barriers nor
 * shared memory among its own threads, so two barriers are enough: each warp
 * joins its elements by shuffles and puts one part in shared memory, the first
 * warp joins the parts. buf[0] is what it was but for rounding; the other
 * elements, in which the tree leaves parts, keep what they had, so nothing may
 * read them before they are written again.
 */
#include "core/trial.h"
#include "xform/clang_api.h"
#include "xform/rows.h"
#include "xform/tree.h"

#include "base/banned.h"

static const char *const findings[] = {"wait_barrier", "wait_shared",
                                       "wait_mio", "bank_conflicts", NULL};
static const struct ws__xform_delta deltas[] = {{"barrier", 0.2, 0.9},
                                                {"short_scoreboard", 0.3, 1},
                                                {"conflicts", 0, 1},
                                                {NULL, 0, 0}};

/* --- legality ------------------------------------------------------------- */

/* Elements other than the first hold parts after the tree. An access in the
 * text behind it (and, in a loop, before it) may be one to the first, or comes
 * after a statement that writes each thread's own. */
static bool reads_parts(const struct ws__tree *r, int32_t from, int32_t to,
                        bool *clean)
{
    const struct ws__ast *t = r->in->ast;

    for (int32_t i = from; i < to && !*clean; i++) {
        int32_t s, up;
        int64_t c;

        if (t->node[i].kind != WS__AST_REF || t->node[i].decl != r->buf)
            continue;
        up = t->node[i].parent;
        if (!ws__ast_is(t, up, WS__AST_INDEX))
            return true;
        if (ws__ast_const(t, ws__ast_child(t, up, 1), &c) && !c)
            continue;
        s = ws__ast_statement(t, i);
        if (!ws__ast_is_op(t, s, CL_BinaryOperator_Assign) ||
            ws__ast_child(t, s, 0) != up ||
            !ws__tree_is_thread(t, ws__ast_child(t, up, 1)) ||
            ws__ast_uses(t, ws__ast_child(t, s, 1), r->buf) ||
            !ws__ast_below(t, r->loop, t->node[s].parent))
            return true;
        *clean = true;
    }
    return false;
}

static bool parts_are_read(const struct ws__tree *r)
{
    const struct ws__ast *t = r->in->ast;
    int32_t outer = -1, end = ws__ast_after(t, r->in->body);
    bool clean = false;

    for (int32_t i = t->node[r->loop].parent; i > r->in->body;
         i = t->node[i].parent)
        if (t->node[i].kind == WS__AST_FOR ||
            t->node[i].kind == WS__AST_WHILE || t->node[i].kind == WS__AST_DO)
            outer = i;
    if (reads_parts(r, ws__ast_after(t, r->last >= 0 ? r->last : r->loop), end,
                    &clean))
        return true;
    return outer >= 0 && !clean && reads_parts(r, outer, r->loop, &clean);
}

/* Has the array an alias: its name without an index? */
static bool has_alias(const struct ws__tree *r)
{
    const struct ws__ast *t = r->in->ast;
    int32_t end = ws__ast_after(t, r->in->body);

    for (int32_t i = r->in->body; i < end; i++) {
        if (r->last >= 0 && ws__ast_below(t, i, r->last))
            continue;
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl == r->buf &&
            (!ws__ast_is(t, t->node[i].parent, WS__AST_INDEX) ||
             ws__ast_is(t, t->node[t->node[i].parent].parent, WS__AST_UNARY)))
            return true;
    }
    return false;
}

static void judge(struct ws__tree *r)
{
    const struct ws__launch *l = &r->in->kernel->launch[r->in->launch];
    const struct ws__ast *t = r->in->ast;
    int32_t p = t->node[r->loop].parent;

    if (l->block[1] || l->block[2])
        r->why = "the block has more than one dimension";
    else if (!ws__xform_same_blocks(r->in))
        r->why = "it is launched with blocks of several sizes";
    else if (!ws__tree_is_whole(r))
        r->why = "the tree's size is not that of the block";
    else if (!ws__tree_is_row(r->in, WS__ROWS_WARP))
        r->why = "the block is no power of two of at least 32 threads";
    else if (r->until && !ws__tree_read_last(r))
        r->why = "what the last warp does is not understood";
    else if (ws__loop_has_pragma(t, r->loop))
        r->why = "the loop has a pragma";
    else if (!ws__ast_is(t, p, WS__AST_BLOCK))
        r->why = "the tree stands in no block of statements";
    else if (has_alias(r))
        r->why = "an address of the array is taken";
    else if (parts_are_read(r))
        r->why = "the parts that the tree leaves in other elements are read";
}

static bool read_tree(const struct ws__xform_in *in, int32_t loop,
                      struct ws__tree *r)
{
    if (!ws__tree_read(in, loop, r))
        return false;
    judge(r);
    return true;
}

/* --- sites ---------------------------------------------------------------- */

static int look(const struct ws__xform_in *in, int32_t loop,
                struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__site *s;
    struct ws__tree r;
    int rc = 0;

    if (!read_tree(in, loop, &r))
        return ws__tree_looks_alike(in, loop)
                   ? ws__site_refuse(in, out, loop, "shuffles for a tree",
                                     "a level does something else than to join "
                                     "two elements")
                   : 0;
    if (t->node[loop].macro && t->text[t->node[loop].begin] != 'f' &&
        t->text[t->node[loop].begin] != 'w')
        r.why = "the loop is written by a macro";
    if (r.why)
        return ws__site_refuse(in, out, loop, "shuffles for a tree", r.why);
    s = ws__site_add(in, out, loop, &rc, "shuffles for the tree in '%s'",
                     t->node[r.buf].name);
    if (s && r.join.keeps_nan)
        s->trust = "a comparison lets the place of a NaN decide: where there "
                   "is one, the result may be another";
    return rc;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    int32_t end = ws__ast_after(in->ast, in->body);

    for (int32_t i = in->body; i < end; i++)
        if (in->ast->node[i].kind == WS__AST_FOR ||
            in->ast->node[i].kind == WS__AST_WHILE)
            WS_TRY(look(in, i, out));
    return 0;
}

/* --- edits ---------------------------------------------------------------- */

struct words {
    const char *part, *parts, *step, *tid, *buf, *type, *join;
};

static int name_all(const struct ws__tree *r, struct words *w)
{
    const struct ws__ast *t = r->in->ast;
    struct ws__arena *a = r->in->arena;

    w->buf = t->node[r->buf].name;
    w->tid = ws__xform_text(r->in, r->tid);
    w->type = ws__loop_type(t, &t->node[r->join.at].type);
    w->part = ws__xform_name(r->in, "part");
    w->parts = ws__xform_name(r->in, "parts");
    w->step = ws__xform_name(r->in, "step");
    if (!w->tid || !w->part || !w->parts || !w->step)
        return WS_ENOMEM;
    w->join =
        r->join.kind == WS__RED_SUM
            ? ws__arena_printf(a, "%s += __shfl_down_sync(0xffffffffu, %s, %s)",
                               w->part, w->part, w->step)
            : ws__arena_printf(a,
                               "%s = %s(%s, __shfl_down_sync(0xffffffffu, %s, "
                               "%s))",
                               w->part,
                               ws__loop_extreme(t, r->join.at, r->join.kind,
                                                r->join.by),
                               w->part, w->part, w->step);
    return w->join ? 0 : WS_ENOMEM;
}

static void print_join(struct ws__buf *b, const struct words *w,
                       const char *indent, const char *tab)
{
    ws__buf_printf(b, "%sfor (int %s = %d; %s > 0; %s /= 2)\n%s%s%s;\n", indent,
                   w->step, WS__ROWS_WARP / 2, w->step, w->step, indent, tab,
                   w->join);
}

/* A thread of the first warp without a part takes what changes nothing. */
static void print_first(struct ws__buf *b, const struct ws__tree *r,
                        const struct words *w, const char *in1, const char *in2)
{
    ws__buf_printf(b, "%sif (%s < %d) {\n", in1, w->tid, WS__ROWS_WARP);
    if (r->join.kind == WS__RED_SUM)
        ws__buf_printf(b, "%s%s = %s < blockDim.x / %d ? %s[%s] : 0;\n", in2,
                       w->part, w->tid, WS__ROWS_WARP, w->parts, w->tid);
    else
        ws__buf_printf(b, "%s%s = %s[%s < blockDim.x / %d ? %s : 0];\n", in2,
                       w->part, w->parts, w->tid, WS__ROWS_WARP, w->tid);
}

static int print_tree(struct ws__buf *b, const struct ws__tree *r)
{
    struct words w;
    const char *i0 = ws__xform_indent(r->in, r->begin), *tab, *i1, *i2;

    WS_TRY(name_all(r, &w));
    if (!i0)
        return WS_ENOMEM;
    tab = strchr(i0, '\t') ? "\t" : "    ";
    i1 = ws__arena_printf(r->in->arena, "%s%s", i0, tab);
    i2 = ws__arena_printf(r->in->arena, "%s%s%s", i0, tab, tab);
    if (!i1 || !i2)
        return WS_ENOMEM;
    ws__buf_printf(b, "{\n%s__shared__ %s %s[%d];\n", i1, w.type, w.parts,
                   WS__ROWS_WARP);
    if (r->barrier_first)
        ws__buf_printf(b, "%s__syncthreads();\n", i1);
    ws__buf_printf(b, "%s%s %s = %s[%s];\n\n", i1, w.type, w.part, w.buf,
                   w.tid);
    print_join(b, &w, i1, tab);
    ws__buf_printf(b, "%sif (%s %% %d == 0)\n%s%s[%s / %d] = %s;\n", i1, w.tid,
                   WS__ROWS_WARP, i2, w.parts, w.tid, WS__ROWS_WARP, w.part);
    ws__buf_printf(b, "%s__syncthreads();\n", i1);
    print_first(b, r, &w, i1, i2);
    print_join(b, &w, i2, tab);
    ws__buf_printf(b, "%sif (%s == 0)\n%s%s%s[0] = %s;\n%s}\n", i2, w.tid, i2,
                   tab, w.buf, w.part, i1);
    ws__buf_printf(b, "%s__syncthreads();\n%s}", i1, i0);
    return b->failed ? WS_ENOMEM : 0;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    const char *block = ws__xform_block(in, 0);
    int32_t end;
    struct ws__tree r;
    struct ws__buf b;
    int64_t number;
    int rc;

    read_tree(in, s->node[0], &r);
    end = r.last >= 0 ? r.last : r.loop;
    ws__buf_init(&b, in->ctx, 1 << 16);
    rc = print_tree(&b, &r);
    if (!rc)
        ws__rewrite_at(out, t->node[r.begin].begin,
                       t->node[end].end - t->node[r.begin].begin, "%s", b.data);
    ws__buf_free(&b);
    WS_TRY(rc);
    if (!ws__rows_number(block, &number)) {
        const char *whole = ws__arena_printf(in->arena, "(%s) %% %d == 0",
                                             block, WS__ROWS_WARP);

        if (!whole)
            return WS_ENOMEM;
        ws__rewrite_change(out, whole, "constraints[+]");
    }
    return 0;
}

const struct ws__xform_ops ws__xform_shuffle_reduction = {
    .abi = WS__XFORM_ABI,
    .name = "shuffle_reduction",
    .about = "warp shuffles for a tree in shared memory",
    .needs = "a loop that halves or doubles a distance and joins two elements "
             "of a shared array a level, over a whole block of one dimension; "
             "behind it only the first element is read",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .rounding = true,
    .cuda = true,
    .opencl = false,
    .gain = 1.2,
    .find = find,
    .apply = apply,
};
