/*
 * llm_reply_yaml.c: changes of a kernel file out of a block of YAML.
 *
 * Read event by event, so that nothing is built of a hostile text: no anchors,
 * aliases or tags, a bounded depth. Values are written again in flow style on
 * one line, what was quoted in quotes, so that the caller needs to know no
 * indentation.
 */
#include "llm/llm_int.h"
#include "llm/llm_reply_int.h"

#include <ctype.h>
#include <libfyaml.h>

#include "base/banned.h"

#define DEPTH_MAX 12
#define PATH_MAX_BYTES 200

struct reader {
    struct ws_ctx *ctx;
    struct ws__llm_proposal *p;
    struct ws__llm_change *change; /* of p */
    const char *const *roots;
    struct fy_diag *diag;
    struct fy_parser *parser;
    struct fy_event *e; /* the current one */
    size_t line;        /* of the reply, before the block's first */
    size_t top;         /* line of the block, for errors without a place */
};

static int refuse(struct reader *r, const char *what)
{
    const struct fy_mark *m = r->e ? fy_event_start_mark(r->e) : NULL;

    return ws__fail(r->ctx, WS_EPARSE, "the YAML in line %zu of the reply: %s",
                    m && m->line >= 0 ? r->line + (size_t)m->line + 1 : r->top,
                    what);
}

static int syntax_error(struct reader *r)
{
    void *iter = NULL;
    struct fy_diag_error *e = fy_diag_errors_iterate(r->diag, &iter);
    char what[200];

    snprintf(what, sizeof(what), "it is not valid: %.150s",
             e && e->msg ? e->msg : "syntax error");
    return refuse(r, what);
}

static int next(struct reader *r)
{
    struct fy_event *e = fy_parser_parse(r->parser);

    if (!e) {
        int rc = syntax_error(r);

        fy_parser_event_free(r->parser, r->e);
        r->e = NULL;
        return rc;
    }
    fy_parser_event_free(r->parser, r->e);
    r->e = e;
    if (e->type == FYET_ALIAS || fy_event_get_anchor_token(e) ||
        fy_event_get_tag_token(e))
        return refuse(r, "anchors, aliases and tags are not allowed");
    return 0;
}

static int want(struct reader *r, enum fy_event_type type, const char *what)
{
    WS_TRY(next(r));
    return r->e->type == type ? 0 : refuse(r, what);
}

/* --- values --------------------------------------------------------------- */

static void quote(struct ws__buf *b, const char *s, size_t n)
{
    ws__buf_puts(b, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c == '"' || c == '\\')
            ws__buf_printf(b, "\\%c", c);
        else if (c == '\n')
            ws__buf_puts(b, "\\n");
        else if (c < 0x20 || c == 0x7f)
            ws__buf_printf(b, "\\x%02x", c);
        else
            ws__buf_add(b, s + i, 1);
    }
    ws__buf_puts(b, "\"");
}

static bool needs_quotes(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strchr(",[]{}#:&*!|>'\"%@`?\n", s[i]))
            return true;
    return false;
}

static int scalar(struct reader *r, struct ws__buf *b)
{
    struct fy_token *t = fy_event_get_token(r->e);
    bool plain = !t || fy_token_scalar_style(t) == FYSS_PLAIN;
    size_t n = 0;
    const char *s = t ? fy_token_get_text(t, &n) : NULL;

    if (n && memchr(s, 0, n))
        return refuse(r, "a text has a byte of zero");
    if (plain && !n)
        return ws__buf_puts(b, "null");
    if (plain && !needs_quotes(s, n))
        return ws__buf_add(b, s, n);
    quote(b, s, n);
    return b->failed;
}

static int value(struct reader *r, struct ws__buf *b, unsigned depth);

/* The members of a list or a map, whose start is the current event. */
static int members(struct reader *r, struct ws__buf *b, unsigned depth,
                   enum fy_event_type end, bool map)
{
    for (size_t i = 0;; i++) {
        WS_TRY(next(r));
        if (r->e->type == end)
            return 0;
        if (i)
            WS_TRY(ws__buf_puts(b, map && i % 2 ? ": " : ", "));
        if (map && i % 2 == 0 && r->e->type != FYET_SCALAR)
            return refuse(r, "a name of a map is a word");
        WS_TRY(value(r, b, depth + 1));
    }
}

