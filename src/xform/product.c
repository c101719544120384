/* product.c: finds products. See product.h. */
#include "xform/product.h"

#include <stdlib.h>

#include "xform/clang_api.h"

#include "base/banned.h"

#define MAX_DEPTH 16

struct look {
    const struct ws__xform_in *in;
    const struct ws__ast *t;
    struct ws__product *p;
    int rc;
    int64_t block[3]; /* threads; -1: no number */
    int32_t guard;    /* whose condition is looked at */
};

static bool no(struct look *l, int32_t at, const char *why)
{
    if (!l->p->why) {
        l->p->why = why;
        l->p->at = at;
    }
    return false;
}

static bool overlap(const struct ws__ast_node *a, const struct ws__ast_node *b)
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
static int64_t block_size(const struct ws__xform_in *in, int dim)
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

static int32_t last_child(const struct ws__ast *t, int32_t i)
{
    int32_t c = ws__ast_child(t, i, 0);

    while (c >= 0 && t->node[c].next >= 0)
        c = t->node[c].next;
    return c;
}

/* block * size + thread, in that direction? */
static bool is_place(const struct look *l, int32_t var, int dim)
{
    struct ws__affine a, thread, block, size;

    if (!ws__affine_of(l->t, last_child(l->t, var), &a) || a.n != 2 ||
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

static bool find_places(struct look *l)
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
static void order_places(struct look *l)
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
                                    "static",     "register"};

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
static const char *type_words(struct look *l, int32_t decl)
{
    const struct ws__ast_node *n = &l->t->node[first_declared(l->t, decl)];
    const char *p = l->t->text + n->begin, *e = l->t->text + n->end;
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
    return ws__arena_strdup(l->in->arena, out);
}

/* --- loads ---------------------------------------------------------------- */

/* What is indexed: a pointer parameter, or a variable that points into one. */
static int32_t base_of(const struct look *l, int32_t index)
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
    int32_t c = last_child(t, i);

    return ws__ast_is(t, i, WS__AST_CALL) && c >= 0 &&
           t->node[c].begin == t->node[i].begin &&
           t->node[c].end == t->node[i].end;
}

static bool is_conversion(const struct look *l, int32_t i, int32_t of)
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

static const char *plain_type(struct look *l, int32_t i)
{
    const char *s = l->t->node[i].spelled;

    if (s && !strncmp(s, "const ", 6))
        s += 6;
    return s ? ws__arena_strdup(l->in->arena, s) : NULL;
}

static int32_t same_load(const struct look *l, int32_t node)
{
    for (size_t i = 0; i < l->p->nload; i++)
        if (ws__ast_same(l->t, l->p->load[i].node, node))
            return (int32_t)i;
    return -1;
}

