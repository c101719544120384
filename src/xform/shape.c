/*
 * shape.c: texts of pieces of a source, and what more than one transformation
 * asks of pointers and calls. See xform.h.
 */
#include "xform/clang_api.h"
#include "xform/xform.h"

#include "base/banned.h"

/* --- texts ---------------------------------------------------------------- */

const char *ws__xform_edited(const struct ws__xform_in *in, uint32_t begin,
                             uint32_t end, const struct ws__edit *e, size_t n)
{
    size_t len = end - begin, to = 0;
    uint32_t from = begin;
    char *s;

    for (size_t i = 0; i < n; i++)
        len += strlen(e[i].text);
    s = ws__arena_alloc(in->arena, len + 1, 1);
    if (!s)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (e[i].at < from || e[i].at + e[i].len > end)
            continue; /* inside of what was replaced already */
        memcpy(s + to, in->ast->text + from, e[i].at - from);
        to += e[i].at - from;
        memcpy(s + to, e[i].text, strlen(e[i].text));
        to += strlen(e[i].text);
        from = e[i].at + e[i].len;
    }
    memcpy(s + to, in->ast->text + from, end - from);
    s[to + end - from] = '\0';
    return s;
}

static size_t blanks(const char *s)
{
    return strspn(s, " \t");
}

/* The least indentation of the lines behind the first. */
static size_t least_indent(const char *s)
{
    size_t least = SIZE_MAX;

    for (s = strchr(s, '\n'); s; s = strchr(s + 1, '\n')) {
        size_t n = blanks(s + 1);

        if (s[1 + n] && s[1 + n] != '\n' && s[1 + n] != '#' && n < least)
            least = n;
    }
    return least;
}

const char *ws__xform_indented(const struct ws__xform_in *in, const char *text,
                               int common, const char *indent)
{
    size_t least = common < 0 ? least_indent(text) : (size_t)common;
    size_t lines = 1, to = 0;
    char *s;

    text += strspn(text, " \t\n");
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    s = ws__arena_alloc(in->arena, strlen(text) + lines * strlen(indent) + 1,
                        1);
    if (!s)
        return NULL;
    for (bool first = true; *text; first = false) {
        size_t n = strcspn(text, "\n"), cut = blanks(text);

        if (!first && cut > least)
            cut = least;
        if (cut < n || first) {
            memcpy(s + to, indent, strlen(indent));
            to += strlen(indent);
            memcpy(s + to, text + cut, n - cut);
            to += n - cut;
        }
        text += n;
        if (*text)
            s[to++] = *text++;
    }
    while (to && (s[to - 1] == '\n' || s[to - 1] == ' ' || s[to - 1] == '\t'))
        to--;
    s[to] = '\0';
    return s;
}

static bool ends_in_brace(enum ws__ast_kind k)
{
    return k == WS__AST_BLOCK || k == WS__AST_FOR || k == WS__AST_WHILE ||
           k == WS__AST_IF || k == WS__AST_JUMP || k == WS__AST_DECL;
}

/* Behind the comment, text or character that begins at `at`. */
static uint32_t skip_token(const char *s, uint32_t at)
{
    char quote = s[at];

    if (s[at] == '/' && s[at + 1] == '/')
        return at + (uint32_t)strcspn(s + at, "\n");
    if (s[at] == '/' && s[at + 1] == '*') {
        const char *end = strstr(s + at + 2, "*/");

        return end ? (uint32_t)(end + 2 - s) : at + (uint32_t)strlen(s + at);
    }
    if (quote != '"' && quote != '\'')
        return at + 1;
    for (at++; s[at] && s[at] != quote; at++)
        at += s[at] == '\\' && s[at + 1];
    return at + (s[at] != '\0');
}

