/*
 * measure_state.c: does a candidate keep something between launches?
 *
 * While timing, the hash of every output was that of its variant of the
 * inputs; what is left to show is that the hash of variant 1 belongs to a
 * right result, and that outputs which hold a result, and scratch that holds
 * what made it, are written like poisoned ones. So each candidate runs once
 * more, on inputs of the other variant than the one whose result still lies in
 * the outputs. The result must have the hash that timed launches had, and is
 * compared with the reference, run again for variant 1: always for what is more
 * than screened, in screening if both variants had the same result (that is
 * what a kept one looks like) or if the reference is cheap beside the trial.
 *
 * Inputs that only the op's own generator can fill have no variants: they get
 * another seed, after timing, and the candidate runs on those poisoned as in
 * timing and over old outputs and scratch.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

#define CHEAP 20 /* times shorter than the trial so far */
#define KEEPS                                                                  \
    "keeps something between launches: right when checked, wrong on changed "  \
    "inputs: "
#define OVER_OLD                                                               \
    "keeps something between launches: its result over old outputs and "       \
    "scratch is not the one over poison"

struct state {
    struct ws__measure *m;
    struct ws__bufs *b;
    struct ws__subject *s;
    size_t n, at; /* at: the one that runs */
    size_t set;   /* its outputs hold a result */
    enum ws__effort effort;
    bool compare; /* m->problem is that of the changed inputs */
    struct ws__prog *prog;
};

static bool is_cheap(const struct state *x)
{
    uint64_t spent = ws__device_clock(&x->m->dev) - x->s[0].begun_ns;

    return spent / CHEAP >= x->m->ref_ns;
}

static bool want_reference(const struct state *x)
{
    if (x->effort != WS__SCREEN || is_cheap(x))
        return true;
    for (size_t i = 0; i < x->n; i++)
        if (!x->s[i].kernel->order_dependent && x->s[i].known[1] &&
            x->s[i].hash[0] == x->s[i].hash[1])
            return true;
    return false;
}

static int cheats(struct state *x, struct ws__subject *s, const char *why)
{
    s->t->verdict = WS__V_CHEAT;
    return ws__trial_set_reason(x->m->ctx, s->t, "%s", why);
}

/* By value, those that lie in the set. */
static int compare(struct state *x, struct ws__subject *s, size_t set)
{
    struct ws__mismatch kept = s->t->mismatch;
    int rc = ws__measure_compare_set(x->m, x->b, set, x->b->held[set].poison, s,
                                     KEEPS);

    if (rc > 0)
        s->t->mismatch = kept; /* the report on the checked launches */
    else if (rc == 0)
        s->t->verdict = WS__V_CHEAT;
    return rc < 0 ? rc : 0;
}

/* Outputs and scratch stay as the launch before left them; what the kernel
 * wants to be zero is zero. */
static void leave_old(struct ws__prog *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->seq.nfill; i++)
        if (p->fill[i].timed)
            p->fill[n++] = p->fill[i];
    p->seq.nfill = n;
}

/* One launch; poison: outputs and scratch are filled before. */
static int launch(struct state *x, struct ws__subject *s, bool poison,
                  uint64_t *hash)
{
    struct ws__held *held = &x->b->held[x->set];
    struct ws__prog *prog = x->prog;
    struct ws__dev_sample sample;

    ws__prog_make(x->m, x->b, s, x->set, x->m->problem, prog);
    if (poison)
        held->poison = ws__poison_draw(x->b);
    ws__prog_poison(prog, poison ? held->poison : ws__poison_draw(x->b), 0);
    if (!poison)
        leave_old(prog);
    WS_TRY(ws__measure_once(x->m, &prog->seq, &sample));
    *hash = sample.hash;
    return 0;
}

