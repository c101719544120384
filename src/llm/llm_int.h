/*
 * llm_int.h: what the members of src/llm share: settling with the meter,
 * keeping the secret, transcripts.
 */
#ifndef WS_LLM_INT_H
#define WS_LLM_INT_H

#include "llm/llm.h"

/* --- the meter ------------------------------------------------------------ */

/* Before each attempt: 0 and the attempt is counted, or WS_ELIMIT. */
int ws__llm_admit(struct ws_ctx *ctx, struct ws__llm_meter *m,
                  const struct ws__llm_ask *ask);
/* Tokens of a reply that the budget leaves once the prompt is paid for. */
uint64_t ws__llm_left(const struct ws__llm_meter *m,
                      const struct ws__llm_ask *ask);
void ws__llm_charge(struct ws__llm_meter *m, const struct ws__llm_opts *opts,
                    uint64_t prompt, uint64_t completion);
/* Of a whole reply: what it reports, else what its bytes (and hidden ones) can
 * be at most. Fills in what is not reported. */
void ws__llm_settle(struct ws__llm_meter *m, const struct ws__llm_opts *opts,
                    const struct ws__llm_ask *ask, struct ws__llm_reply *reply,
                    uint64_t hidden_bytes);
/* Of an attempt that may have run without a reply: all that it could take. */
void ws__llm_settle_lost(struct ws__llm_meter *m,
                         const struct ws__llm_opts *opts,
                         const struct ws__llm_ask *ask);

/* --- text ----------------------------------------------------------------- */

/* Overwrites the key with asterisks wherever it stands; key may be NULL. */
void ws__llm_mask(const char *key, char *text);
/* Into out[n]: the start of a foreign text on one line, for a message: masked,
 * backslashes left out (they could hide the key), cut with "...". */
void ws__llm_quote(const char *key, const char *text, size_t len, char *out,
                   size_t n);
/* text with U+FFFD for every byte that is no UTF-8. NULL: no memory. */
char *ws__llm_utf8(struct ws__arena *arena, const char *text);

/* --- JSON ----------------------------------------------------------------- */

struct json_t; /* jansson's */

/* A list of {role, content}; json_decref. NULL: no memory. */
struct json_t *ws__llm_messages(const struct ws__llm_ask *ask);
/* On one line; ws__free. NULL: no memory, the error is set. */
char *ws__llm_dump(struct ws_ctx *ctx, const struct json_t *value);

/* --- transcripts ---------------------------------------------------------- */

/* Larger ones are WS_ELIMIT. */
#define WS__LLM_TRANSCRIPT_BYTES ((size_t)256 << 20)

struct ws__llm_line {
    struct ws__hash hash;
    char *model, *text;
    enum ws__llm_finish finish;
    uint64_t prompt_tokens, completion_tokens;
    bool reported;
    uint32_t line; /* in the file, 1-based */
};

/* One line of a transcript with its newline, into b. */
int ws__llm_line_write(struct ws__buf *b, const struct ws__llm_ask *ask,
                       const struct ws__llm_reply *reply);
/* text[len] is one line without its newline; strings go into the arena.
 * WS_ECORRUPT says what is wrong with it; the caller adds where. */
int ws__llm_line_read(struct ws_ctx *ctx, struct ws__arena *arena,
                      const char *text, size_t len, struct ws__llm_line *out);

/* Makes the file if there is none; cuts off an unfinished last line. */
int ws__llm_transcript_begin(struct ws_ctx *ctx, const char *path);
/* Appends one line; it is on disk when this returns. After a failure the
 * last line may be unfinished. */
int ws__llm_transcript_add(struct ws_ctx *ctx, const char *path,
                           const struct ws__llm_ask *ask,
                           const struct ws__llm_reply *reply);

#endif
