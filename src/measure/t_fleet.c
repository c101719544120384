/*
 * t_fleet.c: several devices as one evaluator: the same answers in the same
 * order as from one, shared out over all; what differs or is one and the same
 * is refused; failures and stops of any of them are told, and nothing hangs.
 */
#include "measure/t_measure_fixture.h"

#include "base/clock.h"
#include "measure/fleet.h"

/* The time tells the config, V 3 is refused, V 4 is wrong; "slow" is in
 * microseconds, so that a batch lasts long enough to be shared. */
#define SOURCE                                                                 \
    "kernel k\nmul 1 0 2\nslow 500\nif V 1 time 1000\nif V 2 time 2000\n"      \
    "if V 5 time 500\nif V 4 fill 1 7\nif V 6 crash\nif V 7 hang\n"            \
    "if V 8 time 800\nif V 9 time 900\nif V 0 time 100\n"                      \
    "if V 3 refuse\n"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Each member has its own instance of a workload; the first's are looked at. */
static const struct ws__instance *seen[16];
static size_t nseen;
static const char *broken; /* a device that cannot be opened */
static struct ws_ctx *cancel_in_reference;

static int run_reference(struct ws__reference *r, struct ws__problem *p)
{
    size_t i = 0;
    int rc;

    pthread_mutex_lock(&lock);
    while (i < nseen && seen[i] != p->in)
        i++;
    if (i == nseen && nseen < WS_COUNT(seen) && p->in->workload->axis[0] == 64)
        seen[nseen++] = p->in;
    rc = t_reference_run(r, p);
    if (cancel_in_reference)
        ws_ctx_cancel(cancel_in_reference);
    pthread_mutex_unlock(&lock);
    return rc;
}

static void set_reference(int rc)
{
    pthread_mutex_lock(&lock);
    t_reference_rc = rc;
    pthread_mutex_unlock(&lock);
}

static int open_device(struct ws_ctx *ctx, const char *name,
                       struct ws__device *out)
{
    if (broken && !strcmp(name, broken))
        return ws__fail(ctx, WS_EDEVICE, "injected: '%s' is broken", name);
    return ws__device_open(ctx, name, out);
}

static const struct ws__measure_deps deps = {
    .device_open = open_device,
    .device_close = ws__device_close,
    .reference_open = t_reference_open,
    .reference_close = t_reference_close,
    .reference_run = run_reference,
    .problem_fill = ws__problem_fill,
};

static const struct ws__measure_opts opts = {.builders = 3,
                                             .cache = WS__CACHE_WARM,
                                             .seed = 7,
                                             .run_limit_ns = 2000000000u};

static int reset(void **state)
{
    (void)state;
    nseen = 0;
    broken = NULL;
    cancel_in_reference = NULL;
    t_reference_rc = 0;
    return 0;
}

static int open_fleet(struct t_case *c, const char *const *name, size_t n,
                      struct ws__fleet **out)
{
    return ws__fleet_open_with(c->ctx, &deps, &c->op, &c->kernel, 1,
                               c->workload, 2, &opts, name, n, out);
}

#define NQ 12

static void make_questions(struct ws__question q[NQ])
{
    static const int v[NQ] = {1, 2, 5, 8, 9, 3, 4, 0, 1, 2, 5, 8};

    for (size_t i = 0; i < NQ; i++)
        q[i] = t_question(i + 1, v[i], i >= 8);
    q[2].pair = true;
    q[2].b.config.at[0] = 9;
    q[2].effort = WS__CONFIRM;
}

/* Asks for all, in a batch, and checks them; the first error, if any. */
static int ask_all(struct t_case *c, struct ws__evaluator ev,
                   struct ws__trial t[NQ][2])
{
    struct ws__question q[NQ];
    int rc;

    make_questions(q);
    memset(t, 0, sizeof(struct ws__trial[NQ][2]));
    rc = ev.ops->prefetch(ev.self, q, NQ);
    for (size_t i = 0; i < NQ && rc >= 0; i++)
        rc = ev.ops->answer(ev.self, &q[i], t[i]);
    (void)c;
    return rc;
}

static void clear_all(struct ws_ctx *ctx, struct ws__trial t[NQ][2])
{
    for (size_t i = 0; i < NQ; i++)
        t_clear(ctx, t[i]);
}

