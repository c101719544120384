/*
 * search_evolve.c: weighted parents, three operators and a bandit, after
 * ShinkaEvolve.
 *
 * Two islands take turns. A parent is drawn by how far its fitness lies above
 * the median, and less the more children it has. An operator makes a child of
 * it: a small change, a rewrite that keeps little, or a crossing with an elite
 * of the archive. Which one, a bandit decides: the upper bound of what the
 * operator's children gained lately over the better of parent and default.
 * Children that exist already are rejected and drawn again. An island that
 * brought nothing better for long begins anew from the archive's best.
 *
 * There, the bandit chooses among language models and the operators have fixed
 * odds, which are the bandit's prior here; a program is a text there and a
 * config here. Numbers of the original are its defaults.
 */
#include "search/population.h"

#include <math.h>

#include "base/banned.h"

#define ISLANDS 2
#define ARCHIVE 40
#define LAMBDA 10.0
#define BOUND_C 1.0 /* of the upper bound */
#define EPSILON .2  /* operators by the prior alone */
#define DECAY .95
#define ATTEMPTS 3 /* at a child that is new */
#define STAGNANT 100
#define SMALL 2 /* parameters that a small change may touch */

enum how { BEGIN, CHANGE, REWRITE, CROSS, NHOW };
static const double prior[NHOW] = {0, .6, .3, .1};

struct arm {
    double tries, reward; /* both decay */
};

struct evolve {
    struct ws__population o;
    struct ws__archive archive;
    size_t turn;
    struct arm arm[NHOW];
    struct {
        size_t from;     /* programs before this do not count: begun anew */
        size_t stagnant; /* children since the last gain */
        double best;
        bool anew; /* the next child begins */
    } island[ISLANDS];
};

static void end(void *state)
{
    struct evolve *s = state;
    struct ws_ctx *ctx = s->o.p->ctx;

    ws__population_close(&s->o);
    ws__free(ctx, s);
}

static int start(const struct ws__problem_space *p, void **state)
{
    struct evolve *s = ws__alloc(p->ctx, 1, sizeof(*s));
    int rc;

    if (!s)
        return WS_ENOMEM;
    s->archive.room = ARCHIVE;
    rc = ws__population_open(&s->o, p);
    if (rc < 0) {
        end(s);
        return rc;
    }
    *state = s;
    return 0;
}

static double fitness(const struct evolve *s, int32_t program)
{
    return s->o.program[program].fitness;
}

/* --- parents -------------------------------------------------------------- */

