/*
 * engine_table.c: what has been answered.
 *
 * A table from the identity of a question (candidates, workload, and whether
 * it confirms) to its answer. The order of answers is kept: ties are decided
 * by it, so that a resumed run decides as the first would have. Budget and
 * counters are kept here as well, where every answer passes exactly once,
 * whether it comes from the journal or from the evaluator.
 */
#include "search/engine.h"

#include "base/banned.h"

struct ws__hash ws__question_key(const struct ws__question *q)
{
    uint64_t kind = q->effort == WS__CONFIRM;
    struct ws__hash h;

    if (!q->pair) /* gates are asked for without times */
        kind |= (q->want & WS__WANT_SANITIZER ? 2u : 0) |
                (q->want & WS__WANT_PROOF ? 4u : 0);
    h = (struct ws__hash){q->workload, kind};

    h = ws__hash_u64(h, q->a.kernel);
    h = ws__hash_mix(h, &q->a.config, sizeof(q->a.config));
    if (!q->pair)
        return h;
    h = ws__hash_u64(h, q->b.kernel);
    return ws__hash_mix(h, &q->b.config, sizeof(q->b.config));
}

/* The place of a key, or the free one where it belongs. */
static size_t place(const struct ws__engine *e, struct ws__hash key)
{
    size_t i = (size_t)key.lo & (e->nindex - 1);

    while (e->index[i] && !ws__hash_eq(e->answer[e->index[i] - 1]->key, key))
        i = (i + 1) & (e->nindex - 1);
    return i;
}

struct ws__answer *ws__engine_find(struct ws__engine *e, struct ws__hash key)
{
    size_t i;

    if (!e->nindex)
        return NULL;
    i = place(e, key);
    return e->index[i] ? e->answer[e->index[i] - 1] : NULL;
}

struct ws__answer *ws__answer_new(struct ws_ctx *ctx,
                                  const struct ws__question *q,
                                  struct ws__hash key)
{
    struct ws__answer *a = ws__alloc(ctx, 1, sizeof(*a));

    if (!a)
        return NULL;
    a->q = *q;
    a->key = key;
    a->n = q->pair ? 2 : 1;
    return a;
}

void ws__answer_free(struct ws_ctx *ctx, struct ws__answer *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < WS_COUNT(a->t); i++)
        ws__trial_clear(ctx, &a->t[i]);
    ws__free(ctx, a);
}

static int reindex(struct ws__engine *e)
{
    size_t old = e->nindex, *was = e->index;
    size_t n = old ? old * 2 : 64;
    size_t *next = ws__alloc(e->ctx, n, sizeof(*next));

    if (!next)
        return WS_ENOMEM;
    e->index = next;
    e->nindex = n;
    for (size_t i = 0; i < old; i++)
        if (was[i])
            e->index[place(e, e->answer[was[i] - 1]->key)] = was[i];
    ws__free(e->ctx, was);
    return 0;
}

static void count_screened(struct ws__engine *e, const struct ws__answer *a)
{
    const struct ws__trial *t = &a->t[0];

    if (t->verdict == WS__V_FILTERED) {
        e->missed += a->missed;
        e->filtered += !a->missed;
        return;
    }
    e->done += a->q.effort == WS__SCREEN;
    e->ok += t->verdict == WS__V_OK;
    e->failed += t->verdict != WS__V_OK;
}

static void note(struct ws__engine *e, const struct ws__answer *a)
{
    struct ws__workload_state *w = &e->work[a->q.workload];
    double score;

    e->reused += a->recorded || a->reused;
    if (a->q.id >= e->next_id)
        e->next_id = a->q.id + 1;
    if (a->q.effort == WS__CONFIRM)
        return;
    count_screened(e, a);
    score = ws__trial_score(e->ctx, &a->t[0]);
    if (a->q.effort == WS__NORMAL && !w->dflt) {
        w->dflt = a;
        w->default_ns = score <= 1e300 ? score : 0;
    }
    if (score <= 1e300 && (!w->best || score < w->best_ns)) {
        w->best = a;
        w->best_ns = score;
    }
}

