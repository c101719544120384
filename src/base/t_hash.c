/*
 * t_hash.c: hashes tell order, length and content apart and survive text;
 * stored hashes must keep their value for ever, so some are spelt out here.
 * The generator is compared with published vectors and checked for balance.
 */
#include "base/t_base.h"

#include "base/hash.h"

static void test_hash(void **state)
{
    struct ws__hash e = ws__hash_bytes("", 0), a, b;
    (void)state;

    /* XXH3's own value for the empty input, seed 0 */
    assert_true(e.hi == 0x99aa06d3014798d8u && e.lo == 0x6001c324468d497fu);
    a = ws__hash_str(ws__hash_str(e, "ab"), "c");
    b = ws__hash_str(ws__hash_str(e, "a"), "bc");
    assert_false(ws__hash_eq(a, b));
    a = ws__hash_str(ws__hash_str(e, "x"), "y");
    b = ws__hash_str(ws__hash_str(e, "y"), "x");
    assert_false(ws__hash_eq(a, b));
    assert_true(ws__hash_eq(ws__hash_str(e, NULL), ws__hash_str(e, "")));
    assert_false(ws__hash_eq(ws__hash_str(e, ""), e));
    assert_false(ws__hash_eq(ws__hash_u64(e, 1), ws__hash_u64(e, 2)));
    assert_true(ws__hash_eq(ws__hash_u64(e, 1), ws__hash_u64(e, 1)));
}

static void test_hex(void **state)
{
    static const char *const bad[] = {
        "",
        "0123",
        "0123456789abcdef0123456789abcdeg",
        "0123456789ABCDEF0123456789ABCDEF",
        "0123456789abcdef0123456789abcdef0",
        "-123456789abcdef0123456789abcdef",
    };
    struct ws__hash h = {0x0123456789abcdefu, 0xfedcba9876543210u}, g;
    char text[33];
    (void)state;

    ws__hash_hex(h, text);
    assert_string_equal(text, "fedcba98765432100123456789abcdef");
    assert_true(ws__hash_parse(text, &g));
    assert_true(ws__hash_eq(h, g));
    for (size_t i = 0; i < WS_COUNT(bad); i++)
        assert_false(ws__hash_parse(bad[i], &g));
}

static void test_rng(void **state)
{
    struct ws__rng r = {{1, 2, 3, 4}}, q;
    (void)state;

    /* xoshiro256** from the state 1, 2, 3, 4 */
    assert_true(ws__rng_u64(&r) == 11520u);
    assert_true(ws__rng_u64(&r) == 0u);
    assert_true(ws__rng_u64(&r) == 1509978240u);
    assert_true(ws__rng_u64(&r) == 1215971899390074240u);

    /* splitmix64 from 0 */
    ws__rng_seed(&r, 0);
    assert_true(r.s[0] == 0xe220a8397b1dcdafu);
    assert_true(r.s[1] == 0x6e789e6aa1b965f4u);

    ws__rng_seed(&r, 5);
    ws__rng_seed(&q, 5);
    for (int i = 0; i < 100; i++)
        assert_true(ws__rng_u64(&r) == ws__rng_u64(&q));
    assert_true(ws__rng_at(1, 2) == ws__rng_at(1, 2));
    assert_true(ws__rng_at(1, 2) != ws__rng_at(2, 1));
    assert_true(ws__rng_at(1, 2) != ws__rng_at(1, 3));
}

static void test_uniform(void **state)
{
    struct ws__rng r;
    int count[6] = {0};
    double sum = 0;
    (void)state;

    ws__rng_seed(&r, 42);
    for (int i = 0; i < 60000; i++)
        count[ws__rng_below(&r, 6)]++;
    for (int i = 0; i < 6; i++) /* 5 standard deviations */
        assert_in_range(count[i], 9540, 10460);
    for (int i = 0; i < 10000; i++) {
        double u = ws__rng_unit(&r);

        assert_true(u >= 0 && u < 1);
        sum += u;
    }
    assert_true(sum > 4850 && sum < 5150);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(ws__rng_below(&r, 1), 0);
        assert_true(ws__rng_below(&r, UINT64_MAX) < UINT64_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_rng),
        cmocka_unit_test(test_uniform),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
