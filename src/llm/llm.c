/*
 * llm.c: what all models have in common. See llm.h.
 *
 * An ask passes here before and after its member: checked and cleaned going
 * in, masked, limited and recorded coming out. So a member cannot forget it.
 */
#include "llm/llm_int.h"

#include <math.h>

#include "base/names.h"
#include "base/banned.h"

struct ws__llm {
    struct ws_ctx *ctx;
    const struct ws__llm_ops *ops;
    void *self; /* NULL: not open */
    struct ws__llm_opts opts;
    struct ws__llm_meter own;
    struct ws__arena arena; /* what the options point to */
    char *transcript;       /* NULL: nothing is recorded */
    bool torn;              /* its last line may be unfinished */
};

const struct ws__llm_ops *ws__llm_find(const char *name)
{
    for (const struct ws__llm_ops *const *p = ws__llm_table; *p; p++)
        if (!strcmp((*p)->name, name))
            return *p;
    return NULL;
}

/* --- opening -------------------------------------------------------------- */

static int copy_string(struct ws__arena *a, const char **s)
{
    if (*s)
        *s = ws__arena_strdup(a, *s);
    return *s ? 0 : WS_ENOMEM;
}

static int copy_argv(struct ws__arena *a, const char *const **argv)
{
    size_t n = 0;
    const char **copy;

    while ((*argv)[n])
        n++;
    copy = ws__arena_alloc(a, n + 1, sizeof(*copy));
    if (!copy)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        copy[i] = (*argv)[i];
        WS_TRY(copy_string(a, &copy[i]));
    }
    *argv = copy;
    return 0;
}

static int copy_strings(struct ws__llm *l)
{
    struct ws__llm_opts *o = &l->opts;
    const char **all[] = {&o->target, &o->model,        &o->key,
                          &o->path,   &o->proxy,        &o->ca_file,
                          &o->extra,  &o->tokens_field, NULL};

    if (o->key && !*o->key)
        o->key = NULL;
    if (!o->tokens_field)
        o->tokens_field = "max_tokens";
    for (size_t i = 0; all[i]; i++)
        if (*all[i])
            WS_TRY(copy_string(&l->arena, all[i]));
    return o->argv ? copy_argv(&l->arena, &o->argv) : 0;
}

#define DEFAULT(field, value)                                                  \
    do {                                                                       \
        if (!(field))                                                          \
            (field) = (value);                                                 \
    } while (0)

static void set_defaults(struct ws__llm *l)
{
    struct ws__llm_opts *o = &l->opts;

    DEFAULT(o->meter, &l->own);
    DEFAULT(o->max_tokens, WS__LLM_MAX_TOKENS);
    DEFAULT(o->max_reply_bytes, WS__LLM_MAX_REPLY_BYTES);
    DEFAULT(o->connect_ns, WS__LLM_CONNECT_NS);
    DEFAULT(o->stall_ns, WS__LLM_STALL_NS);
    DEFAULT(o->total_ns, WS__LLM_TOTAL_NS);
    DEFAULT(o->backoff_ns, WS__LLM_BACKOFF_NS);
    DEFAULT(o->retry_after_max_ns, WS__LLM_RETRY_AFTER_MAX_NS);
    DEFAULT(o->attempts, WS__LLM_ATTEMPTS);
}

/* The key travels in a header, and must be long enough to be recognised. */
static int check_key(struct ws_ctx *ctx, const struct ws__llm_opts *o)
{
    const char *const others[] = {o->target, o->model, o->extra, o->proxy};

    if (!o->key)
        return 0;
    for (const char *p = o->key; *p; p++)
        if (*p <= ' ' || *p > '~') {
            ws__fail(ctx, WS_EINVAL,
                     "the key of the model has a blank or a sign that is not "
                     "ASCII");
            return ws__hint(ctx, "look for a newline at its end");
        }
    if (strlen(o->key) > WS__LLM_KEY_MAX)
        return ws__fail(ctx, WS_EINVAL,
                        "the key of the model has more than %d characters",
                        WS__LLM_KEY_MAX);
    if (strlen(o->key) < WS__LLM_KEY_MIN) {
        ws__fail(ctx, WS_EINVAL,
                 "the key of the model has fewer than %d characters",
                 WS__LLM_KEY_MIN);
        return ws__hint(ctx, "leave it out for a service that needs none");
    }
    for (size_t i = 0; i < WS_COUNT(others); i++)
        if (others[i] && strstr(others[i], o->key)) {
            ws__fail(ctx, WS_EINVAL,
                     "the key of the model stands in another of its options");
            return ws__hint(ctx, "it is sent in a header and nowhere else");
        }
    return 0;
}

