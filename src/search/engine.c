/*
 * engine.c: the ask/tell engine: defaults, screening, finalists.
 *
 * The discipline that makes a run resumable: ask up to `parallel` questions,
 * announce those that must be evaluated, answer them in the order asked, then
 * tell them all in that order. What a strategy sees is so a function of the
 * answers alone. A resumed run asks again; the answers that the journal holds
 * are told in place of evaluating, batch by batch, until the journal has no
 * more. If a budget cuts a batch short, the questions asked are a prefix of
 * the whole batch, so a larger budget continues where the smaller one ended.
 *
 * Budget: only screening questions that some run really answered count. What is
 * on record is told to a strategy with a tree even if none is left.
 * Repeats and filtered candidates are free; a strategy that asks nothing else
 * for very long is taken to be at its end.
 */
#include "search/engine.h"

#include "base/clock.h"

#include "base/banned.h"

/* Free answers in a row. A filter that leaves less than one in this many
 * configs deserves a constraint instead. */
#define IDLE_MAX 100000

static int check_arguments(const struct ws__problem_space *p,
                           const struct ws__engine_opts *o)
{
    if (!p->nkernel || !p->nworkload)
        return ws__fail(p->ctx, WS_EINVAL, "no %s to tune",
                        p->nkernel ? "workload" : "kernel");
    if (o->strategy && ws__strategy_find(o->strategy))
        return 0;
    return ws__fail(p->ctx, WS_EINVAL, "strategy '%s' is not known",
                    o->strategy ? o->strategy : "");
}

static int unknown_strategy(struct ws_ctx *ctx)
{
    struct ws__buf b;
    int rc = WS_EINVAL;

    ws__buf_init(&b, ctx, 400);
    for (size_t i = 0; ws__strategy_table[i]; i++)
        ws__buf_printf(&b, "%s%s", i ? ", " : "", ws__strategy_table[i]->name);
    if (!b.failed)
        rc = ws__hint(ctx, "strategies: %s", b.data ? b.data : "none");
    ws__buf_free(&b);
    return rc;
}

/* The default of the first kernel whose default may run the workload:
 * 1, or 0 with that of the first kernel and why it is not. */
static int default_of(struct ws__engine *e, size_t w, struct ws__candidate *c,
                      char why[256])
{
    const struct ws__problem_space *p = e->p;

    memset(c, 0, sizeof(*c));
    why[0] = '\0';
    for (size_t k = 0; k < p->nkernel; k++) {
        size_t which = 0;
        int rc;

        c->kernel = (uint32_t)k;
        ws__config_default(&p->kernel[k], &c->config);
        rc = ws__space_legal(p->spaces[k * p->nworkload + w], &c->config,
                             &which);
        if (rc)
            return rc;
        if (k || which >= p->kernel[k].nconstraint)
            continue;
        snprintf(why, 256,
                 "default of '%.60s': constraint '%.150s' does not "
                 "hold",
                 p->kernel[k].name, p->kernel[k].constraint[which].expr->text);
    }
    c->kernel = 0;
    ws__config_default(&p->kernel[0], &c->config);
    if (!why[0])
        snprintf(why, 256, "no kernel's default is valid here");
    return 0;
}

static int tell_all(struct ws__engine *e, size_t n, bool *useful)
{
    for (size_t i = 0; i < n; i++) {
        struct ws__answer *a = e->pending[i].ready;

        if (!a->told && a->t[0].verdict != WS__V_FILTERED)
            *useful = true;
        a->told = true;
        if (a->untold)
            continue;
        WS_TRY(e->ops->tell(e->state, &a->t[0]));
    }
    return 0;
}

/* Answers, tells, forgets the batch; `more` questions behind it are announced
 * and move to its place. */
static int run_batch(struct ws__engine *e, size_t n, size_t more, bool *useful)
{
    size_t answered;
    int rc = ws__engine_batch(e, e->pending, n, more, &answered);

    if (rc >= 0)
        rc = tell_all(e, n, useful);
    ws__pending_clear(e, e->pending, rc < 0 ? n + more : n);
    memmove(e->pending, e->pending + n, more * sizeof(*e->pending));
    return rc;
}

static bool out_of_time(const struct ws__engine *e)
{
    return e->opts->budget_ns && ws__engine_elapsed_ns(e) >= e->opts->budget_ns;
}

static int ask_default(struct ws__engine *e, size_t w, size_t *n)
{
    struct ws__question q = {.workload = (uint32_t)w, .effort = WS__NORMAL};
    char why[256];
    int rc = default_of(e, w, &q.a, why);

    WS_TRY(rc);
    ++*n;
    return rc ? ws__pending_make(e, &q, e->pending, *n - 1)
              : ws__pending_invalid(e, &q, why, e->pending, *n - 1);
}

/* In groups if time is limited, since a whole group is built ahead: what the
 * budget does not reach is not attempted. */
