/*
 * sig_token.c: a kernel's source as tokens, and the names in it.
 *
 * First the text is flattened as a C compiler would: joined lines become one,
 * comments a blank; the newlines that this removes follow at the end of the
 * logical line, so that lines keep their numbers. Then it is cut into words,
 * numbers, literals and signs. Directives are no tokens: they say what names
 * mean. No #if is evaluated; all branches are read, for which of them counts
 * is what a parameter decides.
 *
 * Nothing here fails on bad text: a literal ends with its line, a comment with
 * the file. Work and memory are linear in the text.
 */
#include "spec/sig_token.h"

#include <ctype.h>

#include "base/banned.h"

#define MAX_TOKENS ((size_t)1 << 21)
#define MAX_NESTED 64

/* --- flattening --------------------------------------------------------- */

struct flat {
    const char *p;
    char *to;
    size_t pending; /* newlines owed */
};

/* Skips joined lines; the character that a compiler sees next. */
static char look(struct flat *f)
{
    while (*f->p == '\\') {
        size_t n = 1 + strspn(f->p + 1, " \t\v\f\r");

        if (f->p[n] != '\n')
            break;
        f->p += n + 1;
        f->pending++;
    }
    return *f->p;
}

static char take(struct flat *f)
{
    char c = look(f);

    f->p += c != '\0';
    return c;
}

static void newline(struct flat *f)
{
    do
        *f->to++ = '\n';
    while (f->pending && f->pending--);
}

static void comment(struct flat *f)
{
    bool line = take(f) == '/';
    char c;

    *f->to++ = ' ';
    while ((c = look(f)) != '\0' && !(line && c == '\n')) {
        take(f);
        f->pending += c == '\n';
        if (!line && c == '*' && look(f) == '/') {
            take(f);
            return;
        }
    }
}

static void literal(struct flat *f, char quote)
{
    char c;

    while ((c = look(f)) != '\0' && c != '\n') {
        *f->to++ = take(f);
        if (c == quote)
            return;
        if (c == '\\' && look(f) && look(f) != '\n')
            *f->to++ = take(f);
    }
}

static char *flatten(struct ws__arena *a, const char *text)
{
    size_t n = strlen(text);
    char *out = ws__arena_alloc(a, n + 2, 1);
    struct flat f = {text, out, 0};
    char c;

    if (!out)
        return NULL;
    while ((c = take(&f)) != '\0') {
        if (c == '\n') {
            newline(&f);
        } else if (c == '/' && (look(&f) == '/' || look(&f) == '*')) {
            comment(&f);
        } else if (c != '\r') {
            *f.to++ = c;
            if (c == '"' || c == '\'')
                literal(&f, c);
        }
    }
    *f.to = '\0';
    return out;
}

/* --- tokens ------------------------------------------------------------- */

static bool word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static size_t literal_bytes(const char *p)
{
    size_t n = 1;

    while (p[n] && p[n] != '\n' && p[n] != *p)
        n += p[n] == '\\' && p[n + 1] && p[n + 1] != '\n' ? 2 : 1;
    return n + (p[n] == *p);
}

bool ws__tok_next(const char **at, struct ws__tok *out, uint32_t *line,
                  bool one_line)
{
    const char *p = *at;
    size_t n = 1;

    while (isspace((unsigned char)*p) && !(one_line && *p == '\n'))
        *line += *p++ == '\n';
    *at = p;
    if (!*p || *p == '\n')
        return false;
    out->kind = WS__TOK_SIGN;
    if (isdigit((unsigned char)*p)) {
        out->kind = WS__TOK_NUMBER;
        while (word_part(p[n]) || p[n] == '.')
            n++;
    } else if (word_part(*p)) {
        out->kind = WS__TOK_WORD;
        while (word_part(p[n]))
            n++;
    } else if (*p == '"' || *p == '\'') {
        out->kind = WS__TOK_TEXT;
        n = literal_bytes(p);
    } else if (p[1] == '=' && strchr("=!<>+-*/%&|^", *p)) {
        n = 2;
    } else if ((p[0] == p[1] && strchr("&|+-:", *p)) ||
               (p[0] == '-' && p[1] == '>')) {
        n = 2;
    }
    out->s = p;
    out->n = (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX);
    out->line = *line;
    *at = p + n;
    return true;
}

bool ws__tok_is(const struct ws__tok *t, const char *word)
{
    return strlen(word) == t->n && !memcmp(t->s, word, t->n);
}

