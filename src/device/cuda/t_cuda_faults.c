/*
 * t_cuda_faults.c: every call of the driver, of NVRTC, of NVML and of CUPTI
 * fails once, in turn.
 *
 * The libraries are those of tests/fakecuda, which count calls, refuse the
 * n-th one, and know what is not released. One life (open, use, close) is
 * repeated for n = 1, 2, ... until it passes untouched, with several errors
 * where a call is met for the first time in a step, else with one. Each
 * failure must come out as the right code and in words that say which call
 * failed and how; the device must be usable afterwards, unless the error is
 * one that stays, after which every operation says so; and everything that was
 * made must be gone. The few calls that the member can do without are listed:
 * there, nothing may happen at all.
 */
#include "base/t_base.h"

#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

#include "device/cuda/cuda.h"
#include "device/cuda/cuda_cupti.h"
#include "device/cuda/cuda_nvrtc.h"
#include "tests/fakecuda/fake.h"
#include "tests/fakecuda/t_fakecuda.h"

#define BYTES 256u
#define ANSWER 42

enum lib { DRIVER, NVRTC, NVML, CUPTI, LIBS };

static struct {
    struct fake_state *state[LIBS];
    fake_reset_fn *reset;
    enum lib lib;
    int error;
    const char *step; /* what is being done */
    bool watch, touched;
} t;

/* ---- one use of a device ------------------------------------------------ */

static const char source[] =
    "extern \"C\" __global__ void k(int *out, int v)\n"
    "{\n"
    "    extern __shared__ int tmp[];\n"
    "    tmp[threadIdx.x] = v;\n"
    "    __syncthreads();\n"
    "    out[blockIdx.x * blockDim.x + threadIdx.x] = tmp[threadIdx.x];\n"
    "}\n";

static int build(void *dev, uint32_t *module)
{
    static const char *const entry = "k";
    const struct ws__plan_launch hint = {
        .entry = "k",
        .grid = {1, 1, 1},
        .block = {64, 1, 1},
        .arg = {{.kind = WS__ARG_TENSOR},
                {.kind = WS__ARG_VALUE, .bytes = 4},
                {.kind = WS__ARG_SHARED, .bytes = 65536}},
        .narg = 3,
    };
    const struct ws__build b = {.source = source,
                                .dialect = WS__DIALECT_CUDA,
                                .entry = &entry,
                                .nentry = 1,
                                .hint = &hint,
                                .nhint = 1,
                                .want_image = true};
    struct ws__built built;
    int rc = ws__device_find("cuda")->build(dev, &b, &built);

    *module = built.module;
    if (rc == 0 && (!built.image || built.nsymbol != 1))
        rc = WS_EBUG;
    ws__built_free(((struct ws__cuda *)dev)->ctx, &built);
    return rc;
}

/* buffer[0] is written by the kernel, restored from buffer[1] and cleared. */
static int run(void *dev, uint32_t module, const uint32_t buffer[2], bool graph)
{
    const struct ws__dev_arg arg[3] = {
        {.kind = WS__ARG_TENSOR, .buffer = buffer[0]},
        {.kind = WS__ARG_VALUE, .bytes = 4, .value = {ANSWER}},
        {.kind = WS__ARG_SHARED, .bytes = 65536}};
    const struct ws__dev_launch l = {.module = module,
                                     .entry = "k",
                                     .grid = {1, 1, 1},
                                     .block = {64, 1, 1},
                                     .arg = arg,
                                     .narg = 3};
    const struct ws__dev_copy restore = {buffer[0], buffer[1]};
    const struct ws__dev_fill fill = {.buffer = buffer[0],
                                      .pattern = 7,
                                      .timed = true};
    const struct ws__dev_seq seq = {.launch = &l,
                                    .nlaunch = 1,
                                    .restore = &restore,
                                    .nrestore = 1,
                                    .fill = &fill,
                                    .nfill = 1,
                                    .hash = buffer,
                                    .nhash = 1};
    const struct ws__dev_batch batch = {.prog = &seq,
                                        .nprog = 1,
                                        .nset = 1,
                                        .rounds = 1,
                                        .inner = 1,
                                        .flush_bytes = 4096,
                                        .graph = graph};
    struct ws__dev_touch touch;
    struct ws__dev_sample s;
    size_t n;

    if (t.watch) {
        WS_TRY(
            ws__device_find("cuda")->watch(dev, &seq, &buffer[1], 1, &touch));
        t.touched = touch.kind != WS__TOUCH_NONE;
        return t.touched ? WS_ECRASH : 0;
    }
    WS_TRY(ws__device_find("cuda")->run(dev, &batch, &s, &n));
    return n == 1 && s.ns > 0 ? 0 : WS_EBUG;
}

