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
 * Each place (a regime of the catalogue, or without any a workload) works on a
 * node of its own, in turn. A config is tried on the workloads of its place one
 * after the other, and given up as soon as it is clearly behind.
 */
#include "search/worldmodel/worldmodel.h"

#include <math.h>

#include "base/banned.h"

#define PATIENCE 4
#define BEHIND 0.15 /* of gain: given up */

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
    ws__arena_free(&w->arena);
    ws__free(ctx, w);
}

/* The first regime whose condition holds; those that hold nowhere, or cannot be
 * evaluated, have no workloads. What is of no regime is one more. */
static size_t regime_of(const struct world *w, size_t workload)
{
    const struct ws__catalogue *c = w->catalogue;
    union wsrt_value vars[WS__MAX_SLOTS];

    memset(vars, 0, sizeof(vars));
    for (size_t a = 0; a < WS__MAX_AXES; a++)
        vars[a].i = w->p->workload[workload].axis[a];
    for (size_t r = 0; r < c->nregime; r++)
        if (!c->regime[r].when || ws__expr_test(c->regime[r].when, vars) > 0)
            return r;
    return c->nregime;
}

/* Regimes that have workloads, in their order. */
static int assign_regimes(struct world *w)
{
    for (size_t r = 0; r <= w->catalogue->nregime; r++) {
        bool any = false;

        for (size_t i = 0; i < w->p->nworkload; i++) {
            if (regime_of(w, i) != r)
                continue;
            w->place_of[i] = (uint32_t)w->nplace;
            w->place[w->nplace].regime = (uint32_t)r;
            any = true;
        }
        w->nplace += any;
    }
    return 0;
}

/* Without regimes every workload is a place. */
static int assign_places(struct world *w)
{
    const struct ws__problem_space *p = w->p;

    w->place_of = ws__arena_alloc(&w->arena, p->nworkload, sizeof(uint32_t));
    w->place = ws__arena_alloc(&w->arena, p->nworkload, sizeof(*w->place));
    if (!w->place_of || !w->place)
        return WS_ENOMEM;
    if (w->catalogue && w->catalogue->nregime)
        return assign_regimes(w);
    w->nplace = p->nworkload;
    for (size_t i = 0; i < p->nworkload; i++)
        w->place_of[i] = (uint32_t)i;
    return 0;
}

static int open_place(struct world *w, size_t place)
{
    const struct ws__problem_space *p = w->p;
    struct place *pl = &w->place[place];

    pl->node = NOBODY;
    ws__rng_seed(&pl->rng, ws__rng_at(p->seed, place));
    pl->workload = ws__arena_alloc(&w->arena, p->nworkload, sizeof(uint32_t));
    pl->best_gain = ws__arena_alloc(&w->arena, p->nworkload, sizeof(double));
    pl->model = ws__arena_alloc(&w->arena, p->nkernel, sizeof(*pl->model));
    if (!pl->workload || !pl->best_gain || !pl->model)
        return WS_ENOMEM;
    for (size_t i = 0; i < FLIGHT; i++) {
        pl->flight[i].node = NOBODY;
        pl->flight[i].gain =
            ws__arena_alloc(&w->arena, p->nworkload, sizeof(double));
        if (!pl->flight[i].gain)
            return WS_ENOMEM;
    }
    for (size_t i = 0; i < p->nworkload; i++)
        if (w->place_of[i] == place)
            pl->workload[pl->n++] = (uint32_t)i;
    pl->left =
        ws__arena_alloc(&w->arena, p->nkernel * pl->n, sizeof(*pl->left));
    if (!pl->left)
        return WS_ENOMEM;
    for (size_t k = 0; k < p->nkernel; k++) {
        ws__model_open(&pl->model[k], &w->axes[k]);
        for (size_t i = 0; i < pl->n; i++)
            ws__space_begin(p->spaces[k * p->nworkload + pl->workload[i]],
                            &pl->left[k * pl->n + i]);
    }
    return 0;
}

