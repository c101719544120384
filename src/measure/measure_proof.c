/*
 * measure_proof.c: what takes too long for every candidate.
 *
 * A candidate that is about to be chosen is run on shapes that nobody asked
 * for and on other families of values, in a session of its own: another
 * process at the device, another reference, other seeds. What was found holds
 * for the kernel, the config and the element types: the next question about
 * them has the answer.
 *
 * A pool of shapes is drawn when the session is opened, after the candidate was
 * compiled; of those that its constraints allow the cheapest, the dearest and
 * the one between are taken. Then come some of its own (measure_shapes.c): one
 * off its tiles, a large one, and any, where the pool has few that it takes.
 * They lie in places of the session's list that were kept free for them; when
 * these are used up the pool has to do. The families run on the one between,
 * or on a workload of the user's if the candidate takes no other shape.
 */
#include "measure/measure_int.h"

#include "base/clock.h"

#include "base/banned.h"

#define SHAPES 5 /* of the pool for a candidate, evenly spread by cost */
#define OWN 10   /* of its own, at most */
/* Of all candidates together, and how often one is drawn anew that launches or
 * memory do not allow. */
#define PLACES 200
#define DRAWS 3

struct proven {
    struct ws__candidate candidate;
    uint32_t workload; /* of its element types it was proven */
    enum ws__verdict verdict;
    char *reason; /* NULL: OK */
    uint32_t gates;
    const char *absent[2]; /* of `ours` */
};

struct ws__proof {
    struct ws__measure *m; /* the session */
    struct ws__hidden hidden;
    /* Hidden ones, those of the user, and places for candidates' own: as many
     * as `nworkload` are used. */
    struct ws__workload *workload;
    size_t nworkload;
    uint64_t seed;
    struct proven *list;
    size_t n, cap;
};

/* --- the session -----------------------------------------------------------
 */

static int open_session(struct ws__measure *m, struct ws__proof *p)
{
    struct ws__measure_opts opts = m->opts;
    struct ws__hash h = ws__hash_u64((struct ws__hash){7, 0}, m->opts.seed);
    uint64_t seed;

    /* Whoever writes shapes into a kernel changes them by that. */
    for (size_t k = 0; k < m->nkernel; k++)
        h = ws__hash_mix(h, &m->kernel[k].hash, sizeof(m->kernel[k].hash));
    /* Without a seed of the user's nobody can try out which shapes come. */
    if (!m->opts.seed)
        h = ws__hash_u64(ws__hash_u64(h, ws__wall_ns()), ws__now_ns());
    seed = h.lo;

    WS_TRY(ws__hidden_shapes(m, seed, &p->hidden));
    p->nworkload = p->hidden.n + m->nworkload;
    p->seed = seed;
    p->workload =
        ws__alloc(m->ctx, p->nworkload + PLACES, sizeof(*p->workload));
    if (!p->workload)
        return WS_ENOMEM;
    memcpy(p->workload, p->hidden.shape,
           p->hidden.n * sizeof(*p->hidden.shape));
    memcpy(p->workload + p->hidden.n, m->workload,
           m->nworkload * sizeof(*m->workload));
    for (size_t i = 0; i < PLACES; i++)
        p->workload[p->nworkload + i] = m->workload[0];
    opts.device = m->device_name;
    opts.builders = 1;
    opts.seed = seed >> 1;
    opts.inner = true;
    return ws__measure_open_with(m->ctx, &m->deps, m->op, m->kernel, m->nkernel,
                                 p->workload, p->nworkload + PLACES, &opts,
                                 &p->m);
}

void ws__proof_more(struct ws__measure *m)
{
    if (m->proof && m->proof->m)
        ws__measure_more(m->proof->m, m->nkernel);
}

void ws__proof_close(struct ws_ctx *ctx, struct ws__proof *p)
{
    if (!p)
        return;
    ws__measure_close(p->m);
    for (size_t i = 0; i < p->n; i++)
        ws__free(ctx, p->list[i].reason);
    ws__free(ctx, p->list);
    ws__free(ctx, p->workload);
    ws__free(ctx, p);
}

static int ready(struct ws__measure *m)
{
    struct ws__proof *p;
    int rc;

    if (m->proof)
        return 0;
    p = ws__alloc(m->ctx, 1, sizeof(*p));
    if (!p)
        return WS_ENOMEM;
    rc = open_session(m, p);
    if (rc < 0)
        ws__proof_close(m->ctx, p);
    else
        m->proof = p;
    return rc;
}

