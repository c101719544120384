/*
 * t_measure_count.c: counters of a candidate: after a verdict, on what it was
 * right on; what becomes of devices that have none, of counting that fails, and
 * of a candidate that fails while it is counted.
 */
#include "measure/t_measure_fixture.h"

#define RIGHT "kernel k\nmul 1 0 2\n"
#define BOTH RIGHT "kernel more\nmul 1 0 2\n"

static const char *const metric[] = {"first", "absent", "third"};
#define N WS_COUNT(metric)

static int reset(void **state)
{
    (void)state;
    memset(&t_script, 0, sizeof(t_script));
    t_script.inner = "null";
    return 0;
}

/* opts NULL: warm. Counts V = 1 on workload `w`. */
static int count(struct ws_ctx *ctx, const char *source,
                 const struct ws__measure_opts *opts, uint32_t w, size_t n,
                 struct ws__counts_of *out)
{
    struct t_case *c = t_case_new(ctx, source);
    struct ws__candidate v = {.config = {.n = 1, .at = {1}}};
    struct ws__measure *m = NULL;
    int rc;

    memset(out, 0, sizeof(*out));
    if (!c)
        return WS_ENOMEM;
    if (strstr(source, "more")) { /* a second launch of the same kind */
        c->kernel.launch[1] = c->kernel.launch[0];
        c->kernel.launch[1].entry = "more";
        c->kernel.nlaunch = 2;
    }
    rc = t_measure_open(c, opts, &m);
    if (rc == 0)
        rc = ws__measure_count(m, &v, w, metric, n, out);
    ws__measure_close(m);
    if (out->nlaunch) /* its entry is the kernel's */
        assert_string_equal(ws__plan_entry(out->launch), "k");
    t_case_free(c);
    return rc;
}

static void every_launch_has_its_counts(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__counts_of c;

    (void)state;
    assert_int_equal(count(ctx, BOTH, NULL, 1, N, &c), 0);
    assert_int_equal(c.verdict, WS__V_OK);
    assert_null(c.reason);
    assert_int_equal(c.nlaunch, 2);
    assert_int_equal(c.nmetric, N);
    assert_int_equal(c.passes, 3);
    assert_int_equal(c.launch[0].grid[0], 64);
    assert_int_equal(c.launch[1].block[0], 64);
    for (size_t k = 0; k < 2; k++) {
        assert_true(c.value[k * N] == T_COUNT(k, 0));
        assert_true(isnan(c.value[k * N + 1]));
        assert_true(c.value[k * N + 2] == T_COUNT(k, 2));
    }
    assert_true(c.source.lo && c.candidate.lo);
    assert_int_equal(t_script.counts, 1);
    ws__counts_clear(ctx, &c);
    assert_null(c.value);
    ws_ctx_free(ctx);
}

/* The source that is told is the one that ran. */
static void says_which_source(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__counts_of a, b, c;

    (void)state;
    assert_int_equal(count(ctx, RIGHT, NULL, 0, N, &a), 0);
    assert_int_equal(count(ctx, RIGHT, NULL, 0, N, &b), 0);
    assert_int_equal(count(ctx, RIGHT "\n", NULL, 0, N, &c), 0);
    assert_true(ws__hash_eq(a.source, b.source));
    assert_false(ws__hash_eq(a.source, c.source));
    assert_false(ws__hash_eq(a.candidate, c.candidate));
    ws__counts_clear(ctx, &a);
    ws__counts_clear(ctx, &b);
    ws__counts_clear(ctx, &c);
    ws_ctx_free(ctx);
}

static void the_cache_is_as_asked_for(void **state)
{
    struct ws__measure_opts o = {.builders = 1, .seed = 7};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__counts_of c;

    (void)state;
    t_script.cache_bytes = 1 << 20;
    o.cache = WS__CACHE_COLD;
    assert_int_equal(count(ctx, RIGHT, &o, 0, N, &c), 0);
    assert_int_equal(c.cache, WS__CACHE_COLD);
    assert_int_equal(t_script.flush_bytes, 2 << 20);
    ws__counts_clear(ctx, &c);
    /* Also of what is timed without a flush, since it is large. */
    t_script.cache_bytes = 64;
    assert_int_equal(count(ctx, RIGHT, &o, 1, N, &c), 0);
    assert_int_equal(t_script.flush_bytes, 128);
    ws__counts_clear(ctx, &c);
    o.cache = WS__CACHE_WARM;
    assert_int_equal(count(ctx, RIGHT, &o, 0, N, &c), 0);
    assert_int_equal(c.cache, WS__CACHE_WARM);
    assert_int_equal(t_script.flush_bytes, 0);
    ws__counts_clear(ctx, &c);
    ws_ctx_free(ctx);
}