/* Counts: twelve metrics and more, so that it takes two passes, one that is
 * not there and two without a value. */
static const char *const metric[] = {"a.sum",   "absent.sum", "nan.sum",
                                     "inf.sum", "b.sum",      "c.sum",
                                     "d.sum",   "e.sum",      "f.sum",
                                     "g.sum",   "h.sum",      "i.sum",
                                     "j.sum",   "k.sum"};

/* n of them of the kernel launched twice. */
static int count(void *dev, uint32_t module, uint32_t buffer, size_t n)
{
    const struct ws__dev_arg arg[3] = {
        {.kind = WS__ARG_TENSOR, .buffer = buffer},
        {.kind = WS__ARG_VALUE, .bytes = 4, .value = {ANSWER}},
        {.kind = WS__ARG_SHARED, .bytes = 65536}};
    const struct ws__dev_launch one = {.module = module,
                                       .entry = "k",
                                       .grid = {1, 1, 1},
                                       .block = {64, 1, 1},
                                       .arg = arg,
                                       .narg = 3};
    const struct ws__dev_launch l[2] = {one, one};
    const struct ws__dev_fill fill = {.buffer = buffer, .timed = true};
    const struct ws__dev_seq seq = {.launch = l,
                                    .nlaunch = 2,
                                    .fill = &fill,
                                    .nfill = 1};
    double v[2 * WS_COUNT(metric)];
    uint32_t passes = 99;
    int rc = ws__device_find("cuda")->count(dev, &seq, n > 4 ? 4096 : 0, metric,
                                            n, v, &passes);

    if (rc)
        return rc == WS_ENOTSUP || passes == 0 ? rc : WS_EBUG;
    for (size_t i = 0; i < 2 * n; i++) {
        double want = fake_metric_value(metric[i % n], i / n);

        if (i % n >= 1 && i % n <= 3 ? !isnan(v[i]) : !(v[i] == want))
            return WS_EBUG;
    }
    return passes == (n > 4 ? 2 : 1) ? 0 : WS_EBUG;
}

/* Another set, the same again, and the first. */
static int counts(void *dev, uint32_t module, uint32_t buffer)
{
    WS_TRY(count(dev, module, buffer, 4));
    WS_TRY(count(dev, module, buffer, WS_COUNT(metric)));
    WS_TRY(count(dev, module, buffer, WS_COUNT(metric)));
    return count(dev, module, buffer, 4);
}

/* t.step names what is being done. Leaves nothing behind. */
static int use(void *dev)
{
    const struct ws__device_ops *ops = ws__device_find("cuda");
    static const unsigned char zero[BYTES];
    int32_t got[BYTES / 4] = {0};
    uint32_t buffer[2] = {0, 0}, module = 0;
    uint64_t hash;
    int64_t at;
    int rc = 0;

    t.step = "alloc";
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = ops->alloc(dev, BYTES, 64, 0, &buffer[i]);
    t.step = rc ? t.step : "write";
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = ops->write(dev, buffer[i], 0, zero, sizeof(zero));
    t.step = rc ? t.step : "build";
    rc = rc ? rc : build(dev, &module);
    t.step = rc ? t.step : "run";
    rc = rc ? rc : run(dev, module, buffer, false);
    t.step = rc ? t.step : "graph";
    rc = rc ? rc : run(dev, module, buffer, true);
    t.step = rc ? t.step : "watch";
    t.watch = true;
    rc = rc ? rc : run(dev, module, buffer, false);
    t.watch = false;
    t.step = rc ? t.step : "count";
    rc = rc ? rc : counts(dev, module, buffer[0]);
    t.step = rc ? t.step : "hash";
    rc = rc ? rc : ops->hash(dev, buffer[0], &hash);
    t.step = rc ? t.step : "guard";
    rc = rc ? rc : ops->guard(dev, buffer[0], &at);
    t.step = rc ? t.step : "read";
    rc = rc ? rc : ops->read(dev, buffer[0], 0, got, sizeof(got));
    for (size_t i = 0; i < BYTES / 4 && rc == 0; i++)
        rc = got[i] == ANSWER ? 0 : WS_EBUG;
    t.step = rc ? t.step : "end";
    ops->unload(dev, module);
    for (int i = 0; i < 2; i++)
        ops->release(dev, buffer[i]);
    return rc;
}