static struct proven *find(const struct ws__measure *m,
                           const struct ws__trial *t)
{
    const struct ws__proof *p = m->proof;

    for (size_t i = 0; i < p->n; i++)
        if (ws__candidate_eq(&p->list[i].candidate, &t->candidate) &&
            ws__measure_same_types(m, p->list[i].workload, t->workload))
            return &p->list[i];
    return NULL;
}

/* --- one run ---------------------------------------------------------------
 */

/* Why it is not right there goes into the trial, with the words before. */
static int blame(struct ws__measure *m, struct ws__subject *s,
                 const struct ws__workload *w, const struct ws__trial *t,
                 bool elsewhere, const char *words)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, m->ctx, 1000);
    ws__workload_print(&b, m->op, w);
    rc = b.failed;
    s->t->verdict = t->verdict; /* the mismatch is of another shape */
    if (!rc)
        rc = ws__trial_set_reason(m->ctx, s->t, "%s (%s): %s", words,
                                  b.data ? b.data : "",
                                  t->reason ? t->reason : "");
    if (!rc && elsewhere && b.data) {
        ws__free(m->ctx, s->t->elsewhere);
        s->t->elsewhere = ws__strdup(m->ctx, b.data);
        rc = s->t->elsewhere ? 0 : WS_ENOMEM;
    }
    ws__buf_free(&b);
    return rc;
}

/* The candidate on one workload of the session. */
static int run_on(struct ws__measure *m, struct ws__subject *s, size_t at,
                  enum ws__family f, const char *words)
{
    struct ws__proof *p = m->proof;
    struct ws__question q = {.id = 1,
                             .a = s->t->candidate,
                             .workload = (uint32_t)at,
                             .want = WS__WANT_BUILD | WS__WANT_VERDICT,
                             .effort = WS__NORMAL};
    struct ws__trial t;
    int rc;

    memset(&t, 0, sizeof(t));
    p->m->family = f;
    rc = ws__measure_answer(p->m, &q, &t);
    p->m->family = WS__FAMILY_PLAIN;
    if (rc >= 0 && t.verdict != WS__V_OK)
        rc = blame(m, s, &p->workload[at], &t, f == WS__FAMILY_PLAIN, words);
    ws__trial_clear(m->ctx, &t);
    return rc;
}

/* --- gates -----------------------------------------------------------------
 */

/* Those of the session's workloads that the candidate can run on. */
static int find_fitting(struct ws__measure *m, const struct ws__candidate *c,
                        size_t *at, size_t *nhidden, size_t *n)
{
    struct ws__proof *p = m->proof;
    char reason[256];

    *n = *nhidden = 0;
    for (size_t i = 0; i < p->hidden.n + m->nworkload; i++) {
        int rc = ws__measure_fits(p->m, c, (uint32_t)i, reason);

        WS_TRY(rc);
        if (!rc)
            continue;
        at[(*n)++] = i;
        *nhidden += i < p->hidden.n;
    }
    return 0;
}

/* Of hidden shapes by cost, the one that families and the sanitizer are tried
 * on: they run ten times and fifty times slower. */
static size_t small_one(size_t nhidden)
{
    return nhidden / 4;
}

/* The number of a small one of the hidden ones; SIZE_MAX: there is none. */
static int find_small(struct ws__measure *m, const struct ws__candidate *c,
                      size_t *small)
{
    size_t *at, nhidden, n;
    int rc;

    *small = SIZE_MAX;
    WS_TRY(ready(m));
    at = ws__alloc(m->ctx, m->proof->nworkload, sizeof(*at));
    if (!at)
        return WS_ENOMEM;
    rc = find_fitting(m, c, at, &nhidden, &n);
    if (rc >= 0 && n)
        *small = at[small_one(nhidden)];
    ws__free(m->ctx, at);
    return rc < 0 ? rc : 0;
}

int ws__proof_problem(struct ws__measure *m, const struct ws__candidate *c,
                      const struct ws__workload **work,
                      struct ws__problem **out)
{
    struct ws__question q = {.id = 1,
                             .a = *c,
                             .want = WS__WANT_BUILD | WS__WANT_VERDICT,
                             .effort = WS__NORMAL};
    struct ws__measure *p;
    struct ws__trial t;
    size_t at;
    int rc;

