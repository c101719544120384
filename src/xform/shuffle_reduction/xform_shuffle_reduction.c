/*
 * xform_shuffle_reduction.c: a tree in shared memory becomes shuffles.
 *
 * The classic tree halves the threads that add, with a barrier a level:
 *     for (s = blockDim.x / 2; s > 0; s >>= 1) {
 *         if (tid < s)
 *             buf[tid] += buf[tid + s];
 *         __syncthreads();
 *     }
 * A warp needs neither barriers nor shared memory among its own threads, so two
 * barriers are enough: each warp joins its elements by shuffles and puts one
 * part in shared memory, the first warp joins the parts. buf[0] is what it was
 * but for rounding; the other elements, in which the tree leaves parts, keep
 * what they had, so nothing may read them before they are written again.
 */
#include "core/trial.h"
#include "xform/clang_api.h"
#include "xform/loop.h"
#include "xform/rows.h"

#include "base/banned.h"

#define MAX_TAIL 6

static const char *const findings[] = {"wait_barrier", "wait_shared",
                                       "wait_mio", "bank_conflicts", NULL};
static const struct ws__xform_delta deltas[] = {{"barrier", 0.2, 0.9},
                                                {"short_scoreboard", 0.3, 1},
                                                {"conflicts", 0, 1},
                                                {NULL, 0, 0}};

struct tree {
    const struct ws__xform_in *in;
    int32_t loop, body;
    int32_t begin;      /* first statement that goes: of a while, where its
                           variable gets its value; else the loop */
    int32_t last;       /* the statement of the last warp, or -1 */
    int32_t s;          /* VAR: the distance */
    int32_t size;       /* expression: threads of the tree */
    bool up;            /* s is doubled */
    int32_t until;      /* s > until; 0 or 32 */
    int32_t buf;        /* VAR, shared */
    int32_t tid;        /* expression: threadIdx.x */
    int32_t index;      /* VAR of a level: 2 * s * tid; -1: none */
    bool inline_index;  /* the elements' indices have 2 * s * tid */
    bool barrier_first; /* the barrier stands before the joining */
    struct ws__loop_match join;
    const char *why;
};

static bool is_op(const struct ws__ast *t, int32_t i, int op)
{
    return i >= 0 && t->node[i].op == op &&
           (t->node[i].kind == WS__AST_BINARY ||
            t->node[i].kind == WS__AST_ASSIGN);
}

static bool is_value(const struct ws__ast *t, int32_t i, int64_t v)
{
    int64_t c;

    return i >= 0 && ws__ast_const(t, i, &c) && c == v;
}

/* --- the distance --------------------------------------------------------- */

/* s /= 2, s >>= 1, s = s / 2; s *= 2, s <<= 1, s += s, s = s * 2. */
static bool reads_step(struct tree *r, int32_t step)
{
    const struct ws__ast *t = r->in->ast;
    int32_t to = ws__ast_bare(t, ws__ast_child(t, step, 0));
    int32_t by = ws__ast_child(t, step, 1);
    int op;

    if (!ws__ast_is(t, step, WS__AST_ASSIGN) || !ws__ast_is(t, to, WS__AST_REF))
        return false;
    r->s = t->node[to].decl;
    op = t->node[step].op;
    if (op == CL_BinaryOperator_Assign) {
        int32_t v = ws__ast_bare(t, by);

        if (!ws__ast_is(t, v, WS__AST_BINARY) ||
            !ws__ast_refers(t, ws__ast_child(t, v, 0), r->s))
            return false;
        op = t->node[v].op;
        by = ws__ast_child(t, v, 1);
        r->up = op == CL_BinaryOperator_Mul || op == CL_BinaryOperator_Shl;
        return is_value(t, by,
                        op == CL_BinaryOperator_Mul ||
                                op == CL_BinaryOperator_Div
                            ? 2
                            : 1) &&
               (r->up || op == CL_BinaryOperator_Div ||
                op == CL_BinaryOperator_Shr);
    }
    if (op == CL_BinaryOperator_DivAssign || op == CL_BinaryOperator_ShrAssign)
        return is_value(t, by, op == CL_BinaryOperator_DivAssign ? 2 : 1);
    r->up = true;
    if (op == CL_BinaryOperator_MulAssign)
        return is_value(t, by, 2);
    if (op == CL_BinaryOperator_AddAssign)
        return ws__ast_refers(t, by, r->s);
    return op == CL_BinaryOperator_ShlAssign && is_value(t, by, 1);
}

