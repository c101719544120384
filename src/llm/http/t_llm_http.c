/*
 * t_llm_http.c: the http member against a service that does everything wrong
 * (tests/llm/server.py): what is a reply, what is tried again, what is an
 * error with which words; limits of size, time and tokens; and that the key
 * turns up nowhere but in its header.
 */
#include "tests/llm/t_llm_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "base/clock.h"

static struct t_server server;
static struct ws_ctx *ctx;
/* All that the members say, in whatever way, over all tests. */
static struct ws__buf said;
static struct ws_ctx *said_ctx;

static void hear(const char *text)
{
    assert_int_equal(ws__buf_printf(&said, "%s\n", text ? text : ""), 0);
}

static void on_log(void *user, enum ws_log_level level, const char *text)
{
    (void)user;
    (void)level;
    hear(text);
}

/* Asks a behaviour once; o may be changed before by the caller. */
static int ask(const char *behaviour, struct ws__llm_opts *o,
               struct ws__llm_reply *r)
{
    char url[128];
    struct ws__llm *l;
    int rc;

    o->target = t_server_url(&server, behaviour, url);
    ws__error_clear(ctx);
    rc = ws__llm_open(ctx, "http", o, &l);
    if (rc < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    rc = t_say(l, "hello", r);
    hear(ws_ctx_error(ctx)->message);
    hear(ws_ctx_error(ctx)->hint);
    hear(r->text);
    hear(r->model);
    ws__llm_free(l);
    return rc;
}

/* --- replies -------------------------------------------------------------- */

static const struct {
    const char *behaviour, *text;
    bool no_stream, reported;
    enum ws__llm_finish finish;
} replies[] = {
    {"good", "echo: hello", false, true, WS__LLM_STOP},
    {"good", "echo: hello", true, true, WS__LLM_STOP},
    {"unicode", "gr\u00fc\u00df \u4e16\u754c \U0001f30a \"\\", false, true,
     WS__LLM_STOP},
    {"unicode", "gr\u00fc\u00df \u4e16\u754c \U0001f30a \"\\", true, true,
     WS__LLM_STOP},
    {"pieces", "\u4e16\U0001f30a-!", false, false, WS__LLM_STOP},
    {"length", "cut", false, true, WS__LLM_LENGTH},
    {"length", "cut", true, true, WS__LLM_LENGTH},
    {"oddfinish", "odd", false, true, WS__LLM_OTHER},
    {"nousage", "12345", false, false, WS__LLM_STOP},
    {"nousage", "12345", true, false, WS__LLM_STOP},
    {"badusage", "12345", true, false, WS__LLM_STOP},
    {"nodone", "whole", false, false, WS__LLM_STOP},
    {"ignores", "in one piece", false, true, WS__LLM_STOP},
    {"drip", "slow", true, true, WS__LLM_STOP},
};

static void takes_replies(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(replies); i++) {
        struct ws__llm_meter m = {0};
        struct ws__llm_opts o = t_llm_opts(NULL);
        struct ws__llm_reply r;

        o.no_stream = replies[i].no_stream;
        o.meter = &m;
        if (ask(replies[i].behaviour, &o, &r) < 0)
            fail_msg("%s: %s", replies[i].behaviour,
                     ws_ctx_error(ctx)->message);
        assert_string_equal(r.text, replies[i].text);
        assert_string_equal(r.model, "served");
        assert_int_equal(r.finish, replies[i].finish);
        assert_int_equal(r.reported, replies[i].reported);
        assert_int_equal(r.attempts, 1);
        assert_int_equal(m.asks, 1);
        assert_int_equal(m.attempts, 1);
        if (r.reported) {
            assert_int_equal(r.prompt_tokens, 11);
            assert_int_equal(r.completion_tokens, 7);
            assert_true(r.cost > 0.99 * 81e-6 && r.cost < 1.01 * 81e-6);
        } else {
            /* A byte a token; 48 for the wrapping of one message. */
            assert_int_equal(r.prompt_tokens, 5 + 48);
            assert_int_equal(r.completion_tokens, strlen(r.text));
        }
        assert_int_equal(m.prompt, r.prompt_tokens);
        assert_int_equal(m.completion, r.completion_tokens);
        assert_true(m.cost == r.cost);
        ws__llm_reply_free(ctx, &r);
    }
}

