/* product_tiled.c: products that have tiles of shared memory already.
 *
 * The beginner's form: a square block, a thread an output; in a loop over tiles
 * each thread loads an element of each tile, zero where its array ends, all
 * wait, add up, and wait. What such a tile holds at [a][b] is what its thread
 * loaded; so a term that reads tile[a][k] reads, in the end, the element of
 * the array that thread (a, k) had named. With that element's index written in
 * row, column and k there are no tiles any more, and the rest is a product like
 * any other. Indices have to be sums of products for this.
 */
#include "xform/product_int.h"

#include "xform/clang_api.h"
#include "xform/pieces.h"

#include "base/banned.h"

#define THREAD(d) WS__SYM(WS__AL_THREAD, d)
#define BLOCK(d) WS__SYM(WS__AL_BLOCK, d)
#define SIZE(d) WS__SYM(WS__AL_BLOCK_DIM, d)

struct tile {
    int32_t array;    /* the shared VAR */
    int32_t store;    /* the ASSIGN */
    int32_t load;     /* the INDEX of global memory, */
    int32_t value;    /* with conversions */
    int32_t cond;     /* when it is no zero */
    int down, across; /* thread directions of its two indices */
};

/* --- the loops ------------------------------------------------------------ */

bool ws__product_inner(struct ws__product_look *l)
{
    const struct ws__ast *t = l->t;
    struct ws__product *p = l->p;
    int barriers = 0;
    struct ws__ast_for f;

    l->inner = -1;
    if (!ws__ast_is(t, p->loop.body, WS__AST_BLOCK))
        return false;
    for (int32_t i = t->node[p->loop.body].first; i >= 0; i = t->node[i].next) {
        barriers += ws__ast_is_barrier(t, i);
        if (t->node[i].kind != WS__AST_FOR)
            continue;
        ws__ast_for(t, i, &f);
        if (l->inner >= 0 || barriers != 1 || !f.counts || f.inclusive)
            return false;
        l->inner = i;
    }
    if (l->inner < 0 || barriers != 2)
        return false;
    p->term = f.body;
    return true;
}

static bool is_const(const struct ws__ast *t, int32_t i, int64_t want)
{
    int64_t v;

    return i >= 0 && ws__ast_const(t, i, &v) && v == want;
}

/* The variable's value where there is one that stays. */
static int32_t value_of(const struct ws__product_look *l, int32_t i)
{
    i = ws__ast_bare(l->t, i);
    if (ws__ast_is(l->t, i, WS__AST_REF) && l->t->node[i].decl >= 0 &&
        l->t->node[l->t->node[i].decl].kind == WS__AST_VAR &&
        !ws__ast_changes(l->t, l->in->body, l->t->node[i].decl))
        return ws__ast_bare(l->t, ws__product_last(l->t, l->t->node[i].decl));
    return i;
}

static bool plus(const struct ws__affine *a, const struct ws__affine *b,
                 int64_t constant)
{
    /* a - b is the constant? Terms of both are unique. */
    size_t same = 0;
    int64_t left = constant;

    for (size_t i = 0; i < a->n; i++) {
        bool hit = false;

        for (size_t k = 0; k < b->n; k++)
            hit = hit || !memcmp(&a->term[i], &b->term[k], sizeof(a->term[i]));
        same += hit;
        if (!hit && a->term[i].n)
            return false;
        if (!hit)
            left -= a->term[i].times;
    }
    return same == b->n && !left;
}

/* Do tiles cover all of k: (to + size - 1) / size of them, or k0 < to in steps
 * of size? */
static bool covers(struct ws__product_look *l, int32_t to, int64_t size,
                   bool *counts_tiles)
{
    const struct ws__ast_for *f = &l->p->loop;
    struct ws__affine a, b;
    int32_t n = value_of(l, f->to);
    int64_t by = 1;

    if (!is_const(l->t, f->from, 0) || f->inclusive)
        return false;
    if (f->by >= 0 && !ws__ast_const(l->t, f->by, &by))
        return false;
    *counts_tiles = by == 1 && size != 1;
    if (!*counts_tiles)
        return by == size && ws__ast_same(l->t, f->to, to);
    return ws__ast_is(l->t, n, WS__AST_BINARY) &&
           l->t->node[n].op == CL_BinaryOperator_Div &&
           is_const(l->t, ws__ast_child(l->t, n, 1), size) &&
           ws__affine_of(l->t, ws__ast_child(l->t, n, 0), &a) &&
           ws__affine_of(l->t, to, &b) && plus(&a, &b, size - 1);
}

