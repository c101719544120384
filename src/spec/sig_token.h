/*
 * sig_token.h: the tokens and names of a kernel's source, private to the
 * signature reader.
 */
#ifndef WS_SIG_TOKEN_H
#define WS_SIG_TOKEN_H

#include "spec/signature.h"

enum ws__tok_kind { WS__TOK_WORD, WS__TOK_NUMBER, WS__TOK_TEXT, WS__TOK_SIGN };

struct ws__tok {
    const char *s; /* in the flattened text */
    uint32_t n, line;
    enum ws__tok_kind kind;
    bool own; /* not of the file to skip */
};

/* A #define without arguments; the last one counts, `times` says how many. */
struct ws__name {
    const char *s;
    uint32_t n, line; /* of the first use outside of the file to skip */
    const char *body; /* of the last #define; NULL: function-like */
    uint32_t body_n;
    unsigned defines;   /* #define directives */
    unsigned fallbacks; /* of these, right inside of #ifndef of the name */
    bool declared;      /* something in C has this name */
    bool used;          /* in code, in #if or in a macro's body */
    bool tested;        /* by #if or #elif */
    bool by_ifdef;
    bool differs;      /* two #defines with different bodies */
    size_t typedef_at; /* the first token of its type in a typedef */
    size_t typedef_n;  /* tokens of it; 0: no typedef */
};

struct ws__tokens {
    struct ws_ctx *ctx;
    struct ws__arena *arena;
    const char *skip;
    struct ws__tok *tok; /* of the code, without directives */
    size_t n, cap;
    struct ws__name *name;
    size_t nname, name_cap;
    uint32_t *table; /* hash of names: index + 1 */
    size_t ntable;
    bool kernel_in_macro; /* a macro's body makes kernels */
    bool cut;             /* more tokens than we take */
};

/* Frees with ws__tokens_free, also after a failure. */
int ws__tokens_read(struct ws__tokens *t, const char *text);
void ws__tokens_free(struct ws__tokens *t);
/* NULL: not seen. */
struct ws__name *ws__tokens_find(const struct ws__tokens *t, const char *s,
                                 size_t n);
bool ws__tok_is(const struct ws__tok *t, const char *word);
/* Cuts one token from *p; false at the end (of the text, or of the line). */
bool ws__tok_next(const char **p, struct ws__tok *out, uint32_t *line,
                  bool one_line);

#endif
