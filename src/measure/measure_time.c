/*
 * measure_time.c: how long does a right candidate take?
 *
 * Samples come in batches of rounds; one message to the device each, so that
 * nothing of ours falls between two samples. Between samples the device
 * poisons the outputs, restores what is changed in place, empties the cache
 * (cold) and hashes the outputs; the next round uses the next buffer set, and
 * the result in the last one is wiped. Between batches the sets change to the
 * one or the other variant of the inputs and to other poison. Every timed
 * output must have the hash that belongs to its variant.
 *
 * Sampling ends when the 95% interval of the median (of the ratio, for a
 * pair) is narrow enough or the budget is spent, whichever is first, but not
 * before a minimum of samples.
 *
 * A round that ran while something slowed the device (power, heat) is thrown
 * away, in a pair for both, and the device rests, longer each time. What is
 * lost that way is bounded by the budget again; after that slowed samples are
 * kept, and the trial says so.
 */
#include "measure/measure_int.h"

#include <math.h>

#include "base/clock.h"
#include "base/banned.h"

#define MAX_ROUNDS 2000  /* of a trial: a bound on what the store keeps */
#define BATCH_ROUNDS 256 /* of a message */
#define PLACES (MAX_ROUNDS + WS__SETS) /* with rounds that are not kept */
#define SLOW_NS 100e6                  /* above: the short minimum of samples */
#define INNER_NS                                                               \
    20e3 /* a sample by a processor's clock, at least:                         \
            reading it costs some 25 ns to 1 us */
#define MAX_INNER 10000
#define STABLE 0.03 /* warm-up: two medians agree */
#define WARM_ROUNDS 3
#define MAX_FLUSH (256ull << 20)
#define UNKNOWN_CACHE (128ull << 20) /* no less than any GPU's today */
#define STREAMING 3                  /* sets of so many caches need no flush */
#define HOPELESS 3 /* times slower than the best: screened out */
#define SLACK_NS 20000000000ull
/* Other programs make either launch late, so the least of each counts: what
 * looks honest after the first looks is, what does not is looked at further. */
#define POISON_LOOKS 4
#define POISON_TRIES 8
#define SPAN_TRIES 20
#define CLOCK_NS 1000.0 /* what one sample of a processor may be off */
#define LONGER 1.5      /* on inputs never seen: not by noise, three times */
#define TRIES 3
#define REST_NS 10000000u  /* the first; each is twice as long */
#define SLICE_NS 10000000u /* between looks at the stop flag */
#define MAX_BORE 5         /* halvings of what is lost to slowing that stays */

static const struct target {
    uint64_t budget_ns;
    size_t min, min_slow;
    double interval; /* half of it, relative */
} targets[] = {
    [WS__SCREEN] = {150000000, 5, 3, 0.05},
    [WS__NORMAL] = {500000000, 10, 3, 0.03},
    [WS__CONFIRM] = {2000000000, 20, 6, 0.015},
};

struct timing {
    struct ws__measure *m;
    struct ws__bufs *b;
    struct ws__subject *s;
    size_t n;
    const struct target *target;
    enum ws__effort effort;
    struct ws__prog *prog;   /* n * nset */
    struct ws__dev_seq *seq; /* the same, as the batch wants them */
    struct ws__dev_sample *raw;
    double *ns[2], *mhz[2], *tmp; /* PLACES each */
    size_t count;                 /* samples kept, of each subject */
    struct ws__span span[2];      /* of all samples, kept or not */
    uint64_t lost_ns, rest_ns;    /* by slowing; the next rest */
    uint64_t bound_ns;            /* of lost_ns */
    uint32_t slowed, kept_slowed; /* rounds thrown away; WS__SLOW_* of kept */
    uint32_t round, inner;
    uint64_t flush_bytes, spent_ns;
    int last; /* variant of the round before */
    enum { BY_LOT, ALL_NEW } variants;
    uint32_t poison[WS__SETS];
    bool judged;  /* a timed output was wrong */
    bool floored; /* there was a floor to hold the time against */
};

/* ---- one batch --------------------------------------------------------- */

static int judge_sample(struct timing *t, const struct ws__dev_sample *x)
{
    struct ws__subject *s = &t->s[x->prog];
    int v = t->b->variant[x->set];

    if (t->variants != BY_LOT) /* of new inputs nothing is known */
        return 0;
    if (!s->known[v]) {
        s->known[v] = true;
        s->hash[v] = x->hash;
    }
    if (s->kernel->order_dependent || x->hash == s->hash[v] ||
        s->t->verdict != WS__V_OK)
        return 0;
    s->t->verdict = WS__V_CHEAT;
    t->judged = true;
    return ws__trial_set_reason(t->m->ctx, s->t,
                                "right when checked, wrong when timed (round "
                                "%u, buffer set %u)",
                                x->round, x->set);
}

