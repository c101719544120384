/* tree.c: trees in shared memory. See tree.h. */
#include "xform/tree.h"

#include "xform/clang_api.h"
#include "xform/rows.h"

#include "base/banned.h"

/* --- the distance --------------------------------------------------------- */

/* s /= 2, s >>= 1, s = s / 2; s *= 2, s <<= 1, s += s, s = s * 2. */
static bool reads_step(struct ws__tree *r, int32_t step)
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
        return ws__ast_is_value(t, by,
                                op == CL_BinaryOperator_Mul ||
                                        op == CL_BinaryOperator_Div
                                    ? 2
                                    : 1) &&
               (r->up || op == CL_BinaryOperator_Div ||
                op == CL_BinaryOperator_Shr);
    }
    if (op == CL_BinaryOperator_DivAssign || op == CL_BinaryOperator_ShrAssign)
        return ws__ast_is_value(t, by,
                                op == CL_BinaryOperator_DivAssign ? 2 : 1);
    r->up = true;
    if (op == CL_BinaryOperator_MulAssign)
        return ws__ast_is_value(t, by, 2);
    if (op == CL_BinaryOperator_AddAssign)
        return ws__ast_refers(t, by, r->s);
    return op == CL_BinaryOperator_ShlAssign && ws__ast_is_value(t, by, 1);
}

/* s > 0, s >= 1, s != 0, s; s > 32; going up: s < size. */
static bool reads_bound(struct ws__tree *r, int32_t cond)
{
    const struct ws__ast *t = r->in->ast;
    int32_t c = ws__ast_bare(t, cond), b = ws__ast_child(t, c, 1);

    r->bound = c;
    if (r->up) {
        r->size = b;
        return ws__ast_is_op(t, c, CL_BinaryOperator_LT) &&
               ws__ast_refers(t, ws__ast_child(t, c, 0), r->s);
    }
    if (ws__ast_refers(t, c, r->s))
        return true;
    if (c < 0 || !ws__ast_refers(t, ws__ast_child(t, c, 0), r->s))
        return false;
    if (ws__ast_is_op(t, c, CL_BinaryOperator_GT) &&
        ws__ast_is_value(t, b, WS__ROWS_WARP)) {
        r->until = WS__ROWS_WARP;
        return true;
    }
    return (ws__ast_is_op(t, c, CL_BinaryOperator_GT) &&
            ws__ast_is_value(t, b, 0)) ||
           (ws__ast_is_op(t, c, CL_BinaryOperator_NE) &&
            ws__ast_is_value(t, b, 0)) ||
           (ws__ast_is_op(t, c, CL_BinaryOperator_GE) &&
            ws__ast_is_value(t, b, 1));
}

/* size / 2, size >> 1, or a number; going up: 1. */
static bool reads_start(struct ws__tree *r, int32_t from)
{
    const struct ws__ast *t = r->in->ast;
    int32_t v = ws__ast_bare(t, from);

    if (r->up)
        return ws__ast_is_value(t, from, 1);
    if (ws__ast_is(t, v, WS__AST_BINARY) &&
        ((ws__ast_is_op(t, v, CL_BinaryOperator_Div) &&
          ws__ast_is_value(t, ws__ast_child(t, v, 1), 2)) ||
         (ws__ast_is_op(t, v, CL_BinaryOperator_Shr) &&
          ws__ast_is_value(t, ws__ast_child(t, v, 1), 1)))) {
        r->size = ws__ast_child(t, v, 0);
        return true;
    }
    r->size = -2 - v; /* a number: half of the size */
    return ws__ast_is(t, v, WS__AST_INT);
}

/* --- the block ------------------------------------------------------------ */

bool ws__tree_is_thread(const struct ws__ast *t, int32_t expr)
{
    struct ws__affine a;

    return ws__affine_of(t, expr, &a) && a.n == 1 && a.term[0].n == 1 &&
           a.term[0].times == 1 &&
           a.term[0].sym[0] == WS__SYM(WS__AL_THREAD, 0);
}

int32_t ws__tree_first(const struct ws__ast *t, int32_t cond)
{
    int32_t c = ws__ast_bare(t, cond), tid = ws__ast_child(t, c, 0);
    bool first = ws__ast_is(t, c, WS__AST_UNARY)
                     ? t->node[c].op == CL_UnaryOperator_LNot
                     : ws__ast_is_op(t, c, CL_BinaryOperator_EQ) &&
                           ws__ast_is_value(t, ws__ast_child(t, c, 1), 0);

    return first && ws__tree_is_thread(t, tid) ? tid : -1;
}

