/*
 * xform_column_block.c: a block for some neighbouring columns instead of one.
 *
 * Where a block goes down one column of a matrix, its threads load elements
 * that are a row apart, of each of which a whole sector is fetched. Here the
 * threads are dealt out: thread tid has column tid % COLUMNS and every
 * (THREADS / COLUMNS)th row. Parts of one column lie COLUMNS apart in shared
 * memory, so that the tree that joins them is the old one, ended earlier: the
 * first COLUMNS elements are the results.
 *
 * Each statement of the function must be one that a smaller block of its own
 * for each column would do as well: loops down the column that carry sums,
 * largest and smallest values, their way through shared memory and a tree, and
 * what all threads or the first one make of the result. Threads without a
 * column do the last one again and store nothing, so that barriers are reached
 * by all.
 */
#include "core/trial.h"
#include "xform/clang_api.h"
#include "xform/tree.h"

#include "base/banned.h"

#define LEAST_BLOCK 32 /* as many columns as a block may get */
#define MAX_ACCESSES 64
#define MAX_VALUES 16
#define MAX_LOOPS 8

static const char *const findings[] = {"uncoalesced_loads", "waste",
                                       "wait_memory", "wait_lg", NULL};
static const struct ws__xform_delta deltas[] = {{"long_scoreboard", 0.2, 1},
                                                {NULL, 0, 0}};
static const char what[] = "a block for neighbouring columns";

/* What a variable or a shared array holds. */
enum held {
    OTHER,
    ZERO,  /* a sum can begin with it */
    PARTS, /* each thread a part of the column's */
    JOINED /* an array: element 0 is the column's */
};
struct value {
    int32_t decl;
    enum held held;
    enum ws__reduce kind; /* of parts */
};

struct block {
    const struct ws__xform_in *in;
    struct value value[MAX_VALUES];
    size_t nvalue;
    int32_t loop[MAX_LOOPS]; /* down the column */
    size_t nloop;
    int32_t tree[MAX_LOOPS], first[MAX_LOOPS]; /* if (tid == 0) */
    size_t ntree, nfirst;
    int32_t col; /* VAR that is the block's number; -1: there is none */
    const char *count, *why;
    int32_t why_at;
    bool keeps_nan;
};

static bool no(struct block *b, int32_t at, const char *why)
{
    if (!b->why) {
        b->why = why;
        b->why_at = at;
    }
    return false;
}

/* --- who asks which thread or block it is --------------------------------- */

/* Is the node threadIdx.x, or a variable of that value? */
static bool is_thread(const struct ws__ast *t, int32_t i)
{
    return ws__ast_bare(t, i) == i && ws__tree_is_thread(t, i);
}

static int thread_uses(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);
    int n = 0, dim;

    for (int32_t i = root; i < end; i++)
        n += is_thread(t, i) ||
             (ws__ast_bare(t, i) == i &&
              ws__ast_launch_value(t, i, &dim) == WS__AL_GLOBAL);
    return n;
}

/* A variable's initial value, or -1. A type's parts go before it. */
static int32_t init_of(const struct ws__ast *t, int32_t var)
{
    int32_t v = ws__ast_child(t, var, 0);

    while (v >= 0 && t->node[v].next >= 0)
        v = t->node[v].next;
    return v;
}

static bool is_block(const struct ws__ast *t, int32_t i)
{
    int dim;

    return ws__ast_bare(t, i) == i &&
           ws__ast_launch_value(t, i, &dim) == WS__AL_BLOCK && !dim;
}

