/*
 * opencl_probe.c: which OpenCL devices there are and what they are.
 *
 * The identity names everything that may change a time or a binary: device,
 * driver, and as compiler the platform's version with that of the device's
 * OpenCL C (for PoCL the platform's version has that of LLVM in it). What
 * cannot be used is listed with the reason, so that "no device" is never the
 * whole answer.
 */
#include "device/opencl/opencl.h"

#include <unistd.h>

#include "base/banned.h"

#define MAX_PLATFORMS 16
#define MAX_DEVICES 64

static void device_text(const struct ocl_api *api, ocl_device dev,
                        uint32_t what, char *out, size_t n)
{
    char text[512] = "";
    size_t len = 0;

    if (api->GetDeviceInfo(dev, what, sizeof(text) - 1, text, &len))
        text[0] = '\0';
    text[sizeof(text) - 1] = '\0';
    snprintf(out, n, "%s", text);
}

static void platform_text(const struct ocl_api *api, ocl_platform p,
                          uint32_t what, char *out, size_t n)
{
    char text[512] = "";

    if (api->GetPlatformInfo(p, what, sizeof(text) - 1, text, NULL))
        text[0] = '\0';
    text[sizeof(text) - 1] = '\0';
    snprintf(out, n, "%s", text);
}

static uint64_t device_u64(const struct ocl_api *api, ocl_device dev,
                           uint32_t what)
{
    uint64_t v = 0;

    return api->GetDeviceInfo(dev, what, sizeof(v), &v, NULL) ? 0 : v;
}

static uint32_t device_u32(const struct ocl_api *api, ocl_device dev,
                           uint32_t what)
{
    uint32_t v = 0;

    return api->GetDeviceInfo(dev, what, sizeof(v), &v, NULL) ? 0 : v;
}

static uint64_t device_size(const struct ocl_api *api, ocl_device dev,
                            uint32_t what)
{
    size_t v = 0;

    return api->GetDeviceInfo(dev, what, sizeof(v), &v, NULL) ? 0 : v;
}

/* NULL: usable. */
static const char *why_not(const struct ocl_api *api, ocl_device dev)
{
    if (!device_u32(api, dev, OCL_DEVICE_AVAILABLE))
        return "the driver says that the device is not available";
    if (!device_u32(api, dev, OCL_DEVICE_COMPILER_AVAILABLE))
        return "the driver has no compiler for it";
    if (!device_u32(api, dev, OCL_DEVICE_ENDIAN_LITTLE))
        return "big-endian devices are not supported";
    if (device_u32(api, dev, OCL_DEVICE_MAX_WORK_ITEM_DIMENSIONS) < 3)
        return "it has fewer than three dimensions";
    return NULL;
}

/* What a processor can use is a share of the memory that the driver found
 * when it started; where memory is added to a running machine that changes
 * from hour to hour, and an identity may not. So it names the memory of the
 * machine, in whole GiB. */
static uint64_t machine_memory(void)
{
    const uint64_t gib = (uint64_t)1 << 30;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t bytes =
        pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;

    return bytes < gib ? gib : bytes / gib * gib;
}

