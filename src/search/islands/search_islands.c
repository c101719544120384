/*
 * search_islands.c: islands with grids of elites, after OpenEvolve.
 *
 * Every island keeps the fittest program of each cell of a grid: how large the
 * values of its parameters are, and how far it is from the first programs of
 * all. Islands take turns. A parent is drawn anywhere in the island, or from
 * the archive of the best (those of the island first), or by fitness; a child
 * mixes it with an inspiration (the island's best, another elite) or changes
 * some parameters. Every so many children an island's best tenth goes to both
 * neighbours.
 *
 * There, a program is a text and a language model varies it; here it is a
 * config, and the features are those of configs. Numbers of the original are
 * its defaults.
 */
#include "search/population.h"

#include <math.h>

#include "base/banned.h"

#define ISLANDS 5
#define BINS 10
#define ARCHIVE 100
#define FIRST 5 /* programs that others are compared with */
#define EXPLORE .2
#define EXPLOIT .7
#define CROSS .3
#define CHANGES 3 /* parameters that a child may change, at most */
#define MIGRATE_EVERY 50
#define MIGRANTS .1

struct island {
    int32_t cell[BINS][BINS]; /* program, or -1 */
    size_t made;              /* children so far */
};

struct islands {
    struct ws__population o;
    struct island island[ISLANDS];
    struct ws__archive archive;
    size_t turn;
    double lo[2], hi[2]; /* features seen so far */
};

static void end(void *state)
{
    struct islands *s = state;
    struct ws_ctx *ctx = s->o.p->ctx;

    ws__population_close(&s->o);
    ws__free(ctx, s);
}

static int start(const struct ws__problem_space *p, void **state)
{
    struct islands *s = ws__alloc(p->ctx, 1, sizeof(*s));
    int rc;

    if (!s)
        return WS_ENOMEM;
    for (size_t i = 0; i < ISLANDS; i++)
        memset(s->island[i].cell, 0xff, sizeof(s->island[i].cell));
    s->lo[0] = s->lo[1] = INFINITY;
    s->hi[0] = s->hi[1] = -INFINITY;
    s->archive.room = ARCHIVE;
    rc = ws__population_open(&s->o, p);
    if (rc < 0) {
        end(s);
        return rc;
    }
    *state = s;
    return 0;
}

/* --- the grids ------------------------------------------------------------ */

static double fitness(const struct islands *s, int32_t program)
{
    return s->o.program[program].fitness;
}

/* The mean place of its values among those of their parameters. */
static double size_of(const struct islands *s, const struct ws__candidate *c)
{
    const struct ws__kernel *k = &s->o.p->kernel[c->kernel];
    double sum = 0;

    for (size_t i = 0; i < k->nparam; i++)
        if (k->param[i].nvalue > 1)
            sum += c->config.at[i] / (double)(k->param[i].nvalue - 1);
    return k->nparam ? sum / (double)k->nparam : 0;
}

/* The mean share of parameters in which it differs from the first programs. */
static double distance_of(const struct islands *s,
                          const struct ws__candidate *c)
{
    size_t first = s->o.n < FIRST ? s->o.n : FIRST;
    double sum = 0;

    for (size_t f = 0; f < first; f++) {
        const struct ws__candidate *x = &s->o.program[f].c;
        size_t differ = 0;

        for (size_t i = 0; i < c->config.n && x->kernel == c->kernel; i++)
            differ += x->config.at[i] != c->config.at[i];
        sum += x->kernel != c->kernel ? 1
               : c->config.n          ? (double)differ / (double)c->config.n
                                      : 0;
    }
    return sum / (double)first;
}

static size_t bin(struct islands *s, int feature, double x)
{
    double span;

    s->lo[feature] = fmin(s->lo[feature], x);
    s->hi[feature] = fmax(s->hi[feature], x);
    span = s->hi[feature] - s->lo[feature];
    if (!(span > 0))
        return 0;
    return (size_t)fmin(BINS - 1, (x - s->lo[feature]) / span * BINS);
}

static void settle(struct islands *s, struct island *to, int32_t program)
{
    const struct ws__candidate *c = &s->o.program[program].c;
    size_t x = bin(s, 0, size_of(s, c)), y = bin(s, 1, distance_of(s, c));

    if (to->cell[x][y] < 0 || fitness(s, program) > fitness(s, to->cell[x][y]))
        to->cell[x][y] = program;
}

/* The programs of an island, the best first. */
static size_t elites(const struct islands *s, const struct island *of,
                     int32_t out[BINS * BINS])
{
    size_t n = 0;

    for (size_t x = 0; x < BINS; x++)
        for (size_t y = 0; y < BINS; y++) {
            int32_t p = of->cell[x][y];
            size_t at = n;

            if (p < 0)
                continue;
            for (; at && fitness(s, p) > fitness(s, out[at - 1]); at--)
                out[at] = out[at - 1];
            out[at] = p;
            n++;
        }
    return n;
}

