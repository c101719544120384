/*
 * llm.h: a language model as a function: messages in, text out.
 *
 * A member is a folder src/llm/<kind>/ with one ws__llm_ops: `http` (a
 * service that speaks OpenAI's chat completions), `command` (a program) and
 * `replay` (a transcript). What is the same for all lies here: limits, the
 * meter, the secret, transcripts. A reply is data and nothing but text.
 *
 * The meter is a hard budget of tokens. An ask is refused before it is sent
 * if it could pass it; the most that an ask can take is one token a byte of
 * the prompt (no tokenizer over bytes makes more), some for each message, and
 * max_tokens of the reply. Afterwards what the service reports counts, and
 * where it reports nothing, the most that it can have been.
 *
 * The secret (opts.key) goes into one header of a request and nowhere else:
 * an ask that has it in a message is refused, and in what comes back (reply,
 * errors) it is overwritten with asterisks.
 *
 * A model belongs to its context and to one thread at a time. Asks stop soon
 * with WS_ECANCEL or WS_ETIMEOUT when the context says so.
 */
#ifndef WS_LLM_H
#define WS_LLM_H

#include "base/hash.h"
#include "base/mem.h"

#define WS__LLM_ABI 1u
/* What opts that are 0 mean. */
#define WS__LLM_MAX_TOKENS 8192u
#define WS__LLM_MAX_REPLY_BYTES ((size_t)1 << 20)
#define WS__LLM_CONNECT_NS 15000000000u
#define WS__LLM_STALL_NS 120000000000u
#define WS__LLM_TOTAL_NS 900000000000u
#define WS__LLM_BACKOFF_NS 500000000u
#define WS__LLM_RETRY_AFTER_MAX_NS 120000000000u
#define WS__LLM_ATTEMPTS 5u
#define WS__LLM_KEY_MIN 8 /* a shorter word is no secret */
#define WS__LLM_KEY_MAX 2048

enum ws__llm_role { WS__LLM_SYSTEM, WS__LLM_USER, WS__LLM_ASSISTANT };
#define WS__LLM_NROLE 3
/* "system", "user", "assistant"; NULL for another number. */
const char *ws__llm_role_name(enum ws__llm_role role);

struct ws__llm_msg {
    enum ws__llm_role role;
    const char *text; /* what is no UTF-8 in it is sent as U+FFFD */
};

struct ws__llm_ask {
    const struct ws__llm_msg *msg;
    size_t n;            /* 1 or more */
    uint32_t max_tokens; /* of the reply; 0: that of the options */
    double temperature;  /* 0 to 2; negative: as the service likes */
};

/* Why a reply ended: by itself, at max_tokens, by a filter, unknown. */
enum ws__llm_finish {
    WS__LLM_STOP,
    WS__LLM_LENGTH,
    WS__LLM_FILTER,
    WS__LLM_OTHER
};
const char *ws__llm_finish_name(enum ws__llm_finish finish);

struct ws__llm_reply {
    char *text;  /* never empty */
    char *model; /* as the service names it, else the option; never NULL */
    enum ws__llm_finish finish;
    uint64_t prompt_tokens, completion_tokens;
    bool reported;     /* the tokens, by the service; else counted by us */
    double cost;       /* by the prices of the options */
    unsigned attempts; /* how often it was sent */
};

/* Of a whole run, over all its models; the caller's. To go on where another
 * run was, set the figures to what it had. */
struct ws__llm_meter {
    uint64_t budget;             /* tokens; 0: no limit */
    uint64_t prompt, completion; /* tokens used */
    uint64_t asks, attempts;
    double cost;
};

