/* rows.c: kernels in which a thread works on a row: what may be shared. See
 * rows.h. */
#include "xform/rows.h"

#include "xform/clang_api.h"

#include "base/banned.h"

#define MAX_REACHES 128

static void refuse(struct ws__rows *p, int32_t at, const char *why)
{
    if (p->why)
        return;
    p->why = why;
    p->why_at = at;
}

/* --- the row -------------------------------------------------------------- */

static bool is_global_x(const struct ws__affine *a)
{
    struct ws__affine thread, block;

    return ws__affine_part(a, WS__SYM(WS__AL_THREAD, 0), &thread) &&
           ws__affine_is(&thread, 1) &&
           ws__affine_part(a, WS__SYM(WS__AL_BLOCK, 0), &block) && a->n == 2 &&
           block.n == 1 &&
           ((block.term[0].n == 1 && block.term[0].times == 1 &&
             block.term[0].sym[0] == WS__SYM(WS__AL_BLOCK_DIM, 0)) ||
            (block.term[0].n == 0 && block.term[0].times > 1));
}

/* The variable that is block times size plus thread; -1: none. */
static int32_t row_of(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->body; i < end; i++) {
        struct ws__affine a;
        int32_t v = ws__ast_child(t, i, 0);

        if (t->node[i].kind == WS__AST_VAR && v >= 0 &&
            t->node[i].type.class == WS__AT_INT && !t->node[i].type.ndim &&
            !t->node[i].type.pointers && ws__affine_of(t, v, &a) &&
            t->node[t->node[i].parent].parent == in->body && is_global_x(&a) &&
            !ws__ast_changes(t, in->body, i))
            return i;
    }
    return -1;
}

/* Is it a variable that only hands on a launch value: int t = threadIdx.x? */
static bool hands_on(const struct ws__xform_in *in, int32_t var)
{
    int dim;
    int32_t v = ws__ast_child(in->ast, var, 0);

    return in->ast->node[var].kind == WS__AST_VAR && v >= 0 &&
           ws__ast_launch_value(in->ast, v, &dim) != WS__AL_NONE && !dim &&
           !ws__ast_changes(in->ast, in->body, var);
}

/* x of threads and blocks, and variables that hand it on, may make the row and
 * nothing else; y and z of threads must not occur. */
static int32_t other_use(const struct ws__rows *p)
{
    const struct ws__ast *t = p->in->ast;
    int32_t end = ws__ast_after(t, p->in->body);

    for (int32_t i = p->in->body; i < end; i++) {
        int dim = 0;
        enum ws__ast_launch v = t->node[i].kind == WS__AST_MEMBER
                                    ? ws__ast_launch_value(t, i, &dim)
                                    : WS__AL_NONE;
        int32_t var = ws__ast_up(t, i, WS__AST_VAR);
        bool makes_row = ws__ast_below(t, i, p->row);

        if (t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0 &&
            hands_on(p->in, t->node[i].decl) && !makes_row)
            return i;
        if (v == WS__AL_NONE || makes_row)
            continue;
        if (v == WS__AL_THREAD && dim)
            return i;
        if (!dim && !(var >= 0 && hands_on(p->in, var)))
            return i;
    }
    return -1;
}

/* The factor of the block in the row's value, where it is a constant. */
int32_t ws__rows_size(const struct ws__rows *p)
{
    const struct ws__ast *t = p->in->ast;
    int32_t end = ws__ast_after(t, p->row);
    int64_t c;

    for (int32_t i = p->row + 1; i < end; i++)
        if (t->node[i].kind == WS__AST_BINARY &&
            t->node[i].op == CL_BinaryOperator_Mul)
            for (int k = 0; k < 2; k++)
                if (ws__ast_const(t, ws__ast_child(t, i, k), &c))
                    return ws__ast_bare(t, ws__ast_child(t, i, k));
    return -1;
}

bool ws__rows_number(const char *text, int64_t *out)
{
    *out = 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || *out > 100000)
            return false;
        *out = *out * 10 + (*c - '0');
    }
    return *text != '\0';
}

static bool same_size(const struct ws__rows *p, int32_t size)
{
    const char *block = ws__xform_block(p->in, 0);
    int64_t number, c;

    if (ws__rows_number(block, &number))
        return ws__ast_const(p->in->ast, size, &c) && c == number;
    return !strcmp(block, ws__xform_text(p->in, size));
}

