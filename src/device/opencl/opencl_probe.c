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

/* Asking one device. A question that fails is remembered, so that a device
 * of which we know half is never taken for another one: no property is
 * guessed, least of all one of the identity. */
struct asking {
    const struct ocl_api *api;
    ocl_platform platform;
    ocl_device dev;
    uint32_t what; /* the first question that failed, */
    int32_t error; /* and how; 0: none did */
};

static void note_failure(struct asking *a, int32_t e, uint32_t what)
{
    if (e && !a->error) {
        a->error = e;
        a->what = what;
    }
}

static void device_get(struct asking *a, uint32_t what, void *p, size_t n)
{
    note_failure(a, a->api->GetDeviceInfo(a->dev, what, n, p, NULL), what);
}

static void device_text(struct asking *a, uint32_t what, char *out, size_t n)
{
    char text[512] = "";

    device_get(a, what, text, sizeof(text) - 1);
    snprintf(out, n, "%s", text);
}

static void platform_text(struct asking *a, uint32_t what, char *out, size_t n)
{
    char text[512] = "";

    note_failure(a,
                 a->api->GetPlatformInfo(a->platform, what, sizeof(text) - 1,
                                         text, NULL),
                 what);
    snprintf(out, n, "%s", text);
}

static uint64_t device_u64(struct asking *a, uint32_t what)
{
    uint64_t v = 0;

    device_get(a, what, &v, sizeof(v));
    return v;
}

static uint32_t device_u32(struct asking *a, uint32_t what)
{
    uint32_t v = 0;

    device_get(a, what, &v, sizeof(v));
    return v;
}

static uint64_t device_size(struct asking *a, uint32_t what)
{
    size_t v = 0;

    device_get(a, what, &v, sizeof(v));
    return v;
}