static int push(struct ws__tokens *t, const struct ws__tok *tok)
{
    void *items = t->tok;

    if (t->n == MAX_TOKENS) {
        t->cut = true;
        return 0;
    }
    WS_TRY(ws__grow(t->ctx, &items, &t->cap, t->n, sizeof(*t->tok)));
    t->tok = items;
    t->tok[t->n++] = *tok;
    return 0;
}

/* --- names -------------------------------------------------------------- */

static size_t slot_of(const struct ws__tokens *t, const char *s, size_t n)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 1099511628211u;
    for (size_t at = (size_t)h;; at++) {
        const struct ws__name *k;

        at &= t->ntable - 1;
        if (!t->table[at])
            return at;
        k = &t->name[t->table[at] - 1];
        if (k->n == n && !memcmp(k->s, s, n))
            return at;
    }
}

struct ws__name *ws__tokens_find(const struct ws__tokens *t, const char *s,
                                 size_t n)
{
    uint32_t i = t->ntable ? t->table[slot_of(t, s, n)] : 0;

    return i ? &t->name[i - 1] : NULL;
}

static int widen(struct ws__tokens *t)
{
    size_t n = t->ntable ? 2 * t->ntable : 256;
    uint32_t *table = ws__alloc(t->ctx, n, sizeof(*table));

    if (!table)
        return WS_ENOMEM;
    ws__free(t->ctx, t->table);
    t->table = table;
    t->ntable = n;
    for (size_t i = 0; i < t->nname; i++)
        table[slot_of(t, t->name[i].s, t->name[i].n)] = (uint32_t)i + 1;
    return 0;
}

static int know(struct ws__tokens *t, const struct ws__tok *tok,
                struct ws__name **out)
{
    void *items = t->name;

    *out = ws__tokens_find(t, tok->s, tok->n);
    if (*out)
        return 0;
    if (2 * t->nname >= t->ntable)
        WS_TRY(widen(t));
    WS_TRY(ws__grow(t->ctx, &items, &t->name_cap, t->nname, sizeof(*t->name)));
    t->name = items;
    t->table[slot_of(t, tok->s, tok->n)] = (uint32_t)t->nname + 1;
    *out = &t->name[t->nname++];
    memset(*out, 0, sizeof(**out));
    (*out)->s = tok->s;
    (*out)->n = tok->n;
    return 0;
}

static void use(struct ws__name *k, const struct ws__tok *tok)
{
    if (!tok->own)
        return;
    if (!k->used || !k->line)
        k->line = tok->line;
    k->used = true;
}

/* --- directives --------------------------------------------------------- */

struct directive {
    struct ws__tokens *t;
    const char *p;
    uint32_t *line;
    bool *own;
    /* the names of the #ifndef around, by depth */
    struct ws__tok guard[MAX_NESTED];
    size_t depth;
};

static bool next(struct directive *d, struct ws__tok *out)
{
    out->own = *d->own;
    return ws__tok_next(&d->p, out, d->line, true);
}

static bool same(const struct ws__tok *a, const struct ws__tok *b)
{
    return a->n == b->n && a->s && !memcmp(a->s, b->s, a->n);
}

/* Words of a macro's body are uses, but for the macro's own arguments. */
static int read_body(struct directive *d, const struct ws__tok *arg,
                     size_t narg)
{
    struct ws__tok tok;

    while (next(d, &tok)) {
        struct ws__name *k;
        bool own = false;

        if (tok.kind != WS__TOK_WORD)
            continue;
        for (size_t i = 0; i < narg; i++)
            own = own || same(&arg[i], &tok);
        if (own)
            continue;
        WS_TRY(know(d->t, &tok, &k));
        use(k, &tok);
        if (tok.own &&
            (ws__tok_is(&tok, "__kernel") || ws__tok_is(&tok, "__global__")))
            d->t->kernel_in_macro = true;
    }
    return 0;
}

