/*
 * t_engine.c: the engine: memory, budget, filter, stops, reuse, finalists.
 */
#include "search/t_search.h"

#include "search/shuffle.h"

static struct t_world world, other;

static void test_unknown_strategy(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    t_world_case(&world, &ctx, 1, 1, 4);
    assert_int_equal(t_world_run(&world, "nosuch", 10, 1, &out), WS_EINVAL);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "random"));
    assert_false(world.journal.busy);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

static void test_budget(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;
    size_t screened = 0, pairs = 0;

    (void)state;
    t_world_case(&world, &ctx, 1, 2, 6);
    assert_int_equal(t_world_run(&world, "random", 25, 4, &out), 0);
    for (size_t i = 0; i < world.journal.n; i++) {
        const struct ws__question *q = &world.journal.rec[i].q;

        assert_int_equal(q->id, i + 1);
        screened += q->effort == WS__SCREEN;
        pairs += q->pair;
    }
    assert_int_equal(screened, 25);
    assert_in_range(pairs, 1, 8); /* 3 finalists and the last pair */
    assert_int_equal(out.stopped, 0);
    assert_int_equal(out.n, 2);
    assert_int_equal(out.answered, 2 + 25 + pairs);
    for (size_t i = 0; i < out.n; i++) {
        assert_true(out.choice[i].have_default);
        assert_true(out.choice[i].have_best);
        assert_true(out.choice[i].confirmed);
        assert_true(out.choice[i].speedup.lo > 1);
        assert_true(out.choice[i].pair_trial_b ==
                    out.choice[i].pair_trial_a + 1);
    }
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

/* Two configs look twice as fast when screened; pairs tell the truth. */
static void test_overrated(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;
    struct ws__candidate d = {0};

    (void)state;
    t_world_case(&world, &ctx, 1, 1, 3);
    /* The default is the bottom of the bowl: nothing can be better. */
    for (size_t i = 0; i < 4; i++) {
        world.kernels[0].param[i].dflt = i < 3 ? 2 : 1;
        d.config.at[i] = i < 3 ? 2 : 1;
    }
    d.config.n = 4;
    world.overrated = true;
    assert_int_equal(t_world_run(&world, "grid", 0, 1, &out), 0);
    assert_true(ws__config_eq(&out.choice[0].best.candidate.config, &d.config));
    assert_true(out.choice[0].speedup.value >= 1);
    assert_true(out.choice[0].speedup.value <= 1);
    assert_true(out.choice[0].confirmed);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

static void test_filter(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;
    uint64_t filtered = 0;

    (void)state;
    t_world_case(&world, &ctx, 1, 2, 6);
    t_world_filter(&world, 3);
    assert_int_equal(t_world_run(&world, "random", 30, 3, &out), 0);
    for (size_t i = 0; i < world.journal.n; i++)
        filtered += world.journal.rec[i].t[0].verdict == WS__V_FILTERED;
    assert_true(filtered > 5);
    assert_int_equal(out.filtered, filtered);
    assert_int_equal(out.choice[0].verdicts[WS__V_FILTERED] +
                         out.choice[1].verdicts[WS__V_FILTERED],
                     filtered);
    assert_int_equal(out.choice[0].verdicts[WS__V_OK] +
                         out.choice[1].verdicts[WS__V_OK],
                     30);
    assert_int_equal(world.answers + filtered, world.journal.n);
    assert_in_range(world.prefetched, 10, world.answers);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

static void test_stops(void **state)
{
    static const int codes[] = {WS_ECANCEL, WS_ETIMEOUT, WS_EDEVICE, WS_ECRASH};
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(codes); i++) {
        t_world_case(&world, &ctx, 1, 2, 6);
        world.stop_at = 21;
        world.stop_code = codes[i];
        assert_int_equal(t_world_run(&world, "random", 100, 4, &out), 0);
        assert_int_equal(out.stopped, codes[i]);
        assert_int_equal(world.journal.n, 20);
        assert_true(out.choice[0].have_best);
        assert_false(out.choice[0].confirmed);
        assert_true(out.choice[0].speedup.lo > 1);
        ws__outcome_clear(ctx, &out);
        t_world_free(&world);
        ws_ctx_free(ctx);
    }
}

/* A device that is lost once comes back. */
static void test_device_returns(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    t_world_case(&world, &ctx, 1, 1, 6);
    world.stop_at = 9;
    world.stop_code = WS_ECRASH;
    world.once = true;
    assert_int_equal(t_world_run(&world, "random", 30, 4, &out), 0);
    assert_int_equal(out.stopped, 0);
    assert_true(out.choice[0].confirmed);
    assert_int_equal(world.journal.n, world.answers);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

/* A finished run is answered from the journal alone. */
static void test_finished(void **state)
{
    struct ws__outcome a, b;
    struct ws_ctx *ctx;
    struct ws__question q;
    struct ws__trial *t;
    size_t answers;

    (void)state;
    t_world_case(&world, &ctx, 1, 2, 6);
    assert_int_equal(t_world_run(&world, "random", 30, 4, &a), 0);
    answers = world.answers;
    assert_int_equal(t_world_run(&world, "random", 30, 4, &b), 0);
    assert_int_equal(world.answers, answers);
    assert_int_equal(b.reused, answers);
    for (size_t i = 0; i < 2; i++) {
        assert_true(
            t_same(&a.choice[i].best.candidate, &b.choice[i].best.candidate));
        assert_int_equal(a.choice[i].pair_trial_b, b.choice[i].pair_trial_b);
    }
    ws__outcome_clear(ctx, &a);
    ws__outcome_clear(ctx, &b);
    /* A stored question that cannot be of this space is damage. */
    q = world.journal.rec[5].q;
    world.journal.rec[5].q.a.config.at[0] = 99;
    assert_int_equal(t_world_run(&world, "random", 30, 4, &b), WS_ECORRUPT);
    world.journal.rec[5].q = q;
    /* Nor is what answers another question, or has no times. */
    t = &world.journal.rec[5].t[0];
    for (int i = 0; i < 6; i++) {
        struct ws__trial was = *t;
        double sample = t->sample_ns[0];

        if (i == 0)
            t->candidate.kernel = 5;
        else if (i == 1)
            t->workload = 99;
        else if (i == 2)
            t->candidate.config.at[0] = 9999;
        else if (i == 3)
            t->verdict = (enum ws__verdict)11;
        else
            t->sample_ns[0] = i == 4 ? -5 : (double)INFINITY;
        assert_int_equal(t_world_run(&world, "hill", 30, 4, &b), WS_ECORRUPT);
        assert_true(ws_ctx_error(ctx)->hint[0]);
        *t = was;
        t->sample_ns[0] = sample;
    }
    t_world_free(&world);
    ws_ctx_free(ctx);
}

static void test_no_time(void **state)
{
    struct ws__evaluator ev = {&t_evaluator_ops, &world};
    struct ws__engine_opts o = {.strategy = "random", .budget_ns = 1};
    struct ws__run run = {.name = "toy"};
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    t_world_case(&world, &ctx, 1, 2, 5);
    assert_int_equal(ws__engine_run(&world.p, &ev, NULL, &run, &o, &out), 0);
    assert_int_equal(out.answered, 1); /* the rest is not attempted */
    assert_true(out.choice[0].have_default && out.choice[0].have_best);
    assert_false(out.choice[0].confirmed);
    assert_int_equal(out.choice[1].dflt.verdict, WS__V_NONE);
    assert_false(out.choice[1].have_default || out.choice[1].have_best);
    assert_int_equal(world.prefetched, 0);
    ws__outcome_clear(ctx, &out);
    o.parallel = 2;
    assert_int_equal(ws__engine_run(&world.p, &ev, NULL, &run, &o, &out), 0);
    assert_int_equal(out.answered, 2);
    assert_int_equal(world.prefetched, 2);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

/* A default that the space does not have is a trial that says why. */
static void test_default_invalid(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    t_world_init(&world, ctx, 1, 2, 4, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(t_world_run(&world, "hill", 20, 4, &out), 0);
        assert_true(out.choice[0].have_default);
        assert_false(out.choice[1].have_default);
        assert_int_equal(out.choice[1].dflt.verdict, WS__V_FILTERED);
        assert_non_null(strstr(out.choice[1].dflt.reason,
                               "constraint 'shape != 1' does not hold"));
        ws__outcome_clear(ctx, &out);
    }
    t_world_free(&world);
    ws_ctx_free(ctx);
}

static void crash_default(struct t_world *w, const struct ws__question *q,
                          struct ws__trial *out)
{
    (void)w;
    if (q->effort == WS__NORMAL)
        out->verdict = WS__V_CRASH;
}

static size_t count_defaults(const struct t_world *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->journal.n; i++)
        n += w->journal.rec[i].q.effort == WS__NORMAL;
    return n;
}

/* A default's crash that was recorded is asked again, once. */
static void test_default_again(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    for (int heals = 0; heals < 2; heals++) {
        t_world_case(&world, &ctx, 1, 1, 5);
        world.change = crash_default;
        for (int i = 0; i < 3; i++) {
            if (i && heals)
                world.change = NULL;
            assert_int_equal(t_world_run(&world, "random", 9, 2, &out), 0);
            assert_int_equal(count_defaults(&world), i ? 2 : 1);
            assert_int_equal(out.choice[0].have_default, i && heals);
            ws__outcome_clear(ctx, &out);
        }
        for (size_t i = 0; i < world.journal.n; i++)
            assert_int_equal(world.journal.rec[i].q.id, i + 1);
        t_world_free(&world);
        ws_ctx_free(ctx);
    }
}

/* What its pair found wrong is not chosen by its screening. */
static void fail_pairs(struct t_world *w, const struct ws__question *q,
                       struct ws__trial *out)
{
    (void)w;
    if (q->pair)
        out[0].verdict = out[1].verdict = WS__V_CRASH;
}

static void test_pairs_fail(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    t_world_case(&world, &ctx, 1, 1, 6);
    world.change = fail_pairs;
    assert_int_equal(t_world_run(&world, "random", 30, 2, &out), 0);
    assert_true(world.pairs > 0 && out.choice[0].have_best);
    if (world.pairs == 3) {
        assert_false(out.choice[0].confirmed);
        assert_false(out.choice[0].speedup.value > 1);
        assert_true(t_is_default(&world, &out.choice[0].best.candidate));
    }
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

static void test_full_journal(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    t_world_case(&world, &ctx, 1, 1, 6);
    world.journal.full_at = 10;
    assert_int_equal(t_world_run(&world, "random", 100, 4, &out), 0);
    assert_int_equal(out.stopped, WS_EFULL);
    assert_int_equal(out.answered, 10); /* the one not kept, too */
    assert_false(world.journal.busy);
    ws__outcome_clear(ctx, &out);
    world.journal.busy = true;
    assert_int_equal(t_world_run(&world, "random", 100, 4, &out), WS_EBUSY);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

static void test_hard_error(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    t_world_case(&world, &ctx, 1, 1, 6);
    world.stop_at = 5;
    world.stop_code = WS_EBUG;
    assert_int_equal(t_world_run(&world, "random", 100, 1, &out), WS_EBUG);
    assert_null(out.choice);
    assert_false(world.journal.busy);
    /* A reference that never worked; one that ends in between. */
    world.stop_code = WS_EREFERENCE;
    assert_int_equal(t_world_run(&world, "random", 100, 1, &out), 0);
    assert_int_equal(out.stopped, WS_EREFERENCE);
    assert_int_equal(out.answered, 4);
    assert_true(out.choice[0].have_default);
    ws__outcome_clear(ctx, &out);
    t_journal_clear(&world.journal);
    world.stop_at = 1;
    world.answers = 0;
    assert_int_equal(t_world_run(&world, "random", 100, 1, &out),
                     WS_EREFERENCE);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

/* A recording that holds only a part: misses are filtered, not failures. */
static void test_miss(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    t_world_case(&world, &ctx, 1, 1, 3);
    world.stop_at = 21;
    world.stop_code = WS_EMISS;
    assert_int_equal(t_world_run(&world, "grid", 0, 1, &out), 0);
    assert_int_equal(out.stopped, 0);
    assert_int_equal(out.filtered, 0);
    assert_int_equal(out.missed, 54 - 20);
    assert_int_equal(out.answered, 20);
    assert_int_equal(world.journal.n, 20);
    assert_true(out.choice[0].have_best);
    assert_false(out.choice[0].confirmed);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

/* What another run measured is not measured again, failures included. */
static void test_reuse(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx, *ctx2;
    size_t singles = 0;

    (void)state;
    t_world_case(&other, &ctx2, 1, 2, 4);
    other.fail_one_in = 5;
    assert_int_equal(t_world_run(&other, "grid", 0, 2, &out), 0);
    ws__outcome_clear(ctx2, &out);
    t_world_case(&world, &ctx, 1, 2, 4);
    world.fail_one_in = 5;
    world.journal.elsewhere = &other.journal;
    assert_int_equal(t_world_run(&world, "random", 0, 2, &out), 0);
    for (size_t i = 0; i < world.journal.n; i++) {
        if (world.journal.rec[i].n > 1 ||
            world.journal.rec[i].q.effort == WS__NORMAL)
            continue; /* a default is measured anew */
        singles++;
        assert_int_equal(world.journal.rec[i].t[0].spent_ns, 0); /* here */
    }
    assert_int_equal(singles, 2 * 127);
    assert_int_equal(out.reused, singles);
    assert_int_equal(world.answers, world.journal.n - singles);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    t_world_free(&other);
    ws_ctx_free(ctx);
    ws_ctx_free(ctx2);
}

/* Of another run only what was timed, or failed, is an answer. */
static void twice_as_fast(struct t_world *w, const struct ws__question *q,
                          struct ws__trial *out)
{
    (void)w;
    for (size_t i = 0; i < out[0].nsample && !q->pair; i++)
        out[0].sample_ns[i] /= 2;
}

/* Was what a pair compares the default with measured in this run? */
static bool measured_here(const struct t_journal *j,
                          const struct ws__question *pair)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->rec[i].n == 1 && j->rec[i].t[0].spent_ns > 0 &&
            t_same(&j->rec[i].q.a, &pair->b))
            return true;
    return false;
}

/* Trials of a day when the machine was faster do not crowd out today's. */
static void test_old_times(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx, *ctx2;
    size_t fresh = 0, pairs = 0;

    (void)state;
    t_world_case(&other, &ctx2, 1, 1, 4);
    other.change = twice_as_fast;
    assert_int_equal(t_world_run(&other, "grid", 20, 2, &out), 0);
    ws__outcome_clear(ctx2, &out);
    t_world_case(&world, &ctx, 1, 1, 4);
    world.journal.elsewhere = &other.journal;
    assert_int_equal(t_world_run(&world, "grid", 0, 2, &out), 0);
    assert_int_equal(out.reused, 20);
    for (size_t i = 0; i < world.journal.n; i++) {
        const struct ws__question *q = &world.journal.rec[i].q;

        if (!q->pair || !t_is_default(&world, &q->a))
            continue;
        pairs++;
        fresh += measured_here(&world.journal, q);
    }
    assert_int_equal(pairs, 3);
    assert_int_equal(fresh, 1);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    t_world_free(&other);
    ws_ctx_free(ctx);
    ws_ctx_free(ctx2);
}

static void test_reuse_is_whole(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx, *ctx2;

    (void)state;
    t_world_case(&other, &ctx2, 1, 1, 3);
    assert_int_equal(t_world_run(&other, "grid", 0, 1, &out), 0);
    ws__outcome_clear(ctx2, &out);
    for (size_t i = 0; i < other.journal.n; i++)
        other.journal.rec[i].t[0].did = WS__WANT_BUILD;
    t_world_case(&world, &ctx, 1, 1, 3);
    world.journal.elsewhere = &other.journal;
    assert_int_equal(t_world_run(&world, "grid", 0, 5, &out), 0);
    assert_int_equal(out.reused, 0);
    assert_int_equal(world.answers, world.journal.n);
    for (size_t i = 0; i < world.journal.n; i++) /* repeats take no number */
        assert_int_equal(world.journal.rec[i].q.id, i + 1);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    t_world_free(&other);
    ws_ctx_free(ctx);
    ws_ctx_free(ctx2);
}

/* ---- evidence ------------------------------------------------------------ */

static void set_times(struct ws__trial *t, const double ns[T_SAMPLES])
{
    assert_int_equal(t->nsample, T_SAMPLES);
    memcpy(t->sample_ns, ns, T_SAMPLES * sizeof(*ns));
}

static const double plain[T_SAMPLES] = {100, 100, 100, 100, 100, 100, 100};
static const double vague[T_SAMPLES] = {60, 140, 60, 140, 60, 140, 60};
static const double slower[T_SAMPLES] = {120, 120, 120, 120, 120, 120, 120};

/* Faster by its median, but the interval reaches over 1. */
static void all_vague(struct t_world *w, const struct ws__question *q,
                      struct ws__trial *out)
{
    set_times(&out[0], t_is_default(w, &q->a) ? plain : vague);
    if (q->pair)
        set_times(&out[1], vague);
}

static void all_slower(struct t_world *w, const struct ws__question *q,
                       struct ws__trial *out)
{
    set_times(&out[0], t_is_default(w, &q->a) ? plain : slower);
    assert_false(q->pair);
}

/* The second pair is the best supported, the third has the best median. */
static void third_flatters(struct t_world *w, const struct ws__question *q,
                           struct ws__trial *out)
{
    static const double b[4][T_SAMPLES] = {
        {60, 140, 60, 140, 60, 140, 60},
        {95, 95, 95, 95, 95, 95, 50},
        {50, 98, 50, 98, 50, 98, 50},
        {101, 95, 101, 95, 101, 95, 101},
    };

    if (!q->pair)
        return;
    assert_int_equal(t_is_default(w, &q->a), w->pairs < 3);
    set_times(&out[0], plain);
    set_times(&out[1], b[w->pairs]);
}

/* Beside the leader it is faster, too. */
static void third_is_better(struct t_world *w, const struct ws__question *q,
                            struct ws__trial *out)
{
    third_flatters(w, q, out);
    if (w->pairs == 3)
        set_times(&out[0], slower);
}

/* The leader turns out wrong beside it, and so does the third itself. */
static void leader_fails(struct t_world *w, const struct ws__question *q,
                         struct ws__trial *out)
{
    third_flatters(w, q, out);
    if (w->pairs == 3)
        out[0].verdict = WS__V_WRONG;
}

static void both_fail(struct t_world *w, const struct ws__question *q,
                      struct ws__trial *out)
{
    leader_fails(w, q, out);
    if (w->pairs == 3)
        out[1].verdict = WS__V_WRONG;
}

/* The default was right when it was screened and is wrong in the pairs; the
 * last question is for the two best of the others. */
static void default_turns_wrong(struct t_world *w, const struct ws__question *q,
                                struct ws__trial *out)
{
    if (q->pair && t_is_default(w, &q->a))
        out[0].verdict = WS__V_WRONG;
}

/* As that, but each pair leaves open whose fault it was. */
static void both_turn_wrong(struct t_world *w, const struct ws__question *q,
                            struct ws__trial *out)
{
    default_turns_wrong(w, q, out);
    if (q->pair && t_is_default(w, &q->a))
        out[1].verdict = WS__V_WRONG;
    if (!q->pair && q->effort == WS__CONFIRM)
        out[0].verdict = WS__V_WRONG;
}

static void one_turns_wrong(struct t_world *w, const struct ws__question *q,
                            struct ws__trial *out)
{
    if (q->pair && w->pairs == 1)
        out[1].verdict = WS__V_WRONG;
}

/* A finding of the sanitizer: in what was chosen, or in everything. */
static void best_is_unsound(struct t_world *w, const struct ws__question *q,
                            struct ws__trial *out)
{
    third_is_better(w, q, out);
    if (q->want & WS__WANT_SANITIZER && !t_is_default(w, &q->a))
        out[0].verdict = WS__V_WRONG;
}

static void all_unsound(struct t_world *w, const struct ws__question *q,
                        struct ws__trial *out)
{
    third_is_better(w, q, out);
    if (q->want & WS__WANT_SANITIZER)
        out[0].verdict = WS__V_WRONG;
}

/* Nothing is faster, and the default is wrong where nobody looked. */
static void default_is_unproven(struct t_world *w, const struct ws__question *q,
                                struct ws__trial *out)
{
    all_slower(w, q, out);
    if (q->want & WS__WANT_PROOF && !q->pair)
        out[0].verdict = WS__V_WRONG;
}

/* The one that leads, or all but the default, or the default that lost, is
 * wrong on what nobody asked for. */
static void leader_is_unproven(struct t_world *w, const struct ws__question *q,
                               struct ws__trial *out)
{
    third_flatters(w, q, out);
    if (q->want & WS__WANT_PROOF && !t_is_default(w, &q->a) && w->proofs == 0)
        out[0].verdict = WS__V_WRONG;
}

static void none_is_proven(struct t_world *w, const struct ws__question *q,
                           struct ws__trial *out)
{
    third_flatters(w, q, out);
    if (q->want & WS__WANT_PROOF && !t_is_default(w, &q->a))
        out[0].verdict = WS__V_WRONG;
}

static void loser_is_unproven(struct t_world *w, const struct ws__question *q,
                              struct ws__trial *out)
{
    third_flatters(w, q, out);
    if (q->want & WS__WANT_PROOF && t_is_default(w, &q->a))
        out[0].verdict = WS__V_WRONG;
}

/* Both drift alike: only their rounds together tell. */
static void drifting(struct t_world *w, const struct ws__question *q,
                     struct ws__trial *out)
{
    static const double a[T_SAMPLES] = {80, 90, 100, 110, 120, 130, 140};

    (void)w;
    for (size_t i = 0; q->pair && i < T_SAMPLES; i++) {
        out[0].sample_ns[i] = a[i];
        out[1].sample_ns[i] = a[i] * 0.97;
    }
}

static bool world_prove, world_sanitize;

/* The world after one run by `change`, stopped at answer stop_at. */
static struct ws__choice *
evidence(void (*change)(struct t_world *, const struct ws__question *,
                        struct ws__trial *),
         size_t stop_at, struct ws__outcome *out, struct ws_ctx **ctx)
{
    t_world_case(&world, ctx, 1, 1, 3);
    world.change = change;
    world.prove = world_prove;
    world.sanitize = world_sanitize;
    world.stop_at = stop_at;
    assert_int_equal(t_world_run(&world, "grid", 0, 1, out), 0);
    return &out->choice[0];
}

static void end_evidence(struct ws__outcome *out, struct ws_ctx *ctx)
{
    ws__outcome_clear(ctx, out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

static void test_sanitizer(void **state)
{
    struct ws__outcome out;
    struct ws__choice *c;
    struct ws_ctx *ctx;

    (void)state;
    world_sanitize = true;
    c = evidence(third_is_better, 0, &out, &ctx);
    assert_int_equal(world.sanitized, 1);
    assert_true(c->best.sample_ns[0] == 50 && c->speedup.lo > 1);
    end_evidence(&out, ctx);

    c = evidence(best_is_unsound, 0, &out, &ctx);
    assert_int_equal(world.sanitized, 3); /* the runner-up and the default */
    assert_true(t_is_default(&world, &c->best.candidate));
    assert_true(c->speedup.lo >= 1 && c->speedup.hi <= 1);
    assert_int_equal(c->failure.verdict, WS__V_WRONG);
    end_evidence(&out, ctx);

    c = evidence(all_unsound, 0, &out, &ctx);
    assert_int_equal(world.sanitized, 4); /* and who was no better than it */
    assert_false(c->have_best || c->have_default);
    end_evidence(&out, ctx);
    world_sanitize = false;
}

/* Who comes after a choice that fails its proof; all of it once. */
static void test_runner_up(void **state)
{
    struct ws__outcome out;
    struct ws__choice *c;
    struct ws_ctx *ctx;

    (void)state;
    world_prove = true;
    c = evidence(third_flatters, 0, &out, &ctx);
    assert_int_equal(world.proofs, 2); /* the leader, the default */
    assert_true(c->best.sample_ns[0] == 95);
    end_evidence(&out, ctx);

    c = evidence(leader_is_unproven, 0, &out, &ctx);
    assert_int_equal(world.proofs, 3);
    assert_true(c->confirmed && c->best.sample_ns[0] == 50);
    assert_true(c->speedup.lo > 1 && c->have_default);
    assert_int_equal(c->failure.verdict, WS__V_WRONG);
    end_evidence(&out, ctx);

    c = evidence(none_is_proven, 0, &out, &ctx);
    assert_int_equal(world.proofs, 3);
    assert_true(c->have_best && t_is_default(&world, &c->best.candidate));
    assert_false(c->confirmed);
    end_evidence(&out, ctx);

    /* Nothing is known of what is faster than something wrong. */
    c = evidence(loser_is_unproven, 0, &out, &ctx);
    assert_true(c->have_best && c->best.sample_ns[0] == 95);
    assert_false(c->have_default || c->confirmed);
    assert_true(c->speedup.lo >= 1 && c->speedup.hi <= 1);
    assert_int_equal(c->dflt.verdict, WS__V_WRONG);
    end_evidence(&out, ctx);
    world_prove = false;
}

/* What no pair has proven is proven alone, the default too. */
static void test_proof_alone(void **state)
{
    struct ws__outcome out;
    struct ws__choice *c;
    struct ws_ctx *ctx;

    (void)state;
    world_prove = true;
    c = evidence(all_slower, 0, &out, &ctx);
    assert_true(t_is_default(&world, &c->best.candidate));
    end_evidence(&out, ctx);

    c = evidence(default_is_unproven, 0, &out, &ctx);
    assert_false(c->have_best || c->have_default);
    assert_int_equal(c->failure.verdict, WS__V_WRONG);
    end_evidence(&out, ctx);
    world_prove = false;
}

static void test_evidence(void **state)
{
    struct ws__outcome out;
    struct ws__choice *c;
    struct ws_ctx *ctx;

    (void)state;
    for (size_t stop = 0; stop <= 20; stop += 20) {
        c = evidence(all_vague, stop, &out, &ctx);
        assert_int_equal(c->confirmed, !stop);
        assert_true(t_is_default(&world, &c->best.candidate));
        assert_true(c->speedup.lo >= 1 && c->speedup.hi <= 1);
        end_evidence(&out, ctx);
    }
    c = evidence(all_slower, 0, &out, &ctx); /* no finalist at all */
    assert_false(c->confirmed);
    assert_true(t_is_default(&world, &c->best.candidate));
    end_evidence(&out, ctx);

    c = evidence(third_flatters, 0, &out, &ctx);
    assert_int_equal(world.pairs, 4);
    assert_true(c->best.sample_ns[0] == 95);
    assert_true(c->speedup.lo > 1.05 && c->speedup.value < 1.06);
    end_evidence(&out, ctx);

    /* The evidence is its pair with the default, not the last one. */
    c = evidence(third_is_better, 0, &out, &ctx);
    assert_int_equal(world.pairs, 4);
    assert_true(c->best.sample_ns[0] == 50 && c->dflt.sample_ns[0] == 100);
    assert_true(c->speedup.lo > 1 && c->speedup.hi > 1.5);
    end_evidence(&out, ctx);

    c = evidence(leader_fails, 0, &out, &ctx);
    assert_true(c->best.sample_ns[0] == 50 && c->speedup.lo > 1);
    end_evidence(&out, ctx);
    c = evidence(both_fail, 0, &out, &ctx);
    assert_true(t_is_default(&world, &c->best.candidate));
    assert_true(c->speedup.lo >= 1 && c->speedup.hi <= 1);
    end_evidence(&out, ctx);

    c = evidence(default_turns_wrong, 0, &out, &ctx);
    assert_false(c->have_default || c->confirmed);
    assert_int_equal(c->dflt.verdict, WS__V_WRONG);
    assert_int_equal(c->failure.verdict, WS__V_WRONG);
    assert_true(t_is_default(&world, &c->failure.candidate));
    assert_true(c->have_best && !t_is_default(&world, &c->best.candidate));
    assert_int_equal(world.pairs, 4);
    assert_true(c->speedup.lo >= 1 && c->speedup.hi <= 1);
    end_evidence(&out, ctx);

    c = evidence(both_turn_wrong, 0, &out, &ctx);
    assert_false(c->have_default || c->have_best);
    assert_true(t_is_default(&world, &c->failure.candidate));
    assert_int_equal(c->dflt.verdict, WS__V_WRONG);
    end_evidence(&out, ctx);

    c = evidence(one_turns_wrong, 0, &out, &ctx);
    assert_true(c->have_default && c->have_best);
    assert_int_equal(c->failure.verdict, WS__V_WRONG);
    assert_false(t_is_default(&world, &c->failure.candidate));
    assert_false(t_same(&c->failure.candidate, &c->best.candidate));
    end_evidence(&out, ctx);

    c = evidence(drifting, 0, &out, &ctx);
    assert_false(t_is_default(&world, &c->best.candidate));
    assert_true(c->speedup.lo > 1.03 && c->speedup.hi < 1.04);
    end_evidence(&out, ctx);
}

/* On the second of two workloads of one shape: 0 all are right, 1 who is not
 * the default is wrong, 2 the default, too. */
static int wrong_on_second;

static void second_differs(struct t_world *w, const struct ws__question *q,
                           struct ws__trial *out)
{
    if (q->workload != 1)
        return;
    if (wrong_on_second && !t_is_default(w, &q->a))
        out[0].verdict = WS__V_WRONG;
    if (q->pair && wrong_on_second)
        out[1].verdict = WS__V_WRONG;
    if (wrong_on_second == 2)
        out[0].verdict = WS__V_WRONG;
}

/* A choice answers for a shape only if it is right on all of its workloads. */
static void test_one_shape(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    for (wrong_on_second = 0; wrong_on_second < 3; wrong_on_second++) {
        t_world_case(&world, &ctx, 1, 2, 4);
        world.work[1].axis[0] = world.work[0].axis[0];
        world.change = second_differs;
        assert_int_equal(t_world_run(&world, "grid", 0, 2, &out), 0);
        assert_true(out.choice[0].have_best);
        assert_false(t_is_default(&world, &out.choice[0].best.candidate));
        assert_int_equal(out.choice[0].speaks, wrong_on_second == 0);
        /* The second's choice is the default, right on the first, too. */
        assert_int_equal(out.choice[1].speaks, wrong_on_second == 1);
        assert_int_equal(out.choice[1].have_best, wrong_on_second < 2);
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(out.choice[i].barred, wrong_on_second == 2);
        ws__outcome_clear(ctx, &out);
        t_world_free(&world);
        ws_ctx_free(ctx);
    }
    /* Alone of their shapes both speak. */
    wrong_on_second = 1;
    t_world_case(&world, &ctx, 1, 2, 4);
    world.change = second_differs;
    assert_int_equal(t_world_run(&world, "grid", 0, 2, &out), 0);
    assert_true(out.choice[0].speaks && out.choice[1].speaks);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

static void all_alike(struct t_world *w, const struct ws__question *q,
                      struct ws__trial *out)
{
    (void)w;
    set_times(&out[0], plain);
    if (q->pair)
        set_times(&out[1], plain);
}

/* Of equals the first that were screened are compared. */
static void test_ties(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;
    size_t at = 1;

    (void)state;
    evidence(all_alike, 0, &out, &ctx);
    assert_int_equal(world.pairs, 3);
    for (size_t i = 0; i < 3; i++) {
        struct t_record *pair = &world.journal.rec[world.journal.n - 3 + i];

        assert_true(pair->q.pair);
        assert_true(t_same(&pair->q.b, &world.journal.rec[at++].q.a));
    }
    end_evidence(&out, ctx);
}

static void first_wins(struct t_world *w, const struct ws__question *q,
                       struct ws__trial *out)
{
    (void)w;
    if (!q->pair)
        return;
    set_times(&out[0], plain);
    set_times(&out[1], slower);
}

static void second_fails(struct t_world *w, const struct ws__question *q,
                         struct ws__trial *out)
{
    (void)w;
    if (q->pair)
        out[1].verdict = WS__V_WRONG;
}

static void one_right(struct t_world *w, const struct ws__question *q,
                      struct ws__trial *out)
{
    (void)q;
    if (w->answers != 5)
        out[0].verdict = WS__V_WRONG;
    if (w->answers > 50)
        out[0].verdict = WS__V_OK;
}

static void test_evidence_without_default(void **state)
{
    void (*const change[])(struct t_world *, const struct ws__question *,
                           struct ws__trial *) = {first_wins, second_fails};
    struct t_record *last;
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(change); i++) {
        t_world_case(&world, &ctx, 1, 1, 3);
        world.default_fails = true;
        world.change = change[i];
        assert_int_equal(t_world_run(&world, "grid", 0, 1, &out), 0);
        last = &world.journal.rec[world.journal.n - 1];
        assert_true(last->q.pair);
        assert_true(t_same(&out.choice[0].best.candidate, &last->q.a));
        end_evidence(&out, ctx);
    }
    /* One alone is measured again alone. */
    t_world_case(&world, &ctx, 1, 1, 3);
    world.change = one_right;
    assert_int_equal(t_world_run(&world, "grid", 40, 1, &out), 0);
    last = &world.journal.rec[world.journal.n - 1];
    assert_int_equal(last->q.effort, WS__CONFIRM);
    assert_false(last->q.pair);
    end_evidence(&out, ctx);
}

/* Time that earlier processes spent counts. */
static void test_time_is_kept(void **state)
{
    struct ws__evaluator ev = {&t_evaluator_ops, &world};
    struct ws__journal j = {&t_journal_ops, &world.journal};
    struct ws__engine_opts o = {.strategy = "random",
                                .seed = 1,
                                .budget_ns = UINT64_C(3600000000000)};
    struct ws__run run = {.name = "toy"};
    struct ws__outcome out;
    struct ws_ctx *ctx;
    size_t answers;

    (void)state;
    t_world_case(&world, &ctx, 1, 1, 6);
    assert_int_equal(t_world_run(&world, "random", 10, 1, &out), 0);
    ws__outcome_clear(ctx, &out);
    answers = world.answers;
    world.journal.rec[3].t[0].spent_ns = o.budget_ns;
    assert_int_equal(ws__engine_run(&world.p, &ev, &j, &run, &o, &out), 0);
    assert_int_equal(world.answers, answers);
    end_evidence(&out, ctx);
}

/* What a constraint prunes is not searched, but a default is measured. */
static void test_default_pruned(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    for (int prune = 0; prune <= 1; prune++) {
        ctx = t_ctx(NULL);
        t_world_init(&world, ctx, 1, 2, 4, true);
        world.kernels[0].constraint[1].prune = prune;
        assert_int_equal(t_world_run(&world, "grid", 0, 1, &out), 0);
        assert_int_equal(out.choice[1].have_default, prune);
        assert_int_equal(out.choice[1].have_best, prune);
        assert_int_equal(out.choice[1].verdicts[WS__V_OK], 0);
        assert_true(out.choice[0].verdicts[WS__V_OK] > 10);
        ws__outcome_clear(ctx, &out);
        t_world_free(&world);
        ws_ctx_free(ctx);
    }
}

static void test_default_fails(void **state)
{
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    for (size_t values = 1; values <= 4; values += 3) {
        t_world_case(&world, &ctx, 1, 1, values);
        world.default_fails = true;
        assert_int_equal(t_world_run(&world, "grid", 0, 1, &out), 0);
        assert_false(out.choice[0].have_default);
        assert_int_equal(out.choice[0].dflt.verdict, WS__V_BUILD);
        assert_int_equal(out.choice[0].have_best, values > 1);
        assert_false(out.choice[0].confirmed);
        if (values > 1)
            assert_true(world.journal.rec[world.journal.n - 1].q.pair);
        ws__outcome_clear(ctx, &out);
        t_world_free(&world);
        ws_ctx_free(ctx);
    }
}

static void count_progress(void *user, const struct ws__progress *p)
{
    struct ws__progress *last = user;
    bool same = last->stage && !strcmp(p->stage, last->stage);

    assert_true(!same || p->done >= last->done);
    assert_non_null(p->trial);
    assert_true(p->geomean_speedup >= 1);
    assert_true(p->best_ns > 0 && p->best_ns <= p->default_ns);
    *last = *p;
}

static void test_progress(void **state)
{
    struct ws__evaluator ev = {&t_evaluator_ops, &world};
    struct ws__progress last = {0};
    struct ws__engine_opts o = {.strategy = "random",
                                .budget_trials = 12,
                                .parallel = 2,
                                .progress = count_progress,
                                .user = &last};
    struct ws__run run = {.name = "toy"};
    struct ws__outcome out;
    struct ws_ctx *ctx;

    (void)state;
    t_world_case(&world, &ctx, 1, 1, 5);
    assert_int_equal(ws__engine_run(&world.p, &ev, NULL, &run, &o, &out), 0);
    assert_string_equal(last.stage, "confirm"); /* there pairs are counted */
    assert_in_range(last.planned, 3, 4);
    assert_int_equal(last.done, last.planned);
    assert_int_equal(last.left_ns, 0);
    assert_true(last.best_ns < last.default_ns);
    assert_int_equal(out.choice[0].verdicts[WS__V_OK], 12);
    ws__outcome_clear(ctx, &out);
    t_world_free(&world);
    ws_ctx_free(ctx);
}

static void test_shuffle(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 200; n += 1 + n / 5) {
        struct ws__shuffle s;
        bool hit[200] = {false};

        ws__shuffle_init(&s, n, 42 + n);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t x = ws__shuffle_at(&s, i);

            assert_true(x < n);
            assert_false(hit[x]);
            hit[x] = true;
        }
    }
}

struct torture {
    const char *strategy;
    struct t_world *w;
};

/* Spaces belong to the context that fails; the world's kernels do not. */
static int torture_body(struct ws_ctx *ctx, void *user)
{
    struct torture *t = user;
    struct t_world *w = t->w;
    struct ws__space *mine[T_KERNELS * T_WORKLOADS] = {NULL};
    struct ws_ctx *safe = w->ctx;
    struct ws__outcome out = {0};
    int rc = 0;

    w->answers = 0;
    t_journal_clear(&w->journal);
    w->ctx = w->p.ctx = ctx;
    w->p.spaces = mine;
    for (size_t i = 0; i < w->p.nkernel * w->p.nworkload && rc >= 0; i++) {
        union wsrt_value vars[WS__MAX_SLOTS] = {
            {.i = (int64_t)(i % w->p.nworkload)}};

        rc = ws__space_new(ctx, &w->kernels[i / w->p.nworkload], vars, true,
                           true, &mine[i]);
    }
    if (rc >= 0)
        rc = t_world_run(w, t->strategy, 12, 3, &out);
    ws__outcome_clear(ctx, &out);
    for (size_t i = 0; i < WS_COUNT(mine); i++)
        ws__space_free(mine[i]);
    w->ctx = w->p.ctx = safe;
    w->p.spaces = w->space;
    assert_false(w->journal.busy);
    return rc;
}

static void test_torture(void **state)
{
    (void)state;
    for (size_t i = 0; ws__strategy_table[i]; i++) {
        struct torture t = {ws__strategy_table[i]->name, &world};
        struct ws_ctx *ctx;

        t_world_case(&world, &ctx, 2, 2, 4);
        world.fail_one_in = 4;
        t_world_filter(&world, 5);
        assert_true(t_torture(torture_body, &t) > 50);
        t_world_free(&world);
        ws_ctx_free(ctx);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_strategy),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_overrated),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_device_returns),
        cmocka_unit_test(test_finished),
        cmocka_unit_test(test_no_time),
        cmocka_unit_test(test_default_invalid),
        cmocka_unit_test(test_default_again),
        cmocka_unit_test(test_pairs_fail),
        cmocka_unit_test(test_full_journal),
        cmocka_unit_test(test_hard_error),
        cmocka_unit_test(test_miss),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_old_times),
        cmocka_unit_test(test_reuse_is_whole),
        cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_sanitizer),
        cmocka_unit_test(test_runner_up),
        cmocka_unit_test(test_proof_alone),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_one_shape),
        cmocka_unit_test(test_evidence_without_default),
        cmocka_unit_test(test_time_is_kept),
        cmocka_unit_test(test_default_fails),
        cmocka_unit_test(test_default_pruned),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_torture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
