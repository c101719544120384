/*
 * fleet.c: several devices of one model as one evaluator. See fleet.h.
 *
 * A batch of announced questions is an array of tasks. Each is given to the
 * device that has least to do, one that worked on the same workload if there
 * is a choice (inputs and reference are made once a workload and device). A
 * device without work takes another one's. The caller's thread works, too:
 * asked for an answer that is not there, it does what is left to do, then
 * waits.
 *
 * Invariants: tasks change under the lock, but for the trials of a running
 * one, which belong to whoever runs it. Only between batches may the array
 * move, and no task runs then. A failure of the evaluator (a lost device) is
 * kept with its words and told when the question is asked; asked again, it is
 * answered by the first device.
 */
#include "measure/fleet.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "measure/measure_int.h"

#include "base/cpus.h"
#include "base/banned.h"

#define WAIT_NS 20000000 /* between two looks at the stop flag */
#define NOBODY UINT32_MAX

enum task_state { IDLE, QUEUED, RUNNING, DONE };

struct task {
    struct ws__question q;
    enum task_state state;
    size_t owner;
    bool announced; /* to its owner's builders */
    int rc;
    struct ws_error err;
    struct ws__trial t[2];
};

struct member {
    struct ws__fleet *f;
    size_t index;
    struct ws_ctx *ctx; /* a child; of member 0 the caller's */
    struct ws__measure_opts opts;
    struct ws__measure *m;
    pthread_t thread;
    bool started, open; /* open: tried, rc says how it went */
    int rc;
    uint64_t batch;    /* the last one that it announced to its builders */
    uint32_t workload; /* of its last task */
};

/* What the threads need to open theirs. */
struct job {
    const struct ws__measure_deps *deps;
    const struct ws__op *op;
    const struct ws__kernel *kernel;
    const struct ws__workload *workload;
    size_t nkernel, nworkload;
};

struct ws__fleet {
    struct ws_ctx *ctx;
    struct job job;
    struct member member[WS__MAX_FLEET];
    size_t n;
    pthread_mutex_t lock;
    pthread_cond_t work, done; /* for members; for the caller */
    struct task *task;
    size_t ntask;
    uint64_t batch;
    bool quit;
};

/* ---- tasks (with the lock held) ---------------------------------------- */

static struct task *queued(struct ws__fleet *f, const struct member *who,
                           bool own)
{
    struct task *best = NULL;

    for (size_t i = 0; i < f->ntask; i++) {
        struct task *t = &f->task[i];

        if (t->state != QUEUED || (t->owner == who->index) != own)
            continue;
        if (t->q.workload == who->workload)
            return t;
        /* Of another's the last, which it would reach last. */
        if (!best || !own)
            best = t;
    }
    return best;
}

static struct task *take(struct ws__fleet *f, struct member *who)
{
    struct task *t = queued(f, who, true);

    if (!t)
        t = queued(f, who, false);
    if (t)
        t->state = RUNNING;
    return t;
}

static void clear_task(struct ws__fleet *f, struct task *t)
{
    ws__trial_clear(f->ctx, &t->t[0]);
    ws__trial_clear(f->ctx, &t->t[1]);
    t->state = IDLE;
}

static void wait_done(struct ws__fleet *f)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_nsec += WAIT_NS;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&f->done, &f->lock, &ts);
}

/* What nobody asked for is dropped; what runs is awaited, since it holds its
 * task (a stop of the context ends it soon). */
static void end_batch(struct ws__fleet *f)
{
    for (size_t i = 0; i < f->ntask; i++) {
        if (f->task[i].state == QUEUED)
            f->task[i].state = IDLE;
        while (f->task[i].state == RUNNING)
            pthread_cond_wait(&f->done, &f->lock);
        clear_task(f, &f->task[i]);
    }
    f->ntask = 0;
}

/* Runs a task that was taken; the lock is let go meanwhile. */
static void run_task(struct ws__fleet *f, struct member *who, struct task *t)
{
    struct ws__evaluator ev = ws__measure_evaluator(who->m);
    int rc;

    who->workload = t->q.workload;
    pthread_mutex_unlock(&f->lock);
    rc = ev.ops->answer(ev.self, &t->q, t->t);
    pthread_mutex_lock(&f->lock);
    t->rc = rc;
    if (rc < 0)
        t->err = who->ctx->err;
    t->state = DONE;
    pthread_cond_broadcast(&f->done);
}

/* ---- members ----------------------------------------------------------- */

