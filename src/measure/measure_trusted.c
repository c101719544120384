/*
 * measure_trusted.c: a trusted kernel as the reference.
 *
 * It runs through a session of its own, with a device worker that never holds
 * a candidate; its results are read back and become the reference's doubles,
 * which no device worker maps. Before buffers are given back they are written
 * over: nothing of a result is left for whoever gets that memory next. It has
 * a cache folder of its own, too: what a driver keeps there is code, and a
 * candidate on a processor can write to the folder of candidates.
 *
 * A reference should be more exact than what it judges. So where the types of
 * a workload are an axis, the kernel runs in the widest float type of that
 * axis for which its constraints hold, on inputs converted exactly. Where
 * there is none it runs in the types of the workload; the tolerance is not
 * widened for that: it allows several times the error of one honest kernel,
 * and a trusted kernel that needs more is no reference.
 *
 * It is checked like a candidate, but for the comparison: two launches over
 * different patterns must give the same bits, every element is a number,
 * inputs and guards stay as they were. It never is the kernel that is judged:
 * the same source under another name is refused.
 */
#include "measure/measure_int.h"

#include <ctype.h>
#include <math.h>

#include "base/fs.h"

#include "base/banned.h"

#define SECOND 1000000000u
#define LIMIT_NS (600ull * SECOND)
#define TRUSTED ".trusted"
#define SECOND_POISON 0x7fa5c3e1u /* a NaN in the wider types, too */

struct ws__refkernel {
    struct ws__measure *m; /* the session that runs it */
    struct ws__workload *work;
    bool *chosen; /* the types of a workload are settled */
    bool warned;  /* that it is not double precision */
    size_t nwork;
    struct ws__candidate candidate;
};

/* ---- the same source? --------------------------------------------------- */

/* The next character that means something to a compiler, roughly: neither
 * blank nor part of a #line directive. */
static const char *next_mark(const char *s)
{
    for (;;) {
        while (isspace((unsigned char)*s))
            s++;
        if (strncmp(s, "#line", 5) != 0)
            return s;
        s += strcspn(s, "\n");
    }
}

static bool same_source(const char *a, const char *b)
{
    for (;;) {
        a = next_mark(a);
        b = next_mark(b);
        if (*a != *b)
            return false;
        if (!*a)
            return true;
        a++;
        b++;
    }
}

int ws__measure_independent(struct ws_ctx *ctx, const struct ws__op *op,
                            const struct ws__kernel *kernel, size_t n)
{
    const struct ws__kernel *t = op->trusted.kernel;

    for (size_t i = 0; t && i < n; i++) {
        if (!kernel[i].source || !same_source(kernel[i].source, t->source))
            continue;
        ws__fail(ctx, WS_ESPEC,
                 "kernel '%s' has the source of the reference of '%s', the "
                 "kernel '%s'",
                 kernel[i].name, op->name, t->name);
        return ws__hint(ctx, "a kernel cannot judge itself: give another "
                             "reference, or tune another kernel");
    }
    return 0;
}

/* ---- types --------------------------------------------------------------- */

/* The widest float type of the axis with at most `bytes`, if it is wider. */
static int64_t widened(const struct ws__axis *a, int64_t value, size_t bytes)
{
    size_t best = ws__dtype_bytes((enum ws__dtype)value);

    if (a->kind != WS__AXIS_TYPE || !ws__dtype_is_float((enum ws__dtype)value))
        return value;
    for (size_t i = 0; i < a->ntypes; i++) {
        size_t have = ws__dtype_bytes(a->types[i]);

        if (ws__dtype_is_float(a->types[i]) && have > best && have <= bytes) {
            best = have;
            value = a->types[i];
        }
    }
    return value;
}

static bool same_places(const struct ws__instance *a,
                        const struct ws__instance *b)
{
    for (size_t t = 0; t < a->op->ntensor; t++)
        if (a->shape[t].ndim != b->shape[t].ndim ||
            memcmp(a->shape[t].dim, b->shape[t].dim, sizeof(a->shape[t].dim)) !=
                0 ||
            memcmp(a->shape[t].stride, b->shape[t].stride,
                   sizeof(a->shape[t].stride)) != 0)
            return false;
    return true;
}