/* --- the tiles ------------------------------------------------------------ */

/* Is it threadIdx of one direction alone? */
static int thread_direction(const struct ws__product_look *l, int32_t i)
{
    struct ws__affine a;

    if (!ws__affine_of(l->t, i, &a) || a.n != 1 || a.term[0].times != 1 ||
        a.term[0].n != 1)
        return -1;
    for (int d = 0; d < 2; d++)
        if (a.term[0].sym[0] == THREAD(d))
            return d;
    return -1;
}

/* The shared array of s[a][b], and the indices; -1: it is none. */
static int32_t shared_of(const struct ws__product_look *l, int32_t i,
                         int32_t at[2])
{
    int32_t row = ws__ast_bare(l->t, ws__ast_child(l->t, i, 0)), array;

    if (!ws__ast_is(l->t, i, WS__AST_INDEX) ||
        !ws__ast_is(l->t, row, WS__AST_INDEX))
        return -1;
    array = ws__ast_bare(l->t, ws__ast_child(l->t, row, 0));
    if (!ws__ast_is(l->t, array, WS__AST_REF) || l->t->node[array].decl < 0)
        return -1;
    array = l->t->node[array].decl;
    at[0] = ws__ast_child(l->t, row, 1);
    at[1] = ws__ast_child(l->t, i, 1);
    return l->t->node[array].type.space == WS__AS_SHARED &&
                   l->t->node[array].type.ndim == 2
               ? array
               : -1;
}

static bool is_zero(const struct ws__ast *t, int32_t i)
{
    int64_t v;
    const char *s;

    while (ws__ast_is(t, i, WS__AST_PAREN) || ws__ast_is(t, i, WS__AST_CAST))
        i = ws__product_last(t, i);
    if (i < 0)
        return false;
    if (ws__ast_const(t, i, &v))
        return !v;
    s = t->text + t->node[i].begin;
    return t->node[i].kind == WS__AST_FLOAT && !t->node[i].macro &&
           strspn(s, "0.f") == t->node[i].end - t->node[i].begin;
}

/* The only statement of a branch. */
static int32_t only(const struct ws__ast *t, int32_t i)
{
    if (ws__ast_is(t, i, WS__AST_BLOCK) && ws__ast_nchild(t, i) == 1)
        return ws__ast_child(t, i, 0);
    return i;
}

static int32_t assigned(const struct ws__ast *t, int32_t i)
{
    return ws__ast_is(t, i, WS__AST_ASSIGN) &&
                   t->node[i].op == CL_BinaryOperator_Assign
               ? ws__ast_child(t, i, 0)
               : -1;
}

/* s[a][b] = cond ? load : 0;  or  if (cond) s[a][b] = load; else s[a][b] = 0;
 */
static bool read_store(struct ws__product_look *l, int32_t i, struct tile *out)
{
    const struct ws__ast *t = l->t;
    int32_t value, at[2];

    *out = (struct tile){.array = -1};
    if (t->node[i].kind == WS__AST_IF && ws__ast_nchild(t, i) == 3) {
        int32_t yes = only(t, ws__ast_child(t, i, 1));
        int32_t other = only(t, ws__ast_child(t, i, 2));

        if (assigned(t, yes) < 0 || assigned(t, other) < 0 ||
            !ws__ast_same(t, assigned(t, yes), assigned(t, other)) ||
            !is_zero(t, ws__ast_child(t, other, 1)))
            return false;
        out->cond = ws__ast_child(t, i, 0);
        out->store = yes;
        value = ws__ast_child(t, yes, 1);
    } else {
        value =
            assigned(t, i) < 0 ? -1 : ws__ast_bare(t, ws__ast_child(t, i, 1));
        if (!ws__ast_is(t, value, WS__AST_CHOICE) ||
            !is_zero(t, ws__ast_child(t, value, 2)))
            return false;
        out->cond = ws__ast_child(t, value, 0);
        out->store = i;
        value = ws__ast_child(t, value, 1);
    }
    out->array = shared_of(l, assigned(t, out->store), at);
    if (out->array < 0)
        return false;
    out->down = thread_direction(l, at[0]);
    out->across = thread_direction(l, at[1]);
    out->value = out->load = value;
    while (out->load >= 0 && t->node[out->load].kind != WS__AST_INDEX) {
        int32_t c = ws__product_last(t, out->load);

        if (c < 0 || !ws__product_converts(l, out->load, c))
            return false;
        out->load = c;
    }
    return out->down >= 0 && out->across >= 0 && out->down != out->across &&
           out->load >= 0 && ws__product_base(l, out->load) >= 0 &&
           t->node[l->t->node[out->load].first].kind == WS__AST_REF;
}