/* s > 0, s >= 1, s != 0, s; s > 32; going up: s < size. */
static bool reads_bound(struct tree *r, int32_t cond)
{
    const struct ws__ast *t = r->in->ast;
    int32_t c = ws__ast_bare(t, cond), b = ws__ast_child(t, c, 1);

    if (r->up) {
        r->size = b;
        return is_op(t, c, CL_BinaryOperator_LT) &&
               ws__ast_refers(t, ws__ast_child(t, c, 0), r->s);
    }
    if (ws__ast_refers(t, c, r->s))
        return true;
    if (c < 0 || !ws__ast_refers(t, ws__ast_child(t, c, 0), r->s))
        return false;
    if (is_op(t, c, CL_BinaryOperator_GT) && is_value(t, b, WS__ROWS_WARP)) {
        r->until = WS__ROWS_WARP;
        return true;
    }
    return (is_op(t, c, CL_BinaryOperator_GT) && is_value(t, b, 0)) ||
           (is_op(t, c, CL_BinaryOperator_NE) && is_value(t, b, 0)) ||
           (is_op(t, c, CL_BinaryOperator_GE) && is_value(t, b, 1));
}

/* size / 2, size >> 1, or a number; going up: 1. */
static bool reads_start(struct tree *r, int32_t from)
{
    const struct ws__ast *t = r->in->ast;
    int32_t v = ws__ast_bare(t, from);

    if (r->up)
        return is_value(t, from, 1);
    if (ws__ast_is(t, v, WS__AST_BINARY) &&
        ((is_op(t, v, CL_BinaryOperator_Div) &&
          is_value(t, ws__ast_child(t, v, 1), 2)) ||
         (is_op(t, v, CL_BinaryOperator_Shr) &&
          is_value(t, ws__ast_child(t, v, 1), 1)))) {
        r->size = ws__ast_child(t, v, 0);
        return true;
    }
    r->size = -2 - v; /* a number: half of the size */
    return ws__ast_is(t, v, WS__AST_INT);
}

static bool is_threads(const struct ws__xform_in *in, int32_t expr)
{
    struct ws__affine a;

    return expr >= 0 && ws__affine_of(in->ast, expr, &a) && a.n == 1 &&
           a.term[0].n == 1 && a.term[0].times == 1 &&
           a.term[0].sym[0] == WS__SYM(WS__AL_BLOCK_DIM, 0);
}

/* Is the tree's size the block's, as the source or the launch has it? */
static bool whole_block(const struct tree *r)
{
    const struct ws__ast *t = r->in->ast;
    const char *block = ws__xform_block(r->in, 0), *text;
    int64_t number, c;
    bool half = r->size < -1;
    int32_t size = half ? -2 - r->size : r->size;

    if (!half && is_threads(r->in, size))
        return true;
    if (!ws__ast_const(t, size, &c))
        return false;
    if (ws__rows_number(block, &number))
        return number == (half ? 2 * c : c);
    text = ws__xform_text(r->in, size);
    return !half && text && !strcmp(text, block);
}

/* --- one level ------------------------------------------------------------ */

static bool is_tid(const struct ws__xform_in *in, int32_t expr)
{
    struct ws__affine a;

    return ws__affine_of(in->ast, expr, &a) && a.n == 1 && a.term[0].n == 1 &&
           a.term[0].times == 1 &&
           a.term[0].sym[0] == WS__SYM(WS__AL_THREAD, 0);
}

static bool is_once(const struct ws__affine *a, int32_t sym, int64_t times)
{
    struct ws__affine part;

    return ws__affine_part(a, sym, &part) && ws__affine_is(&part, times);
}

/* 2 * s * tid */
static bool is_scaled(const struct tree *r, const struct ws__affine *a)
{
    struct ws__affine by_s, by_t;

    return a->n == 1 && ws__affine_part(a, r->s, &by_s) && by_s.n == 1 &&
           ws__affine_part(&by_s, WS__SYM(WS__AL_THREAD, 0), &by_t) &&
           ws__affine_is(&by_t, 2);
}