static int open_member(struct member *who)
{
    const struct job *j = &who->f->job;

    return ws__measure_open_with(who->ctx, j->deps, j->op, j->kernel,
                                 j->nkernel, j->workload, j->nworkload,
                                 &who->opts, &who->m);
}

/* The one of its own that a member will come to after one of that workload. */
static struct task *next_own(struct ws__fleet *f, const struct member *who,
                             uint32_t workload)
{
    struct task *first = NULL;

    for (size_t i = 0; i < f->ntask; i++) {
        struct task *t = &f->task[i];

        if (t->owner != who->index || t->announced)
            continue;
        if (t->q.workload == workload)
            return t;
        if (!first)
            first = t;
    }
    return first;
}

/* Lets a member's builders work ahead on its share of the batch, in the order
 * in which it will. Failures show when the questions are answered. The lock is
 * let go meanwhile. */
static int announce(struct ws__fleet *f, struct member *who)
{
    struct ws__question *q = ws__alloc(who->ctx, f->ntask + 1, sizeof(*q));
    struct ws__evaluator ev = ws__measure_evaluator(who->m);
    uint32_t workload = who->workload;
    struct task *t;
    size_t n = 0;
    int rc = 0;

    who->batch = f->batch;
    if (!q)
        return WS_ENOMEM;
    while ((t = next_own(f, who, workload))) {
        t->announced = true;
        q[n++] = t->q;
        workload = t->q.workload;
    }
    pthread_mutex_unlock(&f->lock);
    if (n > 1)
        rc = ev.ops->prefetch(ev.self, q, n);
    pthread_mutex_lock(&f->lock);
    ws__free(who->ctx, q);
    return rc;
}

static void serve(struct ws__fleet *f, struct member *who)
{
    while (!f->quit) {
        struct task *t;

        if (who->batch != f->batch)
            announce(f, who);
        t = f->quit ? NULL : take(f, who);
        if (t)
            run_task(f, who, t);
        else if (!f->quit && who->batch == f->batch)
            pthread_cond_wait(&f->work, &f->lock);
    }
}

static void *member_main(void *user)
{
    struct member *who = user;
    struct ws__fleet *f = who->f;
    int rc = open_member(who);

    pthread_mutex_lock(&f->lock);
    who->rc = rc;
    who->open = true;
    pthread_cond_broadcast(&f->done);
    if (rc >= 0)
        serve(f, who);
    pthread_mutex_unlock(&f->lock);
    ws__measure_close(who->m);
    return NULL;
}

static int start_member(struct ws__fleet *f, struct member *who)
{
    who->ctx = ws__ctx_child(f->ctx);
    if (!who->ctx)
        return WS_ENOMEM;
    if (pthread_create(&who->thread, NULL, member_main, who))
        return ws__fail(f->ctx, WS_ELIMIT, "cannot start another thread");
    who->started = true;
    return 0;
}

/* ---- evaluator --------------------------------------------------------- */

/* The member with the least to do; of equals the one that knows the
 * workload, by its last task or by one of this batch. */
static size_t choose_owner(const struct ws__fleet *f, size_t ntask,
                           uint32_t workload)
{
    size_t best = 0, least = SIZE_MAX;

    for (size_t i = 0; i < f->n; i++) {
        bool knows = f->member[i].workload == workload;
        size_t load = 0;

        for (size_t k = 0; k < ntask; k++) {
            if (f->task[k].owner != i)
                continue;
            load++;
            knows = knows || f->task[k].q.workload == workload;
        }
        load = 2 * load + !knows;
        if (load < least) {
            least = load;
            best = i;
        }
    }
    return best;
}

static int fleet_prefetch(void *self, const struct ws__question *q, size_t n)
{
    struct ws__fleet *f = self;
    int rc;

    pthread_mutex_lock(&f->lock);
    end_batch(f);
    ws__free(f->ctx, f->task);
    f->task = ws__alloc(f->ctx, n, sizeof(*f->task));
    rc = f->task ? 0 : WS_ENOMEM;
    for (size_t i = 0; i < n && rc >= 0; i++) {
        f->task[i].q = q[i];
        f->task[i].owner = choose_owner(f, i, q[i].workload);
        f->task[i].state = QUEUED;
        f->ntask = i + 1;
    }
    if (rc >= 0) {
        f->batch++;
        pthread_cond_broadcast(&f->work);
        rc = announce(f, &f->member[0]);
    }
    pthread_mutex_unlock(&f->lock);
    return rc;
}

static struct task *find(struct ws__fleet *f, const struct ws__question *q)
{
    for (size_t i = 0; i < f->ntask; i++)
        if (f->task[i].state != IDLE && f->task[i].q.id == q->id)
            return &f->task[i];
    return NULL;
}

