/*
 * t_search.h: a world for strategies without a device: kernels with a few
 * parameters, a cost that is a smooth bowl, an evaluator that computes it
 * (with noise, failing configs and a switch to stop), and a journal in memory.
 */
#ifndef WS_T_SEARCH_H
#define WS_T_SEARCH_H

#include <math.h>

#include "space/t_space.h"
#include "search/search.h"

#define T_KERNELS 2
#define T_WORKLOADS 4
#define T_SAMPLES 7
#define T_LOG 20000

/* --- journal ------------------------------------------------------------ */
struct t_record {
    struct ws__question q;
    struct ws__trial t[2];
    size_t n;
};

struct t_journal {
    struct ws_ctx *ctx; /* its own: it does not fail with the engine's */
    struct t_record *rec;
    size_t n, cap, full_at; /* full_at: append n fails; 0: never */
    bool busy;
    const struct t_journal *elsewhere; /* trials of other runs */
};

static inline int t_journal_begin(void *self, struct ws__run *run)
{
    struct t_journal *j = self;

    if (j->busy)
        return ws__fail(j->ctx, WS_EBUSY, "busy");
    j->busy = true;
    run->id = 1;
    return 0;
}

static inline int t_journal_append(void *self, const struct ws__run *run,
                                   const struct ws__question *q,
                                   struct ws__trial *t, size_t n)
{
    struct t_journal *j = self;
    struct t_record *r;

    (void)run;
    if (j->full_at && j->n + 1 >= j->full_at)
        return ws__fail(j->ctx, WS_EFULL, "full");
    assert_int_equal(ws__grow(j->ctx, (void **)&j->rec, &j->cap, j->n,
                              sizeof(*r)),
                     0);
    r = &j->rec[j->n++];
    memset(r, 0, sizeof(*r));
    r->q = *q;
    r->n = n;
    for (size_t i = 0; i < n; i++) {
        t[i].id = j->n * 2 + i;
        assert_int_equal(ws__trial_copy(j->ctx, &t[i], &r->t[i]), 0);
    }
    return 0;
}

static inline int t_journal_replay(void *self, const struct ws__run *run,
                                   int (*fn)(void *,
                                             const struct ws__question *,
                                             const struct ws__trial *, size_t),
                                   void *user)
{
    struct t_journal *j = self;

    (void)run;
    for (size_t i = 0; i < j->n; i++) {
        int rc = fn(user, &j->rec[i].q, j->rec[i].t, j->rec[i].n);

        if (rc)
            return rc;
    }
    return 0;
}

static inline int t_journal_find(void *self, struct ws__hash candidate,
                                 struct ws__hash work, struct ws__hash device,
                                 enum ws__effort effort, unsigned did,
                                 struct ws__trial *out)
{
    const struct t_journal *o = ((struct t_journal *)self)->elsewhere;

    (void)device;
    for (size_t i = 0; o && i < o->n; i++) {
        const struct ws__trial *t = &o->rec[i].t[0];

        if (o->rec[i].n == 1 && ws__hash_eq(t->candidate_hash, candidate) &&
            ws__hash_eq(t->workload_hash, work) && t->effort >= effort &&
            (t->did & did) == did)
            return ws__trial_copy(((struct t_journal *)self)->ctx, t, out) < 0
                       ? WS_ENOMEM
                       : 1;
    }
    return 0;
}

static inline int t_journal_end(void *self, struct ws__run *run)
{
    (void)run;
    ((struct t_journal *)self)->busy = false;
    return 0;
}

static const struct ws__journal_ops t_journal_ops = {
    .abi = 1,
    .name = "memory",
    .begin = t_journal_begin,
    .append = t_journal_append,
    .replay = t_journal_replay,
    .find = t_journal_find,
    .end = t_journal_end,
};

static inline void t_journal_clear(struct t_journal *j)
{
    for (size_t i = 0; i < j->n; i++)
        for (size_t k = 0; k < 2; k++)
            ws__trial_clear(j->ctx, &j->rec[i].t[k]);
    ws__free(j->ctx, j->rec);
    j->rec = NULL;
    j->n = j->cap = 0;
}