/* --- trying again --------------------------------------------------------- */

static void tries_again(void **state)
{
    static const char *const once[] = {
        "429",        "429after",    "429date",   "500",        "503",
        "close",      "nothing",     "cut",       "choices",    "choice",
        "message",    "content",     "list",      "empty",      "null",
        "nul",        "chunks",      "filter",    "thought",    "echobad",
        "streamjson", "streamtypes", "streamcut", "streamerror"};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(once); i++) {
        struct ws__llm_opts o = t_llm_opts(NULL);
        struct ws__llm_reply r;
        char behaviour[40];

        snprintf(behaviour, sizeof(behaviour), "%s-%d", once[i], 1);
        if (ask(behaviour, &o, &r) < 0)
            fail_msg("%s: %s", behaviour, ws_ctx_error(ctx)->message);
        assert_string_equal(r.text, "echo: hello");
        assert_int_equal(r.attempts, 2);
        snprintf(behaviour, sizeof(behaviour), "/%s-1/", once[i]);
        assert_int_equal(t_server_count(&server, behaviour), 2);
        ws__llm_reply_free(ctx, &r);
    }
    /* As long as the service says, in both forms. */
    assert_non_null(
        strstr(said.data, "answers 429: slow down; again in 1.0 s"));
    assert_non_null(strstr(said.data, "answers 503: busy; again in 1.0 s"));
    assert_true(strstr(said.data, "answers 429; again in 3.0 s") ||
                strstr(said.data, "answers 429; again in 2.0 s"));
    assert_non_null(strstr(said.data, "; again in 0.0 s"));
}

static const struct {
    const char *behaviour;
    int code, requests;
    const char *words, *hint;
} failures[] = {
    {"429", WS_EBUSY, 3, "after 3 attempts: ", "limits how much"},
    {"429long", WS_EBUSY, 1, "answers 429", "come again in 86400 s"},
    {"500", WS_EIO, 3, "answers 500: <html> broken?[31m</html>", "log"},
    {"400", WS_EINVAL, 1, "answers 400: max_tokens is not supported", "docs/"},
    {"404", WS_ENOENT, 1, "answers 404: no such model", "model's name"},
    {"204", WS_EINVAL, 1, "answers 204", ""},
    {"redirect", WS_EINVAL, 1, "redirects to http://127.0.0.1", "not followed"},
    {"echo401", WS_EACCES, 1, "answers 401: bad key ****************", "key"},
    {"echoraw", WS_EACCES, 1, "key '****************', ****************", ""},
    {"echocut", WS_EINVAL, 1, "answers 400: xxx", ""},
    {"echobad", WS_EPROTO, 3, "with an error: ****************", ""},
    {"close", WS_EPROTO, 3, "no reply of 'http://127.0.0.1", ""},
    {"nothing", WS_EPROTO, 3, "no reply of", ""},
    {"nohttp", WS_EPROTO, 1, "no reply of", "speaks HTTP"},
    {"cut", WS_EPROTO, 3, "it is no whole JSON", ""},
    {"choices", WS_EPROTO, 3, "'choices' is no list", ""},
    {"choice", WS_EPROTO, 3, "a choice is no object", ""},
    {"message", WS_EPROTO, 3, "a choice has no message", ""},
    {"content", WS_EPROTO, 3, "'content' is no text", ""},
    {"list", WS_EPROTO, 3, "it is no JSON object", ""},
    {"empty", WS_EPROTO, 3, "it has no text", ""},
    {"null", WS_EPROTO, 3, "it has no text", ""},
    {"nul", WS_EPROTO, 3, "it is no whole JSON", ""},
    {"thought", WS_EPROTO, 3, "before max_tokens was used up", "raise"},
    {"filter", WS_EPROTO, 3, "a filter kept it back", ""},
    {"chunks", WS_EPROTO, 3, "no reply of", ""},
    {"streamjson", WS_EPROTO, 3, "an event of its stream is no JSON", ""},
    {"streamtypes", WS_EPROTO, 3, "'choices' is no list", ""},
    {"streamcut", WS_EPROTO, 3, "its stream was cut off", ""},
    {"streamerror", WS_EPROTO, 3, "with an error: lost ****************", ""},
    {"huge", WS_ELIMIT, 1, "of more than 100000 bytes", "raise"},
    {"hugeraw", WS_ELIMIT, 1, "of more than 100000 bytes", "raise"},
    {"hugestream", WS_ELIMIT, 1, "of more than 100000 bytes", "raise"},
    {"hugeline", WS_ELIMIT, 1, "of more than 100000 bytes", "raise"},
};

