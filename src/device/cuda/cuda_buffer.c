/*
 * cuda_buffer.c: memory of the CUDA member.
 *
 * A buffer is [guard][shift][content][guard] in one piece of memory, so a
 * write that misses by less than the guard is seen and hurts nobody. Bytes
 * between the content and the next boundary belong to the guard. Lengths
 * before the content are multiples of 256, what the driver's own allocations
 * are aligned to.
 *
 * A buffer without guard and shift is exactly its content, in memory of its own
 * that goes back to the driver: tools that watch memory know its end, and
 * what was never written to.
 *
 * The stream is in order: fill and copy are not waited for, reads are. Memory
 * that is released is kept for the next buffer of its size (cu_spare).
 */
#include "device/cuda/cuda.h"

#include "base/banned.h"

#define ALIGN 256u

static uint64_t round_up(uint64_t v, uint64_t to)
{
    return (v + to - 1) / to * to;
}

struct cu_buffer *ws__cuda_buffer(struct ws__cuda *d, uint32_t handle)
{
    if (handle == 0 || handle > d->nbuffer || !d->buffer[handle - 1].mem) {
        ws__fail(d->ctx, WS_EINVAL, "no buffer %u", (unsigned)handle);
        return NULL;
    }
    return &d->buffer[handle - 1];
}

/* ---- memory ------------------------------------------------------------ */

static void drop_spare(struct ws__cuda *d, struct cu_spare *s)
{
    if (!s->mem)
        return;
    if (!d->dead)
        d->api.MemFree(s->mem);
    d->spare_bytes -= s->total;
    memset(s, 0, sizeof(*s));
}

static void drop_spares(struct ws__cuda *d)
{
    for (size_t i = 0; i < CU_SPARES; i++)
        drop_spare(d, &d->spare[i]);
}

int ws__cuda_take(struct ws__cuda *d, uint64_t bytes, cu_ptr *mem)
{
    char what[64];
    int e;

    *mem = 0;
    for (size_t i = 0; i < CU_SPARES; i++)
        if (d->spare[i].mem && d->spare[i].total == bytes) {
            *mem = d->spare[i].mem;
            d->spare_bytes -= bytes;
            memset(&d->spare[i], 0, sizeof(d->spare[i]));
            return 0;
        }
    e = d->api.MemAlloc(mem, bytes);
    if (e == CU__E_OUT_OF_MEMORY && d->spare_bytes) {
        drop_spares(d);
        e = d->api.MemAlloc(mem, bytes);
    }
    if (!e)
        return 0;
    *mem = 0;
    snprintf(what, sizeof(what), "take %llu bytes of the device's memory",
             (unsigned long long)bytes);
    return ws__cuda_check(d, WS_EDEVMEM, e, what);
}

/* Keeps it; what was not used for longest has to go for it. */
static void give(struct ws__cuda *d, cu_ptr mem, uint64_t bytes)
{
    if (bytes > CU_SPARE_BYTES) {
        if (!d->dead)
            d->api.MemFree(mem);
        return;
    }
    for (;;) {
        struct cu_spare *place = NULL, *old = NULL;

        for (size_t i = 0; i < CU_SPARES; i++) {
            struct cu_spare *s = &d->spare[i];

            if (!s->mem)
                place = s;
            else if (!old || s->used < old->used)
                old = s;
        }
        if (place && d->spare_bytes + bytes <= CU_SPARE_BYTES) {
            *place = (struct cu_spare){mem, bytes, ++d->tick};
            d->spare_bytes += bytes;
            return;
        }
        drop_spare(d, old);
    }
}

void ws__cuda_free_buffers(struct ws__cuda *d)
{
    for (size_t i = 0; i < d->nbuffer; i++)
        ws__cuda_release(d, (uint32_t)i + 1);
    drop_spares(d);
}

/* ---- buffers ----------------------------------------------------------- */

