/*
 * device_cuda.c: the CUDA member: opening, closing, the table.
 *
 * It is isolated: a kernel with an illegal address takes the process's device
 * with it, and one that hangs can only be killed with its process. The rest is
 * in cuda_probe.c (what there is), cuda_compile.c (CUDA C to cubin),
 * cuda_module.c, cuda_buffer.c, cuda_run.c, cuda_tools.c (kernels of our own),
 * cuda_nvml.c (clocks) and cuda_counters.c (counters).
 *
 * Nothing on the card is ever set: no clock, no mode, no limit; and no managed
 * memory is used.
 */
#include "device/cuda/cuda.h"

#include "base/banned.h"

#define HOST_BYTES 4096u /* the flag, and a line further results */
#define RESULT_AT 256u

int ws__cuda_check(struct ws__cuda *d, int stage, int error, const char *what)
{
    int rc;

    if (!error)
        return 0;
    rc = ws__cu_fail(d->ctx, &d->api, stage, error, what);
    d->dead = d->dead || rc == WS_ECRASH;
    return rc;
}

int ws__cuda_sync(struct ws__cuda *d, int stage, const char *what)
{
    return ws__cuda_check(d, stage, d->api.StreamSynchronize(d->stream), what);
}

/* ---- the context ------------------------------------------------------- */

static int make_context(struct ws__cuda *d)
{
    int e = d->api.DevicePrimaryCtxRetain(&d->context, d->device);

    if (e) {
        d->context = NULL;
        return ws__cuda_check(d, WS_EDEVICE, e, "make a context on the device");
    }
    return ws__cuda_check(d, WS_EDEVICE, d->api.CtxSetCurrent(d->context),
                          "use the context");
}

static int make_parts(struct ws__cuda *d)
{
    void *host = NULL;

    WS_TRY(
        ws__cuda_check(d, WS_EDEVICE,
                       d->api.StreamCreate(&d->stream, CU__STREAM_NON_BLOCKING),
                       "make a stream"));
    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.EventCreate(&d->begin, CU__EVENT_DEFAULT),
                          "make an event"));
    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.EventCreate(&d->end, CU__EVENT_DEFAULT),
                          "make an event"));
    WS_TRY(
        ws__cuda_check(d, WS_EDEVICE,
                       d->api.MemHostAlloc(&host, HOST_BYTES, CU__HOST_MAPPED),
                       "take memory of the host"));
    d->flag = host;
    d->host = (uint64_t *)(void *)((char *)host + RESULT_AT);
    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemHostGetDevicePointer(&d->flag_ptr, host, 0),
                          "show memory of the host to the device"));
    return ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemAlloc(&d->word, sizeof(uint64_t)),
                          "take memory of the device");
}

/* The driver copies from and to pinned memory several times as fast. */
static void pin_area(struct ws__cuda *d)
{
    if (d->area)
        d->pinned = !d->api.MemHostRegister(d->area, d->area_bytes, 0);
}

static void drop_context(struct ws__cuda *d)
{
    if (d->context && !d->dead) {
        if (d->pinned)
            d->api.MemHostUnregister(d->area);
        ws__cuda_free_buffers(d);
        if (d->tools)
            d->api.ModuleUnload(d->tools);
        if (d->flush_mem)
            d->api.MemFree(d->flush_mem);
        if (d->word)
            d->api.MemFree(d->word);
        if (d->flag)
            d->api.MemFreeHost(d->flag);
        if (d->end)
            d->api.EventDestroy(d->end);
        if (d->begin)
            d->api.EventDestroy(d->begin);
        if (d->stream)
            d->api.StreamDestroy(d->stream);
        d->api.DevicePrimaryCtxRelease(d->device);
    }
    d->context = NULL;
    d->stream = NULL;
    d->begin = d->end = NULL;
    d->flag = NULL;
    d->host = NULL;
    d->word = d->flush_mem = 0;
    d->tools = NULL;
    d->spin = NULL;
    d->pinned = false;
}

