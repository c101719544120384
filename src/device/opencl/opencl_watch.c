/*
 * opencl_watch.c: a launch on a processor while its memory is watched.
 *
 * Of every buffer that the sequence does not use, nothing may be touched; of
 * those that it uses, the guards' pages not; what it may only read is read
 * only. So is what lies between the content and the ends of its pages, which
 * no hardware can tell from the content.
 */
#include "device/opencl/opencl.h"

#include "base/pages.h"

#include "base/banned.h"

enum zone { LEAD, CONTENT, TAIL, ZONES };

static bool holds(const uint32_t *list, size_t n, uint32_t handle)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == handle)
            return true;
    return false;
}

static bool uses(const struct ws__dev_seq *seq, uint32_t handle)
{
    for (size_t i = 0; i < seq->nlaunch; i++)
        for (size_t a = 0; a < seq->launch[i].narg; a++) {
            const struct ws__dev_arg *arg = &seq->launch[i].arg[a];

            if ((arg->kind == WS__ARG_TENSOR || arg->kind == WS__ARG_SCRATCH) &&
                arg->buffer == handle)
                return true;
        }
    for (size_t i = 0; i < seq->nfill; i++)
        if (seq->fill[i].buffer == handle)
            return true;
    return false;
}

/* Adds the pages from `from` to `to` of the buffer. */
static size_t add(struct ws__watched *w, size_t n, const struct ocl_buffer *b,
                  uint64_t from, uint64_t to, bool readable)
{
    if (from < to)
        w[n++] =
            (struct ws__watched){b->host + from, (size_t)(to - from), readable};
    return n;
}

static size_t watch_buffer(const struct ocl_buffer *b, bool used, bool input,
                           struct ws__watched *w, size_t n)
{
    uint64_t page = ws__page_bytes(), first = b->lead / page * page;
    uint64_t end = (b->lead + b->bytes + page - 1) / page * page;

    n = add(w, n, b, 0, first, false);
    if (!used || input)
        n = add(w, n, b, first, end, used);
    return add(w, n, b, end, b->total, false);
}

static int list_pages(struct ws__ocl *d, const struct ws__dev_seq *seq,
                      const uint32_t *input, size_t ninput,
                      struct ws__watched **list, size_t *n)
{
    *n = 0;
    *list = ws__alloc(d->ctx, ZONES * d->nbuffer + 1, sizeof(**list));
    if (!*list)
        return WS_ENOMEM;
    for (uint32_t h = 1; h <= d->nbuffer; h++) {
        const struct ocl_buffer *b = &d->buffer[h - 1];

        if (b->mem && b->host)
            *n = watch_buffer(b, uses(seq, h), holds(input, ninput, h), *list,
                              *n);
        else if (b->mem && uses(seq, h))
            return ws__fail(d->ctx, WS_ENOTSUP,
                            "memory of '%s' cannot be watched", d->info.name);
    }
    return 0;
}

static void name_touch(const struct ws__ocl *d, const struct ws__dev_seq *seq,
                       const struct ws__intrusion *in,
                       struct ws__dev_touch *out)
{
    for (uint32_t h = 1; in->seen && h <= d->nbuffer; h++) {
        const struct ocl_buffer *b = &d->buffer[h - 1];

        if (!b->mem || !b->host || in->at < b->host ||
            (uint64_t)(in->at - b->host) >= b->total)
            continue;
        out->offset = (in->at - b->host) - (int64_t)b->lead;
        out->kind = in->write ? WS__TOUCH_WRITE : WS__TOUCH_READ;
        if (in->write && uses(seq, h) && out->offset >= 0 &&
            (uint64_t)out->offset < b->bytes)
            out->kind = WS__TOUCH_INPUT;
        out->buffer = h;
        return;
    }
}

int ws__ocl_watch(void *dev, const struct ws__dev_seq *seq,
                  const uint32_t *input, size_t ninput,
                  struct ws__dev_touch *out)
{
    struct ws__ocl *d = dev;
    struct ws__watched *list = NULL;
    struct ws__intrusion in;
    size_t n;
    int rc, end;

    memset(out, 0, sizeof(*out));
    rc = list_pages(d, seq, input, ninput, &list, &n);
    if (rc == 0)
        rc = ws__ocl_prepare(d, seq);
    if (rc == 0)
        rc = ws__watch_begin(d->ctx, list, n);
    if (rc == 0) {
        rc = ws__ocl_once(d, seq);
        end = ws__watch_end(d->ctx, &in);
        rc = rc < 0 ? rc : end;
        if (rc == 0)
            name_touch(d, seq, &in, out);
    }
    ws__free(d->ctx, list);
    return rc;
}
