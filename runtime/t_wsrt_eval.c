/*
 * t_wsrt_eval.c: the bytecode machine by itself: what the check refuses, the
 * arithmetic of every opcode at its edges, and that no bytes whatsoever get
 * past the check and then misbehave.
 */
#include "base/t_base.h"

#include <math.h>

#include "base/hash.h"
#include "wsrt_code.h"

#define OP(name) WSRT_OP_##name

struct prog {
    uint8_t code[4096];
    size_t n;
};

static void op(struct prog *p, unsigned o, uint64_t imm)
{
    size_t n = wsrt_imm_bytes[wsrt_op_info[o].imm];

    p->code[p->n++] = (uint8_t)o;
    for (size_t i = 0; i < n; i++)
        p->code[p->n++] = (uint8_t)(imm >> 8 * i);
}

static int checked(const struct prog *p, size_t nvars)
{
    return wsrt_code_check(p->code, p->n, nvars, 0);
}

static int run1(unsigned o, int64_t a, int64_t *r)
{
    struct prog p = {.n = 0};
    union wsrt_value v[1] = {{.i = a}}, out = {.i = 0};
    int rc;

    op(&p, OP(VAR), 0);
    op(&p, o, 0);
    op(&p, OP(END), 0);
    assert_int_equal(checked(&p, 1), 0);
    rc = wsrt_eval(p.code, p.n, v, &out, NULL);
    *r = out.i;
    return rc;
}

static int run2(unsigned o, union wsrt_value a, union wsrt_value b,
                union wsrt_value *out)
{
    struct prog p = {.n = 0};
    union wsrt_value v[2] = {a, b};
    uint32_t where = 99;
    int rc;

    op(&p, OP(VAR), 0);
    op(&p, OP(VAR), 1);
    op(&p, o, 0);
    op(&p, OP(END), 0);
    assert_int_equal(checked(&p, 2), 0);
    rc = wsrt_eval(p.code, p.n, v, out, &where);
    if (rc != WSRT_EVAL_OK)
        assert_int_equal(where, 6);
    return rc;
}

