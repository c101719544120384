/*
 * t_forge.c: the loop, with kernels whose speed is arithmetic.
 *
 * A kernel is the moves that made it. The time of each is known: what is kept,
 * rolled back, built on and learnt follows from it.
 */
#include "base/t_base.h"

#include <math.h>

#include "search/forge/forge.h"

#define MAX_KERNELS 400
#define SAMPLES 30

static const char *const memory_finding[] = {"dram", NULL};
static const char *const latency_finding[] = {"wait_fixed", NULL};

/* name, factor of the time it saves where it helps, what it does. */
static const struct ws__forge_move all[] = {
    {.name = "gains", .words = "a", .gain = 1.5, .finding = latency_finding},
    {.name = "loses", .words = "b", .gain = 1.4, .finding = latency_finding},
    {.name = "wrong", .words = "c", .gain = 1.3, .finding = latency_finding},
    {.name = "same", .words = "d", .gain = 1.2, .finding = latency_finding},
    {.name = "first", .words = "e", .gain = 1.2, .finding = latency_finding},
    {.name = "second", .words = "f", .gain = 1.2, .finding = memory_finding},
    {.name = "refused", .words = "g", .gain = 9, .refused = "it must not"},
    {.name = "cannot", .words = "h", .gain = 1.1, .finding = latency_finding},
    {.name = "uneven", .words = "i", .gain = 1.1, .finding = latency_finding},
    {.name = "valued", .words = "j", .gain = 1.1, .finding = latency_finding},
};
#define NMOVE WS_COUNT(all)
#define GUARD 20           /* the bit of a kernel that has one */
#define VALUED (NMOVE - 1) /* brings a parameter; not listed by default */

static struct ws__value values[] = {{.type = WS__INT, .u.i = 1},
                                    {.type = WS__INT, .u.i = 2},
                                    {.type = WS__INT, .u.i = 3}};
static const struct ws__param brought = {.name = "U",
                                         .value = values,
                                         .nvalue = WS_COUNT(values)};

struct world {
    struct ws__kernel *kernel;
    unsigned made[MAX_KERNELS]; /* bits of moves */
    bool half_made[MAX_KERNELS];
    uint32_t nkernel;
    struct ws__workload workload[2];
    bool guards, no_guard, unproven;
    size_t answered, slow_after; /* answers; 0: never */
    unsigned allowed;            /* moves that are listed at all */
    double gap;                  /* of the original; 0: nobody knows */
    uint64_t asked, stop_at;
    uint64_t rng;
    const char *remembered;
    char *learnt;
    struct {
        struct ws__question q;
        struct ws__trial t[2];
        size_t n;
    } * record;
    size_t nrecord, replayed;
    struct ws__question soon[8]; /* announced and not asked yet */
    size_t nsoon, foretold, in_vain;
    char *value[2]; /* of the journal, by key */
    struct ws__forge_event last;
    char order[4000]; /* names of moves as they are tried */
    char on[400];     /* " STEP" that each is tried on */
    struct ws_ctx *ctx;
};

static struct world w;

static bool has(uint32_t kernel, unsigned move)
{
    return w.made[kernel] >> move & 1;
}

static double time_of(uint32_t kernel, uint32_t workload)
{
    double t = 1000;

    if (has(kernel, 0))
        t /= 1.5;
    if (has(kernel, 1))
        t *= 1.4;
    if (has(kernel, 5))
        t = has(kernel, 4) ? t / 2 : t * 1.02;
    if (has(kernel, 8)) /* a guard: where it loses it does not happen */
        t = workload ? t / 3 : has(kernel, GUARD) ? t : t * 1.15;
    return t;
}

/* The parameter that some kernels have says how many times as fast they are. */
static double speed_of(const struct ws__candidate *c)
{
    const struct ws__kernel *k = &w.kernel[c->kernel];

    return k->nparam ? (double)k->param[0].value[c->config.at[0]].u.i : 1;
}

/* --- the evaluator -------------------------------------------------------- */

static double noise(void)
{
    w.rng = w.rng * 6364136223846793005ull + 1442695040888963407ull;
    return 1 + ((double)(w.rng >> 40) / (1 << 24) - .5) * .01;
}