static bool is_price(double v)
{
    return v >= 0 && isfinite(v);
}

static int check_opts(struct ws_ctx *ctx, const struct ws__llm_opts *o)
{
    WS_TRY(check_key(ctx, o));
    if (!is_price(o->price_in) || !is_price(o->price_out))
        return ws__fail(ctx, WS_EINVAL,
                        "prices of a model are numbers of 0 or more");
    return 0;
}

static int no_such_kind(struct ws_ctx *ctx, const char *kind)
{
    struct ws__nearest near;

    ws__nearest_begin(&near, kind);
    for (const struct ws__llm_ops *const *p = ws__llm_table; *p; p++)
        ws__nearest_see(&near, (*p)->name);
    ws__fail(ctx, WS_ENOENT, "there is no kind of model '%.60s'", kind);
    if (ws__nearest_name(&near))
        return ws__hint(ctx, "did you mean '%s'?", ws__nearest_name(&near));
    return ws__hint(ctx, "there are http, command and replay");
}

/* The last guard: nothing leaves with the key in it. */
static int masked(struct ws__llm *l, int rc)
{
    if (rc < 0) {
        ws__llm_mask(l->opts.key, l->ctx->err.message);
        ws__llm_mask(l->opts.key, l->ctx->err.hint);
    }
    return rc;
}

static int open_model(struct ws__llm *l)
{
    WS_TRY(copy_strings(l));
    set_defaults(l);
    WS_TRY(check_opts(l->ctx, &l->opts));
    return masked(l, l->ops->open(l->ctx, &l->opts, &l->self));
}

int ws__llm_open(struct ws_ctx *ctx, const char *kind,
                 const struct ws__llm_opts *opts, struct ws__llm **out)
{
    const struct ws__llm_ops *ops = ws__llm_find(kind);
    struct ws__llm *l;
    int rc;

    *out = NULL;
    if (!ops)
        return no_such_kind(ctx, kind);
    l = ws__alloc(ctx, 1, sizeof(*l));
    if (!l)
        return WS_ENOMEM;
    l->ctx = ctx;
    l->ops = ops;
    l->opts = *opts;
    ws__arena_init(&l->arena, ctx);
    rc = open_model(l);
    if (rc < 0) {
        l->self = NULL;
        ws__llm_free(l);
        return rc;
    }
    *out = l;
    return 0;
}

void ws__llm_free(struct ws__llm *l)
{
    if (!l)
        return;
    if (l->self)
        l->ops->close(l->self);
    ws__arena_free(&l->arena);
    ws__free(l->ctx, l->transcript);
    ws__free(l->ctx, l);
}

int ws__llm_record(struct ws__llm *l, const char *path)
{
    if (l->transcript)
        return ws__fail(l->ctx, WS_EINVAL, "the model records already to '%s'",
                        l->transcript);
    WS_TRY(ws__llm_transcript_begin(l->ctx, path));
    l->transcript = ws__strdup(l->ctx, path);
    return l->transcript ? 0 : WS_ENOMEM;
}

/* --- asking --------------------------------------------------------------- */