static bool lives(const struct evolve *s, size_t program, size_t island)
{
    const struct ws__program *x = &s->o.program[program];

    return x->known && x->fitness > 0 && x->island == island &&
           program >= s->island[island].from;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof(*x), by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* The middle of an island's fitness, and the median distance from it. */
static void middle(const struct evolve *s, size_t island, double *x,
                   double *mid, double *mad)
{
    size_t n = 0;

    for (size_t i = 0; i < s->o.n; i++)
        if (lives(s, i, island))
            x[n++] = fitness(s, (int32_t)i);
    *mid = n ? median(x, n) : 0;
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(x[i] - *mid);
    *mad = n ? median(x, n) : 0;
}

static double weight(const struct evolve *s, size_t program, double mid,
                     double mad)
{
    const struct ws__program *x = &s->o.program[program];
    double z = LAMBDA * (x->fitness - mid) / (mad > 1e-6 ? mad : 1e-6);

    return 1 / (1 + exp(-fmax(-500, fmin(500, z)))) / (1.0 + x->children);
}

/* 1 and a program of the island, or 0. */
static int pick_parent(struct evolve *s, size_t island, int32_t *out)
{
    double *x = ws__alloc(s->o.p->ctx, s->o.n + 1, sizeof(*x));
    double mid, mad, sum = 0, at;

    if (!x)
        return WS_ENOMEM;
    middle(s, island, x, &mid, &mad);
    ws__free(s->o.p->ctx, x);
    for (size_t i = 0; i < s->o.n; i++)
        sum += lives(s, i, island) ? weight(s, i, mid, mad) : 0;
    at = ws__rng_unit(&s->o.rng) * sum;
    *out = -1;
    for (size_t i = 0; i < s->o.n && at >= 0; i++)
        if (lives(s, i, island)) {
            at -= weight(s, i, mid, mad);
            *out = (int32_t)i;
        }
    return *out >= 0;
}

/* --- operators ------------------------------------------------------------ */

static enum how by_prior(struct evolve *s)
{
    double at = ws__rng_unit(&s->o.rng);
    enum how h = CHANGE;

    while (h < CROSS && (at -= prior[h]) >= 0)
        h++;
    return h;
}

static enum how pick_operator(struct evolve *s)
{
    double all = 0, best = -1;
    enum how out = CHANGE;

    if (ws__rng_unit(&s->o.rng) < EPSILON)
        return by_prior(s);
    for (enum how h = CHANGE; h < NHOW; h++)
        all += s->arm[h].tries;
    for (enum how h = CHANGE; h < NHOW; h++) {
        double n = s->arm[h].tries + prior[h]; /* a try of each, by its odds */
        double bound =
            s->arm[h].reward / n + BOUND_C * sqrt(log(2 + all) / n) * prior[h];

        if (bound > best) {
            best = bound;
            out = h;
        }
    }
    return out;
}

/* What a child is worth: what it gains over parent and default, on a scale on
 * which 10 % is most of it. */
static void reward(struct evolve *s, const struct ws__program *child)
{
    double before = child->parent < 0 ? 1 : fitness(s, child->parent);
    double gain = fmax(0, child->fitness - fmax(before, 1));

    for (enum how h = CHANGE; h < NHOW; h++) {
        s->arm[h].tries *= DECAY;
        s->arm[h].reward *= DECAY;
    }
    s->arm[child->how].tries += 1;
    s->arm[child->how].reward += 1 - exp(-gain / .1);
}

/* 1 a child, 0 none that is new. */
static int vary(struct evolve *s, int32_t parent, enum how how,
                struct ws__candidate *out)
{
    struct ws__population *o = &s->o;
    const struct ws__candidate *c = &o->program[parent].c;
    size_t n = c->config.n;

    if (how == CROSS && s->archive.n)
        return ws__population_cross(
            o, c,
            &o->program[s->archive
                            .program[ws__rng_below(&o->rng, s->archive.n)]]
                 .c,
            out);
    if (how == REWRITE)
        return ws__population_mutate(o, c, n, out);
    return ws__population_mutate(o, c, 1 + ws__rng_below(&o->rng, SMALL), out);
}

/* --- children ------------------------------------------------------------- */

/* An island begins with the default, or anew with a neighbour of the best. */
static int begin(struct evolve *s, size_t island, struct ws__candidate *out)
{
    bool anew = s->island[island].anew;

    s->island[island].anew = false;
    if (anew && s->archive.n)
        return vary(s, s->archive.program[0], CHANGE, out);
    return ws__population_begin(&s->o, island % s->o.p->nkernel, out);
}

static int breed(struct evolve *s, size_t island, struct ws__candidate *out,
                 int32_t *parent, enum how *how)
{
    int rc = pick_parent(s, island, parent);

    WS_TRY(rc);
    *how = BEGIN;
    if (!rc || s->island[island].anew) {
        *parent = -1;
        rc = begin(s, island, out);
        if (rc)
            return rc;
    }
    for (int i = 0; i < ATTEMPTS && *parent >= 0; i++) {
        *how = pick_operator(s);
        rc = vary(s, *parent, *how, out);
        if (rc)
            return rc;
    }
    *parent = -1;
    *how = BEGIN;
    return ws__population_random(&s->o, out);
}

static int ask(void *state, struct ws__candidate *c, uint32_t *workload)
{
    struct evolve *s = state;
    int rc = ws__population_ask(&s->o, c, workload);

    while (rc == WS_EDONE) {
        size_t island = s->turn++ % ISLANDS;
        struct ws__candidate child;
        int32_t parent;
        enum how how;

        rc = breed(s, island, &child, &parent, &how);
        WS_TRY(rc);
        if (!rc)
            return ws__population_waits(&s->o) ? WS__ASK_WAIT : WS_EDONE;
        WS_TRY(ws__population_add(&s->o, &child, parent, (uint32_t)island,
                                  (uint8_t)how));
        rc = ws__population_ask(&s->o, c, workload);
    }
    return rc;
}

/* Nothing better for long: the island begins anew. */
static void note_progress(struct evolve *s, const struct ws__program *x)
{
    if (x->fitness > s->island[x->island].best) {
        s->island[x->island].best = x->fitness;
        s->island[x->island].stagnant = 0;
    } else if (++s->island[x->island].stagnant >= STAGNANT) {
        s->island[x->island].stagnant = 0;
        s->island[x->island].best = 0;
        s->island[x->island].from = s->o.n;
        s->island[x->island].anew = true;
    }
}

static int tell(void *state, const struct ws__trial *t)
{
    struct evolve *s = state;
    const struct ws__program *x;
    int32_t known;

    WS_TRY(ws__population_tell(&s->o, t, &known));
    if (known < 0)
        return 0;
    x = &s->o.program[known];
    if (x->how != BEGIN)
        reward(s, x);
    if (x->fitness > 0)
        ws__population_archive(&s->o, &s->archive, known);
    note_progress(s, x);
    return 0;
}

const struct ws__strategy_ops ws__search_evolve = {
    .abi = WS__STRATEGY_ABI,
    .name = "evolve",
    .about = "weighted parents, a bandit of operators, as ShinkaEvolve",
    .start = start,
    .ask = ask,
    .tell = tell,
    .end = end,
};