static bool add_load(struct look *l, int32_t node, int32_t base, unsigned of)
{
    struct ws__product_load *x = &l->p->load[l->p->nload];
    const struct ws__ast_node *n = &l->t->node[node];
    struct ws__affine at, part;
    int32_t up = n->parent, same = same_load(l, node);

    if (l->p->nload == WS__PRODUCT_LOADS)
        return no(l, node, "more loads than there are tiles for");
    *x = (struct ws__product_load){.node = node, .outer = node, .same = same};
    x->side = of & 2 ? 1 : 0;
    x->type = type_words(l, base);
    x->value_type = x->type;
    x->bytes = n->type.bits / 8;
    if (l->t->text[n->end - 1] != ']')
        return no(l, node, "a macro hides a load");
    if (!x->type || !x->bytes || n->type.width != 1)
        return no(l, node, "what is loaded is no number of a plain type");
    x->text = ws__xform_text(l->in, node);
    while (is_conversion(l, up, x->outer)) {
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

static bool is_sum(const struct look *l, int32_t node)
{
    for (size_t i = 0; i < l->p->nsum; i++)
        if (l->p->sum[i].var >= 0 ? ws__ast_refers(l->t, node, l->p->sum[i].var)
                                  : ws__ast_same(l->t, node, l->p->sum[i].node))
            return true;
    return false;
}

static bool below_load(const struct look *l, int32_t i)
{
    for (size_t k = 0; k < l->p->nload; k++)
        if (i > l->p->load[k].node &&
            ws__ast_below(l->t, i, l->p->load[k].node))
            return true;
    return false;
}

/* An assignment; of records it is a call. */
static bool is_assignment(const struct ws__ast *t, int32_t i)
{
    const char *n = t->node[i].name;
    size_t len = n ? strlen(n) : 0;

    if (t->node[i].kind == WS__AST_ASSIGN)
        return true;
    return t->node[i].kind == WS__AST_CALL && len > 8 &&
           !strncmp(n, "operator", 8) && n[len - 1] == '=' &&
           (len == 9 || !strchr("=<>!", n[len - 2]));
}

static bool is_written(const struct look *l, int32_t base)
{
    struct ws__access a[64];
    size_t n = ws__xform_accesses(l->in, l->in->body, WS__AS_GLOBAL, a, 64);

    if (n > 64)
        return true;
    for (size_t i = 0; i < n; i++)
        if (a[i].decl == base &&
            (a[i].write || (is_assignment(l->t, l->t->node[a[i].node].parent) &&
                            ws__ast_child(l->t, l->t->node[a[i].node].parent,
                                          0) == a[i].node)))
            return true;
    return false;
}

static bool look_at_load(struct look *l, int32_t i)
{
    int32_t base = base_of(l, i);
    unsigned of = ws__product_depends(l->in, l->p, i);

    if (base < 0)
        return no(l, i, "a turn reads an array of its own");
    if (is_written(l, base))
        return no(l, i, "an array that is read is written, too");
    if (!(of & WS__PRODUCT_K))
        return no(l, i, "a turn reads what does not depend on the loop");
    if (of != (WS__PRODUCT_K | 1) && of != (WS__PRODUCT_K | 2))
        return no(l, i,
                  of == WS__PRODUCT_K
                      ? "a load depends on neither rows nor columns"
                      : "a load depends on more than k and one of row and "
                        "column");
    return add_load(l, i, base, of);
}

static bool find_loads(struct look *l)
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
           no(l, l->p->loop.loop,
              "a tile would serve nobody else: not both "
              "rows and columns are loaded");
}

/* --- what is summed ------------------------------------------------------- */

static bool add_sum(struct look *l, int32_t to)
{
    struct ws__product_sum *s = &l->p->sum[l->p->nsum];
    const struct ws__ast_node *n;
    int32_t init;

    if (is_sum(l, to))
        return true;
    if (l->p->nsum == WS__PRODUCT_SUMS)
        return no(l, to, "too many sums");
    *s = (struct ws__product_sum){.var = -1, .node = -1};
    if (ws__ast_is(l->t, to, WS__AST_INDEX) && base_of(l, to) >= 0) {
        s->node = to;
        s->type = type_words(l, base_of(l, to));
        l->p->nsum++;
        return s->type || no(l, to, "the sum is no plain number");
    }
    if (!ws__ast_is(l->t, to, WS__AST_REF) || l->t->node[to].decl < 0)
        return no(l, to, "a turn changes something that is no sum");
    n = &l->t->node[l->t->node[to].decl];
    if (n->kind != WS__AST_VAR || n->type.ndim || n->type.pointers ||
        n->type.width != 1 || n->is_static)
        return no(l, to, "a turn changes something that is no sum");
    s->var = l->t->node[to].decl;
    init = last_child(l->t, s->var);
    s->type = type_words(l, s->var);
    if (init >= 0)
        s->init = ws__xform_text(l->in, init);
    l->p->nsum++;
    return s->type || no(l, to, "the sum is no plain number");
}

static bool find_sums(struct look *l)
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
            return no(l, i, "a turn does more than add a term");
        if (n->kind == WS__AST_ASSIGN && !add_sum(l, to))
            return false;
    }
    return l->p->nsum > 0;
}

/* --- a term of zeros adds nothing ----------------------------------------- */

static bool is_zero(const struct look *l, int32_t i, int depth);

static bool zero_call(const struct look *l, int32_t i, int depth)
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

