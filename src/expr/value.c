/*
 * value.c: values of specifications: compare, print, intern; and numbers in
 * text, which the C library reads and writes in the style of the locale: the
 * decimal point is put right here, so that a host program's locale never
 * changes what an expression means.
 */
#include <ctype.h>
#include <locale.h>
#include <math.h>

#include "expr/expr_ast.h"

#include "base/banned.h"

const char *ws__type_name(enum ws__type t)
{
    static const char *const name[] = {
        [WS__INT] = "int",
        [WS__FLOAT] = "float",
        [WS__BOOL] = "bool",
        [WS__STR] = "str",
    };

    return name[t];
}

/* int against float without rounding the int */
static bool int_eq_float(int64_t i, double f)
{
    return f >= -0x1p63 && f < 0x1p63 && (double)(int64_t)f == f &&
           (int64_t)f == i;
}

bool ws__value_eq(const struct ws__value *a, const struct ws__value *b)
{
    if (a->type == WS__STR || b->type == WS__STR)
        return a->type == b->type && !strcmp(a->u.s, b->u.s);
    if (a->type == WS__FLOAT && b->type == WS__FLOAT)
        return a->u.f == b->u.f;
    if (a->type == WS__FLOAT)
        return int_eq_float(b->u.i, a->u.f);
    if (b->type == WS__FLOAT)
        return int_eq_float(a->u.i, b->u.f);
    return a->u.i == b->u.i;
}

int ws__number_parse(const char *s, size_t n, double *out)
{
    const char *point = localeconv()->decimal_point;
    char buf[512];
    size_t len = 0, np = strlen(point);

    for (size_t i = 0; i < n; i++) {
        if (len + np + 1 >= sizeof(buf))
            return -1;
        if (s[i] == '.') {
            memcpy(buf + len, point, np);
            len += np;
        } else {
            buf[len++] = s[i];
        }
    }
    buf[len] = '\0';
    *out = strtod(buf, NULL);
    return isfinite(*out) ? 0 : -1;
}

/* The shortest digits that read back as the same value. */
static int print_float(struct ws__buf *b, double f)
{
    const char *point = localeconv()->decimal_point;
    char text[64], *p;
    size_t np = strlen(point);

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, f);
        if (strtod(text, NULL) == f)
            break;
    }
    p = strstr(text, point);
    if (p) {
        *p = '.';
        memmove(p + 1, p + np, strlen(p + np) + 1);
    }
    WS_TRY(ws__buf_puts(b, text));
    /* "3" would read back as an integer. */
    return strpbrk(text, ".en") ? 0 : ws__buf_puts(b, ".0");
}

static bool is_bare(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    for (const char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return false;
    return !ws__lex_is_keyword(s, strlen(s));
}

static int print_text(struct ws__buf *b, const char *s)
{
    if (is_bare(s))
        return ws__buf_puts(b, s);
    ws__buf_puts(b, "'");
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            ws__buf_printf(b, "\\%c", *s);
        else if ((unsigned char)*s < ' ' || *s == 0x7f)
            ws__buf_printf(b, "\\x%02x", (unsigned)(unsigned char)*s);
        else
            ws__buf_add(b, s, 1);
    }
    return ws__buf_puts(b, "'");
}

int ws__value_print(struct ws__buf *b, const struct ws__value *v)
{
    switch (v->type) {
    case WS__INT:
        return ws__buf_printf(b, "%lld", (long long)v->u.i);
    case WS__FLOAT:
        return print_float(b, v->u.f);
    case WS__BOOL:
        return ws__buf_puts(b, v->u.i ? "true" : "false");
    case WS__STR:
        break;
    }
    return print_text(b, v->u.s);
}

int ws__strtab_id(struct ws__strtab *t, const char *s, int64_t *id)
{
    char *copy;

    for (size_t i = 0; i < t->n; i++) {
        if (!strcmp(t->text[i], s)) {
            *id = (int64_t)i;
            return 0;
        }
    }
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 8;
        const char **text = ws__arena_alloc(t->arena, cap, sizeof(*text));

        if (!text)
            return WS_ENOMEM;
        if (t->n)
            memcpy(text, t->text, t->n * sizeof(*text));
        t->text = text;
        t->cap = cap;
    }
    copy = ws__arena_strdup(t->arena, s);
    if (!copy)
        return WS_ENOMEM;
    t->text[t->n] = copy;
    *id = (int64_t)t->n++;
    return 0;
}

int ws__value_slot(struct ws__strtab *t, const struct ws__value *v,
                   union wsrt_value *out)
{
    if (v->type == WS__STR)
        return ws__strtab_id(t, v->u.s, &out->i);
    if (v->type == WS__FLOAT)
        out->f = v->u.f;
    else
        out->i = v->u.i;
    return 0;
}