/* Variants by lot, of two rounds or more never all alike. The place of the
 * first round whose variant is not that of the round before it; 0: none. */
static int draw_variants(struct timing *t, uint32_t rounds, size_t *change)
{
    struct ws__bufs *b = t->b;
    size_t n = rounds < b->nset ? rounds : b->nset, at = 0;
    int last = 0;

    if (b->joint || n == 1)
        WS_TRY(ws__inputs_set(t->m, b, t->round % b->nset, !t->last));
    for (size_t i = 0; !b->joint && n > 1 && i < n; i++) {
        int v = (int)ws__rng_below(&b->rng, 2);

        if (i == n - 1 && !at)
            v = !last;
        if (i && !at && v != last)
            at = i;
        last = v;
        WS_TRY(ws__inputs_set(t->m, b, (t->round + i) % b->nset, v));
    }
    t->last = b->variant[(t->round + rounds - 1) % b->nset];
    *change = at;
    return 0;
}

/* Variant and poison of every set for the next rounds. Where the variant
 * changes stands the one word that is not drawn, after another one: a kernel
 * that waits for it to give out what it kept is not only foiled, but told. */
static int vary(struct timing *t, uint32_t rounds)
{
    struct ws__bufs *b = t->b;
    size_t change = 0;

    if (t->variants == BY_LOT && b->nspot)
        WS_TRY(draw_variants(t, rounds, &change));
    for (size_t set = 0; set < b->nset; set++)
        t->poison[set] = ws__poison_draw(b);
    if (change && !b->gaps) {
        uint32_t *before = &t->poison[(t->round + change - 1) % b->nset];

        t->poison[(t->round + change) % b->nset] = WS__POISON_OLD;
        if (*before == WS__POISON_OLD)
            *before = WS__POISON_FIRST;
    }
    for (size_t i = 0; i < t->n * b->nset; i++) {
        size_t set = i % b->nset, before = (set + b->nset - 1) % b->nset;

        ws__prog_poison(&t->prog[i], t->poison[set], t->poison[before]);
    }
    return 0;
}

/* Lets the device cool down. */
static int rest(struct timing *t)
{
    uint64_t start = ws__device_clock(&t->m->dev), took;

    for (uint64_t done = 0; done < t->rest_ns; done += SLICE_NS) {
        WS_TRY(ws__check_stop(t->m->ctx));
        ws__sleep_ns(SLICE_NS);
    }
    took = ws__device_clock(&t->m->dev) - start;
    t->lost_ns += took > t->rest_ns ? took : t->rest_ns;
    t->rest_ns *= 2;
    return 0;
}

/* Appends `rounds` rounds that took spent_ns to the samples, but for those
 * that something slowed (slow[i], WS__SLOW_*). */
static int append(struct timing *t, const uint32_t *slow, size_t rounds,
                  uint64_t spent_ns)
{
    bool bear = t->lost_ns >= t->bound_ns;
    size_t kept = 0;
    uint64_t lost;

    for (size_t i = 0; i < rounds; i++) {
        if (slow[i] && !bear)
            continue;
        t->kept_slowed |= slow[i];
        for (size_t p = 0; p < t->n; p++) {
            t->ns[p][t->count + kept] = t->ns[p][t->count + i];
            t->mhz[p][t->count + kept] = t->mhz[p][t->count + i];
        }
        kept++;
    }
    t->count += kept;
    if (kept == rounds) {
        t->rest_ns = REST_NS;
        return 0;
    }
    t->slowed += (uint32_t)(rounds - kept);
    lost = spent_ns / rounds * (rounds - kept);
    t->lost_ns += lost;
    t->spent_ns -= lost;
    return t->lost_ns < t->bound_ns ? rest(t) : 0;
}

/* Takes `rounds` more; keep: append to the samples. 0, or negative. A failing
 * candidate sets t->judged. */
