/* product_terms.c: what a turn of a product loads and adds. See product.h. */
#include "xform/product_int.h"

#include <stdlib.h>

#include "xform/clang_api.h"

#include "base/banned.h"

#define MAX_DEPTH 16

bool ws__product_no(struct ws__product_look *l, int32_t at, const char *why)
{
    if (!l->p->why) {
        l->p->why = why;
        l->p->at = at;
    }
    return false;
}

bool ws__product_overlap(const struct ws__ast_node *a,
                         const struct ws__ast_node *b)
{
    return a->begin < b->end && b->begin < a->end;
}

/* --- what depends on what ------------------------------------------------- */

static unsigned depends(const struct ws__xform_in *in,
                        const struct ws__product *p, int32_t node, int depth);

static unsigned of_variable(const struct ws__xform_in *in,
                            const struct ws__product *p, int32_t decl,
                            int depth)
{
    const struct ws__ast *t = in->ast;
    unsigned of = 0;

    for (int s = 0; s < 2; s++)
        if (p->side[s].var == decl)
            return 1u << s;
    if (decl == p->loop.var)
        return WS__PRODUCT_K;
    for (size_t i = 0; i < p->nsum; i++)
        if (p->sum[i].var == decl)
            return WS__PRODUCT_SUM;
    if (t->node[decl].kind != WS__AST_VAR)
        return 0;
    if (t->node[decl].type.space == WS__AS_SHARED)
        return WS__PRODUCT_THREAD; /* it goes */
    if (p->term >= 0 && ws__ast_below(t, decl, p->loop.loop))
        return WS__PRODUCT_TERM;
    if (depth > MAX_DEPTH)
        return WS__PRODUCT_ELSE;
    for (int32_t c = t->node[decl].first; c >= 0; c = t->node[c].next)
        of |= depends(in, p, c, depth + 1);
    if (decl < p->loop.loop && ws__ast_changes(t, in->body, decl) &&
        (of || t->node[decl].first < 0))
        of |= WS__PRODUCT_ELSE;
    return of;
}

static unsigned of_launch(const struct ws__product *p, enum ws__ast_launch v,
                          int dim)
{
    if (v == WS__AL_NONE || (dim != p->side[0].dim && dim != p->side[1].dim))
        return 0;
    return WS__PRODUCT_THREAD;
}

static unsigned depends(const struct ws__xform_in *in,
                        const struct ws__product *p, int32_t node, int depth)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, node);
    unsigned of = 0;

    for (int32_t i = node; i < end; i++) {
        int dim = 0;
        enum ws__ast_launch v = ws__ast_launch_value(t, i, &dim);

        of |= of_launch(p, v, dim);
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl >= 0)
            of |= of_variable(in, p, t->node[i].decl, depth);
    }
    return of;
}

unsigned ws__product_depends(const struct ws__xform_in *in,
                             const struct ws__product *p, int32_t node)
{
    return depends(in, p, node, 0);
}

/* --- places --------------------------------------------------------------- */

/* Threads a block in that direction: a number, or a parameter's default. */
int64_t ws__product_block(const struct ws__xform_in *in, int dim)
{
    const char *text = ws__xform_block(in, dim);
    char *end;
    long n = strtol(text, &end, 10);

    if (*text && !*end)
        return n;
    for (size_t i = 0; i < in->kernel->nparam; i++) {
        const struct ws__param *q = &in->kernel->param[i];

        if (!strcmp(q->name, text) && q->value[q->dflt].type == WS__INT)
            return q->value[q->dflt].u.i;
    }
    return -1;
}

int32_t ws__product_last(const struct ws__ast *t, int32_t i)
{
    int32_t c = ws__ast_child(t, i, 0);

    while (c >= 0 && t->node[c].next >= 0)
        c = t->node[c].next;
    return c;
}