static int fill(const struct ws__candidate *c, const struct ws__question *q,
                struct ws__trial *t)
{
    t->candidate = *c;
    t->workload = q->workload;
    t->did = q->want;
    t->effort = q->effort;
    t->verdict = has(c->kernel, 2) || (w.unproven && (q->want & WS__WANT_PROOF))
                     ? WS__V_WRONG
                     : WS__V_OK;
    t->res.binary.lo = w.made[c->kernel] & ~(1u << 3);
    t->res.binary.hi = 7;
    if (t->verdict != WS__V_OK)
        return ws__trial_set_reason(w.ctx, t, "one is off");
    t->sample_ns = ws__alloc(w.ctx, SAMPLES, sizeof(double));
    if (!t->sample_ns)
        return WS_ENOMEM;
    for (size_t i = 0; i < SAMPLES; i++)
        t->sample_ns[t->nsample++] =
            time_of(c->kernel, q->workload) / speed_of(c) * noise() *
            (w.slow_after && w.answered > w.slow_after ? 2 : 1);
    t->spent_ns = 1000;
    return 0;
}

static int prefetch(void *self, const struct ws__question *q, size_t n)
{
    (void)self;
    assert_in_range(n, 2, WS_COUNT(w.soon));
    memcpy(w.soon, q, n * sizeof(*q));
    w.nsoon = n;
    return 0;
}

static void was_announced(const struct ws__question *q)
{
    if (!w.nsoon)
        return;
    if (w.soon[0].workload == q->workload && w.soon[0].pair == q->pair &&
        w.soon[0].effort == q->effort &&
        ws__candidate_eq(&w.soon[0].a, &q->a)) {
        w.foretold++;
        memmove(w.soon, w.soon + 1, --w.nsoon * sizeof(*w.soon));
    } else {
        w.in_vain += w.nsoon;
        w.nsoon = 0;
    }
}

static int answer(void *self, const struct ws__question *q,
                  struct ws__trial *out)
{
    (void)self;
    w.answered++;
    was_announced(q);
    if (w.stop_at && ++w.asked >= w.stop_at)
        return ws__fail(w.ctx, WS_ECANCEL, "stopped");
    WS_TRY(fill(&q->a, q, &out[0]));
    return q->pair ? fill(&q->b, q, &out[1]) : 0;
}

static const struct ws__evaluator_ops evaluator = {.abi = 1,
                                                   .name = "arithmetic",
                                                   .prefetch = prefetch,
                                                   .answer = answer,
                                                   .live = true};

/* --- the journal ---------------------------------------------------------- */

static int j_begin(void *self, struct ws__run *run)
{
    (void)self, (void)run;
    return 0;
}

static int j_append(void *self, const struct ws__run *run,
                    const struct ws__question *q, struct ws__trial *t, size_t n)
{
    (void)self, (void)run;
    for (size_t i = 0; i < w.nrecord; i++)
        assert_int_not_equal(w.record[i].q.id, q->id);
    w.record = realloc(w.record, (w.nrecord + 1) * sizeof(*w.record));
    memset(&w.record[w.nrecord], 0, sizeof(*w.record));
    w.record[w.nrecord].q = *q;
    w.record[w.nrecord].n = n;
    for (size_t i = 0; i < n; i++) {
        t[i].id = 2 * w.nrecord + i + 1;
        w.record[w.nrecord].t[i] = t[i];
        w.record[w.nrecord].t[i].reason =
            t[i].reason ? strdup(t[i].reason) : NULL;
        w.record[w.nrecord].t[i].sample_ns = malloc(SAMPLES * sizeof(double));
        if (t[i].nsample)
            memcpy(w.record[w.nrecord].t[i].sample_ns, t[i].sample_ns,
                   SAMPLES * sizeof(double));
    }
    w.nrecord++;
    return 0;
}

static int j_replay(void *self, const struct ws__run *run,
                    int (*fn)(void *user, const struct ws__question *q,
                              const struct ws__trial *t, size_t n),
                    void *user)
{
    (void)self, (void)run;
    w.replayed = w.nrecord;
    for (size_t i = 0; i < w.nrecord; i++) {
        int rc = fn(user, &w.record[i].q, w.record[i].t, w.record[i].n);

        if (rc)
            return rc;
    }
    return 0;
}

static size_t slot(const char *key)
{
    return strstr(key, "learnt") ? 1 : 0;
}

