/*
 * space_count.c: exact counts, and the config of a rank.
 *
 * A depth-first walk that prunes at the first false constraint and remembers,
 * by the values of the live parameters, how many completions a prefix has. A
 * step's memory is bounded; when it is full, counts are computed again. What
 * is remembered answers ranks too: a rank is looked up by skipping whole
 * subtrees.
 *
 * "Poison" travels with a prefix in which a constraint could not be
 * evaluated. Either some other constraint removes all its completions, or the
 * first that survives ends the count of its group with WS_EEXPR; the space
 * reports it if no other group is empty.
 */
#include "space/space_int.h"

#include "base/banned.h"

/* Entries a step: 4 MiB. */
#define MEMO_MAX ((size_t)1 << 18)

/* The constraints without parameters: 1 none false, 0 some is. *poison is set
 * if one cannot be evaluated. */
static int test_constants(const struct ws__space *s, const struct ws__layout *l,
                          bool *poison)
{
    for (size_t i = 0; i < l->nconst; i++) {
        size_t c = l->test[i];
        int r = ws__expr_test(s->kernel->constraint[c].expr, s->vars);

        if (c == l->negated ? r != 0 : r == 0)
            return 0;
        if (r < 0)
            *poison = true;
    }
    return 1;
}

static uint64_t key_of(const struct ws__space *s, const struct ws__step *st,
                       bool poison)
{
    uint64_t key = 0;

    for (uint64_t b = st->live; b; b &= b - 1) {
        int p = __builtin_ctzll(b);

        key = key * s->kernel->param[p].nvalue + s->at.at[p];
    }
    return key * 2 + poison + 1;
}

