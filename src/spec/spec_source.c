/*
 * spec_source.c: a kernel's source as one text.
 *
 * Device compilers are never given an include path: they would read any file
 * that the process may read. Instead `#include "x"` is resolved here, from
 * the including file's folder, the declared include folders and our own
 * headers; every file must really lie inside of the specification's folder
 * (or the shipped one), links followed. Each file is taken once, wherever it
 * is first named. What a CUDA compiler brings itself, `#include <x>`, stays
 * (spec_header.c). A text of a pack holds everything and includes nothing.
 *
 * The scanner follows the phases of C: lines joined by backslashes, comments
 * as blanks, directives only at the start of a line. It must never miss an
 * include that a compiler would see; the few things that could hide one (raw
 * strings, digit separators, trigraphs, lone carriage returns, blanks behind
 * a joining backslash, blanks beyond ASCII, comments in lines that compilers
 * read as they are) are refused, and so are pragmas that look at files.
 * Assembly is CUDA C's alone: for processors it is machine code, and the
 * assembler reads files. What macros put together is left to the compiler,
 * for which the words mean nothing there (opencl_build.c).
 * #line directives keep the author's line numbers, with base names only, so
 * that a text does not depend on where it lies.
 */
#include <ctype.h>

#include "base/fs.h"
#include "spec/parts.h"

#include "base/banned.h"

#define MAX_SOURCE ((size_t)8 << 20)
#define MAX_FILES 256
#define MAX_NESTED 24

struct source {
    struct ws__load *l;
    struct ws__buf out;
    const char *root;       /* everything lies inside of it */
    const char *folder[16]; /* searched after the file's own */
    size_t nfolder;
    const char *seen[MAX_FILES]; /* canonical paths */
    size_t nseen;
    unsigned nested;
    enum ws__dialect dialect;
    bool ours; /* now in one of our headers */
};

/* A place in one file's text. */
struct scan {
    struct source *s;
    const char *path, *dir, *text;
    size_t at, flushed;
    uint32_t line;
    size_t line_start;
    bool start; /* only blanks so far on this line */
};

static int add_file(struct source *s, const char *path, const char *canonical);

static struct ws__loc here(const struct scan *c)
{
    return (struct ws__loc){c->path, c->line,
                            (uint32_t)(c->at - c->line_start) + 1};
}

static void newline(struct scan *c)
{
    c->line++;
    c->line_start = c->at;
}

/* Length of a joined line's backslash, blanks and newline at p; 0: none.
 * Compilers allow the blanks. */
static size_t joint(const char *p)
{
    size_t n;

    if (*p != '\\')
        return 0;
    n = 1 + strspn(p + 1, " \t\v\f\r");
    return p[n] == '\n' ? n + 1 : 0;
}

/* Skips joined lines, so that text[at] is what a compiler sees next. */
static void join_lines(struct scan *c)
{
    size_t n;

    while ((n = joint(c->text + c->at)) != 0) {
        c->at += n;
        newline(c);
    }
}

static char peek(struct scan *c)
{
    join_lines(c);
    return c->text[c->at];
}

static char peek_second(struct scan *c)
{
    struct scan copy = *c;

    if (!peek(&copy))
        return '\0';
    copy.at++;
    return peek(&copy);
}

static char take(struct scan *c)
{
    char ch = peek(c);

    if (ch) {
        c->at++;
        if (ch == '\n')
            newline(c);
    }
    return ch;
}

static bool skip_comment(struct scan *c)
{
    char second;

    if (peek(c) != '/')
        return false;
    second = peek_second(c);
    if (second != '/' && second != '*')
        return false;
    take(c);
    take(c);
    if (second == '/') {
        while (peek(c) && peek(c) != '\n')
            take(c);
        return true;
    }
    while (peek(c) && !(peek(c) == '*' && peek_second(c) == '/'))
        take(c);
    take(c);
    take(c);
    return true;
}

static int refuse(struct scan *c, const struct ws__loc *loc, const char *what,
                  const char *hint)
{
    ws__fail_at(c->s->l->ctx, WS_ESPEC, loc, "%s is not supported", what);
    return ws__hint(c->s->l->ctx, "%s", hint);
}

/* One that does not end, as the apostrophe of a text in a block that is
 * skipped, takes the rest of the line: but not every compiler sees it so. */
