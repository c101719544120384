/*
 * measure_build.c: from a candidate to a module on the timing device.
 *
 * Compilers crash and hang like kernels do, and they are slow. So batches of
 * candidates are first built by builders: threads with an isolated device of
 * their own, whose results are thrown away but for two things: the driver's
 * cache on disk is warm, and a failure is known and becomes the verdict. The
 * timing device then builds from that cache.
 *
 * Nothing may run on a device beside what is timed. On one that shares the
 * host's processors prefetch ends only when the batch is built; elsewhere it
 * returns at once, an answer waits for its own, and builders compile only; the
 * hash of what they compiled lets inputs be prepared ahead (measure_ahead.c).
 *
 * First launches belong to building where drivers make machine code only
 * then, which those for processors do. Elsewhere the first launch is the
 * checked one, under the limit of a run: a hang costs that and no more.
 *
 * A failure is a candidate's only if the device still builds what is known to
 * be right (measure_sound.c), and only if nobody killed the worker.
 *
 * A builder's context does not share the caller's stop flag: closing must be
 * able to end a long build while the caller's context goes on living. The
 * caller's own stop is noticed wherever it waits for builders.
 */
#include "measure/measure_int.h"

#include <time.h>

#include "base/banned.h"

#define WAIT_NS 50000000 /* between looks at the caller's stop flag */
#define LOG_BYTES 1500   /* of a compiler's words in a reason */

/* ---- recipes ----------------------------------------------------------- */

/* The launches as hints. Scalars become values, since a device binds only
 * buffers to tensors. */
static int copy_hints(struct ws__measure *m, const struct ws__instance *in,
                      const struct ws__plan *plan, struct ws__recipe *out)
{
    out->hint = ws__alloc(m->ctx, plan->nlaunch ? plan->nlaunch : 1,
                          sizeof(*out->hint));
    if (!out->hint)
        return WS_ENOMEM;
    out->nhint = plan->nlaunch;
    memcpy(out->hint, plan->launch, plan->nlaunch * sizeof(*out->hint));
    for (size_t i = 0; i < out->nhint; i++) {
        out->file[i] = out->hint[i].file;
        out->hint[i].file = NULL; /* hints travel to workers */
    }
    for (size_t i = 0; i < out->nhint; i++)
        for (size_t a = 0; a < out->hint[i].narg; a++) {
            struct ws__plan_arg *x = &out->hint[i].arg[a];

            if (x->kind != WS__ARG_TENSOR ||
                ws__measure_in_buffer(m->op, x->index))
                continue;
            x->kind = WS__ARG_VALUE;
            x->bytes = ws__dtype_bytes(in->shape[x->index].dtype);
        }
    for (size_t t = 0; t < m->op->ntensor; t++)
        if (ws__measure_in_buffer(m->op, t))
            out->tensor_bytes[t] = in->shape[t].bytes;
    memcpy(out->scratch_bytes, plan->scratch_bytes, sizeof(out->scratch_bytes));
    return 0;
}

/* Launches and sizes are part of it: building runs them once, and what fails
 * there may fail for this workload only. */
static struct ws__hash recipe_key(const struct ws__recipe *r)
{
    const struct ws__kernel *k = r->kernel;
    struct ws__hash h = ws__hash_str((struct ws__hash){4, 0}, r->source);

    h = ws__hash_u64(h, (uint64_t)k->dialect);
    for (size_t i = 0; i < k->noption; i++)
        h = ws__hash_str(h, k->option[i]);
    for (size_t i = 0; i < r->nhint; i++) {
        const struct ws__plan_launch *l = &r->hint[i];

        h = ws__hash_str(h, ws__plan_entry(l));
        h = ws__hash_mix(h, l->grid, sizeof(l->grid));
        h = ws__hash_mix(h, l->block, sizeof(l->block));
        h = ws__hash_u64(ws__hash_u64(h, l->shared_bytes), l->narg);
        for (size_t a = 0; a < l->narg; a++) {
            h = ws__hash_u64(h, (uint64_t)l->arg[a].kind);
            h = ws__hash_u64(h, l->arg[a].index);
            h = ws__hash_mix(ws__hash_u64(h, l->arg[a].bytes), l->arg[a].value,
                             sizeof(l->arg[a].value));
        }
    }
    h = ws__hash_mix(h, r->tensor_bytes, sizeof(r->tensor_bytes));
    return ws__hash_mix(h, r->scratch_bytes, sizeof(r->scratch_bytes));
}