/* 1: the workload w of the session, as it is now, can be run. */
static int suits(struct ws__refkernel *r, uint32_t w,
                 const struct ws__instance *like, char reason[256])
{
    const struct ws__instance *in;
    int rc;

    ws__free(r->m->ctx, r->m->instance[w]);
    r->m->instance[w] = NULL;
    rc = ws__measure_instance(r->m, w, &in);
    if (rc == WS_ESPEC) { /* `require` excludes the type */
        snprintf(reason, 256, "%.250s", r->m->ctx->err.message);
        ws__error_clear(r->m->ctx);
        return 0;
    }
    WS_TRY(rc);
    snprintf(reason, 256, "its shapes depend on the type");
    return same_places(in, like)
               ? ws__measure_fits(r->m, &r->candidate, w, reason)
               : 0;
}

/* Once, where results are floats of less than double precision. */
static void warn_narrow(struct ws__refkernel *r, const struct ws__instance *in)
{
    for (size_t t = 0; t < in->op->ntensor && !r->warned; t++) {
        enum ws__dtype d = in->shape[t].dtype;

        if (in->op->tensor[t].role == WS__INPUT || !ws__dtype_is_float(d) ||
            ws__dtype_bytes(d) >= 8)
            continue;
        r->warned = true;
        ws__log(r->m->ctx, WS_LOG_WARN,
                "the reference computes in %s, not in double precision: the "
                "trusted kernel '%s' is given no wider type",
                ws__dtype_name(d), r->m->kernel->name);
    }
}

static int choose_types(struct ws__refkernel *r, uint32_t w,
                        const struct ws__instance *like)
{
    static const size_t levels[] = {8, 4, 0};
    struct ws_ctx *ctx = r->m->ctx;
    char reason[256] = "";
    int rc = 0;

    for (size_t i = 0; i < WS_COUNT(levels) && !rc; i++) {
        for (size_t a = 0; a < like->op->naxis; a++)
            r->work[w].axis[a] =
                widened(&like->op->axis[a], like->workload->axis[a], levels[i]);
        rc = suits(r, w, like, reason);
    }
    WS_TRY(rc);
    r->chosen[w] = rc > 0;
    if (rc) {
        warn_narrow(r, r->m->instance[w]);
        return 0;
    }
    ws__fail(ctx, WS_EREFERENCE,
             "the trusted kernel '%s' cannot run this workload: %s",
             r->m->kernel->name, reason);
    return ws__hint(ctx, "give it a config that fits, or drop the workload");
}

/* "T=float64": the type axes of a workload. */
static void type_words(const struct ws__op *op, const struct ws__workload *w,
                       char *out, size_t n)
{
    *out = '\0';
    for (size_t a = 0; a < op->naxis; a++) {
        size_t at = strlen(out);

        if (op->axis[a].kind == WS__AXIS_TYPE)
            snprintf(out + at, n - at, "%s%s=%s", at ? "," : "",
                     op->axis[a].name,
                     ws__dtype_name((enum ws__dtype)w->axis[a]));
    }
}

/* A kernel that knows only the workload's types and does not say so fails in
 * wider ones, in many ways: what to do is the same. False: not widened. */
static bool hint_types(const struct ws__measure *m,
                       const struct ws__instance *run,
                       const struct ws__instance *asked)
{
    for (size_t a = 0; a < m->op->naxis; a++) {
        const struct ws__axis *x = &m->op->axis[a];
        enum ws__dtype wide = (enum ws__dtype)run->workload->axis[a];
        char name[32];

        if (x->kind != WS__AXIS_TYPE ||
            run->workload->axis[a] == asked->workload->axis[a])
            continue;
        snprintf(name, sizeof(name), "%s", ws__dtype_name(wide));
        for (char *p = name; *p; p++)
            *p = (char)toupper((unsigned char)*p);
        ws__hint(m->ctx,
                 "it was run in %s=%s, the widest type it may: let its source "
                 "ask '#if %s_IS_%s', or keep it to what it knows by a "
                 "constraint, {require: %s == %s}",
                 x->name, ws__dtype_name(wide), x->name, name, x->name,
                 ws__dtype_name((enum ws__dtype)asked->workload->axis[a]));
        return true;
    }
    return false;
}

