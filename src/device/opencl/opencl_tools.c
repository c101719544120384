/*
 * opencl_tools.c: two kernels of our own, for hashing and flushing.
 *
 * The hash is a sum of mixed (position, word) pairs modulo 2^64: a sum does
 * not care in which order it is made, so any number of work-items, any order
 * of them and any device give the same value for the same bytes, and position
 * in the mix makes it notice exchanged words. Work-items go through memory
 * side by side on a GPU and each through a piece of its own on a processor;
 * `first`, `step` and `span` say which. The same walk writes the buffer that
 * flushes the caches: by all units, because each has a cache of its own.
 */
#include "device/opencl/opencl.h"

#include "base/banned.h"

#define CPU_ITEMS 64u
#define GPU_ITEMS 16384u
#define GPU_BLOCK 64u

static const char source[] =
    "ulong ws_mix(ulong x)\n"
    "{\n"
    "    x ^= x >> 31;\n"
    "    x *= 0x7fb5d329728ea185UL;\n"
    "    x ^= x >> 27;\n"
    "    x *= 0x81dadef4bc2dd44dUL;\n"
    "    return x ^ (x >> 33);\n"
    "}\n"
    "__kernel void ws_hash(__global const uchar *p, ulong bytes,\n"
    "    ulong first, ulong step, ulong span, __global ulong *part)\n"
    "{\n"
    "    __global const uint *w = (__global const uint *)p;\n"
    "    ulong id = get_global_id(0), words = bytes / 4, sum = 0;\n"
    "    ulong end = min(words, id * first + span);\n"
    "    for (ulong i = id * first; i < end; i += step)\n"
    "        sum += ws_mix(w[i] + (i + 1) * 0x9e3779b97f4a7c15UL);\n"
    "    if (id == 0 && bytes % 4) {\n"
    "        ulong tail = 0;\n"
    "        for (ulong i = words * 4; i < bytes; i++)\n"
    "            tail = tail << 8 | p[i];\n"
    "        sum += ws_mix(tail + (words + 1) * 0x9e3779b97f4a7c15UL);\n"
    "    }\n"
    "    part[id] = sum;\n"
    "}\n"
    "__kernel void ws_flush(__global uint *p, ulong bytes,\n"
    "    ulong first, ulong step, ulong span)\n"
    "{\n"
    "    ulong id = get_global_id(0);\n"
    "    ulong end = min(bytes / 4, id * first + span);\n"
    "    for (ulong i = id * first; i < end; i += step)\n"
    "        p[i] = p[i] + 1;\n"
    "}\n";

struct walk {
    size_t items, block;
    uint64_t first, step, span;
};

static struct walk make_walk(const struct ws__ocl *d, uint64_t bytes)
{
    uint64_t words = bytes / 4;

    if (d->info.id.is_cpu) {
        uint64_t piece = words / CPU_ITEMS + 1;

        return (struct walk){CPU_ITEMS, 1, piece, 1, piece};
    }
    return (struct walk){GPU_ITEMS, GPU_BLOCK, 1, GPU_ITEMS, words};
}

static int make_kernel(struct ws__ocl *d, const char *name, ocl_kernel *out)
{
    int32_t e = 0;

    *out = d->api.CreateKernel(d->tools, name, &e);
    return *out ? 0
                : ws__ocl_fail(d->ctx, WS_EDEVICE, e,
                               "make a kernel of our own");
}

static int make_tools(struct ws__ocl *d)
{
    int32_t e = 0;

    if (d->hash && d->flush && d->part)
        return 0;
    ws__ocl_tools_free(d);
    if (ws__ocl_compile(d, source, "", &d->tools, NULL) < 0) {
        ws__error_prefix(d->ctx, "our own kernels");
        d->ctx->err.code = WS_EDEVICE; /* the candidate is not to blame */
        return WS_EDEVICE;
    }
    WS_TRY(make_kernel(d, "ws_hash", &d->hash));
    WS_TRY(make_kernel(d, "ws_flush", &d->flush));
    d->part = d->api.CreateBuffer(d->context, OCL_MEM_READ_WRITE,
                                  GPU_ITEMS * sizeof(uint64_t), NULL, &e);
    return d->part ? 0 : ws__ocl_fail(d->ctx, WS_EDEVICE, e, "make a buffer");
}

