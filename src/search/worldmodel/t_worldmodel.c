/*
 * t_worldmodel.c: a catalogue is followed and, where it is wrong, outgrown; an
 * idea is tried only where what it needs holds, and in its regimes; no set of
 * ideas and no config twice; an idea that fails is believed less; what was
 * tried is told, also by a run that was finished before. (That it is
 * deterministic, resumable, ends and is fair is tested for every strategy.)
 */
#include "search/t_search.h"

#include "search/worldmodel/worldmodel.h"

#define VALUES 8
#define IDEAS 5
#define STEPS 160

static const struct ws__strategy_ops *ops;
static struct t_world world;
static struct ws_ctx *ctx;

/* --- a catalogue ---------------------------------------------------------- */

static bool masks[IDEAS][VALUES];
static struct ws__idea_set sets[IDEAS];
static struct ws__idea ideas[IDEAS];
static struct ws__catalogue catalogue;

/* Values lo to hi of a parameter. */
static void idea(size_t at, const char *axis, uint32_t axis_id, uint32_t param,
                 size_t lo, size_t hi, double factor)
{
    for (size_t v = 0; v < VALUES; v++)
        masks[at][v] = v >= lo && v <= hi;
    sets[at] = (struct ws__idea_set){0, param, masks[at]};
    ideas[at] = (struct ws__idea){.axis = axis,
                                  .choice = "so",
                                  .axis_id = axis_id,
                                  .set = &sets[at],
                                  .nset = 1,
                                  .kernel = -1,
                                  .factor = factor,
                                  .spread = 0.3,
                                  .difficulty = 1};
}

/* The bowl's lowest point has all parameters near 0.66 of their values. */
static void make_catalogue(bool wrong)
{
    idea(0, "a", 0, 0, 4, 7, wrong ? 0.7 : 1.3);
    idea(1, "a", 0, 0, 1, 2, wrong ? 8.0 : 0.7);
    idea(2, "b", 1, 1, 4, 7, wrong ? 0.7 : 1.3);
    idea(3, "b", 1, 1, 1, 2, wrong ? 8.0 : 0.7);
    idea(4, "c", 2, 2, 1, 3, 5.0);
    catalogue =
        (struct ws__catalogue){.idea = ideas, .nidea = IDEAS, .naxis = 3};
}

static void begin(size_t nwork, bool wrong)
{
    t_world_case(&world, &ctx, 1, nwork, VALUES);
    make_catalogue(wrong);
    world.p.catalogue = &catalogue;
}

static void end_world(void)
{
    t_world_free(&world);
    ws_ctx_free(ctx);
}

/* --- a run by hand -------------------------------------------------------- */

static int (*fails_when)(const struct ws__candidate *c);
static size_t asked[STEPS]; /* on that workload */
static struct ws__candidate tried[STEPS];

static void answer(void *state, const struct ws__candidate *c, uint32_t w)
{
    double ns = t_cost(&world, c, w);
    struct ws__trial t = {.candidate = *c,
                          .workload = w,
                          .verdict = WS__V_OK,
                          .sample_ns = &ns,
                          .nsample = 1};

    if (fails_when && fails_when(c)) {
        t.verdict = WS__V_BUILD;
        t.nsample = 0;
    }
    assert_int_equal(ops->tell(state, &t), 0);
}

static struct world *play(size_t steps)
{
    void *state;

    assert_int_equal(ops->start(&world.p, &state), 0);
    for (uint32_t w = 0; w < world.p.nworkload; w++) {
        struct ws__candidate c = {0};

        ws__config_default(&world.kernels[0], &c.config);
        answer(state, &c, w);
    }
    for (size_t i = 0; i < steps; i++) {
        uint32_t w;

        assert_int_equal(ops->ask(state, &tried[i], &w), 0);
        asked[i] = w;
        answer(state, &tried[i], w);
    }
    return state;
}

static double best_of(size_t steps)
{
    double best = INFINITY;

    for (size_t i = 0; i < steps; i++)
        best = fmin(best, t_cost(&world, &tried[i], (uint32_t)asked[i]));
    return best;
}

static double least(void)
{
    struct ws__space_iter it;
    struct ws__candidate c = {0};
    double cost = INFINITY;

    ws__space_begin(world.space[0], &it);
    while (ws__space_next(&it, &c.config) > 0)
        cost = fmin(cost, t_cost(&world, &c, 0));
    return cost;
}

