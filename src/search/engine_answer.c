/*
 * engine_answer.c: from a question to its answer.
 *
 * The cheapest source wins: the table, the resource filter, trials of other
 * runs with the same identity, and only then the evaluator. Which source
 * answers is settled when a question is asked, so that only what needs
 * building is announced ahead; answers are made in the order of the questions
 * and are durable one by one.
 *
 * A lost device is tried again a few times (its worker restarts meanwhile).
 * What recordings do not hold is told to the strategy as filtered, so that it
 * looks elsewhere; it says nothing about the candidate, so it is neither
 * counted nor written to the journal, and takes no number. Asked again, also
 * by a resumed run, it is missed again.
 */
#include "search/engine.h"

#include "base/banned.h"

#define WANT_ALL (WS__WANT_BUILD | WS__WANT_VERDICT | WS__WANT_TIME)
#define GATES                                                                  \
    (WS__WANT_PROOF | WS__WANT_SANITIZER) /* asked for by themselves */
#define DEVICE_TRIES 3
#define NOT_RECORDED "not recorded"

bool ws__engine_is_stop(int code)
{
    switch (code) {
    case WS_ECANCEL:
    case WS_ETIMEOUT:
    case WS_EFULL:
    case WS_EACCES:
    case WS_EIO:
    case WS_EDEVICE:
    case WS_ENODEVICE:
    case WS_ECRASH:
    case WS_EPROTO:
        return true;
    default:
        return false;
    }
}

bool ws__engine_may_stop(const struct ws__engine *e, int code)
{
    return ws__engine_is_stop(code) || (code == WS_EREFERENCE && e->n);
}

static bool is_device_loss(int code)
{
    return code == WS_EDEVICE || code == WS_ECRASH || code == WS_EPROTO;
}

int ws__engine_identify(struct ws__engine *e)
{
    const struct ws__op *op = e->p->kernel[0].op;

    if (!op)
        return 0;
    for (size_t w = 0; w < e->p->nworkload; w++) {
        struct ws__workload_state *s = &e->work[w];

        s->hash = ws__workload_hash(op, &e->p->workload[w]);
        s->instance = ws__alloc(e->ctx, 1, sizeof(*s->instance));
        if (!s->instance)
            return WS_ENOMEM;
        WS_TRY(ws__instance_make(e->ctx, op, &e->p->workload[w], s->instance));
    }
    return 0;
}

static int candidate_hash(struct ws__engine *e, const struct ws__candidate *c,
                          uint32_t workload, struct ws__hash *out)
{
    const struct ws__kernel *k = &e->p->kernel[c->kernel];
    char *text;

    WS_TRY(ws__kernel_source(e->ctx, k, &c->config, e->work[workload].instance,
                             &text));
    *out = ws__candidate_hash(k, &c->config, text);
    ws__free(e->ctx, text);
    return 0;
}

static void stamp(struct ws__engine *e, const struct ws__question *q,
                  struct ws__trial *t, const struct ws__candidate *c)
{
    t->question = q->id;
    t->candidate = *c;
    t->workload = q->workload;
    t->workload_hash = e->work[q->workload].hash;
}

static int make_filtered(struct ws__engine *e, const struct ws__question *q,
                         struct ws__trial *t, const char *why)
{
    stamp(e, q, t, &q->a);
    t->effort = q->effort;
    t->verdict = WS__V_FILTERED;
    return ws__trial_set_reason(e->ctx, t, "%s", why);
}

/* As find, but what could not be an answer here is not found. */
static int find_sound(struct ws__engine *e, const struct ws__question *q,
                      struct ws__hash h, unsigned did, struct ws__trial *t)
{
    const struct ws__identity *id =
        e->ev->ops->identity ? e->ev->ops->identity(e->ev->self) : NULL;
    struct ws__hash device = id ? id->hash : e->run->device;
    int rc = e->j->ops->find(e->j->self, h, e->work[q->workload].hash, device,
                             q->effort, did, t);

    if (rc <= 0)
        return rc;
    stamp(e, q, t, &q->a);
    if (!ws__trial_flaw(q, &q->a, t))
        return 1;
    ws__trial_clear(e->ctx, t);
    return 0;
}

/* A trial of another run: an ok one with times, or a failure, which need not
 * have come as far. 1 found. */
