/*
 * forge.c: the loop. See forge.h.
 *
 * A round picks the move that promises most, makes the kernel, compiles it, and
 * compares it with the best so far, interleaved, on every workload. It is kept
 * if the geometric mean of the speed-ups is above 1 at the lower end of its
 * interval, no workload loses beyond its noise, and the judge's last gates
 * pass. What is neither faster nor much slower may prepare another move: when
 * the best has no moves left, those of such kernels are tried.
 */
#include "search/forge/forge_int.h"

#include <math.h>

#include "base/clock.h"

#include "base/banned.h"

#define ENOUGH 1.05
#define HOPELESS 1.01 /* less than any noise */
#define PREPARES .8   /* as fast as this, a kernel may prepare another move */
#define NEAR 4        /* slower than this in a look, no phase explains it */
#define GAINS 1.005   /* lower end of what is kept: less is not worth an edit */
#define DEPTH 2       /* moves that may be built on what only prepares */

const char *ws__forge_kind_name(enum ws__forge_kind k)
{
    static const char *const name[] = {"start",    "diagnosis", "try",
                                       "failed",   "same",      "kept",
                                       "prepares", "back",      "end"};

    return name[k];
}

static void tell(struct ws__forging *s, struct ws__forge_event *e)
{
    const struct ws__forge *f = s->f;

    if (!f->opts.event)
        return;
    e->round = (uint32_t)s->out->nstep;
    e->gap = s->base.gap;
    e->speedup = s->speedup;
    e->trials = s->out->trials;
    e->elapsed_ns = ws__now_ns() - s->started_ns;
    f->opts.event(f->opts.user, e);
}

static int say(struct ws_ctx *ctx, char **to, const char *text)
{
    ws__free(ctx, *to);
    *to = ws__strdup(ctx, text ? text : "");
    return *to ? 0 : WS_ENOMEM;
}

/* --- bases: kernels that moves are tried on ------------------------------- */

/* Its moves; what holds it back. */
static int open_base(struct ws__forging *s, struct ws__forge_base *b,
                     const struct ws__trial *t, const struct ws__forge_row *row)
{
    const struct ws__forge *f = s->f;
    struct ws__forge_event e = {.kind = WS__FORGE_DIAGNOSIS,
                                .kernel = b->c.kernel};
    int rc = 0;

    b->diagnosed = false;
    if (!f->opts.blind && f->shop.diagnose)
        rc = f->shop.diagnose(f->shop.self, t, row, &b->diagnosis, &b->gap);
    WS_TRY(rc);
    b->diagnosed = rc > 0;
    b->ns = ws__forge_time(s, t);
    WS_TRY(f->shop.moves(f->shop.self, b->c.kernel, &b->move, &b->nmove));
    ws__free(f->ctx, b->done);
    b->done = ws__alloc(f->ctx, b->nmove + 1, sizeof(*b->done));
    if (!b->done)
        return WS_ENOMEM;
    if (b->diagnosed) {
        e.diagnosis = &b->diagnosis;
        tell(s, &e);
    }
    return 0;
}

/* --- what promises most --------------------------------------------------- */

static bool suggested(const struct ws__forge_base *b,
                      const struct ws__forge_move *m)
{
    for (size_t i = 0; i < b->diagnosis.nfinding; i++)
        for (size_t k = 0; m->finding && m->finding[k]; k++)
            if (!strcmp(b->diagnosis.finding[i].rule->key, m->finding[k]))
                return true;
    return false;
}

static const struct ws__forge_memory *
recall(const struct ws__forging *s, const char *move, const char *bound)
{
    for (size_t i = 0; !s->f->opts.forgetful && i < s->nmemory; i++)
        if (!strcmp(s->memory[i].move, move) &&
            !strcmp(s->memory[i].bound, bound))
            return &s->memory[i];
    return NULL;
}

/*
 * Expected factor: the chance that the move wins, times what it wins then, in
 * logarithms. The chance is (wins + 1) / (tries + 2) over earlier projects with
 * kernels bound by the same, three times as much where the diagnosis asks for
 * the move (half as much where it does not), halved by each failure in this
 * run. Nothing wins more than the gap.
 */
