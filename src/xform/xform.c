/* xform.c: what all transformations share: sites, edits, applying. */
#include "xform/xform.h"

#include "base/banned.h"

#define MAX_WORDS 400

const struct ws__xform_ops *ws__xform_lookup(const char *name)
{
    for (size_t i = 0; ws__xform_table[i]; i++)
        if (!strcmp(ws__xform_table[i]->name, name))
            return ws__xform_table[i];
    return NULL;
}

static bool open_launch(const struct ws__xform_in *in, size_t launch,
                        struct ws__xform_in *out)
{
    const struct ws__launch *l = &in->kernel->launch[launch];

    *out = *in;
    out->launch = launch;
    out->func = l->pattern ? -1 : ws__ast_function(in->ast, l->entry);
    out->body = -1;
    for (int32_t c = out->func < 0 ? -1 : in->ast->node[out->func].first;
         c >= 0; c = in->ast->node[c].next)
        if (in->ast->node[c].kind == WS__AST_BLOCK)
            out->body = c;
    return out->func >= 0;
}

int ws__xform_open(struct ws_ctx *ctx, struct ws__arena *a,
                   const struct ws__ast *t, const struct ws__kernel *k,
                   size_t launch, struct ws__xform_in *out)
{
    struct ws__xform_in in = {.ctx = ctx, .arena = a, .ast = t, .kernel = k};

    if (!open_launch(&in, launch, out))
        return ws__fail_at(ctx, WS_ESPEC, &k->launch[launch].loc,
                           "'%s' has no function '%s' with a body", t->path,
                           k->launch[launch].entry);
    return 0;
}

static bool seen_before(const struct ws__kernel *k, size_t launch)
{
    for (size_t i = 0; i < launch; i++)
        if (!strcmp(k->launch[i].entry, k->launch[launch].entry))
            return true;
    return false;
}

/* A text that could not be had is NULL and may have been printed as such: what
 * was made of it must not be used. */
static int no_memory(const struct ws_ctx *ctx)
{
    return ctx->err.code == WS_ENOMEM ? WS_ENOMEM : 0;
}

/* The node in which a declaration's name is known. */
static int32_t scope_of(const struct ws__ast *t, int32_t decl)
{
    int32_t up = t->node[decl].parent;

    return ws__ast_is(t, up, WS__AST_DECL) ? t->node[up].parent : up;
}

static bool is_variable(const struct ws__ast *t, int32_t i)
{
    return (t->node[i].kind == WS__AST_VAR ||
            t->node[i].kind == WS__AST_PARAM) &&
           t->node[i].name;
}

/* A declaration of the function whose name an outer one has, too; -1. */
static int32_t hiding(const struct ws__ast *t, int32_t func)
{
    int32_t end = ws__ast_after(t, func);

    for (int32_t i = func + 1; i < end; i++)
        for (int32_t o = func + 1; is_variable(t, i) && o < i; o++)
            if (is_variable(t, o) && !strcmp(t->node[i].name, t->node[o].name))
                if (ws__ast_below(t, i, scope_of(t, o)))
                    return i;
    return -1;
}

static void refuse_hidden(const struct ws__xform_in *in, struct ws__sites *out,
                          size_t from)
{
    int32_t i = from < out->n ? hiding(in->ast, in->func) : -1;

    for (; i >= 0 && from < out->n; from++)
        if (!out->site[from].refused)
            out->site[from].refused =
                ws__arena_printf(in->arena,
                                 "an inner declaration hides the name '%s'",
                                 in->ast->node[i].name);
}

int ws__xform_find(struct ws_ctx *ctx, struct ws__arena *a,
                   const struct ws__ast *t, const struct ws__kernel *k,
                   const struct ws__xform_ops *x, struct ws__sites *out)
{
    struct ws__xform_in in = {.ctx = ctx, .arena = a, .ast = t, .kernel = k};
    struct ws__xform_in l;

    out->n = 0;
    ws__error_clear(ctx);
    if (t->dialect == WS__DIALECT_CUDA ? !x->cuda : !x->opencl)
        return 0;
    for (size_t i = 0; ws__xform_next_entry(&in, &i, &l);) {
        size_t from = out->n;

        WS_TRY(x->find(&l, out));
        if (!x->keeps_names)
            refuse_hidden(&l, out, from);
        WS_TRY(no_memory(ctx));
        if (x->join == WS__JOIN_FUNCTION)
            WS_TRY(ws__sites_join(&in, out, from));
    }
    if (x->join == WS__JOIN_ALL)
        WS_TRY(ws__sites_join(&in, out, 0));
    return 0;
}