static int find_elsewhere(struct ws__engine *e, const struct ws__question *q,
                          struct ws__trial *t)
{
    struct ws__hash h;
    int rc;

    WS_TRY(candidate_hash(e, &q->a, q->workload, &h));
    rc = find_sound(e, q, h, WANT_ALL, t);
    if (rc)
        return rc;
    rc = find_sound(e, q, h, WS__WANT_BUILD, t);
    if (rc > 0 && (t->verdict == WS__V_OK || t->verdict == WS__V_NONE)) {
        ws__trial_clear(e->ctx, t);
        rc = 0;
    }
    return rc;
}

static bool can_search(const struct ws__engine *e, const struct ws__question *q)
{
    return e->j && e->j->ops->find && e->work[q->workload].instance &&
           e->p->kernel[q->a.kernel].source;
}

static int resolve_new(struct ws__engine *e, struct ws__pending *p)
{
    const struct ws__problem_space *ps = e->p;
    struct ws__answer *a = NULL;
    int rc = 1;

    /* Of a default the evaluator says why it does not fit. */
    if (ps->fits && !p->q.pair && p->q.effort != WS__NORMAL)
        rc = ps->fits(ps->fits_user, &p->q.a, p->q.workload);
    WS_TRY(rc);
    p->evaluate = true;
    p->missed = rc == WS__FITS_MISSED;
    /* A default is what all else is compared with: how fast the machine was in
     * an earlier run says nothing of today. */
    if (rc == 1 && (p->q.effort != WS__SCREEN || !can_search(e, &p->q)))
        return 0;
    a = ws__answer_new(e->ctx, &p->q, p->key);
    if (!a)
        return WS_ENOMEM;
    if (rc != 1) {
        a->missed = p->missed;
        if (p->missed)
            a->q.id = p->q.id = 0;
        rc = make_filtered(e, &p->q, &a->t[0],
                           p->missed ? NOT_RECORDED
                                     : ws__verdict_text(WS__V_FILTERED));
        p->evaluate = rc < 0;
    } else {
        rc = find_elsewhere(e, &p->q, &a->t[0]);
        p->evaluate = rc <= 0;
        if (rc > 0) {
            a->t[0].spent_ns = 0; /* by this run */
            a->reused = true;
        }
    }
    if (p->evaluate)
        ws__answer_free(e->ctx, a);
    else
        p->ready = a;
    return rc < 0 ? rc : 0;
}

int ws__pending_make(struct ws__engine *e, const struct ws__question *q,
                     struct ws__pending *batch, size_t n)
{
    struct ws__pending *p = &batch[n];
    uint64_t id = e->next_id;

    memset(p, 0, sizeof(*p));
    p->q = *q;
    p->q.want = q->want & GATES ? WS__WANT_BUILD | (q->want & GATES)
                                : WANT_ALL | (q->want & WS__WANT_FRESH);
    p->key = ws__question_key(q);
    p->ready = ws__engine_find(e, p->key);
    if (p->ready) {
        p->q.id = p->ready->q.id;
        if (p->ready->recorded && q->effort == WS__SCREEN && !p->ready->again) {
            p->ready->again = true;
            e->left -= e->left > 0;
        }
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (batch[i].fresh && ws__hash_eq(batch[i].key, p->key))
            return 0;
        id += batch[i].fresh && !batch[i].missed;
    }
    p->fresh = true;
    p->q.id = id;
    return resolve_new(e, p);
}

int ws__pending_invalid(struct ws__engine *e, const struct ws__question *q,
                        const char *why, struct ws__pending *batch, size_t n)
{
    struct ws__pending *p = &batch[n];
    struct ws__answer *a;
    int rc;

    memset(p, 0, sizeof(*p));
    p->q = *q;
    p->q.want = WANT_ALL;
    p->key = ws__question_key(q);
    p->ready = ws__engine_find(e, p->key);
    if (p->ready) {
        p->ready->untold = true;
        p->q.id = p->ready->q.id;
        return 0;
    }
    p->q.id = e->next_id;
    for (size_t i = 0; i < n; i++)
        p->q.id += batch[i].fresh;
    a = ws__answer_new(e->ctx, &p->q, p->key);
    if (!a)
        return WS_ENOMEM;
    rc = make_filtered(e, &p->q, &a->t[0], why);
    if (rc < 0) {
        ws__answer_free(e->ctx, a);
        return rc;
    }
    a->untold = true;
    p->fresh = true;
    p->ready = a;
    return 0;
}

