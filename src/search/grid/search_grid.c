/*
 * search_grid.c: every config, in enumeration order.
 *
 * For spaces that can be measured whole, and as a yardstick. One config is
 * asked for every workload it is valid for before the next config comes, for
 * one build serves them all; kernels take turns, config by config, so that a
 * small budget sees some of each.
 *
 * The configs of a kernel are the union of its spaces, one a workload. They
 * are walked space by space; a config that an earlier space contains was
 * asked there and is passed over. So nothing needs to be remembered.
 */
#include "search/search.h"

#include "base/banned.h"

struct walk {
    struct ws__space_iter it;
    size_t lead; /* whose space is walked; nworkload: finished */
};

struct grid {
    const struct ws__problem_space *p;
    struct walk *walk; /* one a kernel */
    size_t turn;       /* kernel of the config at hand */
    struct ws__config config;
    size_t next; /* workload to try the config on */
};

static struct ws__space *space_of(const struct grid *g, size_t k, size_t w)
{
    return g->p->spaces[k * g->p->nworkload + w];
}

static int start(const struct ws__problem_space *p, void **state)
{
    struct grid *g = ws__alloc(p->ctx, 1, sizeof(*g));

    if (!g)
        return WS_ENOMEM;
    g->walk = ws__alloc(p->ctx, p->nkernel, sizeof(*g->walk));
    if (!g->walk) {
        ws__free(p->ctx, g);
        return WS_ENOMEM;
    }
    g->p = p;
    g->turn = p->nkernel - 1;
    g->next = p->nworkload;
    for (size_t k = 0; k < p->nkernel; k++)
        ws__space_begin(space_of(g, k, 0), &g->walk[k].it);
    *state = g;
    return 0;
}

static int seen_before(struct grid *g, size_t k, size_t lead,
                       const struct ws__config *c)
{
    int rc = 0;

    for (size_t w = 0; w < lead && !rc; w++)
        rc = ws__space_valid(space_of(g, k, w), c, NULL);
    return rc;
}

/* The next config of kernel k: 1, or 0 if there is none. */
static int next_config(struct grid *g, size_t k)
{
    struct walk *walk = &g->walk[k];

    while (walk->lead < g->p->nworkload) {
        int rc = ws__space_next(&walk->it, &g->config);

        WS_TRY(rc);
        if (!rc) {
            if (++walk->lead < g->p->nworkload)
                ws__space_begin(space_of(g, k, walk->lead), &walk->it);
            continue;
        }
        rc = seen_before(g, k, walk->lead, &g->config);
        WS_TRY(rc);
        if (!rc)
            return 1;
    }
    return 0;
}

/* The next kernel in turn that has a config left. */
static int advance(struct grid *g)
{
    for (size_t i = 0; i < g->p->nkernel; i++) {
        int rc;

        g->turn = (g->turn + 1) % g->p->nkernel;
        rc = next_config(g, g->turn);
        WS_TRY(rc);
        if (rc) {
            g->next = g->walk[g->turn].lead;
            return 1;
        }
    }
    return 0;
}

static int ask(void *state, struct ws__candidate *c, uint32_t *workload)
{
    struct grid *g = state;

    for (;;) {
        int rc;

        if (g->next >= g->p->nworkload) {
            rc = advance(g);
            if (rc <= 0)
                return rc ? rc : WS_EDONE;
        }
        rc = ws__space_valid(space_of(g, g->turn, g->next), &g->config, NULL);
        WS_TRY(rc);
        *workload = (uint32_t)g->next++;
        if (!rc)
            continue;
        c->kernel = (uint32_t)g->turn;
        c->config = g->config;
        return 0;
    }
}

static int tell(void *state, const struct ws__trial *t)
{
    (void)state;
    (void)t;
    return 0;
}

static void end(void *state)
{
    struct grid *g = state;
    struct ws_ctx *ctx = g->p->ctx;

    ws__free(ctx, g->walk);
    ws__free(ctx, g);
}

const struct ws__strategy_ops ws__search_grid = {
    .abi = WS__STRATEGY_ABI,
    .name = "grid",
    .about = "every config, in order",
    .start = start,
    .ask = ask,
    .tell = tell,
    .end = end,
};
