/* product.c: finds products. See product.h. */
#include "xform/product_int.h"

#include "xform/clang_api.h"
#include "xform/pieces.h"

#include "base/banned.h"

/* --- what stands around the loop ------------------------------------------ */

static bool keep_item(struct ws__product_look *l, int32_t *list, size_t *n,
                      int32_t i)
{
    if (*n == WS__PRODUCT_ITEMS)
        return ws__product_no(l, i, "the function is too long");
    list[(*n)++] = i;
    return true;
}

static unsigned variable(const struct ws__product_look *l, int32_t var)
{
    unsigned of = ws__product_depends(l->in, l->p, var);

    if (l->t->node[var].type.space == WS__AS_SHARED)
        return WS__PRODUCT_THREAD;
    for (int s = 0; s < 2; s++)
        if (l->p->side[s].var == var)
            return WS__PRODUCT_THREAD; /* it is made anew */
    for (size_t i = 0; i < l->p->nsum; i++)
        if (l->p->sum[i].var == var)
            return WS__PRODUCT_SUM;
    return of;
}

/* Does what a declaration or an expression reads keep its value behind it? */
static bool read_stays(const struct ws__product_look *l, int32_t node)
{
    int32_t end = ws__ast_after(l->t, node);
    int32_t last = ws__ast_after(l->t, l->in->body);

    for (int32_t i = node; i < end; i++) {
        int32_t d = l->t->node[i].decl;

        if (l->t->node[i].kind != WS__AST_REF || d < 0)
            continue;
        for (int32_t k = end; k < last; k++)
            if ((l->t->node[k].kind == WS__AST_ASSIGN ||
                 l->t->node[k].kind == WS__AST_UNARY) &&
                ws__ast_changes(l->t, k, d))
                return false;
    }
    return true;
}

/* What sums begin with is computed where their places are known. */
static bool begins(struct ws__product_look *l, int32_t decl)
{
    for (int32_t v = l->t->node[decl].first; v >= 0; v = l->t->node[v].next)
        if (ws__product_depends(l->in, l->p, v) & ~3u)
            return ws__product_no(l, decl,
                                  "a sum begins with something that depends on "
                                  "its thread otherwise than by its place");
    return (ws__ast_is_pure(l->t, decl) && read_stays(l, decl)) ||
           ws__product_no(l, decl,
                          "what a sum begins with cannot be computed again "
                          "later");
}

/* A declaration before the loop: what goes, what stays, what is made again
 * wherever row and column are known. */
static bool look_at_decl(struct ws__product_look *l, int32_t decl, bool below)
{
    unsigned of = 0;
    int gone = 0, n = 0;

    for (int32_t v = l->t->node[decl].first; v >= 0; v = l->t->node[v].next) {
        unsigned one = variable(l, v);

        of |= one;
        gone += one != 0;
        n++;
    }
    if (of & WS__PRODUCT_ELSE)
        return ws__product_no(l, decl,
                              "what is declared here depends on its thread and "
                              "changes");
    if (!gone)
        return !below || keep_item(l, l->p->move, &l->p->nmove, decl);
    if (gone != n)
        return ws__product_no(l, decl,
                              "values of a thread and of all threads are "
                              "declared in one line");
    if (of & WS__PRODUCT_SUM && !begins(l, decl))
        return false;
    if (!(of & ~3u)) {
        if (!ws__ast_is_pure(l->t, decl) || !read_stays(l, decl))
            return ws__product_no(l, decl,
                                  "what is declared here cannot be computed "
                                  "again later");
        if (!keep_item(l, l->p->derived, &l->p->nderived, decl))
            return false;
    }
    return below || keep_item(l, l->p->drop, &l->p->ndrop, decl);
}

/* sum = 0.0f; in a line of its own. */
static bool is_first_value(struct ws__product_look *l, int32_t i)
{
    int32_t to = ws__ast_child(l->t, i, 0), value = ws__ast_child(l->t, i, 1);

    for (size_t k = 0; k < l->p->nsum; k++) {
        struct ws__product_sum *s = &l->p->sum[k];

        if (s->var >= 0 ? !ws__ast_refers(l->t, to, s->var)
                        : !ws__ast_same(l->t, to, s->node))
            continue;
        if (s->init || ws__product_depends(l->in, l->p, value) & ~3u ||
            !ws__ast_is_pure(l->t, value) || !read_stays(l, value))
            return false;
        s->first = value;
        s->init = ws__xform_text(l->in, value);
        if (!s->init)
            l->rc = WS_ENOMEM;
        return s->init != NULL;
    }
    return false;
}