int ws__recipe_make(struct ws__measure *m, const struct ws__candidate *c,
                    const struct ws__instance *in, const struct ws__plan *plan,
                    struct ws__recipe *out)
{
    char name[WS__MAX_ENTRY];
    int rc;

    memset(out, 0, sizeof(*out));
    out->kernel = &m->kernel[c->kernel];
    WS_TRY(
        ws__kernel_source(m->ctx, out->kernel, &c->config, in, &out->source));
    if (out->kernel->dialect == WS__DIALECT_CUBIN)
        rc = ws__kernel_file(m->ctx, out->kernel, &c->config, in, name,
                             &out->ready);
    else
        rc = 0;
    if (rc >= 0)
        rc = copy_hints(m, in, plan, out);
    if (rc < 0)
        ws__recipe_clear(m->ctx, out);
    else
        out->key = recipe_key(out);
    return rc;
}

void ws__recipe_clear(struct ws_ctx *ctx, struct ws__recipe *r)
{
    ws__free(ctx, r->source);
    ws__free(ctx, r->hint);
    r->source = NULL;
    r->hint = NULL;
    r->nhint = 0;
}

/* The compiler's first words into the message, where it has none of them. */
static void add_log(struct ws_ctx *ctx, const char *log)
{
    if (log && log[0] && !strstr(ctx->err.message, log))
        ws__fail(ctx, ctx->err.code, "%.300s: %.*s", ctx->err.message,
                 LOG_BYTES, log);
}

/* One module, for n launches from `first` on. */
static int build_part(const struct ws__measure *m, struct ws_ctx *ctx,
                      struct ws__device *d, const struct ws__recipe *r,
                      const struct ws__source_file *ready, size_t first,
                      size_t n, bool compile_only, struct ws__built *out)
{
    const char *entry[WS__MAX_LAUNCHES];
    struct ws__build b = {
        .source = r->source,
        .option = (const char *const *)r->kernel->option,
        .noption = r->kernel->noption,
        .dialect = ws__dialect_built(r->kernel->dialect),
        .binary = ready ? ready->data : NULL,
        .binary_bytes = ready ? ready->bytes : 0,
        .entry = entry,
        .hint = r->hint + first,
        .nhint = n,
        .rehearse = m->info.id.is_cpu,
        .compile_only = compile_only,
        .tensor_bytes = r->tensor_bytes,
        .ntensor = WS__MAX_TENSORS,
        .scratch_bytes = r->scratch_bytes,
        .nscratch = WS__MAX_SCRATCH,
    };
    int rc;

    if (ready && ready->failed)
        return ws__fail(ctx, WS_EBUILD, "%s", ready->failed);
    for (size_t i = 0; i < n; i++) {
        const char *name = ws__plan_entry(&b.hint[i]);
        size_t at = 0;

        while (at < b.nentry && strcmp(entry[at], name))
            at++;
        if (at == b.nentry)
            entry[b.nentry++] = name;
    }
    memset(out, 0, sizeof(*out));
    if (d->ops->set_limit)
        d->ops->set_limit(d->self, m->opts.build_limit_ns);
    rc = d->ops->build(d->self, &b, out);
    if (rc < 0)
        add_log(ctx, out->log);
    ws__free(ctx, out->log);
    out->log = NULL;
    if (rc < 0)
        ws__built_free(ctx, out);
    return rc;
}

static void unload(struct ws__device *d, struct ws__module *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->module[i])
            d->ops->unload(d->self, x->module[i]);
    memset(x, 0, sizeof(*x));
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static bool known(struct ws__hash h)
{
    return h.lo || h.hi;
}

