/*
 * measure_ahead.c: inputs and reference results of the next questions, while
 * the device is busy with the present one.
 *
 * On a device that does not share the host's processors a question would else
 * leave it idle while inputs are drawn and the reference computes, which for
 * large workloads takes longer than all launches. The seed of the inputs is
 * known when the announced candidates are compiled (builders tell the hash of
 * the binary), so a thread with a reference worker of its own can prepare
 * what the answer will want: the first announced questions that are compiled,
 * WS__AHEAD of them and so many bytes.
 *
 * An answer takes what is ready if the seed is the one that it has computed
 * itself; else it goes the whole way. So nothing that is found here, or goes
 * wrong here, changes an answer: failures are dropped and happen again there.
 * A compiled candidate has not run, on no device, when its inputs are drawn;
 * that they exist a little earlier tells it nothing.
 *
 * Invariants: wishes and the state of places change under m->lock; a place
 * that is RUNNING belongs to the thread, all else to whoever holds the lock.
 * Nothing is computed under it. Memory of a place is used again.
 */
#include "measure/measure_int.h"

#include <unistd.h>

#include "base/cpus.h"
#include "base/clock.h"
#include "base/banned.h"

#define AHEAD_BYTES (2ull << 30) /* of all places, at most */
#define MEMORY_SHARE 8           /* and no more than this part of all memory */

struct work {
    struct ws__wish wish;
    struct ws__ready *place;
};

static uint64_t bytes_of(const struct ws__instance *in)
{
    uint64_t sum = 0;

    for (size_t t = 0; t < in->op->ntensor; t++) {
        if (in->op->tensor[t].role != WS__OUTPUT)
            sum += in->shape[t].bytes;
        if (in->op->tensor[t].role != WS__INPUT)
            sum += in->shape[t].elements * sizeof(double);
    }
    return sum;
}

static uint64_t most_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t share = pages > 0 && page > 0
                         ? (uint64_t)pages * (uint64_t)page / MEMORY_SHARE
                         : AHEAD_BYTES;

    return share < AHEAD_BYTES ? share : AHEAD_BYTES;
}

/* ---- with the lock held ------------------------------------------------- */

/* The seed of a wish; false while it cannot be known. */
static bool find_seed(const struct ws__measure *m, const struct ws__wish *w,
                      uint64_t *seed)
{
    static const struct ws__hash none;
    struct ws__hash binary[2];

    for (size_t i = 0; i < w->n; i++) {
        const struct ws__job *j = w->job[i];

        if (j->state != WS__JOB_IDLE || j->verdict != WS__V_NONE || !j->built ||
            ws__hash_eq(j->binary, none))
            return false;
        binary[i] = j->binary;
    }
    *seed = ws__measure_seed(m, binary, w->candidate, w->n, w->work);
    return true;
}

/* Is it what a wish asks for? Then nobody need work on that wish. */
static bool claim(struct ws__measure *m, uint64_t seed)
{
    struct ws__ahead *a = &m->ahead;
    bool any = false;
    uint64_t other;

    for (size_t i = 0; i < a->nwish; i++)
        if (find_seed(m, &a->wish[i], &other) && other == seed)
            any = a->wish[i].done = true;
    return any;
}

static struct ws__ready *free_place(struct ws__ahead *a, uint64_t bytes)
{
    struct ws__ready *place = NULL;
    uint64_t sum = bytes;

    for (size_t i = 0; i < WS__AHEAD; i++) {
        if (a->ready[i].state == WS__READY_FREE)
            place = &a->ready[i];
        else
            sum += a->ready[i].bytes;
    }
    return sum <= a->max_bytes ? place : NULL;
}

/* The first wish that can be worked on, and where. */
static bool choose(struct ws__measure *m, struct work *out)
{
    struct ws__ahead *a = &m->ahead;

    for (size_t i = 0; i < a->nwish; i++) {
        struct ws__wish *w = &a->wish[i];

        if (w->done || !find_seed(m, w, &w->seed))
            continue;
        out->place = free_place(a, bytes_of(w->in));
        if (!out->place)
            return false;
        w->done = true;
        out->wish = *w;
        out->place->seed = w->seed;
        out->place->bytes = bytes_of(w->in);
        out->place->stale = false;
        out->place->state = WS__READY_RUNNING;
        return true;
    }
    return false;
}

/* ---- the thread --------------------------------------------------------- */

static int make_problem(struct ws__ahead *a, const struct work *x)
{
    struct ws__ready *r = x->place;

    if (r->p && r->p->in != x->wish.in) {
        ws__problem_free(r->p);
        r->p = NULL;
    }
    if (!r->p)
        WS_TRY(ws__problem_new(a->ctx, x->wish.in, &r->p));
    r->p->ctx = a->ctx;
    return 0;
}

/* A trusted kernel runs on the device, beside nothing: only the inputs. */
static int prepare(struct ws__measure *m, const struct work *x)
{
    struct ws__ahead *a = &m->ahead;
    struct ws__ready *r = x->place;
    uint64_t start;

    WS_TRY(make_problem(a, x));
    if (!a->ref && !m->refkernel)
        WS_TRY(m->deps.reference_open(a->ctx, m->op, a->threads,
                                      WS__REFERENCE_LIMIT_NS, &a->ref));
    WS_TRY(m->deps.problem_fill(r->p, a->ref, x->wish.seed, a->threads));
    r->p->seed = x->wish.seed;
    r->computed = false;
    if (m->refkernel)
        return 0;
    start = ws__now_ns();
    WS_TRY(m->deps.reference_run(a->ref, r->p));
    r->ref_ns = ws__now_ns() - start;
    r->computed = true;
    return 0;
}

