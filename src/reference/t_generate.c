/*
 * t_generate.c: inputs are what their rule says, and the same bytes whatever
 * the number of threads, the compiler and the processor.
 */
#include "base/t_base.h"

#include <math.h>

#include "reference/refpriv.h"

#define COUNT 200000u

static void fill(const struct ws__fill *f, double *v)
{
    ws__fill_run(f, WS__DT_F64, 42, NULL, v, 0, COUNT);
}

static double moment(const double *v, int power)
{
    double s = 0;

    for (size_t i = 0; i < COUNT; i++)
        s += pow(v[i], power);
    return s / COUNT;
}

static void test_normal(void **state)
{
    static double v[COUNT];
    struct ws__fill f = {WS__FILL_NORMAL, 0, 1};
    size_t beyond1 = 0, beyond3 = 0;
    double neighbours = 0;

    (void)state;
    fill(&f, v);
    /* Standard errors are 0.0022, 0.0032, 0.0055, 0.022: four of them. */
    assert_true(fabs(moment(v, 1)) < 0.009);
    assert_true(fabs(moment(v, 2) - 1) < 0.013);
    assert_true(fabs(moment(v, 3)) < 0.035);
    assert_true(fabs(moment(v, 4) - 3) < 0.09);
    for (size_t i = 0; i < COUNT; i++) {
        beyond1 += fabs(v[i]) > 1;
        beyond3 += fabs(v[i]) > 3;
        neighbours += i ? v[i] * v[i - 1] : 0;
    }
    assert_true(fabs((double)beyond1 / COUNT - 0.317311) < 0.0042);
    assert_true(fabs((double)beyond3 / COUNT - 0.0026998) < 0.00047);
    assert_true(fabs(neighbours / COUNT) < 0.009);

    f.a = 10;
    f.b = 0.5;
    fill(&f, v);
    assert_true(fabs(moment(v, 1) - 10) < 0.005);
}

static void test_ranges(void **state)
{
    static double v[COUNT];
    struct ws__fill uniform = {WS__FILL_UNIFORM, -2, 3};
    struct ws__fill integers = {WS__FILL_INTEGERS, -1, 2};
    struct ws__fill constant = {WS__FILL_CONSTANT, 7, 0};
    size_t seen[4] = {0};

    (void)state;
    fill(&uniform, v);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(v[i] >= -2 && v[i] < 3);
    assert_true(fabs(moment(v, 1) - 0.5) < 0.013);
    fill(&integers, v);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(v[i] == floor(v[i]) && v[i] >= -1 && v[i] <= 2);
        seen[(int)v[i] + 1]++;
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(seen[i] > COUNT / 4 - 800 && seen[i] < COUNT / 4 + 800);
    fill(&constant, v);
    assert_true(v[0] == 7 && v[COUNT - 1] == 7);
}

/* Any cut at a block gives the same bytes, odd lengths too. */
static void test_cuts(void **state)
{
    static const struct ws__fill f = {WS__FILL_NORMAL, 0, 1};
    uint16_t whole[5001], parts[5001];

    (void)state;
    ws__fill_run(&f, WS__DT_BF16, 9, NULL, whole, 0, 5001);
    memset(parts, 0, sizeof(parts));
    ws__fill_run(&f, WS__DT_BF16, 9, NULL, parts, 4096, 5001);
    ws__fill_run(&f, WS__DT_BF16, 9, NULL, parts, 1024, 4096);
    ws__fill_run(&f, WS__DT_BF16, 9, NULL, parts, 0, 1024);
    assert_memory_equal(whole, parts, sizeof(whole));
    ws__fill_run(&f, WS__DT_BF16, 10, NULL, parts, 0, 5001);
    assert_memory_not_equal(whole, parts, sizeof(whole));
}

/* A stored seed must mean the same inputs for ever. */
static void test_frozen(void **state)
{
    static const struct ws__fill f = {WS__FILL_NORMAL, 0, 1};
    static const struct {
        enum ws__dtype type;
        const char *hash;
    } golden[] = {
        {WS__DT_F64, "d2a346f41f6c2ebea5572d82073e350b"},
        {WS__DT_F32, "a00713bb73298a1b19cd7f829b2196c1"},
        {WS__DT_F16, "753aef0b3a48fa6d67851cae7b365b76"},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(golden); i++) {
        static double v[4096];
        char hex[33];

        ws__fill_run(&f, golden[i].type, 1, NULL, v, 0, WS_COUNT(v));
        ws__hash_hex(ws__hash_bytes(v, WS_COUNT(v) *
                                           ws__dtype_bytes(golden[i].type)),
                     hex);
        assert_string_equal(hex, golden[i].hash);
    }
}