/* A template's function, by the name in front of its arguments; or -1. */
static int32_t template_of(const struct ws__ast *t, const char *entry)
{
    size_t n = strcspn(entry, "<{");

    for (int32_t i = 0; i < t->n; i = ws__ast_after(t, i))
        if (t->node[i].kind == WS__AST_FUNCTION && t->node[i].name &&
            strlen(t->node[i].name) == n && !strncmp(t->node[i].name, entry, n))
            return i;
    return -1;
}

int ws__xform_left_alone(struct ws_ctx *ctx, struct ws__arena *a,
                         const struct ws__ast *t, const struct ws__kernel *k,
                         struct ws__sites *out)
{
    struct ws__xform_in in = {.ctx = ctx, .arena = a, .ast = t, .kernel = k}, l;

    out->n = 0;
    for (size_t i = 0; i < k->nlaunch && out->n < WS__XFORM_MAX_SITES; i++) {
        struct ws__site *s = &out->site[out->n];
        int32_t f = template_of(t, k->launch[i].entry);

        if (seen_before(k, i) || open_launch(&in, i, &l))
            continue;
        memset(s, 0, sizeof(*s));
        s->launch = i;
        s->loc = k->launch[i].loc;
        if (f >= 0)
            ws__ast_line(t, t->node[f].begin, &s->loc);
        s->words = ws__arena_printf(a, "line %u: '%s'", s->loc.line,
                                    k->launch[i].entry);
        s->refused = f >= 0 ? "a template whose arguments the launch names is "
                              "left as it is"
                            : "a function that is not in the source's own file "
                              "is left as it is";
        if (!s->words)
            return WS_ENOMEM;
        out->n++;
    }
    return 0;
}

/* --- sites ---------------------------------------------------------------- */

static struct ws__site *new_site(const struct ws__xform_in *in,
                                 struct ws__sites *out, int32_t at)
{
    struct ws__site *s;

    if (out->n == WS__XFORM_MAX_SITES)
        return NULL;
    s = &out->site[out->n];
    memset(s, 0, sizeof(*s));
    for (size_t i = 0; i < WS_COUNT(s->node); i++)
        s->node[i] = -1;
    s->node[0] = at;
    s->launch = in->launch;
    ws__ast_line(in->ast, in->ast->node[at].begin, &s->loc);
    return s;
}

struct ws__site *ws__site_add(const struct ws__xform_in *in,
                              struct ws__sites *out, int32_t at, int *rc,
                              const char *fmt, ...)
{
    struct ws__site *s = new_site(in, out, at);
    char words[MAX_WORDS];
    va_list ap;

    if (!s)
        return NULL;
    va_start(ap, fmt);
    vsnprintf(words, sizeof(words), fmt, ap);
    va_end(ap);
    s->words = ws__arena_printf(in->arena, "line %u: %s", s->loc.line, words);
    if (!s->words) {
        *rc = WS_ENOMEM;
        return NULL;
    }
    out->n++;
    return s;
}

int ws__site_refuse(const struct ws__xform_in *in, struct ws__sites *out,
                    int32_t at, const char *words, const char *why)
{
    int rc = 0;
    struct ws__site *s = ws__site_add(in, out, at, &rc, "%s", words);

    if (s) {
        s->refused = ws__arena_strdup(in->arena, why);
        rc = s->refused ? 0 : WS_ENOMEM;
    }
    return rc;
}

/* --- edits ---------------------------------------------------------------- */

static const char *print(struct ws__rewrite *w, const char *fmt, va_list ap)
{
    va_list copy;
    int n;
    char *s;

    va_copy(copy, ap);
    n = vsnprintf(NULL, 0, fmt, copy);
    va_end(copy);
    s = n < 0 ? NULL : ws__arena_alloc(w->in->arena, (size_t)n + 1, 1);
    if (!s) {
        w->failed = WS_ENOMEM;
        return NULL;
    }
    vsnprintf(s, (size_t)n + 1, fmt, ap);
    return s;
}

static void add_edit(struct ws__rewrite *w, uint32_t at, uint32_t len,
                     const char *text)
{
    if (!text || w->failed)
        return;
    if (w->nedit == WS__XFORM_MAX_EDITS) {
        w->failed = ws__fail(w->in->ctx, WS_ELIMIT, "more than %d edits",
                             WS__XFORM_MAX_EDITS);
        return;
    }
    w->edit[w->nedit++] = (struct ws__edit){at, len, text};
}

