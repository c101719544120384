/*
 * t_measure_torture.c: every allocation and every device operation fails in
 * turn, with each error a device knows. The answer must be a verdict that
 * fits the error or an error that does, nothing may leak, and the next
 * answer of the same evaluator must be right.
 */
#include "measure/t_measure_fixture.h"

#define SOURCE "kernel k\ncopy 2 0\nmul 1 2 2\ntime 1000\nif V 1 time 100\n"

static void reset(void)
{
    memset(&t_script, 0, sizeof(t_script));
    t_script.inner = "null";
    t_script.watch = true;
}

static struct t_case *make_case(struct ws_ctx *ctx)
{
    struct t_case *c = t_case_new(ctx, SOURCE);

    if (!c)
        return NULL;
    c->kernel.nscratch = 1;
    c->kernel.scratch[0].name = "S";
    c->kernel.scratch[0].bytes = t_expr(c, "N * 4");
    c->kernel.launch[0].narg = 3;
    c->kernel.launch[0].arg[2].kind = WS__ARG_SCRATCH;
    if (c->kernel.scratch[0].bytes)
        return c;
    t_case_free(c);
    return NULL;
}

/* ---- the device fails --------------------------------------------------- */

static bool fits_error(int code, int rc, const struct ws__trial *t)
{
    enum ws__verdict v = t->verdict;

    if (rc < 0) /* while no candidate ran, or nothing builds: the device */
        return rc == code || rc == WS_EDEVICE;
    return v == WS__V_OK || v == ws__measure_verdict_of(code);
}

/* What one failing operation leads to. Returns whether one was hit. */
static bool one(int code, long at, bool for_ever, bool pair, bool used)
{
    struct t_alloc alloc = {0};
    struct ws_ctx *ctx = t_ctx(&alloc);
    struct t_case *c = make_case(ctx);
    struct ws__question q = t_question(1, 0, 0);
    struct ws__measure *m;
    struct ws__trial t[2];
    bool hit;
    int rc;

    reset();
    assert_int_equal(t_measure_open(c, NULL, &m), 0);
    if (used && !for_ever && !pair)
        q.want |= WS__WANT_PROOF;
    if (used) { /* by another candidate */
        q.a.config.at[0] = 5;
        assert_int_equal(t_answer(m, &q, t), 0);
        t_clear(ctx, t);
        q.a.config.at[0] = 0;
    }
    q.pair = pair;
    q.b.config.at[0] = 1;
    t_script.code = code;
    t_script.for_ever = for_ever;
    t_script.fail_at = t_script.calls + at;
    rc = t_answer(m, &q, t);
    hit = t_script.calls >= t_script.fail_at;
    if (!fits_error(code, rc, &t[0]) || (pair && !fits_error(code, rc, &t[1])))
        fail_msg("%s at operation %ld: answer %d, verdict %s",
                 ws_status_name(code), at, rc, ws__verdict_key(t[0].verdict));
    if (rc == 0 && t[0].verdict == WS__V_OK && !pair)
        assert_true(t[0].nsample >= 5);
    t_clear(ctx, t);
    t_script.fail_at = 0;
    q.a.config.at[0] = 2; /* what failed to build stays so */
    q.b.config.at[0] = 3;
    assert_int_equal(t_answer(m, &q, t), 0);
    assert_int_equal(t[0].verdict, WS__V_OK);
    t_clear(ctx, t);
    ws__measure_close(m);
    t_case_free(c);
    ws_ctx_free(ctx);
    assert_int_equal(alloc.live, 0);
    assert_int_equal(t_script.live, 0);
    return hit;
}

static void every_operation(bool for_ever, bool pair, bool used)
{
    static const int code[] = {WS_EDEVICE, WS_ECRASH, WS_ETIMEOUT, WS_EDEVMEM,
                               WS_ELAUNCH, WS_EBUILD, WS_EPROTO};

    for (size_t i = 0; i < WS_COUNT(code); i++) {
        long at = 1;

        while (one(code[i], at, for_ever, pair, used))
            at++;
        assert_true(at > 30);
    }
}

static void device_fails_once(void **state)
{
    (void)state;
    every_operation(false, false, false);
    every_operation(false, false, true);
}

static void device_fails_for_ever(void **state)
{
    (void)state;
    every_operation(true, false, true);
}

static void device_fails_in_a_pair(void **state)
{
    (void)state;
    every_operation(false, true, true);
}

/* ---- memory is short ---------------------------------------------------- */

static int ask(struct ws__measure *m, struct ws_ctx *ctx, bool pair)
{
    struct ws__evaluator ev = ws__measure_evaluator(m);
    struct ws__question q[2];
    struct ws__trial t[2];
    int rc;

    q[0] = t_question(1, 0, 0);
    q[0].want |= WS__WANT_PROOF;
    q[1] = t_question(2, 1, 0);
    q[0].pair = pair;
    q[0].b = q[1].a;
    rc = ev.ops->prefetch(ev.self, q, 2);
    if (rc == 0) {
        rc = t_answer(m, &q[0], t);
        if (rc == 0 && t[0].verdict != WS__V_OK)
            rc = t[0].verdict == WS__V_MEMORY ? WS_ENOMEM : WS_EBUG;
        t_clear(ctx, t);
    }
    return rc;
}

static int body(struct ws_ctx *ctx, void *user)
{
    struct t_case *c = make_case(ctx);
    struct ws__measure *m;
    int rc;

    reset();
    if (!c)
        return WS_ENOMEM;
    rc = t_measure_open(c, NULL, &m);
    if (rc == 0)
        rc = ask(m, ctx, user != NULL);
    if (rc == 0 || m)
        ws__measure_close(m);
    t_case_free(c);
    assert_int_equal(t_script.live, 0);
    return rc;
}

static void memory(void **state)
{
    (void)state;
    assert_true(t_torture(body, NULL) > 30);
    assert_true(t_torture(body, &t_script) > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_fails_once),
        cmocka_unit_test(device_fails_for_ever),
        cmocka_unit_test(device_fails_in_a_pair),
        cmocka_unit_test(memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
