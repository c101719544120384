/* t_decimal.c: which texts are numbers. */
#include "base/t_base.h"

#include "core/decimal.h"

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