/* The one store to an array; all that stands in the loop is understood. */
static bool find_store(struct ws__product_look *l, int32_t array,
                       struct tile *out)
{
    bool found = false;
    struct tile one;

    for (int32_t i = l->t->node[l->p->loop.body].first; i >= 0;
         i = l->t->node[i].next) {
        if (i == l->inner || ws__ast_is_barrier(l->t, i) ||
            (l->t->node[i].kind == WS__AST_DECL && ws__ast_is_pure(l->t, i)))
            continue;
        if (i > l->inner || !read_store(l, i, &one))
            return ws__product_no(l, i,
                                  "the loop over tiles does something "
                                  "else");
        if (one.array != array)
            continue;
        if (found)
            return ws__product_no(l, i, "a tile is written twice");
        *out = one;
        found = true;
    }
    return found || ws__product_no(l, array, "a tile is never written");
}

/* --- what a tile's element is --------------------------------------------- */

struct element {
    struct ws__affine place, k, rest; /* factors of place and k, and what is
                                         left */
};

static bool is_sym(const struct ws__affine_term *x, int32_t sym)
{
    for (int s = 0; s < x->n; s++)
        if (x->sym[s] == sym)
            return true;
    return false;
}

/* a == b * times? */
static bool is_times(const struct ws__affine *a, const struct ws__affine *b,
                     int64_t times)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        bool hit = false;

        for (size_t k = 0; k < b->n; k++)
            hit = hit || (a->term[i].times == b->term[k].times * times &&
                          a->term[i].n == b->term[k].n &&
                          !memcmp(a->term[i].sym, b->term[k].sym,
                                  sizeof(a->term[i].sym)));
        if (!hit)
            return false;
    }
    return true;
}

/* The parts of a sum over threads: `dk` walks along k, `dp` along the place
 * whose blocks are of direction `side`. */
static bool take_apart(struct ws__product_look *l, const struct ws__affine *a,
                       int dk, int side, bool counts_tiles, struct element *out)
{
    int64_t size = l->block[0];
    struct ws__affine outer, block, times;

    if (!ws__affine_part(a, THREAD(dk), &out->k) ||
        !ws__affine_part(a, THREAD(!dk), &out->place) ||
        !ws__affine_part(a, l->p->loop.var, &outer) ||
        !ws__affine_part(a, BLOCK(side), &block))
        return false;
    if (ws__affine_part(&block, SIZE(side), &times) && times.n)
        block = times;
    else if (!is_times(&block, &out->place, size))
        return false;
    if ((block.n != out->place.n) ||
        (times.n && !is_times(&block, &out->place, 1)) ||
        !is_times(&outer, &out->k, counts_tiles ? size : 1))
        return false;
    out->rest.n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct ws__affine_term *x = &a->term[i];

        if (is_sym(x, THREAD(0)) || is_sym(x, THREAD(1)) ||
            is_sym(x, l->p->loop.var) || is_sym(x, BLOCK(side)))
            continue;
        for (int s = 0; s < x->n; s++)
            if (x->sym[s] < 0 && x->sym[s] != BLOCK(2))
                return false;
        out->rest.term[out->rest.n++] = *x;
    }
    return true;
}

static bool put_symbol(struct ws__product_look *l, struct ws__buf *b,
                       int32_t sym)
{
    bool cuda = l->t->dialect == WS__DIALECT_CUDA;

    if (sym == BLOCK(2)) {
        ws__buf_puts(b, cuda ? "blockIdx.z" : "get_group_id(2)");
        return true;
    }
    if (sym < 0 || sym > l->p->loop.loop ||
        ws__ast_changes(l->t, l->in->body, sym) ||
        ws__product_depends(l->in, l->p, sym))
        return false;
    ws__buf_puts(b, l->t->node[sym].name);
    return true;
}

