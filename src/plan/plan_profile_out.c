/*
 * plan_profile_out.c: a profile as the public header has it. All of it lies in
 * the specification's arena.
 */
#include "plan/plan_profile.h"

#include <math.h>

#include "base/banned.h"

static double or_nan(double v)
{
    return v > 0 ? v : NAN;
}

static int text_of(struct ws__profiling const *p, int rc, struct ws__buf *b,
                   const char **out)
{
    if (!rc) {
        *out = ws__arena_strdup(&p->spec->arena, b->data ? b->data : "");
        rc = *out ? 0 : WS_ENOMEM;
    }
    ws__buf_free(b);
    return rc;
}

static int hex(struct ws__arena *a, struct ws__hash h, const char **out)
{
    char text[33];

    ws__hash_hex(h, text);
    *out = ws__arena_strdup(a, text);
    return *out ? 0 : WS_ENOMEM;
}

static int put_names(const struct ws__profiling *p, struct ws_profile *out)
{
    struct ws__arena *a = &p->spec->arena;
    const struct ws__kernel *k = &p->spec->s->kernel[p->c.kernel];
    struct ws__hash none = {0, 0};
    struct ws__buf b;

    ws__buf_init(&b, p->spec->ctx, 1 << 16);
    WS_TRY(text_of(p, ws__config_print(&b, k, &p->c.config), &b, &out->config));
    ws__buf_init(&b, p->spec->ctx, 1 << 16);
    WS_TRY(text_of(p, ws__workload_print(&b, p->spec->s->op, &p->w[0]), &b,
                   &out->workload));
    out->kernel = k->name;
    out->device = ws__arena_strdup(a, p->device->id.device);
    out->config_from = p->config_from;
    out->verdict = ws__verdict_key(p->t.verdict);
    if (p->t.reason && !(out->reason = ws__arena_strdup(a, p->t.reason)))
        return WS_ENOMEM;
    WS_TRY(hex(a, p->t.candidate_hash, &out->candidate));
    if (!ws__hash_eq(p->t.res.binary, none))
        WS_TRY(hex(a, p->t.res.binary, &out->binary));
    out->cache = p->t.cache == WS__CACHE_WARM ? "warm" : "cold";
    return out->device ? 0 : WS_ENOMEM;
}

static int put_floor(const struct ws__profiling *p, struct ws_profile *out)
{
    const struct ws__floor *f = &p->floor;

    out->bytes = or_nan(f->bytes); /* 0: a kernel that is not right */
    out->declared_bytes = p->in.bytes;
    out->flops = or_nan(f->flops);
    out->bytes_ns = or_nan(f->bytes_ns);
    out->flops_ns = or_nan(f->flops_ns);
    out->floor_ns = or_nan(f->ns);
    out->launch_ns = or_nan(f->launch_ns);
    out->gap = out->time_ns / out->floor_ns;
    out->bytes_by = ws__roof_key(f->by_bytes);
    out->flops_by = ws__roof_key(f->by_flops);
    out->bytes_from = ws__roof_from(f->bytes_from);
    out->cached_bytes = f->cached;
    out->cached_from = ws__roof_from(f->cached_from);
    out->flops_from = ws__roof_from(f->flops_from);
    out->launch_from = ws__roof_from(f->launch_from);
    out->partly = f->partly_known;
    out->roof = ws__arena_strdup(&p->spec->arena, p->roof.device);
    out->roof_ns = p->roof.measured_ns;
    return out->roof ? 0 : WS_ENOMEM;
}

/* A driver that counts no registers says nothing by its other zeros. */
static double resource(const struct ws__resources *r, uint32_t v)
{
    return r->registers || v ? (double)v : NAN;
}

static void put_resources(const struct ws__profiling *p, struct ws_profile *out)
{
    const struct ws__resources *r = &p->res;

    out->registers = resource(r, r->registers);
    out->spill_bytes = resource(r, r->spill_bytes);
    out->shared_bytes = resource(r, r->shared_bytes);
    out->private_bytes = resource(r, r->private_bytes);
    out->main_launch = p->main_launch;
    out->mix_why = p->mix_why;
    out->scaled_ns = p->scaled_ns;
    out->fixed_ns = p->fixed_ns;
    if (p->scaled_axis < 0)
        return;
    out->scaled_axis = p->spec->s->op->axis[p->scaled_axis].name;
    out->scaled_to = p->w[1].axis[p->scaled_axis];
}

