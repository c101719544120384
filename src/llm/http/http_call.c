/*
 * http_call.c: see http_call.h.
 *
 * curl's multi interface, driven by us: so a cancelled context, its deadline
 * and a service that falls silent end a request within a tenth of a second.
 * curl itself follows no redirects, reads no proxy from the environment, and
 * knows no protocol but HTTP.
 */
#include "llm/http/http_call.h"

#include <curl/curl.h>

#include "base/clock.h"
#include "base/banned.h"

#define POLL_MS 50
#define ERROR_BYTES ((size_t)65536) /* read of the body of a refusal */
#define QUOTE 300

struct ws__http {
    struct ws_ctx *ctx;
    const struct ws__llm_opts *opts;
    char *address, *shown;
    bool global;
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    char said[CURL_ERROR_SIZE]; /* by curl, of the last failure */
};

/* One attempt on its way. */
struct call {
    struct ws__http *h;
    struct ws__http_outcome *out;
    uint64_t token_limit, last_ns; /* when the last byte came */
    long status;                   /* 0: no byte of a body yet */
    struct ws__buf refusal;        /* body of another status than 200 */
    int rc;                        /* why we ended it */
};

/* --- setting up ----------------------------------------------------------- */

static int add_header(struct ws__http *h, const char *text)
{
    struct curl_slist *l = curl_slist_append(h->headers, text);

    if (!l)
        return ws__nomem(h->ctx);
    h->headers = l;
    return 0;
}

static int add_headers(struct ws__http *h)
{
    char key[WS__LLM_KEY_MAX + 32];

    WS_TRY(add_header(h, "Content-Type: application/json"));
    WS_TRY(add_header(h, h->opts->no_stream ? "Accept: application/json"
                                            : "Accept: text/event-stream, "
                                              "application/json"));
    WS_TRY(add_header(h, "Expect:")); /* no "100-continue" to wait for */
    if (!h->opts->key)
        return 0;
    snprintf(key, sizeof(key), "Authorization: Bearer %s", h->opts->key);
    return add_header(h, key);
}

static size_t take_body(char *p, size_t one, size_t n, void *user);
static size_t take_header(char *p, size_t one, size_t n, void *user);

static int set_options(struct ws__http *h)
{
    const struct ws__llm_opts *o = h->opts;
    CURL *e = h->easy;
    long connect_ms = (long)(o->connect_ns / 1000000u);
    int bad = 0;

    bad |= curl_easy_setopt(e, CURLOPT_URL, h->address);
    bad |= curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    bad |= curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    bad |= curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    bad |= curl_easy_setopt(e, CURLOPT_PROXY, o->proxy ? o->proxy : "");
    bad |= curl_easy_setopt(e, CURLOPT_USERAGENT, "wavesmith/" WS_VERSION);
    bad |= curl_easy_setopt(e, CURLOPT_HTTPHEADER, h->headers);
    bad |= curl_easy_setopt(e, CURLOPT_ERRORBUFFER, h->said);
    bad |= curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
                            connect_ms ? connect_ms : 1L);
    bad |= curl_easy_setopt(e, CURLOPT_POST, 1L);
    bad |= curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
    bad |= curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header);
    if (o->ca_file)
        bad |= curl_easy_setopt(e, CURLOPT_CAINFO, o->ca_file);
    return bad ? ws__nomem(h->ctx) : 0;
}

static int set_up(struct ws__http *h)
{
    h->global = curl_global_init(CURL_GLOBAL_DEFAULT) == 0;
    if (!h->global)
        return ws__nomem(h->ctx);
    WS_TRY(ws__http_address(h->ctx, h->opts, &h->address, &h->shown));
    h->multi = curl_multi_init();
    h->easy = curl_easy_init();
    if (!h->multi || !h->easy)
        return ws__nomem(h->ctx);
    WS_TRY(add_headers(h));
    return set_options(h);
}

