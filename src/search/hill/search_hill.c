/*
 * search_hill.c: climbing, with restarts and with tips from other workloads.
 *
 * Every workload climbs on its own, from the best of its default and a few
 * scouts. A step asks for up to STEP untried neighbours of the current point
 * (one parameter changed; by the toss of a coin to the next value in order,
 * for the shape near the top, or to any, for long ways) and moves to the best
 * answer if it is an improvement; an improvement that is known ends the step
 * early. After FAILS_MAX neighbours without one, or when none is left, it
 * climbs again from the best of SCOUTS points elsewhere: kernels take turns,
 * beginning with their default, then by the toss of a coin near the kernel's
 * best point or anywhere.
 *
 * What is good for one shape is often good for the next, and its build exists
 * already: every TIP_EVERY questions a workload tries the best point of
 * another one, and moves there if it helps.
 *
 * Nothing is asked twice, so a climb in an exhausted space ends. All randomness
 * is one generator a workload, seeded by the problem's seed.
 */
#include "search/search.h"
#include "search/seen.h"

#include <math.h>

#include "base/banned.h"

#define STEP 4
#define SCOUTS 8
#define FAILS_MAX 16
#define TIP_EVERY 4

/* Draws of an untried random config before the space is walked for one. */
#define DRAWS 32

struct point {
    struct ws__candidate c;
    double score; /* infinity: failed, or none */
};

struct home { /* of one kernel, on one workload */
    struct point best;
    struct ws__space *space;
    struct ws__space_iter left; /* finds what draws miss */
    uint64_t valid;
    bool started, exhausted;
};

struct climb {
    struct ws__rng rng;
    struct ws__seen seen;
    struct home *home; /* one a kernel */
    struct point at, step;
    size_t outstanding;
    unsigned step_asked, fails, since_tip;
    bool scouted;  /* the first step is over */
    size_t kernel; /* of the next start */
    size_t tip;    /* workload that is listened to next */
};

struct hill {
    const struct ws__problem_space *p;
    struct climb *climb; /* one a workload */
    struct home *home;
    size_t turn;
};

/* ask_one's answers; negative ones are errors. */
enum { NOTHING, ASKED, WAITING };

static void end(void *state)
{
    struct hill *h = state;
    struct ws_ctx *ctx = h->p->ctx;

    for (size_t w = 0; h->climb && w < h->p->nworkload; w++)
        ws__seen_clear(ctx, &h->climb[w].seen);
    ws__free(ctx, h->climb);
    ws__free(ctx, h->home);
    ws__free(ctx, h);
}

static int init_climb(struct hill *h, size_t w)
{
    const struct ws__problem_space *p = h->p;
    struct climb *c = &h->climb[w];

    ws__rng_seed(&c->rng, ws__rng_at(p->seed, w));
    c->home = &h->home[w * p->nkernel];
    c->at.score = c->step.score = INFINITY;
    c->tip = w;
    for (size_t k = 0; k < p->nkernel; k++) {
        struct home *o = &c->home[k];

        o->space = p->spaces[k * p->nworkload + w];
        o->best.score = INFINITY;
        ws__space_begin(o->space, &o->left);
        WS_TRY(ws__space_count(o->space, &o->valid));
        o->exhausted = !o->valid;
    }
    return 0;
}

static int start(const struct ws__problem_space *p, void **state)
{
    struct hill *h = ws__alloc(p->ctx, 1, sizeof(*h));
    int rc = 0;

    if (!h)
        return WS_ENOMEM;
    h->p = p;
    h->climb = ws__alloc(p->ctx, p->nworkload, sizeof(*h->climb));
    h->home = ws__alloc(p->ctx, p->nworkload * p->nkernel, sizeof(*h->home));
    if (!h->climb || !h->home)
        rc = WS_ENOMEM;
    for (size_t w = 0; w < p->nworkload && rc >= 0; w++)
        rc = init_climb(h, w);
    if (rc < 0) {
        end(h);
        return rc;
    }
    *state = h;
    return 0;
}