/* --- tests ---------------------------------------------------------------- */

/* The first ideas tried are those that promise. */
static void test_follows(void **state)
{
    struct world *w;
    size_t promised = 0;

    (void)state;
    begin(1, false);
    w = play(10);
    for (size_t i = 0; i < 10; i++)
        promised += tried[i].config.at[0] >= 4 || tried[i].config.at[1] >= 4;
    assert_true(promised >= 8);
    assert_true(w->nnode > 1 && w->node[1].idea >= NGENERAL);
    assert_true(ideas[w->node[1].idea - NGENERAL].factor > 1);
    ops->end(w);
    end_world();
}

static void test_outgrows(void **state)
{
    double mean, sd;
    struct ws__subject s;
    struct world *w;

    (void)state;
    begin(1, true);
    w = play(80);
    assert_true(best_of(80) <= 1.01 * least());
    /* What was promised is not believed any more. */
    s = (struct ws__subject){NGENERAL, NGENERAL + 1, 0, log(8), 0.3};
    ws__belief_view(&w->belief, &s, &mean, &sd);
    assert_true(mean < 1);
    ops->end(w);
    end_world();
}

/* How often idea 4 is opened, if it needs, or conflicts with, another. */
static size_t opened(size_t nneeds, size_t nconflicts, const uint32_t *other)
{
    struct world *w;
    size_t n = 0;

    begin(1, false);
    ideas[4].factor = 20;
    ideas[4].needs = ideas[4].conflicts = other;
    ideas[4].nneeds = nneeds;
    ideas[4].nconflicts = nconflicts;
    w = play(60);
    for (size_t i = 1; i < w->nnode; i++) {
        const struct local *from = &w->node[w->node[i].parent].at[0];
        bool holds = ws__idea_holds(&ideas[other[0]], &from->best);

        if (w->node[i].idea != NGENERAL + 4)
            continue;
        n++;
        assert_true(nneeds ? holds : !nconflicts || !holds);
    }
    ops->end(w);
    end_world();
    return n;
}

static void test_needs(void **state)
{
    static const uint32_t rare[] = {1}, absent[] = {0};

    (void)state;
    assert_true(opened(0, 0, rare) > 0);
    assert_true(opened(1, 0, rare) == 0);
    /* The default looks otherwise. */
    assert_true(opened(0, 1, absent) > 0);
}

static void test_once(void **state)
{
    struct world *w;

    (void)state;
    begin(1, false);
    w = play(STEPS);
    for (size_t i = 1; i < w->nnode; i++)
        for (size_t k = 0; k < i; k++)
            if (w->node[i].idea >= NGENERAL && w->node[k].idea >= NGENERAL)
                assert_true(w->node[i].key != w->node[k].key);
    ops->end(w);
    end_world();
}

static int fails_low(const struct ws__candidate *c)
{
    return c->config.at[0] == 1 || c->config.at[0] == 2;
}

/* It promises most and never works. */
static void test_fails(void **state)
{
    struct world *w;
    size_t opened = 0, tries = 0;

    (void)state;
    begin(1, true);
    fails_when = fails_low;
    w = play(80);
    fails_when = NULL;
    for (size_t i = 1; i < w->nnode; i++)
        if (w->node[i].idea == NGENERAL + 1) {
            opened++;
            tries += w->node[i].at[0].tries;
            assert_int_equal(w->node[i].at[0].standing, HOPELESS);
        }
    assert_true(opened > 0 && opened <= 4);
    assert_true(tries <= 16);
    assert_true(best_of(80) <= 1.02 * least());
    ops->end(w);
    end_world();
}

static void two_regimes(struct ws__arena *arena)
{
    struct ws__scope scope = {0};
    struct ws__loc loc = {0};

    begin(4, false);
    ws__arena_init(arena, ctx);
    assert_int_equal(ws__scope_add(ctx, &scope, "shape", WS__INT, NULL), 0);
    catalogue.regime[0].name = "first";
    assert_int_equal(ws__expr_compile(ctx, arena, "shape < 2", &loc, &scope,
                                      WS__CONDITION, &catalogue.regime[0].when),
                     0);
    catalogue.regime[1].name = "rest";
    catalogue.nregime = 2;
}

