/*
 * t_measure_ahead.c: inputs and reference results that are prepared while the
 * device works: they are used, they change no answer, and what goes wrong
 * with them is found by nobody.
 */
#include "measure/t_measure_once.h"

#include "base/clock.h"

#define GOOD                                                                   \
    "kernel k\nmul 1 0 2\ntime 1000\nif V 3 fill 1 7\nif V 5 time 5000\n"
#define NQ 6
#define PATIENCE 2000 /* looks, of 5 ms */

static pthread_t caller;
static _Atomic long runs_here, runs_ahead;
static _Atomic int fails_ahead, stuck_ahead;

static int run_reference(struct ws__reference *r, struct ws__problem *p)
{
    if (pthread_equal(caller, pthread_self())) {
        runs_here++;
        return t_reference_run(r, p);
    }
    runs_ahead++;
    if (fails_ahead)
        return ws__fail(p->ctx, fails_ahead, "injected");
    while (stuck_ahead) {
        WS_TRY(ws__check_stop(p->ctx));
        ws__sleep_ns(1000000);
    }
    return t_reference_run(r, p);
}

static int begin(void **state)
{
    reset(state);
    t_script.not_cpu = true;
    caller = pthread_self();
    runs_here = runs_ahead = 0;
    fails_ahead = stuck_ahead = 0;
    return 0;
}

static void open_one(struct once *o)
{
    static const struct ws__measure_opts opts = {.builders = 2,
                                                 .cache = WS__CACHE_WARM,
                                                 .seed = 7};
    struct ws__measure_deps deps = t_deps;

    once_begin(o, GOOD);
    deps.reference_run = run_reference;
    assert_int_equal(ws__measure_open_with(o->ctx, &deps, &o->c->op,
                                           &o->c->kernel, 1, o->c->workload, 2,
                                           &opts, &o->m),
                     0);
}

static void make_questions(struct ws__question q[NQ])
{
    for (int i = 0; i < NQ; i++)
        q[i] = t_question((uint64_t)i + 1, i, (uint32_t)i / 4);
    q[2].pair = true;
    q[2].b.config.at[0] = 5;
}

static void announce(struct once *o, const struct ws__question *q, size_t n)
{
    struct ws__evaluator ev = ws__measure_evaluator(o->m);

    assert_int_equal(ev.ops->prefetch(ev.self, q, n), 0);
}

/* Until so many are prepared (or being prepared: RUNNING). */
static void await(struct once *o, enum ws__ready_state state, size_t want)
{
    size_t n = 0;

    for (int i = 0; i < PATIENCE && n < want; i++) {
        ws__sleep_ns(5000000);
        pthread_mutex_lock(&o->m->lock);
        n = 0;
        for (size_t k = 0; k < WS__AHEAD; k++)
            n += o->m->ahead.ready[k].state == state;
        pthread_mutex_unlock(&o->m->lock);
    }
    assert_int_equal(n, want);
}

struct answers {
    struct ws__trial t[NQ][2];
};

static void ask_all(struct once *o, const struct ws__question *q,
                    struct answers *a)
{
    for (int i = 0; i < NQ; i++)
        if (t_answer(o->m, &q[i], a->t[i]) < 0)
            fail_msg("%s", o->ctx->err.message);
}

static void clear(struct once *o, struct answers *a)
{
    for (int i = 0; i < NQ; i++)
        t_clear(o->ctx, a->t[i]);
}

static void expect_same(const struct answers *a, const struct answers *b)
{
    for (int i = 0; i < NQ; i++)
        for (int k = 0; k < 2; k++) {
            const struct ws__trial *x = &a->t[i][k], *y = &b->t[i][k];

            assert_int_equal(x->verdict, y->verdict);
            assert_int_equal(x->input_seed, y->input_seed);
            assert_int_equal(x->mismatch.bad, y->mismatch.bad);
            assert_int_equal(x->mismatch.worst, y->mismatch.worst);
            assert_true(x->mismatch.worst_want == y->mismatch.worst_want);
            assert_int_equal(!x->nsample, !y->nsample);
        }
}

/* What nothing was announced of says how it must be. */
static void plain(struct answers *a)
{
    struct ws__question q[NQ];
    struct once o;

    make_questions(q);
    open_one(&o);
    ask_all(&o, q, a);
    for (int i = 0; i < NQ; i++)
        for (int k = 0; k < 2; k++) { /* the context goes */
            ws__free(o.ctx, a->t[i][k].reason);
            ws__free(o.ctx, a->t[i][k].sample_ns);
            a->t[i][k].reason = NULL;
            a->t[i][k].sample_ns = NULL;
        }
    assert_int_equal(runs_ahead, 0);
    once_end(&o);
}

static void used(void **state)
{
    static struct answers want, got;
    struct ws__question q[NQ];
    struct once o;

    (void)state;
    plain(&want);
    assert_int_equal(want.t[3][0].verdict, WS__V_WRONG);
    make_questions(q);
    open_one(&o);
    announce(&o, q, NQ);
    await(&o, WS__READY_DONE, WS__AHEAD);
    runs_here = 0;
    assert_int_equal(t_answer(o.m, &q[0], got.t[0]), 0);
    assert_true(runs_here <= 1); /* of variant 1, since it is cheap */
    t_clear(o.ctx, got.t[0]);
    await(&o, WS__READY_DONE, WS__AHEAD);
    ask_all(&o, q, &got);
    assert_true(runs_ahead >= WS__AHEAD + 1);
    expect_same(&want, &got);
    clear(&o, &got);
    once_end(&o);
}