static int ask_defaults(struct ws__engine *e)
{
    size_t group = e->opts->parallel ? e->opts->parallel : 1, w = 0;
    bool useful;

    if (!e->opts->budget_ns)
        group = e->p->nworkload;
    e->stage = "default";
    do {
        size_t n = 0;
        int rc = 0;

        while (w < e->p->nworkload && n < group && rc >= 0)
            rc = ask_default(e, w++, &n);
        if (rc < 0) {
            ws__pending_clear(e, e->pending, n);
            return rc;
        }
        WS_TRY(run_batch(e, n, 0, &useful));
    } while (w < e->p->nworkload && !out_of_time(e));
    return 0;
}

/* A question outside the space is a fault of the strategy. */
static int check_question(struct ws__engine *e, const struct ws__question *q)
{
    const struct ws__problem_space *p = e->p;
    int rc = 0;

    if (q->a.kernel < p->nkernel && q->workload < p->nworkload)
        rc =
            ws__space_valid(p->spaces[q->a.kernel * p->nworkload + q->workload],
                            &q->a.config, NULL);
    if (rc)
        return rc < 0 ? rc : 0;
    return ws__fail(e->ctx, WS_EBUG,
                    "strategy '%s' asks for a config outside of the space",
                    e->ops->name);
}

/* Room in the budget for one more, given those just asked for. */
static bool affordable(const struct ws__engine *e, size_t fresh)
{
    return !e->opts->budget_trials || e->done + fresh < e->opts->budget_trials;
}

static size_t count_fresh(const struct ws__engine *e, size_t n)
{
    size_t fresh = 0;

    for (size_t i = 0; i < n; i++) {
        const struct ws__pending *p = &e->pending[i];

        fresh += p->fresh &&
                 (p->evaluate || p->ready->t[0].verdict != WS__V_FILTERED);
    }
    return fresh;
}

/* What was recorded costs nothing. A strategy that has a tree is told all of
 * it, also where the budget is spent, so that it can tell what it knows; for
 * others that would only take time. */
static bool replays(const struct ws__engine *e)
{
    return e->ops->tree && e->left;
}

static bool is_spent(const struct ws__engine *e)
{
    return !affordable(e, 0) || out_of_time(e);
}

/* The answers on record end here: the last question of the batch would have to
 * be evaluated, and there is no budget for it. */
static bool is_beyond(const struct ws__engine *e, size_t n)
{
    const struct ws__pending *p = &e->pending[n - 1];

    return p->fresh && p->evaluate &&
           (!affordable(e, count_fresh(e, n - 1)) || out_of_time(e));
}

/* What people decided takes effect between two questions, the same two whenever
 * the run is played again. */
static int steer(struct ws__engine *e)
{
    const bool live = !e->left || e->live;
    struct ws__steer s;
    int rc = 0;

    if (!e->opts->steer || !e->ops->steer)
        return 0;
    while (rc >= 0 &&
           (rc = e->opts->steer(e->opts->user, e->asked, live, &s)) > 0) {
        rc = e->ops->steer(e->state, &s);
        if (!rc)
            ws__log(e->ctx, WS_LOG_WARN,
                    "the search has no node %08x: what was decided of it has "
                    "no effect",
                    (unsigned)s.node);
    }
    return rc;
}

/* Asks for a batch behind the *n questions that are there, and counts it in;
 * *end if the strategy has no more. */
static int ask_batch(struct ws__engine *e, size_t *n, bool *end)
{
    size_t want = *n + (e->opts->parallel ? e->opts->parallel : 1);

    while (!*end && *n < want &&
           (affordable(e, count_fresh(e, *n)) || replays(e))) {
        const bool recorded = replays(e);
        struct ws__question q = {.effort = WS__SCREEN};
        int rc = steer(e);

        WS_TRY(rc);
        rc = e->ops->ask(e->state, &q.a, &q.workload);

        if (rc == WS_EDONE) {
            *end = true;
            return 0;
        }
        if (rc == WS__ASK_WAIT && *n)
            return 0;
        if (rc > 0)
            return ws__fail(e->ctx, WS_EBUG, "strategy '%s' waits for nothing",
                            e->ops->name);
        WS_TRY(rc);
        e->asked++;
        WS_TRY(check_question(e, &q));
        WS_TRY(ws__pending_make(e, &q, e->pending, (*n)++));
        if (recorded && is_beyond(e, *n)) {
            *end = true;
            ws__pending_clear(e, &e->pending[--*n], 1);
        }
    }
    return 0;
}

/* Was something asked for that is on record and not told yet? */
static bool is_owed(const struct ws__engine *e, size_t n)
{
    for (size_t i = 0; e->ops->tree && i < n; i++) {
        const struct ws__answer *a = e->pending[i].ready;

        if (a && a->recorded && !a->told)
            return true;
    }
    return false;
}

/* Answers from the journal are nothing new to see. */
static int watch(struct ws__engine *e)
{
    if (!e->opts->watch || !e->ops->tree || e->left)
        return 0;
    return e->opts->watch(e->opts->user, e->ops, e->state, e->asked);
}

