/*
 * expr_lex.c: text to tokens, one at a time.
 *
 * Whitespace, line ends included, only separates. What other languages would
 * write and this one does not have (=, ?:, ++, 10L, 010, comments) is
 * recognised just well enough to say what to write instead.
 */
#include <ctype.h>

#include "expr/expr_ast.h"

#include "base/banned.h"

static const struct {
    const char *text;
    enum ws__tok_kind kind;
} keyword[] = {
    {"or", WS__T_OR},       {"and", WS__T_AND},     {"not", WS__T_NOT},
    {"in", WS__T_IN},       {"if", WS__T_IF},       {"else", WS__T_ELSE},
    {"for", WS__T_FOR},     {"True", WS__T_TRUE},   {"true", WS__T_TRUE},
    {"False", WS__T_FALSE}, {"false", WS__T_FALSE},
};

/* Longer ones first. */
static const struct {
    const char *text;
    enum ws__tok_kind kind;
} symbol[] = {
    {"**", WS__T_POWER},   {"//", WS__T_FLOOR},   {"<<", WS__T_SHL},
    {">>", WS__T_SHR},     {"<=", WS__T_LE},      {">=", WS__T_GE},
    {"==", WS__T_EQ},      {"!=", WS__T_NE},      {"||", WS__T_OROR},
    {"&&", WS__T_ANDAND},  {"(", WS__T_LPAR},     {")", WS__T_RPAR},
    {"[", WS__T_LBRACKET}, {"]", WS__T_RBRACKET}, {",", WS__T_COMMA},
    {"!", WS__T_BANG},     {"<", WS__T_LT},       {">", WS__T_GT},
    {"+", WS__T_PLUS},     {"-", WS__T_MINUS},    {"*", WS__T_STAR},
    {"/", WS__T_SLASH},    {"%", WS__T_PERCENT},  {"|", WS__T_PIPE},
    {"^", WS__T_CARET},    {"&", WS__T_AMP},      {"~", WS__T_TILDE},
};

static const char *const fn_name[WS__NFN] = {
    [WS__FN_MIN] = "min",
    [WS__FN_MAX] = "max",
    [WS__FN_ABS] = "abs",
    [WS__FN_CEIL_DIV] = "ceil_div",
    [WS__FN_ROUND_UP] = "round_up",
    [WS__FN_IS_POW2] = "is_pow2",
    [WS__FN_LOG2_FLOOR] = "log2_floor",
    [WS__FN_CLAMP] = "clamp",
    [WS__FN_INT] = "int",
    [WS__FN_FLOAT] = "float",
    [WS__FN_BOOL] = "bool",
    [WS__FN_LEN] = "len",
    [WS__FN_SUM] = "sum",
    [WS__FN_ANY] = "any",
    [WS__FN_ALL] = "all",
    [WS__FN_RANGE] = "range",
    [WS__FN_LIST] = "list",
};

const char *ws__fn_name(enum ws__fn fn)
{
    return fn_name[fn];
}

int ws__fn_find(const char *s, size_t n)
{
    for (int i = 0; i < WS__NFN; i++)
        if (strlen(fn_name[i]) == n && !memcmp(fn_name[i], s, n))
            return i;
    return -1;
}

static int find_keyword(const char *s, size_t n)
{
    for (size_t i = 0; i < WS_COUNT(keyword); i++)
        if (strlen(keyword[i].text) == n && !memcmp(keyword[i].text, s, n))
            return (int)keyword[i].kind;
    return -1;
}

bool ws__lex_is_keyword(const char *s, size_t n)
{
    return find_keyword(s, n) >= 0;
}

static bool is_word(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_';
}

static int bad_number(struct ws__ec *c, size_t end, const char *what,
                      const char *hint)
{
    while (is_word(c->text[end]) || c->text[end] == '.')
        end++;
    ws__expr_fail(c, c->tok.at, "%s '%s'", what,
                  ws__expr_quote(c->text, c->tok.at, end).s);
    return ws__hint(c->ctx, "%s", hint);
}

