/*
 * engine_confirm.c: which candidate is the best, by evidence.
 *
 * Screening ranks candidates by few samples, taken minutes apart; the best of
 * many noisy figures looks better than it is. So the first few of a workload
 * are measured again, each interleaved with the default in one block, and the
 * speed-up is the bootstrapped ratio of these paired samples alone.
 *
 * A candidate may replace the default if the lower end of its interval is
 * above 1. Of several such, the one with the highest lower end leads: a ratio
 * that is well supported beats one that is larger but vague. Ties go to the
 * larger ratio, then to the one screened first. Ratios to the default come
 * from different blocks, so the leader and the one with the largest ratio of
 * the others are interleaved with each other at the end; the other one is
 * taken if that interval says that it is faster.
 *
 * What fails in a pair has failed, whatever it was when it was screened: a
 * candidate is no finalist any more, a default no default. If both failed the
 * same way, one may have pulled down the other: the default is asked alone.
 *
 * The best of several is taken, so the interval of each is that of as many
 * comparisons (Bonferroni), and the pairs of a workload run in a process of
 * their own, on inputs of their own; with it goes the proof: hidden shapes and
 * other families of values, once a candidate.
 *
 * If the default has no time, the two best candidates are interleaved with
 * each other (one alone is measured again alone): the best is known then, the
 * speed-up is not, and stays 1.
 *
 * If the run was stopped or no pair could be had (a recording without it),
 * the screening samples decide by the same rule, unpaired, and the choice is
 * not marked as confirmed.
 */
#include "search/engine.h"

#include <math.h>

#include "base/banned.h"

#define FINALISTS 3

/* A candidate that screened this much slower than the default is no finalist:
 * noise between two screenings is a few percent. */
#define HOPELESS 1.1

struct judged;

struct finals {
    struct ws__engine *e;
    const struct ws__answer **list; /* best first */
    struct ws__pending *batch;
    struct judged *judged; /* room for max */
    size_t max, n;
    uint32_t workload;
    int stopped;
    struct ws__choice *choice;
};

static bool is_ok(const struct ws__trial *t)
{
    return t->verdict == WS__V_OK && t->nsample;
}

static double score(const struct finals *f, const struct ws__answer *a)
{
    return ws__trial_score(f->e->ctx, &a->t[0]);
}

/* Puts an answer into the sorted list of the best `max`; earlier ones stay
 * before later ones of the same score. */
static void rank_in(struct finals *f, const struct ws__answer *a)
{
    double s = score(f, a);
    size_t i;

    if (f->n == f->max && s >= score(f, f->list[f->n - 1]))
        return;
    if (f->n < f->max)
        f->n++;
    for (i = f->n - 1; i > 0 && s < score(f, f->list[i - 1]); i--)
        f->list[i] = f->list[i - 1];
    f->list[i] = a;
}

static bool may_win(const struct finals *f, const struct ws__answer *a)
{
    const struct ws__workload_state *w = &f->e->work[f->workload];

    if (a->q.workload != f->workload || a->q.effort == WS__CONFIRM)
        return false;
    if (!is_ok(&a->t[0]) || a == w->dflt)
        return false;
    return !(w->default_ns > 0 && score(f, a) > w->default_ns * HOPELESS);
}

/* By another run, in which the machine may have been faster or slower. */
static bool is_old(const struct ws__answer *a)
{
    return a->t[0].spent_ns == 0;
}

static void find_finalists(struct finals *f)
{
    const struct ws__answer *fresh = NULL;
    bool all_old = true;

    f->n = 0;
    for (size_t i = 0; i < f->e->n; i++) {
        const struct ws__answer *a = f->e->answer[i];

        if (!may_win(f, a))
            continue;
        rank_in(f, a);
        if (!is_old(a) && (!fresh || score(f, a) < score(f, fresh)))
            fresh = a;
    }
    for (size_t i = 0; i < f->n; i++)
        all_old = all_old && is_old(f->list[i]);
    if (all_old && fresh) /* one at least that was measured today */
        f->list[f->n - 1] = fresh;
}

static bool has_default(const struct finals *f)
{
    const struct ws__answer *d = f->e->work[f->workload].dflt;

    return d && is_ok(&d->t[0]);
}