static void describe_identity(const struct ocl_api *api, ocl_platform p,
                              ocl_device dev, struct ws__identity *id)
{
    char version[112], language[64];

    snprintf(id->family, sizeof(id->family), "opencl");
    snprintf(id->tool, sizeof(id->tool), "%s", WS_VERSION);
    device_text(api, dev, OCL_DEVICE_NAME, id->device, sizeof(id->device));
    device_text(api, dev, OCL_DRIVER_VERSION, id->driver, sizeof(id->driver));
    platform_text(api, p, OCL_PLATFORM_VERSION, version, sizeof(version));
    device_text(api, dev, OCL_DEVICE_OPENCL_C_VERSION, language,
                sizeof(language));
    snprintf(id->compiler, sizeof(id->compiler), "%.40s; %.84s", language,
             version);
    id->units = device_u32(api, dev, OCL_DEVICE_MAX_COMPUTE_UNITS);
    id->max_threads =
        (uint32_t)device_size(api, dev, OCL_DEVICE_MAX_WORK_GROUP_SIZE);
    id->memory_bytes = device_u64(api, dev, OCL_DEVICE_GLOBAL_MEM_SIZE);
    id->shared_bytes = device_u64(api, dev, OCL_DEVICE_LOCAL_MEM_SIZE);
    id->vector_bytes =
        4 * device_u32(api, dev, OCL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    id->is_cpu =
        (device_u64(api, dev, OCL_DEVICE_TYPE) & OCL_DEVICE_TYPE_CPU) != 0;
    /* GPUs report some first-level cache here (an H200: 4.1 MiB, its L2 has
     * 60): better unknown than too small to flush. */
    if (id->is_cpu) {
        id->cache_bytes =
            device_u64(api, dev, OCL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
        id->memory_bytes = machine_memory();
    }
    ws__identity_seal(id);
}

static void describe(const struct ocl_api *api, ocl_platform p, ocl_device dev,
                     struct ws__device_info *out)
{
    size_t items[16] = {0};
    char platform[128];
    const char *reason = why_not(api, dev);

    memset(out, 0, sizeof(*out));
    platform_text(api, p, OCL_PLATFORM_NAME, platform, sizeof(platform));
    if (reason) {
        char name[128];

        device_text(api, dev, OCL_DEVICE_NAME, name, sizeof(name));
        snprintf(out->name, sizeof(out->name), "opencl");
        snprintf(out->reason, sizeof(out->reason), "'%s' of '%s': %s", name,
                 platform, reason);
        return;
    }
    out->usable = true;
    describe_identity(api, p, dev, &out->id);
    out->max_alloc_bytes = device_u64(api, dev, OCL_DEVICE_MAX_MEM_ALLOC_SIZE);
    api->GetDeviceInfo(dev, OCL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(items),
                       items, NULL);
    for (int i = 0; i < 3; i++)
        out->max_block[i] = (uint32_t)items[i];
    snprintf(out->extra, sizeof(out->extra),
             "platform: %s; clock: %u MHz; usable memory: %llu MiB", platform,
             device_u32(api, dev, OCL_DEVICE_MAX_CLOCK_FREQUENCY),
             (unsigned long long)(device_u64(api, dev,
                                             OCL_DEVICE_GLOBAL_MEM_SIZE) >>
                                  20));
}

/* --- walking ------------------------------------------------------------ */

typedef int visit_fn(void *user, const struct ocl_api *api, ocl_platform p,
                     ocl_device dev, const struct ws__device_info *info);

static int no_platform(struct ws_ctx *ctx)
{
    ws__fail(ctx, WS_ENODRIVER,
             "OpenCL has no platform: the loader is "
             "installed but no driver is");
    return ws__hint(ctx, "install 'pocl-opencl-icd' for the processor, or the "
                         "driver of your GPU");
}

/* A positive result of fn ends the walk. */
static int walk(struct ws_ctx *ctx, const struct ocl_api *api, visit_fn *fn,
                void *user)
{
    ocl_platform platform[MAX_PLATFORMS];
    ocl_device dev[MAX_DEVICES];
    struct ws__device_info info;
    uint32_t np = 0, nd;
    int rc = 0;
    int32_t e = api->GetPlatformIDs(MAX_PLATFORMS, platform, &np);

    if (e == OCL_PLATFORM_NOT_FOUND || (!e && !np))
        return no_platform(ctx);
    if (e)
        return ws__ocl_fail(ctx, e, "list OpenCL platforms");
    for (uint32_t p = 0; p < np && p < MAX_PLATFORMS && rc == 0; p++) {
        nd = 0;
        if (api->GetDeviceIDs(platform[p], OCL_DEVICE_TYPE_ALL, MAX_DEVICES,
                              dev, &nd))
            continue; /* a platform without devices is no error */
        for (uint32_t i = 0; i < nd && i < MAX_DEVICES && rc == 0; i++) {
            describe(api, platform[p], dev[i], &info);
            rc = fn(user, api, platform[p], dev[i], &info);
        }
    }
    return rc;
}

struct probing {
    struct ws_ctx *ctx;
    struct ws__device_list *list;
    unsigned usable;
};

static int probe_visit(void *user, const struct ocl_api *api, ocl_platform p,
                       ocl_device dev, const struct ws__device_info *info)
{
    struct probing *v = user;
    struct ws__device_info named = *info;

    (void)api;
    (void)p;
    (void)dev;
    if (named.usable)
        snprintf(named.name, sizeof(named.name), "opencl:%u", v->usable++);
    return ws__device_list_add(v->ctx, v->list, &named);
}

static int add_unusable(struct ws_ctx *ctx, struct ws__device_list *out)
{
    struct ws__device_info info;

    memset(&info, 0, sizeof(info));
    snprintf(info.name, sizeof(info.name), "opencl");
    snprintf(info.reason, sizeof(info.reason), "%.300s; %.200s",
             ctx->err.message, ctx->err.hint);
    ws__error_clear(ctx);
    return ws__device_list_add(ctx, out, &info);
}

int ws__ocl_probe(struct ws_ctx *ctx, struct ws__device_list *out)
{
    struct probing v = {.ctx = ctx, .list = out};
    struct ocl_api api;
    int rc = ws__ocl_load(ctx, &api);

    if (rc == 0)
        rc = walk(ctx, &api, probe_visit, &v);
    if (rc == WS_ENODRIVER)
        rc = add_unusable(ctx, out);
    ws__ocl_unload(&api);
    return rc;
}

struct picking {
    struct ws__ocl *d;
    uint32_t left;
    ocl_platform platform;
};

/* Whose binaries of one source differ from build to build: PoCL's hold what
 * its cache has at that moment, and asking for them compiles the kernel once
 * more (0.4 s for a small one). */
static bool do_binaries_vary(const struct ocl_api *api, ocl_platform p)
{
    char name[64];

    platform_text(api, p, OCL_PLATFORM_NAME, name, sizeof(name));
    return !strcmp(name, "Portable Computing Language");
}

static int pick_visit(void *user, const struct ocl_api *api, ocl_platform p,
                      ocl_device dev, const struct ws__device_info *info)
{
    struct picking *v = user;
    uint32_t align;

    if (!info->usable || v->left--)
        return 0;
    v->d->info = *info;
    v->d->device = dev;
    align = device_u32(api, dev, OCL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    v->d->align = align < 4 ? 4 : align;
    v->d->binaries_vary = do_binaries_vary(api, p);
    return 1;
}

int ws__ocl_pick(struct ws__ocl *d, uint32_t index)
{
    struct picking v = {.d = d, .left = index};
    int rc = walk(d->ctx, &d->api, pick_visit, &v);

    if (rc < 0)
        return rc;
    if (rc == 0)
        return ws__fail(d->ctx, WS_ENODEVICE, "no device 'opencl:%u'",
                        (unsigned)index);
    snprintf(d->info.name, sizeof(d->info.name), "opencl:%u", (unsigned)index);
    return 0;
}