static void gives_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(failures); i++) {
        const struct ws_error *e = ws_ctx_error(ctx);
        struct ws__llm_opts o = t_llm_opts(NULL);
        struct ws__llm_reply r;
        char part[40];
        int rc;

        o.max_reply_bytes = 100000;
        rc = ask(failures[i].behaviour, &o, &r);
        if (rc != failures[i].code || !strstr(e->message, failures[i].words) ||
            !strstr(e->hint, failures[i].hint))
            fail_msg("%s: %d, '%s' (%s)", failures[i].behaviour, rc, e->message,
                     e->hint);
        assert_null(r.text);
        snprintf(part, sizeof(part), "/%s/", failures[i].behaviour);
        assert_int_equal(t_server_count(&server, part), failures[i].requests);
    }
}

/* --- what is sent --------------------------------------------------------- */

static void sends_what_it_should(void **state)
{
    static const struct ws__llm_msg msg[] = {{WS__LLM_SYSTEM, "be \"brief\""},
                                             {WS__LLM_USER, "a\xff\xc3\xa4"},
                                             {WS__LLM_ASSISTANT, ""},
                                             {WS__LLM_USER, "b\n"}};
    const struct ws__llm_ask a = {.msg = msg, .n = 4, .temperature = 0.25};
    struct ws__llm_opts o = t_llm_opts(NULL);
    struct ws__llm_reply r;
    struct ws__llm *l;
    char url[128], *whole, *log;

    (void)state;
    o.target = t_server_url(&server, "good/sent", url);
    o.extra = "{\"top_p\": 0.5, \"stream\": false, \"model\": \"other\"}";
    o.tokens_field = "max_completion_tokens";
    assert_int_equal(ws__llm_open(ctx, "http", &o, &l), 0);
    assert_int_equal(ws__llm_ask(l, &a, &r), 0);
    ws__llm_reply_free(ctx, &r);
    ws__llm_free(l);
    whole = t_server_log(&server);
    log = strstr(whole, "good/sent");
    assert_non_null(log);
    assert_non_null(strstr(log, "\"model\": \"asked\""));
    assert_non_null(strstr(log, "\"max_completion_tokens\": 500"));
    assert_null(strstr(log, "\"max_tokens\""));
    assert_non_null(strstr(log, "\"stream\": true"));
    assert_non_null(strstr(log, "\"temperature\": 0.25"));
    assert_non_null(strstr(log, "\"top_p\": 0.5"));
    assert_non_null(strstr(log, "{\"role\": \"system\", \"content\": "
                                "\"be \\\"brief\\\"\"}, {\"role\": \"user\", "
                                "\"content\": \"a\\ufffd\\u00e4\"}, {\"role\": "
                                "\"assistant\", \"content\": \"\"}, {\"role\": "
                                "\"user\", \"content\": \"b\\n\"}"));
    assert_non_null(strstr(log, "\"authorization\": \"Bearer " T_KEY "\""));
    free(whole);
}

static void keeps_its_connection(void **state)
{
    struct ws__llm_opts o = t_llm_opts(NULL);
    struct ws__llm_reply r;
    struct ws__llm *l;
    char url[128], words[16];

    (void)state;
    o.target = t_server_url(&server, "429-1", url);
    assert_int_equal(ws__llm_open(ctx, "http", &o, &l), 0);
    for (int i = 0; i < 5; i++) {
        snprintf(words, sizeof(words), "ask %d", i);
        assert_int_equal(t_say(l, words, &r), 0);
        assert_string_equal(r.text + 6, words);
        ws__llm_reply_free(ctx, &r);
    }
    ws__llm_free(l);
}

static void survives_a_service_that_hangs_up(void **state)
{
    struct ws__llm_opts o = t_llm_opts(NULL);
    struct ws__llm *l;
    char url[128];

    (void)state;
    o.target = t_server_url(&server, "early", url);
    assert_int_equal(ws__llm_open(ctx, "http", &o, &l), 0);
    t_says_too_much(l);
    assert_int_equal(ws_ctx_error(ctx)->code, WS_EPROTO);
    ws__llm_free(l);
}

