/* t_gpumode.c: tasks of GPU MODE: which keys are axes, what is drafted. */
#include "base/t_base.h"

#include "spec/gpumode.h"

struct made {
    struct ws_ctx *ctx;
    struct ws__arena arena;
    struct ws__gpumode g;
    int rc;
};

static void draft(struct made *m, const char *text)
{
    m->ctx = ws_ctx_new(NULL);
    assert_non_null(m->ctx);
    ws__arena_init(&m->arena, m->ctx);
    m->rc = ws__gpumode_draft(m->ctx, &m->arena, text, strlen(text), "task.yml",
                              "rows", &m->g);
}

static void drop(struct made *m)
{
    ws__gpumode_free(&m->g);
    ws__arena_free(&m->arena);
    ws_ctx_free(m->ctx);
}

static bool op_has(const struct made *m, const char *text)
{
    return strstr(m->g.op.data, text) != NULL;
}

static void t_axes(void **state)
{
    struct made m;

    (void)state;
    draft(&m, "description: |\n  Rows.\n  tolerance: 1\n"
              "tests:\n"
              "- {n: 8, h: 128, t: float16, seed: 1, mask: true, min: 2}\n"
              "- {n: 16, h: 128, t: float32, seed: 1, mask: false, min: 2}\n"
              "benchmarks:\n"
              "- {n: 1024, h: 128, t: float16, seed: 9, mask: true, min: 2, "
              "more: 1}\n");
    assert_int_equal(m.rc, 0);
    assert_int_equal(m.g.ntests, 2);
    assert_int_equal(m.g.nbenchmarks, 1);
    assert_true(op_has(&m, "\nop: rows\naxes:\n  n: var\n"));
    assert_true(op_has(&m, "\n  h: 128 # the same in all cases\n"));
    assert_true(op_has(&m, "\n  t: {types: [float16, float32]}\ninputs:"));
    assert_true(op_has(&m, "\n# tolerance: 1\n"));
    assert_true(op_has(&m, "- {name: \"benchmark 1 mask=true min=2 more=1\", "
                           "n: 1024, t: float16}\n"));
    assert_non_null(strstr(m.g.tests.data,
                           "- {name: \"test 2 mask=false min=2\", n: 16, t: "
                           "float32}\n"));
    assert_int_equal(m.g.nfound, 3);
    assert_int_equal(m.g.nnote, 4);
    assert_non_null(strstr(m.g.note[0], "'seed'"));
    assert_non_null(strstr(m.g.note[1], "not a size"));
    assert_non_null(strstr(m.g.note[2], "cannot be a name"));
    assert_non_null(strstr(m.g.note[3], "not every case"));
    drop(&m);
}

/* In one case nothing can be told to be constant. */
static void t_one_case(void **state)
{
    struct made m;

    (void)state;
    draft(&m, "benchmarks: [{n: 1024, seed: 9}]\n");
    assert_int_equal(m.rc, 0);
    assert_true(op_has(&m, "  n: var\n"));
    assert_int_equal(m.g.tests.len, 0);
    drop(&m);
}

static void t_no_axis(void **state)
{
    struct made m;

    (void)state;
    draft(&m, "tests: [{n: 0}, {n: 4}]\n");
    assert_int_equal(m.rc, 0);
    assert_true(op_has(&m, "axes:\n  ???: var\n"));
    assert_false(op_has(&m, "workloads:"));
    assert_int_equal(m.g.tests.len, 0);
    drop(&m);
}

static void t_refused(void **state)
{
    static const struct {
        const char *text, *message;
        int rc;
    } bad[] = {
        {"[1, 2]\n", "no task", WS_ESPEC},
        {"lang: py\n", "no task", WS_ESPEC},
        {"tests: []\nbenchmarks: 3\n", "no task", WS_ESPEC},
        {"tests: [{n: 1}, 2]\n", "'2'", WS_ESPEC},
        {"tests: [{n: 1}\n", "", WS_EPARSE},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        struct made m;

        draft(&m, bad[i].text);
        assert_int_equal(m.rc, bad[i].rc);
        assert_non_null(strstr(ws_ctx_error(m.ctx)->message, bad[i].message));
        assert_string_equal(ws_ctx_error(m.ctx)->file, "task.yml");
        drop(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_axes),
        cmocka_unit_test(t_one_case),
        cmocka_unit_test(t_no_axis),
        cmocka_unit_test(t_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
