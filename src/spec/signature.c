/*
 * signature.c: the functions of a source that a host can launch.
 *
 * Braces are not followed: branches of #if may open two and close one. A
 * kernel is seen by its word (__kernel, __global__, ...) wherever it stands,
 * and what follows is read up to the list of parameters. Whatever stands
 * between and has parentheses is an attribute or a macro that makes one,
 * unless it is followed by the function's body.
 *
 * Types are read by sig_type.c. Names that nobody defines are proposed as
 * macros: upper case, used as values, and either defined nowhere or only as a
 * fall-back right inside of #ifndef.
 */
#include "spec/signature.h"

#include <ctype.h>

#include "spec/sig_type.h"

#include "base/banned.h"

struct reader {
    struct ws__tokens t;
    struct ws__arena *arena;
    struct ws__signature *out;
    /* the parameters of the template that the next function belongs to */
    size_t tparam, tparam_end; /* tokens; 0, 0: none */
    size_t work;               /* tokens looked at for closing brackets */
};

/* Brackets that never close are looked for again and again. */
#define MAX_WORK ((size_t)1 << 25)

static const struct ws__tok *at(const struct reader *r, size_t i)
{
    static const struct ws__tok end = {"", 0, 0, WS__TOK_SIGN, false};

    return i < r->t.n ? &r->t.tok[i] : &end;
}

static bool is(const struct reader *r, size_t i, const char *word)
{
    return ws__tok_is(at(r, i), word);
}

/* `before`, the word, `after`. */
static int note(struct reader *r, const char *before, const struct ws__tok *t,
                const char *after)
{
    struct ws__signature *s = r->out;
    const char *text;

    if (s->nnote == WS_COUNT(s->note))
        return 0;
    text = ws__arena_printf(r->arena, "%s%.*s%s", before,
                            t ? (int)(t->n < 80 ? t->n : 80) : 0, t ? t->s : "",
                            after);
    if (!text)
        return WS_ENOMEM;
    for (size_t i = 0; i < s->nnote; i++)
        if (!strcmp(s->note[i], text))
            return 0;
    s->note[s->nnote++] = text;
    return 0;
}

/* Behind the bracket that closes the one at i; the end if there is none. */
static size_t behind(struct reader *r, size_t i)
{
    size_t depth = 0;

    for (; i < r->t.n; i++) {
        const struct ws__tok *t = at(r, i);

        r->work++;
        if (t->kind != WS__TOK_SIGN || t->n != 1)
            continue;
        if (strchr("([{", *t->s))
            depth++;
        else if (strchr(")]}", *t->s) && --depth == 0)
            return i + 1;
    }
    return i;
}

/* Behind the '>' that closes the '<' at i; 0: it does not close. */
static size_t behind_angle(struct reader *r, size_t i)
{
    size_t depth = 0;

    for (; i < r->t.n; i++) {
        r->work++;
        if (is(r, i, "(") || is(r, i, "["))
            i = behind(r, i) - 1;
        else if (is(r, i, "<"))
            depth++;
        else if (is(r, i, ">") && --depth == 0)
            return i + 1;
        else if (is(r, i, ";") || is(r, i, "{"))
            break;
    }
    return 0;
}

static const char *join(struct reader *r, size_t from, size_t to)
{
    return ws__sig_words(r->arena, r->t.tok + from, to > from ? to - from : 0);
}

/* --- templates ---------------------------------------------------------- */

static bool is_type_word(const struct ws__tok *t)
{
    return ws__tok_is(t, "typename") || ws__tok_is(t, "class");
}

static bool has_tparam(const struct ws__sig_entry *e,
                       const struct ws__tok *name)
{
    for (size_t i = 0; i < e->ntparam; i++)
        if (ws__tok_is(name, e->tparam[i]))
            return true;
    return false;
}

/* The name of one template parameter: before a '=', the last word. */
static int add_tparam(struct reader *r, struct ws__sig_entry *e, size_t from,
                      size_t to)
{
    size_t name = 0;

    for (size_t i = from; i < to && !is(r, i, "="); i++)
        if (at(r, i)->kind == WS__TOK_WORD && i > from)
            name = i;
    if (!name || e->ntparam == WS_COUNT(e->tparam) ||
        has_tparam(e, at(r, name)))
        return note(
            r, "a parameter '", at(r, from),
            "...' of a template has no name of its own or is one too many");
    e->tparam[e->ntparam] =
        ws__arena_strndup(r->arena, at(r, name)->s, at(r, name)->n);
    if (!e->tparam[e->ntparam])
        return WS_ENOMEM;
    e->tparam_type[e->ntparam++] = is_type_word(at(r, from));
    return 0;
}

