/*
 * opencl_buffer.c: memory of the OpenCL member.
 *
 * A buffer is [guard][shift][content][guard]. The content is a sub-buffer, so
 * a kernel gets an address inside of memory that is ours on both sides, and a
 * write that misses by less than the guard is seen and hurts nobody. Bytes
 * between the content and the next boundary belong to the guard. All lengths
 * before the content are multiples of the device's alignment (a power of two,
 * at least 4), so the guard's 32-bit pattern starts at the memory's start.
 *
 * On processors the memory is pages of ours, so that they can be watched
 * (opencl_watch.c): guards begin and end at pages. Content that is not shifted
 * ends at a page's end, as near as its alignment allows; shifted content
 * begins that far behind a page's start.
 *
 * The queue is in order: fill and copy are not waited for, reads are.
 */
#include "device/opencl/opencl.h"

#include "base/pages.h"

#include "base/banned.h"

#define CHECK_BYTES 65536u

static uint64_t round_up(uint64_t v, uint64_t to)
{
    return (v + to - 1) / to * to;
}

int ws__ocl_finish(struct ws__ocl *d, int stage, const char *what)
{
    int32_t e = d->api.Finish(d->queue);

    return e ? ws__ocl_fail(d->ctx, stage, e, what) : 0;
}

struct ocl_buffer *ws__ocl_buffer(struct ws__ocl *d, uint32_t handle)
{
    if (handle == 0 || handle > d->nbuffer || !d->buffer[handle - 1].mem) {
        ws__fail(d->ctx, WS_EINVAL, "no buffer %u", (unsigned)handle);
        return NULL;
    }
    return &d->buffer[handle - 1];
}

static int place(struct ws__ocl *d, uint32_t *handle)
{
    void *items = d->buffer;

    for (size_t i = 0; i < d->nbuffer; i++)
        if (!d->buffer[i].mem) {
            *handle = (uint32_t)i + 1;
            return 0;
        }
    WS_TRY(ws__grow(d->ctx, &items, &d->buffer_cap, d->nbuffer,
                    sizeof(*d->buffer)));
    d->buffer = items;
    memset(&d->buffer[d->nbuffer], 0, sizeof(*d->buffer));
    *handle = (uint32_t)++d->nbuffer;
    return 0;
}

static int fill_range(struct ws__ocl *d, int stage, ocl_mem mem,
                      uint32_t pattern, uint64_t from, uint64_t bytes,
                      ocl_event *event)
{
    int32_t e =
        d->api.EnqueueFillBuffer(d->queue, mem, &pattern, sizeof(pattern),
                                 (size_t)from, (size_t)bytes, 0, NULL, event);

    return e ? ws__ocl_fail(d->ctx, stage, e, "fill memory of the device") : 0;
}

/* Drivers take memory when it is first used: here, so that what is not there
 * shows in the allocation. */
static int fill_guard(struct ws__ocl *d, const struct ocl_buffer *b)
{
    uint64_t tail = (b->lead + b->bytes) / 4 * 4;

    if (b->lead)
        WS_TRY(fill_range(d, WS_EDEVMEM, b->mem, WS__GUARD_PATTERN, 0, b->lead,
                          NULL));
    if (tail < b->total)
        WS_TRY(fill_range(d, WS_EDEVMEM, b->mem, WS__GUARD_PATTERN, tail,
                          b->total - tail, NULL));
    return ws__ocl_finish(d, WS_EDEVMEM, "fill a guard zone");
}

static void drop(struct ws__ocl *d, struct ocl_buffer *b)
{
    if (b->sub)
        d->api.ReleaseMemObject(b->sub);
    if (b->mem)
        d->api.ReleaseMemObject(b->mem);
    /* The driver may hold what was enqueued for it. */
    if (b->host && b->mem)
        d->api.Finish(d->queue);
    ws__pages_unmap(b->host, (size_t)b->total);
    memset(b, 0, sizeof(*b));
}