static double promise(const struct ws__forging *s,
                      const struct ws__forge_base *b,
                      const struct ws__forge_move *m)
{
    const char *bound = b->diagnosed ? ws__bound_key(b->diagnosis.bound) : "";
    const struct ws__forge_memory *r = recall(s, m->name, bound);
    double chance = r ? (r->wins + 1.0) / (r->tries + 2.0) : .5;
    double gain = log(m->gain);

    if (r && r->wins)
        gain = (gain + r->log_gain) / (1.0 + r->wins);
    if (b->diagnosed)
        chance *= suggested(b, m) ? 3 : .5;
    for (size_t i = 0; i < s->out->nstep; i++)
        if (!m->asks && s->out->step[i].end != WS__FORGE_KEPT &&
            !strcmp(s->out->step[i].move.name, m->name))
            chance *= .5;
    if (b->gap > 0)
        gain = fmin(gain, log(fmax(b->gap, 1)));
    return exp(fmin(chance, 1) * gain);
}

/* The best move left on a base, or -1. */
static long pick(struct ws__forging *s, struct ws__forge_base *b,
                 double *expected)
{
    long best = -1;

    *expected = 0;
    for (size_t i = 0; i < b->nmove; i++) {
        double x;

        if (b->move[i].refused || b->done[i])
            continue;
        x = promise(s, b, &b->move[i]);
        if (x > *expected) {
            *expected = x;
            best = (long)i;
        }
    }
    return best;
}

/* --- one round ------------------------------------------------------------ */

static struct ws__forge_step *new_step(struct ws__forging *s,
                                       const struct ws__forge_base *b,
                                       const struct ws__forge_move *m,
                                       double expected)
{
    struct ws__forge_step *x;

    if (ws__grow(s->f->ctx, (void **)&s->out->step, &s->cap, s->out->nstep,
                 sizeof(*x)) < 0)
        return NULL;
    x = &s->out->step[s->out->nstep++];
    memset(x, 0, sizeof(*x));
    x->move = *m;
    x->parent = b->c.kernel;
    x->before = b->step;
    x->expected = expected;
    x->bound = b->diagnosed ? b->diagnosis.bound : WS__BOUND_UNKNOWN;
    x->end = WS__FORGE_TRY; /* until it ends */
    return x;
}

/* The config of the parent by names and values; what is new, or has another
 * default now, is at its default. */
static void inherit(const struct ws__forging *s, const struct ws__forge_base *b,
                    struct ws__candidate *c)
{
    const struct ws__kernel *k = &s->f->kernel[c->kernel];
    const struct ws__kernel *old = &s->f->kernel[b->c.kernel];

    ws__config_default(k, &c->config);
    for (size_t i = 0; i < b->c.config.n && i < c->config.n; i++) {
        const struct ws__param *p = &k->param[i], *q = &old->param[i];

        if (!p->name || !q->name || strcmp(p->name, q->name) ||
            !ws__value_eq(&p->value[p->dflt], &q->value[q->dflt]))
            continue;
        for (size_t v = 0; v < p->nvalue; v++)
            if (ws__value_eq(&p->value[v], &q->value[b->c.config.at[i]]))
                c->config.at[i] = (uint16_t)v;
    }
}

/* The best value of a parameter in short looks at all of them becomes the
 * candidate's. */
static int settle_value(struct ws__forging *s, struct ws__candidate *c,
                        size_t at, double *ns)
{
    const struct ws__param *p = &s->f->kernel[c->kernel].param[at];
    struct ws__candidate *other =
        ws__alloc(s->f->ctx, p->nvalue, sizeof(*other));
    size_t n = 0;
    int rc;

    if (!other)
        return WS_ENOMEM;
    for (size_t v = 0; v < p->nvalue; v++)
        if (v != c->config.at[at]) {
            other[n] = *c;
            other[n++].config.at[at] = (uint16_t)v;
        }
    rc = ws__forge_looks(s, other, n);
    for (size_t i = 0; i < n && rc >= 0; i++) {
        double got;

        rc = ws__forge_look(s, &other[i], &got);
        if (rc >= 0 && got > 0 && got < *ns) {
            *ns = got;
            *c = other[i];
        }
    }
    ws__free(s->f->ctx, other);
    return rc;
}

static bool same_values(const struct ws__param *a, const struct ws__param *b)
{
    bool same = a->nvalue == b->nvalue;

    for (size_t v = 0; same && v < a->nvalue; v++)
        same = ws__value_eq(&a->value[v], &b->value[v]);
    return same;
}

