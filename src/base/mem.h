/*
 * mem.h: allocation through the context, arenas, growable buffers.
 *
 * All of it reports failure as WS_ENOMEM with the error set (ws__nomem), so
 * that tests can make every single allocation fail.
 */
#ifndef WS_MEM_H
#define WS_MEM_H

#include <stdarg.h>

#include "base/ctx.h"

/* Zeroed memory, or NULL with the error set. count * size may not wrap. */
void *ws__alloc(struct ws_ctx *ctx, size_t count, size_t size);
/* Resizes; the new part is not zeroed. On failure p stays valid. */
void *ws__resize(struct ws_ctx *ctx, void *p, size_t count, size_t size);
void ws__free(struct ws_ctx *ctx, void *p);
char *ws__strdup(struct ws_ctx *ctx, const char *s);
/* n strings and the list of them, in one block; n may be 0. */
char **ws__strdup_all(struct ws_ctx *ctx, const char *const *s, size_t n);
int ws__nomem(struct ws_ctx *ctx); /* sets the error, returns WS_ENOMEM */

/*
 * Makes room for one more element: *items (elements of `size` bytes) with
 * *cap places, n in use. Doubles. Returns 0 or WS_ENOMEM, items unharmed.
 */
int ws__grow(struct ws_ctx *ctx, void **items, size_t *cap, size_t n,
             size_t size);

/* An arena: many small objects that die together. Zero-initialise, then
 * allocate; memory is zeroed and aligned to 16 bytes. */
struct ws__arena {
    struct ws_ctx *ctx;
    struct ws__arena_block *head;
};

void ws__arena_init(struct ws__arena *a, struct ws_ctx *ctx);
void *ws__arena_alloc(struct ws__arena *a, size_t count, size_t size);
char *ws__arena_strdup(struct ws__arena *a, const char *s);
char *ws__arena_strndup(struct ws__arena *a, const char *s, size_t n);
char *ws__arena_printf(struct ws__arena *a, const char *fmt, ...)
    WS_PRINTF(2, 3);
void ws__arena_free(struct ws__arena *a);

/*
 * A byte buffer with a maximum. `data` is always NUL-terminated once
 * something was appended (the NUL is not counted in `len`). Appending past
 * the maximum is WS_ELIMIT. After a failure the buffer stays as it was and
 * `failed` keeps the code, so that a run of appends may be checked once.
 */
struct ws__buf {
    struct ws_ctx *ctx;
    char *data;
    size_t len, cap, max;
    int failed;
};

void ws__buf_init(struct ws__buf *b, struct ws_ctx *ctx, size_t max);
int ws__buf_add(struct ws__buf *b, const void *data, size_t n);
int ws__buf_puts(struct ws__buf *b, const char *s);
int ws__buf_printf(struct ws__buf *b, const char *fmt, ...) WS_PRINTF(2, 3);
void ws__buf_free(struct ws__buf *b);
/* Hands the string (never NULL on success) to the caller; free: ws__free. */
char *ws__buf_take(struct ws__buf *b);

/* A character of names in C and in expressions, whatever the locale. */
static inline bool ws__is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

#endif