int ws__http_new(struct ws_ctx *ctx, const struct ws__llm_opts *opts,
                 struct ws__http **out)
{
    struct ws__http *h = ws__alloc(ctx, 1, sizeof(*h));
    int rc;

    *out = NULL;
    if (!h)
        return WS_ENOMEM;
    h->ctx = ctx;
    h->opts = opts;
    rc = set_up(h);
    if (rc < 0)
        ws__http_free(h);
    else
        *out = h;
    return rc;
}

void ws__http_free(struct ws__http *h)
{
    if (!h)
        return;
    curl_easy_cleanup(h->easy);
    curl_multi_cleanup(h->multi);
    curl_slist_free_all(h->headers);
    ws__free(h->ctx, h->address);
    ws__free(h->ctx, h->shown);
    if (h->global)
        curl_global_cleanup();
    ws__free(h->ctx, h);
}

/* --- what comes in -------------------------------------------------------- */

static bool is_stream(CURL *easy)
{
    static const char want[] = "text/event-stream";
    char *type = NULL;

    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    return type && curl_strnequal(type, want, sizeof(want) - 1);
}

static void begin_body(struct call *c)
{
    curl_easy_getinfo(c->h->easy, CURLINFO_RESPONSE_CODE, &c->status);
    c->out->reply.streamed = is_stream(c->h->easy);
}

static size_t take_header(char *p, size_t one, size_t n, void *user)
{
    struct call *c = user;

    (void)p;
    c->last_ns = ws__now_ns();
    return one * n;
}

static size_t take_body(char *p, size_t one, size_t n, void *user)
{
    struct call *c = user;
    size_t room, bytes = one * n;

    c->last_ns = ws__now_ns();
    if (!c->status)
        begin_body(c);
    if (c->status == 200) {
        c->rc = ws__chat_feed(&c->out->reply, p, bytes);
    } else {
        room = c->refusal.max - c->refusal.len;
        c->rc = ws__buf_add(&c->refusal, p, bytes < room ? bytes : room);
    }
    /* Anything but the size ends the transfer. */
    return c->rc < 0 ? bytes + 1 : bytes;
}

/* --- on its way ----------------------------------------------------------- */

static int check_time(struct call *c, uint64_t end_ns)
{
    const struct ws__llm_opts *o = c->h->opts;
    uint64_t now = ws__now_ns();

    WS_TRY(ws__check_stop(c->h->ctx));
    if (now >= end_ns)
        return ws__fail(c->h->ctx, WS_ETIMEOUT,
                        "'%.200s' did not answer within %.1f s", c->h->shown,
                        (double)o->total_ns / 1e9);
    if (now > c->last_ns && now - c->last_ns >= o->stall_ns) {
        c->out->again = true;
        return ws__fail(c->h->ctx, WS_ETIMEOUT,
                        "'%.200s' sent nothing for %.1f s", c->h->shown,
                        (double)o->stall_ns / 1e9);
    }
    return 0;
}

/* CURLE_OK and c->rc 0: there is a reply of some status. */
static CURLcode drive(struct call *c, uint64_t end_ns)
{
    struct ws__http *h = c->h;
    struct CURLMsg *msg;
    int running = 1, left;

    while (running) {
        if (curl_multi_perform(h->multi, &running))
            return CURLE_OUT_OF_MEMORY;
        if (c->rc >= 0 && running)
            c->rc = check_time(c, end_ns);
        if (c->rc < 0)
            return CURLE_ABORTED_BY_CALLBACK;
        if (running &&
            curl_multi_poll(h->multi, NULL, 0, POLL_MS, NULL) != CURLM_OK)
            return CURLE_OUT_OF_MEMORY;
    }
    while ((msg = curl_multi_info_read(h->multi, &left)) != NULL)
        if (msg->msg == CURLMSG_DONE)
            return msg->data.result;
    return CURLE_OUT_OF_MEMORY;
}

/* --- how it went ---------------------------------------------------------- */

