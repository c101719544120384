/*
 * t_measure_fixture.h: what the tests of the protocol stand on: an op
 * C = 2 A whose reference is computed here, a kernel made from a text, and a
 * device that passes everything on to another one and can fail, lie and
 * count.
 */
#ifndef WS_T_MEASURE_FIXTURE_H
#define WS_T_MEASURE_FIXTURE_H

#include "base/t_base.h"

#include <math.h>

#include "measure/measure_int.h"

/* ---- the device between ------------------------------------------------- */

struct t_script {
    const char *inner; /* device to wrap: "null" */
    _Atomic long calls;
    long fail_at;  /* fallible operations; 0: never */
    int code;      /* what the failing one returns */
    bool for_ever; /* from then on */
    long times;    /* so often from then on, a fresh device between */
    int signal;    /* that ended the worker; 0: none */
    _Atomic long opens, builds, hints;
    _Atomic long runs, launches;
    long fail_opens;   /* so many opens fail, after the first */
    _Atomic long live; /* open devices, modules, buffers */
    bool not_cpu;
    bool changes;                    /* opened again it is another one */
    _Atomic uint32_t shifts, guards; /* of all buffers, or-ed */
    uint64_t cache_bytes;            /* 0: the inner one's */
    uint64_t remembered;             /* this and the next two: for after_run */
    size_t last_fills;
    bool one_set;
    _Atomic uint64_t limit_ns; /* of the running operation */
    bool stands;      /* what a cubin holds is a text for the inner device */
    int compiled;     /* what a build that only compiles says of its hash:
                         1 another one, 2 nothing */
    long counts;      /* how often; counting launches once */
    int count_rc;     /* 0, or what it returns instead of counting */
    bool spoil_count; /* the result that is counted is wrong */
    bool no_metric;   /* none can be had */
    uint64_t flush_bytes;       /* of the last count */
    bool watch;                 /* it can; else WS_ENOTSUP */
    long watches;               /* how often; watching launches once */
    int watch_rc;               /* 0, or what it returns instead */
    struct ws__dev_touch touch; /* what it says; buffer: 1 + argument */
    /* After a run of the inner device; may change everything. */
    void (*after_run)(struct t_script *s, struct ws__device *d,
                      const struct ws__dev_batch *b, struct ws__dev_sample *x,
                      size_t n);
};

static struct t_script t_script;

/* What the fake counts: of the i-th metric of the k-th launch. */
#define T_COUNT(k, i) (100.0 * (double)((k) + 1) + (double)(i))

struct t_between {
    struct ws_ctx *ctx;
    struct ws__device inner;
    struct ws__device_info info;
    bool dead;
};

static inline int t_trip(struct t_between *b)
{
    struct t_script *s = &t_script;

    s->calls++;
    if (b->dead)
        return ws__fail(b->ctx, WS_ECRASH, "the worker is gone");
    if (s->times && s->fail_at && s->calls >= s->fail_at) {
        s->times--;
        if (s->times)
            s->fail_at = s->calls + 1;
    } else if (!s->fail_at || !(s->calls == s->fail_at ||
                                (s->for_ever && s->calls > s->fail_at))) {
        return 0;
    }
    b->dead = ws__measure_kills(s->code);
    ws__fail(b->ctx, s->code, "injected");
    b->ctx->err.signal = s->signal;
    return s->code;
}

static inline const struct ws__device_info *t_b_info(void *dev)
{
    return &((struct t_between *)dev)->info;
}

static inline void t_b_close(void *dev)
{
    struct t_between *b = dev;

    ws__device_close(&b->inner);
    ws__free(b->ctx, b);
    t_script.live--;
}

static inline int t_b_build(void *dev, const struct ws__build *w,
                            struct ws__built *out)
{
    struct t_between *b = dev;
    struct ws__build text = *w;