static void test_int_ops(void **state)
{
    static const struct {
        unsigned op;
        int64_t a, b;
        int rc;
        int64_t r;
    } t[] = {
        {OP(ADD), INT64_MAX, 1, WSRT_EVAL_OVERFLOW, 0},
        {OP(ADD), INT64_MAX, -1, 0, INT64_MAX - 1},
        {OP(SUB), INT64_MIN, 1, WSRT_EVAL_OVERFLOW, 0},
        {OP(MUL), INT64_MIN, -1, WSRT_EVAL_OVERFLOW, 0},
        {OP(MUL), INT64_MIN, 1, 0, INT64_MIN},
        {OP(FLOOR_DIV), 7, 2, 0, 3},
        {OP(FLOOR_DIV), -7, 2, 0, -4},
        {OP(FLOOR_DIV), 7, -2, 0, -4},
        {OP(FLOOR_DIV), -7, -2, 0, 3},
        {OP(FLOOR_DIV), -8, 2, 0, -4},
        {OP(FLOOR_DIV), INT64_MIN, -1, WSRT_EVAL_OVERFLOW, 0},
        {OP(FLOOR_DIV), 1, 0, WSRT_EVAL_DIV_ZERO, 0},
        {OP(MOD), 7, 3, 0, 1},
        {OP(MOD), -7, 3, 0, 2},
        {OP(MOD), 7, -3, 0, -2},
        {OP(MOD), -7, -3, 0, -1},
        {OP(MOD), INT64_MIN, -1, 0, 0},
        {OP(MOD), 1, 0, WSRT_EVAL_DIV_ZERO, 0},
        {OP(POW), 2, 62, 0, (int64_t)1 << 62},
        {OP(POW), 2, 63, WSRT_EVAL_OVERFLOW, 0},
        {OP(POW), -2, 63, 0, INT64_MIN},
        {OP(POW), 3, 39, 0, 4052555153018976267},
        {OP(POW), 3, 40, WSRT_EVAL_OVERFLOW, 0},
        {OP(POW), 0, 0, 0, 1},
        {OP(POW), 1, INT64_MAX, 0, 1},
        {OP(POW), -1, INT64_MAX, 0, -1},
        {OP(POW), 2, -1, WSRT_EVAL_DOMAIN, 0},
        {OP(MIN), -3, 4, 0, -3},
        {OP(MAX), -3, 4, 0, 4},
        {OP(CEIL_DIV), 7, 2, 0, 4},
        {OP(CEIL_DIV), -7, 2, 0, -3},
        {OP(CEIL_DIV), 7, -2, 0, -3},
        {OP(CEIL_DIV), 8, 2, 0, 4},
        {OP(CEIL_DIV), INT64_MIN, -1, WSRT_EVAL_OVERFLOW, 0},
        {OP(CEIL_DIV), 7, 0, WSRT_EVAL_DIV_ZERO, 0},
        {OP(ROUND_UP), 7, 4, 0, 8},
        {OP(ROUND_UP), INT64_MAX, 2, WSRT_EVAL_OVERFLOW, 0},
        {OP(ROUND_UP), 7, 0, WSRT_EVAL_DIV_ZERO, 0},
        {OP(AND), 12, 10, 0, 8},
        {OP(OR), 12, 10, 0, 14},
        {OP(XOR), 12, 10, 0, 6},
        {OP(SHL), 1, 62, 0, (int64_t)1 << 62},
        {OP(SHL), 1, 63, WSRT_EVAL_OVERFLOW, 0},
        {OP(SHL), -1, 63, 0, INT64_MIN},
        {OP(SHL), 0, INT64_MAX, 0, 0},
        {OP(SHL), 1, 64, WSRT_EVAL_OVERFLOW, 0},
        {OP(SHL), 1, -1, WSRT_EVAL_DOMAIN, 0},
        {OP(SHR), -5, 1, 0, -3},
        {OP(SHR), -5, 1000, 0, -1},
        {OP(SHR), 5, -1, WSRT_EVAL_DOMAIN, 0},
        {OP(EQ), 2, 2, 0, 1},
        {OP(NE), 2, 2, 0, 0},
        {OP(LT), INT64_MIN, 0, 0, 1},
        {OP(LE), 2, 2, 0, 1},
        {OP(GT), INT64_MIN, 0, 0, 0},
        {OP(GE), 2, 2, 0, 1},
        {OP(NIP), 5, 6, 0, 6},
        {OP(POP), 5, 6, 0, 5},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(t); i++) {
        union wsrt_value a = {.i = t[i].a}, b = {.i = t[i].b}, out = {.i = 0};

        if (run2(t[i].op, a, b, &out) != t[i].rc ||
            (t[i].rc == 0 && out.i != t[i].r))
            fail_msg("row %zu: got %lld", i, (long long)out.i);
    }
}

static void test_unary_ops(void **state)
{
    int64_t r;

    (void)state;
    assert_int_equal(run1(OP(NEG), INT64_MIN, &r), WSRT_EVAL_OVERFLOW);
    assert_int_equal(run1(OP(NEG), 5, &r), 0);
    assert_int_equal(r, -5);
    assert_int_equal(run1(OP(ABS), INT64_MIN, &r), WSRT_EVAL_OVERFLOW);
    assert_int_equal(run1(OP(ABS), -5, &r), 0);
    assert_int_equal(r, 5);
    assert_int_equal(run1(OP(LOG2_FLOOR), 0, &r), WSRT_EVAL_DOMAIN);
    assert_int_equal(run1(OP(LOG2_FLOOR), INT64_MAX, &r), 0);
    assert_int_equal(r, 62);
    for (int64_t x = -2; x < 10; x++) {
        assert_int_equal(run1(OP(IS_POW2), x, &r), 0);
        assert_int_equal(r, x == 1 || x == 2 || x == 4 || x == 8);
        assert_int_equal(run1(OP(TRUTH), x, &r), 0);
        assert_int_equal(r, x != 0);
        assert_int_equal(run1(OP(LNOT), x, &r), 0);
        assert_int_equal(r, x == 0);
    }
    assert_int_equal(run1(OP(IS_POW2), INT64_MIN, &r), 0);
    assert_int_equal(r, 0);
}