/* What curl's codes mean for us; any other: WS_EIO and no second attempt. */
static const struct {
    CURLcode code;
    int rc;
    bool again;
    const char *hint;
} meaning[] = {
    {CURLE_COULDNT_RESOLVE_HOST, WS_EIO, true,
     "check the URL, the network, and whether a proxy is needed"},
    {CURLE_COULDNT_RESOLVE_PROXY, WS_EIO, true, "check the proxy"},
    {CURLE_COULDNT_CONNECT, WS_EIO, true,
     "check that the service runs and the port of the URL"},
    {CURLE_OPERATION_TIMEDOUT, WS_ETIMEOUT, true,
     "check the network, or raise the limit of time to connect"},
    {CURLE_GOT_NOTHING, WS_EPROTO, true, "see the log of the service"},
    {CURLE_PARTIAL_FILE, WS_EPROTO, true, "see the log of the service"},
    {CURLE_RECV_ERROR, WS_EPROTO, true, "see the log of the service"},
    {CURLE_SEND_ERROR, WS_EPROTO, true, "see the log of the service"},
    {CURLE_HTTP2, WS_EPROTO, true, "see the log of the service"},
    {CURLE_HTTP2_STREAM, WS_EPROTO, true, "see the log of the service"},
    {CURLE_BAD_CONTENT_ENCODING, WS_EPROTO, true, "see the log of the service"},
    {CURLE_WEIRD_SERVER_REPLY, WS_EPROTO, false,
     "check that the URL is one of a service that speaks HTTP"},
    {CURLE_UNSUPPORTED_PROTOCOL, WS_EPROTO, false,
     "check that the URL is one of a service that speaks HTTP"},
    {CURLE_PEER_FAILED_VERIFICATION, WS_EACCES, false,
     "name the file of the authority that signed its certificate"},
    {CURLE_SSL_CACERT_BADFILE, WS_EACCES, false,
     "check the file of certificates"},
    {CURLE_SSL_CONNECT_ERROR, WS_EIO, false,
     "check that the port of the URL speaks TLS"},
};

static int judge_transfer(struct call *c, CURLcode code)
{
    struct ws__http *h = c->h;
    int rc = WS_EIO;
    const char *hint = "check the URL and the network";
    char said[QUOTE];

    if (code == CURLE_OUT_OF_MEMORY)
        return ws__nomem(h->ctx);
    for (size_t i = 0; i < WS_COUNT(meaning); i++)
        if (meaning[i].code == code) {
            rc = meaning[i].rc;
            hint = meaning[i].hint;
            c->out->again = meaning[i].again;
        }
    if (!*h->said)
        snprintf(h->said, sizeof(h->said), "%s", curl_easy_strerror(code));
    ws__llm_quote(h->opts->key, h->said, strlen(h->said), said, sizeof(said));
    ws__fail(h->ctx, rc, "no reply of '%.200s': %s", h->shown, said);
    return ws__hint(h->ctx, "%s", hint);
}

/* Statuses with a meaning of their own; another 5xx is WS_EIO and tried again,
 * 3xx and another 4xx WS_EINVAL. */
static const struct {
    long status;
    int rc;
    bool again;
    const char *hint;
} refused[] = {
    {401, WS_EACCES, false, "check the key of the model"},
    {402, WS_EACCES, false, "the account has to be paid for"},
    {403, WS_EACCES, false, "the key does not give access to this model"},
    {404, WS_ENOENT, false,
     "check the model's name and the URL (as in https://host.example/v1)"},
    {408, WS_ETIMEOUT, true, "the service was too slow; try again later"},
    {409, WS_EBUSY, true, "try again later"},
    {425, WS_EBUSY, true, "try again later"},
    {429, WS_EBUSY, true, "the service limits how much is asked; try later"},
    {503, WS_EBUSY, true, "the service is overloaded; try again later"},
    {529, WS_EBUSY, true, "the service is overloaded; try again later"},
};

