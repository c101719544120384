/*
 * xform_specialise.c: a length that is an axis of the op becomes a constant of
 * the source.
 *
 * The axis becomes a #define: the kernel is built for each of its values, and a
 * build is used for shapes of that value alone. The parameter stays, by another
 * name and unused, so that the launch is what it was; a constant of its old
 * name and type begins the body. Where the parameter has the axis' own name,
 * the #define would take it, and all that uses it gets another name instead.
 * All lengths of all functions are one site.
 */
#include "xform/xform.h"

#include "base/banned.h"

static const char *const findings[] = {"wait_units", "mostly_fma", "fma",
                                       "wait_fixed", NULL};
static const struct ws__xform_delta deltas[] = {{"time", 0.7, 1}, {NULL, 0, 0}};

/* The next place of the word at or behind `from`, outside of comments;
 * SIZE_MAX: none. */
static size_t find_word(const char *text, size_t from, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = from; text[i]; i++) {
        if (text[i] == '/' && text[i + 1] == '/') {
            i += strcspn(text + i, "\n");
            if (!text[i])
                break;
        } else if (text[i] == '/' && text[i + 1] == '*') {
            const char *e = strstr(text + i + 2, "*/");

            if (!e)
                break;
            i = (size_t)(e - text) + 1;
        } else if (!strncmp(text + i, word, n) && !ws__is_word(text[i + n]) &&
                   (!i || !ws__is_word(text[i - 1]))) {
            return i;
        }
    }
    return SIZE_MAX;
}

static size_t count_words(const char *text, const char *word)
{
    size_t n = 0;

    for (size_t at = find_word(text, 0, word); at != SIZE_MAX;
         at = find_word(text, at + 1, word))
        n++;
    return n;
}

/* Where the parameter's name stands. */
static uint32_t name_at(const struct ws__ast *t, int32_t param)
{
    const struct ws__ast_node *n = &t->node[param];
    size_t at = find_word(t->text, n->begin, n->name);

    return at < n->end ? (uint32_t)at : 0;
}

/* Where the parameter's name stands as such: in its declaration and uses. */
static size_t count_uses(const struct ws__ast *t, int32_t param)
{
    size_t n = 1;

    for (int32_t i = 0; i < t->n; i++)
        n += t->node[i].kind == WS__AST_REF && t->node[i].decl == param &&
             !t->node[i].macro;
    return n;
}

/* The axis that every launch gives for the parameter; NULL: none. */
static const struct ws__axis *axis_of(const struct ws__xform_in *in,
                                      int32_t param)
{
    const struct ws__op *op = in->kernel->op;
    const struct ws__axis *found = NULL;
    struct ws__xform_in l = *in;

    for (l.launch = ws__xform_next_launch(in, 0);
         l.launch < in->kernel->nlaunch;
         l.launch = ws__xform_next_launch(in, l.launch + 1)) {
        const struct ws__arg *a = ws__xform_arg(&l, param);
        const struct ws__axis *x = NULL;

        for (size_t i = 0; a && a->kind == WS__ARG_VALUE && i < op->naxis; i++)
            if (op->axis[i].kind == WS__AXIS_VAR &&
                !(in->kernel->specialize & 1u << i) &&
                !strcmp(op->axis[i].name, a->expr->text))
                x = &op->axis[i];
        if (!x || (found && found != x))
            return NULL;
        found = x;
    }
    return found;
}

static bool is_length(const struct ws__ast *t, int32_t c)
{
    const struct ws__ast_node *n = &t->node[c];

    return n->kind == WS__AST_PARAM && n->type.class == WS__AT_INT &&
           !n->type.pointers && n->name && !ws__ast_is_reference(t, c);
}

/* Uses of the axis' name by parameters that get the axis and give the name up,
 * in all functions. */
static size_t count_given_up(const struct ws__xform_in *in,
                             const struct ws__axis *x)
{
    const struct ws__ast *t = in->ast;
    struct ws__xform_in l;
    size_t n = 0;

    for (size_t from = 0; ws__xform_next_entry(in, &from, &l);)
        for (int32_t c = t->node[l.func].first; c >= 0; c = t->node[c].next)
            if (is_length(t, c) && !strcmp(t->node[c].name, x->name) &&
                !t->node[c].macro && name_at(t, c) && axis_of(&l, c) == x &&
                !ws__ast_changes(t, l.func, c) && ws__ast_uses(t, l.body, c))
                n += count_uses(t, c);
    return n;
}