static int open_device(struct ws_ctx *ctx, void **dev)
{
    struct ws__cuda_compiler *compiler;
    struct nvml_api nvml;
    struct cu_api api;
    int rc;

    *dev = NULL;
    t.step = "open";
    WS_TRY(ws__cu_load(ctx, &api));
    rc = ws__cuda_compiler_open(ctx, NULL, &compiler);
    if (rc < 0) {
        ws__cu_unload(&api);
        return rc;
    }
    ws__nvml_begin(ctx, &nvml);
    return ws__cuda_open_with(ctx, &api, &nvml, compiler, 0, dev);
}

/* ---- what must come of a failure ---------------------------------------- */

/* stage as for ws__cu_fail, in the words of the message. Several rows of one
 * call: one of them. */
static const struct {
    const char *call;
    int stage;
    const char *words;
} expected[] = {
    {"cuInit", WS_ENODRIVER, "start the NVIDIA driver"},
    {"cuDeviceGetCount", WS_ENODEVICE, "count the devices"},
    {"cuDeviceGet", WS_ENODEVICE, "get a device"},
    {"cuDeviceGetName", WS_ENODEVICE, "ask what the device is"},
    {"cuDeviceTotalMem_v2", WS_ENODEVICE, "ask what the device is"},
    {"cuDriverGetVersion", WS_ENODEVICE, "ask what the device is"},
    {"cuDeviceGetAttribute", WS_ENODEVICE, "ask what the device is"},
    {"cuDeviceGetPCIBusId", WS_ENODEVICE, "ask what the device is"},
    {"cuDevicePrimaryCtxRetain", WS_EDEVICE, "make a context on the device"},
    {"cuCtxSetCurrent", WS_EDEVICE, "use the context"},
    {"cuStreamCreate", WS_EDEVICE, "make a stream"},
    {"cuEventCreate", WS_EDEVICE, "make an event"},
    {"cuMemHostAlloc", WS_EDEVICE, "take memory of the host"},
    {"cuMemHostGetDevicePointer_v2", WS_EDEVICE, "show memory of the host"},
    {"cuMemAlloc_v2", WS_EDEVICE, "take memory of the device"},
    {"cuMemAlloc_v2", WS_EDEVMEM, "bytes of the device's memory"},
    {"cuMemsetD32Async", WS_EDEVICE, "fill memory of the device"},
    {"cuMemcpyHtoDAsync_v2", WS_EDEVICE, "write to the device"},
    {"cuMemcpyDtoDAsync_v2", WS_EDEVICE, "copy on the device"},
    {"cuMemcpyDtoHAsync_v2", WS_EDEVICE, "read a hash"},
    {"cuMemcpyDtoHAsync_v2", WS_EDEVICE, "look at a guard zone"},
    {"cuMemcpyDtoHAsync_v2", WS_EDEVICE, "read from the device"},
    {"cuStreamSynchronize", WS_EDEVICE, "write to the device"},
    {"cuStreamSynchronize", WS_EDEVICE, "read a hash"},
    {"cuStreamSynchronize", WS_EDEVICE, "look at a guard zone"},
    {"cuStreamSynchronize", WS_EDEVICE, "read from the device"},
    {"cuStreamSynchronize", WS_EDEVICE, "prepare a launch"},
    {"cuStreamSynchronize", WS_EDEVICE, "copy on the device"},
    {"cuStreamSynchronize", WS_ELAUNCH, "run the kernel"},
    {"cuModuleLoadDataEx", WS_EBUILD, "load the kernel"},
    {"cuModuleLoadDataEx", WS_EDEVICE, "load the kernel"}, /* of our own */
    {"cuModuleGetFunction", WS_EBUILD, "find the kernel"},
    {"cuModuleGetFunction", WS_EDEVICE, "find a kernel of our own"},
    {"cuFuncGetAttribute", WS_EDEVICE, "ask what a kernel needs"},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", WS_EDEVICE,
     "ask for the occupancy"},
    {"cuLaunchKernel", WS_EDEVICE, "run a kernel of our own"},
    {"cuLaunchKernel", WS_ELAUNCH, "launch 'k'"},
    {"cuEventRecord", WS_EDEVICE, "record an event"},
    {"cuEventElapsedTime", WS_EDEVICE, "read the time between two events"},
    {"cuStreamBeginCapture_v2", WS_EDEVICE, "begin to record a graph"},
    {"cuStreamEndCapture", WS_ELAUNCH, "record a graph"},
    {"cuGraphInstantiateWithFlags", WS_ELAUNCH, "make a graph ready"},
    {"cuGraphUpload", WS_EDEVICE, "send a graph to the device"},
    {"cuGraphLaunch", WS_ELAUNCH, "launch a graph"},
    {"cuMemGetAllocationGranularity", WS_ENOTSUP, "the size of pages"},
    {"cuMemAddressReserve", WS_ENOTSUP, "reserve addresses"},
    {"cuMemCreate", WS_ENOTSUP, "take memory to be mapped"},
    {"cuMemMap", WS_ENOTSUP, "map memory"},
    {"cuMemSetAccess", WS_ENOTSUP, "say who may use"},
    {"cuptiProfilerInitialize", 0, "start CUPTI's profiler"},
    {"cuptiProfilerDeviceSupported", 0, "ask for counters of this device"},
    {"cuptiDeviceGetChipName", 0, "ask for the chip"},
    {"cuptiProfilerGetCounterAvailability", 0, "ask which counters there are"},
    {"cuptiProfilerHostInitialize", 0, "prepare CUPTI for the chip"},
    {"cuptiProfilerHostConfigAddMetrics", 0, "look for a metric"},
    {"cuptiProfilerHostConfigAddMetrics", 0, "work out how to count"},
    {"cuptiProfilerHostGetConfigImageSize", 0, "work out how to count"},
    {"cuptiProfilerHostGetConfigImage", 0, "work out how to count"},
    {"cuptiProfilerHostGetNumOfPasses", 0, "work out how to count"},
    {"cuptiProfilerHostEvaluateToGpuValues", 0, "work out metrics"},
    {"cuptiRangeProfilerEnable", 0, "enable counting"},
    {"cuptiRangeProfilerDisable", 0, "end counting"},
    {"cuptiRangeProfilerGetCounterDataSize", 0, "make room for counts"},
    {"cuptiRangeProfilerCounterDataImageInitialize", 0, "make room for counts"},
    {"cuptiRangeProfilerSetConfig", 0, "choose the metrics"},
    {"cuptiRangeProfilerStart", 0, "start counting"},
    {"cuptiRangeProfilerStop", 0, "stop counting"},
    {"cuptiRangeProfilerDecodeData", 0, "read what was counted"},
    {"cuptiRangeProfilerGetCounterDataInfo", 0, "read what was counted"},
};

