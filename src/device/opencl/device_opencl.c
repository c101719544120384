/*
 * device_opencl.c: the OpenCL member: opening, closing, the table.
 *
 * Works on whatever the loader finds: a GPU, or a processor through PoCL. It
 * is isolated: kernels run in our address space on a processor, and drivers
 * crash. The rest is in opencl_probe.c (what there is), opencl_buffer.c,
 * opencl_build.c, opencl_run.c and opencl_tools.c (hashing, flushing).
 */
#include "device/opencl/opencl.h"

#include "base/banned.h"

static void opencl_close(void *dev)
{
    struct ws__ocl *d = dev;

    if (!d)
        return;
    for (size_t i = 0; i < d->nmodule; i++)
        ws__ocl_unload_module(d, (uint32_t)i + 1);
    for (size_t i = 0; i < d->nbuffer; i++)
        ws__ocl_release(d, (uint32_t)i + 1);
    ws__ocl_tools_free(d);
    if (d->queue)
        d->api.ReleaseCommandQueue(d->queue);
    if (d->context)
        d->api.ReleaseContext(d->context);
    ws__ocl_unload(&d->api);
    ws__free(d->ctx, d->module);
    ws__free(d->ctx, d->buffer);
    ws__free(d->ctx, d->pool);
    ws__free(d->ctx, d);
}

static int start(struct ws__ocl *d, uint32_t index)
{
    int32_t e = 0;

    WS_TRY(ws__ocl_pick(d, index));
    d->context = d->api.CreateContext(NULL, 1, &d->device, NULL, NULL, &e);
    if (!d->context)
        return ws__ocl_fail(d->ctx, WS_EDEVICE, e,
                            "make a context on the device");
    d->queue = d->api.CreateCommandQueue(d->context, d->device,
                                         OCL_QUEUE_PROFILING_ENABLE, &e);
    if (!d->queue)
        return ws__ocl_fail(d->ctx, WS_EDEVICE, e,
                            "make a queue on the device");
    return 0;
}

int ws__ocl_open_with(struct ws_ctx *ctx, struct ocl_api *api, uint32_t index,
                      void **dev)
{
    struct ws__ocl *d = ws__alloc(ctx, 1, sizeof(*d));
    int rc;

    *dev = NULL;
    if (!d) {
        ws__ocl_unload(api);
        return WS_ENOMEM;
    }
    d->ctx = ctx;
    d->api = *api;
    rc = start(d, index);
    if (rc < 0) {
        opencl_close(d);
        return rc;
    }
    *dev = d;
    return 0;
}

/* The cache folder has come through the environment: see cache_env. */
static int opencl_open(struct ws_ctx *ctx, uint32_t index,
                       const char *cache_dir, void **dev)
{
    struct ocl_api api;

    (void)cache_dir;
    *dev = NULL;
    WS_TRY(ws__ocl_load(ctx, &api));
    return ws__ocl_open_with(ctx, &api, index, dev);
}

static const struct ws__device_info *opencl_info(void *dev)
{
    return &((struct ws__ocl *)dev)->info;
}

static const char *const cache_env[] = {
    "POCL_CACHE_DIR=pocl",
    "CUDA_CACHE_PATH=cuda", /* NVIDIA's OpenCL compiles through CUDA's */
    NULL,
};

const struct ws__device_ops ws__device_opencl = {
    .abi = WS__DEVICE_ABI,
    .name = "opencl",
    .about = "GPUs and processors through OpenCL",
    .isolated = true,
    .dialects = 1u << WS__DIALECT_PORTABLE | 1u << WS__DIALECT_OPENCL,
    .probe = ws__ocl_probe,
    .open = opencl_open,
    .close = opencl_close,
    .info = opencl_info,
    .build = ws__ocl_build,
    .unload = ws__ocl_unload_module,
    .alloc = ws__ocl_alloc,
    .release = ws__ocl_release,
    .write = ws__ocl_write,
    .read = ws__ocl_read,
    .fill = ws__ocl_fill,
    .copy = ws__ocl_copy,
    .hash = ws__ocl_hash,
    .guard = ws__ocl_guard,
    .run = ws__ocl_run,
    .cache_env = cache_env,
    .describe = ws__ocl_describe,
    .watch = ws__ocl_watch,
};