/* The variable that is the block's number and nothing else has it. */
static bool reads_block(struct block *b)
{
    const struct ws__ast *t = b->in->ast;
    int32_t end = ws__ast_after(t, b->in->body);
    int uses = 0, dim;

    b->col = -1;
    for (int32_t i = b->in->body; i < end; i++) {
        enum ws__ast_launch v = ws__ast_launch_value(t, i, &dim);
        int32_t up = t->node[i].parent;

        if (v == WS__AL_GRID_DIM || v == WS__AL_GLOBAL_DIM)
            return no(b, i, "it asks how many blocks there are");
        if (!is_block(t, i))
            continue;
        uses++;
        while (t->node[up].kind == WS__AST_CAST ||
               t->node[up].kind == WS__AST_PAREN)
            up = t->node[up].parent;
        if (t->node[i].macro)
            return no(b, i, "a macro hides the block's number");
        if (t->node[up].kind == WS__AST_VAR &&
            t->node[t->node[up].parent].parent == b->in->body &&
            t->node[up].type.class == WS__AT_INT &&
            t->node[up].type.bits >= 32 && !ws__ast_changes(t, b->in->body, up))
            b->col = up;
    }
    return uses == 1 && b->col >= 0
               ? true
               : no(b, b->in->body,
                    "the block's number is in no variable, or used otherwise");
}

/* --- values --------------------------------------------------------------- */

static struct value *value_of(struct block *b, int32_t decl)
{
    for (size_t i = 0; i < b->nvalue; i++)
        if (b->value[i].decl == decl)
            return &b->value[i];
    return NULL;
}

static bool set(struct block *b, int32_t decl, enum held held,
                enum ws__reduce kind)
{
    struct value *v = value_of(b, decl);

    if (!v) {
        if (b->nvalue == MAX_VALUES)
            return no(b, decl, "it has too many variables");
        v = &b->value[b->nvalue++];
    }
    *v = (struct value){decl, held, kind};
    return true;
}

/* Of a REF to a shared array: is the column's result read, and nothing else? */
static bool is_result(struct block *b, int32_t ref)
{
    const struct ws__ast *t = b->in->ast;
    int32_t at = t->node[ref].parent, up = t->node[at].parent;
    struct value *v = value_of(b, t->node[ref].decl);

    if (!ws__ast_is(t, at, WS__AST_INDEX) || !v || v->held != JOINED ||
        !ws__ast_is_value(t, ws__ast_child(t, at, 1), 0) || t->node[at].macro ||
        ws__ast_is_bound(t, at))
        return false;
    if (ws__ast_is(t, up, WS__AST_UNARY))
        return t->node[up].op > CL_UnaryOperator_AddrOf;
    return !ws__ast_is(t, up, WS__AST_ASSIGN) || ws__ast_child(t, up, 0) != at;
}

/* Is all below root the same for the threads of a column: no thread's number,
 * no part but what loop l carries, of shared memory results only? */
static bool is_common(struct block *b, int32_t root, const struct ws__loop *l)
{
    const struct ws__ast *t = b->in->ast;
    int32_t end = root < 0 ? 0 : ws__ast_after(t, root);

    if (root < 0)
        return true;
    if (thread_uses(t, root))
        return no(b, root, "the thread's number is used otherwise");
    if (ws__loop_call(t, root) >= 0)
        return no(b, root, "a call may have effects");
    for (int32_t i = root; i < end; i++) {
        int32_t d = t->node[i].kind == WS__AST_REF ? t->node[i].decl : -1;
        struct value *v = d < 0 ? NULL : value_of(b, d);
        bool carried = false;

        for (size_t k = 0; l && k < l->nred; k++)
            carried = carried || l->red[k].decl == d;
        if (d >= 0 && t->node[d].type.space == WS__AS_SHARED) {
            if (!is_result(b, i))
                return no(b, i, "shared memory is read otherwise");
        } else if (v && v->held == PARTS && !carried) {
            return no(b, i, "a thread's part is used otherwise");
        }
    }
    return true;
}

/* --- statements ----------------------------------------------------------- */