/* block * size + thread, in that direction? */
static bool is_place(const struct ws__product_look *l, int32_t var, int dim)
{
    struct ws__affine a, thread, block, size;

    if (!ws__affine_of(l->t, ws__product_last(l->t, var), &a) || a.n != 2 ||
        !ws__affine_part(&a, WS__SYM(WS__AL_THREAD, dim), &thread) ||
        !ws__affine_is(&thread, 1) ||
        !ws__affine_part(&a, WS__SYM(WS__AL_BLOCK, dim), &block))
        return false;
    if (block.n == 1 && !block.term[0].n)
        return block.term[0].times == l->block[dim];
    return block.n == 1 && block.term[0].n == 1 &&
           ws__affine_part(&block, WS__SYM(WS__AL_BLOCK_DIM, dim), &size) &&
           ws__affine_is(&size, 1);
}

bool ws__product_places(struct ws__product_look *l)
{
    int32_t end = ws__ast_after(l->t, l->in->body), found[3] = {-1, -1, -1};
    int n = 0;

    for (int32_t i = l->in->body; i < end; i++) {
        if (l->t->node[i].kind != WS__AST_VAR ||
            l->t->node[i].type.class != WS__AT_INT || l->t->node[i].first < 0 ||
            ws__ast_changes(l->t, l->in->body, i))
            continue;
        for (int d = 0; d < 3; d++)
            if (found[d] < 0 && is_place(l, i, d)) {
                found[d] = i;
                if (n < 2 && l->block[d] != 1) {
                    l->p->side[n].dim = d;
                    l->p->side[n++].var = i;
                }
            }
    }
    return n == 2;
}

/* The side whose stores step by one is the second. */
void ws__product_order(struct ws__product_look *l)
{
    struct ws__access a[32];
    size_t n = ws__xform_accesses(l->in, l->in->body, WS__AS_GLOBAL, a, 32);
    struct ws__affine part;
    int fast = -1;

    for (size_t i = 0; i < n && i < 32; i++)
        for (int s = 0; s < 2; s++)
            if (a[i].write && a[i].affine &&
                ws__affine_part(&a[i].at,
                                WS__SYM(WS__AL_THREAD, l->p->side[s].dim),
                                &part) &&
                ws__affine_is(&part, 1))
                fast = s;
    if (fast < 0)
        fast = l->p->side[0].dim == 0 ? 0 : 1;
    if (!fast) {
        struct ws__product_side swap = l->p->side[0];

        l->p->side[0] = l->p->side[1];
        l->p->side[1] = swap;
    }
}

/* --- types as they are written -------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c >= '0' && c <= '9');
}

static bool is_qualifier(const char *w, size_t n)
{
    static const char *const q[] = {"const",      "__restrict__", "restrict",
                                    "__restrict", "__global",     "global",
                                    "static",     "register",     "__shared__",
                                    "__local",    "local"};

    for (size_t i = 0; i < WS_COUNT(q); i++)
        if (strlen(q[i]) == n && !strncmp(q[i], w, n))
            return true;
    return false;
}

/* The declaration that begins the line: the others have no type of theirs. */
static int32_t first_declared(const struct ws__ast *t, int32_t decl)
{
    int32_t up = t->node[decl].parent, c;

    if (!ws__ast_is(t, up, WS__AST_DECL))
        return decl;
    for (c = t->node[up].first; c < decl; c = t->node[c].next)
        if (t->node[c].kind == WS__AST_VAR)
            break;
    return c;
}

/* The words before the name or the star of a declaration, without qualifiers:
 * macros stay macros. NULL: something else is there. */
const char *ws__product_type(struct ws__product_look *l, int32_t decl)
{
    const struct ws__ast_node *n = &l->t->node[first_declared(l->t, decl)];
    const char *p = l->t->text + n->begin, *e = l->t->text + n->end;
    const char *copy;
    char out[96] = "";
    size_t len = 0;

    while (p < e) {
        const char *w = p;

        while (p < e && is_letter(*p))
            p++;
        if (p == w) {
            if (*p == '*')
                break;
            if (*p++ != ' ' && p[-1] != '\n' && p[-1] != '\t')
                return NULL;
            continue;
        }
        if (n->name && strlen(n->name) == (size_t)(p - w) &&
            !strncmp(n->name, w, (size_t)(p - w)))
            break;
        if (is_qualifier(w, (size_t)(p - w)))
            continue;
        if (len + (size_t)(p - w) + 2 > sizeof(out))
            return NULL;
        len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%.*s",
                                len ? " " : "", (int)(p - w), w);
    }
    if (!len || !strcmp(out, "auto") || strstr(out, "volatile"))
        return NULL;
    copy = ws__arena_strdup(l->in->arena, out);
    if (!copy)
        l->rc = WS_ENOMEM;
    return copy;
}