static int read_define(struct directive *d)
{
    struct ws__tok name, arg[32], tok;
    struct ws__name *k;
    size_t narg = 0;
    const char *body;

    if (!next(d, &name) || name.kind != WS__TOK_WORD)
        return 0;
    WS_TRY(know(d->t, &name, &k));
    k->defines++;
    if (*d->p == '(') {
        k->declared = true;
        while (next(d, &tok) && !ws__tok_is(&tok, ")"))
            if (tok.kind == WS__TOK_WORD && narg < WS_COUNT(arg))
                arg[narg++] = tok;
        return read_body(d, arg, narg);
    }
    if (d->depth && d->depth <= MAX_NESTED &&
        same(&d->guard[d->depth - 1], &name))
        k->fallbacks++;
    body = d->p + strspn(d->p, " \t\v\f");
    name.n = (uint32_t)strcspn(body, "\n");
    while (name.n && isspace((unsigned char)body[name.n - 1]))
        name.n--;
    k->differs =
        k->differs ||
        (k->body && (k->body_n != name.n || memcmp(k->body, body, name.n)));
    k->body = body;
    k->body_n = name.n;
    return read_body(d, NULL, 0);
}

/* #if, #ifdef and their kind. */
static int read_test(struct directive *d, bool by_ifdef, bool negative)
{
    struct ws__tok tok, guard = {0};
    bool asked = by_ifdef;

    while (next(d, &tok)) {
        struct ws__name *k;

        if (ws__tok_is(&tok, "defined")) {
            asked = true;
            continue;
        }
        if (tok.kind != WS__TOK_WORD)
            continue;
        WS_TRY(know(d->t, &tok, &k));
        use(k, &tok);
        /* "#if X || !defined(X)" needs a value all the same. */
        if (asked)
            k->by_ifdef = k->by_ifdef || tok.own;
        else
            k->tested = true;
        if (negative || asked)
            guard = tok;
        asked = by_ifdef;
    }
    if (d->depth && d->depth <= MAX_NESTED)
        d->guard[d->depth - 1] = guard;
    return 0;
}

/* #line 7 "file", and the same as # 7 "file". */
static void read_line(struct directive *d, struct ws__tok number)
{
    const char *skip = d->t->skip;
    struct ws__tok file;
    uint64_t v = 0;

    for (size_t i = 0; i < number.n && isdigit((unsigned char)number.s[i]); i++)
        v = v < UINT32_MAX ? 10 * v + (uint64_t)(number.s[i] - '0') : v;
    if (next(d, &file) && file.kind == WS__TOK_TEXT && file.n > 2)
        *d->own = !skip || strlen(skip) != file.n - 2 ||
                  memcmp(skip, file.s + 1, file.n - 2);
    /* The newline at the end of this line counts one. */
    *d->line = (uint32_t)(v ? v - 1 : 0);
}

static int read_directive(struct directive *d)
{
    struct ws__tok word;

    if (!next(d, &word))
        return 0;
    if (word.kind == WS__TOK_NUMBER) {
        read_line(d, word);
    } else if (ws__tok_is(&word, "line")) {
        if (next(d, &word))
            read_line(d, word);
    } else if (ws__tok_is(&word, "define")) {
        return read_define(d);
    } else if (ws__tok_is(&word, "ifdef") || ws__tok_is(&word, "ifndef")) {
        d->depth++;
        return read_test(d, true, word.n == 6);
    } else if (ws__tok_is(&word, "if")) {
        d->depth++;
        return read_test(d, false, false);
    } else if (ws__tok_is(&word, "elif")) {
        return read_test(d, false, false);
    } else if (ws__tok_is(&word, "else")) {
        if (d->depth && d->depth <= MAX_NESTED)
            d->guard[d->depth - 1].s = NULL;
    } else if (ws__tok_is(&word, "endif")) {
        d->depth -= d->depth > 0;
    }
    return 0;
}

/* --- what code makes of a name ------------------------------------------ */

static bool is_any(const struct ws__tok *t, const char *const *list)
{
    for (; *list; list++)
        if (ws__tok_is(t, *list))
            return true;
    return false;
}

/* "float COLS", "class T", "float *P": behind a word that is no operator. */
static bool declares(const struct ws__tok *tok, size_t i)
{
    static const char *const no_types[] = {"return",  "else",  "case", "goto",
                                           "sizeof",  "throw", "new",  "do",
                                           "defined", NULL};
    static const char *const types[] = {"float", "double", "half",
                                        "int",   "char",   "short",
                                        "long",  "void",   "unsigned",
                                        "const", "uint",   "restrict",
                                        "bool",  "uchar",  "__half",
                                        NULL};
    const struct ws__tok *before = i ? &tok[i - 1] : NULL;

    if (!before)
        return false;
    if (before->kind == WS__TOK_WORD)
        return !is_any(before, no_types);
    if (!ws__tok_is(before, "*") && !ws__tok_is(before, "&"))
        return false;
    while (i > 1 &&
           (ws__tok_is(&tok[i - 1], "*") || ws__tok_is(&tok[i - 1], "&")))
        i--;
    return tok[i - 1].kind == WS__TOK_WORD && is_any(&tok[i - 1], types);
}

