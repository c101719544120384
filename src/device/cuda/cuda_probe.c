/*
 * cuda_probe.c: which devices there are, and what they are.
 *
 * Attributes need cuInit and no context. What cannot be used is an entry with
 * the reason: no driver, a driver that does not start, a card that nobody may
 * use, no compiler.
 */
#include "device/cuda/cuda.h"

#include "base/banned.h"

struct asking {
    struct ws_ctx *ctx;
    const struct cu_api *api;
    cu_device device;
    int error;                /* the first */
    int major, minor, driver; /* driver: 13000 for CUDA 13.0 */
};

static int attribute(struct asking *a, int what)
{
    int v = 0, e = a->api->DeviceGetAttribute(&v, what, a->device);

    if (e && !a->error)
        a->error = e;
    return e ? 0 : v;
}

/* "0000:1b:00.0" becomes what other drivers say of the same card. */
static void describe_place(struct asking *a, char *out, size_t n, char *bus)
{
    unsigned domain, at, slot;
    int e = a->api->DeviceGetPCIBusId(bus, 32, a->device);

    if (e) {
        bus[0] = '\0';
        a->error = a->error ? a->error : e;
        return;
    }
    if (sscanf(bus, "%x:%x:%x", &domain, &at, &slot) == 3)
        snprintf(out, n, "pci %04x:%02x:%02x", domain, at, slot);
}

/* "580.159.04 (CUDA 13.0)" */
static void describe_driver(struct asking *a, const struct nvml_api *nvml,
                            char *out, size_t n)
{
    char text[80] = "";
    int v = 0, e = a->api->DriverGetVersion(&v);

    a->driver = v;
    if (e && !a->error)
        a->error = e;
    if (nvml->lib && nvml->SystemGetDriverVersion(text, sizeof(text)))
        text[0] = '\0';
    text[sizeof(text) - 1] = '\0';
    snprintf(out, n, "%s%sCUDA %d.%d%s", text, text[0] ? " (" : "", v / 1000,
             v % 1000 / 10, text[0] ? ")" : "");
}

/* A driver loads what compilers of its own CUDA make, and of older ones; within
 * one major version also of newer ones. */
static int check_age(const struct asking *a,
                     const struct ws__cuda_compiler *compiler)
{
    const char *version = ws__cuda_compiler_version(compiler);
    int major = 0;

    if (sscanf(version, "NVRTC %d", &major) != 1 || a->driver / 1000 >= major)
        return 0;
    ws__fail(a->ctx, WS_ENODRIVER,
             "the NVIDIA driver is of CUDA %d.%d, too old for what %s compiles",
             a->driver / 1000, a->driver % 1000 / 10, version);
    return ws__hint(a->ctx, "update the driver, or let LD_LIBRARY_PATH name "
                            "the folder of an older libnvrtc.so");
}

static void describe_limits(struct asking *a, struct ws__device_info *out)
{
    out->max_block[0] = (uint32_t)attribute(a, CU__MAX_BLOCK_X);
    out->max_block[1] = (uint32_t)attribute(a, CU__MAX_BLOCK_Y);
    out->max_block[2] = (uint32_t)attribute(a, CU__MAX_BLOCK_Z);
    out->max_grid[0] = (uint64_t)attribute(a, CU__MAX_GRID_X);
    out->max_grid[1] = (uint64_t)attribute(a, CU__MAX_GRID_Y);
    out->max_grid[2] = (uint64_t)attribute(a, CU__MAX_GRID_Z);
    a->major = attribute(a, CU__MAJOR);
    a->minor = attribute(a, CU__MINOR);
    snprintf(out->extra, sizeof(out->extra),
             "compute capability: %d.%d; clock: %d MHz; of a unit: %d "
             "registers, %d bytes of shared memory (%d of each block's "
             "reserved), %d threads, %d blocks",
             a->major, a->minor, attribute(a, CU__CLOCK_KHZ) / 1000,
             attribute(a, CU__UNIT_REGISTERS), attribute(a, CU__UNIT_SHARED),
             attribute(a, CU__SHARED_RESERVED), attribute(a, CU__UNIT_THREADS),
             attribute(a, CU__UNIT_BLOCKS));
}

/* bus: 32 bytes. */
static int describe(struct asking *a, const struct nvml_api *nvml,
                    const struct ws__cuda_compiler *compiler,
                    struct ws__device_info *out, char *bus)
{
    struct ws__identity *id = &out->id;
    size_t bytes = 0;
    int e;

    memset(out, 0, sizeof(*out));
    e = a->api->DeviceGetName(id->device, (int)sizeof(id->device), a->device);
    id->device[sizeof(id->device) - 1] = '\0';
    a->error = e;
    e = a->api->DeviceTotalMem(&bytes, a->device);
    if (e && !a->error)
        a->error = e;
    describe_driver(a, nvml, id->driver, sizeof(id->driver));
    snprintf(id->compiler, sizeof(id->compiler), "%s",
             ws__cuda_compiler_version(compiler));
    snprintf(id->tool, sizeof(id->tool), "%s", WS_VERSION);
    snprintf(id->family, sizeof(id->family), "cuda");
    id->units = (uint32_t)attribute(a, CU__UNITS);
    id->max_threads = (uint32_t)attribute(a, CU__MAX_THREADS);
    id->memory_bytes = out->max_alloc_bytes = bytes;
    id->cache_bytes = (uint64_t)attribute(a, CU__L2_BYTES);
    id->shared_bytes = (uint32_t)attribute(a, CU__SHARED_OPTIN);
    id->vector_bytes = 16;
    describe_place(a, out->place, sizeof(out->place), bus);
    describe_limits(a, out);
    if (!a->error && attribute(a, CU__COMPUTE_MODE) == CU__MODE_PROHIBITED)
        return ws__fail(a->ctx, WS_ENODEVICE,
                        "'%s' is in compute mode 'prohibited'", id->device);
    if (a->error)
        return ws__cu_fail(a->ctx, a->api, WS_EDEVICE, a->error,
                           "ask what the device is");
    WS_TRY(check_age(a, compiler));
    ws__identity_seal(id);
    out->usable = true;
    return 0;
}