    t_script.builds++;
    t_script.hints += w->rehearse ? (long)w->nhint : 0;
    WS_TRY(t_trip(b));
    if (t_script.stands && w->dialect == WS__DIALECT_CUBIN) {
        text.dialect = WS__DIALECT_PORTABLE;
        text.source = w->binary;
        w = &text;
    }
    WS_TRY(b->inner.ops->build(b->inner.self, w, out));
    if (w->compile_only && t_script.compiled)
        out->res.binary = (struct ws__hash){0, t_script.compiled == 1};
    return 0;
}

static inline void t_b_unload(void *dev, uint32_t module)
{
    struct t_between *b = dev;

    if (!b->dead)
        b->inner.ops->unload(b->inner.self, module);
}

static inline int t_b_alloc(void *dev, uint64_t bytes, uint32_t guard,
                            uint32_t shift, uint32_t *buffer)
{
    struct t_between *b = dev;

    t_script.shifts |= shift;
    t_script.guards |= guard;
    WS_TRY(t_trip(b));
    return b->inner.ops->alloc(b->inner.self, bytes, guard, shift, buffer);
}

static inline void t_b_release(void *dev, uint32_t buffer)
{
    struct t_between *b = dev;

    if (!b->dead)
        b->inner.ops->release(b->inner.self, buffer);
}

static inline int t_b_write(void *dev, uint32_t buffer, uint64_t offset,
                            const void *p, uint64_t bytes)
{
    struct t_between *b = dev;

    WS_TRY(t_trip(b));
    return b->inner.ops->write(b->inner.self, buffer, offset, p, bytes);
}

static inline int t_b_read(void *dev, uint32_t buffer, uint64_t offset, void *p,
                           uint64_t bytes)
{
    struct t_between *b = dev;

    WS_TRY(t_trip(b));
    return b->inner.ops->read(b->inner.self, buffer, offset, p, bytes);
}

static inline int t_b_fill(void *dev, uint32_t buffer, uint32_t pattern)
{
    struct t_between *b = dev;

    WS_TRY(t_trip(b));
    return b->inner.ops->fill(b->inner.self, buffer, pattern);
}

static inline int t_b_copy(void *dev, uint32_t to, uint32_t from)
{
    struct t_between *b = dev;

    WS_TRY(t_trip(b));
    return b->inner.ops->copy(b->inner.self, to, from);
}

static inline int t_b_hash(void *dev, uint32_t buffer, uint64_t *out)
{
    struct t_between *b = dev;

    WS_TRY(t_trip(b));
    return b->inner.ops->hash(b->inner.self, buffer, out);
}

static inline int t_b_guard(void *dev, uint32_t buffer, int64_t *offset)
{
    struct t_between *b = dev;

    WS_TRY(t_trip(b));
    return b->inner.ops->guard(b->inner.self, buffer, offset);
}

static inline int t_b_run(void *dev, const struct ws__dev_batch *batch,
                          struct ws__dev_sample *x, size_t *n)
{
    struct t_between *b = dev;
    struct t_script *s = &t_script;

    *n = 0;
    s->runs++;
    WS_TRY(t_trip(b));
    WS_TRY(b->inner.ops->run(b->inner.self, batch, x, n));
    s->launches += (long)*n;
    if (s->after_run)
        s->after_run(s, &b->inner, batch, x, *n);
    return 0;
}

static inline int t_b_count(void *dev, const struct ws__dev_seq *seq,
                            uint64_t flush_bytes, const char *const *metric,
                            size_t n, double *value, uint32_t *passes)
{
    const struct ws__dev_batch once = {
        .prog = seq, .nprog = 1, .nset = 1, .rounds = 1, .inner = 1};
    struct t_between *b = dev;
    struct t_script *s = &t_script;
    struct ws__dev_sample x;
    size_t got;

    s->counts++;
    s->flush_bytes = flush_bytes;
    *passes = 0;
    for (size_t i = 0; i < n * seq->nlaunch; i++)
        value[i] = (double)NAN;
    WS_TRY(t_trip(b));
    if (s->count_rc) {
        b->dead = ws__measure_kills(s->count_rc);
        ws__fail(b->ctx, s->count_rc, "no counts");
        ws__hint(b->ctx, "do so");
        return s->count_rc;
    }
    if (s->no_metric)
        return 0;
    WS_TRY(b->inner.ops->run(b->inner.self, &once, &x, &got));
    if (s->spoil_count)
        WS_TRY(b->inner.ops->fill(b->inner.self, seq->hash[0], 7));
    for (size_t i = 0; i < n * seq->nlaunch; i++)
        if (strcmp(metric[i % n], "absent"))
            value[i] = T_COUNT(i / n, i % n);
    *passes = 3;
    return 0;
}