int ws__engine_insert_take(struct ws__engine *e, struct ws__answer *a)
{
    int rc = 0;
    size_t i;

    if ((e->n + 1) * 2 > e->nindex)
        rc = reindex(e);
    if (rc >= 0)
        rc = ws__grow(e->ctx, (void **)&e->answer, &e->cap, e->n,
                      sizeof(struct ws__answer *));
    if (rc < 0) {
        ws__answer_free(e->ctx, a);
        return rc;
    }
    i = place(e, a->key);
    e->answer[e->n++] = a;
    e->index[i] = e->n;
    note(e, a);
    return 0;
}

/* Does a stored question make sense here? */
static bool belongs(const struct ws__engine *e, const struct ws__question *q)
{
    return q->workload < e->p->nworkload &&
           ws__candidate_fits(&q->a, e->p->kernel, e->p->nkernel) &&
           (!q->pair || ws__candidate_fits(&q->b, e->p->kernel, e->p->nkernel));
}

/* A default's crash or hang is asked again once: all is compared with it, and
 * the machine may have been the cause. The second record is believed. */
static bool ask_again(struct ws__engine *e, const struct ws__question *q,
                      const struct ws__trial *t)
{
    bool *again = &e->work[q->workload].again;

    if (q->effort != WS__NORMAL || *again ||
        (t->verdict != WS__V_CRASH && t->verdict != WS__V_HANG))
        return false;
    *again = true;
    e->before_ns += t->spent_ns;
    if (q->id >= e->next_id)
        e->next_id = q->id + 1;
    return true;
}

static int misfit(struct ws__engine *e, const struct ws__question *q,
                  const char *why)
{
    ws__fail(e->ctx, WS_ECORRUPT,
             "stored answer %llu does not fit its question: %s",
             (unsigned long long)q->id, why);
    return ws__hint(e->ctx, "'wavesmith trials STORE --verify' looks at all; "
                            "move the store away, or tune with another seed");
}

/* A store may have been edited: strategies and reports index by what its
 * trials say, so nothing of it is taken on trust. */
static int check_stored(struct ws__engine *e, const struct ws__question *q,
                        const struct ws__trial *t, size_t n)
{
    if (n != (q->pair ? 2u : 1u))
        return misfit(e, q, "it has not the trials that it should");
    if (!belongs(e, q))
        return misfit(e, q, "the question is not of this specification");
    for (size_t i = 0; i < n; i++) {
        const char *why = ws__trial_flaw(q, i ? &q->b : &q->a, &t[i]);

        if (why)
            return misfit(e, q, why);
    }
    return 0;
}

static bool is_screened(const struct ws__question *q)
{
    return q->effort == WS__SCREEN && !q->pair;
}

static int load_one(void *user, const struct ws__question *q,
                    const struct ws__trial *t, size_t n)
{
    struct ws__engine *e = user;
    struct ws__hash key = ws__question_key(q);
    struct ws__answer *a;

    WS_TRY(check_stored(e, q, t, n));
    if (ws__engine_find(e, key) || ask_again(e, q, t))
        return 0;
    a = ws__answer_new(e->ctx, q, key);
    if (!a)
        return WS_ENOMEM;
    a->recorded = true;
    e->left += is_screened(q);
    for (size_t i = 0; i < n; i++) {
        if (ws__trial_copy(e->ctx, &t[i], &a->t[i]) < 0) {
            ws__answer_free(e->ctx, a);
            return WS_ENOMEM;
        }
        e->before_ns += t[i].spent_ns;
    }
    return ws__engine_insert_take(e, a);
}

int ws__engine_load(struct ws__engine *e)
{
    int rc;

    if (!e->j)
        return 0;
    rc = e->j->ops->replay(e->j->self, e->run, load_one, e);
    return rc < 0 ? rc : 0;
}

void ws__engine_clear(struct ws__engine *e)
{
    for (size_t i = 0; i < e->n; i++)
        ws__answer_free(e->ctx, e->answer[i]);
    ws__free(e->ctx, e->answer);
    ws__free(e->ctx, e->index);
    ws__free(e->ctx, e->pending);
    for (size_t w = 0; e->work && w < e->p->nworkload; w++)
        ws__free(e->ctx, e->work[w].instance);
    ws__free(e->ctx, e->work);
}