/* --- world -------------------------------------------------------------- */
struct t_world {
    struct ws_ctx *ctx;
    struct t_kernel kernel[T_KERNELS];
    struct ws__kernel kernels[T_KERNELS];
    struct ws__op op;
    struct ws__workload work[T_WORKLOADS];
    struct ws__space *space[T_KERNELS * T_WORKLOADS];
    struct ws__problem_space p;
    /* evaluator */
    size_t answers, stop_at; /* stop_at: answer n fails with stop_code */
    int stop_code;
    unsigned fail_one_in; /* configs that do not compile; 0: none */
    bool default_fails, noisy, overrated;
    bool once;  /* stop_at: only that answer, once */
    bool ahead; /* of the engine's options */
    unsigned unfit_one_in;
    uint64_t asked[T_LOG]; /* ids, in order */
    size_t prefetched;
    /* Changes an answer; NULL: none. */
    void (*change)(struct t_world *w, const struct ws__question *q,
                   struct ws__trial *out);
    size_t pairs; /* answered so far, for it */
    bool prove, sanitize;
    size_t sanitized, proofs; /* such questions */
    struct t_journal journal;
};

static inline bool t_same(const struct ws__candidate *a,
                          const struct ws__candidate *b)
{
    return a->kernel == b->kernel && ws__config_eq(&a->config, &b->config);
}

static inline uint64_t t_hash(const struct ws__candidate *c, uint64_t salt)
{
    struct ws__hash h = ws__hash_bytes(&c->config, sizeof(c->config));

    return ws__hash_u64(h, c->kernel * 1000u + salt).lo;
}

static inline bool t_is_default(const struct t_world *w,
                                const struct ws__candidate *c)
{
    struct ws__config d;

    ws__config_default(&w->kernels[c->kernel], &d);
    return ws__config_eq(&d, &c->config);
}

/* A bowl with its bottom at about two thirds of every range; the place moves
 * a little with the workload, and kernel 1 is a bit faster. */
static inline double t_cost(const struct t_world *w,
                            const struct ws__candidate *c, uint32_t workload)
{
    const struct ws__kernel *k = &w->kernels[c->kernel];
    double cost = c->kernel ? 900 : 1000;

    for (size_t i = 0; i < k->nparam; i++) {
        double n = (double)k->param[i].nvalue;
        double d = (c->config.at[i] - 0.66 * n - 0.3 * workload) / n;

        cost += 1000 * d * d;
    }
    return cost;
}

static inline bool t_fails(const struct t_world *w,
                           const struct ws__candidate *c)
{
    if (t_is_default(w, c))
        return w->default_fails;
    return w->fail_one_in && t_hash(c, 1) % w->fail_one_in == 0;
}

static inline int t_trial(struct t_world *w, const struct ws__question *q,
                          const struct ws__candidate *c, struct ws__trial *t)
{
    double cost = t_cost(w, c, q->workload);

    t->effort = q->effort;
    t->spent_ns = 1000;
    t->did = WS__WANT_BUILD;
    if (t_fails(w, c)) {
        t->verdict = WS__V_BUILD;
        return ws__trial_set_reason(w->ctx, t, "syntax error");
    }
    t->did = q->want;
    t->verdict = WS__V_OK;
    t->sample_ns = ws__alloc(w->ctx, T_SAMPLES, sizeof(double));
    if (!t->sample_ns)
        return WS_ENOMEM;
    t->nsample = T_SAMPLES;
    /* Screening flatters some configs; interleaving does not. */
    if (w->overrated && !q->pair && t_hash(c, 2) % 3 == 0 &&
        q->effort == WS__SCREEN)
        cost *= 0.5;
    for (size_t i = 0; i < T_SAMPLES; i++)
        t->sample_ns[i] =
            cost * (1 + (w->noisy ? 0.02 : 0.0001) *
                            ((double)(t_hash(c, 3 + i) % 1000) / 1000));
    return 0;
}

static inline int t_answer(void *self, const struct ws__question *q,
                           struct ws__trial *out)
{
    struct t_world *w = self;

    if (w->stop_at && w->answers + 1 >= w->stop_at) {
        if (w->once)
            w->stop_at = 0;
        return ws__fail(w->ctx, w->stop_code ? w->stop_code : WS_ECANCEL,
                        "stopped by the test");
    }
    assert_true(w->answers < T_LOG);
    w->asked[w->answers++] = q->id;
    WS_TRY(t_trial(w, q, &q->a, &out[0]));
    if (q->pair) {
        WS_TRY(t_trial(w, q, &q->b, &out[1]));
        out[0].block = out[1].block = q->id;
    }
    if (w->change)
        w->change(w, q, out);
    w->pairs += q->pair;
    w->sanitized += (q->want & WS__WANT_SANITIZER) != 0;
    w->proofs += (q->want & WS__WANT_PROOF) != 0;
    return 0;
}

static inline int t_prefetch(void *self, const struct ws__question *q, size_t n)
{
    (void)q;
    ((struct t_world *)self)->prefetched += n;
    return 0;
}

