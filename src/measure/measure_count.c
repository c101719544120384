/*
 * measure_count.c: hardware counters of a candidate.
 *
 * Counting is a step after the verdict, on the buffers that it was found right
 * on: what is counted is a kernel that computes what it should, and does so
 * while it is counted, too (its result is compared once more). A device that
 * has no counters, or may not be asked, is no error and no verdict: the reason
 * is kept beside the verdict. Counters that are kept with each trial are
 * taken the same way, between its verdict and its time.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

/* For starting the profiler and reading it, beside the launches themselves. */
#define SET_UP_LIMIT_NS 60000000000ull
#define LAUNCHES 200 /* passes, with one that warms up for each */

struct ws__count_wish {
    const char *const *metric;
    size_t n;
    struct ws__counts_of *out;
};

/* The first attempt may have ended in a crash: nothing of it stays. */
static int describe(struct ws__measure *m, const struct ws__subject *s,
                    struct ws__counts_of *out)
{
    size_t n = s->plan->nlaunch;

    ws__counts_clear(m->ctx, out);
    out->launch = ws__alloc(m->ctx, n, sizeof(*out->launch));
    if (!out->launch)
        return WS_ENOMEM;
    memcpy(out->launch, s->plan->launch, n * sizeof(*out->launch));
    out->nlaunch = n;
    out->source = ws__hash_str((struct ws__hash){7, 0}, s->recipe.source);
    out->cache = s->t->cache;
    return 0;
}

static int no_counts(struct ws__measure *m, struct ws__counts_of *out,
                     const char *why, const char *hint)
{
    struct ws__buf b;

    ws__free(m->ctx, out->value);
    out->value = NULL;
    out->passes = 0;
    ws__buf_init(&b, m->ctx, 4096);
    ws__buf_printf(&b, "%s%s%s", why, hint[0] ? "; " : "", hint);
    out->reason = b.failed ? NULL : ws__strdup(m->ctx, b.data);
    ws__buf_free(&b);
    return out->reason ? 0 : WS_ENOMEM;
}

/* The device failed to count. What a launch did is the candidate's; the rest is
 * the profiler's, which must not make a verdict. */
static int count_failed(struct ws__measure *m, int rc, struct ws__subject *s,
                        struct ws__counts_of *out)
{
    struct ws_error err = m->ctx->err;

    if (rc != WS_ENOTSUP && rc != WS_EDEVICE)
        return ws__measure_blame(m, rc, s, 1, "while it was counted");
    WS_TRY(ws__check_stop(m->ctx));
    if (rc == WS_EDEVICE)
        ws__measure_lose(m);
    return no_counts(m, out, err.message, err.hint);
}

/* What the verified launch took, as far as that can be believed. */
static uint64_t launch_ns(const struct ws__subject *s)
{
    return s->first_ns > 0 && s->first_ns < (double)SET_UP_LIMIT_NS
               ? (uint64_t)s->first_ns
               : 0;
}

static int run_counted(struct ws__measure *m, struct ws__bufs *b,
                       struct ws__subject *s, const struct ws__count_wish *w,
                       const struct ws__prog *prog)
{
    struct ws__counts_of *out = w->out;
    unsigned gen = m->gen;
    uint64_t flush =
        s->t->cache == WS__CACHE_COLD ? ws__measure_flush_bytes(m) : 0;
    int rc;

    out->value = ws__alloc(m->ctx, out->nlaunch * w->n, sizeof(*out->value));
    if (!out->value)
        return WS_ENOMEM;
    ws__measure_limit(m, SET_UP_LIMIT_NS + LAUNCHES * launch_ns(s));
    m->age++;
    rc = m->dev.ops->count(m->dev.self, &prog->seq, flush, w->metric, w->n,
                           out->value, &out->passes);
    ws__measure_limit(m, 0);
    if (rc < 0)
        return count_failed(m, rc, s, out);
    WS_TRY(ws__bufs_check(m, b, 0, s, 1));
    if (s->t->verdict != WS__V_OK || m->gen != gen || !out->passes)
        return 0;
    rc = ws__measure_compare_set(m, b, 0, WS__POISON_FIRST, s,
                                 "right before, wrong while it was counted: ");
    return rc < 0 ? rc : 0;
}