/* Is it the thread's place, plus so many s? */
static bool is_place(const struct tree *r, const struct ws__affine *a,
                     int64_t plus)
{
    struct ws__affine rest = *a;
    int32_t of = r->index >= 0 ? r->index : WS__SYM(WS__AL_THREAD, 0);

    if (!r->inline_index)
        return a->n == (plus ? 2u : 1u) && is_once(a, of, 1) &&
               is_once(a, r->s, plus);
    for (size_t i = 0; plus && i < rest.n; i++)
        if (rest.term[i].n == 1 && rest.term[i].sym[0] == r->s &&
            rest.term[i].times == plus) {
            rest.term[i] = rest.term[--rest.n];
            return is_scaled(r, &rest);
        }
    return !plus && is_scaled(r, &rest);
}

static bool is_element(const struct tree *r, int32_t i, struct ws__affine *at)
{
    const struct ws__ast *t = r->in->ast;
    int32_t of = ws__ast_bare(t, ws__ast_child(t, i, 0));

    return ws__ast_is(t, i, WS__AST_INDEX) && ws__ast_refers(t, of, r->buf) &&
           ws__affine_of(t, ws__ast_child(t, i, 1), at);
}

/* May it be a part of what joins two elements? */
static bool is_of_join(const struct ws__ast_node *n)
{
    return n->kind == WS__AST_ASSIGN || n->kind == WS__AST_PAREN ||
           n->kind == WS__AST_IF || n->kind == WS__AST_BLOCK ||
           n->kind == WS__AST_CHOICE ||
           (n->kind == WS__AST_BINARY && n->op != CL_BinaryOperator_Sub &&
            n->op != CL_BinaryOperator_Mul);
}

/* Nothing but the two elements, as often as it takes. */
static bool joins_two(const struct tree *r, int32_t root)
{
    const struct ws__ast *t = r->in->ast;
    int32_t end = ws__ast_after(t, root);
    int far = 0;

    for (int32_t i = root; i < end; i++) {
        struct ws__affine a;

        if (t->node[i].kind == WS__AST_INDEX) {
            if (!is_element(r, i, &a))
                return false;
            if (is_place(r, &a, 1))
                far++;
            else if (!is_place(r, &a, 0) || !ws__ast_same(t, i, r->join.at))
                return false;
            i = ws__ast_after(t, i) - 1;
        } else if (t->node[i].kind == WS__AST_CALL) {
            i++; /* its name */
        } else if (!is_of_join(&t->node[i])) {
            return false;
        }
    }
    return far == (r->join.kind == WS__RED_SUM || r->join.by >= 0 ? 1 : 2);
}

static int32_t only_assign(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root), hit = -1;

    for (int32_t i = root; i < end; i++)
        if (t->node[i].kind == WS__AST_ASSIGN ||
            (t->node[i].kind == WS__AST_UNARY && t->node[i].op >= 1 &&
             t->node[i].op <= CL_UnaryOperator_AddrOf)) {
            if (hit >= 0)
                return -1;
            hit = i;
        }
    return hit;
}

static int32_t one_of(const struct ws__ast *t, int32_t s)
{
    return ws__ast_is(t, s, WS__AST_BLOCK) && ws__ast_nchild(t, s) == 1
               ? ws__ast_child(t, s, 0)
               : s;
}

/* buf[tid] = join of buf[tid] and buf[tid + s]. */
static bool reads_join(struct tree *r, int32_t stmt)
{
    const struct ws__ast *t = r->in->ast;
    int32_t a = only_assign(t, stmt), of;

    stmt = one_of(t, stmt);
    if (a < 0 || ws__loop_match(t, a, -1, &r->join) != stmt ||
        !ws__ast_is(t, r->join.at, WS__AST_INDEX) || r->join.where >= 0 ||
        ws__loop_count(t, stmt, r->join.at) != r->join.slots ||
        is_op(t, a, CL_BinaryOperator_SubAssign))
        return false;
    of = ws__ast_bare(t, ws__ast_child(t, r->join.at, 0));
    if (!ws__ast_is(t, of, WS__AST_REF) || t->node[of].decl < 0)
        return false;
    r->buf = t->node[of].decl;
    return t->node[r->buf].type.space == WS__AS_SHARED &&
           t->node[r->buf].type.ndim == 1 &&
           t->node[r->join.at].type.bits >= 32 &&
           t->node[r->join.at].type.width == 1 && joins_two(r, stmt);
}