static int take(struct timing *t, uint32_t rounds, uint64_t limit_ns, bool keep,
                double median[2])
{
    struct ws__measure *m = t->m;
    struct ws__dev_batch batch = {
        .prog = t->seq,
        .nprog = t->n,
        .nset = t->b->nset,
        .first_round = t->round,
        .rounds = rounds,
        .inner = t->inner,
        .flush_bytes = t->flush_bytes,
        .limit_ns = limit_ns,
        .graph = m->opts.graph,
    };
    uint64_t start = ws__device_clock(&m->dev), spent;
    uint32_t slow[BATCH_ROUNDS] = {0};
    size_t n = 0, got[2] = {0, 0};
    int rc;

    WS_TRY(ws__check_stop(m->ctx));
    rc = vary(t, rounds);
    if (rc >= 0)
        rc = ws__measure_run(m, &batch,
                             limit_ns + t->n * ws__measure_launch_limit(m) +
                                 SLACK_NS,
                             t->raw, &n);
    spent = ws__device_clock(&m->dev) - start;
    t->spent_ns += spent;
    if (rc >= 0 && (n < t->n || n > rounds * t->n))
        rc = ws__fail(m->ctx, WS_EPROTO, "%zu samples of %u rounds", n, rounds);
    if (rc < 0) {
        t->judged = true;
        return ws__measure_blame(m, rc, t->s, t->n,
                                 t->n > 1 ? "timed in a pair" : "timed");
    }
    for (size_t i = 0; i < n; i++) {
        const struct ws__dev_sample *x = &t->raw[i];

        if (x->prog >= t->n || got[x->prog] >= n / t->n ||
            x->set >= t->b->nset || !(x->ns >= 0) || isinf(x->ns))
            return ws__fail(m->ctx, WS_EPROTO,
                            "a sample of %g ns of program %u", x->ns, x->prog);
        WS_TRY(judge_sample(t, x));
        ws__span_see(&t->span[x->prog], x, t->inner);
        t->b->held[x->set] = (struct ws__held){x->prog, t->poison[x->set],
                                               t->b->variant[x->set]};
        slow[got[x->prog]] |= x->slowed;
        t->mhz[x->prog][t->count + got[x->prog]] = x->mhz;
        t->ns[x->prog][t->count + got[x->prog]++] = x->ns;
    }
    for (size_t p = 0; p < t->n; p++) {
        memcpy(t->tmp, t->ns[p] + t->count, got[p] * sizeof(double));
        median[p] = ws__median(t->tmp, got[p]);
    }
    t->round += (uint32_t)(n / t->n);
    return keep ? append(t, slow, n / t->n, spent) : 0;
}

/* ---- before sampling --------------------------------------------------- */

static double slowest(const struct timing *t)
{
    double v = t->s[0].first_ns;

    return t->n > 1 && t->s[1].first_ns > v ? t->s[1].first_ns : v;
}

/* Launches a sample, so that a processor's clock is fine enough. Not cold:
 * only the first of them would be. True if it takes more than thought so
 * far: the first launches are slower than the others. */
static bool choose_inner(struct timing *t, const double median[2])
{
    double ns = median[0];
    uint32_t inner = MAX_INNER;

    if (!t->m->info.id.is_cpu || t->s[0].t->cache == WS__CACHE_COLD ||
        t->seq[0].nrestore)
        return false;
    if (t->n > 1 && median[1] < ns)
        ns = median[1];
    if (ns > INNER_NS / MAX_INNER)
        inner = (uint32_t)ceil(INNER_NS / ns);
    if (inner <= t->inner)
        return false;
    t->inner = inner;
    return true;
}

static bool stable(const double a[2], const double b[2], size_t n)
{
    for (size_t p = 0; p < n; p++)
        if (!(fabs(a[p] - b[p]) <= STABLE * b[p]))
            return false;
    return true;
}

/* Rounds that are thrown away until their median stands still. A launch of
 * the slow kind has warmed up by being verified. */
static int warm_up(struct timing *t)
{
    uint64_t budget = t->target->budget_ns / 4;
    double last[2] = {0, 0}, now[2];

    if (slowest(t) > SLOW_NS)
        return 0;
    t->spent_ns = 0;
    for (size_t i = 0; i < MAX_ROUNDS / WARM_ROUNDS && !t->judged; i++) {
        bool more;

        WS_TRY(take(t, i ? WARM_ROUNDS : 1, budget, false, now));
        more = !t->judged && choose_inner(t, now);
        if (t->judged || t->spent_ns >= budget ||
            (i > 1 && !more && stable(last, now, t->n)))
            break;
        memcpy(last, now, sizeof(last));
    }
    return 0;
}

