/*
 * node.c: YAML and JSON texts to trees, and back.
 *
 * libfyaml delivers events with exact positions; the tree is built from them
 * without recursion. What makes specifications hard to read or to check is
 * refused here once for all formats: anchors and aliases (a reader must see
 * a value where it stands), tags, duplicate keys, keys that are not words,
 * several documents, depth without end.
 *
 * A quoted scalar remembers its quotes, so that "16" stays a text. Emitting
 * writes JSON: it needs no indentation and no rules about plain scalars.
 */
#include "spec/node.h"

#include <libfyaml.h>

#include "base/banned.h"

#define MAX_DEPTH 24
#define MAX_KEYS 1024 /* every key is compared with those before it */

struct builder {
    struct ws_ctx *ctx;
    struct ws__arena *arena;
    struct fy_parser *parser;
    const char *file;
    uint32_t line;
    struct ws__node *stack[MAX_DEPTH];
    size_t depth;
    struct ws__node *root, *key; /* key: waits for its value */
    unsigned documents;
};

static struct ws__loc locate(const struct builder *b,
                             const struct fy_mark *mark)
{
    struct ws__loc loc = {b->file, b->line, 1};

    if (mark) {
        loc.line = b->line + (uint32_t)mark->line;
        loc.column = (uint32_t)mark->column + 1;
    }
    return loc;
}

static int refuse(struct builder *b, struct fy_event *e, const char *what,
                  const char *hint)
{
    struct ws__loc loc = locate(b, fy_event_start_mark(e));

    ws__fail_at(b->ctx, WS_EPARSE, &loc, "%s", what);
    return ws__hint(b->ctx, "%s", hint);
}

static int check_key(struct builder *b, const struct ws__node *map,
                     const struct ws__node *key)
{
    if (key->kind != WS__SCALAR) {
        ws__fail_at(b->ctx, WS_EPARSE, &key->loc, "a key must be a word");
        return ws__hint(b->ctx, "write NAME: VALUE");
    }
    if (map->n >= MAX_KEYS) {
        ws__fail_at(b->ctx, WS_ELIMIT, &key->loc,
                    "more than %d keys in one map", MAX_KEYS);
        return ws__hint(b->ctx, "a list holds as many entries as you like");
    }
    for (const struct ws__node *c = map->first; c; c = c->next)
        if (!strcmp(c->key, key->text)) {
            ws__fail_at(b->ctx, WS_EPARSE, &key->loc,
                        "key '%s' stands here twice", key->text);
            return ws__hint(b->ctx, "the first one is in line %u",
                            c->key_loc.line);
        }
    return 0;
}

static int attach(struct builder *b, struct ws__node *n)
{
    struct ws__node *top = b->depth ? b->stack[b->depth - 1] : NULL;

    if (!top) {
        b->root = n;
        return 0;
    }
    if (top->kind == WS__MAP && !b->key) {
        WS_TRY(check_key(b, top, n));
        b->key = n;
        return 0;
    }
    if (top->kind == WS__MAP) {
        n->key = b->key->text;
        n->key_loc = b->key->loc;
        b->key = NULL;
    }
    if (top->last)
        top->last->next = n;
    else
        top->first = n;
    top->last = n;
    top->n++;
    return 0;
}

static int add_scalar(struct builder *b, struct fy_event *e)
{
    struct ws__node *n = ws__arena_alloc(b->arena, 1, sizeof(*n));
    struct fy_token *t = fy_event_get_token(e);
    size_t len = 0;
    const char *text = t ? fy_token_get_text(t, &len) : NULL;

    if (!n)
        return WS_ENOMEM;
    n->kind = WS__SCALAR;
    n->loc = locate(b, fy_event_start_mark(e));
    /* A value that is not there has no place: its parent must do. */
    if (!fy_event_start_mark(e) && b->depth)
        n->loc = b->key ? b->key->loc : b->stack[b->depth - 1]->loc;
    if (text && memchr(text, 0, len))
        return refuse(b, e, "a text contains a NUL character", "remove it");
    n->text = ws__arena_strndup(b->arena, text ? text : "", text ? len : 0);
    if (!n->text)
        return WS_ENOMEM;
    /* Marks of quoted scalars point behind the quote, as wanted. */
    n->quoted = t && fy_token_scalar_style(t) != FYSS_PLAIN;
    return attach(b, n);
}

