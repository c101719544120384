/*
 * engine_gates.c: what is chosen is proven.
 *
 * Hidden shapes, other families of values and the vendor's sanitizer take too
 * long for every candidate, and longer than what a pair measures. They are
 * asked for when the pairs have decided, of what they chose and of every
 * default, for all workloads at once: so an evaluator may work on several
 * gates at a time, while nothing is timed.
 *
 * A choice that fails is none: its runner-up takes its place, the finalist
 * with the next best interval above 1, then the default. A default that fails
 * is no default; without one the other finalists are what is left. Whoever
 * comes to be chosen so has to pass, too, so there may be several rounds.
 */
#include "search/engine.h"

#include "base/banned.h"

/* The trial of a question that wanted `gate` of the candidate: a proof on this
 * workload, a sanitizer's on whichever; a failed one if there is one. */
static const struct ws__trial *
find_gate(const struct finals *f, const struct ws__candidate *c, unsigned gate)
{
    const struct ws__trial *found = NULL;

    for (size_t i = 0; i < f->e->n; i++) {
        const struct ws__answer *a = f->e->answer[i];

        if (!(a->q.want & gate) || a->q.pair || !ws__candidate_eq(&a->q.a, c) ||
            (gate == WS__WANT_PROOF && a->q.workload != f->workload))
            continue;
        if (!found || ws__has_failed(&a->t[0]))
            found = &a->t[0];
    }
    return found;
}

static const struct ws__trial *find_failure(const struct finals *f,
                                            const struct ws__candidate *c)
{
    const struct ws__trial *t = find_gate(f, c, WS__WANT_PROOF);

    if (!t || !ws__has_failed(t))
        t = find_gate(f, c, WS__WANT_SANITIZER);
    return t && ws__has_failed(t) ? t : NULL;
}

/* The gates that are wanted and of which nothing is known, if there are any. */
static int ask(struct finals *f, const struct ws__candidate *c, unsigned want,
               size_t *n)
{
    struct ws__question q = {.a = *c,
                             .workload = f->workload,
                             .effort = WS__CONFIRM};

    for (unsigned gate = WS__WANT_PROOF; gate <= WS__WANT_SANITIZER; gate *= 2)
        if (want & gate && !find_gate(f, c, gate))
            q.want |= gate;
    if (!q.want)
        return 0;
    WS_TRY(ws__pending_make(f->e, &q, f->batch, *n));
    ++*n;
    return 0;
}

static int ask_all(struct finals *f, size_t nwork, size_t *n)
{
    const struct ws__engine_opts *o = f->e->opts;
    unsigned proof = o->prove ? WS__WANT_PROOF : 0;
    unsigned all = proof | (o->sanitize ? WS__WANT_SANITIZER : 0);

    for (size_t w = 0; w < nwork; w++) {
        const struct ws__choice *c = f[w].choice;
        bool replaced =
            c->have_best && c->have_default &&
            !ws__candidate_eq(&c->best.candidate, &c->dflt.candidate);

        if (c->have_best)
            WS_TRY(ask(&f[w], &c->best.candidate, all, n));
        if (replaced)
            WS_TRY(ask(&f[w], &c->dflt.candidate, proof, n));
    }
    return 0;
}

/* It is a finalist no more. */
static void drop(struct finals *f, const struct ws__candidate *c)
{
    size_t n = 0, k = 0;

    for (size_t i = 0; i < f->n; i++)
        if (!ws__candidate_eq(&f->list[i]->q.a, c))
            f->list[n++] = f->list[i];
    for (size_t i = 0; i < f->njudged; i++)
        if (!ws__candidate_eq(&f->judged[i].answer->q.b, c))
            f->judged[k++] = f->judged[i];
    f->n = n;
    f->njudged = k;
}

static void forget_ratio(struct ws__choice *c)
{
    c->speedup = (struct ws__ratio){1, 1, 1};
    c->confirmed = false;
    c->pair_trial_a = c->pair_trial_b = 0;
}

/* The choice failed: who comes after it. */
static int take_next(struct finals *f)
{
    struct ws__choice *c = f->choice;
    struct judged *next = ws__finals_leader(f->judged, f->njudged);

    forget_ratio(c);
    c->have_best = c->have_default;
    if (!c->have_default) {
        ws__trial_clear(f->e->ctx, &c->best);
        return ws__finals_alone(f);
    }
    if (next && next->ratio.lo > 1)
        return ws__finals_take(f, next);
    return ws__finals_keep(f, &c->dflt, &c->best);
}

/* *changed: there is another choice, of which nothing may be known. */
static int settle(struct finals *f, bool *changed)
{
    struct ws__choice *c = f->choice;
    const struct ws__trial *best =
        c->have_best ? find_failure(f, &c->best.candidate) : NULL;
    const struct ws__trial *dflt =
        c->have_default ? find_failure(f, &c->dflt.candidate) : NULL;

    if (dflt) {
        WS_TRY(ws__finals_failure(f, dflt));
        WS_TRY(ws__finals_keep(f, dflt, &c->dflt));
        c->have_default = false;
        forget_ratio(c); /* to what is wrong */
        f->njudged = 0;
    }
    if (!best)
        return 0;
    WS_TRY(ws__finals_failure(f, best));
    drop(f, &best->candidate);
    *changed = true;
    return take_next(f);
}

static uint32_t passed_of(const struct ws__trial *t)
{
    return t ? ws__gates_passed(t) : 0;
}

static void note_passed(struct finals *f)
{
    struct ws__choice *c = f->choice;

    c->passed = 0;
    if (!c->have_best)
        return;
    c->passed = passed_of(find_gate(f, &c->best.candidate, WS__WANT_PROOF)) |
                passed_of(find_gate(f, &c->best.candidate, WS__WANT_SANITIZER));
}

int ws__finals_prove(struct finals *f, size_t n, int *stopped)
{
    bool changed = true;

    if (!n)
        return 0;
    while (changed) {
        size_t asked = 0;
        int rc = 0;

        changed = false;
        f->stopped = *stopped;
        if (!*stopped)
            rc = ask_all(f, n, &asked);
        if (rc >= 0)
            rc = ws__finals_answer(f, asked);
        ws__pending_clear(f->e, f->batch, asked);
        WS_TRY(rc);
        *stopped = f->stopped;
        for (size_t w = 0; w < n; w++) {
            f[w].stopped = *stopped;
            WS_TRY(settle(&f[w], &changed));
            *stopped = f[w].stopped;
        }
    }
    for (size_t w = 0; w < n; w++)
        note_passed(&f[w]);
    return 0;
}