static uint64_t cache_bytes(const struct ws__measure *m)
{
    return m->info.id.cache_bytes ? m->info.id.cache_bytes : UNKNOWN_CACHE;
}

uint64_t ws__measure_flush_bytes(const struct ws__measure *m)
{
    uint64_t bytes = 2 * cache_bytes(m);

    return bytes > MAX_FLUSH ? MAX_FLUSH : bytes;
}

/* A set several times as large as the cache empties it by itself, and a
 * flush by writing would charge the candidate for its write-backs. */
static uint64_t choose_flush(const struct timing *t)
{
    if (t->s[0].t->cache != WS__CACHE_COLD ||
        t->b->set_bytes >= STREAMING * cache_bytes(t->m))
        return 0;
    return ws__measure_flush_bytes(t->m);
}

/* ---- sampling ---------------------------------------------------------- */

static int narrow(struct timing *t, bool *yes)
{
    struct ws__summary sum;
    struct ws__ratio r;
    double target = t->target->interval;

    if (t->n > 1) {
        WS_TRY(ws__ratio_bootstrap(t->m->ctx, t->ns[0], t->count, t->ns[1],
                                   t->count, true, t->s[0].t->input_seed, &r));
        *yes = r.hi - r.value <= target * r.value &&
               r.value - r.lo <= target * r.value;
        return 0;
    }
    WS_TRY(ws__summarize(t->m->ctx, t->ns[0], t->count, &sum));
    *yes = sum.hi - sum.median <= target * sum.median &&
           sum.median - sum.lo <= target * sum.median;
    return 0;
}

static bool hopeless(struct timing *t)
{
    double best = t->m->best_ns[t->s[0].t->workload];

    if (t->effort != WS__SCREEN || t->n > 1 || best <= 0 || t->count < 3)
        return false;
    memcpy(t->tmp, t->ns[0], t->count * sizeof(double));
    return ws__median(t->tmp, t->count) > HOPELESS * best;
}

static uint32_t next_rounds(const struct timing *t, size_t min)
{
    size_t want = t->count < 3 ? 3 : t->count < min ? min - t->count : t->count;

    if (t->spent_ns >= t->target->budget_ns)
        want = 1; /* only the minimum is missing */
    if (want > BATCH_ROUNDS)
        want = BATCH_ROUNDS;
    if (want > MAX_ROUNDS - t->count)
        want = MAX_ROUNDS - t->count;
    return (uint32_t)want;
}

/* What may be lost to slowing: as much as the budget, and half of it again for
 * each trial before that waited in vain. */
static uint64_t choose_bound(const struct timing *t)
{
    unsigned bore = t->m->bore < MAX_BORE ? t->m->bore : MAX_BORE;

    return t->target->budget_ns >> bore;
}

static int sample(struct timing *t)
{
    size_t min = slowest(t) > SLOW_NS ? t->target->min_slow : t->target->min;
    double median[2];
    bool enough = false;

    t->spent_ns = 0;
    t->rest_ns = REST_NS;
    t->bound_ns = choose_bound(t);
    while (!enough && t->count < MAX_ROUNDS) {
        uint64_t left = t->spent_ns < t->target->budget_ns
                            ? t->target->budget_ns - t->spent_ns
                            : 1;

        WS_TRY(take(t, next_rounds(t, min), left, true, median));
        if (t->judged || hopeless(t))
            return 0;
        if (t->count < min)
            continue;
        WS_TRY(narrow(t, &enough));
        enough = enough || t->spent_ns >= t->target->budget_ns;
    }
    return 0;
}

/* One round more if only one variant was seen. */
static int see_both(struct timing *t)
{
    double median[2];

    if (!t->b->nspot || (t->s[0].known[1] && t->s[t->n - 1].known[1]))
        return 0;
    t->last = 0;
    return take(t, 1, t->target->budget_ns, false, median);
}

/* ---- after sampling ---------------------------------------------------- */

/* Results that may vary in rounding are compared by value: those of variant 0
 * that the last rounds left behind. The others' turn comes with the reference
 * for variant 1. */
static int check_last(struct timing *t)
{
    for (uint32_t back = 1; back <= t->b->nset && back <= t->round; back++) {
        size_t set = (t->round - back) % t->b->nset;
        const struct ws__held *held = &t->b->held[set];
        struct ws__subject *s = &t->s[held->prog];
        int rc;

        if (!s->kernel->order_dependent || s->t->verdict != WS__V_OK ||
            held->variant)
            continue;
        rc = ws__measure_compare_set(t->m, t->b, set, held->poison, s,
                                     "right when checked, wrong when timed: ");
        if (rc < 0)
            return rc == WS_ENOMEM ? rc
                                   : ws__measure_blame(t->m, rc, t->s, t->n,
                                                       "after timing");
        if (!rc) {
            s->t->verdict = WS__V_CHEAT;
            t->judged = true;
        }
    }
    return 0;
}

