/*
 * measure.c: the evaluator over a device and a reference: opening, closing,
 * and the order of the stages.
 *
 * A candidate is never blamed for what another one left behind, nor for what
 * comes over the machine: a crash is believed when it happens again on a fresh
 * device, and a worker that somebody killed is no crash. A hang is believed at
 * once, since repeating it costs the whole time-out. After either, and after a
 * write outside of a buffer, the device is opened anew before the next
 * candidate.
 *
 * Stages stop at the first failure of a subject; in a pair the other one is
 * still judged, but nothing is timed, for there is nothing to compare.
 */
#include "measure/measure_int.h"

#include <unistd.h>

#include "base/cpus.h"
#include "base/clock.h"
#include "base/fs.h"

#include "base/banned.h"

#define REOPEN_TRIES 3
#define SECOND 1000000000u
#define DEFAULT_LIMIT_NS (30ull * SECOND) /* of what runs no candidate */
/* A launch hangs that takes so many times longer than a right candidate, and
 * at least so long. */
#define HANGS 1000
#define LEAST_LIMIT_NS (2ull * SECOND)

/* ---- where the time goes ------------------------------------------------ */

/* With the lock held. */
static void add_step(struct ws__clocks *c, uint64_t now)
{
    c->sum.step_ns[c->step] += now - c->since_ns;
    c->since_ns = now;
}

enum ws__step ws__measure_step(struct ws__measure *m, enum ws__step step)
{
    struct ws__clocks *c = &m->clocks;
    enum ws__step old;

    pthread_mutex_lock(&m->lock);
    add_step(c, ws__now_ns());
    old = c->step;
    c->step = step;
    pthread_mutex_unlock(&m->lock);
    return old;
}

static void count_trials(struct ws__measure *m, const struct ws__trial *t,
                         size_t n)
{
    struct ws__throughput *s = &m->clocks.sum;

    pthread_mutex_lock(&m->lock);
    s->trials += n;
    for (size_t i = 0; i < n; i++) {
        s->slowed += t[i].slowed;
        s->lost_some += t[i].slowed > 0;
        s->kept_some += t[i].kept_slowed != 0;
    }
    pthread_mutex_unlock(&m->lock);
}

static void throughput(void *self, struct ws__throughput *out)
{
    struct ws__measure *m = self;
    struct ws__clocks *c = &m->clocks;

    pthread_mutex_lock(&m->lock);
    add_step(c, ws__now_ns());
    *out = c->sum;
    out->devices = 1;
    out->wall_ns = c->since_ns - c->opened_ns;
    pthread_mutex_unlock(&m->lock);
}

/* ---- device ------------------------------------------------------------ */

uint64_t ws__measure_max_bytes(const struct ws__measure *m)
{
    if (m->opts.max_bytes)
        return m->opts.max_bytes;
    return m->info.id.memory_bytes ? m->info.id.memory_bytes / 2 : 1ull << 30;
}

void ws__measure_limit(struct ws__measure *m, uint64_t ns)
{
    if (m->dev.ops->set_limit)
        m->dev.ops->set_limit(m->dev.self, ns ? ns : DEFAULT_LIMIT_NS);
}

uint64_t ws__measure_launch_limit(const struct ws__measure *m)
{
    double best = m->problem ? m->best_ns[m->problem_workload] : 0, ns;

    if (m->fixed_limit || !(best > 0))
        return m->opts.run_limit_ns;
    ns = HANGS * best;
    if (ns >= (double)m->opts.run_limit_ns)
        return m->opts.run_limit_ns;
    return ns > (double)LEAST_LIMIT_NS ? (uint64_t)ns : LEAST_LIMIT_NS;
}

int ws__measure_run(struct ws__measure *m, const struct ws__dev_batch *b,
                    uint64_t limit_ns, struct ws__dev_sample *samples,
                    size_t *n)
{
    uint64_t start;
    int rc;

    *n = 0;
    ws__measure_limit(m, limit_ns);
    start = ws__now_ns();
    rc = m->dev.ops->run(m->dev.self, b, samples, n);
    pthread_mutex_lock(&m->lock);
    m->clocks.sum.run_ns += ws__now_ns() - start;
    pthread_mutex_unlock(&m->lock);
    ws__measure_limit(m, 0);
    return rc;
}

int ws__measure_once(struct ws__measure *m, const struct ws__dev_seq *seq,
                     struct ws__dev_sample *sample)
{
    struct ws__dev_batch batch = {
        .prog = seq,
        .nprog = 1,
        .nset = 1,
        .rounds = 1,
        .inner = 1,
        .limit_ns = m->opts.run_limit_ns, /* one round ends by itself */
        .graph = m->opts.graph,
    };
    size_t n = 0;

    memset(sample, 0, sizeof(*sample));
    WS_TRY(ws__measure_run(m, &batch, ws__measure_launch_limit(m), sample, &n));
    if (n != 1)
        return ws__fail(m->ctx, WS_EDEVICE, "the launch gave no sample");
    return 0;
}

