/*
 * search_worldmodel.c: a tree of ideas, steered by what is believed of them.
 *
 * After K-Search (arXiv 2602.19128): what is searched is not the next config
 * but the next idea. A cycle chooses the most promising child of what was
 * tried (worldmodel_tree.c), tries configs that look as its ideas say until
 * PATIENCE of them in a row bring nothing (worldmodel_attempts.c), closes it,
 * and learns how far the idea held what was expected of it (belief.h). A node
 * whose first tries are no better than its parent can still have children; an
 * idea that failed can come back deeper, where other ideas hold.
 *
 * Each workload works on a node of its own, in turn with the others; what is
 * learnt of an idea on one is believed of it on others, most of all in the same
 * regime.
 */
#include "search/worldmodel/worldmodel.h"

#include <math.h>

#include "base/banned.h"

#define PATIENCE 4

/* --- state ---------------------------------------------------------------- */

static void end(void *state)
{
    struct world *w = state;
    struct ws_ctx *ctx = w->p->ctx;

    for (size_t i = 0; w->place && i < w->nplace; i++) {
        struct place *pl = &w->place[i];

        ws__seen_clear(ctx, &pl->seen);
        for (size_t k = 0; pl->model && k < w->p->nkernel; k++)
            ws__model_close(ctx, &pl->model[k]);
    }
    ws__modeller_close(&w->modeller);
    ws__belief_close(&w->belief);
    ws__free(ctx, w->node);
    ws__free(ctx, w->index);
    ws__free(ctx, w->lesson);
    ws__arena_free(&w->arena);
    ws__free(ctx, w);
}

/* What is of no regime is one more; without any every place is its own. */
static size_t regime_of(const struct world *w, size_t workload)
{
    if (!w->catalogue || !w->catalogue->nregime)
        return workload;
    return ws__catalogue_regime(w->catalogue, &w->p->workload[workload]);
}

static int open_place(struct world *w, size_t place)
{
    const struct ws__problem_space *p = w->p;
    struct place *pl = &w->place[place];

    pl->node = NOBODY;
    for (size_t i = 0; i < FLIGHT; i++)
        pl->flight[i].node = NOBODY;
    pl->regime = (uint32_t)regime_of(w, place);
    ws__rng_seed(&pl->rng, ws__rng_at(p->seed, place));
    pl->left = ws__arena_alloc(&w->arena, p->nkernel, sizeof(*pl->left));
    pl->model = ws__arena_alloc(&w->arena, p->nkernel, sizeof(*pl->model));
    if (!pl->left || !pl->model)
        return WS_ENOMEM;
    for (size_t k = 0; k < p->nkernel; k++) {
        ws__model_open(&pl->model[k], &w->axes[k]);
        ws__space_begin(p->spaces[k * p->nworkload + place], &pl->left[k]);
    }
    return 0;
}

static int init(struct world *w)
{
    const struct ws__problem_space *p = w->p;
    size_t naxis = 1;

    WS_TRY(ws__belief_open(&w->belief, p->ctx));
    w->axes = ws__arena_alloc(&w->arena, p->nkernel, sizeof(*w->axes));
    w->place = ws__arena_alloc(&w->arena, p->nworkload, sizeof(*w->place));
    if (!w->axes || !w->place)
        return WS_ENOMEM;
    for (size_t k = 0; k < p->nkernel; k++) {
        WS_TRY(ws__param_axes(&w->arena, &p->kernel[k], &w->axes[k]));
        if (w->axes[k].gp.n > naxis)
            naxis = w->axes[k].gp.n;
    }
    WS_TRY(ws__modeller_open(&w->modeller, p->ctx, naxis));
    WS_TRY(ws__world_ideas(w));
    w->nshipped = w->nidea;
    for (; w->nplace < p->nworkload; w->nplace++)
        WS_TRY(open_place(w, w->nplace));
    w->visits = ws__arena_alloc(&w->arena, w->nplace * (w->nidea + ADDED),
                                sizeof(uint32_t));
    return w->visits ? ws__world_root(w) : WS_ENOMEM;
}

static int start(const struct ws__problem_space *p, void **state)
{
    struct world *w = ws__alloc(p->ctx, 1, sizeof(*w));
    int rc;

    if (!w)
        return WS_ENOMEM;
    w->p = p;
    w->catalogue = p->catalogue;
    ws__arena_init(&w->arena, p->ctx);
    rc = init(w);
    if (rc < 0) {
        end(w);
        return rc;
    }
    *state = w;
    return 0;
}

/* --- asking --------------------------------------------------------------- */

enum { NOTHING, ASKED, WAITING }; /* ask_place's answers */

static size_t in_flight(const struct place *pl)
{
    size_t n = 0;

    for (size_t i = 0; i < FLIGHT; i++)
        n += pl->flight[i].node != NOBODY;
    return n;
}

static struct attempt *free_attempt(struct place *pl)
{
    for (size_t i = 0; i < FLIGHT; i++)
        if (pl->flight[i].node == NOBODY)
            return &pl->flight[i];
    return NULL;
}

/* Where nothing is expected of ideas, the first configs are for the model; in
 * turn with what other places found, if there are any. */
static size_t patience(const struct world *w, const struct place *pl)
{
    if (w->catalogue || ws__model_ready(&pl->model[0]))
        return PATIENCE;
    return w->nplace > 1 ? 1 : WS__MODEL_FIRST * w->p->nkernel;
}

