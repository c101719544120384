/*
 * pack_losses.c: how much do the tree and the pruning lose, by the model's own
 * predictions?
 *
 * Asked of the finished pack through the code that will be used, on shapes
 * other than those that made it: a grid over the magnitudes of all axes,
 * shapes drawn at random, and pairs of neighbours between which the choice of
 * the formula changes, which is where waves end. The worst and the mean go
 * into the pack.
 */
#include "pack/pack_build.h"

#include "base/banned.h"

struct losses {
    const struct ws__pack_draft *d;
    const struct wsrt_pack *done;
    const struct ws__pack_choice *choice;
    uint64_t points, at_once;
    int64_t tree_sum, prune_sum;
    int32_t tree_worst, prune_worst;
};

/* The draft's candidate that is this variant of the finished pack. */
static uint32_t find_place(const struct losses *s, uint32_t variant)
{
    const struct wsrt_pack *p = s->done;
    const struct wsrt_f_model *m = &p->model[s->d->model];

    for (uint32_t i = 0; i < m->nform; i++)
        if (p->form[m->first_form + i].variant == variant)
            return s->choice->place[i];
    return WSRT_NONE;
}

/* Of the first kernel whose default may run; WSRT_NONE: of none. */
static uint32_t find_default(const struct ws__pack_choice *c,
                             const struct ws__pack_row *row)
{
    for (size_t i = 0; i < c->ndflt; i++)
        if (row->log2_ns[c->place[i]] != WSRT__NEVER)
            return c->place[i];
    return WSRT_NONE;
}

/* Was nothing predicted? A tuned shape's choice is compared with the default,
 * unless it is that. */
static bool is_at_once(const struct ws__pack_choice *c,
                       const struct ws__pack_row *row,
                       const struct wsrt_pick *pick, uint32_t place)
{
    return pick->how == WSRT_NEAREST
               ? place == find_default(c, row)
               : pick->how == WSRT_MODEL && !pick->time_ns;
}

static void add(int64_t *sum, int32_t *worst, int32_t chosen, int32_t best)
{
    int32_t loss = chosen > best ? chosen - best : 0;

    *sum += loss;
    *worst = loss > *worst ? loss : *worst;
}

static void look_at(struct losses *s, const int64_t *axes)
{
    const struct ws__pack_choice *c = s->choice;
    uint32_t all[WSRT_MAX_FORMS], n = s->d->p->model[s->d->model].nform;
    uint32_t place, kept, best;
    struct ws__pack_row row;
    struct wsrt_pick pick;

    for (uint32_t i = 0; i < n; i++)
        all[i] = i;
    memcpy(row.axes, axes, s->done->naxis * sizeof(*axes));
    if (!ws__pack_predict(s->d, &row, all, n) ||
        wsrt__pick_model(s->done, axes, &pick) != WSRT_OK)
        return;
    place = find_place(s, pick.variant);
    kept = ws__pack_decide(s->d, &row, c->place, c->nkeep);
    best = ws__pack_decide(s->d, &row, all, n);
    if (place == WSRT_NONE || kept == WSRT_NONE || best == WSRT_NONE)
        return;
    s->points++;
    s->at_once += is_at_once(c, &row, &pick, place);
    add(&s->tree_sum, &s->tree_worst, row.log2_ns[place], row.log2_ns[kept]);
    add(&s->prune_sum, &s->prune_worst, row.log2_ns[kept], row.log2_ns[best]);
}

/* Size i of n, from lo to hi in equal steps of the logarithm. */
static int64_t step_size(const struct wsrt_f_range *r, uint64_t i, uint64_t n)
{
    int32_t lo = wsrt__log2_20(r->lo), hi = wsrt__log2_20(r->hi);
    int64_t v;

    if (n < 2)
        return r->lo;
    v = (int64_t)wsrt__exp2(
        (int32_t)(lo + (int64_t)(hi - lo) * (int64_t)i / (int64_t)(n - 1)));
    return v < r->lo ? r->lo : v > r->hi ? r->hi : v;
}

static void try_grid(struct losses *s, size_t points)
{
    uint32_t nvar = s->done->nvar;
    uint64_t steps = 1, total = 1;
    struct ws__rng r;
    int64_t axes[WS__MAX_AXES];

    /* As many steps each axis as the points allow. */
    for (;; steps++) {
        uint64_t next = 1;

        for (uint32_t k = 0; k < nvar && next <= points; k++)
            next *= steps + 1;
        if (next > points || !nvar)
            break;
        total = next;
    }
    ws__rng_seed(&r, 2);
    ws__pack_draw(s->d, &r, s->choice->span, axes);
    for (uint64_t i = 0; i < total; i++) {
        uint64_t rest = i;

        for (uint32_t k = 0; k < nvar; k++, rest /= steps)
            axes[s->done->var_axis[k]] =
                step_size(&s->choice->span[k], rest % steps, steps);
        look_at(s, axes);
    }
}

static void try_random(struct losses *s, size_t points)
{
    struct ws__rng r;
    int64_t axes[WS__MAX_AXES];

    ws__rng_seed(&r, 3);
    for (size_t i = 0; i < points; i++) {
        ws__pack_draw(s->d, &r, s->choice->span, axes);
        look_at(s, axes);
    }
}

static uint32_t formula(const struct losses *s, const int64_t *axes)
{
    struct wsrt_pick pick;

    if (!wsrt__requires_hold(s->done, axes) ||
        wsrt__pick_formula(s->done, &s->done->model[s->d->model], axes, &pick))
        return WSRT_NONE;
    return pick.variant;
}

/* From a shape along one axis to another size: where the choice changes. */
static void try_edges(struct losses *s, size_t points)
{
    struct ws__rng r;
    int64_t axes[WS__MAX_AXES], other[WS__MAX_AXES];

    ws__rng_seed(&r, 4);
    for (size_t i = 0; i < points / 2 && s->done->nvar; i++) {
        uint32_t k = s->done->var_axis[ws__rng_below(&r, s->done->nvar)];
        uint32_t low;
        int64_t lo, hi;

        ws__pack_draw(s->d, &r, s->choice->span, axes);
        ws__pack_draw(s->d, &r, s->choice->span, other);
        lo = axes[k] < other[k] ? axes[k] : other[k];
        hi = axes[k] < other[k] ? other[k] : axes[k];
        axes[k] = lo;
        low = formula(s, axes);
        axes[k] = hi;
        if (formula(s, axes) == low)
            continue;
        while (lo + 1 < hi) {
            axes[k] = lo + (hi - lo) / 2;
            if (formula(s, axes) == low)
                lo = axes[k];
            else
                hi = axes[k];
        }
        axes[k] = lo;
        look_at(s, axes);
        axes[k] = hi;
        look_at(s, axes);
    }
}

void ws__pack_losses(const struct ws__pack_draft *d,
                     const struct wsrt_pack *done, size_t points,
                     const struct ws__pack_choice *choice,
                     struct wsrt_f_model *out)
{
    struct losses s = {.d = d, .done = done, .choice = choice};

    try_grid(&s, points / 2);
    try_random(&s, points / 4);
    try_edges(&s, points / 4);
    out->points = (uint32_t)s.points;
    if (!s.points)
        return;
    out->at_once = (uint32_t)(s.at_once * 1000 / s.points);
    out->tree_worst = s.tree_worst;
    out->tree_mean = (int32_t)(s.tree_sum / (int64_t)s.points);
    out->prune_worst = s.prune_worst;
    out->prune_mean = (int32_t)(s.prune_sum / (int64_t)s.points);
}