static int j_get(void *self, const struct ws__run *run, const char *key,
                 char **value)
{
    const char *v = w.value[slot(key)];

    (void)self, (void)run;
    if (!v)
        return 0;
    *value = ws__strdup(w.ctx, v);
    return *value ? 1 : WS_ENOMEM;
}

static int j_put(void *self, const struct ws__run *run, const char *key,
                 const char *value)
{
    (void)self, (void)run;
    free(w.value[slot(key)]);
    w.value[slot(key)] = strdup(value);
    return 0;
}

static int j_end(void *self, struct ws__run *run)
{
    (void)self, (void)run;
    return 0;
}

static const struct ws__journal_ops journal = {.abi = 1,
                                               .name = "memory",
                                               .begin = j_begin,
                                               .append = j_append,
                                               .replay = j_replay,
                                               .get = j_get,
                                               .put = j_put,
                                               .end = j_end};

/* --- the workshop --------------------------------------------------------- */

static struct ws__forge_move listed[MAX_KERNELS][NMOVE];

static int moves(void *self, uint32_t kernel, const struct ws__forge_move **out,
                 size_t *n)
{
    (void)self;
    *n = 0;
    for (unsigned i = 0; i < NMOVE; i++)
        if ((w.allowed >> i & 1) && !has(kernel, i)) {
            listed[kernel][*n] = all[i];
            listed[kernel][(*n)++].site = i;
        }
    *out = listed[kernel];
    return 0;
}

static int make(void *self, uint32_t kernel, const struct ws__forge_move *m,
                uint32_t *out, char why[512])
{
    (void)self;
    if (!strcmp(m->name, "cannot")) {
        strcpy(why, "there is no room");
        return 0;
    }
    assert_true(w.nkernel < MAX_KERNELS);
    w.made[w.nkernel] = w.made[kernel] | 1u << m->site;
    if (has(w.nkernel, VALUED)) {
        w.kernel[w.nkernel].param[0] = brought;
        w.kernel[w.nkernel].nparam = 1;
    }
    *out = w.nkernel++;
    return 1;
}

static int guard(void *self, const struct ws__candidate *with,
                 const struct ws__candidate *without,
                 const struct ws__forge_row *row, uint32_t *out,
                 const char **words, char why[512])
{
    (void)self;
    assert_true(row[0].speedup.hi < 1 && row[1].speedup.lo > 1);
    assert_true(!has(without->kernel, 8) && has(with->kernel, 8));
    if (w.no_guard) {
        strcpy(why, "nothing separates them");
        return 0;
    }
    w.made[w.nkernel] = w.made[with->kernel] | 1u << GUARD;
    *out = w.nkernel++;
    *words = "only where it wins";
    return 1;
}

/* The first workload of a kernel with a guard is as it was without. */
static bool same(void *self, const struct ws__candidate *a,
                 const struct ws__candidate *b, uint32_t workload)
{
    unsigned both = 1u << GUARD | 1u << 8;

    (void)self;
    return !workload && ((has(a->kernel, GUARD) ? w.made[a->kernel] & ~both
                                                : w.made[a->kernel]) ==
                         (has(b->kernel, GUARD) ? w.made[b->kernel] & ~both
                                                : w.made[b->kernel]));
}

static int diagnose(void *self, const struct ws__trial *t,
                    const struct ws__forge_row *row, struct ws__diagnosis *out,
                    double *gap)
{
    (void)self;
    /* The rows are of what is diagnosed; 0: there was no memory for one. */
    for (uint32_t i = 0; i < 2; i++)
        if (row[i].best_ns > 0 && !w.slow_after)
            assert_true(fabs(row[i].best_ns / time_of(t->candidate.kernel, i) *
                                 speed_of(&t->candidate) -
                             1) < .05);
    if (!(w.gap > 0))
        return 0;
    memset(out, 0, sizeof(*out));
    out->bound = WS__BOUND_LATENCY;
    for (size_t i = 0; i < ws__nrule; i++)
        if (!strcmp(ws__rules[i].key, "wait_fixed"))
            out->finding[out->nfinding++].rule = &ws__rules[i];
    *gap = w.gap * time_of(t->candidate.kernel, 0) / 1000;
    return 1;
}

