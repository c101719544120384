/*
 * node_read.c: typed readers of nodes, the half of loading that talks to
 * people.
 *
 * Messages have one form: what is wrong first, the offending text quoted,
 * then a hint that says what would be right. `what` arguments are short
 * descriptions such as "the range of axis 'M'"; they are formatted by the
 * caller only where a name must appear, so that the good path costs nothing.
 */
#include "spec/node.h"

#include <ctype.h>

#include "core/decimal.h"
#include "core/dtype.h"
#include "base/names.h"

#include "base/banned.h"

#define MAX_NAME 63

static const char *const kinds[] = {[WS__SCALAR] = "a single value",
                                    [WS__LIST] = "a list",
                                    [WS__MAP] = "a map"};

int ws__node_fail(struct ws_ctx *ctx, const struct ws__node *n, const char *fmt,
                  ...)
{
    char text[sizeof(ctx->err.message)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return ws__fail_at(ctx, WS_ESPEC, &n->loc, "%s", text);
}

const struct ws__node *ws__node_get(const struct ws__node *map, const char *key)
{
    for (const struct ws__node *c = map->first; c; c = c->next)
        if (c->key && !strcmp(c->key, key))
            return c;
    return NULL;
}

int ws__node_need(struct ws_ctx *ctx, const struct ws__node *map,
                  const char *key, const char *what,
                  const struct ws__node **out)
{
    *out = ws__node_get(map, key);
    if (*out)
        return 0;
    ws__node_fail(ctx, map, "%s has no '%s'", what, key);
    return ws__hint(ctx, "add a line '%s: ...'", key);
}

/* Copies the next word of `words` into out; returns the rest, NULL at the
 * end. */
static const char *next_word(const char *words, char *out, size_t n)
{
    size_t len;

    while (*words == ' ')
        words++;
    len = strcspn(words, " ");
    if (!len)
        return NULL;
    snprintf(out, n, "%.*s", (int)len, words);
    return words + len;
}

static int word_index(const char *text, const char *words)
{
    char word[64];

    for (int i = 0; (words = next_word(words, word, sizeof(word))); i++)
        if (!strcmp(word, text))
            return i;
    return -1;
}

int ws__hint_words(struct ws_ctx *ctx, const char *text, const char *words,
                   const char *label)
{
    char word[64], best[64] = "";
    const char *rest = words;
    size_t distance = strlen(text) / 3;

    distance = (distance ? distance : 1) + 1;
    while ((rest = next_word(rest, word, sizeof(word)))) {
        size_t d = ws__name_distance(text, word);

        if (d < distance) {
            distance = d;
            memcpy(best, word, sizeof(best));
        }
    }
    if (*best)
        return ws__hint(ctx, "did you mean '%s'?", best);
    return ws__hint(ctx, "%s: %s", label, words);
}

int ws__node_want(struct ws_ctx *ctx, const struct ws__node *n,
                  enum ws__node_kind kind, const char *what)
{
    if (n->kind == kind && (kind != WS__SCALAR || n->quoted || *n->text))
        return 0;
    if (n->kind == WS__SCALAR && !n->quoted && !*n->text) {
        ws__fail_at(ctx, WS_ESPEC, n->key ? &n->key_loc : &n->loc,
                    "'%s' has no value", n->key ? n->key : "this item");
        return ws__hint(ctx, "%s is wanted", what);
    }
    if (n->kind == WS__SCALAR)
        ws__node_fail(ctx, n, "'%s' is a single value", n->text);
    else if (n->key)
        ws__node_fail(ctx, n, "'%s' is %s", n->key, kinds[n->kind]);
    else
        ws__node_fail(ctx, n, "this is %s", kinds[n->kind]);
    return ws__hint(ctx, "%s is wanted", what);
}

int ws__node_keys(struct ws_ctx *ctx, const struct ws__node *map,
                  const char *keys, const char *what)
{
    char wanted[200];

    snprintf(wanted, sizeof(wanted), "a map for %s", what);
    WS_TRY(ws__node_want(ctx, map, WS__MAP, wanted));
    for (const struct ws__node *c = map->first; c; c = c->next)
        if (word_index(c->key, keys) < 0) {
            ws__fail_at(ctx, WS_ESPEC, &c->key_loc, "unknown key '%s' in %s",
                        c->key, what);
            return ws__hint_words(ctx, c->key, keys, "its keys");
        }
    return 0;
}

int ws__node_str(struct ws_ctx *ctx, const struct ws__node *n, const char *what,
                 const char **out)
{
    WS_TRY(ws__node_want(ctx, n, WS__SCALAR, what));
    *out = n->text;
    return 0;
}

int ws__node_int(struct ws_ctx *ctx, const struct ws__node *n, const char *what,
                 int64_t lo, int64_t hi, int64_t *out)
{
    WS_TRY(ws__node_want(ctx, n, WS__SCALAR, what));
    if (n->quoted || !ws__integer_parse(n->text, out)) {
        ws__node_fail(ctx, n, "'%s' is not a whole number", n->text);
        return ws__hint(ctx,
                        n->quoted ? "%s: leave out the quotes"
                                  : "%s is a whole number",
                        what);
    }
    if (*out >= lo && *out <= hi)
        return 0;
    ws__node_fail(ctx, n, "%s cannot be %s", what, n->text);
    return ws__hint(ctx, "it lies in %lld..%lld", (long long)lo, (long long)hi);
}

int ws__node_float(struct ws_ctx *ctx, const struct ws__node *n,
                   const char *what, double *out)
{
    WS_TRY(ws__node_want(ctx, n, WS__SCALAR, what));
    if (!n->quoted && ws__decimal_parse(n->text, out))
        return 0;
    ws__node_fail(ctx, n, "'%s' is not a number", n->text);
    return ws__hint(ctx, "%s is a number such as 0.5 or 1e-3", what);
}

int ws__node_bool(struct ws_ctx *ctx, const struct ws__node *n,
                  const char *what, bool *out)
{
    WS_TRY(ws__node_want(ctx, n, WS__SCALAR, what));
    *out = !strcmp(n->text, "true");
    if (!n->quoted && (*out || !strcmp(n->text, "false")))
        return 0;
    ws__node_fail(ctx, n, "'%s' is neither true nor false", n->text);
    return ws__hint(ctx, "%s is true or false", what);
}

int ws__node_range(struct ws_ctx *ctx, const struct ws__node *n,
                   const char *what, int64_t *lo, int64_t *hi)
{
    WS_TRY(ws__node_want(ctx, n, WS__LIST, "a range [lowest, highest]"));
    if (n->n != 2) {
        ws__node_fail(ctx, n, "%s has %zu numbers, not 2", what, n->n);
        return ws__hint(ctx, "write [lowest, highest]");
    }
    WS_TRY(ws__node_int(ctx, n->first, what, 1, (int64_t)1 << 40, lo));
    WS_TRY(ws__node_int(ctx, n->last, what, 1, (int64_t)1 << 40, hi));
    if (*lo <= *hi)
        return 0;
    ws__node_fail(ctx, n, "%s is empty: %lld is above %lld", what,
                  (long long)*lo, (long long)*hi);
    return ws__hint(ctx, "write [lowest, highest]");
}

int ws__node_value(struct ws_ctx *ctx, const struct ws__node *n,
                   struct ws__value *out)
{
    const char *s = n->text;

    WS_TRY(ws__node_want(ctx, n, WS__SCALAR, "a number, a word or a bool"));
    out->type = WS__STR;
    out->u.s = s;
    if (n->quoted)
        return 0;
    if (!strcmp(s, "true") || !strcmp(s, "True") || !strcmp(s, "false") ||
        !strcmp(s, "False")) {
        out->type = WS__BOOL;
        out->u.i = *s == 't' || *s == 'T';
    } else if (ws__integer_parse(s, &out->u.i)) {
        out->type = WS__INT;
    } else if (ws__decimal_parse(s, &out->u.f)) {
        out->type = WS__FLOAT;
    } else {
        out->u.s = s;
        if (!strcmp(s, "null") || !strcmp(s, "~")) {
            ws__node_fail(ctx, n, "'%s' is no value", s);
            return ws__hint(ctx, "quote it if it is meant as a text");
        }
    }
    return 0;
}

static int check_letters(struct ws_ctx *ctx, const char *text,
                         const struct ws__loc *loc, const char *what,
                         const char *more)
{
    bool ok = isalpha((unsigned char)*text) || *text == '_';

    for (const char *s = text; ok && *s; s++)
        ok = isalnum((unsigned char)*s) || *s == '_' || strchr(more, *s);
    if (ok && strlen(text) <= MAX_NAME)
        return 0;
    ws__fail_at(ctx, WS_ESPEC, loc, "'%.80s' is not a name for %s", text, what);
    return ws__hint(ctx,
                    "a name has letters, digits and '_'%s, begins with no "
                    "digit and is at most %d long",
                    *more ? ", '-' and '.'" : "", MAX_NAME);
}

int ws__node_identifier(struct ws_ctx *ctx, const char *text,
                        const struct ws__loc *loc, const char *what)
{
    return check_letters(ctx, text, loc, what, "");
}

int ws__node_title(struct ws_ctx *ctx, const char *text,
                   const struct ws__loc *loc, const char *what)
{
    return check_letters(ctx, text, loc, what, "-.");
}

int ws__node_variable(struct ws_ctx *ctx, const char *text,
                      const struct ws__loc *loc, const char *what, bool words)
{
    static const char reserved[] =
        "and or not in if else for True False true false min max abs "
        "ceil_div round_up is_pow2 log2_floor clamp int float bool len range "
        "list sum any all";

    WS_TRY(ws__node_identifier(ctx, text, loc, what));
    if (words && ws__dtype_parse(text) != WS__DT_NONE) {
        ws__fail_at(ctx, WS_ESPEC, loc, "'%s' cannot name %s", text, what);
        return ws__hint(ctx, "it is an element type; take another");
    }
    if (word_index(text, reserved) >= 0 || !strncmp(text, "device_", 7)) {
        ws__fail_at(ctx, WS_ESPEC, loc, "'%s' cannot name %s", text, what);
        return ws__hint(ctx, "it has a meaning in expressions; take another");
    }
    return 0;
}

void ws__node_words(struct ws__scope *s)
{
    static const struct ws__word types[] = {
#define WS_X(code, name, text, bytes, eps) {text, code},
        WS__DTYPE_MAP(WS_X)
#undef WS_X
    };

    s->word = types;
    s->nword = WS_COUNT(types);
}

size_t ws__utf8(const char *text, size_t left, uint32_t *out)
{
    const unsigned char *s = (const unsigned char *)text;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *s < 0x80             ? 1
               : (*s & 0xe0) == 0xc0 ? 2
               : (*s & 0xf0) == 0xe0 ? 3
               : (*s & 0xf8) == 0xf0 ? 4
                                     : 0;
    uint32_t c = n == 1 ? *s : *s & (0x7fu >> n);

    if (!n || n > left)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    *out = c;
    return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

/* Also what breaks lines or turns the direction of writing. */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

int ws__node_printable(struct ws_ctx *ctx, const struct ws__node *n,
                       const char *what, const char **out)
{
    WS_TRY(ws__node_str(ctx, n, what, out));
    for (const char *s = *out; *s;) {
        uint32_t c = 0;
        size_t len = ws__utf8(s, strlen(s), &c);

        if (!len || is_control(c)) {
            ws__node_fail(ctx, n, "%s has a control character behind '%.*s'",
                          what, (int)(s - *out), *out);
            return ws__hint(ctx, "write one line of plain text");
        }
        s += len;
    }
    if (**out)
        return 0;
    ws__node_fail(ctx, n, "%s is empty", what);
    return ws__hint(ctx, "leave it out, or say something");
}

int ws__node_word(struct ws_ctx *ctx, const struct ws__node *n,
                  const char *what, const char *words, int *out)
{
    WS_TRY(ws__node_want(ctx, n, WS__SCALAR, what));
    *out = word_index(n->text, words);
    if (*out >= 0)
        return 0;
    ws__node_fail(ctx, n, "'%s' is not %s", n->text, what);
    return ws__hint_words(ctx, n->text, words, "known are");
}

/* Inside [ ] a comma ends a plain text: "ceil_div(M, 8)" becomes two. */
static bool cut_at_comma(const struct ws__node *n)
{
    int open = 0;

    for (const char *s = n->text; !n->quoted && *s; s++)
        open += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
    return open != 0;
}

int ws__node_expr(struct ws_ctx *ctx, struct ws__arena *arena,
                  const struct ws__node *n, const struct ws__scope *scope,
                  int want, struct ws__expr **out)
{
    int rc;

    WS_TRY(ws__node_want(ctx, n, WS__SCALAR, "an expression"));
    rc = ws__expr_compile(ctx, arena, n->text, &n->loc, scope, want, out);
    if (rc == WS_EEXPR && cut_at_comma(n))
        return ws__hint(ctx, "an expression with a comma inside of [ ] or "
                             "{ } needs quotes");
    return rc;
}
