/*
 * t_strategy.c: what every strategy must do, run on every member.
 *
 * Same seed and answers, same questions; a run that is killed after any
 * answer and started again asks and ends as if it had not been; spaces that
 * are empty, tiny or full of failures come to an end; nothing is asked again
 * and again; of several kernels none is forgotten. A strategy that learns
 * must beat the one that does not.
 */
#include "search/t_search.h"

static struct t_world one, two;

#define EACH_STRATEGY(ops)                                                     \
    for (const struct ws__strategy_ops *const *at_ = ws__strategy_table, *ops; \
         (ops = *at_) != NULL; at_++)

static void assert_same_journal(const struct t_journal *a,
                                const struct t_journal *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct ws__question *x = &a->rec[i].q, *y = &b->rec[i].q;

        assert_int_equal(x->id, y->id);
        assert_int_equal(x->workload, y->workload);
        assert_int_equal(x->pair, y->pair);
        assert_int_equal(x->effort, y->effort);
        assert_true(t_same(&x->a, &y->a));
        assert_true(t_same(&x->b, &y->b));
    }
}

static void assert_same_outcome(const struct ws__outcome *a,
                                const struct ws__outcome *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct ws__choice *x = &a->choice[i], *y = &b->choice[i];

        assert_int_equal(x->have_best, y->have_best);
        assert_int_equal(x->confirmed, y->confirmed);
        assert_memory_equal(&x->speedup, &y->speedup, sizeof(x->speedup));
        assert_true(t_same(&x->best.candidate, &y->best.candidate));
        assert_memory_equal(x->verdicts, y->verdicts, sizeof(x->verdicts));
    }
}

static void test_table(void **state)
{
    (void)state;
    EACH_STRATEGY(ops)
    {
        assert_int_equal(ops->abi, WS__STRATEGY_ABI);
        assert_ptr_equal(ws__strategy_find(ops->name), ops);
        assert_true(ops->about && *ops->about);
        assert_true(ops->start && ops->ask && ops->tell);
    }
    assert_null(ws__strategy_find("nosuch"));
}

static void make(struct t_world *w, struct ws_ctx **ctx, uint64_t seed)
{
    t_world_case(w, ctx, 2, 3, 5);
    w->fail_one_in = 6;
    w->noisy = true;
    w->p.seed = seed;
    t_world_filter(w, 9);
}

static void test_same_seed(void **state)
{
    (void)state;
    EACH_STRATEGY(ops)
    {
        struct ws__outcome a, b;
        struct ws_ctx *ca, *cb;

        make(&one, &ca, 5);
        make(&two, &cb, 5);
        assert_int_equal(t_world_run(&one, ops->name, 60, 3, &a), 0);
        assert_int_equal(t_world_run(&two, ops->name, 60, 3, &b), 0);
        assert_same_journal(&one.journal, &two.journal);
        assert_same_outcome(&a, &b);
        ws__outcome_clear(ca, &a);
        ws__outcome_clear(cb, &b);
        t_world_free(&one);
        t_world_free(&two);
        ws_ctx_free(ca);
        ws_ctx_free(cb);
    }
}

/* Every question of a run is new, except that pairs confirm. */
static void assert_no_repeats(const struct t_journal *j)
{
    for (size_t i = 0; i < j->n; i++)
        for (size_t k = 0; k < i; k++) {
            const struct ws__question *a = &j->rec[i].q, *b = &j->rec[k].q;

            if (a->workload == b->workload && !a->pair && !b->pair &&
                a->effort != WS__CONFIRM)
                assert_false(t_same(&a->a, &b->a));
        }
}