static int recall(void *self, char **text)
{
    (void)self;
    *text = w.remembered ? ws__strdup(w.ctx, w.remembered) : NULL;
    return w.remembered && !*text ? WS_ENOMEM : 0;
}

static int learn(void *self, const char *text)
{
    (void)self;
    free(w.learnt);
    w.learnt = strdup(text);
    return 0;
}

static void on_event(void *user, const struct ws__forge_event *e)
{
    (void)user;
    if (e->kind == WS__FORGE_TRY) {
        strcat(w.order, e->move->name);
        strcat(w.order, " ");
        if (strlen(w.on) < sizeof(w.on) - 12)
            sprintf(w.on + strlen(w.on), " %d", (int)e->on);
    }
    w.last = *e;
}

/* --- running -------------------------------------------------------------- */

static void forget_record(void)
{
    for (size_t i = 0; i < w.nrecord; i++)
        for (size_t k = 0; k < 2; k++) {
            free(w.record[i].t[k].reason);
            free(w.record[i].t[k].sample_ns);
        }
    free(w.record);
    free(w.value[0]);
    free(w.value[1]);
    free(w.learnt);
}

static int reset(void **state)
{
    struct ws__kernel *k = w.kernel;

    (void)state;
    forget_record();
    memset(&w, 0, sizeof(w));
    w.kernel = k ? k : calloc(MAX_KERNELS, sizeof(*k));
    w.nkernel = 1;
    w.allowed = (1u << VALUED) - 1;
    for (size_t i = 0; w.kernel && i < MAX_KERNELS; i++)
        w.kernel[i].nparam = 0;
    return w.kernel ? 0 : -1;
}

static int run(struct ws_ctx *ctx, const struct ws__forge_opts *opts,
               bool with_journal, struct ws__forge_outcome *out)
{
    struct ws__run key = {.seed = 1};
    struct ws__forge f = {.ctx = ctx,
                          .kernel = w.kernel,
                          .workload = w.workload,
                          .nworkload = 2,
                          .ev = {&evaluator, NULL},
                          .run = &key,
                          .shop = {.moves = moves,
                                   .make = make,
                                   .guard = w.guards ? guard : NULL,
                                   .same = w.guards ? same : NULL,
                                   .diagnose = diagnose,
                                   .recall = recall,
                                   .learn = learn}};

    w.ctx = ctx;
    w.nkernel = 1;
    w.order[0] = w.on[0] = '\0';
    w.rng = 3;
    if (with_journal)
        f.journal = (struct ws__journal){&journal, NULL};
    if (opts)
        f.opts = *opts;
    f.opts.event = on_event;
    return ws__forge_run(&f, out);
}

static struct ws_ctx *ctx;

static const struct ws__forge_step *step_of(const struct ws__forge_outcome *o,
                                            const char *name, int nth)
{
    for (size_t i = 0; i < o->nstep; i++)
        if (!strcmp(o->step[i].move.name, name) && !nth--)
            return &o->step[i];
    return NULL;
}

static void all_ends(void **state)
{
    struct ws__forge_outcome o;
    const struct ws__forge_step *s;

    (void)state;
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_int_equal(step_of(&o, "gains", 0)->end, WS__FORGE_KEPT);
    assert_int_equal(step_of(&o, "loses", 0)->end, WS__FORGE_BACK);
    assert_int_equal(step_of(&o, "same", 0)->end, WS__FORGE_SAME);
    assert_int_equal(step_of(&o, "first", 0)->end, WS__FORGE_PREPARES);
    assert_null(step_of(&o, "refused", 0));
    s = step_of(&o, "wrong", 0);
    assert_int_equal(s->end, WS__FORGE_FAILED);
    assert_int_equal(s->verdict, WS__V_WRONG);
    assert_string_equal(s->why, "one is off");
    s = step_of(&o, "cannot", 0);
    assert_int_equal(s->end, WS__FORGE_FAILED);
    assert_string_equal(s->why, "there is no room");
    /* Faster on the whole, but not everywhere. */
    s = step_of(&o, "uneven", 0);
    assert_int_equal(s->end, WS__FORGE_PREPARES);
    assert_true(s->ratio.lo > 1);
    /* What is best is what nothing but the arithmetic says. */
    assert_int_equal(w.made[o.best.kernel] & ~(1u << 3),
                     1u | 1u << 4 | 1u << 5);
    assert_true(o.speedup.lo < 3 && o.speedup.hi > 3);
    assert_true(o.speedup.hi / o.speedup.lo < 1.02);
    assert_true(fabs(o.row[0].original_ns / o.row[0].best_ns - 3) < .1);
    assert_non_null(o.end);
    ws__forge_clear(ctx, &o);
}

