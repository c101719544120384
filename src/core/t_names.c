/* t_names.c: which names count as near; numbers in text. */
#include "base/t_base.h"

#include "core/decimal.h"
#include "core/names.h"

static const char *nearest(const char *name)
{
    static const char *const known[] = {"block_size", "BM", "BN", "tile"};
    struct ws__nearest n;

    ws__nearest_begin(&n, name);
    for (size_t i = 0; i < WS_COUNT(known); i++)
        ws__nearest_see(&n, known[i]);
    return ws__nearest_name(&n);
}

static void distances(void **state)
{
    (void)state;
    assert_int_equal(ws__name_distance("", ""), 0);
    assert_int_equal(ws__name_distance("abc", ""), 3);
    assert_int_equal(ws__name_distance("kitten", "sitting"), 3);
    assert_int_equal(ws__name_distance("flaot", "float"), 1);
    assert_int_equal(ws__name_distance("bm", "BM"), 0);
}

static void near_names(void **state)
{
    char longest[200];

    (void)state;
    assert_string_equal(nearest("blocksize"), "block_size");
    assert_string_equal(nearest("B"), "BM"); /* the first of equals */
    assert_string_equal(nearest("tiel"), "tile");
    assert_null(nearest("unrelated"));
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(nearest(longest));
}

static void numbers(void **state)
{
    double f;
    int64_t i;

    (void)state;
    assert_true(ws__decimal_parse("-1.5e3", &f) && f == -1500);
    assert_true(ws__decimal_parse(".5", &f) && f == 0.5);
    assert_false(ws__decimal_parse("1.5x", &f));
    assert_false(ws__decimal_parse("inf", &f));
    assert_false(ws__decimal_parse("1e999", &f));
    assert_false(ws__decimal_parse("", &f));
    assert_true(ws__integer_parse("-0x10", &i) && i == -16);
    assert_true(ws__integer_parse("010", &i) && i == 10);
    assert_false(ws__integer_parse("99999999999999999999", &i));
    assert_false(ws__integer_parse("0x", &i));
    assert_false(ws__integer_parse("1.0", &i));
    assert_false(ws__integer_parse("ff", &i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances),
        cmocka_unit_test(near_names),
        cmocka_unit_test(numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