static bool look_at_item(struct ws__product_look *l, int32_t i, bool below)
{
    const struct ws__ast_node *n = &l->t->node[i];

    if (n->kind == WS__AST_DECL)
        return look_at_decl(l, i, below);
    if (n->kind == WS__AST_EMPTY)
        return true;
    if (n->kind == WS__AST_ASSIGN && n->op == CL_BinaryOperator_Assign &&
        is_first_value(l, i))
        return below || keep_item(l, l->p->drop, &l->p->ndrop, i);
    if (n->kind != WS__AST_ASSIGN || ws__product_depends(l->in, l->p, i) ||
        !ws__ast_is(l->t, ws__ast_bare(l->t, ws__ast_child(l->t, i, 0)),
                    WS__AST_REF))
        return ws__product_no(l, i,
                              "threads do something else before the loop");
    return !below || keep_item(l, l->p->move, &l->p->nmove, i);
}

static bool bounds_place(struct ws__product_look *l, int32_t small,
                         int32_t large)
{
    for (int s = 0; s < 2; s++) {
        struct ws__product_side *side = &l->p->side[s];

        if (!ws__ast_refers(l->t, small, side->var) ||
            ws__product_depends(l->in, l->p, large))
            continue;
        if (ws__product_overlap(&l->t->node[small], &l->t->node[large]))
            return ws__product_no(l, large, "a macro hides a bound");
        if (side->bound >= 0 && !ws__ast_same(l->t, side->bound, large))
            return ws__product_no(l, large, "a place has two bounds");
        side->bound = large;
        return true;
    }
    return ws__product_no(l, small,
                          "a condition is no bound of row or column alone");
}

bool ws__product_condition(struct ws__product_look *l, int32_t cond,
                           bool negated)
{
    int32_t c = ws__ast_bare(l->t, cond);
    int op = ws__ast_is(l->t, c, WS__AST_BINARY) ? l->t->node[c].op : 0;
    int32_t a = ws__ast_child(l->t, c, 0), b = ws__ast_child(l->t, c, 1);

    if (op == (negated ? CL_BinaryOperator_LOr : CL_BinaryOperator_LAnd))
        return ws__product_condition(l, a, negated) &&
               ws__product_condition(l, b, negated);
    if (!ws__product_depends(l->in, l->p, c)) {
        if (l->p->nuniform == WS_COUNT(l->p->uniform))
            return ws__product_no(l, c, "too many conditions");
        l->p->uniform[l->p->nuniform].cond = c;
        l->p->uniform[l->p->nuniform].at = l->guard;
        l->p->uniform[l->p->nuniform++].negated = negated;
        return ws__ast_is_pure(l->t, c) ||
               ws__product_no(l, c, "a condition has an effect");
    }
    if (op == (negated ? CL_BinaryOperator_GE : CL_BinaryOperator_LT))
        return bounds_place(l, a, b);
    if (op == (negated ? CL_BinaryOperator_LE : CL_BinaryOperator_GT))
        return bounds_place(l, b, a);
    return ws__product_no(l, c,
                          "a condition is no bound of row or column alone");
}

static bool is_return(const struct ws__ast *t, int32_t i)
{
    if (ws__ast_is(t, i, WS__AST_BLOCK) && ws__ast_nchild(t, i) == 1)
        i = ws__ast_child(t, i, 0);
    return ws__ast_is(t, i, WS__AST_RETURN) && t->node[i].first < 0;
}

static bool walk(struct ws__product_look *l, int32_t block, bool below);

static bool walk_if(struct ws__product_look *l, int32_t i, bool below,
                    bool *found)
{
    int32_t cond = ws__ast_child(l->t, i, 0), then = ws__ast_child(l->t, i, 1);

    if (ws__ast_nchild(l->t, i) != 2)
        return ws__product_no(l, i,
                              "threads do something else before the loop");
    l->guard = below ? l->p->outermost : i;
    if (is_return(l->t, then))
        return ws__product_condition(l, cond, true) &&
               (below || keep_item(l, l->p->drop, &l->p->ndrop, i));
    *found = ws__ast_below(l->t, l->p->loop.loop, then);
    if (!*found)
        return ws__product_no(l, i,
                              "threads do something else before the loop");
    if (!ws__ast_is(l->t, then, WS__AST_BLOCK))
        return ws__product_no(l, i, "the loop stands in no block of its own");
    if (l->t->node[i].next >= 0)
        return ws__product_no(
            l, l->t->node[i].next,
            "something follows the condition around the loop");
    if (!below)
        l->p->outermost = i;
    l->guard = l->p->outermost;
    return ws__product_condition(l, cond, false) && walk(l, then, true);
}

