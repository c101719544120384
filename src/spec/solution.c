/*
 * solution.c: see solution.h.
 *
 * In a solution one file often holds kernels and the host's code that launches
 * them. Only kernels are ever built here, so the rest has to go. What is at the
 * top level is cut into pieces (up to a ';' or a closing brace; namespaces and
 * extern "C" blocks are looked into), and a piece goes if it says a word that
 * only a host's code does. That a piece stays by mistake shows when it is
 * built; that a kernel goes cannot be: pieces with one stay.
 */
#include "spec/solution.h"

#include "base/banned.h"

#define MAX_FILES 256

/* --- the host's part ------------------------------------------------------ */

/* Words of host code; and includes that go, by the beginning of their name. */
static const char *const host_words[] = {
    "<<<",    "TVM_FFI",      "tvm::",      "TVMFFI",  "PYBIND11",
    "TORCH_", "torch::",      "at::",       "c10::",   "py::",
    "std::",  "cudaStream_t", "cudaLaunch", "cudaGet", "dim3 ",
};
static const char *const host_includes[] = {
    "tvm/",   "torch/",         "ATen/",     "c10/",     "pybind11/",
    "dlpack", "cuda_runtime.h", "cstd",      "cassert",  "algorithm",
    "vector", "string",         "stdexcept", "iostream", "tuple",
    "memory", "stdio.h",        "stdlib.h",
};
static const char *const device_words[] = {"__global__", "__device__",
                                           "__constant__"};

static bool says(const char *p, const char *end, const char *word)
{
    return memmem(p, (size_t)(end - p), word, strlen(word)) != NULL;
}

static bool says_any(const char *p, const char *end, const char *const *word,
                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (says(p, end, word[i]))
            return true;
    return false;
}

/* Behind a comment, a text or a character that begins at p; p + 1 if none
 * does. */
static const char *skip(const char *p)
{
    const char quote = *p;

    if (p[0] == '/' && p[1] == '/')
        return p + strcspn(p, "\n");
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");

        return end ? end + 2 : p + strlen(p);
    }
    if (quote != '"' && quote != '\'')
        return p + 1;
    for (p++; *p && *p != quote && *p != '\n'; p++)
        p += *p == '\\' && p[1];
    return *p ? p + 1 : p;
}

/* A line of the preprocessor, with those that continue it. */
static const char *skip_line(const char *p)
{
    for (;;) {
        const char *end = p + strcspn(p, "\n");

        if (!*end)
            return end;
        if (end == p || end[-1] != '\\')
            return end + 1;
        p = end + 1;
    }
}

static bool is_host_include(const char *p, const char *end)
{
    const char *name = memchr(p, '<', (size_t)(end - p));

    if (!name)
        name = memchr(p, '"', (size_t)(end - p));
    if (!name || !says(p, end, "include"))
        return false;
    for (size_t i = 0; i < WS_COUNT(host_includes); i++)
        if (!strncmp(name + 1, host_includes[i], strlen(host_includes[i])))
            return true;
    return false;
}

/* "namespace x {" and "extern "C" {": what is inside is at the top level. */
static bool is_open(const char *p, const char *brace)
{
    const char *word = says(p, brace, "namespace") ? "namespace" : "extern";

    return says(p, brace, word) && !memchr(p, '(', (size_t)(brace - p));
}

struct cut {
    char *text;
    uint32_t lines, first, last; /* left out */
    uint32_t line;               /* of `at` */
    const char *at;
};

/* Empties the lines from `p` to `end`. */
static void leave_out(struct cut *c, const char *p, const char *end)
{
    bool any = false;

    for (; c->at < p; c->at++)
        c->line += *c->at == '\n';
    for (char *s = c->text + (p - c->text); s < end; s++) {
        bool last = *s == '\n' || s + 1 == end;

        any = any || (*s != '\n' && *s != ' ');
        if (last && any && c->last != c->line) { /* not twice */
            c->lines++;
            c->first = c->first ? c->first : c->line;
            c->last = c->line;
        }
        any = any && !last;
        c->line += *s == '\n';
        if (*s != '\n')
            *s = ' ';
    }
    c->at = end;
}

/* The end of the piece that begins at p; *open: it is a brace to look into. */
static const char *piece_end(const char *p, bool *open)
{
    const char *begin = p;
    int depth = 0;

    for (*open = false; *p;) {
        const char *next = skip(p);

        if (next != p + 1) {
            p = next;
            continue;
        }
        if (*p == '{' && !depth && is_open(begin, p)) {
            *open = true;
            return p + 1;
        }
        depth += (*p == '{' || *p == '(') - (*p == '}' || *p == ')');
        if (depth < 0 || (*p == ';' && !depth))
            return p + 1;
        if (*p == '}' && !depth) {
            for (p++; *p == ' ' || *p == ';'; p++)
                continue;
            return p;
        }
        p++;
    }
    return p;
}

/* Lines of nothing but spaces become empty. */
static void squeeze(char *text)
{
    char *to = text;

    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        bool blank = strspn(p, " ") >= n;

        if (!blank)
            memmove(to, p, n);
        to += blank ? 0 : n;
        p += n;
        if (*p)
            *to++ = *p++;
    }
    *to = '\0';
}

