/*
 * chat.c: see chat.h.
 *
 * A reply of a service is foreign: every member is looked at before it is
 * used. What is missing or of the wrong type is an error where we need it
 * (the text) and nothing where we do not (usage, model).
 */
#include "llm/http/chat.h"

#include <jansson.h>

#include "base/banned.h"

/* Room for what surrounds the text: names, escapes (6 bytes a sign), a stream
 * of thoughts that is not for us. */
#define BODY_FACTOR 8u
#define BODY_EXTRA ((size_t)1 << 20)
/* A stream's tokens so far, from below, so that no honest reply is cut: a
 * token is a piece or a part of one, and long text has fewer bytes a token. */
#define BYTES_A_TOKEN 8u
#define QUOTE 300

/* --- requests ------------------------------------------------------------- */

static json_t *request_of(const struct ws__llm_opts *o,
                          const struct ws__llm_ask *ask)
{
    json_t *r = json_pack("{s:s, s:o, s:b}", "model", o->model, "messages",
                          ws__llm_messages(ask), "stream", !o->no_stream);
    int bad = !r;

    if (r)
        bad |= json_object_set_new(r, o->tokens_field,
                                   json_integer((json_int_t)ask->max_tokens));
    if (r && ask->temperature >= 0)
        bad |=
            json_object_set_new(r, "temperature", json_real(ask->temperature));
    if (r && !o->no_stream)
        bad |= json_object_set_new(r, "stream_options",
                                   json_pack("{s:b}", "include_usage", 1));
    if (!bad)
        return r;
    json_decref(r);
    return NULL;
}

/* What we set ourselves stays: limits and the messages are no user's extra. */
static int add_extra(struct ws_ctx *ctx, json_t *request, const char *extra)
{
    json_error_t e;
    json_t *more = json_loads(extra, JSON_REJECT_DUPLICATES, &e);
    int rc = 0;

    if (!more && json_error_code(&e) == json_error_out_of_memory)
        return ws__nomem(ctx);
    if (!json_is_object(more)) {
        rc = ws__fail(ctx, WS_EINVAL,
                      "the extra fields of the model are no JSON object%s%s",
                      more ? "" : ": ", more ? "" : e.text);
        ws__hint(ctx, "as in {\"top_p\": 0.9}");
    } else if (json_object_update_missing(request, more) < 0) {
        rc = ws__nomem(ctx);
    }
    json_decref(more);
    return rc;
}

int ws__chat_request(struct ws_ctx *ctx, const struct ws__llm_opts *opts,
                     const struct ws__llm_ask *ask, char **out)
{
    json_t *r = request_of(opts, ask);
    int rc = r ? 0 : ws__nomem(ctx);

    *out = NULL;
    if (rc >= 0 && opts->extra)
        rc = add_extra(ctx, r, opts->extra);
    if (rc >= 0 && !(*out = ws__llm_dump(ctx, r)))
        rc = WS_ENOMEM;
    json_decref(r);
    return rc;
}

/* --- replies -------------------------------------------------------------- */

void ws__chat_init(struct ws__chat *c, struct ws_ctx *ctx,
                   const struct ws__llm_opts *opts, bool streamed,
                   uint64_t token_limit)
{
    size_t most = opts->max_reply_bytes, body = SIZE_MAX;

    if (most < (SIZE_MAX - BODY_EXTRA) / BODY_FACTOR)
        body = most * BODY_FACTOR + BODY_EXTRA;
    *c = (struct ws__chat){.ctx = ctx,
                           .key = opts->key,
                           .max_bytes = most,
                           .token_limit = token_limit,
                           .streamed = streamed,
                           .finish = WS__LLM_OTHER};
    ws__sse_init(&c->sse, ctx, body);
    ws__buf_init(&c->body, ctx, body);
    ws__buf_init(&c->text, ctx, most);
}

void ws__chat_free(struct ws__chat *c)
{
    ws__sse_free(&c->sse);
    ws__buf_free(&c->body);
    ws__buf_free(&c->text);
    ws__free(c->ctx, c->model);
    c->model = NULL;
}