/* ---- families ------------------------------------------------------------ */

#define ROWS 64
#define COLS 40

/* x[ROWS, COLS] in, y of the same shape out: sums of K terms. */
static const struct ws__workload no_workload;
static struct ws__op family_op;

static void instance(struct ws__instance *in, enum ws__dtype t,
                     const struct ws__fill *fill, int64_t terms)
{
    struct ws__tensor_shape s = {
        .ndim = 2,
        .dim = {ROWS, COLS},
        .stride = {COLS, 1},
        .dtype = t,
        .elements = ROWS * COLS,
        .bytes = ROWS * COLS * ws__dtype_bytes(t),
        .contiguous = true,
    };

    memset(&family_op, 0, sizeof(family_op));
    family_op.ntensor = 3;
    family_op.tolerance.accumulate = WS__DT_F32;
    family_op.tolerance.reduction =
        (struct ws__expr *)&family_op; /* there is */
    for (size_t i = 0; i < 3; i++) {
        family_op.tensor[i].role = i < 2 ? WS__INPUT : WS__OUTPUT;
        family_op.tensor[i].ndim = 2;
        family_op.tensor[i].fill = *fill;
    }
    memset(in, 0, sizeof(*in));
    in->op = &family_op;
    in->workload = &no_workload;
    in->reduction = terms;
    in->shape[0] = in->shape[1] = in->shape[2] = s;
}

static void fill_family(struct ws_ctx *ctx, struct ws__instance *in,
                        enum ws__family f, unsigned threads, double *v)
{
    struct ws__problem *p;

    assert_int_equal(ws__problem_new(ctx, in, &p), 0);
    assert_int_equal(ws__problem_fill_family(p, NULL, 5, threads, f), 0);
    for (size_t i = 0; i < ROWS * COLS; i++)
        v[i] = ws__dtype_get(in->shape[0].dtype, p->input[0], i);
    ws__problem_free(p);
}

/* A family is the plain values times a number, rounded once. */
static void test_scaled(void **state)
{
    static const struct {
        enum ws__family family;
        double by;
    } scaled[] = {{WS__FAMILY_TRIPLE, 3},
                  {WS__FAMILY_HUNDREDTH, 0.01},
                  {WS__FAMILY_MINUS, -1},
                  {WS__FAMILY_ZEROS, 0},
                  {WS__FAMILY_PLAIN, 1}};
    static const struct ws__fill fill = {WS__FILL_NORMAL, 0.5, 2};
    static double plain[ROWS * COLS], v[ROWS * COLS];
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__instance in;

    (void)state;
    instance(&in, WS__DT_F64, &fill, 16);
    fill_family(ctx, &in, WS__FAMILY_PLAIN, 1, plain);
    for (size_t i = 0; i < WS_COUNT(scaled); i++) {
        fill_family(ctx, &in, scaled[i].family, 2, v);
        for (size_t j = 0; j < ROWS * COLS; j++)
            assert_true(v[j] == plain[j] * scaled[i].by);
    }
    ws_ctx_free(ctx);
}

static void check_ties(const double *v)
{
    double seen[8];
    size_t n = 0, even = 0;

    for (size_t i = 0; i < ROWS * COLS; i++) {
        size_t k = 0;

        while (k < n && seen[k] != v[i])
            k++;
        if (k == n)
            seen[n++] = v[i];
        assert_true(n <= 4);
        if (i / WS__STRETCH % 2)
            assert_true(v[i] == v[i / WS__STRETCH * WS__STRETCH]);
        else
            even += v[i] != v[i / WS__STRETCH * WS__STRETCH];
    }
    assert_int_equal(n, 4);
    assert_true(even > ROWS * COLS / 4);
}

static void check_spikes(const double *v, const double *plain)
{
    double sign = 0;

    for (size_t i = 0; i < ROWS * COLS; i += WS__STRETCH) {
        size_t spikes = 0;

        for (size_t j = i; j < i + WS__STRETCH && j < ROWS * COLS; j++) {
            spikes += v[j] != plain[j];
            assert_true(v[j] == plain[j] || fabs(v[j]) >= 7.9);
            assert_true(v[j] == plain[j] || sign * v[j] >= 0);
            sign = v[j] == plain[j] ? sign : v[j];
        }
        assert_int_equal(spikes, 1);
    }
}