/* How many questions will be asked, for those who watch. */
static void plan_questions(struct finals *f)
{
    for (size_t w = 0; w < f->e->p->nworkload; w++) {
        f->workload = (uint32_t)w;
        find_finalists(f);
        f->e->pairs_planned += has_default(f) ? f->n + (f->n > 1) : f->n > 0;
    }
}

static bool failed(const struct ws__trial *t)
{
    return t->verdict != WS__V_OK && t->verdict != WS__V_NONE;
}

static bool is_failure(const struct ws__answer *a)
{
    return failed(&a->t[0]) && !a->missed &&
           (a->t[0].verdict != WS__V_FILTERED || a->q.effort == WS__NORMAL);
}

/* Counts what screening found and keeps the first failure of a workload. */
static int sum_up(struct ws__engine *e, struct ws__choice *choice)
{
    for (size_t i = 0; i < e->n; i++) {
        const struct ws__answer *a = e->answer[i];
        struct ws__choice *c = &choice[a->q.workload];

        if (a->q.effort == WS__SCREEN && !a->missed)
            c->verdicts[a->t[0].verdict & 15]++;
        if (a->q.effort == WS__CONFIRM || !is_failure(a) ||
            (c->failure.verdict != WS__V_NONE &&
             c->failure.question <= a->t[0].question))
            continue;
        ws__trial_clear(e->ctx, &c->failure);
        WS_TRY(ws__trial_copy(e->ctx, &a->t[0], &c->failure));
    }
    return 0;
}

static int keep_trial(struct finals *f, const struct ws__trial *from,
                      struct ws__trial *to)
{
    ws__trial_clear(f->e->ctx, to);
    return ws__trial_copy(f->e->ctx, from, to);
}

/* One more question of the batch; those not known are left out once the run
 * is stopped. */
static int add_question(struct finals *f, const struct ws__candidate *a,
                        const struct ws__candidate *b, size_t *n)
{
    struct ws__question q = {.a = *a, .workload = f->workload};

    q.effort = WS__CONFIRM;
    q.want = WS__WANT_PROOF;
    if (b) {
        q.pair = true;
        q.b = *b;
    }
    if (f->stopped && !ws__engine_find(f->e, ws__question_key(&q)))
        return 0;
    WS_TRY(ws__pending_make(f->e, &q, f->batch, *n));
    ++*n;
    return 0;
}

/* Answers the batch; one that a recording does not hold is skipped. Leaves
 * .ready NULL where there is no answer. */
static int answer_all(struct finals *f, size_t n)
{
    size_t at = 0, done;

    while (at < n && !f->stopped) {
        int rc = ws__engine_batch(f->e, f->batch + at, n - at, 0, &done);

        at += done;
        if (rc == WS_EMISS && !f->e->ev->ops->live) {
            at++;
            continue;
        }
        if (rc < 0 && !ws__engine_may_stop(f->e, rc))
            return rc;
        if (rc < 0)
            f->stopped = rc;
    }
    return 0;
}

static const struct ws__answer *answered(const struct ws__pending *p)
{
    return p->fresh ? NULL : p->ready;
}

/* n: of so many ratios the best will be taken. */
static int ratio_of(struct finals *f, const struct ws__trial *a,
                    const struct ws__trial *b, bool paired, uint64_t salt,
                    size_t n, struct ws__ratio *r)
{
    return ws__ratio_of_many(f->e->ctx, a->sample_ns, a->nsample, b->sample_ns,
                             b->nsample, paired && a->nsample == b->nsample,
                             f->e->opts->seed ^ salt, n, r);
}

/* A pair with the default, judged. */
struct judged {
    const struct ws__answer *answer;
    struct ws__ratio ratio;
};

static int take_pair(struct finals *f, const struct judged *j)
{
    const struct ws__answer *a = j->answer;
    struct ws__choice *c = f->choice;
    bool replaces = j->ratio.lo > 1;

    c->confirmed = true;
    c->pair_trial_a = a->t[0].id;
    c->pair_trial_b = a->t[1].id;
    WS_TRY(keep_trial(f, &a->t[0], &c->dflt));
    if (replaces)
        c->speedup = j->ratio;
    return keep_trial(f, &a->t[replaces], &c->best);
}

static bool better(const struct ws__ratio *r, const struct ws__ratio *best)
{
    return r->lo > best->lo || (r->lo == best->lo && r->value > best->value);
}

