/*
 * t_dtype.c: conversions, exhaustively where the type is small enough.
 *
 * The reference is a search: among all finite codes of a type (sorted by
 * value, read through ldexp) the nearest to a double, ties to the even code.
 */
#include "base/t_base.h"

#include <math.h>

#include "core/dtype.h"

struct layout {
    enum ws__dtype type;
    unsigned bits, mant;
    int bias;
    uint32_t largest, inf;
};

static const struct layout layouts[] = {
    {WS__DT_F16, 16, 10, 15, 0x7bff, 0x7c00},
    {WS__DT_BF16, 16, 7, 127, 0x7f7f, 0x7f80},
    {WS__DT_F8E4M3, 8, 3, 7, 0x7e, 0x7e},
    {WS__DT_F8E5M2, 8, 2, 15, 0x7b, 0x7c},
};

static double value_of(const struct layout *l, uint32_t code)
{
    int e = (int)(code >> l->mant);
    double m = code & ((1u << l->mant) - 1);

    if (!e)
        return ldexp(m, 1 - l->bias - (int)l->mant);
    return ldexp(m + (1u << l->mant), e - l->bias - (int)l->mant);
}

static uint32_t code_of(const struct layout *l, double v)
{
    uint16_t w = 0;
    uint8_t b = 0;

    ws__dtype_set(l->type, l->bits == 16 ? (void *)&w : (void *)&b, 0, v);
    return l->bits == 16 ? w : b;
}

static double read_code(const struct layout *l, uint32_t code)
{
    uint16_t w = (uint16_t)code;
    uint8_t b = (uint8_t)code;

    return ws__dtype_get(l->type, l->bits == 16 ? (void *)&w : (void *)&b, 0);
}

static void every_code_survives(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(layouts); i++)
        for (uint32_t c = 0; c < 1u << layouts[i].bits; c++)
            assert_int_equal(code_of(&layouts[i], read_code(&layouts[i], c)),
                             c);
}

static void codes_have_their_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(layouts); i++) {
        const struct layout *l = &layouts[i];
        uint32_t sign = 1u << (l->bits - 1);

        for (uint32_t c = 0; c <= l->largest; c++) {
            assert_true(read_code(l, c) == value_of(l, c));
            assert_true(read_code(l, c | sign) == -value_of(l, c));
        }
        assert_true(signbit(read_code(l, sign)));
        for (uint32_t c = l->largest + 1; c < sign; c++)
            assert_true(l->inf > l->largest && c == l->inf
                            ? isinf(read_code(l, c))
                            : isnan(read_code(l, c)));
    }
}

/* Around every midpoint of neighbours: below, exactly at, above. */
static void rounds_to_nearest_even(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(layouts); i++) {
        const struct layout *l = &layouts[i];

        for (uint32_t c = 0; c < l->largest; c++) {
            double mid = (value_of(l, c) + value_of(l, c + 1)) / 2;

            assert_int_equal(code_of(l, mid), c + (c & 1));
            assert_int_equal(code_of(l, nextafter(mid, 0)), c);
            assert_int_equal(code_of(l, nextafter(mid, INFINITY)), c + 1);
            assert_int_equal(code_of(l, -mid),
                             (c + (c & 1)) | 1u << (l->bits - 1));
        }
    }
}

static void overflow(void **state)
{
    static const uint32_t beyond[] = {0x7c00, 0x7f80, 0x7e, 0x7b};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(layouts); i++) {
        const struct layout *l = &layouts[i];

        assert_int_equal(code_of(l, 1e300), beyond[i]);
        assert_int_equal(code_of(l, INFINITY), l->inf);
        assert_int_equal(code_of(l, -INFINITY), l->inf | 1u << (l->bits - 1));
        assert_int_equal(code_of(l, 5e-324), 0);
        assert_true(isnan(read_code(l, code_of(l, NAN))));
    }
    /* Known values. */
    assert_int_equal(code_of(&layouts[0], 65519.99), 0x7bff);
    assert_int_equal(code_of(&layouts[0], 65520), 0x7c00);
    assert_int_equal(code_of(&layouts[2], 448), 0x7e);
    assert_int_equal(code_of(&layouts[2], 1.0), 0x38);
    assert_int_equal(code_of(&layouts[1], 1.0), 0x3f80);
}

/* A value halfway in float32 after rounding: only one rounding is right. */
static void rounds_once(void **state)
{
    double v = 1 + 0x1p-11 + 0x1p-40;

    (void)state;
    assert_int_equal(code_of(&layouts[0], v), 0x3c01);
}

static void integers(void **state)
{
    int32_t i32;
    int64_t i64;
    int8_t i8;
    uint8_t u8;

    (void)state;
    ws__dtype_set(WS__DT_I32, &i32, 0, 2.5);
    assert_int_equal(i32, 2);
    ws__dtype_set(WS__DT_I32, &i32, 0, 3e9);
    assert_int_equal(i32, INT32_MAX);
    ws__dtype_set(WS__DT_I64, &i64, 0, 1e30);
    assert_true(i64 == INT64_MAX);
    ws__dtype_set(WS__DT_I64, &i64, 0, -1e30);
    assert_true(i64 == INT64_MIN);
    ws__dtype_set(WS__DT_I8, &i8, 0, -1000);
    assert_int_equal(i8, -128);
    ws__dtype_set(WS__DT_U8, &u8, 0, -3);
    assert_int_equal(u8, 0);
    ws__dtype_set(WS__DT_U8, &u8, 0, NAN);
    assert_int_equal(u8, 0);
    ws__dtype_set(WS__DT_BOOL, &u8, 0, 0.25);
    assert_int_equal(u8, 1);
}

static void runs_equal_single_elements(void **state)
{
    double in[100], out[100], f;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        in[i] = ldexp((double)i - 50, (int)(i % 9) - 4);
    for (int t = WS__DT_F64; t <= WS__DT_BOOL; t++) {
        double raw[100] = {0}, one[100] = {0};

        ws__dtype_store((enum ws__dtype)t, in, raw, 100);
        ws__dtype_load((enum ws__dtype)t, raw, out, 100);
        for (size_t i = 0; i < 100; i++) {
            ws__dtype_set((enum ws__dtype)t, one, i, in[i]);
            f = ws__dtype_get((enum ws__dtype)t, raw, i);
            assert_true(f == out[i]);
        }
        assert_memory_equal(raw, one, sizeof(raw));
    }
}

static void names(void **state)
{
    (void)state;
    for (int t = WS__DT_F64; t <= WS__DT_BOOL; t++) {
        const char *name = ws__dtype_name((enum ws__dtype)t);

        assert_int_equal(ws__dtype_parse(name), t);
        assert_true(ws__dtype_bytes((enum ws__dtype)t) > 0);
    }
    assert_int_equal(ws__dtype_parse("float"), WS__DT_NONE);
    assert_int_equal(ws__dtype_parse("none"), WS__DT_NONE);
    assert_false(ws__dtype_is_float(WS__DT_I8));
    assert_true(ws__dtype_is_float(WS__DT_F8E4M3));
    assert_true(ws__dtype_eps(WS__DT_F16) == 0x1p-11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_survives),
        cmocka_unit_test(codes_have_their_value),
        cmocka_unit_test(rounds_to_nearest_even),
        cmocka_unit_test(overflow),
        cmocka_unit_test(rounds_once),
        cmocka_unit_test(integers),
        cmocka_unit_test(runs_equal_single_elements),
        cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
