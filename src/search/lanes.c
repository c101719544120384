/*
 * lanes.c: strategies over plans of the wave model.
 *
 * One model a kernel, over all workloads at once: a time on one shape tells of
 * others. src/wave decides which pair of shape and config to time next; this
 * file gives it the pairs there are. Where a kernel has more configs than a
 * model can hold, a sample of them takes part, and when all of these were
 * asked, another one. Kernels take turns.
 *
 * A config that cannot be built or launched is asked on no other shape.
 */
#include "search/lanes.h"

#include <math.h>

#include "search/seen.h"
#include "wave/wave_table.h"

#include "base/banned.h"

#define CONFIGS_MAX 384
/* Drawn of a workload's space at a time; so many draws in a row that bring
 * nothing new are enough. */
#define DRAWN 8
#define IDLE_MAX 2000
/* Without a limit on trials: a first look of so many. */
#define SPREAD 24

struct lane { /* of one kernel */
    const struct ws__lanes *search;
    uint32_t kernel;
    struct ws__config *config;
    size_t nconfig;
    struct ws__wave_maker maker;
    struct ws__wave_plan *plan;
    struct ws__seen seen; /* configs that it has, or had */
    struct ws__rng rng;
    size_t turn; /* of the workloads: whose space is drawn from next */
    bool whole;  /* there are no others */
    bool done;
};

struct ws__lanes {
    const struct ws__problem_space *p;
    struct ws__wave_sheet sheet;
    int64_t *axis; /* workload * naxis + axis */
    struct lane *lane;
    size_t turn, nkernel; /* nkernel: that have configs */
    bool anchors;
};

static void drop_plan(struct lane *l)
{
    ws__wave_plan_free(l->plan);
    l->plan = NULL;
    if (l->maker.ctx)
        ws__wave_table_clear(&l->maker);
}

void ws__lanes_end(void *state)
{
    struct ws__lanes *s = state;
    struct ws_ctx *ctx = s->p->ctx;

    for (size_t k = 0; s->lane && k < s->p->nkernel; k++) {
        drop_plan(&s->lane[k]);
        ws__seen_clear(ctx, &s->lane[k].seen);
        ws__free(ctx, s->lane[k].config);
    }
    ws__free(ctx, s->lane);
    ws__free(ctx, s->axis);
    ws__free(ctx, s);
}

static struct ws__space *space_of(const struct lane *l, size_t workload)
{
    const struct ws__problem_space *p = l->search->p;

    return p->spaces[l->kernel * p->nworkload + workload];
}

/* --- the configs of a lane ------------------------------------------------ */

static bool may_run(const struct lane *l, size_t workload,
                    const struct ws__config *c)
{
    const struct ws__problem_space *p = l->search->p;
    struct ws__candidate x;

    memset(&x, 0, sizeof(x));
    x.kernel = l->kernel;
    x.config = *c;
    return ws__space_valid(space_of(l, workload), c, NULL) == 1 &&
           (!p->fits || p->fits(p->fits_user, &x, (uint32_t)workload) == 1);
}

/* Adds a config that this lane never had. */
static int add(struct lane *l, const struct ws__config *c)
{
    struct ws__candidate x;
    int rc;

    memset(&x, 0, sizeof(x));
    x.kernel = l->kernel;
    x.config = *c;
    rc = ws__seen_add(l->search->p->ctx, &l->seen, &x);
    if (rc > 0)
        l->config[l->nconfig++] = *c;
    return rc < 0 ? rc : 0;
}

/* All of them; WS_ELIMIT: there are more than have room. */
static int add_all(struct lane *l)
{
    for (size_t w = 0; w < l->search->p->nworkload; w++) {
        struct ws__space_iter it;
        struct ws__config c;
        int rc;

        ws__space_begin(space_of(l, w), &it);
        while ((rc = ws__space_next(&it, &c)) > 0) {
            if (l->nconfig == CONFIGS_MAX)
                return WS_ELIMIT;
            WS_TRY(add(l, &c));
        }
        WS_TRY(rc);
    }
    return 0;
}

