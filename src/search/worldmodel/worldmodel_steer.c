/*
 * worldmodel_steer.c: what people decide of the tree.
 *
 * A node is named by its set of ideas, so a decision is about sets. What was
 * pruned bars every set that has all its ideas, and every config that looks as
 * they say, in all places. What was pinned comes before all else wherever it
 * can be opened; so does, where it cannot be yet, what leads to it. An idea
 * that people add is a child of one node and an axis of its own; who adds one
 * wants to see it tried: it is next wherever that node was, after what is
 * pinned.
 */
#include "search/worldmodel/worldmodel.h"

#include "base/banned.h"

/* --- sets of ideas -------------------------------------------------------- */

static uint32_t upper(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

/* What a child has on an axis. */
static uint32_t choice_of(const struct world *w, const struct node *parent,
                          uint32_t idea, size_t axis)
{
    return w->idea[idea].axis_id == axis ? idea + 1 : parent->choice[axis];
}

/* Does the child have all that the mark names? */
static bool has(const struct world *w, const struct mark *m,
                const struct node *parent, uint32_t idea)
{
    for (size_t a = 0; a < w->naxis; a++)
        if (m->choice[a] && m->choice[a] != choice_of(w, parent, idea, a))
            return false;
    return true;
}

/* Does it have nothing else? */
static bool leads(const struct world *w, const struct mark *m,
                  const struct node *parent, uint32_t idea)
{
    for (size_t a = 0; a < w->naxis; a++) {
        uint32_t c = choice_of(w, parent, idea, a);

        if (c && c != m->choice[a])
            return false;
    }
    return idea >= NGENERAL || has(w, m, parent, idea);
}

bool ws__world_is_pruned(const struct world *w, const struct node *parent,
                         uint32_t idea)
{
    for (size_t i = 0; i < w->nmark; i++)
        if (w->mark[i].pruned && has(w, &w->mark[i], parent, idea))
            return true;
    return false;
}

/* A set with a general idea says nothing of configs. */
static bool bars(const struct world *w, const struct mark *m,
                 const struct ws__candidate *c)
{
    for (size_t a = 0; a < w->naxis; a++)
        if (m->choice[a] && (m->choice[a] - 1 < NGENERAL ||
                             !ws__idea_holds(&w->idea[m->choice[a] - 1], c)))
            return false;
    return true;
}

bool ws__world_is_barred(const struct world *w, const struct ws__candidate *c)
{
    for (size_t i = 0; i < w->nmark; i++)
        if (w->mark[i].pruned && bars(w, &w->mark[i], c))
            return true;
    return false;
}

static uint64_t key_of_mark(const struct world *w, const struct mark *m)
{
    uint64_t key = 0;

    for (size_t a = 0; a < w->naxis; a++)
        if (m->choice[a])
            key += ws__world_idea_key(m->choice[a] - 1);
    return key;
}

int ws__world_wish(const struct world *w, size_t place,
                   const struct node *parent, uint32_t idea)
{
    for (size_t i = 0; i < w->nmark; i++) {
        const struct mark *m = &w->mark[i];
        const struct node *n;

        if (m->pruned || !leads(w, m, parent, idea))
            continue;
        n = ws__world_find(w, key_of_mark(w, m));
        if (!n || !n->at[place].opened)
            return (int)i;
    }
    return idea >= w->nshipped ? (int)w->nmark : NOBODY;
}

/* --- by key --------------------------------------------------------------- */

/* The set of a key: of a node, or of a child that could be one. */
static bool find_set(const struct world *w, uint32_t node, uint32_t *choice)
{
    for (size_t i = 0; i < w->nnode; i++)
        if (upper(w->node[i].key) == node) {
            memcpy(choice, w->node[i].choice, w->naxis * sizeof(*choice));
            return true;
        }
    for (size_t i = 0; i < w->nnode; i++)
        for (uint32_t k = 0; k < w->nidea; k++) {
            const struct node *n = &w->node[i];

            if (upper(ws__world_child_key(w, n, k)) != node)
                continue;
            memcpy(choice, n->choice, w->naxis * sizeof(*choice));
            choice[w->idea[k].axis_id] = k + 1;
            return true;
        }
    return false;
}

bool ws__world_is_marked(const struct world *w, uint64_t key, bool pruned)
{
    const struct node *n = ws__world_find(w, key);

    for (size_t i = 0; i < w->nmark; i++) {
        const struct mark *m = &w->mark[i];

        if (m->pruned != pruned)
            continue;
        if (key_of_mark(w, m) == key)
            return true;
        if (pruned && n && n->parent != NOBODY &&
            has(w, m, &w->node[n->parent], n->idea))
            return true;
    }
    return false;
}

/* --- deciding ------------------------------------------------------------- */

/* What is worked on and pruned now ends with the answers on their way. */
static void stop_work(struct world *w)
{
    for (size_t i = 0; i < w->nplace; i++) {
        struct place *pl = &w->place[i];
        const struct node *n = pl->node == NOBODY ? NULL : &w->node[pl->node];

        if (n && n->parent != NOBODY &&
            ws__world_is_pruned(w, &w->node[n->parent], n->idea))
            pl->out = true;
    }
}

static int add_mark(struct world *w, uint32_t node, bool pruned)
{
    struct mark *m = &w->mark[w->nmark];

    if (w->nmark == ADDED)
        return ws__fail(w->p->ctx, WS_ELIMIT,
                        "more than %d nodes are pinned or pruned", ADDED);
    m->choice = ws__arena_alloc(&w->arena, w->naxis + ADDED, sizeof(uint32_t));
    if (!m->choice)
        return WS_ENOMEM;
    m->pruned = pruned;
    if (!node || !find_set(w, node, m->choice))
        return 0;
    w->nmark++;
    stop_work(w);
    return 1;
}

static int add_idea(struct world *w, uint32_t node, const struct ws__idea *idea)
{
    size_t i = 0;

    if (w->nidea - w->nshipped == ADDED)
        return ws__fail(w->p->ctx, WS_ELIMIT, "more than %d ideas were added",
                        ADDED);
    while (i < w->nnode && upper(w->node[i].key) != node)
        i++;
    if (i == w->nnode)
        return 0;
    w->under[w->nidea - w->nshipped] = w->node[i].key;
    w->idea[w->nidea] = *idea;
    w->idea[w->nidea++].axis_id = (uint32_t)w->naxis++;
    return 1;
}

int ws__world_steer(void *state, const struct ws__steer *s)
{
    struct world *w = state;

    return s->kind == WS__STEER_ADD
               ? add_idea(w, s->node, s->idea)
               : add_mark(w, s->node, s->kind == WS__STEER_PRUNE);
}