static int create(struct ws__ocl *d, struct ocl_buffer *b)
{
    struct ocl_region r = {(size_t)b->lead,
                           (size_t)(b->bytes ? b->bytes : d->align)};
    uint64_t how = OCL_MEM_READ_WRITE | (b->host ? OCL_MEM_USE_HOST_PTR : 0);
    char what[64];
    int32_t e = 0;

    b->mem =
        d->api.CreateBuffer(d->context, how, (size_t)b->total, b->host, &e);
    if (!b->mem) {
        snprintf(what, sizeof(what), "make a buffer of %llu bytes",
                 (unsigned long long)b->total);
        return ws__ocl_fail(d->ctx, WS_EDEVMEM, e, what);
    }
    b->sub = d->api.CreateSubBuffer(b->mem, OCL_MEM_READ_WRITE,
                                    OCL_BUFFER_CREATE_TYPE_REGION, &r, &e);
    if (!b->sub)
        return ws__ocl_fail(d->ctx, WS_EDEVMEM, e, "make a sub-buffer");
    return fill_guard(d, b);
}

static void lay_out(const struct ws__ocl *d, struct ocl_buffer *b,
                    uint64_t guard, uint64_t shift)
{
    uint64_t bytes = b->bytes ? b->bytes : d->align;

    b->lead = round_up(guard, d->align) + round_up(shift, d->align);
    b->total = round_up(b->lead + bytes + guard, d->align);
}

/* The same in pages. */
static void lay_out_pages(const struct ws__ocl *d, struct ocl_buffer *b,
                          uint64_t guard, uint64_t shift)
{
    uint64_t page = ws__page_bytes(), bytes = b->bytes ? b->bytes : d->align;
    uint64_t first = round_up(guard, page) + round_up(shift, d->align);
    uint64_t end = round_up(first + bytes, page);

    b->lead = shift ? first : (end - bytes) / d->align * d->align;
    b->total = end + round_up(guard, page);
}

/* In pages of ours, if the driver works in them; else *made is false. */
static int create_pages(struct ws__ocl *d, struct ocl_buffer *b, uint32_t guard,
                        uint32_t shift, bool *made)
{
    uint32_t word = 0;

    *made = false;
    if (!d->info.id.is_cpu || d->copies || d->align > ws__page_bytes() ||
        guard < sizeof(word))
        return 0;
    lay_out_pages(d, b, guard, shift);
    if (ws__pages_map(d->ctx, (size_t)b->total, &b->host) < 0)
        return ws__fail(d->ctx, WS_EDEVMEM, "device has no %llu bytes",
                        (unsigned long long)b->total);
    *made = true;
    WS_TRY(create(d, b));
    memcpy(&word, b->host, sizeof(word));
    if (word == WS__GUARD_PATTERN)
        return 0;
    drop(d, b);
    d->copies = true;
    *made = false;
    return 0;
}

static int create_any(struct ws__ocl *d, struct ocl_buffer *b, uint64_t bytes,
                      uint32_t guard, uint32_t shift)
{
    bool made;

    b->bytes = bytes;
    WS_TRY(create_pages(d, b, guard, shift, &made));
    if (made)
        return 0;
    b->bytes = bytes;
    lay_out(d, b, guard, shift);
    return create(d, b);
}

int ws__ocl_alloc(void *dev, uint64_t bytes, uint32_t guard, uint32_t shift,
                  uint32_t *handle)
{
    struct ws__ocl *d = dev;
    struct ocl_buffer b = {0};
    uint32_t at;
    int rc;

    *handle = 0;
    if (bytes > d->info.max_alloc_bytes)
        return ws__fail(d->ctx, WS_EDEVMEM,
                        "device has no %llu bytes for a buffer: more than its "
                        "largest allocation",
                        (unsigned long long)bytes);
    WS_TRY(place(d, &at));
    rc = create_any(d, &b, bytes, guard, shift);
    if (rc < 0) {
        drop(d, &b);
        return rc;
    }
    d->buffer[at - 1] = b;
    *handle = at;
    return 0;
}

void ws__ocl_release(void *dev, uint32_t handle)
{
    struct ws__ocl *d = dev;

    if (handle > 0 && handle <= d->nbuffer)
        drop(d, &d->buffer[handle - 1]);
}

static struct ocl_buffer *span(struct ws__ocl *d, uint32_t handle,
                               uint64_t offset, uint64_t bytes)
{
    struct ocl_buffer *b = ws__ocl_buffer(d, handle);

    if (b && (offset > b->bytes || bytes > b->bytes - offset)) {
        ws__fail(d->ctx, WS_EINVAL, "outside of buffer %u", (unsigned)handle);
        return NULL;
    }
    return b;
}