uint32_t ws__xform_end(const struct ws__ast *t, int32_t node)
{
    uint32_t at = t->node[node].end;

    if (at && (t->text[at - 1] == ';' ||
               (t->text[at - 1] == '}' && ends_in_brace(t->node[node].kind))))
        return at;
    while (t->text[at] &&
           (strchr(" \t\r\n", t->text[at]) ||
            (t->text[at] == '/' && strchr("/*", t->text[at + 1]))))
        at = skip_token(t->text, at);
    return t->text[at] == ';' ? at + 1 : t->node[node].end;
}

static uint32_t next_line(const char *s, uint32_t at)
{
    at += (uint32_t)strcspn(s + at, "\n");
    return at + (s[at] == '\n');
}

static uint32_t behind_directive(const char *s, uint32_t at)
{
    do
        at = next_line(s, at);
    while (s[at] && at > 1 && s[at - 2] == '\\');
    return at;
}

uint32_t ws__xform_top(const struct ws__ast *t)
{
    return strncmp(t->text, "\xef\xbb\xbf", 3) ? 0 : 3;
}

uint32_t ws__xform_before_function(const struct ws__ast *t, int32_t func)
{
    const char *s = t->text;
    uint32_t end = t->node[func].begin;
    uint32_t at = ws__xform_top(t), safe = at;
    bool open = false; /* in the middle of a declaration */

    while (at < end) {
        char c = s[at];
        uint32_t next = skip_token(s, at);

        if (c == '#') {
            at = safe = behind_directive(s, at);
            continue;
        }
        if (c == ';' || c == '{' || c == '}') {
            open = false;
            safe = next;
            if (strspn(s + next, " \t") == strcspn(s + next, "\n"))
                safe = next_line(s, next);
        } else if (c == '\n' && !open) {
            uint32_t line = at;

            while (line && strchr(" \t\r", s[line - 1]))
                line--;
            if (!line || s[line - 1] == '\n')
                safe = next; /* behind a blank line */
        } else if (!strchr(" \t\r\n", c) && next == at + 1) {
            open = true;
        } else if (c == '"' || c == '\'') {
            open = true;
        }
        at = next;
    }
    return safe < end ? safe : end;
}

/* --- pointers and calls --------------------------------------------------- */

bool ws__xform_only_indexed(const struct ws__xform_in *in, int32_t param)
{
    const struct ws__ast *t = in->ast;
    const int32_t *use;
    size_t n = ws__ast_uses_of(t, in->body, param, &use);

    for (size_t k = 0; k < n; k++) {
        int32_t of = use[k], p = t->node[of].parent;

        for (; ws__ast_is(t, p, WS__AST_PAREN); p = t->node[p].parent)
            of = p;
        if (!ws__ast_is(t, p, WS__AST_INDEX) || ws__ast_child(t, p, 0) != of)
            return false;
        if (ws__ast_is(t, t->node[p].parent, WS__AST_UNARY) &&
            t->node[t->node[p].parent].op == CL_UnaryOperator_AddrOf)
            return false;
    }
    return true;
}

static bool same_array(const struct ws__arg *a, const struct ws__arg *b)
{
    return a->kind == b->kind && a->index == b->index;
}

/* The same of one launch. */
static bool alone_there(const struct ws__xform_in *in, int32_t param)
{
    const struct ws__launch *l = &in->kernel->launch[in->launch];
    const struct ws__arg *a = ws__xform_arg(in, param);

    if (!a || (a->kind != WS__ARG_TENSOR && a->kind != WS__ARG_SCRATCH))
        return false;
    for (size_t i = 0; i < l->narg; i++)
        if (&l->arg[i] != a && same_array(&l->arg[i], a))
            return false;
    return true;
}

bool ws__xform_is_alone(const struct ws__xform_in *in, int32_t param)
{
    struct ws__xform_in l = *in;

    for (l.launch = ws__xform_next_launch(in, 0);
         l.launch < in->kernel->nlaunch;
         l.launch = ws__xform_next_launch(in, l.launch + 1))
        if (!alone_there(&l, param))
            return false;
    return true;
}