/* The parameters that the move brought, or gave other values, one after the
 * other. */
static int settle_values(struct ws__forging *s, const struct ws__forge_base *b,
                         struct ws__candidate *c, double *ns)
{
    const struct ws__kernel *k = &s->f->kernel[c->kernel];
    const struct ws__kernel *old = &s->f->kernel[b->c.kernel];

    for (size_t p = 0; p < k->nparam; p++)
        if (p >= b->c.config.n || !same_values(&k->param[p], &old->param[p]))
            WS_TRY(settle_value(s, c, p, ns));
    return 0;
}

static void end_round(struct ws__forging *s, struct ws__forge_step *x)
{
    struct ws__forge_event e = {.kind = x->end,
                                .move = &x->move,
                                .kernel = x->kernel,
                                .config = &x->config,
                                .expected = x->expected,
                                .ratio = x->ratio,
                                .verdict = x->verdict,
                                .why = x->why};

    tell(s, &e);
    if (s->f->shop.hear)
        s->f->shop.hear(s->f->shop.self, x);
}

/* Is the candidate better than the best? Pairs on all workloads, then the last
 * gates. */
static int decide(struct ws__forging *s, struct ws__forge_step *x,
                  const struct ws__candidate *c)
{
    struct ws__forge_race race;

    WS_TRY(ws__forge_compare(s, &s->base.c, c, WS__NORMAL, &race));
    x->ratio = race.all;
    x->verdict = race.verdict;
    x->trial[0] = race.trial[0];
    x->trial[1] = race.trial[1];
    if (race.why)
        WS_TRY(say(s->f->ctx, &x->why, race.why));
    ws__free(s->f->ctx, race.why);
    x->end = WS__FORGE_FAILED;
    if (race.verdict != WS__V_OK)
        return 0;
    x->end = race.all.value >= PREPARES ? WS__FORGE_PREPARES : WS__FORGE_BACK;
    if (!(race.all.lo > GAINS))
        return 0;
    if (race.loses) {
        x->end = WS__FORGE_PREPARES;
        x->uneven = true;
        return say(s->f->ctx, &x->why, "a workload loses");
    }
    return ws__forge_prove(s, c, WS__WANT_PROOF | x->move.want, x);
}

static int keep(struct ws__forging *s, struct ws__forge_step *x,
                const struct ws__candidate *c)
{
    s->speedup *= x->ratio.value;
    s->base.c = *c;
    s->base.step = (int32_t)(s->out->nstep - 1);
    s->out->best = *c;
    s->out->best_step = s->base.step;
    return open_base(s, &s->base, &s->last, s->row);
}

/* What is slower than the best by a look of another time is held against a
 * look at the best taken now: machines have phases. */
static int look_again(struct ws__forging *s, double looked)
{
    double now;

    if (looked * PREPARES <= s->base.ns || looked > NEAR * s->base.ns)
        return 0;
    WS_TRY(ws__forge_look(s, &s->base.c, &now));
    if (now > 0)
        s->base.ns = now;
    return 0;
}

/* Compares what is right; `looked`: its time in a short look. */
static int compete(struct ws__forging *s, struct ws__forge_step *x,
                   const struct ws__candidate *c, double looked)
{
    x->config = c->config;
    WS_TRY(look_again(s, looked));
    if (looked * PREPARES <= s->base.ns)
        return decide(s, x, c);
    x->ratio.value = s->base.ns / looked; /* of looks: no interval */
    x->end = WS__FORGE_BACK;              /* not even near: no pairs */
    return 0;
}

static int lost_somewhere(struct ws__forging *s, struct ws__forge_step *x,
                          const char *no_guard)
{
    char why[600];

    snprintf(why, sizeof(why), "a workload loses, and there is no guard: %s",
             no_guard);
    return say(s->f->ctx, &x->why, why);
}

/* The last step is faster on the whole and loses somewhere: it may be kept with
 * a guard that leaves those shapes to the best. */
