/* population.c: programs of evolutionary strategies. See population.h. */
#include "search/population.h"

#include <math.h>

#include "base/banned.h"

#define DRAWS 32

/* --- opening -------------------------------------------------------------- */

int ws__population_open(struct ws__population *o,
                        const struct ws__problem_space *p)
{
    size_t nspace = p->nkernel * p->nworkload;

    memset(o, 0, sizeof(*o));
    o->p = p;
    ws__rng_seed(&o->rng, p->seed);
    for (size_t i = 0; i < WS__FLIGHT; i++)
        o->flight[i].program = -1;
    o->dflt_ns = ws__alloc(p->ctx, p->nworkload, sizeof(*o->dflt_ns));
    o->left = ws__alloc(p->ctx, nspace, sizeof(*o->left));
    if (!o->dflt_ns || !o->left)
        return WS_ENOMEM;
    for (size_t i = 0; i < nspace; i++)
        ws__space_begin(p->spaces[i], &o->left[i]);
    return 0;
}

void ws__population_close(struct ws__population *o)
{
    struct ws_ctx *ctx = o->p->ctx;

    ws__seen_clear(ctx, &o->seen);
    ws__free(ctx, o->program);
    ws__free(ctx, o->dflt_ns);
    ws__free(ctx, o->left);
}

/* --- asking --------------------------------------------------------------- */

/* 1, 0 or an error. */
static int may_run(const struct ws__population *o,
                   const struct ws__candidate *c, size_t w)
{
    const struct ws__problem_space *p = o->p;
    struct ws__space *space = p->spaces[c->kernel * p->nworkload + w];
    int rc = ws__space_valid(space, &c->config, NULL);

    if (rc > 0 && p->fits)
        rc = p->fits(p->fits_user, c, (uint32_t)w);
    return rc;
}

int ws__population_ask(struct ws__population *o, struct ws__candidate *c,
                       uint32_t *workload)
{
    bool room = false;

    for (size_t i = 0; i < WS__FLIGHT; i++) {
        struct ws__flight *f = &o->flight[i];

        room = room || f->program < 0;
        while (f->program >= 0 && !f->failed && f->next < o->p->nworkload) {
            size_t w = f->next++;
            int rc = may_run(o, &o->program[f->program].c, w);

            WS_TRY(rc);
            if (!rc)
                continue;
            f->asked++;
            *c = o->program[f->program].c;
            *workload = (uint32_t)w;
            return 0;
        }
    }
    return room ? WS_EDONE : WS__ASK_WAIT;
}

bool ws__population_waits(const struct ws__population *o)
{
    for (size_t i = 0; i < WS__FLIGHT; i++)
        if (o->flight[i].program >= 0)
            return true;
    return false;
}

/* On how many workloads it may run; the default stands on the others. */
static int count_workloads(struct ws__population *o,
                           const struct ws__candidate *c, struct ws__flight *f)
{
    f->all = 0;
    f->sum = 0;
    for (size_t w = 0; w < o->p->nworkload; w++) {
        int rc = may_run(o, c, w);

        WS_TRY(rc);
        f->all += rc > 0;
        f->sum += !rc;
    }
    return 0;
}

int ws__population_add(struct ws__population *o, const struct ws__candidate *c,
                       int32_t parent, uint32_t island, uint8_t how)
{
    struct ws__flight *f = o->flight, new = {.program = (int32_t)o->n};

    while (f->program >= 0)
        f++;
    WS_TRY(count_workloads(o, c, &new));
    WS_TRY(ws__seen_add(o->p->ctx, &o->seen, c));
    WS_TRY(ws__grow(o->p->ctx, (void **)&o->program, &o->cap, o->n,
                    sizeof(*o->program)));
    if (parent >= 0)
        o->program[parent].children++;
    o->program[o->n] = (struct ws__program){.c = *c,
                                            .parent = parent,
                                            .island = island,
                                            .how = how};
    o->n++;
    *f = new;
    return 0;
}

/* --- telling -------------------------------------------------------------- */

static bool is_over(const struct ws__flight *f)
{
    return f->told == f->asked && (f->failed || f->asked == f->all);
}

/* Defaults come first: what others are compared with. */
static void note_default(struct ws__population *o, const struct ws__trial *t,
                         double ns)
{
    struct ws__config dflt;

    if (o->dflt_ns[t->workload] > 0 || !isfinite(ns))
        return;
    ws__config_default(&o->p->kernel[t->candidate.kernel], &dflt);
    if (ws__config_eq(&dflt, &t->candidate.config))
        o->dflt_ns[t->workload] = ns;
}