/* Zero means "default" everywhere. Strings are copied. */
struct ws__llm_opts {
    const char *target; /* http: URL up to ".../v1"; replay: the transcript */
    const char *model;  /* http: needed; replay: only lines of it; else a name
                           for the transcript */
    const char *key;    /* http: sent as bearer token; NULL, "": none */
    const char *const *argv;     /* command: the program and its arguments */
    const char *path;            /* command: folders, as in PATH */
    struct ws__llm_meter *meter; /* NULL: no limit, nobody asks */
    uint64_t seed;               /* of the pauses between attempts */
    uint32_t max_tokens;
    size_t max_reply_bytes;
    double price_in, price_out; /* for a million tokens */
    /* http: until connected; without a byte; one ask with all its attempts
     * and pauses (command: one run). */
    uint64_t connect_ns, stall_ns, total_ns;
    uint64_t backoff_ns;         /* before the second attempt */
    uint64_t retry_after_max_ns; /* a longer Retry-After is an error */
    unsigned attempts;           /* most for one ask */
    bool no_stream;              /* http: the reply in one piece */
    bool plain_http;             /* http: without TLS beyond this machine */
    const char *proxy, *ca_file; /* http; NULL: none, the system's */
    const char *tokens_field;    /* http: NULL: "max_tokens" */
    const char *extra;           /* http: JSON object, added to requests */
};

struct ws__llm_ops {
    const char *name;
    uint32_t abi;
    const char *about;
    /* opts lives as long as the member and has no zeros left where a default
     * is stated. On failure *self need not be set. */
    int (*open)(struct ws_ctx *ctx, const struct ws__llm_opts *opts,
                void **self);
    /* Checked: texts are UTF-8, no secret, max_tokens set. Fills text (of
     * ctx, ws__free), model (may be left NULL), finish, tokens, reported,
     * attempts, and settles with the meter (llm_int.h). On failure the reply
     * is freed by the caller. */
    int (*ask)(void *self, const struct ws__llm_ask *ask,
               struct ws__llm_reply *reply);
    void (*close)(void *self);
};

/* Ends with NULL; generated from the folders. */
extern const struct ws__llm_ops *const ws__llm_table[];
const struct ws__llm_ops *ws__llm_find(const char *name); /* or NULL */

struct ws__llm;

/* `kind` is the name of a member. WS_ENOENT: no such member, program or file;
 * WS_EINVAL: an option is missing or not allowed (the message names it);
 * WS_ECORRUPT: a transcript is damaged, with its line. ws__llm_free. */
int ws__llm_open(struct ws_ctx *ctx, const char *kind,
                 const struct ws__llm_opts *opts, struct ws__llm **out);
/* Every reply from now on is appended to the file, one line each, on disk
 * before ws__llm_ask returns. An unfinished last line (the tool was killed)
 * is cut off first. Errors of files; WS_EINVAL: it records already. */
int ws__llm_record(struct ws__llm *l, const char *path);
/*
 * One reply; ws__llm_reply_free whatever is returned. Errors:
 *   WS_ELIMIT    the budget (nothing was sent, or the stream was ended) or
 *                max_reply_bytes
 *   WS_EINVAL    the ask, or the service refuses it (400, redirects...)
 *   WS_EACCES    the key (401, 403) or the certificate is not accepted
 *   WS_ENOENT    the service knows no such model or address (404)
 *   WS_EBUSY     429, 503 up to the last attempt, or a too long Retry-After
 *   WS_EPROTO    replies that are cut, malformed or empty up to the last one
 *   WS_EIO       no connection, 5xx      WS_ECRASH    the command failed
 *   WS_ETIMEOUT  one of the limits       WS_EMISS     not in the transcript
 *   WS_ECANCEL, WS_ENOMEM, errors of files
 */
int ws__llm_ask(struct ws__llm *l, const struct ws__llm_ask *ask,
                struct ws__llm_reply *reply);
void ws__llm_reply_free(struct ws_ctx *ctx, struct ws__llm_reply *reply);
void ws__llm_free(struct ws__llm *l); /* NULL is fine */

/* The most tokens that the messages can be. */
uint64_t ws__llm_tokens_most(const struct ws__llm_msg *msg, size_t n);
/* What names an ask in a transcript: messages, max_tokens, temperature. */
struct ws__hash ws__llm_hash(const struct ws__llm_ask *ask);

#endif