static int check_launch(struct ws__rows *p)
{
    const struct ws__launch *l = &p->in->kernel->launch[p->in->launch];
    int64_t block;
    int32_t size = ws__rows_size(p), use = other_use(p);

    for (size_t i = 0; i < p->in->kernel->nlaunch; i++)
        if (i != p->in->launch &&
            !strcmp(p->in->kernel->launch[i].entry, l->entry))
            refuse(p, p->in->func, "several launches have this function");
    if (l->block[1] || l->block[2])
        refuse(p, p->in->func, "the block has more than one dimension");
    if (ws__rows_number(ws__xform_block(p->in, 0), &block) &&
        block % WS__ROWS_WARP)
        refuse(p, p->in->func,
               "the block is no multiple of 32 threads: warps "
               "would not be whole");
    for (int32_t i = p->in->body; i < ws__ast_after(p->in->ast, p->in->body);
         i++) {
        int dim;

        if (p->in->ast->node[i].kind == WS__AST_MEMBER &&
            p->in->ast->node[i].macro &&
            ws__ast_launch_value(p->in->ast, i, &dim) != WS__AL_NONE)
            refuse(p, i, "a macro has the thread's number");
    }
    if (size >= 0 && !ws__xform_text(p->in, size))
        return WS_ENOMEM;
    if (size >= 0 && !same_size(p, size))
        refuse(p, size,
               "the row's number has a size of blocks that is not "
               "the launch's");
    if (use >= 0)
        refuse(p, use,
               "threads and blocks are used for more than the row's "
               "number");
    return 0;
}

/* --- the columns' loops --------------------------------------------------- */

/* Do neighbouring threads touch neighbouring elements as it is: x[thread + j],
 * or x[... + i % n + j] where i is the thread? */
static bool is_coalesced(const struct ws__xform_in *in,
                         const struct ws__affine *at)
{
    const struct ws__ast *t = in->ast;
    struct ws__affine part;

    if (ws__affine_part(at, WS__SYM(WS__AL_THREAD, 0), &part) &&
        ws__affine_is(&part, 1))
        return true;
    for (size_t i = 0; i < at->n; i++) {
        int32_t sym = at->term[i].n == 1 ? at->term[i].sym[0] : -1, v;

        if (sym < 0 || at->term[i].times != 1)
            continue;
        v = ws__ast_bare(t, ws__ast_child(t, sym, 0));
        if (ws__ast_is(t, v, WS__AST_BINARY) &&
            t->node[v].op == CL_BinaryOperator_Rem && ws__loop_by_thread(in, v))
            return true;
    }
    return false;
}

static bool is_short(const struct ws__ast *t, const struct ws__ast_for *f)
{
    int64_t from, to;

    return ws__ast_const(t, f->from, &from) && ws__ast_const(t, f->to, &to) &&
           to - from < WS__ROWS_WARP;
}

/* Do accesses of the loop step by one element with its variable, in rows of
 * their own? More than step by more? */
static bool walks_a_row(const struct ws__xform_in *in, int32_t loop)
{
    struct ws__ast_for f;
    struct ws__reach r[MAX_REACHES];
    size_t n;
    int one = 0, more = 0;

    ws__ast_for(in->ast, loop, &f);
    if (!f.counts || is_short(in->ast, &f))
        return false;
    n = ws__loop_reaches(in, f.body, r, MAX_REACHES);
    for (size_t i = 0; i < n && i < MAX_REACHES; i++) {
        struct ws__affine part;

        if (!r[i].affine || !ws__affine_part(&r[i].at, f.var, &part) || !part.n)
            continue;
        if (!ws__affine_is(&part, 1) || is_coalesced(in, &r[i].at))
            more++;
        else if (ws__loop_by_thread(in, r[i].node) ||
                 ws__loop_by_thread(in, f.from))
            one++;
    }
    return one > more;
}

/* The innermost loop that does. */
static bool along_a_row(const struct ws__xform_in *in, int32_t loop)
{
    int32_t end = ws__ast_after(in->ast, loop);

    if (!walks_a_row(in, loop))
        return false;
    for (int32_t i = loop + 1; i < end; i++)
        if (in->ast->node[i].kind == WS__AST_FOR && walks_a_row(in, i))
            return false;
    return true;
}

static bool steps_by_one(const struct ws__ast *t, const struct ws__ast_for *f)
{
    int64_t c;

    return f->by < 0 || (ws__ast_const(t, f->by, &c) && c == 1);
}

