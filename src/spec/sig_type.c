/*
 * sig_type.c: what one parameter of a kernel is.
 *
 * Object-like macros are put in place first (a file may say GLOBAL for
 * __global, or REAL for float), if all #defines of the name agree. Then
 * qualifiers are counted, stars and brackets make a pointer, and the words
 * that are left must be a type of the table: alone, with the signs of C
 * (unsigned, long, short), or a vector of one. A typedef is followed if it is
 * a plain one. All else has `trouble`, in words for a comment.
 */
#include "spec/sig_type.h"

#include <ctype.h>

#include "base/banned.h"

#define MAX_TOKENS 96
#define MAX_ROUNDS 8

/* Scalars by name; `sign`: an unsigned type of this size. */
static const struct {
    const char *name;
    enum ws__dtype dtype;
    bool sign;
} types[] = {
    {"float", WS__DT_F32, false},
    {"double", WS__DT_F64, false},
    {"half", WS__DT_F16, false},
    {"__half", WS__DT_F16, false},
    {"__fp16", WS__DT_F16, false},
    {"_Float16", WS__DT_F16, false},
    {"ws_f16", WS__DT_F16, false},
    {"__nv_bfloat16", WS__DT_BF16, false},
    {"nv_bfloat16", WS__DT_BF16, false},
    {"ws_bf16", WS__DT_BF16, false},
    {"__nv_fp8_e4m3", WS__DT_F8E4M3, false},
    {"__nv_fp8_e5m2", WS__DT_F8E5M2, false},
    {"bool", WS__DT_BOOL, false},
    {"char", WS__DT_I8, false},
    {"short", WS__DT_I16, false},
    {"int", WS__DT_I32, false},
    {"long", WS__DT_I64, false},
    {"int8_t", WS__DT_I8, false},
    {"int16_t", WS__DT_I16, false},
    {"int32_t", WS__DT_I32, false},
    {"int64_t", WS__DT_I64, false},
    {"ptrdiff_t", WS__DT_I64, false},
    {"intptr_t", WS__DT_I64, false},
    {"uchar", WS__DT_U8, false},
    {"uint8_t", WS__DT_U8, false},
    {"ushort", WS__DT_I16, true},
    {"uint", WS__DT_I32, true},
    {"ulong", WS__DT_I64, true},
    {"uint16_t", WS__DT_I16, true},
    {"uint32_t", WS__DT_I32, true},
    {"uint64_t", WS__DT_I64, true},
    {"size_t", WS__DT_I64, true},
    {"uintptr_t", WS__DT_I64, true},
};

/* Vectors whose names are not TYPEn. */
static const struct {
    const char *name;
    enum ws__dtype dtype;
} pairs[] = {
    {"__half2", WS__DT_F16},
    {"__nv_bfloat162", WS__DT_BF16},
    {"nv_bfloat162", WS__DT_BF16},
};

enum quality { NONE, DROP, CONST, SHARED, CONSTANT };

static enum quality quality_of(const struct ws__tok *t)
{
    static const struct {
        const char *name;
        enum quality q;
    } words[] = {
        {"const", CONST},
        {"__const", CONST},
        {"volatile", DROP},
        {"restrict", DROP},
        {"__restrict", DROP},
        {"__restrict__", DROP},
        {"WS_RESTRICT", DROP},
        {"__global", DROP},
        {"global", DROP},
        {"WS_GLOBAL", DROP},
        {"__grid_constant__", DROP},
        {"register", DROP},
        {"struct", DROP},
        {"typename", DROP},
        {"std", DROP},
        {"private", DROP},
        {"__private", DROP},
        {"__local", SHARED},
        {"local", SHARED},
        {"WS_SHARED", SHARED},
        {"__shared__", SHARED},
        {"__constant", CONSTANT},
        {"constant", CONSTANT},
        {"WS_CONSTANT", CONSTANT},
        {"signed", DROP},
    };

