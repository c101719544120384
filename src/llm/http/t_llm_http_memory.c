/*
 * t_llm_http_memory.c: every allocation of ours, of jansson and of curl fails
 * in turn while a model of the http member is opened, asked and freed: an
 * error with words, nothing left, and the next one works.
 */
#include "tests/llm/t_llm_server.h"

#include <curl/curl.h>
#include <jansson.h>

static struct t_server server;
/* Of the two libraries together. */
static atomic_long calls, fail_at, live;

static bool fails(void)
{
    return ++calls == fail_at;
}

static void *lib_malloc(size_t n)
{
    void *p = fails() ? NULL : malloc(n);

    live += p != NULL;
    return p;
}

static void *lib_calloc(size_t n, size_t size)
{
    void *p = fails() ? NULL : calloc(n, size);

    live += p != NULL;
    return p;
}

static void *lib_realloc(void *old, size_t n)
{
    void *p = fails() ? NULL : realloc(old, n);

    live += p && !old;
    return p;
}

static char *lib_strdup(const char *s)
{
    char *p = fails() ? NULL : strdup(s);

    live += p != NULL;
    return p;
}

static void lib_free(void *p)
{
    live -= p != NULL;
    free(p);
}

static int body(struct ws_ctx *ctx, void *user)
{
    struct ws__llm_opts o = t_llm_opts(NULL);
    struct ws__llm_reply r;
    struct ws__llm *l;
    char url[128];
    int rc;

    o.target = t_server_url(&server, user, url);
    o.extra = "{\"top_p\": 1}";
    o.attempts = 1;
    WS_TRY(ws__llm_open(ctx, "http", &o, &l));
    rc = t_say(l, "hello", &r);
    if (rc >= 0)
        assert_string_equal(r.text, "echo: hello");
    ws__llm_reply_free(ctx, &r);
    ws__llm_free(l);
    return rc;
}

static void survives_without_memory(void **state)
{
    (void)state;
    fail_at = 0;
    assert_true(t_torture(body, (void *)(uintptr_t) "good") > 20);
}

/* Another of ours than WS_ENOMEM may come out: curl tells some of its own
 * failures as others. */
static void survives_libraries_without_memory(void **state)
{
    long n = 1, failed = 0, before = live;

    (void)state;
    for (;; n++) {
        struct t_alloc a = {0};
        struct ws_ctx *ctx = t_ctx(&a);
        int rc;

        calls = 0;
        fail_at = n;
        rc = body(ctx, (void *)(uintptr_t) "good");
        fail_at = 0;
        if (rc < 0) {
            assert_true(*ws_ctx_error(ctx)->message);
            failed++;
        }
        ws_ctx_free(ctx);
        assert_int_equal(a.live, 0);
        assert_int_equal(live, before);
        if (calls < n)
            break;
    }
    assert_true(n > 100);
    assert_true(failed > 50);
}

static int set_up(void **state)
{
    (void)state;
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, lib_malloc, lib_free,
                             lib_realloc, lib_strdup, lib_calloc))
        return -1;
    json_set_alloc_funcs(lib_malloc, lib_free);
    t_server_start(&server, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    t_server_stop(&server);
    curl_global_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(survives_libraries_without_memory),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
