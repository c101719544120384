/*
 * pack_tree.c: compiles a model's choice over ranges of sizes into a tree.
 *
 * The model is asked about some ten thousand shapes. The tree is grown over
 * them: the leaf from whose best split most is gained is split, again and
 * again, until the nodes are used up or nothing is gained any more. A split
 * compares a size, or the number of blocks of some tile: that is where waves
 * end and the choice changes back and forth, along lines that no comparison of
 * sizes alone can follow. What a leaf costs is what its one choice loses
 * against the formula over its shapes, large losses counted more than in
 * proportion.
 *
 * A leaf gets as many candidates as are worth the time of predicting them at a
 * look-up; the default, which is always looked at, is for free. And where a
 * tuned shape's choice is as good as the best on all shapes of its leaf, the
 * leaf names that tuned shape.
 */
#include "pack/pack_build.h"

#include "base/banned.h"

#define SIDE 4    /* shapes on either side of a split, at least */
#define LIST 2    /* candidates of a leaf, at most */
#define CUTS 15   /* places at which a feature may be split */
#define LOOK 2048 /* shapes that a split is looked for with, at most */
#define FEATURES 48
/* log2(1.01): what loses less is as good. */
#define AS_GOOD 15053
/* log2(16): more is not told apart. */
#define MOST (4 << WSRT_WAVE_Q)
/* What the time of a prediction is worth, as a loss; found by trying
 * (docs/pack.md, Decision structure). */
#define ASKING 2000

struct leaf {
    size_t first, n;   /* slice of the order */
    uint32_t child[2]; /* 0: none */
    uint32_t feature, limit;
    int64_t gain;   /* of the split; 0: none is worth it */
    uint32_t entry; /* or WSRT_NONE */
    uint32_t nlist, list[LIST];
};

/* Some shapes: the sum of each candidate's costs (of some of them, `step`
 * apart), how many there are. */
struct part {
    int64_t sum[WSRT_MAX_FORMS];
    size_t n;
};

struct tree {
    const struct ws__pack_draft *d;
    const struct ws__pack_choice *choice;
    size_t nshape, nfeature, nkeep;
    uint16_t feature[FEATURES]; /* as nodes of the draft name them */
    uint16_t owner[FEATURES];   /* of a coordinate: a place in keep */
    uint32_t *value;            /* feature * nshape + shape */
    int32_t *loss;              /* shape * nkeep + place in keep */
    int32_t *least;             /* room for a leaf: of those of its list */
    uint32_t *order;
    struct leaf *leaf;
    size_t nleaf, most;
    struct part *part; /* between the cuts: CUTS + 1 of them; and two more */
};

/* What a candidate loses where the rule takes `best` of all; it counts as the
 * default where it would not be taken over that. */
static void fill_losses(struct tree *t, size_t shape,
                        const struct ws__pack_row *row, uint32_t best)
{
    const struct wsrt_pack *p = t->d->p;
    const struct wsrt_f_form *form = &p->form[p->model[t->d->model].first_form];
    const struct ws__pack_choice *c = t->choice;
    int64_t base = WSRT__NEVER, least = row->log2_ns[best];

    for (size_t i = 0; i < c->ndflt && base == WSRT__NEVER; i++)
        base = row->log2_ns[c->place[i]];
    for (size_t i = 0; i < c->nkeep; i++) {
        int64_t v = row->log2_ns[c->place[i]], loss;

        if (v != WSRT__NEVER && base != WSRT__NEVER &&
            base - v <= form[c->place[i]].margin)
            v = base;
        loss = v < least ? 0 : v - least;
        t->loss[shape * t->nkeep + i] = (int32_t)(loss > MOST ? MOST : loss);
    }
}

static void fill_values(struct tree *t, size_t shape, const int64_t *axes,
                        size_t room)
{
    const struct wsrt_pack *p = t->d->p;

    for (size_t f = 0; f < t->nfeature; f++) {
        int64_t v =
            wsrt__model_feature(p, &p->model[t->d->model], t->feature[f], axes);

        t->value[f * room + shape] = (uint32_t)(v < 0            ? 0
                                                : v > UINT32_MAX ? UINT32_MAX
                                                                 : v);
    }
}

static void sample(struct tree *t, size_t room)
{
    const struct ws__pack_choice *c = t->choice;
    struct ws__pack_row row;
    struct ws__rng r;

    ws__rng_seed(&r, 1000);
    for (size_t tries = 0; tries < 4 * room && t->nshape < room; tries++) {
        uint32_t best;

        ws__pack_draw(t->d, &r, c->span, row.axes);
        if (!ws__pack_predict(t->d, &row, c->place, c->nkeep))
            continue;
        best = ws__pack_decide(t->d, &row, c->place, c->nkeep);
        fill_losses(t, t->nshape, &row, best);
        fill_values(t, t->nshape, row.axes, room);
        t->order[t->nshape] = (uint32_t)t->nshape;
        t->nshape++;
    }
}

