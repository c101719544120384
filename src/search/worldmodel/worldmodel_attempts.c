/*
 * worldmodel_attempts.c: which config stands for a node next.
 *
 * The first is the parent's best, changed as the node's ideas say and as little
 * else as possible. Then the model of times says which of those that look as
 * the ideas say could be the fastest.
 */
#include "search/worldmodel/worldmodel.h"

#include <math.h>

#include "base/banned.h"

#define LOOK_THROUGH 2000 /* spaces of so many configs are */
#define DRAWS 1500        /* of larger ones */
#define REPAIRS 200
#define TOP 5 /* whose neighbours are looked at */
#define NEAR_VALUES 16
#define TURN_EVERY 4

struct scan {
    struct world *w;
    struct place *pl;
    const struct node *node;
    struct outlook *look; /* NULL, or: for every idea, instead of the best */
    bool modelled;
    struct ws__candidate best;
    double bound, expected;        /* infinity: nothing found yet */
    const struct ws__config *from; /* without a model: nearest to it */
};

static struct ws__space *space_of(const struct world *w, const struct place *pl,
                                  size_t kernel)
{
    return w->p->spaces[kernel * w->p->nworkload + (size_t)(pl - w->place)];
}

int ws__world_is_open(const struct world *w, const struct place *pl,
                      const struct ws__candidate *c)
{
    const struct ws__problem_space *p = w->p;
    int rc = 0;

    if (!ws__seen_has(&pl->seen, c) && !ws__world_is_barred(w, c))
        rc = ws__space_valid(space_of(w, pl, c->kernel), &c->config, NULL);
    if (rc > 0 && p->fits)
        rc = p->fits(p->fits_user, c, (uint32_t)(pl - w->place));
    return rc;
}

/* Parameters that differ. */
static double differences(const struct ws__config *a,
                          const struct ws__config *b)
{
    double n = 0;

    for (size_t i = 0; i < a->n; i++)
        n += a->at[i] != b->at[i];
    return n;
}

/* What the model expects is noted under all ideas that hold. */
static int note(struct scan *x, const struct ws__candidate *c)
{
    struct outlook o;
    int rc = ws__world_is_open(x->w, x->pl, c);

    if (rc <= 0 ||
        !ws__model_below(&x->w->modeller, &x->pl->model[c->kernel], &c->config,
                         INFINITY, &o.bound, &o.expected))
        return rc < 0 ? rc : 0;
    for (uint32_t i = 0; i < x->w->nidea; i++)
        if (o.bound < x->look[i].bound &&
            (i == TUNE || ws__idea_holds(&x->w->idea[i], c)))
            x->look[i] = o;
    return 0;
}

static int consider(struct scan *x, const struct ws__config *config)
{
    struct ws__candidate c = {.kernel = x->node->kernel, .config = *config};
    double bound, expected = NAN;
    int rc;

    if (x->look)
        return note(x, &c);
    if (!ws__world_fits(x->w, x->node, &c) || ws__seen_has(&x->pl->seen, &c))
        return 0;
    if (x->modelled) {
        if (!ws__model_below(&x->w->modeller, &x->pl->model[c.kernel], config,
                             x->bound, &bound, &expected))
            return 0;
    } else {
        bound = differences(x->from, config);
        if (bound >= x->bound)
            return 0;
    }
    rc = ws__world_is_open(x->w, x->pl, &c);
    if (rc <= 0)
        return rc;
    x->best = c;
    x->bound = bound;
    x->expected = expected;
    return 0;
}

static int consider_space(struct scan *x)
{
    struct ws__space *space = space_of(x->w, x->pl, x->node->kernel);
    struct ws__space_iter all;
    struct ws__config c;
    uint64_t valid;
    int rc;

    WS_TRY(ws__space_count(space, &valid));
    if (valid > LOOK_THROUGH) {
        for (int i = 0; i < DRAWS; i++) {
            WS_TRY(
                ws__space_unrank(space, ws__rng_below(&x->pl->rng, valid), &c));
            WS_TRY(consider(x, &c));
        }
        return ws__check_stop(x->w->p->ctx);
    }
    ws__space_begin(space, &all);
    while ((rc = ws__space_next(&all, &c)) > 0)
        WS_TRY(consider(x, &c));
    return rc;
}

/* All configs that differ in one parameter; of long ones in some values. */
static int consider_near(struct scan *x, const struct ws__config *from)
{
    const struct ws__kernel *k = &x->w->p->kernel[x->node->kernel];
    struct ws__config c = *from;

    for (size_t i = 0; i < k->nparam; i++) {
        size_t n = k->param[i].nvalue;
        size_t tries = n < NEAR_VALUES ? n : NEAR_VALUES;

        for (size_t v = 0; v < tries; v++) {
            c.at[i] = (uint16_t)(tries < n ? ws__rng_below(&x->pl->rng, n) : v);
            if (c.at[i] != from->at[i])
                WS_TRY(consider(x, &c));
        }
        c.at[i] = from->at[i];
    }
    return 0;
}

