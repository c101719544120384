/*
 * lanes.c: strategies over plans of the wave model.
 *
 * One model a kernel, over all workloads at once: a time on one shape tells of
 * others. src/wave decides which pair of shape and config to time next; this
 * file gives it the pairs there are. Where a kernel has more configs than a
 * model can hold, a sample of them takes part. Kernels take turns.
 *
 * A config that cannot be built or launched is asked on no other shape.
 */
#include "search/lanes.h"

#include <math.h>

#include "wave/wave_table.h"

#include "base/banned.h"

#define CONFIGS_MAX 384
/* Without a limit on trials: a first look of so many. */
#define SPREAD 24

struct lane { /* of one kernel */
    const struct ws__lanes *search;
    uint32_t kernel;
    struct ws__config *config;
    size_t nconfig;
    struct ws__wave_maker maker;
    struct ws__wave_plan *plan;
    bool done;
};

struct ws__lanes {
    const struct ws__problem_space *p;
    struct ws__wave_sheet sheet;
    int64_t *axis; /* workload * naxis + axis */
    struct lane *lane;
    size_t turn;
    bool anchors;
};

void ws__lanes_end(void *state)
{
    struct ws__lanes *s = state;
    struct ws_ctx *ctx = s->p->ctx;

    for (size_t k = 0; s->lane && k < s->p->nkernel; k++) {
        ws__wave_plan_free(s->lane[k].plan);
        if (s->lane[k].maker.ctx)
            ws__wave_table_clear(&s->lane[k].maker);
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

static void add(struct lane *l, const struct ws__config *c)
{
    for (size_t i = 0; i < l->nconfig; i++)
        if (ws__config_eq(&l->config[i], c))
            return;
    if (l->nconfig < CONFIGS_MAX)
        l->config[l->nconfig++] = *c;
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
            add(l, &c);
        }
        WS_TRY(rc);
    }
    return 0;
}

/* As many of each workload's space, the default before them. */
static int add_sample(struct lane *l)
{
    const struct ws__problem_space *p = l->search->p;
    size_t each = CONFIGS_MAX / p->nworkload + 1, got;
    struct ws__config *c = ws__alloc(p->ctx, each, sizeof(*c)), dflt;
    struct ws__rng rng;
    int rc = c ? 0 : WS_ENOMEM;

    l->nconfig = 0;
    ws__config_default(&p->kernel[l->kernel], &dflt);
    add(l, &dflt);
    ws__rng_seed(&rng, ws__rng_at(p->seed, l->kernel));
    for (size_t w = 0; w < p->nworkload && !rc; w++) {
        rc = ws__space_sample(space_of(l, w), &rng, each, c, &got);
        for (size_t i = 0; i < got && !rc; i++)
            add(l, &c[i]);
    }
    ws__free(p->ctx, c);
    return rc;
}

static int find_configs(struct lane *l)
{
    const struct ws__problem_space *p = l->search->p;
    int rc;

    l->config = ws__alloc(p->ctx, CONFIGS_MAX, sizeof(*l->config));
    if (!l->config)
        return WS_ENOMEM;
    rc = add_all(l);
    return rc == WS_ELIMIT ? add_sample(l) : rc;
}

static bool feasible(void *user, size_t shape, size_t config)
{
    const struct lane *l = user;
    const struct ws__problem_space *p = l->search->p;
    struct ws__candidate c = {.kernel = l->kernel, .config = l->config[config]};

    return ws__space_valid(space_of(l, shape), &c.config, NULL) == 1 &&
           (!p->fits || p->fits(p->fits_user, &c, (uint32_t)shape) == 1);
}

static int open_lane(struct lane *l)
{
    const struct ws__lanes *s = l->search;
    struct ws__wave_plan_opts o = {.budget = 0,
                                   .spread = SPREAD,
                                   .improve = true,
                                   .anchors = s->anchors,
                                   .seed = ws__rng_at(s->p->seed, l->kernel)};

    WS_TRY(find_configs(l));
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
        o.spread = (size_t)(s->p->budget / s->p->nkernel * 3 / 10);
    return ws__wave_plan_new(&l->maker.table, &o, &l->plan);
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
static void note_facts(struct lane *l, size_t config,
                       const struct ws__resources *r)
{
    struct ws__wave_config facts = {.occupancy = r->blocks_per_unit,
                                    .registers = r->registers,
                                    .spills = r->spill_bytes / 4};

    if (!r->blocks_per_unit ||
        l->maker.config[config].occupancy == r->blocks_per_unit)
        return;
    ws__wave_table_facts(&l->maker, config, &facts);
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
    note_facts(l, x.config, &t->res);
    x.log_ns = isfinite(score) && score > 0 ? log(score) : HUGE_VAL;
    if (t->mhz)
        x.clock = fmin(1, t->mhz / s->sheet.mhz);
    if (t->verdict == WS__V_BUILD || t->verdict == WS__V_LAUNCH)
        ws__wave_plan_bar(l->plan, x.config);
    return ws__wave_plan_tell(l->plan, &x);
}