/* What a candidate of several modules takes. */
static void add_resources(struct ws__resources *a,
                          const struct ws__resources *b, bool first)
{
    if (first) {
        *a = *b;
        return;
    }
    a->binary_bytes += b->binary_bytes;
    a->build_ns += b->build_ns;
    a->registers = larger(a->registers, b->registers);
    a->spill_bytes = larger(a->spill_bytes, b->spill_bytes);
    a->shared_bytes = larger(a->shared_bytes, b->shared_bytes);
    a->private_bytes = larger(a->private_bytes, b->private_bytes);
    if (b->max_threads < a->max_threads)
        a->max_threads = b->max_threads;
    a->binary = known(a->binary) && known(b->binary)
                    ? ws__hash_mix(a->binary, &b->binary, sizeof(b->binary))
                    : (struct ws__hash){0, 0};
}

/* On failure nothing is left. */
static int build_on(const struct ws__measure *m, struct ws_ctx *ctx,
                    struct ws__device *d, const struct ws__recipe *r,
                    bool compile_only, struct ws__module *out)
{
    bool apart = r->nhint && r->file[0];
    size_t n = apart ? r->nhint : 1;

    memset(out, 0, sizeof(*out));
    out->key = r->key;
    for (size_t i = 0; i < n; i++) {
        struct ws__built built;
        int rc = build_part(m, ctx, d, r, apart ? r->file[i] : r->ready, i,
                            apart ? 1 : r->nhint, compile_only, &built);

        if (rc < 0) {
            if (!ws__measure_kills(rc))
                unload(d, out);
            return rc;
        }
        out->module[out->n++] = built.module;
        add_resources(&out->res, &built.res, i == 0);
        ws__built_free(ctx, &built);
    }
    return 0;
}

/* ---- jobs: what is known of each recipe -------------------------------- */

static struct ws__job **bucket_of(struct ws__measure *m, struct ws__hash key)
{
    return &m->bucket[key.lo % WS__BUILD_BUCKETS];
}

static struct ws__job *find_job(struct ws__measure *m, struct ws__hash key)
{
    struct ws__job *j = *bucket_of(m, key);

    while (j && !ws__hash_eq(j->recipe.key, key))
        j = j->chain;
    return j;
}

static struct ws__job *make_job(struct ws__measure *m, struct ws__hash key)
{
    struct ws__job *j = find_job(m, key), **b = bucket_of(m, key);

    if (j)
        return j;
    j = ws__alloc(m->ctx, 1, sizeof(*j));
    if (!j)
        return NULL;
    j->recipe.key = key;
    j->chain = *b;
    *b = j;
    return j;
}

static void set_built(struct ws__job *j, struct ws__hash binary)
{
    j->built = true;
    j->binary = binary;
}

/* Remembers why a build failed; no memory for the words is no reason to
 * forget the verdict. */
static void remember(struct ws_ctx *ctx, struct ws__job *j, int rc)
{
    char text[sizeof(ctx->err.message)];

    j->verdict = ws__measure_verdict_of(rc);
    if (j->verdict == WS__V_NONE)
        return;
    if (ws__measure_kills(rc))
        snprintf(text, sizeof(text), "while building: %.1000s",
                 ctx->err.message);
    else
        snprintf(text, sizeof(text), "%s", ctx->err.message);
    ws__free(ctx, j->reason);
    j->reason = ws__strdup(ctx, text);
}

void ws__measure_free_jobs(struct ws__measure *m)
{
    for (size_t i = 0; i < WS__BUILD_BUCKETS; i++)
        while (m->bucket[i]) {
            struct ws__job *j = m->bucket[i];

            m->bucket[i] = j->chain;
            ws__recipe_clear(m->ctx, &j->recipe);
            ws__free(m->ctx, j->reason);
            ws__free(m->ctx, j);
        }
}

/* ---- builders ---------------------------------------------------------- */

static void close_builder_device(struct ws__builder *b)
{
    if (b->open)
        b->m->deps.device_close(&b->dev);
    b->open = false;
}

static int open_builder_device(struct ws__builder *b)
{
    if (b->open)
        return 0;
    WS_TRY(ws__measure_open_device(b->m, b->ctx, &b->dev));
    b->open = true;
    return 0;
}

/* Without the lock; the job is this thread's while it is RUNNING. 1 built,
 * 0 nothing learnt: the builder itself fails, and the timing device builds. */