void ws__rewrite_at(struct ws__rewrite *w, uint32_t at, uint32_t len,
                    const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_edit(w, at, len, print(w, fmt, ap));
    va_end(ap);
}

void ws__rewrite_node(struct ws__rewrite *w, int32_t node, const char *fmt, ...)
{
    const struct ws__ast_node *n = &w->in->ast->node[node];
    va_list ap;

    va_start(ap, fmt);
    add_edit(w, n->begin, n->end - n->begin, print(w, fmt, ap));
    va_end(ap);
}

static uint32_t line_begin(const struct ws__ast *t, uint32_t at)
{
    while (at && t->text[at - 1] != '\n')
        at--;
    return at;
}

void ws__rewrite_before(struct ws__rewrite *w, int32_t node, const char *fmt,
                        ...)
{
    const struct ws__ast_node *n = &w->in->ast->node[node];
    const char *indent = ws__xform_indent(w->in, node), *text;
    va_list ap;

    va_start(ap, fmt);
    text = print(w, fmt, ap);
    va_end(ap);
    if (!text || !indent) {
        w->failed = WS_ENOMEM;
        return;
    }
    text = ws__arena_printf(w->in->arena, "%s\n%s", text, indent);
    if (!text)
        w->failed = WS_ENOMEM;
    add_edit(w, n->begin, 0, text);
}

/* Behind the statement's semicolon, if it has one. */
void ws__rewrite_behind(struct ws__rewrite *w, int32_t node, const char *fmt,
                        ...)
{
    const struct ws__ast *t = w->in->ast;
    const char *indent = ws__xform_indent(w->in, node), *text;
    va_list ap;

    va_start(ap, fmt);
    text = print(w, fmt, ap);
    va_end(ap);
    if (!text || !indent) {
        w->failed = WS_ENOMEM;
        return;
    }
    text = ws__arena_printf(w->in->arena, "\n%s%s", indent, text);
    if (!text)
        w->failed = WS_ENOMEM;
    add_edit(w, ws__xform_end(t, node), 0, text);
}

void ws__rewrite_change(struct ws__rewrite *w, const char *yaml,
                        const char *path, ...)
{
    const char *p, *y = ws__arena_strdup(w->in->arena, yaml);
    va_list ap;

    va_start(ap, path);
    p = print(w, path, ap);
    va_end(ap);
    if (!p || !y) {
        w->failed = WS_ENOMEM;
        return;
    }
    if (w->nchange == WS__XFORM_MAX_CHANGES) {
        w->failed = ws__fail(w->in->ctx, WS_ELIMIT, "more than %d changes",
                             WS__XFORM_MAX_CHANGES);
        return;
    }
    for (size_t i = 0; i < w->nchange; i++)
        if (!strcmp(w->change[i].path, p) && !strcmp(w->change[i].yaml, y))
            return; /* of a site that is made together with this one */
    w->change[w->nchange++] = (struct ws__change){p, y};
}

void ws__rewrite_param(struct ws__rewrite *w, const char *name,
                       const char *values, const char *dflt, const char *about)
{
    const char *yaml =
        ws__arena_printf(w->in->arena,
                         "{values: %s, default: %s, about: \"%s\"}", values,
                         dflt, about);

    if (!yaml)
        w->failed = WS_ENOMEM;
    else
        ws__rewrite_change(w, yaml, "parameters.%s", name);
}

/* --- names and texts ------------------------------------------------------ */

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
        if ((p == text || !ws__is_word(p[-1])) && !ws__is_word(p[n]))
            return true;
    return false;
}

const char *ws__xform_name(const struct ws__xform_in *in, const char *base)
{
    const char *name = base;

    for (int i = 2; has_word(in->ast->text, name) ||
                    ws__scope_find(&in->kernel->scope, name) >= 0;
         i++) {
        name = ws__arena_printf(in->arena, "%s%d", base, i);
        if (!name)
            return NULL;
    }
    return name;
}

const char *ws__xform_indent(const struct ws__xform_in *in, int32_t node)
{
    const struct ws__ast *t = in->ast;
    uint32_t b = line_begin(t, t->node[node].begin), e = b;

    while (t->text[e] == ' ' || t->text[e] == '\t')
        e++;
    return ws__arena_strndup(in->arena, t->text + b, e - b);
}

const char *ws__xform_text(const struct ws__xform_in *in, int32_t node)
{
    return ws__ast_text(in->ast, in->arena, node);
}

