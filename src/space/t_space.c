/*
 * t_space.c: the space against brute force, on many random constraint sets.
 */
#include "space/t_space.h"

#define SETS 120

/* A random constraint over random parameters; all can be evaluated. */
static void random_text(struct ws__rng *r, size_t n, char *out, size_t size)
{
    int a = (int)ws__rng_below(r, n), b = (int)ws__rng_below(r, n);
    int c = (int)ws__rng_below(r, n), v = (int)ws__rng_below(r, 12) + 1;

    switch (ws__rng_below(r, 8)) {
    case 0:
        snprintf(out, size, "p%d * p%d <= %d", a, b, v * 2);
        break;
    case 1:
        snprintf(out, size, "p%d %% (p%d + 1) == 0", a, b);
        break;
    case 2:
        snprintf(out, size, "p%d == 1 or p%d != %d", a, b, v % 4);
        break;
    case 3:
        snprintf(out, size, "p%d + p%d + p%d >= %d", a, b, c, v);
        break;
    case 4:
        snprintf(out, size, "not (p%d == p%d and p%d == 2)", a, b, c);
        break;
    case 5:
        snprintf(out, size, "p%d <= %d", a, v);
        break;
    case 6:
        snprintf(out, size, "p%d * p%d %% %d != 1 or p%d < 3", a, b, v, c);
        break;
    default:
        snprintf(out, size, "%d < 12 or p%d > 0", v, a);
    }
}

static void random_kernel(struct ws_ctx *ctx, uint64_t seed, struct t_kernel *t)
{
    struct ws__rng r;
    size_t n, m;
    char text[80];

    ws__rng_seed(&r, seed);
    t_kernel_init(t, ctx);
    n = 1 + ws__rng_below(&r, 7);
    m = ws__rng_below(&r, 7);
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "p%zu", i);
        assert_int_equal(t_param(t, text, 1 + ws__rng_below(&r, 4),
                                 (int64_t)ws__rng_below(&r, 3),
                                 (int64_t)ws__rng_below(&r, 2) + 1),
                         0);
        t->k.param[i].structural = !ws__rng_below(&r, 6);
    }
    for (size_t i = 0; i < m; i++) {
        random_text(&r, n, text, sizeof(text));
        assert_int_equal(t_constraint(t, text), 0);
    }
}

/* By brute force: how many are valid, and what each constraint removes. */
static uint64_t brute(const struct ws__kernel *k, const struct ws__config *fix,
                      uint64_t *removed)
{
    struct ws__config c = {.n = (uint16_t)k->nparam};
    union wsrt_value vars[WS__MAX_SLOTS] = {0};
    uint64_t valid = 0;

    memset(removed, 0, T_MAX_CONSTRAINTS * sizeof(*removed));
    do {
        size_t i;
        bool in = true;

        for (i = 0; i < k->nparam && fix; i++)
            in = in && (!k->param[i].structural || c.at[i] == fix->at[i]);
        if (!in)
            continue;
        ws__config_vars(k, &c, vars);
        for (i = 0; i < k->nconstraint; i++)
            if (ws__expr_test(k->constraint[i].expr, vars) != 1)
                break;
        if (i < k->nconstraint)
            removed[i]++;
        else
            valid++;
    } while (t_odometer(k, &c));
    return valid;
}

static void check_walk(struct ws__space *s, uint64_t valid)
{
    struct ws__space_iter it;
    struct ws__config c, d, last;
    uint64_t n = 0;
    int rc;

    ws__space_begin(s, &it);
    while ((rc = ws__space_next(&it, &c)) > 0) {
        assert_int_equal(ws__space_valid(s, &c, NULL), 1);
        assert_int_equal(ws__space_unrank(s, n, &d), 0);
        assert_true(ws__config_eq(&c, &d));
        if (n)
            assert_false(ws__config_eq(&c, &last));
        last = c;
        n++;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(n, valid);
    assert_int_equal(ws__space_unrank(s, valid, &d), WS_EINVAL);
}

static void check_sample(struct ws__space *s, uint64_t valid, uint64_t seed)
{
    static struct ws__config c[5000];
    size_t want = valid < 4000 ? (size_t)valid / 3 + seed % 7 : 100, got;
    struct ws__rng r;

    ws__rng_seed(&r, seed);
    if (seed % 5 == 0 && valid < 4000)
        want = (size_t)valid + 3;
    assert_int_equal(ws__space_sample(s, &r, want, c, &got), 0);
    assert_int_equal(got, want < valid ? want : valid);
    for (size_t i = 0; i < got; i++) {
        assert_int_equal(ws__space_valid(s, &c[i], NULL), 1);
        for (size_t j = 0; j < i && got < 200; j++)
            assert_false(ws__config_eq(&c[i], &c[j]));
    }
}

static size_t distance(const struct ws__config *a, const struct ws__config *b)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n; i++)
        n += a->at[i] != b->at[i];
    return n;
}