static int open_node(struct builder *b, struct fy_event *e,
                     enum ws__node_kind kind)
{
    struct ws__node *n;

    if (b->depth == MAX_DEPTH)
        return refuse(b, e, "nested too deeply", "at most 24 levels");
    if (b->depth && b->stack[b->depth - 1]->kind == WS__MAP && !b->key)
        return refuse(b, e, "a key must be a word", "write NAME: VALUE");
    n = ws__arena_alloc(b->arena, 1, sizeof(*n));
    if (!n)
        return WS_ENOMEM;
    n->kind = kind;
    n->loc = locate(b, fy_event_start_mark(e));
    WS_TRY(attach(b, n));
    b->stack[b->depth++] = n;
    return 0;
}

static int close_node(struct builder *b)
{
    struct ws__node *n = b->stack[--b->depth];

    /* A block map begins at its first key. */
    if (n->kind == WS__MAP && n->first && n->first->key_loc.line < n->loc.line)
        n->loc = n->first->key_loc;
    return 0;
}

static int check_decorations(struct builder *b, struct fy_event *e)
{
    if (fy_event_get_anchor_token(e))
        return refuse(b, e, "an anchor ('&') is not allowed",
                      "write the value at every place where it is used; "
                      "quote a text that begins with '&'");
    if (fy_event_get_tag_token(e))
        return refuse(b, e, "a tag ('!') is not allowed",
                      "leave it out; quote a text that begins with '!'");
    return 0;
}

static int take_event(struct builder *b, struct fy_event *e)
{
    switch (e->type) {
    case FYET_ALIAS:
        return refuse(b, e, "an alias ('*') is not allowed",
                      "write the value out; quote a text that begins with "
                      "'*'");
    case FYET_DOCUMENT_START:
        if (++b->documents > 1)
            return refuse(b, e, "a second document begins here",
                          "one file holds one document");
        return 0;
    case FYET_SCALAR:
        WS_TRY(check_decorations(b, e));
        return add_scalar(b, e);
    case FYET_SEQUENCE_START:
        WS_TRY(check_decorations(b, e));
        return open_node(b, e, WS__LIST);
    case FYET_MAPPING_START:
        WS_TRY(check_decorations(b, e));
        return open_node(b, e, WS__MAP);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
        return close_node(b);
    default:
        return 0;
    }
}

/* Column (from 1) of a tab in the indentation of line `line` (from 0), or
 * 0. */
static uint32_t indented_by_tab(const char *text, size_t len, int line)
{
    const char *p = text, *end = text + len, *start;

    for (; line > 0; line--) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p++)
            return 0;
    }
    start = p;
    while (p < end && *p == ' ')
        p++;
    return p < end && *p == '\t' ? (uint32_t)(p - start) + 1 : 0;
}

/* The library may notice a tab only in the line after. */
static bool tab_error(struct builder *b, const struct fy_diag_error *e,
                      const char *text, size_t len)
{
    for (int line = e->line - 1; line >= 0 && line <= e->line; line++) {
        uint32_t column = indented_by_tab(text, len, line);
        struct ws__loc loc = {b->file, b->line + (uint32_t)line, column};

        if (!column)
            continue;
        ws__fail_at(b->ctx, WS_EPARSE, &loc, "a tab is used for indentation");
        ws__hint(b->ctx, "indent by spaces");
        return true;
    }
    return false;
}

static bool is_json(const char *file)
{
    const char *dot = strrchr(file, '.');

    return dot && (!strcmp(dot, ".json") || !strcmp(dot, ".jsonl"));
}