/* name * factor, for each term of the factor. */
static bool put_sum(struct ws__product_look *l, struct ws__buf *b,
                    const struct ws__affine *a, const char *name, bool wide)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct ws__affine_term *x = &a->term[i];
        int64_t times = x->times;

        if (b->len)
            ws__buf_puts(b, times < 0 ? " - " : " + ");
        else if (times < 0)
            return false;
        times = times < 0 ? -times : times;
        if (wide && (name || x->n))
            ws__buf_puts(b, "(size_t)");
        if (name)
            ws__buf_puts(b, name);
        for (int s = 0; s < x->n; s++) {
            if (name || s)
                ws__buf_puts(b, " * ");
            if (!put_symbol(l, b, x->sym[s]))
                return false;
        }
        if (times != 1 || (!name && !x->n))
            ws__buf_printf(b, "%s%lld", name || x->n ? " * " : "",
                           (long long)times);
    }
    return true;
}

/* Numbers that are an axis or a parameter in truth: they would be frozen. */
static bool has_axis(const struct ws__product_look *l, int32_t root,
                     const char *size)
{
    int32_t end = ws__ast_after(l->t, root);

    for (int32_t i = root; i < end; i++) {
        const struct ws__ast_node *n = &l->t->node[i];
        const char *s;

        if (n->kind == WS__AST_REF && n->decl >= 0 &&
            l->t->node[n->decl].kind == WS__AST_VAR &&
            ws__product_last(l->t, n->decl) >= 0 && n->decl < i &&
            has_axis(l, ws__product_last(l->t, n->decl), size))
            return true;
        if (n->kind != WS__AST_INT || !n->macro)
            continue;
        s = ws__xform_text(l->in, i);
        if (s && strcmp(s, size) &&
            ws__scope_find(&l->in->kernel->scope, s) >= 0)
            return true;
    }
    return false;
}

/* --- bounds of a tile's load ---------------------------------------------- */

/* Each part of the condition bounds the place, or k. */
static bool read_bounds(struct ws__product_look *l, const struct tile *x,
                        int32_t cond, int dk, int side, bool seen[2])
{
    int32_t c = ws__ast_bare(l->t, cond);
    int op = ws__ast_is(l->t, c, WS__AST_BINARY) ? l->t->node[c].op : 0;
    int32_t a = ws__ast_child(l->t, c, 0), b = ws__ast_child(l->t, c, 1);
    struct ws__product *p = l->p;
    int s = p->side[0].dim == side ? 0 : 1;
    bool tiles = p->loop.by < 0;
    struct ws__affine at;
    struct element e;

    if (op == CL_BinaryOperator_LAnd)
        return read_bounds(l, x, a, dk, side, seen) &&
               read_bounds(l, x, b, dk, side, seen);
    if (op != CL_BinaryOperator_LT || !ws__affine_of(l->t, a, &at) ||
        ws__product_overlap(&l->t->node[a], &l->t->node[b]) ||
        ws__product_depends(l->in, p, b))
        return false;
    if (!take_apart(l, &at, dk, side, tiles, &e) || e.rest.n)
        return false;
    if (ws__affine_is(&e.place, 1) && ws__affine_is(&e.k, 0)) {
        seen[0] = true;
        return ws__ast_same(l->t, b, p->side[s].bound);
    }
    if (!ws__affine_is(&e.place, 0) || !ws__affine_is(&e.k, 1) ||
        (l->k_to >= 0 && !ws__ast_same(l->t, b, l->k_to)))
        return false;
    l->k_to = b;
    seen[1] = true;
    return true;
}

/* --- all of it ------------------------------------------------------------ */

static const char *element_text(struct ws__product_look *l,
                                const struct tile *x, const struct element *e,
                                int side)
{
    const char *k = l->t->node[l->k_var].name, *s = NULL;
    struct ws__buf b;
    struct ws__piece piece = {l->t->node[ws__ast_child(l->t, x->load, 1)].begin,
                              l->t->node[ws__ast_child(l->t, x->load, 1)].end,
                              NULL};
    bool wide = l->t->node[ws__ast_child(l->t, x->load, 1)].type.bits > 32, ok;

    ws__buf_init(&b, l->in->ctx, 4096);
    ok = put_sum(l, &b, &e->place, l->t->node[l->p->side[side].var].name,
                 wide) &&
         put_sum(l, &b, &e->k, k, wide) &&
         put_sum(l, &b, &e->rest, NULL, wide) && !b.failed && b.len;
    if (ok)
        piece.text = ws__arena_strdup(l->in->arena, b.data);
    if (piece.text)
        s = ws__pieces_text(l->in, l->t->node[x->value].begin,
                            l->t->node[x->value].end, &piece, 1);
    if (b.failed || (ok && !s))
        l->rc = WS_ENOMEM;
    ws__buf_free(&b);
    return s;
}