void ws__ocl_tools_free(struct ws__ocl *d)
{
    if (d->hash)
        d->api.ReleaseKernel(d->hash);
    if (d->flush)
        d->api.ReleaseKernel(d->flush);
    if (d->tools)
        d->api.ReleaseProgram(d->tools);
    if (d->part)
        d->api.ReleaseMemObject(d->part);
    if (d->flush_mem)
        d->api.ReleaseMemObject(d->flush_mem);
    d->hash = d->flush = NULL;
    d->tools = NULL;
    d->part = d->flush_mem = NULL;
    d->flush_bytes = 0;
}

/* Arguments in the order of the kernels above; part NULL: has none. */
static int start(struct ws__ocl *d, ocl_kernel k, ocl_mem mem, uint64_t bytes,
                 ocl_mem part)
{
    const struct walk w = make_walk(d, bytes);
    const struct {
        size_t size;
        const void *p;
    } arg[] = {
        {sizeof(mem), &mem},         {sizeof(bytes), &bytes},
        {sizeof(w.first), &w.first}, {sizeof(w.step), &w.step},
        {sizeof(w.span), &w.span},   {sizeof(part), &part},
    };
    int32_t e = 0;

    for (uint32_t i = 0; i < WS_COUNT(arg) - (part ? 0 : 1) && !e; i++)
        e = d->api.SetKernelArg(k, i, arg[i].size, arg[i].p);
    if (!e)
        e = d->api.EnqueueNDRangeKernel(d->queue, k, 1, NULL, &w.items,
                                        &w.block, 0, NULL, NULL);
    return e ? ws__ocl_fail(d->ctx, WS_EDEVICE, e, "run a kernel of our own")
             : 0;
}

/* Once more over the sum, with the length: lengths are part of the content,
 * and the result of no bytes is not 0. */
static uint64_t finish_hash(uint64_t sum, uint64_t bytes)
{
    struct ws__hash h = {sum, bytes};

    return ws__hash_u64(h, bytes).lo;
}

int ws__ocl_hash(void *dev, uint32_t handle, uint64_t *out)
{
    struct ws__ocl *d = dev;
    struct ocl_buffer *b = ws__ocl_buffer(d, handle);
    size_t items;
    uint64_t sum = 0, *part;
    int32_t e = 0;
    int rc = 0;

    if (!b)
        return WS_EINVAL;
    WS_TRY(make_tools(d));
    items = make_walk(d, b->bytes).items;
    part = ws__alloc(d->ctx, items, sizeof(*part));
    if (!part)
        return WS_ENOMEM;
    if (b->bytes)
        rc = start(d, d->hash, b->sub, b->bytes, d->part);
    if (rc == 0 && b->bytes)
        e = d->api.EnqueueReadBuffer(d->queue, d->part, OCL_TRUE, 0,
                                     items * sizeof(*part), part, 0, NULL,
                                     NULL);
    for (size_t i = 0; i < items; i++)
        sum += part[i];
    ws__free(d->ctx, part);
    *out = finish_hash(sum, b->bytes);
    return e ? ws__ocl_fail(d->ctx, WS_EDEVICE, e, "read a hash") : rc;
}

int ws__ocl_flush(void *dev, uint64_t bytes)
{
    struct ws__ocl *d = dev;
    int32_t e = 0;

    WS_TRY(make_tools(d));
    if (!d->flush_mem || d->flush_bytes < bytes) {
        if (d->flush_mem)
            d->api.ReleaseMemObject(d->flush_mem);
        d->flush_bytes = 0;
        d->flush_mem = d->api.CreateBuffer(d->context, OCL_MEM_READ_WRITE,
                                           (size_t)bytes, NULL, &e);
        if (!d->flush_mem)
            return ws__ocl_fail(d->ctx, WS_EDEVICE, e,
                                "make the buffer for flushing");
        d->flush_bytes = bytes;
    }
    return start(d, d->flush, d->flush_mem, bytes, NULL);
}
