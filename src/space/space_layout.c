/*
 * space_layout.c: groups of parameters, and their order.
 *
 * The order decides the cost. After some steps, only the parameters that a
 * later test still reads matter: they are "live", and prefixes that agree in
 * them have the same number of completions. So the number of different
 * situations before a step is at most the product of the value counts of the
 * live ones, and we look for an order with a small sum of these products: from
 * every parameter as the first, always take the one next that leaves the
 * fewest live values; the best of these orders wins. That also tests
 * constraints early, for a tested constraint lets parameters die.
 *
 * All choices break ties by the position in the file, so the order depends on
 * the kernel alone.
 */
#include "space/space_int.h"

#include <math.h>

#include "base/banned.h"

#define BIT(p) ((uint64_t)1 << (p))

/* Orders are tried from this many first parameters; a group of more has many
 * equal beginnings, and trying takes cubic time. */
#define MAX_STARTS 16

/* A subtree of fewer leaves is counted again rather than remembered: an entry
 * costs about as much as this many tests. */
#define SMALL_SUBTREE 64

struct maker {
    const struct ws__space *s;
    size_t upto;
    uint64_t *reads; /* by constraint; 0: inactive or constant */
};

/* Parameters of `done` that tests after them still read. */
static uint64_t live_after(const struct maker *m, uint64_t done)
{
    uint64_t live = 0;

    for (size_t i = 0; i < m->upto; i++)
        if (m->reads[i] & ~done)
            live |= m->reads[i] & done;
    return live;
}

static double states(const struct maker *m, uint64_t mask)
{
    double n = 1;

    for (uint64_t b = mask; b; b &= b - 1)
        n *= (double)m->s->kernel->param[__builtin_ctzll(b)].nvalue;
    return n;
}

/* The next parameter: fewest live values after it, then fewest values. */
static size_t cheapest(const struct maker *m, uint64_t todo, uint64_t done)
{
    double best = INFINITY;
    size_t at = 0, fewest = 0;

    for (uint64_t b = todo & ~done; b; b &= b - 1) {
        size_t p = (size_t)__builtin_ctzll(b);
        double n = states(m, live_after(m, done | BIT(p)));
        size_t values = m->s->kernel->param[p].nvalue;

        if (n < best || (n == best && values < fewest)) {
            best = n;
            fewest = values;
            at = p;
        }
    }
    return at;
}

static double try_order(const struct maker *m, uint64_t todo, size_t first,
                        uint8_t *order)
{
    uint64_t done = 0;
    double cost = 0;
    size_t p = first;

    for (size_t n = 0; todo & ~done; n++) {
        if (n)
            p = cheapest(m, todo, done);
        cost += states(m, live_after(m, done) | BIT(p));
        order[n] = (uint8_t)p;
        done |= BIT(p);
    }
    return cost;
}

static void best_order(const struct maker *m, uint64_t todo, uint8_t *order)
{
    double best = INFINITY;
    uint8_t trial[WS__MAX_PARAMS];
    int starts = 0;

    for (uint64_t b = todo; b && starts < MAX_STARTS; b &= b - 1, starts++) {
        double cost = try_order(m, todo, (size_t)__builtin_ctzll(b), trial);

        if (cost < best || !starts) {
            best = cost;
            memcpy(order, trial, sizeof(trial));
        }
    }
}

/* All parameters that constraints connect with `p`. */
static uint64_t connected(const struct maker *m, size_t p)
{
    uint64_t group = BIT(p), before;

    do {
        before = group;
        for (size_t i = 0; i < m->upto; i++)
            if (m->reads[i] & group)
                group |= m->reads[i];
    } while (group != before);
    return group;
}

/* Mixed radix keys of the live values must fit 63 bits; one bit is for the
 * poison. */
static bool key_fits(const struct maker *m, uint64_t live)
{
    return states(m, live) < 0x1p62;
}

static void fill_step(const struct maker *m, struct ws__layout *l,
                      uint64_t done, size_t p, size_t *ntest)
{
    struct ws__step *st = &l->step[l->nstep++];

    st->param = (uint8_t)p;
    st->nvalue = (uint32_t)m->s->kernel->param[p].nvalue;
    st->live = live_after(m, done);
    st->dies = !(live_after(m, done | BIT(p)) & BIT(p));
    st->first = *ntest;
    for (size_t i = 0; i < m->upto; i++)
        if ((m->reads[i] & BIT(p)) && !(m->reads[i] & ~(done | BIT(p))))
            l->test[(*ntest)++] = i;
    st->ntest = *ntest - st->first;
}

/* Where counts are kept: where prefixes meet (something died just before), or
 * where a subtree is large enough for ranks to be looked up in it. */
static void mark_memos(const struct maker *m, struct ws__layout *l,
                       const struct ws__group *g)
{
    double leaves = 1;

    for (size_t i = g->end; i-- > g->first;) {
        struct ws__step *st = &l->step[i];
        uint64_t kept;

        leaves *= st->nvalue;
        if (i == g->first)
            break;
        kept = l->step[i - 1].live | BIT(l->step[i - 1].param);
        st->remember =
            key_fits(m, st->live) &&
            (kept != st->live ? leaves > 8 : leaves >= SMALL_SUBTREE);
    }
}

static void fill_group(const struct maker *m, struct ws__layout *l,
                       uint64_t todo, size_t *ntest)
{
    uint8_t order[WS__MAX_PARAMS];
    struct ws__group *g = &l->group[l->ngroup++];
    uint64_t done = 0;

    best_order(m, todo, order);
    g->first = l->nstep;
    for (size_t n = 0; todo & ~done; n++) {
        fill_step(m, l, done, order[n], ntest);
        done |= BIT(order[n]);
    }
    g->end = l->nstep;
    mark_memos(m, l, g);
}

int ws__layout_make(struct ws__space *s, size_t upto, size_t negated,
                    struct ws__layout *out)
{
    struct maker m = {.s = s, .upto = upto};
    uint64_t todo = s->varied;
    size_t ntest = 0;

    memset(out, 0, sizeof(*out));
    out->negated = negated;
    m.reads = ws__alloc(s->ctx, upto + 1, sizeof(*m.reads));
    if (!m.reads)
        return WS_ENOMEM;
    out->test = ws__alloc(s->ctx, upto + 1, sizeof(*out->test));
    if (!out->test) {
        ws__free(s->ctx, m.reads);
        return WS_ENOMEM;
    }
    for (size_t i = 0; i < upto; i++) {
        if (!ws__space_active(s, i))
            continue;
        m.reads[i] = ws__space_reads(s, i);
        if (!m.reads[i])
            out->test[ntest++] = i;
    }
    out->nconst = ntest;
    while (todo) {
        uint64_t group = connected(&m, (size_t)__builtin_ctzll(todo));

        fill_group(&m, out, group, &ntest);
        todo &= ~group;
    }
    ws__free(s->ctx, m.reads);
    return 0;
}

void ws__layout_clear(struct ws_ctx *ctx, struct ws__layout *l)
{
    for (size_t i = 0; i < l->nstep; i++)
        ws__free(ctx, l->step[i].memo.entry);
    ws__free(ctx, l->test);
    memset(l, 0, sizeof(*l));
}