static void check_neighbors(struct ws__space *s, uint64_t valid, uint64_t seed)
{
    struct ws__config c, d;
    struct ws__rng r;

    ws__rng_seed(&r, seed);
    for (int i = 0; i < 20 && valid; i++) {
        int rc;

        assert_int_equal(ws__space_unrank(s, ws__rng_below(&r, valid), &c), 0);
        rc = ws__space_neighbor(s, &r, &c, &d);
        if (rc == WS_EDONE)
            continue;
        assert_int_equal(rc, 0);
        assert_int_equal(ws__space_valid(s, &d, NULL), 1);
        assert_in_range(distance(&c, &d), 1, 2);
    }
}

static void check_space(struct ws_ctx *ctx, struct t_kernel *t, uint64_t seed,
                        bool fix)
{
    uint64_t want[T_MAX_CONSTRAINTS], got[T_MAX_CONSTRAINTS], valid, n, sum;
    struct ws__config c;
    struct ws__space *s;

    ws__config_default(&t->k, &c);
    for (size_t i = 0; i < t->k.nparam; i++)
        c.at[i] = (uint16_t)(t->k.param[i].nvalue - 1);
    assert_int_equal(ws__space_new(ctx, &t->k, NULL, true, true, &s), 0);
    if (fix)
        assert_int_equal(ws__space_fix_structural(s, &c), 0);
    n = brute(&t->k, fix ? &c : NULL, want);
    assert_int_equal(ws__space_count(s, &valid), 0);
    assert_int_equal(valid, n);
    assert_int_equal(ws__space_removed(s, got), 0);
    sum = valid;
    for (size_t i = 0; i < t->k.nconstraint; i++) {
        assert_int_equal(got[i], want[i]);
        sum += got[i];
    }
    assert_int_equal(sum, ws__space_size(s));
    check_walk(s, valid);
    check_sample(s, valid, seed);
    check_neighbors(s, valid, seed);
    ws__space_free(s);
}

static void test_against_brute_force(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SETS; seed++) {
        struct ws_ctx *ctx = t_ctx(NULL);
        struct t_kernel t;

        random_kernel(ctx, seed, &t);
        check_space(ctx, &t, seed, false);
        check_space(ctx, &t, seed, true);
        t_kernel_free(&t);
        ws_ctx_free(ctx);
    }
}

/* Two groups and a dead end: uneven enough that a careless sampler fails. */
static void test_uniform(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__space *s;
    struct ws__config c, all[64];
    struct t_kernel t;
    struct ws__rng r;
    uint64_t valid, hits[64] = {0};
    double chi = 0, each;
    size_t got;

    (void)state;
    t_kernel_init(&t, ctx);
    t_param(&t, "a", 4, 0, 1);
    t_param(&t, "b", 4, 0, 1);
    t_param(&t, "c", 4, 0, 1);
    t_constraint(&t, "a * b <= 3 and (a != 3 or b == 1)");
    t_constraint(&t, "a + c != 3");
    assert_int_equal(ws__space_new(ctx, &t.k, NULL, true, true, &s), 0);
    assert_int_equal(ws__space_count(s, &valid), 0);
    assert_in_range(valid, 20, 40);
    for (uint64_t i = 0; i < valid; i++)
        assert_int_equal(ws__space_unrank(s, i, &all[i]), 0);
    ws__rng_seed(&r, 7);
    for (int i = 0; i < 20000; i++) {
        size_t j = 0;

        assert_int_equal(ws__space_sample(s, &r, 1, &c, &got), 0);
        while (!ws__config_eq(&c, &all[j]))
            j++;
        hits[j]++;
    }
    each = 20000.0 / (double)valid;
    for (uint64_t i = 0; i < valid; i++)
        chi += ((double)hits[i] - each) * ((double)hits[i] - each) / each;
    /* 3.5 standard deviations above the mean of the law. */
    assert_true(chi < (double)valid - 1 + 3.5 * 8);
    ws__space_free(s);
    t_kernel_free(&t);
    ws_ctx_free(ctx);
}

