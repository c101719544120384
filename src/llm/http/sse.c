/*
 * sse.c: see sse.h. An event that the stream's end cuts off is not handed out,
 * as the standard has it.
 */
#include "llm/http/sse.h"

#include "base/banned.h"

void ws__sse_init(struct ws__sse *s, struct ws_ctx *ctx, size_t max_bytes)
{
    *s = (struct ws__sse){0};
    ws__buf_init(&s->line, ctx, max_bytes);
    ws__buf_init(&s->data, ctx, max_bytes);
}

void ws__sse_free(struct ws__sse *s)
{
    ws__buf_free(&s->line);
    ws__buf_free(&s->data);
}

static int end_event(struct ws__sse *s, ws__sse_fn *fn, void *user)
{
    int rc = 0;

    if (s->has_data)
        rc = fn(user, s->data.data, s->data.len);
    s->data.len = 0;
    s->has_data = false;
    return rc;
}

static int end_line(struct ws__sse *s, ws__sse_fn *fn, void *user)
{
    const char *p = s->line.data;
    size_t n = s->line.len;

    s->line.len = 0;
    if (!n)
        return end_event(s, fn, user);
    if (n < 5 || memcmp(p, "data:", 5))
        return 0;
    p += 5;
    n -= 5;
    if (n && *p == ' ') {
        p++;
        n--;
    }
    if (s->has_data)
        WS_TRY(ws__buf_puts(&s->data, "\n"));
    s->has_data = true;
    return ws__buf_add(&s->data, p, n);
}

int ws__sse_feed(struct ws__sse *s, const char *p, size_t n, ws__sse_fn *fn,
                 void *user)
{
    const char *end = p + n;

    while (p < end) {
        size_t k = 0, room = (size_t)(end - p);

        if (s->after_cr && *p == '\n') {
            s->after_cr = false;
            p++;
            continue;
        }
        s->after_cr = false;
        while (k < room && p[k] != '\n' && p[k] != '\r')
            k++;
        WS_TRY(ws__buf_add(&s->line, p, k));
        p += k;
        if (k == room)
            break;
        s->after_cr = *p++ == '\r';
        WS_TRY(end_line(s, fn, user));
    }
    return 0;
}