/* Is a counter that is declared outside of the loop read where another loop has
 * not set it? The threads leave it at different values. */
static bool counter_is_read(const struct ws__xform_in *in,
                            const struct ws__ast_for *f)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    if (ws__ast_below(t, f->var, f->loop))
        return false;
    for (int32_t i = in->body; i < end; i++) {
        int32_t l = i;
        struct ws__ast_for o;

        if (t->node[i].kind != WS__AST_REF || t->node[i].decl != f->var)
            continue;
        for (; l >= 0; l = t->node[l].parent) {
            ws__ast_for(t, l, &o);
            if (o.loop >= 0 && o.counts && o.var == f->var)
                break;
        }
        if (l < 0 && !(ws__ast_is(t, ws__ast_statement(t, i), WS__AST_ASSIGN) &&
                       ws__ast_child(t, ws__ast_statement(t, i), 0) == i))
            return true;
    }
    return false;
}

static int add_loop(struct ws__rows *p, int32_t loop)
{
    struct ws__loop *l = &p->loop[p->nloop];

    if (p->nloop == WS__ROWS_LOOPS) {
        refuse(p, loop, "too many loops");
        return 0;
    }
    WS_TRY(ws__loop_read(p->in, loop, l));
    if (!l->why && !steps_by_one(p->in->ast, &l->f))
        l->why = "does not count by one";
    if (!l->why && counter_is_read(p->in, &l->f))
        l->why = "has a counter that is read behind it";
    if (l->why) {
        const char *why = ws__arena_printf(p->in->arena, "the loop %s", l->why);

        if (!why)
            return WS_ENOMEM;
        refuse(p, loop, why);
    }
    p->nloop++;
    return 0;
}

/* --- regions -------------------------------------------------------------- */

static uint64_t bit_of(const struct ws__rows *p, int32_t param)
{
    int k = 0;

    for (int32_t c = p->in->ast->node[p->in->func].first; c >= 0 && c != param;
         c = p->in->ast->node[c].next)
        k++;
    return UINT64_C(1) << (k < 63 ? k : 63);
}

static bool is_carried(const struct ws__ast *t, const struct ws__loop *l,
                       const struct ws__reach *r)
{
    for (size_t i = 0; i < l->nred; i++)
        if (l->red[i].decl < 0 && l->red[i].kind == WS__RED_SUM &&
            ws__ast_same(t, l->red[i].at, r->node))
            return true;
    return false;
}

/* What is below root belongs to the region. */
static void add_touches(struct ws__rows *p, struct ws__rows_region *g,
                        int32_t root)
{
    const struct ws__ast *t = p->in->ast;
    struct ws__reach r[MAX_REACHES];
    size_t n = ws__loop_reaches(p->in, root, r, MAX_REACHES);

    if (n > MAX_REACHES) {
        refuse(p, root, "too many accesses");
        n = MAX_REACHES;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = r[i].root < 0 ? UINT64_MAX : bit_of(p, r[i].root);
        bool first = g->first ||
                     (g->loop >= 0 && is_carried(t, &p->loop[g->loop], &r[i]));

        *(first ? &g->first_read : &g->read) |= bit;
        if (r[i].write)
            *(first ? &g->first_write : &g->write) |= bit;
    }
}

static struct ws__rows_region *add_region(struct ws__rows *p, int32_t stmt,
                                          bool repeats, bool first, int loop)
{
    struct ws__rows_region *g = &p->region[p->n];

    if (p->n == WS__ROWS_REGIONS) {
        refuse(p, stmt, "too many statements");
        return g - 1;
    }
    p->n++;
    *g = (struct ws__rows_region){.stmt = stmt,
                                  .repeats = repeats,
                                  .first = first,
                                  .loop = loop};
    return g;
}

static bool meet(const struct ws__rows_region *a,
                 const struct ws__rows_region *b)
{
    return (a->write & (b->read | b->write | b->first_read | b->first_write)) ||
           (a->first_write & (b->read | b->write)) ||
           (a->read & (b->write | b->first_write)) ||
           (a->first_read & b->write);
}

/* Must other threads' accesses of before be done? */
bool ws__rows_waits(const struct ws__rows *p, size_t i)
{
    for (size_t k = 0; k < p->n; k++)
        if ((k < i || (p->region[i].repeats && p->region[k].repeats)) &&
            meet(&p->region[i], &p->region[k]))
            return true;
    return false;
}

