/* t_names.c: which names count as near. */
#include "base/t_base.h"

#include "base/names.h"

static const char *nearest(const char *name)
{
    static const char *const known[] = {"block_size", "BM", "BN", "tile", "M"};
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
    assert_null(nearest("X"));
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(nearest(longest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances),
        cmocka_unit_test(near_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