bool ws__xform_aligned(const struct ws__xform_in *in, int32_t param,
                       size_t bytes)
{
    struct ws__xform_in l = *in;

    for (l.launch = ws__xform_next_launch(in, 0);
         l.launch < in->kernel->nlaunch;
         l.launch = ws__xform_next_launch(in, l.launch + 1)) {
        const struct ws__arg *a = ws__xform_arg(&l, param);

        if (!a || a->kind != WS__ARG_TENSOR ||
            in->kernel->op->tensor[a->index].align < bytes)
            return false;
    }
    return true;
}

bool ws__xform_is_positive(const struct ws__xform_in *in, int32_t param)
{
    const struct ws__op *op = in->kernel->op;
    struct ws__xform_in l = *in;

    if (in->ast->node[param].kind != WS__AST_PARAM ||
        ws__ast_changes(in->ast, in->func, param))
        return false;
    for (l.launch = ws__xform_next_launch(in, 0);
         l.launch < in->kernel->nlaunch;
         l.launch = ws__xform_next_launch(in, l.launch + 1)) {
        const struct ws__arg *a = ws__xform_arg(&l, param);
        bool good = false;

        for (size_t k = 0; a && a->kind == WS__ARG_VALUE && k < op->naxis; k++)
            good = good ||
                   (op->axis[k].kind == WS__AXIS_VAR && op->axis[k].lo >= 1 &&
                    !strcmp(op->axis[k].name, a->expr->text));
        if (!good)
            return false;
    }
    return true;
}

#define MAX_CALLS 6 /* deep */

/* Has a function effects on nothing but variables of its own? */
static bool keeps_to_itself(const struct ws__ast *t, int32_t f, int depth)
{
    int32_t end = ws__ast_after(t, f);

    for (int32_t i = f; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];
        int32_t to = ws__ast_child(t, i, 0);

        if (n->kind == WS__AST_JUMP || n->kind == WS__AST_OTHER ||
            (n->kind == WS__AST_VAR && n->is_static) ||
            (n->kind == WS__AST_PARAM &&
             (n->type.pointers || ws__ast_is_reference(t, i))))
            return false;
        if (n->kind == WS__AST_ASSIGN ||
            (n->kind == WS__AST_UNARY && n->op >= CL_UnaryOperator_PostInc &&
             n->op <= CL_UnaryOperator_Deref)) {
            while (ws__ast_is(t, to, WS__AST_MEMBER) ||
                   ws__ast_is(t, to, WS__AST_PAREN) ||
                   ws__ast_is(t, to, WS__AST_INDEX))
                to = ws__ast_child(t, to, 0);
            if (!ws__ast_is(t, to, WS__AST_REF) || t->node[to].decl < f ||
                t->node[to].decl >= end ||
                t->node[t->node[to].decl].type.pointers)
                return false;
        }
    }
    return ws__xform_calls_known(t, f, depth + 1);
}

bool ws__xform_calls_known(const struct ws__ast *t, int32_t root, int depth)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (n->kind != WS__AST_CALL)
            continue;
        if (n->decl >= 0 ? depth >= MAX_CALLS ||
                               t->node[n->decl].kind != WS__AST_FUNCTION ||
                               !keeps_to_itself(t, n->decl, depth)
                         : !ws__ast_is_pure_call(t, i))
            return false;
    }
    return true;
}

bool ws__xform_leaves(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++) {
        enum ws__ast_kind k = t->node[i].kind;
        int32_t p = i;

        if (k == WS__AST_RETURN || k == WS__AST_JUMP)
            return true;
        if (k != WS__AST_BREAK && k != WS__AST_CONTINUE)
            continue;
        do
            p = t->node[p].parent;
        while (p > root && t->node[p].kind != WS__AST_FOR &&
               t->node[p].kind != WS__AST_WHILE &&
               t->node[p].kind != WS__AST_DO);
        if (p <= root)
            return true;
    }
    return false;
}