/* Of the points that the model was made of, the best that look as they should.
 */
static int consider_best(struct scan *x)
{
    const struct ws__modeller *o = &x->w->modeller;
    const struct ws__model *m = &x->pl->model[x->node->kernel];

    for (size_t i = 0, near = 0; i < o->nranked && near < TOP; i++) {
        struct ws__candidate c = {.kernel = x->node->kernel,
                                  .config =
                                      m->point[o->ranked[i].point].config};

        if (m->point[o->ranked[i].point].state != WS__POINT_OK ||
            (!x->look && !ws__world_fits(x->w, x->node, &c)))
            continue;
        near++;
        WS_TRY(consider_near(x, &c.config));
    }
    return 0;
}

/* --- the first ------------------------------------------------------------ */

/* Do all ideas of the node allow what the candidate has for a parameter? */
static bool is_allowed(const struct world *w, const struct node *n,
                       size_t param, const struct ws__candidate *c)
{
    for (size_t a = 0; a < w->naxis; a++) {
        const struct ws__idea *i =
            n->choice[a] ? &w->idea[n->choice[a] - 1] : NULL;

        for (size_t s = 0; i && s < i->nset; s++)
            if (i->set[s].kernel == n->kernel && i->set[s].param == param &&
                !i->set[s].allowed[c->config.at[param]])
                return false;
    }
    return true;
}

/* A value that they allow, the nearest to the one there is; false: there is
 * none. */
static bool impose_one(const struct world *w, const struct node *n,
                       size_t param, struct ws__candidate *c)
{
    size_t nvalue = w->p->kernel[n->kernel].param[param].nvalue;
    size_t old = c->config.at[param];

    for (size_t far = 0; far < nvalue; far++)
        for (int side = 0; side < 2; side++) {
            size_t at = side ? old + far : old - far;

            if (at >= nvalue) /* also below the first */
                continue;
            c->config.at[param] = (uint16_t)at;
            if (is_allowed(w, n, param, c))
                return true;
        }
    return false;
}

static bool impose(const struct world *w, const struct node *n,
                   struct ws__candidate *c)
{
    for (size_t i = 0; i < w->p->kernel[n->kernel].nparam; i++)
        if (!impose_one(w, n, i, c))
            return false;
    return true;
}

/* Where that is not valid: the nearest that some changes more make valid. */
static int repair(struct scan *x, const struct ws__config *from)
{
    const struct ws__kernel *k = &x->w->p->kernel[x->node->kernel];

    for (int i = 0; i < REPAIRS; i++) {
        struct ws__config c = *from;
        size_t n = 1 + ws__rng_below(&x->pl->rng, 3);

        for (size_t j = 0; j < n && k->nparam; j++) {
            size_t at = ws__rng_below(&x->pl->rng, k->nparam);

            c.at[at] =
                (uint16_t)ws__rng_below(&x->pl->rng, k->param[at].nvalue);
        }
        WS_TRY(consider(x, &c));
    }
    return 0;
}

/* What the parent's best becomes; false: there is no such config. */
static bool become(const struct scan *x, size_t place,
                   struct ws__candidate *out)
{
    const struct local *at = &x->w->node[x->node->parent].at[place];

    memset(out, 0, sizeof(*out));
    out->kernel = x->node->kernel;
    if (at->have && at->best.kernel == out->kernel)
        *out = at->best;
    else
        ws__config_default(&x->w->p->kernel[out->kernel], &out->config);
    return impose(x->w, x->node, out);
}

/* The nearest to that: 1, or 0. */
static int first(struct scan *x, size_t place, struct ws__candidate *out)
{
    struct ws__candidate from;

    if (!become(x, place, &from))
        return 0;
    x->from = &from.config;
    WS_TRY(consider(x, &from.config));
    if (!isfinite(x->bound))
        WS_TRY(consider_near(x, &from.config));
    if (!isfinite(x->bound))
        WS_TRY(repair(x, &from.config));
    if (!isfinite(x->bound))
        WS_TRY(consider_space(x));
    *out = x->best;
    return isfinite(x->bound);
}

/* --- looking -------------------------------------------------------------- */

int ws__world_look(struct world *w, struct place *pl, struct outlook *out)
{
    for (uint32_t i = 0; i < w->nidea; i++)
        out[i].expected = out[i].bound = INFINITY;
    for (size_t k = 0; k < w->p->nkernel; k++) {
        struct node any = {.kernel = (uint32_t)k};
        struct scan x = {.w = w, .pl = pl, .node = &any, .look = out};

        if (!ws__model_ready(&pl->model[k]))
            continue;
        WS_TRY(ws__model_make(&w->modeller, &pl->model[k]));
        WS_TRY(consider_best(&x));
        WS_TRY(consider_space(&x));
    }
    return 0;
}

/* --- proposing ------------------------------------------------------------ */