/* What the member can do without: whether something went away as it should,
 * clocks, the compiler's log; and what it asks for once more when needed. */
static bool is_harmless(const char *call)
{
    static const char *const parts[] = {
        "nvml",       "Free",        "Destroy",          "Unload",
        "Release",    "ParamInfo",   "FuncSetAttribute", "Register",
        "ProgramLog", "LoweredName", "HostDeinitialize", "DeInitialize",
        "Unmap"};

    for (size_t i = 0; i < WS_COUNT(parts); i++)
        if (strstr(call, parts[i]))
            return true;
    return false;
}

/* An error of the driver after which nothing works any more. */
static bool stays(void)
{
    return t.lib == DRIVER && t.error == CU__E_ILLEGAL_ADDRESS;
}

static bool is_code_of_driver(int stage, int code)
{
    if (stage == WS_ENODRIVER || stage == WS_ENODEVICE)
        return code == stage;
    switch (t.error) {
    case CU__E_ILLEGAL_ADDRESS:
        return code == WS_ECRASH;
    case CU__E_OUT_OF_MEMORY:
        return code == (stage == WS_EDEVICE || stage == WS_ENOTSUP
                            ? stage
                            : WS_EDEVMEM);
    case CU__E_UNKNOWN:
        return code == WS_EDEVICE;
    default:
        return code == stage;
    }
}

static void check_words(const struct ws_error *e, const char *name)
{
    char number[32];

    snprintf(number, sizeof(number), "error %d", t.error);
    if (!strstr(e->message, name ? name : number))
        fail_msg("%s: error %d: '%s' lacks it", t.step, t.error, e->message);
}

static void check_driver(const struct ws_error *e, const char *call)
{
    check_words(e, ws__cu_error_name(t.error));
    for (size_t i = 0; i < WS_COUNT(expected); i++)
        if (!strcmp(expected[i].call, call) &&
            strstr(e->message, expected[i].words) &&
            is_code_of_driver(expected[i].stage, e->code))
            return;
    fail_msg("%s: %s, error %d: unexpected %s '%s'", t.step, call, t.error,
             ws_status_name(e->code), e->message);
}

/* Of a candidate or of kernels of our own: those are never to blame. */
static void check_nvrtc(const struct ws_error *e, const char *call)
{
    int code = WS_EDEVICE;

    check_words(e, ws__nvrtc_error_name(t.error));
#define WS_X(name, value, own)                                                 \
    if (t.error == (value))                                                    \
        code = WS_##own;
    NVRTC_ERRORS(WS_X)
#undef WS_X
    if (code == WS_EBUILD && !strcmp(t.step, "run"))
        code = WS_EDEVICE;
    if (e->code != code)
        fail_msg("%s: %s, error %d: unexpected %s '%s'", t.step, call, t.error,
                 ws_status_name(e->code), e->message);
}

