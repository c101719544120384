/* t_traces.c: traces of flashinfer-bench read, and what is refused. */
#include "base/t_base.h"

#include "spec/traces.h"

static struct ws_ctx *ctx;

static int setup(void **state)
{
    (void)state;
    ctx = ws_ctx_new(NULL);
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return 0;
}

struct seen {
    size_t n;
    char text[400];
};

static int see(void *user, const struct ws__trace *t)
{
    struct seen *s = user;
    size_t n = strlen(s->text);

    snprintf(s->text + n, sizeof(s->text) - n, "%u %s/%s/%s %s %g %g\n",
             t->line, t->definition, t->workload, t->solution, t->status,
             t->latency_ms, t->reference_ms);
    s->n++;
    return 0;
}

static int parse(const char *text, struct seen *s)
{
    *s = (struct seen){0};
    return ws__traces_parse(ctx, text, strlen(text), "t.jsonl", see, s);
}

#define HEAD(u) "{\"definition\": \"d\", \"workload\": {\"uuid\": \"" u "\"}"
#define OK(u, ms)                                                              \
    HEAD(u)                                                                    \
    ", \"solution\": \"s\", \"evaluation\": {\"status\": \"PASSED\", "         \
    "\"performance\": {\"latency_ms\": " ms                                    \
    ", \"reference_latency_ms\": 3}}}\n"

static void t_lines(void **state)
{
    /* Runs, a workload, an empty line, a workload by nulls, keys in another
     * order. */
    static const char text[] = OK("a", "0.5") HEAD("b") "}\n\r\n" HEAD(
        "c") ", \"solution\": null, \"evaluation\": "
             "null}\n" HEAD("e") ", \"evaluation\": "
                                 "{\"performance\": null, "
                                 "\"status\": \"TIMEOUT\"}"
                                 ", \"solution\": \"s2\", "
                                 "\"other\": [1]}";
    struct seen s;

    (void)state;
    assert_int_equal(parse(text, &s), 0);
    assert_string_equal(s.text, "1 d/a/s PASSED 0.5 3\n"
                                "5 d/e/s2 TIMEOUT 0 0\n");
}

static void t_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"{\n", "no JSON"},
        {"[1]\n", "'definition'"},
        {"{\"definition\": \"d\"}\n", "'uuid'"},
        {HEAD("a") ", \"solution\": \"s\", \"evaluation\": {\"status\": "
                   "\"GOOD\"}}\n",
         "'status'"},
        {HEAD("a") ", \"evaluation\": {\"status\": \"TIMEOUT\"}}\n",
         "no 'solution'"},
        {HEAD("a") ", \"solution\": \"s\", \"evaluation\": 1}\n", "no object"},
        {OK("a", "0"), "latency_ms"},
        {OK("a", "-1"), "latency_ms"},
        {OK("a", "\"fast\""), "latency_ms"},
        {OK("a", "1, \"latency_ms\": 2"), "no JSON"},
    };
    struct seen s;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        char text[600];

        snprintf(text, sizeof(text), "%s%s", OK("z", "1"), bad[i].text);
        assert_int_equal(parse(text, &s), WS_EPARSE);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, bad[i].message));
        assert_int_equal(ws_ctx_error(ctx)->line, 2);
        assert_int_equal(s.n, 1);
    }
}

static int stop(void *user, const struct ws__trace *t)
{
    (void)t;
    return ++*(int *)user == 2 ? 7 : 0;
}

static void t_stops(void **state)
{
    const char *text = OK("a", "1") OK("b", "1") OK("c", "1");
    int n = 0;

    (void)state;
    assert_int_equal(ws__traces_parse(ctx, text, strlen(text), "t", stop, &n),
                     7);
    assert_int_equal(n, 2);
}

static void t_no_file(void **state)
{
    struct seen s;

    (void)state;
    assert_int_equal(ws__traces_read(ctx, "/nonexistent/t.jsonl", see, &s),
                     WS_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(t_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(t_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(t_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(t_no_file, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