static bool reads_decl(struct block *b, int32_t stmt)
{
    const struct ws__ast *t = b->in->ast;

    for (int32_t v = t->node[stmt].first; v >= 0; v = t->node[v].next) {
        int32_t init = init_of(t, v);

        if (t->node[v].kind != WS__AST_VAR)
            return no(b, stmt, "a declaration is not understood");
        if (t->node[v].type.space == WS__AS_SHARED) {
            if (t->node[v].type.ndim != 1 || t->node[v].type.dim[0] < 1)
                return no(b, v, "shared memory is no array of a known size");
            continue;
        }
        if (init < 0 || v == b->col || is_thread(t, ws__ast_bare(t, init))) {
            if (init >= 0 && v != b->col && ws__ast_changes(t, b->in->body, v))
                return no(b, v, "the thread's number is changed");
            continue;
        }
        if (!is_common(b, init, NULL) ||
            !set(b, v, ws__ast_is_zero(t, init) ? ZERO : OTHER, WS__RED_SUM))
            return false;
    }
    return true;
}

/* part[tid] = sum */
static bool reads_put(struct block *b, int32_t stmt)
{
    const struct ws__ast *t = b->in->ast;
    int32_t to = ws__ast_bare(t, ws__ast_child(t, stmt, 0)), buf;
    int32_t from = ws__ast_bare(t, ws__ast_child(t, stmt, 1));
    struct value *v = ws__ast_is(t, from, WS__AST_REF)
                          ? value_of(b, t->node[from].decl)
                          : NULL;

    buf = ws__ast_bare(t, ws__ast_child(t, to, 0));
    if (!ws__ast_is(t, buf, WS__AST_REF))
        return no(b, stmt, "shared memory is written otherwise");
    buf = t->node[buf].decl;
    if (t->node[stmt].op != CL_BinaryOperator_Assign ||
        !ws__tree_is_thread(t, ws__ast_child(t, to, 1)) || !v ||
        v->held != PARTS || t->node[buf].type.class != t->node[from].type.class)
        return no(b, stmt, "shared memory is written otherwise");
    return set(b, buf, PARTS, v->kind);
}

static bool reads_assign(struct block *b, int32_t stmt)
{
    const struct ws__ast *t = b->in->ast;
    int32_t to = ws__ast_bare(t, ws__ast_child(t, stmt, 0)), of = to;
    int32_t value = ws__ast_child(t, stmt, 1);

    while (ws__ast_is(t, of, WS__AST_INDEX))
        of = ws__ast_bare(t, ws__ast_child(t, of, 0));
    if (ws__ast_is(t, of, WS__AST_REF) && t->node[of].decl >= 0 &&
        t->node[t->node[of].decl].type.space == WS__AS_SHARED)
        return reads_put(b, stmt);
    if (!ws__ast_is(t, to, WS__AST_REF) || t->node[to].decl < 0 ||
        t->node[stmt].op != CL_BinaryOperator_Assign)
        return no(b, stmt, "all threads write the same");
    return is_common(b, value, NULL) &&
           set(b, t->node[to].decl, ws__ast_is_zero(t, value) ? ZERO : OTHER,
               WS__RED_SUM);
}

static bool reads_tree(struct block *b, int32_t stmt)
{
    struct ws__tree r;
    struct value *v;

    if (!ws__tree_read(b->in, stmt, &r))
        return no(b, stmt,
                  "a level of the tree does something else than to "
                  "join two elements");
    v = value_of(b, r.buf);
    if (r.up || r.until || !ws__tree_is_whole(&r))
        return no(b, stmt, "the tree does not halve a whole block");
    if (!v || v->held != PARTS || v->kind != r.join.kind)
        return no(b, stmt, "the tree joins something else than the parts");
    if (b->ntree == MAX_LOOPS)
        return no(b, stmt, "there are too many trees");
    b->keeps_nan = b->keeps_nan || r.join.keeps_nan;
    b->tree[b->ntree++] = stmt;
    return set(b, r.buf, JOINED, v->kind);
}

/* Can a condition be put before a store: is there no else that it takes? */
static bool takes_else(const struct ws__ast *t, int32_t i, int32_t loop)
{
    for (; i > loop; i = t->node[i].parent)
        if (t->node[i].kind == WS__AST_IF && ws__ast_nchild(t, i) > 2)
            return true;
    return false;
}