static int try_guard(struct ws__forging *s, const struct ws__candidate *with)
{
    static const char *const none[] = {NULL};
    const struct ws__forge_base of = {.c = *with,
                                      .step = (int32_t)s->out->nstep - 1,
                                      .diagnosed = s->base.diagnosed,
                                      .diagnosis = s->base.diagnosis};
    struct ws__forge_move m = {.name = "guard", .finding = none};
    struct ws__forge_event e = {.kind = WS__FORGE_TRY};
    struct ws__candidate c = *with;
    struct ws__forge_step *x;
    char why[512] = "";
    double ns;
    int rc;

    m.want = s->out->step[of.step].move.want;
    m.rounding = s->out->step[of.step].move.rounding;
    e.expected = m.gain = s->out->step[of.step].ratio.value;
    rc = s->f->shop.guard(s->f->shop.self, with, &s->base.c, s->row, &c.kernel,
                          &m.words, why);
    if (rc == 0)
        return lost_somewhere(s, &s->out->step[of.step], why);
    WS_TRY(rc);
    x = new_step(s, &of, &m, m.gain);
    if (!x)
        return WS_ENOMEM;
    x->kernel = c.kernel;
    e.move = &x->move;
    e.on = of.step;
    tell(s, &e);
    WS_TRY(ws__forge_try(s, &c, x, &ns));
    x->config = c.config;
    if (x->verdict == WS__V_OK && x->end != WS__FORGE_SAME)
        WS_TRY(compete(s, x, &c, ns));
    end_round(s, x);
    return x->end == WS__FORGE_KEPT ? keep(s, x, &c) : 0;
}

static int try_move(struct ws__forging *s, struct ws__forge_base *b, size_t at,
                    double expected)
{
    const struct ws__forge_move *m = &b->move[at];
    struct ws__forge_step *x = new_step(s, b, m, expected);
    struct ws__forge_event e = {.kind = WS__FORGE_TRY,
                                .move = m,
                                .on = b->step,
                                .expected = expected};
    struct ws__candidate c = {0};
    char why[512] = "";
    double ns;
    int rc;

    if (!x)
        return WS_ENOMEM;
    b->done[at] = true;
    tell(s, &e);
    rc = s->f->shop.make(s->f->shop.self, b->c.kernel, m, &c.kernel, why);
    WS_TRY(rc);
    if (!rc) {
        x->end = WS__FORGE_FAILED;
        WS_TRY(say(s->f->ctx, &x->why, why));
        end_round(s, x);
        return 0;
    }
    x->kernel = c.kernel;
    inherit(s, b, &c);
    x->config = c.config;
    WS_TRY(ws__forge_try(s, &c, x, &ns));
    if (x->verdict == WS__V_OK && x->end != WS__FORGE_SAME) {
        WS_TRY(settle_values(s, b, &c, &ns));
        WS_TRY(compete(s, x, &c, ns));
    }
    end_round(s, x);
    if (x->end == WS__FORGE_KEPT)
        return keep(s, x, &c);
    return x->uneven && s->f->shop.guard ? try_guard(s, &c) : 0;
}

/* A kernel that prepares, fewer than DEPTH moves from the best, whose moves
 * nobody has tried; or NULL. */
static int next_prepared(struct ws__forging *s, struct ws__forge_step **out)
{
    *out = NULL;
    if (s->f->opts.single)
        return 0;
    for (size_t i = 0; i < s->out->nstep; i++) {
        struct ws__forge_step *x = &s->out->step[i];
        int depth = 1;

        if (x->end != WS__FORGE_PREPARES || (i < s->nopen && s->opened[i]))
            continue;
        for (int32_t p = x->before;
             p >= 0 && p != s->base.step && depth <= DEPTH;
             p = s->out->step[p].before)
            depth++;
        if (depth < DEPTH && (!*out || x->ratio.value > (*out)->ratio.value))
            *out = x;
    }
    return 0;
}

static int mark_opened(struct ws__forging *s, size_t step)
{
    while (s->nopen <= step) {
        WS_TRY(ws__grow(s->f->ctx, (void **)&s->opened, &s->open_cap, s->nopen,
                        sizeof(*s->opened)));
        s->opened[s->nopen++] = false;
    }
    s->opened[step] = true;
    return 0;
}