static double largest(const double *v)
{
    double most = 0;

    for (size_t i = 0; i < ROWS * COLS; i++)
        most = fmax(most, fabs(v[i]));
    return most;
}

static void test_families(void **state)
{
    static const enum ws__dtype types[] = {WS__DT_F32,    WS__DT_F16,
                                           WS__DT_BF16,   WS__DT_F64,
                                           WS__DT_F8E4M3, WS__DT_F8E5M2};
    static const double normal[] = {0x1p-126,  0x1p-14, 0x1p-126,
                                    0x1p-1022, 0x1p-6,  0x1p-14};
    static const struct ws__fill fill = {WS__FILL_NORMAL, 0, 1};
    static double plain[ROWS * COLS], v[ROWS * COLS];
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t t = 0; t < WS_COUNT(types); t++) {
        struct ws__instance in;

        instance(&in, types[t], &fill, 16);
        fill_family(ctx, &in, WS__FAMILY_PLAIN, 1, plain);
        fill_family(ctx, &in, WS__FAMILY_TIES, 1, v);
        check_ties(v);
        fill_family(ctx, &in, WS__FAMILY_DENORMAL, 1, v);
        assert_true(largest(v) < normal[t] && largest(v) > normal[t] / 8);
        if (ws__dtype_bytes(types[t]) == 1)
            continue; /* their ends are near */
        fill_family(ctx, &in, WS__FAMILY_SPIKES, 1, v);
        check_spikes(v, plain);
    }
    ws_ctx_free(ctx);
}

/* Sums of squares of huge values stay in the accumulate type, sums of products
 * in the output's; and huge they are. */
static void test_huge(void **state)
{
    static const int64_t terms[] = {1, 16, 1000, 65536};
    static const struct ws__fill fills[] = {{WS__FILL_NORMAL, 0, 1},
                                            {WS__FILL_UNIFORM, 0.5, 1.5},
                                            {WS__FILL_NORMAL, 1, 0.05}};
    static double v[ROWS * COLS];
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__instance in;

    (void)state;
    for (size_t k = 0; k < WS_COUNT(terms); k++)
        for (size_t f = 0; f < WS_COUNT(fills); f++) {
            double n = (double)terms[k], m;

            instance(&in, WS__DT_F32, &fills[f], terms[k]);
            fill_family(ctx, &in, WS__FAMILY_HUGE, 1, v);
            m = largest(v);
            assert_true(m > 1e14 && n * m / 3 * m < 0x1.fffffep127);
            instance(&in, WS__DT_F16, &fills[f], terms[k]);
            fill_family(ctx, &in, WS__FAMILY_HUGE, 1, v);
            m = largest(v);
            /* Terms of zero mean add up to the root of their number. */
            assert_true((f ? n : 4 * sqrt(n)) * m / 3 * m / 3 < 65504);
        }
    ws_ctx_free(ctx);
}

/* Of values of one sign every fourth or so gets the other one. */
static void test_signs(void **state)
{
    static const struct ws__fill positive = {WS__FILL_UNIFORM, 0.5, 1.5};
    static const struct ws__fill round_zero[] = {{WS__FILL_UNIFORM, -2, 2},
                                                 {WS__FILL_NORMAL, 0, 3}};
    static double plain[ROWS * COLS], v[ROWS * COLS];
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__instance in;
    size_t turned = 0;

    (void)state;
    instance(&in, WS__DT_F32, &positive, 16);
    fill_family(ctx, &in, WS__FAMILY_PLAIN, 1, plain);
    fill_family(ctx, &in, WS__FAMILY_SIGNS, 1, v);
    for (size_t i = 0; i < ROWS * COLS; i++) {
        assert_true(fabs(v[i]) == plain[i]);
        turned += v[i] < 0;
    }
    assert_true(turned > ROWS * COLS / 5 && turned < ROWS * COLS * 3 / 10);
    assert_true(ws__family_tells(&in, WS__FAMILY_SIGNS));
    for (size_t i = 0; i < WS_COUNT(round_zero); i++) {
        instance(&in, WS__DT_F32, &round_zero[i], 16);
        assert_false(ws__family_tells(&in, WS__FAMILY_SIGNS));
        assert_true(ws__family_tells(&in, WS__FAMILY_MINUS));
    }
    ws_ctx_free(ctx);
}