static struct ws_profile_value value_of(const double *fact, enum ws__fact f)
{
    return (struct ws_profile_value){ws__fact_key(f), ws__fact_unit(f),
                                     ws__fact_about(f), fact[f]};
}

static int put_mix(const struct ws__profiling *p, struct ws_profile *out)
{
    struct ws_profile_value *v =
        ws__arena_alloc(&p->spec->arena, WS__NSASS, sizeof(*v));

    if (!v)
        return WS_ENOMEM;
    for (size_t i = 0; i < WS__NSASS && p->mix.total; i++)
        v[out->nmix++] =
            (struct ws_profile_value){ws__sass_key((enum ws__sass_class)i),
                                      "instruction",
                                      ws__sass_words((enum ws__sass_class)i),
                                      (double)p->mix.count[i]};
    out->mix = v;
    return 0;
}

static int put_facts(const struct ws__profiling *p, const double *fact,
                     struct ws_profile *out)
{
    struct ws_profile_value *v =
        ws__arena_alloc(&p->spec->arena, WS__NFACT, sizeof(*v));

    if (!v)
        return WS_ENOMEM;
    for (size_t i = 0; i < WS__NFACT; i++)
        if (!isnan(fact[i]))
            v[out->nfact++] = value_of(fact, (enum ws__fact)i);
    out->fact = v;
    return 0;
}

static void put_use(const struct ws__profile_use *u,
                    struct ws_profile_launch *l)
{
    l->registers = u->registers;
    l->shared_bytes = u->shared_bytes;
    l->local_bytes = u->local_bytes;
    l->blocks_per_unit = or_nan(u->occupancy.blocks);
    l->occupancy = or_nan(u->occupancy.share);
    l->waves = or_nan(u->occupancy.waves);
    l->limiter = ws__limiter_text(u->occupancy.limiter);
}

static int put_launch(const struct ws__profiling *p, size_t i,
                      struct ws_profile_launch *l)
{
    const struct ws__plan_launch *from = &p->plan.launch[i];
    struct ws_profile_value *v =
        ws__arena_alloc(&p->spec->arena, WS__NMETRIC, sizeof(*v));

    l->entry = ws__arena_strdup(&p->spec->arena, ws__plan_entry(from));
    if (!v || !l->entry)
        return WS_ENOMEM;
    for (int d = 0; d < 3; d++) {
        l->grid[d] = from->grid[d];
        l->block[d] = from->block[d];
    }
    put_use(&p->use[i], l);
    for (size_t m = 0; m < WS__NMETRIC && p->counter; m++) {
        enum ws__metric metric = (enum ws__metric)m;
        const char *name = ws__metric_name(metric, p->arch);

        v[l->ncounter++] =
            (struct ws_profile_value){ws__metric_key(metric),
                                      ws__metric_unit(metric), name ? name : "",
                                      p->counter[i * WS__NMETRIC + m]};
    }
    l->counter = v;
    return 0;
}

static int put_launches(const struct ws__profiling *p, struct ws_profile *out)
{
    struct ws_profile_launch *l =
        ws__arena_alloc(&p->spec->arena, p->plan.nlaunch, sizeof(*l));

    if (!l)
        return WS_ENOMEM;
    out->launch = l;
    for (; out->nlaunch < p->plan.nlaunch; out->nlaunch++)
        WS_TRY(put_launch(p, out->nlaunch, &l[out->nlaunch]));
    return 0;
}

/* What a transformation should move, as it is now: a counter, or the time. */
static struct ws_profile_value moved(const struct ws__profiling *p,
                                     const struct ws__subject *s,
                                     const double *fact, const char *key)
{
    enum ws__metric m = ws__metric_find(key);
    enum ws__fact f = ws__fact_find(key);
    const char *name = ws__metric_name(m, p->arch);

    if (f < WS__NFACT)
        return value_of(fact, f);
    return (struct ws_profile_value){key, ws__metric_unit(m), name ? name : "",
                                     ws__subject_counter(s, m)};
}

static int put_finding(const struct ws__profiling *p,
                       const struct ws__subject *s, const double *fact,
                       const struct ws__finding *from,
                       struct ws_profile_finding *to)
{
    struct ws__arena *a = &p->spec->arena;
    const struct ws__rule *r = from->rule;
    struct ws_profile_value *v =
        ws__arena_alloc(a, from->nevidence + 1, sizeof(*v));
    struct ws_profile_move *m = ws__arena_alloc(a, WS__RULE_MOVES, sizeof(*m));

