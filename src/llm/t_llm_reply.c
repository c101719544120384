/*
 * t_llm_reply.c: replies of models as data: each form that is taken, and each
 * that is refused with the sentence that says why.
 */
#include "base/t_base.h"

#include "llm/llm_reply.h"

static const char source[] = "int a;\n" /* 1 */
                             "  b();\n" /* 2 */
                             "  c();\n" /* 3 */
                             "int d;\n" /* 4 */
                             "  b();\n" /* 5 */
                             "}\n";     /* 6 */
static const char *const roots[] = {"parameters", "launches", NULL};

static struct ws_ctx *ctx;

static struct ws__llm_proposal *take(const char *reply, const char *base)
{
    struct ws__llm_proposal *p = NULL;
    int rc = ws__llm_proposal_parse(ctx, reply, base, roots, &p);

    if (rc < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    assert_non_null(p);
    return p;
}

static void gives(const char *reply, const char *want)
{
    struct ws__llm_proposal *p = take(reply, source);

    assert_non_null(p->source);
    assert_string_equal(p->source, want);
    ws__llm_proposal_free(p);
}

static void refuses(const char *reply, const char *words)
{
    struct ws__llm_proposal *p = (void *)1;
    const char *said;

    ws__error_clear(ctx);
    assert_int_equal(ws__llm_proposal_parse(ctx, reply, source, roots, &p),
                     WS_EPARSE);
    assert_null(p);
    said = ws_ctx_error(ctx)->message;
    if (!strstr(said, words))
        fail_msg("'%s' is not in '%s'", words, said);
    assert_null(strchr(said, '\n')); /* one sentence, on one line */
}

#define PATCH(search, replace)                                                 \
    "<<<<<<< SEARCH\n" search "=======\n" replace ">>>>>>> REPLACE\n"

static void takes_a_whole_kernel(void **state)
{
    (void)state;
    gives("Here it is:\n```cuda\nint x;\n\n```\nGood luck.\n", "int x;\n\n");
    gives("```\nint x;\n```", "int x;\n");
    gives("~~~~ c\nint x;\n```\n~~~\n~~~~~\n", "int x;\n```\n~~~\n");
    gives("  ```\r\nint x;\r\n  ```\r\n", "int x;\n");
    gives("a ```b``` c\n```c\nint `x`;\n```\n", "int `x`;\n");
    gives("```python\n@triton.jit\n```\n", "@triton.jit\n");
}

static void passes_over_thoughts(void **state)
{
    (void)state;
    gives("\n<think>\n```\nint y;\n```\nHm.</think>\n```\nint x;\n```\n",
          "int x;\n");
    gives("<think></think>\n```\nint x;\n```\n", "int x;\n");
    refuses("<think>\n```\nint x;\n```\n", "not ended by '</think>'");
    refuses("```\n<think>\n```\n```\n</think>\n```\n", "has 2 fenced");
}

static void takes_blocks(void **state)
{
    (void)state;
    gives("Try:\n" PATCH("  c();\n", "  e();\n  f();\n"),
          "int a;\n  b();\n  e();\n  f();\nint d;\n  b();\n}\n");
    gives("```c\n" PATCH("  c();\nint d;\n", "") "```\n",
          "int a;\n  b();\n  b();\n}\n");
    /* Several, in any order, each looked up in what was shown. */
    gives(PATCH("}\n", "  c();\n}\n") "and\n" PATCH("  c();\n", "}\n"),
          "int a;\n  b();\n}\nint d;\n  b();\n  c();\n}\n");
    /* Neighbours do not overlap. */
    gives(PATCH("  c();\n", "x\n") PATCH("int d;\n", "y\n"),
          "int a;\n  b();\nx\ny\n  b();\n}\n");
    /* A fence inside a block is text, and markers may be miscounted. */
    gives("<<<<<< SEARCH\n  c();\n=====  \n```\n>>>>>>>> REPLACE  \n",
          "int a;\n  b();\n```\nint d;\n  b();\n}\n");
}

static void keeps_line_ends(void **state)
{
    struct ws__llm_proposal *p;

    (void)state;
    p = take(PATCH("b\n", "x\ny\n"), "a\r\nb\r\nc");
    assert_string_equal(p->source, "a\r\nx\r\ny\r\nc");
    assert_int_equal(p->nblock, 1);
    ws__llm_proposal_free(p);
    p = take("```\nx\ny\n```\n", "a\r\nb\r\n");
    assert_string_equal(p->source, "x\r\ny\r\n");
    ws__llm_proposal_free(p);
    p = take(PATCH("c\n", "d\n"), "a\nc");
    assert_string_equal(p->source, "a\nd\n");
    ws__llm_proposal_free(p);
}

static void takes_changes(void **state)
{
    static const char reply[] =
        "```yaml\n"
        "- path: parameters.ITEMS\n"
        "  value: {values: [1, 2, 4], default: 1, about: \"a: b\"}\n"
        "- {path: 'launches[0].grid[1]', value: \"4\"}\n"
        "- path: launches[+]\n"
        "  value:\n"
        "    entry: second # not kept\n"
        "    grid:\n"
        "    - min(N, 4)\n"
        "    - 1\n"
        "- path: launches[+]\n"
        "  value:\n"
        "```\n";
    static const char *const want[][2] = {
        {"parameters.ITEMS",
         "{values: [1, 2, 4], default: 1, about: \"a: b\"}"},
        {"launches[0].grid[1]", "\"4\""},
        {"launches[+]", "{entry: second, grid: [\"min(N, 4)\", 1]}"},
        {"launches[+]", "null"}};
    struct ws__llm_proposal *p = take(reply, source);

    (void)state;
    assert_null(p->source);
    assert_int_equal(p->nchange, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(p->change[i].path, want[i][0]);
        assert_string_equal(p->change[i].yaml, want[i][1]);
    }
    ws__llm_proposal_free(p);
    p = take("```yml\n- {path: launches, value: 1}\n```\n"
             "```c\nint x;\n```\n",
             source);
    assert_string_equal(p->source, "int x;\n");
    assert_int_equal(p->nchange, 1);
    ws__llm_proposal_free(p);
}

static void refuses_other_forms(void **state)
{
    (void)state;
    refuses("", "neither a fenced block");
    refuses("I cannot help.", "neither a fenced block");
    refuses("```\nint x;\n", "block in line 1 of the reply is not closed");
    refuses("a\n```\n\n \n```\n", "in line 2 of the reply is empty");
    refuses("```\nx\n```\n```\ny\n```\n", "has 2 fenced blocks");
    refuses("```yaml\n[]\n```\n```yaml\n[]\n```\n", "has 2 blocks of YAML");
    refuses("```c\nx\n```\n" PATCH("}\n", "x\n"),
            "both a whole kernel (line 1) and search/replace blocks (line 4)");
    refuses("```diff\n-x\n+y\n```\n", "in line 1 of the reply is a diff");
    refuses("```\nint a;\n  b();\n  c();\nint d;\n  b();\n}\n```\n",
            "changes nothing");
    refuses(PATCH("}\n", "}\n"), "changes nothing");
}

static void refuses_broken_blocks(void **state)
{
    (void)state;
    refuses("x\n<<<<<<< SEARCH\n}\n=======\n", "in line 2 of the reply is not "
                                               "ended");
    refuses("<<<<<<< SEARCH\n}\n>>>>>>> REPLACE\n", "no '======='");
    refuses(">>>>>>> REPLACE\n", "has no '<<<<<<< SEARCH'");
    refuses("<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n",
            "searches nothing");
    refuses("<<<<<<< SEARCH\n}\n=======\n=======\n>>>>>>> REPLACE\n",
            "a second '=======' in line 4");
    refuses("<<<<<<< SEARCH\n}\n<<<<<<< SEARCH\n", "line 3 of the reply begins "
                                                   "a search/replace block");
    refuses("```yaml\n" PATCH("}\n", "x\n") "```\n", "inside YAML");
}

static void refuses_blocks_that_do_not_match(void **state)
{
    struct ws__buf b;

    (void)state;
    refuses(PATCH("  b();\n", "x\n"),
            "matches 2 places of the source (lines 2 and 5)");
    refuses(PATCH("b();\n", "x\n"), "matches line 2 of the source but for "
                                    "blanks");
    refuses(PATCH("int a;\nint d;\n", "x\n"), "its first is 'int a;'");
    refuses(PATCH("nt a;\n", "x\n"), "matches nothing");
    refuses(PATCH("  c();\nint d;\n", "x\n") PATCH("int d;\n", "y\n"),
            "in lines 1 and 7 of the reply overlap in line 4");
    ws__buf_init(&b, ctx, 1 << 20);
    for (int i = 0; i <= WS__LLM_BLOCKS_MAX; i++)
        assert_int_equal(ws__buf_puts(&b, PATCH("}\n", "x\n")), 0);
    refuses(b.data, "more than 128 search/replace blocks");
    ws__buf_free(&b);
}

#define YAML(text) "x\n```yaml\n" text "```\n"

static void refuses_bad_yaml(void **state)
{
    (void)state;
    refuses(YAML(""), "of the reply: it is empty");
    refuses(YAML("[]\n"), "changes nothing");
    refuses(YAML("path: a\n"), "no list of");
    refuses(YAML("- 1\n"), "each change is");
    refuses(YAML("- {path: launches}\n"), "each change is");
    refuses(YAML("- {path: launches, value: 1, why: x}\n"), "each change is");
    refuses(YAML("- {path: launches, path: launches, value: 1}\n"),
            "each change is");
    refuses(YAML("- {path: launches, value: 1\n"), "not valid");
    refuses(YAML("- {path: launches, value: &a 1}\n"), "anchors");
    refuses(YAML("- {path: launches, value: !!int 1}\n"), "anchors");
    refuses(YAML("- {path: launches, value: *a}\n"), "anchors");
    refuses(YAML("- {path: launches, value: \"a\\0b\"}\n"), "zero");
    refuses(YAML("- {path: launches, value: {[1]: 2}}\n"), "is a word");
    refuses(YAML("[]\n---\n[]\n"), "more than one");
    refuses(YAML("%TAG ! !\n---\n[]\n"), "directives");
    refuses(YAML("[]\n%TAG ! !\n"), "directives");
    refuses(YAML("- 1\r%TAG\n"), "control character");
    refuses(YAML("- 1\u2028%TAG\n"), "another kind");
    refuses(YAML("- {path: launches, value: [[[[[[[[[[[[[1]]]]]]]]]]]]]}\n"),
            "too deeply");
    refuses(YAML("\n- {path: 'launches[0]', value: 1}\n"
                 "- {path: 'launches[0]', value: 1}\n"),
            "line 5 of the reply: 'launches[0]' is changed twice");
    refuses(YAML("- {path: source, value: /etc/passwd}\n"),
            "'source' may not be changed, only what begins with parameters, "
            "launches");
    for (const char *const *p =
             (const char *const[]){"", "a b", "a..b", ".a", "a.", "a[", "a[]",
                                   "a[x]", "a[1000]", "a[+", "1a", "a[-1]",
                                   "a/b", NULL};
         *p; p++) {
        char text[100];

        snprintf(text, sizeof(text), YAML("- {path: \"%s\", value: 1}\n"), *p);
        refuses(text, "is no path");
    }
}

static void refuses_long_yaml(void **state)
{
    struct ws__buf b;

    (void)state;
    ws__buf_init(&b, ctx, 1 << 20);
    ws__buf_puts(&b, "```yaml\n");
    for (int i = 0; i <= WS__LLM_CHANGES_MAX; i++)
        ws__buf_puts(&b, "- {path: 'launches[+]', value: 1}\n");
    assert_int_equal(ws__buf_puts(&b, "```\n"), 0);
    refuses(b.data, "too many changes");
    b.len = 8;
    while (b.len < 70000)
        ws__buf_puts(&b, "# a long comment\n");
    assert_int_equal(ws__buf_puts(&b, "```\n"), 0);
    refuses(b.data, "too long");
    ws__buf_free(&b);
}

static int parse_all(struct ws_ctx *c, void *user)
{
    static const char *const reply[] = {
        PATCH("  c();\n", "x\n") PATCH("}\n", "y\n"),
        "```c\nint x;\n```\n```yaml\n- {path: launches, value: [1, {a: 2}]}\n"
        "```\n"};

    (void)user;
    for (size_t i = 0; i < WS_COUNT(reply); i++) {
        struct ws__llm_proposal *p;

        WS_TRY(ws__llm_proposal_parse(c, reply[i], source, NULL, &p));
        ws__llm_proposal_free(p);
    }
    return 0;
}

static void survives_without_memory(void **state)
{
    (void)state;
    assert_true(t_torture(parse_all, NULL) > 8);
}

static int set_up(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    return ctx ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ws__llm_proposal_free(NULL);
    ws_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_whole_kernel),
        cmocka_unit_test(passes_over_thoughts),
        cmocka_unit_test(takes_blocks),
        cmocka_unit_test(keeps_line_ends),
        cmocka_unit_test(takes_changes),
        cmocka_unit_test(refuses_other_forms),
        cmocka_unit_test(refuses_broken_blocks),
        cmocka_unit_test(refuses_blocks_that_do_not_match),
        cmocka_unit_test(refuses_bad_yaml),
        cmocka_unit_test(refuses_long_yaml),
        cmocka_unit_test(survives_without_memory),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