/* Over the result of the other variant, until that of variant 1 was seen. */
static int over_old(struct state *x, struct ws__subject *s)
{
    int v = x->b->held[x->set].variant;
    uint64_t hash;

    do {
        v = !v;
        WS_TRY(ws__inputs_set(x->m, x->b, x->set, v));
        WS_TRY(launch(x, s, false, &hash));
        x->b->held[x->set].variant = v;
        if (!s->kernel->order_dependent && s->known[v] && hash != s->hash[v])
            return cheats(x, s, OVER_OLD);
    } while (x->compare && !v);
    return x->compare ? compare(x, s, x->set) : 0;
}

static bool all_ok(const struct state *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->s[i].t->verdict != WS__V_OK)
            return false;
    return true;
}

/* What hashes cannot tell: results of variant 1 that timing left behind. */
static int compare_held(struct state *x)
{
    for (size_t set = 0; set < x->b->nset; set++) {
        const struct ws__held *h = &x->b->held[set];
        struct ws__subject *s = &x->s[h->prog];

        if (h->variant && s->kernel->order_dependent && all_ok(x))
            WS_TRY(compare(x, s, set));
    }
    return 0;
}

static int with_variants(struct state *x)
{
    x->compare = want_reference(x);
    if (x->compare) {
        WS_TRY(ws__inputs_reference(x->m, x->b));
        WS_TRY(compare_held(x));
    }
    for (x->at = 0; x->at < x->n && all_ok(x); x->at++)
        if (x->compare || !x->s[x->at].kernel->order_dependent)
            WS_TRY(over_old(x, &x->s[x->at]));
    return 0;
}

/* Inputs of another seed, everywhere. */
static int other_seed(struct state *x)
{
    struct ws__measure *m = x->m;

    m->problem_done = false;
    WS_TRY(m->deps.problem_fill(m->problem, m->ref,
                                ws__rng_u64(&x->b->rng) >> 1,
                                m->opts.ref_threads));
    return ws__bufs_upload(m, x->b, m->problem);
}

/* Two launches on inputs of another seed: as timed, on a set without a
 * result, and over the result of the last timed round. */
static int on_other_seed(struct state *x, struct ws__subject *s, bool over)
{
    size_t old = x->set;
    uint64_t hash[2];

    x->set = (old + 1) % x->b->nset;
    WS_TRY(launch(x, s, true, &hash[0]));
    if (!x->compare && !s->kernel->order_dependent && hash[0] == s->hash[0]) {
        WS_TRY(ws__measure_reference(x->m));
        x->compare = true;
    }
    if (x->compare)
        WS_TRY(compare(x, s, x->set));
    x->set = old;
    if (s->t->verdict != WS__V_OK || x->b->nset < 2 || !over)
        return 0;
    WS_TRY(launch(x, s, false, &hash[1]));
    if (!s->kernel->order_dependent && hash[0] != hash[1])
        return cheats(x, s, OVER_OLD);
    return x->compare ? compare(x, s, x->set) : 0;
}

static int without_variants(struct state *x)
{
    bool reference = want_reference(x);

    WS_TRY(other_seed(x));
    if (reference)
        WS_TRY(ws__measure_reference(x->m));
    x->compare = reference;
    /* The first leaves nothing old behind. */
    for (x->at = 0; x->at < x->n && all_ok(x); x->at++)
        WS_TRY(on_other_seed(x, &x->s[x->at], !x->at));
    return 0;
}

int ws__measure_state(struct ws__measure *m, struct ws__bufs *b,
                      struct ws__subject *s, size_t n, uint32_t round,
                      enum ws__effort effort)
{
    struct state x = {.m = m,
                      .b = b,
                      .s = s,
                      .n = n,
                      .set = round % b->nset,
                      .effort = effort};
    int rc;

    x.prog = ws__alloc(m->ctx, 1, sizeof(*x.prog));
    if (!x.prog)
        return WS_ENOMEM;
    rc = b->nspot ? with_variants(&x) : without_variants(&x);
    ws__free(m->ctx, x.prog);
    if (rc >= 0)
        return 0;
    return ws__measure_blame(m, rc, &s[x.at < n ? x.at : n - 1], 1,
                             "run on changed inputs");
}