/* A guard protects, wherever it stands; without it the place is named. */
static void test_errors(void **state)
{
    static const char *const guarded[] = {"b % a == 0", "a > 0"};
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (int n = 2; n >= 1; n--) {
        struct ws__space *s;
        struct t_kernel t;
        uint64_t valid, removed[2];
        struct ws__space_iter it;
        struct ws__config c;

        t_kernel_init(&t, ctx);
        t_param(&t, "a", 3, 0, 1);
        t_param(&t, "b", 4, 1, 1);
        t_param(&t, "other", 2, 0, 1);
        for (int i = 0; i < n; i++)
            t_constraint(&t, guarded[i]);
        t_constraint(&t, "other == 1");
        ws__space_new(ctx, &t.k, NULL, true, true, &s);
        if (n == 2) {
            assert_int_equal(ws__space_count(s, &valid), 0);
            assert_int_equal(valid, 6);
        } else {
            assert_int_equal(ws__space_count(s, &valid), WS_EEXPR);
            assert_non_null(
                strstr(ws_ctx_error(ctx)->message, "a=0,b=1,other=1"));
            assert_string_equal(ws_ctx_error(ctx)->file, "toy.yaml");
            ws__space_begin(s, &it);
            assert_int_equal(ws__space_next(&it, &c), WS_EEXPR);
            assert_int_equal(ws__space_removed(s, removed), 0);
        }
        ws__space_free(s);
        t_kernel_free(&t);
    }
    ws_ctx_free(ctx);
}

/* -1: some constraint fails and none is false; else valid or not. */
static int judge(const struct ws__kernel *k, const struct ws__config *c)
{
    union wsrt_value vars[WS__MAX_SLOTS] = {0};
    int r = 1;

    ws__config_vars(k, c, vars);
    for (size_t i = 0; i < k->nconstraint; i++) {
        int one = ws__expr_test(k->constraint[i].expr, vars);

        if (!one)
            return 0;
        if (one < 0)
            r = -1;
    }
    return r;
}

/* What prunes is of the space; what it leaves out may run. */
static void test_prune(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__config c = {.n = 2, .at = {3, 3}};
    struct ws__space *s;
    struct t_kernel t;
    size_t which;
    uint64_t valid;

    (void)state;
    t_kernel_init(&t, ctx);
    assert_int_equal(t_param(&t, "a", 4, 0, 1), 0);
    assert_int_equal(t_param(&t, "b", 4, 0, 1), 0);
    assert_int_equal(t_constraint(&t, "a + b < 4"), 0);
    assert_int_equal(t_constraint(&t, "a != 3 or b != 2"), 0);
    t.k.constraint[0].prune = true;
    assert_int_equal(ws__space_new(ctx, &t.k, NULL, true, true, &s), 0);
    assert_int_equal(ws__space_count(s, &valid), 0);
    assert_int_equal(valid, 10);
    assert_int_equal(ws__space_valid(s, &c, &which), 0);
    assert_int_equal(which, 0);
    assert_int_equal(ws__space_legal(s, &c, NULL), 1);
    c.at[1] = 2;
    assert_int_equal(ws__space_legal(s, &c, &which), 0);
    assert_int_equal(which, 1);
    ws__space_free(s);
    t_kernel_free(&t);
    ws_ctx_free(ctx);
}