static bool reads_stores(struct block *b, int32_t loop)
{
    const struct ws__ast *t = b->in->ast;
    struct ws__reach r[MAX_ACCESSES];
    size_t n = ws__loop_reaches(b->in, loop, r, MAX_ACCESSES);

    if (n > MAX_ACCESSES)
        return no(b, loop, "the loop has too many accesses");
    for (size_t i = 0; i < n; i++) {
        int32_t s = ws__ast_statement(t, r[i].node);

        if (r[i].write && (t->node[s].kind != WS__AST_ASSIGN ||
                           t->node[s].macro || takes_else(t, s, loop)))
            return no(b, s, "a store of the loop cannot be put off");
    }
    return true;
}

static bool reads_loop(struct block *b, const struct ws__ast_for *f)
{
    const struct ws__ast *t = b->in->ast;
    struct ws__loop l;

    if (ws__loop_read(b->in, f->loop, &l) < 0)
        return false;
    if (l.why)
        return no(b, f->loop, l.why);
    if (!ws__ast_is(t, f->init, WS__AST_DECL))
        return no(b, f->loop, "the counter is declared outside of its loop");
    if (!is_common(b, f->to, NULL) || !is_common(b, f->body, &l) ||
        !reads_stores(b, f->loop))
        return false;
    for (size_t i = 0; i < l.nred; i++) {
        const struct ws__reduction *r = &l.red[i];
        struct value *v = r->decl < 0 ? NULL : value_of(b, r->decl);

        if (!v || r->where >= 0)
            return no(b, f->loop,
                      "it carries more than a sum, a largest or a "
                      "smallest value in a variable");
        if (v->held == PARTS ? v->kind != r->kind
                             : r->kind == WS__RED_SUM && v->held != ZERO)
            return no(b, f->loop, "a sum begins with something else than 0");
        b->keeps_nan = b->keeps_nan || r->keeps_nan;
        if (!set(b, r->decl, PARTS, r->kind))
            return false;
    }
    if (b->nloop == MAX_LOOPS)
        return no(b, f->loop, "there are too many loops");
    b->loop[b->nloop++] = f->loop;
    return true;
}

/* What the first thread writes. */
static bool reads_first(struct block *b, int32_t stmt)
{
    const struct ws__ast *t = b->in->ast;
    int32_t then = ws__ast_child(t, stmt, 1), end = ws__ast_after(t, then);

    if (ws__ast_nchild(t, stmt) != 2 ||
        ws__tree_first(t, ws__ast_child(t, stmt, 0)) < 0 ||
        t->node[ws__ast_child(t, stmt, 0)].macro)
        return no(b, stmt,
                  "a condition asks for something else than the first "
                  "thread");
    if (!is_common(b, then, NULL))
        return false;
    for (int32_t i = then; i < end; i++) {
        int32_t to = ws__ast_bare(t, ws__ast_child(t, i, 0));

        if (ws__ast_is_barrier(t, i))
            return no(b, i, "a barrier stands under a condition");
        if (t->node[i].kind != WS__AST_ASSIGN &&
            !(t->node[i].kind == WS__AST_UNARY &&
              t->node[i].op >= CL_UnaryOperator_PostInc &&
              t->node[i].op <= CL_UnaryOperator_AddrOf))
            continue;
        if (ws__ast_is(t, to, WS__AST_REF) && t->node[to].decl > then)
            continue;
        if (!ws__ast_is(t, to, WS__AST_INDEX) ||
            t->node[i].kind != WS__AST_ASSIGN)
            return no(b, i, "the first thread changes what all see");
    }
    if (b->nfirst == MAX_LOOPS)
        return no(b, stmt, "there are too many conditions");
    b->first[b->nfirst++] = stmt;
    return true;
}