/* tid % (2 * s) == 0 */
static bool is_multiple(struct tree *r, int32_t cond)
{
    const struct ws__ast *t = r->in->ast;
    int32_t rem = ws__ast_bare(t, ws__ast_child(t, cond, 0));
    struct ws__affine a, part;

    if (!is_op(t, cond, CL_BinaryOperator_EQ) ||
        !is_value(t, ws__ast_child(t, cond, 1), 0) ||
        !is_op(t, rem, CL_BinaryOperator_Rem) ||
        !is_tid(r->in, ws__ast_child(t, rem, 0)) ||
        !ws__affine_of(t, ws__ast_child(t, rem, 1), &a))
        return false;
    r->tid = ws__ast_child(t, rem, 0);
    return a.n == 1 && ws__affine_part(&a, r->s, &part) &&
           ws__affine_is(&part, 2);
}

/* The node below root that is threadIdx.x, or -1. */
static int32_t find_tid(const struct tree *r, int32_t root)
{
    int32_t end = ws__ast_after(r->in->ast, root);

    for (int32_t i = root; i < end; i++)
        if (is_tid(r->in, i))
            return i;
    return -1;
}

/* 2 * s * tid < size, perhaps by a variable of the level. */
static bool is_compact(struct tree *r, int32_t cond)
{
    const struct ws__ast *t = r->in->ast;
    int32_t a = ws__ast_bare(t, ws__ast_child(t, cond, 0)), value = a;
    struct ws__affine at;

    if (!is_op(t, cond, CL_BinaryOperator_LT) ||
        !ws__ast_same(t, ws__ast_child(t, cond, 1), r->size))
        return false;
    if (ws__ast_is(t, a, WS__AST_REF) && t->node[a].decl >= 0 &&
        ws__ast_below(t, t->node[a].decl, r->body)) {
        r->index = t->node[a].decl;
        value = ws__ast_child(t, r->index, 0);
        if (value < 0 || ws__ast_changes(t, r->body, r->index))
            return false;
    }
    r->inline_index = r->index < 0;
    r->tid = find_tid(r, value);
    return r->tid >= 0 && ws__affine_of(t, value, &at) && is_scaled(r, &at);
}

/* Which threads join. */
static bool reads_guard(struct tree *r, int32_t cond)
{
    const struct ws__ast *t = r->in->ast;
    int32_t c = ws__ast_bare(t, cond), a = ws__ast_child(t, c, 0);
    struct ws__affine at;

    if (is_op(t, c, CL_BinaryOperator_LAnd)) { /* && tid + s < size */
        int32_t b = ws__ast_bare(t, ws__ast_child(t, c, 1));

        return is_op(t, b, CL_BinaryOperator_LT) &&
               ws__affine_of(t, ws__ast_child(t, b, 0), &at) &&
               is_place(r, &at, 1) && r->up &&
               ws__ast_same(t, ws__ast_child(t, b, 1), r->size) &&
               is_multiple(r, ws__ast_bare(t, a));
    }
    if (!r->up) {
        r->tid = a;
        return is_op(t, c, CL_BinaryOperator_LT) && is_tid(r->in, a) &&
               ws__ast_refers(t, ws__ast_child(t, c, 1), r->s);
    }
    return is_multiple(r, c) || is_compact(r, c);
}

/* { if (...) join; barrier; } in either order, with what may stand between: an
 * index of its own, a while's step. */
static bool reads_body(struct tree *r, int32_t step)
{
    const struct ws__ast *t = r->in->ast;
    int32_t join = -1, barrier = -1;

    if (!ws__ast_is(t, r->body, WS__AST_BLOCK))
        return false;
    for (int32_t c = t->node[r->body].first; c >= 0; c = t->node[c].next) {
        if (c == step)
            continue;
        if (t->node[c].kind == WS__AST_IF && join < 0 &&
            ws__ast_nchild(t, c) == 2)
            join = c;
        else if (ws__ast_is_barrier(t, c) && barrier < 0)
            barrier = c;
        else if (t->node[c].kind != WS__AST_DECL || join >= 0 ||
                 ws__loop_call(t, c) >= 0)
            return false;
    }
    r->barrier_first = barrier >= 0 && barrier < join;
    return join >= 0 && barrier >= 0 &&
           reads_guard(r, ws__ast_child(t, join, 0)) &&
           reads_join(r, ws__ast_child(t, join, 1));
}

/* --- the last warp -------------------------------------------------------- */

static int32_t next_of(const struct ws__ast *t, int32_t stmt)
{
    int32_t n = t->node[stmt].next;

    while (n >= 0 && t->node[n].kind == WS__AST_EMPTY)
        n = t->node[n].next;
    return n;
}