static int malformed(struct ws__chat *c, const char *what)
{
    return ws__fail(c->ctx, WS_EPROTO, "a malformed reply of the model: %s",
                    what);
}

static int too_long(struct ws__chat *c)
{
    ws__fail(c->ctx, WS_ELIMIT, "a reply of the model of more than %zu bytes",
             c->max_bytes);
    return ws__hint(c->ctx, "raise the limit of a reply, or lower max_tokens");
}

/* "error" of an object: a text, or an object with "message". */
static const char *error_of(const json_t *reply)
{
    const json_t *e = json_object_get(reply, "error");
    const char *text = json_string_value(json_object_get(e, "message"));

    if (!text)
        text = json_string_value(e);
    if (!text)
        text = json_string_value(json_object_get(reply, "message"));
    if (!text)
        text = json_string_value(json_object_get(reply, "detail"));
    return text;
}

static int reported_error(struct ws__chat *c, const json_t *reply)
{
    const char *text = error_of(reply);
    char said[QUOTE];

    ws__llm_quote(c->key, text ? text : "", text ? strlen(text) : 0, said,
                  sizeof(said));
    return ws__fail(c->ctx, WS_EPROTO,
                    "the model's service broke off with an error%s%s",
                    *said ? ": " : "", said);
}

static bool tokens_of(const json_t *usage, const char *name, uint64_t *out)
{
    const json_t *v = json_object_get(usage, name);

    if (!json_is_integer(v) || json_integer_value(v) < 0 ||
        json_integer_value(v) > UINT32_MAX)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

static void take_usage(struct ws__chat *c, const json_t *reply)
{
    const json_t *usage = json_object_get(reply, "usage");
    uint64_t prompt, completion;

    if (!tokens_of(usage, "prompt_tokens", &prompt) ||
        !tokens_of(usage, "completion_tokens", &completion))
        return;
    c->reported = true;
    c->prompt_tokens = prompt;
    c->completion_tokens = completion;
}

static int take_model(struct ws__chat *c, const json_t *reply)
{
    const char *name = json_string_value(json_object_get(reply, "model"));

    if (c->model || !name || !*name)
        return 0;
    c->model = ws__strdup(c->ctx, name);
    return c->model ? 0 : WS_ENOMEM;
}

static void take_finish(struct ws__chat *c, const json_t *choice)
{
    static const struct {
        const char *name;
        enum ws__llm_finish finish;
    } known[] = {{"stop", WS__LLM_STOP},
                 {"eos", WS__LLM_STOP},
                 {"length", WS__LLM_LENGTH},
                 {"max_tokens", WS__LLM_LENGTH},
                 {"content_filter", WS__LLM_FILTER}};
    const char *why =
        json_string_value(json_object_get(choice, "finish_reason"));

    if (!why)
        return;
    c->finished = true;
    c->finish = WS__LLM_OTHER;
    for (size_t i = 0; i < WS_COUNT(known); i++)
        if (!strcmp(why, known[i].name))
            c->finish = known[i].finish;
}

static int add_text(struct ws__chat *c, const char *text)
{
    int rc = ws__buf_puts(&c->text, text);

    return rc == WS_ELIMIT ? too_long(c) : rc;
}

/* `said` is "message" of a whole reply or "delta" of a streamed one. */
static int take_content(struct ws__chat *c, const json_t *said)
{
    static const char *const hidden[] = {"reasoning_content", "reasoning"};
    const json_t *content = json_object_get(said, "content");
    size_t more = 0;

    for (size_t i = 0; i < WS_COUNT(hidden); i++)
        more += json_string_length(json_object_get(said, hidden[i]));
    c->hidden_bytes += more;
    if (content && !json_is_null(content) && !json_is_string(content))
        return malformed(c, "'content' is no text");
    c->deltas += more || json_string_length(content);
    if (!json_string_length(content))
        return 0;
    return add_text(c, json_string_value(content));
}

static int take_choice(struct ws__chat *c, const json_t *reply,
                       const char *member)
{
    const json_t *choices = json_object_get(reply, "choices"), *first;

    if (!json_is_array(choices))
        return malformed(c, "'choices' is no list");
    first = json_array_get(choices, 0);
    if (!first)
        return 0;
    if (!json_is_object(first))
        return malformed(c, "a choice is no object");
    take_finish(c, first);
    if (!json_object_get(first, member))
        return 0;
    if (!json_is_object(json_object_get(first, member)))
        return malformed(c, "a choice has no message");
    return take_content(c, json_object_get(first, member));
}

static int check_budget(struct ws__chat *c)
{
    uint64_t bytes = c->text.len + c->hidden_bytes,
             tokens = bytes / BYTES_A_TOKEN;

    if (c->deltas > tokens)
        tokens = c->deltas;
    if (tokens <= c->token_limit)
        return 0;
    ws__fail(c->ctx, WS_ELIMIT,
             "the model writes on beyond the budget of tokens; its reply was "
             "ended after %llu bytes",
             (unsigned long long)bytes);
    return ws__hint(c->ctx, "the service does not keep to max_tokens: see "
                            "whether it wants the limit in another field");
}

/* One event of a stream. */
static int take_event(void *user, const char *data, size_t len)
{
    struct ws__chat *c = user;
    json_error_t e;
    json_t *j;
    int rc;

    if (len == 6 && !memcmp(data, "[DONE]", 6)) {
        c->finished = true;
        return 0;
    }
    j = json_loadb(data, len, 0, &e);
    if (!j && json_error_code(&e) == json_error_out_of_memory)
        return ws__nomem(c->ctx);
    if (!json_is_object(j))
        rc = malformed(c, "an event of its stream is no JSON object");
    else if (json_object_get(j, "error"))
        rc = reported_error(c, j);
    else if ((rc = take_model(c, j)) >= 0)
        rc = take_choice(c, j, "delta");
    take_usage(c, j);
    json_decref(j);
    return rc < 0 ? rc : check_budget(c);
}

int ws__chat_feed(struct ws__chat *c, const char *p, size_t n)
{
    int rc = c->streamed ? ws__sse_feed(&c->sse, p, n, take_event, c)
                         : ws__buf_add(&c->body, p, n);

    bool full = c->body.failed == WS_ELIMIT ||
                c->sse.line.failed == WS_ELIMIT ||
                c->sse.data.failed == WS_ELIMIT;

    return rc < 0 && full ? too_long(c) : rc;
}

static int take_whole(struct ws__chat *c)
{
    json_error_t e;
    json_t *j = json_loadb(c->body.len ? c->body.data : "", c->body.len, 0, &e);
    int rc;

    if (!j && json_error_code(&e) == json_error_out_of_memory)
        return ws__nomem(c->ctx);
    if (!json_is_object(j))
        rc = malformed(c, j ? "it is no JSON object" : "it is no whole JSON");
    else if (json_is_object(json_object_get(j, "error")))
        rc = reported_error(c, j);
    else if ((rc = take_model(c, j)) >= 0)
        rc = take_choice(c, j, "message");
    take_usage(c, j);
    json_decref(j);
    return rc;
}

int ws__chat_end(struct ws__chat *c)
{
    if (!c->streamed)
        WS_TRY(take_whole(c));
    else if (!c->finished)
        return malformed(c, "its stream was cut off");
    if (c->text.len)
        return 0;
    if (c->finish == WS__LLM_LENGTH) {
        malformed(c, "no text before max_tokens was used up");
        return ws__hint(c->ctx, "raise max_tokens: a model that thinks first "
                                "needs some thousand");
    }
    return malformed(c, c->finish == WS__LLM_FILTER ? "a filter kept it back"
                                                    : "it has no text");
}

void ws__chat_error(const char *key, const char *body, size_t len, char *out,
                    size_t n)
{
    json_t *j = json_loadb(body, len, 0, NULL);
    const char *text = error_of(j);

    if (text)
        ws__llm_quote(key, text, strlen(text), out, n);
    else
        ws__llm_quote(key, body, len, out, n);
    json_decref(j);
}