static bool reads_statement(struct block *b, int32_t stmt)
{
    const struct ws__ast *t = b->in->ast;
    struct ws__ast_for f;

    switch (t->node[stmt].kind) {
    case WS__AST_EMPTY:
        return true;
    case WS__AST_DECL:
        return reads_decl(b, stmt);
    case WS__AST_ASSIGN:
        return reads_assign(b, stmt);
    case WS__AST_IF:
        return reads_first(b, stmt);
    case WS__AST_WHILE:
        return reads_tree(b, stmt);
    case WS__AST_FOR:
        ws__ast_for(t, stmt, &f);
        if (f.counts && f.by >= 0 && ws__tree_is_thread(t, f.from) &&
            ws__tree_is_block(b->in, f.by))
            return reads_loop(b, &f);
        return reads_tree(b, stmt);
    default:
        return ws__ast_is_barrier(t, stmt) ||
               no(b, stmt, "a statement is not understood");
    }
}

/* --- the kernel ----------------------------------------------------------- */

/* Does a loop go down a column: a row more a turn, a column more a block? */
static bool goes_down(const struct ws__xform_in *in, int32_t loop)
{
    struct ws__access a[MAX_ACCESSES];
    struct ws__ast_for f;
    size_t n = ws__xform_accesses(in, loop, WS__AS_GLOBAL, a, MAX_ACCESSES);

    ws__ast_for(in->ast, loop, &f);
    if (!f.counts || f.by < 0 || !ws__tree_is_thread(in->ast, f.from) ||
        !ws__tree_is_block(in, f.by) || n > MAX_ACCESSES)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct ws__affine by_block, by_row;

        if (a[i].affine &&
            ws__affine_part(&a[i].at, WS__SYM(WS__AL_BLOCK, 0), &by_block) &&
            ws__affine_is(&by_block, 1) &&
            ws__affine_part(&a[i].at, f.var, &by_row) && by_row.n &&
            !ws__affine_is(&by_row, 1))
            return true;
    }
    return false;
}

static int32_t column_loop(const struct ws__xform_in *in)
{
    int32_t end = ws__ast_after(in->ast, in->body);

    for (int32_t i = in->body; i < end; i++)
        if (in->ast->node[i].kind == WS__AST_FOR && goes_down(in, i))
            return i;
    return -1;
}

/* A parameter that every launch gives as many columns as it has blocks. */
static bool reads_count(struct block *b)
{
    const struct ws__xform_in *in = b->in;
    const struct ws__ast *t = in->ast;
    struct ws__xform_in l = *in;

    for (int32_t c = t->node[in->func].first; c >= 0; c = t->node[c].next) {
        bool fits = t->node[c].kind == WS__AST_PARAM &&
                    t->node[c].type.class == WS__AT_INT &&
                    !t->node[c].type.pointers &&
                    !ws__ast_changes(t, in->body, c);

        for (l.launch = ws__xform_next_launch(in, 0);
             fits && l.launch < in->kernel->nlaunch;
             l.launch = ws__xform_next_launch(in, l.launch + 1)) {
            const struct ws__arg *a = ws__xform_arg(&l, c);

            fits = a && a->kind == WS__ARG_VALUE &&
                   !strcmp(a->expr->text, ws__xform_grid(&l, 0));
        }
        if (fits) {
            b->count = t->node[c].name;
            return true;
        }
    }
    return no(b, in->body, "no parameter says how many columns there are");
}

static bool is_one(const struct ws__xform_in *in)
{
    return ws__xform_next_launch(in, 0) == in->launch &&
           ws__xform_next_launch(in, in->launch + 1) == in->kernel->nlaunch;
}