/* --- loads ---------------------------------------------------------------- */

/* What is indexed: a pointer parameter, or a variable that points into one. */
int32_t ws__product_base(const struct ws__product_look *l, int32_t index)
{
    int32_t b = ws__ast_bare(l->t, ws__ast_child(l->t, index, 0));
    const struct ws__ast_node *d;

    if (!ws__ast_is(l->t, b, WS__AST_REF) || l->t->node[b].decl < 0)
        return -1;
    d = &l->t->node[l->t->node[b].decl];
    if (d->type.pointers != 1 || d->type.ndim || d->type.space == WS__AS_SHARED)
        return -1;
    return l->t->node[b].decl;
}

/* A copy that nobody wrote: a constructor around an argument. */
static bool is_copy(const struct ws__ast *t, int32_t i)
{
    int32_t c = ws__product_last(t, i);

    return ws__ast_is(t, i, WS__AST_CALL) && c >= 0 &&
           t->node[c].begin == t->node[i].begin &&
           t->node[c].end == t->node[i].end;
}

bool ws__product_converts(const struct ws__product_look *l, int32_t i,
                          int32_t of)
{
    static const char *const pure[] = {"__half2float", "__bfloat162float",
                                       "convert_float", "__ldg"};
    const struct ws__ast_node *n = &l->t->node[i];

    if (n->macro || n->type.width != 1 || n->type.pointers ||
        (n->type.class != WS__AT_FLOAT && n->type.class != WS__AT_INT))
        return false;
    if (n->kind == WS__AST_PAREN || is_copy(l->t, i))
        return true;
    if (n->kind == WS__AST_CAST)
        return ws__ast_child(l->t, i, 0) == of && l->t->node[of].next < 0;
    if (n->kind != WS__AST_CALL || !n->name || ws__ast_nchild(l->t, i) != 2 ||
        ws__ast_child(l->t, i, 1) != of)
        return false;
    for (size_t k = 0; k < WS_COUNT(pure); k++)
        if (!strcmp(pure[k], n->name))
            return true;
    return false;
}

static const char *plain_type(struct ws__product_look *l, int32_t i)
{
    const char *s = l->t->node[i].spelled;

    if (s && !strncmp(s, "const ", 6))
        s += 6;
    return s ? ws__arena_strdup(l->in->arena, s) : NULL;
}

static int32_t same_load(const struct ws__product_look *l, int32_t node)
{
    for (size_t i = 0; i < l->p->nload; i++)
        if (ws__ast_same(l->t, l->p->load[i].node, node))
            return (int32_t)i;
    return -1;
}

static bool add_load(struct ws__product_look *l, int32_t node, int32_t base,
                     unsigned of)
{
    struct ws__product_load *x = &l->p->load[l->p->nload];
    const struct ws__ast_node *n = &l->t->node[node];
    struct ws__affine at, part;
    int32_t up = n->parent, same = same_load(l, node);

    if (l->p->nload == WS__PRODUCT_LOADS)
        return ws__product_no(l, node, "more loads than there are tiles for");
    *x = (struct ws__product_load){.node = node, .outer = node, .same = same};
    x->side = of & 2 ? 1 : 0;
    x->name = l->t->node[base].name;
    x->type = ws__product_type(l, base);
    x->value_type = x->type;
    x->bytes = n->type.bits / 8;
    if (l->t->text[n->end - 1] != ']')
        return ws__product_no(l, node, "a macro hides a load");
    if (!x->type || !x->bytes || n->type.width != 1)
        return ws__product_no(l, node,
                              "what is loaded is no number of a plain type");
    x->text = ws__xform_text(l->in, node);
    while (ws__product_converts(l, up, x->outer)) {
        x->outer = up;
        if (l->t->node[up].kind != WS__AST_PAREN && !is_copy(l->t, up))
            x->value_type = plain_type(l, up);
        up = l->t->node[up].parent;
    }
    if (!x->text || !x->value_type) {
        l->rc = WS_ENOMEM;
        return false;
    }
    x->k_fast = ws__affine_of(l->t, ws__ast_child(l->t, node, 1), &at) &&
                ws__affine_part(&at, l->p->loop.var, &part) &&
                ws__affine_is(&part, 1);
    l->p->nload++;
    return true;
}