/* A parameter that a move brought is set to the best of its values; what is
 * asked in a row is announced before. */
static void values_are_settled(void **state)
{
    struct ws__forge_outcome o;

    (void)state;
    w.allowed = 1u << VALUED;
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_int_equal(o.best_step, 0);
    assert_int_equal(o.best.config.at[0], 2);
    assert_true(o.speedup.lo < 3 && o.speedup.hi > 3);
    /* Two workloads of the original, two values, two pairs twice. */
    assert_int_equal(w.foretold, 2 + 2 + 2 + 2);
    assert_int_equal(w.in_vain + w.nsoon, 0);
    ws__forge_clear(ctx, &o);
}

/* What wins on the whole and loses on a workload is kept under a guard. */
static void guarded(void **state)
{
    struct ws__forge_outcome o;
    const struct ws__forge_step *s;

    (void)state;
    w.guards = true;
    w.allowed = 1u << 8;
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_string_equal(w.order, "uneven guard ");
    assert_int_equal(step_of(&o, "uneven", 0)->end, WS__FORGE_PREPARES);
    s = step_of(&o, "guard", 0);
    assert_int_equal(s->end, WS__FORGE_KEPT);
    assert_int_equal(s->before, 0); /* it has that move in it */
    assert_string_equal(s->move.words, "only where it wins");
    assert_int_equal(o.best_step, 1);
    assert_true(o.speedup.lo < sqrt(3) && o.speedup.hi > sqrt(3));
    /* Where the guard keeps it away nothing was won, whatever was measured. */
    assert_true(o.row[0].same && !o.row[1].same);
    assert_true(o.row[0].speedup.value == 1 && o.row[0].speedup.lo == 1 &&
                o.row[0].speedup.hi == 1);
    assert_true(o.row[0].best_ns == o.row[0].original_ns);
    assert_string_equal(w.on, " -1 0"); /* the guard, on what it guards */
    ws__forge_clear(ctx, &o);
    w.no_guard = true;
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_int_equal(o.best_step, -1);
    assert_non_null(strstr(step_of(&o, "uneven", 0)->why,
                           "no guard: nothing separates them"));
    ws__forge_clear(ctx, &o);
}

static void without_pairs(void **state)
{
    const struct ws__forge_opts opts = {.single = true};
    struct ws__forge_outcome o;

    (void)state;
    assert_int_equal(run(ctx, &opts, false, &o), 0);
    assert_int_equal(w.made[o.best.kernel], 1u);
    ws__forge_clear(ctx, &o);
}

static void nothing_to_gain(void **state)
{
    struct ws__forge_outcome o;

    (void)state;
    w.allowed = 1u << 1 | 1u << 2;
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_int_equal(o.best_step, -1);
    assert_int_equal(o.best.kernel, 0);
    assert_true(o.speedup.value == 1 && o.speedup.lo == 1);
    ws__forge_clear(ctx, &o);
    reset(NULL);
    /* At the floor nobody tries. */
    w.gap = 1.04;
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_int_equal(o.nstep, 0);
    assert_non_null(strstr(o.end, "floor"));
    ws__forge_clear(ctx, &o);
    reset(NULL);
    /* Reached on the way: 1.5 of 1.52. */
    w.gap = 1.52;
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_int_equal(o.nstep, 1);
    assert_true(o.gap_after < 1.05 && o.gap_before > 1.5);
    ws__forge_clear(ctx, &o);
}

