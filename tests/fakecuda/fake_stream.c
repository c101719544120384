/*
 * fake_stream.c: streams, events and graphs of the fake driver.
 *
 * A stream is a list of what was asked for; it is worked off when somebody
 * waits for it, so that errors come out late, as they do on a GPU. What is
 * captured goes to the list of a graph.
 */
#include "tests/fakecuda/fake_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cu_stream_s fake_default_stream;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- lists of work ------------------------------------------------------ */

static void append(struct fake_ops *list, const struct fake_op *op)
{
    struct fake_op *o = malloc(sizeof(*o));

    *o = *op;
    o->next = NULL;
    if (!list->first)
        list->end = &list->first;
    *list->end = o;
    list->end = &o->next;
}

static void drop_first(struct fake_ops *list)
{
    struct fake_op *o = list->first;

    list->first = o->next;
    if (!list->first)
        list->end = &list->first;
    free(o->staged);
    free(o);
}

void fake_drop_all(struct fake_ops *list)
{
    while (list->first)
        drop_first(list);
}

static int run_kernel(struct fake_op *o)
{
    void *param[WS__MAX_ARGS];

    for (unsigned i = 0; i < o->launch.kernel->nparam; i++)
        param[i] = o->param + o->offset[i];
    return fake_run(&o->launch, param);
}

static int run_op(struct fake_op *o)
{
    switch (o->kind) {
    case OP_KERNEL:
        return run_kernel(o);
    case OP_COPY:
        memmove(o->to, o->staged ? o->staged : o->from, o->bytes);
        return 0;
    case OP_FILL:
        for (size_t i = 0; i < o->bytes; i += o->unit)
            memcpy(o->to + i, &o->value, o->unit);
        return 0;
    case OP_EVENT:
        if (fake_is_live(FAKE_EVENT, o->event)) {
            o->event->ns = now_ns() / 32 * 32;
            o->event->done = true;
        }
        return 0;
    }
    return CU__E_UNKNOWN;
}

int fake_drain(cu_stream s)
{
    while (s->ops.first && !fake_state()->dead) {
        int e = run_op(s->ops.first);

        drop_first(&s->ops);
        if (e)
            fake_state()->dead = e;
    }
    return fake_state()->dead;
}

int fake_drain_all(void)
{
    int e = fake_drain(&fake_default_stream);

    for (const struct fake_live *l = fake_lives; l && !e; l = l->next)
        if (l->kind == FAKE_STREAM)
            e = fake_drain((cu_stream)(uintptr_t)l->handle);
    return e;
}

/* To the stream, or to what captures it. */
int fake_enqueue(cu_stream s, const struct fake_op *o)
{
    s = s ? s : &fake_default_stream;
    if (s != &fake_default_stream && !fake_is_live(FAKE_STREAM, s)) {
        free(o->staged);
        return CU__E_INVALID_HANDLE;
    }
    if (s->spoiled) {
        free(o->staged);
        return SPOILED;
    }
    append(s->capture ? &s->capture->ops : &s->ops, o);
    return 0;
}

int cuMemcpyHtoDAsync_v2(cu_ptr to, const void *from, size_t n, cu_stream s)
{
    struct fake_op o = {.kind = OP_COPY, .from = from, .bytes = n};

    BEGIN_CONTEXT();
    if (!fake_memory_of((uintptr_t)to, n))
        return CU__E_INVALID_VALUE;
    o.to = (unsigned char *)(uintptr_t)to;
    if (!fake_memory_of((uintptr_t)from, n)) {
        o.staged = malloc(n + 1);
        memcpy(o.staged, from, n);
    }
    return fake_enqueue(s, &o);
}

int cuMemcpyDtoHAsync_v2(void *to, cu_ptr from, size_t n, cu_stream s)
{
    struct fake_op o = {.kind = OP_COPY, .to = to, .bytes = n};
    int e;

    BEGIN_CONTEXT();
    if (!fake_memory_of((uintptr_t)from, n))
        return CU__E_INVALID_VALUE;
    o.from = (const unsigned char *)(uintptr_t)from;
    e = fake_enqueue(s, &o);
    /* Pageable memory: the call waits. */
    if (!e && !fake_memory_of((uintptr_t)to, n))
        e = s && s->capture ? CAPTURING
                            : fake_drain(s ? s : &fake_default_stream);
    return e;
}

