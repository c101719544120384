/*
 * opencl_run.c: launching and timing.
 *
 * Time is taken by the device: from the start of the first command of a
 * sample to the end of its last one, by the events of the queue. On PoCL this
 * agrees with the host's clock around the launch to within its 30 us for
 * handing a command to another thread, which it leaves out. A driver that
 * has no such times (or sends them back to front) is timed by the clock of
 * the host around the launch and the wait for it; one that fails to say is
 * an error, or samples of two clocks would mix.
 */
#include "device/opencl/opencl.h"

#include "base/clock.h"
#include "device/rounds.h"
#include "base/banned.h"

static int launch_fail(struct ws__ocl *d, int32_t e, const char *entry)
{
    char what[128];

    snprintf(what, sizeof(what), "launch '%.80s'", entry);
    return ws__ocl_fail(d->ctx, WS_ELAUNCH, e, what);
}

static int set_arg(struct ws__ocl *d, const struct ocl_entry *k, uint32_t i,
                   const struct ws__dev_arg *a)
{
    const struct ocl_buffer *b;
    int32_t e;

    switch (a->kind) {
    case WS__ARG_VALUE:
        e = d->api.SetKernelArg(k->kernel, i, a->bytes, a->value);
        break;
    case WS__ARG_SHARED:
        e = d->api.SetKernelArg(k->kernel, i, a->bytes, NULL);
        break;
    default:
        if (a->kind == WS__ARG_SCRATCH && !a->buffer) {
            e = d->api.SetKernelArg(k->kernel, i, sizeof(b->sub), NULL);
            break;
        }
        b = ws__ocl_buffer(d, a->buffer);
        if (!b)
            return WS_EINVAL;
        e = d->api.SetKernelArg(k->kernel, i, sizeof(b->sub), &b->sub);
        break;
    }
    if (!e)
        return 0;
    launch_fail(d, e, k->name);
    return ws__error_prefix(d->ctx, "argument %u", (unsigned)i);
}

static int check_shape(struct ws__ocl *d, const struct ws__dev_launch *l,
                       const struct ocl_entry *k)
{
    if (k->nargs != l->narg)
        return ws__fail(d->ctx, WS_ELAUNCH,
                        "kernel '%s' takes %u arguments, the plan has %zu",
                        k->name, (unsigned)k->nargs, l->narg);
    for (int i = 0; i < 3; i++)
        if (!l->grid[i] || !l->block[i] || l->grid[i] > SIZE_MAX / l->block[i])
            return ws__fail(d->ctx, WS_ELAUNCH,
                            "kernel '%s' has an impossible grid", k->name);
    return 0;
}

int ws__ocl_launch(struct ws__ocl *d, const struct ws__dev_launch *l,
                   ocl_event *event)
{
    const struct ocl_entry *k = ws__ocl_entry(d, l->module, l->entry);
    size_t global[3], local[3];
    int32_t e;

    if (!k && d->ctx->err.code == WS_EBUILD)
        d->ctx->err.code = WS_ELAUNCH; /* the plan names what is not there */
    if (!k)
        return d->ctx->err.code;
    WS_TRY(check_shape(d, l, k));
    for (uint32_t i = 0; i < l->narg; i++)
        WS_TRY(set_arg(d, k, i, &l->arg[i]));
    for (int i = 0; i < 3; i++) {
        local[i] = l->block[i];
        global[i] = (size_t)l->grid[i] * l->block[i];
    }
    e = d->api.EnqueueNDRangeKernel(d->queue, k->kernel, 3, NULL, global, local,
                                    0, NULL, event);
    return e ? launch_fail(d, e, l->entry) : 0;
}

/* --- one sample --------------------------------------------------------- */

struct span {
    ocl_event first, last;
    uint64_t left; /* commands to come, this one included */
    bool begun;
};

/* Where the next command puts its event: kept for the first and the last. */
static ocl_event *next_event(struct span *s)
{
    ocl_event *e = NULL;

    if (s->left == 1)
        e = &s->last;
    else if (!s->begun)
        e = &s->first;
    s->begun = true;
    s->left--;
    return e;
}