static const char *expr_text(const struct ws__expr *e)
{
    return e ? e->text : "1";
}

const char *ws__xform_grid(const struct ws__xform_in *in, int dim)
{
    return expr_text(in->kernel->launch[in->launch].grid[dim]);
}

const char *ws__xform_block(const struct ws__xform_in *in, int dim)
{
    return expr_text(in->kernel->launch[in->launch].block[dim]);
}

const struct ws__arg *ws__xform_arg(const struct ws__xform_in *in,
                                    int32_t param)
{
    const struct ws__launch *l = &in->kernel->launch[in->launch];
    bool cuda = in->kernel->dialect == WS__DIALECT_CUDA;
    size_t i = 0;

    for (int32_t c = in->ast->node[in->func].first; c >= 0;
         c = in->ast->node[c].next) {
        if (in->ast->node[c].kind != WS__AST_PARAM)
            continue;
        while (cuda && i < l->narg && l->arg[i].kind == WS__ARG_SHARED)
            i++;
        if (i == l->narg)
            return NULL;
        if (c == param)
            return &l->arg[i];
        i++;
    }
    return NULL;
}

/* --- applying ------------------------------------------------------------- */

static bool cuts_macro(const struct ws__ast *t, const struct ws__edit *e)
{
    for (size_t i = 0; i < t->nmacro; i++) {
        uint32_t b = (uint32_t)(t->macro[i] >> 32), end = (uint32_t)t->macro[i];

        if (e->len ? e->at < end && e->at + e->len > b &&
                         !(e->at <= b && e->at + e->len >= end)
                   : e->at > b && e->at < end)
            return true;
    }
    return false;
}

/* In the order of the text; insertions at one place keep theirs, and go before
 * what is replaced there. */
static void sort_edits(struct ws__rewrite *w)
{
    for (size_t i = 1; i < w->nedit; i++) {
        struct ws__edit e = w->edit[i];
        size_t k = i;

        for (;
             k && (w->edit[k - 1].at > e.at ||
                   (w->edit[k - 1].at == e.at && !e.len && w->edit[k - 1].len));
             k--)
            w->edit[k] = w->edit[k - 1];
        w->edit[k] = e;
    }
}

static int check_edits(struct ws__rewrite *w, const char *name)
{
    const struct ws__ast *t = w->in->ast;

    for (size_t i = 0; i < w->nedit; i++) {
        const struct ws__edit *e = &w->edit[i];
        struct ws__loc at;

        ws__ast_line(t, e->at, &at);
        if (i && w->edit[i - 1].at + w->edit[i - 1].len > e->at)
            return ws__fail_at(w->in->ctx, WS_EBUG, &at,
                               "edits of '%s' overlap", name);
        if (cuts_macro(t, e))
            return ws__fail_at(w->in->ctx, WS_EBUG, &at,
                               "an edit of '%s' cuts a macro", name);
    }
    return 0;
}

/* Bytes [from, to) of the file, with its own ends of lines. */
static size_t put_old(const struct ws__ast *t, uint32_t from, uint32_t to,
                      size_t *cr, char *out)
{
    size_t n = 0;

    while (*cr < t->ncr && t->cr[*cr] < from)
        ++*cr;
    for (uint32_t i = from; i < to; i++) {
        if (*cr < t->ncr && t->cr[*cr] == i) {
            out[n++] = '\r';
            ++*cr;
        }
        out[n++] = t->text[i];
    }
    return n;
}

/* New text, whose lines end as most of the file do. */
static size_t put_new(const struct ws__ast *t, const char *text, char *out)
{
    size_t n = 0;

    for (; *text; text++) {
        if (*text == '\n' && t->crlf)
            out[n++] = '\r';
        out[n++] = *text;
    }
    return n;
}

/* NULL: no memory. */
static char *edited(struct ws__rewrite *w)
{
    const struct ws__ast *t = w->in->ast;
    size_t n = t->len + t->ncr, to = 0, cr = 0;
    uint32_t from = 0;
    char *s;

    for (size_t i = 0; i < w->nedit; i++)
        n += 2 * strlen(w->edit[i].text);
    s = ws__arena_alloc(w->in->arena, n + 1, 1);
    for (size_t i = 0; s && i < w->nedit; i++) {
        const struct ws__edit *e = &w->edit[i];

        to += put_old(t, from, e->at, &cr, s + to);
        to += put_new(t, e->text, s + to);
        from = e->at + e->len;
    }
    if (s)
        to += put_old(t, from, (uint32_t)t->len, &cr, s + to);
    if (s)
        s[to] = '\0';
    return s;
}

