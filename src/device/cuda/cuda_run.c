/*
 * cuda_run.c: launching and timing.
 *
 * A sample is queued whole behind a kernel that waits (ws__cuda_hold), between
 * two events: what they measure has no gap in which the device waited for the
 * host. Events tell time in steps of 32 ns and cost about 1 us between them,
 * which is in the sample. With `graph` the launches of a sample are recorded
 * once a batch and replayed, which shortens the gaps between several of them.
 *
 * Nothing is waited for before a sample, unless the host's clock is asked, too:
 * what prepares it comes first in the same stream.
 */
#include "device/cuda/cuda.h"

#include "base/clock.h"
#include "device/rounds.h"
#include "base/banned.h"

/* ---- one launch -------------------------------------------------------- */

/* What the driver wants: an address for each parameter. */
struct bound {
    void *arg[WS__MAX_ARGS];
    cu_ptr ptr[WS__MAX_ARGS];
    uint32_t bytes[WS__MAX_ARGS];
    size_t n;
    uint32_t shared;
};

static int bind(struct ws__cuda *d, const struct ws__dev_launch *l,
                struct bound *b)
{
    b->n = 0;
    b->shared = 0;
    for (size_t i = 0; i < l->narg; i++) {
        const struct ws__dev_arg *a = &l->arg[i];
        const struct cu_buffer *buf;

        switch (a->kind) {
        case WS__ARG_SHARED: /* no parameter: extern __shared__ */
            b->shared += a->bytes;
            continue;
        case WS__ARG_VALUE:
            b->arg[b->n] = (void *)(uintptr_t)a->value;
            b->bytes[b->n++] = a->bytes;
            continue;
        default:
            b->ptr[b->n] = 0;
            if (a->buffer || a->kind != WS__ARG_SCRATCH) {
                buf = ws__cuda_buffer(d, a->buffer);
                if (!buf)
                    return WS_EINVAL;
                b->ptr[b->n] = buf->mem + buf->lead;
            }
            b->arg[b->n] = &b->ptr[b->n];
            b->bytes[b->n] = sizeof(cu_ptr);
            b->n++;
        }
    }
    return 0;
}

static int check_shape(struct ws__cuda *d, const struct ws__dev_launch *l,
                       const struct cu_entry *e, const struct bound *b)
{
    if (e->nparam <= WS__MAX_ARGS && e->nparam != b->n)
        return ws__fail(d->ctx, WS_ELAUNCH,
                        "kernel '%s' takes %u arguments, the plan has %zu",
                        e->name, (unsigned)e->nparam, b->n);
    for (size_t i = 0; e->nparam <= WS__MAX_ARGS && i < b->n; i++)
        if (e->param_bytes[i] != b->bytes[i])
            return ws__fail(d->ctx, WS_ELAUNCH,
                            "argument %zu of kernel '%s' has %u bytes, the "
                            "plan's has %u",
                            i, e->name, (unsigned)e->param_bytes[i],
                            (unsigned)b->bytes[i]);
    for (int i = 0; i < 3; i++)
        if (!l->grid[i] || !l->block[i] || l->grid[i] > d->info.max_grid[i])
            return ws__fail(d->ctx, WS_ELAUNCH,
                            "kernel '%s' has an impossible grid", e->name);
    return 0;
}

static int launch(struct ws__cuda *d, const struct ws__dev_launch *l)
{
    struct cu_entry *e = ws__cuda_entry(d, l->module, l->entry);
    struct bound b;
    char what[128];
    int rc;

    if (!e)
        return d->ctx->err.code;
    if (l->narg > WS__MAX_ARGS)
        return ws__fail(d->ctx, WS_EINVAL, "too many arguments");
    WS_TRY(bind(d, l, &b));
    WS_TRY(check_shape(d, l, e, &b));
    WS_TRY(ws__cuda_shared(d, e, b.shared));
    rc = d->api.LaunchKernel(e->function, (unsigned)l->grid[0],
                             (unsigned)l->grid[1], (unsigned)l->grid[2],
                             l->block[0], l->block[1], l->block[2], b.shared,
                             d->stream, b.arg, NULL);
    if (!rc)
        return 0;
    snprintf(what, sizeof(what), "launch '%.80s'", l->entry);
    return ws__cuda_check(d, WS_ELAUNCH, rc, what);
}

int ws__cuda_enqueue(struct ws__cuda *d, const struct ws__dev_seq *seq,
                     uint32_t inner)
{
    for (uint32_t k = 0; k < inner; k++) {
        for (size_t i = 0; i < seq->nfill; i++)
            if (seq->fill[i].timed)
                WS_TRY(ws__cuda_fill(d, seq->fill[i].buffer,
                                     seq->fill[i].pattern));
        for (size_t i = 0; i < seq->nlaunch; i++)
            WS_TRY(launch(d, &seq->launch[i]));
    }
    return 0;
}

/* ---- graphs ------------------------------------------------------------ */

