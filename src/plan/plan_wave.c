/*
 * plan_wave.c: from the trials of a run to the models of its pack.
 *
 * For each combination of types among the workloads one model, in which every
 * kernel has constants of its own, fitted on its ok trials. Candidates of the
 * pack are the configs that were right wherever they were tried, and the
 * defaults that fit the device. Where a config's time on a workload was
 * confirmed, that counts and its screening does not: the best of many short
 * looks is a lucky one. What the process knows is asked on the
 * workloads and between them, for a pack is used on other shapes than those
 * that were timed.
 *
 * Too few trials make no model: the pack then answers by the nearest shape.
 */
#include <math.h>
#include <stdlib.h>

#include "plan/plan_tune.h"
#include "wave/wave_table.h"
#include "wsrt_format.h"

#include "base/banned.h"

#define TRIALS_MIN 24
#define SHAPES_MIN 2
/* By how many of its deviations a choice has to beat the default: 84 of 100
 * times it is then faster. */
#define DEVIATIONS 1
#define BETWEEN 64 /* shapes between the workloads */

struct timing {
    uint32_t workload, mhz;
    double ns;
    bool confirmed;
};

/* A config of a kernel, and what is known of it. */
struct subject {
    struct ws__candidate candidate;
    uint32_t occupancy; /* 0: unknown */
    double lag;         /* least time over the best of a workload */
    bool wrong, dflt;
    struct timing *timing;
    size_t n, cap;
};

struct waves {
    struct ws_spec *spec;
    struct ws__arena *a;
    struct ws__wave_sheet sheet;
    struct ws__rng rng;
    struct subject *subject;
    size_t n, cap;
    double *best; /* of each workload, ns; infinity: none */
};

/* --- trials --------------------------------------------------------------- */

static int subject_of(struct waves *w, const struct ws__candidate *c,
                      struct subject **out)
{
    for (size_t i = 0; i < w->n; i++)
        if (ws__candidate_eq(&w->subject[i].candidate, c)) {
            *out = &w->subject[i];
            return 0;
        }
    WS_TRY(ws__grow(w->spec->ctx, (void **)&w->subject, &w->cap, w->n,
                    sizeof(*w->subject)));
    *out = &w->subject[w->n++];
    memset(*out, 0, sizeof(**out));
    (*out)->candidate = *c;
    (*out)->lag = HUGE_VAL;
    return 0;
}

/* A confirmed time takes the place of a screening, and none comes behind it. */
static int note_time(struct waves *w, struct subject *s, const struct timing *x)
{
    size_t kept = 0;
    bool known = false;

    for (size_t i = 0; i < s->n; i++) {
        const struct timing *old = &s->timing[i];
        bool other =
            old->workload == x->workload && old->confirmed != x->confirmed;

        if (other && known && x->confirmed)
            continue;
        s->timing[kept++] = other && x->confirmed ? *x : *old;
        known = known || other;
    }
    s->n = kept;
    if (known)
        return 0;
    WS_TRY(ws__grow(w->spec->ctx, (void **)&s->timing, &s->cap, s->n,
                    sizeof(*s->timing)));
    s->timing[s->n++] = *x;
    return 0;
}

static int note(struct waves *w, const struct ws__trial *t, bool confirmed)
{
    double ns = ws__trial_score(w->spec->ctx, t);
    struct subject *s;

    WS_TRY(subject_of(w, &t->candidate, &s));
    if (t->res.blocks_per_unit)
        s->occupancy = t->res.blocks_per_unit;
    s->wrong |= t->verdict == WS__V_WRONG || t->verdict == WS__V_CHEAT ||
                t->verdict == WS__V_CRASH || t->verdict == WS__V_HANG;
    if (t->verdict != WS__V_OK || !isfinite(ns) || !(ns > 0))
        return 0;
    return note_time(w, s,
                     &(struct timing){t->workload, t->mhz, ns, confirmed});
}

static int on_answer(void *user, const struct ws__question *q,
                     const struct ws__trial *t, size_t n)
{
    struct waves *w = user;
    int rc = 0;

    for (size_t i = 0; i < n && rc >= 0; i++)
        if (t[i].workload < w->spec->s->nworkload)
            rc = note(w, &t[i], q->effort == WS__CONFIRM);
    return rc;
}

static int find_defaults(struct waves *w, const struct ws__pack_content *p)
{
    for (uint32_t k = 0; k < w->spec->s->nkernel; k++) {
        struct ws__candidate c;
        struct subject *s;

        memset(&c, 0, sizeof(c));
        c.kernel = k;
        ws__config_default(&w->spec->s->kernel[k], &c.config);
        if (!ws__pack_fits_device(p, &c))
            continue;
        WS_TRY(subject_of(w, &c, &s));
        s->dflt = true;
    }
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = 0; j < w->subject[i].n; j++) {
            const struct timing *t = &w->subject[i].timing[j];

            w->best[t->workload] = fmin(w->best[t->workload], t->ns);
        }
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = 0; j < w->subject[i].n; j++) {
            const struct timing *t = &w->subject[i].timing[j];

            w->subject[i].lag =
                fmin(w->subject[i].lag, t->ns / w->best[t->workload]);
        }
    return 0;
}