static int apply_one(const struct ws__xform_in *all,
                     const struct ws__xform_ops *x, const struct ws__site *s,
                     struct ws__rewrite *out)
{
    struct ws__xform_in in;
    int rc;

    WS_TRY(ws__xform_open(all->ctx, all->arena, all->ast, all->kernel,
                          s->launch, &in));
    out->in = &in;
    rc = x->apply(&in, s, out);
    out->in = all;
    return rc < 0 ? rc : out->failed;
}

int ws__xform_apply(struct ws_ctx *ctx, struct ws__arena *a,
                    const struct ws__ast *t, const struct ws__kernel *k,
                    const struct ws__xform_ops *x, const struct ws__site *s,
                    char **text, struct ws__rewrite *out)
{
    struct ws__xform_in in;
    int rc;

    ws__error_clear(ctx);
    WS_TRY(ws__xform_open(ctx, a, t, k, s->launch, &in));
    memset(out, 0, sizeof(*out));
    out->in = &in;
    rc = s->npart ? 0 : apply_one(&in, x, s, out);
    for (size_t i = 0; i < s->npart && rc >= 0; i++)
        rc = apply_one(&in, x, &s->part[i], out);
    if (rc >= 0)
        rc = no_memory(ctx);
    if (rc >= 0) {
        sort_edits(out);
        rc = check_edits(out, x->name);
    }
    if (rc >= 0) {
        *text = edited(out);
        rc = *text ? 0 : WS_ENOMEM;
    }
    out->in = NULL;
    return rc;
}

/* --- looking at more than one function ------------------------------------ */

bool ws__xform_next_entry(const struct ws__xform_in *in, size_t *from,
                          struct ws__xform_in *out)
{
    for (; *from < in->kernel->nlaunch; ++*from)
        if (!seen_before(in->kernel, *from) && open_launch(in, *from, out)) {
            ++*from;
            return true;
        }
    return false;
}

bool ws__xform_is_first(const struct ws__xform_in *in)
{
    struct ws__xform_in l;
    size_t from = 0;

    return ws__xform_next_entry(in, &from, &l) && l.launch == in->launch;
}

static bool is_run(const struct ws__xform_in *in, int32_t func)
{
    struct ws__xform_in l;

    for (size_t from = 0; ws__xform_next_entry(in, &from, &l);)
        if (ws__xform_reaches(in->ast, l.func, func))
            return true;
    return false;
}

int32_t ws__xform_next_run(const struct ws__xform_in *in, int32_t i)
{
    const struct ws__ast *t = in->ast;

    for (i++; i < t->n && t->node[i].parent < 0 &&
              (t->node[i].kind != WS__AST_FUNCTION || !is_run(in, i));)
        i = ws__ast_after(t, i);
    return i;
}

size_t ws__xform_next_launch(const struct ws__xform_in *in, size_t from)
{
    const struct ws__kernel *k = in->kernel;

    while (from < k->nlaunch &&
           strcmp(k->launch[from].entry, k->launch[in->launch].entry) != 0)
        from++;
    return from;
}

bool ws__xform_same_blocks(const struct ws__xform_in *in)
{
    struct ws__xform_in l = *in;

    for (l.launch = ws__xform_next_launch(in, 0);
         l.launch < in->kernel->nlaunch;
         l.launch = ws__xform_next_launch(in, l.launch + 1))
        for (int d = 0; d < 3; d++)
            if (strcmp(ws__xform_block(&l, d), ws__xform_block(in, d)) != 0)
                return false;
    return true;
}

bool ws__xform_asks(const struct ws__ast *t, int32_t i)
{
    static const char *const names[] = {"threadIdx", "blockIdx", "blockDim",
                                        "gridDim"};
    const struct ws__ast_node *n = &t->node[i];

    if (n->kind == WS__AST_CALL && n->name)
        return !strncmp(n->name, "get_", 4);
    for (size_t k = 0; n->kind == WS__AST_REF && n->name && k < WS_COUNT(names);
         k++)
        if (!strcmp(n->name, names[k]))
            return true;
    return false;
}