/* The pairs with the default into `all`; true in *some if one was measured. */
static int judge_pairs(struct finals *f, size_t n, struct judged *all,
                       size_t *nall, bool *some)
{
    *nall = 0;
    for (size_t i = 0; i < n; i++) {
        const struct ws__answer *a = answered(&f->batch[i]);
        struct judged *j = &all[*nall];

        if (!a || !is_ok(&a->t[0]))
            continue;
        *some = true;
        if (!is_ok(&a->t[1]))
            continue;
        j->answer = a;
        WS_TRY(ratio_of(f, &a->t[0], &a->t[1], true, a->key.lo, n, &j->ratio));
        ++*nall;
    }
    return 0;
}

static int keep_failure(struct finals *f, const struct ws__trial *t)
{
    if (f->choice->failure.verdict != WS__V_NONE)
        return 0;
    return keep_trial(f, t, &f->choice->failure);
}

/* The leader interleaved with its challenger: which of the two is taken; one
 * that fails now is not. */
static int challenge(struct finals *f, struct judged *leader,
                     struct judged *other, struct judged **taken)
{
    const struct ws__answer *a;
    struct ws__ratio r = {1, 1, 1};
    size_t n = 0;
    int rc = add_question(f, &leader->answer->q.b, &other->answer->q.b, &n);

    *taken = leader;
    if (rc >= 0)
        rc = answer_all(f, n);
    a = n ? answered(&f->batch[0]) : NULL;
    if (rc >= 0 && a && is_ok(&a->t[0]) && is_ok(&a->t[1]))
        rc = ratio_of(f, &a->t[0], &a->t[1], true, a->key.lo, 1, &r);
    if (a && (!is_ok(&a->t[0]) || r.lo > 1))
        *taken = other;
    if (a && !is_ok(&a->t[0]) && !is_ok(&a->t[1]))
        other->ratio.lo = 0; /* its default stays */
    for (int i = 0; a && rc >= 0 && i < 2; i++)
        if (failed(&a->t[i]))
            rc = keep_failure(f, &a->t[i]);
    ws__pending_clear(f->e, f->batch, n);
    return rc < 0 ? rc : 0;
}

static int take_winner(struct finals *f, struct judged *all, size_t n)
{
    struct judged *leader = NULL, *other = NULL;

    for (size_t i = 0; i < n; i++)
        if (!leader || better(&all[i].ratio, &leader->ratio))
            leader = &all[i];
    for (size_t i = 0; i < n; i++)
        if (&all[i] != leader && all[i].ratio.lo > 1 &&
            (!other || all[i].ratio.value > other->ratio.value))
            other = &all[i];
    if (other)
        WS_TRY(challenge(f, leader, other, &leader));
    else if (f->n > 1)
        f->e->pairs_planned--; /* the last pair is not needed */
    return leader ? take_pair(f, leader) : 0;
}

static bool has_pair(const struct finals *f, const struct ws__answer *a)
{
    struct ws__question q = {.a = f->e->work[f->workload].dflt->q.a,
                             .b = a->q.a,
                             .pair = true,
                             .workload = f->workload,
                             .effort = WS__CONFIRM};

    return ws__engine_find(f->e, ws__question_key(&q));
}

/* The best one of which no pair says more. */
static int judge_screening(struct finals *f)
{
    const struct ws__answer *d = f->e->work[f->workload].dflt;
    const struct ws__answer *a = NULL;
    struct ws__ratio r;

    for (size_t i = 0; i < f->n && !a; i++)
        if (!has_pair(f, f->list[i]))
            a = f->list[i];
    if (!a)
        return 0;
    WS_TRY(ratio_of(f, &d->t[0], &a->t[0], false, a->key.lo, f->n, &r));
    if (r.lo <= 1)
        return 0;
    f->choice->speedup = r;
    return keep_trial(f, &a->t[0], &f->choice->best);
}

/* Takes out of the list who failed in its pair. *dflt: a failure of the
 * default that is its own, or NULL; *doubt: one that both had. */
static int drop_failed(struct finals *f, size_t n,
                       const struct ws__trial **dflt, bool *doubt)
{
    size_t left = 0;

    for (size_t i = 0; i < f->n; i++) {
        const struct ws__answer *a = i < n ? answered(&f->batch[i]) : NULL;

        if (a && failed(&a->t[0]) && a->t[0].verdict == a->t[1].verdict)
            *doubt = true;
        else if (a && failed(&a->t[0]) && !*dflt)
            *dflt = &a->t[0];
        if (a && failed(&a->t[1]))
            WS_TRY(keep_failure(f, &a->t[1]));
        else
            f->list[left++] = f->list[i];
    }
    f->n = left;
    return 0;
}

