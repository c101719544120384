/*
 * t_measure_ready.c: kernels that were compiled before, through the protocol:
 * a config without a file is filtered with the file's name, one with a file
 * reaches the device, which says what it takes; the identity covers the bytes.
 */
#include "measure/t_measure_fixture.h"

static struct ws__source_file file[2];

static struct t_case *make_case(struct ws_ctx *ctx, const char *text)
{
    struct t_case *c = t_case_new(ctx, "");

    memset(&t_script, 0, sizeof(t_script));
    t_script.inner = "null";
    if (!c)
        return NULL;
    file[0] = (struct ws__source_file){.name = "k_0.cubin",
                                       .data = text,
                                       .bytes = strlen(text),
                                       .hash = ws__hash_bytes(text, 4)};
    file[1] = file[0];
    file[1].name = "k_2.cubin";
    c->kernel.dialect = WS__DIALECT_CUBIN;
    c->kernel.source_file = "k_{V}.cubin";
    c->kernel.ready = file;
    c->kernel.nready = 2;
    return c;
}

static void answers(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_case *c = make_case(ctx, "one!");
    struct ws__question q = t_question(1, 1, 0);
    struct ws__measure *m;
    struct ws__trial t[2];
    struct ws__hash first, other;
    char reason[256];

    (void)state;
    assert_int_equal(t_measure_open(c, NULL, &m), 0);
    assert_int_equal(ws__measure_fits(m, &q.a, 0, reason), 0);
    T_ASSERT_HAS(reason, "no file 'k_1.cubin'");
    assert_int_equal(t_answer(m, &q, t), 0);
    assert_int_equal(t[0].verdict, WS__V_FILTERED);
    T_ASSERT_HAS(t[0].reason, "k_1.cubin");
    other = t[0].candidate_hash;
    t_clear(ctx, t);
    q = t_question(2, 2, 0);
    assert_int_equal(t_answer(m, &q, t), 0);
    assert_int_equal(t[0].verdict, WS__V_BUILD);
    T_ASSERT_HAS(t[0].reason, "ready-made");
    first = t[0].candidate_hash;
    assert_false(ws__hash_eq(first, other));
    t_clear(ctx, t);
    ws__measure_close(m);
    t_case_free(c);
    /* Other bytes, another candidate. */
    c = make_case(ctx, "two!");
    assert_int_equal(t_measure_open(c, NULL, &m), 0);
    assert_int_equal(t_answer(m, &q, t), 0);
    assert_false(ws__hash_eq(first, t[0].candidate_hash));
    t_clear(ctx, t);
    ws__measure_close(m);
    t_case_free(c);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