static int build_job(struct ws__builder *b, struct ws__job *j,
                     struct ws__hash *binary)
{
    struct ws__measure *m = b->m;
    int crashes = 0, kills = 0;

    for (;;) {
        struct ws__module built;
        int rc;

        if (open_builder_device(b) < 0)
            return 0;
        rc = build_on(m, b->ctx, &b->dev, &j->recipe, !m->info.id.is_cpu,
                      &built);
        if (rc >= 0) {
            *binary = built.res.binary;
            unload(&b->dev, &built);
            return 1;
        }
        if (ws__measure_kills(rc))
            close_builder_device(b);
        if (ws__measure_killed(b->ctx, rc) && kills++ < WS__KILLS)
            continue;
        if (ws__measure_killed(b->ctx, rc))
            return 0;
        /* A worker may have been hurt by an earlier build. */
        if (ws__measure_verdict_of(rc) == WS__V_CRASH && !crashes++)
            continue;
        if (crashes && open_builder_device(b) < 0)
            return 0;
        return ws__measure_sound(m, b->ctx, &b->dev, rc) < 0 ? 0 : rc;
    }
}

static void *builder_main(void *user)
{
    struct ws__builder *b = user;
    struct ws__measure *m = b->m;

    pthread_mutex_lock(&m->lock);
    while (!m->quit) {
        struct ws__job *j = m->queue;
        struct ws__hash binary;
        int rc;

        if (!j) {
            pthread_cond_wait(&m->work, &m->lock);
            continue;
        }
        m->queue = j->next;
        if (!m->queue)
            m->queue_end = &m->queue;
        j->state = WS__JOB_RUNNING;
        pthread_mutex_unlock(&m->lock);
        rc = build_job(b, j, &binary);
        pthread_mutex_lock(&m->lock);
        if (rc > 0)
            set_built(j, binary);
        else if (rc < 0)
            remember(b->ctx, j, rc);
        ws__recipe_clear(b->ctx, &j->recipe);
        j->state = WS__JOB_IDLE;
        m->pending--;
        pthread_cond_broadcast(&m->done);
        pthread_cond_signal(&m->ahead.wake);
    }
    pthread_mutex_unlock(&m->lock);
    close_builder_device(b);
    return NULL;
}

/* As many as asked for or as many as the system lets start; none is no
 * error, the timing device then builds everything. */
static void start_builders(struct ws__measure *m)
{
    while (m->nbuilder < m->opts.builders) {
        struct ws__builder *b = &m->builder[m->nbuilder];

        b->m = m;
        b->ctx = ws__ctx_child(m->ctx);
        if (!b->ctx)
            return;
        b->ctx->stop = &b->ctx->own_stop;
        if (pthread_create(&b->thread, NULL, builder_main, b)) {
            ws_ctx_free(b->ctx);
            b->ctx = NULL;
            return;
        }
        m->nbuilder++;
    }
}

void ws__measure_stop_builders(struct ws__measure *m)
{
    pthread_mutex_lock(&m->lock);
    m->quit = true;
    pthread_cond_broadcast(&m->work);
    pthread_mutex_unlock(&m->lock);
    for (size_t i = 0; i < m->nbuilder; i++)
        ws_ctx_cancel(m->builder[i].ctx);
    for (size_t i = 0; i < m->nbuilder; i++) {
        pthread_join(m->builder[i].thread, NULL);
        ws_ctx_free(m->builder[i].ctx);
    }
    m->nbuilder = 0;
}

int ws__measure_wait(struct ws__measure *m)
{
    struct timespec ts;

    WS_TRY(ws__check_stop(m->ctx));
    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_nsec += WAIT_NS;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_nsec -= 1000000000;
        ts.tv_sec++;
    }
    pthread_cond_timedwait(&m->done, &m->lock, &ts);
    return 0;
}

/* With the lock held: until job j (NULL: every job) is idle. */
static int wait_jobs(struct ws__measure *m, const struct ws__job *j)
{
    while (j ? j->state != WS__JOB_IDLE : m->pending > 0)
        WS_TRY(ws__measure_wait(m));
    return 0;
}