static void test_float_ops(void **state)
{
    static const struct {
        unsigned op;
        double a, b;
        int rc;
        double r;
    } t[] = {
        {OP(FADD), 1e308, 1e308, WSRT_EVAL_DOMAIN, 0},
        {OP(FSUB), 1.5, 2, 0, -0.5},
        {OP(FMUL), 1e200, 1e200, WSRT_EVAL_DOMAIN, 0},
        {OP(FDIV), 1, 4, 0, 0.25},
        {OP(FDIV), 1, 0, WSRT_EVAL_DIV_ZERO, 0},
        {OP(FDIV), 1, -0.0, WSRT_EVAL_DIV_ZERO, 0},
        {OP(FFLOOR_DIV), -7.5, 2, 0, -4},
        {OP(FFLOOR_DIV), 7.5, -2, 0, -4},
        {OP(FFLOOR_DIV), 1, 0.1, 0, 9},
        {OP(FFLOOR_DIV), 178526.74102459854, 0.7, 0, 255038}, /* snapped */
        {OP(FFLOOR_DIV), 1, 0, WSRT_EVAL_DIV_ZERO, 0},
        {OP(FMOD), -7.5, 2, 0, 0.5},
        {OP(FMOD), 7.5, -2, 0, -0.5},
        {OP(FMOD), 1, 0, WSRT_EVAL_DIV_ZERO, 0},
        {OP(FPOW), 2, 0.5, 0, 0x1.6a09e667f3bcdp+0},
        {OP(FPOW), -8, 0.5, WSRT_EVAL_DOMAIN, 0},
        {OP(FPOW), 10, 400, WSRT_EVAL_DOMAIN, 0},
        {OP(FPOW), 0, -1, WSRT_EVAL_DIV_ZERO, 0},
        {OP(FMIN), 1.5, -2.5, 0, -2.5},
        {OP(FMAX), 1.5, -2.5, 0, 1.5},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(t); i++) {
        union wsrt_value a = {.f = t[i].a}, b = {.f = t[i].b}, out = {.i = 0};

        if (run2(t[i].op, a, b, &out) != t[i].rc ||
            (t[i].rc == 0 && out.f != t[i].r))
            fail_msg("row %zu: got %g", i, out.f);
    }
}

/* Integers that are no doubles: rounded once. */
static void test_true_div(void **state)
{
    union wsrt_value a = {.i = INT64_MAX}, b = {.i = 3}, out;

    (void)state;
    assert_int_equal(run2(OP(TRUE_DIV), a, b, &out), 0);
    assert_true(out.f == 3074457345618258602.3333);
    a.i = 9007199254740993; /* 2**53 + 1 */
    b.i = 9007199254740993;
    assert_int_equal(run2(OP(TRUE_DIV), a, b, &out), 0);
    assert_true(out.f == 1.0);
    a.i = 7523914069611103807; /* just above half way: the sticky bit */
    b.i = 7790106167125490291;
    assert_int_equal(run2(OP(TRUE_DIV), a, b, &out), 0);
    assert_true(out.f == 0x1.ee81331916117p-1);
    a.i = INT64_MIN;
    b.i = -1;
    assert_int_equal(run2(OP(TRUE_DIV), a, b, &out), 0);
    assert_true(out.f == 0x1p63);
    a.i = 1;
    b.i = INT64_MIN;
    assert_int_equal(run2(OP(TRUE_DIV), a, b, &out), 0);
    assert_true(out.f == -0x1p-63);
    b.i = 0;
    assert_int_equal(run2(OP(TRUE_DIV), a, b, &out), WSRT_EVAL_DIV_ZERO);
}