/* buf[tid] joined with buf[tid + distance], perhaps through a pointer. */
static bool is_last_join(const struct tree *r, int32_t stmt, int64_t distance)
{
    const struct ws__ast *t = r->in->ast;
    struct ws__loop_match m;
    int32_t end = ws__ast_after(t, stmt);
    int near = 0, far = 0;

    if (ws__loop_match(t, stmt, -1, &m) != stmt || m.kind != r->join.kind ||
        is_op(t, stmt, CL_BinaryOperator_SubAssign) ||
        ws__loop_count(t, stmt, m.at) != m.slots)
        return false;
    for (int32_t i = stmt; i < end; i++) {
        int32_t of = ws__ast_bare(t, ws__ast_child(t, i, 0)), d;
        struct ws__affine a, rest;

        if (t->node[i].kind == WS__AST_CALL) {
            i++; /* its name */
            continue;
        }
        if (t->node[i].kind != WS__AST_INDEX && !is_of_join(&t->node[i]))
            return false;
        if (t->node[i].kind != WS__AST_INDEX)
            continue;
        d = ws__ast_is(t, of, WS__AST_REF) ? t->node[of].decl : -1;
        if (d >= 0 && t->node[d].type.pointers &&
            ws__ast_refers(t, ws__ast_child(t, d, 0), r->buf))
            d = r->buf;
        if (d != r->buf || !ws__affine_of(t, ws__ast_child(t, i, 1), &a) ||
            !ws__affine_part(&a, WS__SYM(WS__AL_THREAD, 0), &rest) ||
            !ws__affine_is(&rest, 1))
            return false;
        near += a.n == 1;
        for (size_t k = 0; k < a.n; k++)
            far += a.n == 2 && !a.term[k].n && a.term[k].times == distance;
        i = ws__ast_after(t, i) - 1;
    }
    return near == m.slots && far == (m.slots == 1 ? 1 : m.slots - 1);
}

/* if (tid < 32) { buf[tid] += buf[tid + 32]; ... buf[tid] += buf[tid + 1]; } */
static bool reads_last(struct tree *r)
{
    const struct ws__ast *t = r->in->ast;
    int32_t i = next_of(t, r->loop), c, body;
    int64_t distance = WS__ROWS_WARP;

    if (!ws__ast_is(t, i, WS__AST_IF) || ws__ast_nchild(t, i) != 2)
        return false;
    c = ws__ast_bare(t, ws__ast_child(t, i, 0));
    body = ws__ast_child(t, i, 1);
    if (!is_op(t, c, CL_BinaryOperator_LT) ||
        !is_tid(r->in, ws__ast_child(t, c, 0)) ||
        !is_value(t, ws__ast_child(t, c, 1), WS__ROWS_WARP) ||
        !ws__ast_is(t, body, WS__AST_BLOCK))
        return false;
    for (int32_t s = t->node[body].first; s >= 0; s = t->node[s].next) {
        if (t->node[s].kind == WS__AST_DECL ||
            (t->node[s].kind == WS__AST_CALL && t->node[s].name &&
             !strcmp(t->node[s].name, "__syncwarp")))
            continue;
        if (!is_last_join(r, s, distance))
            return false;
        distance /= 2;
    }
    r->last = i;
    return distance == 0;
}

/* --- legality ------------------------------------------------------------- */

/* Elements other than the first hold parts after the tree. An access in the
 * text behind it (and, in a loop, before it) may be one to the first, or comes
 * after a statement that writes each thread's own. */
static bool reads_parts(const struct tree *r, int32_t from, int32_t to,
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
        if (!is_op(t, s, CL_BinaryOperator_Assign) ||
            ws__ast_child(t, s, 0) != up ||
            !is_tid(r->in, ws__ast_child(t, up, 1)) ||
            ws__ast_uses(t, ws__ast_child(t, s, 1), r->buf) ||
            !ws__ast_below(t, r->loop, t->node[s].parent))
            return true;
        *clean = true;
    }
    return false;
}

static bool parts_are_read(const struct tree *r)
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
static bool has_alias(const struct tree *r)
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

static bool power_of_two(int64_t n)
{
    return n > 0 && !(n & (n - 1));
}