/* Two regimes of two workloads; an idea of the first is tried in no other. What
 * was learnt of another is believed most in the same regime. */
static void test_regimes(void **state)
{
    struct ws__arena arena;
    struct ws__subject same = {NGENERAL + 1, NGENERAL + 2, 0, log(5), 0.3};
    struct ws__subject other = same;
    double here, there, sd_here, sd_there;
    size_t opened = 0;
    struct world *w;

    (void)state;
    two_regimes(&arena);
    ideas[2].regimes = 1;
    ideas[2].factor = 5;
    w = play(STEPS);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(w->place[i].regime, i / 2);
    for (size_t i = 1; i < w->nnode; i++) {
        if (w->node[i].idea != NGENERAL + 2)
            continue;
        opened++;
        assert_int_equal(w->node[i].at[2].standing, NEVER);
        assert_int_equal(w->node[i].at[3].standing, NEVER);
    }
    assert_true(opened > 0);
    other.regime = 7; /* nothing was tried there */
    ws__belief_view(&w->belief, &same, &here, &sd_here);
    ws__belief_view(&w->belief, &other, &there, &sd_there);
    assert_true(sd_here < sd_there);
    ops->end(w);
    ws__arena_free(&arena);
    end_world();
}

/* Nothing is asked twice. */
static void test_asks_once(void **state)
{
    struct world *w;

    (void)state;
    begin(2, false);
    w = play(STEPS);
    for (size_t i = 0; i < STEPS; i++)
        for (size_t k = 0; k < i; k++)
            assert_false(ws__candidate_eq(&tried[i], &tried[k]) &&
                         asked[i] == asked[k]);
    ops->end(w);
    end_world();
}

/* What was tried is told: parents first, every config once, factors that add
 * up. */
static void test_tree(void **state)
{
    struct ws__tree tree = {0};
    struct world *w;
    size_t tries = 0, tuned = 0;

    (void)state;
    begin(2, false);
    w = play(STEPS);
    ws__arena_init(&tree.arena, ctx);
    assert_int_equal(ops->tree(w, &tree), 0);
    assert_true(tree.n > 4);
    for (size_t i = 0; i < tree.n; i++) {
        const struct ws__tried *t = &tree.tried[i];
        double from = 0;
        bool general;

        assert_true(t->parent < (int32_t)i && t->tries > 0);
        if (t->parent >= 0) {
            assert_string_equal(t->place, tree.tried[t->parent].place);
            assert_true(t->depth == tree.tried[t->parent].depth + 1);
            from = tree.tried[t->parent].gain;
        } else {
            assert_int_equal(t->depth, 1);
        }
        general = !strcmp(t->axis, "tuning") || !strcmp(t->axis, "shape");
        if (!isnan(t->effect) && !general)
            assert_true(fabs(t->gain - from - t->effect) < 1e-9);
        tuned += !strcmp(t->axis, "tuning");
        tries += t->tries;
    }
    assert_true(tuned > 0);
    assert_int_equal(tries, STEPS);
    ws__arena_free(&tree.arena);
    ops->end(w);
    end_world();
}

static void same_tree(const struct ws__tree *a, const struct ws__tree *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct ws__tried *x = &a->tried[i], *y = &b->tried[i];

        assert_string_equal(x->axis, y->axis);
        assert_string_equal(x->choice, y->choice);
        assert_string_equal(x->place, y->place);
        assert_int_equal(x->parent, y->parent);
        assert_int_equal(x->tries, y->tries);
        assert_memory_equal(&x->effect, &y->effect, sizeof(double));
        assert_memory_equal(&x->expected, &y->expected, sizeof(double));
    }
}

/* A run that has no budget left asks nothing anew, and has its tree still; one
 * that gets more goes on as if it had had it from the beginning. */