static void test_to_int(void **state)
{
    static const struct {
        double f;
        int rc;
        int64_t r;
    } t[] = {
        {2.9, 0, 2},
        {-2.9, 0, -2},
        {0x1p63, WSRT_EVAL_OVERFLOW, 0},
        {-0x1p63, 0, INT64_MIN},
        {-0x1.0000000000001p63, WSRT_EVAL_OVERFLOW, 0},
        {INFINITY, WSRT_EVAL_OVERFLOW, 0},
        {NAN, WSRT_EVAL_DOMAIN, 0},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(t); i++) {
        union wsrt_value v = {.f = t[i].f};
        int64_t r;

        assert_int_equal(run1(OP(TO_INT), v.i, &r), t[i].rc);
        if (t[i].rc == 0)
            assert_int_equal(r, t[i].r);
    }
}

static void test_operands(void **state)
{
    struct prog p = {.n = 0};
    union wsrt_value v[2] = {{.i = 7}, {.i = 0}}, out;
    struct wsrt_operands o;
    uint32_t where;

    (void)state;
    op(&p, OP(PUSH8), 1);
    op(&p, OP(VAR), 0);
    op(&p, OP(MODV), 1);
    op(&p, OP(ADD), 0);
    op(&p, OP(END), 0);
    assert_int_equal(checked(&p, 2), 0);
    assert_int_equal(wsrt_eval_explain(p.code, v, &out, &where, &o),
                     WSRT_EVAL_DIV_ZERO);
    assert_int_equal(where, 5);
    assert_int_equal(o.n, 2);
    assert_int_equal(o.v[0].i, 7);
    assert_int_equal(o.v[1].i, 0);
}

static void refuse(const struct prog *p)
{
    assert_int_equal(checked(p, 2), WSRT_EVAL_BAD_CODE);
}

static void test_check_refuses(void **state)
{
    struct prog p = {.n = 0};

    (void)state;
    refuse(&p); /* empty */
    op(&p, OP(END), 0);
    refuse(&p); /* no result */
    p.n = 0;
    op(&p, OP(PUSH8), 1);
    refuse(&p); /* no end */
    op(&p, OP(PUSH8), 1);
    op(&p, OP(END), 0);
    refuse(&p); /* two results */
    p.n = 0;
    op(&p, OP(PUSH8), 1);
    op(&p, OP(END), 0);
    op(&p, OP(END), 0);
    refuse(&p); /* code after the end */
    p.n = 0;
    op(&p, OP(VAR), 2);
    op(&p, OP(END), 0);
    refuse(&p); /* slot out of range */
    assert_int_equal(checked(&p, 3), 0);
    p.n = 0;
    op(&p, OP(PUSH8), 1);
    op(&p, OP(ADDV), 2);
    op(&p, OP(END), 0);
    refuse(&p);
    p.n = 0;
    op(&p, OP(PUSH8), 1);
    op(&p, OP(ADD), 0);
    op(&p, OP(END), 0);
    refuse(&p); /* stack runs empty */
    p.n = 0;
    p.code[p.n++] = OP(PUSH64);
    p.code[p.n++] = OP(END);
    refuse(&p); /* immediate cut off */
    p.n = 0;
    p.code[p.n++] = WSRT_NOPS;
    refuse(&p); /* unknown opcode */
    p.code[0] = 255;
    refuse(&p);
}