static int read_tparams(struct reader *r, struct ws__sig_entry *e)
{
    size_t from = r->tparam + 1, end = r->tparam_end - 1, depth = 0;

    for (size_t i = from; i <= end; i++) {
        if (i == end || (!depth && is(r, i, ","))) {
            if (i > from)
                WS_TRY(add_tparam(r, e, from, i));
            from = i + 1;
        } else if (is(r, i, "(") || is(r, i, "[")) {
            i = behind(r, i) - 1;
        } else {
            depth += is(r, i, "<");
            depth -= is(r, i, ">") && depth;
        }
    }
    return 0;
}

/* --- a list of parameters ----------------------------------------------- */

static int add_arg(struct reader *r, struct ws__sig_entry *e, size_t from,
                   size_t to)
{
    if (from == to)
        return 0;
    if (e->narg == WS__SIG_MAX_ARGS)
        return note(r, "more than 64 arguments: the rest is not read", NULL,
                    "");
    return ws__sig_read_arg(&r->t, r->arena, r->t.tok + from, to - from, e,
                            &e->arg[e->narg++]);
}

/* Tokens between the parentheses. */
static int read_args(struct reader *r, struct ws__sig_entry *e, size_t from,
                     size_t end)
{
    size_t start = from, depth = 0;
    bool value = false; /* behind '=': '<' may be an operator */

    if (end <= from || (end - from == 1 && is(r, from, "void")))
        return 0;
    for (size_t i = from; i < end; i++) {
        if (is(r, i, "(") || is(r, i, "[") || is(r, i, "{")) {
            i = behind(r, i) - 1;
        } else if (is(r, i, ",") && !depth) {
            WS_TRY(add_arg(r, e, start, i));
            start = i + 1;
            value = false;
        } else if (is(r, i, "=")) {
            value = true;
        } else if (is(r, i, "<") && !value) {
            depth++;
        } else if (is(r, i, ">") && depth) {
            depth--;
        }
    }
    return add_arg(r, e, start, end);
}

/* --- a function --------------------------------------------------------- */

static bool is_kernel_word(const struct ws__tok *t)
{
    static const char *const words[] = {"__kernel",        "kernel",
                                        "__global__",      "WS_KERNEL",
                                        "WS_KERNEL_BLOCK", NULL};

    for (const char *const *w = words; *w; w++)
        if (ws__tok_is(t, *w))
            return true;
    return false;
}

/* (16, 16, 1) or (BX, 4, 1) behind a word. */
static int read_block(struct reader *r, size_t i, struct ws__sig_entry *e)
{
    const char *text[3];
    int64_t v[3] = {0};
    bool named = false;

    for (size_t d = 0; d < 3; d++) {
        const struct ws__tok *t = at(r, i + 1 + 2 * d);
        bool word = t->kind == WS__TOK_WORD;

        for (size_t k = 0; k < t->n && isdigit((unsigned char)t->s[k]); k++)
            v[d] = v[d] < 1 << 20 ? 10 * v[d] + (t->s[k] - '0') : v[d];
        if (!(word || (t->kind == WS__TOK_NUMBER && v[d] > 0)) ||
            !is(r, i + 2 + 2 * d, d == 2 ? ")" : ","))
            return 0;
        named = named || word;
        text[d] = word ? ws__arena_strndup(r->arena, t->s, t->n)
                       : ws__arena_printf(r->arena, "%lld", (long long)v[d]);
        if (!text[d])
            return WS_ENOMEM;
    }
    if (named)
        memcpy(e->block_text, text, sizeof(text));
    else
        memcpy(e->block, v, sizeof(v));
    return 0;
}

/* What stands between the kernel's word and its name, from i on. */
static int read_attribute(struct reader *r, size_t i, struct ws__sig_entry *e)
{
    if (is(r, i, "WS_KERNEL_BLOCK") || is(r, i, "reqd_work_group_size"))
        return read_block(r, i + 1, e);
    if (is(r, i, "__launch_bounds__") && is(r, i + 1, "(")) {
        e->bounds = join(r, i + 2, behind(r, i + 1) - 1);
        return e->bounds ? 0 : WS_ENOMEM;
    }
    return 0;
}

/* Where the attributes behind a list of parameters end. */
static size_t skip_attributes(struct reader *r, size_t i)
{
    for (;;) {
        const struct ws__tok *t = at(r, i);

        if (is(r, i, "["))
            i = behind(r, i);
        else if (t->n > 2 && !memcmp(t->s, "__", 2) && is(r, i + 1, "("))
            i = behind(r, i + 1);
        else
            return i;
    }
}