/* --- options -------------------------------------------------------------- */

static void refuses(struct ws__llm_opts o, int code, const char *words)
{
    struct ws__llm *l = (void *)1;

    assert_int_equal(ws__llm_open(ctx, "http", &o, &l), code);
    assert_null(l);
    hear(ws_ctx_error(ctx)->message);
    hear(ws_ctx_error(ctx)->hint);
    if (!strstr(ws_ctx_error(ctx)->message, words))
        fail_msg("'%s' is not in '%s'", words, ws_ctx_error(ctx)->message);
}

static void refuses_options(void **state)
{
    static const char *const bad[][2] = {
        {"", "needs its URL"},
        {"nonsense", "is none"},
        {"ftp://host/v1", "is none of https or http"},
        {"file:///etc/passwd", "is none of https or http"},
        {"https://", "is none"},
        {"https://me@host/v1", "a user's name"},
        {"https://me:word@host/v1", "a user's name"},
        {"http://host.example/v1", "is not https"},
        {"http://127.0.0.1.example/v1", "is not https"},
        {"http://localhost.example/v1", "is not https"},
        {"http://10.0.0.1/v1", "is not https"},
        {"http://[::2]/v1", "is not https"},
        {"https://host/v1?k=" T_KEY, "the key of the model stands in another"},
    };
    struct ws__llm_opts o = t_llm_opts("http://localhost/v1");

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++)
        refuses(t_llm_opts(bad[i][0]), WS_EINVAL, bad[i][1]);
    o.model = NULL;
    refuses(o, WS_EINVAL, "needs the model's name");
    o.model = "\xff";
    refuses(o, WS_EINVAL, "is not UTF-8");
    o = t_llm_opts("http://localhost/v1");
    o.extra = "[1]";
    refuses(o, WS_EINVAL, "are no JSON object");
    o.extra = "{\"a\"";
    refuses(o, WS_EINVAL, "are no JSON object: ");
    o = t_llm_opts("http://localhost/v1");
    o.key = "with a blank";
    refuses(o, WS_EINVAL, "has a blank");
    o.key = "newline-at-end\n";
    refuses(o, WS_EINVAL, "has a blank");
    o.key = "short";
    refuses(o, WS_EINVAL, "fewer than 8");
    o = t_llm_opts("http://localhost/v1");
    o.price_out = -1;
    refuses(o, WS_EINVAL, "prices");
}

static void takes_addresses(void **state)
{
    static const char *const good[] = {
        "http://localhost/v1",
        "http://[::1]:8/v1",
        "http://127.9.9.9:1",
        "https://host.example/v1/",
        "https://host.example/v1?api-version=2",
        "https://host.example/v1/chat/completions#x"};
    struct ws__llm_opts o;
    struct ws__llm *l;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(good); i++) {
        o = t_llm_opts(good[i]);
        assert_int_equal(ws__llm_open(ctx, "http", &o, &l), 0);
        ws__llm_free(l);
    }
    o = t_llm_opts("http://host.example/v1");
    o.plain_http = true;
    o.key = "";
    assert_int_equal(ws__llm_open(ctx, "http", &o, &l), 0);
    ws__llm_free(l);
}

static void refuses_its_key_in_a_message(void **state)
{
    struct ws__llm_opts o = t_llm_opts(NULL);
    struct ws__llm_reply r;
    struct ws__llm *l;
    char url[128];

    (void)state;
    o.target = t_server_url(&server, "good/inmessage", url);
    assert_int_equal(ws__llm_open(ctx, "http", &o, &l), 0);
    assert_int_equal(t_say(l, "my key is " T_KEY ".", &r), WS_EINVAL);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "has its key in it"));
    assert_int_equal(t_server_count(&server, "good/inmessage"), 0);
    ws__llm_free(l);
}

/* --- time ----------------------------------------------------------------- */