static int skip_literal(struct scan *c, char quote)
{
    struct ws__loc loc = here(c);
    bool comment = false;

    take(c);
    while (peek(c) && peek(c) != '\n') {
        char ch = take(c);

        if (ch == '\\' && peek(c) != '\n')
            take(c);
        else if (ch == quote)
            return 0;
        comment = comment || (ch == '/' && peek(c) == '*');
    }
    if (!comment)
        return 0;
    return refuse(c, &loc, "a quote without an end before a comment",
                  "end it, or put the comment into a line of its own");
}

/* Blanks and comments inside of a line. */
static void skip_blanks(struct scan *c)
{
    for (;;) {
        char ch = peek(c);

        if (ch == ' ' || ch == '\t' || ch == '\r' || ch == '\v' || ch == '\f')
            take(c);
        else if (!skip_comment(c))
            return;
    }
}

/* Drops what follows a directive that is replaced: behind the newline that
 * replaces it, it could begin a directive of its own. */
static void drop_line(struct scan *c)
{
    while (peek(c) && peek(c) != '\n')
        if (!skip_comment(c))
            take(c);
    c->flushed = c->at;
}

/* Its last character, also of one that is longer than n. */
static char take_word(struct scan *c, char *out, size_t n)
{
    size_t len = 0;
    char last = '\0';

    while (isalnum((unsigned char)peek(c)) || peek(c) == '_') {
        last = take(c);
        if (len + 1 < n)
            out[len++] = last;
    }
    out[len] = '\0';
    return last;
}

static int flush(struct scan *c, size_t until)
{
    int rc = ws__buf_add(&c->s->out, c->text + c->flushed, until - c->flushed);

    c->flushed = until;
    return rc;
}

static bool was_seen(const struct source *s, const char *canonical)
{
    for (size_t i = 0; i < s->nseen; i++)
        if (!strcmp(s->seen[i], canonical))
            return true;
    return false;
}

/* 1: `path` exists and lies inside `dir`. */
static int try_path(struct source *s, const char *dir, const char *path,
                    const char **canonical)
{
    char *real;

    if (!ws__fs_exists(path) || ws__fs_is_dir(path))
        return 0;
    WS_TRY(ws__path_inside(s->l->ctx, dir, path, &real));
    *canonical = ws__arena_strdup(s->l->arena, real);
    ws__free(s->l->ctx, real);
    return *canonical ? 1 : WS_ENOMEM;
}

static int try_folder(struct source *s, const char *dir, const char *folder,
                      const char *name, const char **path,
                      const char **canonical)
{
    *path = ws__load_join(s->l, folder, name);
    return *path ? try_path(s, dir, *path, canonical) : WS_ENOMEM;
}

/* `ours`: the folder of our headers if it was looked into, else NULL. */
static int find_include(struct scan *c, const char *name, const char **path,
                        const char **canonical, const char **ours)
{
    struct source *s = c->s;
    const char *share;
    int rc = try_folder(s, s->root, c->dir, name, path, canonical);

    for (size_t i = 0; !rc && i < s->nfolder; i++)
        rc = try_folder(s, s->root, s->folder[i], name, path, canonical);
    if (rc)
        return rc;
    /* Our headers lie with the operators; without these only own files
     * count, and the include is simply not found. */
    rc = ws__load_share_dir(s->l, &share);
    if (rc < 0)
        return rc == WS_ENOENT ? 0 : rc;
    *ours = ws__load_join(s->l, share, "dialect");
    if (!*ours)
        return WS_ENOMEM;
    return try_folder(s, *ours, *ours, name, path, canonical);
}

static int not_found(struct scan *c, const char *name,
                     const struct ws__loc *loc, const char *ours)
{
    struct ws_ctx *ctx = c->s->l->ctx;

    ws__fail_at(ctx, WS_ENOENT, loc, "include '%s' is not found", name);
    if (!ours)
        return ws__hint(ctx,
                        "it is looked for beside '%s' and in the folders of "
                        "'include'; no folder with the shipped headers was "
                        "found: install them, or set the share folder",
                        ws__path_base(c->path));
    return ws__hint(ctx,
                    "it is looked for beside '%s', then in the folders of "
                    "'include', then in '%s'",
                    ws__path_base(c->path), ours);
}