static struct ws__sig_entry *find_entry(struct reader *r,
                                        const struct ws__tok *name)
{
    for (size_t i = 0; i < r->out->nentry; i++)
        if (ws__tok_is(name, r->out->entry[i].name))
            return &r->out->entry[i];
    return NULL;
}

/* A function that was read as `e`; a declaration gives way to the body. */
static int keep(struct reader *r, const struct ws__tok *name,
                struct ws__sig_entry *e)
{
    struct ws__sig_entry *old = find_entry(r, name);

    e->name = ws__arena_strndup(r->arena, name->s, name->n);
    if (!e->name)
        return WS_ENOMEM;
    if (old && old->defined && e->defined)
        return note(r, "function '", name,
                    "' is there twice: only the first is read");
    if (old) {
        if (e->defined)
            *old = *e;
        return 0;
    }
    if (r->out->nentry == WS__SIG_MAX_ENTRIES)
        return note(r, "more than 64 functions: the rest is not read", NULL,
                    "");
    r->out->entry[r->out->nentry++] = *e;
    return 0;
}

/* From the kernel's word at i to the list of parameters; *next: where to go
 * on. */
static int read_entry(struct reader *r, size_t i, struct ws__sig_entry *e,
                      size_t *next)
{
    size_t word = i;

    memset(e, 0, sizeof(*e));
    for (; i < r->t.n && r->work < MAX_WORK; i++) {
        const struct ws__tok *t = at(r, i);
        size_t end, after;

        if (is(r, i, ";") || is(r, i, "{") || is(r, i, "}"))
            break;
        if (t->kind == WS__TOK_WORD)
            WS_TRY(read_attribute(r, i, e));
        if (is(r, i, "<")) {
            end = behind_angle(r, i);
            if (!end)
                break;
            if (is(r, end, "(")) {
                *next = behind(r, end);
                return note(r, "'", at(r, i - 1),
                            "<...>' with values of its own is not read: an "
                            "entry can name them");
            }
            i = end - 1;
            continue;
        }
        if (!is(r, i, "("))
            continue;
        end = behind(r, i);
        after = skip_attributes(r, end);
        if (at(r, i - 1)->kind != WS__TOK_WORD || i - 1 == word ||
            !(is(r, after, "{") || is(r, after, ";"))) {
            for (size_t a = i; a < end; a++)
                WS_TRY(read_attribute(r, a, e));
            i = end - 1;
            continue;
        }
        *next = end;
        e->line = at(r, i - 1)->line;
        e->defined = is(r, after, "{");
        for (size_t a = end; a < after; a++)
            WS_TRY(read_attribute(r, a, e));
        if (r->tparam)
            WS_TRY(read_tparams(r, e));
        WS_TRY(read_args(r, e, i + 1, end - 1));
        return keep(r, at(r, i - 1), e);
    }
    *next = i > word ? i : word + 1;
    return note(r, "what follows '", at(r, word),
                "' is not understood: it is left out");
}

static int read_entries(struct reader *r)
{
    struct ws__sig_entry *e = ws__arena_alloc(r->arena, 1, sizeof(*e));
    size_t i = 0;

    if (!e)
        return WS_ENOMEM;
    while (i < r->t.n && r->work < MAX_WORK) {
        size_t next = i + 1;

        if (i % 256 == 0)
            WS_TRY(ws__check_stop(r->t.ctx));
        if (is(r, i, "template") && is(r, i + 1, "<")) {
            size_t end = behind_angle(r, i + 1);

            if (end) {
                r->tparam = i + 1;
                r->tparam_end = end;
                next = end;
            }
        } else if (at(r, i)->own && is_kernel_word(at(r, i))) {
            WS_TRY(read_entry(r, i, e, &next));
            r->tparam = 0;
        } else if (is(r, i, ";") || is(r, i, "{") || is(r, i, "}")) {
            r->tparam = 0;
        }
        i = next;
    }
    if (i < r->t.n)
        return note(r,
                    "too many brackets that do not close: the rest is not "
                    "read",
                    NULL, "");
    return 0;
}

/* --- macros ------------------------------------------------------------- */