static inline int t_b_watch(void *dev, const struct ws__dev_seq *seq,
                            const uint32_t *input, size_t ninput,
                            struct ws__dev_touch *out)
{
    const struct ws__dev_batch once = {
        .prog = seq, .nprog = 1, .nset = 1, .rounds = 1, .inner = 1};
    struct t_between *b = dev;
    struct t_script *s = &t_script;
    struct ws__dev_sample x;
    size_t got;

    memset(out, 0, sizeof(*out));
    if (!s->watch)
        return ws__fail(b->ctx, WS_ENOTSUP, "no eyes");
    WS_TRY(t_trip(b));
    s->watches++;
    assert_int_equal(ninput, 1);
    assert_int_equal(input[0], seq->launch[0].arg[0].buffer);
    if (s->watch_rc) {
        b->dead = ws__measure_kills(s->watch_rc);
        return ws__fail(b->ctx, s->watch_rc, "blinded");
    }
    WS_TRY(b->inner.ops->run(b->inner.self, &once, &x, &got));
    *out = s->touch;
    if (out->buffer && out->buffer <= seq->launch[0].narg)
        out->buffer = seq->launch[0].arg[out->buffer - 1].buffer;
    return 0;
}

static inline void t_b_set_limit(void *dev, uint64_t ns)
{
    struct t_between *b = dev;

    t_script.limit_ns = ns;
    if (!b->dead && b->inner.ops->set_limit)
        b->inner.ops->set_limit(b->inner.self, ns);
}

static const struct ws__device_ops t_between_ops = {
    .abi = WS__DEVICE_ABI,
    .name = "between",
    .close = t_b_close,
    .info = t_b_info,
    .build = t_b_build,
    .unload = t_b_unload,
    .alloc = t_b_alloc,
    .release = t_b_release,
    .write = t_b_write,
    .read = t_b_read,
    .fill = t_b_fill,
    .copy = t_b_copy,
    .hash = t_b_hash,
    .guard = t_b_guard,
    .run = t_b_run,
    .count = t_b_count,
    .watch = t_b_watch,
    .set_limit = t_b_set_limit,
};

static inline int t_device_open(struct ws_ctx *ctx, const char *name,
                                struct ws__device *out)
{
    struct t_between *b;
    int rc;

    (void)name;
    if (t_script.opens++ && t_script.fail_opens) {
        t_script.fail_opens--;
        return ws__fail(ctx, WS_ENODEVICE, "injected: no device");
    }
    b = ws__alloc(ctx, 1, sizeof(*b));
    if (!b)
        return WS_ENOMEM;
    b->ctx = ctx;
    rc = ws__device_open(ctx, t_script.inner, &b->inner);
    if (rc < 0) {
        ws__free(ctx, b);
        return rc;
    }
    b->info = *b->inner.ops->info(b->inner.self);
    if (t_script.not_cpu)
        b->info.id.is_cpu = false;
    if (t_script.changes)
        b->info.id.hash.lo += (uint64_t)t_script.opens;
    if (t_script.cache_bytes)
        b->info.id.cache_bytes = t_script.cache_bytes;
    out->ops = &t_between_ops;
    out->self = b;
    t_script.live++;
    return 0;
}

/* ---- the reference ------------------------------------------------------ */

static int t_reference_rc;   /* what it returns */
static int t_reference_flat; /* 1: 3 everywhere; 2: the number of the run */
static _Atomic long t_reference_runs;