static int include_file(struct scan *c, const char *name,
                        const struct ws__loc *loc)
{
    const char *path = NULL, *canonical = NULL, *ours = NULL;
    struct ws_ctx *ctx = c->s->l->ctx;
    bool outer = c->s->ours;
    int rc;

    if (*name == '/') {
        ws__fail_at(ctx, WS_ESPEC, loc, "include '%s' is an absolute path",
                    name);
        return ws__hint(ctx, "write a path inside of the kernel's folder");
    }
    rc = find_include(c, name, &path, &canonical, &ours);
    if (rc < 0) {
        ws__error_prefix(ctx, "include '%s'", name);
        return ws__error_locate(ctx, loc);
    }
    if (!rc)
        return not_found(c, name, loc, ours);
    if (was_seen(c->s, canonical))
        return 0;
    WS_TRY(
        ws__buf_printf(&c->s->out, "\n#line 1 \"%s\"\n", ws__path_base(path)));
    c->s->ours = ours != NULL; /* the last place that was looked at */
    WS_TRY(add_file(c->s, path, canonical));
    c->s->ours = outer;
    return ws__buf_printf(&c->s->out, "\n#line %u \"%s\"\n", c->line,
                          ws__path_base(c->path));
}

/* <x>: a header of the compiler's own, not a way to other files. */
static int system_include(struct scan *c, const struct ws__loc *loc)
{
    struct ws_ctx *ctx = c->s->l->ctx;
    char name[200];
    size_t n = 0;

    take(c);
    while (peek(c) && peek(c) != '>' && peek(c) != '\n' && n + 1 < sizeof(name))
        name[n++] = take(c);
    name[n] = '\0';
    if (c->s->dialect == WS__DIALECT_OPENCL) {
        ws__fail_at(ctx, WS_ESPEC, loc, "include <%s> in OpenCL C", name);
        return ws__hint(ctx,
                        "everything of the language is there without it; "
                        "include files of your own in quotes, \"%s\"",
                        name);
    }
    if (peek(c) == '>' && ws__load_is_header(name))
        return 0;
    ws__fail_at(ctx, WS_ESPEC, loc, "include <%s> is no known header", name);
    return ws__hint(ctx,
                    "include files of your own in quotes, \"%s\", beside the "
                    "kernel; docs/specification.md lists the headers of "
                    "compilers",
                    name);
}

static int own_include(struct scan *c, size_t hash, const struct ws__loc *loc)
{
    char name[512];
    size_t n = 0;

    take(c);
    while (peek(c) && peek(c) != '"' && peek(c) != '\n' && n + 1 < sizeof(name))
        name[n++] = take(c);
    name[n] = '\0';
    if (peek(c) != '"' || !n) {
        ws__fail_at(c->s->l->ctx, WS_ESPEC, loc, "'#include' has no file");
        return ws__hint(c->s->l->ctx, "write #include \"file\"");
    }
    if (c->s->l->no_files) {
        ws__fail_at(c->s->l->ctx, WS_ESPEC, loc,
                    "include '%s' in a text that comes without files", name);
        return ws__hint(c->s->l->ctx, "the text of a pack has its includes in "
                                      "place: it was not made by wavesmith, "
                                      "or changed since");
    }
    WS_TRY(flush(c, hash));
    drop_line(c);
    return include_file(c, name, loc);
}

/* #error, #warning and #pragma mark: compilers read the rest of the line as
 * it is, where we would see a comment begin. */
static int plain_line(struct scan *c, const struct ws__loc *loc)
{
    struct scan copy = *c;

    for (char ch; (ch = take(&copy)) && ch != '\n';)
        if (ch == '/' && peek(&copy) == '*')
            return refuse(c, loc, "a comment in a line of words",
                          "put it into a line of its own");
    return 0;
}

/* What it says is left to scan_word, but for two. */
static int pragma(struct scan *c, size_t hash, const struct ws__loc *loc)
{
    struct scan copy = *c;
    char word[32];

    take_word(&copy, word, sizeof(word));
    if (!strcmp(word, "mark"))
        return plain_line(c, loc);
    if (strcmp(word, "once"))
        return 0;
    /* Every file comes once anyway, and compilers warn of it. */
    *c = copy;
    WS_TRY(flush(c, hash));
    drop_line(c);
    return 0;
}

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(word, list[i]))
            return true;
    return false;
}

