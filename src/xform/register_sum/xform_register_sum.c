/*
 * xform_register_sum.c: a sum that a loop keeps in device memory goes into a
 * register.
 *
 * y[e] += f(k) in a loop over k, e the same in every turn, reads and writes
 * memory each time, since the compiler must assume that f reads y. The element
 * is read once before the loop and written once behind it.
 */
#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_ACCESSES 64

static const char *const findings[] = {"wait_memory", "wait_lg", "waste",
                                       "uncoalesced_stores", NULL};
static const struct ws__xform_delta deltas[] = {{"long_scoreboard", 0.2, 0.9},
                                                {NULL, 0, 0}};

/* Two parameters are the same tensor: an access through one may meet the
 * other's. */
static bool other_name(const struct ws__xform_in *in, int32_t decl)
{
    const struct ws__arg *a = ws__xform_arg(in, decl);

    for (int32_t c = in->ast->node[in->func].first; c >= 0;
         c = in->ast->node[c].next) {
        const struct ws__arg *b = in->ast->node[c].kind == WS__AST_PARAM
                                      ? ws__xform_arg(in, c)
                                      : NULL;

        if (c != decl && a && b && a->kind == b->kind && a->index == b->index &&
            a->kind != WS__ARG_VALUE)
            return true;
    }
    return false;
}

/* Is the index made of what does not change in the loop? */
static bool is_fixed(const struct ws__xform_in *in, int32_t index, int32_t loop)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, index);

    for (int32_t i = index; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (n->kind == WS__AST_INDEX)
            return false;
        if (n->kind == WS__AST_REF && n->decl >= 0 &&
            (ws__ast_changes(t, loop, n->decl) ||
             ws__ast_below(t, n->decl, loop)))
            return false;
    }
    return ws__ast_is_pure(t, index);
}

static bool is_loop(const struct ws__ast *t, int32_t i)
{
    return t->node[i].kind == WS__AST_FOR || t->node[i].kind == WS__AST_WHILE ||
           t->node[i].kind == WS__AST_DO;
}

static bool has_kind(const struct ws__ast *t, int32_t root,
                     enum ws__ast_kind kind)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++)
        if (t->node[i].kind == kind)
            return true;
    return false;
}

static bool has_barrier(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++)
        if (t->node[i].kind == WS__AST_CALL && !ws__ast_is_pure(t, i))
            return true;
    return false;
}

/* Between the loop and the access: is there a condition? */
static bool is_guarded(const struct ws__ast *t, int32_t access, int32_t loop)
{
    for (int32_t i = t->node[access].parent; i > loop; i = t->node[i].parent)
        if (t->node[i].kind == WS__AST_IF ||
            t->node[i].kind == WS__AST_CHOICE ||
            (t->node[i].kind == WS__AST_BINARY &&
             (t->node[i].op == CL_BinaryOperator_LAnd ||
              t->node[i].op == CL_BinaryOperator_LOr)))
            return true;
    return false;
}

/* Why the sum at `a` may not be kept in a register through the loop; NULL: it
 * may. */
static const char *why_not(const struct ws__xform_in *in, int32_t loop,
                           const struct ws__access *a,
                           const struct ws__access *all, size_t n)
{
    const struct ws__ast *t = in->ast;

    if (!is_fixed(in, a->index, loop))
        return "the element is not the same in every turn";
    for (size_t i = 0; i < n; i++)
        if (all[i].decl == a->decl && !ws__ast_same(t, all[i].node, a->node))
            return "the loop uses other elements of the same array";
    if (is_guarded(t, a->node, loop))
        return "a condition decides whether the element is touched";
    if (!ws__xform_only_indexed(in, a->decl))
        return "the array is used by another pointer, too";
    if (other_name(in, a->decl))
        return "another argument is the same array";
    if (has_kind(t, loop, WS__AST_RETURN) || has_kind(t, loop, WS__AST_JUMP))
        return "the loop may be left in the middle";
    if (has_barrier(t, loop))
        return "the loop calls what may look at the element: a barrier, an "
               "atomic";
    return NULL;
}

/* The outermost loop around the access through which the element stays the
 * same. */