static inline int t_reference_open(struct ws_ctx *ctx, const struct ws__op *op,
                                   unsigned threads, uint64_t timeout_ns,
                                   struct ws__reference **out)
{
    (void)op;
    (void)threads;
    (void)timeout_ns;
    *out = ws__alloc(ctx, 1, sizeof(struct ws_ctx *));
    if (!*out)
        return WS_ENOMEM;
    memcpy((void *)*out, &ctx, sizeof(struct ws_ctx *));
    return 0;
}

static inline void t_reference_close(struct ws__reference *r)
{
    struct ws_ctx *ctx;

    memcpy(&ctx, (void *)r, sizeof(struct ws_ctx *));
    ws__free(ctx, (void *)r);
}

/* C = 2 A, element by element, strides minded. */
static inline int t_reference_run(struct ws__reference *r,
                                  struct ws__problem *p)
{
    const struct ws__tensor_shape *a = &p->in->shape[0];

    (void)r;
    t_reference_runs++;
    if (t_reference_rc < 0)
        return ws__fail(p->ctx, t_reference_rc, "injected");
    for (uint64_t i = 0; i < a->elements; i++) {
        size_t at = (size_t)i;

        if (a->ndim == 2)
            at = (size_t)((int64_t)i / a->dim[1] * a->stride[0] +
                          (int64_t)i % a->dim[1] * a->stride[1]);
        p->result[1][i] = t_reference_flat == 1 ? 3
                          : t_reference_flat
                              ? (double)t_reference_runs
                              : 2 * ws__dtype_get(a->dtype, p->input[0], at);
    }
    return 0;
}

static const struct ws__measure_deps t_deps = {
    .device_open = t_device_open,
    .device_close = ws__device_close,
    .reference_open = t_reference_open,
    .reference_close = t_reference_close,
    .reference_run = t_reference_run,
    .problem_fill = ws__problem_fill,
    .problem_family = ws__problem_fill_family,
};

/* ---- op, kernel, workloads ---------------------------------------------- */

struct t_case {
    struct ws_ctx *ctx;
    struct ws__arena arena;
    struct ws__op op;
    struct ws__kernel kernel;
    struct ws__value value[16];
    union wsrt_value slot[16];
    struct ws__constraint constraint;
    struct ws__workload workload[2];
    struct ws__scope scope;
    struct ws__strtab strings;
};

static inline struct ws__expr *t_expr(struct t_case *c, const char *text)
{
    struct ws__loc loc = {"test", 1, 1};
    struct ws__expr *e = NULL;

    if (ws__expr_compile(c->ctx, &c->arena, text, &loc, &c->scope, -1, &e) < 0)
        return NULL;
    return e;
}

static inline int t_scope(struct t_case *c)
{
    static const char *const device[] = {
#define WS_X(name, text) text,
        WS__DEVICE_VARS(WS_X)
#undef WS_X
    };

    c->strings.arena = &c->arena;
    c->scope.strings = &c->strings;
    WS_TRY(ws__scope_add(c->ctx, &c->scope, "N", WS__INT, NULL));
    WS_TRY(ws__scope_add(c->ctx, &c->scope, "V", WS__INT, NULL));
    for (size_t i = 0; i < WS_COUNT(device); i++)
        WS_TRY(ws__scope_add(c->ctx, &c->scope, device[i], WS__INT, NULL));
    return 0;
}

static inline void t_tensors(struct t_case *c)
{
    struct ws__tensor *t = c->op.tensor;

    c->op.ntensor = 2;
    t[0].name = "A";
    t[0].role = WS__INPUT;
    t[0].fill = (struct ws__fill){WS__FILL_NORMAL, 0, 1};
    t[1].name = "C";
    t[1].role = WS__OUTPUT;
    for (int i = 0; i < 2; i++) {
        t[i].ndim = 1;
        t[i].dim[0] = t_expr(c, "N");
        t[i].dtype = WS__DT_F32;
        t[i].type_axis = -1;
        t[i].align = 4;
    }
}

/* An op with one axis N (64 and 4096), C[N] = 2 A[N]; a kernel "k" with
 * arguments A, C and a parameter V of 0..15. NULL if memory is short. */