static void read_block(const struct ws__xform_in *in, struct block *b)
{
    const struct ws__ast *t = in->ast;

    *b = (struct block){.in = in, .col = -1};
    if (!ws__tree_is_row(in, LEAST_BLOCK))
        no(b, in->body, "the block is no power of two of at least 32 threads");
    else if (!is_one(in))
        no(b, in->body, "it is launched more than once");
    else if (ws__xform_others_ask(in))
        no(b, in->body, "another function asks which thread it is");
    if (b->why || !reads_block(b) || !reads_count(b))
        return;
    for (int32_t i = t->node[in->body].first; i >= 0; i = t->node[i].next)
        if (!reads_statement(b, i))
            return;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    struct block b;
    struct ws__site *s;
    int32_t loop = column_loop(in);
    int rc = 0;

    if (loop < 0)
        return 0;
    read_block(in, &b);
    if (b.why)
        return ws__site_refuse(in, out, b.why_at, what, b.why);
    s = ws__site_add(in, out, loop, &rc, "%s: COLUMNS of '%s'", what, b.count);
    if (s && b.keeps_nan)
        s->trust = "a comparison lets the place of a NaN decide: where there "
                   "is one, the result may be another";
    return rc;
}

/* --- edits ---------------------------------------------------------------- */

struct words {
    const char *columns, *place;
    const char *x,
        *tid; /* threadIdx.x; a variable of that value, or the same */
};

static int name_all(const struct block *b, struct words *w)
{
    const struct ws__ast *t = b->in->ast;

    w->columns = ws__xform_name(b->in, "COLUMNS");
    w->place = ws__xform_name(b->in, "place");
    w->x = t->dialect == WS__DIALECT_CUDA ? "threadIdx.x" : "get_local_id(0)";
    w->tid = w->x;
    for (int32_t s = t->node[b->in->body].first; s >= 0; s = t->node[s].next)
        for (int32_t v = ws__ast_child(t, s, 0);
             v >= 0 && t->node[s].kind == WS__AST_DECL; v = t->node[v].next)
            if (init_of(t, v) >= 0 &&
                is_thread(t, ws__ast_bare(t, init_of(t, v))))
                w->tid = t->node[v].name;
    return w->columns && w->place ? 0 : WS_ENOMEM;
}

static const char *divided(const struct ws__xform_in *in, int32_t expr,
                           const char *by)
{
    const struct ws__ast_node *n = &in->ast->node[expr];
    const char *text = ws__xform_text(in, expr);

    if (!text)
        return NULL;
    return ws__arena_printf(in->arena,
                            n->kind == WS__AST_BINARY || n->kind == WS__AST_CAST
                                ? "(%s) / %s"
                                : "%s / %s",
                            text, by);
}

static void edit_block(const struct block *b, const struct words *w,
                       struct ws__rewrite *out)
{
    const struct ws__ast *t = b->in->ast;
    bool cuda = t->dialect == WS__DIALECT_CUDA;
    int32_t decl = t->node[b->col].parent;

    ws__rewrite_before(out, decl, "int %s = %s * %s + %s %% %s;", w->place,
                       cuda ? "blockIdx.x" : "get_group_id(0)", w->columns,
                       w->x, w->columns);
    ws__rewrite_node(out, init_of(t, b->col), "%s < %s ? %s : %s - 1", w->place,
                     b->count, w->place, b->count);
}

/* What a loop's store gets in front. */
static void edit_stores(const struct block *b, const struct words *w,
                        int32_t loop, struct ws__rewrite *out)
{
    struct ws__reach r[MAX_ACCESSES];
    size_t n = ws__loop_reaches(b->in, loop, r, MAX_ACCESSES);

    for (size_t i = 0; i < n; i++)
        if (r[i].write)
            ws__rewrite_at(out,
                           b->in->ast
                               ->node[ws__ast_statement(b->in->ast, r[i].node)]
                               .begin,
                           0, "if (%s < %s)\n%s    ", w->place, b->count,
                           ws__xform_indent(b->in, r[i].node));
}

static int edit_loops(const struct block *b, const struct words *w,
                      struct ws__rewrite *out)
{
    const struct ws__ast *t = b->in->ast;