void ws__measure_lose(struct ws__measure *m)
{
    if (!m->open)
        return;
    m->deps.device_close(&m->dev);
    m->open = false;
    m->gen++;
    ws__measure_forget_modules(m);
}

/* On a processor the outer session has the turn. */
static void open_turn(struct ws__measure *m)
{
    if (!(m->opts.inner && m->info.id.is_cpu))
        ws__device_turn(m->ctx, &m->info, &m->turn);
}

/* Where building and the reference use the processors that are measured, a
 * turn is a whole question; elsewhere the time in which candidates run. */
static int take_turn(struct ws__measure *m, bool whole)
{
    enum ws__step step;
    int rc;

    if (m->info.id.is_cpu != whole)
        return 0;
    step = ws__measure_step(m, WS__STEP_TURN);
    rc = ws__turn_take(m->ctx, &m->turn);
    ws__measure_step(m, step);
    return rc;
}

static void give_turn(struct ws__measure *m, bool whole)
{
    if (m->info.id.is_cpu == whole)
        ws__turn_give(&m->turn);
}

/* A trusted kernel's worker has a cache folder that no candidate's can write:
 * what it runs is what its own worker has compiled. */
int ws__measure_open_device(struct ws__measure *m, struct ws_ctx *ctx,
                            struct ws__device *out)
{
    char *kept = ctx->cache_dir;
    int rc;

    if (m->cache_dir)
        ctx->cache_dir = m->cache_dir;
    rc = m->deps.device_open(ctx, m->device_name, out);
    ctx->cache_dir = kept;
    return rc;
}

static int open_once(struct ws__measure *m)
{
    const struct ws__device_info *info;

    int rc;

    if (m->opts.below) {
        struct ws__below *b = m->opts.below;

        snprintf(b->log, b->log_size, "%s/%s-%u.log", b->folder, b->name,
                 ++b->starts);
        m->ctx->worker_prefix = b->argv;
    }
    rc = ws__measure_open_device(m, m->ctx, &m->dev);
    m->ctx->worker_prefix = NULL;
    WS_TRY(rc);
    m->open = true;
    m->age = 0;
    info = m->dev.ops->info(m->dev.self);
    if (!m->info.name[0]) {
        m->info = *info;
        m->ordered = m->dev.ops->ordered;
        m->raw_identity = info->id.hash;
        open_turn(m);
        return 0;
    }
    if (ws__hash_eq(info->id.hash, m->raw_identity))
        return 0;
    ws__fail(m->ctx, WS_ENODEVICE, "device '%s' is not the one measured so far",
             m->info.name);
    return ws__hint(m->ctx,
                    "it was '%.100s', driver '%.100s'; run again to "
                    "measure on the new one",
                    m->info.id.device, m->info.id.driver);
}

int ws__measure_ready(struct ws__measure *m)
{
    int rc = 0;

    for (int i = 0; !m->open && i < REOPEN_TRIES; i++) {
        WS_TRY(ws__check_stop(m->ctx));
        rc = open_once(m);
        if (rc == WS_ENOMEM || rc == WS_ECANCEL)
            return rc;
        if (rc < 0)
            ws__log(m->ctx, WS_LOG_DEBUG, "cannot open device '%s': %s",
                    m->device_name ? m->device_name : "default",
                    m->ctx->err.message);
        if (rc < 0 && m->open) /* another device answers to the name */
            ws__measure_lose(m);
    }
    if (m->open)
        ws__measure_limit(m, 0);
    return m->open ? 0 : rc;
}

/* ---- failures ---------------------------------------------------------- */

enum ws__verdict ws__measure_verdict_of(int rc)
{
    switch (rc) {
    case WS_EBUILD:
    case WS_ENOTSUP:
        return WS__V_BUILD;
    case WS_ELAUNCH:
        return WS__V_LAUNCH;
    case WS_ECRASH:
    case WS_EDEVICE:
    case WS_EPROTO:
        return WS__V_CRASH;
    case WS_ETIMEOUT:
        return WS__V_HANG;
    case WS_EDEVMEM:
        return WS__V_MEMORY;
    default:
        return WS__V_NONE;
    }
}

bool ws__measure_kills(int rc)
{
    return rc == WS_ECRASH || rc == WS_ETIMEOUT || rc == WS_EDEVICE ||
           rc == WS_EPROTO || rc == WS_ECANCEL;
}

int ws__measure_blame(struct ws__measure *m, int rc, struct ws__subject *s,
                      size_t n, const char *during)
{
    enum ws__verdict v = ws__measure_verdict_of(rc);

    if (v == WS__V_NONE) {
        if (ws__measure_kills(rc))
            ws__measure_lose(m);
        return rc;
    }
    m->killed = ws__measure_killed(m->ctx, rc);
    for (size_t i = 0; i < n; i++) {
        s[i].t->verdict = v;
        s[i].judged = true;
        if (ws__trial_set_reason(m->ctx, s[i].t, "%s: %s", during,
                                 m->ctx->err.message) < 0)
            return WS_ENOMEM;
    }
    if (ws__measure_kills(rc))
        ws__measure_lose(m);
    /* The deadline of the whole run is not the candidate's fault. */
    return ws__check_stop(m->ctx);
}