/* The axes that vary, and the numbers of blocks of the candidates. */
static void find_features(struct tree *t)
{
    const struct wsrt_pack *p = t->d->p;
    const struct wsrt_f_model *m = &p->model[t->d->model];

    for (uint32_t k = 0; k < p->nvar; k++)
        t->feature[t->nfeature++] = (uint16_t)p->var_axis[k];
    for (size_t i = 0; i < t->nkeep; i++) {
        uint32_t coord =
            p->form[m->first_form + t->choice->place[i]].coord[WSRT_W_GRID];
        uint16_t f = (uint16_t)(WSRT_MAX_AXES + coord);
        size_t at = 0;

        while (at < t->nfeature && t->feature[at] != f)
            at++;
        if (at == t->nfeature && at < FEATURES &&
            !wsrt__coord_is_number(&p->coord[m->first_coord + coord])) {
            t->owner[at] = (uint16_t)i;
            t->feature[t->nfeature++] = f;
        }
    }
}

static int64_t cost_of(int64_t loss)
{
    return loss + (loss * loss >> 17);
}

static int compare_u32(const void *pa, const void *pb)
{
    const uint32_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* Places to split a feature: values that some of the shapes have. */
static size_t find_cuts(const struct tree *t, const struct leaf *l,
                        const uint32_t *value, uint32_t cut[CUTS])
{
    uint32_t seen[4 * (CUTS + 1)];
    size_t n = l->n < WS_COUNT(seen) ? l->n : WS_COUNT(seen), kept = 0;

    for (size_t i = 0; i < n; i++)
        seen[i] = value[t->order[l->first + i * l->n / n]];
    qsort(seen, n, sizeof(*seen), compare_u32);
    for (size_t i = 0; i < CUTS; i++) {
        uint32_t v = seen[(i + 1) * n / (CUTS + 1)];

        if (!kept || v > cut[kept - 1])
            cut[kept++] = v;
    }
    return kept;
}

/* Predicting the default and this candidate, for n shapes. */
static int64_t asking(const struct tree *t, size_t candidate, size_t n)
{
    return candidate < t->choice->ndflt ? 0 : 2 * ASKING * (int64_t)n;
}

/* What the best single candidate costs. */
static int64_t least_cost(const struct tree *t, const struct part *p,
                          int64_t step)
{
    int64_t least = INT64_MAX;

    for (size_t k = 0; k < t->nkeep; k++) {
        int64_t cost = p->sum[k] * step + asking(t, k, p->n);

        least = cost < least ? cost : least;
    }
    return least;
}

static void add_shape(const struct tree *t, struct part *p, size_t shape,
                      bool costs)
{
    p->n++;
    for (size_t k = 0; costs && k < t->nkeep; k++)
        p->sum[k] += cost_of(t->loss[shape * t->nkeep + k]);
}

static void add_part(const struct tree *t, struct part *to,
                     const struct part *p)
{
    to->n += p->n;
    for (size_t k = 0; k < t->nkeep; k++)
        to->sum[k] += p->sum[k];
}

/* What is left for the other side. */
static void fill_rest(const struct tree *t, size_t from, size_t nparts,
                      struct part *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t b = from; b < nparts; b++)
        add_part(t, out, &t->part[b]);
}

static void try_feature(struct tree *t, struct leaf *l, uint32_t feature)
{
    const uint32_t *value = t->value + feature * t->nshape;
    struct part *low = &t->part[CUTS + 1], *high = low + 1;
    size_t step = (l->n + LOOK - 1) / LOOK, ncut;
    uint32_t cut[CUTS];
    int64_t whole;

    ncut = find_cuts(t, l, value, cut);
    memset(t->part, 0, (ncut + 1) * sizeof(*t->part));
    for (size_t i = 0; i < l->n; i++) {
        size_t shape = t->order[l->first + i], b = 0;

        while (b < ncut && value[shape] > cut[b])
            b++;
        add_shape(t, &t->part[b], shape, i % step == 0);
    }
    /* Of the same shapes as the halves: estimates are compared with one. */
    fill_rest(t, 0, ncut + 1, low);
    whole = least_cost(t, low, (int64_t)step);
    memset(low, 0, sizeof(*low));
    for (size_t b = 0; b < ncut; b++) {
        int64_t gain;

        add_part(t, low, &t->part[b]);
        fill_rest(t, b + 1, ncut + 1, high);
        if (low->n < SIDE || high->n < SIDE)
            continue;
        gain = whole - least_cost(t, low, (int64_t)step) -
               least_cost(t, high, (int64_t)step);
        if (gain > l->gain) {
            l->gain = gain;
            l->feature = feature;
            l->limit = cut[b];
        }
    }
}