/* ENOTSUP always comes with what to do. */
static void check_cupti(const struct ws_error *e, const char *call)
{
    int code = WS_EDEVICE;

    check_words(e, ws__cupti_error_name(t.error));
#define WS_X(name, value, own, hint)                                           \
    if (t.error == (value))                                                    \
        code = WS_##own;
    CUPTI_ERRORS(WS_X)
#undef WS_X
    if (code == WS_ENOTSUP && !e->hint[0])
        fail_msg("%s: no hint for '%s'", call, e->message);
    for (size_t i = 0; i < WS_COUNT(expected); i++)
        if (!strcmp(expected[i].call, call) &&
            strstr(e->message, expected[i].words) && e->code == code)
            return;
    fail_msg("%s: %s, error %d: unexpected %s '%s'", t.step, call, t.error,
             ws_status_name(e->code), e->message);
}

/* A metric that is refused as unknown is missing (as 'absent.sum' is in any
 * case), and the last disabling, as
 * the device is closed, has no result. */
static bool is_borne(const char *call, int rc)
{
    return ((rc == WS_EBUG || !rc) && t.error == CUPTI__E_INVALID_PARAMETER &&
            !strcmp(call, "cuptiProfilerHostConfigAddMetrics")) ||
           (!rc && !strcmp(call, "cuptiRangeProfilerDisable"));
}

/* A kernel that is said to have no parameters is one that does not fit. */
static bool is_excused(const char *call, int rc)
{
    return rc == WS_ELAUNCH && t.error == CU__E_INVALID_VALUE &&
           !strcmp(call, "cuFuncGetParamInfo");
}

static void check_failure(const struct ws_error *e, int rc)
{
    const char *call = t.state[t.lib]->failed;

    if (t.touched) { /* what a watch takes for an access */
        assert_true(stays());
        t.touched = false;
        return;
    }
    if (is_harmless(call)) {
        if (rc && !is_excused(call, rc) && !(stays() && rc == WS_ECRASH))
            fail_msg("%s: %s is not harmless: %s", t.step, call, e->message);
        return;
    }
    if (t.lib == CUPTI && is_borne(call, rc))
        return;
    assert_int_equal(rc, e->code);
    assert_true(rc < 0 && e->message[0]);
    if (t.lib == NVRTC)
        check_nvrtc(e, call);
    else if (t.lib == CUPTI)
        check_cupti(e, call);
    else
        check_driver(e, call);
}

/* Whether no call of this name has failed in this step before. */
static bool is_new(void)
{
    static struct {
        const char *step, *call;
    } seen[300];
    static size_t n;
    const char *call = t.state[t.lib]->failed;

    for (size_t i = 0; i < n; i++)
        if (!strcmp(seen[i].step, t.step) && !strcmp(seen[i].call, call))
            return false;
    assert_true(n < WS_COUNT(seen));
    seen[n].step = t.step;
    seen[n++].call = call;
    return true;
}

static void start_life(unsigned n, int error)
{
    t.error = error;
    t.reset();
    for (int i = 0; i < LIBS; i++)
        memset(t.state[i], 0, sizeof(*t.state[i]));
    t.state[t.lib]->fail_at = n;
    t.state[t.lib]->error = error;
}

/* It goes on working, or says that it cannot. */
static void check_after(void *dev)
{
    uint32_t buffer = 0;
    int rc;

    if (t.state[DRIVER]->dead) {
        rc = ws__device_find("cuda")->alloc(dev, BYTES, 0, 0, &buffer);
        assert_int_equal(rc, WS_ECRASH);
        assert_int_equal(buffer, 0);
        return;
    }
    rc = use(dev);
    if (rc == WS_ENOTSUP && ((struct ws__cuda *)dev)->uncounted.code)
        return; /* what is not there is not asked for again */
    if (rc)
        fail_msg("%s after %s: %s", t.step, t.state[t.lib]->failed,
                 ws_ctx_error(((struct ws__cuda *)dev)->ctx)->message);
}

static void check_nothing_left(void)
{
    for (int l = 0; l < LIBS; l++)
        for (int i = 0; i < FAKE_KINDS && !t.state[DRIVER]->dead; i++)
            if (t.state[l]->live[i])
                fail_msg("%d of kind %d left after %s, error %d",
                         t.state[l]->live[i], i, t.state[t.lib]->failed,
                         t.error);
}