/* NULL: usable, as far as these questions were answered. */
static const char *why_not(struct asking *a)
{
    if (!device_u32(a, OCL_DEVICE_AVAILABLE))
        return "the driver says that the device is not available";
    if (!device_u32(a, OCL_DEVICE_COMPILER_AVAILABLE))
        return "the driver has no compiler for it";
    if (!device_u32(a, OCL_DEVICE_ENDIAN_LITTLE))
        return "big-endian devices are not supported";
    if (device_u32(a, OCL_DEVICE_MAX_WORK_ITEM_DIMENSIONS) < 3)
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

static void describe_identity(struct asking *a, struct ws__identity *id)
{
    char version[112], language[64];

    snprintf(id->family, sizeof(id->family), "opencl");
    snprintf(id->tool, sizeof(id->tool), "%s", WS_VERSION);
    device_text(a, OCL_DEVICE_NAME, id->device, sizeof(id->device));
    device_text(a, OCL_DRIVER_VERSION, id->driver, sizeof(id->driver));
    platform_text(a, OCL_PLATFORM_VERSION, version, sizeof(version));
    device_text(a, OCL_DEVICE_OPENCL_C_VERSION, language, sizeof(language));
    snprintf(id->compiler, sizeof(id->compiler), "%.40s; %.84s", language,
             version);
    id->units = device_u32(a, OCL_DEVICE_MAX_COMPUTE_UNITS);
    id->max_threads = (uint32_t)device_size(a, OCL_DEVICE_MAX_WORK_GROUP_SIZE);
    id->memory_bytes = device_u64(a, OCL_DEVICE_GLOBAL_MEM_SIZE);
    id->shared_bytes = device_u64(a, OCL_DEVICE_LOCAL_MEM_SIZE);
    id->vector_bytes = 4 * device_u32(a, OCL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    id->is_cpu = (device_u64(a, OCL_DEVICE_TYPE) & OCL_DEVICE_TYPE_CPU) != 0;
    /* GPUs report some first-level cache here (an H200: 4.1 MiB, its L2 has
     * 60): better unknown than too small to flush. */
    if (id->is_cpu) {
        id->cache_bytes = device_u64(a, OCL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
        id->memory_bytes = machine_memory();
    }
    ws__identity_seal(id);
}

/* By the extension cl_khr_pci_bus_info; a driver without it is no fault, so
 * its failure is not noted. */
static void describe_place(struct asking *a, bool is_cpu, char *out, size_t n)
{
    uint32_t pci[4] = {0}; /* domain, bus, device, function */

    if (is_cpu)
        snprintf(out, n, "cpu");
    else if (!a->api->GetDeviceInfo(a->dev, OCL_DEVICE_PCI_BUS_INFO_KHR,
                                    sizeof(pci), pci, NULL))
        snprintf(out, n, "pci %04x:%02x:%02x", pci[0], pci[1], pci[2]);
}

/* What the walk finds. */
struct found {
    struct ws__device_info info;
    ocl_device dev;
    uint32_t align; /* bytes, of the start of sub-buffers */
    char platform[128];
};

static void describe_usable(struct asking *a, struct found *f)
{
    struct ws__device_info *out = &f->info;
    size_t items[16] = {0};

    out->usable = true;
    describe_identity(a, &out->id);
    describe_place(a, out->id.is_cpu, out->place, sizeof(out->place));
    out->max_alloc_bytes = device_u64(a, OCL_DEVICE_MAX_MEM_ALLOC_SIZE);
    device_get(a, OCL_DEVICE_MAX_WORK_ITEM_SIZES, items, sizeof(items));
    for (int i = 0; i < 3; i++)
        out->max_block[i] = (uint32_t)items[i];
    f->align = device_u32(a, OCL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    f->align = f->align < 4 ? 4 : f->align;
    snprintf(out->extra, sizeof(out->extra),
             "platform: %s; clock: %u MHz; usable memory: %llu MiB",
             f->platform, device_u32(a, OCL_DEVICE_MAX_CLOCK_FREQUENCY),
             (unsigned long long)(device_u64(a, OCL_DEVICE_GLOBAL_MEM_SIZE) >>
                                  20));
}

static void describe(struct ws_ctx *ctx, struct asking *a, struct found *f)
{
    char name[128] = "", what[96];
    const char *reason;

    memset(f, 0, sizeof(*f));
    f->dev = a->dev;
    platform_text(a, OCL_PLATFORM_NAME, f->platform, sizeof(f->platform));
    device_text(a, OCL_DEVICE_NAME, name, sizeof(name));
    reason = why_not(a);
    if (!reason && !a->error)
        describe_usable(a, f);
    if (a->error) { /* its answers are not worth much then */
        snprintf(what, sizeof(what), "ask for %s",
                 ws__ocl_constant_name(a->what));
        ws__ocl_fail(ctx, WS_EDEVICE, a->error, what);
        reason = ctx->err.message;
    }
    if (!reason)
        return;
    memset(&f->info, 0, sizeof(f->info));
    snprintf(f->info.name, sizeof(f->info.name), "opencl");
    snprintf(f->info.reason, sizeof(f->info.reason), "'%s' of '%s': %.200s",
             name, f->platform, reason);
    ws__error_clear(ctx);
}

/* --- walking ------------------------------------------------------------ */

/* A positive result ends the walk. */
typedef int visit_fn(void *user, const struct found *f);

/* A platform that cannot say what it has: one entry that is not usable. */
static int broken_platform(struct ws_ctx *ctx, struct asking *a, int32_t e,
                           visit_fn *fn, void *user)
{
    struct found f;

    memset(&f, 0, sizeof(f));
    platform_text(a, OCL_PLATFORM_NAME, f.platform, sizeof(f.platform));
    ws__ocl_fail(ctx, WS_EDEVICE, e, "list its devices");
    snprintf(f.info.name, sizeof(f.info.name), "opencl");
    snprintf(f.info.reason, sizeof(f.info.reason), "platform '%s': %.200s",
             f.platform, ctx->err.message);
    ws__error_clear(ctx);
    return fn(user, &f);
}

static int walk_platform(struct ws_ctx *ctx, const struct ocl_api *api,
                         ocl_platform platform, visit_fn *fn, void *user)
{
    ocl_device dev[MAX_DEVICES];
    struct found f;
    uint32_t n = 0;
    int rc = 0;
    int32_t e =
        api->GetDeviceIDs(platform, OCL_DEVICE_TYPE_ALL, MAX_DEVICES, dev, &n);

    if (e == OCL_DEVICE_NOT_FOUND)
        return 0;
    if (e)
        return broken_platform(ctx,
                               &(struct asking){.api = api,
                                                .platform = platform},
                               e, fn, user);
    for (uint32_t i = 0; i < n && i < MAX_DEVICES && rc == 0; i++) {
        struct asking a = {.api = api, .platform = platform, .dev = dev[i]};

        describe(ctx, &a, &f);
        rc = fn(user, &f);
    }
    return rc;
}

static int walk(struct ws_ctx *ctx, const struct ocl_api *api, visit_fn *fn,
                void *user)
{
    ocl_platform platform[MAX_PLATFORMS];
    uint32_t n = 0;
    int rc = 0;
    int32_t e = api->GetPlatformIDs(MAX_PLATFORMS, platform, &n);

    if (e == OCL_PLATFORM_NOT_FOUND || (!e && !n))
        return ws__ocl_no_platform(ctx, OCL_VENDORS);
    if (e)
        return ws__ocl_fail(ctx, WS_EDEVICE, e, "list OpenCL platforms");
    for (uint32_t i = 0; i < n && i < MAX_PLATFORMS && rc == 0; i++)
        rc = walk_platform(ctx, api, platform[i], fn, user);
    return rc;
}

struct probing {
    struct ws_ctx *ctx;
    struct ws__device_list *list;
    unsigned usable;
};

static int probe_visit(void *user, const struct found *f)
{
    struct probing *v = user;
    struct ws__device_info named = f->info;

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
    char reason[512]; /* of the first device that is not usable */
};

/* Whose binaries of one source differ from build to build: PoCL's hold what
 * its cache has at that moment, and asking for them compiles the kernel once
 * more (0.4 s for a small one). */
static bool do_binaries_vary(const char *platform)
{
    return !strcmp(platform, "Portable Computing Language");
}

static int pick_visit(void *user, const struct found *f)
{
    struct picking *v = user;

    if (!f->info.usable && !v->reason[0])
        memcpy(v->reason, f->info.reason, sizeof(v->reason));
    if (!f->info.usable || v->left--)
        return 0;
    v->d->info = f->info;
    v->d->device = f->dev;
    v->d->align = f->align;
    v->d->binaries_vary = do_binaries_vary(f->platform);
    return 1;
}

int ws__ocl_pick(struct ws__ocl *d, uint32_t index)
{
    struct picking v = {.d = d, .left = index};
    int rc = walk(d->ctx, &d->api, pick_visit, &v);

    if (rc < 0)
        return rc;
    if (rc == 0)
        return ws__fail(d->ctx, WS_ENODEVICE, "no device 'opencl:%u'%s%s",
                        (unsigned)index, v.reason[0] ? ": " : "", v.reason);
    snprintf(d->info.name, sizeof(d->info.name), "opencl:%u", (unsigned)index);
    return 0;
}