/* Another config of the node: 1, or 0: there is none, or enough. */
static int try_another(struct world *w, struct place *pl, struct attempt **out)
{
    struct local *at = &w->node[pl->node].at[pl - w->place];
    struct attempt *a = free_attempt(pl);
    double expected;
    int rc;

    if (!a || pl->out || pl->idle + in_flight(pl) >= patience(w, pl))
        return 0;
    rc = ws__world_propose(w, pl, &a->c, &expected);
    WS_TRY(rc);
    pl->out = !rc || w->node[pl->node].idea == BORROW;
    if (!rc)
        return 0;
    WS_TRY(ws__seen_add(w->p->ctx, &pl->seen, &a->c));
    WS_TRY(ws__model_add(w->p->ctx, &pl->model[a->c.kernel], &a->c.config,
                         expected, WS__POINT_OPEN));
    a->node = pl->node;
    at->tries++;
    pl->tries++;
    *out = a;
    return 1;
}

/* A node without a single config left, at the root, is the end of a place. */
static int close_node(struct world *w, size_t place)
{
    struct place *pl = &w->place[place];
    const struct node *n = &w->node[pl->node];

    if (n->idea == TUNE && !n->parent && !pl->tries)
        pl->exhausted = true;
    return ws__world_close(w, place);
}

static int ask_place(struct world *w, size_t place, struct ws__candidate *c)
{
    struct place *pl = &w->place[place];
    struct attempt *a;
    int rc;

    while (!pl->exhausted) {
        if (pl->node == NOBODY) {
            rc = ws__world_choose(w, place);
            if (rc <= 0)
                return rc;
        }
        rc = try_another(w, pl, &a);
        if (rc > 0)
            *c = a->c;
        if (rc)
            return rc < 0 ? rc : ASKED;
        if (in_flight(pl))
            return WAITING;
        WS_TRY(close_node(w, place));
    }
    return in_flight(pl) ? WAITING : NOTHING;
}

static int ask(void *state, struct ws__candidate *c, uint32_t *workload)
{
    struct world *w = state;
    bool waiting = false;

    for (size_t i = 0; i < w->nplace; i++) {
        int rc = ask_place(w, w->turn, c);

        *workload = (uint32_t)w->turn;
        w->turn = (w->turn + 1) % w->nplace;
        if (rc < 0 || rc == ASKED)
            return rc < 0 ? rc : 0;
        waiting = waiting || rc == WAITING;
    }
    return waiting ? WS__ASK_WAIT : WS_EDONE;
}

/* --- telling -------------------------------------------------------------- */

static bool is_better(bool have, double gain, double than)
{
    return !have || gain > than;
}

/* What was asked for is known. */
static void settle(struct world *w, struct place *pl, struct attempt *a,
                   bool ok, double gain)
{
    struct local *at = &w->node[a->node].at[pl - w->place];

    pl->idle++;
    if (ok)
        pl->found = fmax(pl->found, gain);
    if (ok && is_better(at->have, gain, at->gain)) {
        pl->idle = 0;
        at->have = true;
        at->best = a->c;
        at->gain = gain;
    }
    a->node = NOBODY;
}

/* What the engine made on its own: the root's best, if it is right. */
static void begin(struct world *w, struct place *pl, const struct ws__trial *t,
                  bool ok, double gain)
{
    struct local *at = &w->node[0].at[pl - w->place];

    if (!ok || at->have)
        return;
    at->have = true;
    at->best = t->candidate;
    at->gain = gain;
}

static struct attempt *find_attempt(struct place *pl,
                                    const struct ws__candidate *c)
{
    for (size_t i = 0; i < FLIGHT; i++)
        if (pl->flight[i].node != NOBODY &&
            ws__candidate_eq(&pl->flight[i].c, c))
            return &pl->flight[i];
    return NULL;
}

static int tell(void *state, const struct ws__trial *t)
{
    struct world *w = state;
    struct place *pl = &w->place[t->workload];
    double ns = ws__trial_score(w->p->ctx, t), gain = 0;
    struct attempt *a = find_attempt(pl, &t->candidate);
    bool ok = isfinite(ns);

    if (ok && !(pl->reference_ns > 0))
        pl->reference_ns = ns;
    if (ok)
        gain = log(pl->reference_ns / ns);
    if (a)
        settle(w, pl, a, ok, gain);
    else
        begin(w, pl, t, ok, gain);
    if (ok && is_better(pl->have, gain, pl->gain)) {
        pl->have = true;
        pl->best = t->candidate;
        pl->gain = gain;
    }
    WS_TRY(ws__seen_add(w->p->ctx, &pl->seen, &t->candidate));
    return ws__model_tell(w->p->ctx, &pl->model[t->candidate.kernel],
                          &t->candidate.config, -gain,
                          ok ? WS__POINT_OK : WS__POINT_FAILED);
}

const struct ws__strategy_ops ws__search_worldmodel = {
    .abi = WS__STRATEGY_ABI,
    .name = "worldmodel",
    .about = "a tree of ideas, steered by what is believed of them",
    .reads_catalogue = true,
    .start = start,
    .ask = ask,
    .tell = tell,
    .end = end,
    .tree = ws__world_tree,
    .steer = ws__world_steer,
};