static int open_prepared(struct ws__forging *s, struct ws__forge_step *x)
{
    size_t at = (size_t)(x - s->out->step);

    WS_TRY(mark_opened(s, at));
    ws__free(s->f->ctx, s->side.done);
    memset(&s->side, 0, sizeof(s->side));
    s->side.c.kernel = x->kernel;
    s->side.c.config = x->config;
    s->side.step = (int32_t)at;
    s->side.gap = s->base.gap;
    s->side.diagnosis = s->base.diagnosis;
    s->side.diagnosed = s->base.diagnosed;
    WS_TRY(s->f->shop.moves(s->f->shop.self, x->kernel, &s->side.move,
                            &s->side.nmove));
    s->side.done =
        ws__alloc(s->f->ctx, s->side.nmove + 1, sizeof(*s->side.done));
    return s->side.done ? 0 : WS_ENOMEM;
}

static const char *spent(const struct ws__forging *s)
{
    const struct ws__forge_opts *o = &s->f->opts;

    if (s->base.gap > 0 && s->base.gap <= (o->enough > 1 ? o->enough : ENOUGH))
        return "the best is at the floor: nothing is left to win";
    if (o->budget_trials && s->out->trials >= o->budget_trials)
        return "the budget of trials is spent";
    if (ws__forge_on_record(s)) /* an earlier process had the time for it */
        return NULL;
    if (o->budget_ns &&
        ws__now_ns() - s->started_ns + s->before_ns >= o->budget_ns)
        return "the time is spent";
    return NULL;
}

/* The next move: of the best, else of what prepares. NULL base: there is
 * none, and *end says why. */
static int choose(struct ws__forging *s, struct ws__forge_base **b, long *move,
                  double *expected, const char **end)
{
    struct ws__forge_step *x;

    *b = &s->base;
    *move = pick(s, *b, expected);
    if (*move >= 0 && *expected >= HOPELESS)
        return 0;
    *end = *move < 0 ? "no move is left" : "no move promises more than noise";
    *b = &s->side;
    *move = pick(s, *b, expected);
    while (*move < 0) {
        WS_TRY(next_prepared(s, &x));
        if (!x)
            break;
        WS_TRY(open_prepared(s, x));
        *move = pick(s, *b, expected);
    }
    if (*move < 0)
        *b = NULL;
    return 0;
}

static int rounds(struct ws__forging *s)
{
    const char *end = NULL;

    for (;;) {
        struct ws__forge_base *b;
        double expected;
        long move;

        end = spent(s);
        if (end)
            break;
        WS_TRY(ws__check_stop(s->f->ctx));
        WS_TRY(choose(s, &b, &move, &expected, &end));
        if (!b)
            break;
        WS_TRY(try_move(s, b, (size_t)move, expected));
    }
    return say(s->f->ctx, &s->out->end, end);
}

/* --- the whole ------------------------------------------------------------ */

/* The gates that what is kept must pass: what the original does not pass, no
 * move of ours mends. */
static int prove_original(struct ws__forging *s)
{
    struct ws__forge_outcome *o = s->out;
    struct ws__forge_step x = {.end = WS__FORGE_START};

    WS_TRY(ws__forge_prove(s, &s->f->original, WS__WANT_PROOF, &x));
    if (x.end == WS__FORGE_KEPT)
        return 0;
    o->verdict = x.verdict;
    o->workload = 0;
    ws__free(s->f->ctx, o->why);
    o->why = x.why;
    return 0;
}

static int begin(struct ws__forging *s)
{
    struct ws__forge_event e = {.kind = WS__FORGE_START,
                                .kernel = s->f->original.kernel};
    struct ws__forge_outcome *o = s->out;

    o->best = s->f->original;
    o->best_step = -1;
    s->base.c = s->f->original;
    s->base.step = -1;
    s->speedup = 1;
    WS_TRY(ws__forge_first(s));
    if (o->verdict == WS__V_OK)
        WS_TRY(prove_original(s));
    e.verdict = o->verdict;
    e.why = o->why;
    tell(s, &e);
    if (o->verdict != WS__V_OK)
        return say(s->f->ctx, &o->end, "the original is not right");
    WS_TRY(open_base(s, &s->base, &s->last, o->row));
    o->gap_before = s->base.gap;
    return 0;
}

/* The last gates, which take long, of the best; of what came before it where
 * it does not pass. */