bool ws__tree_is_block(const struct ws__xform_in *in, int32_t expr)
{
    const char *block = ws__xform_block(in, 0), *text;
    struct ws__affine a;
    int64_t number, c;

    if (expr < 0)
        return false;
    if (ws__affine_of(in->ast, expr, &a) && a.n == 1 && a.term[0].n == 1 &&
        a.term[0].times == 1 &&
        a.term[0].sym[0] == WS__SYM(WS__AL_BLOCK_DIM, 0))
        return true;
    if (!ws__ast_const(in->ast, expr, &c))
        return false;
    if (ws__rows_number(block, &number))
        return number == c;
    text = ws__xform_text(in, expr);
    return text && !strcmp(text, block);
}

bool ws__tree_is_whole(const struct ws__tree *r)
{
    int64_t number, c;

    if (r->size >= 0)
        return ws__tree_is_block(r->in, r->size);
    return ws__ast_const(r->in->ast, -2 - r->size, &c) &&
           ws__rows_number(ws__xform_block(r->in, 0), &number) &&
           number == 2 * c;
}

bool ws__tree_is_row(const struct ws__xform_in *in, int64_t least)
{
    const struct ws__launch *l = &in->kernel->launch[in->launch];
    int64_t number;

    return !l->block[1] && !l->block[2] &&
           (!ws__rows_number(ws__xform_block(in, 0), &number) ||
            (number >= least && !(number & (number - 1))));
}

/* --- one level ------------------------------------------------------------ */

static bool is_once(const struct ws__affine *a, int32_t sym, int64_t times)
{
    struct ws__affine part;

    return ws__affine_part(a, sym, &part) && ws__affine_is(&part, times);
}

/* 2 * s * tid */
static bool is_scaled(const struct ws__tree *r, const struct ws__affine *a)
{
    struct ws__affine by_s, by_t;

    return a->n == 1 && ws__affine_part(a, r->s, &by_s) && by_s.n == 1 &&
           ws__affine_part(&by_s, WS__SYM(WS__AL_THREAD, 0), &by_t) &&
           ws__affine_is(&by_t, 2);
}