/* at: behind the '#', whose offset is `hash`. */
static int directive(struct scan *c, size_t hash)
{
    static const char *const others[] = {"include_next", "import", "embed",
                                         "__include_macros"};
    struct ws__loc loc = here(c);
    struct ws_ctx *ctx = c->s->l->ctx;
    char word[32];

    loc.column -= loc.column > 1;
    skip_blanks(c);
    take_word(c, word, sizeof(word));
    if (!strcmp(word, "error") || !strcmp(word, "warning"))
        return plain_line(c, &loc);
    skip_blanks(c);
    if (!strcmp(word, "pragma"))
        return pragma(c, hash, &loc);
    if (is_one_of(word, others, WS_COUNT(others))) {
        ws__fail_at(ctx, WS_ESPEC, &loc, "'#%s' is not supported", word);
        return ws__hint(ctx, "use #include");
    }
    if (strcmp(word, "include"))
        return 0;
    if (peek(c) == '"')
        return own_include(c, hash, &loc);
    if (peek(c) == '<')
        return system_include(c, &loc);
    ws__fail_at(ctx, WS_ESPEC, &loc, "'#include' of a macro");
    return ws__hint(ctx, "write the file's name in quotes");
}

/* `GCC dependency "file"`, as a pragma's or as what a macro makes one of. */
static bool is_dependency(const struct scan *c, const char *word)
{
    struct scan copy = *c;
    char next[32];

    if (strcmp(word, "GCC"))
        return false;
    skip_blanks(&copy);
    take_word(&copy, next, sizeof(next));
    return !strcmp(next, "dependency");
}

/* _Pragma("..."), behind the word: does the text look at a file? One that is
 * too long to be looked at is taken for it. */
static bool is_file_pragma(const struct scan *c)
{
    struct scan copy = *c;
    char text[256], before = '\0', ch;
    size_t n = 0;

    skip_blanks(&copy);
    if (take(&copy) != '(')
        return false;
    skip_blanks(&copy);
    take_word(&copy, text, sizeof(text)); /* a prefix */
    if (take(&copy) != '"')
        return false;
    while ((ch = peek(&copy)) && ch != '\n' && (ch != '"' || before == '\\') &&
           n + 1 < sizeof(text))
        before = text[n++] = take(&copy);
    text[n] = '\0';
    return n + 1 == sizeof(text) || strstr(text, "dependency") ||
           strstr(text, "include_alias") || strstr(text, "pch_preprocess");
}

/* Words that make a source ask for files, and pieces that ## would make one
 * of them of. */
static int check_files(struct scan *c, const char *word,
                       const struct ws__loc *loc)
{
    static const char *const pragmas[] = {"include_alias", "pch_preprocess"};
    static const char *const pieces[] = {"__has_", "__has", "_include",
                                         "_embed"};

    if (strstr(word, "has_include") || strstr(word, "has_embed") ||
        is_one_of(word, pieces, WS_COUNT(pieces)))
        return refuse(c, loc, "asking for other files",
                      "a kernel is made of files of its own folder only");
    if (is_one_of(word, pragmas, WS_COUNT(pragmas)) || is_dependency(c, word) ||
        (!strcmp(word, "_Pragma") && is_file_pragma(c)))
        return refuse(c, loc, "a pragma on other files",
                      "a kernel is made of files of its own folder only");
    return 0;
}

/* The text of a pack has our headers in it. */
static int check_assembly(struct scan *c, const char *word,
                          const struct ws__loc *loc)
{
    static const char *const words[] = {"asm", "__asm", "__asm__"};

    if (c->s->dialect == WS__DIALECT_CUDA || c->s->ours || c->s->l->no_files ||
        !is_one_of(word, words, WS_COUNT(words)))
        return 0;
    return refuse(c, loc, "assembly in a source for processors",
                  "write C; a kernel for NVIDIA's GPUs alone says 'dialect: "
                  "cuda' and may have inline PTX");
}

/* The rest of a number as preprocessors see it, to which points, and signs
 * behind an exponent, belong: 1.e-5f. */