static int prove_best(struct ws__forging *s)
{
    struct ws__forge_outcome *o = s->out;

    while (o->best_step >= 0) {
        struct ws__forge_step *x = &o->step[o->best_step];

        WS_TRY(ws__forge_prove(s, &o->best, WS__WANT_SANITIZER, x));
        if (x->end == WS__FORGE_KEPT)
            return 0;
        end_round(s, x);
        o->best_step = x->before;
        while (o->best_step >= 0 && o->step[o->best_step].end != WS__FORGE_KEPT)
            o->best_step = o->step[o->best_step].before;
        o->best = s->f->original;
        if (o->best_step >= 0) {
            o->best.kernel = o->step[o->best_step].kernel;
            o->best.config = o->step[o->best_step].config;
        }
    }
    return 0;
}

/* Fresh samples of the original and of the best, on all workloads. */
static int conclude(struct ws__forging *s)
{
    struct ws__forge_outcome *o = s->out;
    struct ws__forge_race race;

    o->gap_after = s->base.gap;
    o->speedup = (struct ws__ratio){1, 1, 1};
    WS_TRY(prove_best(s));
    if (o->best_step != s->base.step) /* nobody profiled that one */
        o->gap_after = o->best_step < 0 ? o->gap_before : 0;
    if (o->best_step < 0)
        return 0;
    WS_TRY(ws__forge_compare(s, &s->f->original, &o->best, WS__CONFIRM, &race));
    ws__free(s->f->ctx, race.why);
    if (race.verdict == WS__V_OK && race.all.lo > 1 && !race.loses) {
        o->speedup = race.all;
        memcpy(o->row, s->row, s->f->nworkload * sizeof(*o->row));
        return 0;
    }
    o->best = s->f->original;
    o->best_step = -1;
    o->gap_after = o->gap_before;
    return say(s->f->ctx, &o->end,
               "measured again, the best was no better than the original");
}

static void forget(struct ws__forging *s)
{
    ws__free(s->f->ctx, s->base.done);
    ws__free(s->f->ctx, s->side.done);
    ws__free(s->f->ctx, s->opened);
    ws__trial_clear(s->f->ctx, &s->last);
    ws__free(s->f->ctx, s->row);
    ws__forge_forget(s);
}

/* What cannot be remembered spoils nothing. */
static int learn(struct ws__forging *s)
{
    int rc = ws__forge_learn(s);

    if (rc < 0 && rc != WS_ENOMEM) {
        ws__log(s->f->ctx, WS_LOG_WARN, "what was learnt is not kept: %s",
                s->f->ctx->err.message);
        ws__error_clear(s->f->ctx);
        rc = 0;
    }
    return rc;
}

int ws__forge_run(struct ws__forge *f, struct ws__forge_outcome *out)
{
    struct ws__forging s = {.f = f, .out = out, .started_ns = ws__now_ns()};
    struct ws__forge_event e = {.kind = WS__FORGE_END};
    int rc;

    memset(out, 0, sizeof(*out));
    out->row = ws__alloc(f->ctx, f->nworkload, sizeof(*out->row));
    s.row = ws__alloc(f->ctx, f->nworkload, sizeof(*s.row));
    rc = out->row && s.row ? 0 : WS_ENOMEM;
    if (rc >= 0)
        rc = ws__forge_open(&s);
    if (rc >= 0)
        rc = ws__forge_recall(&s);
    if (rc >= 0)
        rc = begin(&s);
    if (rc >= 0 && out->verdict == WS__V_OK)
        rc = rounds(&s);
    if (rc >= 0 && out->verdict == WS__V_OK)
        rc = conclude(&s);
    if (rc >= 0)
        rc = learn(&s);
    if (rc == WS_ECANCEL || rc == WS_ETIMEOUT || rc == WS_EFULL) {
        out->stopped = rc;
        out->speedup = (struct ws__ratio){s.speedup, 0, 0};
        out->gap_after = s.base.gap;
        rc = 0;
    }
    e.why = out->end;
    if (rc >= 0)
        tell(&s, &e);
    ws__forge_close(&s, &rc);
    forget(&s);
    if (rc < 0)
        ws__forge_clear(f->ctx, out);
    return rc < 0 ? rc : 0;
}

void ws__forge_clear(struct ws_ctx *ctx, struct ws__forge_outcome *o)
{
    for (size_t i = 0; i < o->nstep; i++)
        ws__free(ctx, o->step[i].why);
    ws__free(ctx, o->step);
    ws__free(ctx, o->row);
    ws__free(ctx, o->why);
    ws__free(ctx, o->end);
    memset(o, 0, sizeof(*o));
}