static int record(struct ws__cuda *d, const struct ws__dev_seq *seq,
                  uint32_t inner, cu_graph_exec *out)
{
    cu_graph g = NULL;
    int rc, e;

    WS_TRY(
        ws__cuda_check(d, WS_EDEVICE,
                       d->api.StreamBeginCapture(d->stream, CU__CAPTURE_THREAD),
                       "begin to record a graph"));
    rc = ws__cuda_enqueue(d, seq, inner);
    e = d->api.StreamEndCapture(d->stream, &g);
    if (rc == 0)
        rc = ws__cuda_check(d, WS_ELAUNCH, e, "record a graph");
    if (rc == 0)
        rc = ws__cuda_check(d, WS_ELAUNCH,
                            d->api.GraphInstantiateWithFlags(out, g, 0),
                            "make a graph ready");
    if (rc < 0)
        *out = NULL;
    if (g && !d->dead)
        d->api.GraphDestroy(g);
    if (rc == 0) {
        rc = ws__cuda_check(d, WS_EDEVICE, d->api.GraphUpload(*out, d->stream),
                            "send a graph to the device");
        if (rc < 0 && !d->dead)
            d->api.GraphExecDestroy(*out);
        if (rc < 0)
            *out = NULL;
    }
    return rc;
}

static int replay(struct ws__cuda *d, const struct ws__dev_seq *seq)
{
    cu_graph_exec exec = d->graphs.exec[seq - d->graphs.first];

    return ws__cuda_check(d, WS_ELAUNCH, d->api.GraphLaunch(exec, d->stream),
                          "launch a graph");
}

static void drop_graphs(struct ws__cuda *d)
{
    for (size_t i = 0; i < d->graphs.n; i++)
        if (d->graphs.exec[i] && !d->dead)
            d->api.GraphExecDestroy(d->graphs.exec[i]);
    ws__free(d->ctx, d->graphs.exec);
    memset(&d->graphs, 0, sizeof(d->graphs));
}

/* ---- one sample -------------------------------------------------------- */

static int queue_sample(struct ws__cuda *d, const struct ws__dev_seq *seq,
                        uint32_t inner)
{
    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.EventRecord(d->begin, d->stream),
                          "record an event"));
    if (d->graphs.exec)
        WS_TRY(replay(d, seq));
    else
        WS_TRY(ws__cuda_enqueue(d, seq, inner));
    return ws__cuda_check(d, WS_EDEVICE, d->api.EventRecord(d->end, d->stream),
                          "record an event");
}

/* A kernel that crashes is named, as one is that hangs. */
int ws__cuda_finish(struct ws__cuda *d, const struct ws__dev_seq *seq)
{
    int rc = ws__cuda_sync(d, WS_ELAUNCH, "run the kernel");

    return rc == WS_ECRASH && seq->nlaunch
               ? ws__error_prefix(d->ctx, "running '%s'", seq->launch[0].entry)
               : rc;
}

static int timed(void *dev, const struct ws__dev_seq *seq, uint32_t inner,
                 bool both, struct ws__dev_sample *s)
{
    struct ws__cuda *d = dev;
    uint64_t begin;
    float ms = 0;
    int rc;

    WS_TRY(ws__cuda_tools(d)); /* what it logs is not the last word */
    if (d->graphs.exec && !d->graphs.exec[seq - d->graphs.first])
        WS_TRY(record(d, seq, inner, &d->graphs.exec[seq - d->graphs.first]));
    if (seq->nlaunch)
        ws__log(d->ctx, WS_LOG_DEBUG, "running '%s'", seq->launch[0].entry);
    if (both) /* else what prepares it would be in the host's time */
        WS_TRY(ws__cuda_sync(d, WS_EDEVICE, "prepare a launch"));
    WS_TRY(ws__cuda_hold(d));
    rc = queue_sample(d, seq, inner);
    begin = ws__now_ns();
    ws__cuda_go(d);
    if (rc < 0) { /* what was queued must end before anybody goes on */
        struct ws_error err = d->ctx->err;

        if (!d->dead && ws__cuda_finish(d, seq) == WS_ECRASH)
            return WS_ECRASH;
        d->ctx->err = err;
        return rc;
    }
    WS_TRY(ws__cuda_finish(d, seq));
    if (both)
        s->host_ns = (double)(ws__now_ns() - begin);
    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.EventElapsedTime(&ms, d->begin, d->end),
                          "read the time between two events"));
    s->ns = (double)ms * 1e6;
    return 0;
}

static void look(void *dev, struct ws__dev_sample *s)
{
    ws__cuda_look(dev, s);
}

static const struct ws__round_ops round_ops = {
    .copy = ws__cuda_copy,
    .fill = ws__cuda_fill,
    .hash = ws__cuda_hash,
    .flush = ws__cuda_flush,
    .timed = timed,
    .look = look,
};

int ws__cuda_prepare(struct ws__cuda *d, const struct ws__dev_seq *seq,
                     uint64_t flush_bytes)
{
    return ws__device_prepare(&round_ops, d, seq, flush_bytes);
}

int ws__cuda_run(void *dev, const struct ws__dev_batch *b,
                 struct ws__dev_sample *samples, size_t *n)
{
    struct ws__cuda *d = dev;
    int rc;

    *n = 0;
    WS_TRY(ws__cuda_ready(d));
    if (b->graph && b->nprog && b->nset) {
        d->graphs.n = b->nprog * b->nset;
        d->graphs.first = b->prog;
        d->graphs.exec =
            ws__alloc(d->ctx, d->graphs.n, sizeof(*d->graphs.exec));
        if (!d->graphs.exec) {
            d->graphs.n = 0;
            return WS_ENOMEM;
        }
    }
    rc = ws__device_rounds(d->ctx, &round_ops, d, b, samples, n);
    drop_graphs(d);
    return rc;
}