/* The rate of device memory, once: a large timed fill. Unknown (0) on
 * processors, whose fills say little about what many threads can read, and
 * wherever it cannot be measured. */
static int find_rate(struct ws__measure *m)
{
    uint64_t bytes = 8 * cache_bytes(m);
    struct ws__dev_fill fill = {.timed = true};
    struct ws__dev_seq seq = {.fill = &fill, .nfill = 1};
    struct ws__dev_batch batch = {.prog = &seq,
                                  .nprog = 1,
                                  .nset = 1,
                                  .rounds = 3,
                                  .inner = 1,
                                  .limit_ns = 1000000000};
    struct ws__dev_sample x[3];
    size_t n = 0;
    int rc;

    if (m->rate_known || m->info.id.is_cpu)
        return 0;
    m->rate_known = true;
    if (bytes > ws__measure_max_bytes(m) / 4)
        return 0;
    rc = m->dev.ops->alloc(m->dev.self, bytes, 0, 0, &fill.buffer);
    if (rc >= 0) {
        rc = ws__measure_run(m, &batch, 0, x, &n);
        if (!ws__measure_kills(rc))
            m->dev.ops->release(m->dev.self, fill.buffer);
    }
    if (ws__measure_kills(rc))
        ws__measure_lose(m);
    if (rc == WS_ENOMEM || ws__measure_kills(rc))
        return rc; /* the question is asked again */
    for (size_t i = 0; rc >= 0 && i < n; i++)
        if (x[i].ns > 0 && (double)bytes / x[i].ns > m->fill_rate)
            m->fill_rate = (double)bytes / x[i].ns;
    ws__log(m->ctx, WS_LOG_DEBUG, "device memory fills at %.4g GB/s",
            m->fill_rate);
    return 0;
}

/* Bytes that must come from device memory: outputs may end in the cache. */
static double floor_bytes(const struct timing *t)
{
    const struct ws__instance *in = t->b->in;
    double out = 0, cache = (double)cache_bytes(t->m);

    for (size_t i = 0; i < in->op->ntensor; i++)
        if (in->op->tensor[i].role != WS__INPUT)
            out += (double)in->shape[i].bytes;
    return in->bytes - (out < cache ? out : cache);
}

/* No memory reads more than twice as fast as a fill writes. Only where the
 * cache cannot hold much of what must come from memory. */
static int floor_by_fill(struct timing *t, double *ns)
{
    double bytes = floor_bytes(t);

    if (t->s[0].t->cache != WS__CACHE_COLD || bytes < 4 * cache_bytes(t->m))
        return 0;
    WS_TRY(find_rate(t->m));
    if (t->m->fill_rate > 0)
        *ns = bytes / (2 * t->m->fill_rate);
    return 0;
}

/* From the ceilings of the device, on the inputs at hand. */
static int floor_by_roof(struct timing *t, double *ns)
{
    const struct ws__instance *in = t->b->in;
    double bytes = in->bytes;

    if (!t->m->opts.roof || t->m->dev.ops->ordered)
        return 0;
    if (ws__op_picks_rows(in->op))
        WS_TRY(ws__problem_bytes(t->m->problem, &bytes));
    *ns = ws__floor_limit(in, bytes, &t->m->roof, t->s[0].t->cache,
                          t->m->info.id.is_cpu);
    return 0;
}

static int check_physics(struct timing *t)
{
    double ns = 0;

    WS_TRY(floor_by_roof(t, &ns));
    if (ns <= 0)
        WS_TRY(floor_by_fill(t, &ns));
    if (ns <= 0)
        return 0;
    t->floored = true;
    for (size_t p = 0; p < t->n; p++) {
        double median;

        memcpy(t->tmp, t->ns[p], t->count * sizeof(double));
        median = ws__median(t->tmp, t->count);
        if (median >= 0.95 * ns)
            continue;
        t->s[p].t->verdict = WS__V_TOO_FAST;
        WS_TRY(ws__trial_set_reason(
            t->m->ctx, t->s[p].t,
            "took %.4g us, but what the op's floor says it must move and "
            "compute takes %.4g us at least on this device: if not all of it "
            "must be spent, 'floor' of the op says too much; if the ceilings "
            "are too low, measure them again on an idle machine ('wavesmith "
            "roof')",
            median / 1e3, ns / 1e3));
    }
    return 0;
}

