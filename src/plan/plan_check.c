/*
 * plan_check.c: check (one verdict) and bench (two candidates, interleaved)
 * at the public interface. Both ask the same evaluator that tune uses, so
 * that what a person checks by hand is what the tuner judges.
 */
#include "plan/plan.h"
#include "space/space.h"

#include "base/banned.h"

static void put(char *to, size_t n, const char *from)
{
    snprintf(to, n, "%s", from ? from : "");
}

/* Takes the text, cut if it does not fit; rc is how making it went. */
static int put_buf(struct ws__buf *b, int rc, char *to, size_t n)
{
    if (rc >= 0)
        put(to, n, b->data);
    ws__buf_free(b);
    return rc < 0 ? rc : 0;
}

static int put_config(struct ws_ctx *ctx, const struct ws__kernel *k,
                      const struct ws__config *c, char *to, size_t n)
{
    struct ws__buf b;

    ws__buf_init(&b, ctx, 1 << 16);
    return put_buf(&b, ws__config_print(&b, k, c), to, n);
}

static int put_workload(struct ws_ctx *ctx, const struct ws__op *op,
                        const struct ws__workload *w, char *to, size_t n)
{
    struct ws__buf b;

    ws__buf_init(&b, ctx, 1 << 16);
    return put_buf(&b, ws__workload_print(&b, op, w), to, n);
}

/* "[3, 17]" from a flat row-major index. */
static void put_place(const struct ws__tensor_shape *s, uint64_t flat, char *to,
                      size_t n)
{
    int64_t at[WS__MAX_DIMS] = {0};
    size_t used = 0;

    for (size_t d = s->ndim; d-- > 0;) {
        at[d] = (int64_t)(flat % (uint64_t)s->dim[d]);
        flat /= (uint64_t)s->dim[d];
    }
    put(to, n, "[");
    for (size_t d = 0; d < s->ndim && used < n; d++) {
        used = strlen(to);
        snprintf(to + used, n - used, "%s%lld", d ? ", " : "",
                 (long long)at[d]);
    }
    used = strlen(to);
    snprintf(to + used, n - used, "]");
}

static void put_mismatch(const struct ws__op *op, const struct ws__instance *in,
                         const struct ws__mismatch *m,
                         struct ws_check_result *out)
{
    const struct ws__tensor_shape *s;

    if (!m->total || m->tensor >= op->ntensor)
        return;
    s = &in->shape[m->tensor];
    out->judged = 1;
    put(out->tensor, sizeof(out->tensor), op->tensor[m->tensor].name);
    out->elements = m->total;
    out->bad = m->bad;
    out->nan = m->nan;
    out->unwritten = m->unwritten;
    out->max_abs = m->max_abs;
    out->max_rel = m->max_rel;
    out->rms_err = m->rms_err;
    out->rms_ref = m->rms_ref;
    out->worst_got = m->worst_got;
    out->worst_want = m->worst_want;
    out->first_got = m->first_got;
    out->first_want = m->first_want;
    out->allowed = m->allowed;
    put_place(s, m->worst, out->worst_at, sizeof(out->worst_at));
    if (m->bad)
        put_place(s, m->first, out->first_at, sizeof(out->first_at));
}

struct session {
    struct ws__workload w;
    struct ws__instance in;
    struct ws__measure *m;
    struct ws__question q;
    struct ws__trial t[2];
};

static void session_end(struct ws_ctx *ctx, struct session *s)
{
    ws__trial_clear(ctx, &s->t[0]);
    ws__trial_clear(ctx, &s->t[1]);
    ws__measure_close(s->m);
    ws__free(ctx, s);
}

int ws__plan_choose(struct ws_spec *spec, const char *kernel,
                    const char *config, struct ws__candidate *out)
{
    size_t k;

    WS_TRY(ws__plan_kernel(spec, kernel, &k));
    out->kernel = (uint32_t)k;
    if (config)
        return ws__config_parse(spec->ctx, &spec->s->kernel[k], config,
                                &out->config);
    ws__config_default(&spec->s->kernel[k], &out->config);
    return 0;
}

int ws__plan_first_workload(struct ws_spec *spec, const struct ws__candidate *c,
                            struct ws__workload *out)
{
    const struct ws__kernel *k = &spec->s->kernel[c->kernel];

    WS_TRY(ws__plan_workload(spec, NULL, out));
    for (size_t i = 0; i < spec->s->nworkload; i++) {
        union wsrt_value vars[WS__MAX_SLOTS] = {{0}};
        struct ws__space *s;
        int rc;

        for (size_t a = 0; a < spec->s->op->naxis; a++)
            vars[a].i = spec->s->workload[i].axis[a];
        WS_TRY(ws__space_new(spec->ctx, k, vars, true, false, &s));
        rc = ws__space_legal(s, &c->config, NULL);
        ws__space_free(s);
        WS_TRY(rc);
        if (rc) {
            *out = spec->s->workload[i];
            return 0;
        }
    }
    return 0;
}