static bool is_sum(const struct ws__product_look *l, int32_t node)
{
    for (size_t i = 0; i < l->p->nsum; i++)
        if (l->p->sum[i].var >= 0 ? ws__ast_refers(l->t, node, l->p->sum[i].var)
                                  : ws__ast_same(l->t, node, l->p->sum[i].node))
            return true;
    return false;
}

static bool below_load(const struct ws__product_look *l, int32_t i)
{
    for (size_t k = 0; k < l->p->nload; k++)
        if (i > l->p->load[k].node &&
            ws__ast_below(l->t, i, l->p->load[k].node))
            return true;
    return false;
}

/* An assignment; of records it is a call. */
bool ws__product_assigns(const struct ws__ast *t, int32_t i)
{
    const char *n = t->node[i].name;
    size_t len = n ? strlen(n) : 0;

    if (t->node[i].kind == WS__AST_ASSIGN)
        return true;
    return t->node[i].kind == WS__AST_CALL && len > 8 &&
           !strncmp(n, "operator", 8) && n[len - 1] == '=' &&
           (len == 9 || !strchr("=<>!", n[len - 2]));
}

bool ws__product_written(const struct ws__product_look *l, int32_t base)
{
    struct ws__access a[64];
    size_t n = ws__xform_accesses(l->in, l->in->body, WS__AS_GLOBAL, a, 64);

    if (n > 64)
        return true;
    for (size_t i = 0; i < n; i++)
        if (a[i].decl == base &&
            (a[i].write ||
             (ws__product_assigns(l->t, l->t->node[a[i].node].parent) &&
              ws__ast_child(l->t, l->t->node[a[i].node].parent, 0) ==
                  a[i].node)))
            return true;
    return false;
}

static bool look_at_load(struct ws__product_look *l, int32_t i)
{
    int32_t base = ws__product_base(l, i);
    unsigned of = ws__product_depends(l->in, l->p, i);

    if (base < 0)
        return ws__product_no(l, i, "a turn reads an array of its own");
    if (ws__product_written(l, base))
        return ws__product_no(l, i, "an array that is read is written, too");
    if (!(of & WS__PRODUCT_K))
        return ws__product_no(l, i,
                              "a turn reads what does not depend on the loop");
    if (of != (WS__PRODUCT_K | 1) && of != (WS__PRODUCT_K | 2))
        return ws__product_no(
            l, i,
            of == WS__PRODUCT_K
                ? "a load depends on neither rows nor columns"
                : "a load depends on more than k and one of row and "
                  "column");
    return add_load(l, i, base, of);
}

bool ws__product_loads(struct ws__product_look *l)
{
    int32_t end = ws__ast_after(l->t, l->p->term);
    bool seen[2] = {false, false};

    for (int32_t i = l->p->term; i < end; i++)
        if (l->t->node[i].kind == WS__AST_INDEX && !below_load(l, i) &&
            !is_sum(l, i) && !look_at_load(l, i))
            return false;
    for (size_t i = 0; i < l->p->nload; i++)
        seen[l->p->load[i].side] = true;
    return (seen[0] && seen[1]) ||
           ws__product_no(l, l->p->loop.loop,
                          "a tile would serve nobody else: not both "
                          "rows and columns are loaded");
}

/* --- what is summed ------------------------------------------------------- */

