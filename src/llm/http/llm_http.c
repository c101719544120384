/*
 * llm_http.c: a service that speaks OpenAI's chat completions.
 *
 * One ask is up to opts.attempts requests. Between them it waits: twice as
 * long each time, from half of that to all of it by the seeded generator (many
 * tools that were refused at once shall not come back at once), and at least
 * as long as Retry-After says. Every attempt is admitted by the meter before
 * it is sent, for one that fails may have cost tokens, too.
 */
#include "llm/http/http_call.h"

#include "base/clock.h"
#include "base/banned.h"

#define BACKOFF_MAX_NS 60000000000u
#define NAP_NS 50000000u

struct http {
    struct ws_ctx *ctx;
    const struct ws__llm_opts *opts;
    struct ws__http *conn;
    struct ws__rng rng;
};

static void http_close(void *self)
{
    struct http *m = self;

    ws__http_free(m->conn);
    ws__free(m->ctx, m);
}

/* What is wrong with the options is said now, not at the first ask. */
static int try_request(struct ws_ctx *ctx, const struct ws__llm_opts *o)
{
    static const struct ws__llm_msg hello = {WS__LLM_USER, "hello"};
    const struct ws__llm_ask ask = {.msg = &hello, .n = 1, .max_tokens = 1};
    char *body;
    int rc = ws__chat_request(ctx, o, &ask, &body);

    ws__free(ctx, body);
    return rc;
}

static int check(struct ws_ctx *ctx, const struct ws__llm_opts *o)
{
    struct ws__arena a;
    bool good;

    if (!o->target || !*o->target) {
        ws__fail(ctx, WS_EINVAL, "a model's service needs its URL");
        return ws__hint(ctx, "as in https://host.example/v1");
    }
    if (!o->model || !*o->model)
        return ws__fail(ctx, WS_EINVAL,
                        "a model's service needs the model's "
                        "name");
    ws__arena_init(&a, ctx);
    const char *clean = ws__llm_utf8(&a, o->model);
    good = clean && !strcmp(clean, o->model);
    ws__arena_free(&a);
    if (!clean)
        return WS_ENOMEM;
    if (!good)
        return ws__fail(ctx, WS_EINVAL, "the model's name is not UTF-8");
    return try_request(ctx, o);
}

static int http_open(struct ws_ctx *ctx, const struct ws__llm_opts *opts,
                     void **self)
{
    struct http *m;
    int rc;

    WS_TRY(check(ctx, opts));
    m = ws__alloc(ctx, 1, sizeof(*m));
    if (!m)
        return WS_ENOMEM;
    m->ctx = ctx;
    m->opts = opts;
    ws__rng_seed(&m->rng, opts->seed);
    rc = ws__http_new(ctx, opts, &m->conn);
    if (rc < 0)
        http_close(m);
    else
        *self = m;
    return rc;
}

/* --- between attempts ----------------------------------------------------- */

static uint64_t pause_ns(struct http *m, unsigned attempt, uint64_t asked_ns)
{
    uint64_t ns = m->opts->backoff_ns;

    for (unsigned i = 1; i < attempt && ns < BACKOFF_MAX_NS; i++)
        ns *= 2;
    if (ns > BACKOFF_MAX_NS)
        ns = BACKOFF_MAX_NS;
    ns = ns / 2 + ws__rng_below(&m->rng, ns / 2 + 1);
    return ns > asked_ns ? ns : asked_ns;
}

static int nap(struct http *m, uint64_t ns)
{
    uint64_t now = ws__now_ns(), end = now + ns;

    for (; now < end; now = ws__now_ns()) {
        WS_TRY(ws__check_stop(m->ctx));
        ws__sleep_ns(end - now < NAP_NS ? end - now : NAP_NS);
    }
    return 0;
}

/* After a failure that another attempt may mend: waits, or returns it. */
static int before_next(struct http *m, const struct ws__http_outcome *o,
                       unsigned attempt, uint64_t end_ns)
{
    const struct ws_error *e = ws_ctx_error(m->ctx);
    uint64_t ns;

    if (attempt >= m->opts->attempts) {
        if (attempt > 1)
            ws__error_prefix(m->ctx, "after %u attempts", attempt);
        return o->rc;
    }
    if (o->wait_ns > m->opts->retry_after_max_ns) {
        ws__hint(m->ctx, "the service says to come again in %.0f s",
                 (double)o->wait_ns / 1e9);
        return o->rc;
    }
    ns = pause_ns(m, attempt, o->wait_ns);
    if (ws__now_ns() + ns >= end_ns) {
        ws__hint(m->ctx, "the limit of time of an ask leaves no room for "
                         "another attempt");
        return o->rc;
    }
    ws__log(m->ctx, WS_LOG_INFO, "model: %s; again in %.1f s", e->message,
            (double)ns / 1e9);
    return nap(m, ns);
}

/* --- asking --------------------------------------------------------------- */

static void take(struct http *m, const struct ws__llm_ask *ask,
                 struct ws__chat *c, struct ws__llm_reply *out)
{
    out->text = ws__buf_take(&c->text);
    out->model = c->model;
    c->model = NULL;
    out->finish = c->finish;
    out->reported = c->reported;
    out->prompt_tokens = c->prompt_tokens;
    out->completion_tokens = c->completion_tokens;
    ws__llm_settle(m->opts->meter, m->opts, ask, out, c->hidden_bytes);
}

/* A reply that is no use may say what it cost. */
static void pay_for_nothing(struct http *m, const struct ws__llm_ask *ask,
                            const struct ws__http_outcome *o)
{
    const struct ws__chat *c = &o->reply;

    if (c->reported)
        ws__llm_charge(m->opts->meter, m->opts, c->prompt_tokens,
                       c->completion_tokens);
    else if (o->may_have_run)
        ws__llm_settle_lost(m->opts->meter, m->opts, ask);
}

/* 0: done or to be tried again (*more). */
static int attempt(struct http *m, const struct ws__llm_ask *ask,
                   const char *body, uint64_t end_ns, bool *more,
                   struct ws__llm_reply *out)
{
    struct ws__llm_meter *meter = m->opts->meter;
    struct ws__http_outcome o;
    int rc = 0;

    *more = false;
    WS_TRY(ws__check_stop(m->ctx));
    WS_TRY(ws__llm_admit(m->ctx, meter, ask));
    out->attempts++;
    ws__http_call(m->conn, body, end_ns, ws__llm_left(meter, ask), &o);
    if (o.rc >= 0) {
        take(m, ask, &o.reply, out);
    } else {
        pay_for_nothing(m, ask, &o);
        rc = o.again ? before_next(m, &o, out->attempts, end_ns) : o.rc;
        *more = rc >= 0;
    }
    ws__chat_free(&o.reply);
    return rc;
}

static int http_ask(void *self, const struct ws__llm_ask *ask,
                    struct ws__llm_reply *out)
{
    struct http *m = self;
    uint64_t end_ns = ws__now_ns() + m->opts->total_ns;
    bool more = true;
    char *body;
    int rc = 0;

    WS_TRY(ws__chat_request(m->ctx, m->opts, ask, &body));
    while (more && rc >= 0)
        rc = attempt(m, ask, body, end_ns, &more, out);
    ws__free(m->ctx, body);
    return rc;
}

const struct ws__llm_ops ws__llm_http = {
    .name = "http",
    .abi = WS__LLM_ABI,
    .about = "a service that speaks OpenAI's chat completions",
    .open = http_open,
    .ask = http_ask,
    .close = http_close};