/* One that is being prepared is waited for, not made twice. */
static void waited_for(void **state)
{
    struct ws__question q[NQ];
    struct once o;

    (void)state;
    make_questions(q);
    open_one(&o);
    stuck_ahead = 1;
    announce(&o, q, 1); /* of several, any may be the first */
    await(&o, WS__READY_RUNNING, 1);
    ws_ctx_set_timeout(o.ctx, 50000000);
    assert_int_equal(t_answer(o.m, &q[0], o.t), WS_ETIMEOUT);
    ws_ctx_set_timeout(o.ctx, 0);
    t_clear(o.ctx, o.t);
    assert_int_equal(runs_here, 0);
    stuck_ahead = 0;
    assert_int_equal(t_answer(o.m, &q[0], o.t), 0);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(runs_here, 0);
    once_end(&o);
}

/* Closing does not wait for it. */
static void stopped(void **state)
{
    struct ws__question q[NQ];
    struct once o;

    (void)state;
    make_questions(q);
    open_one(&o);
    stuck_ahead = 1;
    announce(&o, q, NQ);
    await(&o, WS__READY_RUNNING, 1);
    once_end(&o);
}

static void failures_are_dropped(void **state)
{
    static const int code[] = {WS_EREFERENCE, WS_ENOMEM, WS_ECANCEL};
    static struct answers want, got;

    (void)state;
    plain(&want);
    for (size_t i = 0; i < WS_COUNT(code); i++) {
        struct ws__question q[NQ];
        struct once o;

        make_questions(q);
        fails_ahead = code[i];
        runs_ahead = 0;
        open_one(&o);
        announce(&o, q, NQ);
        for (int k = 0; k < PATIENCE && !runs_ahead; k++)
            ws__sleep_ns(5000000);
        assert_true(runs_ahead > 0);
        ask_all(&o, q, &got);
        expect_same(&want, &got);
        clear(&o, &got);
        once_end(&o);
    }
}

/* A builder that tells another hash, or none, helps nobody and harms nobody. */
static void of_another_binary(void **state)
{
    static struct answers want, got;

    (void)state;
    plain(&want);
    for (int how = 1; how <= 2; how++) {
        struct ws__question q[NQ];
        struct once o;

        make_questions(q);
        runs_ahead = 0;
        t_script.compiled = how;
        open_one(&o);
        announce(&o, q, NQ);
        if (how == 1)
            await(&o, WS__READY_DONE, WS__AHEAD);
        ask_all(&o, q, &got);
        expect_same(&want, &got);
        clear(&o, &got);
        once_end(&o);
    }
}

static void no_room(void **state)
{
    struct ws__question q[NQ];
    struct answers got;
    struct once o;

    (void)state;
    make_questions(q);
    open_one(&o);
    o.m->ahead.max_bytes = 64 * 4 + 64 * 8 - 1;
    announce(&o, q, NQ);
    ask_all(&o, q, &got);
    assert_int_equal(runs_ahead, 0);
    clear(&o, &got);
    o.m->ahead.max_bytes++; /* one of the small workload */
    announce(&o, q, NQ);
    await(&o, WS__READY_DONE, 1);
    ask_all(&o, q, &got);
    assert_true(runs_ahead >= 1);
    for (size_t k = 0; k < WS__AHEAD; k++) { /* nor is the large one kept */
        const struct ws__problem *p = o.m->ahead.ready[k].p;

        assert_true(!p || p->in->shape[0].bytes <= 64 * 4);
    }
    clear(&o, &got);
    once_end(&o);
}

/* What is announced anew stands for what was announced before. */
static void announced_again(void **state)
{
    static struct answers want, got;
    struct ws__question q[NQ];
    struct once o;

    (void)state;
    plain(&want);
    make_questions(q);
    open_one(&o);
    announce(&o, q, NQ);
    await(&o, WS__READY_DONE, WS__AHEAD);
    announce(&o, q + 4, 2);
    await(&o, WS__READY_DONE, 2);
    ask_all(&o, q, &got);
    announce(&o, NULL, 0);
    expect_same(&want, &got);
    clear(&o, &got);
    once_end(&o);
}

/* What was prepared and is still wanted stays: a search announces the next
 * batch before the present one is answered, and again behind it. */
static void announced_on(void **state)
{
    struct ws__question q[NQ];
    struct answers got;
    struct once o;

    (void)state;
    make_questions(q);
    open_one(&o);
    announce(&o, q, 4);
    await(&o, WS__READY_DONE, WS__AHEAD);
    assert_int_equal(runs_ahead, WS__AHEAD);
    announce(&o, q, NQ);
    announce(&o, q, NQ);
    await(&o, WS__READY_DONE, WS__AHEAD);
    assert_int_equal(runs_ahead, WS__AHEAD);
    ask_all(&o, q, &got);
    assert_true(runs_ahead <= NQ);
    clear(&o, &got);
    once_end(&o);
}

/* Where nothing may run beside what is timed. */
static void not_on_processors(void **state)
{
    struct ws__question q[NQ];
    struct answers got;
    struct once o;

    (void)state;
    t_script.not_cpu = false;
    make_questions(q);
    open_one(&o);
    announce(&o, q, NQ);
    ask_all(&o, q, &got);
    assert_int_equal(runs_ahead, 0);
    clear(&o, &got);
    once_end(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup(f, begin)
        T(used),
        T(waited_for),
        T(stopped),
        T(failures_are_dropped),
        T(of_another_binary),
        T(no_room),
        T(announced_again),
        T(announced_on),
        T(not_on_processors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