static int screen(struct ws__engine *e)
{
    size_t idle = 0, n = 0;
    bool end = false;

    e->stage = "search";
    while (!(end && !n) && idle < IDLE_MAX &&
           (!is_spent(e) || replays(e) || is_owed(e, n))) {
        bool useful = false;
        size_t now = n;
        int rc = ws__check_stop(e->ctx);

        if (rc >= 0 && !now) {
            rc = ask_batch(e, &n, &end);
            now = n;
        }
        if (rc >= 0 && e->opts->ahead)
            rc = ask_batch(e, &n, &end);
        if (rc < 0) {
            ws__pending_clear(e, e->pending, n);
            return rc;
        }
        WS_TRY(run_batch(e, now, n - now, &useful));
        rc = watch(e);
        if (rc < 0) {
            ws__pending_clear(e, e->pending, n - now);
            return rc;
        }
        idle = useful ? 0 : idle + now;
        n -= now;
    }
    ws__pending_clear(e, e->pending, n);
    return 0;
}

static int prepare(struct ws__engine *e)
{
    size_t room = e->p->nworkload;

    if (2 * (size_t)e->opts->parallel + 2 > room)
        room = 2 * (size_t)e->opts->parallel + 2;
    e->next_id = 1;
    e->work = ws__alloc(e->ctx, e->p->nworkload, sizeof(*e->work));
    e->pending = ws__alloc(e->ctx, room, sizeof(*e->pending));
    if (!e->work || !e->pending)
        return WS_ENOMEM;
    WS_TRY(ws__engine_identify(e));
    return ws__engine_load(e);
}

/* Search, then choose. Stops are kept in out->stopped, errors returned. */
static int run(struct ws__engine *e, struct ws__outcome *out)
{
    int rc;

    WS_TRY(prepare(e));
    out->choice = ws__alloc(e->ctx, e->p->nworkload, sizeof(*out->choice));
    if (!out->choice)
        return WS_ENOMEM;
    out->n = e->p->nworkload;
    WS_TRY(e->ops->start(e->p, &e->state));
    rc = ask_defaults(e);
    if (rc >= 0)
        rc = screen(e);
    if ((rc >= 0 || ws__engine_may_stop(e, rc)) && e->ops->tree) {
        int told = e->ops->tree(e->state, &out->tree);

        rc = told < 0 ? told : rc;
    }
    if (e->ops->end)
        e->ops->end(e->state);
    if (rc < 0 && !ws__engine_may_stop(e, rc))
        return rc;
    out->stopped = rc;
    rc = ws__engine_confirm(e, out->stopped, out->choice);
    if (rc >= 0 || ws__engine_may_stop(e, rc))
        rc = ws__engine_agree(e, rc, out->choice);
    if (rc < 0 && !ws__engine_may_stop(e, rc))
        return rc;
    out->stopped = rc;
    return 0;
}

int ws__engine_run(const struct ws__problem_space *p,
                   const struct ws__evaluator *ev, const struct ws__journal *j,
                   struct ws__run *run_key, const struct ws__engine_opts *opts,
                   struct ws__outcome *out)
{
    struct ws__engine e = {
        .ctx = p->ctx, .p = p, .ev = ev, .run = run_key, .opts = opts};
    int rc, ended = 0;

    memset(out, 0, sizeof(*out));
    ws__arena_init(&out->tree.arena, p->ctx);
    rc = check_arguments(p, opts);
    if (rc < 0)
        return p->nkernel && p->nworkload ? unknown_strategy(p->ctx) : rc;
    e.j = j && j->ops ? j : NULL;
    e.ops = ws__strategy_find(opts->strategy);
    e.started_ns = ws__now_ns();
    if (e.j)
        WS_TRY(e.j->ops->begin(e.j->self, run_key));
    rc = run(&e, out);
    if (e.j)
        ended = e.j->ops->end(e.j->self, run_key);
    out->asked = e.asked;
    out->answered = e.n - e.missed;
    out->missed = e.missed;
    out->reused = e.reused;
    out->filtered = e.filtered;
    ws__engine_clear(&e);
    if (rc >= 0 && ended < 0)
        out->stopped = out->stopped ? out->stopped : ended;
    if (rc < 0)
        ws__outcome_clear(p->ctx, out);
    return rc < 0 ? rc : 0;
}

void ws__outcome_clear(struct ws_ctx *ctx, struct ws__outcome *o)
{
    for (size_t i = 0; o->choice && i < o->n; i++) {
        ws__trial_clear(ctx, &o->choice[i].dflt);
        ws__trial_clear(ctx, &o->choice[i].best);
        ws__trial_clear(ctx, &o->choice[i].failure);
    }
    ws__free(ctx, o->choice);
    ws__arena_free(&o->tree.arena);
    memset(o, 0, sizeof(*o));
}
