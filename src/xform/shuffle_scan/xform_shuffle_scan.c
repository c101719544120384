/*
 * xform_shuffle_scan.c: running sums in shared memory become shuffles.
 *
 * The scan of Hillis and Steele doubles a distance, with two barriers a level:
 *     for (s = 1; s < BLOCK; s *= 2) {
 *         float left = 0;
 *         if (t >= s)
 *             left = buf[t - s];
 *         __syncthreads();
 *         buf[t] += left;
 *         __syncthreads();
 *     }
 * Here each warp scans its elements by shuffles, the last lane puts the warp's
 * total in shared memory, and each thread adds the totals of the warps before
 * its own: two barriers for all. buf holds the same as before but for rounding.
 *
 * What a level does is read by doing it, once for a thread that has an element
 * to its left and once for one that has none: values are so many times the
 * thread's own element and so many times the left one.
 */
#include "core/trial.h"
#include "xform/clang_api.h"
#include "xform/rows.h"
#include "xform/tree.h"

#include "base/banned.h"

#define MAX_VARS 4

static const char *const findings[] = {"wait_barrier", "wait_shared",
                                       "wait_mio", NULL};
static const struct ws__xform_delta deltas[] = {{"barrier", 0.2, 0.9},
                                                {"short_scoreboard", 0.3, 1},
                                                {NULL, 0, 0}};
static const char what[] = "shuffles for a scan";

/* own times the thread's element plus left times the one to its left. */
struct value {
    int own, left;
};
struct scan {
    const struct ws__xform_in *in;
    struct ws__tree head;
    int32_t buf;  /* VAR, shared */
    int32_t tid;  /* expression: threadIdx.x */
    int32_t at;   /* INDEX: the thread's element */
    bool guarded; /* is there an element to the left: t >= s? */
    struct {
        int32_t decl;
        struct value v;
        bool set;
    } var[MAX_VARS];
    size_t nvar;
    struct value own; /* what buf[t] is by now */
    int barriers;     /* so far */
    int read, write;  /* barriers before the left element was read, before its
                         own was written; -1: not yet */
};

/* --- one level ------------------------------------------------------------ */

/* t >= s, s <= t */
static bool is_guard(const struct scan *r, int32_t cond)
{
    const struct ws__ast *t = r->in->ast;
    int32_t c = ws__ast_bare(t, cond), a = ws__ast_child(t, c, 0);
    int32_t b = ws__ast_child(t, c, 1);

    if (ws__ast_is_op(t, c, CL_BinaryOperator_GE))
        return ws__tree_is_thread(t, a) && ws__ast_refers(t, b, r->head.s);
    return ws__ast_is_op(t, c, CL_BinaryOperator_LE) &&
           ws__tree_is_thread(t, b) && ws__ast_refers(t, a, r->head.s);
}

/* Of an INDEX of the shared array: the thread's element (0) or the left one
 * (1); -1: another. The first array is the one. */
static int which(struct scan *r, int32_t i)
{
    const struct ws__ast *t = r->in->ast;
    int32_t of = ws__ast_bare(t, ws__ast_child(t, i, 0));
    struct ws__affine a, by_t, by_s;

    if (!ws__ast_is(t, i, WS__AST_INDEX) || !ws__ast_is(t, of, WS__AST_REF) ||
        t->node[of].decl < 0)
        return -1;
    of = t->node[of].decl;
    if (r->buf < 0 && t->node[of].type.space == WS__AS_SHARED &&
        t->node[of].type.ndim == 1)
        r->buf = of;
    if (of != r->buf || !ws__affine_of(t, ws__ast_child(t, i, 1), &a) ||
        !ws__affine_part(&a, WS__SYM(WS__AL_THREAD, 0), &by_t) ||
        !ws__affine_is(&by_t, 1) || !ws__affine_part(&a, r->head.s, &by_s))
        return -1;
    if (a.n == 1) {
        r->at = i;
        r->tid = ws__ast_child(t, i, 1);
        return 0;
    }
    return a.n == 2 && ws__affine_is(&by_s, -1) ? 1 : -1;
}

static struct value *var_of(struct scan *r, int32_t decl, bool *set)
{
    for (size_t i = 0; i < r->nvar; i++)
        if (r->var[i].decl == decl) {
            *set = r->var[i].set;
            r->var[i].set = true;
            return &r->var[i].v;
        }
    if (r->nvar == MAX_VARS)
        return NULL;
    r->var[r->nvar].decl = decl;
    r->var[r->nvar].set = true;
    *set = false;
    return &r->var[r->nvar++].v;
}