static void finished(bool ahead, uint64_t budget)
{
    struct ws__outcome first, again, longer, whole;
    const unsigned parallel = ahead ? 2 : 4;
    size_t answers;

    begin(2, false);
    world.ahead = ahead;
    assert_int_equal(t_world_run(&world, "worldmodel", budget, parallel,
                                 &first),
                     0);
    assert_true(first.tree.n > 4);
    answers = world.answers;
    assert_int_equal(t_world_run(&world, "worldmodel", budget, parallel,
                                 &again),
                     0);
    assert_int_equal(world.answers, answers);
    same_tree(&first.tree, &again.tree);
    assert_int_equal(t_world_run(&world, "worldmodel", 60, parallel, &longer),
                     0);
    assert_true(longer.tree.n >= first.tree.n);
    t_journal_clear(&world.journal);
    assert_int_equal(t_world_run(&world, "worldmodel", 60, parallel, &whole),
                     0);
    same_tree(&longer.tree, &whole.tree);
    ws__outcome_clear(ctx, &first);
    ws__outcome_clear(ctx, &again);
    ws__outcome_clear(ctx, &longer);
    ws__outcome_clear(ctx, &whole);
    end_world();
}

static void test_finished(void **state)
{
    (void)state;
    for (uint64_t budget = 40; budget < 46; budget++) {
        finished(false, budget);
        finished(true, budget);
    }
}

/* --- what people decide --------------------------------------------------- */

static struct {
    struct ws__steer s;
    uint64_t after;
    bool live; /* takes effect when it can, which says after */
} wish[4];
static size_t nwish, at_wish;

static int steer(void *user, uint64_t n, bool live, struct ws__steer *out)
{
    (void)user;
    if (at_wish == nwish || (wish[at_wish].live && !live))
        return 0;
    if (wish[at_wish].live)
        wish[at_wish].after = n;
    wish[at_wish].live = false;
    if (wish[at_wish].after > n)
        return 0;
    *out = wish[at_wish++].s;
    return 1;
}

static void run_steered(uint64_t budget, struct ws__outcome *out)
{
    struct ws__evaluator ev = {&t_evaluator_ops, &world};
    struct ws__journal j = {&t_journal_ops, &world.journal};
    struct ws__run run = {.name = "toy"};
    struct ws__engine_opts o = {.strategy = "worldmodel",
                                .seed = world.p.seed,
                                .budget_trials = budget,
                                .parallel = 4,
                                .steer = steer};

    at_wish = 0;
    assert_int_equal(ws__engine_run(&world.p, &ev, &j, &run, &o, out), 0);
}

static uint32_t node_of(uint32_t a, uint32_t b)
{
    uint64_t key = ws__world_idea_key(NGENERAL + a);

    if (b != a)
        key += ws__world_idea_key(NGENERAL + b);
    return (uint32_t)(key >> 32);
}

static const struct ws__tried *tried_of(const struct ws__outcome *o,
                                        uint32_t node)
{
    for (size_t i = 0; i < o->tree.n; i++)
        if ((uint32_t)(o->tree.tried[i].key >> 32) == node)
            return &o->tree.tried[i];
    return NULL;
}

/* Screened configs of the journal that look as the idea says. */
static size_t look_so(size_t idea)
{
    size_t n = 0;

    for (size_t i = 0; i < world.journal.n; i++) {
        const struct ws__question *q = &world.journal.rec[i].q;

        n += q->effort == WS__SCREEN && !q->pair &&
             ws__idea_holds(&ideas[idea], &q->a);
    }
    return n;
}

static void test_prune(void **state)
{
    struct ws__outcome o;

    (void)state;
    begin(2, false);
    nwish = 0;
    run_steered(60, &o);
    assert_true(look_so(4) > 0 && tried_of(&o, node_of(4, 4)));
    ws__outcome_clear(ctx, &o);
    t_journal_clear(&world.journal);
    wish[0].s = (struct ws__steer){WS__STEER_PRUNE, node_of(4, 4), NULL};
    wish[0].after = 0;
    nwish = 1;
    run_steered(60, &o);
    assert_int_equal(look_so(4), 0);
    assert_null(tried_of(&o, node_of(4, 4)));
    for (size_t i = 0; i < o.tree.n; i++)
        assert_string_not_equal(o.tree.tried[i].axis, "c");
    ws__outcome_clear(ctx, &o);
    end_world();
}