/* ---- stages ------------------------------------------------------------ */

void ws__measure_gate(struct ws__subject *s, size_t n, enum ws__gate g,
                      uint64_t start_ns)
{
    uint64_t cost = (ws__now_ns() - start_ns) / n;

    for (size_t i = 0; i < n; i++) {
        enum ws__verdict v = s[i].t->verdict;
        bool passed = v == WS__V_NONE || v == WS__V_OK;

        ws__gate_note(s[i].t, g, passed ? WS__GATE_PASSED : WS__GATE_FAILED,
                      cost);
    }
}

static int begin_subject(struct ws__measure *m, struct ws__subject *s)
{
    uint64_t start = ws__now_ns();
    char reason[256];
    int rc =
        ws__measure_plan(m, &s->t->candidate, s->t->workload, s->plan, reason);

    if (rc < 0)
        return rc;
    if (!rc)
        s->t->verdict = WS__V_FILTERED;
    ws__measure_gate(s, 1, WS__GATE_FILTER, start);
    WS_TRY(ws__recipe_make(m, &s->t->candidate, s->in, s->plan, &s->recipe));
    s->t->candidate_hash =
        ws__candidate_hash(s->kernel, &s->t->candidate.config,
                           s->recipe.source);
    s->t->workload_hash =
        ws__workload_hash(m->op, &m->workload[s->t->workload]);
    if (rc)
        return 0;
    s->judged = true;
    return ws__trial_set_reason(m->ctx, s->t, "%s", reason);
}

static bool any_judged(const struct ws__subject *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].judged)
            return true;
    return false;
}

static bool all_judged(const struct ws__subject *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!s[i].judged)
            return false;
    return true;
}

/* Buffers and inputs: the candidates' code has not run yet. */
static int set_up(struct ws__measure *m, struct ws__subject *s, size_t n,
                  struct ws__bufs *b)
{
    WS_TRY(ws__bufs_make(m, s, n, m->opts.below ? 1 : WS__SETS, b));
    WS_TRY(ws__bufs_upload(m, b, m->problem));
    ws__inputs_vary(m, b, s->t->input_seed);
    return 0;
}

static int judge_in_turn(struct ws__measure *m, struct ws__subject *s, size_t n,
                         const struct ws__question *q, struct ws__bufs *b)
{
    enum ws__effort effort = q->pair ? WS__CONFIRM : q->effort;
    unsigned gen = m->gen;
    bool right = true;
    uint64_t start;
    int rc;

    ws__measure_step(m, WS__STEP_UPLOAD);
    rc = set_up(m, s, n, b);
    ws__measure_step(m, WS__STEP_VERIFY);
    if (rc == WS_EDEVMEM)
        return ws__measure_blame(m, rc, s, n, "buffers");
    WS_TRY(rc);
    for (size_t i = 0; i < n; i++) {
        if (m->gen != gen)
            return 0; /* the rest is judged on its own */
        WS_TRY(ws__check_stop(m->ctx));
        start = ws__now_ns();
        WS_TRY(ws__measure_verify(m, b, &s[i]));
        if (s[i].t->verdict == WS__V_OK && effort != WS__SCREEN)
            WS_TRY(ws__measure_watch(m, b, &s[i]));
        ws__measure_gate(&s[i], 1, WS__GATE_RESULT, start);
        s[i].t->did |= WS__WANT_VERDICT;
        right = right && s[i].t->verdict == WS__V_OK;
    }
    if (right && m->count && m->gen == gen)
        return ws__measure_count_now(m, b, s);
    if (!right || !(q->want & WS__WANT_TIME))
        return 0;
    if (m->ncounter && !q->pair && m->gen == gen) {
        WS_TRY(ws__measure_count_too(m, b, s));
        if (s->t->verdict != WS__V_OK || m->gen != gen)
            return 0;
    }
    for (size_t i = 0; i < n; i++)
        s[i].t->did |= WS__WANT_TIME;
    ws__measure_step(m, WS__STEP_TIME);
    return ws__measure_time(m, b, s, n, effort);
}

static int judge_and_time(struct ws__measure *m, struct ws__subject *s,
                          size_t n, const struct ws__question *q,
                          struct ws__bufs *b)
{
    int rc = take_turn(m, false);

    if (rc >= 0)
        rc = judge_in_turn(m, s, n, q, b);
    give_turn(m, false);
    return rc;
}