/* The recipe of a candidate, into the list if nothing is known of it yet, and
 * into the wish. */
static int collect(struct ws__measure *m, const struct ws__candidate *c,
                   uint32_t workload, struct ws__plan *plan,
                   struct ws__job **list, struct ws__wish *w)
{
    const struct ws__instance *in;
    struct ws__recipe r;
    struct ws__job *j;
    char reason[256];
    int rc = ws__measure_plan(m, c, workload, plan, reason);

    if (rc <= 0)
        return rc;
    WS_TRY(ws__measure_instance(m, workload, &in));
    WS_TRY(ws__recipe_make(m, c, in, plan, &r));
    w->in = in;
    w->candidate[w->n] =
        ws__candidate_hash(&m->kernel[c->kernel], &c->config, r.source);
    pthread_mutex_lock(&m->lock);
    j = w->job[w->n++] = make_job(m, r.key);
    if (j && !j->built && j->verdict == WS__V_NONE && !j->recipe.source) {
        j->recipe = r;
        j->next = *list;
        *list = j;
    } else {
        ws__recipe_clear(m->ctx, &r);
    }
    pthread_mutex_unlock(&m->lock);
    return j ? 0 : WS_ENOMEM;
}

static void enqueue(struct ws__measure *m, struct ws__job *list)
{
    while (list) {
        struct ws__job *j = list;

        list = j->next;
        j->next = NULL;
        j->state = WS__JOB_QUEUED;
        *m->queue_end = j;
        m->queue_end = &j->next;
        m->pending++;
    }
    pthread_cond_broadcast(&m->work);
}

static void drop(struct ws__measure *m, struct ws__job *list)
{
    for (; list; list = list->next)
        ws__recipe_clear(m->ctx, &list->recipe);
}

static int collect_all(struct ws__measure *m, const struct ws__question *q,
                       size_t n, struct ws__job **list, struct ws__wish *wish,
                       size_t *nwish)
{
    struct ws__plan *plan = ws__alloc(m->ctx, 1, sizeof(*plan));
    int rc = plan ? 0 : WS_ENOMEM;

    *nwish = 0;
    for (size_t i = 0; i < n && rc >= 0; i++) {
        struct ws__wish *w = &wish[*nwish];

        memset(w, 0, sizeof(*w));
        rc = collect(m, &q[i].a, q[i].workload, plan, list, w);
        if (rc >= 0 && q[i].pair)
            rc = collect(m, &q[i].b, q[i].workload, plan, list, w);
        if (rc < 0 || w->n != (q[i].pair ? 2 : 1) ||
            !(q[i].want & (WS__WANT_VERDICT | WS__WANT_TIME)))
            continue;
        w->work = ws__workload_hash(m->op, &m->workload[q[i].workload]);
        ++*nwish;
    }
    ws__free(m->ctx, plan);
    return rc;
}

int ws__measure_prefetch(struct ws__measure *m, const struct ws__question *q,
                         size_t n)
{
    struct ws__wish *wish = ws__alloc(m->ctx, n ? n : 1, sizeof(*wish));
    struct ws__job *list = NULL;
    bool cpu = m->info.id.is_cpu;
    size_t nwish;
    int rc;

    if (!wish)
        return WS_ENOMEM;
    rc = collect_all(m, q, m->ordered ? 0 : n, &list, wish, &nwish);
    /* One build alone gains nothing where nothing else may run meanwhile. */
    if (rc >= 0 && list && (!cpu || list->next))
        start_builders(m);
    pthread_mutex_lock(&m->lock);
    if (rc < 0 || !m->nbuilder || (cpu && list && !list->next))
        drop(m, list);
    else
        enqueue(m, list);
    if (rc >= 0 && cpu)
        rc = wait_jobs(m, NULL);
    pthread_mutex_unlock(&m->lock);
    if (rc >= 0 && !cpu && !m->ordered)
        ws__ahead_announce(m, wish, nwish);
    else
        ws__free(m->ctx, wish);
    return rc;
}

/* ---- modules of the timing device -------------------------------------- */

void ws__measure_forget_modules(struct ws__measure *m)
{
    memset(m->module, 0, sizeof(m->module));
}

