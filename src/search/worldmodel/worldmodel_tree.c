/*
 * worldmodel_tree.c: nodes, and which of their children is the most promising.
 *
 * A child is worth its parent's gain, what is believed of its idea, and the
 * more the less is known of it (an upper confidence bound); less a little for
 * what is deep or difficult. Every place chooses for itself. Two ways to one
 * set of ideas are one node.
 */
#include "search/worldmodel/worldmodel.h"

#include <math.h>

#include "base/banned.h"

#define TINY 1e-6
#define KAPPA 1.5        /* of the bound */
#define DEPTH_COST 0.005 /* in logarithms, as all below */
#define EFFORT_COST 0.02 /* of a step of difficulty */
#define AGAIN_COST 0.02  /* of tuning a node again */
#define NOISE 0.05       /* of the effect of a node, */
#define NOISE_TRIES 0.3  /* and of one that was tried once */
#define HOPELESS_EFFECT (-0.5)
#define HOPELESS_NOISE 0.4
#define EFFECT_MAX 2.0
#define FIRST_WORTH 1e6 /* more than any gain */
#define WISH_WORTH 1e12 /* more than that; wishes one after the other */

/* --- nodes ---------------------------------------------------------------- */

uint64_t ws__world_idea_key(uint32_t idea)
{
    return ws__rng_at(0x1dea5, idea);
}

/* Of a child: the same for a set of ideas however it was come by. */
uint64_t ws__world_child_key(const struct world *w, const struct node *parent,
                             uint32_t idea)
{
    uint32_t old = parent->choice[w->idea[idea].axis_id];

    return parent->key + ws__world_idea_key(idea) -
           (old ? ws__world_idea_key(old - 1) : 0);
}

struct node *ws__world_find(const struct world *w, uint64_t key)
{
    for (size_t at = key; w->nindex; at++) {
        uint32_t i = w->index[at & (w->nindex - 1)];

        if (!i || w->node[i - 1].key == key)
            return i ? &w->node[i - 1] : NULL;
    }
    return NULL;
}

static void put(struct world *w, size_t node)
{
    size_t at = w->node[node].key;

    while (w->index[at & (w->nindex - 1)])
        at++;
    w->index[at & (w->nindex - 1)] = (uint32_t)node + 1;
}

/* Room for one more, half of it free. */
static int grow_index(struct world *w)
{
    uint32_t *old = w->index;

    if (w->nindex > 2 * (w->nnode + 1))
        return 0;
    w->index =
        ws__alloc(w->p->ctx, w->nindex ? 2 * w->nindex : 64, sizeof(*w->index));
    if (!w->index) {
        w->index = old;
        return WS_ENOMEM;
    }
    w->nindex = w->nindex ? 2 * w->nindex : 64;
    ws__free(w->p->ctx, old);
    for (size_t i = 0; i < w->nnode; i++)
        put(w, i);
    return 0;
}

static int add_node(struct world *w, int32_t parent, uint32_t idea)
{
    struct node n = {.parent = parent, .idea = idea};

    WS_TRY(ws__grow(w->p->ctx, (void **)&w->node, &w->cap, w->nnode,
                    sizeof(*w->node)));
    WS_TRY(grow_index(w));
    n.choice = ws__arena_alloc(&w->arena, w->naxis + ADDED, sizeof(*n.choice));
    n.at = ws__arena_alloc(&w->arena, w->nplace, sizeof(*n.at));
    if (!n.choice || !n.at)
        return WS_ENOMEM;
    if (parent != NOBODY) {
        const struct node *p = &w->node[parent];
        int32_t kernel = w->idea[idea].kernel;

        n.key = ws__world_child_key(w, p, idea);
        n.depth = p->depth + 1;
        n.kernel = kernel >= 0 ? (uint32_t)kernel : p->kernel;
        memcpy(n.choice, p->choice, w->naxis * sizeof(*n.choice));
        n.choice[w->idea[idea].axis_id] = idea + 1;
    }
    w->node[w->nnode] = n;
    put(w, w->nnode++);
    return 0;
}