static const struct ws__evaluator_ops t_evaluator_ops = {.abi = 1,
                                                         .name = "bowl",
                                                         .prefetch = t_prefetch,
                                                         .answer = t_answer};

static inline int t_fits(void *user, const struct ws__candidate *c,
                         uint32_t workload)
{
    struct t_world *w = user;

    return t_is_default(w, c) ||
           t_hash(c, 100 + workload) % w->unfit_one_in != 0;
}

/* One kernel: four parameters, a constraint among them, one that depends on
 * the workload ("shape"), and `empty`: nothing is valid on workload 1. */
static inline void t_world_kernel(struct t_world *w, size_t k, size_t values,
                                  bool empty)
{
    struct t_kernel *t = &w->kernel[k];
    struct ws__kernel *out = &w->kernels[k];

    t_kernel_init(t, w->ctx);
    ws__scope_add(w->ctx, &t->k.scope, "shape", WS__INT, NULL);
    assert_int_equal(t_param(t, "a", values, 0, 1), 0);
    assert_int_equal(t_param(t, "b", values, 0, 1), 0);
    assert_int_equal(t_param(t, "c", values, 0, 1), 0);
    assert_int_equal(t_param(t, "d", values > 1 ? 2 : 1, 0, 1), 0);
    t->k.op = &w->op;
    t->k.source = "void f(void) {}";
    assert_int_equal(t_constraint(t, "a + b < 30 or d == 0"), 0);
    assert_int_equal(t_constraint(t, empty ? "shape != 1" : "c + shape >= 0"),
                     0);
    t->k.constraint[1].needs_axes = true;
    *out = t->k;
}

static inline void t_world_init(struct t_world *w, struct ws_ctx *ctx,
                                size_t nkernel, size_t nwork, size_t values,
                                bool empty)
{
    memset(w, 0, sizeof(*w));
    w->ctx = ctx;
    w->journal.ctx = ctx;
    w->op.name = "toy";
    w->op.naxis = 1;
    w->op.axis[0].name = "shape";
    for (size_t k = 0; k < nkernel; k++)
        t_world_kernel(w, k, values, empty);
    for (size_t i = 0; i < nwork; i++) {
        w->work[i].name = "toy";
        w->work[i].axis[0] = (int64_t)i;
        w->work[i].weight = 1;
    }
    w->p = (struct ws__problem_space){.ctx = ctx,
                                      .kernel = w->kernels,
                                      .nkernel = nkernel,
                                      .workload = w->work,
                                      .nworkload = nwork,
                                      .spaces = w->space,
                                      .seed = 1};
    for (size_t k = 0; k < nkernel; k++)
        for (size_t i = 0; i < nwork; i++) {
            union wsrt_value vars[WS__MAX_SLOTS] = {{.i = (int64_t)i}};

            assert_int_equal(ws__space_new(ctx, &w->kernels[k], vars, true,
                                           true, &w->space[k * nwork + i]),
                             0);
        }
}

static inline void t_world_filter(struct t_world *w, unsigned one_in)
{
    w->unfit_one_in = one_in;
    w->p.fits = t_fits;
    w->p.fits_user = w;
}

static inline void t_world_free(struct t_world *w)
{
    t_journal_clear(&w->journal);
    for (size_t i = 0; i < w->p.nkernel * w->p.nworkload; i++)
        ws__space_free(w->space[i]);
    for (size_t k = 0; k < w->p.nkernel; k++)
        t_kernel_free(&w->kernel[k]);
}

static inline int t_world_run(struct t_world *w, const char *strategy,
                              uint64_t budget, unsigned parallel,
                              struct ws__outcome *out)
{
    struct ws__evaluator ev = {&t_evaluator_ops, w};
    struct ws__journal j = {&t_journal_ops, &w->journal};
    struct ws__run run = {.name = "toy"};
    struct ws__engine_opts o = {.strategy = strategy,
                                .seed = w->p.seed,
                                .budget_trials = budget,
                                .parallel = parallel,
                                .ahead = w->ahead,
                                .prove = w->prove,
                                .sanitize = w->sanitize};

    return ws__engine_run(&w->p, &ev, &j, &run, &o, out);
}

static inline void t_world_case(struct t_world *w, struct ws_ctx **ctx,
                                size_t nkernel, size_t nwork, size_t values)
{
    *ctx = t_ctx(NULL);
    assert_non_null(*ctx);
    t_world_init(w, *ctx, nkernel, nwork, values, false);
}

#endif