static int digit_value(char ch)
{
    if (ch >= '0' && ch <= '9')
        return ch - '0';
    ch = (char)tolower((unsigned char)ch);
    return ch >= 'a' && ch <= 'z' ? ch - 'a' + 10 : 99;
}

static int lex_int(struct ws__ec *c, size_t begin, size_t end, int base)
{
    uint64_t v = 0, max = (uint64_t)1 << 63;

    for (size_t i = begin; i < end; i++) {
        uint64_t d = (uint64_t)digit_value(c->text[i]);

        if (v > (max - d) / (uint64_t)base)
            return bad_number(c, end, "number does not fit 64 bits:",
                              "the largest integer is 9223372036854775807; "
                              "a float is written 1e20");
        v = v * (uint64_t)base + d;
    }
    c->tok.kind = WS__T_INT;
    c->tok.min_int = v == max;
    c->tok.v.i = v == max ? INT64_MIN : (int64_t)v;
    c->tok.end = c->pos = (uint32_t)end;
    return 0;
}

static int lex_based(struct ws__ec *c, int base)
{
    size_t begin = c->pos + 2, end = begin;

    while (digit_value(c->text[end]) < base)
        end++;
    if (end == begin || is_word(c->text[end]))
        return bad_number(c, end, "not a number:",
                          "0x takes 0-9 a-f, 0b takes 0 1, 0o takes 0-7; no "
                          "suffixes");
    return lex_int(c, begin, end, base);
}

static int lex_number(struct ws__ec *c)
{
    const char *t = c->text;
    size_t b = c->pos, e = b, f;
    bool is_float = false;

    if (t[b] == '0' && t[b + 1] && strchr("xXbBoO", t[b + 1]))
        return lex_based(c, strchr("xX", t[b + 1])   ? 16
                            : strchr("bB", t[b + 1]) ? 2
                                                     : 8);
    while (isdigit((unsigned char)t[e]))
        e++;
    if (t[e] == '.') {
        is_float = true;
        for (e++; isdigit((unsigned char)t[e]);)
            e++;
    }
    if (t[e] == 'e' || t[e] == 'E') {
        f = e + 1 + (t[e + 1] == '+' || t[e + 1] == '-');
        if (isdigit((unsigned char)t[f])) {
            is_float = true;
            for (e = f; isdigit((unsigned char)t[e]);)
                e++;
        }
    }
    if (is_word(t[e]))
        return bad_number(c, e, "not a number:",
                          "numbers have no suffix, names do not begin with a "
                          "digit");
    if (!is_float) {
        if (e - b > 1 && t[b] == '0')
            return bad_number(c, e, "number with a leading zero:",
                              "write it without, or octal as 0o17");
        return lex_int(c, b, e, 10);
    }
    if (ws__number_parse(t + b, e - b, &c->tok.v.f) != 0)
        return bad_number(c, e, "number is too large:",
                          "the largest float is about 1.79e308");
    c->tok.kind = WS__T_FLOAT;
    c->tok.end = c->pos = (uint32_t)e;
    return 0;
}

static int lex_escape(struct ws__ec *c, size_t *i, char *out)
{
    static const char from[] = "\\'\"ntr", to[] = "\\'\"\n\t\r";
    const char *t = c->text, *p;

    ++*i;
    p = t[*i] ? strchr(from, t[*i]) : NULL;
    if (p) {
        *out = to[p - from];
        return 0;
    }
    if (t[*i] == 'x' && digit_value(t[*i + 1]) < 16 &&
        digit_value(t[*i + 2]) < 16) {
        *out = (char)(digit_value(t[*i + 1]) * 16 + digit_value(t[*i + 2]));
        *i += 2;
        if (*out)
            return 0;
    }
    ws__expr_fail(c, (uint32_t)(*i - 1), "unknown escape '\\%.1s'", t + *i);
    return ws__hint(c->ctx, "known: \\\\ \\' \\\" \\n \\t \\r \\x41");
}