/* `to` is `from` with all texts in UTF-8, checked. */
static int take_messages(struct ws__llm *l, struct ws__arena *a,
                         const struct ws__llm_ask *from, struct ws__llm_ask *to)
{
    struct ws__llm_msg *msg = ws__arena_alloc(a, from->n, sizeof(*msg));

    if (!msg)
        return WS_ENOMEM;
    for (size_t i = 0; i < from->n; i++) {
        msg[i].role = from->msg[i].role;
        if (!ws__llm_role_name(msg[i].role))
            return ws__fail(l->ctx, WS_EINVAL,
                            "message %zu to the model has no role", i + 1);
        msg[i].text = ws__llm_utf8(a, from->msg[i].text);
        if (!msg[i].text)
            return WS_ENOMEM;
        if (l->opts.key && strstr(msg[i].text, l->opts.key))
            return ws__fail(l->ctx, WS_EINVAL,
                            "message %zu to the model has its key in it; "
                            "it was not sent",
                            i + 1);
    }
    to->msg = msg;
    return 0;
}

static int take_ask(struct ws__llm *l, struct ws__arena *a,
                    const struct ws__llm_ask *from, struct ws__llm_ask *to)
{
    *to = *from;
    if (!to->max_tokens)
        to->max_tokens = l->opts.max_tokens;
    if (!to->n)
        return ws__fail(l->ctx, WS_EINVAL, "no message to the model");
    if (!(to->temperature <= 2))
        return ws__fail(l->ctx, WS_EINVAL,
                        "a temperature is at most 2 (negative: the service's "
                        "own)");
    return take_messages(l, a, from, to);
}

/* What a member hands out, made fit for prompts, logs and transcripts. */
static int take_reply(struct ws__llm *l, struct ws__arena *a,
                      struct ws__llm_reply *r)
{
    char *text;

    if (strlen(r->text) > l->opts.max_reply_bytes)
        return ws__fail(l->ctx, WS_ELIMIT,
                        "a reply of the model of more than %zu bytes",
                        l->opts.max_reply_bytes);
    text = ws__llm_utf8(a, r->text);
    if (!text)
        return WS_ENOMEM;
    ws__free(l->ctx, r->text);
    r->text = ws__strdup(l->ctx, text);
    if (!r->text)
        return WS_ENOMEM;
    if (!r->model) {
        r->model = ws__strdup(l->ctx, l->opts.model ? l->opts.model : "");
        if (!r->model)
            return WS_ENOMEM;
    }
    ws__llm_mask(l->opts.key, r->text);
    ws__llm_mask(l->opts.key, r->model);
    return 0;
}

static int record(struct ws__llm *l, const struct ws__llm_ask *ask,
                  const struct ws__llm_reply *reply)
{
    if (!l->transcript)
        return 0;
    if (l->torn)
        WS_TRY(ws__llm_transcript_begin(l->ctx, l->transcript));
    l->torn = true;
    WS_TRY(ws__llm_transcript_add(l->ctx, l->transcript, ask, reply));
    l->torn = false;
    return 0;
}

static int ask_member(struct ws__llm *l, struct ws__arena *a,
                      const struct ws__llm_ask *from,
                      struct ws__llm_reply *reply)
{
    struct ws__llm_ask ask;

    WS_TRY(ws__check_stop(l->ctx));
    WS_TRY(take_ask(l, a, from, &ask));
    l->opts.meter->asks++;
    WS_TRY(l->ops->ask(l->self, &ask, reply));
    WS_TRY(take_reply(l, a, reply));
    return record(l, &ask, reply);
}

int ws__llm_ask(struct ws__llm *l, const struct ws__llm_ask *ask,
                struct ws__llm_reply *reply)
{
    struct ws__arena a;
    int rc;

    *reply = (struct ws__llm_reply){0};
    ws__arena_init(&a, l->ctx);
    rc = ask_member(l, &a, ask, reply);
    ws__arena_free(&a);
    if (rc < 0)
        ws__llm_reply_free(l->ctx, reply);
    return masked(l, rc);
}

void ws__llm_reply_free(struct ws_ctx *ctx, struct ws__llm_reply *reply)
{
    ws__free(ctx, reply->text);
    ws__free(ctx, reply->model);
    reply->text = reply->model = NULL;
}
