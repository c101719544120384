/*
 * t_ctx.c: errors carry code, place, message and hint, are cut rather than
 * lost, and may be made from themselves; children share the stop and nothing
 * else; cancellation and deadlines are noticed.
 */
#include "base/t_base.h"

#include "base/clock.h"

static void test_status(void **state)
{
    (void)state;
    assert_string_equal(ws_status_name(0), "WS_OK");
    assert_string_equal(ws_status_name(WS_EBUSY), "WS_EBUSY");
    assert_string_equal(ws_status_text(WS_ENOMEM), "out of memory");
    assert_string_equal(ws_status_name(12345), "WS_UNKNOWN");
    assert_string_equal(ws_status_text(-1000), "unknown status");
}

static void test_error(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    const struct ws_error *e = ws_ctx_error(ctx);
    struct ws__loc loc = {"f.yaml", 3, 7}, other = {"g.yaml", 1, 2};
    (void)state;

    assert_int_equal(e->code, 0);
    assert_string_equal(e->message, "");
    assert_int_equal(ws__fail_at(ctx, WS_ESPEC, &loc, "bad '%s'", "x"),
                     WS_ESPEC);
    assert_string_equal(e->message, "bad 'x'");
    assert_string_equal(e->file, "f.yaml");
    assert_int_equal(e->line, 3);
    assert_int_equal(e->column, 7);
    assert_int_equal(ws__hint(ctx, "try %d", 5), WS_ESPEC);
    assert_string_equal(e->hint, "try 5");
    /* a known place stays */
    assert_int_equal(ws__error_locate(ctx, &other), WS_ESPEC);
    assert_string_equal(e->file, "f.yaml");
    assert_int_equal(e->line, 3);
    assert_int_equal(ws__error_prefix(ctx, "op '%s'", "gemm"), WS_ESPEC);
    assert_string_equal(e->message, "op 'gemm': bad 'x'");
    /* made from itself */
    ws__fail(ctx, WS_EIO, "again: %s", e->message);
    assert_string_equal(e->message, "again: op 'gemm': bad 'x'");
    assert_string_equal(e->hint, "");
    assert_string_equal(e->file, "");
    assert_int_equal(e->line, 0);
    ws__error_locate(ctx, &other);
    assert_string_equal(e->file, "g.yaml");
    assert_int_equal(e->column, 2);
    /* steers no terminal */
    ws__fail(ctx, WS_EIO, "a\n\tb%s",
             "\x1b[31m\x7f\r\xc2\x9b"
             "c\xc3\xa9");
    ws__hint(ctx, "%s", "\x07");
    ws__error_prefix(ctx, "%s", "\x1b");
    assert_string_equal(e->message, "?: a\n\tb?[31m????c\xc3\xa9");
    assert_string_equal(e->hint, "?");
    ws__error_clear(ctx);
    assert_int_equal(e->code, 0);
    assert_string_equal(e->file, "");
    ws_ctx_free(ctx);
}

static void test_long_error(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    const struct ws_error *e = ws_ctx_error(ctx);
    char text[5000];
    struct ws__loc loc = {text, 1, 1};
    (void)state;

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    ws__fail_at(ctx, WS_EIO, &loc, "%s", text);
    ws__hint(ctx, "%s", text);
    assert_int_equal(strlen(e->message), sizeof(e->message) - 1);
    assert_int_equal(strlen(e->hint), sizeof(e->hint) - 1);
    assert_int_equal(strlen(e->file), sizeof(e->file) - 1);
    ws__error_prefix(ctx, "%s", text);
    assert_int_equal(strlen(e->message), sizeof(e->message) - 1);
    ws_ctx_free(ctx);
}

static void test_child(void **state)
{
    struct t_alloc a = {0};
    struct ws_alloc alloc = {t_realloc, t_free, &a};
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .alloc = &alloc,
                            .worker_path = "/w",
                            .share_dir = "/s",
                            .data_dir = "/d",
                            .tools = "/t:/u"};
    struct ws_ctx *ctx = ws_ctx_new(&o), *kid = ws__ctx_child(ctx);
    (void)state;

    assert_string_equal(kid->worker_path, "/w");
    assert_string_equal(kid->share_dir, "/s");
    assert_string_equal(kid->data_dir, "/d");
    assert_string_equal(kid->tools, "/t:/u");
    assert_null(kid->cache_dir);
    ws__fail(kid, WS_EIO, "mine");
    assert_int_equal(ws_ctx_error(ctx)->code, 0);
    assert_int_equal(ws__error_copy(ctx, kid), WS_EIO);
    assert_string_equal(ws_ctx_error(ctx)->message, "mine");
    assert_int_equal(ws__check_stop(kid), 0);
    ws_ctx_cancel(ctx);
    assert_int_equal(ws__check_stop(kid), WS_ECANCEL);
    ws_ctx_free(kid);

    a.fail_at = a.calls + 1;
    assert_null(ws__ctx_child(ctx));
    assert_int_equal(ws_ctx_error(ctx)->code, WS_ENOMEM);
    a.fail_at = a.calls + 2; /* the copy of a path */
    assert_null(ws__ctx_child(ctx));
    ws_ctx_free(ctx);
    ws_ctx_free(NULL);
    assert_int_equal(a.live, 0);
}

static void test_deadline(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    uint64_t t0 = ws__now_ns();
    (void)state;

    ws_ctx_set_timeout(ctx, 1);
    ws__sleep_ns(1000);
    assert_true(ws__now_ns() > t0);
    assert_int_equal(ws__check_stop(ctx), WS_ETIMEOUT);
    ws_ctx_set_timeout(ctx, (uint64_t)3600 * 1000000000u);
    assert_int_equal(ws__check_stop(ctx), 0);
    ws_ctx_set_timeout(ctx, 0);
    assert_int_equal(ws__check_stop(ctx), 0);
    assert_true(ws__wall_ns() > (uint64_t)1600000000 * 1000000000u);
    ws_ctx_free(ctx);
}

static void keep_log(void *user, enum ws_log_level level, const char *text)
{
    snprintf(user, 64, "%d:%s", (int)level, text);
}

static void test_log(void **state)
{
    char got[64] = "";
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .log = keep_log,
                            .log_user = got};
    struct ws_ctx *ctx = ws_ctx_new(&o), *silent = ws_ctx_new(NULL);
    (void)state;

    ws__log(ctx, WS_LOG_WARN, "n = %d", 5);
    assert_string_equal(got, "2:n = 5");
    ws__log(silent, WS_LOG_WARN, "nothing");
    assert_string_equal(got, "2:n = 5");
    ws_ctx_free(silent);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),     cmocka_unit_test(test_error),
        cmocka_unit_test(test_long_error), cmocka_unit_test(test_child),
        cmocka_unit_test(test_deadline),   cmocka_unit_test(test_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
