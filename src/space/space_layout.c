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

/* Bytes of rows that a stage keeps; a stage with more makes them anew. */
#define ROWS_BYTES ((size_t)1 << 20)

struct maker {
    const struct ws__space *s;
    size_t upto;
    uint64_t *reads;           /* by constraint; 0: inactive or constant */
    union wsrt_value *lo, *hi; /* by slot: what it can be */
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

/* Tests by the number of rows they need, then by their place in the file. */
static void sort_tests(const struct maker *m, size_t *test, size_t n, size_t p)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j; j--) {
            size_t t = test[j];

            if (states(m, m->reads[test[j - 1]] & ~BIT(p)) <=
                states(m, m->reads[t] & ~BIT(p)))
                break;
            test[j] = test[j - 1];
            test[j - 1] = t;
        }
}

static void fill_stages(const struct maker *m, struct ws__layout *l,
                        struct ws__step *st)
{
    struct ws__stage *g = NULL;
    uint64_t reads = 0;

    st->words = (st->nvalue + 63) / 64;
    st->stage = l->nstage;
    sort_tests(m, l->test + st->first, st->ntest, st->param);
    for (size_t i = st->first; i < st->first + st->ntest; i++) {
        uint64_t more = m->reads[l->test[i]] & ~BIT(st->param) & ~reads;

        reads |= more;
        if (!g || more) {
            double rows = states(m, reads);

            g = &l->stage[l->nstage++];
            g->reads = reads;
            g->numbered = rows < 0x1p62;
            if (rows * (double)(2 * st->words + 1) * 8 <= ROWS_BYTES)
                g->nrow = (size_t)rows;
        }
        g->end = i + 1;
    }
    st->nstage = l->nstage - st->stage;
}

/* 1 if the values of a parameter only rise, -1 if they only fall, 0 if they
 * are no integers or do neither. */
static int order_of(const struct ws__param *p)
{
    int order = p->nvalue > 1 && p->slot[1].i < p->slot[0].i ? -1 : 1;

    if (p->type == WS__FLOAT)
        return 0;
    for (size_t i = 1; i < p->nvalue; i++)
        if (p->slot[i].i == p->slot[i - 1].i ||
            (p->slot[i].i < p->slot[i - 1].i) != (order < 0))
            return 0;
    return order;
}

static void find_trends(const struct maker *m, struct ws__layout *l,
                        const struct ws__step *st)
{
    size_t slot = ws__kernel_param_slot(m->s->kernel, st->param);

    for (size_t i = st->first; i < st->first + st->ntest; i++)
        if (st->order)
            l->trend[i] =
                ws__expr_trend(m->s->kernel->constraint[l->test[i]].expr, m->lo,
                               m->hi, slot);
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
    st->order = order_of(&m->s->kernel->param[p]);
    fill_stages(m, l, st);
    find_trends(m, l, st);
}

/* A scratch row for every step; that of a step without tests is its row. */
static int make_scratch(struct ws_ctx *ctx, struct ws__layout *l)
{
    size_t n = 1, at = 0;

    for (size_t i = 0; i < l->nstep; i++)
        n += 2 * l->step[i].words + 1;
    l->scratch = ws__alloc(ctx, n, sizeof(*l->scratch));
    if (!l->scratch)
        return WS_ENOMEM;
    for (size_t i = 0; i < l->nstep; i++) {
        struct ws__step *st = &l->step[i];

        st->scratch = l->scratch + at;
        at += 2 * st->words + 1;
        if (!st->nstage)
            ws__space_all_values(st, st->scratch);
    }
    return 0;
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

/* What each slot can be: axes and device are what they are. */
static void find_bounds(const struct maker *m)
{
    const struct ws__space *s = m->s;

    memcpy(m->lo, s->vars, sizeof(s->vars));
    ws__config_vars(s->kernel, &s->base, m->lo);
    memcpy(m->hi, m->lo, sizeof(s->vars));
    for (uint64_t b = s->varied; b; b &= b - 1) {
        size_t p = (size_t)__builtin_ctzll(b);
        size_t slot = ws__kernel_param_slot(s->kernel, p);

        for (size_t v = 0; v < s->kernel->param[p].nvalue; v++) {
            int64_t i = s->kernel->param[p].slot[v].i;

            m->lo[slot].i = i < m->lo[slot].i ? i : m->lo[slot].i;
            m->hi[slot].i = i > m->hi[slot].i ? i : m->hi[slot].i;
        }
    }
}

static void fill_groups(const struct maker *m, struct ws__layout *out)
{
    uint64_t todo = m->s->varied;
    size_t ntest = 0;

    find_bounds(m);
    for (size_t i = 0; i < m->upto; i++) {
        if (!ws__space_active(m->s, i))
            continue;
        m->reads[i] = ws__space_reads(m->s, i);
        if (!m->reads[i])
            out->test[ntest++] = i;
    }
    out->nconst = ntest;
    while (todo) {
        uint64_t group = connected(m, (size_t)__builtin_ctzll(todo));

        fill_group(m, out, group, &ntest);
        todo &= ~group;
    }
}

int ws__layout_make(struct ws__space *s, size_t upto, size_t negated,
                    struct ws__layout *out)
{
    union wsrt_value bounds[2][WS__MAX_SLOTS];
    struct maker m = {.s = s, .upto = upto, .lo = bounds[0], .hi = bounds[1]};
    int rc = WS_ENOMEM;

    memset(out, 0, sizeof(*out));
    out->negated = negated;
    m.reads = ws__alloc(s->ctx, upto + 1, sizeof(*m.reads));
    out->test = ws__alloc(s->ctx, upto + 1, sizeof(*out->test));
    out->trend = ws__alloc(s->ctx, upto + 1, sizeof(*out->trend));
    out->stage = ws__alloc(s->ctx, upto + 1, sizeof(*out->stage));
    if (m.reads && out->test && out->trend && out->stage) {
        fill_groups(&m, out);
        rc = make_scratch(s->ctx, out);
    }
    if (rc < 0)
        ws__layout_clear(s->ctx, out);
    ws__free(s->ctx, m.reads);
    return rc;
}

void ws__layout_clear(struct ws_ctx *ctx, struct ws__layout *l)
{
    for (size_t i = 0; i < l->nstep; i++)
        ws__free(ctx, l->step[i].memo.entry);
    for (size_t i = 0; i < l->nstage; i++)
        ws__free(ctx, l->stage[i].row);
    ws__free(ctx, l->stage);
    ws__free(ctx, l->scratch);
    ws__free(ctx, l->trend);
    ws__free(ctx, l->test);
    memset(l, 0, sizeof(*l));
}
