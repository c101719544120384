/* t_cells.c: lines of CSV, right and wrong. */
#include "base/t_base.h"

#include "core/cells.h"

static void lines(void **state)
{
    static const struct {
        const char *line;
        int rc;
        size_t n;
        const char *cell[4];
    } CASE[] = {
        {"", 0, 1, {""}},
        {",", 0, 2, {"", ""}},
        {"a,b c,", 0, 3, {"a", "b c", ""}},
        {"\"\"", 0, 1, {""}},
        {"\"a,b\",\"say \"\"hi\"\"\",c", 0, 3, {"a,b", "say \"hi\"", "c"}},
        {"a\"b,c", 0, 2, {"a\"b", "c"}},
        {"\"\"\"\",\"\"\"\"", 0, 2, {"\"", "\""}},
        {"1,2,3,4", 0, 4, {"1", "2", "3", "4"}},
        {"1,2,3,4,5", WS_ELIMIT, 0, {NULL}},
        {"\"", WS_EPARSE, 0, {NULL}},
        {"a,\"b", WS_EPARSE, 0, {NULL}},
        {"\"a\"\"", WS_EPARSE, 0, {NULL}},
        {"\"a\"b", WS_EPARSE, 0, {NULL}},
        {"\"a\" ,b", WS_EPARSE, 0, {NULL}},
    };
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__cells c = {0};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(CASE); i++) {
        char line[64];

        snprintf(line, sizeof(line), "%s", CASE[i].line);
        assert_int_equal(ws__cells_cut(ctx, line, 4, &c), CASE[i].rc);
        if (CASE[i].rc)
            continue;
        assert_int_equal(c.n, CASE[i].n);
        for (size_t k = 0; k < c.n; k++)
            assert_string_equal(c.cell[k], CASE[i].cell[k]);
    }
    ws__cells_free(ctx, &c);
    assert_true(!c.cell && !c.n);
    ws__cells_free(ctx, &c);
    ws_ctx_free(ctx);
}

static int cut(struct ws_ctx *ctx, void *user)
{
    char line[] = "a,b,\"c\"";
    struct ws__cells c = {0};
    int rc = ws__cells_cut(ctx, line, 9, &c);

    (void)user;
    ws__cells_free(ctx, &c);
    return rc;
}

static void torture(void **state)
{
    (void)state;
    assert_true(t_torture(cut, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines),
                                       cmocka_unit_test(torture)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