static const char *refusal(const struct ws__xform_in *in, int32_t param,
                           const struct ws__axis *x)
{
    const struct ws__ast *t = in->ast;
    const char *axis = x->name;
    size_t n = count_words(t->text, axis);

    if (ws__ast_changes(t, in->func, param))
        return "the parameter is changed";
    if (t->node[param].macro || !name_at(t, param))
        return "a macro declares the parameter";
    if (count_words(in->kernel->source, axis) > n)
        return "an included file has the axis' name";
    if (!n)
        return NULL;
    if (n != count_given_up(in, x))
        return "the source has the axis' name for something else";
    return NULL;
}

static int find(const struct ws__xform_in *in, struct ws__sites *out)
{
    const struct ws__ast *t = in->ast;

    for (int32_t c = t->node[in->func].first; c >= 0; c = t->node[c].next) {
        const struct ws__ast_node *n = &t->node[c];
        const struct ws__axis *x;
        const char *why;
        int rc = 0;

        if (!is_length(t, c) || !ws__ast_uses(t, in->body, c))
            continue;
        x = axis_of(in, c);
        if (!x)
            continue;
        why = refusal(in, c, x);
        if (why) {
            WS_TRY(ws__site_refuse(in, out, c, "a length as a constant", why));
            continue;
        }
        ws__site_add(in, out, c, &rc, "'%s' becomes a constant, the axis %s",
                     n->name, x->name);
        WS_TRY(rc);
    }
    return 0;
}

/* What stands before the name, without const. */
static const char *type_text(const struct ws__xform_in *in, int32_t param)
{
    const char *p = in->ast->text + in->ast->node[param].begin;
    size_t n = name_at(in->ast, param) - in->ast->node[param].begin;

    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\n'))
        n--;
    if (n > 6 && !strncmp(p, "const ", 6)) {
        p += 6;
        n -= 6;
    }
    if (n > 6 && !strncmp(p + n - 6, " const", 6))
        n -= 6;
    return ws__arena_strndup(in->arena, p, n);
}

static int apply(const struct ws__xform_in *in, const struct ws__site *s,
                 struct ws__rewrite *out)
{
    const struct ws__ast *t = in->ast;
    int32_t param = s->node[0], first = ws__ast_child(t, in->body, 0);
    const struct ws__ast_node *n = &t->node[param];
    const struct ws__axis *x = axis_of(in, param);
    const char *type = type_text(in, param), *given, *local, *indent;

    if (!x)
        return ws__fail(in->ctx, WS_EBUG, "no such site");
    given = ws__arena_printf(in->arena, "%s_given", n->name);
    local = ws__arena_printf(in->arena, "%s_fixed", n->name);
    given = given ? ws__xform_name(in, given) : NULL;
    local = local ? ws__xform_name(in, local) : NULL;
    indent = first < 0 ? "    " : ws__xform_indent(in, first);
    if (!type || !given || !local || !indent)
        return WS_ENOMEM;
    if (strcmp(n->name, x->name) != 0)
        local = n->name;
    ws__rewrite_at(out, name_at(t, param), (uint32_t)strlen(n->name), "%s",
                   given);
    ws__rewrite_at(out, t->node[in->body].begin + 1, 0, "\n%sconst %s %s = %s;",
                   *indent ? indent : "    ", type, local, x->name);
    for (int32_t i = in->body; local != n->name && i < t->n; i++)
        if (t->node[i].kind == WS__AST_REF && t->node[i].decl == param)
            ws__rewrite_node(out, i, "%s", local);
    ws__rewrite_change(out, x->name, "specialize[+]");
    return 0;
}

const struct ws__xform_ops ws__xform_specialise = {
    .abi = WS__XFORM_ABI,
    .name = "specialise",
    .about = "a length that is an axis of the op as a constant of the source",
    .needs = "an integer parameter that every launch gives an axis, and nobody "
             "changes",
    .finding = findings,
    .delta = deltas,
    .cuda = true,
    .opencl = true,
    .join = WS__JOIN_ALL,
    .gain = 1.1,
    .find = find,
    .apply = apply,
    .keeps_names = true,
};
