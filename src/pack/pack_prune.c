/*
 * pack_prune.c: which candidates are worth a place in the portfolio?
 *
 * On some thousand shapes: a candidate is worth what the next best one loses
 * where it is best. The one that is worth least goes, again and again, until
 * few enough are left and each of them is worth something. What that loses in
 * the end is measured on other shapes (pack_losses.c).
 */
#include "pack/pack_build.h"

#include "base/banned.h"

#define POINTS 2048
/* log2(1.005): who gains less than half a percent anywhere is not missed. */
#define WORTH 7546
#define LARGE (INT32_MAX / 2)

struct prune {
    const struct ws__pack_draft *d;
    size_t npoint, nform;
    int32_t *log2_ns; /* point * nform + candidate */
    int32_t *least;   /* by point, of all candidates */
    bool *gone;
    int32_t *worth;
};

static void sample(struct prune *s, const struct ws__pack_choice *choice)
{
    struct ws__pack_row row;
    struct ws__rng r;

    ws__rng_seed(&r, 1);
    for (size_t tries = 0; tries < 4 * POINTS && s->npoint < POINTS; tries++) {
        int32_t *to = s->log2_ns + s->npoint * s->nform;

        ws__pack_draw(s->d, &r, choice->span, row.axes);
        if (!ws__pack_predict(s->d, &row, choice->place, s->nform))
            continue;
        memcpy(to, row.log2_ns, s->nform * sizeof(*to));
        s->least[s->npoint] = INT32_MAX;
        for (size_t i = 0; i < s->nform; i++)
            if (to[i] < s->least[s->npoint])
                s->least[s->npoint] = to[i];
        s->npoint++;
    }
}

/* What each of the rest is worth: the most that its absence would lose. */
static void find_worth(struct prune *s)
{
    memset(s->worth, 0, s->nform * sizeof(*s->worth));
    for (size_t x = 0; x < s->npoint; x++) {
        const int32_t *at = s->log2_ns + x * s->nform;
        int32_t second = INT32_MAX, first = INT32_MAX, loss;
        size_t best = 0;

        for (size_t i = 0; i < s->nform; i++) {
            if (s->gone[i] || at[i] >= second)
                continue;
            if (at[i] < first) {
                second = first;
                first = at[i];
                best = i;
            } else {
                second = at[i];
            }
        }
        loss = second == INT32_MAX ? LARGE : second - s->least[x];
        if (first != INT32_MAX && loss > s->worth[best])
            s->worth[best] = loss;
    }
}

static void drop_the_worthless(struct prune *s, size_t ndflt, size_t most)
{
    for (size_t left = s->nform; left > ndflt; left--) {
        size_t least = SIZE_MAX;

        find_worth(s);
        for (size_t i = ndflt; i < s->nform; i++)
            if (!s->gone[i] &&
                (least == SIZE_MAX || s->worth[i] <= s->worth[least]))
                least = i;
        if (left <= most && s->worth[least] > WORTH)
            return;
        s->gone[least] = true;
    }
}

int ws__pack_prune(const struct ws__pack_draft *d, size_t most,
                   struct ws__pack_choice *choice)
{
    struct prune s = {.d = d, .nform = choice->nkeep};
    size_t n = 0;
    int rc = WS_ENOMEM;

    s.log2_ns = ws__alloc(d->ctx, POINTS * s.nform, sizeof(*s.log2_ns));
    s.least = ws__alloc(d->ctx, POINTS, sizeof(*s.least));
    s.gone = ws__alloc(d->ctx, s.nform, sizeof(*s.gone));
    s.worth = ws__alloc(d->ctx, s.nform, sizeof(*s.worth));
    if (!s.log2_ns || !s.least || !s.gone || !s.worth)
        goto done;
    sample(&s, choice);
    drop_the_worthless(&s, choice->ndflt, most);
    for (size_t i = 0; i < choice->nkeep; i++)
        if (!s.gone[i]) {
            choice->keep[n] = choice->keep[i];
            choice->place[n++] = choice->place[i];
        }
    choice->nkeep = n;
    rc = 0;
done:
    ws__free(d->ctx, s.log2_ns);
    ws__free(d->ctx, s.least);
    ws__free(d->ctx, s.gone);
    ws__free(d->ctx, s.worth);
    return rc;
}