/* --- the walk ------------------------------------------------------------- */

static bool writes_memory(const struct ws__rows *p, int32_t root)
{
    struct ws__reach r[MAX_REACHES];
    size_t n = ws__loop_reaches(p->in, root, r, MAX_REACHES);

    for (size_t k = 0; k < n && k < MAX_REACHES; k++)
        if (r[k].write)
            return true;
    return n > MAX_REACHES;
}

/* A statement that is an expression. Writes to memory are the first thread's:
 * such a statement may write nothing else. */
static void read_expression(struct ws__rows *p, int32_t i, bool repeats)
{
    const struct ws__ast *t = p->in->ast;
    int32_t end = ws__ast_after(t, i);
    bool writes = writes_memory(p, i);
    int changes = 0;

    for (int32_t k = i; k < end; k++)
        changes += t->node[k].kind == WS__AST_ASSIGN ||
                   (t->node[k].kind == WS__AST_UNARY && t->node[k].op >= 1 &&
                    t->node[k].op <= CL_UnaryOperator_PreDec);
    if (writes && (changes != 1 || t->node[i].kind == WS__AST_DECL))
        refuse(p, i, "a statement writes to memory and to variables");
    add_touches(p, add_region(p, i, repeats, writes, -1), i);
}

static int walk(struct ws__rows *p, int32_t i, bool repeats);

/* A part that decides where to go on: read by all, and nothing written. */
static void read_condition(struct ws__rows *p, int32_t stmt, int32_t cond,
                           bool repeats)
{
    if (cond < 0)
        return;
    if (writes_memory(p, cond))
        refuse(p, cond, "a condition writes to memory");
    add_touches(p, add_region(p, stmt, repeats, false, -1), cond);
}

static int walk_loop(struct ws__rows *p, int32_t i, bool repeats)
{
    const struct ws__ast *t = p->in->ast;
    int32_t body = -1;
    size_t before = p->n;

    if (t->node[i].kind == WS__AST_FOR && along_a_row(p->in, i)) {
        WS_TRY(add_loop(p, i));
        if (p->nloop && !p->why)
            add_touches(p, add_region(p, i, repeats, false, (int)p->nloop - 1),
                        i);
        return 0;
    }
    for (int32_t c = t->node[i].first; c >= 0; c = t->node[c].next)
        if (c != i)
            body = t->node[i].kind == WS__AST_DO && body >= 0 ? body : c;
    for (int32_t c = t->node[i].first; c >= 0; c = t->node[c].next) {
        if (c == body)
            continue;
        read_condition(p, i, c, true);
    }
    for (size_t k = before; k < p->n; k++)
        p->region[k].loop = -2; /* a loop's head: nothing can wait before it */
    return body < 0 ? 0 : walk(p, body, true);
}

static int walk(struct ws__rows *p, int32_t i, bool repeats)
{
    const struct ws__ast *t = p->in->ast;

    switch (t->node[i].kind) {
    case WS__AST_BLOCK:
        for (int32_t c = t->node[i].first; c >= 0 && !p->why;
             c = t->node[c].next)
            WS_TRY(walk(p, c, repeats));
        return 0;
    case WS__AST_IF:
        read_condition(p, i, ws__ast_child(t, i, 0), repeats);
        for (int k = 1; k < ws__ast_nchild(t, i) && !p->why; k++)
            WS_TRY(walk(p, ws__ast_child(t, i, k), repeats));
        return 0;
    case WS__AST_FOR:
    case WS__AST_WHILE:
    case WS__AST_DO:
        return walk_loop(p, i, repeats);
    case WS__AST_RETURN:
    case WS__AST_BREAK:
    case WS__AST_CONTINUE:
    case WS__AST_EMPTY:
        return 0;
    case WS__AST_JUMP:
    case WS__AST_OTHER:
        refuse(p, i, "a statement is not understood");
        return 0;
    default:
        read_expression(p, i, repeats);
        return 0;
    }
}

