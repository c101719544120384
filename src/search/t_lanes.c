/*
 * t_lanes.c: a kernel without a config on any workload takes no part of the
 * budget of those that have some.
 */
#include "search/t_search.h"

#define BUDGET 300

static struct t_world alone, beside;

/* Kernel 1 gets no config. */
static void empty_kernel(struct t_world *w, struct ws_ctx *ctx)
{
    assert_int_equal(t_constraint(&w->kernel[1], "a < 0"), 0);
    w->kernels[1] = w->kernel[1].k;
    for (size_t i = 0; i < w->p.nworkload; i++) {
        struct ws__space **sp = &w->space[w->p.nworkload + i];
        union wsrt_value vars[WS__MAX_SLOTS] = {{.i = (int64_t)i}};

        ws__space_free(*sp);
        assert_int_equal(ws__space_new(ctx, &w->kernels[1], vars, true, true,
                                       sp),
                         0);
    }
}

static void test_empty_kernel(void **state)
{
    static const char *const names[] = {"wave", "anchors"};

    (void)state;
    for (size_t s = 0; s < WS_COUNT(names); s++) {
        struct ws__outcome out;
        struct ws_ctx *ctx, *other;

        t_world_case(&alone, &ctx, 1, 2, 8);
        alone.p.budget = BUDGET;
        assert_int_equal(t_world_run(&alone, names[s], BUDGET, 1, &out), 0);
        ws__outcome_clear(ctx, &out);
        t_world_case(&beside, &other, 2, 2, 8);
        beside.p.budget = BUDGET;
        empty_kernel(&beside, other);
        assert_int_equal(t_world_run(&beside, names[s], BUDGET, 1, &out), 0);
        ws__outcome_clear(other, &out);
        assert_int_equal(alone.journal.n, beside.journal.n);
        for (size_t i = 0; i < alone.journal.n; i++)
            assert_true(ws__candidate_eq(&alone.journal.rec[i].q.a,
                                         &beside.journal.rec[i].q.a));
        t_world_free(&alone);
        t_world_free(&beside);
        ws_ctx_free(ctx);
        ws_ctx_free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_empty_kernel)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