int ws__world_root(struct world *w)
{
    WS_TRY(add_node(w, NOBODY, TUNE));
    for (size_t i = 0; i < w->nplace; i++)
        w->node[0].at[i].standing = CLOSED;
    return 0;
}

bool ws__world_fits(const struct world *w, const struct node *n,
                    const struct ws__candidate *c)
{
    if (c->kernel != n->kernel)
        return false;
    for (size_t a = 0; a < w->naxis; a++) {
        const struct ws__idea *idea =
            n->choice[a] ? &w->idea[n->choice[a] - 1] : NULL;

        if (!idea || idea->kernel >= 0)
            continue;
        for (size_t i = 0; i < idea->nset; i++)
            if (idea->set[i].kernel == c->kernel &&
                !idea->set[i].allowed[c->config.at[idea->set[i].param]])
                return false;
    }
    return true;
}

/* --- what is worth trying ------------------------------------------------- */

static bool holds(const struct world *w, uint32_t idea, const struct local *at)
{
    return at->have && ws__idea_holds(&w->idea[idea], &at->best);
}

static bool says_anything(const struct ws__idea *idea, uint32_t kernel)
{
    if (idea->kernel >= 0)
        return true;
    for (size_t i = 0; i < idea->nset; i++)
        if (idea->set[i].kernel == kernel)
            return true;
    return false;
}

/* Under its parent's circumstances, in the place: would it change anything, and
 * does what it needs hold? */
static bool makes_sense(const struct world *w, const struct node *parent,
                        uint32_t idea, size_t place)
{
    const struct ws__idea *i = &w->idea[idea];
    const struct local *at = &parent->at[place];

    if (idea >= w->nshipped && w->under[idea - w->nshipped] != parent->key)
        return false;
    if (i->regimes && !(i->regimes >> w->place[place].regime & 1))
        return false;
    if (!says_anything(i, parent->kernel) || holds(w, idea, at))
        return false;
    for (size_t k = 0; k < i->nneeds; k++)
        if (!holds(w, NGENERAL + i->needs[k], at))
            return false;
    for (size_t k = 0; k < i->nconflicts; k++)
        if (holds(w, NGENERAL + i->conflicts[k], at))
            return false;
    return true;
}

struct ws__subject ws__world_subject(const struct world *w, uint32_t idea,
                                     size_t place)
{
    const struct ws__idea *i = &w->idea[idea];

    return (struct ws__subject){.axis = i->axis_id,
                                .idea = idea,
                                .regime = w->place[place].regime,
                                .mean = log(i->factor),
                                .sd = i->spread};
}

/* What is best in another place and unknown in this one. */
static bool may_borrow(struct world *w, size_t place)
{
    for (size_t i = 0; i < w->nplace; i++) {
        const struct place *other = &w->place[i];

        if (i != place && other->have &&
            ws__world_is_open(w, &w->place[place], &other->best) > 0)
            return true;
    }
    return false;
}

struct view { /* of an idea, in a place */
    double mean, sd;
    double unsure; /* sd, and how seldom it was tried there */
    struct outlook look;
};

static uint32_t *visits_of(const struct world *w, size_t place, uint32_t idea)
{
    return &w->visits[place * (w->nshipped + ADDED) + idea];
}

static struct view view_of(const struct world *w, uint32_t idea, size_t place,
                           const struct outlook *look)
{
    struct ws__subject s = ws__world_subject(w, idea, place);
    uint32_t visits = *visits_of(w, place, idea);
    struct view v = {.look = look[idea]};

    ws__belief_view(&w->belief, &s, &v.mean, &v.sd);
    v.unsure =
        v.sd * sqrt(log(2 + (double)w->place[place].visits) / (1 + visits));
    return v;
}

struct choice {
    int32_t parent;
    uint32_t idea;
    struct view view;
    double worth;
};

/* What is believed of the idea over a gain, and what the models of times expect
 * of it, each as much as it is sure: the upper bound. */
