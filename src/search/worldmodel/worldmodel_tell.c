/*
 * worldmodel_tell.c: what was tried, what could be next, and what was learnt.
 */
#include "search/worldmodel/worldmodel.h"

#include <math.h>

#include "base/banned.h"

static enum ws__idea_state state_of(const struct world *w, size_t node,
                                    size_t place)
{
    if (w->place[place].node == (int32_t)node)
        return WS__IDEA_WORKED;
    return w->node[node].at[place].standing == HOPELESS ? WS__IDEA_HOPELESS
                                                        : WS__IDEA_CLOSED;
}

/* What is the same of an idea that was tried and of one that was not. */
static int tell_idea(const struct world *w, uint32_t idea, size_t place,
                     struct ws__tree *out, struct ws__tried *t)
{
    struct ws__subject s = ws__world_subject(w, idea, place);

    t->axis = ws__arena_strdup(&out->arena, w->idea[idea].axis);
    t->choice = ws__arena_strdup(&out->arena, w->idea[idea].choice);
    t->place = ws__arena_strdup(&out->arena, w->p->workload[place].name);
    t->workload = (uint32_t)place;
    ws__belief_prior(&s, &t->prior, &t->prior_sd);
    ws__belief_view(&w->belief, &s, &t->now, &t->now_sd);
    t->pinned = ws__world_is_marked(w, t->key, false);
    t->pruned = ws__world_is_marked(w, t->key, true);
    t->added = idea >= w->nshipped;
    return t->axis && t->choice && t->place ? 0 : WS_ENOMEM;
}

/* Nodes of a place that were tried; `index` has for each node its number. */
static int tell_place(const struct world *w, size_t place, int32_t *index,
                      struct ws__tree *out)
{
    index[0] = NOBODY;
    for (size_t i = 1; i < w->nnode; i++) {
        const struct node *n = &w->node[i];
        const struct local *at = &n->at[place];
        struct ws__tried *t = &out->tried[out->n];

        index[i] = index[n->parent];
        if (at->standing == NEVER || !at->tries)
            continue;
        index[i] = (int32_t)out->n++;
        *t = (struct ws__tried){.key = n->key,
                                .parent_key = w->node[n->parent].key,
                                .parent = index[n->parent],
                                .depth = n->depth,
                                .tries = at->tries,
                                .state = state_of(w, i, place),
                                .expected = at->mean,
                                .sd = at->sd,
                                .effect = at->have ? at->gain - at->from
                                                   : (double)NAN,
                                .gain = at->have ? at->gain : (double)NAN,
                                .have = at->have,
                                .best = at->best};
        WS_TRY(tell_idea(w, n->idea, place, out, t));
    }
    return 0;
}

/* What it chose is not open any more. */
static bool is_open(const struct world *w, size_t place, const struct option *o)
{
    const struct node *n = ws__world_find(w, o->key);

    if (ws__world_is_pruned(w, &w->node[o->parent], o->idea))
        return false;
    return o->idea < NGENERAL ? w->place[place].node < 0 ||
                                    w->node[w->place[place].node].key != o->key
                              : !n || !n->at[place].opened;
}

static int tell_front(const struct world *w, size_t place, struct ws__tree *out)
{
    const struct place *pl = &w->place[place];

    for (size_t i = 0; i < pl->nfront; i++) {
        const struct option *o = &pl->front[i];
        const struct node *parent = &w->node[o->parent];
        struct ws__tried *t = &out->open[out->nopen];

        if (!is_open(w, place, o))
            continue;
        *t = (struct ws__tried){.key = o->key,
                                .parent_key = parent->key,
                                .parent = -1,
                                .depth = parent->depth + 1,
                                .state = WS__IDEA_OPEN,
                                .expected = o->mean,
                                .sd = o->sd,
                                .effect = (double)NAN,
                                .gain = (double)NAN,
                                .worth = o->worth};
        WS_TRY(tell_idea(w, o->idea, place, out, t));
        out->nopen++;
    }
    return 0;
}

static int tell_lessons(const struct world *w, struct ws__tree *out)
{
    out->lesson =
        ws__arena_alloc(&out->arena, w->nlesson + 1, sizeof(*out->lesson));
    if (!out->lesson)
        return WS_ENOMEM;
    for (size_t i = 0; i < w->nlesson; i++) {
        const struct lesson *l = &w->lesson[i];
        const struct node *n = &w->node[l->node];
        struct ws__lesson *t = &out->lesson[i];

        *t = (struct ws__lesson){
            .axis = ws__arena_strdup(&out->arena, w->idea[n->idea].axis),
            .choice = ws__arena_strdup(&out->arena, w->idea[n->idea].choice),
            .place =
                ws__arena_strdup(&out->arena, w->p->workload[l->place].name),
            .key = n->key,
            .tries = l->tries,
            .expected = l->mean,
            .sd = l->sd,
            .effect = l->effect,
            .noise = l->noise,
            .after = l->after,
            .after_sd = l->after_sd,
            .failed = l->failed};
        if (!t->axis || !t->choice || !t->place)
            return WS_ENOMEM;
    }
    out->nlesson = w->nlesson;
    return 0;
}

int ws__world_tree(void *state, struct ws__tree *out)
{
    const struct world *w = state;
    int32_t *index = ws__alloc(w->p->ctx, w->nnode, sizeof(*index));
    size_t room = w->nnode * w->nplace;
    int rc = 0;

    out->tried = ws__arena_alloc(&out->arena, room, sizeof(*out->tried));
    out->open =
        ws__arena_alloc(&out->arena, w->nplace * FRONT, sizeof(*out->open));
    if (!index || !out->tried || !out->open)
        rc = WS_ENOMEM;
    for (size_t i = 0; i < w->nplace && !rc; i++)
        rc = tell_place(w, i, index, out);
    for (size_t i = 0; i < w->nplace && !rc; i++)
        rc = tell_front(w, i, out);
    if (!rc)
        rc = tell_lessons(w, out);
    ws__free(w->p->ctx, index);
    return rc;
}