static void judge(struct tree *t, struct leaf *l)
{
    l->entry = WSRT_NONE;
    for (uint32_t f = 0; f < t->nfeature && l->n >= 2 * SIDE; f++)
        try_feature(t, l, f);
}

/* Shapes up to the limit come to the front. */
static void split(struct tree *t, size_t at)
{
    struct leaf *l = &t->leaf[at];
    const uint32_t *value = t->value + l->feature * t->nshape;
    uint32_t *order = t->order + l->first;
    size_t below = 0;

    for (size_t i = 0; i < l->n; i++) {
        uint32_t shape = order[i];

        if (value[shape] > l->limit)
            continue;
        order[i] = order[below];
        order[below++] = shape;
    }
    for (int side = 0; side < 2; side++) {
        struct leaf *half = &t->leaf[t->nleaf];

        l->child[side] = (uint32_t)t->nleaf++;
        half->first = side ? l->first + below : l->first;
        half->n = side ? l->n - below : below;
        judge(t, half);
    }
}

static void grow(struct tree *t)
{
    t->leaf[0].n = t->nshape;
    t->nleaf = 1;
    judge(t, &t->leaf[0]);
    while (t->nleaf + 2 <= t->most) {
        size_t best = SIZE_MAX;

        for (size_t i = 0; i < t->nleaf; i++)
            if (!t->leaf[i].child[0] && t->leaf[i].gain > 0 &&
                (best == SIZE_MAX || t->leaf[i].gain > t->leaf[best].gain))
                best = i;
        if (best == SIZE_MAX)
            return;
        split(t, best);
    }
}

/* The candidate that together with those of the list costs least; *cost: how
 * much that is, its prediction included. least: by shape of the leaf, what the
 * list loses. */
static uint32_t find_next(struct tree *t, const struct leaf *l,
                          const int32_t *least, int64_t *cost)
{
    int64_t *sum = t->part[0].sum;
    uint32_t best = 0;

    for (size_t k = 0; k < t->nkeep; k++)
        sum[k] = l->nlist ? (k < t->choice->ndflt ? 0 : ASKING * (int64_t)l->n)
                          : asking(t, k, l->n);
    for (size_t x = 0; x < l->n; x++) {
        const int32_t *loss = t->loss + t->order[l->first + x] * t->nkeep;

        for (size_t k = 0; k < t->nkeep; k++)
            sum[k] += cost_of(loss[k] < least[x] ? loss[k] : least[x]);
    }
    for (uint32_t k = 1; k < t->nkeep; k++)
        best = sum[k] < sum[best] ? k : best;
    *cost = sum[best];
    return best;
}

/* One candidate after another, as long as each is worth being predicted. */
static void make_list(struct tree *t, struct leaf *l)
{
    int64_t paid = INT64_MAX, cost;

    for (size_t x = 0; x < l->n; x++)
        t->least[x] = MOST;
    while (l->nlist < LIST && l->nlist < t->nkeep) {
        uint32_t k = find_next(t, l, t->least, &cost);

        if (cost >= paid)
            break;
        l->list[l->nlist++] = k;
        paid = 0;
        for (size_t x = 0; x < l->n; x++) {
            int32_t loss = t->loss[t->order[l->first + x] * t->nkeep + k];

            t->least[x] = loss < t->least[x] ? loss : t->least[x];
            paid += cost_of(t->least[x]);
        }
    }
}

static size_t find_leaf(const struct tree *t, const int64_t *axes)
{
    const struct wsrt_pack *p = t->d->p;
    size_t at = 0;

    while (t->leaf[at].child[0]) {
        const struct leaf *l = &t->leaf[at];
        int64_t v = wsrt__model_feature(p, &p->model[t->d->model],
                                        t->feature[l->feature], axes);

        at = l->child[v > (int64_t)l->limit];
    }
    return at;
}

/* Is the candidate as good as the best on every shape of the leaf? */
static bool serves(const struct tree *t, const struct leaf *l, size_t i)
{
    for (size_t x = 0; x < l->n; x++)
        if (t->loss[t->order[l->first + x] * t->nkeep + i] > AS_GOOD)
            return false;
    return l->n > 0;
}

static bool is_inside(const struct tree *t, const int64_t *axes)
{
    const struct wsrt_pack *p = t->d->p;

    for (uint32_t k = 0; k < p->nvar; k++)
        if (axes[p->var_axis[k]] < t->choice->span[k].lo ||
            axes[p->var_axis[k]] > t->choice->span[k].hi)
            return false;
    return wsrt__model_find(p, axes) == &p->model[t->d->model];
}