    *out = NULL;
    *work = NULL;
    WS_TRY(find_small(m, c, &at));
    if (at == SIZE_MAX)
        return 0;
    p = m->proof->m;
    q.workload = (uint32_t)at;
    memset(&t, 0, sizeof(t));
    rc = ws__measure_answer(p, &q, &t);
    /* Who takes the problem has no reference to ask. */
    if (rc >= 0 && t.verdict == WS__V_OK && !p->problem->sized)
        rc = ws__measure_sizes(p);
    if (rc >= 0 && t.verdict == WS__V_OK) {
        *work = &m->proof->workload[at];
        *out = p->problem;
        p->problem = NULL;
        p->problem_done = false;
    }
    ws__trial_clear(m->ctx, &t);
    return rc < 0 ? rc : 0;
}

/* One of its own into the next place; *n counts those that it can run on. */
static int add_own(struct ws__measure *m, const struct ws__candidate *c,
                   enum ws__hidden_kind kind, size_t *own, size_t *n)
{
    struct ws__proof *p = m->proof;
    struct ws__hidden *h = ws__alloc(m->ctx, 1, sizeof(*h));
    size_t room = p->hidden.n + m->nworkload + PLACES;
    char reason[256];
    int rc = h ? 0 : WS_ENOMEM;

    for (int i = 0; i < DRAWS && !rc && p->nworkload < room; i++) {
        /* Another draw for each place and candidate. */
        struct ws__hash seed = ws__hash_u64(m->kernel[c->kernel].hash, p->seed);

        seed = ws__hash_mix(seed, c->config.at,
                            c->config.n * sizeof(*c->config.at));
        seed = ws__hash_u64(seed, p->nworkload);
        rc = ws__hidden_own(m, c, seed.lo, kind, h);
        if (rc < 0 || !h->n)
            break;
        p->workload[p->nworkload] = h->shape[0];
        rc = ws__measure_fits(p->m, c, (uint32_t)p->nworkload, reason);
        if (rc > 0)
            own[(*n)++] = p->nworkload;
        p->nworkload++;
    }
    ws__free(m->ctx, h);
    return rc < 0 ? rc : 0;
}

static int draw_own(struct ws__measure *m, const struct ws__candidate *c,
                    size_t npool, size_t *own, size_t *n)
{
    *n = 0;
    WS_TRY(add_own(m, c, WS__HIDDEN_TILE, own, n));
    WS_TRY(add_own(m, c, WS__HIDDEN_LARGE, own, n));
    for (unsigned i = 0; i < WS__HIDDEN_SIZES; i++)
        WS_TRY(
            add_own(m, c, (enum ws__hidden_kind)(WS__HIDDEN_SIZE + i), own, n));
    for (size_t i = npool; i < SHAPES; i++)
        WS_TRY(add_own(m, c, WS__HIDDEN_ANY, own, n));
    return 0;
}

#define ELSEWHERE "right on the shapes asked for, not on another"
#define NO_SHAPE                                                               \
    "no shape but those asked for lies in the ranges and constraints"

static int on_shapes(struct ws__measure *m, struct ws__subject *s,
                     const size_t *at, size_t n)
{
    uint64_t start = ws__now_ns();
    size_t own[OWN], nown;

    WS_TRY(draw_own(m, &s->t->candidate, n, own, &nown));
    if (!n && !nown) {
        ws__gate_absent(s->t, WS__GATE_SHAPES, NO_SHAPE);
        return 0;
    }
    for (size_t i = 0; i < SHAPES && i < n && s->t->verdict == WS__V_OK; i++)
        WS_TRY(run_on(m, s, at[n < SHAPES ? i : i * (n - 1) / (SHAPES - 1)],
                      WS__FAMILY_PLAIN, ELSEWHERE));
    for (size_t i = 0; i < nown && s->t->verdict == WS__V_OK; i++)
        WS_TRY(run_on(m, s, own[i], WS__FAMILY_PLAIN, ELSEWHERE));
    ws__measure_gate(s, 1, WS__GATE_SHAPES, start);
    return 0;
}

static int on_family(struct ws__measure *m, struct ws__subject *s, size_t at,
                     enum ws__family f)
{
    const struct ws__instance *in;
    char words[200];

    if (s->t->verdict != WS__V_OK ||
        (ws__family_refused(m->op, f) && !ws__family_finite(m->op, f)))
        return 0;
    WS_TRY(ws__measure_instance(m->proof->m, (uint32_t)at, &in));
    if (!ws__family_tells(in, f))
        return 0;
    snprintf(words, sizeof(words), "right on the op's values, not on '%s' (%s)",
             ws__family_key(f), ws__family_text(f));
    return run_on(m, s, at, f, words);
}