/* What usually helps against a complaint of the library. */
static const char *syntax_hint(const char *complaint, bool json)
{
    static const struct {
        const char *words, *hint, *json;
    } known[] = {
        {"indentation", "members of one map or list begin in one column", NULL},
        {"multiline plain key",
         "this line is indented deeper than its neighbours, or the one before "
         "has no value",
         NULL},
        {"nested block mapping", "a text with ': ' in it needs quotes", NULL},
        {"missing comma",
         "a comma or a closing bracket is missing; texts with '[', '{' or ': ' "
         "need quotes",
         "a comma, a colon or a closing bracket is missing"},
        {"without a closing",
         "close the bracket; a text that begins with '[' or '{' needs quotes",
         "close the bracket"},
        {"closing quote", "end the text with the quote it begins with", NULL},
        {"extra closing", "there is one closing bracket too many", NULL},
        {"cannot start with", "put the text into quotes", NULL},
        {"escape", "write '\\\\' for a backslash, or use single quotes",
         "write '\\\\' for a backslash"},
        {"UTF8", "write a whole character, or none", NULL},
        {"expected key", "lines of a map are 'KEY: VALUE', of a list '- VALUE'",
         NULL},
        {"after mapping", "a line of a map is 'KEY: VALUE'", NULL},
    };

    for (size_t i = 0; i < WS_COUNT(known); i++)
        if (strstr(complaint, known[i].words))
            return json && known[i].json ? known[i].json : known[i].hint;
    return json ? "keys and texts stand in double quotes, members are "
                  "separated by commas"
                : "texts with ': ', '#', '[' or '{' need quotes";
}

/* What the library objects to, in its words, at its place. */
static int syntax_error(struct builder *b, struct fy_diag *diag,
                        const char *text, size_t len)
{
    void *iter = NULL;
    struct fy_diag_error *e = fy_diag_errors_iterate(diag, &iter);
    struct ws__loc loc = {b->file, b->line, 1};
    bool json = is_json(b->file);
    const char *format = json ? "JSON" : "YAML";

    if (!e) {
        ws__fail_at(b->ctx, WS_EPARSE, &loc, "not valid %s", format);
        return ws__hint(b->ctx, "check the text with an editor that knows %s",
                        format);
    }
    /* Positions of errors count from 1, those of marks from 0. */
    if (e->line > 0)
        loc.line += (uint32_t)e->line - 1;
    loc.column = e->column > 0 ? (uint32_t)e->column : 1;
    if (tab_error(b, e, text, len))
        return WS_EPARSE;
    ws__fail_at(b->ctx, WS_EPARSE, &loc, "not valid %s: %s", format,
                e->msg ? e->msg : "syntax error");
    return ws__hint(b->ctx, "%s", syntax_hint(e->msg ? e->msg : "", json));
}

static int parse_events(struct builder *b, struct fy_diag *diag,
                        const char *text, size_t len)
{
    struct fy_event *e;
    int rc = 0;

    while (rc >= 0 && (e = fy_parser_parse(b->parser)) != NULL) {
        bool end = e->type == FYET_STREAM_END;

        rc = take_event(b, e);
        fy_parser_event_free(b->parser, e);
        if (rc >= 0)
            rc = ws__check_stop(b->ctx);
        if (rc >= 0 && end)
            return 0;
    }
    return rc < 0 ? rc : syntax_error(b, diag, text, len);
}