/* A few of each workload's space in turn, so that none goes without; of those
 * that fit, for recordings may know few. */
static int add_sample(struct lane *l)
{
    const struct ws__problem_space *p = l->search->p;
    struct ws__config c[DRAWN];
    size_t each = CONFIGS_MAX / p->nworkload + 1, got, idle = 0;

    while (l->nconfig < CONFIGS_MAX && idle < IDLE_MAX) {
        size_t w = l->turn++ % p->nworkload, before = l->nconfig;

        WS_TRY(ws__space_sample(space_of(l, w), &l->rng, DRAWN, c, &got));
        for (size_t i = 0;
             i < got && l->nconfig < CONFIGS_MAX && l->nconfig < before + each;
             i++)
            if (may_run(l, w, &c[i]))
                WS_TRY(add(l, &c[i]));
        idle = l->nconfig > before ? 0 : idle + 1;
    }
    return 0;
}

/* The first ones: all, or the default and a sample. */
static int first_configs(struct lane *l)
{
    const struct ws__problem_space *p = l->search->p;
    struct ws__config dflt;
    int rc;

    l->config = ws__alloc(p->ctx, CONFIGS_MAX, sizeof(*l->config));
    if (!l->config)
        return WS_ENOMEM;
    ws__rng_seed(&l->rng, ws__rng_at(p->seed, l->kernel));
    rc = add_all(l);
    l->whole = rc == 0;
    if (rc != WS_ELIMIT)
        return rc;
    ws__seen_clear(p->ctx, &l->seen);
    l->nconfig = 0;
    ws__config_default(&p->kernel[l->kernel], &dflt);
    WS_TRY(add(l, &dflt));
    return add_sample(l);
}

static bool feasible(void *user, size_t shape, size_t config)
{
    const struct lane *l = user;

    return may_run(l, shape, &l->config[config]);
}

static int make_plan(struct lane *l)
{
    const struct ws__lanes *s = l->search;
    struct ws__wave_plan_opts o = {.budget = 0,
                                   .spread = SPREAD,
                                   .improve = true,
                                   .anchors = s->anchors,
                                   .seed = ws__rng_u64(&l->rng)};

    WS_TRY(ws__wave_table_make(
        &(struct ws__wave_source){.ctx = s->p->ctx,
                                  .kernel = &s->p->kernel[l->kernel],
                                  .sheet = &s->sheet,
                                  .axis = s->axis,
                                  .nshape = s->p->nworkload,
                                  .config = l->config,
                                  .nconfig = l->nconfig,
                                  .feasible = feasible,
                                  .user = l},
        &l->maker));
    if (s->p->budget)
        o.spread = (size_t)(s->p->budget / s->nkernel * 3 / 10);
    return ws__wave_plan_new(&l->maker.table, &o, &l->plan);
}

static int open_lane(struct lane *l)
{
    WS_TRY(first_configs(l));
    return make_plan(l);
}

/* Everything was asked: other configs take the place of these, with a model of
 * their own. WS_EDONE: there are none. */
static int next_configs(struct lane *l)
{
    if (l->whole)
        return WS_EDONE;
    drop_plan(l);
    l->nconfig = 0;
    WS_TRY(add_sample(l));
    return l->nconfig ? make_plan(l) : WS_EDONE;
}

/* --- the strategy --------------------------------------------------------- */

static int copy_axes(struct ws__lanes *s)
{
    const struct ws__op *op = s->p->kernel[0].op;
    size_t n = op ? op->naxis : 0;

    s->axis = ws__alloc(s->p->ctx, s->p->nworkload * n + 1, sizeof(*s->axis));
    if (!s->axis)
        return WS_ENOMEM;
    for (size_t w = 0; w < s->p->nworkload && n; w++)
        memcpy(s->axis + w * n, s->p->workload[w].axis, n * sizeof(*s->axis));
    return 0;
}

