/*
 * llm_transcript.c: transcripts: one JSON object a line, appended.
 *
 *   {"hash": "32 hex digits", "model": "...", "max_tokens": 8192,
 *    "temperature": 0.2, "messages": [{"role": "user", "content": "..."}],
 *    "reply": "...", "finish": "stop",
 *    "usage": {"prompt": 812, "completion": 95, "reported": true}}
 *
 * The hash is that of the ask (ws__llm_hash). One that is missing is made from
 * the messages, so that a transcript can be written by hand; one that does not
 * fit them is damage. The key of a service is in no line: an ask with it is
 * never sent, and replies come here masked.
 */
#include "llm/llm_int.h"

#include <jansson.h>
#include <math.h>

#include "base/fs.h"
#include "base/banned.h"

#define MESSAGES_MAX 4096

/* --- writing -------------------------------------------------------------- */

static json_t *line_of(const struct ws__llm_ask *ask,
                       const struct ws__llm_reply *r)
{
    char hex[33];

    ws__hash_hex(ws__llm_hash(ask), hex);
    return json_pack("{s:s, s:s, s:I, s:f, s:o, s:s, s:s, s:{s:I, s:I, s:b}}",
                     "hash", hex, "model", r->model, "max_tokens",
                     (json_int_t)ask->max_tokens, "temperature",
                     ask->temperature < 0 ? -1.0 : ask->temperature, "messages",
                     ws__llm_messages(ask), "reply", r->text, "finish",
                     ws__llm_finish_name(r->finish), "usage", "prompt",
                     (json_int_t)r->prompt_tokens, "completion",
                     (json_int_t)r->completion_tokens, "reported", r->reported);
}

int ws__llm_line_write(struct ws__buf *b, const struct ws__llm_ask *ask,
                       const struct ws__llm_reply *reply)
{
    json_t *line = line_of(ask, reply);
    char *text = line ? ws__llm_dump(b->ctx, line) : NULL;

    json_decref(line);
    if (!text)
        return ws__nomem(b->ctx);
    ws__buf_puts(b, text);
    ws__buf_puts(b, "\n");
    ws__free(b->ctx, text);
    return b->failed;
}

int ws__llm_transcript_begin(struct ws_ctx *ctx, const char *path)
{
    size_t len, whole;
    char *data;
    int rc = 0;

    if (!ws__fs_exists(path))
        return ws__fs_write(ctx, path, "", 0);
    WS_TRY(ws__fs_read(ctx, path, WS__LLM_TRANSCRIPT_BYTES, &data, &len));
    for (whole = len; whole && data[whole - 1] != '\n';)
        whole--;
    if (whole < len) {
        ws__log(ctx, WS_LOG_WARN, "'%s': an unfinished last line is cut off",
                path);
        rc = ws__fs_write(ctx, path, data, whole);
    }
    ws__free(ctx, data);
    return rc;
}

int ws__llm_transcript_add(struct ws_ctx *ctx, const char *path,
                           const struct ws__llm_ask *ask,
                           const struct ws__llm_reply *reply)
{
    struct ws__buf b;
    int fd = -1, rc, end;

    ws__buf_init(&b, ctx, WS__LLM_TRANSCRIPT_BYTES);
    WS_TRY_DONE(ws__llm_line_write(&b, ask, reply));
    WS_TRY_DONE(ws__fs_begin(ctx, path, false, &fd));
    rc = ws__fs_append(ctx, path, fd, b.data, b.len);
    end = ws__fs_end(ctx, path, fd, rc >= 0);
    if (rc >= 0)
        rc = end;
done:
    ws__buf_free(&b);
    return rc;
}

/* --- reading -------------------------------------------------------------- */

static int damaged(struct ws_ctx *ctx, const char *what)
{
    ws__fail(ctx, WS_ECORRUPT, "a line of a transcript: %s", what);
    return ws__hint(ctx, "docs/models.md says what a line has");
}

static bool role_of(const char *name, enum ws__llm_role *out)
{
    for (int i = 0; i < WS__LLM_NROLE; i++)
        if (!strcmp(name, ws__llm_role_name((enum ws__llm_role)i))) {
            *out = (enum ws__llm_role)i;
            return true;
        }
    return false;
}

