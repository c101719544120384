/* t_words.c: cutting down what compilers say. */
#include "base/t_base.h"

#include "device/words.h"

static void first_errors(void **state)
{
    static const struct {
        const char *text, *want;
    } row[] = {
        {"", ""},
        {"all is well\n", "all is well\n"},
        {"a.cl:1: warning: w\na.cl:2: error: e\nmore",
         "a.cl:2: error: e\nmore"},
        {"error: at once", "error: at once"},
        /* the mark of front ends goes before the word */
        {"no errors yet\nsource(3): error: e", "source(3): error: e"},
        {"w\nptxas x, line 3; error   : e\nf",
         "ptxas x, line 3; error   : e\nf"},
        {"w\nptxas fatal   : f\n", "ptxas fatal   : f\n"},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(row); i++)
        assert_string_equal(ws__words_first_error(row[i].text), row[i].want);
}

static void cuts(void **state)
{
    char text[] = " \n\t two words\r\n ", blank[] = "\n ", *big;
    const size_t n = 100000;

    (void)state;
    ws__words_cut(text);
    assert_string_equal(text, "two words");
    ws__words_cut(blank);
    assert_string_equal(blank, "");
    big = malloc(n + 1);
    assert_non_null(big);
    for (size_t at = 0; at < n - 20; at += 9000) {
        memset(big, 'w', n);
        big[n] = '\0';
        memcpy(big + at, "\nx: error: e\n", 13);
        ws__words_cut(big);
        assert_true(strlen(big) <= 16384);
        assert_non_null(strstr(big, "x: error: e"));
    }
    free(big);
}

static void hides(void **state)
{
    char text[] =
        "/tmp/pocl-1/a.cl:3: error; '/a.cl' /x/y.h a/bc.cl:1 /dir/q.cl";

    (void)state;
    ws__words_hide(text, ".cl");
    /* one that is shorter than the word stays */
    assert_string_equal(text,
                        "source:3: error; '/a.cl' /x/y.h a/bc.cl:1 source");
}

static void strips(void **state)
{
    char text[] = "/usr/inc/a.h(3): /usr/inc/b/c.h /usr/incl/d.h /usr/inc";

    (void)state;
    ws__words_strip(text, "/usr/inc");
    assert_string_equal(text, "a.h(3): b/c.h /usr/incl/d.h /usr/inc");
    ws__words_strip(text, "");
    assert_string_equal(text, "a.h(3): b/c.h /usr/incl/d.h /usr/inc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_errors),
        cmocka_unit_test(cuts),
        cmocka_unit_test(hides),
        cmocka_unit_test(strips),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