static bool walk(struct ws__product_look *l, int32_t block, bool below)
{
    for (int32_t i = l->t->node[block].first; i >= 0; i = l->t->node[i].next) {
        bool found = false;

        if (i == l->p->loop.loop) {
            l->p->block = block;
            if (!below)
                l->p->outermost = i;
            return true;
        }
        if (l->t->node[i].kind == WS__AST_IF ? !walk_if(l, i, below, &found)
                                             : !look_at_item(l, i, below))
            return false;
        if (found)
            return true;
    }
    return ws__product_no(l, block, "the loop stands in another loop");
}

/* --- what follows the loop ------------------------------------------------ */

static bool rest_changes(struct ws__product_look *l, int32_t i)
{
    int32_t to = ws__ast_child(l->t, i, 0), d;

    to = ws__ast_bare(l->t, to);
    if (ws__ast_is(l->t, to, WS__AST_MEMBER))
        to = ws__ast_bare(l->t, ws__ast_child(l->t, to, 0));
    if (!ws__ast_is(l->t, to, WS__AST_REF))
        return false;
    d = l->t->node[to].decl;
    if (d < 0)
        return true;
    for (size_t k = 0; k < l->p->nsum; k++)
        if (l->p->sum[k].var == d)
            return false;
    for (size_t k = 0; k < l->p->nderived; k++)
        if (ws__ast_below(l->t, d, l->p->derived[k]))
            return false;
    return d < l->p->loop.loop; /* its own are behind the loop */
}

static bool check_rest(struct ws__product_look *l)
{
    int32_t end = ws__ast_after(l->t, l->p->block);

    for (int32_t i = ws__ast_after(l->t, l->p->loop.loop); i < end; i++) {
        const struct ws__ast_node *n = &l->t->node[i];
        bool step = n->kind == WS__AST_UNARY && n->op >= 1 && n->op <= 4;

        if (n->kind == WS__AST_RETURN || n->kind == WS__AST_JUMP)
            return ws__product_no(l, i, "a thread leaves behind the loop");
        if ((ws__product_assigns(l->t, i) || step) && rest_changes(l, i))
            return ws__product_no(
                l, i,
                "what follows the loop changes a variable that "
                "the next output would see");
    }
    if (end > ws__ast_after(l->t, l->p->loop.loop) &&
        (ws__product_depends(l->in, l->p, l->p->block) & WS__PRODUCT_ELSE))
        return ws__product_no(l, l->p->block,
                              "a value of a thread changes on the way");
    for (int32_t i = ws__ast_after(l->t, l->p->loop.loop); i < end; i++)
        if (ws__product_depends(l->in, l->p, i) &
            (WS__PRODUCT_K | WS__PRODUCT_THREAD))
            return ws__product_no(l, i,
                                  "what follows the loop names a thread or k");
    return true;
}

static bool cooperates(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);

    for (int32_t i = in->func; i < end; i++) {
        const char *n = t->node[i].name;

        if (ws__ast_is_barrier(t, i) ||
            (t->node[i].kind == WS__AST_VAR &&
             t->node[i].type.space == WS__AS_SHARED) ||
            (t->node[i].kind == WS__AST_CALL && n &&
             (strstr(n, "_sync") || strstr(n, "sub_group"))))
            return true;
    }
    return false;
}

static bool asks_for_size(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;
    const char *from = t->text + t->node[in->func].begin;
    const char *to = t->text + t->node[in->body].begin;
    const char *a = strstr(from, "reqd_work_group_size");
    const char *b = strstr(from, "__launch_bounds__");

    return (a && a < to) || (b && b < to);
}

static bool find_loop(struct ws__product_look *l)
{
    int32_t end = ws__ast_after(l->t, l->in->body);
    struct ws__product *p = l->p;

    for (int32_t i = l->in->body; i < end && p->term < 0; i++) {
        if (l->t->node[i].kind != WS__AST_FOR)
            continue;
        ws__ast_for(l->t, i, &p->loop);
        if (!p->loop.counts)
            return false;
        p->term = p->loop.body;
    }
    return p->term >= 0;
}

static bool is_one(const struct ws__ast *t, int32_t i)
{
    int64_t v;

    return i < 0 || (ws__ast_const(t, i, &v) && v == 1);
}

static bool check_loop(struct ws__product_look *l)
{
    struct ws__product *p = l->p;
    const struct ws__ast_for *f = &p->loop;

    if (f->inclusive || !is_one(l->t, f->by))
        return ws__product_no(l, f->loop,
                              "the loop does not go by ones to a bound");
    if (ws__product_depends(l->in, p, f->from) ||
        ws__product_depends(l->in, p, f->to) ||
        !ws__ast_is_pure(l->t, f->from) || !ws__ast_is_pure(l->t, f->to))
        return ws__product_no(l, f->loop,
                              "threads go through the loop differently often");
    p->k = l->t->node[f->var].name;
    p->k_type = ws__product_type(l, f->var);
    p->k_from = ws__xform_text(l->in, f->from);
    if (!p->k_from)
        l->rc = WS_ENOMEM;
    return (p->k && p->k_type) ||
           ws__product_no(l, f->loop, "k is no plain number");
}