static int evaluate(struct ws__engine *e, const struct ws__question *q,
                    struct ws__trial t[2])
{
    int rc = 0;

    for (int i = 0; i < DEVICE_TRIES; i++) {
        WS_TRY(ws__check_stop(e->ctx));
        rc = e->ev->ops->answer(e->ev->self, q, t);
        if (rc >= 0)
            break;
        ws__trial_clear(e->ctx, &t[0]);
        ws__trial_clear(e->ctx, &t[1]);
        if (!is_device_loss(rc))
            break;
    }
    return rc;
}

static int complete(struct ws__engine *e, const struct ws__question *q,
                    struct ws__trial *t, const struct ws__candidate *c)
{
    static const struct ws__hash none;
    struct ws__hash work = t->workload_hash;

    stamp(e, q, t, c);
    if (!ws__hash_eq(work, none))
        t->workload_hash = work;
    if (ws__hash_eq(t->candidate_hash, none) && can_search(e, q))
        return candidate_hash(e, c, q->workload, &t->candidate_hash);
    return 0;
}

static int answer_new(struct ws__engine *e, struct ws__pending *p)
{
    struct ws__answer *a = ws__answer_new(e->ctx, &p->q, p->key);
    int rc;

    if (!a)
        return WS_ENOMEM;
    rc = evaluate(e, &p->q, a->t);
    if (rc == WS_EMISS && !e->ev->ops->live && p->q.effort != WS__CONFIRM) {
        a->missed = true;
        a->q.id = 0;
        rc = make_filtered(e, &p->q, &a->t[0], NOT_RECORDED);
    }
    if (rc >= 0)
        rc = complete(e, &p->q, &a->t[0], &p->q.a);
    if (rc >= 0 && p->q.pair)
        rc = complete(e, &p->q, &a->t[1], &p->q.b);
    if (rc < 0) {
        ws__answer_free(e->ctx, a);
        return rc;
    }
    p->ready = a;
    return 0;
}

/* In the table first: what was measured counts even if the journal is full. */
static int keep(struct ws__engine *e, struct ws__pending *p)
{
    struct ws__answer *a = p->ready;

    p->ready = NULL;
    WS_TRY(ws__engine_insert_take(e, a));
    p->ready = a;
    p->fresh = false;
    if (!e->j || a->missed)
        return 0;
    return e->j->ops->append(e->j->self, e->run, &a->q, a->t, a->n);
}

static int answer_one(struct ws__engine *e, struct ws__pending *p)
{
    e->pairs += p->q.effort == WS__CONFIRM && !(p->q.want & GATES);
    if (!p->fresh) {
        if (!p->ready) /* asked twice in one batch */
            p->ready = ws__engine_find(e, p->key);
        return p->ready ? 0 : ws__fail(e->ctx, WS_EBUG, "an answer was lost");
    }
    if (p->evaluate) {
        e->live = e->live || p->q.effort == WS__SCREEN;
        WS_TRY(answer_new(e, p));
    }
    WS_TRY(keep(e, p));
    ws__engine_progress(e, p->ready);
    return 0;
}

static int announce(struct ws__engine *e, const struct ws__pending *batch,
                    size_t n)
{
    struct ws__question *q;
    size_t m = 0;
    int rc = 0;

    if (n < 2 || !e->ev->ops->prefetch)
        return 0;
    q = ws__alloc(e->ctx, n, sizeof(*q));
    if (!q)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (batch[i].evaluate)
            q[m++] = batch[i].q;
    if (m > 1)
        rc = e->ev->ops->prefetch(e->ev->self, q, m);
    ws__free(e->ctx, q);
    return rc < 0 ? rc : 0;
}

int ws__engine_batch(struct ws__engine *e, struct ws__pending *batch, size_t n,
                     size_t more, size_t *answered)
{
    *answered = 0;
    WS_TRY(announce(e, batch, n + more));
    for (; *answered < n; ++*answered) {
        WS_TRY(ws__check_stop(e->ctx));
        WS_TRY(answer_one(e, &batch[*answered]));
    }
    return 0;
}

void ws__pending_clear(struct ws__engine *e, struct ws__pending *batch,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (batch[i].fresh)
            ws__answer_free(e->ctx, batch[i].ready);
        batch[i].ready = NULL;
    }
}