static bool is_changed(const struct ws__tokens *t, size_t i)
{
    static const char *const assigns[] = {"=",  "+=", "-=", "*=", "/=", "%=",
                                          "&=", "|=", "^=", "++", "--", NULL};
    static const char *const scopes[] = {"(", "::", NULL};

    return i + 1 < t->n &&
           (is_any(&t->tok[i + 1], assigns) || is_any(&t->tok[i + 1], scopes));
}

static bool is_member(const struct ws__tok *tok, size_t i)
{
    static const char *const before[] = {".", "->", "::", "++", "--", NULL};

    return i && is_any(&tok[i - 1], before);
}

/* Names of enum { A, B = 2 }; returns where to go on. */
static int read_enum(struct ws__tokens *t, size_t i)
{
    while (i < t->n && !ws__tok_is(&t->tok[i], "{") &&
           !ws__tok_is(&t->tok[i], ";"))
        i++;
    for (bool name = true; i < t->n && !ws__tok_is(&t->tok[i], "}") &&
                           !ws__tok_is(&t->tok[i], ";");
         i++) {
        struct ws__name *k;

        if (t->tok[i].kind == WS__TOK_WORD && name) {
            WS_TRY(know(t, &t->tok[i], &k));
            k->declared = true;
        }
        name = ws__tok_is(&t->tok[i], "{") || ws__tok_is(&t->tok[i], ",");
    }
    return 0;
}

/* typedef TYPE NAME; for types of a few words. */
static int read_typedef(struct ws__tokens *t, size_t i)
{
    size_t end = i + 1;
    struct ws__name *k;

    while (end < t->n && end - i < 8 && !ws__tok_is(&t->tok[end], ";"))
        end++;
    if (end - i < 3 || end >= t->n || !ws__tok_is(&t->tok[end], ";") ||
        t->tok[end - 1].kind != WS__TOK_WORD)
        return 0;
    WS_TRY(know(t, &t->tok[end - 1], &k));
    k->declared = true;
    /* Branches of #if may disagree: then it is not known. */
    k->typedef_n = k->typedef_at ? 0 : end - i - 2;
    k->typedef_at = i + 1;
    return 0;
}

static int read_names(struct ws__tokens *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct ws__tok *tok = &t->tok[i];
        struct ws__name *k;

        if (i % 4096 == 0)
            WS_TRY(ws__check_stop(t->ctx));
        if (tok->kind != WS__TOK_WORD)
            continue;
        if (ws__tok_is(tok, "enum"))
            WS_TRY(read_enum(t, i + 1));
        if (ws__tok_is(tok, "typedef"))
            WS_TRY(read_typedef(t, i));
        WS_TRY(know(t, tok, &k));
        if (declares(t->tok, i) || is_changed(t, i) || is_member(t->tok, i))
            k->declared = true;
        use(k, tok);
    }
    return 0;
}

int ws__tokens_read(struct ws__tokens *t, const char *text)
{
    uint32_t line = 1;
    bool own = true;
    struct directive d = {.t = t, .line = &line, .own = &own};
    struct ws__tok tok = {0};
    uint32_t last = 0;

    d.p = flatten(t->arena, text);
    if (!d.p)
        return WS_ENOMEM;
    if (!strncmp(d.p, "\xef\xbb\xbf", 3)) /* byte order mark */
        d.p += 3;
    while (ws__tok_next(&d.p, &tok, &line, false)) {
        bool first = tok.line != last;

        if (t->n % 4096 == 0)
            WS_TRY(ws__check_stop(t->ctx));
        tok.own = own;
        last = tok.line;
        if (first && ws__tok_is(&tok, "#")) {
            WS_TRY(read_directive(&d));
            d.p += strcspn(d.p, "\n");
            last = 0;
        } else {
            WS_TRY(push(t, &tok));
        }
    }
    return read_names(t);
}

void ws__tokens_free(struct ws__tokens *t)
{
    ws__free(t->ctx, t->tok);
    ws__free(t->ctx, t->name);
    ws__free(t->ctx, t->table);
}
