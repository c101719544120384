/*
 * t_mem.c: sizes may not wrap, failure leaves things as they were, arenas and
 * buffers keep their promises with every allocation failing in turn.
 */
#include "base/t_base.h"

static void test_alloc(void **state)
{
    struct t_alloc a = {0};
    struct ws_ctx *ctx = t_ctx(&a);
    long of_ctx = a.live;
    unsigned char *p = ws__alloc(ctx, 3, 5), *q;
    (void)state;

    for (int i = 0; i < 15; i++)
        assert_int_equal(p[i], 0);
    p[14] = 9;
    q = ws__resize(ctx, p, 1000, 7);
    assert_int_equal(q[14], 9);
    ws__error_clear(ctx);
    assert_null(ws__alloc(ctx, SIZE_MAX / 2, 3));
    assert_int_equal(ws_ctx_error(ctx)->code, WS_ENOMEM);
    assert_null(ws__resize(ctx, q, SIZE_MAX, 2));
    assert_int_equal(q[14], 9);
    ws__free(ctx, q);
    ws__free(ctx, NULL);
    p = ws__alloc(ctx, 0, 8); /* nothing, but not a failure */
    assert_non_null(p);
    ws__free(ctx, p);
    assert_int_equal(a.live, of_ctx);
    ws_ctx_free(ctx);
    assert_int_equal(a.live, 0);
}

static void test_grow(void **state)
{
    struct t_alloc a = {0};
    struct ws_ctx *ctx = t_ctx(&a);
    int *v = NULL;
    size_t cap = 0, n = 0;
    (void)state;

    for (; n < 1000; n++) {
        assert_int_equal(ws__grow(ctx, (void **)&v, &cap, n, sizeof(*v)), 0);
        assert_true(cap > n);
        v[n] = (int)n;
    }
    n = cap;
    a.fail_at = a.calls + 1;
    assert_int_equal(ws__grow(ctx, (void **)&v, &cap, n, sizeof(*v)),
                     WS_ENOMEM);
    assert_int_equal(cap, n);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v[i], i);
    ws__free(ctx, v);
    ws_ctx_free(ctx);
}

static void test_arena(void **state)
{
    struct t_alloc a = {0};
    struct ws_ctx *ctx = t_ctx(&a);
    long of_ctx = a.live;
    struct ws__arena ar;
    char *s, *big;
    (void)state;

    ws__arena_init(&ar, ctx);
    for (size_t i = 0; i < 5000; i++) {
        unsigned char *p = ws__arena_alloc(&ar, 1, i % 50 + 1);

        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t j = 0; j <= i % 50; j++) {
            assert_int_equal(p[j], 0);
            p[j] = 0xff;
        }
    }
    assert_true(a.calls < 100); /* blocks, not objects */
    big = ws__arena_alloc(&ar, 3, 100000);
    memset(big, 1, 300000);
    s = ws__arena_printf(&ar, "%d-%s", 7, "x");
    assert_string_equal(s, "7-x");
    assert_string_equal(ws__arena_strndup(&ar, "abc", 2), "ab");
    assert_string_equal(ws__arena_strdup(&ar, ""), "");
    assert_null(ws__arena_alloc(&ar, SIZE_MAX, 2));
    assert_null(ws__arena_alloc(&ar, SIZE_MAX - 3, 1));
    assert_string_equal(s, "7-x");
    ws__arena_free(&ar);
    ws__arena_free(&ar);
    assert_int_equal(a.live, of_ctx);
    ws_ctx_free(ctx);
}

static void test_buf(void **state)
{
    struct t_alloc a = {0};
    struct ws_ctx *ctx = t_ctx(&a);
    struct ws__buf b;
    char *s;
    (void)state;

    ws__buf_init(&b, ctx, 10);
    assert_int_equal(ws__buf_puts(&b, "12345"), 0);
    assert_int_equal(ws__buf_printf(&b, "%03d", 7), 0);
    assert_int_equal(ws__buf_add(&b, "\0x", 2), 0);
    assert_int_equal(b.len, 10);
    assert_memory_equal(b.data, "12345007\0x", 11);
    assert_int_equal(ws__buf_puts(&b, "!"), WS_ELIMIT);
    assert_int_equal(b.failed, WS_ELIMIT);
    assert_int_equal(b.len, 10);
    /* it stays failed, also for what would fit */
    assert_int_equal(ws__buf_puts(&b, ""), WS_ELIMIT);
    ws__buf_free(&b);
    assert_int_equal(ws__buf_puts(&b, "ok"), 0);
    s = ws__buf_take(&b);
    assert_string_equal(s, "ok");
    ws__free(ctx, s);
    s = ws__buf_take(&b); /* an empty one is "" */
    assert_string_equal(s, "");
    ws__free(ctx, s);
    assert_int_equal(ws__buf_add(&b, NULL, 0), 0);
    ws__buf_free(&b);

    a.fail_at = a.calls + 1;
    assert_int_equal(ws__buf_puts(&b, "x"), WS_ENOMEM);
    assert_int_equal(b.failed, WS_ENOMEM);
    assert_int_equal(ws_ctx_error(ctx)->code, WS_ENOMEM);
    ws__buf_free(&b);
    ws_ctx_free(ctx);
    assert_int_equal(a.live, 0);
}

static void test_buf_grows(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__buf b;
    (void)state;

    ws__buf_init(&b, ctx, 1 << 20);
    for (int i = 0; i < 10000; i++)
        ws__buf_printf(&b, "%05d", i);
    assert_int_equal(b.failed, 0);
    assert_int_equal(b.len, 50000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(b.data[i * 5 + 4], '0' + i % 10);
    ws__buf_free(&b);
    ws_ctx_free(ctx);
}

static int torture_body(struct ws_ctx *ctx, void *user)
{
    struct ws__arena ar;
    struct ws__buf b;
    static const char *const two[] = {"", "de"};
    char **none = ws__strdup_all(ctx, NULL, 0);
    char **all = ws__strdup_all(ctx, two, 2);
    char *s = ws__strdup(ctx, "abc");
    int rc = WS_ENOMEM;
    (void)user;

    ws__arena_init(&ar, ctx);
    ws__buf_init(&b, ctx, 1 << 16);
    if (!s || !none || !all || !ws__arena_alloc(&ar, 1, 20000) ||
        !ws__arena_printf(&ar, "%s", s) || !ws__arena_alloc(&ar, 1, 20000))
        goto done;
    for (int i = 0; i < 100; i++)
        ws__buf_printf(&b, "%d %s", i, s);
    assert_string_equal(all[0], "");
    assert_string_equal(all[1], "de");
    rc = b.failed;
done:
    ws__buf_free(&b);
    ws__arena_free(&ar);
    ws__free(ctx, none);
    ws__free(ctx, all);
    ws__free(ctx, s);
    return rc;
}

static void test_torture(void **state)
{
    (void)state;
    assert_true(t_torture(torture_body, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),     cmocka_unit_test(test_grow),
        cmocka_unit_test(test_arena),     cmocka_unit_test(test_buf),
        cmocka_unit_test(test_buf_grows), cmocka_unit_test(test_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