/* False: it is something else than a sum of the two elements. */
static bool eval(struct scan *r, int32_t expr, struct value *out)
{
    const struct ws__ast *t = r->in->ast;
    int32_t i = ws__ast_bare(t, expr);
    struct value a, b, *v;
    bool set;

    *out = (struct value){0, 0};
    if (i < 0)
        return false;
    if (ws__ast_is_zero(t, i))
        return true;
    switch (t->node[i].kind) {
    case WS__AST_INDEX:
        switch (which(r, i)) {
        case 0:
            *out = r->own;
            return true;
        case 1:
            out->left = 1;
            if (r->read >= 0 && r->read != r->barriers)
                return false;
            r->read = r->barriers;
            return r->guarded && r->write < 0;
        default:
            return false;
        }
    case WS__AST_REF:
        if (t->node[i].decl < 0 || t->node[t->node[i].decl].kind != WS__AST_VAR)
            return false;
        v = var_of(r, t->node[i].decl, &set);
        if (v && set)
            *out = *v;
        return v && set;
    case WS__AST_BINARY:
        if (t->node[i].op != CL_BinaryOperator_Add ||
            !eval(r, ws__ast_child(t, i, 0), &a) ||
            !eval(r, ws__ast_child(t, i, 1), &b))
            return false;
        *out = (struct value){a.own + b.own, a.left + b.left};
        return true;
    case WS__AST_CHOICE:
        return is_guard(r, ws__ast_child(t, i, 0)) &&
               eval(r, ws__ast_child(t, i, r->guarded ? 1 : 2), out);
    default:
        return false;
    }
}

/* A variable of the level alone: seen nowhere else. */
static bool is_of_level(const struct scan *r, int32_t decl)
{
    const struct ws__ast *t = r->in->ast;
    int32_t end = ws__ast_after(t, r->in->body);

    if (t->node[decl].kind != WS__AST_VAR || t->node[decl].is_static)
        return false;
    for (int32_t i = r->in->body; i < end; i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl == decl &&
            !ws__ast_below(t, i, r->head.body))
            return false;
    return true;
}

static bool assign(struct scan *r, int32_t i)
{
    const struct ws__ast *t = r->in->ast;
    int32_t to = ws__ast_bare(t, ws__ast_child(t, i, 0));
    bool adds = t->node[i].op == CL_BinaryOperator_AddAssign, set = true;
    struct value v, *at;

    if ((!adds && t->node[i].op != CL_BinaryOperator_Assign) ||
        !eval(r, ws__ast_child(t, i, 1), &v))
        return false;
    if (ws__ast_is(t, to, WS__AST_REF)) {
        if (t->node[to].decl < 0 || !is_of_level(r, t->node[to].decl))
            return false;
        at = var_of(r, t->node[to].decl, &set);
    } else {
        if (which(r, to) != 0 || r->write >= 0)
            return false;
        r->write = r->barriers;
        at = &r->own;
    }
    if (!at || (adds && !set))
        return false;
    *at = adds ? (struct value){at->own + v.own, at->left + v.left} : v;
    return true;
}

static bool declare(struct scan *r, int32_t i)
{
    const struct ws__ast *t = r->in->ast;

    for (int32_t v = t->node[i].first; v >= 0; v = t->node[v].next) {
        int32_t init = ws__ast_child(t, v, 0);
        struct value value, *at;
        bool set;

        if (t->node[v].kind != WS__AST_VAR || t->node[v].is_static ||
            t->node[v].type.ndim)
            return false;
        if (init < 0)
            continue;
        if (!eval(r, init, &value))
            return false;
        at = var_of(r, v, &set);
        if (!at)
            return false;
        *at = value;
    }
    return true;
}