/* The task of a question, done: by whom ever. NULL: it was not announced, or
 * the run is to stop (*rc). */
static struct task *await(struct ws__fleet *f, const struct ws__question *q,
                          int *rc)
{
    struct task *t = find(f, q), *other;

    *rc = 0;
    while (t && t->state != DONE) {
        *rc = ws__check_stop(f->ctx);
        if (*rc < 0)
            return NULL;
        if (t->state == QUEUED) {
            t->state = RUNNING;
            run_task(f, &f->member[0], t);
        } else if ((other = take(f, &f->member[0]))) {
            run_task(f, &f->member[0], other);
        } else {
            wait_done(f);
        }
    }
    return t;
}

static int fleet_answer(void *self, const struct ws__question *q,
                        struct ws__trial *out)
{
    struct ws__fleet *f = self;
    struct ws__evaluator first = ws__measure_evaluator(f->member[0].m);
    struct task *t;
    int rc;

    pthread_mutex_lock(&f->lock);
    t = await(f, q, &rc);
    if (t) {
        rc = t->rc;
        if (rc < 0)
            f->ctx->err = t->err;
        for (int i = 0; i < 2 && rc >= 0; i++) {
            out[i] = t->t[i];
            out[i].spent_ns /= f->n;
            memset(&t->t[i], 0, sizeof(t->t[i]));
        }
        clear_task(f, t);
    }
    pthread_mutex_unlock(&f->lock);
    return t || rc < 0 ? rc : first.ops->answer(first.self, q, out);
}

static const struct ws__identity *fleet_identity(void *self)
{
    const struct ws__fleet *f = self;

    return &ws__measure_device(f->member[0].m)->id;
}

/* The caller's thread is the one that the run goes by. */
static uint64_t fleet_waited_ns(void *self)
{
    const struct ws__fleet *f = self;
    struct ws__evaluator first = ws__measure_evaluator(f->member[0].m);

    return first.ops->waited_ns(first.self);
}

/* Time that passed is the caller's, all else a sum. */
static void fleet_throughput(void *self, struct ws__throughput *out)
{
    const struct ws__fleet *f = self;

    memset(out, 0, sizeof(*out));
    for (size_t i = f->n; i--;) {
        struct ws__evaluator ev = ws__measure_evaluator(f->member[i].m);
        struct ws__throughput one;

        ev.ops->throughput(ev.self, &one);
        for (size_t k = 0; k < WS__NSTEP; k++)
            out->step_ns[k] += one.step_ns[k];
        out->devices += one.devices;
        out->wall_ns = one.wall_ns;
        out->run_ns += one.run_ns;
        out->trials += one.trials;
        out->ahead += one.ahead;
        out->slowed += one.slowed;
        out->lost_some += one.lost_some;
        out->kept_some += one.kept_some;
    }
}

static const struct ws__evaluator_ops fleet_ops = {
    .abi = 1,
    .name = "fleet",
    .live = true,
    .waited_ns = fleet_waited_ns,
    .throughput = fleet_throughput,
    .prefetch = fleet_prefetch,
    .answer = fleet_answer,
    .identity = fleet_identity,
};

struct ws__evaluator ws__fleet_evaluator(struct ws__fleet *f)
{
    if (f->n == 1)
        return ws__measure_evaluator(f->member[0].m);
    return (struct ws__evaluator){&fleet_ops, f};
}

struct ws__measure *ws__fleet_first(struct ws__fleet *f)
{
    return f->member[0].m;
}

/* ---- open and close ---------------------------------------------------- */

static int differ(struct ws__fleet *f, const struct ws__device_info *a,
                  const struct ws__device_info *b)
{
    ws__fail(f->ctx, WS_EINVAL,
             "devices '%s' and '%s' differ: '%.100s', driver '%.60s', and "
             "'%.100s', driver '%.60s'",
             a->name, b->name, a->id.device, a->id.driver, b->id.device,
             b->id.driver);
    return ws__hint(f->ctx, "what is best on one says little of the other: run "
                            "a tune for each; they may run at once and share "
                            "a store");
}

/* The same device by two names, or two that are the host's processors. */
static int is_one(struct ws__fleet *f, const struct ws__device_info *a,
                  const struct ws__device_info *b)
{
    ws__fail(f->ctx, WS_EINVAL, "devices '%s' and '%s' are the same hardware%s",
             a->name, b->name, a->id.is_cpu ? ", the processors" : "");
    return ws__hint(f->ctx, "nothing can be timed there while something else "
                            "runs: name one of them");
}

