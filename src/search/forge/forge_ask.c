/* forge_ask.c: questions and their answers, of this process or of earlier ones
 * of the same run; comparisons made of them. */
#include <math.h>

#include "search/forge/forge_int.h"

#include "base/clock.h"

#include "base/banned.h"

#define RIGHT (WS__WANT_BUILD | WS__WANT_VERDICT | WS__WANT_TIME)

/* --- the journal ---------------------------------------------------------- */

static int remember(void *user, const struct ws__question *q,
                    const struct ws__trial *t, size_t n)
{
    struct ws__forging *s = user;
    struct ws__forge_answer *a;

    WS_TRY(ws__grow(s->f->ctx, (void **)&s->answer, &s->answer_cap, s->nanswer,
                    sizeof(*a)));
    a = &s->answer[s->nanswer++];
    memset(a, 0, sizeof(*a));
    a->q = *q;
    a->n = n;
    for (size_t i = 0; i < n; i++) {
        WS_TRY(ws__trial_copy(s->f->ctx, &t[i], &a->t[i]));
        s->before_ns += t[i].spent_ns;
    }
    return 0;
}

int ws__forge_open(struct ws__forging *s)
{
    const struct ws__journal *j = &s->f->journal;

    if (!j->ops)
        return 0;
    WS_TRY(j->ops->begin(j->self, s->f->run));
    s->begun = true;
    return j->ops->replay(j->self, s->f->run, remember, s);
}

void ws__forge_close(struct ws__forging *s, int *rc)
{
    const struct ws__journal *j = &s->f->journal;
    int ended;

    if (!s->begun)
        return;
    ended = j->ops->end(j->self, s->f->run);
    if (*rc >= 0 && ended < 0)
        *rc = ended;
}

void ws__forge_forget(struct ws__forging *s)
{
    for (size_t i = 0; i < s->nanswer; i++) {
        ws__trial_clear(s->f->ctx, &s->answer[i].t[0]);
        ws__trial_clear(s->f->ctx, &s->answer[i].t[1]);
    }
    ws__free(s->f->ctx, s->answer);
    ws__free(s->f->ctx, s->seen);
    ws__free(s->f->ctx, s->memory);
}

static bool same_question(const struct ws__question *a,
                          const struct ws__question *b)
{
    return a->pair == b->pair && a->workload == b->workload &&
           a->want == b->want && a->effort == b->effort &&
           ws__candidate_eq(&a->a, &b->a) &&
           (!a->pair || ws__candidate_eq(&a->b, &b->b));
}

/* Is it one of those that a run ends with? A run that goes on with a larger
 * budget has them in the middle of its record. */
static bool is_conclusion(const struct ws__question *q)
{
    return q->effort == WS__CONFIRM && (q->pair || !(q->want & WS__WANT_PROOF));
}

bool ws__forge_on_record(const struct ws__forging *s)
{
    for (size_t i = s->told; i < s->nanswer; i++)
        if (!is_conclusion(&s->answer[i].q))
            return true;
    return false;
}

/* From the record, which must fit: the same run asks the same questions. */
static int tell_again(struct ws__forging *s, const struct ws__question *q,
                      struct ws__trial t[2], bool *told)
{
    struct ws__forge_answer *a;

    *told = false;
    while (s->told < s->nanswer && !same_question(&s->answer[s->told].q, q) &&
           is_conclusion(&s->answer[s->told].q))
        s->told++;
    if (s->told >= s->nanswer)
        return 0;
    a = &s->answer[s->told];
    if (!same_question(&a->q, q)) {
        ws__fail(s->f->ctx, WS_ECORRUPT,
                 "the run on record asked something else: question %llu",
                 (unsigned long long)q->id);
        return ws__hint(s->f->ctx, "begin a new one, with another --seed or "
                                   "--store");
    }
    s->told++;
    *told = true;
    for (size_t i = 0; i < a->n; i++)
        WS_TRY(ws__trial_copy(s->f->ctx, &a->t[i], &t[i]));
    return 0;
}

/* t is zeroed, and the caller's to clear. */
static int ask(struct ws__forging *s, struct ws__question *q,
               struct ws__trial t[2])
{
    const struct ws__forge *f = s->f;
    bool told;

    q->id = ++s->out->trials;
    WS_TRY(tell_again(s, q, t, &told));
    if (told)
        return 0;
    /* Of what is on record some may not be told: how a smaller budget ended. */
    q->id = s->nanswer + ++s->asked;
    WS_TRY(ws__check_stop(f->ctx));
    WS_TRY(f->ev.ops->answer(f->ev.self, q, t));
    if (!f->journal.ops)
        return 0;
    return f->journal.ops->append(f->journal.self, f->run, q, t,
                                  q->pair ? 2 : 1);
}

/* These will be asked next, in this order: they can be built, and their inputs
 * and reference results made, while the device works. */
static int announce(struct ws__forging *s, const struct ws__question *q,
                    size_t n)
{
    const struct ws__evaluator *ev = &s->f->ev;

    if (n < 2 || !ev->ops->prefetch || s->told < s->nanswer)
        return 0;
    return ev->ops->prefetch(ev->self, q, n);
}