static bool does(struct scan *r, int32_t i)
{
    const struct ws__ast *t = r->in->ast;

    switch (t->node[i].kind) {
    case WS__AST_EMPTY:
        return true;
    case WS__AST_DECL:
        return declare(r, i);
    case WS__AST_ASSIGN:
        return assign(r, i);
    case WS__AST_BLOCK:
        for (int32_t c = t->node[i].first; c >= 0; c = t->node[c].next)
            if (!does(r, c))
                return false;
        return true;
    case WS__AST_IF:
        if (!is_guard(r, ws__ast_child(t, i, 0)))
            return false;
        if (r->guarded)
            return does(r, ws__ast_child(t, i, 1));
        return ws__ast_nchild(t, i) < 3 || does(r, ws__ast_child(t, i, 2));
    default:
        if (!ws__ast_is_barrier(t, i) || t->node[i].parent != r->head.body)
            return false;
        r->barriers++;
        return true;
    }
}

/* Does a level leave own + left where there is a left one, else own? It reads,
 * waits, writes, and waits before it reads again. */
static bool is_level(struct scan *r, bool guarded)
{
    r->guarded = guarded;
    r->nvar = 0;
    r->own = (struct value){1, 0};
    r->barriers = 0;
    r->read = r->write = -1;
    if (!does(r, r->head.body) || r->own.own != 1 || r->own.left != guarded ||
        r->barriers > 3 || r->barriers < 2)
        return false;
    return !guarded ||
           (r->read >= 0 && r->write == r->read + 1 && r->read <= 1 &&
            (r->read == 1 || r->barriers > r->write));
}

/* Would a variable of the level cut an element? */
static bool cuts(const struct scan *r)
{
    const struct ws__ast *t = r->in->ast;
    const struct ws__ast_type *e = &t->node[r->at].type;

    for (size_t i = 0; i < r->nvar; i++) {
        const struct ws__ast_type *v = &t->node[r->var[i].decl].type;

        if (v->class != e->class || v->bits != e->bits || v->width != e->width)
            return true;
    }
    return false;
}

/* --- sites ---------------------------------------------------------------- */

/* Is there an element of a shared array to the left by the loop's distance? */
static bool reads_left(struct scan *r)
{
    int32_t end = ws__ast_after(r->in->ast, r->head.body);

    for (int32_t i = r->head.body; i < end; i++) {
        int w = which(r, i);

        if (w == 1)
            return true;
        if (w < 0)
            r->buf = -1;
    }
    return false;
}

static const char *refusal(struct scan *r)
{
    const struct ws__launch *l = &r->in->kernel->launch[r->in->launch];
    const struct ws__ast *t = r->in->ast;
    struct ws__ast_for f;
    int64_t number;

    ws__ast_for(t, r->head.loop, &f);
    if (!is_level(r, false) || !is_level(r, true) || cuts(r))
        return "a level does something else than to add the element to the "
               "left, between barriers";
    if (l->block[1] || l->block[2])
        return "the block has more than one dimension";
    if (!ws__xform_same_blocks(r->in))
        return "it is launched with blocks of several sizes";
    if (!ws__tree_is_whole(&r->head))
        return "the scan's size is not that of the block";
    if (ws__rows_number(ws__xform_block(r->in, 0), &number) &&
        number % WS__ROWS_WARP)
        return "the block is not made of whole warps";
    if (t->node[r->at].type.bits < 32 || t->node[r->at].type.width != 1)
        return "the elements are no numbers of 32 or 64 bits";
    if (!ws__ast_is(t, f.init, WS__AST_DECL))
        return "the distance is declared outside of the loop";
    if (ws__loop_has_pragma(t, r->head.loop))
        return "the loop has a pragma";
    if (!ws__xform_is_whole(t, r->head.loop) ||
        t->text[t->node[r->head.loop].begin] != 'f')
        return "the loop is written by a macro";
    return NULL;
}

static bool read_scan(const struct ws__xform_in *in, int32_t loop,
                      struct scan *r)
{
    memset(r, 0, sizeof(*r));
    r->in = in;
    r->buf = r->tid = r->at = -1;
    return ws__tree_read_head(in, loop, &r->head) && r->head.up &&
           reads_left(r);
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    int32_t end = ws__ast_after(in->ast, in->body);

    for (int32_t i = in->body; i < end; i++) {
        const char *why;
        struct scan r;
        int rc = 0;

        if (in->ast->node[i].kind != WS__AST_FOR || !read_scan(in, i, &r))
            continue;
        why = refusal(&r);
        if (why)
            WS_TRY(ws__site_refuse(in, out, i, what, why));
        else
            ws__site_add(in, out, i, &rc, "%s: '%s'", what,
                         in->ast->node[r.buf].name);
        WS_TRY(rc);
    }
    return 0;
}