static double bound_of(double gain, const struct view *v)
{
    double sd = (v->look.expected - v->look.bound) / WS__MODEL_KAPPA;
    double believed = 1 / (v->unsure * v->unsure + TINY);
    double known = isfinite(sd) ? 1 / (sd * sd + TINY) : 0;
    double sum = (gain + v->mean) * believed;

    if (known > 0)
        sum -= v->look.expected * known;
    return (sum + KAPPA * sqrt(believed + known)) / (believed + known);
}

/* How often a child was. */
static uint32_t opened(const struct world *w, const struct node *parent,
                       uint32_t idea, size_t place)
{
    const struct node *n =
        ws__world_find(w, ws__world_child_key(w, parent, idea));

    return n ? n->at[place].opened : 0;
}

/* Keeps the most promising. Two ways to one set of ideas are one. */
static void remember(struct place *pl, const struct option *o)
{
    size_t at = 0, end;

    while (at < pl->nfront && pl->front[at].worth >= o->worth &&
           pl->front[at].key != o->key)
        at++;
    if (at == FRONT || (at < pl->nfront && pl->front[at].key == o->key &&
                        pl->front[at].worth >= o->worth))
        return;
    for (end = at; end < pl->nfront && pl->front[end].key != o->key; end++)
        ;
    if (end == pl->nfront && pl->nfront < FRONT)
        pl->nfront++;
    else if (end == FRONT)
        end--;
    memmove(&pl->front[at + 1], &pl->front[at], (end - at) * sizeof(*o));
    pl->front[at] = *o;
}

static void consider(struct world *w, size_t place, size_t parent,
                     uint32_t idea, const struct view *view,
                     struct choice *best)
{
    const struct node *n = &w->node[parent];
    const struct place *pl = &w->place[place];
    bool any = !parent && idea == TUNE; /* of all: also what is best so far */
    double worth = bound_of(any ? pl->gain : n->at[place].gain, view);
    int wish;

    worth -= DEPTH_COST * n->depth;
    worth -= EFFORT_COST * (w->idea[idea].difficulty - 1);
    if (idea == TUNE && parent)
        worth -= AGAIN_COST * opened(w, n, idea, place);
    /* Nothing is expected of ideas yet. */
    if ((any || (idea == BORROW && !pl->borrowed)) && !w->catalogue &&
        !ws__model_ready(&pl->model[n->kernel]))
        worth = any ? FIRST_WORTH : 2 * FIRST_WORTH;
    if (ws__world_is_pruned(w, n, idea))
        return;
    wish = ws__world_wish(w, place, n, idea);
    if (wish >= 0)
        worth += WISH_WORTH / (1 + wish);
    remember(&w->place[place],
             &(struct option){.parent = (int32_t)parent,
                              .idea = idea,
                              .key = ws__world_child_key(w, n, idea),
                              .mean = view->mean,
                              .sd = view->sd,
                              .worth = worth});
    if (worth > best->worth)
        *best = (struct choice){(int32_t)parent, idea, *view, worth};
}

static void consider_idea(struct world *w, size_t place, uint32_t idea,
                          const struct outlook *look, struct choice *best)
{
    struct view view = view_of(w, idea, place, look);

    if (idea == BORROW) {
        if (may_borrow(w, place))
            consider(w, place, 0, idea, &view, best);
        return;
    }
    for (size_t i = 0; i < w->nnode; i++) {
        const struct node *n = &w->node[i];

        if (n->at[place].standing != CLOSED || (i && n->idea < NGENERAL))
            continue;
        if (idea == TUNE
                ? !n->at[place].spent
                : makes_sense(w, n, idea, place) && !opened(w, n, idea, place))
            consider(w, place, i, idea, &view, best);
    }
}

/* --- opening -------------------------------------------------------------- */

/* What is known already that looks as the node says: the best of it is where
 * its work begins. */