/* Untried, valid, and not over a limit of the device: 1, 0 or an error. */
static int is_open(struct hill *h, size_t w, const struct ws__candidate *c)
{
    const struct ws__problem_space *p = h->p;
    int rc;

    if (ws__seen_has(&h->climb[w].seen, c))
        return 0;
    rc = ws__space_valid(h->climb[w].home[c->kernel].space, &c->config, NULL);
    if (rc > 0 && p->fits)
        rc = p->fits(p->fits_user, c, (uint32_t)w);
    return rc;
}

/* An open neighbour of `from`, drawn uniformly: 1, or 0 if there is none. */
static int neighbour(struct hill *h, size_t w, const struct ws__candidate *from,
                     bool one_step, struct ws__candidate *out)
{
    const struct ws__kernel *k = &h->p->kernel[from->kernel];
    struct ws__candidate c = *from;
    uint64_t n = 0;

    for (size_t i = 0; i < k->nparam; i++) {
        size_t old = from->config.at[i], last = k->param[i].nvalue - 1;
        size_t lo = one_step && old > 0 ? old - 1 : 0;
        size_t hi = one_step && old < last ? old + 1 : last;

        for (size_t v = lo; v <= hi; v++) {
            int rc;

            c.config.at[i] = (uint16_t)v;
            rc = v == old ? 0 : is_open(h, w, &c);
            WS_TRY(rc);
            if (rc && !ws__rng_below(&h->climb[w].rng, ++n))
                *out = c;
        }
        c.config.at[i] = (uint16_t)old;
    }
    return n > 0;
}

/* A few random steps away from the kernel's best point. */
static int stray(struct climb *c, const struct home *o,
                 struct ws__candidate *out)
{
    uint64_t steps = 2 + ws__rng_below(&c->rng, 3);

    *out = o->best.c;
    for (uint64_t i = 0; i < steps; i++) {
        struct ws__config from = out->config;
        int rc = ws__space_neighbor(o->space, &c->rng, &from, &out->config);

        if (rc == WS_EDONE)
            return 0;
        WS_TRY(rc);
    }
    return 0;
}

/* An open config of the kernel: near its best, random, or the next that is
 * left. 1, or 0: the kernel is exhausted. */
static int fresh_start(struct hill *h, size_t w, size_t k,
                       struct ws__candidate *out)
{
    struct climb *c = &h->climb[w];
    struct home *o = &c->home[k];
    int rc;

    out->kernel = (uint32_t)k;
    if (!o->started) {
        o->started = true;
        ws__config_default(&h->p->kernel[k], &out->config);
        rc = is_open(h, w, out);
        if (rc)
            return rc;
    }
    for (int i = 0; i < DRAWS; i++) {
        if (isfinite(o->best.score) && ws__rng_below(&c->rng, 2))
            WS_TRY(stray(c, o, out));
        else
            WS_TRY(ws__space_unrank(o->space, ws__rng_below(&c->rng, o->valid),
                                    &out->config));
        rc = is_open(h, w, out);
        if (rc)
            return rc;
    }
    while ((rc = ws__space_next(&o->left, &out->config)) > 0) {
        rc = is_open(h, w, out);
        if (rc)
            return rc;
        WS_TRY(ws__check_stop(h->p->ctx));
    }
    o->exhausted = rc == 0;
    return rc;
}

/* Forgets the current point: the next step looks for a start. */
static void leave(struct hill *h, struct climb *c)
{
    c->at.score = c->step.score = INFINITY;
    c->step_asked = c->fails = 0;
    c->kernel = (c->kernel + 1) % h->p->nkernel;
}

static int ask_start(struct hill *h, size_t w, struct ws__candidate *out)
{
    struct climb *c = &h->climb[w];

    for (size_t i = 0; i < h->p->nkernel; i++) {
        size_t first = c->scouted ? c->kernel : c->step_asked;
        size_t k = (first + i) % h->p->nkernel;
        int rc = c->home[k].exhausted ? 0 : fresh_start(h, w, k, out);

        if (rc)
            return rc;
    }
    return 0;
}