static void what_is_wrong_is_not_counted(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__counts_of c;

    (void)state;
    assert_int_equal(count(ctx, "kernel k\nmul 1 0 3\n", NULL, 0, N, &c), 0);
    assert_int_equal(c.verdict, WS__V_WRONG);
    T_ASSERT_HAS(c.reason, "wrong");
    assert_null(c.value);
    assert_null(c.launch);
    assert_int_equal(t_script.counts, 0);
    ws__counts_clear(ctx, &c);
    ws_ctx_free(ctx);
}

/* Right until somebody looks. */
static void wrong_while_counted(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__counts_of c;

    (void)state;
    t_script.spoil_count = true;
    assert_int_equal(count(ctx, RIGHT, NULL, 0, N, &c), 0);
    assert_int_equal(c.verdict, WS__V_WRONG);
    T_ASSERT_HAS(c.reason, "right before, wrong while it was counted");
    assert_null(c.value);
    assert_int_equal(c.passes, 0);
    ws__counts_clear(ctx, &c);
    ws_ctx_free(ctx);
}

static void no_counters_is_no_verdict(void **state)
{
    static const int codes[] = {WS_ENOTSUP, WS_EDEVICE};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__counts_of c;

    for (size_t i = 0; i < WS_COUNT(codes); i++) {
        reset(state);
        t_script.count_rc = codes[i];
        assert_int_equal(count(ctx, RIGHT, NULL, 0, N, &c), 0);
        assert_int_equal(c.verdict, WS__V_OK);
        assert_null(c.value);
        assert_int_equal(c.nlaunch, 1);
        assert_string_equal(c.reason, "no counts; do so");
        assert_int_equal(t_script.counts, 1);
        assert_int_equal(t_script.live, 0);
        ws__counts_clear(ctx, &c);
    }
    ws_ctx_free(ctx);
}

static void without_metrics_only_a_verdict(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__counts_of c;

    (void)state;
    assert_int_equal(count(ctx, RIGHT, NULL, 0, 0, &c), 0);
    assert_int_equal(c.verdict, WS__V_OK);
    assert_null(c.value);
    assert_null(c.reason);
    assert_int_equal(c.nlaunch, 1);
    assert_int_equal(t_script.counts, 0);
    ws__counts_clear(ctx, &c);
    /* None that the device has. */
    t_script.no_metric = true;
    assert_int_equal(count(ctx, RIGHT, NULL, 0, N, &c), 0);
    assert_int_equal(c.verdict, WS__V_OK);
    assert_int_equal(c.passes, 0);
    for (size_t i = 0; i < N; i++)
        assert_true(isnan(c.value[i]));
    ws__counts_clear(ctx, &c);
    ws_ctx_free(ctx);
}

/* ---- kept with trials ---------------------------------------------------- */

static size_t which(const struct ws__device_info *d, const char **name,
                    const char **key)
{
    static const char *const keys[] = {"dram_read", "absent", "warps"};

    assert_true(d->usable);
    for (size_t i = 0; i < N; i++) {
        name[i] = metric[i];
        key[i] = keys[i];
    }
    return N;
}

/* V = 1 on workload 1, then V = 2. */
static int keep(struct ws_ctx *ctx, unsigned want, struct ws__trial t[2])
{
    static const struct ws__measure_opts opts = {.builders = 1,
                                                 .cache = WS__CACHE_WARM,
                                                 .seed = 7,
                                                 .counters = which};
    struct t_case *c = t_case_new(ctx, RIGHT);
    struct ws__measure *m = NULL;
    int rc = WS_ENOMEM;

    memset(t, 0, 2 * sizeof(*t));
    if (c)
        rc = t_measure_open(c, &opts, &m);
    for (int i = 0; i < 2 && rc == 0; i++) {
        struct ws__question q = t_question((uint64_t)i + 1, i, 1);
        struct ws__trial one[2] = {{0}};

        q.want = want;
        rc = t_answer(m, &q, one);
        t[i] = one[0];
        if (rc < 0)
            ws__trial_clear(ctx, &t[i]);
    }
    ws__measure_close(m);
    t_case_free(c);
    return rc;
}

static void kept_with_trials(void **state)
{
    const unsigned all = WS__WANT_BUILD | WS__WANT_VERDICT | WS__WANT_TIME;
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__trial t[2];

    assert_int_equal(keep(ctx, all, t), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(t[i].verdict, WS__V_OK);
        assert_true(t[i].nsample > 0);
        assert_string_equal(t[i].counters, "dram_read=100 warps=102");
        ws__trial_clear(ctx, &t[i]);
    }
    assert_int_equal(t_script.counts, 2);
    /* What is not timed is not counted. */
    reset(state);
    assert_int_equal(keep(ctx, all & ~(unsigned)WS__WANT_TIME, t), 0);
    assert_int_equal(t_script.counts, 0);
    assert_null(t[0].counters);
    ws__trial_clear(ctx, &t[0]);
    ws__trial_clear(ctx, &t[1]);
    /* A device that cannot is asked once, and times all the same. */
    for (int i = 0; i < 2; i++) {
        reset(state);
        t_script.count_rc = i ? WS_EDEVICE : WS_ENOTSUP;
        assert_int_equal(keep(ctx, all, t), 0);
        assert_int_equal(t_script.counts, 1);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(t[k].verdict, WS__V_OK);
            assert_true(t[k].nsample > 0 && !t[k].counters);
            ws__trial_clear(ctx, &t[k]);
        }
    }
    /* A candidate that crashes under it is to blame. */
    reset(state);
    t_script.count_rc = WS_ECRASH;
    assert_int_equal(keep(ctx, all, t), 0);
    assert_int_equal(t[0].verdict, WS__V_CRASH);
    T_ASSERT_HAS(t[0].reason, "while it was counted");
    assert_null(t[0].counters);
    ws__trial_clear(ctx, &t[0]);
    ws__trial_clear(ctx, &t[1]);
    ws_ctx_free(ctx);
}