static void work(struct ws__measure *m, const struct work *x)
{
    struct ws__ready *r = x->place;
    int rc;

    pthread_mutex_unlock(&m->lock);
    rc = prepare(m, x);
    if (rc < 0)
        ws__log(m->ahead.ctx, WS_LOG_DEBUG, "nothing prepared ahead: %s",
                m->ahead.ctx->err.message);
    pthread_mutex_lock(&m->lock);
    r->state = rc < 0 || r->stale ? WS__READY_FREE : WS__READY_DONE;
    pthread_cond_broadcast(&m->done);
}

static void *ahead_main(void *user)
{
    struct ws__measure *m = user;
    struct ws__ahead *a = &m->ahead;
    struct work x;

    pthread_mutex_lock(&m->lock);
    while (!m->quit) {
        if (choose(m, &x))
            work(m, &x);
        else
            pthread_cond_wait(&a->wake, &m->lock);
    }
    pthread_mutex_unlock(&m->lock);
    if (a->ref)
        m->deps.reference_close(a->ref);
    a->ref = NULL;
    return NULL;
}

/* No thread is no error: answers then prepare everything. */
static void start(struct ws__measure *m)
{
    struct ws__ahead *a = &m->ahead;
    unsigned all = m->opts.ref_threads ? m->opts.ref_threads : ws__processors();

    if (a->started)
        return;
    a->threads = all > 1 ? all - 1 : 1; /* one for the device's worker */
    a->ctx = ws__ctx_child(m->ctx);
    if (!a->ctx)
        return;
    a->ctx->stop = &a->ctx->own_stop;
    if (pthread_create(&a->thread, NULL, ahead_main, m)) {
        ws_ctx_free(a->ctx);
        a->ctx = NULL;
        return;
    }
    a->started = true;
}

/* ---- for the others ----------------------------------------------------- */

void ws__ahead_open(struct ws__measure *m)
{
    pthread_cond_init(&m->ahead.wake, NULL);
    m->ahead.max_bytes = most_bytes();
}

void ws__ahead_announce(struct ws__measure *m, struct ws__wish *wish, size_t n)
{
    struct ws__ahead *a = &m->ahead;

    if (n)
        start(m);
    pthread_mutex_lock(&m->lock);
    ws__free(m->ctx, a->wish);
    a->wish = wish;
    a->nwish = n;
    for (size_t i = 0; i < WS__AHEAD; i++) {
        struct ws__ready *r = &a->ready[i];
        bool wanted =
            r->state != WS__READY_FREE && !r->stale && claim(m, r->seed);

        if (r->state == WS__READY_DONE && !wanted)
            r->state = WS__READY_FREE;
        r->stale = r->state == WS__READY_RUNNING && !wanted;
    }
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&m->lock);
}

static struct ws__ready *find(struct ws__ahead *a, uint64_t seed)
{
    for (size_t i = 0; i < WS__AHEAD; i++) {
        struct ws__ready *r = &a->ready[i];

        if (r->state != WS__READY_FREE && !r->stale && r->seed == seed)
            return r;
    }
    return NULL;
}

int ws__ahead_take(struct ws__measure *m, const struct ws__instance *in,
                   uint64_t seed, bool *computed)
{
    struct ws__ahead *a = &m->ahead;
    struct ws__problem *old = m->problem, *drop = NULL;
    struct ws__ready *r;
    int rc = 0;

    pthread_mutex_lock(&m->lock);
    while ((r = find(a, seed)) && r->state == WS__READY_RUNNING && rc >= 0)
        rc = ws__measure_wait(m);
    if (r && rc >= 0 && r->p->in == in) {
        m->problem = r->p;
        m->problem->ctx = m->ctx;
        m->ref_ns = r->ref_ns;
        *computed = r->computed;
        r->p = old;
        r->state = WS__READY_FREE;
        rc = 1;
        /* A place keeps no more than would have been made in it. */
        if (old && bytes_of(old->in) > a->max_bytes) {
            drop = old;
            r->p = NULL;
        }
    }
    claim(m, seed); /* too late for these */
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&m->lock);
    ws__problem_free(drop);
    return rc;
}

/* m->quit is set. */
void ws__ahead_close(struct ws__measure *m)
{
    struct ws__ahead *a = &m->ahead;

    if (a->started) {
        ws_ctx_cancel(a->ctx);
        pthread_mutex_lock(&m->lock);
        pthread_cond_signal(&a->wake);
        pthread_mutex_unlock(&m->lock);
        pthread_join(a->thread, NULL);
    }
    for (size_t i = 0; i < WS__AHEAD; i++)
        ws__problem_free(a->ready[i].p);
    ws_ctx_free(a->ctx);
    ws__free(m->ctx, a->wish);
    pthread_cond_destroy(&a->wake);
}