/* A move that gives an old parameter more values: each is looked at. */
static void values_of_old_parameters(void **state)
{
    static struct ws__value value[] = {
        {.type = WS__INT, .u.i = 1},
        {.type = WS__INT, .u.i = 2},
        {.type = WS__INT, .u.i = 4},
        {.type = WS__INT, .u.i = 3},
    };
    struct ws__forge_outcome o;

    (void)state;
    w.allowed = 1u << 4;
    for (size_t i = 0; i < 2; i++) {
        w.kernel[i].nparam = 1;
        w.kernel[i].param[0] = (struct ws__param){.name = "BLOCK",
                                                  .value = value,
                                                  .nvalue = i ? 4 : 1};
    }
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_int_equal(o.nstep, 1);
    assert_int_equal(o.step[0].end, WS__FORGE_KEPT);
    assert_int_equal(o.best.config.at[0], 2);
    assert_true(fabs(o.speedup.value - 4) < .1);
    ws__forge_clear(ctx, &o);
}

static void original_is_wrong(void **state)
{
    struct ws__forge_outcome o;

    (void)state;
    w.made[0] = 1u << 2;
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_int_equal(o.verdict, WS__V_WRONG);
    assert_string_equal(o.why, "one is off");
    assert_int_equal(o.nstep, 0);
    ws__forge_clear(ctx, &o);
}

/* A machine that gets slower in the middle rolls nothing back. */
static void phases(void **state)
{
    struct ws__forge_outcome o;

    (void)state;
    w.allowed = 1u;
    w.slow_after = 3; /* when the original is judged, timed and proven */
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_int_equal(o.step[0].end, WS__FORGE_KEPT);
    assert_true(o.speedup.lo < 1.5 && o.speedup.hi > 1.5);
    ws__forge_clear(ctx, &o);
}

/* It is right, but not by the gates that are the last: nothing is tried. */
static void original_is_not_proven(void **state)
{
    struct ws__forge_outcome o;

    (void)state;
    w.unproven = true;
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_int_equal(o.verdict, WS__V_WRONG);
    assert_string_equal(o.why, "one is off");
    assert_int_equal(o.nstep, 0);
    ws__forge_clear(ctx, &o);
}

static void budgets(void **state)
{
    const struct ws__forge_opts opts = {.budget_trials = 6};
    struct ws__forge_outcome o;

    (void)state;
    assert_int_equal(run(ctx, &opts, false, &o), 0);
    assert_non_null(strstr(o.end, "budget"));
    assert_true(o.nstep >= 1 && o.nstep <= 3);
    ws__forge_clear(ctx, &o);
}

/* What the diagnosis asks for comes first; what was learnt outweighs a prior.
 */
static void order(void **state)
{
    struct ws__forge_outcome o;

    (void)state;
    w.gap = 100;
    w.allowed = 1u | 1u << 4 | 1u << 5;
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_ptr_equal(strstr(w.order, "gains first second"), w.order);
    ws__forge_clear(ctx, &o);
    reset(NULL);
    w.gap = 100;
    w.allowed = 1u | 1u << 4 | 1u << 5;
    w.remembered = "first latency 10 10 9.0\nfirst latency 1 1 0.9\n"
                   "gains latency 30 0 0\nthis is no line\nx y -1 2 3\n";
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_ptr_equal(strstr(w.order, "first "), w.order);
    assert_non_null(w.learnt);
    assert_non_null(strstr(w.learnt, "gains latency 1 1 0.4"));
    assert_non_null(strstr(w.learnt, "first latency 1 0 0"));
    ws__forge_clear(ctx, &o);
    /* Two lines in one, of which the first looks whole: nothing of them. */
    reset(NULL);
    w.gap = 100;
    w.allowed = 1u | 1u << 4 | 1u << 5;
    w.remembered = "first latency 10 10 9.0second latency 3 3 0.5\r\n"
                   "gains latency 3 3 1.5\r\n";
    assert_int_equal(run(ctx, NULL, false, &o), 0);
    assert_ptr_equal(strstr(w.order, "gains "), w.order);
    ws__forge_clear(ctx, &o);
    assert_int_equal(run(ctx, &(struct ws__forge_opts){.forgetful = true},
                         false, &o),
                     0);
    assert_ptr_equal(strstr(w.order, "gains "), w.order);
    ws__forge_clear(ctx, &o);
}