static void check_failing(struct ws_ctx *ctx, const struct t_kernel *t,
                          int *failing)
{
    struct ws__config c = {.n = (uint16_t)t->k.nparam};
    uint64_t valid, n = 0, bad = 0, removed[T_MAX_CONSTRAINTS];
    struct ws__space *s;
    int rc;

    assert_int_equal(ws__space_new(ctx, &t->k, NULL, true, true, &s), 0);
    do {
        int want = judge(&t->k, &c);

        rc = ws__space_valid(s, &c, NULL);
        assert_int_equal(rc, want < 0 ? WS_EEXPR : want);
        n += want > 0;
        bad += want < 0;
    } while (t_odometer(&t->k, &c));
    rc = ws__space_count(s, &valid);
    assert_int_equal(rc, bad ? WS_EEXPR : 0);
    if (!bad)
        assert_int_equal(valid, n);
    *failing += bad > 0;
    assert_int_equal(ws__space_removed(s, removed), 0);
    n += bad;
    for (size_t i = 0; i < t->k.nconstraint; i++)
        n += removed[i];
    assert_int_equal(n, ws__space_size(s));
    ws__space_free(s);
}

/* Divisions by zero, guarded or not as it happens. */
static void test_failing_sets(void **state)
{
    int failing = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SETS; seed++) {
        struct ws_ctx *ctx = t_ctx(NULL);
        struct t_kernel t;
        struct ws__rng r;
        char text[80];

        ws__rng_seed(&r, seed + 1000);
        random_kernel(ctx, seed, &t);
        for (int i = 0; i < 2; i++) {
            size_t a = (size_t)ws__rng_below(&r, t.k.nparam);
            size_t b = (size_t)ws__rng_below(&r, t.k.nparam);

            snprintf(text, sizeof(text), "p%zu %% (p%zu - %d) == 0", a, b,
                     (int)ws__rng_below(&r, 4));
            assert_int_equal(t_constraint(&t, text), 0);
        }
        check_failing(ctx, &t, &failing);
        t_kernel_free(&t);
        ws_ctx_free(ctx);
    }
    assert_in_range(failing, 10, SETS - 10);
}

/* Another group removes everything: nothing is left to fail. */
static void test_error_in_empty(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__space *s;
    struct t_kernel t;
    uint64_t valid;

    (void)state;
    t_kernel_init(&t, ctx);
    t_param(&t, "a", 2, 0, 1);
    t_param(&t, "b", 2, 0, 1);
    t_constraint(&t, "6 // a == 6");
    t_constraint(&t, "b > 1");
    ws__space_new(ctx, &t.k, NULL, true, true, &s);
    assert_int_equal(ws__space_count(s, &valid), 0);
    assert_int_equal(valid, 0);
    ws__space_free(s);
    t_kernel_free(&t);
    ws_ctx_free(ctx);
}

/* Sizes that no walk could reach. */
static void test_huge(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__space *s;
    struct ws__config c, d;
    struct t_kernel t;
    struct ws__rng r;
    uint64_t valid;
    char name[8], text[40];
    size_t got;

    (void)state;
    t_kernel_init(&t, ctx);
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        t_param(&t, name, 2, 0, 1);
        if (i % 5 == 1) {
            snprintf(text, sizeof(text), "p%d + p%d < 2", i - 1, i);
            t_constraint(&t, text);
        }
    }
    ws__space_new(ctx, &t.k, NULL, true, true, &s);
    assert_int_equal(ws__space_size(s), (uint64_t)1 << 60);
    assert_int_equal(ws__space_count(s, &valid), 0);
    assert_int_equal(valid, 531441 * ((uint64_t)1 << 36)); /* 3^12 2^36 */
    ws__rng_seed(&r, 3);
    assert_int_equal(ws__space_sample(s, &r, 1, &c, &got), 0);
    assert_int_equal(ws__space_neighbor(s, &r, &c, &d), 0);
    assert_int_equal(distance(&c, &d), 1);
    ws__space_free(s);
    for (int i = 60; i < 64; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        t_param(&t, name, 2, 0, 1);
    }
    ws__space_new(ctx, &t.k, NULL, true, true, &s);
    assert_int_equal(ws__space_size(s), UINT64_MAX);
    assert_int_equal(ws__space_count(s, &valid), 0);
    ws__space_free(s);
    t.k.nconstraint = 0;
    ws__space_new(ctx, &t.k, NULL, true, true, &s);
    assert_int_equal(ws__space_count(s, &valid), WS_EOVERFLOW);
    ws__space_free(s);
    t_kernel_free(&t);
    ws_ctx_free(ctx);
}

