/*
 * xform_read_only.c: says of pointers what is known of them: that nothing is
 * written through them, and that no other one leads to the same array.
 *
 * Compilers may then keep values, move loads over stores, and load through the
 * read-only cache. That arrays are different is no promise of the user's: every
 * launch gives the parameter a tensor or a scratch buffer that no other
 * parameter gets.
 */
#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_ACCESSES 256

static const char *const findings[] = {"wait_memory", "wait_lg", NULL};
static const struct ws__xform_delta deltas[] = {{"long_scoreboard", 0.7, 1},
                                                {NULL, 0, 0}};

/* Is a cast made of it, by which it may be written through after all? */
static bool is_cast(const struct ws__xform_in *in, int32_t param)
{
    const struct ws__ast *t = in->ast;

    for (int32_t i = in->body; i < t->n; i++) {
        int32_t p = i;

        if (t->node[i].kind != WS__AST_REF || t->node[i].decl != param)
            continue;
        while (p > in->body && t->node[p].kind != WS__AST_CAST)
            p = t->node[p].parent;
        if (p > in->body && t->node[p].type.pointers &&
            !t->node[p].type.is_const)
            return true;
    }
    return false;
}

static bool is_stored(const struct ws__xform_in *in, int32_t param)
{
    struct ws__access a[MAX_ACCESSES];
    size_t n = ws__xform_accesses(in, in->body, WS__AS_GLOBAL, a, MAX_ACCESSES);

    for (size_t i = 0; i < n && i < MAX_ACCESSES; i++)
        if (a[i].decl == param && a[i].write)
            return true;
    return n > MAX_ACCESSES;
}

/* Just behind the last star of the declaration; 0: there is none. */
static uint32_t star_of(const struct ws__ast *t, int32_t param)
{
    const struct ws__ast_node *n = &t->node[param];

    for (uint32_t at = n->end; at > n->begin; at--)
        if (t->text[at - 1] == '*')
            return at;
    return 0;
}

enum { CONST = 1, RESTRICT = 2 };

/* What can be added to a parameter; *why: it looks so, but cannot. */
static int wanted(const struct ws__xform_in *in, int32_t param,
                  const char **why)
{
    const struct ws__ast *t = in->ast;
    const struct ws__ast_node *n = &t->node[param];
    int what = 0;

    if (n->kind != WS__AST_PARAM || n->type.pointers != 1 ||
        n->type.space == WS__AS_SHARED || n->type.space == WS__AS_CONSTANT)
        return 0;
    if (n->type.is_const
            ? !n->type.is_restrict
            : !is_stored(in, param) && ws__xform_only_indexed(in, param) &&
                  ws__ast_uses(t, in->body, param))
        what = n->type.is_const ? RESTRICT : CONST | RESTRICT;
    else if (!n->type.is_restrict)
        what = RESTRICT;
    if (n->type.is_restrict)
        what &= ~RESTRICT;
    if (!what)
        return 0;
    if (n->macro || !star_of(t, param))
        *why = "a macro declares a pointer";
    else if (n->spelled && strstr(n->spelled, "volatile"))
        *why = "a pointer is volatile";
    else if (!ws__xform_is_alone(in, param))
        *why = "two parameters may lead to one array";
    else if (ws__ast_changes(t, in->body, param))
        *why = "a pointer is changed";
    else if (is_cast(in, param) && n->type.is_const)
        *why = "a cast takes const away";
    return *why ? 0 : what;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;
    const char *why = NULL;
    int n = 0, reads = 0, rc = 0;

    for (int32_t c = t->node[in->func].first; c >= 0; c = t->node[c].next) {
        int what = wanted(in, c, &why);

        n += what != 0;
        reads += (what & CONST) || (what && t->node[c].type.is_const);
    }
    if (reads)
        ws__site_add(in, out, in->func, &rc,
                     "%d pointers of '%s' lead to arrays of their own, %d of "
                     "them are only read",
                     n, in->kernel->launch[in->launch].entry, reads);
    else if (why)
        rc = ws__site_refuse(in, out, in->func, "pointers as they are", why);
    return rc;
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    bool cuda = in->kernel->dialect == WS__DIALECT_CUDA;
    const char *word = cuda ? "__restrict__" : "restrict";

    (void)s;
    for (int32_t c = t->node[in->func].first; c >= 0; c = t->node[c].next) {
        const char *why = NULL;
        int what = wanted(in, c, &why);
        uint32_t star = what ? star_of(t, c) : 0;

        if (what & CONST)
            ws__rewrite_at(out, t->node[c].begin, 0, "const ");
        if (what & RESTRICT)
            ws__rewrite_at(out, star, 0, t->text[star] == ' ' ? " %s" : "%s ",
                           word);
    }
    return 0;
}

const struct ws__xform_ops ws__xform_read_only = {
    .abi = WS__XFORM_ABI,
    .name = "read_only",
    .about = "const and restrict on pointers to arrays of their own",
    .needs = "pointer parameters that no launch gives the same array, some of "
             "them only read",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .join = WS__JOIN_ALL,
    .gain = 1.05,
    .find = find,
    .apply = apply,
    .keeps_names = true,
};