/* The same question of every workload. */
static int announce_all(struct ws__forging *s, const struct ws__question *q)
{
    size_t n = s->f->nworkload;
    struct ws__question *all = ws__alloc(s->f->ctx, n, sizeof(*all));
    int rc;

    if (!all)
        return WS_ENOMEM;
    for (size_t w = 0; w < n; w++) {
        all[w] = *q;
        all[w].workload = (uint32_t)w;
    }
    rc = announce(s, all, n);
    ws__free(s->f->ctx, all);
    return rc;
}

static void clear(struct ws__forging *s, struct ws__trial t[2])
{
    ws__trial_clear(s->f->ctx, &t[0]);
    ws__trial_clear(s->f->ctx, &t[1]);
}

static int set(struct ws_ctx *ctx, char **to, const char *text)
{
    ws__free(ctx, *to);
    *to = ws__strdup(ctx, text ? text : "");
    return *to ? 0 : WS_ENOMEM;
}

/* --- single candidates ---------------------------------------------------- */

double ws__forge_time(struct ws__forging *s, const struct ws__trial *t)
{
    struct ws__summary sum;

    if (t->verdict != WS__V_OK || !t->nsample ||
        ws__summarize(s->f->ctx, t->sample_ns, t->nsample, &sum) < 0)
        return 0;
    return sum.median;
}

static int keep_last(struct ws__forging *s, const struct ws__trial *t)
{
    ws__trial_clear(s->f->ctx, &s->last);
    return ws__trial_copy(s->f->ctx, t, &s->last);
}

/* 1 if this binary with these launches was there before; else it is now. */
static int seen_before(struct ws__forging *s, const struct ws__candidate *c,
                       const struct ws__trial *t)
{
    const struct ws__kernel *k = &s->f->kernel[c->kernel];
    struct ws__hash h;

    if (!t->res.binary.lo && !t->res.binary.hi)
        return 0;
    h = ws__kernel_plan_meaning(t->res.binary, k);
    for (size_t i = 0; i < k->nparam; i++)
        h = ws__hash_u64(h, c->config.at[i]);
    for (size_t i = 0; i < s->nseen; i++)
        if (ws__hash_eq(s->seen[i], h))
            return 1;
    WS_TRY(ws__grow(s->f->ctx, (void **)&s->seen, &s->seen_cap, s->nseen,
                    sizeof(h)));
    s->seen[s->nseen++] = h;
    return 0;
}

int ws__forge_first(struct ws__forging *s)
{
    struct ws__question q = {.a = s->f->original,
                             .want = RIGHT,
                             .effort = WS__NORMAL};
    struct ws__forge_outcome *o = s->out;

    o->verdict = WS__V_OK;
    WS_TRY(announce_all(s, &q));
    for (size_t w = 0; w < s->f->nworkload && o->verdict == WS__V_OK; w++) {
        struct ws__trial t[2] = {{0}};
        int rc;

        q.workload = (uint32_t)w;
        rc = ask(s, &q, t);
        if (rc >= 0) {
            o->verdict = t[0].verdict;
            o->workload = (uint32_t)w;
            o->row[w].original_ns = o->row[w].best_ns =
                ws__forge_time(s, &t[0]);
            o->row[w].speedup = (struct ws__ratio){1, 1, 1};
            if (t[0].verdict != WS__V_OK)
                rc = set(s->f->ctx, &o->why, t[0].reason);
        }
        if (rc >= 0 && !w && t[0].verdict == WS__V_OK)
            rc = keep_last(s, &t[0]);
        if (rc >= 0 && !w)
            rc = seen_before(s, &q.a, &t[0]);
        clear(s, t);
        WS_TRY(rc);
    }
    return 0;
}

static struct ws__question look_at(const struct ws__candidate *c)
{
    return (struct ws__question){.a = *c, .want = RIGHT, .effort = WS__SCREEN};
}

int ws__forge_try(struct ws__forging *s, const struct ws__candidate *c,
                  struct ws__forge_step *x, double *ns)
{
    struct ws__question q = look_at(c);
    struct ws__trial t[2] = {{0}};
    int rc = ask(s, &q, t), same = 0;

    *ns = 0;
    if (rc >= 0) {
        x->verdict = t[0].verdict;
        x->trial[0] = t[0].id;
        *ns = ws__forge_time(s, &t[0]);
        if (t[0].verdict != WS__V_OK) {
            x->end = WS__FORGE_FAILED;
            rc = set(s->f->ctx, &x->why, t[0].reason);
        } else {
            same = rc = seen_before(s, c, &t[0]);
        }
    }
    if (rc >= 0 && same) {
        x->end = WS__FORGE_SAME;
        rc = set(s->f->ctx, &x->why,
                 "compiles to what was tried before, with the same launches");
    }
    clear(s, t);
    return rc < 0 ? rc : 0;
}

int ws__forge_looks(struct ws__forging *s, const struct ws__candidate *c,
                    size_t n)
{
    struct ws__question *q = ws__alloc(s->f->ctx, n, sizeof(*q));
    int rc;

    if (!q)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        q[i] = look_at(&c[i]);
    rc = announce(s, q, n);
    ws__free(s->f->ctx, q);
    return rc;
}