/* Kernels that have a config for some workload: they share the budget. */
static int count_kernels(struct ws__lanes *s)
{
    const struct ws__problem_space *p = s->p;

    for (size_t k = 0; k < p->nkernel; k++) {
        uint64_t valid = 0;

        for (size_t w = 0; w < p->nworkload && !valid; w++)
            WS_TRY(ws__space_count(p->spaces[k * p->nworkload + w], &valid));
        s->nkernel += valid > 0;
    }
    s->nkernel += !s->nkernel;
    return 0;
}

int ws__lanes_start(const struct ws__problem_space *p, bool anchors,
                    void **state)
{
    const struct ws__identity *d = p->device;
    struct ws__lanes *s = ws__alloc(p->ctx, 1, sizeof(*s));
    int rc = 0;

    if (!s)
        return WS_ENOMEM;
    s->p = p;
    s->anchors = anchors;
    s->sheet = ws__wave_sheets[0];
    if (d)
        s->sheet = ws__wave_sheet_of(
            &(struct ws__wave_device){.name = d->device,
                                      .units = d->units,
                                      .cache_bytes = (double)d->cache_bytes,
                                      .vector_bytes = d->vector_bytes,
                                      .is_cpu = d->is_cpu});
    s->lane = ws__alloc(p->ctx, p->nkernel, sizeof(*s->lane));
    rc = s->lane ? copy_axes(s) : WS_ENOMEM;
    if (!rc)
        rc = count_kernels(s);
    for (size_t k = 0; k < p->nkernel && !rc; k++) {
        s->lane[k].search = s;
        s->lane[k].kernel = (uint32_t)k;
        rc = open_lane(&s->lane[k]);
    }
    if (rc) {
        ws__lanes_end(s);
        return rc;
    }
    *state = s;
    return 0;
}

int ws__lanes_ask(void *state, struct ws__candidate *c, uint32_t *workload)
{
    struct ws__lanes *s = state;

    for (size_t i = 0; i < s->p->nkernel; i++) {
        struct lane *l = &s->lane[s->turn++ % s->p->nkernel];
        uint32_t config;
        int rc =
            l->done ? WS_EDONE : ws__wave_plan_next(l->plan, workload, &config);

        while (rc == WS_EDONE && !l->done) {
            rc = next_configs(l);
            l->done = rc != 0;
            if (!rc)
                rc = ws__wave_plan_next(l->plan, workload, &config);
        }
        l->done = rc == WS_EDONE;
        if (l->done)
            continue;
        WS_TRY(rc);
        c->kernel = l->kernel;
        c->config = l->config[config];
        return 0;
    }
    return WS_EDONE;
}

/* What the build said of a config changes what its pairs are. */
static void note_occupancy(struct lane *l, size_t config, uint32_t occupancy)
{
    if (occupancy && l->maker.config[config].occupancy != occupancy)
        ws__wave_table_occupancy(&l->maker, config, occupancy);
}

int ws__lanes_tell(void *state, const struct ws__trial *t)
{
    struct ws__lanes *s = state;
    struct lane *l = &s->lane[t->candidate.kernel];
    double score = ws__trial_score(s->p->ctx, t);
    struct ws__wave_sample x = {.shape = t->workload, .clock = 1};

    while (x.config < l->nconfig &&
           !ws__config_eq(&l->config[x.config], &t->candidate.config))
        x.config++;
    if (x.config == l->nconfig)
        return 0;
    note_occupancy(l, x.config, t->res.blocks_per_unit);
    x.log_ns = isfinite(score) && score > 0 ? log(score) : HUGE_VAL;
    if (t->mhz)
        x.clock = fmin(1, t->mhz / s->sheet.mhz);
    if (t->verdict == WS__V_BUILD || t->verdict == WS__V_LAUNCH)
        ws__wave_plan_bar(l->plan, x.config);
    return ws__wave_plan_tell(l->plan, &x);
}