static int scan_number(struct scan *c, char last, const struct ws__loc *loc)
{
    char word[32], ch;

    while ((ch = peek(c)) == '.' ||
           ((ch == '+' || ch == '-') && last && strchr("eEpP", last))) {
        take(c);
        last = take_word(c, word, sizeof(word));
        WS_TRY(check_files(c, word, loc));
    }
    if (ch != '\'')
        return 0;
    return refuse(c, loc, "a digit separator", "write the number plain");
}

/* A name or a number. Two things after it would be read differently by C and
 * by C++, and could hide an include from one reading: refused. */
static int scan_word(struct scan *c)
{
    static const char *const raw[] = {"R", "LR", "uR", "UR", "u8R"};
    struct ws__loc loc = here(c);
    char word[32], last;

    c->start = false;
    last = take_word(c, word, sizeof(word));
    WS_TRY(check_files(c, word, &loc));
    WS_TRY(check_assembly(c, word, &loc));
    if (isdigit((unsigned char)*word))
        return scan_number(c, last, &loc);
    if (peek(c) == '"' && is_one_of(word, raw, WS_COUNT(raw)))
        return refuse(c, &loc, "a raw string", "use an ordinary string");
    return 0;
}

/* Some compilers take characters beyond ASCII for blanks, so that what looks
 * like the middle of a line is the start of it. */
static int scan_sign(struct scan *c, char ch)
{
    struct ws__loc loc = here(c);

    if ((ch & 0x80) ||
        (iscntrl((unsigned char)ch) && !isspace((unsigned char)ch)))
        return refuse(c, &loc, "a character beyond ASCII, or of control,",
                      "only comments and texts in quotes may have it");
    if (!isspace((unsigned char)ch))
        c->start = false;
    take(c);
    return 0;
}

static int scan_step(struct scan *c)
{
    char ch = peek(c);
    size_t hash = c->at;

    if (isalnum((unsigned char)ch) || ch == '_')
        return scan_word(c);
    if (ch == '\n') {
        take(c);
        c->start = true;
    } else if (ch == '"' || ch == '\'') {
        c->start = false;
        return skip_literal(c, ch);
    } else if (c->start &&
               (ch == '#' || (ch == '%' && peek_second(c) == ':'))) {
        take(c);
        if (ch == '%')
            take(c);
        c->start = false;
        return directive(c, hash);
    } else if (!skip_comment(c)) {
        return scan_sign(c, ch);
    }
    return 0;
}

/* What would make a compiler's lines differ from ours. */
static int check_text(struct scan *c)
{
    for (const char *p = c->text; *p; p++) {
        struct ws__loc loc = here(c);

        if (*p == '\r' && p[1] != '\n')
            return refuse(c, &loc, "a carriage return inside of a line",
                          "end lines by newlines");
        if (p[0] == '?' && p[1] == '?' && (p[2] == '=' || p[2] == '/'))
            return refuse(c, &loc, "a trigraph", "write the character");
        if (joint(p) &&
            (p[1] == ' ' || p[1] == '\t' || p[1] == '\v' || p[1] == '\f'))
            return refuse(c, &loc,
                          "a blank behind a backslash at its line's "
                          "end",
                          "remove it: compilers differ in what it means");
        c->at++;
        if (*p == '\n')
            newline(c);
    }
    c->at = c->line_start = 0;
    c->line = 1;
    return 0;
}

static int scan_text(struct source *s, const char *path, const char *text)
{
    struct scan c = {
        .s = s, .path = path, .text = text, .line = 1, .start = true};

    c.dir = ws__load_dir(s->l, path);
    if (!c.dir)
        return WS_ENOMEM;
    WS_TRY(check_text(&c));
    while (!strncmp(text + c.at, "\xef\xbb\xbf", 3)) /* byte order mark */
        c.flushed = c.at += 3;
    while (peek(&c))
        WS_TRY(scan_step(&c));
    return flush(&c, c.at);
}

static int add_file(struct source *s, const char *path, const char *canonical)
{
    struct ws__loc loc = {path, 1, 1};
    char *text;
    size_t len;
    int rc;

    if (s->nseen == MAX_FILES || s->nested == MAX_NESTED)
        return ws__fail_at(s->l->ctx, WS_ELIMIT, &loc, "too many includes");
    s->seen[s->nseen++] = canonical;
    WS_TRY(ws__fs_read(s->l->ctx, canonical, MAX_SOURCE, &text, &len));
    s->nested++;
    if (strlen(text) != len)
        rc = ws__fail_at(s->l->ctx, WS_ESPEC, &loc,
                         "the source contains a NUL character");
    else
        rc = scan_text(s, path, text);
    s->nested--;
    ws__free(s->l->ctx, text);
    return rc;
}