static int place(struct ws__cuda *d, uint32_t *handle)
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

static int fill_words(struct ws__cuda *d, cu_ptr at, uint32_t pattern,
                      uint64_t bytes)
{
    if (!bytes)
        return 0;
    return ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemsetD32Async(at, pattern, bytes / 4,
                                                d->stream),
                          "fill memory of the device");
}

static int fill_guard(struct ws__cuda *d, const struct cu_buffer *b)
{
    uint64_t tail = (b->lead + b->bytes) / 4 * 4;

    if (b->exact)
        return 0;
    WS_TRY(fill_words(d, b->mem, WS__GUARD_PATTERN, b->lead));
    return fill_words(d, b->mem + tail, WS__GUARD_PATTERN, b->total - tail);
}

int ws__cuda_alloc(void *dev, uint64_t bytes, uint32_t guard, uint32_t shift,
                   uint32_t *handle)
{
    struct ws__cuda *d = dev;
    struct cu_buffer b = {.bytes = bytes};
    uint32_t at;
    int rc;

    *handle = 0;
    if (bytes > d->info.max_alloc_bytes)
        return ws__fail(d->ctx, WS_EDEVMEM,
                        "device has no %llu bytes for a buffer: more than its "
                        "memory",
                        (unsigned long long)bytes);
    WS_TRY(ws__cuda_ready(d));
    WS_TRY(place(d, &at));
    b.lead = round_up(guard, ALIGN) + round_up(shift, ALIGN);
    b.exact = bytes && !guard && !shift;
    b.total = b.exact
                  ? bytes
                  : round_up(b.lead + (bytes ? bytes : ALIGN) + guard, ALIGN);
    WS_TRY(ws__cuda_take(d, b.total, &b.mem));
    rc = fill_guard(d, &b);
    if (rc < 0) {
        give(d, b.mem, b.total);
        return rc;
    }
    d->buffer[at - 1] = b;
    *handle = at;
    return 0;
}

void ws__cuda_release(void *dev, uint32_t handle)
{
    struct ws__cuda *d = dev;
    struct cu_buffer *b;

    if (handle == 0 || handle > d->nbuffer || !d->buffer[handle - 1].mem)
        return;
    b = &d->buffer[handle - 1];
    if (!b->exact)
        give(d, b->mem, b->total);
    else if (!d->dead)
        d->api.MemFree(b->mem);
    memset(b, 0, sizeof(*b));
}

static struct cu_buffer *span(struct ws__cuda *d, uint32_t handle,
                              uint64_t offset, uint64_t bytes)
{
    struct cu_buffer *b = ws__cuda_buffer(d, handle);

    if (b && (offset > b->bytes || bytes > b->bytes - offset)) {
        ws__fail(d->ctx, WS_EINVAL, "outside of buffer %u", (unsigned)handle);
        return NULL;
    }
    return b;
}

int ws__cuda_write(void *dev, uint32_t handle, uint64_t offset,
                   const void *from, uint64_t bytes)
{
    struct ws__cuda *d = dev;
    struct cu_buffer *b = span(d, handle, offset, bytes);

    if (!b)
        return WS_EINVAL;
    if (!bytes)
        return 0;
    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemcpyHtoDAsync(b->mem + b->lead + offset,
                                                 from, bytes, d->stream),
                          "write to the device"));
    return ws__cuda_sync(d, WS_EDEVICE, "write to the device");
}

int ws__cuda_read(void *dev, uint32_t handle, uint64_t offset, void *to,
                  uint64_t bytes)
{
    struct ws__cuda *d = dev;
    struct cu_buffer *b = span(d, handle, offset, bytes);

    if (!b)
        return WS_EINVAL;
    if (!bytes)
        return 0;
    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemcpyDtoHAsync(to, b->mem + b->lead + offset,
                                                 bytes, d->stream),
                          "read from the device"));
    return ws__cuda_sync(d, WS_EDEVICE, "read from the device");
}