int ws__population_tell(struct ws__population *o, const struct ws__trial *t,
                        int32_t *known)
{
    double ns = ws__trial_score(o->p->ctx, t);
    struct ws__flight *f = NULL;

    *known = -1;
    note_default(o, t, ns);
    for (size_t i = 0; i < WS__FLIGHT; i++)
        if (o->flight[i].program >= 0 &&
            ws__candidate_eq(&o->program[o->flight[i].program].c,
                             &t->candidate))
            f = &o->flight[i];
    if (!f || f->told == f->asked) /* a default, before it was asked for */
        return 0;
    f->told++;
    if (!isfinite(ns))
        f->failed = true;
    else
        f->sum +=
            o->dflt_ns[t->workload] > 0 ? o->dflt_ns[t->workload] / ns : 1;
    if (!is_over(f))
        return 0;
    *known = f->program;
    o->program[f->program].known = true;
    o->program[f->program].fitness =
        f->failed ? 0 : f->sum / (double)o->p->nworkload;
    f->program = -1;
    return 0;
}

void ws__population_archive(const struct ws__population *o,
                            struct ws__archive *a, int32_t program)
{
    double fitness = o->program[program].fitness;
    size_t at = a->n;

    if (at < a->room)
        a->n++;
    else if (fitness <= o->program[a->program[--at]].fitness)
        return;
    for (; at && fitness > o->program[a->program[at - 1]].fitness; at--)
        a->program[at] = a->program[at - 1];
    a->program[at] = program;
}

/* --- variation ------------------------------------------------------------ */

/* New, and valid on a workload: 1, 0 or an error. */
static int is_open(struct ws__population *o, const struct ws__candidate *c)
{
    int rc = 0;

    if (ws__seen_has(&o->seen, c))
        return 0;
    for (size_t w = 0; w < o->p->nworkload && !rc; w++)
        rc = may_run(o, c, w);
    return rc;
}

static int draw(struct ws__population *o, size_t kernel,
                struct ws__candidate *out)
{
    const struct ws__problem_space *p = o->p;

    for (int i = 0; i < DRAWS; i++) {
        size_t w = ws__rng_below(&o->rng, p->nworkload), got;
        int rc;

        WS_TRY(ws__space_sample(p->spaces[kernel * p->nworkload + w], &o->rng,
                                1, &out->config, &got));
        rc = got ? is_open(o, out) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

/* The next one that nobody made, in the order of the spaces. */
static int walk(struct ws__population *o, size_t kernel,
                struct ws__candidate *out)
{
    const struct ws__problem_space *p = o->p;

    for (size_t w = 0; w < p->nworkload; w++) {
        struct ws__space_iter *it = &o->left[kernel * p->nworkload + w];
        int rc;

        while ((rc = ws__space_next(it, &out->config)) > 0) {
            rc = is_open(o, out);
            if (rc)
                return rc;
            WS_TRY(ws__check_stop(p->ctx));
        }
        WS_TRY(rc);
    }
    return 0;
}

int ws__population_random(struct ws__population *o, struct ws__candidate *out)
{
    for (size_t i = 0; i < o->p->nkernel; i++) {
        int rc;

        memset(out, 0, sizeof(*out));
        out->kernel = (uint32_t)(o->kernel++ % o->p->nkernel);
        rc = draw(o, out->kernel, out);
        if (!rc)
            rc = walk(o, out->kernel, out);
        if (rc)
            return rc;
    }
    return 0;
}

int ws__population_mutate(struct ws__population *o,
                          const struct ws__candidate *from, size_t changes,
                          struct ws__candidate *out)
{
    const struct ws__kernel *k = &o->p->kernel[from->kernel];

    for (int i = 0; i < DRAWS && k->nparam; i++) {
        int rc;

        *out = *from;
        for (size_t n = 0; n < changes; n++) {
            size_t at = ws__rng_below(&o->rng, k->nparam);

            out->config.at[at] =
                (uint16_t)ws__rng_below(&o->rng, k->param[at].nvalue);
        }
        rc = is_open(o, out);
        if (rc)
            return rc;
    }
    return 0;
}

int ws__population_cross(struct ws__population *o,
                         const struct ws__candidate *a,
                         const struct ws__candidate *b,
                         struct ws__candidate *out)
{
    const struct ws__kernel *k = &o->p->kernel[a->kernel];

    for (int i = 0; i < DRAWS && a->kernel == b->kernel; i++) {
        int rc;

        *out = *a;
        for (size_t n = 0; n < k->nparam; n++)
            if (ws__rng_below(&o->rng, 2))
                out->config.at[n] = b->config.at[n];
        rc = is_open(o, out);
        if (rc)
            return rc;
    }
    return 0;
}

int ws__population_begin(struct ws__population *o, size_t kernel,
                         struct ws__candidate *out)
{
    struct ws__candidate dflt = {.kernel = (uint32_t)kernel};
    int rc;

    ws__config_default(&o->p->kernel[kernel], &dflt.config);
    *out = dflt;
    rc = is_open(o, out);
    if (!rc)
        rc =
            ws__population_mutate(o, &dflt, 1 + ws__rng_below(&o->rng, 3), out);
    return rc;
}