/* True if it was the first time that this call failed in this step. */
static bool one_life(unsigned n, int error)
{
    struct t_alloc a = {0};
    struct ws_ctx *ctx = t_ctx(&a);
    void *dev = NULL;
    bool first;
    int rc;

    start_life(n, error);
    rc = open_device(ctx, &dev);
    if (rc == 0)
        rc = use(dev);
    first = t.state[t.lib]->failed && is_new();
    if (t.state[t.lib]->failed)
        check_failure(ws_ctx_error(ctx), rc);
    else
        assert_int_equal(rc, 0);
    if (dev && first)
        check_after(dev);
    ws__device_find("cuda")->close(dev);
    check_nothing_left();
    ws_ctx_free(ctx);
    assert_int_equal(a.live, 0);
    return first;
}

static unsigned every_call(enum lib lib, const int *error, size_t nerror)
{
    unsigned n = 0;
    bool first;

    t.lib = lib;
    do {
        n++;
        first = one_life(n, error[n % nerror]);
        for (size_t i = 1; first && i < nerror; i++)
            one_life(n, error[(n + i) % nerror]);
    } while (t.state[lib]->failed);
    return n;
}

static void every_call_of_the_driver(void **state)
{
    static const int error[] = {CU__E_INVALID_VALUE,
                                CU__E_OUT_OF_MEMORY,
                                CU__E_ILLEGAL_ADDRESS,
                                CU__E_LAUNCH_OUT_OF_RESOURCES,
                                CU__E_UNKNOWN,
                                12345};

    (void)state;
    assert_true(every_call(DRIVER, error, WS_COUNT(error)) >
                WS_COUNT(expected));
}

static void every_call_of_the_compiler(void **state)
{
    static const int error[] = {NVRTC__E_OUT_OF_MEMORY, NVRTC__E_COMPILATION,
                                NVRTC__E_BUILTIN_OPERATION_FAILURE,
                                NVRTC__E_INVALID_PROGRAM, 12345};

    (void)state;
    assert_true(every_call(NVRTC, error, WS_COUNT(error)) > 10);
}

static void every_call_of_nvml(void **state)
{
    static const int error[] = {1, 999};

    (void)state;
    assert_true(every_call(NVML, error, WS_COUNT(error)) > 5);
}

static void every_call_of_cupti(void **state)
{
    static const int error[] = {CUPTI__E_INSUFFICIENT_PRIVILEGES,
                                CUPTI__E_INVALID_PARAMETER,
                                CUPTI__E_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
                                CUPTI__E_UNKNOWN, 12345};

    (void)state;
    assert_true(every_call(CUPTI, error, WS_COUNT(error)) > 60);
}

static int whole_life(struct ws_ctx *ctx, void *user)
{
    void *dev = NULL;
    int rc;

    (void)user;
    start_life(0, 0);
    rc = open_device(ctx, &dev);
    rc = rc ? rc : use(dev);
    ws__device_find("cuda")->close(dev);
    check_nothing_left();
    return rc;
}

static void every_allocation(void **state)
{
    (void)state;
    assert_true(t_torture(whole_life, NULL) > 10);
}

/* ---- no counters -------------------------------------------------------- */

/* One count by the first set on a fresh device. */
static int count_once(struct ws_ctx *ctx)
{
    uint32_t buffer = 0, module = 0;
    void *dev = NULL;
    int rc;

    start_life(0, 0);
    rc = open_device(ctx, &dev);
    rc = rc ? rc : ws__device_find("cuda")->alloc(dev, BYTES, 64, 0, &buffer);
    rc = rc ? rc : build(dev, &module);
    rc = rc ? rc : count(dev, module, buffer, 4);
    ws__device_find("cuda")->close(dev);
    check_nothing_left();
    return rc;
}

static void what_forbids_counters(void **state)
{
    static const struct {
        const char *bits, *name, *hint;
    } cases[] = {
        {"1", "NOT_SUPPORTED", "CUDA 13"},
        {"2", "SLI_DEVICE_NOT_SUPPORTED", "have none"},
        {"4", "VIRTUALIZED_DEVICE_NOT_SUPPORTED", "whoever runs its host"},
        {"8", "CONFIDENTIAL_COMPUTING_NOT_SUPPORTED", "without it"},
        {"16", "CMP_DEVICE_NOT_SUPPORTED", "have none"},
        {"32", "WSL_DEVICE_NOT_SUPPORTED", "have none"},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        setenv("FAKECUDA_NO_COUNTERS", cases[i].bits, 1);
        assert_int_equal(count_once(ctx), WS_ENOTSUP);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, cases[i].name));
        assert_non_null(strstr(ws_ctx_error(ctx)->hint, cases[i].hint));
    }
    unsetenv("FAKECUDA_NO_COUNTERS");
    assert_int_equal(count_once(ctx), 0);
    ws_ctx_free(ctx);
}

