/*
 * node.h: a YAML or JSON text as a tree with the place of everything.
 *
 * Private to the folder. The tree lives in an arena; nothing of the parsing
 * library leaks out of node.c. The readers below fail with the file, line
 * and column of the node, say what was found and what would be right.
 */
#ifndef WS_NODE_H
#define WS_NODE_H

#include "expr/expr.h"

#define WS__SPEC_TEXT_MAX ((size_t)8 << 20)

enum ws__node_kind { WS__SCALAR, WS__LIST, WS__MAP };

struct ws__node {
    enum ws__node_kind kind;
    struct ws__loc loc; /* of the first character of text */
    const char *text;   /* scalar */
    bool quoted;
    const char *key; /* of this member of a map; else NULL */
    struct ws__loc key_loc;
    struct ws__node *first, *last, *next; /* children; sibling */
    size_t n;
};

/* `file` is kept. `line`: number of the text's first line, for texts that
 * are part of a file. */
int ws__node_parse(struct ws_ctx *ctx, struct ws__arena *arena,
                   const char *text, size_t len, const char *file,
                   uint32_t line, struct ws__node **out);
/* JSON text that parses back to the same tree. Members of the root whose key
 * is in `skip` (ends with NULL) are left out. */
int ws__node_emit(struct ws__buf *b, const struct ws__node *n,
                  const char *const *skip);
/* A text as a JSON string. */
int ws__node_emit_text(struct ws__buf *b, const char *s);

/* Marked blanks, see blank.c. fn is called for each, in the order of the text;
 * what it returns other than 0 ends the walk and is returned. */
struct ws__blank {
    struct ws__loc loc;
    char subject[220]; /* "'shape' of tensor 'x'" */
    const char *wants; /* what goes there */
};
typedef int ws__blank_fn(void *user, const struct ws__blank *b);
int ws__node_blanks(const struct ws__node *root, ws__blank_fn *fn, void *user);
/* WS_ESPEC at the first one, naming all. */
int ws__node_no_blanks(struct ws_ctx *ctx, const struct ws__node *root);

/* WS_ESPEC at the node. */
int ws__node_fail(struct ws_ctx *ctx, const struct ws__node *n, const char *fmt,
                  ...) WS_PRINTF(3, 4);
/* Member of a map, or NULL. */
const struct ws__node *ws__node_get(const struct ws__node *map,
                                    const char *key);
/* As get, but a missing one is an error; `what` describes the map. */
int ws__node_need(struct ws_ctx *ctx, const struct ws__node *map,
                  const char *key, const char *what,
                  const struct ws__node **out);
/* Is it a map with no key outside of `keys` (separated by spaces)? */
int ws__node_keys(struct ws_ctx *ctx, const struct ws__node *map,
                  const char *keys, const char *what);
/* Is it of this kind? `what` says what is wanted, as in "a list of names". */
int ws__node_want(struct ws_ctx *ctx, const struct ws__node *n,
                  enum ws__node_kind kind, const char *what);
int ws__node_str(struct ws_ctx *ctx, const struct ws__node *n, const char *what,
                 const char **out);
int ws__node_int(struct ws_ctx *ctx, const struct ws__node *n, const char *what,
                 int64_t lo, int64_t hi, int64_t *out);
int ws__node_float(struct ws_ctx *ctx, const struct ws__node *n,
                   const char *what, double *out);
int ws__node_bool(struct ws_ctx *ctx, const struct ws__node *n,
                  const char *what, bool *out);
/* [lo, hi] of whole numbers, lo <= hi. */
int ws__node_range(struct ws_ctx *ctx, const struct ws__node *n,
                   const char *what, int64_t *lo, int64_t *hi);
/* A scalar with the type that its text shows; quoted ones are strings. */
int ws__node_value(struct ws_ctx *ctx, const struct ws__node *n,
                   struct ws__value *out);
/* Names. An identifier: what C takes as a name. A variable: an identifier
 * that means nothing else in expressions; with `words`, no element type
 * either. A title: an identifier that may have '-' and '.' inside. */
int ws__node_identifier(struct ws_ctx *ctx, const char *text,
                        const struct ws__loc *loc, const char *what);
int ws__node_variable(struct ws_ctx *ctx, const char *text,
                      const struct ws__loc *loc, const char *what, bool words);
int ws__node_title(struct ws_ctx *ctx, const char *text,
                   const struct ws__loc *loc, const char *what);
/* Length and code of the character at s, of which `left` bytes are there; 0:
 * it is none. */
size_t ws__utf8(const char *s, size_t left, uint32_t *code);
/* A text of one line for people: valid UTF-8, not empty, no controls. */
int ws__node_printable(struct ws_ctx *ctx, const struct ws__node *n,
                       const char *what, const char **out);
/* The element types become words of a scope. */
void ws__node_words(struct ws__scope *s);
/* One of the words in `words` (separated by spaces): its index. */
int ws__node_word(struct ws_ctx *ctx, const struct ws__node *n,
                  const char *what, const char *words, int *out);
int ws__node_expr(struct ws_ctx *ctx, struct ws__arena *arena,
                  const struct ws__node *n, const struct ws__scope *scope,
                  int want, struct ws__expr **out);
/* Adds "did you mean" or the list of `words` to the error just set. */
int ws__hint_words(struct ws_ctx *ctx, const char *text, const char *words,
                   const char *label);

#endif