/* Defaults first, then those that came nearest to the best of a workload. */
static int by_use(const void *a, const void *b)
{
    const struct subject *x = a, *y = b;

    if (x->dflt != y->dflt)
        return x->dflt ? -1 : 1;
    return (x->lag > y->lag) - (x->lag < y->lag);
}

static void drop_useless(struct waves *w)
{
    size_t n = 0;

    qsort(w->subject, w->n, sizeof(*w->subject), by_use);
    for (size_t i = 0; i < w->n; i++) {
        struct subject *s = &w->subject[i];

        if ((s->dflt || (s->n && !s->wrong)) && n < WSRT_MAX_FORMS)
            w->subject[n++] = *s;
        else
            ws__free(w->spec->ctx, s->timing);
    }
    w->n = n;
}

/* --- one kernel, one combination of types --------------------------------- */

struct lane {
    struct waves *w;
    uint32_t kernel;
    uint32_t *workload; /* those of the types */
    size_t nworkload, nshape;
    int64_t *axis;
    struct ws__config *config;
    uint32_t *occupancy;
    size_t nconfig;
    bool has_default; /* as the first */
    struct ws__wave_sample *sample;
    size_t nsample;
};

static bool always(void *user, size_t shape, size_t config)
{
    (void)user;
    (void)shape;
    (void)config;
    return true;
}

/* Between two workloads, as ratios go. */
static void mix(const struct ws__op *op, const int64_t *a, const int64_t *b,
                double share, int64_t *out)
{
    for (size_t i = 0; i < op->naxis; i++) {
        out[i] = a[i];
        if (op->axis[i].kind == WS__AXIS_VAR)
            out[i] = (int64_t)llround(exp((1 - share) * log((double)a[i]) +
                                          share * log((double)b[i])));
    }
}

static void set_shapes(struct lane *l)
{
    const struct ws__spec *s = l->w->spec->s;
    size_t naxis = s->op->naxis;

    l->nshape = l->nworkload;
    for (size_t i = 0; i < l->nworkload; i++)
        memcpy(l->axis + i * naxis, s->workload[l->workload[i]].axis,
               naxis * sizeof(*l->axis));
    for (; l->nshape < l->nworkload + BETWEEN; l->nshape++) {
        size_t a = (size_t)ws__rng_below(&l->w->rng, l->nworkload);
        size_t b = (size_t)ws__rng_below(&l->w->rng, l->nworkload);

        mix(s->op, l->axis + a * naxis, l->axis + b * naxis,
            ws__rng_unit(&l->w->rng), l->axis + l->nshape * naxis);
    }
}

static void set_configs(struct lane *l)
{
    for (size_t i = 0; i < l->w->n; i++) {
        const struct subject *s = &l->w->subject[i];

        if (s->candidate.kernel != l->kernel)
            continue;
        for (size_t t = 0; t < s->n; t++)
            for (size_t x = 0; x < l->nworkload; x++)
                if (l->workload[x] == s->timing[t].workload)
                    l->sample[l->nsample++] = (struct ws__wave_sample){
                        (uint32_t)x, (uint32_t)l->nconfig, log(s->timing[t].ns),
                        s->timing[t].mhz
                            ? fmin(1, s->timing[t].mhz / l->w->sheet.mhz)
                            : 1};
        l->config[l->nconfig] = s->candidate.config;
        l->occupancy[l->nconfig] = s->occupancy;
        l->has_default |= s->dflt;
        l->nconfig++;
    }
}

static int lane_room(struct lane *l)
{
    struct ws__arena *a = l->w->a;
    size_t times = 0;

    for (size_t i = 0; i < l->w->n; i++)
        times += l->w->subject[i].n;
    l->axis =
        ws__arena_alloc(a, (l->nworkload + BETWEEN) * l->w->spec->s->op->naxis,
                        sizeof(*l->axis));
    l->config = ws__arena_alloc(a, l->w->n, sizeof(*l->config));
    l->occupancy = ws__arena_alloc(a, l->w->n, sizeof(*l->occupancy));
    l->sample = ws__arena_alloc(a, times + 1, sizeof(*l->sample));
    return l->axis && l->config && l->occupancy && l->sample ? 0 : WS_ENOMEM;
}

static int fill_forms(struct lane *l, const struct ws__wave_model *m,
                      struct wsrt_wave_law *law, struct ws__pack_form *form)
{
    struct wsrt_wave_form *f = ws__arena_alloc(l->w->a, l->nconfig, sizeof(*f));
    int32_t *margin = ws__arena_alloc(l->w->a, l->nconfig, sizeof(*margin));
    unsigned char *timed = ws__arena_alloc(l->w->a, l->nshape, 1);

    if (!f || !margin || !timed)
        return WS_ENOMEM;
    memset(timed, 1, l->nworkload);
    WS_TRY(ws__wave_distil(m, NULL, law, f));
    if (l->has_default)
        WS_TRY(ws__wave_margin(m, 0, DEVIATIONS, timed, margin));
    for (uint32_t j = 0; j < l->nconfig; j++) {
        uint32_t held = l->occupancy[j];

        form[j].candidate.kernel = l->kernel;
        form[j].candidate.config = l->config[j];
        form[j].form = f[j];
        form[j].margin = margin[j];
        form[j].resident_blocks =
            (int64_t)l->w->sheet.units * (held ? held : 1);
    }
    return 0;
}

