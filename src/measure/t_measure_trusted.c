/*
 * t_measure_trusted.c: a trusted kernel as the reference, on the null device:
 * it judges, fails by itself and never becomes a verdict of a candidate.
 */
#include "measure/t_measure_fixture.h"

#include <unistd.h>

#define GOOD "kernel k\nmul 1 0 2\ntime 1000\n"
#define TRUSTED "# trusted\nkernel k\nadd 1 0\nmul 1 0 2\n"

struct case2 {
    struct ws_ctx *ctx;
    struct t_case *c;
    struct ws__kernel trusted;
    struct ws__measure *m;
    struct ws__trial t[2];
    struct t_alloc alloc;
};

static void begin(struct case2 *o, const char *source, const char *trusted)
{
    memset(&t_script, 0, sizeof(t_script));
    t_script.inner = "isolate:null";
    t_reference_rc = 0;
    t_reference_runs = 0;
    memset(o, 0, sizeof(*o));
    o->ctx = t_ctx(&o->alloc);
    o->c = t_case_new(o->ctx, source);
    assert_non_null(o->c);
    o->trusted = o->c->kernel;
    o->trusted.name = "naive";
    o->trusted.source = trusted;
    o->c->op.trusted.kernel = &o->trusted;
}

static int ask(struct case2 *o, uint32_t workload)
{
    struct ws__question q = t_question(1, 0, workload);

    if (!o->m)
        WS_TRY(t_measure_open(o->c, NULL, &o->m));
    t_clear(o->ctx, o->t);
    return t_answer(o->m, &q, o->t);
}

static void end(struct case2 *o)
{
    t_clear(o->ctx, o->t);
    ws__measure_close(o->m);
    t_case_free(o->c);
    ws_ctx_free(o->ctx);
    assert_int_equal(o->alloc.live, 0);
    assert_int_equal(t_script.live, 0);
}

static void it_judges(void **state)
{
    struct case2 o;

    (void)state;
    begin(&o, GOOD, TRUSTED);
    for (uint32_t w = 0; w < 2; w++) {
        if (ask(&o, w) < 0)
            fail_msg("%s", ws_ctx_error(o.ctx)->message);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
    }
    assert_int_equal(t_reference_runs, 0); /* no other one is asked */
    assert_int_equal(t_script.opens, 2);   /* a device for each */
    end(&o);
    begin(&o, "kernel k\nmul 1 0 2.5\n", TRUSTED);
    assert_int_equal(ask(&o, 0), 0);
    assert_int_equal(o.t[0].verdict, WS__V_WRONG);
    end(&o);
}

/* The words of the failure; the session goes on to serve. */
static void fails(const char *trusted, const char *words)
{
    struct case2 o;

    begin(&o, GOOD, trusted);
    if (ask(&o, 0) != WS_EREFERENCE)
        fail_msg("%s: %s", trusted, ws_ctx_error(o.ctx)->message);
    T_ASSERT_HAS(ws_ctx_error(o.ctx)->message, "kernel 'naive'");
    T_ASSERT_HAS(ws_ctx_error(o.ctx)->message, words);
    assert_int_equal(ask(&o, 1), WS_EREFERENCE);
    o.trusted.source = TRUSTED;
    assert_int_equal(ask(&o, 0), 0);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    end(&o);
}

static void its_failures_are_its_own(void **state)
{
    (void)state;
    fails("nonsense\n", "failed (build)");
    fails("kernel k\ncrash\n", "failed (crash)");
    fails("kernel k\nrefuse\n", "failed (launch)");
    fails("kernel k\nmul 1 0 2\nadd 0 1\n", "writes to input 'A'");
    fails("kernel k\nmul 1 0 2\noob 1 -4\n", "outside");
    fails("kernel k\ntime 1\n", "leaves out elements");
    fails("kernel k\nmul 1 0 2\nadd 1 nan\n", "computes NaN");
}

/* The second launch of the trusted kernel leaves another bit. */
static void change_second(struct t_script *s, struct ws__device *d,
                          const struct ws__dev_batch *b,
                          struct ws__dev_sample *x, size_t n)
{
    float other = 3;

    (void)x;
    (void)n;
    if (s->runs == 2)
        d->ops->write(d->self, b->prog[0].fill[0].buffer, 0, &other,
                      sizeof(other));
}

static void it_must_repeat_itself(void **state)
{
    struct case2 o;

    (void)state;
    begin(&o, GOOD, TRUSTED);
    t_script.after_run = change_second;
    assert_int_equal(ask(&o, 0), WS_EREFERENCE);
    T_ASSERT_HAS(ws_ctx_error(o.ctx)->message, "second time");
    end(&o);
    begin(&o, GOOD, TRUSTED);
    t_script.after_run = change_second;
    o.trusted.order_dependent = true;
    assert_int_equal(ask(&o, 0), 0);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    end(&o);
}

static void it_never_judges_itself(void **state)
{
    static const char *const same[] = {
        GOOD, "kernel k\n#line 1 \"other.c\"\nmul 1 0 2\n\n  time 1000\n"};
    struct case2 o;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(same); i++) {
        begin(&o, GOOD, same[i]);
        assert_int_equal(ask(&o, 0), WS_ESPEC);
        T_ASSERT_HAS(ws_ctx_error(o.ctx)->message, "'k' has the source");
        assert_int_equal(t_script.opens, 0);
        end(&o);
    }
}