/* The best point of another workload, if this one has not tried it. */
static int ask_tip(struct hill *h, size_t w, struct ws__candidate *out)
{
    struct climb *c = &h->climb[w];
    size_t n = h->p->nworkload;

    if (c->since_tip < TIP_EVERY)
        return 0;
    for (size_t i = 1; i < n; i++) {
        const struct home *best;

        c->tip = (c->tip + 1) % n;
        if (c->tip == w)
            continue;
        best = h->climb[c->tip].home;
        for (size_t k = 1; k < h->p->nkernel; k++)
            if (h->climb[c->tip].home[k].best.score < best->best.score)
                best = &h->climb[c->tip].home[k];
        if (isfinite(best->best.score)) {
            int rc = is_open(h, w, &best->best.c);

            if (rc > 0)
                *out = best->best.c;
            if (rc)
                return rc;
        }
    }
    return 0;
}

static int ask_step(struct hill *h, size_t w, struct ws__candidate *out)
{
    struct climb *c = &h->climb[w];
    bool near;
    int rc;

    if (!isfinite(c->at.score))
        return ask_start(h, w, out);
    near = ws__rng_below(&c->rng, 2);
    rc = neighbour(h, w, &c->at.c, near, out);
    if (!rc && near)
        rc = neighbour(h, w, &c->at.c, false, out);
    if (rc || c->outstanding)
        return rc;
    leave(h, c);
    return ask_start(h, w, out);
}

/* Whether there is a point to step from; otherwise scouts look for one. */
static bool is_climbing(const struct climb *c)
{
    return isfinite(c->at.score);
}

static unsigned step_size(const struct climb *c)
{
    return is_climbing(c) ? STEP : SCOUTS;
}

static int ask_one(struct hill *h, size_t w, struct ws__candidate *out)
{
    struct climb *c = &h->climb[w];
    int rc;

    if (c->outstanding && c->step_asked >= step_size(c))
        return WAITING;
    rc = ask_tip(h, w, out);
    if (rc > 0)
        c->since_tip = 0;
    else if (!rc)
        rc = ask_step(h, w, out);
    WS_TRY(rc);
    if (!rc)
        return c->outstanding ? WAITING : NOTHING;
    WS_TRY(ws__seen_add(h->p->ctx, &c->seen, out));
    c->outstanding++;
    c->step_asked++;
    c->since_tip++;
    return ASKED;
}

static int ask(void *state, struct ws__candidate *out, uint32_t *workload)
{
    struct hill *h = state;
    bool waiting = false;

    for (size_t i = 0; i < h->p->nworkload; i++) {
        size_t w = h->turn;
        int rc = ask_one(h, w, out);

        WS_TRY(rc);
        h->turn = (h->turn + 1) % h->p->nworkload;
        *workload = (uint32_t)w;
        if (rc == ASKED)
            return 0;
        waiting = waiting || rc == WAITING;
    }
    return waiting ? WS__ASK_WAIT : WS_EDONE;
}

/* All answers of the step are in, or enough of them. */
static void end_step(struct hill *h, struct climb *c)
{
    if (c->step.score < c->at.score) {
        c->at = c->step;
        c->fails = 0;
    } else {
        c->fails += c->step_asked;
    }
    c->step.score = INFINITY;
    c->step_asked = 0;
    c->scouted = true;
    if (c->fails >= FAILS_MAX)
        leave(h, c);
}

static int tell(void *state, const struct ws__trial *t)
{
    struct hill *h = state;
    struct climb *c = &h->climb[t->workload];
    struct point told = {t->candidate, ws__trial_score(h->p->ctx, t)};
    struct home *o = &c->home[told.c.kernel];
    int unasked = ws__seen_add(h->p->ctx, &c->seen, &told.c);

    WS_TRY(unasked);
    if (!unasked && c->outstanding)
        c->outstanding--;
    if (told.score < o->best.score)
        o->best = told;
    if (told.score < c->step.score)
        c->step = told;
    if (!c->outstanding && ((is_climbing(c) && c->step.score < c->at.score) ||
                            c->step_asked >= step_size(c)))
        end_step(h, c);
    return 0;
}

const struct ws__strategy_ops ws__search_hill = {
    .abi = WS__STRATEGY_ABI,
    .name = "hill",
    .about = "climbs from good points, learns across workloads",
    .start = start,
    .ask = ask,
    .tell = tell,
    .end = end,
};