/* Does anything below read two arrays or more? */
static bool looks_like_one(const struct ws__product_look *l)
{
    int32_t end = ws__ast_after(l->t, l->p->term);
    int n = 0;

    for (int32_t i = l->p->term; i < end; i++)
        n += l->t->node[i].kind == WS__AST_INDEX &&
             ws__product_base(l, i) >= 0 &&
             (ws__product_depends(l->in, l->p, i) & WS__PRODUCT_K);
    return n >= 2;
}

static bool check_ends(struct ws__product_look *l)
{
    struct ws__product *p = l->p;

    for (int s = 0; s < 2; s++) {
        if (p->side[s].bound < 0)
            return ws__product_no(l, p->side[s].var,
                                  "nothing bounds row or column");
        p->side[s].name = l->t->node[p->side[s].var].name;
        p->side[s].type = ws__product_type(l, p->side[s].var);
        if (!p->side[s].type)
            return ws__product_no(l, p->side[s].var,
                                  "a place is no plain number");
    }
    for (size_t i = 0; i < p->nsum; i++)
        if (!p->sum[i].init)
            return ws__product_no(l, p->loop.loop,
                                  "a sum does not begin with a value");
    return true;
}

/* What follows the loop; of tiles, without the bounds around it. */
static bool find_rest(struct ws__product_look *l, bool tiled)
{
    struct ws__product *p = l->p;
    int32_t first = l->t->node[p->loop.loop].next, then;

    p->rest = ws__xform_end(l->t, p->loop.loop);
    p->rest_end = l->t->node[p->block].end - 1;
    if (tiled) {
        if (!ws__ast_is(l->t, first, WS__AST_IF) ||
            l->t->node[first].next >= 0 || ws__ast_nchild(l->t, first) != 2)
            return ws__product_no(l, p->loop.loop,
                                  "no bounds of row and column follow");
        l->guard = p->outermost;
        then = ws__ast_child(l->t, first, 1);
        if (!ws__product_condition(l, ws__ast_child(l->t, first, 0), false))
            return false;
        p->rest = l->t->node[then].begin;
        p->rest_end = ws__xform_end(l->t, then);
        if (l->t->node[then].kind == WS__AST_BLOCK) {
            p->rest++;
            p->rest_end--;
        }
    }
    ws__pieces_trim(l->t, &p->rest, &p->rest_end);
    return true;
}

/* An output a thread from global memory, or by tiles. */
static bool look(struct ws__product_look *l, bool tiled)
{
    if (tiled) {
        if (!ws__product_sums(l) || !walk(l, l->in->body, false) ||
            !find_rest(l, true) || !ws__product_tiled(l))
            return false;
    } else if (!ws__product_sums(l) || !ws__product_loads(l) ||
               !check_loop(l) || !walk(l, l->in->body, false) ||
               !find_rest(l, false)) {
        return false;
    }
    return ws__product_terms(l) && ws__product_text(l) && check_ends(l) &&
           check_rest(l);
}

bool ws__product_find(const struct ws__xform_in *in, struct ws__product *out,
                      int *rc)
{
    struct ws__product_look l = {.in = in, .t = in->ast, .p = out};
    bool tiled;

    memset(out, 0, sizeof(*out));
    out->term = out->outermost = out->block = out->at = -1;
    for (int d = 0; d < 3; d++)
        l.block[d] = ws__product_block(in, d);
    for (int s = 0; s < 2; s++)
        out->side[s] =
            (struct ws__product_side){.dim = -1, .var = -1, .bound = -1};
    out->loop.var = -1;
    if (!ws__product_places(&l) || !find_loop(&l))
        return false;
    tiled = cooperates(in);
    if (tiled ? !ws__product_inner(&l) : !looks_like_one(&l))
        return false;
    ws__product_order(&l);
    if (asks_for_size(in))
        return ws__product_no(&l, in->func,
                              "the source asks for this block size");
    if (!ws__xform_same_blocks(in))
        return ws__product_no(&l, in->func,
                              "it is launched with blocks of several sizes");
    if (in->kernel->launch[in->launch].block[2] && l.block[2] != 1)
        return ws__product_no(&l, in->func,
                              "a block has threads in three directions");
    tiled = look(&l, tiled);
    *rc = l.rc;
    return tiled && l.rc >= 0;
}