static int lex_string(struct ws__ec *c)
{
    const char *t = c->text;
    size_t i = c->pos + 1, n = 0;
    char quote = t[c->pos], *s;

    while (t[i] && t[i] != quote)
        i += t[i] == '\\' && t[i + 1] ? 2 : 1;
    if (!t[i]) {
        ws__expr_fail(c, c->pos, "text without an end: %s",
                      ws__expr_quote(t, c->pos, i).s);
        return ws__hint(c->ctx, "close it with %c", quote);
    }
    s = ws__arena_alloc(c->scratch, i - c->pos, 1);
    if (!s)
        return WS_ENOMEM;
    for (i = c->pos + 1; t[i] != quote; i++) {
        s[n] = t[i];
        if (t[i] == '\\')
            WS_TRY(lex_escape(c, &i, &s[n]));
        n++;
    }
    c->tok.kind = WS__T_STR;
    c->tok.s = s;
    c->tok.end = c->pos = (uint32_t)i + 1;
    return 0;
}

static int lex_word(struct ws__ec *c)
{
    size_t e = c->pos;
    int k;

    while (is_word(c->text[e]))
        e++;
    k = find_keyword(c->text + c->pos, e - c->pos);
    c->tok.kind = k < 0 ? WS__T_NAME : (enum ws__tok_kind)k;
    c->tok.end = (uint32_t)e;
    if (k < 0) {
        c->tok.s = ws__arena_strndup(c->scratch, c->text + c->pos, e - c->pos);
        if (!c->tok.s)
            return WS_ENOMEM;
    }
    c->pos = (uint32_t)e;
    return 0;
}

static int bad_char(struct ws__ec *c)
{
    static const struct {
        char ch;
        const char *hint;
    } known[] = {
        {'=', "did you mean '=='?"},
        {'?', "write: value if condition else other"},
        {':', "write: value if condition else other"},
        {'#', "comments cannot stand inside an expression"},
        {';', "one expression only; several conditions are joined by 'and'"},
        {'{', "lists are written with [ ]"},
        {'}', "lists are written with [ ]"},
        {'$', "names are written without $"},
    };
    size_t e = c->pos + 1;
    char ch = c->text[c->pos];

    while (((unsigned char)c->text[e] & 0xc0) == 0x80)
        e++;
    ws__expr_fail(c, c->pos, "unexpected '%s'",
                  ws__expr_quote(c->text, c->pos, e).s);
    for (size_t i = 0; i < WS_COUNT(known); i++)
        if (known[i].ch == ch)
            return ws__hint(c->ctx, "%s", known[i].hint);
    return ws__hint(c->ctx, "an expression is made of numbers, names, "
                            "operators and function calls");
}

int ws__lex(struct ws__ec *c)
{
    const char *t = c->text;

    c->prev_end = c->tok.end;
    while (t[c->pos] && strchr(" \t\r\n", t[c->pos]))
        c->pos++;
    memset(&c->tok, 0, sizeof(c->tok));
    c->tok.at = c->tok.end = c->pos;
    if (!t[c->pos]) {
        c->tok.kind = WS__T_END;
        return 0;
    }
    if (isdigit((unsigned char)t[c->pos]) ||
        (t[c->pos] == '.' && isdigit((unsigned char)t[c->pos + 1])))
        return lex_number(c);
    if (t[c->pos] == '\'' || t[c->pos] == '"')
        return lex_string(c);
    if (is_word(t[c->pos]))
        return lex_word(c);
    for (size_t i = 0; i < WS_COUNT(symbol); i++) {
        size_t n = strlen(symbol[i].text);

        if (!strncmp(t + c->pos, symbol[i].text, n)) {
            c->tok.kind = symbol[i].kind;
            c->tok.end = c->pos += (uint32_t)n;
            return 0;
        }
    }
    return bad_char(c);
}