static bool add_sum(struct ws__product_look *l, int32_t to)
{
    struct ws__product_sum *s = &l->p->sum[l->p->nsum];
    const struct ws__ast_node *n;
    int32_t init;

    if (is_sum(l, to))
        return true;
    if (l->p->nsum == WS__PRODUCT_SUMS)
        return ws__product_no(l, to, "too many sums");
    *s = (struct ws__product_sum){.var = -1, .node = -1, .first = -1};
    if (ws__ast_is(l->t, to, WS__AST_INDEX) && ws__product_base(l, to) >= 0) {
        s->node = to;
        s->type = ws__product_type(l, ws__product_base(l, to));
        l->p->nsum++;
        return s->type || ws__product_no(l, to, "the sum is no plain number");
    }
    if (!ws__ast_is(l->t, to, WS__AST_REF) || l->t->node[to].decl < 0)
        return ws__product_no(l, to, "a turn changes something that is no sum");
    n = &l->t->node[l->t->node[to].decl];
    if (n->kind != WS__AST_VAR || n->type.ndim || n->type.pointers ||
        n->type.width != 1 || n->is_static)
        return ws__product_no(l, to, "a turn changes something that is no sum");
    s->var = l->t->node[to].decl;
    init = ws__product_last(l->t, s->var);
    s->type = ws__product_type(l, s->var);
    s->first = init;
    if (init >= 0 && !(s->init = ws__xform_text(l->in, init)))
        l->rc = WS_ENOMEM;
    l->p->nsum++;
    return s->type || ws__product_no(l, to, "the sum is no plain number");
}

bool ws__product_sums(struct ws__product_look *l)
{
    int32_t end = ws__ast_after(l->t, l->p->term);

    for (int32_t i = l->p->term; i < end; i++) {
        const struct ws__ast_node *n = &l->t->node[i];
        int32_t to = ws__ast_bare(l->t, ws__ast_child(l->t, i, 0));
        bool step = n->kind == WS__AST_UNARY && n->op >= 1 && n->op <= 5;

        if (n->kind == WS__AST_FOR || n->kind == WS__AST_WHILE ||
            n->kind == WS__AST_DO || n->kind == WS__AST_IF ||
            n->kind == WS__AST_BREAK || n->kind == WS__AST_CONTINUE ||
            n->kind == WS__AST_JUMP || n->kind == WS__AST_RETURN || step)
            return ws__product_no(l, i, "a turn does more than add a term");
        if (n->kind == WS__AST_ASSIGN && !add_sum(l, to))
            return false;
    }
    return l->p->nsum > 0;
}

/* --- a term of zeros adds nothing ----------------------------------------- */

static bool is_zero(const struct ws__product_look *l, int32_t i, int depth);

static bool zero_call(const struct ws__product_look *l, int32_t i, int depth)
{
    static const char *const keep[] = {"fabsf",         "fabs",
                                       "__half2float",  "__bfloat162float",
                                       "convert_float", "__ldg",
                                       "sqrtf"};
    const char *name = l->t->node[i].name;
    int32_t a = ws__ast_child(l->t, i, 1), b = ws__ast_child(l->t, i, 2);

    if (!name)
        return false;
    if (!strcmp(name, "fmaf") || !strcmp(name, "fma") || !strcmp(name, "mad"))
        return (is_zero(l, a, depth) || is_zero(l, b, depth)) &&
               is_zero(l, ws__ast_child(l->t, i, 3), depth);
    for (size_t k = 0; k < WS_COUNT(keep); k++)
        if (!strcmp(keep[k], name))
            return is_zero(l, a, depth);
    return false;
}

static bool is_zero(const struct ws__product_look *l, int32_t i, int depth)
{
    const struct ws__ast_node *n;
    int32_t a, b;

    while (ws__ast_is(l->t, i, WS__AST_PAREN) ||
           ws__ast_is(l->t, i, WS__AST_CAST) || is_copy(l->t, i))
        i = ws__product_last(l->t, i);
    if (i < 0 || depth > MAX_DEPTH)
        return false;
    n = &l->t->node[i];
    a = ws__ast_child(l->t, i, 0);
    b = ws__ast_child(l->t, i, 1);
    for (size_t k = 0; k < l->p->nload; k++)
        if (l->p->load[k].node == i)
            return true;
    if (n->kind == WS__AST_REF && n->decl >= 0 &&
        ws__ast_below(l->t, n->decl, l->p->term))
        return is_zero(l, ws__product_last(l->t, n->decl), depth + 1);
    if (n->kind == WS__AST_CALL)
        return zero_call(l, i, depth + 1);
    if (n->kind == WS__AST_UNARY)
        return n->op == CL_UnaryOperator_Minus && is_zero(l, a, depth + 1);
    if (n->kind != WS__AST_BINARY)
        return false;
    if (n->op == CL_BinaryOperator_Mul)
        return is_zero(l, a, depth + 1) || is_zero(l, b, depth + 1);
    if (n->op == CL_BinaryOperator_Div)
        return is_zero(l, a, depth + 1) && !ws__product_depends(l->in, l->p, b);
    return (n->op == CL_BinaryOperator_Add || n->op == CL_BinaryOperator_Sub) &&
           is_zero(l, a, depth + 1) && is_zero(l, b, depth + 1);
}