/* Runs the stages for n subjects that are not judged yet. */
static int stages(struct ws__measure *m, struct ws__subject *s, size_t n,
                  const struct ws__question *q)
{
    struct ws__bufs *b;
    uint64_t start;
    int rc;

    WS_TRY(ws__measure_ready(m));
    for (size_t i = 0; i < n; i++) {
        WS_TRY(ws__check_stop(m->ctx));
        WS_TRY(ws__measure_ready(m));
        s[i].begun_ns = ws__device_clock(&m->dev);
        s[i].t->did |= WS__WANT_BUILD;
        start = ws__now_ns();
        WS_TRY(ws__measure_build(m, &s[i]));
        ws__measure_gate(&s[i], 1, WS__GATE_BUILD, start);
    }
    if (!(q->want & (WS__WANT_VERDICT | WS__WANT_TIME))) {
        for (size_t i = 0; i < n; i++)
            s[i].judged = true;
        return 0;
    }
    if (any_judged(s, n) || !m->open)
        return 0;
    WS_TRY(ws__measure_problem(m, s, n));
    b = ws__alloc(m->ctx, 1, sizeof(*b));
    if (!b)
        return WS_ENOMEM;
    rc = judge_and_time(m, s, n, q, b);
    ws__measure_step(m, WS__STEP_UPLOAD);
    ws__bufs_free(m, b);
    ws__measure_step(m, WS__STEP_OTHER);
    ws__free(m->ctx, b);
    return rc;
}

static bool crashed(const struct ws__subject *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].t->verdict == WS__V_CRASH && !s[i].told)
            return true;
    return false;
}

/* Back to what begin_subject left. */
static void reset_subject(struct ws__measure *m, struct ws__subject *s)
{
    struct ws__trial *t = s->t, old = *t;

    ws__trial_clear(m->ctx, t);
    t->question = old.question;
    t->candidate = old.candidate;
    t->workload = old.workload;
    t->effort = old.effort;
    t->block = old.block;
    t->cache = old.cache;
    t->wall_ns = old.wall_ns;
    t->candidate_hash = old.candidate_hash;
    t->workload_hash = old.workload_hash;
    ws__gate_note(t, WS__GATE_FILTER, ws__gate_end(&old, WS__GATE_FILTER),
                  old.gate_ns[WS__GATE_FILTER]);
    s->judged = s->told = false;
    s->known[0] = s->known[1] = false;
    memset(s->module, 0, sizeof(s->module));
}

/* A device that fails while no candidate runs is lost, whatever it says. */
static int lost(struct ws__measure *m, int rc)
{
    struct ws_error err = m->ctx->err;

    if (rc >= 0 || !ws__measure_kills(rc))
        return rc;
    ws__measure_lose(m);
    WS_TRY(ws__check_stop(m->ctx));
    if (rc == WS_ECANCEL)
        return ws__fail(m->ctx, rc, "%s", err.message);
    ws__fail(m->ctx, WS_EDEVICE,
             "device '%s' failed before a candidate ran: "
             "%s",
             m->info.name, err.message);
    return ws__hint(m->ctx, "see the system's log; other programs on the "
                            "device may be the cause");
}

static int killed_too_often(struct ws__measure *m)
{
    ws__fail(m->ctx, WS_EDEVICE,
             "the worker of device '%s' was killed %d times by something else",
             m->info.name, WS__KILLS + 1);
    return ws__hint(m->ctx, "see the system's log: memory may be short, and "
                            "the kernel's killer of processes at work");
}

/* The stages, again on a fresh device while it crashes: the second crash is
 * believed, and a kill from outside never. */
static int stages_again(struct ws__measure *m, struct ws__subject *s, size_t n,
                        const struct ws__question *q)
{
    int crashes = 0, kills = 0;

    for (;;) {
        int rc;

        WS_TRY(ws__measure_ready(m));
        m->killed = m->broken = false;
        rc = stages(m, s, n, q);
        if (rc < 0 ? !ws__measure_kills(rc) : !crashed(s, n))
            return rc;
        if (rc < 0 && m->broken) {
            struct ws_error err = m->ctx->err;

            ws__measure_lose(m);
            m->ctx->err = err;
            return rc;
        }
        if (rc == WS_ECANCEL || ws__check_stop(m->ctx) < 0)
            return lost(m, rc);
        if (rc < 0)
            m->killed = ws__measure_killed(m->ctx, rc);
        if (m->killed ? kills++ == WS__KILLS : crashes++ == 1)
            return m->killed ? killed_too_often(m) : lost(m, rc);
        ws__log(m->ctx, WS_LOG_DEBUG, "device %s after %u candidates; again",
                m->killed ? "was killed" : "failed", m->age);
        ws__measure_lose(m);
        for (size_t i = 0; i < n; i++)
            reset_subject(m, &s[i]);
    }
}

static int all_stages(struct ws__measure *m, struct ws__subject *s, size_t n,
                      const struct ws__question *q)
{
    struct ws__question alone = *q;

    for (size_t i = 0; i < n; i++)
        WS_TRY(begin_subject(m, &s[i]));
    if (!any_judged(s, n))
        WS_TRY(stages_again(m, s, n, q));
    if (all_judged(s, n) || n == 1)
        return 0;
    /* One of a pair failed before the other was judged. */
    alone.want &= ~(unsigned)WS__WANT_TIME;
    if (q->want & WS__WANT_TIME)
        alone.want |= WS__WANT_VERDICT;
    for (size_t i = 0; i < n; i++) {
        if (s[i].judged)
            continue;
        reset_subject(m, &s[i]);
        WS_TRY(stages_again(m, &s[i], 1, &alone));
    }
    return 0;
}