/* A tolerance that anything passes is no judge. Zeros of zeros are no
 * mistake. */
static void loose_tolerances_are_told(void **state)
{
    struct case2 o;

    (void)state;
    begin(&o, GOOD, TRUSTED);
    o.c->op.tolerance.atol = 100;
    assert_int_equal(ask(&o, 0), WS_EREFERENCE);
    T_ASSERT_HAS(ws_ctx_error(o.ctx)->message, "'C' of 'scale' would pass");
    T_ASSERT_HAS(ws_ctx_error(o.ctx)->message, "all zero");
    T_ASSERT_HAS(ws_ctx_error(o.ctx)->hint, "too loose");
    end(&o);
    begin(&o, GOOD, TRUSTED);
    o.c->op.tensor[0].fill = (struct ws__fill){WS__FILL_UNIFORM, 1, 1.0001};
    o.c->op.tolerance.atol = 0.01;
    assert_int_equal(ask(&o, 0), WS_EREFERENCE);
    T_ASSERT_HAS(ws_ctx_error(o.ctx)->message, "moved by one element");
    end(&o);
    begin(&o, "kernel k\nmul 1 0 0\ntime 1\n", "kernel k\nmul 1 0 0\n");
    o.c->op.tensor[0].fill = (struct ws__fill){WS__FILL_CONSTANT, 1, 0};
    if (ask(&o, 0) < 0)
        fail_msg("%s", ws_ctx_error(o.ctx)->message);
    if (o.t[0].verdict != WS__V_OK)
        fail_msg("%s", o.t[0].reason);
    end(&o);
}

static void python_needs_trust(void **state)
{
    struct ws__measure_opts opts = {.builders = 1, .trust_python = true};
    struct case2 o;

    (void)state;
    begin(&o, GOOD, TRUSTED);
    o.c->op.trusted.kernel = NULL;
    o.c->op.python = (struct ws__python){"x", "ref.py", "run", WS__PY_NUMPY};
    assert_int_equal(ask(&o, 0), WS_EACCES);
    assert_int_equal(t_script.opens, 0);
    assert_int_equal(t_measure_open(o.c, &opts, &o.m), 0);
    assert_int_equal(ask(&o, 0), 0); /* by the fixture's reference */
    end(&o);
}

/* Every allocation and every operation of either device fails in turn: the
 * candidate may get a verdict of a device's failure, never a wrong one. */
static void all_may_fail(void **state)
{
    struct case2 o;

    (void)state;
    for (long at = 1;; at++) {
        long calls;

        begin(&o, GOOD, TRUSTED);
        t_script.inner = "null";
        calls = o.alloc.calls;
        o.alloc.fail_at = calls + at;
        if (ask(&o, 0) >= 0 && o.alloc.calls < o.alloc.fail_at) {
            assert_int_equal(o.t[0].verdict, WS__V_OK);
            end(&o);
            break;
        }
        end(&o);
    }
    for (long at = 1;; at++) {
        bool done;
        int rc;

        begin(&o, GOOD, TRUSTED);
        t_script.inner = "null";
        t_script.fail_at = at;
        t_script.code = WS_EDEVICE;
        rc = ask(&o, 0);
        done = t_script.calls < at;
        if (rc < 0 && rc != WS_EREFERENCE && rc != WS_EDEVICE)
            fail_msg("call %ld: %s", at, ws_ctx_error(o.ctx)->message);
        if (rc >= 0 && o.t[0].verdict == WS__V_WRONG)
            fail_msg("call %ld: wrong", at);
        end(&o);
        if (done)
            break;
    }
}

/* Beside the folder of candidates, however that is written. */
static void its_cache_is_beside(void **state)
{
    char dir[] = "/tmp/ws_trusted_XXXXXX", path[64], want[64];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(want, sizeof(want), "%s/cache.trusted", dir);
    for (size_t i = 0; i < 2; i++) {
        struct ws_ctx_opts o = {.size = sizeof(o), .cache_dir = path};
        struct ws_ctx *ctx;
        char *got;

        snprintf(path, sizeof(path), i ? "%s/cache///" : "%s/cache", dir);
        assert_non_null(ctx = ws_ctx_new(&o));
        assert_int_equal(ws__refkernel_cache(ctx, &got), 0);
        assert_string_equal(got, want);
        assert_int_equal(rmdir(want), 0);
        ws__free(ctx, got);
        fclose(fopen(want, "w")); /* a file is in the way */
        assert_true(ws__refkernel_cache(ctx, &got) < 0);
        T_ASSERT_HAS(ws_ctx_error(ctx)->message, want);
        T_ASSERT_HAS(ws_ctx_error(ctx)->hint, "WAVESMITH_CACHE");
        ws__free(ctx, got);
        assert_int_equal(unlink(want), 0);
        ws_ctx_free(ctx);
    }
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_judges),
        cmocka_unit_test(its_failures_are_its_own),
        cmocka_unit_test(it_must_repeat_itself),
        cmocka_unit_test(it_never_judges_itself),
        cmocka_unit_test(loose_tolerances_are_told),
        cmocka_unit_test(python_needs_trust),
        cmocka_unit_test(its_cache_is_beside),
        cmocka_unit_test(all_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
