/*
 * gp_axes.c: see gp_axes.h.
 *
 * An axis has at most WS__GP_LEVELS levels; of a parameter with more values
 * neighbours share one.
 */
#include "search/gp_axes.h"

#include <math.h>

#include "base/banned.h"

/* A parameter spans enough for its logarithm to be what counts. */
#define SPAN 4.0
/* Fewer values show their divisors by themselves. */
#define DIVIDED_VALUES 5
/* Logarithm of the weight expected of the second axis: it often says nothing.
 */
#define DIVIDED_WEIGHT (-1.0)

struct spot {
    double value;
    size_t index;
};

static int by_value(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;

    if (x->value < y->value || x->value > y->value)
        return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static double number(const struct ws__value *v)
{
    return v->type == WS__FLOAT ? v->u.f : (double)v->u.i;
}

static unsigned twos(int64_t n)
{
    unsigned count = 0;

    for (; n > 0 && n % 2 == 0; n /= 2)
        count++;
    return count;
}

/* Sorts and counts the different numbers. */
static size_t rank_all(struct spot *s, size_t n)
{
    size_t different = 1;

    qsort(s, n, sizeof(*s), by_value);
    for (size_t i = 1; i < n; i++)
        different += s[i].value > s[i - 1].value;
    return different;
}

/* An axis from one number for every value of a parameter; none if all are the
 * same, or no room is left. */
static int add_axis(struct ws__arena *arena, struct ws__param_axes *out,
                    size_t param, struct spot *s, size_t n, bool nominal)
{
    struct ws__gp_axis *x = &out->gp.axis[out->gp.n];
    size_t different = rank_all(s, n), rank = 0;
    double lo = s[0].value, width = s[n - 1].value - lo;
    uint8_t *level;

    if (different < 2 || out->gp.n == WS__GP_AXES)
        return 0;
    level = ws__arena_alloc(arena, n, sizeof(*level));
    if (!level)
        return WS_ENOMEM;
    x->nominal = nominal;
    x->n = different < WS__GP_LEVELS ? (unsigned)different : WS__GP_LEVELS;
    for (size_t i = 0; i < n; i++) {
        size_t l;

        rank += i && s[i].value > s[i - 1].value;
        l = rank * x->n / different;
        x->at[l] = (s[i].value - lo) / width;
        level[s[i].index] = (uint8_t)l;
    }
    out->param[out->gp.n] = (uint16_t)param;
    out->level[out->gp.n++] = level;
    return 0;
}

/* By logarithm, by rank, or, of texts, without an order. */
static void place_values(const struct ws__param *p, struct spot *s)
{
    double lo, hi;

    for (size_t i = 0; i < p->nvalue; i++)
        s[i] =
            (struct spot){p->type == WS__STR ? (double)i : number(&p->value[i]),
                          i};
    if (p->type == WS__STR)
        return;
    rank_all(s, p->nvalue);
    lo = s[0].value;
    hi = s[p->nvalue - 1].value;
    if (lo > 0 && hi >= SPAN * lo) {
        for (size_t i = 0; i < p->nvalue; i++)
            s[i].value = log2(s[i].value);
    } else {
        double before = lo, rank = 0;

        for (size_t i = 0; i < p->nvalue; i++) {
            rank += s[i].value > before;
            before = s[i].value;
            s[i].value = rank;
        }
    }
}

/* How often two divides the values: false if they are not of the kind. */
static bool place_twos(const struct ws__param *p, struct spot *s)
{
    bool powers = true;

    if (p->type != WS__INT || p->nvalue < DIVIDED_VALUES)
        return false;
    for (size_t i = 0; i < p->nvalue; i++) {
        int64_t n = p->value[i].u.i;

        s[i] = (struct spot){twos(n), i};
        powers = powers && n > 0 && (n & (n - 1)) == 0;
    }
    return !powers;
}

int ws__param_axes(struct ws__arena *arena, const struct ws__kernel *k,
                   struct ws__param_axes *out)
{
    for (size_t i = 0; i < k->nparam; i++) {
        const struct ws__param *p = &k->param[i];
        struct spot *s = ws__arena_alloc(arena, p->nvalue, sizeof(*s));

        if (!s)
            return WS_ENOMEM;
        place_values(p, s);
        WS_TRY(add_axis(arena, out, i, s, p->nvalue, p->type == WS__STR));
        if (place_twos(p, s))
            WS_TRY(add_axis(arena, out, i, s, p->nvalue, false));
    }
    return 0;
}

void ws__param_row(const struct ws__param_axes *axes,
                   const struct ws__config *c, uint8_t *row)
{
    for (size_t i = 0; i < axes->gp.n; i++)
        row[i] = axes->level[i][c->at[axes->param[i]]];
}
