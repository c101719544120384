/*
 * chat.h: the text of OpenAI's chat completions: what a request is, and a
 * reply, in one piece or streamed, out of bytes that may be anything.
 */
#ifndef WS_LLM_CHAT_H
#define WS_LLM_CHAT_H

#include "llm/http/sse.h"
#include "llm/llm_int.h"

/* The body of a request; ws__free. WS_EINVAL: opts.extra is no JSON object. */
int ws__chat_request(struct ws_ctx *ctx, const struct ws__llm_opts *opts,
                     const struct ws__llm_ask *ask, char **out);

/* A reply that comes in. */
struct ws__chat {
    struct ws_ctx *ctx;
    const char *key; /* masked in what is quoted; may be NULL */
    size_t max_bytes;
    uint64_t token_limit; /* of the reply; a stream is ended there */
    bool streamed;        /* events, not one object */
    struct ws__sse sse;
    struct ws__buf body; /* all of it, if not streamed */
    struct ws__buf text;
    char *model;
    enum ws__llm_finish finish;
    bool finished; /* it says why it ended, or [DONE] */
    bool reported;
    uint64_t prompt_tokens, completion_tokens;
    uint64_t deltas, hidden_bytes; /* pieces of text; text not for us */
};

/* Zeroed; ws__chat_free whatever happens. */
void ws__chat_init(struct ws__chat *c, struct ws_ctx *ctx,
                   const struct ws__llm_opts *opts, bool streamed,
                   uint64_t token_limit);
/* WS_EPROTO: malformed, or the service reports an error in a reply that it
 * began as a good one; WS_ELIMIT: too long, or over token_limit. */
int ws__chat_feed(struct ws__chat *c, const char *p, size_t n);
/* After the last byte: WS_EPROTO if it is not whole or has no text. */
int ws__chat_end(struct ws__chat *c);
void ws__chat_free(struct ws__chat *c);

/* Into out[n]: what the body of a refusal says, on one line, masked. */
void ws__chat_error(const char *key, const char *body, size_t len, char *out,
                    size_t n);

#endif