    for (size_t i = 0; i < WS_COUNT(words); i++)
        if (ws__tok_is(t, words[i].name))
            return words[i].q;
    return NONE;
}

struct param {
    struct ws__tok tok[MAX_TOKENS];
    size_t n;
    bool too_long;
};

static void append(struct param *p, const struct ws__tok *t)
{
    if (p->n == MAX_TOKENS)
        p->too_long = true;
    else
        p->tok[p->n++] = *t;
}

const char *ws__sig_words(struct ws__arena *arena, const struct ws__tok *tok,
                          size_t n)
{
    size_t bytes = 1, used = 0;
    char *out;

    for (size_t i = 0; i < n; i++)
        bytes += tok[i].n + 1;
    out = ws__arena_alloc(arena, bytes, 1);
    for (size_t i = 0; out && i < n; i++) {
        bool blank =
            i && tok[i].kind != WS__TOK_SIGN && !ws__tok_is(&tok[i - 1], "*") &&
            !ws__tok_is(&tok[i - 1], "<") && !ws__tok_is(&tok[i - 1], "(") &&
            !ws__tok_is(&tok[i - 1], "::");

        if (blank ||
            (i && (ws__tok_is(&tok[i], "*") || ws__tok_is(&tok[i], "&")) &&
             tok[i - 1].kind == WS__TOK_WORD))
            out[used++] = ' ';
        memcpy(out + used, tok[i].s, tok[i].n);
        used += tok[i].n;
    }
    return out;
}

/* --- putting macros and typedefs in place ------------------------------- */

/* The body of a macro, or of `typedef BODY name;`. */
static bool meaning(const struct ws__tokens *t, const struct ws__tok *word,
                    const struct ws__tok **out, struct ws__tok *buf, size_t *n)
{
    const struct ws__name *k = ws__tokens_find(t, word->s, word->n);
    struct ws__tok tok = {0};
    const char *p;
    uint32_t line = 0;

    *n = 0;
    /* Ours have a meaning of their own: ws_T is the op's type axis. */
    if (word->n > 3 && !memcmp(word->s, "ws_", 3))
        return false;
    if (k && k->body && !k->differs && k->body_n) {
        for (p = k->body; *n < 8 && ws__tok_next(&p, &tok, &line, true);)
            buf[(*n)++] = tok;
        *out = buf;
        return *n < 8;
    }
    if (!k || !k->typedef_n)
        return false;
    *out = &t->tok[k->typedef_at];
    *n = k->typedef_n;
    return true;
}

/* Replaces the words that mean something else; true: something was. */
static bool expand(const struct ws__tokens *t, const struct param *in,
                   struct param *out)
{
    bool changed = false;

    out->n = 0;
    out->too_long = in->too_long;
    for (size_t i = 0; i < in->n; i++) {
        struct ws__tok buf[8];
        const struct ws__tok *body = NULL;
        size_t n = 0;
        bool name = in->tok[i].kind == WS__TOK_WORD &&
                    (i + 1 < in->n || in->n == 1) &&
                    quality_of(&in->tok[i]) == NONE;

        if (!name || !meaning(t, &in->tok[i], &body, buf, &n)) {
            append(out, &in->tok[i]);
            continue;
        }
        changed = true;
        for (size_t b = 0; b < n; b++)
            append(out, &body[b]);
    }
    return changed;
}

/* --- types -------------------------------------------------------------- */

/* "float4": the type and how many. */
static bool vector_type(const struct ws__tok *t, struct ws__sig_arg *out)
{
    size_t n = t->n;
    unsigned width = 0;

    for (size_t i = 0; i < WS_COUNT(pairs); i++)
        if (ws__tok_is(t, pairs[i].name)) {
            out->dtype = pairs[i].dtype;
            out->width = 2;
            return true;
        }
    while (n && isdigit((unsigned char)t->s[n - 1]))
        n--;
    for (size_t i = n; i < t->n && width < 100; i++)
        width = 10 * width + (unsigned)(t->s[i] - '0');
    if (width != 2 && width != 3 && width != 4 && width != 8 && width != 16)
        return false;
    for (size_t i = 0; i < WS_COUNT(types); i++)
        if (strlen(types[i].name) == n && !memcmp(types[i].name, t->s, n) &&
            !strchr(types[i].name, '_')) {
            out->dtype = types[i].dtype;
            out->is_unsigned = types[i].sign;
            out->width = width;
            return true;
        }
    return false;
}