/* Assembly, by which a thread may ask, too: a jump that is none of C's. */
static bool is_assembly(const struct ws__ast *t, int32_t i)
{
    static const char *const words[] = {"switch", "case", "default", "goto"};
    const char *p = t->text + t->node[i].begin;

    for (size_t k = 0; k < WS_COUNT(words); k++)
        if (!strncmp(p, words[k], strlen(words[k])))
            return false;
    return t->node[i].kind == WS__AST_JUMP;
}

/* May a call be one of a function of a file that the source includes? */
static bool is_elsewhere(const struct ws__ast *t, int32_t i)
{
    int dim;

    return t->node[i].kind == WS__AST_CALL && t->node[i].decl < 0 &&
           strstr(t->text, "include \"") && !ws__ast_is_pure_call(t, i) &&
           !ws__ast_is_barrier(t, i) &&
           ws__ast_launch_value(t, i, &dim) == WS__AL_NONE;
}

bool ws__xform_others_ask(const struct ws__xform_in *in)
{
    const struct ws__ast *t = in->ast;

    for (int32_t i = 0; i < t->n; i++) {
        int32_t f;

        if (is_elsewhere(t, i))
            return true;
        if (!ws__xform_asks(t, i) && !is_assembly(t, i))
            continue;
        f = ws__ast_up(t, i, WS__AST_FUNCTION);
        if (f < 0 || (f != in->func && (!t->node[f].is_kernel ||
                                        ws__xform_reaches(t, in->func, f))))
            return true;
    }
    return false;
}

#define MAX_REACHED 64 /* functions; behind that, everything is */

bool ws__xform_reaches(const struct ws__ast *t, int32_t from, int32_t to)
{
    int32_t seen[MAX_REACHED] = {from};
    size_t n = 1;

    for (size_t k = 0; k < n; k++) {
        int32_t end = ws__ast_after(t, seen[k]);

        if (seen[k] == to)
            return true;
        for (int32_t i = seen[k]; i < end; i++) {
            const struct ws__ast_node *c = &t->node[i];
            int32_t f = c->kind == WS__AST_CALL && c->name
                            ? ws__ast_function(t, c->name)
                            : -1;
            bool old = f < 0;

            for (size_t o = 0; o < n; o++)
                old = old || seen[o] == f;
            if (!old && n == MAX_REACHED)
                return true;
            if (!old)
                seen[n++] = f;
        }
    }
    return false;
}

bool ws__xform_calls_like(const struct ws__ast *t, const char *const *words)
{
    for (int32_t i = 0; i < t->n; i++)
        for (size_t k = 0; words[k]; k++)
            if (t->node[i].kind == WS__AST_CALL && t->node[i].name &&
                strstr(t->node[i].name, words[k]))
                return true;
    return false;
}

bool ws__xform_is_whole(const struct ws__ast *t, int32_t node)
{
    const struct ws__ast_node *n = &t->node[node];
    int depth = 0;

    for (uint32_t i = n->begin; i < n->end; i++) {
        char c = t->text[i];

        depth += (c == '(' || c == '[' || c == '{') -
                 (c == ')' || c == ']' || c == '}');
        if (depth < 0)
            return false;
    }
    for (size_t i = 0; i < t->nmacro; i++) {
        uint32_t b = (uint32_t)(t->macro[i] >> 32), e = (uint32_t)t->macro[i];

        if (b < n->end && e > n->begin && (b < n->begin || e > n->end))
            return false;
    }
    return !depth;
}

void ws__rewrite_line(struct ws__rewrite *w, int32_t node, const char *fmt, ...)
{
    const struct ws__ast *t = w->in->ast;
    const char *indent = ws__xform_indent(w->in, node), *text;
    uint32_t at = t->node[node].begin, b = line_begin(t, at);
    va_list ap;

    va_start(ap, fmt);
    text = print(w, fmt, ap);
    va_end(ap);
    if (!text || !indent) {
        w->failed = WS_ENOMEM;
        return;
    }
    text = b + strlen(indent) == at
               ? ws__arena_printf(w->in->arena, "%s\n%s", text, indent)
               : ws__arena_printf(w->in->arena, "\n%s%s\n%s    ", indent, text,
                                  indent);
    if (!text)
        w->failed = WS_ENOMEM;
    add_edit(w, at, 0, text);
}

bool ws__xform_has_directive(const struct ws__ast *t, int32_t node)
{
    const struct ws__ast_node *n = &t->node[node];

    if (n->macro && strstr(t->text, "#undef"))
        return true;
    for (uint32_t i = n->begin; i < n->end; i++)
        if (t->text[i] == '#' && strncmp(t->text + i, "#pragma", 7))
            return true;
    return false;
}