static void judge(struct tree *r)
{
    const struct ws__launch *l = &r->in->kernel->launch[r->in->launch];
    const struct ws__ast *t = r->in->ast;
    int32_t p = t->node[r->loop].parent;
    int64_t number;

    if (l->block[1] || l->block[2])
        r->why = "the block has more than one dimension";
    else if (!whole_block(r))
        r->why = "the tree's size is not that of the block";
    else if (ws__rows_number(ws__xform_block(r->in, 0), &number) &&
             (number % WS__ROWS_WARP || !power_of_two(number)))
        r->why = "the block is no power of two of at least 32 threads";
    else if (r->until && !reads_last(r))
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

/* --- sites ---------------------------------------------------------------- */

static bool has_barrier(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++)
        if (ws__ast_is_barrier(t, i))
            return true;
    return false;
}

/* What stands before a while and gives s its value; -1: nothing. */
static int32_t start_of_while(const struct tree *r, int32_t *from)
{
    const struct ws__ast *t = r->in->ast;
    int32_t before = -1, v;

    for (int32_t c = ws__ast_child(t, t->node[r->loop].parent, 0);
         c >= 0 && c != r->loop; c = t->node[c].next)
        before = c;
    if (is_op(t, before, CL_BinaryOperator_Assign) &&
        ws__ast_refers(t, ws__ast_child(t, before, 0), r->s)) {
        *from = ws__ast_child(t, before, 1);
        return before;
    }
    v = ws__ast_child(t, before, 0);
    if (!ws__ast_is(t, before, WS__AST_DECL) || v != r->s)
        return -1;
    *from = ws__ast_child(t, v, 0);
    return before;
}

/* Is s used but in the tree? Then it must keep its declaration. */
static bool used_elsewhere(const struct tree *r)
{
    const struct ws__ast *t = r->in->ast;
    int32_t end = ws__ast_after(t, r->in->body);

    for (int32_t i = r->in->body; i < end; i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl == r->s &&
            !ws__ast_below(t, i, r->loop) && !ws__ast_below(t, i, r->begin))
            return true;
    return false;
}

static bool reads_while(struct tree *r)
{
    const struct ws__ast *t = r->in->ast;
    int32_t step = -1, from = -1, start;

    r->body = ws__ast_child(t, r->loop, 1);
    for (int32_t c = ws__ast_child(t, r->body, 0); c >= 0; c = t->node[c].next)
        step = c;
    if (step < 0 || !reads_step(r, step) ||
        !reads_bound(r, ws__ast_child(t, r->loop, 0)))
        return false;
    start = start_of_while(r, &from);
    if (start < 0 || from < 0 || !reads_start(r, from))
        return false;
    r->begin = start;
    if (used_elsewhere(r))
        r->begin = r->loop;
    return reads_body(r, step);
}

static bool reads_for(struct tree *r)
{
    const struct ws__ast *t = r->in->ast;
    struct ws__ast_for f;

    ws__ast_for(t, r->loop, &f);
    r->body = f.body;
    return f.init >= 0 && f.cond >= 0 && f.step >= 0 && reads_step(r, f.step) &&
           f.var == r->s && reads_bound(r, f.cond) && reads_start(r, f.from) &&
           reads_body(r, -1);
}

/* Reads a loop. False: it is no tree. */
static bool read_tree(const struct ws__xform_in *in, int32_t loop,
                      struct tree *r)
{
    *r = (struct tree){.in = in,
                       .loop = loop,
                       .begin = loop,
                       .last = -1,
                       .s = -1,
                       .size = -1,
                       .tid = -1,
                       .buf = -1,
                       .index = -1};
    if (in->ast->node[loop].kind == WS__AST_FOR ? !reads_for(r)
                                                : !reads_while(r))
        return false;
    judge(r);
    return true;
}

/* Is it a loop that halves or doubles, with a barrier: a tree of a kind? */
static bool looks_alike(const struct ws__xform_in *in, int32_t loop)
{
    struct tree r = {.in = in, .loop = loop, .s = -1};
    struct ws__ast_for f;

    if (in->ast->node[loop].kind != WS__AST_FOR)
        return false;
    ws__ast_for(in->ast, loop, &f);
    return f.step >= 0 && reads_step(&r, f.step) && has_barrier(in->ast, loop);
}

static int look(const struct ws__xform_in *in, int32_t loop,
                struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    struct ws__site *s;
    struct tree r;
    int rc = 0;

    if (!read_tree(in, loop, &r))
        return looks_alike(in, loop)
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

static int name_all(const struct tree *r, struct words *w)
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
static void print_first(struct ws__buf *b, const struct tree *r,
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

static int print_tree(struct ws__buf *b, const struct tree *r)
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
    struct tree r;
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
