/*
 * expr_error.c: messages of the expression compiler.
 *
 * A message names the place in the file, quotes the text it is about and
 * says what would be right: the nearest name that exists, the functions
 * there are, the operator that was meant. The text may have several lines;
 * only the first starts at the column of its location. Columns count
 * characters, not bytes, so that editors agree.
 */
#include <ctype.h>

#include "base/names.h"
#include "expr/expr_ast.h"

#include "base/banned.h"

struct ws__quote ws__expr_quote(const char *text, size_t begin, size_t end)
{
    struct ws__quote q;
    size_t n = 0, max = sizeof(q.s) - 4;

    while (begin < end && n < max) {
        char ch = text[begin++];

        q.s[n++] = (unsigned char)ch < ' ' ? ' ' : ch;
    }
    if (begin < end) {
        /* Do not cut a character in two. */
        while (n && ((unsigned char)text[begin] & 0xc0) == 0x80) {
            n--;
            begin--;
        }
        memcpy(q.s + n, "...", 3);
        n += 3;
    }
    q.s[n] = '\0';
    return q;
}

struct ws__loc ws__expr_loc(const struct ws__loc *loc, const char *text,
                            size_t at)
{
    struct ws__loc l = {NULL, 1, 1};

    if (loc)
        l.file = loc->file;
    if (loc && loc->line) {
        l.line = loc->line;
        l.column = loc->column ? loc->column : 1;
    }
    for (size_t i = 0; i < at; i++) {
        if (text[i] == '\n') {
            l.line++;
            l.column = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            l.column++;
        }
    }
    return l;
}

int ws__expr_fail(struct ws__ec *c, uint32_t at, const char *fmt, ...)
{
    struct ws__loc l = ws__expr_loc(&c->loc, c->text, at);
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return ws__fail_at(c->ctx, WS_EEXPR, &l, "%s", text);
}

static size_t append(char *to, size_t n, size_t max, const char *name)
{
    int k = snprintf(to + n, max - n, "%s%s", n ? ", " : "", name);

    return k < 0 || (size_t)k >= max - n ? max : n + (size_t)k;
}

static void list_names(const struct ws__ec *c, char *to, size_t max)
{
    size_t n = 0, keep = 0;

    to[0] = '\0';
    for (size_t i = c->nloop; i-- > 0 && n < max;)
        n = append(to, keep = n, max, c->loop[i].name);
    for (size_t i = 0; i < c->scope->n && n < max; i++)
        n = append(to, keep = n, max, c->scope->names[i].name);
    for (size_t i = 0; i < c->scope->nconstant && n < max; i++)
        n = append(to, keep = n, max, c->scope->constant[i].name);
    if (n >= max)
        snprintf(to + keep, max - keep, ", ...");
}

int ws__expr_unknown(struct ws__ec *c, const struct ws__node *n)
{
    size_t len = strlen(n->s);
    struct ws__nearest near;
    char names[400];

    ws__nearest_begin(&near, n->s);
    for (size_t i = 0; i < c->nloop; i++)
        ws__nearest_see(&near, c->loop[i].name);
    for (size_t i = 0; i < c->scope->n; i++)
        ws__nearest_see(&near, c->scope->names[i].name);
    for (size_t i = 0; i < c->scope->nconstant; i++)
        ws__nearest_see(&near, c->scope->constant[i].name);
    for (size_t i = 0; i < c->scope->nword; i++)
        ws__nearest_see(&near, c->scope->word[i].name);
    ws__expr_fail(c, n->at, "unknown name '%s'",
                  ws__expr_quote(n->s, 0, len).s);
    if (ws__nearest_name(&near))
        return ws__hint(c->ctx, "did you mean '%s'?", ws__nearest_name(&near));
    if (ws__fn_find(n->s, len) >= 0)
        return ws__hint(c->ctx, "'%s' is a function: write %s(...)", n->s,
                        n->s);
    list_names(c, names, sizeof(names) - 8);
    if (!names[0])
        return ws__hint(c->ctx, "no names can be used here; text is written "
                                "in quotes");
    return ws__hint(c->ctx, "known names: %s; text is written in quotes",
                    names);
}

int ws__expr_unknown_fn(struct ws__ec *c, const struct ws__tok *name)
{
    struct ws__quote q = ws__expr_quote(c->text, name->at, name->end);
    struct ws__nearest near;
    char names[400];
    size_t n = 0;

    ws__nearest_begin(&near, q.s);
    for (int i = 0; i < WS__NFN; i++) {
        ws__nearest_see(&near, ws__fn_name((enum ws__fn)i));
        n = append(names, n, sizeof(names), ws__fn_name((enum ws__fn)i));
    }
    ws__expr_fail(c, name->at, "unknown function '%s'", q.s);
    if (ws__nearest_name(&near))
        return ws__hint(c->ctx, "did you mean '%s'? functions: %s",
                        ws__nearest_name(&near), names);
    return ws__hint(c->ctx, "functions: %s", names);
}

static size_t operator_end(const char *text, size_t at)
{
    size_t e = at;

    if (isalpha((unsigned char)text[at]) || text[at] == '_') {
        while (isalnum((unsigned char)text[e]) || text[e] == '_')
            e++;
        return e;
    }
    if (!text[at])
        return at;
    return text[at + 1] == text[at] && strchr("*/<>", text[at]) ? at + 2
                                                                : at + 1;
}

static void print_operands(char *to, size_t max, const struct wsrt_operands *o)
{
    size_t n = 0;
    int k;

    to[0] = '\0';
    for (unsigned i = 0; i < o->n; i++) {
        const char *sep = i ? ", " : "";

        if (o->is_float)
            k = snprintf(to + n, max - n, "%s%.17g", sep, o->v[i].f);
        else
            k = snprintf(to + n, max - n, "%s%lld", sep, (long long)o->v[i].i);
        if (k < 0 || (size_t)k >= max - n)
            return;
        n += (size_t)k;
    }
}

int ws__expr_run_fail(struct ws_ctx *ctx, const struct ws__loc *loc,
                      const char *text, uint32_t at, int status,
                      const struct wsrt_operands *o)
{
    struct ws__loc l = ws__expr_loc(loc, text, at);
    struct ws__quote op = ws__expr_quote(text, at, operator_end(text, at));
    struct ws__quote all = ws__expr_quote(text, 0, strlen(text));
    const char *what = "value out of range", *hint = "";
    char operands[128];

    switch (status) {
    case WSRT_EVAL_OVERFLOW:
        what = "integer overflow";
        hint = "integers have 64 bits; use floats (1.0 * ...) for more";
        break;
    case WSRT_EVAL_DIV_ZERO:
        what = "division by zero";
        hint = "test the divisor first: 'd != 0 and ...'";
        break;
    case WSRT_EVAL_DOMAIN:
        hint = "shifts and integer powers need a count >= 0, log2_floor a "
               "number >= 1, floats must stay finite";
        break;
    default:
        what = "damaged code";
        break;
    }
    print_operands(operands, sizeof(operands), o);
    ws__fail_at(ctx, WS_EEXPR, &l, "%s at '%s' (operands %s) in '%s'", what,
                op.s, operands, all.s);
    return ws__hint(ctx, "%s", hint);
}
