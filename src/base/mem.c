/* mem.c: see mem.h. The only file, with ctx.c, that sees the allocator. */
#define WS_BASE_ALLOC
#include "base/mem.h"

#include <stdint.h>

#include "base/banned.h"

#define ARENA_BLOCK_BYTES ((size_t)16384)
#define ARENA_ALIGN ((size_t)16)

int ws__nomem(struct ws_ctx *ctx)
{
    return ws__fail(ctx, WS_ENOMEM, "out of memory");
}

static int mul_size(size_t a, size_t b, size_t *out)
{
    return __builtin_mul_overflow(a, b, out);
}

void *ws__resize(struct ws_ctx *ctx, void *p, size_t count, size_t size)
{
    size_t bytes;
    void *q = NULL;

    if (!mul_size(count, size, &bytes))
        q = ctx->alloc.realloc(ctx->alloc.user, p, bytes ? bytes : 1);
    if (!q)
        ws__nomem(ctx);
    return q;
}

void *ws__alloc(struct ws_ctx *ctx, size_t count, size_t size)
{
    void *p = ws__resize(ctx, NULL, count, size);

    if (p)
        memset(p, 0, count * size);
    return p;
}

void ws__free(struct ws_ctx *ctx, void *p)
{
    if (p)
        ctx->alloc.free(ctx->alloc.user, p);
}

char *ws__strdup(struct ws_ctx *ctx, const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = ws__alloc(ctx, n, 1);

    if (p)
        memcpy(p, s, n);
    return p;
}

char **ws__strdup_all(struct ws_ctx *ctx, const char *const *s, size_t n)
{
    size_t bytes = (n ? n : 1) * sizeof(char *);
    char **list, *to;

    for (size_t i = 0; i < n; i++)
        bytes += strlen(s[i]) + 1;
    list = ws__alloc(ctx, bytes, 1);
    if (!list)
        return NULL;
    to = (char *)(list + n);
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(s[i]) + 1;

        list[i] = memcpy(to, s[i], size);
        to += size;
    }
    return list;
}

int ws__grow(struct ws_ctx *ctx, void **items, size_t *cap, size_t n,
             size_t size)
{
    size_t want;
    void *p;

    if (n < *cap)
        return 0;
    want = *cap ? *cap * 2 : 8;
    p = ws__resize(ctx, *items, want, size);
    if (!p)
        return WS_ENOMEM;
    *items = p;
    *cap = want;
    return 0;
}

struct ws__arena_block {
    struct ws__arena_block *next;
    size_t used, cap;
    _Alignas(16) char data[];
};

void ws__arena_init(struct ws__arena *a, struct ws_ctx *ctx)
{
    a->ctx = ctx;
    a->head = NULL;
}

static struct ws__arena_block *new_block(struct ws__arena *a, size_t need)
{
    size_t cap = need > ARENA_BLOCK_BYTES ? need : ARENA_BLOCK_BYTES;
    struct ws__arena_block *b;

    if (cap > SIZE_MAX - sizeof(*b)) {
        ws__nomem(a->ctx);
        return NULL;
    }
    b = ws__resize(a->ctx, NULL, sizeof(*b) + cap, 1);
    if (!b)
        return NULL;
    b->next = a->head;
    b->used = 0;
    b->cap = cap;
    a->head = b;
    return b;
}

void *ws__arena_alloc(struct ws__arena *a, size_t count, size_t size)
{
    size_t bytes;
    struct ws__arena_block *b = a->head;
    void *p;

    if (mul_size(count, size, &bytes) || bytes > SIZE_MAX - ARENA_ALIGN) {
        ws__nomem(a->ctx);
        return NULL;
    }
    bytes = (bytes + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    if (!b || b->cap - b->used < bytes)
        b = new_block(a, bytes);
    if (!b)
        return NULL;
    p = b->data + b->used;
    b->used += bytes;
    memset(p, 0, bytes);
    return p;
}

char *ws__arena_strndup(struct ws__arena *a, const char *s, size_t n)
{
    char *p = ws__arena_alloc(a, n + 1, 1);

    if (p && n)
        memcpy(p, s, n);
    return p;
}

char *ws__arena_strdup(struct ws__arena *a, const char *s)
{
    return ws__arena_strndup(a, s, strlen(s));
}

char *ws__arena_printf(struct ws__arena *a, const char *fmt, ...)
{
    va_list ap;
    int n;
    char *p;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    p = n < 0 ? NULL : ws__arena_alloc(a, (size_t)n + 1, 1);
    if (!p)
        return NULL;
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

void ws__arena_free(struct ws__arena *a)
{
    while (a->head) {
        struct ws__arena_block *next = a->head->next;

        ws__free(a->ctx, a->head);
        a->head = next;
    }
}

void ws__buf_init(struct ws__buf *b, struct ws_ctx *ctx, size_t max)
{
    memset(b, 0, sizeof(*b));
    b->ctx = ctx;
    b->max = max;
}

static int buf_fail(struct ws__buf *b, int code)
{
    b->failed = code;
    return code;
}

static int buf_reserve(struct ws__buf *b, size_t n)
{
    size_t want;
    char *p;

    if (b->failed)
        return b->failed;
    if (n > b->max || b->len > b->max - n)
        return buf_fail(b, ws__fail(b->ctx, WS_ELIMIT,
                                    "text is longer than %zu bytes", b->max));
    want = b->len + n + 1;
    if (want <= b->cap)
        return 0;
    if (want < b->cap * 2)
        want = b->cap * 2;
    p = ws__resize(b->ctx, b->data, want < 64 ? 64 : want, 1);
    if (!p)
        return buf_fail(b, WS_ENOMEM);
    b->data = p;
    b->cap = want < 64 ? 64 : want;
    return 0;
}

int ws__buf_add(struct ws__buf *b, const void *data, size_t n)
{
    WS_TRY(buf_reserve(b, n));
    if (n)
        memcpy(b->data + b->len, data, n);
    b->len += n;
    b->data[b->len] = '\0';
    return 0;
}

int ws__buf_puts(struct ws__buf *b, const char *s)
{
    return ws__buf_add(b, s, strlen(s));
}

int ws__buf_printf(struct ws__buf *b, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        return buf_fail(b, ws__fail(b->ctx, WS_EBUG, "bad format"));
    WS_TRY(buf_reserve(b, (size_t)n));
    va_start(ap, fmt);
    vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
    return 0;
}

void ws__buf_free(struct ws__buf *b)
{
    ws__free(b->ctx, b->data);
    ws__buf_init(b, b->ctx, b->max);
}

char *ws__buf_take(struct ws__buf *b)
{
    char *p;

    if (!b->data && ws__buf_add(b, "", 0) < 0)
        return NULL;
    p = b->data;
    ws__buf_init(b, b->ctx, b->max);
    return p;
}
