/*
 * t_opencl.h: what the tests of the OpenCL member share: a kernel, and one
 * use of an open device that goes through all of its operations.
 */
#ifndef WS_T_OPENCL_H
#define WS_T_OPENCL_H

#include "base/t_base.h"

#include <unistd.h>

#include "device/opencl/opencl.h"

#define T_OCL_BYTES 256u
#define T_OCL_ANSWER 42

static const char t_ocl_source[] =
    "__kernel void k(__global int *out, __local int *tmp, int v)\n"
    "{\n"
    "    tmp[get_local_id(0)] = v;\n"
    "    out[get_global_id(0)] = tmp[get_local_id(0)];\n"
    "}\n";

static inline int t_ocl_build(void *dev, uint32_t *module)
{
    static const uint64_t bytes[1] = {T_OCL_BYTES};
    static const char *const option = "-DUNUSED=1";
    static const char *const entry = "k";
    const struct ws__plan_launch hint = {
        .entry = "k",
        .grid = {1, 1, 1},
        .block = {64, 1, 1},
        .arg = {{.kind = WS__ARG_TENSOR},
                {.kind = WS__ARG_SHARED, .bytes = 256},
                {.kind = WS__ARG_VALUE, .bytes = 4}},
        .narg = 3,
    };
    const struct ws__build b = {.source = t_ocl_source,
                                .option = &option,
                                .noption = 1,
                                .entry = &entry,
                                .nentry = 1,
                                .hint = &hint,
                                .nhint = 1,
                                .tensor_bytes = bytes,
                                .ntensor = 1};
    struct ws__built built;
    int rc = ws__device_find("opencl")->build(dev, &b, &built);

    ws__free(((struct ws__ocl *)dev)->ctx, built.log);
    *module = built.module;
    return rc;
}

/* buffer[0] is written by the kernel, restored from buffer[1] and cleared. */
static inline int t_ocl_run(void *dev, uint32_t module,
                            const uint32_t buffer[2])
{
    const struct ws__dev_arg arg[3] = {
        {.kind = WS__ARG_TENSOR, .buffer = buffer[0]},
        {.kind = WS__ARG_SHARED, .bytes = 256},
        {.kind = WS__ARG_VALUE, .bytes = 4, .value = {T_OCL_ANSWER}}};
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
                                        .flush_bytes = 4096};
    struct ws__dev_touch touch;
    struct ws__dev_sample s;
    size_t n;
    int rc;

    WS_TRY(ws__device_find("opencl")->run(dev, &batch, &s, &n));
    if (n != 1 || !(s.ns > 0))
        return WS_EBUG;
    rc = ws__device_find("opencl")->watch(dev, &seq, NULL, 0, &touch);
    if (rc == WS_ENOTSUP) /* a driver that works elsewhere */
        return 0;
    return rc == 0 && touch.kind != WS__TOUCH_NONE ? WS_EBUG : rc;
}

static inline int t_ocl_describe(void *dev)
{
    const struct ws__build b = {.source = t_ocl_source};
    struct ws__entry_info *list;
    size_t n;
    int rc;

    WS_TRY(ws__device_find("opencl")->describe(dev, &b, &list, &n));
    rc =
        n == 1 && !strcmp(list[0].name, "k") && list[0].narg == 3 ? 0 : WS_EBUG;
    ws__free(((struct ws__ocl *)dev)->ctx, list);
    return rc;
}

/* *step names what is being done. Leaves nothing behind. */
static inline int t_ocl_use(void *dev, const char **step)
{
    const struct ws__device_ops *ops = ws__device_find("opencl");
    static const unsigned char zero[T_OCL_BYTES];
    int32_t got[T_OCL_BYTES / 4] = {0};
    uint32_t buffer[2] = {0, 0}, module = 0;
    uint64_t hash;
    int64_t at;
    int rc = 0;

    *step = "alloc";
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = ops->alloc(dev, T_OCL_BYTES, 64, 0, &buffer[i]);
    *step = rc ? *step : "write";
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = ops->write(dev, buffer[i], 0, zero, sizeof(zero));
    *step = rc ? *step : "build";
    rc = rc ? rc : t_ocl_build(dev, &module);
    *step = rc ? *step : "run";
    rc = rc ? rc : t_ocl_run(dev, module, buffer);
    *step = rc ? *step : "hash";
    rc = rc ? rc : ops->hash(dev, buffer[0], &hash);
    *step = rc ? *step : "guard";
    rc = rc ? rc : ops->guard(dev, buffer[0], &at);
    *step = rc ? *step : "read";
    rc = rc ? rc : ops->read(dev, buffer[0], 0, got, sizeof(got));
    for (size_t i = 0; i < T_OCL_BYTES / 4 && rc == 0; i++)
        rc = got[i] == T_OCL_ANSWER ? 0 : WS_EBUG;
    *step = rc ? *step : "describe";
    rc = rc ? rc : t_ocl_describe(dev);
    ops->unload(dev, module);
    for (int i = 0; i < 2; i++)
        ops->release(dev, buffer[i]);
    return rc;
}

/* Runs tests with the driver's cache in the runner's scratch folder, never in
 * the user's. Ends without the exit handlers of the driver, which was in this
 * process and keeps memory that a leak checker would count as ours. */
#define T_OCL_MAIN(tests)                                                      \
    int main(void)                                                             \
    {                                                                          \
        const char *tmp = getenv("TMPDIR");                                    \
        char cache[512];                                                       \
        int failed;                                                            \
                                                                               \
        snprintf(cache, sizeof(cache), "%s/wavesmith-t_opencl",                \
                 tmp ? tmp : "/tmp");                                          \
        setenv("POCL_CACHE_DIR", cache, 1);                                    \
        failed = cmocka_run_group_tests(tests, NULL, NULL);                    \
        fflush(NULL);                                                          \
        _exit(failed ? 1 : 0);                                                 \
    }

#endif
