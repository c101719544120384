/*
 * cuda_watch.c: a launch on a GPU while its memory is watched.
 *
 * A GPU's pages are large (2 MB), so buffers as they are cannot be watched.
 * For a watched launch each one that is used moves into mapped memory of its
 * own (CUDA's virtual memory management): its content ends where the mapping
 * ends, to within what the driver aligns allocations to, and behind it nothing
 * is mapped. The first run finds accesses behind the ends; then it runs once
 * for each input with that one mapped read-only. An access that faults takes
 * the context with it: what was being watched says what it was.
 *
 * Which buffer was missed, and by how much, no driver says. In front of the
 * content lies the rest of its first page, which is not watched.
 */
#include "device/cuda/cuda.h"

#include "base/banned.h"

#define ALIGN 256u

struct moved {
    uint32_t handle;
    struct cu_buffer old;
    cu_ptr range; /* reserved addresses; 0: none */
    cu_memory piece;
    bool created, mapped;
};

struct moves {
    struct moved *m;
    size_t n;
    uint64_t page;
};

static cu_mem_prop plain(const struct ws__cuda *d)
{
    return (cu_mem_prop){.type = CU__PINNED,
                         .location = CU__ON_DEVICE,
                         .device = d->device};
}

static uint64_t piece_bytes(const struct moves *x, const struct moved *m)
{
    uint64_t n = m->old.bytes ? m->old.bytes : ALIGN;

    return (n + x->page - 1) / x->page * x->page;
}

static uint64_t range_bytes(const struct moves *x, const struct moved *m)
{
    return piece_bytes(x, m) + 2 * x->page;
}

static bool can(const struct ws__cuda *d)
{
    return d->api.MemGetAllocationGranularity && d->api.MemAddressReserve &&
           d->api.MemAddressFree && d->api.MemCreate && d->api.MemRelease &&
           d->api.MemMap && d->api.MemUnmap && d->api.MemSetAccess;
}

static int set_access(struct ws__cuda *d, const struct moves *x,
                      const struct moved *m, cu_enum access)
{
    const cu_mem_access a = {CU__ON_DEVICE, d->device, access};

    return ws__cuda_check(d, WS_ENOTSUP,
                          d->api.MemSetAccess(m->range + x->page,
                                              piece_bytes(x, m), &a, 1),
                          "say who may use mapped memory");
}

static int map(struct ws__cuda *d, const struct moves *x, struct moved *m)
{
    const cu_mem_prop prop = plain(d);
    uint64_t bytes = piece_bytes(x, m);
    int e =
        d->api.MemAddressReserve(&m->range, range_bytes(x, m), x->page, 0, 0);

    if (e)
        m->range = 0;
    WS_TRY(ws__cuda_check(d, WS_ENOTSUP, e, "reserve addresses"));
    e = d->api.MemCreate(&m->piece, bytes, &prop, 0);
    m->created = !e;
    WS_TRY(ws__cuda_check(d, WS_EDEVMEM, e, "take memory to be mapped"));
    e = d->api.MemMap(m->range + x->page, bytes, 0, m->piece, 0);
    m->mapped = !e;
    WS_TRY(ws__cuda_check(d, WS_ENOTSUP, e, "map memory"));
    return set_access(d, x, m, CU__READ_WRITE);
}

/* The buffer lies in the mapping from here on. */
static int move(struct ws__cuda *d, struct moves *x, uint32_t handle)
{
    struct cu_buffer *b = ws__cuda_buffer(d, handle);
    struct moved *m = &x->m[x->n];
    uint64_t bytes;

    if (!b)
        return WS_EINVAL;
    *m = (struct moved){.handle = handle, .old = *b};
    x->n++;
    WS_TRY(map(d, x, m));
    bytes = (b->bytes + ALIGN - 1) / ALIGN * ALIGN;
    b->mem = m->range + x->page;
    b->total = piece_bytes(x, m);
    b->lead = b->total - bytes;
    if (!b->bytes)
        return 0;
    return ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemcpyDtoDAsync(b->mem + b->lead,
                                                 m->old.mem + m->old.lead,
                                                 b->bytes, d->stream),
                          "copy on the device");
}

static int move_once(struct ws__cuda *d, struct moves *x, uint32_t handle)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->m[i].handle == handle)
            return 0;
    return x->n < d->nbuffer ? move(d, x, handle) : WS_EINVAL;
}