/* Of the samples kept whose clock is known; 0: of none. */
static uint32_t median_mhz(struct timing *t, size_t p)
{
    size_t n = 0;

    for (size_t i = 0; i < t->count; i++)
        if (t->mhz[p][i] > 0)
            t->tmp[n++] = t->mhz[p][i];
    return n ? (uint32_t)ws__median(t->tmp, n) : 0;
}

static int keep_samples(struct timing *t)
{
    for (size_t p = 0; p < t->n; p++) {
        struct ws__trial *trial = t->s[p].t;
        double median, *best = &t->m->best_ns[trial->workload];

        trial->inner = t->inner;
        trial->mhz = median_mhz(t, p);
        trial->slowed = t->slowed;
        trial->kept_slowed = t->kept_slowed;
        if (!t->count)
            continue;
        trial->sample_ns = ws__alloc(t->m->ctx, t->count, sizeof(double));
        if (!trial->sample_ns)
            return WS_ENOMEM;
        memcpy(trial->sample_ns, t->ns[p], t->count * sizeof(double));
        trial->nsample = t->count;
        memcpy(t->tmp, t->ns[p], t->count * sizeof(double));
        median = ws__median(t->tmp, t->count);
        if (trial->verdict == WS__V_OK && (*best <= 0 || median < *best))
            *best = median;
    }
    return 0;
}

static bool all_ok(const struct timing *t)
{
    for (size_t p = 0; p < t->n; p++)
        if (t->s[p].t->verdict != WS__V_OK)
            return false;
    return true;
}

/* The fastest samples of a batch, which are not kept. */
static int fastest(struct timing *t, double ns[2])
{
    bool one = slowest(t) > SLOW_NS || t->b->joint;
    uint32_t rounds = one ? 1 : (uint32_t)t->b->nset;
    double median[2];

    WS_TRY(take(t, rounds, 0, false, median));
    for (size_t p = 0; p < t->n && !t->judged; p++) {
        ns[p] = t->ns[p][t->count];
        for (uint32_t i = 1; i < rounds; i++)
            if (t->ns[p][t->count + i] < ns[p])
                ns[p] = t->ns[p][t->count + i];
    }
    return 0;
}

/* Twice the same launches on one buffer set: over poison, and over what they
 * left. ns[0], ns[1]: of each. */
static int over_own(struct timing *t, size_t p, struct ws__dev_fill *kept,
                    double ns[2])
{
    struct ws__dev_seq pair[2] = {t->seq[p * t->b->nset],
                                  t->seq[p * t->b->nset]};
    const struct ws__dev_batch batch = {.prog = pair,
                                        .nprog = 2,
                                        .nset = 1,
                                        .rounds = 1,
                                        .inner = 1,
                                        .graph = t->m->opts.graph};
    struct ws__dev_sample x[2];
    size_t n = 0;

    pair[1].fill = kept;
    pair[1].nfill = 0;
    for (size_t i = 0; i < pair[0].nfill; i++)
        if (pair[0].fill[i].timed) /* part of the launches */
            kept[pair[1].nfill++] = pair[0].fill[i];
    WS_TRY(ws__measure_run(t->m, &batch, 2 * ws__measure_launch_limit(t->m), x,
                           &n));
    if (n != 2)
        return ws__fail(t->m->ctx, WS_EPROTO, "%zu samples of two", n);
    ns[0] = x[0].ns;
    ns[1] = x[1].ns;
    return 0;
}

/* Of several launches a sample only the first one finds poison. A candidate
 * that sees its own result and returns makes the others free; it is told by
 * the same launch over poison and over its own result, which for any other is
 * the same work on the same buffers. */
static int slower_on_poison(struct timing *t, size_t p)
{
    struct ws__dev_fill kept[2 * WS__MAX_TENSORS + WS__MAX_SCRATCH];
    double ns[2] = {0}, first = INFINITY, again = INFINITY;

    for (int i = 0; i < POISON_TRIES; i++) {
        WS_TRY(over_own(t, p, kept, ns));
        first = fmin(first, ns[0]);
        again = fmin(again, ns[1]);
        if (i + 1 >= POISON_LOOKS && !(first > LONGER * again + CLOCK_NS))
            return 0;
    }
    t->s[p].t->verdict = WS__V_CHEAT;
    return ws__trial_set_reason(
        t->m->ctx, t->s[p].t,
        "keeps something between launches: takes %.4g us, and %.4g us over "
        "its own result",
        first / 1e3, again / 1e3);
}