static int32_t outermost(const struct ws__xform_in *in,
                         const struct ws__access *a)
{
    int32_t best = -1;

    for (int32_t i = in->ast->node[a->node].parent; i > in->body;
         i = in->ast->node[i].parent)
        if (is_loop(in->ast, i) && (best < 0 || is_fixed(in, a->index, i)))
            best = i;
    return best;
}

/* A number's type as the source can name it. */
static const char *type_name(const struct ws__ast_type *t)
{
    if (t->class == WS__AT_FLOAT)
        return t->bits == 64 ? "double" : t->bits == 32 ? "float" : NULL;
    if (t->class == WS__AT_INT && t->bits == 32)
        return t->is_unsigned ? "unsigned int" : "int";
    return NULL;
}

/* Why the lines around the loop cannot be written, or NULL. */
static const char *no_place(const struct ws__ast *t, int32_t loop,
                            int32_t access)
{
    if (!type_name(&t->node[access].type))
        return "the element's type has no name here";
    if (!ws__ast_is(t, t->node[loop].parent, WS__AST_BLOCK))
        return "the loop is no statement of a block";
    return NULL;
}

static bool is_sum(const struct ws__ast *t, int32_t access)
{
    int32_t p = t->node[access].parent;

    return ws__ast_is(t, p, WS__AST_ASSIGN) &&
           ws__ast_child(t, p, 0) == access &&
           t->node[p].op != CL_BinaryOperator_Assign;
}

static bool is_new(const struct ws__sites *s, int32_t loop, int32_t decl)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->site[i].node[0] == loop && s->site[i].node[2] == decl)
            return false;
    return true;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    struct ws__access a[MAX_ACCESSES], in_loop[MAX_ACCESSES];
    size_t n = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, a, MAX_ACCESSES);
    int rc = 0;

    for (size_t i = 0; i < n && n <= MAX_ACCESSES && rc >= 0; i++) {
        int32_t loop = outermost(in, &a[i]);
        struct ws__site *s;
        const char *why;
        size_t m;

        if (loop < 0 || !is_sum(in->ast, a[i].node) ||
            in->ast->node[a[i].node].macro || !is_new(out, loop, a[i].decl))
            continue;
        m = ws__xform_accesses(in, loop, WS__AS_GLOBAL, in_loop, MAX_ACCESSES);
        why = m > MAX_ACCESSES ? "the loop uses too many elements"
                               : why_not(in, loop, &a[i], in_loop, m);
        why = why ? why : no_place(in->ast, loop, a[i].node);
        s = ws__site_add(in, out, loop, &rc, "keep '%s' in a register",
                         ws__xform_text(in, a[i].node));
        if (!s)
            break;
        s->refused = why;
        s->trust = "the element may be touched where the loop makes no turn";
        s->node[1] = a[i].node;
        s->node[2] = a[i].decl;
    }
    return rc;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    const char *name = ws__xform_name(in, "sum");
    const char *element = ws__xform_text(in, s->node[1]);
    const char *type = type_name(&t->node[s->node[1]].type), *line;
    int32_t end = ws__ast_after(t, s->node[0]);

    if (!name || !element)
        return WS_ENOMEM;
    line = ws__arena_printf(in->arena, "%s %s = %s;", type, name, element);
    if (!line)
        return WS_ENOMEM;
    ws__rewrite_above(out, s->node[0], line);
    for (int32_t i = s->node[0]; i < end; i++)
        if (t->node[i].kind == WS__AST_INDEX &&
            ws__ast_same(t, i, s->node[1]) && !t->node[i].macro)
            ws__rewrite_node(out, i, "%s", name);
    ws__rewrite_behind(out, s->node[0], "%s = %s;", element, name);
    return 0;
}

const struct ws__xform_ops ws__xform_register_sum = {
    .abi = WS__XFORM_ABI,
    .name = "register_sum",
    .about = "a sum that a loop keeps in device memory, in a register",
    .needs = "an element that is the same in every turn, of an array that the "
             "loop uses nowhere else",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .gain = 2,
    .find = find,
    .apply = apply,
};