static int move_all(struct ws__cuda *d, struct moves *x,
                    const struct ws__dev_seq *seq)
{
    const cu_mem_prop prop = plain(d);
    size_t page = 0;

    WS_TRY(ws__cuda_check(d, WS_ENOTSUP,
                          d->api.MemGetAllocationGranularity(&page, &prop,
                                                             CU__LEAST_PIECE),
                          "ask for the size of pages"));
    x->page = page;
    x->m = ws__alloc(d->ctx, d->nbuffer + 1, sizeof(*x->m));
    if (!x->m)
        return WS_ENOMEM;
    for (size_t i = 0; i < seq->nlaunch; i++)
        for (size_t k = 0; k < seq->launch[i].narg; k++) {
            const struct ws__dev_arg *a = &seq->launch[i].arg[k];

            if ((a->kind == WS__ARG_TENSOR || a->kind == WS__ARG_SCRATCH) &&
                a->buffer)
                WS_TRY(move_once(d, x, a->buffer));
        }
    return 0;
}

/* What the launches left goes to where it is looked for. */
static int copy_back(struct ws__cuda *d, const struct moves *x)
{
    for (size_t i = 0; i < x->n; i++) {
        const struct moved *m = &x->m[i];
        const struct cu_buffer *b = &d->buffer[m->handle - 1];

        if (b->bytes)
            WS_TRY(
                ws__cuda_check(d, WS_EDEVICE,
                               d->api.MemcpyDtoDAsync(m->old.mem + m->old.lead,
                                                      b->mem + b->lead,
                                                      b->bytes, d->stream),
                               "copy on the device"));
    }
    return ws__cuda_sync(d, WS_EDEVICE, "copy on the device");
}

/* Nothing can be given back to a dead context; it goes with its process. */
static void put_back(struct ws__cuda *d, struct moves *x, bool failed)
{
    if (!d->dead && failed) /* what was queued must not lose its memory */
        d->api.StreamSynchronize(d->stream);
    for (size_t i = 0; i < x->n; i++) {
        struct moved *m = &x->m[i];

        d->buffer[m->handle - 1] = m->old;
        if (d->dead)
            continue;
        if (m->mapped)
            d->api.MemUnmap(m->range + x->page, piece_bytes(x, m));
        if (m->created)
            d->api.MemRelease(m->piece);
        if (m->range)
            d->api.MemAddressFree(m->range, range_bytes(x, m));
    }
    ws__free(d->ctx, x->m);
}

/* Runs once; an illegal address is what `kind` says. */
static int pass(struct ws__cuda *d, const struct ws__dev_seq *seq,
                enum ws__touch_kind kind, uint32_t handle,
                struct ws__dev_touch *out)
{
    int rc;

    WS_TRY(ws__cuda_prepare(d, seq, 0));
    if (seq->nlaunch)
        ws__log(d->ctx, WS_LOG_DEBUG, "running '%s'", seq->launch[0].entry);
    rc = ws__cuda_enqueue(d, seq, 1);
    if (rc == 0)
        rc = ws__cuda_finish(d, seq);
    if (rc != WS_ECRASH ||
        !strstr(d->ctx->err.message, ws__cu_error_name(CU__E_ILLEGAL_ADDRESS)))
        return rc;
    ws__error_clear(d->ctx);
    *out = (struct ws__dev_touch){kind, handle, WS__TOUCH_NOWHERE};
    return 0;
}

static int passes(struct ws__cuda *d, struct moves *x,
                  const struct ws__dev_seq *seq, const uint32_t *input,
                  size_t ninput, struct ws__dev_touch *out)
{
    WS_TRY(pass(d, seq, WS__TOUCH_SOME, 0, out));
    for (size_t i = 0; i < ninput * x->n && !out->kind; i++) {
        struct moved *m = &x->m[i % x->n];

        if (m->handle != input[i / x->n])
            continue;
        WS_TRY(set_access(d, x, m, CU__READ_ONLY));
        WS_TRY(pass(d, seq, WS__TOUCH_INPUT, m->handle, out));
        if (!out->kind)
            WS_TRY(set_access(d, x, m, CU__READ_WRITE));
    }
    return out->kind ? 0 : copy_back(d, x);
}

int ws__cuda_run_watched(void *dev, const struct ws__dev_seq *seq,
                         const uint32_t *input, size_t ninput,
                         struct ws__dev_touch *out)
{
    struct ws__cuda *d = dev;
    struct moves x = {0};
    int rc;

    memset(out, 0, sizeof(*out));
    if (!can(d))
        return ws__fail(d->ctx, WS_ENOTSUP, "the driver maps no memory");
    WS_TRY(ws__cuda_ready(d));
    rc = move_all(d, &x, seq);
    if (rc == WS_EDEVMEM) /* it was right without */
        rc = d->ctx->err.code = WS_ENOTSUP;
    if (rc == 0)
        rc = passes(d, &x, seq, input, ninput, out);
    put_back(d, &x, rc < 0);
    if (rc < 0)
        memset(out, 0, sizeof(*out));
    return rc;
}