int ws__cuda_fill(void *dev, uint32_t handle, uint32_t pattern)
{
    struct ws__cuda *d = dev;
    struct cu_buffer *b = ws__cuda_buffer(d, handle);
    uint64_t whole;

    if (!b)
        return WS_EINVAL;
    whole = b->bytes / 4 * 4;
    for (uint64_t i = whole; i < b->bytes; i++)
        WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                              d->api.MemsetD8Async(b->mem + b->lead + i,
                                                   (unsigned char)(pattern >>
                                                                   (i % 4 * 8)),
                                                   1, d->stream),
                              "fill memory of the device"));
    return fill_words(d, b->mem + b->lead, pattern, whole);
}

int ws__cuda_copy(void *dev, uint32_t to, uint32_t from)
{
    struct ws__cuda *d = dev;
    struct cu_buffer *a = ws__cuda_buffer(d, to);
    struct cu_buffer *b = a ? ws__cuda_buffer(d, from) : NULL;

    if (!b)
        return WS_EINVAL;
    if (a->bytes != b->bytes)
        return ws__fail(d->ctx, WS_EINVAL, "copy between sizes");
    if (!a->bytes || a == b)
        return 0;
    return ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemcpyDtoDAsync(a->mem + a->lead,
                                                 b->mem + b->lead, a->bytes,
                                                 d->stream),
                          "copy on the device");
}

/* ---- guards ------------------------------------------------------------ */

/* The bytes before the first whole word behind the content: 1 and *at, 0. */
static int check_edge(struct ws__cuda *d, const struct cu_buffer *b,
                      uint64_t *at)
{
    uint64_t from = b->lead + b->bytes, n = round_up(from, 4) - from;
    unsigned char edge[4];

    if (!n)
        return 0;
    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemcpyDtoHAsync(edge, b->mem + from, n,
                                                 d->stream),
                          "read from the device"));
    WS_TRY(ws__cuda_sync(d, WS_EDEVICE, "read from the device"));
    for (uint64_t i = 0; i < n; i++) {
        *at = from + i;
        if (edge[i] != (unsigned char)(WS__GUARD_PATTERN >> (*at % 4 * 8)))
            return 1;
    }
    return 0;
}

/* The damaged byte of a damaged word. */
static int find_byte(struct ws__cuda *d, const struct cu_buffer *b,
                     uint64_t *at)
{
    unsigned char word[4];

    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemcpyDtoHAsync(word, b->mem + *at,
                                                 sizeof(word), d->stream),
                          "read from the device"));
    WS_TRY(ws__cuda_sync(d, WS_EDEVICE, "read from the device"));
    for (int i = 0; i < 4; i++)
        if (word[i] != (unsigned char)(WS__GUARD_PATTERN >> (i * 8))) {
            *at += (uint64_t)i;
            break;
        }
    return 1;
}

static int check_words(struct ws__cuda *d, const struct cu_buffer *b,
                       uint64_t from, uint64_t to, uint64_t *at)
{
    WS_TRY(ws__cuda_scan(d, b->mem, from, to, at));
    return *at == UINT64_MAX ? 0 : find_byte(d, b, at);
}

int ws__cuda_guard(void *dev, uint32_t handle, int64_t *offset)
{
    struct ws__cuda *d = dev;
    struct cu_buffer *b = ws__cuda_buffer(d, handle);
    uint64_t at = 0;
    int rc;

    *offset = 0;
    if (!b)
        return WS_EINVAL;
    if (b->exact)
        return 0;
    rc = check_words(d, b, 0, b->lead, &at);
    if (rc == 0)
        rc = check_edge(d, b, &at);
    if (rc == 0)
        rc = check_words(d, b, round_up(b->lead + b->bytes, 4), b->total, &at);
    if (rc > 0)
        *offset = (int64_t)at - (int64_t)b->lead;
    return rc;
}
