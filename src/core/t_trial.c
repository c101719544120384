/* t_trial.c: verdict names, deep copies, identity of measurers. */
#include "base/t_base.h"

#include "core/trial.h"

static void verdicts(void **state)
{
    (void)state;
    for (int i = WS__V_NONE; i <= WS__V_FILTERED; i++) {
        const char *key = ws__verdict_key((enum ws__verdict)i);

        assert_true(*key);
        assert_true(*ws__verdict_text((enum ws__verdict)i));
    }
    assert_string_equal(ws__verdict_key(WS__V_TOO_FAST), "too_fast");
    assert_string_equal(ws__verdict_key((enum ws__verdict)99), "unknown");
}

static int copy_trial(struct ws_ctx *ctx, void *user)
{
    double samples[] = {1, 2, 3};
    struct ws__trial a, b;
    int rc;

    (void)user;
    memset(&a, 0, sizeof(a));
    a.question = 7;
    a.verdict = WS__V_WRONG;
    rc = ws__trial_set_reason(ctx, &a, "tensor '%s' differs", "C");
    if (rc < 0)
        return rc;
    a.sample_ns = ws__alloc(ctx, 3, sizeof(double));
    if (!a.sample_ns) {
        ws__trial_clear(ctx, &a);
        return WS_ENOMEM;
    }
    memcpy(a.sample_ns, samples, sizeof(samples));
    a.nsample = 3;
    rc = ws__trial_copy(ctx, &a, &b);
    if (rc >= 0) {
        assert_string_equal(b.reason, "tensor 'C' differs");
        assert_ptr_not_equal(b.reason, a.reason);
        assert_memory_equal(b.sample_ns, samples, sizeof(samples));
        assert_int_equal(b.question, 7);
        ws__trial_clear(ctx, &b);
        assert_null(b.reason);
    }
    ws__trial_clear(ctx, &a);
    return rc;
}

static void copies_are_deep(void **state)
{
    (void)state;
    assert_true(t_torture(copy_trial, NULL) >= 4);
}

static void identity(void **state)
{
    struct ws__identity a, b;

    (void)state;
    memset(&a, 0, sizeof(a));
    snprintf(a.device, sizeof(a.device), "cpu");
    b = a;
    ws__identity_seal(&a);
    ws__identity_seal(&b);
    assert_true(ws__hash_eq(a.hash, b.hash));
    /* What lies behind the end of a text does not count. */
    b.device[10] = 'x';
    ws__identity_seal(&b);
    assert_true(ws__hash_eq(a.hash, b.hash));
    snprintf(b.driver, sizeof(b.driver), "2");
    ws__identity_seal(&b);
    assert_false(ws__hash_eq(a.hash, b.hash));
    b = a;
    b.is_cpu = true;
    ws__identity_seal(&b);
    assert_false(ws__hash_eq(a.hash, b.hash));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts),
        cmocka_unit_test(copies_are_deep),
        cmocka_unit_test(identity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