static int check_devices(struct ws__fleet *f)
{
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < i; k++) {
            const struct ws__device_info *a, *b;

            a = ws__measure_device(f->member[k].m);
            b = ws__measure_device(f->member[i].m);
            if (!strcmp(a->name, b->name) ||
                (a->place[0] && !strcmp(a->place, b->place)))
                return is_one(f, a, b);
            if (!ws__hash_eq(a->id.hash, b->id.hash))
                return differ(f, a, b);
        }
    return 0;
}

/* The caller opens the first while the others open theirs. */
static int open_all(struct ws__fleet *f)
{
    int rc = 0;

    for (size_t i = 1; i < f->n && rc >= 0; i++)
        rc = start_member(f, &f->member[i]);
    if (rc >= 0)
        rc = open_member(&f->member[0]);
    pthread_mutex_lock(&f->lock);
    for (size_t i = 1; i < f->n; i++) {
        struct member *who = &f->member[i];

        while (who->started && !who->open)
            pthread_cond_wait(&f->done, &f->lock);
        if (rc >= 0 && who->rc < 0)
            rc = ws__error_copy(f->ctx, who->ctx);
    }
    pthread_mutex_unlock(&f->lock);
    return rc < 0 ? rc : check_devices(f);
}

static unsigned share(unsigned all, size_t n)
{
    return all / n ? (unsigned)(all / n) : 1;
}

static void set_up(struct ws__fleet *f, const struct ws__measure_opts *opts,
                   const char *const *device)
{
    unsigned all = ws__processors();

    for (size_t i = 0; i < f->n; i++) {
        struct member *who = &f->member[i];

        who->f = f;
        who->index = i;
        who->workload = NOBODY;
        who->opts = *opts;
        who->opts.device = device[i];
        if (f->n == 1)
            continue;
        who->opts.builders = share(opts->builders ? opts->builders : all, f->n);
        who->opts.ref_threads =
            share(opts->ref_threads ? opts->ref_threads : all, f->n);
    }
    f->member[0].ctx = f->ctx;
}

int ws__fleet_open_with(struct ws_ctx *ctx, const struct ws__measure_deps *deps,
                        const struct ws__op *op,
                        const struct ws__kernel *kernel, size_t nkernel,
                        const struct ws__workload *workload, size_t nworkload,
                        const struct ws__measure_opts *opts,
                        const char *const *device, size_t n,
                        struct ws__fleet **out)
{
    struct ws__fleet *f;
    int rc;

    *out = NULL;
    if (!n || n > WS__MAX_FLEET) {
        ws__fail(ctx, WS_ELIMIT, "%zu devices in one run", n);
        return ws__hint(ctx, "at most %d", WS__MAX_FLEET);
    }
    f = ws__alloc(ctx, 1, sizeof(*f));
    if (!f)
        return WS_ENOMEM;
    f->ctx = ctx;
    f->n = n;
    f->job = (struct job){deps, op, kernel, workload, nkernel, nworkload};
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->work, NULL);
    pthread_cond_init(&f->done, NULL);
    set_up(f, opts, device);
    rc = open_all(f);
    if (rc < 0)
        ws__fleet_close(f);
    else
        *out = f;
    return rc;
}

int ws__fleet_open(struct ws_ctx *ctx, const struct ws__op *op,
                   const struct ws__kernel *kernel, size_t nkernel,
                   const struct ws__workload *workload, size_t nworkload,
                   const struct ws__measure_opts *opts,
                   const char *const *device, size_t n, struct ws__fleet **out)
{
    return ws__fleet_open_with(ctx, &ws__measure_real, op, kernel, nkernel,
                               workload, nworkload, opts, device, n, out);
}

void ws__fleet_close(struct ws__fleet *f)
{
    struct ws_error err;

    if (!f)
        return;
    err = f->ctx->err;
    pthread_mutex_lock(&f->lock);
    end_batch(f);
    f->quit = true;
    pthread_cond_broadcast(&f->work);
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 1; i < f->n; i++) {
        if (f->member[i].started)
            pthread_join(f->member[i].thread, NULL);
        ws_ctx_free(f->member[i].ctx);
    }
    ws__measure_close(f->member[0].m);
    ws__free(f->ctx, f->task);
    pthread_cond_destroy(&f->done);
    pthread_cond_destroy(&f->work);
    pthread_mutex_destroy(&f->lock);
    f->ctx->err = err;
    ws__free(f->ctx, f);
}