/* Elements of one type as another, dense. */
struct conversion {
    enum ws__dtype from, to;
    const char *in;
    char *out;
};

static int convert(void *user, uint64_t begin, uint64_t end)
{
    const struct conversion *c = user;
    size_t na = ws__dtype_bytes(c->from), nb = ws__dtype_bytes(c->to);
    double run[256];

    if (c->from == c->to) {
        memcpy(c->out + begin * nb, c->in + begin * na,
               (size_t)(end - begin) * na);
        return 0;
    }
    for (uint64_t i = begin; i < end; i += WS_COUNT(run)) {
        size_t n = end - i < WS_COUNT(run) ? (size_t)(end - i) : WS_COUNT(run);

        ws__dtype_load(c->from, c->in + i * na, run, n);
        ws__dtype_store(c->to, run, c->out + i * nb, n);
    }
    return 0;
}

/* The inputs in the session's types; wider ones hold all values. */
static int convert_inputs(const struct ws__measure *m,
                          const struct ws__problem *from,
                          struct ws__problem *to)
{
    for (size_t t = 0; t < from->in->op->ntensor; t++) {
        struct conversion c = {.from = from->in->shape[t].dtype,
                               .to = to->in->shape[t].dtype,
                               .in = from->input[t],
                               .out = to->input[t]};

        if (c.in)
            WS_TRY(ws__parallel_for(m->ctx, m->opts.ref_threads,
                                    from->in->shape[t].bytes /
                                        ws__dtype_bytes(c.from),
                                    convert, &c));
    }
    return 0;
}

/* ---- running --------------------------------------------------------------
 */

/* Elements with gaps between them. */
static void gather(const struct ws__tensor_shape *s, const void *raw,
                   double *out)
{
    int64_t at[WS__MAX_DIMS] = {0};

    for (uint64_t i = 0; i < s->elements; i++) {
        int64_t off = 0;

        for (size_t d = 0; d < s->ndim; d++)
            off += at[d] * s->stride[d];
        out[i] = ws__dtype_get(s->dtype, raw, (size_t)off);
        for (size_t d = s->ndim; d-- > 0 && ++at[d] == s->dim[d];)
            at[d] = 0;
    }
}

static int fetch(struct ws__measure *m, const struct ws__bufs *b, size_t t,
                 double *out)
{
    const struct ws__tensor_shape *s = &b->in->shape[t];
    struct conversion c = {s->dtype, WS__DT_F64, NULL, (char *)out};
    void *raw;
    int rc;

    if (s->contiguous && s->dtype == WS__DT_F64)
        return m->dev.ops->read(m->dev.self, b->tensor[0][t], 0, out, s->bytes);
    raw = ws__resize(m->ctx, NULL, s->bytes, 1);
    if (!raw)
        return WS_ENOMEM;
    c.in = raw;
    rc = m->dev.ops->read(m->dev.self, b->tensor[0][t], 0, raw, s->bytes);
    if (rc >= 0 && s->contiguous)
        rc = ws__parallel_for(m->ctx, m->opts.ref_threads, s->elements, convert,
                              &c);
    else if (rc >= 0)
        gather(s, raw, out);
    ws__free(m->ctx, raw);
    return rc;
}

/* `what` of output t; the words of every failure that is the kernel's. */
static int bad_output(const struct ws__measure *m,
                      const struct ws__instance *run,
                      const struct ws__instance *asked, size_t t,
                      const char *what)
{
    char types[128];

    type_words(m->op, run->workload, types, sizeof(types));
    ws__fail(m->ctx, WS_EREFERENCE, "the trusted kernel '%s'%s%s%s %s '%s'",
             m->kernel->name, *types ? " (run in " : "", types,
             *types ? ")" : "", what, m->op->tensor[t].name);
    if (!hint_types(m, run, asked))
        ws__hint(m->ctx, "a reference must be right by itself: mend the "
                         "kernel");
    return WS_EREFERENCE;
}