static int value(struct reader *r, struct ws__buf *b, unsigned depth)
{
    bool map = r->e->type == FYET_MAPPING_START;

    if (r->e->type == FYET_SCALAR)
        return scalar(r, b);
    if (!map && r->e->type != FYET_SEQUENCE_START)
        return refuse(r, "a value is missing");
    if (depth >= DEPTH_MAX)
        return refuse(r, "lists and maps are nested too deeply");
    ws__buf_puts(b, map ? "{" : "[");
    WS_TRY(
        members(r, b, depth, map ? FYET_MAPPING_END : FYET_SEQUENCE_END, map));
    return ws__buf_puts(b, map ? "}" : "]");
}

/* --- changes -------------------------------------------------------------- */

static const char *name_end(const char *p)
{
    if (!isalpha((unsigned char)*p) && *p != '_')
        return NULL;
    while (isalnum((unsigned char)*p) || *p == '_')
        p++;
    return p;
}

/* After '[': three digits at most, or a plus, and ']'. */
static const char *index_end(const char *p)
{
    const char *from = p;

    if (*p == '+')
        return p[1] == ']' ? p + 2 : NULL;
    while (isdigit((unsigned char)*p) && p - from < 3)
        p++;
    return p > from && *p == ']' ? p + 1 : NULL;
}

bool ws__llm_is_path(const char *path)
{
    const char *p = strlen(path) <= PATH_MAX_BYTES ? name_end(path) : NULL;

    while (p && *p) {
        bool index = *p == '[';

        if (!index && *p != '.')
            return false;
        p = index ? index_end(p + 1) : name_end(p + 1);
    }
    return p != NULL;
}

bool ws__llm_is_root(const char *const *roots, const char *path)
{
    size_t n = strcspn(path, ".[");

    if (!roots)
        return true;
    for (; *roots; roots++)
        if (strlen(*roots) == n && !memcmp(*roots, path, n))
            return true;
    return false;
}

static int check_path(struct reader *r, const char *path)
{
    char what[320];

    if (!ws__llm_is_path(path)) {
        snprintf(what, sizeof(what),
                 "'%.80s' is no path: names with dots, [3] or [+], as in "
                 "launches[0].grid[1]",
                 path);
        return refuse(r, what);
    }
    if (!ws__llm_is_root(r->roots, path)) {
        snprintf(what, sizeof(what),
                 "'%.80s' may not be changed, only what begins with", path);
        for (const char *const *n = r->roots; *n; n++) {
            size_t at = strlen(what);

            snprintf(what + at, sizeof(what) - at, "%s %s",
                     n == r->roots ? "" : ",", *n);
        }
        return refuse(r, what);
    }
    for (size_t i = 0; i < r->p->nchange; i++)
        if (!strcmp(r->change[i].path, path) && !strstr(path, "[+]")) {
            snprintf(what, sizeof(what), "'%.80s' is changed twice", path);
            return refuse(r, what);
        }
    return 0;
}

/* The text of the current event, copied; "" if it is none. NULL: no memory. */
static const char *word(struct reader *r)
{
    struct fy_token *t =
        r->e->type == FYET_SCALAR ? fy_event_get_token(r->e) : NULL;
    size_t n = 0;
    const char *s = t ? fy_token_get_text(t, &n) : NULL;

    if (!s || memchr(s, 0, n))
        return "";
    return ws__arena_strndup(&r->p->arena, s, n);
}

static int take_path(struct reader *r, struct ws__llm_change *c)
{
    const char *path = word(r);

    if (!path)
        return WS_ENOMEM;
    WS_TRY(check_path(r, path));
    c->path = path;
    return 0;
}

static int take_value(struct reader *r, struct ws__llm_change *c)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, r->ctx, WS__LLM_YAML_BYTES * 8);
    rc = value(r, &b, 0);
    if (rc >= 0)
        rc = b.failed;
    if (rc >= 0 && !(c->yaml = ws__arena_strndup(&r->p->arena, b.data, b.len)))
        rc = WS_ENOMEM;
    ws__buf_free(&b);
    return rc;
}