static int see_own_results(struct timing *t)
{
    int rc = 0;

    for (size_t p = 0; p < t->n && t->inner > 1 && rc >= 0 && !t->judged; p++) {
        rc = slower_on_poison(t, p);
        t->judged = t->s[p].t->verdict != WS__V_OK;
    }
    if (rc >= 0)
        return 0;
    t->judged = true;
    return ws__measure_blame(t->m, rc, t->s, t->n, "over its own result");
}

/* Does a candidate take longer on inputs that it never saw? One that keeps
 * results and reads all inputs to find them again is told by nothing else. A
 * first look costs one batch; what looks bad is measured against the same
 * inputs seen again, three times, for other programs make noise as well. */
static int on_new(struct timing *t, double ns[2])
{
    t->variants = ALL_NEW;
    for (size_t set = 0; set < (t->b->joint ? 1 : t->b->nset); set++)
        WS_TRY(ws__inputs_new(t->m, t->b, set));
    return fastest(t, ns);
}

static int slower_on_new(struct timing *t)
{
    double now[2], again[2], worst[2] = {INFINITY, INFINITY};

    if (t->effort == WS__SCREEN || !t->b->nspot)
        return 0;
    WS_TRY(on_new(t, now));
    for (size_t p = 0; p < t->n && !t->judged; p++) {
        memcpy(t->tmp, t->ns[p], t->count * sizeof(double));
        worst[p] = now[p] / ws__median(t->tmp, t->count);
    }
    for (int i = 0; i < TRIES && !t->judged; i++) {
        if (!(worst[0] > LONGER || (t->n > 1 && worst[1] > LONGER)))
            return 0;
        WS_TRY(on_new(t, now));
        if (!t->judged)
            WS_TRY(fastest(t, again));
        for (size_t p = 0; p < t->n && !t->judged; p++)
            if (now[p] / again[p] < worst[p])
                worst[p] = now[p] / again[p];
    }
    for (size_t p = 0; p < t->n && !t->judged; p++) {
        if (!(worst[p] > LONGER))
            continue;
        t->s[p].t->verdict = WS__V_CHEAT;
        WS_TRY(ws__trial_set_reason(
            t->m->ctx, t->s[p].t,
            "keeps something between launches: takes %.2f times longer on "
            "inputs that it has not seen",
            worst[p]));
    }
    return 0;
}

/* Other programs make the host late, too: what looks hidden is looked at again,
 * and the least counts. */
static int check_clocks(struct timing *t)
{
    bool cpu = t->m->info.id.is_cpu;
    double median[2];

    for (int i = 0;
         i < SPAN_TRIES && !t->judged &&
         (ws__span_hides(&t->span[0], cpu) || ws__span_hides(&t->span[1], cpu));
         i++)
        WS_TRY(take(t, 1, t->target->budget_ns, false, median));
    for (size_t p = 0; p < t->n && !t->judged; p++) {
        const struct ws__span *s = &t->span[p];

        if (!ws__span_hides(s, cpu))
            continue;
        t->s[p].t->verdict = WS__V_TOO_FAST;
        WS_TRY(ws__trial_set_reason(
            t->m->ctx, t->s[p].t,
            "took %.4g us by the device's clock, but nothing ended before "
            "%.4g us by the host's, in %u samples: work is done outside of "
            "what is timed",
            s->ns / 1e3, s->host_ns / 1e3, s->n));
    }
    return 0;
}

/* What timing must not have broken, while the device still lives. */
static int aftermath(struct timing *t)
{
    unsigned gen = t->m->gen;
    int rc;

    WS_TRY(check_clocks(t));
    if (t->judged)
        return 0;
    WS_TRY(check_last(t));
    rc = ws__inputs_reset(t->m, t->b);
    if (rc < 0)
        return ws__measure_blame(t->m, rc, t->s, t->n, "after timing");
    for (size_t set = 0; set < t->b->nset && t->m->gen == gen && all_ok(t);
         set++)
        WS_TRY(ws__bufs_check(t->m, t->b, set, t->s, t->n));
    return 0;
}

