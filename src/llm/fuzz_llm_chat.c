/*
 * fuzz_llm_chat.c: hostile replies of a service. The first byte says whether
 * the rest is a stream and in what pieces it comes; a stream must give the
 * same whatever the pieces. What is refused has a message, and the key is not
 * in it; what is taken has a text within its limit.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm/http/chat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEY "sk-12345"
#define MAX_BYTES 300

static int feed(struct ws__chat *c, const char *p, size_t n, size_t piece)
{
    int rc = 0;

    for (size_t at = 0; rc >= 0 && at < n; at += piece)
        rc = ws__chat_feed(c, p + at, n - at < piece ? n - at : piece);
    return rc < 0 ? rc : ws__chat_end(c);
}

static int read_reply(struct ws_ctx *ctx, const char *p, size_t n, bool stream,
                      size_t piece, struct ws__chat *c)
{
    const struct ws__llm_opts o = {.key = KEY, .max_reply_bytes = MAX_BYTES};
    int rc;

    ws__error_clear(ctx);
    ws__chat_init(c, ctx, &o, stream, 40);
    rc = feed(c, p, n, piece);
    if (rc >= 0 && (!c->text.len || c->text.len > MAX_BYTES))
        abort();
    if (rc < 0 && (!*ws_ctx_error(ctx)->message ||
                   strstr(ws_ctx_error(ctx)->message, KEY)))
        abort();
    return rc;
}

static void check(struct ws_ctx *ctx, const char *p, size_t n, uint8_t how)
{
    struct ws__chat a, b;
    char said[100];
    int x = read_reply(ctx, p, n, how & 1, 1 + how / 2, &a);
    int y = read_reply(ctx, p, n, how & 1, n ? n : 1, &b);

    if (x != y || a.text.len != b.text.len ||
        (a.text.len && memcmp(a.text.data, b.text.data, a.text.len) != 0))
        abort();
    ws__chat_free(&a);
    ws__chat_free(&b);
    ws__chat_error(KEY, p, n, said, sizeof(said));
    if (strstr(said, KEY) || strchr(said, '\n'))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);

    if (ctx && size && size < 100000)
        check(ctx, (const char *)data + 1, size - 1, data[0]);
    ws_ctx_free(ctx);
    return 0;
}