    if (!v || !m)
        return WS_ENOMEM;
    *to = (struct ws_profile_finding){.key = r->key,
                                      .text = r->text,
                                      .bound = ws__bound_key(r->bound),
                                      .evidence = v,
                                      .move = m};
    for (size_t i = 0; i < from->nevidence; i++)
        v[to->nevidence++] = value_of(fact, from->evidence[i]);
    for (size_t i = 0; i < WS__RULE_MOVES && r->move[i].id; i++)
        m[to->nmove++] =
            (struct ws_profile_move){r->move[i].id,
                                     ws__move_name(r->move[i].id),
                                     r->move[i].up,
                                     moved(p, s, fact, r->move[i].metric)};
    return 0;
}

static int put_diagnosis(const struct ws__profiling *p,
                         const struct ws__subject *subject, const double *fact,
                         struct ws_profile *out)
{
    struct ws__arena *a = &p->spec->arena;
    struct ws__diagnosis *d = ws__arena_alloc(a, 1, sizeof(*d));
    struct ws_profile_finding *f;
    struct ws_profile_blind *b;
    struct ws_profile_value *s = ws__arena_alloc(a, 3, sizeof(*s));

    if (!d || !s)
        return WS_ENOMEM;
    ws__diagnose(fact, d);
    f = ws__arena_alloc(a, d->nfinding + 1, sizeof(*f));
    b = ws__arena_alloc(a, d->nblind + 1, sizeof(*b));
    if (!f || !b)
        return WS_ENOMEM;
    out->bound = ws__bound_key(d->bound);
    out->bound_text = ws__bound_text(d->bound);
    for (size_t i = 0; i < d->nfinding; i++)
        WS_TRY(put_finding(p, subject, fact, &d->finding[i], &f[i]));
    for (size_t i = 0; i < d->nblind; i++)
        b[i] = (struct ws_profile_blind){d->blind[i].rule->key,
                                         d->blind[i].rule->text,
                                         ws__fact_key(d->blind[i].fact),
                                         ws__needs_text(
                                             ws__fact_needs(d->blind[i].fact))};
    for (size_t i = 0; i < d->nstall; i++)
        s[i] = value_of(fact, d->stall[i]);
    out->finding = f;
    out->nfinding = d->nfinding;
    out->blind = b;
    out->nblind = d->nblind;
    out->stall = s;
    out->nstall = d->nstall;
    return 0;
}

static struct ws__subject subject_of(const struct ws__profiling *p)
{
    return (struct ws__subject){.floor = &p->floor,
                                .roof = &p->roof,
                                .res = &p->res,
                                .occupancy = &p->use[p->main_launch].occupancy,
                                .mix = &p->mix,
                                .time_ns = p->time.median,
                                .fixed_ns = p->fixed_ns,
                                .counter = p->counter,
                                .nlaunch = p->plan.nlaunch};
}

void ws__profile_facts(const struct ws__profiling *p, double fact[WS__NFACT])
{
    const struct ws__subject s = subject_of(p);

    ws__facts_make(&s, fact);
}

int ws__profile_public(const struct ws__profiling *p, struct ws_profile *out)
{
    bool right = p->t.verdict == WS__V_OK && p->t.nsample;
    double fact[WS__NFACT];
    struct ws__subject subject;

    WS_TRY(put_names(p, out));
    out->bound = ws__bound_key(WS__BOUND_UNKNOWN);
    out->bound_text = ws__bound_text(WS__BOUND_UNKNOWN);
    out->counters = p->counters;
    out->counters_why = p->counters_why ? p->counters_why : "";
    out->passes = p->passes;
    out->time_ns = right ? p->time.median : NAN;
    out->lo_ns = right ? p->time.lo : NAN;
    out->hi_ns = right ? p->time.hi : NAN;
    WS_TRY(put_floor(p, out));
    put_resources(p, out);
    if (!right)
        return 0;
    ws__profile_facts(p, fact);
    WS_TRY(put_mix(p, out));
    WS_TRY(put_facts(p, fact, out));
    WS_TRY(put_launches(p, out));
    subject = subject_of(p);
    return put_diagnosis(p, &subject, fact, out);
}
