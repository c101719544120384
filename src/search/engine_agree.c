/*
 * engine_agree.c: which choice answers for a shape.
 *
 * Workloads may differ in their inputs alone; who picks at run time knows the
 * shape and nothing else. A config that is right on one set of inputs and
 * wrong on another is wrong for the shape, so a choice speaks for it only if it
 * is right on every workload of the shape: as screened, as confirmed, or as
 * asked here. The first choice of which that is true speaks. If each is known
 * to fail somewhere, the shape is barred.
 */
#include "search/engine.h"

#include "base/banned.h"

enum { UNKNOWN, RIGHT, FAILS };

static bool same_shape(const struct ws__engine *e, size_t a, size_t b)
{
    return !memcmp(e->p->workload[a].axis, e->p->workload[b].axis,
                   sizeof(e->p->workload[a].axis));
}

static int verdict_of(const struct ws__answer *a)
{
    if (!a || a->missed || a->t[0].verdict == WS__V_NONE)
        return UNKNOWN;
    return a->t[0].verdict == WS__V_OK ? RIGHT : FAILS;
}

/* What a candidate is on a workload: known, or asked unless `stopped`. */
static int judge(struct ws__engine *e, const struct ws__candidate *c, size_t w,
                 int *stopped)
{
    struct ws__question q = {.a = *c, .workload = (uint32_t)w};
    struct ws__pending p;
    size_t answered;
    int known, rc;

    for (int i = 0; i < 2; i++) { /* confirmed goes before screened */
        q.effort = i ? WS__SCREEN : WS__CONFIRM;
        known = verdict_of(ws__engine_find(e, ws__question_key(&q)));
        if (known != UNKNOWN)
            return known;
    }
    q.effort = WS__CONFIRM;
    if (*stopped)
        return UNKNOWN;
    WS_TRY(ws__pending_make(e, &q, &p, 0));
    rc = ws__engine_batch(e, &p, 1, 0, &answered);
    known = answered ? verdict_of(p.ready) : UNKNOWN;
    ws__pending_clear(e, &p, 1);
    if (rc < 0 && rc != WS_EMISS && !ws__engine_may_stop(e, rc))
        return rc;
    if (rc < 0 && rc != WS_EMISS)
        *stopped = rc;
    return known;
}

/* What the choice for workload i is on all of its shape. */
static int judge_all(struct ws__engine *e, const struct ws__choice *choice,
                     size_t i, int *stopped)
{
    int all = RIGHT;

    for (size_t w = 0; w < e->p->nworkload && all != FAILS; w++) {
        int one;

        if (w == i || !same_shape(e, i, w))
            continue;
        one = judge(e, &choice[i].best.candidate, w, stopped);
        WS_TRY(one);
        all = one == RIGHT ? all : one;
    }
    return all;
}

/* One shape, of which `first` is the first workload. */
static int agree(struct ws__engine *e, struct ws__choice *choice, size_t first,
                 int *stopped)
{
    bool fails = true;

    for (size_t i = first; i < e->p->nworkload; i++) {
        int rc = FAILS;

        if (!same_shape(e, first, i))
            continue;
        if (choice[i].have_best)
            rc = judge_all(e, choice, i, stopped);
        WS_TRY(rc);
        fails = fails && rc == FAILS;
        if (rc != RIGHT)
            continue;
        choice[i].speaks = true;
        return 0;
    }
    for (size_t i = first; fails && i < e->p->nworkload; i++)
        if (same_shape(e, first, i))
            choice[i].barred = choice[i].dflt.verdict != WS__V_NONE ||
                               choice[i].failure.verdict != WS__V_NONE;
    return 0;
}

int ws__engine_agree(struct ws__engine *e, int stopped,
                     struct ws__choice *choice)
{
    for (size_t w = 0; w < e->p->nworkload; w++) {
        bool first = true;

        for (size_t k = 0; k < w && first; k++)
            first = !same_shape(e, k, w);
        if (first)
            WS_TRY(agree(e, choice, w, &stopped));
    }
    return stopped;
}
