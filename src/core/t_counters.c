/* t_counters.c: counters as a text and back. */
#include "base/t_base.h"

#include <math.h>

#include "core/counters.h"

static const char *const keys[] = {"dram_read", "issue_pct", "warps"};

static void there_and_back(void **state)
{
    static const double value[] = {5e7,         12.5,        (double)NAN,
                                   (double)NAN, (double)NAN, (double)INFINITY,
                                   1.0 / 3,     -0.0,        0};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__counted c = {0};
    const char *at;
    char *text;

    (void)state;
    assert_int_equal(ws__counters_text(ctx, keys, 3, value, 3, &text), 0);
    assert_string_equal(text, "dram_read=50000000 issue_pct=12.5;;"
                              "dram_read=0.33333333333333331 issue_pct=-0 "
                              "warps=0");
    assert_true(ws__counters_sound(text));
    at = text;
    assert_int_equal(ws__counters_next(&at, &c), 1);
    assert_true(c.launch == 0 && !strcmp(c.key, "dram_read") && c.value == 5e7);
    assert_int_equal(ws__counters_next(&at, &c), 1);
    assert_true(c.launch == 0 && !strcmp(c.key, "issue_pct"));
    assert_int_equal(ws__counters_next(&at, &c), 1);
    assert_true(c.launch == 2 && c.value == 1.0 / 3);
    assert_int_equal(ws__counters_next(&at, &c), 1);
    assert_int_equal(ws__counters_next(&at, &c), 1);
    assert_true(!strcmp(c.key, "warps") && c.value == 0);
    assert_int_equal(ws__counters_next(&at, &c), 0);
    ws__free(ctx, text);
    /* Nothing is known: there is no text. */
    assert_int_equal(ws__counters_text(ctx, keys, 1, value + 2, 3, &text), 0);
    assert_null(text);
    ws_ctx_free(ctx);
}

static void what_is_none(void **state)
{
    static const char *const bad[] = {"x",
                                      "x=",
                                      "=1",
                                      "x=1,y=2",
                                      "x=nan",
                                      "x=1e999",
                                      "X=1",
                                      "x=1;y",
                                      "x=0x10",
                                      "abcdefghijklmnopqrstuvwxyzabcdefg=1",
                                      "x=0000000000000000000000000000000000000"
                                      "0000000000001"};
    char many[8192];

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++)
        if (ws__counters_sound(bad[i]))
            fail_msg("'%s' is taken", bad[i]);
    assert_true(ws__counters_sound(""));
    assert_true(ws__counters_sound("; ;x=1"));
    memset(many, ';', sizeof(many));
    memcpy(many + sizeof(many) - 4, "x=1", 4);
    assert_false(ws__counters_sound(many));
}

static int make(struct ws_ctx *ctx, void *user)
{
    static const double value[] = {1, 2, 3};
    char *text;
    int rc = ws__counters_text(ctx, keys, 3, value, 1, &text);

    (void)user;
    ws__free(ctx, text);
    return rc;
}

static void no_memory(void **state)
{
    (void)state;
    assert_true(t_torture(make, NULL) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(what_is_none),
        cmocka_unit_test(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
