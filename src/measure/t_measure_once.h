/*
 * t_measure_once.h: one evaluator and one question after the other about one
 * kernel text on the null device behind the device between.
 */
#ifndef WS_T_MEASURE_ONCE_H
#define WS_T_MEASURE_ONCE_H

#include "measure/t_measure_fixture.h"

static inline int reset(void **state)
{
    (void)state;
    memset(&t_script, 0, sizeof(t_script));
    t_script.inner = "null";
    t_reference_rc = t_reference_flat = 0;
    t_reference_runs = 0;
    return 0;
}

/* One question about one kernel text. */
struct once {
    struct ws_ctx *ctx;
    struct t_case *c;
    struct ws__measure *m;
    struct ws__trial t[2];
    struct t_alloc alloc;
};

static inline void once_begin(struct once *o, const char *source)
{
    memset(o, 0, sizeof(*o));
    o->ctx = t_ctx(&o->alloc);
    o->c = t_case_new(o->ctx, source);
    assert_non_null(o->c);
}

static inline void once_ask(struct once *o, const struct ws__question *q)
{
    if (!o->m && t_measure_open(o->c, NULL, &o->m) < 0)
        fail_msg("%s", o->ctx->err.message);
    t_clear(o->ctx, o->t);
    if (t_answer(o->m, q, o->t) < 0)
        fail_msg("%s", o->ctx->err.message);
}

static inline void once_end(struct once *o)
{
    t_clear(o->ctx, o->t);
    ws__measure_close(o->m);
    t_case_free(o->c);
    ws_ctx_free(o->ctx);
    assert_int_equal(o->alloc.live, 0);
    assert_int_equal(t_script.live, 0);
}

#endif