static int no_nan(void *user, uint64_t begin, uint64_t end)
{
    const double *v = user;
    int bad = 0;

    for (uint64_t i = begin; i < end; i++)
        bad |= v[i] != v[i];
    return -bad;
}

static int take_output(struct ws__measure *m, const struct ws__bufs *b,
                       const struct ws__problem *p, size_t t)
{
    uint64_t n = b->in->shape[t].elements;

    WS_TRY(fetch(m, b, t, p->result[t]));
    if (p->unjudged ||
        !ws__parallel_for(m->ctx, m->opts.ref_threads, n, no_nan, p->result[t]))
        return 0;
    return bad_output(m, b->in, p->in, t,
                      "leaves out elements, or computes NaN, in");
}

/* The results of the second launch beside those that were taken: without
 * reading them where there is nothing between the elements. */
static int compare_output(struct ws__measure *m, const struct ws__bufs *b,
                          const struct ws__problem *p, size_t t, uint64_t first)
{
    const struct ws__tensor_shape *s = &b->in->shape[t];
    size_t bytes = (size_t)s->elements * sizeof(double);
    uint64_t hash = 0;
    double *again;
    int rc;

    if (s->contiguous) {
        WS_TRY(m->dev.ops->hash(m->dev.self, b->tensor[0][t], &hash));
        rc = hash != first;
    } else {
        again = ws__resize(m->ctx, NULL, bytes, 1);
        if (!again)
            return WS_ENOMEM;
        rc = fetch(m, b, t, again);
        if (rc >= 0)
            rc = memcmp(p->result[t], again, bytes) != 0;
        ws__free(m->ctx, again);
    }
    return rc > 0 ? bad_output(m, b->in, p->in, t,
                               "gives other results the second time in")
                  : rc;
}

static int launch(struct ws__refkernel *r, struct ws__subject *s,
                  struct ws__bufs *b, struct ws__prog *prog,
                  struct ws__problem *p, uint64_t *hash, bool first)
{
    struct ws__measure *m = r->m;
    struct ws__dev_sample sample;

    ws__prog_poison(prog, first ? WS__POISON_FIRST : SECOND_POISON, 0);
    WS_TRY(ws__measure_once(m, &prog->seq, &sample));
    WS_TRY(ws__bufs_check(m, b, 0, s, 1));
    if (s->judged)
        return 0;
    for (size_t t = 0; t < m->op->ntensor; t++) {
        if (!p->result[t])
            continue;
        if (!first && !m->kernel->order_dependent && !p->unjudged)
            WS_TRY(compare_output(m, b, p, t, hash[t]));
        if (!first)
            continue;
        WS_TRY(take_output(m, b, p, t));
        if (b->in->shape[t].contiguous)
            WS_TRY(m->dev.ops->hash(m->dev.self, b->tensor[0][t], &hash[t]));
    }
    return 0;
}

/* Outputs and scratch hold nothing any more. */
static int wipe(struct ws__measure *m, const struct ws__bufs *b)
{
    for (size_t t = 0; t < WS__MAX_TENSORS; t++)
        if (b->tensor[0][t])
            WS_TRY(
                m->dev.ops->fill(m->dev.self, b->tensor[0][t], WS__POISON_OLD));
    for (size_t k = 0; k < WS__MAX_SCRATCH; k++)
        if (b->scratch[0][0][k])
            WS_TRY(m->dev.ops->fill(m->dev.self, b->scratch[0][0][k],
                                    WS__POISON_OLD));
    return 0;
}

/* With its inputs in q (of the session's types) to the results of p. */
static int compute(struct ws__refkernel *r, struct ws__subject *s,
                   struct ws__problem *q, struct ws__problem *p)
{
    struct ws__measure *m = r->m;
    struct ws__prog *prog = ws__alloc(m->ctx, 1, sizeof(*prog));
    struct ws__bufs *b = ws__alloc(m->ctx, 1, sizeof(*b));
    uint64_t hash[WS__MAX_TENSORS] = {0};
    int rc = WS_ENOMEM;