static int keep_all(struct ws_ctx *ctx, void *user)
{
    struct ws__trial t[2];
    int rc;

    reset(user);
    rc = keep(ctx, WS__WANT_BUILD | WS__WANT_VERDICT | WS__WANT_TIME, t);
    if (rc == 0 && (!t[0].counters || !t[1].counters))
        rc = WS_EBUG;
    ws__trial_clear(ctx, &t[0]);
    ws__trial_clear(ctx, &t[1]);
    return rc;
}

static void every_allocation_of_keeping(void **state)
{
    (void)state;
    assert_true(t_torture(keep_all, NULL) > 20);
}

/* A crash is believed the second time, a hang and a refusal at once. */
static void a_candidate_can_fail(void **state)
{
    static const struct {
        int code;
        enum ws__verdict verdict;
        long counts;
    } cases[] = {{WS_ECRASH, WS__V_CRASH, 2},
                 {WS_ETIMEOUT, WS__V_HANG, 1},
                 {WS_ELAUNCH, WS__V_LAUNCH, 1}};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__counts_of c;

    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        reset(state);
        t_script.count_rc = cases[i].code;
        assert_int_equal(count(ctx, RIGHT, NULL, 0, N, &c), 0);
        assert_int_equal(c.verdict, cases[i].verdict);
        T_ASSERT_HAS(c.reason, "while it was counted: no counts");
        assert_null(c.value);
        assert_int_equal(t_script.counts, cases[i].counts);
        ws__counts_clear(ctx, &c);
    }
    ws_ctx_free(ctx);
}

/* One operation after the other fails: an error or a verdict, never a figure
 * of something else, and nothing is left. */
static void any_operation_can_fail(void **state)
{
    static const int codes[] = {WS_ECRASH, WS_EDEVICE, WS_ENOMEM};
    long counted = 0;

    for (size_t k = 0; k < WS_COUNT(codes); k++)
        for (long at = 1;; at++) {
            struct t_alloc a = {0};
            struct ws_ctx *ctx = t_ctx(&a);
            struct ws__counts_of c;
            bool over;
            int rc;

            reset(state);
            t_script.fail_at = at;
            t_script.code = codes[k];
            rc = count(ctx, RIGHT, NULL, 0, N, &c);
            over = t_script.calls < at;
            assert_true(rc == 0 || (c.value == NULL && c.launch == NULL));
            if (rc == 0 && c.value) {
                assert_int_equal(c.verdict, WS__V_OK);
                assert_true(c.value[2] == T_COUNT(0, 2));
                counted++;
            }
            ws__counts_clear(ctx, &c);
            ws_ctx_free(ctx);
            assert_int_equal(t_script.live, 0);
            assert_int_equal(a.live, 0);
            if (over)
                break;
        }
    assert_true(counted >= (long)WS_COUNT(codes));
}

static int whole(struct ws_ctx *ctx, void *user)
{
    struct ws__counts_of c;
    int rc;

    reset(user);
    rc = count(ctx, BOTH, NULL, 0, N, &c);
    if (rc == 0 && (c.verdict != WS__V_OK || !c.value))
        rc = WS_EBUG;
    ws__counts_clear(ctx, &c);
    return rc;
}

static void every_allocation(void **state)
{
    (void)state;
    assert_true(t_torture(whole, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_launch_has_its_counts, reset),
        cmocka_unit_test_setup(says_which_source, reset),
        cmocka_unit_test_setup(the_cache_is_as_asked_for, reset),
        cmocka_unit_test_setup(what_is_wrong_is_not_counted, reset),
        cmocka_unit_test_setup(wrong_while_counted, reset),
        cmocka_unit_test_setup(no_counters_is_no_verdict, reset),
        cmocka_unit_test_setup(without_metrics_only_a_verdict, reset),
        cmocka_unit_test_setup(a_candidate_can_fail, reset),
        cmocka_unit_test_setup(any_operation_can_fail, reset),
        cmocka_unit_test_setup(every_allocation, reset),
        cmocka_unit_test_setup(kept_with_trials, reset),
        cmocka_unit_test_setup(every_allocation_of_keeping, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