/* *dflt: its failure, if it fails alone, too. */
static int ask_alone(struct finals *f, const struct ws__trial **dflt)
{
    const struct ws__answer *a;
    size_t n = 0;
    int rc = add_question(f, &f->e->work[f->workload].dflt->q.a, NULL, &n);

    if (rc >= 0)
        rc = answer_all(f, n);
    a = n ? answered(&f->batch[0]) : NULL;
    if (rc >= 0 && a && failed(&a->t[0]))
        *dflt = &a->t[0];
    ws__pending_clear(f->e, f->batch, n);
    return rc < 0 ? rc : 0;
}

static int without_default(struct finals *f);

/* A default that was right when it was screened and is not any more. */
static int default_failed(struct finals *f, const struct ws__trial *t)
{
    struct ws__choice *c = f->choice;

    c->have_default = c->have_best = false;
    ws__trial_clear(f->e->ctx, &c->best);
    ws__trial_clear(f->e->ctx, &c->failure);
    WS_TRY(keep_trial(f, t, &c->failure));
    WS_TRY(keep_trial(f, t, &c->dflt));
    return without_default(f);
}

static int against_default(struct finals *f)
{
    const struct ws__answer *d = f->e->work[f->workload].dflt;
    const struct ws__trial *bad = NULL;
    bool some = false, doubt = false;
    size_t n = 0, nall = 0;
    int rc = 0;

    f->choice->have_default = f->choice->have_best = true;
    WS_TRY(keep_trial(f, &d->t[0], &f->choice->best));
    for (size_t i = 0; i < f->n && rc >= 0; i++)
        rc = add_question(f, &d->q.a, &f->list[i]->q.a, &n);
    if (rc >= 0)
        rc = answer_all(f, n);
    if (rc >= 0)
        rc = judge_pairs(f, n, f->judged, &nall, &some);
    if (rc >= 0)
        rc = drop_failed(f, n, &bad, &doubt);
    ws__pending_clear(f->e, f->batch, n);
    if (rc >= 0 && doubt && !bad)
        rc = ask_alone(f, &bad);
    if (rc >= 0 && bad)
        rc = default_failed(f, bad);
    else if (rc >= 0)
        rc = some ? take_winner(f, f->judged, nall) : judge_screening(f);
    return rc;
}

/* Of a pair without the default: the second unless the first is faster or
 * the only one that is right. */
static int judge_two(struct finals *f, const struct ws__answer *a)
{
    struct ws__ratio r;
    size_t best = 1;

    f->choice->have_best = is_ok(&a->t[0]) || is_ok(&a->t[1]);
    if (!f->choice->have_best)
        return 0;
    if (!is_ok(&a->t[1])) {
        best = 0;
    } else if (is_ok(&a->t[0])) {
        WS_TRY(ratio_of(f, &a->t[0], &a->t[1], true, a->key.lo, 1, &r));
        best = r.hi >= 1;
    }
    f->choice->pair_trial_a = a->t[0].id;
    f->choice->pair_trial_b = a->t[1].id;
    return keep_trial(f, &a->t[best], &f->choice->best);
}

static int without_default(struct finals *f)
{
    const struct ws__answer *a;
    size_t n = 0;
    int rc;

    if (!f->n)
        return 0;
    f->choice->have_best = true;
    WS_TRY(keep_trial(f, &f->list[0]->t[0], &f->choice->best));
    if (f->n > 1)
        rc = add_question(f, &f->list[1]->q.a, &f->list[0]->q.a, &n);
    else
        rc = add_question(f, &f->list[0]->q.a, NULL, &n);
    if (rc >= 0)
        rc = answer_all(f, n);
    a = n ? answered(&f->batch[0]) : NULL;
    if (rc >= 0 && a && a->n == 2)
        rc = judge_two(f, a);
    else if (rc >= 0 && a && is_ok(&a->t[0]))
        rc = keep_trial(f, &a->t[0], &f->choice->best);
    else if (a)
        f->choice->have_best = false;
    ws__pending_clear(f->e, f->batch, n);
    return rc;
}

/* --- gates of what is chosen -----------------------------------------------
 */

static bool same(const struct ws__candidate *a, const struct ws__candidate *b)
{
    return a->kernel == b->kernel && ws__config_eq(&a->config, &b->config);
}