int cuMemcpyDtoDAsync_v2(cu_ptr to, cu_ptr from, size_t n, cu_stream s)
{
    struct fake_op o = {.kind = OP_COPY, .bytes = n};

    BEGIN_CONTEXT();
    if (!fake_memory_of((uintptr_t)to, n) ||
        !fake_memory_of((uintptr_t)from, n))
        return CU__E_INVALID_VALUE;
    o.to = (unsigned char *)(uintptr_t)to;
    o.from = (const unsigned char *)(uintptr_t)from;
    return fake_enqueue(s, &o);
}

static int fill(cu_ptr to, unsigned v, size_t unit, size_t n, cu_stream s)
{
    struct fake_op o = {.kind = OP_FILL,
                        .value = v,
                        .unit = unit,
                        .bytes = n * unit};

    if (to % unit || !fake_memory_of((uintptr_t)to, o.bytes))
        return CU__E_INVALID_VALUE;
    o.to = (unsigned char *)(uintptr_t)to;
    return fake_enqueue(s, &o);
}

int cuMemsetD32Async(cu_ptr to, unsigned v, size_t n, cu_stream s)
{
    BEGIN_CONTEXT();
    return fill(to, v, 4, n, s);
}

int cuMemsetD8Async(cu_ptr to, unsigned char v, size_t n, cu_stream s)
{
    BEGIN_CONTEXT();
    return fill(to, v, 1, n, s);
}

/* ---- streams, events, graphs -------------------------------------------- */

int cuStreamCreate(cu_stream *out, unsigned flags)
{
    BEGIN_CONTEXT();
    (void)flags;
    *out = calloc(1, sizeof(**out));
    fake_born(FAKE_STREAM, *out);
    return 0;
}

int cuStreamDestroy_v2(cu_stream s)
{
    if (fake_state()->dead)
        return fake_state()->dead;
    if (!fake_gone(FAKE_STREAM, s))
        return CU__E_INVALID_HANDLE;
    fake_drop_all(&s->ops);
    free(s);
    TURN_AFTER();
}

int cuStreamSynchronize(cu_stream s)
{
    int e = 0;

    BEGIN_CONTEXT();
    if (s)
        CHECK(FAKE_STREAM, s);
    NO_CAPTURE();
    e = fake_drain(s ? s : &fake_default_stream);
    return e;
}

int cuStreamBeginCapture_v2(cu_stream s, cu_enum mode)
{
    BEGIN_CONTEXT();
    (void)mode;
    CHECK(FAKE_STREAM, s);
    if (s->capture)
        return CU__E_INVALID_VALUE;
    s->capture = calloc(1, sizeof(*s->capture));
    s->spoiled = false;
    return 0;
}

int cuStreamEndCapture(cu_stream s, cu_graph *out)
{
    int turn, dead = fake_state()->dead;

    *out = NULL;
    if (dead)
        return dead;
    CHECK(FAKE_STREAM, s);
    turn = fake_turn(__func__);
    if (!s->capture)
        return CU__E_INVALID_VALUE;
    if (turn || s->spoiled) {
        fake_drop_all(&s->capture->ops);
        free(s->capture);
        turn = turn ? turn : SPOILED;
    } else {
        *out = s->capture;
        fake_born(FAKE_GRAPH, *out);
    }
    s->capture = NULL;
    s->spoiled = false;
    return turn;
}

static void copy_ops(struct fake_ops *to, const struct fake_ops *from)
{
    for (const struct fake_op *o = from->first; o; o = o->next) {
        struct fake_op own = *o;

        if (o->staged) {
            own.staged = malloc(o->bytes + 1);
            memcpy(own.staged, o->staged, o->bytes);
        }
        append(to, &own);
    }
}

int cuGraphInstantiateWithFlags(cu_graph_exec *out, cu_graph g,
                                unsigned long long flags)
{
    BEGIN_CONTEXT();
    CHECK(FAKE_GRAPH, g);
    if (flags)
        return CU__E_INVALID_VALUE;
    *out = calloc(1, sizeof(**out));
    copy_ops(&(*out)->ops, &g->ops);
    fake_born(FAKE_EXEC, *out);
    return 0;
}