static void migrate(struct islands *s, size_t from)
{
    int32_t list[BINS * BINS];
    size_t n = elites(s, &s->island[from], list);

    n = (size_t)ceil(MIGRANTS * (double)n);
    for (size_t i = 0; i < n; i++) {
        if (s->o.program[list[i]].island != from) /* has moved once */
            continue;
        settle(s, &s->island[(from + 1) % ISLANDS], list[i]);
        settle(s, &s->island[(from + ISLANDS - 1) % ISLANDS], list[i]);
    }
}

/* --- children ------------------------------------------------------------- */

static int32_t by_fitness(struct islands *s, const int32_t *list, size_t n)
{
    double sum = 0, at;

    for (size_t i = 0; i < n; i++)
        sum += fitness(s, list[i]);
    at = ws__rng_unit(&s->o.rng) * sum;
    for (size_t i = 0; i < n; i++) {
        at -= fitness(s, list[i]);
        if (at < 0)
            return list[i];
    }
    return list[n - 1];
}

/* One of the archive, of this island if it has one there. */
static int32_t from_archive(struct islands *s, size_t island)
{
    int32_t own[ARCHIVE];
    size_t n = 0;

    for (size_t i = 0; i < s->archive.n; i++)
        if (s->o.program[s->archive.program[i]].island == island)
            own[n++] = s->archive.program[i];
    if (n)
        return own[ws__rng_below(&s->o.rng, n)];
    return s->archive.program[ws__rng_below(&s->o.rng, s->archive.n)];
}

static int32_t pick_parent(struct islands *s, size_t island,
                           const int32_t *list, size_t n)
{
    double u = ws__rng_unit(&s->o.rng);

    if (u < EXPLORE)
        return list[ws__rng_below(&s->o.rng, n)];
    if (u < EXPLORE + EXPLOIT && s->archive.n)
        return from_archive(s, island);
    return by_fitness(s, list, n);
}

/* Of the programs of an island. */
static int vary(struct islands *s, size_t island, const int32_t *list, size_t n,
                struct ws__candidate *out, int32_t *parent)
{
    struct ws__population *o = &s->o;
    int32_t best = list[0], any = list[ws__rng_below(&o->rng, n)];
    int32_t other = ws__rng_below(&o->rng, 2) ? best : any;
    int rc = 0;

    *parent = pick_parent(s, island, list, n);
    if (ws__rng_unit(&o->rng) < CROSS)
        rc = ws__population_cross(o, &o->program[*parent].c,
                                  &o->program[other].c, out);
    if (!rc)
        rc = ws__population_mutate(o, &o->program[*parent].c,
                                   1 + ws__rng_below(&o->rng, CHANGES), out);
    return rc;
}

/* 1 a child, 0 there is none to be had. */
static int breed(struct islands *s, size_t island, struct ws__candidate *out,
                 int32_t *parent)
{
    int32_t list[BINS * BINS];
    size_t n = elites(s, &s->island[island], list);
    int rc;

    *parent = -1;
    if (n)
        rc = vary(s, island, list, n, out, parent);
    else
        rc = ws__population_begin(&s->o, island % s->o.p->nkernel, out);
    if (rc)
        return rc;
    *parent = -1;
    return ws__population_random(&s->o, out);
}

static int ask(void *state, struct ws__candidate *c, uint32_t *workload)
{
    struct islands *s = state;
    int rc = ws__population_ask(&s->o, c, workload);

    while (rc == WS_EDONE) { /* one may be valid and run nowhere */
        size_t island = s->turn++ % ISLANDS;
        struct ws__candidate child;
        int32_t parent;

        rc = breed(s, island, &child, &parent);
        WS_TRY(rc);
        if (!rc)
            return ws__population_waits(&s->o) ? WS__ASK_WAIT : WS_EDONE;
        WS_TRY(ws__population_add(&s->o, &child, parent, (uint32_t)island, 0));
        rc = ws__population_ask(&s->o, c, workload);
    }
    return rc;
}

static int tell(void *state, const struct ws__trial *t)
{
    struct islands *s = state;
    struct island *home;
    int32_t known;

    WS_TRY(ws__population_tell(&s->o, t, &known));
    if (known < 0)
        return 0;
    home = &s->island[s->o.program[known].island];
    settle(s, home, known);
    if (fitness(s, known) > 0)
        ws__population_archive(&s->o, &s->archive, known);
    if (++home->made % MIGRATE_EVERY == 0)
        migrate(s, s->o.program[known].island);
    return 0;
}

const struct ws__strategy_ops ws__search_islands = {
    .abi = WS__STRATEGY_ABI,
    .name = "islands",
    .about = "islands with grids of elites, as OpenEvolve",
    .start = start,
    .ask = ask,
    .tell = tell,
    .end = end,
};