static struct ws__module *find_module(struct ws__measure *m,
                                      struct ws__hash key)
{
    for (size_t i = 0; i < WS__MAX_MODULES; i++)
        if (m->module[i].n && ws__hash_eq(m->module[i].key, key))
            return &m->module[i];
    return NULL;
}

/* A free place, or the one unused for longest, emptied. */
static struct ws__module *free_module(struct ws__measure *m)
{
    struct ws__module *best = &m->module[0];

    for (size_t i = 1; i < WS__MAX_MODULES && best->n; i++)
        if (!m->module[i].n || m->module[i].used < best->used)
            best = &m->module[i];
    unload(&m->dev, best);
    return best;
}

static int fail_build(struct ws__measure *m, struct ws__subject *s,
                      const struct ws__job *j)
{
    s->judged = true;
    s->t->verdict = j->verdict;
    return ws__trial_set_reason(m->ctx, s->t, "%s",
                                j->reason ? j->reason
                                          : ws__verdict_text(j->verdict));
}

/* A crash is believed the second time; the caller asks again. */
static int blame_build(struct ws__measure *m, struct ws__subject *s,
                       struct ws__job *j, int rc)
{
    bool again;
    int sound;

    m->killed = ws__measure_killed(m->ctx, rc);
    again = ws__measure_verdict_of(rc) == WS__V_CRASH &&
            (m->killed || !j->crashes++);
    if (!again && rc != WS_ETIMEOUT) {
        struct ws_error err = m->ctx->err;

        WS_TRY(ws__measure_ready(m));
        m->ctx->err = err;
        sound = ws__measure_sound(m, m->ctx, &m->dev, rc);
        m->broken = sound < 0 && sound != WS_ECRASH && sound != WS_EPROTO;
        if (sound < 0)
            return sound;
    }
    pthread_mutex_lock(&m->lock);
    remember(m->ctx, j, rc);
    pthread_mutex_unlock(&m->lock);
    rc = fail_build(m, s, j);
    pthread_mutex_lock(&m->lock);
    if (again)
        j->verdict = WS__V_NONE;
    pthread_mutex_unlock(&m->lock);
    return rc;
}

/* 1 built, 0 judged, negative on error. */
static int build_here(struct ws__measure *m, struct ws__subject *s,
                      struct ws__job *j)
{
    struct ws__module built;
    int rc = build_on(m, m->ctx, &m->dev, &s->recipe, false, &built);

    if (rc >= 0) {
        pthread_mutex_lock(&m->lock);
        set_built(j, built.res.binary);
        pthread_mutex_unlock(&m->lock);
        *free_module(m) = built;
        return 1;
    }
    if (ws__measure_kills(rc)) {
        struct ws_error err = m->ctx->err;

        ws__measure_lose(m);
        WS_TRY(ws__check_stop(m->ctx));
        m->ctx->err = err;
    }
    if (ws__measure_verdict_of(rc) == WS__V_NONE)
        return rc;
    return blame_build(m, s, j, rc);
}

int ws__measure_build(struct ws__measure *m, struct ws__subject *s)
{
    struct ws__module *mod = find_module(m, s->recipe.key);
    struct ws__job *j;
    int rc = 0;

    ws__measure_step(m, WS__STEP_BUILDERS);
    pthread_mutex_lock(&m->lock);
    j = make_job(m, s->recipe.key);
    if (j)
        rc = wait_jobs(m, j);
    pthread_mutex_unlock(&m->lock);
    ws__measure_step(m, WS__STEP_BUILD);
    if (!j || rc < 0)
        return j ? rc : WS_ENOMEM;
    if (!mod && j->verdict != WS__V_NONE) {
        s->told = true;
        return fail_build(m, s, j);
    }
    if (!mod) {
        rc = build_here(m, s, j);
        if (rc <= 0)
            return rc;
        mod = find_module(m, s->recipe.key);
    }
    mod->used = ++m->tick;
    for (size_t i = 0; i < WS__MAX_LAUNCHES; i++)
        s->module[i] = mod->module[mod->n == 1 ? 0 : i];
    s->t->res = mod->res;
    return 0;
}