/* What must not be anywhere in the function. */
static void check_body(struct ws__rows *p)
{
    const struct ws__ast *t = p->in->ast;
    int32_t end = ws__ast_after(t, p->in->body), x;

    for (int32_t i = p->in->body; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (ws__ast_is_barrier(t, i))
            refuse(p, i, "threads of the block wait for each other");
        if (n->kind == WS__AST_VAR && n->is_static)
            refuse(p, i, "threads of the block share memory");
        if (n->kind == WS__AST_VAR && n->spelled &&
            (strchr(n->spelled, '&') || strstr(n->spelled, "volatile")))
            refuse(p, i, "a reference or a volatile is not followed");
        if (n->kind == WS__AST_REF && n->decl >= 0 &&
            t->node[n->decl].kind == WS__AST_VAR &&
            !ws__ast_below(t, n->decl, p->in->func) &&
            ws__ast_changes(t, p->in->body, n->decl))
            refuse(p, i, "a variable of the file is written");
    }
    x = ws__loop_call(t, p->in->body);
    if (x >= 0)
        refuse(p, x, "a function is called that may have effects");
    x = ws__loop_stray(p->in, p->in->body);
    if (x >= 0)
        refuse(p, x, "a pointer is used in a way that is not followed");
}

static void check_waits(struct ws__rows *p)
{
    const struct ws__ast *t = p->in->ast;

    for (size_t i = 0; i < p->n; i++) {
        const struct ws__rows_region *g = &p->region[i];
        bool in_block = ws__ast_is(t, t->node[g->stmt].parent, WS__AST_BLOCK);

        if (g->stmt < p->row && (g->first || g->loop >= 0))
            refuse(p, g->stmt, "memory is written before the row is known");
        if (ws__rows_waits(p, i) &&
            (g->loop == -2 || (!in_block && g->loop < 0)))
            refuse(p, g->stmt,
                   "a condition reads what other threads of the "
                   "warp would write");
    }
}

static bool has_loop_along(const struct ws__xform_in *in)
{
    int32_t end = ws__ast_after(in->ast, in->body);

    for (int32_t i = in->body; i < end; i++)
        if (in->ast->node[i].kind == WS__AST_FOR && along_a_row(in, i))
            return true;
    return false;
}

int ws__rows_read(const struct ws__xform_in *in, struct ws__rows *p)
{
    memset(p, 0, sizeof(*p));
    p->in = in;
    p->why_at = in->func;
    p->row = row_of(in);
    if (p->row < 0 || !has_loop_along(in))
        return 0;
    WS_TRY(check_launch(p));
    check_body(p);
    if (!p->why)
        WS_TRY(walk(p, in->body, false));
    if (!p->why)
        check_waits(p);
    return 0;
}

int ws__rows_find(const struct ws__xform_in *in, const char *team,
                  struct ws__sites *out)
{
    struct ws__rows *p = ws__arena_alloc(in->arena, 1, sizeof(*p));
    const char *row, *words;
    struct ws__site *s;
    int rc = 0;

    if (!p)
        return WS_ENOMEM;
    WS_TRY(ws__rows_read(in, p));
    if (p->row < 0 || (!p->nloop && !p->why))
        return 0;
    row = in->ast->node[p->row].name;
    words = ws__arena_printf(in->arena, "%s instead of a thread for each %s",
                             team, row ? row : "row");
    if (!words)
        return WS_ENOMEM;
    if (p->why)
        return ws__site_refuse(in, out, p->why_at, words, p->why);
    s = ws__site_add(in, out, p->row, &rc, "%s of '%s'", words,
                     in->kernel->launch[in->launch].entry);
    for (size_t i = 0; s && i < p->nloop; i++)
        for (size_t k = 0; k < p->loop[i].nred; k++)
            if (p->loop[i].red[k].keeps_nan)
                s->trust = "a comparison lets the last NaN of a row decide: "
                           "where there is one, the result may be another";
    return rc;
}

const char *ws__rows_count(const struct ws__rows *p)
{
    const char *grid = ws__xform_grid(p->in, 0), *second;
    const char *block = ws__xform_block(p->in, 0);
    size_t n = strlen(grid), comma = 0;
    int depth = 0, commas = 0;

    if (strncmp(grid, "ceil_div(", 9) != 0 || grid[n - 1] != ')')
        return NULL;
    for (size_t i = 9; i + 1 < n; i++) {
        depth += (grid[i] == '(') - (grid[i] == ')');
        if (depth < 0)
            return NULL;
        if (grid[i] == ',' && !depth) {
            comma = i;
            commas++;
        }
    }
    if (commas != 1 || depth)
        return NULL;
    second = grid + comma + 1;
    second += strspn(second, " ");
    if (strlen(second) != strlen(block) + 1 ||
        strncmp(second, block, strlen(block)) != 0)
        return NULL;
    return ws__arena_strndup(p->in->arena, grid + 9, comma - 9);
}