static void stops_waiting(void **state)
{
    struct ws__llm_opts o = t_llm_opts(NULL);
    const struct ws_error *e = ws_ctx_error(ctx);
    struct ws__llm_reply r;

    (void)state;
    o.stall_ns = 200000000;
    o.attempts = 2;
    assert_int_equal(ask("hang", &o, &r), WS_ETIMEOUT);
    assert_non_null(strstr(e->message, "after 2 attempts: "));
    assert_non_null(strstr(e->message, "sent nothing for 0.2 s"));
    assert_int_equal(ask("hangbody", &o, &r), WS_ETIMEOUT);
    assert_int_equal(t_server_count(&server, "/hangbody/"), 2);
    assert_int_equal(ask("hang-1", &o, &r), 0);
    ws__llm_reply_free(ctx, &r);
    o.total_ns = 300000000;
    o.attempts = 9;
    assert_int_equal(ask("dripforever", &o, &r), WS_ETIMEOUT);
    assert_non_null(strstr(e->message, "did not answer within 0.3 s"));
    assert_int_equal(t_server_count(&server, "/dripforever/"), 1);
    /* No attempt is begun that cannot end in time. */
    assert_int_equal(ask("503", &o, &r), WS_EBUSY);
    assert_non_null(strstr(e->hint, "leaves no room"));
}

static void obeys_the_context(void **state)
{
    struct ws__llm_opts o = t_llm_opts(NULL);
    struct ws__llm_reply r;

    (void)state;
    ws_ctx_set_timeout(ctx, 200000000);
    assert_int_equal(ask("hang", &o, &r), WS_ETIMEOUT);
    ws_ctx_set_timeout(ctx, 200000000);
    o.retry_after_max_ns = UINT64_MAX;
    o.total_ns = 1000000000000000;
    assert_int_equal(ask("429long", &o, &r), WS_ETIMEOUT);
    ws_ctx_set_timeout(ctx, 0);
    ws_ctx_cancel(ctx);
    assert_int_equal(ask("good", &o, &r), WS_ECANCEL);
}

/* A listener whose queue is full answers no more. */
static int full_listener(int port[1], int held[8])
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(fd, 0), 0);
    getsockname(fd, (struct sockaddr *)&a, &len);
    *port = ntohs(a.sin_port);
    for (int i = 0; i < 8; i++) {
        held[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(held[i], (struct sockaddr *)&a, sizeof(a));
    }
    return fd;
}

static void says_that_nobody_is_there(void **state)
{
    struct ws__llm_opts o = t_llm_opts(NULL);
    struct ws__llm_reply r;
    struct ws__llm *l;
    int port, held[8], fd = full_listener(&port, held);
    char url[64];

    (void)state;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1", port);
    o.target = url;
    o.connect_ns = 200000000;
    o.attempts = 1;
    assert_int_equal(ws__llm_open(ctx, "http", &o, &l), 0);
    assert_int_equal(t_say(l, "hello", &r), WS_ETIMEOUT);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "time to connect"));
    for (int i = 0; i < 8; i++)
        close(held[i]);
    close(fd);
    assert_int_equal(t_say(l, "hello", &r), WS_EIO);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "no reply of"));
    ws__llm_free(l);
    o.proxy = "http://127.0.0.1:1";
    assert_int_equal(ask("good", &o, &r), WS_EIO);
}

/* --- tokens --------------------------------------------------------------- */

#define MOST (5 + 48 + 500) /* of "hello", with max_tokens 500 */

static void keeps_to_the_budget(void **state)
{
    struct ws__llm_meter m = {.budget = MOST};
    struct ws__llm_opts o = t_llm_opts(NULL);
    const struct ws_error *e = ws_ctx_error(ctx);
    struct ws__llm_reply r;

    (void)state;
    o.meter = &m;
    assert_int_equal(ask("good/budget", &o, &r), 0);
    ws__llm_reply_free(ctx, &r);
    /* 18 are gone, so the same could pass it. */
    assert_int_equal(ask("good/budget", &o, &r), WS_ELIMIT);
    assert_non_null(strstr(e->message, "has 535 left, and this ask could take "
                                       "553 (prompt 53 at most, reply 500); it "
                                       "was not sent"));
    assert_int_equal(t_server_count(&server, "good/budget"), 1);
    assert_int_equal(m.attempts, 1);
    m.budget = MOST + 18;
    assert_int_equal(ask("good/budget", &o, &r), 0);
    ws__llm_reply_free(ctx, &r);
}

/* An attempt without a reply counts as the most it can have been, unless the
 * service refused it or says what it took. */