/* Without values for axes or device, their constraints take no part. */
static void test_inactive(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__space *s;
    struct t_kernel t;
    union wsrt_value vars[WS__MAX_SLOTS] = {0};
    uint64_t valid, removed[2];

    (void)state;
    t_kernel_init(&t, ctx);
    t_param(&t, "a", 4, 1, 1);
    ws__scope_add(ctx, &t.k.scope, "limit", WS__INT, NULL);
    t_constraint(&t, "a <= limit");
    t_constraint(&t, "limit == 2");
    t.k.constraint[0].needs_axes = t.k.constraint[1].needs_device = true;
    vars[1].i = 2;
    for (int i = 0; i < 4; i++) {
        ws__space_new(ctx, &t.k, vars, i & 1, i & 2, &s);
        assert_int_equal(ws__space_count(s, &valid), 0);
        assert_int_equal(valid, i & 1 ? 2 : 4);
        assert_int_equal(ws__space_removed(s, removed), 0);
        assert_int_equal(removed[0], i & 1 ? 2 : 0);
        assert_int_equal(removed[1], 0);
        ws__space_free(s);
    }
    vars[1].i = 3;
    ws__space_new(ctx, &t.k, vars, true, true, &s);
    assert_int_equal(ws__space_count(s, &valid), 0);
    assert_int_equal(valid, 0);
    assert_int_equal(ws__space_removed(s, removed), 0);
    assert_int_equal(removed[0], 1);
    assert_int_equal(removed[1], 3);
    ws__space_free(s);
    t_kernel_free(&t);
    ws_ctx_free(ctx);
}

static void test_cancel(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__space *s;
    struct t_kernel t;
    uint64_t valid;
    char name[8], text[200] = "0";

    (void)state;
    t_kernel_init(&t, ctx);
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        t_param(&t, name, 20, 0, 1);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "+%s", name);
    }
    strcat(text, " < 100");
    assert_int_equal(t_constraint(&t, text), 0);
    ws__space_new(ctx, &t.k, NULL, true, true, &s);
    ws_ctx_cancel(ctx);
    assert_int_equal(ws__space_count(s, &valid), WS_ECANCEL);
    ws__space_free(s);
    t_kernel_free(&t);
    ws_ctx_free(ctx);
}

static int torture_body(struct ws_ctx *ctx, void *user)
{
    struct t_kernel *t = user;
    struct ws__space *s;
    struct ws__config c[4];
    struct ws__space_iter it;
    struct ws__rng r;
    uint64_t removed[T_MAX_CONSTRAINTS];
    size_t got;
    int rc;

    ws__rng_seed(&r, 1);
    WS_TRY(ws__space_new(ctx, &t->k, NULL, true, true, &s));
    rc = ws__space_sample(s, &r, 4, c, &got);
    if (rc >= 0)
        rc = ws__space_removed(s, removed);
    ws__space_begin(s, &it);
    if (rc >= 0)
        rc = ws__space_next(&it, c);
    if (rc >= 0)
        rc = ws__space_neighbor(s, &r, c, c + 1);
    ws__space_free(s);
    return rc < 0 ? rc : 0;
}

static void test_torture(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_kernel t;

    (void)state;
    t_kernel_init(&t, ctx);
    for (int i = 0; i < 5; i++) {
        char name[4];

        snprintf(name, sizeof(name), "p%d", i);
        t_param(&t, name, 6, 1, 1);
    }
    t_constraint(&t, "p0 * p1 <= 12");
    t_constraint(&t, "p1 * p2 <= 12");
    t_constraint(&t, "p3 * p2 <= 12");
    t_constraint(&t, "p3 * p4 <= 12");
    assert_true(t_torture(torture_body, &t) > 5);
    t_kernel_free(&t);
    ws_ctx_free(ctx);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prune),
        cmocka_unit_test(test_against_brute_force),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_failing_sets),
        cmocka_unit_test(test_error_in_empty),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_inactive),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