static int start_driver(struct ws_ctx *ctx, const struct cu_api *api, int *n)
{
    int e = api->Init(0);

    *n = 0;
    if (e) {
        ws__cu_fail(ctx, api, WS_ENODRIVER, e, "start the NVIDIA driver");
        ctx->err.code = WS_ENODRIVER; /* whatever it says */
        return ws__hint(ctx, "'nvidia-smi' says whether the driver and the "
                             "card work; in a container both must be passed "
                             "in");
    }
    e = api->DeviceGetCount(n);
    if (e) {
        ws__cu_fail(ctx, api, WS_ENODEVICE, e, "count the devices");
        return ctx->err.code = WS_ENODEVICE;
    }
    return *n ? 0
              : ws__fail(ctx, WS_ENODEVICE, "the NVIDIA driver has no device");
}

/* The i-th of the driver; its reason in the context if it is not usable. */
static int ask(struct ws_ctx *ctx, const struct cu_api *api,
               const struct nvml_api *nvml,
               const struct ws__cuda_compiler *compiler, int i,
               struct asking *a, struct ws__device_info *info, char *bus)
{
    int e;

    memset(info, 0, sizeof(*info));
    *a = (struct asking){.ctx = ctx, .api = api};
    e = api->DeviceGet(&a->device, i);
    if (e)
        return ws__cu_fail(ctx, api, WS_ENODEVICE, e, "get a device");
    return describe(a, nvml, compiler, info, bus);
}

static void make_unusable(struct ws_ctx *ctx, struct ws__device_info *info)
{
    memset(info, 0, sizeof(*info));
    snprintf(info->name, sizeof(info->name), "cuda");
    snprintf(info->reason, sizeof(info->reason), "%.300s%s%.200s",
             ctx->err.message, ctx->err.hint[0] ? "; " : "", ctx->err.hint);
    ws__error_clear(ctx);
}

static int probe_all(struct ws_ctx *ctx, const struct cu_api *api,
                     const struct nvml_api *nvml,
                     const struct ws__cuda_compiler *compiler,
                     struct ws__device_list *out)
{
    unsigned usable = 0;
    int n;

    WS_TRY(start_driver(ctx, api, &n));
    for (int i = 0; i < n; i++) {
        struct ws__device_info info;
        struct asking a;
        char bus[32];
        int rc = ask(ctx, api, nvml, compiler, i, &a, &info, bus);

        if (rc < 0)
            make_unusable(ctx, &info);
        else
            snprintf(info.name, sizeof(info.name), "cuda:%u", usable++);
        WS_TRY(ws__device_list_add(ctx, out, &info));
    }
    return 0;
}

int ws__cuda_probe(struct ws_ctx *ctx, struct ws__device_list *out)
{
    struct ws__cuda_compiler *compiler = NULL;
    struct ws__device_info info;
    struct nvml_api nvml;
    struct cu_api api;
    int rc = ws__cu_load(ctx, &api);

    memset(&nvml, 0, sizeof(nvml));
    if (rc == 0)
        rc = ws__cuda_compiler_open(ctx, NULL, &compiler);
    if (rc == 0)
        ws__nvml_begin(ctx, &nvml);
    if (rc == 0)
        rc = probe_all(ctx, &api, &nvml, compiler, out);
    if (rc < 0 && rc != WS_ENOMEM) { /* whatever it is, that is the answer */
        make_unusable(ctx, &info);
        rc = ws__device_list_add(ctx, out, &info);
    }
    ws__cuda_compiler_close(compiler);
    ws__nvml_end(&nvml);
    ws__cu_unload(&api);
    return rc;
}

int ws__cuda_pick(struct ws__cuda *d, uint32_t index)
{
    char reason[400] = "", bus[32];
    struct asking a;
    uint32_t left = index;
    int n;

    WS_TRY(start_driver(d->ctx, &d->api, &n));
    for (int i = 0; i < n; i++) {
        int rc =
            ask(d->ctx, &d->api, &d->nvml, d->compiler, i, &a, &d->info, bus);

        if (rc < 0 && !reason[0])
            snprintf(reason, sizeof(reason), "%.390s", d->ctx->err.message);
        if (rc < 0 || left--)
            continue;
        ws__error_clear(d->ctx);
        d->device = a.device;
        d->major = a.major;
        d->minor = a.minor;
        d->shared_optin = d->info.id.shared_bytes;
        snprintf(d->info.name, sizeof(d->info.name), "cuda:%u",
                 (unsigned)index);
        ws__cuda_watch(d, bus);
        return 0;
    }
    return ws__fail(d->ctx, WS_ENODEVICE, "no device 'cuda:%u'%s%s",
                    (unsigned)index, reason[0] ? ": " : "", reason);
}