/* Tuned shapes, in their order: the first whose choice serves its leaf. */
static void find_entries(struct tree *t)
{
    const struct wsrt_pack *p = t->d->p;
    const struct wsrt_f_model *m = &p->model[t->d->model];

    for (uint32_t e = 0; e < p->count[WSRT_S_ENTRIES]; e++) {
        const int64_t *axes = wsrt_entry_axes(p, e);
        struct leaf *l;

        if (!is_inside(t, axes))
            continue;
        l = &t->leaf[find_leaf(t, axes)];
        for (uint32_t i = 0; i < t->nkeep && l->entry == WSRT_NONE; i++)
            if (p->form[m->first_form + t->choice->place[i]].variant ==
                    p->entry[e].variant &&
                serves(t, l, i)) {
                l->entry = e;
                l->list[l->nlist++] = i;
            }
    }
}

/* Where the list begins among all lists; new or not. */
static uint32_t put_list(struct ws__pack_choice *out, const struct leaf *l)
{
    uint16_t list[LIST + 1] = {(uint16_t)l->nlist};

    for (uint32_t i = 0; i < l->nlist; i++)
        list[i + 1] = (uint16_t)l->list[i];
    for (size_t at = 0; at < out->nlist; at += out->list[at] + 1u)
        if (!memcmp(out->list + at, list, (l->nlist + 1) * sizeof(*list)))
            return (uint32_t)at;
    memcpy(out->list + out->nlist, list, (l->nlist + 1) * sizeof(*list));
    out->nlist += l->nlist + 1;
    return (uint32_t)(out->nlist - l->nlist - 1);
}

/* In preorder; the number of nodes from here on. */
static size_t put_nodes(struct tree *t, size_t at, struct ws__pack_choice *out)
{
    struct leaf *l = &t->leaf[at];
    struct wsrt_f_node *n = &out->node[out->nnode++];
    size_t left;

    if (!l->child[0]) {
        if (l->entry == WSRT_NONE)
            make_list(t, l);
        *n = (struct wsrt_f_node){l->entry, WSRT_LEAF,
                                  (uint16_t)put_list(out, l)};
        return 1;
    }
    left = put_nodes(t, l->child[0], out);
    *n = (struct wsrt_f_node){l->limit, t->feature[l->feature],
                              (uint16_t)(left + 1)};
    /* Coordinates have other numbers in the finished pack. */
    if (n->axis >= WSRT_MAX_AXES)
        n->axis = (uint16_t)(WSRT_MAX_AXES + t->owner[l->feature]);
    return left + 1 + put_nodes(t, l->child[1], out);
}

static int make_room(struct tree *t, size_t room)
{
    struct ws_ctx *ctx = t->d->ctx;

    t->value = ws__alloc(ctx, room * t->nfeature + 1, sizeof(*t->value));
    t->loss = ws__alloc(ctx, room * t->nkeep, sizeof(*t->loss));
    t->least = ws__alloc(ctx, room, sizeof(*t->least));
    t->order = ws__alloc(ctx, room, sizeof(*t->order));
    t->leaf = ws__alloc(ctx, t->most + 1, sizeof(*t->leaf));
    t->part = ws__alloc(ctx, CUTS + 3, sizeof(*t->part));
    return t->value && t->loss && t->least && t->order && t->leaf && t->part
               ? 0
               : WS_ENOMEM;
}

int ws__pack_tree(const struct ws__pack_draft *d, struct ws__arena *a,
                  size_t most_nodes, size_t shapes,
                  struct ws__pack_choice *choice)
{
    struct tree t = {.d = d,
                     .choice = choice,
                     .most = most_nodes,
                     .nkeep = choice->nkeep};
    int rc = WS_ENOMEM;

    choice->node = ws__arena_alloc(a, most_nodes + 1, sizeof(*choice->node));
    choice->list = ws__arena_alloc(a, (most_nodes + 1) * (LIST + 1),
                                   sizeof(*choice->list));
    if (!choice->node || !choice->list)
        goto done;
    find_features(&t);
    WS_TRY_DONE(make_room(&t, shapes));
    sample(&t, shapes);
    /* Values lie feature by feature: of as many shapes as there are. */
    for (size_t f = 1; f < t.nfeature; f++)
        memmove(t.value + f * t.nshape, t.value + f * shapes,
                t.nshape * sizeof(*t.value));
    grow(&t);
    find_entries(&t);
    put_nodes(&t, 0, choice);
    rc = 0;
done:
    ws__free(d->ctx, t.value);
    ws__free(d->ctx, t.loss);
    ws__free(d->ctx, t.least);
    ws__free(d->ctx, t.order);
    ws__free(d->ctx, t.leaf);
    ws__free(d->ctx, t.part);
    return rc;
}