/* --- edits ---------------------------------------------------------------- */

struct words {
    const char *sum, *totals, *step, *other, *warp, *tid, *buf, *type;
};

static int name_all(const struct scan *r, struct words *w)
{
    const struct ws__ast *t = r->in->ast;

    w->sum = ws__xform_name(r->in, "sum");
    w->totals = ws__xform_name(r->in, "totals");
    w->step = ws__xform_name(r->in, "distance");
    w->other = ws__xform_name(r->in, "other");
    w->warp = ws__xform_name(r->in, "warp");
    w->tid = ws__xform_text(r->in, r->tid);
    w->buf = t->node[r->buf].name;
    w->type = ws__loop_type(t, &t->node[r->at].type);
    return w->sum && w->totals && w->step && w->other && w->warp && w->tid
               ? 0
               : WS_ENOMEM;
}

static void print_scan(struct ws__buf *b, const struct words *w, bool waits)
{
    ws__buf_printf(b, "{\n    __shared__ %s %s[%d];\n", w->type, w->totals,
                   WS__ROWS_WARP);
    ws__buf_puts(b, waits ? "    __syncthreads();\n" : "");
    ws__buf_printf(b, "    %s %s = %s[%s];\n\n", w->type, w->sum, w->buf,
                   w->tid);
    ws__buf_printf(b, "    for (int %s = 1; %s < %d; %s *= 2) {\n", w->step,
                   w->step, WS__ROWS_WARP, w->step);
    ws__buf_printf(b,
                   "        const %s %s = __shfl_up_sync(0xffffffffu, %s, "
                   "%s);\n\n",
                   w->type, w->other, w->sum, w->step);
    ws__buf_printf(b,
                   "        if (%s %% %d >= %s)\n            %s += %s;\n"
                   "    }\n",
                   w->tid, WS__ROWS_WARP, w->step, w->sum, w->other);
    ws__buf_printf(b,
                   "    if (%s %% %d == %d)\n        %s[%s / %d] = %s;\n"
                   "    __syncthreads();\n",
                   w->tid, WS__ROWS_WARP, WS__ROWS_WARP - 1, w->totals, w->tid,
                   WS__ROWS_WARP, w->sum);
    ws__buf_printf(b,
                   "    for (int %s = 0; %s < %s / %d; %s++)\n"
                   "        %s += %s[%s];\n",
                   w->warp, w->warp, w->tid, WS__ROWS_WARP, w->warp, w->sum,
                   w->totals, w->warp);
    ws__buf_printf(b, "    %s[%s] = %s;\n    __syncthreads();\n}", w->buf,
                   w->tid, w->sum);
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast_node *loop = &in->ast->node[s->node[0]];
    const char *block = ws__xform_block(in, 0), *indent, *text = NULL;
    struct scan r;
    struct words w;
    struct ws__buf b;
    int64_t number;

    if (!read_scan(in, s->node[0], &r) || refusal(&r))
        return ws__fail(in->ctx, WS_EBUG, "there is no scan");
    WS_TRY(name_all(&r, &w));
    indent = ws__xform_indent(in, s->node[0]);
    if (!indent)
        return WS_ENOMEM;
    ws__buf_init(&b, in->ctx, 1 << 16);
    print_scan(&b, &w, r.read == 1);
    if (!b.failed)
        text = ws__xform_indented(in, b.data, 0, indent);
    ws__buf_free(&b);
    if (!text)
        return WS_ENOMEM;
    ws__rewrite_at(out, loop->begin, loop->end - loop->begin, "%s",
                   text + strlen(indent));
    if (!ws__rows_number(block, &number)) {
        const char *whole = ws__arena_printf(in->arena, "(%s) %% %d == 0",
                                             block, WS__ROWS_WARP);

        if (!whole)
            return WS_ENOMEM;
        ws__rewrite_change(out, whole, "constraints[+]");
    }
    return 0;
}

const struct ws__xform_ops ws__xform_shuffle_scan = {
    .abi = WS__XFORM_ABI,
    .name = "shuffle_scan",
    .about = "warp shuffles for running sums in shared memory",
    .needs = "a loop that doubles a distance and adds to each element of a "
             "shared array the one to its left, over a whole block of one "
             "dimension",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .rounding = true,
    .cuda = true,
    .gain = 1.5,
    .find = find,
    .apply = apply,
};