static void pays_for_attempts(void **state)
{
    static const struct {
        const char *behaviour;
        uint64_t tokens; /* for 3 attempts */
    } cost[] = {{"429", 0},        {"500", 0},
                {"400", 0},        {"nothing", 3 * MOST},
                {"cut", 3 * MOST}, {"streamcut", 3 * MOST},
                {"null", 3 * 8}};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cost); i++) {
        struct ws__llm_meter m = {0};
        struct ws__llm_opts o = t_llm_opts(NULL);
        struct ws__llm_reply r;

        o.meter = &m;
        assert_true(ask(cost[i].behaviour, &o, &r) < 0);
        if (m.prompt + m.completion != cost[i].tokens)
            fail_msg("%s: %llu", cost[i].behaviour,
                     (unsigned long long)(m.prompt + m.completion));
    }
}

static void sends_no_attempt_beyond_the_budget(void **state)
{
    struct ws__llm_meter m = {.budget = 2 * MOST};
    struct ws__llm_opts o = t_llm_opts(NULL);
    struct ws__llm_reply r;

    (void)state;
    o.meter = &m;
    o.attempts = 9;
    assert_int_equal(ask("cut/budget", &o, &r), WS_ELIMIT);
    assert_int_equal(t_server_count(&server, "cut/budget"), 2);
    assert_int_equal(m.prompt + m.completion, m.budget);
}

static void ends_streams_at_the_budget(void **state)
{
    static const char *const endless[] = {"words", "thoughts"};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(endless); i++) {
        struct ws__llm_meter m = {.budget = MOST};
        struct ws__llm_opts o = t_llm_opts(NULL);
        struct ws__llm_reply r;

        o.meter = &m;
        assert_int_equal(ask(endless[i], &o, &r), WS_ELIMIT);
        assert_non_null(
            strstr(ws_ctx_error(ctx)->message, "ended after 1002 bytes"));
        assert_int_equal(m.prompt + m.completion, m.budget);
    }
}

/* --- the key -------------------------------------------------------------- */

static void mentions_the_key_nowhere(void **state)
{
    char *log = t_server_log(&server), *save = NULL;
    struct ws__llm_opts o = t_llm_opts(NULL);
    struct ws__llm_reply r;
    int seen = 0;

    (void)state;
    assert_int_equal(ask("echoreply", &o, &r), 0);
    assert_string_equal(r.text, "it is ****************!");
    assert_string_equal(r.model, "****************");
    ws__llm_reply_free(ctx, &r);
    assert_true(said.len > 4000);
    assert_null(strstr(said.data, T_KEY));
    assert_null(strstr(said.data, "sk-Secret"));
    assert_null(strstr(said.data, "42+key"));
    /* The service got it in one header, and in nothing else. */
    for (char *l = strtok_r(log, "\n", &save); l;
         l = strtok_r(NULL, "\n", &save), seen++) {
        char *first = strstr(l, "sk-Secret");

        assert_non_null(first);
        assert_memory_equal(first - 25, "\"authorization\": \"Bearer ", 25);
        assert_null(strstr(first + 1, "sk-Secret"));
    }
    assert_true(seen > 100);
    free(log);
}

static int set_up(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o), .log = on_log};

    (void)state;
    said_ctx = t_ctx(NULL);
    ws__buf_init(&said, said_ctx, 1 << 24);
    ctx = ws_ctx_new(&o);
    t_server_start(&server, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    t_server_stop(&server);
    ws_ctx_free(ctx);
    ws__buf_free(&said);
    ws_ctx_free(said_ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_replies),
        cmocka_unit_test(tries_again),
        cmocka_unit_test(gives_up),
        cmocka_unit_test(sends_what_it_should),
        cmocka_unit_test(keeps_its_connection),
        cmocka_unit_test(survives_a_service_that_hangs_up),
        cmocka_unit_test(refuses_options),
        cmocka_unit_test(takes_addresses),
        cmocka_unit_test(refuses_its_key_in_a_message),
        cmocka_unit_test(stops_waiting),
        cmocka_unit_test(says_that_nobody_is_there),
        cmocka_unit_test(keeps_to_the_budget),
        cmocka_unit_test(pays_for_attempts),
        cmocka_unit_test(sends_no_attempt_beyond_the_budget),
        cmocka_unit_test(ends_streams_at_the_budget),
        cmocka_unit_test(mentions_the_key_nowhere),
        cmocka_unit_test(obeys_the_context),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