/* What was lost is an error and no figure. */
static void counts_that_are_none(void **state)
{
    static const char *const cases[][2] = {
        {"FAKECUDA_DROPPED", "the profiler lost 1 of 2 launches"},
        {"FAKECUDA_MORE_RANGES", "saw 3 launches where there were 2"},
        {"FAKECUDA_ENDLESS", "does not end after 1 passes"},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        setenv(cases[i][0], "1", 1);
        assert_int_equal(count_once(ctx), WS_EDEVICE);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, cases[i][1]));
        unsetenv(cases[i][0]);
    }
    ws_ctx_free(ctx);
}

/* ---- kernels that fail -------------------------------------------------- */

#define KERNEL "extern \"C\" __global__ void "

static const struct {
    const char *source;
    uint32_t threads, shared;
    int code;
    const char *words;
} bad[] = {
    {KERNEL "k(int *p) { *(volatile int *)((char *)p + (1ll << 44)) = 1; }", 1,
     0, WS_ECRASH,
     "running 'k': cannot run the kernel: "
     "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {KERNEL "k(int *p) { *(volatile int *)((char *)p + 1) = 1; }", 1, 0,
     WS_ECRASH, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {KERNEL "k(int *p) { __trap(); }", 1, 0, WS_ECRASH,
     "CUDA_ERROR_LAUNCH_FAILED"},
    {KERNEL "__launch_bounds__(64) k(int *p) { p[0] = 1; }", 128, 0, WS_ELAUNCH,
     "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {KERNEL "k(int *p) { p[0] = 1; }", 2048, 0, WS_ELAUNCH, "launch 'k'"},
    {KERNEL "k(int *p) { p[0] = 1; }", 32, 1 << 20, WS_ELAUNCH,
     "shared memory"},
    {KERNEL "k(int *p, int n) { p[0] = n; }", 32, 0, WS_ELAUNCH,
     "takes 2 arguments, the plan has 1"},
    {KERNEL "k(int p) { }", 32, 0, WS_ELAUNCH, "has 4 bytes"},
};

static int run_bad(void *dev, size_t i, uint32_t buffer)
{
    static const char *const entry = "k";
    const struct ws__build b = {.source = bad[i].source,
                                .dialect = WS__DIALECT_CUDA,
                                .entry = &entry,
                                .nentry = 1};
    const struct ws__dev_arg arg[2] = {{.kind = WS__ARG_TENSOR,
                                        .buffer = buffer},
                                       {.kind = WS__ARG_SHARED,
                                        .bytes = bad[i].shared}};
    struct ws__dev_launch l = {.entry = "k",
                               .grid = {1, 1, 1},
                               .block = {bad[i].threads, 1, 1},
                               .arg = arg,
                               .narg = bad[i].shared ? 2 : 1};
    const struct ws__dev_seq seq = {.launch = &l, .nlaunch = 1};
    const struct ws__dev_batch batch = {
        .prog = &seq, .nprog = 1, .nset = 1, .rounds = 1, .inner = 1};
    struct ws__built built;
    struct ws__dev_sample s;
    size_t n;
    int rc = ws__device_find("cuda")->build(dev, &b, &built);

    assert_int_equal(rc, 0);
    l.module = built.module;
    rc = ws__device_find("cuda")->run(dev, &batch, &s, &n);
    ws__device_find("cuda")->unload(dev, built.module);
    ws__built_free(((struct ws__cuda *)dev)->ctx, &built);
    return rc;
}

static void bad_kernels(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        uint32_t buffer;
        void *dev;

        start_life(0, 0);
        assert_int_equal(open_device(ctx, &dev), 0);
        assert_int_equal(ws__device_find("cuda")->alloc(dev, BYTES, 64, 0,
                                                        &buffer),
                         0);
        assert_int_equal(run_bad(dev, i, buffer), bad[i].code);
        if (!strstr(ws_ctx_error(ctx)->message, bad[i].words))
            fail_msg("'%s' is not in: %s", bad[i].words,
                     ws_ctx_error(ctx)->message);
        if (bad[i].code != WS_ECRASH)
            assert_int_equal(use(dev), 0);
        ws__device_find("cuda")->close(dev);
        check_nothing_left();
    }
    ws_ctx_free(ctx);
}

/* Ready-made code that cannot be loaded. */
static void bad_images(void **state)
{
    static const char *const entry = "k";
    static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    const struct ws__build builds[] = {
        {.source = ".version 9.0\n.target sm_90\n",
         .dialect = WS__DIALECT_PTX,
         .entry = &entry,
         .nentry = 1},
        {.source = "k.cubin",
         .dialect = WS__DIALECT_CUBIN,
         .binary = elf,
         .binary_bytes = sizeof(elf),
         .entry = &entry,
         .nentry = 1},
    };
    static const char *const words[] = {"CUDA_ERROR_INVALID_PTX",
                                        "CUDA_ERROR_INVALID_IMAGE"};
    struct ws_ctx *ctx = t_ctx(NULL);
    void *dev;

    (void)state;
    start_life(0, 0);
    assert_int_equal(open_device(ctx, &dev), 0);
    for (size_t i = 0; i < WS_COUNT(builds); i++) {
        struct ws__built built;

        assert_int_equal(ws__device_find("cuda")->build(dev, &builds[i],
                                                        &built),
                         WS_EBUILD);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, words[i]));
        assert_int_equal(use(dev), 0);
    }
    ws__device_find("cuda")->close(dev);
    check_nothing_left();
    ws_ctx_free(ctx);
}