static void check_resume(const struct ws__strategy_ops *ops, unsigned parallel,
                         bool ahead)
{
    struct ws__outcome whole, part;
    struct ws_ctx *ca, *cb;
    size_t total;

    make(&one, &ca, 9);
    one.ahead = ahead;
    assert_int_equal(t_world_run(&one, ops->name, 40, parallel, &whole), 0);
    assert_no_repeats(&one.journal);
    total = one.answers;
    for (size_t k = 1; k <= total + 1; k++) {
        make(&two, &cb, 9);
        two.ahead = ahead;
        two.stop_at = k;
        assert_int_equal(t_world_run(&two, ops->name, 40, parallel, &part), 0);
        assert_int_equal(part.stopped, k <= total ? WS_ECANCEL : 0);
        ws__outcome_clear(cb, &part);
        two.stop_at = 0;
        assert_int_equal(t_world_run(&two, ops->name, 40, parallel, &part), 0);
        assert_int_equal(part.stopped, 0);
        assert_int_equal(two.answers, total);
        assert_same_journal(&one.journal, &two.journal);
        assert_same_outcome(&whole, &part);
        ws__outcome_clear(cb, &part);
        t_world_free(&two);
        ws_ctx_free(cb);
    }
    ws__outcome_clear(ca, &whole);
    t_world_free(&one);
    ws_ctx_free(ca);
}

static void test_resume(void **state)
{
    (void)state;
    EACH_STRATEGY(ops)
    {
        check_resume(ops, 1, false);
        check_resume(ops, 4, false);
        check_resume(ops, 3, true);
    }
}

/* A larger budget continues what a smaller one began, also if more questions
 * are asked ahead than before. */
static void test_more_budget(void **state)
{
    (void)state;
    EACH_STRATEGY(ops)
    {
        struct ws__outcome out;
        struct ws_ctx *ctx;

        make(&one, &ctx, 2);
        assert_int_equal(t_world_run(&one, ops->name, 20, 3, &out), 0);
        ws__outcome_clear(ctx, &out);
        assert_int_equal(t_world_run(&one, ops->name, 50, 5, &out), 0);
        assert_int_equal(out.choice[0].verdicts[WS__V_OK] +
                             out.choice[1].verdicts[WS__V_OK] +
                             out.choice[2].verdicts[WS__V_OK] +
                             out.choice[0].verdicts[WS__V_BUILD] +
                             out.choice[1].verdicts[WS__V_BUILD] +
                             out.choice[2].verdicts[WS__V_BUILD],
                         50);
        assert_no_repeats(&one.journal);
        ws__outcome_clear(ctx, &out);
        t_world_free(&one);
        ws_ctx_free(ctx);
    }
}

/* Without a budget a strategy ends; most see the whole space. */
static void test_exhaust(void **state)
{
    static const size_t values[] = {1, 2, 4};

    (void)state;
    EACH_STRATEGY(ops)
    for (size_t v = 0; v < WS_COUNT(values); v++)
        for (unsigned fail = 0; fail < 4; fail++) {
            struct ws__outcome out;
            struct ws_ctx *ctx = t_ctx(NULL);

            t_world_init(&one, ctx, 2, 2, values[v], true);
            one.fail_one_in = fail % 2;
            one.default_fails = fail % 2;
            one.ahead = fail / 2;
            assert_int_equal(t_world_run(&one, ops->name, 0, 4, &out), 0);
            assert_int_equal(out.stopped, 0);
            assert_no_repeats(&one.journal);
            /* Nothing is valid on workload 1. */
            assert_false(out.choice[1].have_default);
            assert_false(out.choice[1].have_best);
            assert_int_equal(out.choice[0].have_best, !(fail % 2));
            ws__outcome_clear(ctx, &out);
            t_world_free(&one);
            ws_ctx_free(ctx);
        }
}

/* More configs than a model can hold at once: there is no end to asking. */
#define MANY 400
static void test_many(void **state)
{
    (void)state;
    EACH_STRATEGY(ops)
    {
        struct ws__outcome out;
        struct ws_ctx *ctx;
        uint64_t valid;

        t_world_case(&one, &ctx, 1, 1, 8);
        assert_int_equal(ws__space_count(one.space[0], &valid), 0);
        assert_true(valid > MANY);
        assert_int_equal(t_world_run(&one, ops->name, MANY, 4, &out), 0);
        assert_true(one.journal.n >= MANY);
        ws__outcome_clear(ctx, &out);
        t_world_free(&one);
        ws_ctx_free(ctx);
    }
}