static int take_change(struct reader *r)
{
    static const char form[] =
        "each change is {path: ..., value: ...} and nothing else";
    struct ws__llm_change *c = &r->change[r->p->nchange];

    if (r->e->type != FYET_MAPPING_START)
        return refuse(r, form);
    for (;;) {
        const char *key;
        bool path;

        WS_TRY(next(r));
        if (r->e->type == FYET_MAPPING_END)
            break;
        key = word(r);
        if (!key)
            return WS_ENOMEM;
        path = !strcmp(key, "path");
        if ((!path && strcmp(key, "value") != 0) || (path ? c->path : c->yaml))
            return refuse(r, form);
        WS_TRY(next(r));
        WS_TRY(path ? take_path(r, c) : take_value(r, c));
    }
    if (!c->path || !c->yaml)
        return refuse(r, form);
    r->p->nchange++;
    return 0;
}

static int take_list(struct reader *r)
{
    WS_TRY(want(r, FYET_STREAM_START, "it is empty"));
    WS_TRY(want(r, FYET_DOCUMENT_START, "it is empty"));
    WS_TRY(want(r, FYET_SEQUENCE_START,
                "it is no list of {path: ..., value: ...}"));
    for (;;) {
        WS_TRY(next(r));
        if (r->e->type == FYET_SEQUENCE_END)
            break;
        if (r->p->nchange == WS__LLM_CHANGES_MAX)
            return refuse(r, "it has too many changes");
        WS_TRY(take_change(r));
    }
    WS_TRY(want(r, FYET_DOCUMENT_END, "it has more than one list"));
    return want(r, FYET_STREAM_END, "it has more than one list");
}

static int read_text(struct reader *r, const char *text, size_t len)
{
    struct fy_diag_cfg dc;
    struct fy_parse_cfg pc = {
        .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_ALLOW_DUPLICATE_KEYS |
                 FYPCF_JSON_NONE | FYPCF_SLOPPY_FLOW_INDENTATION};
    int rc;

    fy_diag_cfg_default(&dc);
    dc.fp = NULL;
    dc.output_fn = NULL;
    pc.diag = r->diag = fy_diag_create(&dc);
    if (!r->diag)
        return ws__nomem(r->ctx);
    fy_diag_set_collect_errors(r->diag, true);
    r->parser = fy_parser_create(&pc);
    if (!r->parser || fy_parser_set_string(r->parser, text, len))
        rc = ws__nomem(r->ctx);
    else
        rc = take_list(r);
    if (r->parser) {
        fy_parser_event_free(r->parser, r->e);
        fy_parser_destroy(r->parser);
    }
    fy_diag_destroy(r->diag);
    return rc;
}

/* libfyaml 0.7.12 never comes back from a directive with bytes that are no
 * UTF-8. We need none; one begins a line, whatever ends the line before. */
static int check_text(struct reader *r, const char *text)
{
    static const char *const odd[] = {"\xc2\x85", "\xe2\x80\xa8",
                                      "\xe2\x80\xa9", "\xef\xbb\xbf"};

    if (*text == '%' || strstr(text, "\n%"))
        return refuse(r, "directives are not allowed");
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\n' && *p != '\t')
            return refuse(r, "it has a control character");
    for (size_t i = 0; i < WS_COUNT(odd); i++)
        if (strstr(text, odd[i]))
            return refuse(r, "it has a line end of another kind, or a mark of "
                             "byte order");
    return 0;
}

int ws__llm_changes_read(struct ws_ctx *ctx, const struct ws__llm_rows *reply,
                         const struct ws__llm_range *range,
                         const char *const *roots, struct ws__llm_proposal *p)
{
    struct reader r = {.ctx = ctx,
                       .p = p,
                       .roots = roots,
                       .line = range->first,
                       .top = range->first};
    struct ws__buf b;
    char *text;
    int rc;

    r.change =
        ws__arena_alloc(&p->arena, WS__LLM_CHANGES_MAX, sizeof(*r.change));
    if (!r.change)
        return WS_ENOMEM;
    p->change = r.change;
    ws__buf_init(&b, ctx, WS__LLM_YAML_BYTES);
    ws__llm_rows_write(&b, reply, range, "\n");
    if (b.failed == WS_ELIMIT)
        return ws__buf_free(&b), refuse(&r, "it is too long");
    text = b.failed ? NULL : ws__llm_utf8(&p->arena, b.data ? b.data : "");
    rc = text ? check_text(&r, text) : WS_ENOMEM;
    if (rc >= 0)
        rc = read_text(&r, text, strlen(text));
    ws__buf_free(&b);
    return rc;
}