/* ---- evaluator --------------------------------------------------------- */

static enum ws__cache_mode cache_mode(const struct ws__measure *m)
{
    if (m->opts.cache != WS__CACHE_DEFAULT)
        return m->opts.cache;
    return m->op->cache == WS__CACHE_WARM ? WS__CACHE_WARM : WS__CACHE_COLD;
}

static int begin(struct ws__measure *m, const struct ws__question *q, size_t n,
                 struct ws__trial *out, struct ws__subject *s)
{
    uint64_t wall = ws__wall_ns(), block = 0;

    if (n == 2) {
        struct ws__hash h = ws__hash_u64((struct ws__hash){3, 0}, wall);

        /* Fits a signed 64-bit column, never 0. */
        block = (ws__hash_u64(h, q->id).lo >> 1) | 1;
    }
    for (size_t i = 0; i < n; i++) {
        struct ws__trial *t = &out[i];

        t->question = q->id;
        t->candidate = i ? q->b : q->a;
        t->workload = q->workload;
        t->effort = q->pair ? WS__CONFIRM : q->effort;
        t->block = block;
        t->cache = cache_mode(m);
        t->wall_ns = wall;
        s[i].t = t;
        if (t->candidate.kernel >= m->nkernel || t->workload >= m->nworkload)
            return ws__fail(m->ctx, WS_EINVAL, "no kernel %u or workload %u",
                            t->candidate.kernel, t->workload);
        s[i].kernel = &m->kernel[t->candidate.kernel];
        WS_TRY(ws__measure_instance(m, t->workload, &s[i].in));
        s[i].plan = ws__alloc(m->ctx, 1, sizeof(*s[i].plan));
        if (!s[i].plan)
            return WS_ENOMEM;
    }
    return 0;
}

/* Ends what other candidates may have left in the device's process. Those that
 * are compared on one workload share one: opening it takes 0.3 s on a GPU. */
static int fresh_process(struct ws__measure *m, struct ws__subject *s, size_t n)
{
    uint64_t start = ws__now_ns();
    uint32_t workload = s->t->workload;

    if (m->age && !(m->fresh && m->fresh_workload == workload))
        ws__measure_lose(m);
    m->fresh = true;
    m->fresh_workload = workload;
    WS_TRY(ws__measure_ready(m));
    for (size_t i = 0; i < n; i++)
        s[i].fresh_ns = (ws__now_ns() - start) / n;
    return 0;
}

/* Is the question of what decides, or of one candidate with all gates? */
static bool wants_fresh(const struct ws__measure *m,
                        const struct ws__question *q)
{
    return q->want & WS__WANT_TIME &&
           q->want & (WS__WANT_FRESH | WS__WANT_PROOF) && !m->ordered &&
           !m->opts.few_gates;
}

static const char *why_unwatched(const struct ws__measure *m)
{
    if (strcmp(m->info.id.family, "cuda") != 0)
        return "there is none for this device";
    if (m->ordered)
        return "recorded devices have none";
    return m->sanitizer ? "no shape to watch it on, or no tool told anything "
                          "(the log says more)"
                        : "compute-sanitizer is not installed";
}

/* The gates that only some questions ask for. The sanitizer works meanwhile:
 * nothing is timed here. */
static int proof(struct ws__measure *m, struct ws__subject *s, size_t n,
                 const struct ws__question *q)
{
    ws__measure_step(m, WS__STEP_OTHER);
    for (size_t i = 0; i < n; i++) {
        struct ws__trial *t = s[i].t;

        /* Who was right before need not be asked again. */
        if (t->verdict == WS__V_NONE && !(q->want & WS__WANT_VERDICT))
            t->verdict = WS__V_OK;
        if (t->verdict != WS__V_OK)
            continue;
        if (wants_fresh(m, q) && t->nsample)
            ws__gate_note(t, WS__GATE_AGAIN, WS__GATE_PASSED, s[i].fresh_ns);
        if (q->want & WS__WANT_SANITIZER)
            WS_TRY(ws__sanitize_start(m, &s[i]));
        if (q->want & WS__WANT_PROOF)
            WS_TRY(ws__measure_prove(m, &s[i]));
        if (q->want & WS__WANT_SANITIZER)
            WS_TRY(ws__measure_sanitize(m, &s[i]));
        if (q->want & WS__WANT_SANITIZER && s[i].t->verdict == WS__V_OK &&
            ws__gate_end(s[i].t, WS__GATE_SANITIZER) == WS__GATE_CLOSED)
            ws__gate_absent(s[i].t, WS__GATE_SANITIZER, why_unwatched(m));
    }
    return 0;
}