/* All families on one shape; and those that tell most on the workload that was
 * asked for: a kernel may know its sizes, and a small shape has few values. */
static int on_values(struct ws__measure *m, struct ws__subject *s, size_t at)
{
    size_t asked = m->proof->hidden.n + s->t->workload;
    uint64_t start = ws__now_ns();

    for (int f = WS__FAMILY_PLAIN + 1; f < WS__NFAMILY; f++)
        WS_TRY(on_family(m, s, at, (enum ws__family)f));
    if (at != asked) {
        WS_TRY(on_family(m, s, asked, WS__FAMILY_MINUS));
        WS_TRY(on_family(m, s, asked, WS__FAMILY_SPIKES));
        WS_TRY(on_family(m, s, asked, WS__FAMILY_SIGNS));
    }
    ws__measure_gate(s, 1, WS__GATE_VALUES, start);
    return 0;
}

static int prove(struct ws__measure *m, struct ws__subject *s)
{
    struct ws__proof *p = m->proof;
    size_t *at = ws__alloc(m->ctx, p->nworkload, sizeof(*at)), nhidden, n;
    int rc = WS_ENOMEM;

    if (at)
        rc = find_fitting(m, &s->t->candidate, at, &nhidden, &n);
    if (rc >= 0)
        rc = on_shapes(m, s, at, nhidden);
    if (rc >= 0 && s->t->verdict == WS__V_OK && n && m->deps.problem_family)
        rc = on_values(m, s, at[small_one(nhidden)]);
    else if (rc >= 0 && s->t->verdict == WS__V_OK)
        ws__gate_absent(s->t, WS__GATE_VALUES,
                        n ? "values of families cannot be drawn here"
                          : "the candidate runs on no workload here");
    ws__free(m->ctx, at);
    return rc;
}

/* --- what is known ---------------------------------------------------------
 */

static const enum ws__gate ours[] = {WS__GATE_SHAPES, WS__GATE_VALUES};

static int keep(struct ws__measure *m, const struct ws__subject *s)
{
    struct ws__proof *p = m->proof;
    struct proven *x;

    if (p->n == p->cap) {
        void *list = p->list;

        WS_TRY(ws__grow(m->ctx, &list, &p->cap, p->n + 1, sizeof(*p->list)));
        p->list = list;
    }
    x = &p->list[p->n];
    memset(x, 0, sizeof(*x));
    x->candidate = s->t->candidate;
    x->workload = s->t->workload;
    x->verdict = s->t->verdict;
    x->gates = s->t->gates;
    for (size_t i = 0; i < WS_COUNT(ours); i++)
        x->absent[i] = s->t->absent[ours[i]];
    if (s->t->reason) {
        x->reason = ws__strdup(m->ctx, s->t->reason);
        if (!x->reason)
            return WS_ENOMEM;
    }
    p->n++;
    return 0;
}

static int apply(struct ws__measure *m, struct ws__subject *s,
                 const struct proven *x)
{
    for (size_t i = 0; i < WS_COUNT(ours); i++) {
        ws__gate_note(s->t, ours[i],
                      (enum ws__gate_end)(x->gates >> (2 * ours[i]) & 3), 0);
        s->t->absent[ours[i]] = x->absent[i];
    }
    s->t->verdict = x->verdict;
    return x->reason ? ws__trial_set_reason(m->ctx, s->t, "%s", x->reason) : 0;
}

bool ws__measure_can_prove(const struct ws__measure *m)
{
    return !m->ordered && !m->opts.few_gates;
}

int ws__measure_prove(struct ws__measure *m, struct ws__subject *s)
{
    const struct proven *x;

    if (s->t->verdict != WS__V_OK)
        return 0;
    if (m->ordered) { /* two sessions would mix their operations */
        for (size_t i = 0; i < WS_COUNT(ours); i++)
            ws__gate_absent(s->t, ours[i],
                            "a recorded device has no session beside it");
        return 0;
    }
    WS_TRY(ready(m));
    s->t->did |= WS__WANT_PROOF;
    x = find(m, s->t);
    if (x)
        return apply(m, s, x);
    WS_TRY(prove(m, s));
    /* Bad luck of this time is not kept, as in the store. */
    if (s->t->verdict == WS__V_MEMORY || s->t->verdict == WS__V_CRASH ||
        s->t->verdict == WS__V_HANG)
        return 0;
    return keep(m, s);
}