static void status_meaning(struct call *c, int *rc, const char **hint)
{
    bool server = c->status >= 500;

    *rc = server ? WS_EIO : WS_EINVAL;
    *hint = server ? "see the log or the status page of the service"
                   : "the service does not like the request: see its options "
                     "in docs/models.md";
    c->out->again = server;
    for (size_t i = 0; i < WS_COUNT(refused); i++)
        if (refused[i].status == c->status) {
            *rc = refused[i].rc;
            *hint = refused[i].hint;
            c->out->again = refused[i].again;
        }
}

static int redirected(struct call *c)
{
    struct ws__http *h = c->h;
    char *to = NULL, said[QUOTE];

    curl_easy_getinfo(h->easy, CURLINFO_REDIRECT_URL, &to);
    ws__llm_quote(h->opts->key, to ? to : "", to ? strlen(to) : 0, said,
                  sizeof(said));
    ws__fail(h->ctx, WS_EINVAL, "'%.200s' answers %ld: it redirects%s%s",
             h->shown, c->status, *said ? " to " : "", said);
    return ws__hint(h->ctx, "redirects are not followed; if you trust that "
                            "address, give it yourself");
}

static int judge_status(struct call *c)
{
    struct ws__http *h = c->h;
    curl_off_t wait_s = 0;
    const char *hint;
    char said[QUOTE];
    int rc;

    if (c->status >= 300 && c->status < 400)
        return redirected(c);
    status_meaning(c, &rc, &hint);
    if (!curl_easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &wait_s) &&
        wait_s > 0)
        c->out->wait_ns = (uint64_t)wait_s * 1000000000u;
    ws__chat_error(h->opts->key, c->refusal.data ? c->refusal.data : "",
                   c->refusal.len, said, sizeof(said));
    ws__fail(h->ctx, rc, "'%.200s' answers %ld%s%s", h->shown, c->status,
             *said ? ": " : "", said);
    return ws__hint(h->ctx, "%s", hint);
}

static int judge(struct call *c, CURLcode code)
{
    const struct ws__chat *reply = &c->out->reply;
    /* A connection that breaks after the last word breaks nothing. */
    bool whole = c->status == 200 && reply->streamed && reply->finished;
    int rc;

    if (c->rc < 0)
        rc = c->rc;
    else if (code != CURLE_OK && !whole)
        return judge_transfer(c, code);
    else if (c->status != 200)
        return judge_status(c);
    else
        rc = ws__chat_end(&c->out->reply);
    if (rc == WS_EPROTO)
        c->out->again = true;
    return rc;
}

static bool was_sent(CURL *easy)
{
    curl_off_t sent = 0;

    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return sent > 0;
}

static CURLcode transfer(struct call *c, const char *body, uint64_t end_ns)
{
    struct ws__http *h = c->h;
    CURL *e = h->easy;
    CURLcode code;
    int bad = 0;

    bad |= curl_easy_setopt(e, CURLOPT_POSTFIELDS, body);
    bad |= curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
                            (curl_off_t)strlen(body));
    bad |= curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
    bad |= curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
    if (bad || curl_multi_add_handle(h->multi, e))
        return CURLE_OUT_OF_MEMORY;
    code = drive(c, end_ns);
    if (!c->status)
        begin_body(c); /* one without a body */
    /* Removed on its way, it closes its connection. */
    curl_multi_remove_handle(h->multi, e);
    return code;
}

void ws__http_call(struct ws__http *h, const char *body, uint64_t end_ns,
                   uint64_t token_limit, struct ws__http_outcome *out)
{
    struct call c = {.h = h, .out = out, .last_ns = ws__now_ns()};
    CURLcode code;

    *out = (struct ws__http_outcome){0};
    ws__chat_init(&out->reply, h->ctx, h->opts, false, token_limit);
    ws__buf_init(&c.refusal, h->ctx, ERROR_BYTES);
    *h->said = '\0';
    code = transfer(&c, body, end_ns);
    out->rc = judge(&c, code);
    /* A status that refuses says that nothing was computed. */
    out->may_have_run = c.status == 200 || (!c.status && was_sent(h->easy));
    ws__buf_free(&c.refusal);
}