static inline struct t_case *t_case_new(struct ws_ctx *ctx, const char *source)
{
    struct t_case *c = ws__alloc(ctx, 1, sizeof(*c));
    struct ws__kernel *k;

    if (!c)
        return NULL;
    c->ctx = ctx;
    ws__arena_init(&c->arena, ctx);
    k = &c->kernel;
    if (t_scope(c) < 0)
        goto fail;
    c->op.name = "scale";
    c->op.naxis = 1;
    c->op.axis[0].name = "N";
    c->op.tolerance = (struct ws__tolerance){
        .kind = WS__TOL_EXPLICIT, 1e-6, 1e-6, 1, NULL, WS__DT_F32};
    c->op.hash = ws__hash_bytes("scale", 5);
    t_tensors(c);
    k->name = "k";
    k->source = source;
    k->op = &c->op;
    k->param[0].name = "V";
    k->param[0].value = c->value;
    k->param[0].slot = c->slot;
    k->param[0].nvalue = 16;
    k->nparam = 1;
    for (int i = 0; i < 16; i++) {
        c->value[i].type = WS__INT;
        c->value[i].u.i = c->slot[i].i = i;
    }
    k->launch[0].entry = "k";
    k->launch[0].grid[0] = t_expr(c, "ceil_div(N, 64)");
    k->launch[0].block[0] = t_expr(c, "64");
    k->launch[0].narg = 2;
    k->launch[0].arg[0].kind = k->launch[0].arg[1].kind = WS__ARG_TENSOR;
    k->launch[0].arg[1].index = 1;
    k->nlaunch = 1;
    c->workload[0] = (struct ws__workload){.name = "small", .axis = {64}};
    c->workload[1] = (struct ws__workload){.name = "large", .axis = {4096}};
    if (c->op.tensor[0].dim[0] && c->op.tensor[1].dim[0] &&
        k->launch[0].grid[0] && k->launch[0].block[0])
        return c;
fail:
    ws__arena_free(&c->arena);
    ws__free(ctx, c);
    return NULL;
}

static inline void t_case_free(struct t_case *c)
{
    if (!c)
        return;
    ws__arena_free(&c->arena);
    ws__free(c->ctx, c);
}

static inline int t_measure_open(struct t_case *c,
                                 const struct ws__measure_opts *opts,
                                 struct ws__measure **out)
{
    static const struct ws__measure_opts warm = {.builders = 1,
                                                 .cache = WS__CACHE_WARM,
                                                 .seed = 7};

    return ws__measure_open_with(c->ctx, &t_deps, &c->op, &c->kernel, 1,
                                 c->workload, 2, opts ? opts : &warm, out);
}

static inline struct ws__question t_question(uint64_t id, int v,
                                             uint32_t workload)
{
    struct ws__question q = {.id = id,
                             .workload = workload,
                             .want = WS__WANT_BUILD | WS__WANT_VERDICT |
                                     WS__WANT_TIME,
                             .effort = WS__SCREEN};

    q.a.config.n = q.b.config.n = 1;
    q.a.config.at[0] = (uint16_t)v;
    return q;
}

static inline int t_answer(struct ws__measure *m, const struct ws__question *q,
                           struct ws__trial out[2])
{
    struct ws__evaluator ev = ws__measure_evaluator(m);

    memset(out, 0, 2 * sizeof(*out));
    return ev.ops->answer(ev.self, q, out);
}

static inline void t_clear(struct ws_ctx *ctx, struct ws__trial t[2])
{
    ws__trial_clear(ctx, &t[0]);
    ws__trial_clear(ctx, &t[1]);
}

#define T_ASSERT_HAS(text, part)                                               \
    do {                                                                       \
        const char *t_text_ = (text);                                          \
        if (!t_text_ || !strstr(t_text_, (part)))                              \
            fail_msg("'%s' is not in '%s'", (part),                            \
                     t_text_ ? t_text_ : "(null)");                            \
    } while (0)

#endif