/* All of one sign and huge, the first input below zero, the next above. */
static void test_one_sided(void **state)
{
    static const struct ws__fill fill = {WS__FILL_NORMAL, 0, 1};
    static double huge[ROWS * COLS], v[ROWS * COLS];
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__instance in;

    (void)state;
    instance(&in, WS__DT_F32, &fill, 1000);
    assert_true(ws__family_below(&in, 0));
    assert_false(ws__family_below(&in, 1));
    fill_family(ctx, &in, WS__FAMILY_HUGE, 1, huge);
    fill_family(ctx, &in, WS__FAMILY_ONE_SIDED, 1, v);
    for (size_t i = 0; i < ROWS * COLS; i++)
        assert_true(v[i] <= 0);
    /* The sum of their squares is one of results. */
    assert_true(1000 * ws__family_size(&in, WS__FAMILY_ONE_SIDED, 0) *
                    ws__family_size(&in, WS__FAMILY_ONE_SIDED, 0) <
                0x1.fffffep127 / 2);
    assert_true(largest(v) > 1e14 && largest(v) <= largest(huge));
    ws_ctx_free(ctx);
}

/* What no family changes. */
static void test_kept(void **state)
{
    static const struct ws__fill kept[] = {{WS__FILL_INTEGERS, -3, 3},
                                           {WS__FILL_CONSTANT, 2, 0},
                                           {WS__FILL_NATIVE, 0, 0}};
    static const struct ws__fill fill = {WS__FILL_NORMAL, 0, 1};
    struct ws__instance in;

    (void)state;
    instance(&in, WS__DT_F32, &fill, 1);
    assert_true(ws__family_changes(&in, 0));
    assert_false(ws__family_changes(&in, 2)); /* an output */
    for (size_t i = 0; i < WS_COUNT(kept); i++) {
        family_op.tensor[0].fill = kept[i];
        assert_false(ws__family_changes(&in, 0));
    }
    family_op.tensor[0].fill = fill;
    family_op.tensor[0].ndim = 0; /* a scalar */
    assert_false(ws__family_changes(&in, 0));
    instance(&in, WS__DT_I32, &fill, 1);
    assert_false(ws__family_changes(&in, 0));
}

/* A family and a seed mean the same inputs for ever; any cut, any number of
 * threads makes them. */
static void test_families_frozen(void **state)
{
    static const struct ws__fill f = {WS__FILL_NORMAL, 0, 1};
    static const char *const golden[WS__NFAMILY] = {
        "c3df097d1af51e9cc700f702a1c80f2f", "9835484102b700442e241f3c4c350826",
        "ac4ccc6fa9a430775d17915ac87e4cac", "74b32e58b4578d6c63c5e00086fefacc",
        "ebeea5b61e6d8911e4254c5b40ce39c4", "e67a4180bf3dd3de9d072ec3c86d1769",
        "881fe7eb81b6b0a16769910cf380bb65", "a62feae9cff6ae6ad071eb99c0231c44",
        "358977cc323aeba8690ed822280f119f", "503476580baeb91dcac12d61a9223242",
        "b2adf6628de17e00994b8ae6f21095a1"};

    (void)state;
    for (int i = 0; i < WS__NFAMILY; i++) {
        struct ws__twist w = {(enum ws__family)i, 1000, 4001, true};
        static float whole[4001], parts[4001];
        char hex[33];

        ws__fill_run(&f, WS__DT_F32, 1, &w, whole, 0, 4001);
        ws__fill_run(&f, WS__DT_F32, 1, &w, parts, 3072, 4001);
        ws__fill_run(&f, WS__DT_F32, 1, &w, parts, 0, 3072);
        assert_memory_equal(whole, parts, sizeof(whole));
        ws__hash_hex(ws__hash_bytes(whole, sizeof(whole)), hex);
        if (strcmp(hex, golden[i]) != 0)
            fail_msg("%s: %s", ws__family_key((enum ws__family)i), hex);
    }
}

/* Spikes of tensors of one seed each come with both signs. */
static void test_spike_signs(void **state)
{
    static const struct ws__fill f = {WS__FILL_NORMAL, 0, 1};
    struct ws__twist w = {WS__FAMILY_SPIKES, 8, WS__STRETCH, false};
    int negative = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        float v[WS__STRETCH];
        int spikes = 0;

        ws__fill_run(&f, WS__DT_F32, seed, &w, v, 0, WS__STRETCH);
        for (size_t i = 0; i < WS__STRETCH; i++) {
            spikes += fabsf(v[i]) == 8;
            negative += v[i] == -8;
        }
        assert_int_equal(spikes, 1);
    }
    assert_in_range(negative, 70, 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_one_sided),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_spike_signs),
        cmocka_unit_test(test_families_frozen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