/* Nothing is kept between launches: what the next gate asks. */
static int look_for_state(struct timing *t)
{
    unsigned gen = t->m->gen;
    int rc;

    WS_TRY(ws__measure_state(t->m, t->b, t->s, t->n, t->round - 1, t->effort));
    if (!all_ok(t) || t->m->gen != gen)
        return 0;
    rc = slower_on_new(t);
    return rc < 0 && !t->judged
               ? ws__measure_blame(t->m, rc, t->s, t->n, "on new inputs")
               : rc;
}

/* One gate: what it asks, unless a subject failed before or the device is
 * another one. */
static int pass_gate(struct timing *t, unsigned gen, enum ws__gate g,
                     int (*ask)(struct timing *t))
{
    uint64_t start = ws__now_ns();

    if (!all_ok(t) || t->m->gen != gen)
        return 0;
    WS_TRY(ask(t));
    ws__measure_gate(t->s, t->n, g, start);
    return 0;
}

/* ---- the whole --------------------------------------------------------- */

static int prepare(struct timing *t)
{
    struct ws_ctx *ctx = t->m->ctx;
    size_t nset = t->b->nset;
    bool wipes = true; /* what must be compared by value has to stay */

    for (size_t p = 0; p < t->n; p++)
        wipes = wipes && !t->s[p].kernel->order_dependent;
    t->prog = ws__alloc(ctx, t->n * nset, sizeof(*t->prog));
    t->seq = ws__alloc(ctx, t->n * nset, sizeof(*t->seq));
    t->raw = ws__alloc(ctx, BATCH_ROUNDS * t->n, sizeof(*t->raw));
    t->tmp = ws__alloc(ctx, PLACES, sizeof(double));
    if (!t->prog || !t->seq || !t->raw || !t->tmp)
        return WS_ENOMEM;
    for (size_t p = 0; p < t->n; p++) {
        t->ns[p] = ws__alloc(ctx, PLACES, sizeof(double));
        t->mhz[p] = ws__alloc(ctx, PLACES, sizeof(double));
        if (!t->ns[p] || !t->mhz[p])
            return WS_ENOMEM;
        for (size_t set = 0; set < nset; set++) {
            struct ws__prog *g = &t->prog[p * nset + set];

            ws__prog_make(t->m, t->b, &t->s[p], set, t->m->problem, g);
            if (wipes && nset > 1)
                ws__prog_wipe(t->m, t->b, (set + nset - 1) % nset, g);
            t->seq[p * nset + set] = g->seq;
        }
    }
    return 0;
}

static int take_samples(struct timing *t)
{
    WS_TRY(warm_up(t));
    if (!t->judged)
        WS_TRY(sample(t));
    t->m->bore = t->kept_slowed ? t->m->bore + 1 : 0;
    if (!t->judged)
        WS_TRY(see_both(t));
    if (!t->judged && !t->m->opts.few_gates)
        WS_TRY(see_own_results(t));
    return t->judged ? 0 : aftermath(t);
}

static int run_all(struct timing *t)
{
    unsigned gen = t->m->gen;

    WS_TRY(prepare(t));
    t->flush_bytes = choose_flush(t);
    WS_TRY(pass_gate(t, gen, WS__GATE_TIMED, take_samples));
    if (!t->m->opts.few_gates) {
        WS_TRY(pass_gate(t, gen, WS__GATE_FLOOR, check_physics));
        for (size_t p = 0; p < t->n && !t->floored; p++)
            ws__gate_absent(
                t->s[p].t, WS__GATE_FLOOR,
                "no ceilings of this device are known, or none that "
                "count here ('wavesmith roof' measures them)");
        WS_TRY(pass_gate(t, gen, WS__GATE_STATE, look_for_state));
    }
    return keep_samples(t);
}

int ws__measure_time(struct ws__measure *m, struct ws__bufs *b,
                     struct ws__subject *s, size_t n, enum ws__effort effort)
{
    struct timing t = {.m = m,
                       .b = b,
                       .s = s,
                       .n = n,
                       .target = &targets[effort],
                       .effort = effort,
                       .inner = 1};
    int rc = run_all(&t);

    ws__free(m->ctx, t.ns[0]);
    ws__free(m->ctx, t.ns[1]);
    ws__free(m->ctx, t.mhz[0]);
    ws__free(m->ctx, t.mhz[1]);
    ws__free(m->ctx, t.tmp);
    ws__free(m->ctx, t.raw);
    ws__free(m->ctx, t.seq);
    ws__free(m->ctx, t.prog);
    return rc;
}