static int read_messages(struct ws_ctx *ctx, struct ws__arena *a,
                         const json_t *list, struct ws__llm_ask *ask)
{
    size_t n = json_array_size(list);
    struct ws__llm_msg *msg;

    if (!n || n > MESSAGES_MAX)
        return damaged(ctx, "'messages' is no list of messages");
    msg = ws__arena_alloc(a, n, sizeof(*msg));
    if (!msg)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const json_t *m = json_array_get(list, i);
        const char *role = json_string_value(json_object_get(m, "role"));

        msg[i].text = json_string_value(json_object_get(m, "content"));
        if (!role || !role_of(role, &msg[i].role) || !msg[i].text)
            return damaged(ctx, "a message needs 'role' (system, user or "
                                "assistant) and 'content'");
    }
    ask->msg = msg;
    ask->n = n;
    return 0;
}

static int read_hash(struct ws_ctx *ctx, struct ws__arena *a,
                     const json_t *line, struct ws__llm_line *out)
{
    const json_t *max = json_object_get(line, "max_tokens"),
                 *temp = json_object_get(line, "temperature"),
                 *hash = json_object_get(line, "hash");
    struct ws__llm_ask ask = {.max_tokens = WS__LLM_MAX_TOKENS,
                              .temperature = -1};
    struct ws__hash told;

    WS_TRY(read_messages(ctx, a, json_object_get(line, "messages"), &ask));
    if (max && (!json_is_integer(max) || json_integer_value(max) < 1 ||
                json_integer_value(max) > UINT32_MAX))
        return damaged(ctx, "'max_tokens' is no number of tokens");
    if (max)
        ask.max_tokens = (uint32_t)json_integer_value(max);
    if (temp && !json_is_number(temp))
        return damaged(ctx, "'temperature' is no number");
    if (temp)
        ask.temperature = json_number_value(temp);
    out->hash = ws__llm_hash(&ask);
    if (hash && (!json_is_string(hash) ||
                 !ws__hash_parse(json_string_value(hash), &told) ||
                 !ws__hash_eq(told, out->hash)))
        return damaged(ctx, "'hash' is not that of its messages");
    return 0;
}

static bool tokens_of(const json_t *v, uint64_t *out)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0 ||
        json_integer_value(v) > UINT32_MAX)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

static int read_usage(struct ws_ctx *ctx, const json_t *usage,
                      struct ws__llm_line *out)
{
    if (!usage)
        return 0;
    if (!tokens_of(json_object_get(usage, "prompt"), &out->prompt_tokens) ||
        !tokens_of(json_object_get(usage, "completion"),
                   &out->completion_tokens))
        return damaged(ctx, "'usage' needs 'prompt' and 'completion', numbers "
                            "of tokens");
    out->reported = json_is_true(json_object_get(usage, "reported"));
    return 0;
}

static int read_reply(struct ws_ctx *ctx, struct ws__arena *a,
                      const json_t *line, struct ws__llm_line *out)
{
    const char *text = json_string_value(json_object_get(line, "reply")),
               *model = json_string_value(json_object_get(line, "model")),
               *finish = json_string_value(json_object_get(line, "finish"));

    if (!text || !*text || !model)
        return damaged(ctx, "'reply' and 'model' are needed, and are texts");
    out->text = ws__arena_strdup(a, text);
    out->model = ws__arena_strdup(a, model);
    if (!out->text || !out->model)
        return WS_ENOMEM;
    out->finish = finish ? WS__LLM_OTHER : WS__LLM_STOP;
    for (int i = 0; finish && i < WS__LLM_OTHER; i++)
        if (!strcmp(finish, ws__llm_finish_name((enum ws__llm_finish)i)))
            out->finish = (enum ws__llm_finish)i;
    return 0;
}

int ws__llm_line_read(struct ws_ctx *ctx, struct ws__arena *arena,
                      const char *text, size_t len, struct ws__llm_line *out)
{
    struct ws__arena scratch;
    json_error_t e;
    json_t *line = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
    int rc;

    *out = (struct ws__llm_line){0};
    if (!line && json_error_code(&e) == json_error_out_of_memory)
        return ws__nomem(ctx);
    if (!json_is_object(line)) {
        json_decref(line);
        return damaged(ctx, "it is no JSON object");
    }
    ws__arena_init(&scratch, ctx);
    rc = read_hash(ctx, &scratch, line, out);
    if (rc >= 0)
        rc = read_usage(ctx, json_object_get(line, "usage"), out);
    if (rc >= 0)
        rc = read_reply(ctx, arena, line, out);
    ws__arena_free(&scratch);
    json_decref(line);
    return rc;
}