/* A caller that was built before a field was added does not set it. */
static struct ws_run_opts known_opts(const struct ws_run_opts *o)
{
    struct ws_run_opts all = {0};

    if (o)
        memcpy(&all, o,
               o->size && o->size < sizeof(all) ? o->size : sizeof(all));
    return all;
}

static int session_start(struct ws_spec *spec, const struct ws_run_opts *o,
                         const char *command, const char *against,
                         struct session **out)
{
    struct session *s = ws__alloc(spec->ctx, 1, sizeof(*s));
    struct ws__measure_opts mo = {.device = o->device,
                                  .builders = 1,
                                  .run_limit_ns = o->run_limit_ns,
                                  .trust_python = o->trust_python != 0,
                                  .seed = o->seed};
    int rc;

    *out = s;
    if (!s)
        return WS_ENOMEM;
    WS_TRY_DONE(ws__plan_need_op(spec, command));
    WS_TRY_DONE(ws__plan_measure_opts(spec, o->cache, o->launch, &mo));
    /* The device first: defaults depend on it. */
    WS_TRY_DONE(ws__measure_open(spec->ctx, spec->s->op, spec->s->kernel,
                                 spec->s->nkernel, &s->w, 1, &mo, &s->m));
    WS_TRY_DONE(ws__plan_bind(spec, s->m));
    WS_TRY_DONE(ws__plan_choose(spec, o->kernel, o->config, &s->q.a));
    WS_TRY_DONE(ws__plan_choose(spec, o->kernel, against, &s->q.b));
    WS_TRY_DONE(o->workload ? ws__plan_workload(spec, o->workload, &s->w)
                            : ws__plan_first_workload(spec, &s->q.a, &s->w));
    WS_TRY_DONE(ws__instance_make(spec->ctx, spec->s->op, &s->w, &s->in));
    s->q.id = 1;
    return 0;
done:
    session_end(spec->ctx, s);
    *out = NULL;
    return rc;
}

/* Asks; a candidate that does not fit the device is a filtered trial. */
static int session_ask(struct ws_spec *spec, struct session *s)
{
    struct ws__evaluator ev = ws__measure_evaluator(s->m);
    char reason[256];

    for (int i = 0; i < (s->q.pair ? 2 : 1); i++) {
        int fits = ws__measure_fits(s->m, i ? &s->q.b : &s->q.a, 0, reason);

        WS_TRY(fits);
        if (!fits) {
            s->t[i].verdict = WS__V_FILTERED;
            ws__gate_note(&s->t[i], WS__GATE_FILTER, WS__GATE_FAILED, 0);
            return ws__trial_set_reason(spec->ctx, &s->t[i], "%s", reason);
        }
    }
    return ev.ops->answer(ev.self, &s->q, s->t);
}

_Static_assert((int)WS_GATES == (int)WS__NGATE, "gates are public");

void ws__gates_public(const struct ws__trial *t, struct ws_gate out[WS_GATES])
{
    static const char *const end[] = {[WS__GATE_CLOSED] = "",
                                      [WS__GATE_PASSED] = "passed",
                                      [WS__GATE_FAILED] = "failed",
                                      [WS__GATE_ABSENT] = "absent"};

    for (int g = 0; g < WS_GATES; g++) {
        enum ws__gate_end e = ws__gate_end(t, (enum ws__gate)g);
        const char *why = t->absent[g];

        out[g] =
            (struct ws_gate){.name = ws__gate_key((enum ws__gate)g),
                             .about = ws__gate_text((enum ws__gate)g, e),
                             .end = end[e],
                             .ns = t->gate_ns[g],
                             .why = e == WS__GATE_ABSENT && why ? why : ""};
    }
}

int ws_check(struct ws_spec *spec, const struct ws_run_opts *opts,
             struct ws_check_result *out)
{
    const struct ws_run_opts o = known_opts(opts);
    struct ws_ctx *ctx = spec->ctx;
    const struct ws__kernel *k;
    struct session *s;
    int rc;