char *ws__device_part(struct ws__arena *arena, const char *text,
                      uint32_t *lines, uint32_t *first)
{
    struct cut c = {.text = ws__arena_strdup(arena, text), .line = 1};
    const char *p = c.text;

    *lines = *first = 0;
    c.at = p;
    while (p && *p) {
        const char *end;
        bool open = false;

        if (strchr(" \t\r\n", *p) ||
            (*p == '/' && (p[1] == '/' || p[1] == '*'))) {
            p = skip(p);
            continue;
        }
        end = *p == '#' ? skip_line(p) : piece_end(p, &open);
        if (*p == '#'
                ? is_host_include(p, end)
                : !open &&
                      !says_any(p, end, device_words, WS_COUNT(device_words)) &&
                      says_any(p, end, host_words, WS_COUNT(host_words)))
            leave_out(&c, p, end);
        p = end;
    }
    if (c.text && c.lines)
        squeeze(c.text);
    *lines = c.lines;
    *first = c.first;
    return c.text;
}

/* --- the document --------------------------------------------------------- */

/* Relative, and below its folder by its text alone. */
static int check_path(struct ws_ctx *ctx, const struct ws__node *n)
{
    const char *p = n->text;
    bool good = *p && *p != '/' && strlen(p) < 200;

    for (const char *s = p; good && *s; s++)
        good = ws__is_word(*s) || strchr("./-+", *s);
    for (const char *s = p; good && *s; s += *s == '/') {
        size_t len = strcspn(s, "/");

        /* No "", ".", "..", and nothing that is hidden. */
        good = len && *s != '.' && *s != '-';
        s += len;
    }
    if (good && p[strlen(p) - 1] != '/')
        return 0;
    ws__node_fail(ctx, n, "'%.200s' is no path of a source", p);
    return ws__hint(ctx, "paths are relative and stay below their folder");
}

static int read_file(struct ws_ctx *ctx, const struct ws__node *n,
                     struct ws__solution_file *f)
{
    const struct ws__node *path, *content;

    WS_TRY(
        ws__node_want(ctx, n, WS__MAP, "a source {path: ..., content: ...}"));
    WS_TRY(ws__node_need(ctx, n, "path", "the source", &path));
    WS_TRY(ws__node_str(ctx, path, "a path", &f->path));
    WS_TRY(check_path(ctx, path));
    WS_TRY(ws__node_need(ctx, n, "content", "the source", &content));
    WS_TRY(ws__node_str(ctx, content, "a text", &f->text));
    f->device = strstr(f->text, "__global__") != NULL;
    return 0;
}

static int read_files(struct ws_ctx *ctx, struct ws__arena *arena,
                      const struct ws__node *list, struct ws__solution *out)
{
    WS_TRY(ws__node_want(ctx, list, WS__LIST, "a list of sources"));
    if (!list->n || list->n > MAX_FILES)
        return ws__node_fail(ctx, list, "%zu sources, 1 to %d may be", list->n,
                             MAX_FILES);
    out->file = ws__arena_alloc(arena, list->n, sizeof(*out->file));
    if (!out->file)
        return WS_ENOMEM;
    for (const struct ws__node *c = list->first; c; c = c->next) {
        struct ws__solution_file *f = &out->file[out->n];

        WS_TRY(read_file(ctx, c, f));
        for (size_t i = 0; i < out->n; i++)
            if (!strcmp(out->file[i].path, f->path))
                return ws__node_fail(ctx, c, "a second source '%s'", f->path);
        out->n++;
    }
    return 0;
}

int ws__solution_read(struct ws_ctx *ctx, struct ws__arena *arena,
                      const char *text, size_t len, const char *file,
                      struct ws__solution *out)
{
    const struct ws__node *n, *spec;
    struct ws__node *root;
    int language;

    memset(out, 0, sizeof(*out));
    WS_TRY(ws__node_parse(ctx, arena, text, len, file, 1, &root));
    if (root->kind != WS__MAP || !ws__node_get(root, "sources") ||
        !ws__node_get(root, "spec")) {
        ws__node_fail(ctx, root, "no solution of flashinfer-bench");
        return ws__hint(ctx, "a solution has 'name', 'definition', 'spec' and "
                             "'sources'");
    }
    WS_TRY(ws__node_need(ctx, root, "name", "the solution", &n));
    WS_TRY(ws__node_printable(ctx, n, "a name", &out->name));
    WS_TRY(ws__node_need(ctx, root, "definition", "the solution", &n));
    WS_TRY(ws__node_printable(ctx, n, "the name of a Definition",
                              &out->definition));
    spec = ws__node_get(root, "spec");
    WS_TRY(ws__node_want(ctx, spec, WS__MAP, "a map {language: ...}"));
    WS_TRY(ws__node_need(ctx, spec, "language", "'spec'", &n));
    WS_TRY(ws__node_word(ctx, n, "a language",
                         "python triton cpp cuda tilelang", &language));
    out->language = n->text;
    WS_TRY(ws__node_need(ctx, spec, "entry_point", "'spec'", &n));
    WS_TRY(ws__node_printable(ctx, n, "FILE::FUNCTION", &out->entry));
    return read_files(ctx, arena, ws__node_get(root, "sources"), out);
}