static bool is_zero(const struct look *l, int32_t i, int depth)
{
    const struct ws__ast_node *n;
    int32_t a, b;

    while (ws__ast_is(l->t, i, WS__AST_PAREN) ||
           ws__ast_is(l->t, i, WS__AST_CAST) || is_copy(l->t, i))
        i = last_child(l->t, i);
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
        return is_zero(l, last_child(l->t, n->decl), depth + 1);
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
static bool adds_to(const struct look *l, int32_t to, int32_t value)
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

static bool below_sum(const struct look *l, int32_t i)
{
    for (; i > l->p->term; i = l->t->node[i].parent)
        if (is_sum(l, i))
            return true;
    return false;
}

static bool check_terms(struct look *l)
{
    int32_t end = ws__ast_after(l->t, l->p->term);

    for (int32_t i = l->p->term; i < end; i++) {
        const struct ws__ast_node *n = &l->t->node[i];
        int32_t to = ws__ast_child(l->t, i, 0);
        int32_t value = ws__ast_child(l->t, i, 1);

        if (n->kind == WS__AST_CALL && !ws__ast_is_pure(l->t, i))
            return no(l, i, "a turn calls a function that may do anything");
        if (n->kind == WS__AST_REF && n->decl >= 0 && !below_load(l, i) &&
            !below_sum(l, i) &&
            (ws__product_depends(l->in, l->p, i) &
             ~(WS__PRODUCT_TERM | WS__PRODUCT_SUM)))
            return no(l, i,
                      "a term depends on its place or its number "
                      "otherwise than by what it loads");
        if (n->kind != WS__AST_ASSIGN)
            continue;
        if (n->op == CL_BinaryOperator_Assign
                ? !adds_to(l, to, value)
                : (n->op != CL_BinaryOperator_AddAssign &&
                   n->op != CL_BinaryOperator_SubAssign) ||
                      !is_zero(l, value, 0))
            return no(l, i,
                      "a term of zeros would change the sum: what is "
                      "behind the last k cannot be filled with zeros");
    }
    return true;
}

/* --- what stands around the loop ------------------------------------------ */

static bool keep_item(struct look *l, int32_t *list, size_t *n, int32_t i)
{
    if (*n == WS__PRODUCT_ITEMS)
        return no(l, i, "the function is too long");
    list[(*n)++] = i;
    return true;
}

static unsigned variable(const struct look *l, int32_t var)
{
    unsigned of = ws__product_depends(l->in, l->p, var);

    for (int s = 0; s < 2; s++)
        if (l->p->side[s].var == var)
            return WS__PRODUCT_THREAD; /* it is made anew */
    for (size_t i = 0; i < l->p->nsum; i++)
        if (l->p->sum[i].var == var)
            return of ? WS__PRODUCT_ELSE : WS__PRODUCT_SUM;
    return of;
}

/* Is what the declaration reads changed behind it, before the loop's end? */
static bool read_stays(const struct look *l, int32_t decl)
{
    int32_t end = ws__ast_after(l->t, decl);
    int32_t last = ws__ast_after(l->t, l->in->body);

    for (int32_t i = decl; i < end; i++) {
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

/* A declaration before the loop: what goes, what stays, what is made again
 * wherever row and column are known. */
static bool look_at_decl(struct look *l, int32_t decl, bool below)
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
        return no(l, decl,
                  "what is declared here depends on its thread and "
                  "changes");
    if (!gone)
        return !below || keep_item(l, l->p->move, &l->p->nmove, decl);
    if (gone != n)
        return no(l, decl,
                  "values of a thread and of all threads are "
                  "declared in one line");
    if (!(of & ~3u)) {
        if (!ws__ast_is_pure(l->t, decl) || !read_stays(l, decl))
            return no(l, decl,
                      "what is declared here cannot be computed "
                      "again later");
        if (!keep_item(l, l->p->derived, &l->p->nderived, decl))
            return false;
    }
    return below || keep_item(l, l->p->drop, &l->p->ndrop, decl);
}

/* sum = 0.0f; in a line of its own. */
static bool is_first_value(struct look *l, int32_t i)
{
    int32_t to = ws__ast_child(l->t, i, 0), value = ws__ast_child(l->t, i, 1);

    for (size_t k = 0; k < l->p->nsum; k++) {
        struct ws__product_sum *s = &l->p->sum[k];

        if (s->var >= 0 ? !ws__ast_refers(l->t, to, s->var)
                        : !ws__ast_same(l->t, to, s->node))
            continue;
        if (s->init || ws__product_depends(l->in, l->p, value))
            return false;
        s->init = ws__xform_text(l->in, value);
        return s->init != NULL;
    }
    return false;
}

static bool look_at_item(struct look *l, int32_t i, bool below)
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
        return no(l, i, "threads do something else before the loop");
    return !below || keep_item(l, l->p->move, &l->p->nmove, i);
}

static bool bounds_place(struct look *l, int32_t small, int32_t large)
{
    for (int s = 0; s < 2; s++) {
        struct ws__product_side *side = &l->p->side[s];

        if (!ws__ast_refers(l->t, small, side->var) ||
            ws__product_depends(l->in, l->p, large))
            continue;
        if (overlap(&l->t->node[small], &l->t->node[large]))
            return no(l, large, "a macro hides a bound");
        if (side->bound >= 0 && !ws__ast_same(l->t, side->bound, large))
            return no(l, large, "a place has two bounds");
        side->bound = large;
        return true;
    }
    return no(l, small, "a condition is no bound of row or column alone");
}

static bool look_at_condition(struct look *l, int32_t cond, bool negated)
{
    int32_t c = ws__ast_bare(l->t, cond);
    int op = ws__ast_is(l->t, c, WS__AST_BINARY) ? l->t->node[c].op : 0;
    int32_t a = ws__ast_child(l->t, c, 0), b = ws__ast_child(l->t, c, 1);

    if (op == (negated ? CL_BinaryOperator_LOr : CL_BinaryOperator_LAnd))
        return look_at_condition(l, a, negated) &&
               look_at_condition(l, b, negated);
    if (!ws__product_depends(l->in, l->p, c)) {
        if (l->p->nuniform == WS_COUNT(l->p->uniform))
            return no(l, c, "too many conditions");
        l->p->uniform[l->p->nuniform].cond = c;
        l->p->uniform[l->p->nuniform].at = l->guard;
        l->p->uniform[l->p->nuniform++].negated = negated;
        return ws__ast_is_pure(l->t, c) ||
               no(l, c, "a condition has an effect");
    }
    if (op == (negated ? CL_BinaryOperator_GE : CL_BinaryOperator_LT))
        return bounds_place(l, a, b);
    if (op == (negated ? CL_BinaryOperator_LE : CL_BinaryOperator_GT))
        return bounds_place(l, b, a);
    return no(l, c, "a condition is no bound of row or column alone");
}

static bool is_return(const struct ws__ast *t, int32_t i)
{
    if (ws__ast_is(t, i, WS__AST_BLOCK) && ws__ast_nchild(t, i) == 1)
        i = ws__ast_child(t, i, 0);
    return ws__ast_is(t, i, WS__AST_RETURN) && t->node[i].first < 0;
}

static bool walk(struct look *l, int32_t block, bool below);

static bool walk_if(struct look *l, int32_t i, bool below, bool *found)
{
    int32_t cond = ws__ast_child(l->t, i, 0), then = ws__ast_child(l->t, i, 1);

    if (ws__ast_nchild(l->t, i) != 2)
        return no(l, i, "threads do something else before the loop");
    l->guard = below ? l->p->outermost : i;
    if (is_return(l->t, then))
        return look_at_condition(l, cond, true) &&
               (below || keep_item(l, l->p->drop, &l->p->ndrop, i));
    *found = ws__ast_below(l->t, l->p->loop.loop, then);
    if (!*found)
        return no(l, i, "threads do something else before the loop");
    if (!ws__ast_is(l->t, then, WS__AST_BLOCK))
        return no(l, i, "the loop stands in no block of its own");
    if (l->t->node[i].next >= 0)
        return no(l, l->t->node[i].next,
                  "something follows the condition around the loop");
    if (!below)
        l->p->outermost = i;
    l->guard = l->p->outermost;
    return look_at_condition(l, cond, false) && walk(l, then, true);
}

static bool walk(struct look *l, int32_t block, bool below)
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
    return no(l, block, "the loop stands in another loop");
}