/* Appends a kernel's candidates to the model, if its trials are enough. */
static int fit_lane(struct lane *l, struct ws__pack_model *model,
                    struct wsrt_wave_law *law, struct ws__pack_form *form)
{
    struct ws__wave_maker maker;
    struct ws__wave_model *m = NULL;
    int rc;

    WS_TRY(lane_room(l));
    set_shapes(l);
    set_configs(l);
    if (l->nsample < TRIALS_MIN)
        return 0;
    WS_TRY(ws__wave_table_make(
        &(struct ws__wave_source){.ctx = l->w->spec->ctx,
                                  .kernel = &l->w->spec->s->kernel[l->kernel],
                                  .sheet = &l->w->sheet,
                                  .axis = l->axis,
                                  .nshape = l->nshape,
                                  .config = l->config,
                                  .occupancy = l->occupancy,
                                  .nconfig = l->nconfig,
                                  .feasible = always},
        &maker));
    rc = ws__wave_fit(&maker.table, l->sample, l->nsample, NULL, NULL, &m);
    if (!rc)
        rc = fill_forms(l, m, &law[l->kernel], form + model->nform);
    if (!rc)
        model->nform += l->nconfig;
    ws__wave_model_free(m);
    ws__wave_table_clear(&maker);
    return rc;
}

/* --- models --------------------------------------------------------------- */

/* Of the types of workload `first`. */
static int make_model(struct waves *w, size_t first, struct ws__pack_model *m)
{
    const struct ws__spec *s = w->spec->s;
    struct lane l = {.w = w};
    struct wsrt_wave_law *law = ws__arena_alloc(w->a, s->nkernel, sizeof(*law));
    struct ws__pack_form *form = ws__arena_alloc(w->a, w->n, sizeof(*form));
    struct ws__expr *const **coord =
        ws__arena_alloc(w->a, s->nkernel, sizeof(*coord));

    memset(m, 0, sizeof(*m));
    l.workload = ws__arena_alloc(w->a, s->nworkload, sizeof(*l.workload));
    if (!law || !form || !coord || !l.workload)
        return WS_ENOMEM;
    for (uint32_t i = 0; i < s->nworkload; i++)
        if (!ws__op_compare_types(s->op, s->workload[i].axis,
                                  s->workload[first].axis))
            l.workload[l.nworkload++] = i;
    memcpy(m->type, s->workload[first].axis, sizeof(m->type));
    m->form = form;
    m->law = law;
    m->coord = coord;
    for (uint32_t k = 0; k < s->nkernel && l.nworkload >= SHAPES_MIN; k++) {
        struct lane one = l;

        one.kernel = k;
        coord[k] = s->kernel[k].wave.coord;
        WS_TRY(fit_lane(&one, m, law, form));
    }
    return 0;
}

static int make_models(struct waves *w, struct ws__pack_content *c)
{
    const struct ws__spec *s = w->spec->s;
    struct ws__pack_model *m = ws__arena_alloc(w->a, s->nworkload, sizeof(*m));

    if (!m)
        return WS_ENOMEM;
    c->model = m;
    for (size_t i = 0; i < s->nworkload; i++) {
        bool seen = false;

        for (size_t k = 0; k < i && !seen; k++)
            seen = !ws__op_compare_types(s->op, s->workload[i].axis,
                                         s->workload[k].axis);
        if (seen)
            continue;
        WS_TRY(make_model(w, i, &m[c->nmodel]));
        c->nmodel += m[c->nmodel].nform > 0;
    }
    return 0;
}

int ws__plan_waves(struct ws_spec *spec, const struct ws__journal *j,
                   const struct ws__run *run, const struct ws__identity *id,
                   struct ws__arena *a, struct ws__pack_content *c)
{
    struct waves w = {.spec = spec, .a = a};
    size_t n = spec->s->nworkload;
    int rc = WS_ENOMEM;

    w.sheet = ws__wave_sheet_of(
        &(struct ws__wave_device){.name = id->device,
                                  .units = id->units,
                                  .cache_bytes = (double)id->cache_bytes,
                                  .vector_bytes = id->vector_bytes,
                                  .is_cpu = id->is_cpu});
    ws__rng_seed(&w.rng, 1);
    w.best = ws__arena_alloc(a, n + 1, sizeof(*w.best));
    if (w.best) {
        for (size_t i = 0; i < n; i++)
            w.best[i] = HUGE_VAL;
        rc = j->ops->replay(j->self, run, on_answer, &w);
    }
    if (!rc)
        rc = find_defaults(&w, c);
    if (!rc) {
        drop_useless(&w);
        rc = make_models(&w, c);
    }
    for (size_t i = 0; i < w.n; i++)
        ws__free(spec->ctx, w.subject[i].timing);
    ws__free(spec->ctx, w.subject);
    return rc;
}