/* sum = sum + term, sum = fma(a, b, sum). */
static bool adds_to(const struct ws__product_look *l, int32_t to, int32_t value)
{
    int32_t v = ws__ast_bare(l->t, value);
    const char *f = v < 0 ? NULL : l->t->node[v].name;
    int32_t a = ws__ast_child(l->t, v, 0), b = ws__ast_child(l->t, v, 1);

    if (ws__ast_is(l->t, v, WS__AST_BINARY) &&
        l->t->node[v].op == CL_BinaryOperator_Add)
        return (ws__ast_same(l->t, a, to) && is_zero(l, b, 0)) ||
               (ws__ast_same(l->t, b, to) && is_zero(l, a, 0));
    return ws__ast_is(l->t, v, WS__AST_CALL) && f &&
           (!strcmp(f, "fmaf") || !strcmp(f, "fma") || !strcmp(f, "mad")) &&
           ws__ast_same(l->t, ws__ast_child(l->t, v, 3), to) &&
           (is_zero(l, b, 0) || is_zero(l, ws__ast_child(l->t, v, 2), 0));
}

static bool below_sum(const struct ws__product_look *l, int32_t i)
{
    for (; i > l->p->term; i = l->t->node[i].parent)
        if (is_sum(l, i))
            return true;
    return false;
}

bool ws__product_terms(struct ws__product_look *l)
{
    int32_t end = ws__ast_after(l->t, l->p->term);

    for (int32_t i = l->p->term; i < end; i++) {
        const struct ws__ast_node *n = &l->t->node[i];
        int32_t to = ws__ast_child(l->t, i, 0);
        int32_t value = ws__ast_child(l->t, i, 1);

        if (n->kind == WS__AST_CALL && !ws__ast_is_pure(l->t, i))
            return ws__product_no(
                l, i, "a turn calls a function that may do anything");
        if (n->kind == WS__AST_REF && n->decl >= 0 && !below_load(l, i) &&
            !below_sum(l, i) &&
            (ws__product_depends(l->in, l->p, i) &
             ~(WS__PRODUCT_TERM | WS__PRODUCT_SUM)))
            return ws__product_no(l, i,
                                  "a term depends on its place or its number "
                                  "otherwise than by what it loads");
        if (n->kind != WS__AST_ASSIGN)
            continue;
        if (n->op == CL_BinaryOperator_Assign
                ? !adds_to(l, to, value)
                : (n->op != CL_BinaryOperator_AddAssign &&
                   n->op != CL_BinaryOperator_SubAssign) ||
                      !is_zero(l, value, 0))
            return ws__product_no(
                l, i,
                "a term of zeros would change the sum: what is "
                "behind the last k cannot be filled with zeros");
    }
    return true;
}

/* What is replaced in a term must stand in the text side by side. */
bool ws__product_text(struct ws__product_look *l)
{
    int32_t end = ws__ast_after(l->t, l->p->term), at[64];
    int n = 0;

    for (int32_t i = l->p->term; i < end; i++) {
        const struct ws__ast_node *x = &l->t->node[i];
        bool hit = !below_load(l, i) && is_sum(l, i) &&
                   (x->kind == WS__AST_REF || x->kind == WS__AST_INDEX);

        for (size_t k = 0; k < l->p->nload; k++)
            hit = hit || l->p->load[k].node == i;
        if (!hit)
            continue;
        if (n == 64)
            return ws__product_no(l, i, "the term is too long");
        if (x->kind == WS__AST_REF &&
            strncmp(l->t->text + x->begin, x->name, x->end - x->begin))
            return ws__product_no(l, i, "a macro hides what is added");
        for (int k = 0; k < n; k++)
            if (ws__product_overlap(x, &l->t->node[at[k]]))
                return ws__product_no(l, i,
                                      "a macro hides what is loaded and added");
        at[n++] = i;
    }
    return true;
}