static int count_on(struct ws__measure *m, struct ws__bufs *b,
                    struct ws__subject *s, const struct ws__count_wish *w)
{
    struct ws__prog *prog;
    int rc;

    WS_TRY(describe(m, s, w->out));
    w->out->nmetric = w->n;
    if (!w->n)
        return 0;
    if (!m->dev.ops->count)
        return no_counts(m, w->out, "this device has no counters", "");
    prog = ws__alloc(m->ctx, 1, sizeof(*prog));
    if (!prog)
        return WS_ENOMEM;
    ws__prog_make(m, b, s, 0, m->problem, prog);
    ws__prog_poison(prog, WS__POISON_FIRST, 0);
    rc = run_counted(m, b, s, w, prog);
    ws__free(m->ctx, prog);
    return rc;
}

int ws__measure_count_now(struct ws__measure *m, struct ws__bufs *b,
                          struct ws__subject *s)
{
    return count_on(m, b, s, m->count);
}

/* A device that could not count once is not asked again; if it was lost by
 * that, the candidate is judged again. */
int ws__measure_count_too(struct ws__measure *m, struct ws__bufs *b,
                          struct ws__subject *s)
{
    struct ws__counts_of c = {0};
    const struct ws__count_wish wish = {m->counter, m->ncounter, &c};
    unsigned gen = m->gen;
    int rc = count_on(m, b, s, &wish);

    ws__free(m->ctx, s->t->counters);
    s->t->counters = NULL;
    if (rc == 0 && c.reason) {
        ws__log(m->ctx, WS_LOG_WARN, "no counters are kept: %s", c.reason);
        m->ncounter = 0;
        if (m->gen != gen)
            rc = ws__fail(m->ctx, WS_EDEVICE, "%s", c.reason);
    } else if (rc == 0 && c.value && s->t->verdict == WS__V_OK) {
        rc = ws__counters_text(m->ctx, m->counter_key, c.nmetric, c.value,
                               c.nlaunch, &s->t->counters);
    }
    ws__counts_clear(m->ctx, &c);
    return rc;
}

/* What the answer says, beside what was counted. */
static void take_trial(struct ws__measure *m, struct ws__trial *t,
                       struct ws__counts_of *out)
{
    out->verdict = t->verdict;
    out->res = t->res;
    out->candidate = t->candidate_hash;
    out->cache = t->cache;
    if (t->verdict == WS__V_OK)
        return;
    ws__free(m->ctx, out->value);
    ws__free(m->ctx, out->reason);
    out->value = NULL;
    out->passes = 0;
    out->reason = t->reason;
    t->reason = NULL;
}

int ws__measure_count(struct ws__measure *m, const struct ws__candidate *c,
                      uint32_t workload, const char *const *metric, size_t n,
                      struct ws__counts_of *out)
{
    const struct ws__question q = {.id = 1,
                                   .a = *c,
                                   .workload = workload,
                                   .want = WS__WANT_BUILD | WS__WANT_VERDICT,
                                   .effort = WS__NORMAL};
    struct ws__count_wish wish = {metric, n, out};
    struct ws__evaluator ev = ws__measure_evaluator(m);
    struct ws__trial t;
    int rc;

    memset(out, 0, sizeof(*out));
    memset(&t, 0, sizeof(t));
    m->count = &wish;
    rc = ev.ops->answer(ev.self, &q, &t);
    m->count = NULL;
    if (rc == 0)
        take_trial(m, &t, out);
    else
        ws__counts_clear(m->ctx, out);
    ws__trial_clear(m->ctx, &t);
    return rc;
}

void ws__counts_clear(struct ws_ctx *ctx, struct ws__counts_of *c)
{
    ws__free(ctx, c->reason);
    ws__free(ctx, c->launch);
    ws__free(ctx, c->value);
    memset(c, 0, sizeof(*c));
}
