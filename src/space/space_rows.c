/*
 * space_rows.c: the values of a parameter that its constraints leave.
 *
 * A row is the set of values of one step that its tests do not remove, given
 * the parameters assigned before. It depends only on those that the tests
 * read, so it is computed once for each of their combinations and kept, as
 * bits, where they are few enough. Counting, walking and ranking then look
 * rows up instead of testing value by value.
 *
 * The tests of a step form stages by what they read: the first stage reads
 * the fewest parameters, each later one what those before it read and more.
 * So a row of a later stage starts from what the cheaper rows leave. A test
 * that turns only one way along the values (ws__expr_trend) is not tried with
 * each: its turn is found by halving.
 *
 * A value is left if no test is false; it is poisoned if one cannot be
 * evaluated as well. Stage tables are bounded in number and size: memory does
 * not grow with the space.
 */
#include "space/space_int.h"

#include "base/banned.h"

/* Fewer values are tested one by one. */
#define MIN_SEARCH 4

static bool has(const uint64_t *bits, size_t v)
{
    return bits[v / 64] >> v % 64 & 1;
}

static void clear(uint64_t *bits, size_t from, size_t to)
{
    for (; from < to; from++)
        bits[from / 64] &= ~((uint64_t)1 << from % 64);
}

/* One value: the three-valued conjunction. */
static void test_value(struct ws__space *s, const struct ws__layout *l,
                       const struct ws__step *st, size_t c, size_t v,
                       uint64_t *row)
{
    int r;

    ws__space_set(s, st->param, v);
    r = ws__expr_test(s->kernel->constraint[c].expr, s->vars);
    if (c == l->negated ? r != 0 : r == 0)
        clear(row, v, v + 1);
    else if (r < 0)
        row[st->words + v / 64] |= (uint64_t)1 << v % 64;
}

static bool holds(struct ws__space *s, const struct ws__step *st, size_t c,
                  size_t v)
{
    ws__space_set(s, st->param, v);
    return ws__expr_test(s->kernel->constraint[c].expr, s->vars) > 0;
}

/* A test that turns at most once over the values [from, to): what it removes
 * is one end of them. */
static void test_trend(struct ws__space *s, const struct ws__layout *l,
                       const struct ws__step *st, size_t i, size_t from,
                       size_t to, uint64_t *row)
{
    size_t c = l->test[i], low = from, high = to, middle;
    bool last = (l->trend[i] == WS__TREND_UP) == (st->order > 0);

    while (low < high) {
        middle = low + (high - low) / 2;
        if (holds(s, st, c, middle) == last)
            high = middle;
        else
            low = middle + 1;
    }
    /* From `low` on the test is `last`, before it the opposite. */
    if (last == (c == l->negated))
        clear(row, low, to);
    else
        clear(row, from, low);
}

/* Test i of the layout for the values that are left. */
static void test_row(struct ws__space *s, const struct ws__layout *l,
                     const struct ws__step *st, size_t i, uint64_t *row)
{
    size_t from = 0, to = st->nvalue;

    while (from < to && !has(row, from))
        from++;
    while (from < to && !has(row, to - 1))
        to--;
    if (l->trend[i] != WS__TREND_UNKNOWN && to - from >= MIN_SEARCH) {
        test_trend(s, l, st, i, from, to, row);
        return;
    }
    for (; from < to; from++)
        if (has(row, from))
            test_value(s, l, st, l->test[i], from, row);
}

static uint64_t row_number(const struct ws__space *s, const struct ws__stage *g)
{
    uint64_t n = 0;

    for (uint64_t b = g->reads; b; b &= b - 1) {
        int p = __builtin_ctzll(b);

        n = n * s->kernel->param[p].nvalue + s->at.at[p];
    }
    return n;
}

void ws__space_all_values(const struct ws__step *st, uint64_t *row)
{
    memset(row, 0, 2 * st->words * sizeof(*row));
    for (size_t w = 0; w < st->words; w++)
        row[w] = UINT64_MAX;
    if (st->nvalue % 64)
        row[st->words - 1] = ((uint64_t)1 << st->nvalue % 64) - 1;
}

/* Where the row of the assignment at hand lies or belongs. */
static int find_row(struct ws__space *s, const struct ws__step *st,
                    struct ws__stage *g, uint64_t number, uint64_t **row)
{
    size_t width = 2 * st->words + 1;

    *row = st->scratch;
    if (!g->nrow)
        return 0;
    if (!g->row)
        g->row = ws__alloc(s->ctx, g->nrow * width, sizeof(*g->row));
    if (!g->row)
        return WS_ENOMEM;
    *row = g->row + number * width;
    return 0;
}

/* The row after stage j of the step. */
static int stage_row(struct ws__space *s, struct ws__layout *l,
                     const struct ws__step *st, size_t j, uint64_t **out)
{
    struct ws__stage *g = &l->stage[st->stage + j];
    uint64_t number = row_number(s, g), *from, *row;
    bool last = j + 1 == st->nstage;

    WS_TRY(find_row(s, st, g, number, &row));
    *out = row;
    /* The scratch row holds what the last stage left there. */
    if (row[2 * st->words] == number + 1 && (g->nrow || (last && g->numbered)))
        return 0;
    if (j) {
        WS_TRY(stage_row(s, l, st, j - 1, &from));
        if (from != row)
            memcpy(row, from, 2 * st->words * sizeof(*row));
    } else {
        ws__space_all_values(st, row);
    }
    for (size_t i = j ? g[-1].end : st->first; i < g->end; i++)
        test_row(s, l, st, i, row);
    row[2 * st->words] = g->nrow || last ? number + 1 : 0;
    return 0;
}

int ws__space_row(struct ws__space *s, struct ws__layout *l,
                  const struct ws__step *st, struct ws__row *out)
{
    uint64_t *row = st->scratch;

    if (st->nstage)
        WS_TRY(stage_row(s, l, st, st->nstage - 1, &row));
    out->left = row;
    out->poison = row + st->words;
    return 0;
}

size_t ws__row_next(const struct ws__step *st, const uint64_t *bits, size_t v)
{
    size_t w = v / 64;
    uint64_t b;

    if (v >= st->nvalue)
        return st->nvalue;
    b = bits[w] >> v % 64 << v % 64;
    while (!b && ++w < st->words)
        b = bits[w];
    return b ? w * 64 + (size_t)__builtin_ctzll(b) : st->nvalue;
}