/* What a right candidate did not come to, nobody asked for. */
static void close_gates(struct ws__trial *t)
{
    for (int g = 0; t->verdict == WS__V_OK && g < WS__NGATE; g++)
        if (ws__gate_end(t, (enum ws__gate)g) == WS__GATE_CLOSED)
            ws__gate_absent(t, (enum ws__gate)g, "not asked for");
}

bool ws__measure_same_types(const struct ws__measure *m, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < m->op->naxis; i++)
        if (m->op->axis[i].kind == WS__AXIS_TYPE &&
            m->workload[a].axis[i] != m->workload[b].axis[i])
            return false;
    return true;
}

int ws__measure_answer(struct ws__measure *m, const struct ws__question *q,
                       struct ws__trial *out)
{
    const unsigned proofs =
        WS__WANT_PROOF | WS__WANT_SANITIZER | WS__WANT_FRESH;
    bool prove = q->want & proofs && !m->opts.few_gates;
    struct ws__subject s[2];
    size_t n = q->pair ? 2 : 1;
    int rc;

    memset(s, 0, sizeof(s));
    rc = q->want & WS__WANT_TIME ? ws__sanitize_wait(m) : 0;
    if (rc >= 0)
        rc = begin(m, q, n, out, s);
    if (rc >= 0 && wants_fresh(m, q))
        rc = fresh_process(m, s, n);
    else
        m->fresh = false;
    if (rc >= 0)
        rc = all_stages(m, s, n, q);
    if (rc >= 0 && prove)
        rc = proof(m, s, n, q);
    for (size_t i = 0; i < n; i++) {
        close_gates(&out[i]);
        ws__recipe_clear(m->ctx, &s[i].recipe);
        ws__free(m->ctx, s[i].plan);
    }
    return rc;
}

static int answer(void *self, const struct ws__question *q,
                  struct ws__trial *out)
{
    struct ws__measure *m = self;
    size_t n = q->pair ? 2 : 1;
    uint64_t start;
    int rc;

    WS_TRY(ws__check_stop(m->ctx));
    WS_TRY(take_turn(m, true));
    start = ws__now_ns() - m->turn.waited_ns;
    ws__measure_step(m, WS__STEP_OTHER);
    rc = ws__measure_answer(m, q, out);
    ws__measure_step(m, WS__STEP_BETWEEN);
    if (rc >= 0)
        count_trials(m, out, n);
    for (size_t i = 0; i < n; i++)
        out[i].spent_ns = (ws__now_ns() - m->turn.waited_ns - start) / n;
    give_turn(m, true);
    return rc;
}

static int prefetch(void *self, const struct ws__question *q, size_t n)
{
    struct ws__measure *m = self;
    int rc;

    WS_TRY(ws__sanitize_announce(m, q, n));
    WS_TRY(take_turn(m, true));
    ws__measure_step(m, WS__STEP_BUILDERS); /* on processors it waits */
    rc = ws__measure_prefetch(m, q, n);
    ws__measure_step(m, WS__STEP_BETWEEN);
    give_turn(m, true);
    return rc;
}

static const struct ws__identity *identity(void *self)
{
    return &((struct ws__measure *)self)->info.id;
}

static uint64_t waited_ns(void *self)
{
    return ((struct ws__measure *)self)->turn.waited_ns;
}

static const struct ws__evaluator_ops evaluator_ops = {
    .abi = 1,
    .name = "measure",
    .prefetch = prefetch,
    .answer = answer,
    .identity = identity,
    .live = true,
    .waited_ns = waited_ns,
    .throughput = throughput,
};

struct ws__evaluator ws__measure_evaluator(struct ws__measure *m)
{
    return (struct ws__evaluator){&evaluator_ops, m};
}

const struct ws__device_info *ws__measure_device(struct ws__measure *m)
{
    return &m->info;
}

/* ---- open and close ---------------------------------------------------- */

int ws__measure_instance(struct ws__measure *m, uint32_t workload,
                         const struct ws__instance **out)
{
    struct ws__instance *in = m->instance[workload];

    if (!in) {
        int rc;

        in = ws__alloc(m->ctx, 1, sizeof(*in));
        if (!in)
            return WS_ENOMEM;
        rc = ws__instance_make(m->ctx, m->op, &m->workload[workload], in);
        if (rc < 0) {
            ws__free(m->ctx, in);
            return rc;
        }
        m->instance[workload] = in;
    }
    *out = in;
    return 0;
}

/* What changes times or verdicts goes into the identity. */
static void seal_protocol(struct ws__measure *m)
{
    static const char *const mode[] = {[WS__CACHE_DEFAULT] = "op",
                                       [WS__CACHE_COLD] = "cold",
                                       [WS__CACHE_WARM] = "warm"};

    snprintf(m->info.id.protocol, sizeof(m->info.id.protocol),
             "measure 5, cache %s, %d sets%s%s", mode[m->opts.cache], WS__SETS,
             m->opts.graph ? ", graph" : "",
             m->opts.few_gates ? ", few gates" : "");
    ws__identity_seal(&m->info.id);
}