int ws__cuda_ready(struct ws__cuda *d)
{
    int rc;

    if (d->dead)
        return ws__fail(d->ctx, WS_ECRASH,
                        "the process has lost the device to an earlier error");
    if (d->context)
        return 0;
    rc = make_context(d);
    if (rc == 0)
        rc = make_parts(d);
    if (rc < 0)
        drop_context(d);
    else
        pin_area(d);
    return rc;
}

/* ---- open and close ---------------------------------------------------- */

static void cuda_close(void *dev)
{
    struct ws__cuda *d = dev;

    if (!d)
        return;
    ws__cuda_counters_close(d);
    for (size_t i = 0; i < d->nmodule; i++)
        ws__cuda_unload(d, (uint32_t)i + 1);
    drop_context(d);
    ws__cuda_compiler_close(d->compiler);
    ws__nvml_end(&d->nvml);
    ws__cu_unload(&d->api);
    ws__free(d->ctx, d->module);
    ws__free(d->ctx, d->buffer);
    ws__free(d->ctx, d);
}

int ws__cuda_open_with(struct ws_ctx *ctx, struct cu_api *api,
                       struct nvml_api *nvml,
                       struct ws__cuda_compiler *compiler, uint32_t index,
                       void **dev)
{
    struct ws__cuda *d = ws__alloc(ctx, 1, sizeof(*d));
    int rc;

    *dev = NULL;
    if (!d) {
        ws__cuda_compiler_close(compiler);
        if (nvml)
            ws__nvml_end(nvml);
        ws__cu_unload(api);
        return WS_ENOMEM;
    }
    d->ctx = ctx;
    d->api = *api;
    if (nvml)
        d->nvml = *nvml;
    d->compiler = compiler;
    rc = ws__cuda_pick(d, index);
    if (rc < 0) {
        cuda_close(d);
        return rc;
    }
    *dev = d;
    return 0;
}

static int cuda_open(struct ws_ctx *ctx, uint32_t index, const char *cache_dir,
                     void **dev)
{
    struct ws__cuda_compiler *compiler = NULL;
    struct nvml_api nvml;
    struct cu_api api;
    int rc;

    *dev = NULL;
    WS_TRY(ws__cu_load(ctx, &api));
    rc = ws__cuda_compiler_open(ctx, cache_dir, &compiler);
    if (rc < 0) {
        ws__cu_unload(&api);
        return rc;
    }
    ws__nvml_begin(ctx, &nvml);
    return ws__cuda_open_with(ctx, &api, &nvml, compiler, index, dev);
}

static void cuda_area(void *dev, void *p, size_t bytes)
{
    struct ws__cuda *d = dev;

    d->area = p;
    d->area_bytes = bytes;
}

static const struct ws__device_info *cuda_info(void *dev)
{
    return &((struct ws__cuda *)dev)->info;
}

static const char *const cache_env[] = {
    "CUDA_CACHE_PATH=cuda", /* where the driver keeps what it made of PTX */
    NULL,
};

const struct ws__device_ops ws__device_cuda = {
    .abi = WS__DEVICE_ABI,
    .name = "cuda",
    .about = "NVIDIA GPUs through CUDA's driver",
    .isolated = true,
    .dialects = 1u << WS__DIALECT_PORTABLE | 1u << WS__DIALECT_CUDA |
                1u << WS__DIALECT_PTX | 1u << WS__DIALECT_CUBIN,
    .probe = ws__cuda_probe,
    .open = cuda_open,
    .close = cuda_close,
    .info = cuda_info,
    .build = ws__cuda_build,
    .unload = ws__cuda_unload,
    .alloc = ws__cuda_alloc,
    .release = ws__cuda_release,
    .write = ws__cuda_write,
    .read = ws__cuda_read,
    .fill = ws__cuda_fill,
    .copy = ws__cuda_copy,
    .hash = ws__cuda_hash,
    .guard = ws__cuda_guard,
    .run = ws__cuda_run,
    .count = ws__cuda_count,
    .watch = ws__cuda_run_watched,
    .cache_env = cache_env,
    .area = cuda_area,
};