static size_t place(const struct ws__memo *m, uint64_t key)
{
    size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (m->cap - 1);

    while (m->entry[i].key && m->entry[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

static int memo_grow(struct ws_ctx *ctx, struct ws__memo *m)
{
    struct ws__memo next = {.cap = m->cap ? m->cap * 2 : 64};

    next.entry = ws__alloc(ctx, next.cap, sizeof(*next.entry));
    if (!next.entry)
        return WS_ENOMEM;
    for (size_t i = 0; i < m->cap; i++)
        if (m->entry[i].key)
            next.entry[place(&next, m->entry[i].key)] = m->entry[i];
    next.n = m->n;
    ws__free(ctx, m->entry);
    *m = next;
    return 0;
}

static int memo_put(struct ws_ctx *ctx, struct ws__memo *m, uint64_t key,
                    uint64_t count)
{
    if ((m->n + 1) * 4 > m->cap * 3) {
        if (m->cap >= MEMO_MAX)
            return 0;
        WS_TRY(memo_grow(ctx, m));
    }
    m->entry[place(m, key)] = (struct ws__memo_entry){key, count};
    m->n++;
    return 0;
}

static bool memo_get(const struct ws__memo *m, uint64_t key, uint64_t *count)
{
    size_t i;

    if (!m->cap)
        return false;
    i = place(m, key);
    *count = m->entry[i].count;
    return m->entry[i].key != 0;
}

static uint64_t sat_add(uint64_t a, uint64_t b)
{
    uint64_t r;

    return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* Values of the row, poisoned or not. */
static uint64_t how_many(const struct ws__step *st, const struct ws__row *r,
                         bool poisoned)
{
    uint64_t n = 0;

    for (size_t w = 0; w < st->words; w++)
        n += (uint64_t)__builtin_popcountll(
            r->left[w] & (poisoned ? r->poison[w] : ~r->poison[w]));
    return n;
}

static bool is_poisoned(const struct ws__row *r, size_t v)
{
    return r->poison[v / 64] >> v % 64 & 1;
}

/* The values of a step whose value matters to nothing later: one completion
 * stands for all of them, but for the poison. */
static int rest_same(struct ws__space *s, struct ws__layout *l, size_t pos,
                     size_t end, bool poison, const struct ws__row *row,
                     uint64_t *out)
{
    const struct ws__step *st = &l->step[pos];
    bool done[2] = {false, false};
    uint64_t sub;

    *out = 0;
    for (size_t v = ws__row_next(st, row->left, 0);
         v < st->nvalue && !(done[0] && done[1]);
         v = ws__row_next(st, row->left, v + 1)) {
        bool bad = is_poisoned(row, v);

        if (done[bad])
            continue;
        done[bad] = true;
        ws__space_set(s, st->param, v);
        WS_TRY(ws__layout_rest(s, l, pos + 1, end, poison || bad, &sub));
        *out = sat_add(*out, ws__sat_mul(sub, how_many(st, row, bad)));
        if (!how_many(st, row, !bad))
            break;
    }
    return 0;
}

static int rest_walk(struct ws__space *s, struct ws__layout *l, size_t pos,
                     size_t end, bool poison, uint64_t *out)
{
    const struct ws__step *st = &l->step[pos];
    uint64_t total = 0, sub;
    struct ws__row row;

    WS_TRY(ws__space_tick(s));
    WS_TRY(ws__space_row(s, l, st, &row));
    if (st->dies)
        return rest_same(s, l, pos, end, poison, &row, out);
    for (size_t v = ws__row_next(st, row.left, 0); v < st->nvalue;
         v = ws__row_next(st, row.left, v + 1)) {
        ws__space_set(s, st->param, v);
        WS_TRY(ws__layout_rest(s, l, pos + 1, end,
                               poison || is_poisoned(&row, v), &sub));
        total = sat_add(total, sub);
    }
    *out = total;
    return 0;
}

int ws__layout_rest(struct ws__space *s, struct ws__layout *l, size_t pos,
                    size_t end, bool poison, uint64_t *out)
{
    struct ws__step *st = &l->step[pos];
    uint64_t key;

    /* What a negated count cannot evaluate counts as not removed. */
    poison = poison && l->negated == SIZE_MAX;
    if (pos == end) {
        *out = 1;
        return poison ? WS_EEXPR : 0;
    }
    if (!st->remember)
        return rest_walk(s, l, pos, end, poison, out);
    key = key_of(s, st, poison);
    if (memo_get(&st->memo, key, out))
        return 0;
    WS_TRY(rest_walk(s, l, pos, end, poison, out));
    return memo_put(s->ctx, &st->memo, key, *out);
}

/* The r-th assignment of one group. */
static int unrank_group(struct ws__space *s, struct ws__layout *l,
                        const struct ws__group *g, uint64_t r)
{
    for (size_t pos = g->first; pos < g->end; pos++) {
        const struct ws__step *st = &l->step[pos];
        struct ws__row row;
        size_t v;

        WS_TRY(ws__space_row(s, l, st, &row));
        for (v = ws__row_next(st, row.left, 0); v < st->nvalue;
             v = ws__row_next(st, row.left, v + 1)) {
            uint64_t sub;

            ws__space_set(s, st->param, v);
            WS_TRY(ws__layout_rest(s, l, pos + 1, g->end, is_poisoned(&row, v),
                                   &sub));
            if (r < sub)
                break;
            r -= sub;
        }
        if (v == st->nvalue)
            return ws__fail(s->ctx, WS_EBUG, "rank is out of its group");
    }
    return 0;
}

static void copy_group(const struct ws__space *s, const struct ws__layout *l,
                       const struct ws__group *g, struct ws__config *to)
{
    for (size_t i = g->first; i < g->end; i++)
        to->at[l->step[i].param] = s->at.at[l->step[i].param];
}

/* `bad` holds the failing assignments of the groups that were not counted;
 * the others complete it to a config. */
static int fail_poison(struct ws__space *s, struct ws__layout *l,
                       struct ws__config *bad)
{
    int rc;

    for (size_t i = 0; i < l->ngroup; i++)
        if (l->group[i].counted) {
            WS_TRY(unrank_group(s, l, &l->group[i], 0));
            copy_group(s, l, &l->group[i], bad);
        }
    rc = ws__space_valid(s, bad, NULL);
    return rc < 0 ? rc
                  : ws__fail(s->ctx, WS_EBUG, "a constraint fails and holds");
}

int ws__layout_count(struct ws__space *s, struct ws__layout *l)
{
    struct ws__config bad = s->base;
    bool poison = false, some = true;

    ws__space_load(s, &s->base);
    if (!test_constants(s, l, &poison))
        return 0;
    for (size_t i = 0; i < l->ngroup; i++) {
        struct ws__group *g = &l->group[i];
        int rc = 0;

        if (!g->counted)
            rc = ws__layout_rest(s, l, g->first, g->end, false, &g->count);
        if (rc == WS_EEXPR) {
            poison = true;
            copy_group(s, l, g, &bad);
            continue;
        }
        WS_TRY(rc);
        g->counted = true;
        some = some && g->count;
    }
    if (poison && some && l->negated == SIZE_MAX)
        return fail_poison(s, l, &bad);
    return some;
}

int ws__space_unrank(struct ws__space *s, uint64_t r, struct ws__config *out)
{
    struct ws__layout *l = &s->layout;
    uint64_t valid;

    WS_TRY(ws__space_count(s, &valid));
    if (r >= valid)
        return ws__fail(s->ctx, WS_EINVAL,
                        "rank %llu is not below the %llu valid configs",
                        (unsigned long long)r, (unsigned long long)valid);
    ws__space_load(s, &s->base);
    for (size_t i = l->ngroup; i-- > 0;) {
        WS_TRY(unrank_group(s, l, &l->group[i], r % l->group[i].count));
        r /= l->group[i].count;
    }
    *out = s->at;
    return 0;
}
