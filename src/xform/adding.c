/* adding.c: atomics that are put off. See adding.h. */
#include "xform/adding.h"

#include "xform/pieces.h"
#include "xform/rows.h"

#include "base/banned.h"

bool ws__adding_no(struct ws__adding *a, const char *why)
{
    if (!a->why)
        a->why = why;
    return false;
}

bool ws__adding_is_call(const struct ws__ast *t, int32_t i)
{
    return t->node[i].kind == WS__AST_CALL && t->node[i].name &&
           !strcmp(t->node[i].name, "atomicAdd");
}

static bool check_call(const struct ws__xform_in *in, struct ws__adding *a)
{
    const struct ws__ast *t = in->ast;
    enum ws__ast_kind up = t->node[t->node[a->call].parent].kind;
    const struct ws__ast_type *type = &t->node[a->target].type;

    if (t->node[a->call].macro && t->text[t->node[a->call].begin] != 'a')
        return ws__adding_no(a, "a macro hides the atomic");
    if (up != WS__AST_BLOCK && up != WS__AST_IF && up != WS__AST_FOR &&
        up != WS__AST_WHILE)
        return ws__adding_no(a, "what was there before is used");
    if (type->width != 1 || (type->bits != 32 && type->bits != 64) ||
        (type->class != WS__AT_INT && type->class != WS__AT_FLOAT))
        return ws__adding_no(a, "what is added is no number of 32 or 64 bits");
    return true;
}

static bool is_return(const struct ws__ast *t, int32_t i)
{
    if (ws__ast_is(t, i, WS__AST_BLOCK) && ws__ast_nchild(t, i) == 1)
        i = ws__ast_child(t, i, 0);
    return ws__ast_is(t, i, WS__AST_RETURN);
}

/* One guard at most, in the function's own block. */
static bool check_flow(const struct ws__xform_in *in, struct ws__adding *a)
{
    const struct ws__ast *t = in->ast;
    int32_t end = ws__ast_after(t, in->body);
    int returns = 0;

    a->guard = -1;
    for (int32_t i = t->node[in->body].first; i >= 0; i = t->node[i].next)
        if (t->node[i].kind == WS__AST_IF && ws__ast_nchild(t, i) == 2 &&
            is_return(t, ws__ast_child(t, i, 1)) && a->guard < 0)
            a->guard = i;
    for (int32_t i = in->body; i < end; i++) {
        const struct ws__ast_node *n = &t->node[i];

        returns += n->kind == WS__AST_RETURN;
        if (n->kind == WS__AST_JUMP)
            return ws__adding_no(a, "there is a goto, a switch or assembly");
        if (ws__ast_is_barrier(t, i) ||
            (n->kind == WS__AST_CALL && n->name && strstr(n->name, "_sync")))
            return ws__adding_no(a, "threads wait for each other already");
    }
    if (returns > (a->guard >= 0))
        return ws__adding_no(a, "threads leave in more than one place");
    if (a->guard >= 0 && a->call < a->guard)
        return ws__adding_no(a, "threads leave behind the atomic");
    if (a->guard >= 0 && t->node[a->guard].macro &&
        t->text[t->node[a->guard].begin] != 'i')
        return ws__adding_no(a, "a macro hides where threads leave");
    return true;
}

static bool is_warps(int64_t n)
{
    return n >= 32 && n <= 1024 && !(n % 32);
}

/* Blocks of whole warps in one direction: a number, or a parameter whatever its
 * value. */
static bool check_block(const struct ws__xform_in *in, struct ws__adding *a)
{
    const struct ws__kernel *k = in->kernel;

    for (size_t i = 0; i < k->nlaunch; i++) {
        const struct ws__launch *l = &k->launch[i];
        const char *text = l->block[0] ? l->block[0]->text : "1";
        int64_t number;
        bool ok = ws__rows_number(text, &number) && is_warps(number);

        if (strcmp(l->entry, k->launch[in->launch].entry))
            continue;
        for (size_t p = 0; p < k->nparam; p++) {
            if (strcmp(k->param[p].name, text))
                continue;
            ok = true;
            for (size_t v = 0; v < k->param[p].nvalue; v++)
                ok = ok && k->param[p].value[v].type == WS__INT &&
                     is_warps(k->param[p].value[v].u.i);
        }
        for (int d = 1; d < 3; d++)
            ok = ok && (!l->block[d] || !strcmp(l->block[d]->text, "1"));
        if (!ok)
            return ws__adding_no(a, "a block is not a row of whole warps");
    }
    return true;
}

bool ws__adding_check(const struct ws__xform_in *in, struct ws__adding *a)
{
    a->target = ws__ast_child(in->ast, a->call, 1);
    a->value = ws__ast_child(in->ast, a->call, 2);
    return check_call(in, a) && check_flow(in, a) && check_block(in, a);
}

/* --- writing it ----------------------------------------------------------- */

const char *ws__adding_type(const struct ws__xform_in *in,
                            const struct ws__adding *a)
{
    const struct ws__ast_type *t = &in->ast->node[a->target].type;

    if (t->class == WS__AT_FLOAT)
        return t->bits == 32 ? "float" : "double";
    if (t->bits == 64)
        return "unsigned long long";
    return t->is_unsigned ? "unsigned int" : "int";
}

const char *ws__adding_zero(const struct ws__xform_in *in,
                            const struct ws__adding *a)
{
    const struct ws__ast_type *t = &in->ast->node[a->target].type;

    if (t->class != WS__AT_FLOAT)
        return "0";
    return t->bits == 32 ? "0.0f" : "0.0";
}

/* What follows the guard within a condition. */
int ws__adding_body(const struct ws__xform_in *in, const struct ws__adding *a,
                    const char *instead, struct ws__buf *b)
{
    const struct ws__ast *t = in->ast;
    uint32_t begin = t->node[in->body].begin + 1;
    uint32_t end = t->node[in->body].end - 1, from = begin, middle;
    const char *head, *text;
    struct ws__piece piece = {t->node[a->call].begin, t->node[a->call].end,
                              instead};

    ws__pieces_trim(t, &from, &end);
    middle = a->guard < 0 ? from : ws__xform_end(t, a->guard);
    if (a->guard >= 0) {
        const char *cond = ws__xform_text(in, ws__ast_child(t, a->guard, 0));
        uint32_t stop = t->node[a->guard].begin;

        ws__pieces_trim(t, &from, &stop);
        head = ws__pieces_text(in, from, stop, NULL, 0);
        if (!head || !cond)
            return WS_ENOMEM;
        ws__pieces_lines(b, "    ", 0, head, ws__pieces_blanks(t, from));
        ws__buf_printf(b, "%s    if (!(%s)) {\n", *head ? "\n" : "", cond);
        ws__pieces_trim(t, &middle, &end);
    }
    text = ws__pieces_text(in, middle, end, &piece, 1);
    if (!text)
        return WS_ENOMEM;
    ws__pieces_lines(b, "    ", a->guard >= 0, text,
                     ws__pieces_blanks(t, middle));
    ws__buf_puts(b, a->guard >= 0 ? "    }\n" : "");
    return 0;
}