static bool named_type(const struct ws__tok *t, struct ws__sig_arg *out)
{
    for (size_t i = 0; i < WS_COUNT(types); i++)
        if (ws__tok_is(t, types[i].name)) {
            out->dtype = types[i].dtype;
            out->is_unsigned = types[i].sign;
            return true;
        }
    return vector_type(t, out);
}

/* The words of a type without qualifiers. */
static bool read_type(const struct ws__tok *word, size_t n,
                      struct ws__sig_arg *out)
{
    bool no_sign = false;
    unsigned longs = 0, shorts = 0, chars = 0, ints = 0, others = 0;

    out->width = 1;
    for (size_t i = 0; i < n; i++) {
        no_sign = no_sign || ws__tok_is(&word[i], "unsigned");
        longs += ws__tok_is(&word[i], "long");
        shorts += ws__tok_is(&word[i], "short");
        chars += ws__tok_is(&word[i], "char");
        ints += ws__tok_is(&word[i], "int");
    }
    others = (unsigned)n - no_sign - longs - shorts - chars - ints;
    if (n == 1 && !no_sign)
        return named_type(word, out);
    if (others || longs > 2 || shorts > 1 || chars > 1 || ints > 1 || !n)
        return false;
    out->dtype = longs    ? WS__DT_I64
                 : shorts ? WS__DT_I16
                 : chars  ? (no_sign ? WS__DT_U8 : WS__DT_I8)
                          : WS__DT_I32;
    out->is_unsigned = no_sign && !chars;
    return true;
}

/* --- one parameter ------------------------------------------------------ */

static bool is_type_like(const struct ws__tok *t)
{
    struct ws__sig_arg a = {0};

    return quality_of(t) != NONE || named_type(t, &a) ||
           ws__tok_is(t, "unsigned") || ws__tok_is(t, "void");
}

static int say(struct ws__arena *arena, struct ws__sig_arg *out,
               const char *before, const char *word, const char *after)
{
    out->trouble = ws__arena_printf(arena, "%s%.60s%s", before, word, after);
    return out->trouble ? 0 : WS_ENOMEM;
}

/* Drops "= value" at the end and attributes; false: it is a function pointer
 * or something like it. */
static bool strip(struct param *p)
{
    struct param q = {.n = 0};

    for (size_t i = 0; i < p->n && !ws__tok_is(&p->tok[i], "="); i++) {
        size_t depth = 0;

        if (!ws__tok_is(&p->tok[i], "__attribute__") &&
            !ws__tok_is(&p->tok[i], "__align__")) {
            append(&q, &p->tok[i]);
            continue;
        }
        while (i + 1 < p->n) {
            i++;
            depth += ws__tok_is(&p->tok[i], "(");
            depth -= ws__tok_is(&p->tok[i], ")") && depth;
            if (!depth)
                break;
        }
    }
    memcpy(p->tok, q.tok, q.n * sizeof(*q.tok));
    p->n = q.n;
    for (size_t i = 0; i < p->n; i++)
        if (ws__tok_is(&p->tok[i], "("))
            return false;
    return true;
}

/* Cuts the name off the end; brackets behind it count as a star. */
static int take_name(struct ws__arena *arena, struct param *p,
                     struct ws__sig_arg *out, unsigned *stars)
{
    size_t i = 0;