static bool add_load(struct ws__product_look *l, int32_t node, int32_t array,
                     const int32_t at[2])
{
    struct ws__product *p = l->p;
    struct ws__product_load *x = &p->load[p->nload];
    bool first = ws__ast_refers(l->t, at[0], l->k_var), seen[2] = {0};
    int side = thread_direction(l, at[first]), dk;
    const char *size = ws__xform_block(l->in, 0);
    struct ws__affine index;
    struct element e;
    struct tile tile = {.array = -1};

    if (side < 0 || !(first || ws__ast_refers(l->t, at[1], l->k_var)))
        return ws__product_no(l, node,
                              "a tile is read otherwise than by a "
                              "place and the number of the term");
    if (p->nload == WS__PRODUCT_LOADS)
        return ws__product_no(l, node, "more loads than there are tiles for");
    if (!find_store(l, array, &tile))
        return false;
    if (ws__product_written(l, ws__product_base(l, tile.load)) ||
        ws__product_depends(l->in, p, ws__ast_child(l->t, tile.load, 0)))
        return ws__product_no(l, tile.load,
                              "an array that is read is written, too, or "
                              "begins where its thread says");
    dk = first ? tile.down : tile.across;
    if (!read_bounds(l, &tile, tile.cond, dk, side, seen) || !seen[0] ||
        !seen[1])
        return ws__product_no(l, tile.store,
                              "what a tile holds is not bounded "
                              "by its place and by k");
    if (has_axis(l, tile.load, size) ||
        !ws__affine_of(l->t, ws__ast_child(l->t, tile.load, 1), &index) ||
        !take_apart(l, &index, dk, side, p->loop.by < 0, &e))
        return ws__product_no(l, tile.load,
                              "what a tile holds is no sum of "
                              "place and k");
    *x = (struct ws__product_load){.node = node, .outer = node, .same = -1};
    x->side = p->side[0].dim == side ? 0 : 1;
    x->name = l->t->node[ws__product_base(l, tile.load)].name;
    x->k_fast = ws__affine_is(&e.k, 1);
    x->type = x->value_type = ws__product_type(l, array);
    x->bytes = l->t->node[array].type.bits / 8;
    x->text = element_text(l, &tile, &e, x->side);
    p->nload++;
    return (x->type && x->text && x->bytes) ||
           ws__product_no(l, tile.load,
                          "what a tile holds is no sum of place "
                          "and k");
}

bool ws__product_tiled(struct ws__product_look *l)
{
    struct ws__product *p = l->p;
    struct ws__ast_for f;
    bool tiles, seen[2] = {false, false};
    int32_t end = ws__ast_after(l->t, p->term), at[2];

    ws__ast_for(l->t, l->inner, &f);
    l->k_var = f.var;
    l->k_to = -1;
    if (l->block[0] != l->block[1] || l->block[0] < 2 || p->side[0].dim > 1 ||
        p->side[1].dim > 1)
        return ws__product_no(l, l->inner, "a block is no square");
    if (!is_const(l->t, f.from, 0) || !is_const(l->t, f.to, l->block[0]) ||
        (f.by >= 0 && !is_const(l->t, f.by, 1)))
        return ws__product_no(l, l->inner, "a tile is not as deep as wide");
    for (int32_t i = p->term; i < end; i++) {
        int32_t array = shared_of(l, i, at);

        if (l->t->node[i].kind != WS__AST_INDEX ||
            ws__ast_is(l->t, l->t->node[i].parent, WS__AST_INDEX))
            continue;
        if (array < 0)
            return ws__product_no(l, i, "a term reads more than tiles");
        if (!add_load(l, i, array, at))
            return false;
        seen[p->load[p->nload - 1].side] = true;
    }
    if (!seen[0] || !seen[1] || !covers(l, l->k_to, l->block[0], &tiles) ||
        tiles != (p->loop.by < 0))
        return ws__product_no(l, p->loop.loop, "tiles do not cover all terms");
    p->k = l->t->node[f.var].name;
    p->k_type = ws__product_type(l, f.var);
    p->k_from = "0";
    p->loop.to = l->k_to;
    p->loop.var = f.var;
    return p->k_type || ws__product_no(l, l->inner, "k is no plain number");
}
