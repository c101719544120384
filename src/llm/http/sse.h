/*
 * sse.h: a stream of server-sent events, in pieces cut anywhere, taken apart
 * into the data of its events. (WHATWG HTML, "Server-sent events": lines that
 * end in LF, CR LF or CR; "data:" lines of an event are joined by newlines; an
 * empty line ends it; a line that begins with a colon is a comment.)
 */
#ifndef WS_LLM_SSE_H
#define WS_LLM_SSE_H

#include "base/mem.h"

struct ws__sse {
    struct ws__buf line, data;
    bool after_cr, has_data;
};

/* data[len], NUL-terminated, of one event; negative stops. */
typedef int ws__sse_fn(void *user, const char *data, size_t len);

/* An event longer than max_bytes is WS_ELIMIT. */
void ws__sse_init(struct ws__sse *s, struct ws_ctx *ctx, size_t max_bytes);
int ws__sse_feed(struct ws__sse *s, const char *p, size_t n, ws__sse_fn *fn,
                 void *user);
void ws__sse_free(struct ws__sse *s);

#endif