static int check_bytes(struct ws_ctx *ctx, const char *text, size_t len,
                       const char *file)
{
    struct ws__loc loc = {file, 1, 1};

    if (len > WS__SPEC_TEXT_MAX) {
        ws__fail_at(ctx, WS_ELIMIT, &loc, "the text is too long");
        return ws__hint(ctx, "at most %zu bytes", WS__SPEC_TEXT_MAX);
    }
    for (size_t i = 0, n; i < len; i += n, loc.column++) {
        uint32_t c;

        n = ws__utf8(text + i, len - i, &c);
        if (!n) {
            ws__fail_at(ctx, WS_EPARSE, &loc, "the text is not UTF-8");
            return ws__hint(ctx, "save the file as UTF-8");
        }
        if (!text[i]) {
            ws__fail_at(ctx, WS_EPARSE, &loc,
                        "the text contains a NUL character");
            return ws__hint(ctx, "a specification is a text file");
        }
        if (text[i] == '\n') {
            loc.line++;
            loc.column = 0;
        }
    }
    return 0;
}

int ws__node_parse(struct ws_ctx *ctx, struct ws__arena *arena,
                   const char *text, size_t len, const char *file,
                   uint32_t line, struct ws__node **out)
{
    struct fy_diag_cfg dc;
    struct fy_parse_cfg pc = {
        .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_ALLOW_DUPLICATE_KEYS |
                 FYPCF_JSON_NONE | FYPCF_SLOPPY_FLOW_INDENTATION};
    struct builder b = {ctx, arena, NULL, file, line, {NULL}, 0, NULL, NULL, 0};
    struct ws__loc top = {file, line, 1};
    int rc = WS_ENOMEM;

    *out = NULL;
    WS_TRY(check_bytes(ctx, text, len, file));
    fy_diag_cfg_default(&dc);
    dc.fp = NULL;
    dc.output_fn = NULL;
    pc.diag = fy_diag_create(&dc);
    if (!pc.diag)
        return ws__nomem(ctx);
    fy_diag_set_collect_errors(pc.diag, true);
    b.parser = fy_parser_create(&pc);
    if (!b.parser || fy_parser_set_string(b.parser, text, len))
        ws__nomem(ctx);
    else
        rc = parse_events(&b, pc.diag, text, len);
    if (b.parser)
        fy_parser_destroy(b.parser);
    fy_diag_destroy(pc.diag);
    if (rc >= 0 && !b.root) {
        ws__fail_at(ctx, WS_EPARSE, &top, "the text is empty");
        rc = ws__hint(ctx, "see docs/specification.md for the format");
    }
    *out = b.root;
    return rc;
}

int ws__node_emit_text(struct ws__buf *b, const char *s)
{
    WS_TRY(ws__buf_puts(b, "\""));
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\')
            ws__buf_printf(b, "\\%c", c);
        else if (c == '\n')
            ws__buf_puts(b, "\\n");
        else if (c < 0x20)
            ws__buf_printf(b, "\\u%04x", c);
        else
            ws__buf_add(b, s, 1);
    }
    return ws__buf_puts(b, "\"");
}

static int emit_scalar(struct ws__buf *b, const struct ws__node *n)
{
    struct ws__value v;

    if (n->quoted || !*n->text || ws__node_value(b->ctx, n, &v) < 0 ||
        v.type == WS__STR)
        return ws__node_emit_text(b, n->text);
    return ws__buf_puts(b, n->text);
}

static bool listed(const char *key, const char *const *skip)
{
    for (; key && skip && *skip; skip++)
        if (!strcmp(*skip, key))
            return true;
    return false;
}

int ws__node_emit(struct ws__buf *b, const struct ws__node *n,
                  const char *const *skip)
{
    const char *comma = "";

    if (n->kind == WS__SCALAR)
        return emit_scalar(b, n);
    ws__buf_puts(b, n->kind == WS__MAP ? "{" : "[");
    for (const struct ws__node *c = n->first; c; c = c->next) {
        if (listed(c->key, skip))
            continue;
        ws__buf_puts(b, comma);
        if (c->key) {
            ws__node_emit_text(b, c->key);
            ws__buf_puts(b, ": ");
        }
        WS_TRY(ws__node_emit(b, c, NULL));
        comma = skip ? ",\n" : ", ";
    }
    return ws__buf_puts(b, n->kind == WS__MAP ? "}" : "]");
}