bool ws__xform_stays(const struct ws__ast *t, int32_t expr, int32_t root)
{
    int32_t end = ws__ast_after(t, expr);

    if (!ws__ast_is_pure(t, expr))
        return false;
    for (int32_t i = expr; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        if (n->kind == WS__AST_INDEX || n->kind == WS__AST_UNARY)
            return false;
        if (n->kind == WS__AST_REF && n->decl >= 0 &&
            (ws__ast_changes(t, root, n->decl) ||
             ws__ast_below(t, n->decl, root) ||
             t->node[n->decl].type.space == WS__AS_SHARED))
            return false;
    }
    return true;
}

bool ws__xform_is_certain(const struct ws__ast *t, int32_t node, int32_t root)
{
    for (int32_t p; node != root; node = p) {
        int32_t first;
        enum ws__ast_kind k;

        p = t->node[node].parent;
        if (p < root)
            return true;
        k = t->node[p].kind;
        first = ws__ast_child(t, p, 0);
        if (k == WS__AST_FOR || k == WS__AST_WHILE || k == WS__AST_DO)
            return false;
        if ((k == WS__AST_IF || k == WS__AST_CHOICE ||
             (k == WS__AST_BINARY &&
              (t->node[p].op == CL_BinaryOperator_LAnd ||
               t->node[p].op == CL_BinaryOperator_LOr))) &&
            node != first)
            return false;
    }
    return true;
}

bool ws__xform_hides_stores(const struct ws__ast *t, int32_t root)
{
    int32_t end = ws__ast_after(t, root);

    for (int32_t i = root; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];
        int32_t to = ws__ast_child(t, i, 0);

        if (n->kind == WS__AST_UNARY && n->op == CL_UnaryOperator_AddrOf)
            return true;
        if (n->kind != WS__AST_ASSIGN &&
            !(n->kind == WS__AST_UNARY && n->op >= CL_UnaryOperator_PostInc &&
              n->op <= CL_UnaryOperator_PreDec))
            continue;
        while (ws__ast_is(t, to, WS__AST_MEMBER) ||
               ws__ast_is(t, to, WS__AST_PAREN) ||
               ws__ast_is(t, to, WS__AST_INDEX))
            to = ws__ast_child(t, to, 0);
        if (!ws__ast_is(t, to, WS__AST_REF) || t->node[to].decl < 0 ||
            (t->node[t->node[to].decl].kind == WS__AST_VAR &&
             t->node[t->node[to].decl].type.pointers))
            return true;
    }
    return false;
}

static uint32_t line_of(const struct ws__ast *t, uint32_t at)
{
    while (at && t->text[at - 1] != '\n')
        at--;
    return at;
}

/* Does the line belong to the statement below it? */
static bool is_pragma(const char *line)
{
    line += strspn(line, " \t");
    if (*line == '#') {
        line += 1 + strspn(line + 1, " \t");
        return !strncmp(line, "pragma", 6) && strchr(" \t", line[6]);
    }
    return !strncmp(line, "_Pragma", 7) || !strncmp(line, "__attribute__", 13);
}

void ws__rewrite_above(struct ws__rewrite *w, int32_t node, const char *line)
{
    const struct ws__ast *t = w->in->ast;
    const char *indent = ws__xform_indent(w->in, node);
    uint32_t at = line_of(t, t->node[node].begin);

    if (!indent) {
        w->failed = WS_ENOMEM;
        return;
    }
    if (at + strlen(indent) != t->node[node].begin) {
        ws__rewrite_before(w, node, "%s", line);
        return;
    }
    /* A pragma belongs to the statement, though a comment stands between. */
    for (uint32_t from = at; from;) {
        const char *text;

        from = line_of(t, from - 1);
        text = t->text + from + strspn(t->text + from, " \t");
        if (is_pragma(t->text + from))
            at = from;
        else if (*text != '\n' && strncmp(text, "//", 2) != 0 &&
                 strncmp(text, "/*", 2) != 0)
            break;
    }
    ws__rewrite_at(w, at, 0, "%s%s\n", indent, line);
}