static void the_same_as_from_one(void **state)
{
    static const char *const name[] = {"null:1", "null:2", "null:3"};
    static struct ws__trial one[NQ][2], many[NQ][2];
    struct t_alloc alloc = {0};
    struct ws_ctx *ctx = t_ctx(&alloc);
    struct t_case *c = t_case_new(ctx, SOURCE);
    struct ws__fleet *f;

    (void)state;
    assert_int_equal(open_fleet(c, name, 1, &f), 0);
    assert_int_equal(ask_all(c, ws__fleet_evaluator(f), one), 0);
    ws__fleet_close(f);
    assert_int_equal(nseen, 1);

    nseen = 0;
    assert_int_equal(open_fleet(c, name, 3, &f), 0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(ask_all(c, ws__fleet_evaluator(f), many), 0);
        for (size_t i = 0; i < NQ; i++)
            for (int k = 0; k < 2; k++) {
                const struct ws__trial *a = &one[i][k], *b = &many[i][k];

                assert_int_equal(a->verdict, b->verdict);
                assert_int_equal(a->question, b->question);
                assert_true(!a->reason == !b->reason);
                assert_true(ws__hash_eq(a->candidate_hash, b->candidate_hash));
                assert_int_equal(a->input_seed, b->input_seed);
                assert_true(!a->nsample == !b->nsample);
                if (a->nsample)
                    assert_true(a->sample_ns[0] == b->sample_ns[0]);
            }
        assert_int_equal(many[5][0].verdict, WS__V_LAUNCH);
        assert_int_equal(many[6][0].verdict, WS__V_WRONG);
        assert_true(many[2][0].block && many[2][0].block == many[2][1].block);
        clear_all(ctx, many);
    }
    assert_int_equal(nseen, 3); /* everybody had work */
    clear_all(ctx, one);
    ws__fleet_close(f);
    t_case_free(c);
    ws_ctx_free(ctx);
    assert_int_equal(alloc.live, 0);
}

static void refuses(void **state)
{
    static const struct {
        const char *name[3];
        size_t n;
        int code;
        const char *words;
    } bad[] = {
        {{"null:0", "null:1"}, 2, WS_EINVAL, "differ"},
        {{"null:1", "null:2", "null:1"}, 3, WS_EINVAL, "same hardware"},
        {{"null:1", "null:9"}, 2, WS_ENODEVICE, "null:9"},
        {{"null:9", "null:1"}, 2, WS_ENODEVICE, "null:9"},
        {{"null:1", "isolate:null:1"}, 2, WS_EINVAL, "same hardware"},
        {{NULL}, 0, WS_ELIMIT, "0 devices"},
        {{NULL}, WS__MAX_FLEET + 1, WS_ELIMIT, "17 devices"},
    };
    struct t_alloc alloc = {0};
    struct ws_ctx *ctx = t_ctx(&alloc);
    struct t_case *c = t_case_new(ctx, SOURCE);
    struct ws__fleet *f;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        assert_int_equal(open_fleet(c, bad[i].name, bad[i].n, &f), bad[i].code);
        assert_null(f);
        T_ASSERT_HAS(ws_ctx_error(ctx)->message, bad[i].words);
        assert_true(ws_ctx_error(ctx)->hint[0] != '\0');
    }
    broken = "null:2";
    assert_int_equal(open_fleet(c, (const char *const[]){"null:1", "null:2"}, 2,
                                &f),
                     WS_EDEVICE);
    T_ASSERT_HAS(ws_ctx_error(ctx)->message, "'null:2' is broken");
    ws__fleet_close(NULL);
    t_case_free(c);
    ws_ctx_free(ctx);
    assert_int_equal(alloc.live, 0);
}