/* Names that languages and their headers bring. */
static bool is_known(const char *s)
{
    static const char *const words[] = {"NULL",     "NAN",      "INFINITY",
                                        "TRUE",     "FALSE",    "EOF",
                                        "MAXFLOAT", "HUGE_VAL", "HUGE_VALF",
                                        "SIZE_MAX"};
    static const char *const begins[] = {
        "CLK_",    "FLT_",    "DBL_",   "HALF_",  "INT_",   "UINT_",  "LONG_",
        "ULONG_",  "CHAR_",   "SCHAR_", "UCHAR_", "SHRT_",  "USHRT_", "LLONG_",
        "M_",      "CUDART_", "WS_",    "CL_",    "INT32_", "INT64_", "UINT32_",
        "UINT64_", "INT8_",   "INT16_", "UINT8_", "UINT16_"};

    for (size_t i = 0; i < WS_COUNT(words); i++)
        if (!strcmp(s, words[i]))
            return true;
    for (size_t i = 0; i < WS_COUNT(begins); i++)
        if (!strncmp(s, begins[i], strlen(begins[i])))
            return true;
    /* T_IS_FLOAT32 and its kind: made from the op's types. */
    return strstr(s, "_IS_") != NULL;
}

static bool is_upper(const struct ws__name *k)
{
    if (!k->n || k->n > 63 || !isupper((unsigned char)*k->s))
        return false;
    for (size_t i = 0; i < k->n; i++)
        if (!isupper((unsigned char)k->s[i]) &&
            !isdigit((unsigned char)k->s[i]) && k->s[i] != '_')
            return false;
    return true;
}

static bool is_open(const struct ws__name *k)
{
    if (!k->used || k->declared || !is_upper(k))
        return false;
    /* Every #define gives way to one before it, and has a value. */
    return !k->defines ||
           (k->fallbacks == k->defines && k->body_n > 0 && k->body_n < 64);
}

static int add_macro(struct reader *r, const struct ws__name *k)
{
    struct ws__sig_macro *m = &r->out->macro[r->out->nmacro];

    if (!is_open(k))
        return 0;
    m->name = ws__arena_strndup(r->arena, k->s, k->n);
    if (!m->name)
        return WS_ENOMEM;
    if (is_known(m->name))
        return 0;
    if (r->out->nmacro == WS__SIG_MAX_MACROS)
        return note(r, "more than 64 names to define: the rest is not listed",
                    NULL, "");
    m->line = k->line;
    m->by_ifdef = k->by_ifdef && !k->tested && !k->defines;
    if (k->body) {
        m->value = ws__arena_strndup(r->arena, k->body, k->body_n);
        if (!m->value)
            return WS_ENOMEM;
    }
    for (size_t i = r->out->nmacro++; i && m[0].line < m[-1].line; i--, m--) {
        struct ws__sig_macro later = m[-1];

        m[-1] = m[0];
        m[0] = later;
    }
    return 0;
}

static int read_macros(struct reader *r)
{
    /* Names of parameters are names in C. */
    for (size_t i = 0; i < r->out->nentry; i++)
        for (size_t a = 0; a < r->out->entry[i].narg; a++) {
            const char *s = r->out->entry[i].arg[a].name;
            struct ws__name *k =
                s ? ws__tokens_find(&r->t, s, strlen(s)) : NULL;

            if (k)
                k->declared = true;
        }
    for (size_t i = 0; i < r->t.nname; i++)
        WS_TRY(add_macro(r, &r->t.name[i]));
    return 0;
}

static int read_all(struct reader *r, const char *text)
{
    WS_TRY(ws__tokens_read(&r->t, text));
    for (size_t i = 0; i + 1 < r->t.n && !r->out->dynamic_shared; i++)
        r->out->dynamic_shared =
            is(r, i, "extern") && is(r, i + 1, "__shared__");
    WS_TRY(read_entries(r));
    WS_TRY(read_macros(r));
    if (r->t.cut)
        WS_TRY(note(r, "the text is too long: its end was not read", NULL, ""));
    if (!r->out->nentry && r->t.kernel_in_macro)
        WS_TRY(note(r, "a macro makes the functions: they were not read", NULL,
                    ""));
    return 0;
}

int ws__signature_read(struct ws_ctx *ctx, struct ws__arena *arena,
                       const char *text, const char *skip,
                       struct ws__signature *out)
{
    struct reader *r = ws__alloc(ctx, 1, sizeof(*r));
    int rc = WS_ENOMEM;

    memset(out, 0, sizeof(*out));
    if (!r)
        return WS_ENOMEM;
    r->t = (struct ws__tokens){.ctx = ctx, .arena = arena, .skip = skip};
    r->arena = arena;
    r->out = out;
    out->entry =
        ws__arena_alloc(arena, WS__SIG_MAX_ENTRIES, sizeof(*out->entry));
    out->macro =
        ws__arena_alloc(arena, WS__SIG_MAX_MACROS + 1, sizeof(*out->macro));
    if (out->entry && out->macro)
        rc = read_all(r, text);
    ws__tokens_free(&r->t);
    ws__free(ctx, r);
    return rc;
}