    if (!prog || !b)
        goto done;
    WS_TRY_DONE(ws__bufs_make(m, s, 1, 1, b));
    WS_TRY_DONE(ws__bufs_upload(m, b, q));
    ws__prog_make(m, b, s, 0, q, prog);
    for (int i = 0; i < 2 && !s->judged; i++)
        WS_TRY_DONE(launch(r, s, b, prog, p, hash, i == 0));
    if (m->open && b->gen == m->gen)
        rc = wipe(m, b);
done:
    if (b)
        ws__bufs_free(m, b);
    ws__free(m->ctx, b);
    ws__free(m->ctx, prog);
    return rc;
}

static int prepare(struct ws__refkernel *r, uint32_t w, struct ws__subject *s)
{
    struct ws__measure *m = r->m;
    char reason[256];

    s->t->candidate = r->candidate;
    s->t->workload = w;
    s->kernel = m->kernel;
    WS_TRY(ws__measure_instance(m, w, &s->in));
    WS_TRY(ws__measure_plan(m, &r->candidate, w, s->plan, reason));
    WS_TRY(ws__recipe_make(m, &r->candidate, s->in, s->plan, &s->recipe));
    WS_TRY(ws__measure_ready(m));
    return ws__measure_build(m, s);
}

static int attempt(struct ws__refkernel *r, uint32_t w, struct ws__problem *p,
                   struct ws__subject *s)
{
    struct ws__problem *q = NULL;
    int rc;

    WS_TRY_DONE(prepare(r, w, s));
    if (s->judged)
        goto done;
    WS_TRY_DONE(ws__problem_new(r->m->ctx, s->in, &q));
    WS_TRY_DONE(convert_inputs(r->m, p, q));
    rc = compute(r, s, q, p);
done:
    ws__problem_free(q);
    ws__recipe_clear(r->m->ctx, &s->recipe);
    return rc;
}

/* What a device reports about the trusted kernel is the reference's failure;
 * it must never become a verdict of the candidate. */
static int failed(struct ws__refkernel *r, struct ws__subject *s,
                  const struct ws__problem *p, int rc)
{
    struct ws__measure *m = r->m;
    enum ws__verdict v = s->t->verdict;
    char why[900];

    if (rc < 0 && ws__measure_verdict_of(rc) == WS__V_NONE)
        return rc;
    if (rc >= 0 && !s->judged)
        return 0;
    if (rc < 0) {
        v = ws__measure_verdict_of(rc);
        snprintf(why, sizeof(why), "%.850s", m->ctx->err.message);
        if (ws__measure_kills(rc))
            ws__measure_lose(m);
        WS_TRY(ws__check_stop(m->ctx));
    } else {
        snprintf(why, sizeof(why), "%.850s", s->t->reason ? s->t->reason : "");
    }
    ws__fail(m->ctx, WS_EREFERENCE, "the trusted kernel '%s' failed (%s): %s",
             m->kernel->name, ws__verdict_key(v), why);
    if (s->in && hint_types(m, s->in, p->in))
        return WS_EREFERENCE;
    return ws__hint(m->ctx, "try it alone: wavesmith check on its file, with "
                            "another reference");
}

static bool again(const struct ws__subject *s, int rc)
{
    return rc == WS_ECRASH || (rc >= 0 && s->t->verdict == WS__V_CRASH);
}

static int run(struct ws__refkernel *r, uint32_t w, struct ws__problem *p)
{
    struct ws__trial t;
    struct ws__subject s;
    struct ws__plan *plan = ws__alloc(r->m->ctx, 1, sizeof(*plan));
    int rc = WS_ENOMEM;

    /* A worker may die of what has nothing to do with the kernel. */
    for (int i = 0; plan && i < 2; i++) {
        memset(&t, 0, sizeof(t));
        memset(&s, 0, sizeof(s));
        s.t = &t;
        s.plan = plan;
        rc = attempt(r, w, p, &s);
        if (rc < 0 && ws__measure_kills(rc))
            ws__measure_lose(r->m);
        if (i || !again(&s, rc))
            break;
        ws__trial_clear(r->m->ctx, &t);
    }
    if (plan) {
        rc = failed(r, &s, p, rc);
        ws__trial_clear(r->m->ctx, &t);
    }
    ws__free(r->m->ctx, plan);
    return rc;
}