int ws__forge_look(struct ws__forging *s, const struct ws__candidate *c,
                   double *ns)
{
    struct ws__question q = look_at(c);
    struct ws__trial t[2] = {{0}};
    int rc = ask(s, &q, t);

    *ns = rc < 0 ? 0 : ws__forge_time(s, &t[0]);
    clear(s, t);
    return rc;
}

/* --- comparisons ---------------------------------------------------------- */

/* What a guard leaves alone is the same as before, whatever was measured. */
static bool is_same(const struct ws__forging *s, const struct ws__question *q)
{
    const struct ws__forge_shop *shop = &s->f->shop;

    return shop->same && shop->same(shop->self, &q->a, &q->b, q->workload);
}

static int take_pair(struct ws__forging *s, const struct ws__question *q,
                     struct ws__trial t[2], struct ws__forge_race *r)
{
    struct ws__forge_row *row = &s->row[q->workload];
    struct ws__ratio x;

    for (int i = 0; i < 2; i++)
        if (t[i].verdict != WS__V_OK || !t[i].nsample) {
            r->verdict = t[i].verdict == WS__V_OK ? WS__V_NONE : t[i].verdict;
            return set(s->f->ctx, &r->why, t[i].reason);
        }
    WS_TRY(ws__ratio_bootstrap(s->f->ctx, t[0].sample_ns, t[0].nsample,
                               t[1].sample_ns, t[1].nsample,
                               t[0].nsample == t[1].nsample, s->f->opts.seed,
                               &x));
    row->original_ns = ws__forge_time(s, &t[0]);
    row->best_ns = ws__forge_time(s, &t[1]);
    row->same = is_same(s, q);
    if (row->same) {
        x = (struct ws__ratio){1, 1, 1};
        row->best_ns = row->original_ns;
    }
    row->speedup = x;
    r->loses = r->loses || x.hi < 1;
    r->trial[0] = t[0].id;
    r->trial[1] = t[1].id;
    return q->workload ? 0 : keep_last(s, &t[1]);
}

/* The geometric mean of independent ratios: their logarithms' deviations from
 * the ends of the intervals add as squares. */
static void all_of(struct ws__forging *s, struct ws__forge_race *r)
{
    size_t n = s->f->nworkload;
    double sum = 0, down = 0, up = 0;

    for (size_t w = 0; w < n; w++) {
        const struct ws__ratio *x = &s->row[w].speedup;

        sum += log(x->value);
        down += pow(log(x->value / x->lo), 2);
        up += pow(log(x->hi / x->value), 2);
    }
    r->all.value = exp(sum / (double)n);
    r->all.lo = exp((sum - sqrt(down)) / (double)n);
    r->all.hi = exp((sum + sqrt(up)) / (double)n);
}

int ws__forge_compare(struct ws__forging *s, const struct ws__candidate *a,
                      const struct ws__candidate *b, enum ws__effort effort,
                      struct ws__forge_race *out)
{
    struct ws__question q = {
        .a = *a, .b = *b, .pair = true, .want = RIGHT, .effort = effort};

    if (effort == WS__CONFIRM) /* in processes that ran nothing else */
        q.want |= WS__WANT_FRESH;
    memset(out, 0, sizeof(*out));
    out->verdict = WS__V_OK;
    WS_TRY(announce_all(s, &q));
    for (size_t w = 0; w < s->f->nworkload && out->verdict == WS__V_OK; w++) {
        struct ws__trial t[2] = {{0}};
        int rc;

        q.workload = (uint32_t)w;
        rc = ask(s, &q, t);
        if (rc >= 0)
            rc = take_pair(s, &q, t, out);
        clear(s, t);
        if (rc < 0) {
            ws__free(s->f->ctx, out->why);
            out->why = NULL;
            return rc;
        }
    }
    if (out->verdict == WS__V_OK)
        all_of(s, out);
    return 0;
}

int ws__forge_prove(struct ws__forging *s, const struct ws__candidate *c,
                    unsigned want, struct ws__forge_step *x)
{
    struct ws__question q = {.a = *c,
                             .want = WS__WANT_BUILD | want,
                             .effort = WS__CONFIRM};
    struct ws__trial t[2] = {{0}};
    int rc = ask(s, &q, t);

    if (rc >= 0) {
        x->verdict = t[0].verdict;
        x->end = t[0].verdict == WS__V_OK ? WS__FORGE_KEPT : WS__FORGE_FAILED;
        if (t[0].verdict != WS__V_OK)
            rc = set(s->f->ctx, &x->why, t[0].reason);
        if (want & WS__WANT_PROOF) /* the first look at this candidate */
            s->out->passed = 0;
        for (int g = 0; g < WS__NGATE && t[0].verdict == WS__V_OK; g++)
            if (ws__gate_end(&t[0], (enum ws__gate)g) == WS__GATE_PASSED)
                s->out->passed |= 1u << g;
    }
    clear(s, t);
    return rc;
}
