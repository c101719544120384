/*
 * space_draw.c: random configs, and the neighbours of one.
 *
 * Samples are ranks: uniform over ranks is uniform over valid configs,
 * however unevenly the constraints thin the product. Ranks are drawn without
 * repeats by rejection while they are few, by shuffling all of them when they
 * are most of the space, so that memory stays proportional to the sample.
 *
 * Neighbours are tried, not guessed: every change of one parameter is tested,
 * and one of those that hold is drawn as it passes by (reservoir), so nothing
 * is stored and none is preferred.
 */
#include "space/space_int.h"

#include "base/banned.h"

/* All ranks, the first n of them shuffled. */
static void shuffle(struct ws__rng *rng, uint64_t *rank, size_t valid, size_t n)
{
    for (size_t i = 0; i < valid; i++)
        rank[i] = i;
    for (size_t i = 0; i < n; i++) {
        size_t j = i + (size_t)ws__rng_below(rng, valid - i);
        uint64_t r = rank[i];

        rank[i] = rank[j];
        rank[j] = r;
    }
}

/* n different ranks below valid, by rejection; `seen` is an open hash of cap
 * places (a power of two, at least 2n), holding rank + 1. */
static void draw(struct ws__rng *rng, uint64_t *rank, size_t n, uint64_t valid,
                 uint64_t *seen, size_t cap)
{
    for (size_t got = 0; got < n;) {
        uint64_t r = ws__rng_below(rng, valid);
        size_t i = (size_t)((r * 0x9e3779b97f4a7c15u) >> 20) & (cap - 1);

        while (seen[i] && seen[i] != r + 1)
            i = (i + 1) & (cap - 1);
        if (seen[i])
            continue;
        seen[i] = r + 1;
        rank[got++] = r;
    }
}

static int draw_ranks(struct ws_ctx *ctx, struct ws__rng *rng, size_t n,
                      uint64_t valid, uint64_t **out)
{
    bool dense = valid / 2 < n;
    size_t cap = 2;
    uint64_t *seen;

    *out = ws__alloc(ctx, dense ? (size_t)valid : n, sizeof(**out));
    if (!*out)
        return WS_ENOMEM;
    if (dense) {
        shuffle(rng, *out, (size_t)valid, n);
        return 0;
    }
    while (cap < 2 * n)
        cap *= 2;
    seen = ws__alloc(ctx, cap, sizeof(*seen));
    if (!seen) {
        ws__free(ctx, *out);
        return WS_ENOMEM;
    }
    draw(rng, *out, n, valid, seen, cap);
    ws__free(ctx, seen);
    return 0;
}

int ws__space_sample(struct ws__space *s, struct ws__rng *rng, size_t n,
                     struct ws__config *out, size_t *got)
{
    uint64_t valid, *rank;
    int rc = 0;

    *got = 0;
    WS_TRY(ws__space_count(s, &valid));
    if (n > valid)
        n = (size_t)valid;
    if (!n)
        return 0;
    WS_TRY(draw_ranks(s->ctx, rng, n, valid, &rank));
    while (*got < n && rc >= 0) {
        rc = ws__space_unrank(s, rank[*got], &out[*got]);
        if (rc >= 0)
            ++*got;
    }
    ws__free(s->ctx, rank);
    return rc;
}

struct pick {
    struct ws__rng *rng;
    struct ws__config *out;
    uint64_t seen;
};

/* Takes c into the draw if it is valid. */
static int consider(struct ws__space *s, const struct ws__config *c,
                    struct pick *p)
{
    int ok;

    WS_TRY(ws__space_tick(s));
    ok = ws__space_valid(s, c, NULL);
    if (ok > 0 && !ws__rng_below(p->rng, ++p->seen))
        *p->out = *c;
    return ok < 0 ? ok : 0;
}

static int single_changes(struct ws__space *s, struct ws__config *c,
                          bool one_step, struct pick *p)
{
    for (uint64_t b = s->varied; b; b &= b - 1) {
        size_t i = (size_t)__builtin_ctzll(b), old = c->at[i];

        for (size_t v = 0; v < s->kernel->param[i].nvalue; v++) {
            bool near = v + 1 == old || v == old + 1;

            if (v == old || near != one_step)
                continue;
            c->at[i] = (uint16_t)v;
            WS_TRY(consider(s, c, p));
        }
        c->at[i] = (uint16_t)old;
    }
    return 0;
}

/* All values of the steps from `at` on, one changed at a time. */
static int second_changes(struct ws__space *s, struct ws__config *c, size_t at,
                          size_t end, struct pick *p)
{
    for (; at < end; at++) {
        const struct ws__step *st = &s->layout.step[at];
        uint16_t old = c->at[st->param];

        for (size_t v = 0; v < st->nvalue; v++) {
            c->at[st->param] = (uint16_t)v;
            if (v != old)
                WS_TRY(consider(s, c, p));
        }
        c->at[st->param] = old;
    }
    return 0;
}

/* Two parameters whose single changes are all invalid can only repair each
 * other if a constraint connects them: pairs inside of a group are enough. */
static int double_changes(struct ws__space *s, struct ws__config *c,
                          const struct ws__group *g, struct pick *p)
{
    for (size_t at = g->first; at < g->end; at++) {
        const struct ws__step *st = &s->layout.step[at];
        uint16_t old = c->at[st->param];

        for (size_t v = 0; v < st->nvalue; v++) {
            c->at[st->param] = (uint16_t)v;
            if (v != old)
                WS_TRY(second_changes(s, c, at + 1, g->end, p));
        }
        c->at[st->param] = old;
    }
    return 0;
}

int ws__space_neighbor(struct ws__space *s, struct ws__rng *rng,
                       const struct ws__config *c, struct ws__config *out)
{
    struct ws__config at = *c, found;
    struct pick p = {.rng = rng, .out = &found};

    WS_TRY(ws__space_prepare(s));
    if (c->n != s->kernel->nparam)
        return ws__fail(s->ctx, WS_EINVAL, "config is of another kernel");
    WS_TRY(single_changes(s, &at, true, &p));
    if (!p.seen)
        WS_TRY(single_changes(s, &at, false, &p));
    if (!p.seen)
        for (size_t g = 0; g < s->layout.ngroup; g++)
            WS_TRY(double_changes(s, &at, &s->layout.group[g], &p));
    if (!p.seen)
        return ws__fail(s->ctx, WS_EDONE, "the config has no neighbour");
    *out = found;
    return 0;
}