int ws__ocl_write(void *dev, uint32_t handle, uint64_t offset, const void *from,
                  uint64_t bytes)
{
    struct ws__ocl *d = dev;
    struct ocl_buffer *b = span(d, handle, offset, bytes);
    int32_t e;

    if (!b)
        return WS_EINVAL;
    if (!bytes)
        return 0;
    e = d->api.EnqueueWriteBuffer(d->queue, b->mem, OCL_TRUE,
                                  (size_t)(b->lead + offset), (size_t)bytes,
                                  from, 0, NULL, NULL);
    return e ? ws__ocl_fail(d->ctx, WS_EDEVICE, e, "write to the device") : 0;
}

static int read_raw(struct ws__ocl *d, const struct ocl_buffer *b,
                    uint64_t from, void *to, uint64_t bytes)
{
    int32_t e =
        d->api.EnqueueReadBuffer(d->queue, b->mem, OCL_TRUE, (size_t)from,
                                 (size_t)bytes, to, 0, NULL, NULL);

    return e ? ws__ocl_fail(d->ctx, WS_EDEVICE, e, "read from the device") : 0;
}

int ws__ocl_read(void *dev, uint32_t handle, uint64_t offset, void *to,
                 uint64_t bytes)
{
    struct ws__ocl *d = dev;
    struct ocl_buffer *b = span(d, handle, offset, bytes);

    if (!b)
        return WS_EINVAL;
    return bytes ? read_raw(d, b, b->lead + offset, to, bytes) : 0;
}

int ws__ocl_fill_event(struct ws__ocl *d, uint32_t handle, uint32_t pattern,
                       ocl_event *event)
{
    struct ocl_buffer *b = ws__ocl_buffer(d, handle);
    uint64_t whole;

    if (!b)
        return WS_EINVAL;
    whole = b->bytes / 4 * 4;
    if (b->bytes > whole)
        WS_TRY(ws__ocl_write(d, handle, whole, &pattern, b->bytes - whole));
    return whole ? fill_range(d, WS_EDEVICE, b->mem, pattern, b->lead, whole,
                              event)
                 : 0;
}

int ws__ocl_fill(void *dev, uint32_t handle, uint32_t pattern)
{
    return ws__ocl_fill_event(dev, handle, pattern, NULL);
}

int ws__ocl_copy(void *dev, uint32_t to, uint32_t from)
{
    struct ws__ocl *d = dev;
    struct ocl_buffer *a = ws__ocl_buffer(d, to);
    struct ocl_buffer *b = a ? ws__ocl_buffer(d, from) : NULL;
    int32_t e;

    if (!b)
        return WS_EINVAL;
    if (a->bytes != b->bytes)
        return ws__fail(d->ctx, WS_EINVAL, "copy between sizes");
    if (!a->bytes || a == b)
        return 0;
    e = d->api.EnqueueCopyBuffer(d->queue, b->mem, a->mem, (size_t)b->lead,
                                 (size_t)a->lead, (size_t)a->bytes, 0, NULL,
                                 NULL);
    return e ? ws__ocl_fail(d->ctx, WS_EDEVICE, e, "copy on the device") : 0;
}

/* First damaged byte of [from, to) of the memory: 1 and *at, or 0. */
static int check_range(struct ws__ocl *d, const struct ocl_buffer *b,
                       uint64_t from, uint64_t to, uint64_t *at)
{
    unsigned char *piece = ws__alloc(d->ctx, CHECK_BYTES, 1);
    int rc = piece ? 0 : WS_ENOMEM;

    while (rc == 0 && from < to) {
        uint64_t n = to - from < CHECK_BYTES ? to - from : CHECK_BYTES;

        rc = read_raw(d, b, from, piece, n);
        for (uint64_t i = 0; i < n && rc == 0; i++) {
            *at = from + i;
            if (piece[i] != (unsigned char)(WS__GUARD_PATTERN >> (*at % 4 * 8)))
                rc = 1;
        }
        from += n;
    }
    ws__free(d->ctx, piece);
    return rc;
}

int ws__ocl_guard(void *dev, uint32_t handle, int64_t *offset)
{
    struct ws__ocl *d = dev;
    struct ocl_buffer *b = ws__ocl_buffer(d, handle);
    uint64_t at = 0;
    int rc;

    *offset = 0;
    if (!b)
        return WS_EINVAL;
    rc = check_range(d, b, 0, b->lead, &at);
    if (rc == 0)
        rc = check_range(d, b, b->lead + b->bytes, b->total, &at);
    if (rc > 0)
        *offset = (int64_t)at - (int64_t)b->lead;
    return rc;
}