/* The trial of a question that wanted `gate` of the candidate: a proof on this
 * workload, a sanitizer's on whichever. */
static const struct ws__trial *
find_gate(const struct finals *f, const struct ws__candidate *c, unsigned gate)
{
    for (size_t i = 0; i < f->e->n; i++) {
        const struct ws__answer *a = f->e->answer[i];

        if (!(a->q.want & gate) ||
            (gate == WS__WANT_PROOF && a->q.workload != f->workload))
            continue;
        if (same(&a->q.a, c))
            return &a->t[0];
        if (a->q.pair && same(&a->q.b, c))
            return &a->t[1];
    }
    return NULL;
}

/* *t: NULL if the run is stopped. */
static int ask_gate(struct finals *f, const struct ws__candidate *c,
                    unsigned gate, const struct ws__trial **t)
{
    struct ws__question q = {.a = *c,
                             .workload = f->workload,
                             .effort = WS__CONFIRM,
                             .want = gate};
    int rc;

    *t = find_gate(f, c, gate);
    if (*t || f->stopped)
        return 0;
    WS_TRY(ws__pending_make(f->e, &q, f->batch, 0));
    rc = answer_all(f, 1);
    ws__pending_clear(f->e, f->batch, 1);
    *t = find_gate(f, c, gate);
    return rc;
}

/* A choice that fails is none: the default stays, unless it is the one. */
static int pass_gate(struct finals *f, unsigned gate)
{
    struct ws__choice *c = f->choice;
    const struct ws__trial *t;
    bool is_default;

    if (!c->have_best)
        return 0;
    WS_TRY(ask_gate(f, &c->best.candidate, gate, &t));
    for (int g = 0; t && g < WS__NGATE; g++)
        if (ws__gate_end(t, (enum ws__gate)g) == WS__GATE_PASSED)
            c->passed |= 1u << g;
    if (!t || !failed(t))
        return 0;
    is_default =
        c->have_default && same(&c->best.candidate, &c->dflt.candidate);
    WS_TRY(keep_failure(f, t));
    c->speedup = (struct ws__ratio){1, 1, 1};
    c->confirmed = false;
    c->passed = 0;
    c->pair_trial_a = c->pair_trial_b = 0;
    c->have_best = c->have_default && !is_default;
    if (is_default)
        c->have_default = false;
    if (!c->have_best)
        return 0;
    WS_TRY(keep_trial(f, &c->dflt, &c->best));
    return pass_gate(f, gate);
}

static int pass_gates(struct finals *f)
{
    if (f->e->opts->prove)
        WS_TRY(pass_gate(f, WS__WANT_PROOF));
    return f->e->opts->sanitize ? pass_gate(f, WS__WANT_SANITIZER) : 0;
}

static int choose(struct finals *f)
{
    const struct ws__answer *d = f->e->work[f->workload].dflt;

    f->choice->speedup = (struct ws__ratio){1, 1, 1};
    find_finalists(f);
    if (d)
        WS_TRY(keep_trial(f, &d->t[0], &f->choice->dflt));
    return has_default(f) ? against_default(f) : without_default(f);
}

int ws__engine_confirm(struct ws__engine *e, int stopped,
                       struct ws__choice *choice)
{
    struct finals f = {.e = e, .stopped = stopped};
    int rc = 0;

    f.max = e->opts->finalists ? e->opts->finalists : FINALISTS;
    e->stage = "confirm";
    f.list = ws__alloc(e->ctx, f.max, sizeof(*f.list));
    f.batch = ws__alloc(e->ctx, f.max, sizeof(*f.batch));
    f.judged = ws__alloc(e->ctx, f.max, sizeof(*f.judged));
    if (!f.list || !f.batch || !f.judged)
        rc = WS_ENOMEM;
    if (rc >= 0) {
        plan_questions(&f);
        rc = sum_up(e, choice);
    }
    for (size_t w = 0; w < e->p->nworkload && rc >= 0; w++) {
        f.workload = (uint32_t)w;
        f.choice = &choice[w];
        rc = choose(&f);
        if (rc >= 0)
            rc = pass_gates(&f);
    }
    ws__free(e->ctx, f.list);
    ws__free(e->ctx, f.batch);
    ws__free(e->ctx, f.judged);
    return rc < 0 ? rc : f.stopped;
}