static int read_folders(struct source *s, const struct ws__node *list)
{
    struct ws_ctx *ctx = s->l->ctx;

    WS_TRY(ws__node_want(ctx, list, WS__LIST, "a list of folders"));
    for (const struct ws__node *c = list->first; c; c = c->next) {
        char *path, *real;

        if (s->nfolder == WS_COUNT(s->folder))
            return ws__fail_at(ctx, WS_ELIMIT, &c->loc,
                               "more than %zu include folders",
                               WS_COUNT(s->folder));
        WS_TRY(ws__node_want(ctx, c, WS__SCALAR, "a folder"));
        path = ws__load_join(s->l, s->root, c->text);
        if (!path)
            return WS_ENOMEM;
        if (ws__path_inside(ctx, s->root, path, &real) < 0)
            return ws__error_locate(ctx, &c->loc);
        ws__free(ctx, real);
        s->folder[s->nfolder++] = path;
    }
    return 0;
}

static int no_source(struct source *s, const struct ws__node *at,
                     const char *path)
{
    struct ws_ctx *ctx = s->l->ctx;
    char name[256], *real = NULL;

    /* The folder as it really is: people run tools from many places. */
    WS_TRY(ws__path_inside(ctx, s->root, s->root, &real));
    ws__load_nearest_file(s->l, path, name, sizeof(name));
    ws__fail_at(ctx, WS_ENOENT, &at->loc, "source '%s' is not found", at->text);
    if (*name)
        ws__hint(ctx, "did you mean '%s'? It is looked for in '%s'", name,
                 real);
    else
        ws__hint(ctx, "it is looked for in '%s'", real);
    ws__free(ctx, real);
    return WS_ENOENT;
}

static int resolve(struct source *s, const struct ws__node *at,
                   const struct ws__node *includes, const char **path)
{
    const char *canonical;
    int rc;

    if (includes)
        WS_TRY(read_folders(s, includes));
    WS_TRY(ws__node_want(s->l->ctx, at, WS__SCALAR, "a file"));
    *path = ws__load_join(s->l, s->root, at->text);
    if (!*path)
        return WS_ENOMEM;
    rc = try_path(s, s->root, *path, &canonical);
    if (rc < 0)
        return ws__error_locate(s->l->ctx, &at->loc);
    if (!rc)
        return no_source(s, at, *path);
    return add_file(s, *path, canonical);
}

static int new_source(struct ws__load *l, const char *dir,
                      enum ws__dialect dialect, struct source **out)
{
    *out = ws__alloc(l->ctx, 1, sizeof(**out));
    if (!*out)
        return WS_ENOMEM;
    (*out)->l = l;
    (*out)->root = dir;
    (*out)->dialect = dialect;
    ws__buf_init(&(*out)->out, l->ctx, MAX_SOURCE);
    return 0;
}

/* Frees s; its text becomes part of the arena unless rc is an error. */
static int end_source(struct source *s, int rc, const char **text)
{
    struct ws__load *l = s->l;

    if (rc >= 0) {
        *text = ws__arena_strdup(l->arena, s->out.data ? s->out.data : "");
        rc = *text ? 0 : WS_ENOMEM;
    }
    ws__buf_free(&s->out);
    ws__free(l->ctx, s);
    return rc;
}

int ws__load_source(struct ws__load *l, const struct ws__node *at,
                    const char *dir, const struct ws__node *includes,
                    enum ws__dialect dialect, const char **source,
                    const char **source_file)
{
    struct source *s;

    WS_TRY(new_source(l, dir, dialect, &s));
    return end_source(s, resolve(s, at, includes, source_file), source);
}

int ws__load_source_text(struct ws__load *l, const char *dir, const char *path,
                         const struct ws__node *includes,
                         enum ws__dialect dialect, const char *text,
                         const char **source)
{
    struct source *s;
    int rc;

    WS_TRY(new_source(l, dir, dialect, &s));
    s->nested = 1;
    rc = includes ? read_folders(s, includes) : 0;
    return end_source(s, rc < 0 ? rc : scan_text(s, path, text), source);
}