/* ---- its cache folder -----------------------------------------------------
 */

/* Beside that of the candidates, since what they may write lies below it. */
int ws__refkernel_cache(struct ws_ctx *ctx, char **out)
{
    size_t n = ctx->cache_dir ? strlen(ctx->cache_dir) : 0;
    int rc;

    *out = NULL;
    while (n > 1 && ctx->cache_dir[n - 1] == '/')
        n--;
    if (!n)
        return 0;
    *out = ws__alloc(ctx, n + sizeof(TRUSTED), 1);
    if (!*out)
        return WS_ENOMEM;
    snprintf(*out, n + sizeof(TRUSTED), "%.*s" TRUSTED, (int)n, ctx->cache_dir);
    WS_TRY_DONE(ws__fs_mkdirs(ctx, *out));
    rc = ws__fs_can_create(ctx, *out);
done:
    return rc < 0
               ? ws__hint(ctx, "the driver keeps there what it compiles of the "
                               "trusted kernel; make it writable, or have the "
                               "cache elsewhere (WAVESMITH_CACHE)")
               : 0;
}

/* ---- open, close ----------------------------------------------------------
 */

static int no_reference(struct ws_ctx *ctx, const struct ws__op *op,
                        unsigned threads, uint64_t timeout_ns,
                        struct ws__reference **out)
{
    (void)ctx;
    (void)op;
    (void)threads;
    (void)timeout_ns;
    *out = NULL;
    return 0;
}

int ws__refkernel_open(struct ws__measure *m, struct ws__refkernel **out)
{
    const struct ws__trusted *t = &m->op->trusted;
    struct ws__measure_opts opts = m->opts;
    struct ws__measure_deps deps = m->deps;
    struct ws__refkernel *r = ws__alloc(m->ctx, 1, sizeof(*r));
    int rc = WS_ENOMEM;

    *out = NULL;
    if (!r)
        return rc;
    r->nwork = m->nworkload;
    r->work = ws__alloc(m->ctx, r->nwork, sizeof(*r->work));
    r->chosen = ws__alloc(m->ctx, r->nwork, sizeof(*r->chosen));
    if (!r->work || !r->chosen)
        goto done;
    memcpy(r->work, m->workload, r->nwork * sizeof(*r->work));
    ws__config_default(t->kernel, &r->candidate.config);
    if (t->config)
        WS_TRY_DONE(ws__config_parse(m->ctx, t->kernel, t->config,
                                     &r->candidate.config));
    deps.reference_open = no_reference;
    opts.device = m->device_name;
    opts.builders = 1;
    opts.run_limit_ns = LIMIT_NS;
    opts.as_reference = true;
    opts.below = NULL;
    opts.ready = NULL; /* of the session's kernels */
    rc = ws__measure_open_with(m->ctx, &deps, m->op, t->kernel, 1, r->work,
                               r->nwork, &opts, &r->m);
done:
    if (rc < 0) {
        ws__free(m->ctx, r->work);
        ws__free(m->ctx, r->chosen);
        ws__free(m->ctx, r);
        return rc;
    }
    *out = r;
    return 0;
}

void ws__refkernel_close(struct ws__refkernel *r)
{
    struct ws_ctx *ctx;

    if (!r)
        return;
    ctx = r->m->ctx;
    ws__measure_close(r->m);
    ws__free(ctx, r->work);
    ws__free(ctx, r->chosen);
    ws__free(ctx, r);
}

int ws__refkernel_run(struct ws__refkernel *r, uint32_t workload,
                      struct ws__problem *p)
{
    if (!r->chosen[workload])
        WS_TRY(choose_types(r, workload, p->in));
    return run(r, workload, p);
}

int ws__measure_trusted(struct ws__measure *m, uint32_t workload,
                        struct ws__problem *p)
{
    return ws__refkernel_run(m->refkernel, workload, p);
}