/* What is pinned comes first, and what leads to it before that. */
static void test_pin(void **state)
{
    struct ws__outcome o;

    (void)state;
    begin(1, false);
    ideas[4].factor = 0.5; /* nobody would choose it */
    wish[0].s = (struct ws__steer){WS__STEER_PIN, node_of(4, 4), NULL};
    wish[0].after = 0;
    nwish = 1;
    run_steered(2, &o);
    assert_int_equal(o.tree.n, 1);
    assert_string_equal(o.tree.tried[0].axis, "c");
    assert_true(o.tree.tried[0].pinned);
    ws__outcome_clear(ctx, &o);
    run_steered(12, &o);
    assert_true(tried_of(&o, node_of(4, 4)));
    ws__outcome_clear(ctx, &o);
    end_world();
}

/* A node of two ideas cannot be opened before one of them was tried; it is the
 * second. */
static void test_pin_deep(void **state)
{
    struct ws__outcome o;

    (void)state;
    begin(1, false);
    nwish = 2;
    wish[0].s = (struct ws__steer){WS__STEER_PIN, node_of(4, 4), NULL};
    wish[1].s = (struct ws__steer){WS__STEER_PIN, node_of(4, 2), NULL};
    wish[0].after = 0;
    wish[1].after = 6; /* when the first was tried: the node could be now */
    run_steered(14, &o);
    assert_true(tried_of(&o, node_of(4, 2)));
    assert_true(o.tree.n <= 4);
    ws__outcome_clear(ctx, &o);
    end_world();
}

static void test_add(void **state)
{
    static bool allowed[VALUES] = {[2] = true};
    static struct ws__idea_set set = {0, 1, allowed};
    const struct ws__idea idea = {.axis = "added",
                                  .choice = "b=2",
                                  .set = &set,
                                  .nset = 1,
                                  .kernel = -1,
                                  .factor = 1.2,
                                  .spread = 0.3,
                                  .difficulty = 1};
    struct ws__outcome o;
    size_t n = 0;

    (void)state;
    begin(1, false);
    wish[0].s = (struct ws__steer){WS__STEER_ADD, node_of(4, 4), &idea};
    wish[0].after = 9; /* its parent is there by then */
    nwish = 1;
    run_steered(40, &o);
    for (size_t i = 0; i < o.tree.n; i++) {
        const struct ws__tried *t = &o.tree.tried[i];
        if (!t->added)
            continue;
        n++;
        assert_string_equal(t->axis, "added");
        assert_int_equal(t->parent_key >> 32, node_of(4, 4));
        assert_int_equal(t->best.config.at[1], 2);
    }
    assert_int_equal(n, 1);
    ws__outcome_clear(ctx, &o);
    end_world();
}

/* One that comes while it goes on, stopped in the middle and continued: the
 * same as one that had it in the log from the beginning. */
static void test_steer_resumes(void **state)
{
    struct ws__outcome cut, again, whole;

    (void)state;
    begin(2, false);
    wish[0].s = (struct ws__steer){WS__STEER_PRUNE, node_of(4, 4), NULL};
    wish[0].live = true;
    nwish = 0;
    run_steered(22, &cut);
    ws__outcome_clear(ctx, &cut);
    nwish = 1;
    world.stop_at = world.answers + 20;
    run_steered(80, &cut);
    world.stop_at = 0;
    assert_true(cut.stopped && !wish[0].live && wish[0].after >= 22);
    ws__outcome_clear(ctx, &cut);
    run_steered(80, &again);
    t_journal_clear(&world.journal);
    run_steered(80, &whole);
    same_tree(&again.tree, &whole.tree);
    ws__outcome_clear(ctx, &again);
    ws__outcome_clear(ctx, &whole);
    end_world();
}

static void test_unknown_node(void **state)
{
    struct ws__outcome o;

    (void)state;
    begin(1, false);
    wish[0].s = (struct ws__steer){WS__STEER_PRUNE, 12345, NULL};
    wish[0].after = 0;
    nwish = 1;
    run_steered(20, &o);
    assert_true(tried_of(&o, node_of(4, 4)));
    ws__outcome_clear(ctx, &o);
    end_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows),
        cmocka_unit_test(test_outgrows),
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_fails),
        cmocka_unit_test(test_regimes),
        cmocka_unit_test(test_asks_once),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_finished),
        cmocka_unit_test(test_prune),
        cmocka_unit_test(test_pin),
        cmocka_unit_test(test_pin_deep),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_steer_resumes),
        cmocka_unit_test(test_unknown_node),
    };

    ops = ws__strategy_find("worldmodel");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