/* Stopped anywhere and begun again: the same answers, the same choices. */
static void resumed(void **state)
{
    struct ws__forge_outcome o;
    char whole[sizeof(w.order)];
    unsigned best;
    uint64_t trials;

    (void)state;
    assert_int_equal(run(ctx, NULL, true, &o), 0);
    strcpy(whole, w.order);
    best = w.made[o.best.kernel];
    trials = o.trials;
    ws__forge_clear(ctx, &o);
    for (uint64_t at = 1; at < trials; at += 3) {
        reset(NULL);
        w.remembered = at == 4 ? "loses unknown 9 9 9\n" : NULL;
        w.stop_at = at;
        assert_int_equal(run(ctx, NULL, true, &o), 0);
        assert_int_equal(o.stopped, WS_ECANCEL);
        ws__forge_clear(ctx, &o);
        w.stop_at = 0;
        w.asked = 0;
        /* What is learnt meanwhile changes nothing of this run. */
        if (at != 4)
            w.remembered = "loses unknown 9 9 9\n";
        else
            w.remembered = NULL;
        assert_int_equal(run(ctx, NULL, true, &o), 0);
        assert_int_equal(o.stopped, 0);
        assert_int_equal(w.replayed, at - 1);
        assert_int_equal(w.made[o.best.kernel], best);
        if (at != 4) {
            assert_string_equal(w.order, whole);
            assert_int_equal(o.trials, trials);
        }
        ws__forge_clear(ctx, &o);
    }
}

/* A run that ended by its budget goes on with a larger one. */
static void larger_budget(void **state)
{
    struct ws__forge_outcome o;
    unsigned best;
    char whole[sizeof(w.order)];

    (void)state;
    assert_int_equal(run(ctx, NULL, true, &o), 0);
    strcpy(whole, w.order);
    best = w.made[o.best.kernel];
    ws__forge_clear(ctx, &o);
    for (uint64_t budget = 4; budget < 30; budget += 5) {
        const struct ws__forge_opts small = {.budget_trials = budget};
        const struct ws__forge_opts more = {.budget_trials = budget + 4};
        size_t n;

        reset(NULL);
        assert_int_equal(run(ctx, &small, true, &o), 0);
        n = w.nrecord;
        ws__forge_clear(ctx, &o);
        assert_int_equal(run(ctx, &more, true, &o), 0);
        ws__forge_clear(ctx, &o);
        assert_true(w.nrecord >= n);
        assert_int_equal(run(ctx, NULL, true, &o), 0);
        assert_string_equal(w.order, whole);
        assert_int_equal(w.made[o.best.kernel], best);
        ws__forge_clear(ctx, &o);
    }
}

/* A record of something else is told, not followed. */
static void foreign_record(void **state)
{
    struct ws__forge_outcome o;

    (void)state;
    assert_int_equal(run(ctx, NULL, true, &o), 0);
    ws__forge_clear(ctx, &o);
    w.record[1].q.workload = 0;
    assert_int_equal(run(ctx, NULL, true, &o), WS_ECORRUPT);
}

static int body(struct ws_ctx *c, void *user)
{
    struct ws__forge_outcome o;
    int rc;

    (void)user;
    reset(NULL);
    w.allowed = 1u | 1u << 4 | 1u << 2;
    w.remembered = "first latency 10 10 9.0\n";
    rc = run(c, NULL, true, &o);
    if (rc >= 0)
        ws__forge_clear(c, &o);
    return rc;
}

static void memory_is_short(void **state)
{
    (void)state;
    assert_true(t_torture(body, NULL) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_ends, reset),
        cmocka_unit_test_setup(values_are_settled, reset),
        cmocka_unit_test_setup(guarded, reset),
        cmocka_unit_test_setup(without_pairs, reset),
        cmocka_unit_test_setup(nothing_to_gain, reset),
        cmocka_unit_test_setup(values_of_old_parameters, reset),
        cmocka_unit_test_setup(original_is_wrong, reset),
        cmocka_unit_test_setup(original_is_not_proven, reset),
        cmocka_unit_test_setup(phases, reset),
        cmocka_unit_test_setup(budgets, reset),
        cmocka_unit_test_setup(order, reset),
        cmocka_unit_test_setup(resumed, reset),
        cmocka_unit_test_setup(larger_budget, reset),
        cmocka_unit_test_setup(foreign_record, reset),
        cmocka_unit_test_setup(memory_is_short, reset),
    };
    int rc;

    ctx = t_ctx(NULL);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    reset(NULL);
    free(w.kernel);
    ws_ctx_free(ctx);
    return rc;
}
