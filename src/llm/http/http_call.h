/*
 * http_call.h: one request over libcurl: where it may go, and how it went.
 */
#ifndef WS_LLM_HTTP_CALL_H
#define WS_LLM_HTTP_CALL_H

#include "llm/http/chat.h"

struct ws__http;

/* The address to post to, from what the user gave ("https://host/v1"), and
 * what of it may be shown (no query); ws__free both. WS_EINVAL: no URL, none
 * of http and https, a user's name in it, or http to another machine. */
int ws__http_address(struct ws_ctx *ctx, const struct ws__llm_opts *opts,
                     char **address, char **shown);

/* How one attempt went; the error is in the context. */
struct ws__http_outcome {
    int rc;
    bool again;            /* another attempt may do better */
    bool may_have_run;     /* the service may have spent tokens on it */
    uint64_t wait_ns;      /* Retry-After; 0: none */
    struct ws__chat reply; /* of rc 0: whole; ws__chat_free */
};

/* opts stays the caller's. ws__http_free accepts NULL. */
int ws__http_new(struct ws_ctx *ctx, const struct ws__llm_opts *opts,
                 struct ws__http **out);
/* Posts `body` and reads the reply; at the latest until end_ns (base/clock.h).
 * token_limit: see chat.h. */
void ws__http_call(struct ws__http *h, const char *body, uint64_t end_ns,
                   uint64_t token_limit, struct ws__http_outcome *out);
void ws__http_free(struct ws__http *h);

#endif