static int by_model(struct scan *x, size_t place, struct ws__candidate *out)
{
    struct ws__model *m = &x->pl->model[x->node->kernel];
    struct ws__candidate from;

    x->modelled = true;
    WS_TRY(ws__model_make(&x->w->modeller, m));
    if (become(x, place, &from)) {
        WS_TRY(consider(x, &from.config));
        WS_TRY(consider_near(x, &from.config));
    }
    WS_TRY(consider_best(x));
    WS_TRY(consider_space(x));
    *out = x->best;
    return isfinite(x->bound);
}

/* What is best in another place, of the nearest that has something new. */
static int borrow(struct world *w, size_t place, struct ws__candidate *out)
{
    for (size_t far = 1; far < w->nplace; far++)
        for (int side = 0; side < 2; side++) {
            size_t at = side ? place - far : place + far;
            int rc;

            if (at >= w->nplace || !w->place[at].have)
                continue;
            rc = ws__world_is_open(w, &w->place[place], &w->place[at].best);
            if (rc > 0)
                *out = w->place[at].best;
            if (rc)
                return rc;
        }
    return 0;
}

/* What draws missed, of all kernels. */
static int left_over(struct world *w, struct place *pl,
                     struct ws__candidate *out)
{
    for (size_t k = 0; k < w->p->nkernel; k++) {
        int rc;

        out->kernel = (uint32_t)k;
        while ((rc = ws__space_next(&pl->left[k], &out->config)) > 0) {
            rc = ws__world_is_open(w, pl, out);
            if (rc)
                return rc;
            WS_TRY(ws__check_stop(w->p->ctx));
        }
        WS_TRY(rc);
    }
    return 0;
}

/* Far from all that was tried: 1, or 0 if draws find nothing. */
static int far_config(struct scan *x, struct ws__candidate *out)
{
    struct ws__space *space = space_of(x->w, x->pl, x->node->kernel);
    double most = -1;
    uint64_t valid;

    WS_TRY(ws__space_count(space, &valid));
    for (int i = 0; i < REPAIRS && valid; i++) {
        struct ws__candidate c = {.kernel = x->node->kernel};
        double d;
        int rc;

        WS_TRY(ws__space_unrank(space, ws__rng_below(&x->pl->rng, valid),
                                &c.config));
        if (!ws__world_fits(x->w, x->node, &c))
            continue;
        d = ws__model_apart(&x->pl->model[c.kernel], &c.config);
        if (d <= most)
            continue;
        rc = ws__world_is_open(x->w, x->pl, &c);
        WS_TRY(rc);
        if (!rc)
            continue;
        most = d;
        *out = c;
    }
    return most >= 0;
}

static int of_node(struct scan *x, size_t place, struct ws__candidate *out)
{
    const struct node *n = x->node;

    if (ws__model_ready(&x->pl->model[n->kernel]))
        return by_model(x, place, out);
    if (n->idea != TUNE && !n->at[place].tries && !n->at[place].have)
        return first(x, place, out);
    return far_config(x, out);
}

static int in_turn(struct scan *x, struct node *any, size_t place,
                   struct ws__candidate *out)
{
    size_t n = x->w->p->nkernel;

    for (size_t i = 0; i < n; i++) {
        int rc;

        any->kernel = (uint32_t)(x->pl->kernel++ % n);
        rc = of_node(x, place, out);
        if (rc)
            return rc;
    }
    return 0;
}

/* Where no idea says which kernel: one that little is known of, now and then
 * the next in turn, else the most promising. */
static int of_any_kernel(struct scan *x, size_t place,
                         struct ws__candidate *out)
{
    struct place *pl = x->pl;
    struct node any = *x->node;
    size_t n = x->w->p->nkernel;

    x->node = &any;
    for (size_t k = 0; k < n; k++) {
        int rc = 0;

        any.kernel = (uint32_t)k;
        if (pl->model[k].n < WS__MODEL_FIRST)
            rc = far_config(x, out);
        if (rc)
            return rc;
    }
    if (n == 1 || pl->turn++ % TURN_EVERY == 0)
        return in_turn(x, &any, place, out);
    for (size_t k = 0; k < n; k++) {
        any.kernel = (uint32_t)k;
        if (ws__model_ready(&pl->model[k]))
            WS_TRY(by_model(x, place, out));
    }
    return isfinite(x->bound) ? 1 : in_turn(x, &any, place, out);
}

int ws__world_propose(struct world *w, struct place *pl,
                      struct ws__candidate *out, double *expected)
{
    size_t place = (size_t)(pl - w->place);
    const struct node *n = &w->node[pl->node];
    struct scan x = {
        .w = w, .pl = pl, .node = n, .bound = INFINITY, .expected = NAN};
    int rc;

    *expected = NAN;
    if (n->idea == BORROW)
        return borrow(w, place, out);
    rc = n->idea == TUNE && !n->parent ? of_any_kernel(&x, place, out)
                                       : of_node(&x, place, out);
    *expected = x.expected;
    if (!rc && n->idea == TUNE && !n->parent)
        rc = left_over(w, pl, out);
    return rc;
}