    memset(out, 0, sizeof(*out));
    WS_TRY(session_start(spec, &o, "check", o.config, &s));
    k = &spec->s->kernel[s->q.a.kernel];
    s->q.want = WS__WANT_BUILD | WS__WANT_VERDICT;
    s->q.effort = WS__NORMAL;
    if (o.proof) {
        s->q.want |= WS__WANT_TIME | WS__WANT_PROOF | WS__WANT_SANITIZER;
        s->q.effort = WS__CONFIRM;
    }
    put(out->kernel, sizeof(out->kernel), k->name);
    put(out->device, sizeof(out->device), ws__measure_device(s->m)->id.device);
    WS_TRY_DONE(
        put_config(ctx, k, &s->q.a.config, out->config, sizeof(out->config)));
    WS_TRY_DONE(put_workload(ctx, spec->s->op, &s->w, out->workload,
                             sizeof(out->workload)));
    WS_TRY_DONE(session_ask(spec, s));
    put(out->verdict, sizeof(out->verdict), ws__verdict_key(s->t[0].verdict));
    put(out->reason, sizeof(out->reason), s->t[0].reason);
    put(out->elsewhere, sizeof(out->elsewhere), s->t[0].elsewhere);
    out->build_ns = s->t[0].res.build_ns;
    out->input_seed = s->t[0].input_seed;
    ws__gates_public(&s->t[0], out->gate);
    put_mismatch(spec->s->op, &s->in, &s->t[0].mismatch, out);
done:
    session_end(ctx, s);
    return rc;
}

static int put_times(struct ws_ctx *ctx, const struct ws__trial *t, double *mid,
                     double *lo, double *hi)
{
    struct ws__summary sum;

    if (!t->nsample || t->verdict != WS__V_OK)
        return 0;
    WS_TRY(ws__summarize(ctx, t->sample_ns, t->nsample, &sum));
    *mid = sum.median;
    *lo = sum.lo;
    *hi = sum.hi;
    return 0;
}

int ws_bench(struct ws_spec *spec, const struct ws_run_opts *opts,
             const char *against, struct ws_bench_row *out)
{
    const struct ws_run_opts o = known_opts(opts);
    struct ws_ctx *ctx = spec->ctx;
    const struct ws__kernel *k;
    struct session *s;
    struct ws__ratio ratio;
    int rc, bad;

    memset(out, 0, sizeof(*out));
    WS_TRY(session_start(spec, &o, "bench", against, &s));
    k = spec->s->kernel;
    s->q.pair = true;
    s->q.want = WS__WANT_BUILD | WS__WANT_VERDICT | WS__WANT_TIME;
    s->q.effort = WS__CONFIRM;
    put(out->kernel_a, sizeof(out->kernel_a), k[s->q.a.kernel].name);
    put(out->kernel_b, sizeof(out->kernel_b), k[s->q.b.kernel].name);
    WS_TRY_DONE(put_config(ctx, &k[s->q.a.kernel], &s->q.a.config,
                           out->config_a, sizeof(out->config_a)));
    WS_TRY_DONE(put_config(ctx, &k[s->q.b.kernel], &s->q.b.config,
                           out->config_b, sizeof(out->config_b)));
    WS_TRY_DONE(put_workload(ctx, spec->s->op, &s->w, out->workload,
                             sizeof(out->workload)));
    WS_TRY_DONE(session_ask(spec, s));
    put(out->verdict_a, sizeof(out->verdict_a),
        ws__verdict_key(s->t[0].verdict));
    put(out->verdict_b, sizeof(out->verdict_b),
        ws__verdict_key(s->t[1].verdict));
    bad = s->t[0].reason ? 0 : 1;
    put(out->reason, sizeof(out->reason), s->t[bad].reason);
    WS_TRY_DONE(
        put_times(ctx, &s->t[0], &out->a_ns, &out->a_lo_ns, &out->a_hi_ns));
    WS_TRY_DONE(
        put_times(ctx, &s->t[1], &out->b_ns, &out->b_lo_ns, &out->b_hi_ns));
    out->samples = s->t[1].nsample;
    out->a_mhz = s->t[0].mhz;
    out->b_mhz = s->t[1].mhz;
    out->slowed = s->t[0].slowed;
    ws__slow_text(s->t[0].kept_slowed, out->kept_slowed);
    if (s->t[0].verdict == WS__V_OK && s->t[1].verdict == WS__V_OK &&
        s->t[0].nsample && s->t[1].nsample) {
        WS_TRY_DONE(ws__ratio_bootstrap(ctx, s->t[0].sample_ns, s->t[0].nsample,
                                        s->t[1].sample_ns, s->t[1].nsample,
                                        s->t[0].nsample == s->t[1].nsample,
                                        o.seed, &ratio));
        out->ratio = ratio.value;
        out->ratio_lo = ratio.lo;
        out->ratio_hi = ratio.hi;
    }
done:
    session_end(ctx, s);
    return rc;
}
