/*
 * search_random.c: configs drawn uniformly, without repeats.
 *
 * The baseline that every other strategy has to beat, and often a good one.
 * A config is asked on every workload it is valid for before the next is
 * drawn: building is the dear part on slow compilers, and one build serves
 * all shapes.
 *
 * Each space (kernel, workload) is walked in a random order of its ranks that
 * takes no memory. The spaces lead in turn, kernels first, so that every
 * kernel and every workload gets the same share of the draws. A config that
 * another lead has drawn before is passed over.
 */
#include "search/search.h"
#include "search/seen.h"
#include "search/shuffle.h"

#include "base/banned.h"

struct lead {
    struct ws__shuffle order;
    uint64_t at; /* next position of the order */
};

struct random {
    const struct ws__problem_space *p;
    struct lead *lead; /* [workload * nkernel + kernel] */
    size_t nlead, turn;
    struct ws__seen seen;
    struct ws__candidate c;
    size_t next; /* workload to try the candidate on */
};

static struct ws__space *space_of(const struct random *r, size_t k, size_t w)
{
    return r->p->spaces[k * r->p->nworkload + w];
}

static void end(void *state)
{
    struct random *r = state;
    struct ws_ctx *ctx = r->p->ctx;

    ws__seen_clear(ctx, &r->seen);
    ws__free(ctx, r->lead);
    ws__free(ctx, r);
}

static int init_leads(struct random *r)
{
    r->lead = ws__alloc(r->p->ctx, r->nlead, sizeof(*r->lead));
    if (!r->lead)
        return WS_ENOMEM;
    for (size_t i = 0; i < r->nlead; i++) {
        uint64_t n;

        WS_TRY(
            ws__space_count(space_of(r, i % r->p->nkernel, i / r->p->nkernel),
                            &n));
        ws__shuffle_init(&r->lead[i].order, n, ws__rng_at(r->p->seed, i));
    }
    return 0;
}

static int start(const struct ws__problem_space *p, void **state)
{
    struct random *r = ws__alloc(p->ctx, 1, sizeof(*r));
    int rc;

    if (!r)
        return WS_ENOMEM;
    r->p = p;
    r->nlead = p->nkernel * p->nworkload;
    r->next = p->nworkload;
    rc = init_leads(r);
    if (rc < 0) {
        end(r);
        return rc;
    }
    *state = r;
    return 0;
}

/* The next config of a lead that no lead has drawn: 1, or 0 at its end. */
static int draw(struct random *r, size_t i)
{
    struct lead *l = &r->lead[i];
    struct ws__space *s = space_of(r, i % r->p->nkernel, i / r->p->nkernel);

    r->c.kernel = (uint32_t)(i % r->p->nkernel);
    while (l->at < l->order.n) {
        int fresh;

        WS_TRY(ws__space_unrank(s, ws__shuffle_at(&l->order, l->at++),
                                &r->c.config));
        if (r->p->nworkload == 1) /* ranks do not repeat: no need to look */
            return 1;
        fresh = ws__seen_add(r->p->ctx, &r->seen, &r->c);
        if (fresh)
            return fresh;
    }
    return 0;
}

static int advance(struct random *r)
{
    for (size_t i = 0; i < r->nlead; i++) {
        int rc = draw(r, r->turn);

        r->turn = (r->turn + 1) % r->nlead;
        if (rc)
            return rc;
    }
    return 0;
}

static int ask(void *state, struct ws__candidate *c, uint32_t *workload)
{
    struct random *r = state;

    for (;;) {
        int rc;

        if (r->next >= r->p->nworkload) {
            rc = advance(r);
            if (rc <= 0)
                return rc ? rc : WS_EDONE;
            r->next = 0;
        }
        rc = ws__space_valid(space_of(r, r->c.kernel, r->next), &r->c.config,
                             NULL);
        WS_TRY(rc);
        *workload = (uint32_t)r->next++;
        if (!rc)
            continue;
        *c = r->c;
        return 0;
    }
}

static int tell(void *state, const struct ws__trial *t)
{
    (void)state;
    (void)t;
    return 0;
}

const struct ws__strategy_ops ws__search_random = {
    .abi = WS__STRATEGY_ABI,
    .name = "random",
    .about = "configs drawn at random, each on all workloads",
    .start = start,
    .ask = ask,
    .tell = tell,
    .end = end,
};