int cuGraphUpload(cu_graph_exec x, cu_stream s)
{
    BEGIN_CONTEXT();
    CHECK(FAKE_EXEC, x);
    CHECK(FAKE_STREAM, s);
    return 0;
}

int cuGraphLaunch(cu_graph_exec x, cu_stream s)
{
    BEGIN_CONTEXT();
    CHECK(FAKE_EXEC, x);
    CHECK(FAKE_STREAM, s);
    copy_ops(s->capture ? &s->capture->ops : &s->ops, &x->ops);
    return 0;
}

int cuGraphExecDestroy(cu_graph_exec x)
{
    if (fake_state()->dead)
        return fake_state()->dead;
    if (!fake_gone(FAKE_EXEC, x))
        return CU__E_INVALID_HANDLE;
    fake_drop_all(&x->ops);
    free(x);
    TURN_AFTER();
}

int cuGraphDestroy(cu_graph g)
{
    if (fake_state()->dead)
        return fake_state()->dead;
    if (!fake_gone(FAKE_GRAPH, g))
        return CU__E_INVALID_HANDLE;
    fake_drop_all(&g->ops);
    free(g);
    TURN_AFTER();
}

int cuEventCreate(cu_event *out, unsigned flags)
{
    BEGIN_CONTEXT();
    (void)flags;
    *out = calloc(1, sizeof(**out));
    fake_born(FAKE_EVENT, *out);
    return 0;
}

int cuEventDestroy_v2(cu_event e)
{
    if (fake_state()->dead)
        return fake_state()->dead;
    if (!fake_gone(FAKE_EVENT, e))
        return CU__E_INVALID_HANDLE;
    free(e);
    TURN_AFTER();
}

int cuEventRecord(cu_event e, cu_stream s)
{
    struct fake_op o = {.kind = OP_EVENT, .event = e};

    BEGIN_CONTEXT();
    CHECK(FAKE_EVENT, e);
    e->recorded = true;
    e->done = false;
    return fake_enqueue(s, &o);
}

int cuEventElapsedTime(float *ms, cu_event a, cu_event b)
{
    BEGIN_CONTEXT();
    CHECK(FAKE_EVENT, a);
    CHECK(FAKE_EVENT, b);
    if (!a->recorded || !b->recorded)
        return CU__E_INVALID_HANDLE;
    if (!a->done || !b->done)
        return CU__E_NOT_READY;
    /* As coarse as a GPU's, and not 0: something takes time there. */
    *ms = (float)((double)(b->ns - a->ns + 32) / 1e6);
    return 0;
}

int cuStreamIsCapturing(cu_stream s, cu_enum *status)
{
    BEGIN_CONTEXT();
    if (s)
        CHECK(FAKE_STREAM, s);
    *status = s && s->capture ? 1 + s->spoiled : 0;
    return 0;
}

int cuThreadExchangeStreamCaptureMode(cu_enum *mode)
{
    cu_enum old = fake_capture_mode;

    BEGIN();
    if (*mode > MODE_RELAXED)
        return CU__E_INVALID_VALUE;
    fake_capture_mode = *mode;
    *mode = old;
    return 0;
}

/* Counts them only. */
int cuGraphGetNodes(cu_graph g, void **node, size_t *n)
{
    BEGIN_CONTEXT();
    CHECK(FAKE_GRAPH, g);
    *n = 0;
    for (const struct fake_op *o = g->ops.first; o; o = o->next)
        ++*n;
    return node ? CU__E_INVALID_VALUE : 0;
}

/* Those that wait are the others on the default stream. */
int cuMemcpyHtoD_v2(cu_ptr to, const void *from, size_t n)
{
    int e = cuMemcpyHtoDAsync_v2(to, from, n, NULL);

    return e ? e : fake_drain(&fake_default_stream);
}

int cuMemcpyDtoH_v2(void *to, cu_ptr from, size_t n)
{
    int e = cuMemcpyDtoHAsync_v2(to, from, n, NULL);

    return e ? e : fake_drain(&fake_default_stream);
}

int cuMemsetD32_v2(cu_ptr to, unsigned v, size_t n)
{
    int e = cuMemsetD32Async(to, v, n, NULL);

    return e ? e : fake_drain(&fake_default_stream);
}