    while (i < p->n && !ws__tok_is(&p->tok[i], "["))
        i++;
    for (size_t k = i; k < p->n; k++)
        *stars += ws__tok_is(&p->tok[k], "[");
    p->n = i;
    if (!p->n)
        return 0;
    /* "const float": all of it is the type; "T": so is one word alone. */
    if (p->tok[p->n - 1].kind != WS__TOK_WORD || p->n == 1 ||
        is_type_like(&p->tok[p->n - 1]))
        return 0;
    if (ws__tok_is(&p->tok[p->n - 2], "::") ||
        ws__tok_is(&p->tok[p->n - 2], "struct"))
        return 0;
    p->n--;
    out->name = ws__arena_strndup(arena, p->tok[p->n].s, p->tok[p->n].n);
    return out->name ? 0 : WS_ENOMEM;
}

static int classify(struct ws__arena *arena, const struct param *p,
                    const struct ws__sig_entry *e, unsigned stars,
                    struct ws__sig_arg *out)
{
    struct ws__tok word[8];
    size_t n = 0;
    bool shared = false, star = false;

    for (size_t i = 0; i < p->n; i++) {
        enum quality q = quality_of(&p->tok[i]);

        shared = shared || q == SHARED;
        out->constant = out->constant || q == CONSTANT || (q == CONST && !star);
        if (ws__tok_is(&p->tok[i], "*")) {
            stars++;
            star = true;
        } else if (ws__tok_is(&p->tok[i], "&"))
            return say(arena, out, "it is a reference", "", "");
        else if (ws__tok_is(&p->tok[i], "::"))
            continue;
        else if (p->tok[i].kind != WS__TOK_WORD || n == WS_COUNT(word))
            return say(arena, out, "its type '", out->type, "' is not known");
        else if (q == NONE)
            word[n++] = p->tok[i];
    }
    if (stars > 1)
        return say(arena, out, "it is a pointer to pointers", "", "");
    out->kind = shared  ? WS__SIG_SHARED
                : stars ? WS__SIG_POINTER
                        : WS__SIG_SCALAR;
    if (read_type(word, n, out))
        return 0;
    for (size_t i = 0; e && n == 1 && i < e->ntparam; i++)
        if (ws__tok_is(&word[0], e->tparam[i])) {
            out->tparam = e->tparam[i];
            return say(arena, out, "its type is the template's '", e->tparam[i],
                       "'");
        }
    if (!stars && !shared)
        out->kind = WS__SIG_UNREAD;
    return say(arena, out, "its type '", out->type, "' is not known");
}

int ws__sig_read_arg(const struct ws__tokens *t, struct ws__arena *arena,
                     const struct ws__tok *tok, size_t n,
                     const struct ws__sig_entry *e, struct ws__sig_arg *out)
{
    struct param a = {.n = 0}, b;
    unsigned stars = 0;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < n; i++)
        append(&a, &tok[i]);
    for (int i = 0; i < MAX_ROUNDS && expand(t, &a, &b); i++)
        a = b;
    out->type = ws__sig_words(arena, tok, n < MAX_TOKENS ? n : MAX_TOKENS);
    if (!out->type)
        return WS_ENOMEM;
    if (a.too_long)
        return say(arena, out, "it is too long", "", "");
    if (!strip(&a))
        return say(arena, out,
                   "it is a pointer to a function, or a macro "
                   "with arguments",
                   "", "");
    WS_TRY(take_name(arena, &a, out, &stars));
    return classify(arena, &a, e, stars, out);
}

int ws__sig_read_type(struct ws_ctx *ctx, struct ws__arena *arena,
                      const char *type, struct ws__sig_arg *out)
{
    struct ws__tokens none = {.ctx = ctx, .arena = arena};
    struct ws__tok tok[MAX_TOKENS];
    const char *p = type;
    uint32_t line = 1;
    size_t n = 0;

    while (n < MAX_TOKENS && ws__tok_next(&p, &tok[n], &line, true))
        n++;
    return ws__sig_read_arg(&none, arena, tok, n, NULL, out);
}