static void begin(struct world *w, size_t place, int32_t node)
{
    struct node *n = &w->node[node];
    struct local *at = &n->at[place];
    const struct ws__model *m = &w->place[place].model[n->kernel];

    for (size_t i = 0; i < m->n; i++) {
        struct ws__candidate c = {.kernel = n->kernel,
                                  .config = m->point[i].config};

        if (m->point[i].state != WS__POINT_OK || !ws__world_fits(w, n, &c) ||
            (at->have && -m->point[i].y <= at->gain))
            continue;
        at->best = c;
        at->gain = -m->point[i].y;
        at->have = true;
    }
}

static int open_child(struct world *w, size_t place, const struct choice *c)
{
    uint64_t key = ws__world_child_key(w, &w->node[c->parent], c->idea);
    struct place *pl = &w->place[place];
    const struct node *n;
    struct local *at;

    if (!ws__world_find(w, key))
        WS_TRY(add_node(w, c->parent, c->idea));
    n = ws__world_find(w, key);
    pl->node = (int32_t)(n - w->node);
    pl->idle = pl->tries = 0;
    pl->found = -INFINITY;
    pl->out = false;
    pl->borrowed = c->idea == BORROW;
    pl->from = !c->parent && c->idea < NGENERAL
                   ? pl->gain
                   : w->node[c->parent].at[place].gain;
    at = &n->at[place];
    at->standing = OPEN;
    if (!at->opened++) {
        at->from = pl->from;
        at->mean = c->view.mean;
        at->sd = c->view.sd;
    }
    if (c->idea != BORROW)
        begin(w, place, pl->node);
    return 1;
}

int ws__world_choose(struct world *w, size_t place)
{
    struct choice best = {.parent = NOBODY, .worth = -INFINITY};
    struct outlook *look = ws__alloc(w->p->ctx, w->nidea, sizeof(*look));
    int rc = look ? ws__world_look(w, &w->place[place], look) : WS_ENOMEM;

    w->place[place].nfront = 0;
    for (uint32_t i = 0; i < w->nidea && rc >= 0; i++)
        consider_idea(w, place, i, look, &best);
    ws__free(w->p->ctx, look);
    WS_TRY(rc);
    return best.parent == NOBODY ? 0 : open_child(w, place, &best);
}

/* --- closing -------------------------------------------------------------- */

/* The attempt is in the belief, and in the list of lessons. */
static int learn(struct world *w, size_t place, int32_t node, double effect,
                 bool failed)
{
    struct place *pl = &w->place[place];
    struct ws__subject s = ws__world_subject(w, w->node[node].idea, place);
    struct lesson l = {.node = node,
                       .place = (uint32_t)place,
                       .tries = pl->tries,
                       .effect = fmax(-EFFECT_MAX, fmin(effect, EFFECT_MAX)),
                       .noise = failed ? HOPELESS_NOISE
                                       : NOISE + NOISE_TRIES / (1 + pl->tries),
                       .failed = failed};

    WS_TRY(ws__grow(w->p->ctx, (void **)&w->lesson, &w->lessons_cap, w->nlesson,
                    sizeof(l)));
    ws__belief_view(&w->belief, &s, &l.mean, &l.sd);
    ws__belief_learn(&w->belief, &s, l.effect, l.noise);
    ws__belief_view(&w->belief, &s, &l.after, &l.after_sd);
    w->lesson[w->nlesson++] = l;
    return 0;
}

int ws__world_close(struct world *w, size_t place)
{
    struct place *pl = &w->place[place];
    int32_t node = pl->node;
    struct node *n = &w->node[node];
    struct local *at = &n->at[place];
    double gain = n->idea == BORROW ? pl->found
                  : at->have        ? at->gain
                                    : -INFINITY;

    pl->node = NOBODY;
    at->standing = at->have ? CLOSED : HOPELESS;
    if (!pl->tries) { /* there is no such config, or none left */
        w->node[n->parent].at[place].spent |= n->idea == TUNE;
        return 0;
    }
    pl->visits++;
    ++*visits_of(w, place, n->idea);
    return learn(w, place, node,
                 isfinite(gain) ? gain - pl->from : HOPELESS_EFFECT,
                 !isfinite(gain));
}