/* A crash and a hang on one of them are verdicts, and it comes back. */
static void crashes(void **state)
{
    static const char *const name[] = {"isolate:null:1", "isolate:null:2"};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_case *c = t_case_new(ctx, SOURCE);
    struct ws__evaluator ev;
    struct ws__question q[4];
    struct ws__trial t[4][2];
    struct ws__fleet *f;

    (void)state;
    memset(t, 0, sizeof(t));
    if (open_fleet(c, name, 2, &f) < 0)
        SKIP("no worker: %s", ctx->err.message);
    ev = ws__fleet_evaluator(f);
    for (int i = 0; i < 4; i++)
        q[i] = t_question((uint64_t)i + 1, i < 2 ? 6 + i : i, 0);
    q[3].a.config.at[0] = 1;
    assert_int_equal(ev.ops->prefetch(ev.self, q, 4), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ev.ops->answer(ev.self, &q[i], t[i]), 0);
    assert_int_equal(t[0][0].verdict, WS__V_CRASH);
    assert_int_equal(t[1][0].verdict, WS__V_HANG);
    assert_int_equal(t[2][0].verdict, WS__V_OK);
    assert_int_equal(t[3][0].verdict, WS__V_OK);
    for (int i = 0; i < 4; i++)
        t_clear(ctx, t[i]);
    ws__fleet_close(f);
    t_case_free(c);
    ws_ctx_free(ctx);
}

/* The evaluator's own failure comes with its words, for the question it is
 * about; a stop ends all of them; what was not fetched is freed. */
static void failures(void **state)
{
    static const char *const name[] = {"null:1", "null:2", "null:3"};
    static struct ws__trial t[NQ][2];
    struct t_alloc alloc = {0};
    struct ws_ctx *ctx = t_ctx(&alloc);
    struct t_case *c = t_case_new(ctx, SOURCE);
    struct ws__question q[NQ];
    struct ws__evaluator ev;
    struct ws__fleet *f;

    (void)state;
    make_questions(q);
    assert_int_equal(open_fleet(c, name, 3, &f), 0);
    ev = ws__fleet_evaluator(f);
    set_reference(WS_EREFERENCE);
    assert_int_equal(ask_all(c, ev, t), WS_EREFERENCE);
    T_ASSERT_HAS(ws_ctx_error(ctx)->message, "injected");
    clear_all(ctx, t);
    /* A new batch while tasks of the last one may run. */
    assert_int_equal(ev.ops->prefetch(ev.self, q, NQ), 0);
    set_reference(0);
    assert_int_equal(ask_all(c, ev, t), 0);
    clear_all(ctx, t);
    /* Not announced: the first answers. */
    assert_int_equal(ev.ops->answer(ev.self, &q[0], t[0]), 0);
    assert_int_equal(t[0][0].verdict, WS__V_OK);
    clear_all(ctx, t);
    pthread_mutex_lock(&lock);
    cancel_in_reference = ctx;
    pthread_mutex_unlock(&lock);
    assert_int_equal(ask_all(c, ev, t), WS_ECANCEL);
    clear_all(ctx, t);
    ws__fleet_close(f);
    t_case_free(c);
    ws_ctx_free(ctx);
    assert_int_equal(alloc.live, 0);
}

static int everything(struct ws_ctx *ctx, void *user)
{
    static const char *const name[] = {"null:1", "null:2"};
    static struct ws__trial t[NQ][2];
    struct t_case *c = t_case_new(ctx, SOURCE);
    struct ws__fleet *f = NULL;
    int rc;

    (void)user;
    if (!c)
        return WS_ENOMEM;
    rc = open_fleet(c, name, 2, &f);
    if (rc >= 0) {
        rc = ask_all(c, ws__fleet_evaluator(f), t);
        clear_all(ctx, t);
    }
    ws__fleet_close(f);
    t_case_free(c);
    return rc;
}

/* Which thread meets the failure is chance; some of the places suffice. */
static void no_memory(void **state)
{
    struct t_alloc all = {0};
    struct ws_ctx *ctx = t_ctx(&all);
    long n;

    (void)state;
    assert_int_equal(everything(ctx, NULL), 0);
    ws_ctx_free(ctx);
    n = all.calls;
    for (long at = 1; at < n; at += 1 + at / 12) {
        struct t_alloc a = {.fail_at = at};
        int rc;

        ctx = t_ctx(&a);
        if (!ctx)
            continue;
        rc = everything(ctx, NULL);
        if (rc)
            assert_int_equal(rc, WS_ENOMEM);
        ws_ctx_free(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_same_as_from_one, reset),
        cmocka_unit_test_setup(refuses, reset),
        cmocka_unit_test_setup(crashes, reset),
        cmocka_unit_test_setup(failures, reset),
        cmocka_unit_test_setup(no_memory, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