static void test_all_empty(void **state)
{
    (void)state;
    EACH_STRATEGY(ops)
    {
        struct ws__outcome out;
        struct ws_ctx *ctx = t_ctx(NULL);

        t_world_init(&one, ctx, 1, 2, 3, true);
        one.p.spaces = &one.space[1];
        one.p.nworkload = 1;
        assert_int_equal(t_world_run(&one, ops->name, 10, 2, &out), 0);
        /* Only the default is answered: filtered, with the reason. */
        assert_int_equal(out.answered, 1);
        assert_int_equal(out.choice[0].dflt.verdict, WS__V_FILTERED);
        assert_non_null(out.choice[0].dflt.reason);
        assert_false(out.choice[0].have_best);
        ws__outcome_clear(ctx, &out);
        one.p.spaces = one.space;
        one.p.nworkload = 2;
        t_world_free(&one);
        ws_ctx_free(ctx);
    }
}

/* Nothing fits the device: an end, and not one evaluation but the default. */
static void test_none_fits(void **state)
{
    (void)state;
    EACH_STRATEGY(ops)
    {
        struct ws__outcome out;
        struct ws_ctx *ctx;

        t_world_case(&one, &ctx, 1, 2, 4);
        t_world_filter(&one, 1);
        assert_int_equal(t_world_run(&one, ops->name, 10, 2, &out), 0);
        assert_int_equal(one.answers, 2);
        ws__outcome_clear(ctx, &out);
        t_world_free(&one);
        ws_ctx_free(ctx);
    }
}

/* Kernels and workloads all get a part of a budget that is enough. */
static void test_fair(void **state)
{
    (void)state;
    EACH_STRATEGY(ops)
    {
        size_t hits[T_KERNELS][T_WORKLOADS] = {{0}};
        struct ws__outcome out;
        struct ws_ctx *ctx;

        t_world_case(&one, &ctx, 2, 2, 8);
        assert_int_equal(t_world_run(&one, ops->name, 200, 2, &out), 0);
        for (size_t i = 0; i < one.journal.n; i++)
            hits[one.journal.rec[i].q.a.kernel]
                [one.journal.rec[i].q.workload]++;
        for (size_t k = 0; k < 2; k++)
            for (size_t w = 0; w < 2; w++)
                assert_true(hits[k][w] >= 15);
        ws__outcome_clear(ctx, &out);
        t_world_free(&one);
        ws_ctx_free(ctx);
    }
}

static double mean_log_best(const char *strategy, uint64_t budget)
{
    double sum = 0;

    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct ws__outcome out;
        struct ws_ctx *ctx;

        t_world_case(&one, &ctx, 1, 2, 24);
        one.p.seed = seed;
        one.fail_one_in = 20;
        assert_int_equal(t_world_run(&one, strategy, budget, 2, &out), 0);
        for (uint32_t w = 0; w < 2; w++)
            sum += log(t_cost(&one, &out.choice[w].best.candidate, w));
        ws__outcome_clear(ctx, &out);
        t_world_free(&one);
        ws_ctx_free(ctx);
    }
    return sum / 60;
}

/* On a smooth bowl what learns must do better than chance; what spreads its
 * questions over islands learns later. */
static void test_learning_pays(void **state)
{
    static const struct {
        const char *name;
        uint64_t budget;
    } learns[] = {{"hill", 120},
                  {"surrogate", 120},
                  {"islands", 500},
                  {"evolve", 500}};

    (void)state;
    if (!ws__strategy_find("random"))
        SKIP("this needs the strategy random");
    for (size_t i = 0; i < WS_COUNT(learns); i++)
        if (ws__strategy_find(learns[i].name) &&
            !(mean_log_best(learns[i].name, learns[i].budget) <
              mean_log_best("random", learns[i].budget)))
            fail_msg("%s is no better than chance", learns[i].name);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),     cmocka_unit_test(test_same_seed),
        cmocka_unit_test(test_resume),    cmocka_unit_test(test_more_budget),
        cmocka_unit_test(test_exhaust),   cmocka_unit_test(test_many),
        cmocka_unit_test(test_all_empty), cmocka_unit_test(test_none_fits),
        cmocka_unit_test(test_fair),      cmocka_unit_test(test_learning_pays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