static int check_reference(struct ws__measure *m)
{
    WS_TRY(ws__reference_allowed(m->ctx, m->op, m->opts.trust_python));
    return ws__measure_independent(m->ctx, m->op, m->kernel, m->nkernel);
}

int ws__measure_reference(struct ws__measure *m)
{
    enum ws__step step = ws__measure_step(m, WS__STEP_INPUTS);
    int rc = m->refkernel ? ws__refkernel_run(m->refkernel, m->problem_workload,
                                              m->problem)
                          : m->deps.reference_run(m->ref, m->problem);

    if (rc >= 0)
        rc = ws__measure_admit(m);
    ws__measure_step(m, step);
    return rc;
}

/* The same question with another seed. */
static int run_other(void *user, struct ws__problem *other, uint64_t seed,
                     enum ws__family f)
{
    struct ws__measure *m = user;
    unsigned threads = m->opts.ref_threads;

    WS_TRY(f ? m->deps.problem_family(other, m->ref, seed, threads, f)
             : m->deps.problem_fill(other, m->ref, seed, threads));
    return m->refkernel
               ? ws__refkernel_run(m->refkernel, m->problem_workload, other)
               : m->deps.reference_run(m->ref, other);
}

int ws__measure_sizes(struct ws__measure *m)
{
    enum ws__step step = ws__measure_step(m, WS__STEP_INPUTS);
    int rc = ws__problem_sizes(m->problem, run_other, m);

    ws__measure_step(m, step);
    return rc;
}

/* With an axis of one element a result may well be fixed, as that of a softmax
 * over one value is: nothing is said of the op then. */
static bool has_axis_of_one(const struct ws__measure *m)
{
    const struct ws__workload *w = &m->workload[m->problem_workload];

    for (size_t i = 0; i < m->op->naxis; i++)
        if (w->axis[i] == 1)
            return true;
    return false;
}

/* Results that are the same everywhere and for another seed tell nothing. The
 * reference is asked once more only if they are the same everywhere. A hidden
 * shape may tell nothing: inputs that a workload gives are for its own. */
static int admit_variety(struct ws__measure *m)
{
    struct ws__problem *other = NULL;
    size_t t = 0;
    int rc;

    if (m->opts.inner || has_axis_of_one(m) ||
        !ws__reference_constant(m->problem, NULL, &t))
        return 0;
    WS_TRY(ws__problem_new(m->ctx, m->problem->in, &other));
    rc = run_other(m, other, ~m->problem->seed >> 1, m->problem_family);
    if (rc >= 0 && ws__reference_constant(m->problem, other, &t)) {
        rc = ws__fail(m->ctx, WS_EREFERENCE,
                      "output '%s' of '%s' tells nothing: every element is "
                      "%.9g, whatever the inputs are",
                      m->op->tensor[t].name, m->op->name,
                      m->problem->result[t][0]);
        ws__hint(m->ctx, "a kernel that returns that number would pass as "
                         "right: give inputs on which the result depends "
                         "('wavesmith op audit' tells more)");
    }
    ws__problem_free(other);
    return rc < 0 ? rc : 0;
}

/* Native references have mutants of their own, and tests that try them. What
 * users bring is tried here, once a workload. */
int ws__measure_admit(struct ws__measure *m)
{
    uint32_t w = m->problem_workload;

    /* Of zeros, say, there is no variant that could be rejected. */
    if (m->admitted[w] || m->op->reference || m->problem_family)
        return 0;
    WS_TRY(ws__reference_admit(m->ctx, m->problem));
    WS_TRY(admit_variety(m));
    m->admitted[w] = true;
    return 0;
}

void ws__measure_more(struct ws__measure *m, size_t nkernel)
{
    m->nkernel = nkernel;
    ws__proof_more(m);
}

/* What a session that times uses beside the device itself. */
static int find_helpers(struct ws__measure *m)
{
    if (!strcmp(m->info.id.family, "cuda"))
        WS_TRY(ws__find_program(m->ctx, m->ctx->tools, "compute-sanitizer",
                                &m->sanitizer));
    if (m->opts.counters)
        m->ncounter = m->opts.counters(&m->info, m->counter, m->counter_key);
    if (m->opts.counters && !m->ncounter)
        ws__log(m->ctx, WS_LOG_WARN,
                "no counters are kept: none are known of this device");
    return m->opts.roof && !m->dev.ops->ordered
               ? m->opts.roof(m->ctx, &m->info.id, &m->roof)
               : 0;
}