static int init(struct world *w)
{
    const struct ws__problem_space *p = w->p;
    size_t naxis = 1;

    WS_TRY(ws__belief_open(&w->belief, p->ctx));
    w->axes = ws__arena_alloc(&w->arena, p->nkernel, sizeof(*w->axes));
    w->reference_ns = ws__arena_alloc(&w->arena, p->nworkload, sizeof(double));
    if (!w->axes || !w->reference_ns)
        return WS_ENOMEM;
    for (size_t k = 0; k < p->nkernel; k++) {
        WS_TRY(ws__param_axes(&w->arena, &p->kernel[k], &w->axes[k]));
        if (w->axes[k].gp.n > naxis)
            naxis = w->axes[k].gp.n;
    }
    WS_TRY(ws__modeller_open(&w->modeller, p->ctx, naxis));
    WS_TRY(ws__world_ideas(w));
    WS_TRY(assign_places(w));
    for (size_t i = 0; i < w->nplace; i++)
        WS_TRY(open_place(w, i));
    w->visits =
        ws__arena_alloc(&w->arena, w->nplace * w->nidea, sizeof(uint32_t));
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

/* On to the next workload that it may run on. */
static int advance(struct world *w, const struct place *pl, struct attempt *a)
{
    for (; a->next < pl->n; a->next++) {
        int rc = ws__world_may_run(w, &a->c, pl->workload[a->next]);

        if (rc)
            return rc < 0 ? rc : 0;
        a->gain[a->next] = 0;
    }
    return 0;
}

static bool ask_attempt(const struct place *pl, struct attempt *a,
                        struct ws__candidate *c, uint32_t *workload)
{
    if (a->node == NOBODY || a->asked)
        return false;
    a->asked = true;
    *c = a->c;
    *workload = pl->workload[a->next];
    return true;
}

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

/* Another config of the node: 1, or 0: there is none, or enough. */
static int try_another(struct world *w, struct place *pl, struct attempt **out)
{
    struct local *at = &w->node[pl->node].at[pl - w->place];
    struct attempt *a = free_attempt(pl);
    bool first =
        !w->catalogue && w->node[pl->node].depth == 1 && pl->visits == 0;
    double expected;
    int rc;

    if (!a || pl->out ||
        pl->idle + in_flight(pl) >=
            (first ? WS__MODEL_FIRST * w->p->nkernel : PATIENCE))
        return 0;
    rc = ws__world_propose(w, pl, &a->c, &expected);
    WS_TRY(rc);
    pl->out = !rc || w->node[pl->node].idea == BORROW;
    if (!rc)
        return 0;
    WS_TRY(ws__seen_add(w->p->ctx, &pl->seen, &a->c));
    WS_TRY(ws__model_add(w->p->ctx, &pl->model[a->c.kernel], &a->c.config,
                         expected, WS__POINT_OPEN));
    a->next = 0;
    a->asked = a->failed = a->stopped = false;
    WS_TRY(advance(w, pl, a));
    a->node = pl->node;
    at->tries++;
    *out = a;
    return 1;
}

/* A node without a single config left, at the root, is the end of a place. */
static void close_node(struct world *w, size_t place)
{
    struct place *pl = &w->place[place];
    const struct node *n = &w->node[pl->node];

    if (n->idea == TUNE && !n->parent && !n->at[place].tries)
        pl->exhausted = true;
    ws__world_close(w, place);
}

static int ask_place(struct world *w, size_t place, struct ws__candidate *c,
                     uint32_t *workload)
{
    struct place *pl = &w->place[place];
    struct attempt *a;
    int rc;

    for (size_t i = 0; i < FLIGHT; i++)
        if (ask_attempt(pl, &pl->flight[i], c, workload))
            return ASKED;
    while (!pl->exhausted) {
        if (pl->node == NOBODY) {
            rc = ws__world_choose(w, place);
            if (rc <= 0)
                return rc;
        }
        rc = try_another(w, pl, &a);
        if (rc > 0) {
            ask_attempt(pl, a, c, workload);
            return ASKED;
        }
        WS_TRY(rc);
        if (in_flight(pl))
            return WAITING;
        close_node(w, place);
    }
    return in_flight(pl) ? WAITING : NOTHING;
}

static int ask(void *state, struct ws__candidate *c, uint32_t *workload)
{
    struct world *w = state;
    bool waiting = false;

    for (size_t i = 0; i < w->nplace; i++) {
        int rc = ask_place(w, w->turn, c, workload);

        w->turn = (w->turn + 1) % w->nplace;
        if (rc < 0 || rc == ASKED)
            return rc < 0 ? rc : 0;
        waiting = waiting || rc == WAITING;
    }
    return waiting ? WS__ASK_WAIT : WS_EDONE;
}

/* --- telling -------------------------------------------------------------- */

/* A config of the place is known: by so much faster than the default. */
static int settle(struct world *w, struct place *pl, const struct attempt *a,
                  double gain)
{
    struct local *at = &w->node[a->node].at[pl - w->place];

    pl->idle++;
    if (!a->failed && (!at->have || gain > at->gain)) {
        pl->idle = 0;
        at->have = true;
        at->best = a->c;
        at->gain = gain;
    }
    if (!a->failed && !a->stopped && (!pl->have || gain > pl->gain)) {
        pl->have = true;
        pl->best = a->c;
        pl->gain = gain;
        memcpy(pl->best_gain, a->gain, pl->n * sizeof(*a->gain));
    }
    return ws__model_tell(w->p->ctx, &pl->model[a->c.kernel], &a->c.config,
                          -gain, a->failed ? WS__POINT_FAILED : WS__POINT_OK);
}

static double sum(const double *gain, size_t n)
{
    double all = 0;

    for (size_t i = 0; i < n; i++)
        all += gain[i];
    return all;
}

static double gain_of(struct world *w, const struct ws__trial *t, double ns)
{
    double *from = &w->reference_ns[t->workload];

    if (!(*from > 0))
        *from = ns;
    return log(*from / ns);
}

static int tell_attempt(struct world *w, struct place *pl, struct attempt *a,
                        const struct ws__trial *t, double ns)
{
    struct attempt done;

    a->asked = false;
    a->failed = !isfinite(ns);
    a->gain[a->next++] = a->failed ? 0 : gain_of(w, t, ns);
    a->stopped =
        pl->have && sum(a->gain, a->next) <
                        sum(pl->best_gain, a->next) - BEHIND * (double)a->next;
    if (!a->failed && !a->stopped)
        WS_TRY(advance(w, pl, a));
    if (!a->failed && !a->stopped && a->next < pl->n)
        return 0;
    done = *a;
    a->node = NOBODY;
    return settle(w, pl, &done, sum(done.gain, done.next) / (double)done.next);
}

/* What the engine made on its own: the root's best, if it is right. */
static int tell_default(struct world *w, struct place *pl,
                        const struct ws__trial *t, double ns)
{
    struct local *at = &w->node[0].at[pl - w->place];
    bool ok = isfinite(ns);

    if (ok && !(w->reference_ns[t->workload] > 0))
        w->reference_ns[t->workload] = ns;
    WS_TRY(ws__seen_add(w->p->ctx, &pl->seen, &t->candidate));
    if (ok && !at->have) {
        at->have = true;
        at->best = t->candidate;
        pl->have = true;
        pl->best = t->candidate;
    }
    return ws__model_tell(w->p->ctx, &pl->model[t->candidate.kernel],
                          &t->candidate.config, 0,
                          ok ? WS__POINT_OK : WS__POINT_FAILED);
}

static int tell(void *state, const struct ws__trial *t)
{
    struct world *w = state;
    struct place *pl = &w->place[w->place_of[t->workload]];
    double ns = ws__trial_score(w->p->ctx, t);

    for (size_t i = 0; i < FLIGHT; i++)
        if (pl->flight[i].node != NOBODY && pl->flight[i].asked &&
            pl->workload[pl->flight[i].next] == t->workload &&
            ws__candidate_eq(&pl->flight[i].c, &t->candidate))
            return tell_attempt(w, pl, &pl->flight[i], t, ns);
    return tell_default(w, pl, t, ns);
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
};
