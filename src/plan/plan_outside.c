/*
 * plan_outside.c: an evaluator whose answers come from the caller.
 *
 * Somebody else measures: another process, by hand, on a machine that the tool
 * does not reach. Their trials are kept under an identity of their own, so they
 * never mix with measured ones.
 */
#include "plan/plan_recordings.h"
#include "plan/plan_tune.h"

#include "base/banned.h"

static enum ws__verdict verdict_of(const char *key)
{
    for (enum ws__verdict v = WS__V_OK; key && v < WS__V_FILTERED; v++)
        if (!strcmp(ws__verdict_key(v), key))
            return v;
    return WS__V_NONE;
}

/* --- asking --------------------------------------------------------------- */

struct told { /* a question in words */
    struct ws_question q;
    struct ws__buf workload, config, config_b;
};

static void told_end(struct told *t)
{
    ws__buf_free(&t->workload);
    ws__buf_free(&t->config);
    ws__buf_free(&t->config_b);
}

static int told_begin(struct ws__outside *o, const struct ws__question *q,
                      struct told *t)
{
    const struct ws__kernel *k = o->spec->s->kernel;
    const struct ws__workload *w =
        &ws__plan_subject(o->spec).workload[q->workload];

    memset(t, 0, sizeof(*t));
    ws__buf_init(&t->workload, o->spec->ctx, 1 << 16);
    ws__buf_init(&t->config, o->spec->ctx, 1 << 16);
    ws__buf_init(&t->config_b, o->spec->ctx, 1 << 16);
    WS_TRY(ws__plan_print_workload(&t->workload, o->spec, w));
    WS_TRY(ws__config_print(&t->config, &k[q->a.kernel], &q->a.config));
    if (q->pair)
        WS_TRY(ws__config_print(&t->config_b, &k[q->b.kernel], &q->b.config));
    t->q = (struct ws_question){.number = q->id,
                                .workload =
                                    t->workload.data ? t->workload.data : "",
                                .workload_name = w->name ? w->name : "",
                                .kernel = k[q->a.kernel].name,
                                .config = t->config.data ? t->config.data : "",
                                .effort = ws__effort_key(q->effort)};
    if (q->pair) {
        t->q.kernel_b = k[q->b.kernel].name;
        t->q.config_b = t->config_b.data ? t->config_b.data : "";
    }
    return 0;
}

static int prefetch(void *self, const struct ws__question *q, size_t n)
{
    struct ws__outside *o = self;
    int rc = 0;

    for (size_t i = 0; i < n && rc >= 0; i++) {
        struct told t;

        rc = told_begin(o, &q[i], &t);
        if (rc >= 0)
            rc = o->opts->answer(o->opts->answer_user, &t.q, NULL);
        told_end(&t);
    }
    return rc;
}

/* --- answers -------------------------------------------------------------- */

static int take(struct ws__outside *o, const struct ws__question *q,
                const struct ws_answer *a, struct ws__trial *t)
{
    struct ws_ctx *ctx = o->spec->ctx;

    t->verdict = verdict_of(a->verdict);
    t->effort = q->effort;
    if (t->verdict == WS__V_NONE) {
        ws__fail(ctx, WS_EINVAL, "answer %llu: '%.40s' is no verdict",
                 (unsigned long long)q->id, a->verdict ? a->verdict : "");
        return ws__hint(ctx, "ok, or why not: build, launch, crash, hang, "
                             "wrong, cheat, memory, too_fast");
    }
    t->did = t->verdict == WS__V_OK ? q->want : WS__WANT_BUILD;
    if (a->reason)
        WS_TRY(ws__trial_set_reason(ctx, t, "%.2000s", a->reason));
    if (t->verdict != WS__V_OK)
        return 0;
    if (!a->nsample)
        return ws__fail(ctx, WS_EINVAL, "answer %llu has no samples",
                        (unsigned long long)q->id);
    t->sample_ns = ws__alloc(ctx, a->nsample, sizeof(double));
    if (!t->sample_ns)
        return WS_ENOMEM;
    memcpy(t->sample_ns, a->sample_ns, a->nsample * sizeof(double));
    t->nsample = a->nsample;
    t->inner = 1;
    return 0;
}

/* What the engine would call a corrupt record later is refused now. */
static int check(struct ws__outside *o, const struct ws__question *q,
                 const struct ws__trial *t, const struct ws__candidate *c)
{
    struct ws__trial as = *t;
    const char *why;

    as.candidate = *c;
    as.workload = q->workload;
    why = ws__trial_flaw(q, c, &as);
    return why ? ws__fail(o->spec->ctx, WS_EINVAL, "answer %llu: %s",
                          (unsigned long long)q->id, why)
               : 0;
}

static int answer(void *self, const struct ws__question *q,
                  struct ws__trial *out)
{
    struct ws__outside *o = self;
    struct ws_answer a[2] = {{.nsample = 0}};
    struct told t;
    int rc = told_begin(o, q, &t);

    if (rc >= 0)
        rc = o->opts->answer(o->opts->answer_user, &t.q, a);
    told_end(&t);
    WS_TRY(rc);
    for (size_t i = 0; i < (q->pair ? 2u : 1u); i++) {
        WS_TRY(take(o, q, &a[i], &out[i]));
        WS_TRY(check(o, q, &out[i], i ? &q->b : &q->a));
        for (size_t k = 0; k < out[i].nsample; k++)
            out[i].spent_ns += (uint64_t)out[i].sample_ns[k];
        out[i].block = q->pair ? q->id : 0;
    }
    if (q->pair && out[0].nsample != out[1].nsample &&
        out[0].verdict == WS__V_OK && out[1].verdict == WS__V_OK)
        return ws__fail(o->spec->ctx, WS_EINVAL,
                        "answer %llu: the two have not as many samples",
                        (unsigned long long)q->id);
    return 0;
}

static const struct ws__identity *identity(void *self)
{
    return &((struct ws__outside *)self)->id;
}

static const struct ws__evaluator_ops ops = {.abi = 1,
                                             .name = "outside",
                                             .prefetch = prefetch,
                                             .answer = answer,
                                             .identity = identity,
                                             .live = true};

int ws__outside_open(struct ws_spec *spec, const struct ws_tune_opts *opts,
                     struct ws__outside *o, struct ws__evaluator *out)
{
    if (opts->recordings || opts->cache || opts->pack || opts->ndevice > 1)
        return ws__fail(spec->ctx, WS_EINVAL,
                        "who measures elsewhere has no recordings, cache mode, "
                        "pack or second device here");
    if (!opts->device || !*opts->device) {
        ws__fail(spec->ctx, WS_EINVAL, "the device that measures has no name");
        return ws__hint(spec->ctx, "name it; trials of another name are "
                                   "another run's");
    }
    *o = (struct ws__outside){.spec = spec, .opts = opts};
    snprintf(o->id.device, sizeof(o->id.device), "%s", opts->device);
    snprintf(o->id.family, sizeof(o->id.family), "outside");
    snprintf(o->id.protocol, sizeof(o->id.protocol), "told");
    snprintf(o->id.tool, sizeof(o->id.tool), "wavesmith " WS_VERSION);
    ws__identity_seal(&o->id);
    *out = (struct ws__evaluator){&ops, o};
    return 0;
}
