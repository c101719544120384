/*
 * t_llm_http_tls.c: TLS: a certificate that is trusted, one that is not, one
 * for another host, and ports that speak something else. The certificate is
 * made by the openssl program, new for each run.
 */
#include "tests/llm/t_llm_server.h"

static struct t_server server, plain;
static char pem[160];
static struct ws_ctx *ctx;

static void make_certificate(void)
{
    char command[2048];

    snprintf(pem, sizeof(pem), "%s/wavesmith-t_tls-%d.pem", t_folder(),
             (int)getpid());
    snprintf(command, sizeof(command),
             "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test "
             "-addext subjectAltName=IP:127.0.0.1 -keyout %s.key -out %s.crt "
             "2>/dev/null && cat %s.crt %s.key >%s; rm -f %s.crt %s.key",
             pem, pem, pem, pem, pem, pem, pem);
    FILE *f = popen(command, "r");

    assert_non_null(f);
    pclose(f);
}

static int ask(const char *url, const char *ca_file, struct ws__llm_reply *r)
{
    struct ws__llm_opts o = t_llm_opts(url);
    struct ws__llm *l;
    int rc;

    o.ca_file = ca_file;
    o.attempts = 2;
    assert_int_equal(ws__llm_open(ctx, "http", &o, &l), 0);
    rc = t_say(l, "hello", r);
    ws__llm_free(l);
    return rc;
}

static void needs_openssl(void)
{
    if (!server.pid)
        SKIP("no program openssl to make a certificate");
}

static void trusts_what_it_is_told_to(void **state)
{
    struct ws__llm_reply r;
    char url[128];

    (void)state;
    needs_openssl();
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/good/tls/v1", server.port);
    if (ask(url, pem, &r) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    assert_string_equal(r.text, "echo: hello");
    ws__llm_reply_free(ctx, &r);
}

/* Nothing is sent, and nothing tried again. */
static void trusts_nothing_else(void **state)
{
    struct ws__llm_reply r;
    char url[128];

    (void)state;
    needs_openssl();
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/good/not/v1", server.port);
    assert_int_equal(ask(url, NULL, &r), WS_EACCES);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "authority"));
    assert_null(strstr(ws_ctx_error(ctx)->message, "attempts"));
    assert_int_equal(ask(url, "/nonexistent.pem", &r), WS_EACCES);
    /* The certificate names an address, not this. */
    snprintf(url, sizeof(url), "https://localhost:%d/good/not/v1", server.port);
    assert_int_equal(ask(url, pem, &r), WS_EACCES);
    assert_int_equal(t_server_count(&server, "/good/not"), 0);
}

static void says_that_a_port_speaks_something_else(void **state)
{
    struct ws__llm_reply r;
    char url[128];

    (void)state;
    needs_openssl();
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/good/x/v1", plain.port);
    assert_int_equal(ask(url, pem, &r), WS_EIO);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "speaks TLS"));
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/good/x/v1", server.port);
    assert_true(ask(url, NULL, &r) < 0);
    assert_int_equal(t_server_count(&server, "/good/x"), 0);
}

static void survives_a_service_that_hangs_up(void **state)
{
    struct ws__llm_opts o = t_llm_opts(NULL);
    struct ws__llm *l;
    char url[128];

    (void)state;
    needs_openssl();
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/early/1/v1", server.port);
    o.target = url;
    o.ca_file = pem;
    assert_int_equal(ws__llm_open(ctx, "http", &o, &l), 0);
    t_says_too_much(l);
    ws__llm_free(l);
}

static int set_up(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    make_certificate();
    if (access(pem, R_OK) != 0 || ws__fs_head(pem, &(char){0}, 1) == 0)
        return 0;
    t_server_start(&server, pem);
    t_server_start(&plain, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (server.pid) {
        t_server_stop(&server);
        t_server_stop(&plain);
    }
    unlink(pem);
    ws_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trusts_what_it_is_told_to),
        cmocka_unit_test(trusts_nothing_else),
        cmocka_unit_test(survives_a_service_that_hangs_up),
        cmocka_unit_test(says_that_a_port_speaks_something_else),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