static void test_check_jumps(void **state)
{
    struct prog p = {.n = 0};

    (void)state;
    /* the two ways meet with different depths */
    op(&p, OP(PUSH8), 1);
    op(&p, OP(JF), 2);
    op(&p, OP(PUSH8), 1);
    op(&p, OP(PUSH8), 1);
    op(&p, OP(END), 0);
    refuse(&p);
    /* into the middle of an instruction */
    p.n = 0;
    op(&p, OP(PUSH8), 1);
    op(&p, OP(JF_KEEP), 1);
    op(&p, OP(PUSH8), OP(END));
    op(&p, OP(END), 0);
    refuse(&p);
    /* past the end, and "backwards" */
    for (uint64_t d = 3; d < 0x100000000; d = d * 2 + 1) {
        p.n = 0;
        op(&p, OP(PUSH8), 1);
        op(&p, OP(JF_KEEP), d);
        op(&p, OP(PUSH8), 1);
        op(&p, OP(END), 0);
        refuse(&p);
    }
    /* code that nothing reaches */
    p.n = 0;
    op(&p, OP(PUSH8), 1);
    op(&p, OP(JUMP), 2);
    op(&p, OP(PUSH8), 1);
    op(&p, OP(END), 0);
    refuse(&p);
    /* right */
    p.n = 0;
    op(&p, OP(VAR), 0);
    op(&p, OP(JF), 7);
    op(&p, OP(PUSH8), 1);
    op(&p, OP(JUMP), 2);
    op(&p, OP(PUSH8), 2);
    op(&p, OP(END), 0);
    assert_int_equal(checked(&p, 1), 0);
}

static void test_check_depth(void **state)
{
    struct prog p = {.n = 0};
    union wsrt_value out;

    (void)state;
    for (int i = 0; i < WSRT_STACK_MAX; i++)
        op(&p, OP(PUSH8), 1);
    for (int i = 1; i < WSRT_STACK_MAX; i++)
        op(&p, OP(ADD), 0);
    op(&p, OP(END), 0);
    assert_int_equal(checked(&p, 0), 0);
    assert_int_equal(wsrt_eval(p.code, p.n, NULL, &out, NULL), 0);
    assert_int_equal(out.i, WSRT_STACK_MAX);
    p.n = 0;
    for (int i = 0; i <= WSRT_STACK_MAX; i++)
        op(&p, OP(PUSH8), 1);
    for (int i = 0; i < WSRT_STACK_MAX; i++)
        op(&p, OP(ADD), 0);
    op(&p, OP(END), 0);
    refuse(&p);
}

static void test_integer_only(void **state)
{
    (void)state;
    for (unsigned o = 0; o < WSRT_NOPS; o++) {
        struct prog p = {.n = 0};

        if (!wsrt_op_info[o].is_float)
            continue;
        for (unsigned i = 0; i < wsrt_op_info[o].pops; i++)
            op(&p, OP(PUSH8), 1);
        op(&p, o, 0);
        op(&p, OP(END), 0);
        assert_int_equal(wsrt_code_check(p.code, p.n, 0, 0), 0);
        assert_int_equal(wsrt_code_check(p.code, p.n, 0, 1),
                         WSRT_EVAL_BAD_CODE);
    }
}

/* Programs of random valid instructions: whatever passes runs. */
static void test_random(void **state)
{
    union wsrt_value v[4] = {{.i = INT64_MIN}, {.i = -1}, {.i = 0}, {.f = 2}};
    struct ws__rng rng;
    size_t passed = 0;

    (void)state;
    ws__rng_seed(&rng, 7);
    for (int i = 0; i < 100000; i++) {
        struct prog p = {.n = 0};
        union wsrt_value out;
        size_t len = 1 + (size_t)ws__rng_below(&rng, 12);

        op(&p, OP(VAR), ws__rng_below(&rng, 4));
        op(&p, OP(VAR), ws__rng_below(&rng, 4));
        while (len--)
            op(&p, (unsigned)ws__rng_below(&rng, WSRT_NOPS),
               ws__rng_below(&rng, 12));
        op(&p, OP(END), 0);
        if (checked(&p, 4) != 0)
            continue;
        passed++;
        assert_true(wsrt_eval(p.code, p.n, v, &out, NULL) >= WSRT_EVAL_DOMAIN);
    }
    assert_true(passed > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_int_ops),
        cmocka_unit_test(test_unary_ops),
        cmocka_unit_test(test_float_ops),
        cmocka_unit_test(test_true_div),
        cmocka_unit_test(test_to_int),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_check_refuses),
        cmocka_unit_test(test_check_jumps),
        cmocka_unit_test(test_check_depth),
        cmocka_unit_test(test_integer_only),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