static uint64_t count_commands(const struct ws__dev_seq *seq)
{
    uint64_t n = seq->nlaunch;

    for (size_t i = 0; i < seq->nfill; i++)
        n += seq->fill[i].timed;
    return n;
}

static int enqueue(struct ws__ocl *d, const struct ws__dev_seq *seq,
                   struct span *s)
{
    for (size_t i = 0; i < seq->nfill; i++)
        if (seq->fill[i].timed)
            WS_TRY(ws__ocl_fill_event(d, seq->fill[i].buffer,
                                      seq->fill[i].pattern, next_event(s)));
    for (size_t i = 0; i < seq->nlaunch; i++)
        WS_TRY(ws__ocl_launch(d, &seq->launch[i], next_event(s)));
    return 0;
}

/* *ns is 0 where the driver keeps no times. */
static int event_time(struct ws__ocl *d, ocl_event event, uint32_t what,
                      uint64_t *ns)
{
    int32_t e =
        d->api.GetEventProfilingInfo(event, what, sizeof(*ns), ns, NULL);

    if (!e)
        return 0;
    *ns = 0;
    if (e == OCL_PROFILING_INFO_NOT_AVAILABLE)
        return 0;
    return ws__ocl_fail(d->ctx, WS_EDEVICE, e, "read the time of a command");
}

static int span_ns(struct ws__ocl *d, const struct span *s, double wall,
                   double *ns)
{
    uint64_t begin = 0, end = 0;

    if (s->last) {
        WS_TRY(event_time(d, s->first ? s->first : s->last,
                          OCL_PROFILING_COMMAND_START, &begin));
        WS_TRY(event_time(d, s->last, OCL_PROFILING_COMMAND_END, &end));
    }
    *ns = begin && end > begin ? (double)(end - begin) : wall;
    return 0;
}

static void release_span(struct ws__ocl *d, const struct span *s)
{
    if (s->first)
        d->api.ReleaseEvent(s->first);
    if (s->last)
        d->api.ReleaseEvent(s->last);
}

static int timed(void *dev, const struct ws__dev_seq *seq, uint32_t inner,
                 bool both, struct ws__dev_sample *out)
{
    struct ws__ocl *d = dev;
    struct span s = {.left = count_commands(seq) * inner};
    uint64_t begin;
    int rc = 0;

    (void)both;
    WS_TRY(ws__ocl_finish(d, WS_EDEVICE, "prepare a launch"));
    if (seq->nlaunch)
        ws__log(d->ctx, WS_LOG_DEBUG, "running '%s'", seq->launch[0].entry);
    begin = ws__now_ns();
    for (uint32_t i = 0; i < inner && rc == 0; i++)
        rc = enqueue(d, seq, &s);
    if (rc == 0)
        rc = ws__ocl_finish(d, WS_ELAUNCH, "run the kernel");
    out->host_ns = (double)(ws__now_ns() - begin);
    if (rc == 0)
        rc = span_ns(d, &s, out->host_ns, &out->ns);
    release_span(d, &s);
    return rc;
}

static const struct ws__round_ops round_ops = {
    .copy = ws__ocl_copy,
    .fill = ws__ocl_fill,
    .hash = ws__ocl_hash,
    .flush = ws__ocl_flush,
    .timed = timed,
};

int ws__ocl_prepare(struct ws__ocl *d, const struct ws__dev_seq *seq)
{
    WS_TRY(ws__device_prepare(&round_ops, d, seq, 0));
    return ws__ocl_finish(d, WS_EDEVICE, "prepare a launch");
}

int ws__ocl_once(struct ws__ocl *d, const struct ws__dev_seq *seq)
{
    struct ws__dev_sample s = {0};

    return timed(d, seq, 1, false, &s);
}

int ws__ocl_run(void *dev, const struct ws__dev_batch *b,
                struct ws__dev_sample *samples, size_t *n)
{
    struct ws__ocl *d = dev;

    return ws__device_rounds(d->ctx, &round_ops, d, b, samples, n);
}