/* Is it the thread's place, plus so many s? */
static bool is_place(const struct ws__tree *r, const struct ws__affine *a,
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

static bool is_element(const struct ws__tree *r, int32_t i,
                       struct ws__affine *at)
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
static bool joins_two(const struct ws__tree *r, int32_t root)
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
static bool reads_join(struct ws__tree *r, int32_t stmt)
{
    const struct ws__ast *t = r->in->ast;
    int32_t a = only_assign(t, stmt), of;

    stmt = one_of(t, stmt);
    if (a < 0 || ws__loop_match(t, a, -1, &r->join) != stmt ||
        !ws__ast_is(t, r->join.at, WS__AST_INDEX) || r->join.where >= 0 ||
        ws__loop_count(t, stmt, r->join.at) != r->join.slots ||
        ws__ast_is_op(t, a, CL_BinaryOperator_SubAssign))
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
static bool is_multiple(struct ws__tree *r, int32_t cond)
{
    const struct ws__ast *t = r->in->ast;
    int32_t rem = ws__ast_bare(t, ws__ast_child(t, cond, 0));
    struct ws__affine a, part;

    if (!ws__ast_is_op(t, cond, CL_BinaryOperator_EQ) ||
        !ws__ast_is_value(t, ws__ast_child(t, cond, 1), 0) ||
        !ws__ast_is_op(t, rem, CL_BinaryOperator_Rem) ||
        !ws__tree_is_thread(t, ws__ast_child(t, rem, 0)) ||
        !ws__affine_of(t, ws__ast_child(t, rem, 1), &a))
        return false;
    r->tid = ws__ast_child(t, rem, 0);
    return a.n == 1 && ws__affine_part(&a, r->s, &part) &&
           ws__affine_is(&part, 2);
}

/* The node below root that is threadIdx.x, or -1. */
static int32_t find_tid(const struct ws__tree *r, int32_t root)
{
    int32_t end = ws__ast_after(r->in->ast, root);

    for (int32_t i = root; i < end; i++)
        if (ws__tree_is_thread(r->in->ast, i))
            return i;
    return -1;
}

/* 2 * s * tid < size, perhaps by a variable of the level. */
static bool is_compact(struct ws__tree *r, int32_t cond)
{
    const struct ws__ast *t = r->in->ast;
    int32_t a = ws__ast_bare(t, ws__ast_child(t, cond, 0)), value = a;
    struct ws__affine at;

    if (!ws__ast_is_op(t, cond, CL_BinaryOperator_LT) ||
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
static bool reads_guard(struct ws__tree *r, int32_t cond)
{
    const struct ws__ast *t = r->in->ast;
    int32_t c = ws__ast_bare(t, cond), a = ws__ast_child(t, c, 0);
    struct ws__affine at;

    if (ws__ast_is_op(t, c, CL_BinaryOperator_LAnd)) { /* && tid + s < size */
        int32_t b = ws__ast_bare(t, ws__ast_child(t, c, 1));

        return ws__ast_is_op(t, b, CL_BinaryOperator_LT) &&
               ws__affine_of(t, ws__ast_child(t, b, 0), &at) &&
               is_place(r, &at, 1) && r->up &&
               ws__ast_same(t, ws__ast_child(t, b, 1), r->size) &&
               is_multiple(r, ws__ast_bare(t, a));
    }
    if (!r->up) {
        r->tid = a;
        return ws__ast_is_op(t, c, CL_BinaryOperator_LT) &&
               ws__tree_is_thread(t, a) &&
               ws__ast_refers(t, ws__ast_child(t, c, 1), r->s);
    }
    return is_multiple(r, c) || is_compact(r, c);
}

/* { if (...) join; barrier; } in either order, with what may stand between: an
 * index of its own, a while's step. */
static bool reads_body(struct ws__tree *r, int32_t step)
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
static bool is_last_join(const struct ws__tree *r, int32_t stmt,
                         int64_t distance)
{
    const struct ws__ast *t = r->in->ast;
    struct ws__loop_match m;
    int32_t end = ws__ast_after(t, stmt);
    int near = 0, far = 0;

    if (ws__loop_match(t, stmt, -1, &m) != stmt || m.kind != r->join.kind ||
        ws__ast_is_op(t, stmt, CL_BinaryOperator_SubAssign) ||
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
bool ws__tree_read_last(struct ws__tree *r)
{
    const struct ws__ast *t = r->in->ast;
    int32_t i = next_of(t, r->loop), c, body;
    int64_t distance = WS__ROWS_WARP;

    if (!ws__ast_is(t, i, WS__AST_IF) || ws__ast_nchild(t, i) != 2)
        return false;
    c = ws__ast_bare(t, ws__ast_child(t, i, 0));
    body = ws__ast_child(t, i, 1);
    if (!ws__ast_is_op(t, c, CL_BinaryOperator_LT) ||
        !ws__tree_is_thread(t, ws__ast_child(t, c, 0)) ||
        !ws__ast_is_value(t, ws__ast_child(t, c, 1), WS__ROWS_WARP) ||
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
/* --- the loop ------------------------------------------------------------- */

/* What stands before a while and gives s its value; -1: nothing. */
static int32_t start_of_while(const struct ws__tree *r, int32_t *from)
{
    const struct ws__ast *t = r->in->ast;
    int32_t before = -1, v;

    for (int32_t c = ws__ast_child(t, t->node[r->loop].parent, 0);
         c >= 0 && c != r->loop; c = t->node[c].next)
        before = c;
    if (ws__ast_is_op(t, before, CL_BinaryOperator_Assign) &&
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
static bool used_elsewhere(const struct ws__tree *r)
{
    const struct ws__ast *t = r->in->ast;
    int32_t end = ws__ast_after(t, r->in->body);

    for (int32_t i = r->in->body; i < end; i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl == r->s &&
            !ws__ast_below(t, i, r->loop) && !ws__ast_below(t, i, r->begin))
            return true;
    return false;
}

static bool reads_while(struct ws__tree *r)
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

bool ws__tree_read_head(const struct ws__xform_in *in, int32_t loop,
                        struct ws__tree *r)
{
    struct ws__ast_for f;

    *r = (struct ws__tree){.in = in,
                           .loop = loop,
                           .begin = loop,
                           .last = -1,
                           .s = -1,
                           .size = -1,
                           .tid = -1,
                           .buf = -1,
                           .index = -1};
    ws__ast_for(in->ast, loop, &f);
    r->body = f.body;
    return f.init >= 0 && f.cond >= 0 && f.step >= 0 && reads_step(r, f.step) &&
           f.var == r->s && reads_bound(r, f.cond) && reads_start(r, f.from);
}

bool ws__tree_read(const struct ws__xform_in *in, int32_t loop,
                   struct ws__tree *r)
{
    if (in->ast->node[loop].kind == WS__AST_FOR)
        return ws__tree_read_head(in, loop, r) && reads_body(r, -1);
    ws__tree_read_head(in, loop, r);
    return reads_while(r);
}

static bool has_barrier(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++)
        if (ws__ast_is_barrier(t, i))
            return true;
    return false;
}

bool ws__tree_looks_alike(const struct ws__xform_in *in, int32_t loop)
{
    struct ws__tree r = {.in = in, .loop = loop, .s = -1};
    struct ws__ast_for f;

    if (in->ast->node[loop].kind != WS__AST_FOR)
        return false;
    ws__ast_for(in->ast, loop, &f);
    return f.step >= 0 && reads_step(&r, f.step) && has_barrier(in->ast, loop);
}