/* Without guard and shift a buffer is its content and no more, of any length;
 * its memory goes back at once. */
static void exact_buffers(void **state)
{
    static const uint64_t sizes[] = {1, 3, 7, 255, 256, 4097};
    const struct ws__device_ops *ops = ws__device_find("cuda");
    struct ws_ctx *ctx = t_ctx(NULL);
    uint32_t first = 0, buffer;
    long live;
    void *dev;

    (void)state;
    start_life(0, 0);
    assert_int_equal(open_device(ctx, &dev), 0);
    assert_int_equal(ops->alloc(dev, 64, 0, 0, &first), 0);
    live = t.state[DRIVER]->live[FAKE_MEMORY];
    for (size_t i = 0; i < WS_COUNT(sizes); i++) {
        char in[4097], out[4097];
        int64_t at = 7;
        uint64_t hash;

        memset(in, (int)i + 1, sizeof(in));
        assert_int_equal(ops->alloc(dev, sizes[i], 0, 0, &buffer), 0);
        assert_int_equal(t.state[DRIVER]->live[FAKE_MEMORY], live + 1);
        assert_int_equal(ops->fill(dev, buffer, 0x01020304), 0);
        assert_int_equal(ops->write(dev, buffer, 0, in, sizes[i]), 0);
        assert_int_equal(ops->hash(dev, buffer, &hash), 0);
        assert_int_equal(ops->guard(dev, buffer, &at), 0);
        assert_int_equal(at, 0);
        assert_int_equal(ops->read(dev, buffer, 0, out, sizes[i]), 0);
        assert_memory_equal(in, out, sizes[i]);
        ops->release(dev, buffer);
        assert_int_equal(t.state[DRIVER]->live[FAKE_MEMORY], live);
    }
    ops->close(dev);
    check_nothing_left();
    ws_ctx_free(ctx);
}

/* ---- the libraries ------------------------------------------------------ */

/* The member finds them by their names, for they are loaded already. */
static bool load_fakes(void)
{
    static const char *const names[] = {"libcuda.so.1", "libnvrtc.so.13",
                                        "libnvidia-ml.so.1", "libcupti.so.13"};
    char folder[PATH_MAX], path[PATH_MAX + 64];

    if (!t_fakecuda_folder(folder, sizeof(folder)))
        return false;
    for (int i = 0; i < LIBS; i++) {
        fake_state_fn *fn;
        void *lib;

        snprintf(path, sizeof(path), "%.4000s/%s", folder, names[i]);
        lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!lib)
            return false;
        *(void **)&fn = dlsym(lib, "fake_state");
        t.state[i] = fn();
        if (i == DRIVER)
            *(void **)&t.reset = dlsym(lib, "fake_reset");
    }
    return true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_the_driver),
        cmocka_unit_test(every_call_of_the_compiler),
        cmocka_unit_test(every_call_of_nvml),
        cmocka_unit_test(every_call_of_cupti),
        cmocka_unit_test(what_forbids_counters),
        cmocka_unit_test(counts_that_are_none),
        cmocka_unit_test(every_allocation),
        cmocka_unit_test(bad_kernels),
        cmocka_unit_test(bad_images),
        cmocka_unit_test(exact_buffers),
    };

    if (!load_fakes()) {
        printf("1..1\nok 1 all # SKIP: no fake driver: 'make fakecuda'\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