/* --- what follows the loop ------------------------------------------------ */

static bool rest_changes(struct look *l, int32_t i)
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

static bool check_rest(struct look *l)
{
    int32_t end = ws__ast_after(l->t, l->p->block);

    for (int32_t i = ws__ast_after(l->t, l->p->loop.loop); i < end; i++) {
        const struct ws__ast_node *n = &l->t->node[i];
        bool step = n->kind == WS__AST_UNARY && n->op >= 1 && n->op <= 4;

        if (n->kind == WS__AST_RETURN || n->kind == WS__AST_JUMP)
            return no(l, i, "a thread leaves behind the loop");
        if ((is_assignment(l->t, i) || step) && rest_changes(l, i))
            return no(l, i,
                      "what follows the loop changes a variable that "
                      "the next output would see");
    }
    if (end > ws__ast_after(l->t, l->p->loop.loop) &&
        (ws__product_depends(l->in, l->p, l->p->block) & WS__PRODUCT_ELSE))
        return no(l, l->p->block, "a value of a thread changes on the way");
    for (int32_t i = ws__ast_after(l->t, l->p->loop.loop); i < end; i++)
        if (ws__product_depends(l->in, l->p, i) &
            (WS__PRODUCT_K | WS__PRODUCT_THREAD))
            return no(l, i, "what follows the loop names a thread or k");
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

static bool find_loop(struct look *l)
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

static bool check_loop(struct look *l)
{
    struct ws__product *p = l->p;
    const struct ws__ast_for *f = &p->loop;

    if (f->inclusive || !is_one(l->t, f->by))
        return no(l, f->loop, "the loop does not go by ones to a bound");
    if (ws__product_depends(l->in, p, f->from) ||
        ws__product_depends(l->in, p, f->to) ||
        !ws__ast_is_pure(l->t, f->from) || !ws__ast_is_pure(l->t, f->to))
        return no(l, f->loop, "threads go through the loop differently often");
    p->k = l->t->node[f->var].name;
    p->k_type = type_words(l, f->var);
    p->k_from = ws__xform_text(l->in, f->from);
    p->k_to = ws__xform_text(l->in, f->to);
    return (p->k && p->k_type) || no(l, f->loop, "k is no plain number");
}

/* Does anything below read two arrays or more? */
static bool looks_like_one(const struct look *l)
{
    int32_t end = ws__ast_after(l->t, l->p->term);
    int n = 0;

    for (int32_t i = l->p->term; i < end; i++)
        n += l->t->node[i].kind == WS__AST_INDEX && base_of(l, i) >= 0 &&
             (ws__product_depends(l->in, l->p, i) & WS__PRODUCT_K);
    return n >= 2;
}

static bool check_ends(struct look *l)
{
    struct ws__product *p = l->p;

    for (int s = 0; s < 2; s++) {
        if (p->side[s].bound < 0)
            return no(l, p->side[s].var, "nothing bounds row or column");
        p->side[s].name = l->t->node[p->side[s].var].name;
        p->side[s].type = type_words(l, p->side[s].var);
        if (!p->side[s].type)
            return no(l, p->side[s].var, "a place is no plain number");
    }
    for (size_t i = 0; i < p->nsum; i++)
        if (!p->sum[i].init)
            return no(l, p->loop.loop, "a sum does not begin with a constant");
    return true;
}

bool ws__product_find(const struct ws__xform_in *in, struct ws__product *out,
                      int *rc)
{
    struct look l = {.in = in, .t = in->ast, .p = out};

    memset(out, 0, sizeof(*out));
    out->term = out->outermost = out->block = out->at = -1;
    for (int d = 0; d < 3; d++)
        l.block[d] = block_size(in, d);
    for (int s = 0; s < 2; s++)
        out->side[s] =
            (struct ws__product_side){.dim = -1, .var = -1, .bound = -1};
    out->loop.var = -1;
    if (cooperates(in) || !find_places(&l) || !find_loop(&l) ||
        !looks_like_one(&l))
        return false;
    order_places(&l);
    if (asks_for_size(in))
        return no(&l, in->func, "the source asks for this block size");
    if (in->kernel->launch[in->launch].block[2] && l.block[2] != 1)
        return no(&l, in->func, "a block has threads in three directions");
    if (!find_sums(&l) || !find_loads(&l) || !check_terms(&l) ||
        !check_loop(&l) || !walk(&l, in->body, false) || !check_ends(&l) ||
        !check_rest(&l)) {
        *rc = l.rc;
        return false;
    }
    *rc = l.rc;
    return l.rc >= 0;
}