static int start(struct ws__measure *m)
{
    if (!m->opts.builders)
        m->opts.builders = ws__processors();
    if (m->opts.builders > WS__MAX_BUILDERS)
        m->opts.builders = WS__MAX_BUILDERS;
    if (!m->opts.build_limit_ns)
        m->opts.build_limit_ns = 60ull * SECOND;
    m->fixed_limit = m->opts.run_limit_ns != 0;
    if (!m->fixed_limit)
        m->opts.run_limit_ns = 20ull * SECOND;
    m->instance = ws__alloc(m->ctx, m->nworkload, sizeof(*m->instance));
    m->best_ns = ws__alloc(m->ctx, m->nworkload, sizeof(*m->best_ns));
    m->admitted = ws__alloc(m->ctx, m->nworkload, sizeof(*m->admitted));
    if (!m->instance || !m->best_ns || !m->admitted)
        return WS_ENOMEM;
    if (m->opts.device) {
        m->device_name = ws__strdup(m->ctx, m->opts.device);
        if (!m->device_name)
            return WS_ENOMEM;
    }
    if (!m->opts.as_reference && !m->opts.below)
        WS_TRY(check_reference(m));
    WS_TRY(ws__measure_check_cache(m->ctx));
    if (m->opts.as_reference)
        WS_TRY(ws__refkernel_cache(m->ctx, &m->cache_dir));
    WS_TRY(open_once(m));
    seal_protocol(m);
    if (!m->opts.inner)
        WS_TRY(find_helpers(m));
    if (!m->device_name) { /* the default may change; this one stays */
        m->device_name = ws__strdup(m->ctx, m->info.name);
        if (!m->device_name)
            return WS_ENOMEM;
    }
    if (m->opts.below)
        return 0;
    if (m->op->trusted.kernel && !m->opts.as_reference)
        return ws__refkernel_open(m, &m->refkernel);
    return m->deps.reference_open(m->ctx, m->op, m->opts.ref_threads,
                                  WS__REFERENCE_LIMIT_NS, &m->ref);
}

int ws__measure_open_with(struct ws_ctx *ctx,
                          const struct ws__measure_deps *deps,
                          const struct ws__op *op,
                          const struct ws__kernel *kernel, size_t nkernel,
                          const struct ws__workload *workload, size_t nworkload,
                          const struct ws__measure_opts *opts,
                          struct ws__measure **out)
{
    struct ws__measure *m;
    int rc;

    *out = NULL;
    if (!nkernel || !nworkload) {
        ws__fail(ctx, WS_EINVAL, "nothing to measure");
        return ws__hint(ctx, "a specification needs a kernel and a workload");
    }
    m = ws__alloc(ctx, 1, sizeof(*m));
    if (!m)
        return WS_ENOMEM;
    m->ctx = ctx;
    m->deps = *deps;
    m->op = op;
    m->kernel = kernel;
    m->nkernel = nkernel;
    m->workload = workload;
    m->nworkload = nworkload;
    if (opts)
        m->opts = *opts;
    m->queue_end = &m->queue;
    m->turn = WS__TURN_NONE;
    m->clocks.step = WS__STEP_BETWEEN;
    m->clocks.opened_ns = m->clocks.since_ns = ws__now_ns();
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->work, NULL);
    pthread_cond_init(&m->done, NULL);
    ws__ahead_open(m);
    rc = start(m);
    if (rc < 0)
        ws__measure_close(m);
    else
        *out = m;
    return rc;
}

const struct ws__measure_deps ws__measure_real = {
    .device_open = ws__device_open,
    .device_close = ws__device_close,
    .reference_open = ws__reference_open,
    .reference_close = ws__reference_close,
    .reference_run = ws__reference_run,
    .problem_fill = ws__problem_fill,
    .problem_family = ws__problem_fill_family,
};

int ws__measure_open(struct ws_ctx *ctx, const struct ws__op *op,
                     const struct ws__kernel *kernel, size_t nkernel,
                     const struct ws__workload *workload, size_t nworkload,
                     const struct ws__measure_opts *opts,
                     struct ws__measure **out)
{
    return ws__measure_open_with(ctx, &ws__measure_real, op, kernel, nkernel,
                                 workload, nworkload, opts, out);
}

void ws__measure_close(struct ws__measure *m)
{
    struct ws_ctx *ctx;

    if (!m)
        return;
    ctx = m->ctx;
    ws__sanitize_close(m); /* uses the proof's */
    ws__proof_close(ctx, m->proof);
    ws__free(ctx, m->sanitizer);
    ws__measure_stop_builders(m);
    ws__ahead_close(m);
    ws__measure_free_jobs(m);
    ws__measure_lose(m);
    if (!m->opts.below)
        ws__problem_free(m->problem);
    ws__free(ctx, m->back[0].data);
    ws__free(ctx, m->back[1].data);
    ws__turn_close(&m->turn);
    ws__refkernel_close(m->refkernel);
    if (m->ref)
        m->deps.reference_close(m->ref);
    for (size_t i = 0; m->instance && i < m->nworkload; i++)
        ws__free(ctx, m->instance[i]);
    ws__free(ctx, m->instance);
    ws__free(ctx, m->best_ns);
    ws__free(ctx, m->admitted);
    ws__free(ctx, m->device_name);
    ws__free(ctx, m->cache_dir);
    pthread_cond_destroy(&m->done);
    pthread_cond_destroy(&m->work);
    pthread_mutex_destroy(&m->lock);
    ws__free(ctx, m);
}