    for (size_t i = 0; i < b->nloop; i++) {
        struct ws__ast_for f;
        const char *from, *by;

        ws__ast_for(t, b->loop[i], &f);
        from = divided(b->in, f.from, w->columns);
        by = divided(b->in, f.by, w->columns);
        if (!from || !by)
            return WS_ENOMEM;
        ws__rewrite_node(out, f.from, "%s", from);
        ws__rewrite_node(out, f.by, "%s", by);
        edit_stores(b, w, b->loop[i], out);
    }
    for (size_t i = 0; i < b->ntree; i++) {
        struct ws__tree r;

        ws__tree_read(b->in, b->tree[i], &r);
        ws__rewrite_node(out, r.bound, "%s >= %s", t->node[r.s].name,
                         w->columns);
    }
    return 0;
}

static bool is_in_tree(const struct block *b, int32_t i)
{
    for (size_t k = 0; k < b->ntree; k++)
        if (ws__ast_below(b->in->ast, i, b->tree[k]))
            return true;
    return false;
}

/* The column's result is not in element 0 for all. */
static void edit_results(const struct block *b, const struct words *w,
                         struct ws__rewrite *out)
{
    const struct ws__ast *t = b->in->ast;
    int32_t end = ws__ast_after(t, b->in->body);

    for (size_t i = 0; i < b->nfirst; i++)
        ws__rewrite_node(out, ws__ast_child(t, b->first[i], 0),
                         "%s < %s && %s < %s", w->tid, w->columns, w->place,
                         b->count);
    for (int32_t i = b->in->body; i < end; i++) {
        int32_t of = ws__ast_bare(t, ws__ast_child(t, i, 0));
        bool first = false;

        if (t->node[i].kind != WS__AST_INDEX ||
            !ws__ast_is(t, of, WS__AST_REF) || t->node[of].decl < 0 ||
            t->node[t->node[of].decl].type.space != WS__AS_SHARED ||
            !ws__ast_is_value(t, ws__ast_child(t, i, 1), 0) || is_in_tree(b, i))
            continue;
        for (size_t k = 0; k < b->nfirst; k++)
            first = first || ws__ast_below(t, i, b->first[k]);
        ws__rewrite_node(out, ws__ast_child(t, i, 1), first ? "%s" : "%s %% %s",
                         w->tid, w->columns);
    }
}

static void change_plan(const struct block *b, const struct words *w,
                        struct ws__rewrite *out)
{
    const struct ws__xform_in *in = b->in;
    const char *block = ws__xform_block(in, 0), *grid, *fits;

    grid = ws__arena_printf(in->arena, "\"ceil_div(%s, %s)\"",
                            ws__xform_grid(in, 0), w->columns);
    fits = ws__arena_printf(in->arena, "(%s) %% %s == 0", block, w->columns);
    if (!grid || !fits) {
        out->failed = WS_ENOMEM;
        return;
    }
    ws__rewrite_change(out, grid, "launches[%zu].grid[0]", in->launch);
    if (strspn(block, "0123456789") != strlen(block))
        ws__rewrite_change(out, fits, "constraints[+]");
    ws__rewrite_param(out, w->columns, "[8, 16, 32]", "16", "columns a block");
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    struct block b;
    struct words w;

    (void)s;
    read_block(in, &b);
    WS_TRY(name_all(&b, &w));
    edit_block(&b, &w, out);
    WS_TRY(edit_loops(&b, &w, out));
    edit_results(&b, &w, out);
    change_plan(&b, &w, out);
    return 0;
}

const struct ws__xform_ops ws__xform_column_block = {
    .abi = WS__XFORM_ABI,
    .name = "column_block",
    .about = "a block for neighbouring columns instead of one for each column",
    .needs = "a block of a power of two threads goes down the column of its "
             "number, joins sums, largest or smallest values by a tree in "
             "shared memory, and its first thread stores",
    .finding = findings,
    .delta = deltas,
    .gates = WS__WANT_SANITIZER,
    .rounding = true,
    .cuda = true,
    .opencl = true,
    .gain = 4,
    .find = find,
    .apply = apply,
};
